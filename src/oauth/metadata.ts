/** Authorization server metadata (RFC 8414, OpenID Connect Discovery): believed only when it is about the issuer that was asked for. */
import { endpointProblem, sameButSlash, urlProblem, wellKnown } from './endpoints.ts';
import { fetchDocument, flagMember, listMember, textMember, tried } from './document.ts';
import { cleaned, loginRefused, temporary, untrusted } from './failures.ts';
import { shownUrl } from '../http/url.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { DiscoveryContext } from './protected-resource.ts';
import type { AuthorizationServer, GrantType, OAuthSettings } from './types.ts';

const ENDPOINTS = [
  'authorization_endpoint', 'registration_endpoint', 'revocation_endpoint', 'device_authorization_endpoint', 'pushed_authorization_request_endpoint',
] as const;
const LISTS = [
  'scopes_supported', 'grant_types_supported', 'token_endpoint_auth_methods_supported', 'code_challenge_methods_supported',
  'authorization_grant_profiles_supported', 'dpop_signing_alg_values_supported',
] as const;
const FLAGS = ['authorization_response_iss_parameter_supported', 'client_id_metadata_document_supported', 'require_pushed_authorization_requests'] as const;

/** A reason that leads to the next candidate and is told when there is no next one; `rank` decides which of several is told. */
interface Objection { readonly error: string; readonly why: string; readonly hint?: string; readonly issuer?: string; readonly rank: number }

/**
 * The metadata of `issuer`, from the first well-known place that has a usable document. Fails with ISSUER_UNTRUSTED when one speaks for
 * another issuer, LOGIN_REFUSED when there is none, and a retryable failure when that could not be found out.
 */
export async function discoverServer(context: DiscoveryContext, issuer: string): Promise<AuthorizationServer> {
  const { name, settings, log, request, signal } = context;
  const unsafe = urlProblem(issuer) ?? (issuer.includes('#') ? 'has a fragment' : undefined);
  if (unsafe !== undefined) throw loginRefused(name, 'insecure_endpoint', `the sign-in service ${shownUrl(issuer)} cannot be used: its address ${unsafe}`, 'This is a fault of the server');
  const attempts: { url: string; why: string }[] = [];
  let objection: Objection | undefined, unclear: AnyFailure | undefined;
  for (const url of places(issuer)) {
    const fetched = await fetchDocument(request, url, signal);
    if (fetched.kind === 'document') {
      const checked = checkServer(fetched.document, issuer, settings);
      if (!('rank' in checked)) return checked;
      attempts.push({ url, why: checked.why });
      if (objection === undefined || checked.rank > objection.rank) objection = checked;
      continue;
    }
    attempts.push({ url, why: fetched.why });
    if (fetched.kind === 'temporary') unclear ??= fetched.failure;
    if (fetched.kind === 'too-large') log({ level: 'warning', event: 'oauth.server-metadata', message: `Passed over ${shownUrl(url)}: ${fetched.why}` });
  }
  if (objection?.error === 'issuer_mismatch') throw untrusted(name, objection.error, objection.issuer ?? '', objection.why, objection.hint);
  if (objection !== undefined) throw loginRefused(name, objection.error, objection.why, objection.hint);
  if (unclear !== undefined) throw temporary(`find out how to sign in to "${name}"`, unclear);
  if (settings.legacyDefaultEndpoints === true) return defaultEndpoints(issuer);
  throw loginRefused(name, 'no_as_metadata', `nothing says how to sign in; tried ${tried(attempts)}`, 'Ask the owner of the server, or set oauth.issuer');
}

function places(issuer: string): string[] {
  const url = new URL(issuer);
  const path = url.pathname.replace(/\/$/, '');
  const list = [wellKnown(url, 'oauth-authorization-server'), wellKnown(url, 'openid-configuration')];
  if (path !== '') list.push(`${url.origin}${path}/.well-known/openid-configuration`);
  return list;
}

/** What 2025-03-26 demanded of clients where there is no metadata. Never without the word of the user. */
function defaultEndpoints(issuer: string): AuthorizationServer {
  const { origin } = new URL(issuer);
  return {
    issuer, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  };
}

function checkServer(document: JsonObject, expected: string, settings: OAuthSettings): AuthorizationServer | Objection {
  const issuer = textMember(document, 'issuer');
  if (issuer === undefined) return { error: 'no_as_metadata', why: 'the document names no issuer', rank: 1 };
  // The two spellings share their well-known places, byte for byte, so either can be meant; the document's is the name from here on.
  if (issuer !== expected && (settings.strictIssuer === true || !sameButSlash(issuer, expected))) {
    const shown = cleaned(issuer);
    return {
      error: 'issuer_mismatch', issuer, rank: 4, why: `the sign-in service calls itself "${shown}", but "${cleaned(expected)}" was expected`,
      hint: shown.includes('{') ? 'Set oauth.issuer to the issuer of your own tenant' : `If "${shown}" is right, set oauth.issuer to it`,
    };
  }
  const token_endpoint = textMember(document, 'token_endpoint');
  if (token_endpoint === undefined) return { error: 'no_as_metadata', why: `the sign-in service ${cleaned(issuer)} names no token endpoint`, rank: 2 };
  const out: Record<string, unknown> = { issuer, token_endpoint };
  for (const key of ENDPOINTS) {
    const value = textMember(document, key);
    if (value !== undefined) out[key] = value;
  }
  for (const key of ['token_endpoint', ...ENDPOINTS]) {
    const value = out[key];
    const problem = typeof value === 'string' ? endpointProblem(value) : undefined;
    if (problem !== undefined) return { error: 'insecure_endpoint', why: `the sign-in service gives an unsafe address (${key}): it ${problem}`, rank: 3 };
  }
  for (const key of LISTS) {
    const value = listMember(document, key);
    if (value !== undefined) out[key] = value;
  }
  for (const key of FLAGS) {
    const value = flagMember(document, key);
    if (value !== undefined) out[key] = value;
  }
  const server = out as unknown as AuthorizationServer;
  return codeFlowObjection(document, server, settings) ?? server;
}

const NEEDS_AUTHORIZATION: Readonly<Record<GrantType, boolean>> = {
  authorization_code: true, client_credentials: false, device_code: false, enterprise_managed: false, workload_jwt: false,
};

function codeFlowObjection(document: JsonObject, server: AuthorizationServer, settings: OAuthSettings): Objection | undefined {
  if (!NEEDS_AUTHORIZATION[settings.type]) return undefined;
  const who = cleaned(server.issuer);
  if (server.authorization_endpoint === undefined) return { error: 'no_as_metadata', why: `the sign-in service ${who} names no authorization endpoint`, rank: 2 };
  const types = listMember(document, 'response_types_supported'), modes = listMember(document, 'response_modes_supported');
  if (types !== undefined && !types.includes('code')) return { error: 'unsupported_response_type', why: `the sign-in service ${who} does not offer the code flow`, rank: 2 };
  if (modes !== undefined && !modes.includes('query')) return { error: 'unsupported_response_type', why: `the sign-in service ${who} does not answer by query`, rank: 2 };
  if (settings.allowMissingPkceMetadata !== true && server.code_challenge_methods_supported?.includes('S256') !== true) {
    return {
      error: 'pkce_unsupported', why: `the sign-in service ${who} does not announce PKCE (S256), which MCP requires`, rank: 3,
      hint: 'If its owner confirms that it is supported, set oauth.allowMissingPkceMetadata to true',
    };
  }
  return undefined;
}
