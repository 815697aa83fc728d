/** Answers that came in time and whole but are not what was asked for: statuses, pages instead of JSON, redirects that are not followed. */
import { Failure } from '../base/failure.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { redactPatterns } from '../base/redact.ts';
import { oneLine, shorten } from '../base/text.ts';
import { proxyLogin } from './failures.ts';
import { shownUrl } from './url.ts';
import type { AnyFailure, Recovery, Stage } from '../base/failure.ts';
import type { ResponseHeaders, Target } from './types.ts';

export interface Answer {
  readonly url: string | URL;
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** As much of the body as there is. */
  readonly body: string;
  readonly stage: Stage;
}

/** Media type in lower case without parameters; empty when there is none. */
export function mediaType(headers: ResponseHeaders): string {
  const value = headers['content-type'];
  if (value === undefined) return '';
  const semicolon = value.indexOf(';');
  return (semicolon < 0 ? value : value.slice(0, semicolon)).trim().toLowerCase();
}

/** `Retry-After` (RFC 9110 section 10.2.3), seconds or a date, as milliseconds from now; undefined when absent or unreadable. */
export function retryAfterMs(headers: ResponseHeaders, nowMs = Date.now()): number | undefined {
  const value = headers['retry-after']?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** What a page or text says of itself, short: the title of HTML, otherwise the first words. Empty for an empty body. */
export function excerptOf(body: string, headers: ResponseHeaders): string {
  const text = looksLikeHtml(body, headers) ? htmlTitle(body) : body.slice(0, 4 * limits.excerptBytes);
  return shorten(redactPatterns(oneLine(text)), limits.excerptBytes);
}

/** The body of an error with its message alone, as JSON-RPC, OAuth and most services put it into JSON: the braces around it help nobody. */
function plainly(answer: Answer): Answer {
  const value = mediaType(answer.headers).endsWith('json') ? parseJson(answer.body)?.value : undefined;
  if (!isObject(value)) return answer;
  const { error, error_description: description, message, detail } = value;
  const words = (isObject(error) ? [error['message']] : [error, description ?? message ?? detail]).filter((one) => typeof one === 'string' && one !== '');
  // Not with a colon: what follows `token:` is taken for one.
  return words.length === 0 ? answer : { ...answer, body: words.join(', ') };
}

export function looksLikeHtml(body: string, headers: ResponseHeaders): boolean {
  const type = mediaType(headers);
  if (type === 'text/html' || type === 'application/xhtml+xml') return true;
  return !type.endsWith('json') && /^\s*<(?:!doctype html|html|head|body)\b/i.test(body.slice(0, 1024));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function htmlTitle(body: string): string {
  const open = /<title\b[^>]{0,256}>/i.exec(body.slice(0, limits.httpErrorBodyBytes));
  if (open === null) return '';
  const rest = body.slice(open.index + open[0].length, open.index + open[0].length + 1024);
  const end = rest.search(/<\/title/i);
  return (end < 0 ? rest : rest.slice(0, end)).replace(/&(#\d{1,7}|[a-z]{2,4});/gi, (whole, name: string) =>
    name.startsWith('#') ? String.fromCodePoint(Math.min(Number(name.slice(1)), 0x10ffff)) : ENTITIES[name.toLowerCase()] ?? whole);
}

/** How it is said in a message: `an HTML page titled "Sign in"`, `"no such route"`, nothing for an empty body. */
function described(answer: Answer): string {
  const excerpt = excerptOf(answer.body, answer.headers);
  if (looksLikeHtml(answer.body, answer.headers)) return excerpt === '' ? 'an HTML page' : `an HTML page titled "${excerpt}"`;
  return excerpt === '' ? '' : `"${excerpt}"`;
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'Sign in: zuno-lite mcp auth NAME, or set an Authorization header',
  403: 'The account or token lacks the right for this, or the server admits only another host name or Origin',
  404: 'Check the path of the url; often it is /mcp or /sse',
  405: 'Check the path of the url; a server of the older HTTP+SSE kind is added with --transport sse',
  406: 'The server offers neither JSON nor an event stream here: check the path of the url',
  413: 'The request is too large for the server; send less',
  415: 'The server does not take JSON here: check the path of the url',
  429: 'The server asks to slow down: wait before the next request',
  431: 'The headers are too large for the server: shorten configured headers or arguments that travel as headers',
};

/** An HTTP status that is no success. 408, 429 and 5xx may be repeated, the others are blocked until something changes. */
export function statusFailure(answer: Answer): AnyFailure {
  const { status } = answer;
  const shown = shownUrl(answer.url);
  const recovery: Recovery = status === 408 || status === 429 || status >= 500 ? 'retryable' : 'blocked';
  const wait = retryAfterMs(answer.headers);
  const told = plainly(answer), body = described(told);
  return new Failure('HTTP_STATUS', `Cannot use "${shown}": the server answers ${status}${body === '' ? '' : ` with ${body}`}`, {
    stage: answer.stage, recovery, hint: HINTS[status] ?? (status >= 500 ? 'The server has a fault of its own: see its log' : undefined),
    details: { status, url: shown, excerpt: excerptOf(told.body, told.headers), ...(wait !== undefined && { retryAfterMs: wait }) },
  }) as AnyFailure;
}

/** A success whose body is not what was asked for, for instance a sign-in page. `wanted` completes "instead of ...". */
export function contentFailure(answer: Answer, wanted = 'JSON'): AnyFailure {
  const html = looksLikeHtml(answer.body, answer.headers);
  const type = mediaType(answer.headers);
  const got = html ? described(answer) : answer.body.trim() === '' ? 'an empty body' : `${type === '' ? 'a body without content type' : type}${type.endsWith('json') && parseJson(answer.body) === undefined ? ' that cannot be parsed' : ''}: ${described(answer)}`;
  return new Failure('PROTOCOL_VIOLATION', `Cannot read the answer of "${shownUrl(answer.url)}": status ${answer.status} with ${got} instead of ${wanted}`, {
    stage: answer.stage, details: { excerpt: excerptOf(answer.body, answer.headers), sent: 'yes' },
    hint: html ? 'Check the path of the url; a sign-in page or a proxy may stand in between' : type === '' || type.endsWith('json') ? undefined : 'Check the url: another service seems to answer there',
  }) as AnyFailure;
}

/** A 3xx that is not followed. Of a foreign location only the origin is named. */
export function redirectFailure(from: Target, status: number, to: URL | undefined, stage: Stage): AnyFailure {
  if (to === undefined) {
    return new Failure('HTTP_STATUS', `Cannot use "${from.shown}": the server answers ${status} and points to no readable address`, {
      stage, details: { status, url: from.shown, excerpt: '' },
    }) as AnyFailure;
  }
  if (to.origin !== from.origin) {
    const downgrade = from.secure && to.protocol === 'http:' && to.hostname === from.url.hostname;
    return new Failure('URL_REFUSED', `Cannot follow the redirect (${status}) of "${from.shown}": it leads to another origin, ${to.origin}, which gets none of the headers or credentials meant for this one`, {
      stage, details: { url: to.origin },
      hint: downgrade ? `The server does not know that it is behind TLS. Try the url ${shownUrl(Object.assign(new URL(to), { protocol: 'https:', port: '' }))}` : `If ${to.origin} is right, use its url in the configuration`,
    }) as AnyFailure;
  }
  return new Failure('HTTP_STATUS', `Cannot use "${from.shown}": the server answers ${status} and points to "${shownUrl(to)}"`, {
    stage, details: { status, url: from.shown, excerpt: '' }, hint: `Use the url ${shownUrl(to)}`,
  }) as AnyFailure;
}

export function redirectLoopFailure(from: Target, stage: Stage): AnyFailure {
  return new Failure('LIMIT_EXCEEDED', `Cannot use "${from.shown}": more than ${limits.httpRedirects} redirects in a row`, {
    stage, details: { limit: 'redirects', maximum: limits.httpRedirects }, hint: 'Check the path of the url; the server sends the request in a circle',
  }) as AnyFailure;
}

/** 407 of a proxy that plain http goes through. */
export function proxyLoginFailure(target: Target, proxy: string): AnyFailure {
  const [reason, hint] = proxyLogin(target);
  return new Failure('CONNECT_FAILED', `Cannot reach "${target.shown}" through the proxy ${proxy}: ${reason}`, {
    stage: 'connect', details: { address: proxy, system: 'PROXY_STATUS' }, hint,
  }) as AnyFailure;
}
