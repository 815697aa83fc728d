/** Signed JWTs that we make ourselves: client assertions and DPoP proofs. None is ever read here. */
import { constants, createPrivateKey, randomUUID, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export interface SigningKey { readonly key: KeyObject; readonly alg: string }

type Scheme = readonly [digest: string | undefined, options: { dsaEncoding?: 'ieee-p1363'; padding?: number; saltLength?: number }];
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const SCHEMES: Readonly<Record<string, Scheme>> = {
  ES256: ['sha256', { dsaEncoding: 'ieee-p1363' }], ES384: ['sha384', { dsaEncoding: 'ieee-p1363' }],
  RS256: ['sha256', {}], RS384: ['sha384', {}], RS512: ['sha512', {}],
  PS256: ['sha256', PSS], PS384: ['sha384', PSS], PS512: ['sha512', PSS], EdDSA: [undefined, {}],
};
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384' };

/** Reads a private key in PEM. `undefined` when it is none, or when `alg` does not fit it. */
export function signingKey(pem: string, alg?: string): SigningKey | undefined {
  let key: KeyObject;
  try { key = createPrivateKey(pem); } catch { return undefined; }
  const fitting = algorithmsOf(key);
  const chosen = alg ?? fitting[0];
  return chosen !== undefined && fitting.includes(chosen) ? { key, alg: chosen } : undefined;
}

function algorithmsOf(key: KeyObject): string[] {
  switch (key.asymmetricKeyType) {
    case 'ec': return [CURVES[key.asymmetricKeyDetails?.namedCurve ?? '']].filter((alg) => alg !== undefined);
    case 'rsa': return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
    case 'ed25519': return ['EdDSA'];
    default: return [];
  }
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Compact serialization (RFC 7515); `jti` and `iat` are filled in. */
export function signJwt({ key, alg }: SigningKey, header: object, claims: object): string {
  const [digest, options] = SCHEMES[alg]!;
  const input = `${part({ alg, ...header })}.${part({ jti: randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims })}`;
  return `${input}.${sign(digest, Buffer.from(input), { key, ...options }).toString('base64url')}`;
}
