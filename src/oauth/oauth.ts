/** The face of this floor: one object per server entry, which decorates its requests, signs in, signs out and tells how things stand. */
import { readText } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import { authorize } from './authorized.ts';
import { openBrowser, openerFor } from './browser.ts';
import { readPasted } from './callback.ts';
import { noChallenge, readChallenge } from './challenges.ts';
import { canceled, loginRefused, tokenRefused } from './failures.ts';
import { createFlow } from './flow.ts';
import { isExpired } from './freshness.ts';
import { grants } from './grants.ts';
import { createOAuthRequest } from './request.ts';
import { readSettings, secretsOf } from './settings.ts';
import { fetchOver } from '../http/response.ts';
import { signOut } from './sign-out.ts';
import { createStore } from './store.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Log } from '../base/log.ts';
import type { Http, HttpOptions, ResponseHead, SendRequest } from '../http/types.ts';
import type { CredentialRecord } from './record.ts';
import type { SignOutOptions, SignOutReport } from './sign-out.ts';
import type { AuthChallenge, Grant, Interaction, OAuthSettings } from './types.ts';

export interface OAuthOptions {
  /** Name of the entry. */
  readonly name: string;
  readonly serverUrl: string;
  /** The `oauth` value of the entry, its templates expanded: `false`, an object, or absent. */
  readonly config?: unknown;
  /** The entry has an `Authorization` header of its own: it wins, and nobody is asked to sign in. */
  readonly staticAuthorization?: boolean;
  /** For the client that talks to authorization servers. It never sends the entry's headers. */
  readonly http?: Pick<HttpOptions, 'ca' | 'environment' | 'engine' | 'fetch'>;
  /** Where credentials rest, conventionally `<data>/mcp-auth`. Absent: in memory. */
  readonly storeDirectory?: string | undefined;
  readonly interaction: Interaction;
  readonly log?: Log;
  /** Told every secret, so that it can be masked wherever it might show. */
  readonly secret?: (value: string) => void;
  /** Decides whether and how a browser is opened. Default `{}`: none is, on a machine with a display neither. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
}

export interface LoginRequest {
  readonly scope?: readonly string[];
  /** Signs in even where tokens still work. */
  readonly force?: boolean;
  /** Sends one request to the server, to learn what it asks for; a server that lets anybody in is discovered all the same. */
  readonly probe?: SendRequest;
  /** `device` signs in with a code on another device (RFC 8628). Default: what the configuration says. */
  readonly method?: 'browser' | 'device';
  readonly signal?: AbortSignal;
}

export type OAuthState = 'off' | 'static-header' | 'authenticated' | 'expired' | 'not-authenticated' | 'signing-in';

/** How things stand, without asking anybody. Holds no secret. */
export interface OAuthStatus {
  readonly state: OAuthState;
  readonly issuer?: string;
  readonly scope?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** Expired, but it will be renewed when it is next used. */
  readonly refreshable?: boolean;
  readonly client?: 'configured' | 'registered' | 'metadata-document';
  /** Where somebody can sign in right now, here or in another process. */
  readonly signInUrl?: string;
}

export interface OAuth {
  /** Wraps what the transports send through. */
  authorize(send: SendRequest): SendRequest;
  /** The same with the web-standard face, for callers that speak fetch. */
  fetch(send: SendRequest): Http['fetch'];
  /** Signs in, whatever the tokens in hand. Rejects with a `Failure` of stage `auth`. */
  login(request?: LoginRequest): Promise<OAuthStatus>;
  logout(options?: SignOutOptions): Promise<SignOutReport>;
  status(): OAuthStatus;
  /** The sign-in that waits for a person, here or in another process. */
  pending(): { readonly url: string; readonly startedAt: number } | undefined;
  /** Hands an address that the browser ended on to whichever process waits for it (`--callback-url -`). */
  deliver(text: string): Promise<void>;
  /** Ends what waits; idempotent. */
  close(): void;
}

/** Fails with CONFIG_INVALID for an `oauth` value that cannot be used. Asks nobody and opens nothing. */
export function createOAuth(options: OAuthOptions): OAuth {
  const { name, config, staticAuthorization = false, log = silentLog, secret = () => {} } = options;
  if (staticAuthorization && config !== undefined && config !== false) {
    log({ level: 'warning', event: 'oauth.header-wins', message: `Server "${name}" has an Authorization header and an oauth object: the header is sent, the oauth object is not used` });
  }
  if (staticAuthorization) return inert('static-header', tokenRefused(name, 'static_token_rejected', 'it refused (401) the Authorization header of the configuration', 'Renew that token; OAuth is not used while the header is there'), loginRefused(name, 'auth_header_conflict', 'a fixed Authorization header is configured, so signing in would have no effect', 'Remove the header first'));
  if (config === false) {
    const off = loginRefused(name, 'oauth_disabled', 'the server asks for a sign-in (401), but OAuth is turned off for it ("oauth": false)', 'Remove that line, or give a token in headers.Authorization');
    return inert('off', off, off);
  }
  const settings = readSettings(config, name, { readText: (file) => readText(file, limits.oauthDocumentBytes) });
  for (const value of secretsOf(settings)) secret(value);
  return working(options, settings);
}

