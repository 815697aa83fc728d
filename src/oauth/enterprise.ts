/**
 * Enterprise-managed authorization: the company's identity provider exchanges who the person is for a grant to one server's
 * authorization server (RFC 8693), which is then presented there. The grant in between is never kept, shown or logged.
 */
import { isObject, parseJson } from '../base/json.ts';
import { toFailure } from '../base/failure.ts';
import { contentFailure, statusFailure } from '../http/answers.ts';
import { authenticateClient, configuredClient } from './client-auth.ts';
import { textMember } from './document.ts';
import { cleaned, isTemporary, loginRefused, temporary, withoutSent } from './failures.ts';
import { presentAssertion } from './jwt-bearer.ts';
import { formOf } from './token.ts';
import type { ClientIdentity, Grant, GrantContext, OAuthSettings, Obtained } from './types.ts';

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

export const enterpriseManaged: Grant = { type: 'enterprise_managed', interactive: false, stored: false, obtain };

async function obtain(context: GrantContext): Promise<Obtained> {
  const { name, settings, discovery: { server } } = context;
  const { identityProvider } = settings;
  const client = configuredClient(settings, server);
  if (identityProvider === undefined || client === undefined) throw loginRefused(name, 'client_required', 'enterprise-managed authorization needs oauth.clientId and oauth.identityProvider');
  const profiles = server.authorization_grant_profiles_supported;
  if (profiles !== undefined && !profiles.includes(PROFILE)) throw loginRefused(name, 'unsupported_grant_type', `${cleaned(server.issuer)} does not take grants of an identity provider`);
  return presentAssertion(context, client, await exchange(context, identityProvider));
}

async function exchange({ name, request, discovery, scope, signal }: GrantContext, provider: NonNullable<OAuthSettings['identityProvider']>): Promise<string> {
  const { server, resource } = discovery;
  const us: ClientIdentity = {
    kind: 'configured', clientId: provider.clientId, method: provider.clientSecret === undefined ? 'none' : 'client_secret_basic',
    ...(provider.clientSecret !== undefined && { clientSecret: provider.clientSecret }),
  };
  const auth = authenticateClient(us, { issuer: new URL(provider.tokenEndpoint).origin }, name);
  const body = formOf({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', requested_token_type: ID_JAG, audience: server.issuer, resource,
    subject_token: provider.subjectToken, subject_token_type: provider.subjectTokenType ?? 'urn:ietf:params:oauth:token-type:id_token',
    scope: scope.length === 0 ? undefined : scope.join(' '), ...auth.parameters,
  });
  const raw = await request('token', provider.tokenEndpoint, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...auth.headers }, body, signal })
    .catch((error: unknown) => { const failure = toFailure(error, 'auth'); throw isTemporary(failure) ? temporary(`get a grant for "${name}"`, failure) : failure; });
  // Whatever may end up in a message must not repeat what was presented.
  const answer = raw.status === 200 ? raw : { ...raw, body: withoutSent(raw.body, [provider.subjectToken, provider.clientSecret]) };
  const value = parseJson(answer.body)?.value;
  const document = isObject(value) ? value : {};
  const error = textMember(document, 'error');
  if (error !== undefined) throw loginRefused(name, cleaned(error), `the identity provider refused (${cleaned(`${error}: ${textMember(document, 'error_description') ?? ''}`)})`, 'Check oauth.identityProvider; its subject token may have expired');
  if (answer.status !== 200) throw temporary(`get a grant for "${name}"`, statusFailure({ ...answer, stage: 'auth' }));
  if (!isObject(value)) throw temporary(`get a grant for "${name}"`, contentFailure({ ...answer, stage: 'auth' }));
  const grant = textMember(document, 'access_token');
  if (grant === undefined || textMember(document, 'issued_token_type') !== ID_JAG || (textMember(document, 'token_type') ?? '').toLowerCase() !== 'n_a') {
    throw loginRefused(name, 'bad_token_response', 'the identity provider answered with something else than a grant for an authorization server');
  }
  return grant;
}
