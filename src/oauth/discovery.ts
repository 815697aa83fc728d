/** From a challenge to one authorization server: resource metadata, choice, server metadata. */
import { startDeadline } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { toFailure } from '../base/failure.ts';
import { sameButSlash } from './endpoints.ts';
import { cleaned, isTemporary, loginRefused } from './failures.ts';
import { discoverServer } from './metadata.ts';
import { discoverResource } from './protected-resource.ts';
import { parseUrl } from '../http/url.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { DiscoveryContext } from './protected-resource.ts';
import type { AuthChallenge, AuthorizationServer, Discovery, ProtectedResource } from './types.ts';

export type { DiscoveryContext } from './protected-resource.ts';

/** `preferred`: the issuer of stored tokens, taken when it is still listed. Bounded to 30 s in all. Rejects with a `Failure`. */
export async function discover(context: DiscoveryContext, challenge: AuthChallenge, preferred?: string): Promise<Discovery> {
  const deadline = startDeadline(limits.oauthDiscoveryMs, context.signal);
  const bounded = { ...context, signal: deadline.signal };
  try {
    const resource = await discoverResource(bounded, challenge);
    const issuers = resource?.authorization_servers ?? [withoutPath(context.serverUrl)];
    const server = await chooseServer(bounded, resource, issuers, preferred);
    const sent = context.settings.resource ?? resource?.resource ?? withoutFragment(context.serverUrl);
    return {
      server, issuers, resource: sent === false ? undefined : sent, resourceScopes: resource?.scopes_supported ?? [],
      dpopRequired: challenge.dpopOnly || resource?.dpop_bound_access_tokens_required === true,
    };
  } finally {
    deadline.dispose();
  }
}

async function chooseServer(context: DiscoveryContext, resource: ProtectedResource | undefined, issuers: readonly string[], preferred: string | undefined): Promise<AuthorizationServer> {
  const { name, settings } = context;
  if (settings.issuer !== undefined) {
    const pin = settings.issuer;
    if (resource !== undefined && !issuers.some((one) => sameButSlash(one, pin))) {
      throw loginRefused(name, 'issuer_not_listed', `oauth.issuer is "${cleaned(pin)}", but the server lists ${issuers.slice(0, limits.oauthIssuers).map(cleaned).join(', ')}`, 'Correct oauth.issuer, or remove it');
    }
    return discoverServer(context, pin);
  }
  const listed = [...new Set(issuers)].slice(0, limits.oauthIssuers);
  const order = preferred === undefined ? listed : [...listed.filter((one) => sameButSlash(one, preferred)), ...listed.filter((one) => !sameButSlash(one, preferred))];
  let first: AnyFailure | undefined, unclear: AnyFailure | undefined;
  for (const issuer of order) {
    try {
      return await discoverServer(context, issuer);
    } catch (error) {
      const failure = toFailure(error, 'auth');
      if (failure.code === 'CANCELED' || context.signal.aborted) throw failure;
      if (isTemporary(failure)) unclear ??= failure; else first ??= failure;
    }
  }
  throw unclear ?? first ?? loginRefused(name, 'no_as_metadata', 'the server lists no sign-in service');
}

/** Before 2025-06-18 a server was its own authorization server, at its origin. */
function withoutPath(url: string): string {
  return new URL(url).origin;
}

/** As configured, to the byte. */
function withoutFragment(url: string): string {
  const hash = url.indexOf('#');
  return hash < 0 ? url : url.slice(0, hash);
}

/** True while the issuer is one of those that the resource lists now. */
export function isListed(discovery: Discovery, issuer: string): boolean {
  return issuer === discovery.server.issuer || discovery.issuers.some((one) => parseUrl(one) !== undefined && sameButSlash(one, issuer));
}
