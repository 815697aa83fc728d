/** Which URLs of others are used at all (OAUTH.md sections 2.2 and 6.1). */
import { isLoopbackHost } from '../http/addresses.ts';
import { parseUrl } from '../http/url.ts';

const LONGEST = 8192;

/** Why a URL may not be used, in words that complete "the address ... "; undefined when it may. */
export function urlProblem(text: string): string | undefined {
  if (text.length > LONGEST) return 'is longer than 8 KiB';
  if (/[\u0000-\u0020\u007f]/.test(text)) return 'holds blanks or control characters';
  const url = parseUrl(text);
  if (url === undefined) return 'is no absolute URL';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) return 'is not https';
  if (url.username !== '' || url.password !== '') return 'holds a user name or password';
  return undefined;
}

/** The same for endpoints, which have no fragment either (RFC 6749 section 3.1). */
export function endpointProblem(text: string): string | undefined {
  return urlProblem(text) ?? (text.includes('#') ? 'has a fragment' : undefined);
}

/** A well-known URL: the name stands between host and path (RFC 8615, RFC 8414 section 3.1, RFC 9728 section 3.1). */
export function wellKnown(base: URL, name: string, keepQuery = false): string {
  const path = base.pathname.replace(/\/$/, '');
  return `${base.origin}/.well-known/${name}${path}${keepQuery ? base.search : ''}`;
}

/** Equal but for one slash at the end. */
export function sameButSlash(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '');
}
