/** Scopes as sets of tokens (RFC 6749 section 3.3). */
import { limits } from '../base/limits.ts';

const TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The usable tokens, each once, in order, within the limits. */
export function scopeTokens(tokens: Iterable<string>): string[] {
  const out = new Set<string>();
  let bytes = 0;
  for (const token of tokens) {
    if (!TOKEN.test(token) || out.has(token)) continue;
    bytes += token.length + 1;
    if (out.size >= limits.oauthScopes || bytes > limits.oauthScopeBytes) break;
    out.add(token);
  }
  return [...out];
}

export function parseScope(text: string | undefined): string[] {
  return text === undefined ? [] : scopeTokens(text.slice(0, limits.oauthScopeBytes).split(/ +/));
}

export function unite(...lists: readonly (readonly string[])[]): string[] {
  return scopeTokens(lists.flat());
}

export function covers(granted: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((token) => granted.includes(token));
}
