/** DPoP (RFC 9449): tokens bound to a key of ours. One ES256 key per record, a fresh proof per request, nonces by origin. */
import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { signingKey, signJwt } from './jwt.ts';
import type { ResponseHeaders } from '../http/types.ts';
import type { Proofs } from './types.ts';

/** A new key, or the one that the stored tokens are bound to. Undefined when the stored one cannot be read. */
export function createProofs(pem = newKey()): Proofs | undefined {
  const signing = signingKey(pem, 'ES256');
  if (signing === undefined) return undefined;
  const { kty, crv, x, y } = createPublicKey(signing.key).export({ format: 'jwk' });
  const header = { typ: 'dpop+jwt', jwk: { kty, crv, x, y } };
  const nonces = new Map<string, string>();
  return {
    key: pem,
    proof({ method, url, accessToken, body }) {
      const { origin, pathname } = new URL(url);
      const nonce = nonces.get(origin);
      return signJwt(signing, header, {
        htm: method, htu: `${origin}${pathname}`,
        ...(accessToken !== undefined && { ath: digest(accessToken) }), ...(body !== undefined && { content_digest: digest(body) }),
        ...(nonce !== undefined && { nonce }),
      });
    },
    nonce(url, headers: ResponseHeaders) {
      const value = headers['dpop-nonce'];
      // RFC 9449 section 8: one token of visible characters without quote and backslash.
      if (value === undefined || !/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/.test(value)) return false;
      const { origin } = new URL(url);
      if (nonces.get(origin) === value) return false;
      nonces.set(origin, value);
      return true;
    },
  };
}

function newKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function digest(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url');
}
