/** The URL a person is sent to (RFC 6749 section 4.1.1, RFC 7636, RFC 8707), pushed first where the server demands that (RFC 9126). */
import { isObject, parseJson } from '../base/json.ts';
import { statusFailure } from '../http/answers.ts';
import { authenticateClient } from './client-auth.ts';
import { textMember } from './document.ts';
import { endpointProblem } from './endpoints.ts';
import { loginRefused } from './failures.ts';
import { challengeOf } from './pkce.ts';
import { formOf } from './token.ts';
import type { Attempt } from './callback.ts';
import type { AuthorizationServer, ClientIdentity, OAuthRequest, OAuthSettings } from './types.ts';

/** Ours: `authorizationParams` may not change them. */
const OURS: ReadonlySet<string> = new Set(['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method', 'state', 'resource', 'scope', 'request', 'request_uri', 'response_mode']);

export interface AuthorizationContext {
  readonly settings: OAuthSettings;
  readonly server: AuthorizationServer;
  readonly client: ClientIdentity;
  readonly request: OAuthRequest;
  readonly signal: AbortSignal;
}

export async function authorizationUrl({ settings, server, client, request, signal }: AuthorizationContext, attempt: Attempt): Promise<string> {
  const parameters: Record<string, string> = {};
  for (const [key, value] of Object.entries(settings.authorizationParams ?? {})) if (!OURS.has(key)) parameters[key] = value;
  Object.assign(parameters, {
    response_type: 'code', client_id: client.clientId, redirect_uri: attempt.redirectUri,
    code_challenge: challengeOf(attempt.verifier), code_challenge_method: 'S256', state: attempt.state,
    ...(attempt.resource !== undefined && { resource: attempt.resource }),
    ...(attempt.scope.length > 0 && { scope: attempt.scope.join(' ') }),
    // OpenID Connect Core section 11: without it no refresh token need come.
    ...(attempt.scope.includes('offline_access') && parameters['prompt'] === undefined && { prompt: 'consent' }),
  });
  const sent = server.require_pushed_authorization_requests === true
    ? { client_id: client.clientId, request_uri: await push({ server, client, request, signal }, attempt.name, parameters) }
    : parameters;
  const url = new URL(server.authorization_endpoint!);
  for (const [key, value] of Object.entries(sent)) url.searchParams.set(key, value);
  const problem = endpointProblem(url.href);
  if (problem !== undefined) throw loginRefused(attempt.name, 'insecure_endpoint', `the sign-in address ${problem}`);
  return url.href;
}

async function push({ server, client, request, signal }: Pick<AuthorizationContext, 'server' | 'client' | 'request' | 'signal'>, name: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const endpoint = server.pushed_authorization_request_endpoint;
  if (endpoint === undefined) throw loginRefused(name, 'no_as_metadata', 'the sign-in service wants pushed requests and names no place for them');
  const auth = authenticateClient(client, server, name);
  const answer = await request('pushed-authorization', endpoint, {
    method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...auth.headers }, body: formOf({ ...parameters, ...auth.parameters }), signal,
  });
  const value = parseJson(answer.body)?.value;
  const requestUri = isObject(value) ? textMember(value, 'request_uri') : undefined;
  if (answer.status < 200 || answer.status >= 300 || requestUri === undefined) throw statusFailure({ ...answer, stage: 'auth' });
  return requestUri;
}
