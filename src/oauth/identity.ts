/**
 * Headers of an embedding program's own that say who its user is, for the one origin that it names and nowhere else (OAUTH.md 6.3).
 * No configuration file can ask for this. They live for one request, are never kept, and no redirect carries them on.
 */
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { isLoopbackHost } from '../http/addresses.ts';
import { parseUrl, shownUrl } from '../http/url.ts';
import { isHeader, withHeaders } from './credential-headers.ts';
import { loginRefused, tokenRefused } from './failures.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';

export interface IdentityProvider {
  /** As `URL.origin` spells it: https, or http on this machine. A request to any other origin fails and is not sent. */
  readonly origin: string;
  /**
   * For one request; asked once more when the server answers 401. Empty: the request goes out without an identity. They replace
   * configured headers of the same names, never the protocol's. Rejecting fails the request.
   */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
}

export interface IdentityOptions {
  /** Of the server, for messages. */
  readonly name: string;
  readonly provider: IdentityProvider;
  /** Takes out what the protocol decides. */
  readonly without: (headers: RequestHeaders) => RequestHeaders;
  /** Told every value, so that it can be masked. */
  readonly secret?: (value: string) => void;
}

/** Throws a `TypeError` for a provider whose origin is none. */
export function withIdentity(send: SendRequest, { name, provider, without, secret = () => {} }: IdentityOptions): SendRequest {
  const { origin } = provider;
  const trusted = parseUrl(origin);
  if (trusted?.origin !== origin || (trusted.protocol !== 'https:' && !(trusted.protocol === 'http:' && isLoopbackHost(trusted.hostname)))) {
    throw new TypeError(`identity.origin must be an https origin such as https://mcp.example, or http on this machine, not ${JSON.stringify(origin)}`);
  }
  return withHeaders(send, {
    name, patienceMs: limits.headersCommandMs, redirect: 'manual',
    admit({ url }) {
      const target = url instanceof URL ? url : parseUrl(url);
      if (target?.origin !== origin || target.username !== '' || target.password !== '') throw foreign(name, origin, target?.origin ?? '');
    },
    async headers(signal) {
      const given = without(await asked(provider, signal, name));
      const wrong = Object.entries(given).find(([key, value]) => !isHeader(key, value));
      if (wrong !== undefined) throw unavailable(name, `the embedding program gave a header that cannot be sent (${JSON.stringify(wrong[0])})`);
      for (const value of Object.values(given)) secret(value);
      return given;
    },
    late: () => unavailable(name, `the embedding program did not say within ${limits.headersCommandMs} ms who its user is`),
    judge: (head, sent) => judge(name, head, sent),
  });
}

async function asked(provider: IdentityProvider, signal: AbortSignal, name: string): Promise<RequestHeaders> {
  try {
    return await provider.headers(signal);
  } catch (error) {
    throw unavailable(name, 'the embedding program could not say who its user is', error);
  }
}

function judge(name: string, { status, headers, url }: ResponseHead, { headers: sent, repeated }: { readonly headers: RequestHeaders; readonly repeated: boolean }): 'deliver' | 'again' | AnyFailure {
  const known = Object.keys(sent).length > 0;
  if (status === 401) {
    if (known && !repeated) return 'again';
    return new Failure('LOGIN_REQUIRED', `Cannot use server "${name}": ${known ? 'it refuses the identity of its user, also a fresh one' : 'it wants to know its user, and nobody is signed in'}`, {
      stage: 'auth', details: { error: known ? 'identity_refused' : 'identity_absent' }, hint: 'Sign in again in the program that runs this one',
    }) as AnyFailure;
  }
  if (status === 403) return tokenRefused(name, 'identity_forbidden', 'it knows its user and does not let that user do this', 'Ask the owner of the server for the right');
  if (status >= 300 && status < 400 && headers['location'] !== undefined) {
    return new Failure('URL_REFUSED', `Cannot use server "${name}": it redirects (${status}) to ${parseUrl(headers['location'], new URL(url))?.origin ?? 'an unreadable address'}, and an identity is never sent on`, {
      stage: 'auth', details: { url: shownUrl(url) }, hint: 'Give the program the final address of the server',
    }) as AnyFailure;
  }
  return 'deliver';
}

function foreign(name: string, origin: string, target: string): AnyFailure {
  return new Failure('ISSUER_UNTRUSTED', `Cannot use server "${name}": its origin ${target} is not ${origin}, for which this identity is meant; nothing was sent`, {
    stage: 'auth', details: { issuer: target, error: 'identity_origin_mismatch' }, hint: `Use an address at ${origin}`,
  }) as AnyFailure;
}

function unavailable(name: string, why: string, cause?: unknown): AnyFailure {
  return loginRefused(name, 'host_auth_unavailable', why, undefined, cause);
}
