/** A JWT of somebody else, presented for a token (RFC 7523 section 2.1). The last step of two grants. */
import { temporary } from './failures.ts';
import { refusedFailure, requestToken, tokensOf } from './token.ts';
import type { ClientIdentity, GrantContext, Obtained } from './types.ts';

/** One try: a refused assertion is refused, and no other grant is fallen back to. */
export async function presentAssertion(context: GrantContext, client: ClientIdentity, assertion: string): Promise<Obtained> {
  const { name, discovery, request, scope, proofs, signal } = context;
  const { server, resource } = discovery;
  const outcome = await requestToken({
    name, request, server, client, proofs, signal,
    parameters: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion, resource, scope: scope.length === 0 ? undefined : scope.join(' ') },
  });
  switch (outcome.kind) {
    // Whoever can present the assertion again needs no refresh token, and none is kept.
    case 'granted': { const { refreshToken: _none, ...granted } = outcome.granted; return { tokens: tokensOf(discovery, client, scope, granted, proofs) }; }
    case 'temporary': throw temporary(`get a token for "${name}"`, outcome.failure);
    case 'refused': throw refusedFailure(name, server.issuer, client, outcome, resource);
  }
}
