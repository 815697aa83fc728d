/** Protected resource metadata (RFC 9728): where a server says who guards it, and whether that statement is about this server. */
import { listMember, fetchDocument, flagMember, textMember, tried } from './document.ts';
import { sameButSlash, urlProblem, wellKnown } from './endpoints.ts';
import { cleaned, loginRefused, temporary, untrusted } from './failures.ts';
import { scopeTokens } from './scope.ts';
import { parseUrl, shownUrl } from '../http/url.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { AuthChallenge, OAuthRequest, OAuthSettings, ProtectedResource } from './types.ts';

export interface DiscoveryContext {
  readonly name: string;
  readonly serverUrl: string;
  readonly settings: OAuthSettings;
  readonly request: OAuthRequest;
  readonly log: Log;
  readonly signal: AbortSignal;
}

interface Candidate { readonly url: string; readonly named: boolean }

/**
 * The URL that the server named, then the two well-known places; the first that answers counts. Undefined when all say that there is
 * none. A named document that is too large or wrong ends the sign-in; a guessed one is only passed over (Z20).
 */
export async function discoverResource(context: DiscoveryContext, challenge: AuthChallenge): Promise<ProtectedResource | undefined> {
  const { name, log, request, signal } = context;
  let unclear: AnyFailure | undefined;
  for (const { url, named } of candidates(context, challenge)) {
    const fetched = await fetchDocument(request, url, signal);
    const checked = fetched.kind === 'document' ? checkResource(context, fetched.document) : fetched;
    switch (checked.kind) {
      case 'resource': return checked.resource;
      case 'mismatch': throw untrusted(name, 'resource_mismatch', checked.resource, `the server at ${shownUrl(context.serverUrl)} says its sign-in is for another service (${cleaned(checked.resource)})`, 'Signing in was stopped to protect the account. If the server has moved, correct its url');
      case 'temporary': unclear ??= checked.failure; break;
      case 'too-large':
        if (named) throw loginRefused(name, 'prm_too_large', `the server points to a metadata document larger than 1 MiB (${shownUrl(url)}), which was not read`, 'This is a fault of the server');
        break;
      case 'unusable':
        if (named) throw loginRefused(name, 'prm_invalid', `the server points to ${shownUrl(url)} for sign-in details, but ${checked.why}`, 'This is a fault of the server');
        break;
      case 'absent': break;
    }
    log({ level: named || checked.kind !== 'absent' ? 'warning' : 'debug', event: 'oauth.resource-metadata', message: `No sign-in details at ${tried([{ url, why: checked.why }])}` });
  }
  if (unclear !== undefined) throw temporary(`find out where to sign in to "${name}"`, unclear);
  return undefined;
}

function candidates({ name, serverUrl }: DiscoveryContext, challenge: AuthChallenge): Candidate[] {
  const server = new URL(serverUrl);
  const list = new Map<string, Candidate>();
  for (const text of challenge.metadataUrls) {
    const url = behindTls(text, server);
    const problem = urlProblem(url);
    if (problem !== undefined && parseUrl(url)?.origin !== server.origin) throw loginRefused(name, 'insecure_endpoint', `the server points to ${shownUrl(url)} for sign-in details, but that address ${problem}`, 'This is a fault of the server');
    list.set(url, { url, named: true });
  }
  if (server.pathname !== '/' || server.search !== '') {
    const url = wellKnown(server, 'oauth-protected-resource', true);
    if (!list.has(url)) list.set(url, { url, named: false });
  }
  const root = `${server.origin}/.well-known/oauth-protected-resource`;
  if (!list.has(root)) list.set(root, { url: root, named: false });
  return [...list.values()];
}

/** A server that does not know that TLS ends before it names itself with http. */
function behindTls(text: string, server: URL): string {
  const url = parseUrl(text);
  if (url === undefined || url.protocol !== 'http:' || server.protocol !== 'https:' || url.hostname !== server.hostname) return text;
  return `https://${server.host}${url.pathname}${url.search}`;
}

type Checked =
  | { readonly kind: 'resource'; readonly resource: ProtectedResource }
  | { readonly kind: 'mismatch'; readonly resource: string; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string };

function checkResource({ serverUrl, settings }: DiscoveryContext, document: JsonObject): Checked {
  const resource = textMember(document, 'resource');
  if (resource === undefined || resource === '') return { kind: 'unusable', why: 'it names no resource' };
  const servers = listMember(document, 'authorization_servers');
  if (servers === undefined || servers.length === 0) return { kind: 'unusable', why: 'it names no authorization server' };
  if (!resourceFits(resource, serverUrl, settings.strictResource === true)) return { kind: 'mismatch', resource, why: 'it is about another resource' };
  const scopes = listMember(document, 'scopes_supported');
  return {
    kind: 'resource',
    resource: {
      resource, authorization_servers: servers,
      ...(scopes !== undefined && { scopes_supported: scopeTokens(scopes) }),
      ...(flagMember(document, 'dpop_bound_access_tokens_required') === true && { dpop_bound_access_tokens_required: true }),
    },
  };
}

/**
 * Identical but for fragment and one final slash; or, unless `strict`, the same origin and a path above the server's. Servers
 * that speak for their origin or a parent path are many, and none of them can speak for somebody else.
 */
export function resourceFits(resource: string, serverUrl: string, strict = false): boolean {
  const server = new URL(serverUrl);
  server.hash = '';
  const claimed = parseUrl(resource);
  if (claimed === undefined) return false;
  if (sameButSlash(claimed.href, server.href)) return true;
  if (strict || claimed.origin !== server.origin || claimed.origin === 'null' || claimed.search !== '') return false;
  const above = claimed.pathname.replace(/\/$/, '');
  return server.pathname === above || server.pathname.startsWith(`${above}/`);
}
