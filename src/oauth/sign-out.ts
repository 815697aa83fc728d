/** Signing out: tokens are revoked where that is offered (RFC 7009), and forgotten here whatever the server says. */
import { toFailure } from '../base/failure.ts';
import { statusFailure } from '../http/answers.ts';
import { authenticateClient } from './client-auth.ts';
import { discoverServer } from './metadata.ts';
import { registrationAt, withRegistration } from './record.ts';
import { clientOf } from './refresh.ts';
import { formOf } from './token.ts';
import type { DiscoveryContext } from './discovery.ts';
import type { CredentialRecord, CredentialStore } from './store.ts';
import type { Tokens } from './types.ts';

export interface SignOutOptions {
  /** Forgets the registration too. */
  readonly client?: boolean;
  /** Asks nobody. */
  readonly local?: boolean;
}

export interface SignOutReport {
  /** There was something to forget. */
  readonly found: boolean;
  /** `not-offered`: nowhere to revoke. `failed`: the server did not confirm, so the tokens may work until they expire. */
  readonly revoked: 'yes' | 'not-offered' | 'failed' | 'skipped';
  readonly reason?: string;
  readonly expiresAt?: number;
}

export async function signOut(context: DiscoveryContext & { readonly store: CredentialStore }, { client = false, local = false }: SignOutOptions): Promise<SignOutReport> {
  const { store } = context;
  return store.locked(async (inside) => {
    const record = inside.read();
    const tokens = record?.tokens;
    if (record === undefined || (tokens === undefined && !(client && Object.keys(record.registrations).length > 0))) return { found: false, revoked: 'skipped' as const };
    const outcome = tokens === undefined || local ? { revoked: 'skipped' as const } : await revoke(context, record, tokens);
    const issuer = tokens?.issuer;
    const kept: CredentialRecord = { ...(client && issuer !== undefined && registrationAt(record, issuer) !== undefined ? withRegistration(record, issuer, undefined) : record), tokens: undefined };
    const nothingLeft = client || Object.keys(kept.registrations).length === 0;
    if (nothingLeft) inside.clear(); else await inside.write(kept);
    return { found: true, ...outcome, ...(tokens?.expiresAt !== undefined && { expiresAt: tokens.expiresAt }) };
  });
}

/** The refresh token first: revoking it usually ends the whole family, the other order would leave a live one behind. */
async function revoke(context: DiscoveryContext, record: CredentialRecord, tokens: Tokens): Promise<{ readonly revoked: 'yes' | 'not-offered' | 'failed'; readonly reason?: string }> {
  try {
    const server = await discoverServer(context, tokens.issuer);
    const endpoint = server.revocation_endpoint;
    if (endpoint === undefined) return { revoked: 'not-offered' };
    const client = clientOf(context.settings, server, record, tokens);
    const list: readonly (readonly [hint: string, token: string | undefined])[] = [['refresh_token', tokens.refreshToken], ['access_token', tokens.accessToken]];
    let reason: string | undefined;
    for (const [hint, token] of list) {
      if (token === undefined) continue;
      // Anew for each request: an assertion is good for one.
      const auth = authenticateClient(client, server, context.name);
      const answer = await context.request('revocation', endpoint, {
        method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...auth.headers }, body: formOf({ token, token_type_hint: hint, ...auth.parameters }), signal: context.signal,
      });
      if (answer.status >= 300 && !answer.body.includes('unsupported_token_type')) reason ??= statusFailure({ ...answer, stage: 'auth' }).message;
    }
    return reason === undefined ? { revoked: 'yes' } : { revoked: 'failed', reason };
  } catch (error) {
    return { revoked: 'failed', reason: toFailure(error, 'auth').message };
  }
}
