/** The token endpoint: one way to ask it, one way to believe it (RFC 6749 section 5). */
import { toFailure } from '../base/failure.ts';
import { isObject, parseJson } from '../base/json.ts';
import { retryAfterMs, statusFailure, contentFailure } from '../http/answers.ts';
import { authenticateClient } from './client-auth.ts';
import { textMember } from './document.ts';
import { cleaned, isTemporary, loginRefused, withoutSent } from './failures.ts';
import { parseScope } from './scope.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { AuthorizationServer, ClientIdentity, Discovery, GrantedToken, OAuthAnswer, OAuthRequest, Proofs, TokenOutcome, Tokens } from './types.ts';

export interface TokenRequest {
  readonly name: string;
  readonly request: OAuthRequest;
  readonly server: Pick<AuthorizationServer, 'issuer' | 'token_endpoint'>;
  readonly client: ClientIdentity;
  /** `grant_type` and what belongs to it; undefined members are left out. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly proofs?: Proofs | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Longest life that is believed. */
const TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000;
const LONGEST_TOKEN = 1024 * 1024;

/** Asks, twice when the server wants a nonce in the proof. Rejects with a `Failure` for an answer that breaks the protocol. */
export async function requestToken(wanted: TokenRequest): Promise<TokenOutcome> {
  const { name, server, proofs } = wanted;
  try {
    let answer = await ask(wanted);
    const renewed = proofs?.nonce(server.token_endpoint, answer.headers) === true;
    if (renewed && (answer.status === 400 || answer.status === 401) && errorOf(answer) === 'use_dpop_nonce') {
      answer = await ask(wanted);
      proofs?.nonce(server.token_endpoint, answer.headers);
    }
    return processTokenAnswer(name, server.issuer, unrepeated(wanted, answer), proofs !== undefined);
  } catch (error) {
    const failure = toFailure(error, 'auth');
    if (isTemporary(failure)) return { kind: 'temporary', failure };
    throw failure;
  }
}

const SENT: readonly string[] = ['code', 'code_verifier', 'refresh_token', 'assertion', 'device_code', 'subject_token'];

/** Whatever may end up in a message must not repeat the secrets of the request. */
function unrepeated({ parameters, client }: TokenRequest, answer: OAuthAnswer): OAuthAnswer {
  if (answer.status === 200 && errorOf(answer) === undefined && objectOf(answer) !== undefined) return answer;
  return { ...answer, body: withoutSent(answer.body, [...SENT.map((name) => parameters[name]), client.clientSecret]) };
}

/** A form POST with exactly one client authentication. */
function ask({ name, request, server, client, parameters, proofs, signal }: TokenRequest): Promise<OAuthAnswer> {
  const auth = authenticateClient(client, server, name);
  const body = formOf({ ...parameters, ...auth.parameters });
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded', ...auth.headers };
  if (proofs !== undefined) headers['dpop'] = proofs.proof({ method: 'POST', url: server.token_endpoint });
  return request('token', server.token_endpoint, { method: 'POST', headers, body, signal });
}

export function formOf(parameters: Readonly<Record<string, string | undefined>>): string {
  return new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)).toString();
}

function objectOf(answer: OAuthAnswer): JsonObject | undefined {
  const value = parseJson(answer.body)?.value;
  return isObject(value) ? value : undefined;
}

function errorOf(answer: OAuthAnswer): string | undefined {
  const document = objectOf(answer);
  return document === undefined ? undefined : textMember(document, 'error');
}

