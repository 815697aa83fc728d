/** Who we are at an authorization server: the configured client, else a client ID metadata document, else dynamic registration (RFC 7591). */
import { isObject, isStringArray, parseJson } from '../base/json.ts';
import { statusFailure } from '../http/answers.ts';
import { configuredClient } from './client-auth.ts';
import { textMember } from './document.ts';
import { cleaned, loginRefused, temporary } from './failures.ts';
import { parseUrl } from '../http/url.ts';
import { covers, parseScope, unite } from './scope.ts';
import type { AuthorizationServer, ClientAuthMethod, ClientIdentity, OAuthAnswer, OAuthRequest, OAuthSettings, Registration } from './types.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface RegistrationContext {
  readonly name: string;
  readonly settings: OAuthSettings;
  readonly request: OAuthRequest;
  readonly server: AuthorizationServer;
  readonly scope: readonly string[];
  /** Beyond `authorization_code` and `refresh_token`. */
  readonly extraGrants?: readonly string[];
  readonly signal: AbortSignal;
}

export type ClientPlan =
  | { readonly kind: 'ready'; readonly client: ClientIdentity }
  | { readonly kind: 'register' };

/** What can be decided without asking anybody. Fails with LOGIN_REFUSED `client_required` when no way is left. */
export function planClient(settings: OAuthSettings, server: AuthorizationServer, name: string, redirectUri: string): ClientPlan {
  const configured = configuredClient(settings, server);
  if (configured !== undefined) return { kind: 'ready', client: configured };
  if (settings.clientMetadataUrl !== undefined && server.client_id_metadata_document_supported === true) {
    return { kind: 'ready', client: { kind: 'metadata-document', clientId: settings.clientMetadataUrl, method: 'none' } };
  }
  if (server.registration_endpoint !== undefined) return { kind: 'register' };
  throw loginRefused(name, 'client_required', `${cleaned(server.issuer)} does not let programs register by themselves`,
    `Create an OAuth app there (type: native or public, redirect URL ${redirectUri}), then set oauth.clientId (and oauth.clientSecret if you were given one)`);
}

/** True while a stored registration can serve this sign-in. */
export function isUsable(registration: Registration, redirectUri: string | undefined, grants: readonly string[], scope: readonly string[] = []): boolean {
  const { clientSecretExpiresAt = 0 } = registration;
  if (clientSecretExpiresAt !== 0 && clientSecretExpiresAt <= Date.now()) return false;
  if (registration.scope !== undefined && !covers(registration.scope, scope)) return false;
  return (redirectUri === undefined || registration.redirectUri === redirectUri) && grants.every((grant) => registration.grantTypes.includes(grant));
}

export function registeredClient({ clientId, clientSecret, method }: Registration): ClientIdentity {
  return { kind: 'registered', clientId, method, ...(clientSecret !== undefined && { clientSecret }) };
}

/** Registers; without `scope` when the server does not know that member, with `localhost` when it does not take an address. */
export async function register(context: RegistrationContext, redirectUri: string): Promise<Registration> {
  const { name, server } = context;
  const grantTypes = ['authorization_code', 'refresh_token', ...context.extraGrants ?? []];
  const metadata: Record<string, unknown> = {
    client_name: context.settings.clientName ?? `zuno-lite (${name})`, application_type: 'native', redirect_uris: [redirectUri],
    grant_types: grantTypes, response_types: ['code'], token_endpoint_auth_method: wantedMethod(server),
    ...(context.scope.length > 0 && { scope: context.scope.join(' ') }),
  };
  let answer = await post(context, metadata);
  if (answer.status === 400 && 'scope' in metadata && errorOf(answer) === 'invalid_client_metadata') {
    delete metadata['scope'];
    answer = await post(context, metadata);
  }
  return processRegistration(context, answer, redirectUri, grantTypes);
}

function wantedMethod({ token_endpoint_auth_methods_supported: listed }: AuthorizationServer): ClientAuthMethod {
  if (listed === undefined || listed.includes('none')) return 'none';
  return listed.includes('client_secret_basic') ? 'client_secret_basic' : listed.includes('client_secret_post') ? 'client_secret_post' : 'none';
}

function post({ request, server, signal }: RegistrationContext, metadata: object): Promise<OAuthAnswer> {
  return request('registration', server.registration_endpoint!, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(metadata), signal });
}

function errorOf(answer: OAuthAnswer): string | undefined {
  const value = parseJson(answer.body)?.value;
  return isObject(value) ? textMember(value, 'error') : undefined;
}

function processRegistration({ name, server, scope }: RegistrationContext, answer: OAuthAnswer, redirectUri: string, grantTypes: readonly string[]): Registration {
  const { status } = answer;
  if (status === 408 || status === 429 || status >= 500) throw temporary(`register this program for "${name}"`, statusFailure({ ...answer, stage: 'auth' }));
  const who = cleaned(server.issuer);
  const value = parseJson(answer.body)?.value;
  const document = isObject(value) ? value : {};
  const byHand = `Redirect URL used: ${redirectUri}. You can register by hand and set oauth.clientId`;
  if (status < 200 || status >= 300) {
    const error = textMember(document, 'error'), description = textMember(document, 'error_description');
    const said = error === undefined ? `status ${status}` : cleaned(description === undefined ? error : `${error}: ${description}`);
    throw loginRefused(name, error === 'invalid_redirect_uri' ? 'redirect_uri_rejected' : 'registration_rejected', `${who} refused to register this program (${said})`, byHand);
  }
  const clientId = textMember(document, 'client_id');
  if (clientId === undefined || clientId === '') throw loginRefused(name, 'registration_rejected', `${who} answered the registration without a client id`, byHand);
  const uris = document['redirect_uris'];
  if (isStringArray(uris) && uris.length > 0 && !uris.includes(redirectUri)) throw loginRefused(name, 'redirect_uri_rejected', `${who} registered other redirect URLs than ${redirectUri}`, byHand);
  const clientSecret = textMember(document, 'client_secret');
  const expires = document['client_secret_expires_at'], granted = document['grant_types'], limited = textMember(document, 'scope');
  return {
    clientId, redirectUri, registeredAt: Date.now(),
    method: methodOf(textMember(document, 'token_endpoint_auth_method'), clientSecret, server),
    grantTypes: isStringArray(granted) && granted.length > 0 ? granted : grantTypes,
    ...(clientSecret !== undefined && { clientSecret }),
    // With what was asked for: a server that grants less will not grant it the next time either.
    ...(limited !== undefined && { scope: unite(scope, parseScope(limited)) }),
    ...(typeof expires === 'number' && expires > 0 && { clientSecretExpiresAt: expires * 1000 }),
  };
}

/** What came back wins; where nothing did, what the client was given decides. */
function methodOf(returned: string | undefined, secret: string | undefined, server: AuthorizationServer): ClientAuthMethod {
  if (returned === 'none' || ((returned === 'client_secret_basic' || returned === 'client_secret_post') && secret !== undefined)) return returned;
  if (secret === undefined) return 'none';
  const wanted = wantedMethod(server);
  return wanted === 'none' ? 'client_secret_basic' : wanted;
}

/** RFC 8252 prefers the address; servers that know only the name are told the name. */
export function localhostInstead(redirectUri: string): string | undefined {
  const url = parseUrl(redirectUri);
  if (url?.hostname !== '127.0.0.1') return undefined;
  return redirectUri.replace('://127.0.0.1', '://localhost');
}
