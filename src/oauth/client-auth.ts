/** How a client proves who it is at the token endpoint: exactly one method per request (RFC 6749 section 2.3). */
import { loginRefused } from './failures.ts';
import { signingKey, signJwt } from './jwt.ts';
import type { AuthorizationServer, ClientAuthMethod, ClientIdentity, OAuthSettings } from './types.ts';

const ASSERTION_SECONDS = 60;
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export interface Authenticated { readonly headers: Readonly<Record<string, string>>; readonly parameters: Readonly<Record<string, string>> }

/** Fails with LOGIN_REFUSED when the key cannot be used. */
export function authenticateClient(client: ClientIdentity, server: Pick<AuthorizationServer, 'issuer'>, name: string): Authenticated {
  const { clientId, clientSecret = '' } = client;
  switch (client.method) {
    case 'none': return { headers: {}, parameters: clientId === '' ? {} : { client_id: clientId } };
    case 'client_secret_post': return { headers: {}, parameters: { client_id: clientId, client_secret: clientSecret } };
    case 'client_secret_basic': return { headers: { authorization: `Basic ${Buffer.from(`${form(clientId)}:${form(clientSecret)}`).toString('base64')}` }, parameters: {} };
    case 'private_key_jwt': return { headers: {}, parameters: { client_id: clientId, client_assertion_type: ASSERTION_TYPE, client_assertion: assertion(client, server.issuer, name) } };
  }
}

/** As a form encodes it (RFC 6749 section 2.3.1): some servers refuse more escaping than that, others refuse less. */
function form(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** RFC 7523 section 3; the audience is the issuer, which no other server accepts. */
function assertion({ clientId, key }: ClientIdentity, issuer: string, name: string): string {
  const signing = key === undefined ? undefined : signingKey(key.pem, key.alg);
  if (signing === undefined) throw loginRefused(name, 'client_auth_failed', 'the private key cannot be used for signing', 'Give a PKCS#8 PEM key (EC P-256, RSA or Ed25519) that fits oauth.signingAlg');
  return signJwt(signing, { typ: 'JWT', ...(key?.keyId !== undefined && { kid: key.keyId }) }, { iss: clientId, sub: clientId, aud: issuer, exp: Math.floor(Date.now() / 1000) + ASSERTION_SECONDS });
}

/** Configured, else by what there is: a key, a secret, neither. Of the methods with a secret, the first that the server lists. */
export function chooseMethod(settings: OAuthSettings, server: AuthorizationServer): ClientAuthMethod {
  if (settings.tokenEndpointAuthMethod !== undefined) return settings.tokenEndpointAuthMethod;
  if (settings.privateKey !== undefined) return 'private_key_jwt';
  if (settings.clientSecret === undefined) return 'none';
  const listed = server.token_endpoint_auth_methods_supported;
  return listed !== undefined && !listed.includes('client_secret_basic') && listed.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic';
}

/** The client that the configuration names, as this server is to know it. */
export function configuredClient(settings: OAuthSettings, server: AuthorizationServer): ClientIdentity | undefined {
  if (settings.clientId === undefined) return undefined;
  return {
    kind: 'configured', clientId: settings.clientId, method: chooseMethod(settings, server),
    ...(settings.clientSecret !== undefined && { clientSecret: settings.clientSecret }),
    ...(settings.privateKey !== undefined && {
      key: { pem: settings.privateKey, ...(settings.privateKeyId !== undefined && { keyId: settings.privateKeyId }), ...(settings.signingAlg !== undefined && { alg: settings.signingAlg }) },
    }),
  };
}