/** A body with `error` is a refusal whatever the status; a refusal without one (a firewall's page) proves nothing and is temporary. */
export function processTokenAnswer(name: string, issuer: string, answer: OAuthAnswer, dpop: boolean): TokenOutcome {
  const document = objectOf(answer);
  const error = document === undefined ? undefined : textMember(document, 'error');
  const { status } = answer;
  const overloaded = status === 408 || status === 429 || status >= 500;
  if (error !== undefined && error !== '' && !overloaded) {
    return { kind: 'refused', error: cleaned(error), description: cleaned(textMember(document!, 'error_description') ?? ''), status };
  }
  if (status !== 200) {
    const wait = retryAfterMs(answer.headers);
    const failure = status >= 300 && status < 400
      ? loginRefused(name, 'unsafe_redirect', `the token endpoint of ${cleaned(issuer)} redirects, which is not followed`)
      : statusFailure({ ...answer, stage: 'auth' });
    return { kind: 'temporary', failure, ...(wait !== undefined && { retryAfterMs: wait }) };
  }
  if (document === undefined) return { kind: 'temporary', failure: contentFailure({ ...answer, stage: 'auth' }) };
  return { kind: 'granted', granted: grantedToken(name, issuer, document, dpop) };
}

function grantedToken(name: string, issuer: string, document: JsonObject, dpop: boolean): GrantedToken {
  const unusable = (field: string): AnyFailure => loginRefused(name, 'bad_token_response', `${cleaned(issuer)} sent an unusable answer (${field})`, 'This is a fault of the sign-in service');
  const accessToken = textMember(document, 'access_token');
  if (accessToken === undefined || accessToken.length > LONGEST_TOKEN || !/^[\x21-\x7e]+$/.test(accessToken)) throw unusable('access_token');
  const type = (textMember(document, 'token_type') ?? 'bearer').toLowerCase();
  if (type !== 'bearer' && !(dpop && type === 'dpop')) throw unusable('token_type');
  const seconds = Number(document['expires_in'] ?? NaN);
  const refreshToken = textMember(document, 'refresh_token');
  const scope = textMember(document, 'scope');
  return {
    accessToken, tokenType: type,
    ...(seconds > 0 && { expiresAt: Date.now() + Math.min(seconds * 1000, TEN_YEARS_MS) }),
    ...(refreshToken !== undefined && refreshToken !== '' && { refreshToken }),
    ...(scope !== undefined && scope.trim() !== '' && { scope: parseScope(scope) }),
  };
}

/** A refusal of the token endpoint as a failure, for grants that know nothing better. */
export function refusedFailure(name: string, issuer: string, client: ClientIdentity, outcome: Extract<TokenOutcome, { kind: 'refused' }>, resource?: string): AnyFailure {
  const who = cleaned(issuer);
  const said = outcome.description === '' ? outcome.error : `${outcome.error}: ${outcome.description}`;
  switch (outcome.error) {
    case 'invalid_client': case 'unauthorized_client':
      return loginRefused(name, 'client_auth_failed', `${who} refused the client (${said}; method ${client.method})`, client.kind === 'configured' ? 'Check oauth.clientId, oauth.clientSecret and oauth.tokenEndpointAuthMethod' : 'Forget the registration: zuno-lite mcp logout NAME --client');
    case 'invalid_target':
      return loginRefused(name, 'invalid_target', `${who} does not accept the resource "${resource ?? ''}" (${said})`, 'Set oauth.resource to the value that it expects, or to false');
    case 'invalid_scope':
      return loginRefused(name, 'invalid_scope', `${who} does not grant the scope that was asked for (${said})`, 'Set oauth.scope');
    case 'invalid_grant':
      return loginRefused(name, 'invalid_grant', `${who} refused what was presented (${said})`, 'Run the command again');
    default:
      return loginRefused(name, outcome.error, `${who} refused (${said})`);
  }
}

/** What was granted together with all that is needed to use and renew it. */
export function tokensOf(discovery: Discovery, client: ClientIdentity, scope: readonly string[], granted: GrantedToken, proofs: Proofs | undefined): Tokens {
  const { server, resource } = discovery;
  return {
    issuer: server.issuer, tokenEndpoint: server.token_endpoint, clientId: client.clientId,
    accessToken: granted.accessToken, tokenType: granted.tokenType, scopeRequested: scope, scopeGranted: granted.scope ?? scope, obtainedAt: Date.now(),
    ...(resource !== undefined && { resource }), ...(granted.expiresAt !== undefined && { expiresAt: granted.expiresAt }),
    ...(granted.refreshToken !== undefined && { refreshToken: granted.refreshToken }), ...(proofs !== undefined && { dpopKey: proofs.key }),
  };
}
