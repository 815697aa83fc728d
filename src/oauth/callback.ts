/** What comes back through the browser: checked in the order that OAUTH.md 1.10 gives, and marked, so that nothing unchecked is exchanged. */
import { timingSafeEqual } from 'node:crypto';
import { cleaned, loginRefused, untrusted, withoutSent } from './failures.ts';
import { isLoopbackHost } from '../http/addresses.ts';
import { parseUrl } from '../http/url.ts';
import type { AnyFailure } from '../base/failure.ts';

/** What is held in memory from the moment a URL exists until its one answer came. */
export interface Attempt {
  readonly name: string;
  readonly state: string;
  readonly verifier: string;
  /** Recorded before anybody is sent anywhere: the answer must come from it. */
  readonly issuer: string;
  readonly issExpected: boolean;
  readonly redirectUri: string;
  readonly resource: string | undefined;
  readonly scope: readonly string[];
}

const MARK: unique symbol = Symbol('checked callback');
/** A code that passed every check of its attempt. Only `checkCallback` makes one, only `codeOf` opens it. */
export interface CheckedCallback { readonly [MARK]: string; readonly attempt: Attempt }

export type CallbackVerdict =
  /** Not an answer to this attempt: told to whoever sent it, and the attempt goes on. */
  | { readonly kind: 'stray'; readonly why: string }
  | { readonly kind: 'refused'; readonly failure: AnyFailure }
  | { readonly kind: 'code'; readonly callback: CheckedCallback };

const LONGEST_CODE = 4096;

export function checkCallback(attempt: Attempt, query: URLSearchParams): CallbackVerdict {
  const names = [...query.keys()];
  if (new Set(names).size !== names.length) return { kind: 'stray', why: 'a parameter stands in it twice' };
  const state = query.get('state');
  if (state === null || !sameText(state, attempt.state)) return { kind: 'stray', why: 'it belongs to another sign-in' };
  const { name, issuer } = attempt;
  const iss = query.get('iss');
  // Compared as it is: a slash, a case or a port of difference is a different issuer (RFC 9207 section 2.4).
  if (iss === null ? attempt.issExpected : iss !== issuer) {
    return { kind: 'refused', failure: untrusted(name, iss === null ? 'iss_missing' : 'iss_mismatch', issuer, `the answer did not come from ${cleaned(issuer)}; nothing was sent anywhere`, 'This can be an attack, or a sign-in service that is set up wrongly') };
  }
  const error = query.get('error');
  if (error !== null) return { kind: 'refused', failure: authorizationError(attempt, withoutSent(error, [state]), withoutSent(query.get('error_description') ?? '', [state, attempt.verifier])) };
  const code = query.get('code');
  if (code === null || code === '' || code.length > LONGEST_CODE) return { kind: 'refused', failure: loginRefused(name, 'bad_callback', `${cleaned(issuer)} sent an answer without a usable code`) };
  return { kind: 'code', callback: { [MARK]: code, attempt } };
}

/** The code of a checked callback; a `TypeError` for anything else. */
export function codeOf(callback: CheckedCallback): string {
  const code = callback[MARK];
  if (typeof code !== 'string') throw new TypeError('This callback has not been checked');
  return code;
}

/** Takes the same time wherever they differ. */
function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a), right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** RFC 6749 section 4.1.2.1; only reached when the answer surely came from the issuer. */
function authorizationError({ name, issuer, scope, resource, redirectUri }: Attempt, error: string, description: string): AnyFailure {
  const who = cleaned(issuer);
  const word = cleaned(error);
  const said = description === '' ? word : `${word}: ${cleaned(description)}`;
  switch (error) {
    case 'access_denied': return loginRefused(name, error, `access was refused at ${who}, by you or by its policy (${said})`, 'Run the command again to try with another account');
    case 'invalid_scope': return loginRefused(name, error, `${who} does not know the scope "${scope.join(' ')}" (${said})`, 'Set oauth.scope');
    case 'invalid_target': return loginRefused(name, error, `${who} does not accept the resource "${resource ?? ''}" (${said})`, 'Set oauth.resource to the value that it expects, or to false');
    case 'invalid_request': return loginRefused(name, error, `${who} does not accept the request (${said})`, `Check that exactly this redirect URL is registered: ${redirectUri}`);
    case 'server_error': case 'temporarily_unavailable': return loginRefused(name, error, `${who} is out of order (${said})`, 'Try again later');
    default: return loginRefused(name, word, `${who} refused (${said})`);
  }
}

/**
 * The query of an address that a person copied from the browser: whole, percent-encoded as a whole, wrapped by a terminal, in quotes or
 * angle brackets, or the query alone. A bare code is refused: without `state` and `iss` there is nothing to check.
 */
export function readPasted(text: string, redirectUri: string): { readonly query: URLSearchParams } | { readonly problem: string } {
  let compact = text.replace(/[\s\u200b\ufeff]+/g, '').replace(/^[<"'`(]+|[>"'`)]+$/g, '');
  if (/^https?%3a/i.test(compact)) {
    try { compact = decodeURIComponent(compact); } catch { return { problem: 'it is not complete' }; }
  }
  if (compact === '') return { problem: 'it is empty' };
  if (/^[?#]?[a-z_]+=[^/]*&/i.test(compact)) return { query: new URLSearchParams(compact.replace(/^[?#]/, '')) };
  const url = parseUrl(compact), expected = new URL(redirectUri);
  if (url === undefined) return { problem: 'it is no address. Copy the whole address from the address bar, a code alone cannot be checked' };
  const sameHost = url.hostname === expected.hostname || (isLoopbackHost(url.hostname) && isLoopbackHost(expected.hostname));
  if (url.protocol !== expected.protocol || !sameHost || url.port !== expected.port || url.pathname !== expected.pathname) return { problem: `it does not begin with ${redirectUri}` };
  return { query: url.searchParams };
}
