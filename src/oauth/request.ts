/** The one way out of this floor (OAUTH.md section 6.2): URL policy, address policy, no redirects, caps, deadlines, a trace without secrets. */
import { now } from '../base/deadline.ts';
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { addressKind, isPrivateHost } from '../http/addresses.ts';
import { createHttp } from '../http/fetch.ts';
import { shownUrl } from '../http/url.ts';
import { endpointProblem } from './endpoints.ts';
import type { Log } from '../base/log.ts';
import type { Http, HttpOptions } from '../http/types.ts';
import type { OAuthRequest, RequestKind } from './types.ts';

export interface RequestOptions {
  readonly serverUrl: string;
  /** Hosts that the configuration itself names: they may be private. */
  readonly trustedUrls: readonly string[];
  readonly http: Pick<HttpOptions, 'ca' | 'environment' | 'engine' | 'fetch'>;
  readonly log: Log;
}

const DEADLINE_MS: Readonly<Record<RequestKind, number>> = {
  metadata: limits.oauthMetadataMs, registration: limits.oauthRequestMs, token: limits.oauthRequestMs, device: limits.oauthRequestMs,
  'pushed-authorization': limits.oauthRequestMs, revocation: limits.oauthRevocationMs,
};

/**
 * A server on the public network may not lead us to private addresses; one that is private itself may, and so may the configuration.
 * Link-local addresses (cloud metadata services) are never reached.
 */
export function createOAuthRequest({ serverUrl, trustedUrls, http, log }: RequestOptions): { readonly request: OAuthRequest; close(): void } {
  const server = new URL(serverUrl);
  const trusted = new Set([server, ...trustedUrls.map((url) => new URL(url))].map((url) => url.hostname));
  const clients = new Map<'near' | 'public', Http>();
  let serverIsPrivate: Promise<boolean> | undefined;

  const clientFor = (near: boolean): Http => {
    const which = near ? 'near' : 'public';
    let client = clients.get(which);
    if (client === undefined) {
      const policy = near ? (address: string) => addressKind(address) !== 'link-local' : (address: string) => addressKind(address) === 'public';
      client = createHttp({ ...http, ...(http.engine === 'fetch' ? {} : { connectPolicy: policy }) });
      clients.set(which, client);
    }
    return client;
  };
  const isNear = async (host: string): Promise<boolean> => trusted.has(host) || await (serverIsPrivate ??= isPrivateHost(server.hostname));

  const request: OAuthRequest = async (kind, url, { method = 'GET', headers = {}, body, signal, deadlineMs } = {}) => {
    const problem = endpointProblem(url);
    const own = kind === 'metadata' && problem === 'is not https' && new URL(url).origin === server.origin;
    if (problem !== undefined && !own) throw refusedUrl(url, problem);
    const target = new URL(url);
    const client = clientFor(await isNear(target.hostname));
    const startedAt = now();
    const trace = (outcome: string): void => log({
      level: 'debug', event: 'oauth.request', message: `${method} ${shownUrl(url)}: ${outcome}`, fields: { kind, method, ms: Math.round(now() - startedAt), headers: Object.keys(headers) },
    });
    try {
      const response = await client.fetch(target, {
        method, headers: { accept: 'application/json', ...headers }, redirect: 'manual', signal: signal ?? null, stage: 'auth',
        deadlineMs: deadlineMs ?? DEADLINE_MS[kind], maxBytes: limits.oauthDocumentBytes, replaySafe: method === 'GET', ...(body !== undefined && { body }),
      });
      const received: Record<string, string> = {};
      response.headers.forEach((value, name) => { received[name] = value; });
      const text = await response.text();
      trace(String(response.status));
      return { url, status: response.status, headers: received, body: text };
    } catch (error) {
      trace(error instanceof Failure ? error.code : 'failed');
      throw blockedAddress(error, target);
    }
  };
  return { request, close: () => { for (const client of clients.values()) client.close(); } };
}

function refusedUrl(url: string, problem: string): Failure {
  return new Failure('URL_REFUSED', `Cannot use the address "${shownUrl(url)}" for signing in: it ${problem}`, { stage: 'auth', details: { url: shownUrl(url) } });
}

/** The engine only knows that the policy said no. */
function blockedAddress(error: unknown, target: URL): unknown {
  if (!(error instanceof Failure) || error.code !== 'URL_REFUSED' || error.stage !== 'connect') return error;
  return new Failure('URL_REFUSED', `Cannot sign in at "${shownUrl(target)}": the server leads to a private address`, {
    stage: 'auth', details: { url: shownUrl(target) }, cause: error, hint: `If that is intended, set oauth.issuer to the issuer at ${target.host}`,
  });
}

