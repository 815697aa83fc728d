/**
 * Renewing tokens: under the lock, after a second look, and on the disk before anybody else may look. A refresh token that is used twice
 * costs the whole family of tokens, so nothing here is cut short by a caller that lost interest.
 */
import { startDeadline } from '../base/deadline.ts';
import { toFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { configuredClient } from './client-auth.ts';
import { errorWord, isTemporary, loginRequired } from './failures.ts';
import { isNearExpiry } from './freshness.ts';
import { discoverServer } from './metadata.ts';
import { registrationAt, withRegistration } from './record.ts';
import { registeredClient } from './registration.ts';
import { refusedFailure, requestToken } from './token.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { DiscoveryContext } from './discovery.ts';
import type { CredentialRecord } from './record.ts';
import type { CredentialStore, LockedStore } from './store.ts';
import type { AuthorizationServer, ClientIdentity, OAuthSettings, Proofs, TokenOutcome, Tokens } from './types.ts';

export type RefreshResult =
  | { readonly kind: 'tokens'; readonly tokens: Tokens; readonly adopted: boolean }
  /** Only signing in again helps. */
  | { readonly kind: 'ended'; readonly failure: AnyFailure }
  /** Everything is kept. */
  | { readonly kind: 'temporary'; readonly failure: AnyFailure; readonly retryAfterMs?: number };

export interface RefreshContext extends DiscoveryContext {
  readonly store: CredentialStore;
  proofsFor(key: string): Proofs | undefined;
}

/** `used`: what the caller holds. What another process has renewed meanwhile is adopted. Rejects for a configuration that is refused. */
export function refreshTokens(context: RefreshContext, used: Tokens): Promise<RefreshResult> {
  return context.store.locked(async (inside) => {
    const record = inside.read(), tokens = record?.tokens;
    if (record === undefined || tokens === undefined) return { kind: 'ended', failure: loginRequired(context.name, 'you have been signed out') };
    if (tokens.accessToken !== used.accessToken && !isNearExpiry(tokens)) return { kind: 'tokens', tokens, adopted: true };
    if (tokens.refreshToken === undefined) return { kind: 'ended', failure: loginRequired(context.name, 'the sign-in has ended', { error: 'refresh_expired' }) };
    return renew(context, inside, record, tokens);
  });
}

async function renew(context: RefreshContext, inside: LockedStore, record: CredentialRecord, tokens: Tokens): Promise<RefreshResult> {
  const { name, request, settings } = context;
  const server = await serverOf(context, tokens);
  const client = clientOf(settings, server, record, tokens);
  const proofs = tokens.dpopKey === undefined ? undefined : context.proofsFor(tokens.dpopKey);
  const ask = (scope: string | undefined): Promise<TokenOutcome> => requestToken({
    name, request, server, client, proofs, parameters: { grant_type: 'refresh_token', refresh_token: tokens.refreshToken, resource: tokens.resource, scope },
  });
  const scope = tokens.scopeGranted.length === 0 ? undefined : tokens.scopeGranted.join(' ');
  let outcome = await ask(scope);
  if (outcome.kind === 'refused' && outcome.error === 'invalid_scope' && scope !== undefined) outcome = await ask(undefined);
  switch (outcome.kind) {
    case 'temporary': return outcome;
    case 'refused': return refused(context, inside, tokens, client, outcome);
    case 'granted': {
      const { granted } = outcome;
      const { expiresAt: _old, ...kept } = tokens;
      const next: Tokens = {
        ...kept, accessToken: granted.accessToken, tokenType: granted.tokenType, tokenEndpoint: server.token_endpoint, obtainedAt: Date.now(),
        scopeGranted: granted.scope ?? tokens.scopeGranted,
        ...(granted.expiresAt !== undefined && { expiresAt: granted.expiresAt }), ...(granted.refreshToken !== undefined && { refreshToken: granted.refreshToken }),
      };
      await inside.write({ ...record, tokens: next });
      return { kind: 'tokens', tokens: next, adopted: false };
    }
  }
}

/** Fresh metadata of the issuer that gave the tokens; what was valid then, when it cannot be had now. */
async function serverOf(context: RefreshContext, { issuer, tokenEndpoint }: Tokens): Promise<AuthorizationServer> {
  const deadline = startDeadline(limits.oauthMetadataMs, context.signal);
  try {
    return await discoverServer({ ...context, signal: deadline.signal }, issuer);
  } catch (error) {
    const failure = toFailure(error, 'auth');
    if (!deadline.expired && !isTemporary(failure) && failure.code !== 'CANCELED' && errorWord(failure) !== 'no_as_metadata') throw failure;
    return { issuer, token_endpoint: tokenEndpoint };
  } finally {
    deadline.dispose();
  }
}

/** The client that the tokens were given to. */
export function clientOf(settings: OAuthSettings, server: AuthorizationServer, record: CredentialRecord, tokens: Tokens): ClientIdentity {
  const configured = configuredClient(settings, server);
  if (configured?.clientId === tokens.clientId) return configured;
  const registration = registrationAt(record, tokens.issuer);
  if (registration?.clientId === tokens.clientId) return registeredClient(registration);
  return { kind: 'metadata-document', clientId: tokens.clientId, method: 'none' };
}

/** Only these two words end anything, and only what they speak of. */
async function refused(context: RefreshContext, inside: LockedStore, tokens: Tokens, client: ClientIdentity, outcome: Extract<TokenOutcome, { kind: 'refused' }>): Promise<RefreshResult> {
  const { name } = context;
  const now = inside.read();
  if (now?.tokens !== undefined && now.tokens.refreshToken !== tokens.refreshToken) return { kind: 'tokens', tokens: now.tokens, adopted: true };
  const failure = refusedFailure(name, tokens.issuer, client, outcome, tokens.resource);
  switch (outcome.error) {
    case 'invalid_grant':
      if (now !== undefined) await inside.write({ ...now, tokens: undefined });
      return { kind: 'ended', failure: loginRequired(name, 'the sign-in has ended', { error: 'refresh_expired' }) };
    case 'invalid_client': case 'unauthorized_client':
      if (client.kind !== 'registered') throw failure;
      if (now !== undefined) await inside.write({ ...withRegistration(now, tokens.issuer, undefined), tokens: undefined });
      return { kind: 'ended', failure: loginRequired(name, 'the sign-in service no longer knows this program', { error: 'client_forgotten' }) };
    case 'unsupported_grant_type':
      return { kind: 'ended', failure };
    default:
      throw failure;
  }
}
