/** What may be called, and how a URL is shown: never with userinfo, query values or fragment. */
import { Failure } from '../base/failure.ts';
import { MASK } from '../base/redact.ts';
import type { Stage } from '../base/failure.ts';
import type { Target } from './types.ts';

/** A URL for messages. Text that is no URL is shown up to its first `?` or `#`, without what stands before an `@`. */
export function shownUrl(url: string | URL): string {
  const parsed = url instanceof URL ? url : parseUrl(url);
  if (parsed === undefined) return String(url).replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/]*@/i, '$1');
  // Without `//host` the rest may be anything, for instance `user:secret@host` where a scheme was forgotten.
  if (parsed.host === '') return `${parsed.protocol}${MASK}`;
  // A part without `=` may be a bare token.
  const query = parsed.search === '' ? '' : `?${parsed.search.slice(1).split('&').map((part) => part.includes('=') ? `${part.slice(0, part.indexOf('='))}=${MASK}` : MASK).join('&')}`;
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}${query}`;
}

export function parseUrl(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Checks a URL and takes it apart. Throws `URL_REFUSED` for anything but http(s) without userinfo. */
export function targetOf(input: string | URL, stage: Stage = 'connect'): Target {
  const url = input instanceof URL ? input : parseUrl(input);
  if (url === undefined) throw refused(input, 'it is not an absolute URL', 'Write it as https://host/path', stage);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused(url, `only http and https are supported, not "${url.protocol}"`, undefined, stage);
  if (url.username !== '' || url.password !== '') {
    throw refused(url, 'it holds a user name or password', 'Send credentials as an Authorization header instead', stage);
  }
  const secure = url.protocol === 'https:';
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return {
    url, secure, host, href: url.href, origin: url.origin, authority: url.host,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    shown: shownUrl(url),
  };
}

function refused(url: string | URL, why: string, hint: string | undefined, stage: Stage): Failure<'URL_REFUSED'> {
  const shown = shownUrl(url);
  return new Failure('URL_REFUSED', `Cannot use the URL "${shown}": ${why}`, { stage, details: { url: shown }, hint });
}