function working(options: OAuthOptions, settings: OAuthSettings): OAuth {
  const { name, serverUrl, interaction, log = silentLog, secret = () => {}, environment = {}, platform = process.platform } = options;
  const store = createStore({ directory: options.storeDirectory, name, serverUrl, log });
  const trustedUrls = [settings.issuer, settings.identityProvider?.tokenEndpoint].filter((url) => url !== undefined);
  const { request, close } = createOAuthRequest({ serverUrl, trustedUrls, http: options.http ?? {}, log });
  const open = async (url: string): Promise<string | undefined> => {
    const opener = openerFor({ platform, environment });
    return 'why' in opener ? opener.why : openBrowser(url, opener);
  };
  const flowWith = (grant: Grant): ReturnType<typeof createFlow> => createFlow({ name, serverUrl, settings, grant, store, request, interaction, log, secret, open });
  const grant = grants[settings.type];
  const flow = flowWith(grant);
  let deviceFlow: ReturnType<typeof createFlow> | undefined;

  const pending: OAuth['pending'] = () => {
    const { url, startedAt } = flow.waitingAt() ?? deviceFlow?.waitingAt() ?? store.pending() ?? {};
    return url === undefined || startedAt === undefined ? undefined : { url, startedAt };
  };
  const status = (): OAuthStatus => {
    const url = pending()?.url;
    return { ...statusOf(store.read(), settings, flow.current()?.accessToken !== undefined), ...(url !== undefined && { state: 'signing-in' as const, signInUrl: url }) };
  };
  const decorate = (send: SendRequest): SendRequest => authorize(send, { name, serverUrl, flow });
  return {
    status, pending,
    authorize: decorate,
    fetch: (send) => fetchOver(decorate(send)),
    async login({ scope = [], force = true, probe, method, signal } = {}) {
      const challenge = probe === undefined ? noChallenge : await challengeOf(probe, serverUrl, name, signal);
      const which = method === 'device' && grant.type !== 'device_code' ? (deviceFlow ??= flowWith(grants.device_code)) : flow;
      await which.login({ scope, force, challenge, ...(signal !== undefined && { signal }) });
      if (which !== flow) flow.drop();
      return status();
    },
    async logout(wanted = {}) {
      flow.drop();
      return signOut({ name, serverUrl, settings, request, log, store, signal: new AbortController().signal }, wanted);
    },
    async deliver(text) {
      const pending = store.pending();
      if (pending?.redirectUri === undefined) throw loginRefused(name, 'callback_missing', 'no sign-in waits for an address', 'Start again: zuno-lite mcp auth NAME');
      const read = readPasted(text, pending.redirectUri);
      if ('problem' in read) throw loginRefused(name, 'state_mismatch', `that address cannot be used: ${read.problem}`, 'Paste the whole address of the window that was opened last');
      const target = new URL(pending.redirectUri);
      target.search = read.query.toString();
      const answer = await request('metadata', target.href, { deadlineMs: limits.callbackPageMs + limits.oauthMetadataMs });
      if (answer.status !== 200) throw loginRefused(name, 'state_mismatch', 'the sign-in that waits did not take that address', 'Look at the terminal that waits; it says why');
    },
    close() { flow.close(); deviceFlow?.close(); close(); },
  };
}

function statusOf(record: CredentialRecord | undefined, settings: OAuthSettings, inMemory: boolean): OAuthStatus {
  const tokens = record?.tokens;
  if (tokens === undefined) return { state: inMemory ? 'authenticated' : 'not-authenticated' };
  const registered = Object.values(record?.registrations ?? {}).some((one) => one.clientId === tokens.clientId);
  return {
    state: isExpired(tokens) ? 'expired' : 'authenticated', issuer: tokens.issuer, scope: tokens.scopeGranted, refreshable: tokens.refreshToken !== undefined,
    client: tokens.clientId === settings.clientId ? 'configured' : registered ? 'registered' : 'metadata-document',
    ...(tokens.expiresAt !== undefined && { expiresAt: tokens.expiresAt }),
  };
}

/** No OAuth at all: a 401 becomes the failure that says why, and nothing is ever asked or discovered. */
function inert(state: OAuthState, on401: AnyFailure, onLogin: AnyFailure): OAuth {
  const decorate = (send: SendRequest): SendRequest => (request) => {
    let refused = false;
    return send({
      ...request,
      onHead(head: ResponseHead) {
        if (head.status !== 401 || request.stage === 'close') { request.onHead(head); return; }
        refused = true;
        request.onFail(on401);
      },
      onData(chunk) { if (!refused) request.onData(chunk); },
      onEnd(truncated) { if (!refused) request.onEnd(truncated); },
      onFail(failure) { if (!refused) request.onFail(failure); },
    });
  };
  return {
    status: () => ({ state }),
    pending: () => undefined,
    authorize: decorate,
    fetch: (send) => fetchOver(decorate(send)),
    login: () => Promise.reject(onLogin),
    async logout() { return { found: false, revoked: 'skipped' }; },
    deliver: () => Promise.reject(onLogin),
    close() {},
  };
}

/** What the server asks of somebody without a token. */
function challengeOf(send: SendRequest, url: string, name: string, signal: AbortSignal | undefined): Promise<AuthChallenge> {
  return new Promise((resolve, reject) => {
    const exchange = send({
      url, method: 'POST', stage: 'auth', signal, deadlineMs: limits.oauthMetadataMs, redirect: 'manual',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'zuno-lite', version: '0' } } }),
      onHead(head) { exchange.abort(); resolve(head.status === 401 || head.status === 403 ? readChallenge(head.headers) : noChallenge); },
      onData() {}, onEnd() {},
      onFail(failure) { if (signal?.aborted === true) reject(canceled(`sign in to "${name}"`)); else reject(failure); },
    });
  });
}
