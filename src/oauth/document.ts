/** One metadata document: fetched with the rules that every one of them shares, and told apart by how it failed. */
import { toFailure } from '../base/failure.ts';
import { isObject, isStringArray, member, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { looksLikeHtml, statusFailure } from '../http/answers.ts';
import { parseUrl, shownUrl } from '../http/url.ts';
import { isTemporary } from './failures.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { OAuthAnswer, OAuthRequest } from './types.ts';

export type Fetched =
  | { readonly kind: 'document'; readonly document: JsonObject }
  /** The server says that there is none. */
  | { readonly kind: 'absent'; readonly why: string }
  | { readonly kind: 'too-large'; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string }
  /** Nobody can tell whether there is one. */
  | { readonly kind: 'temporary'; readonly failure: AnyFailure; readonly why: string };

/** Wanted on discovery by 2025-03-26, harmless later. */
const HEADERS = { 'mcp-protocol-version': '2026-07-28' } as const;
const REDIRECTS = 2;

/** Follows at most two redirects inside the origin and tries a second time after a temporary failure. Rejects only with CANCELED. */
export async function fetchDocument(request: OAuthRequest, url: string, signal: AbortSignal): Promise<Fetched> {
  const first = await fetchOnce(request, url, signal);
  return first.kind === 'temporary' ? fetchOnce(request, url, signal) : first;
}

async function fetchOnce(request: OAuthRequest, url: string, signal: AbortSignal): Promise<Fetched> {
  let at = url;
  for (let hop = 0; ; hop += 1) {
    let answer: OAuthAnswer;
    try {
      answer = await request('metadata', at, { headers: HEADERS, signal });
    } catch (error) {
      const failure = toFailure(error, 'auth');
      if (failure.code === 'CANCELED') throw failure;
      if (failure.code === 'LIMIT_EXCEEDED') return { kind: 'too-large', why: `it is larger than ${limits.oauthDocumentBytes} bytes` };
      return isTemporary(failure) ? { kind: 'temporary', failure, why: failure.message } : { kind: 'unusable', why: failure.message };
    }
    const { status } = answer;
    if (status >= 300 && status < 400) {
      const to = answer.headers['location'] === undefined ? undefined : parseUrl(answer.headers['location'], new URL(at));
      if (to === undefined || to.origin !== new URL(at).origin) return { kind: 'unusable', why: `it redirects to ${to?.origin ?? 'nowhere'}` };
      if (hop === REDIRECTS) return { kind: 'unusable', why: 'it redirects too often' };
      at = to.href;
      continue;
    }
    if (status === 408 || status === 429 || status >= 500) return { kind: 'temporary', failure: statusFailure({ ...answer, url: at, stage: 'auth' }), why: `status ${status}` };
    if (status !== 200) return { kind: 'absent', why: `status ${status}` };
    const parsed = parseJson(answer.body);
    if (parsed === undefined) return { kind: 'unusable', why: looksLikeHtml(answer.body, answer.headers) ? 'it is an HTML page' : 'it is no JSON' };
    return isObject(parsed.value) ? { kind: 'document', document: parsed.value } : { kind: 'unusable', why: 'it is no JSON object' };
  }
}

/** How the candidates went, for the one message at the end. */
export function tried(attempts: readonly { readonly url: string; readonly why: string }[]): string {
  return attempts.map(({ url, why }) => `${shownUrl(url)} (${why})`).join(', ');
}

/** An own string member; null counts as absent. */
export function textMember(document: JsonObject, name: string): string | undefined {
  const value = member(document, name);
  return typeof value === 'string' ? value : undefined;
}

export function listMember(document: JsonObject, name: string): readonly string[] | undefined {
  const value = member(document, name);
  return isStringArray(value) ? value : undefined;
}

export function flagMember(document: JsonObject, name: string): boolean | undefined {
  const value = member(document, name);
  return typeof value === 'boolean' ? value : undefined;
}
