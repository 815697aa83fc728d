/** A program that speaks for itself (RFC 6749 section 4.4): a client that was registered by hand, no person, no refresh token. */
import { configuredClient } from './client-auth.ts';
import { cleaned, loginRefused, temporary } from './failures.ts';
import { refusedFailure, requestToken, tokensOf } from './token.ts';
import type { Grant, GrantContext, Obtained } from './types.ts';

export const clientCredentials: Grant = { type: 'client_credentials', interactive: false, stored: false, obtain };

async function obtain(context: GrantContext): Promise<Obtained> {
  const { name, settings, discovery, request, scope, proofs, signal } = context;
  const { server, resource } = discovery;
  const client = configuredClient(settings, server);
  if (client === undefined || client.method === 'none') throw loginRefused(name, 'client_required', 'client_credentials need a client that was registered by hand', 'Set oauth.clientId with oauth.clientSecret or oauth.privateKeyFile');
  const listed = server.token_endpoint_auth_methods_supported;
  if (listed !== undefined && !listed.includes(client.method)) {
    throw loginRefused(name, 'client_auth_failed', `${cleaned(server.issuer)} does not take ${client.method}, it lists ${listed.map(cleaned).join(', ')}`, 'Set oauth.tokenEndpointAuthMethod to one of them');
  }
  const outcome = await requestToken({
    name, request, server, client, proofs, signal, parameters: { grant_type: 'client_credentials', resource, scope: scope.length === 0 ? undefined : scope.join(' ') },
  });
  switch (outcome.kind) {
    case 'granted': return { tokens: tokensOf(discovery, client, scope, outcome.granted, proofs) };
    case 'temporary': throw temporary(`get a token for "${name}"`, outcome.failure);
    case 'refused': throw refusedFailure(name, server.issuer, client, outcome, resource);
  }
}
