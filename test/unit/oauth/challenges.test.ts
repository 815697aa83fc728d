import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readChallenge } from '../../../src/oauth/challenges.ts';
import type { AuthChallenge } from '../../../src/oauth/types.ts';

const nothing: AuthChallenge = { metadataUrls: [], scope: [], dpopOnly: false };
const U = 'https://rs.example/prm';
const table: readonly (readonly [header: string | undefined, expected: Partial<AuthChallenge>])[] = [
  [undefined, {}],
  ['', {}],
  ['Bearer', {}],
  ['Basic realm="x"', {}],
  ['Negotiate', {}],
  [`Bearer resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`bearer resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`BEARER Resource_Metadata="${U}"`, { metadataUrls: [U] }],
  [`Bearer resource_metadata=${U}`, { metadataUrls: [U] }],
  [`Bearer resource_metadata = "${U}"`, { metadataUrls: [U] }],
  [`Bearer realm="a, b", resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`Bearer realm="say \\"hi\\"", resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`Basic realm="x", Bearer scope="read", resource_metadata="${U}"`, { metadataUrls: [U], scope: ['read'] }],
  [`Bearer scope="read", Basic realm="x"`, { scope: ['read'] }],
  [`Negotiate dG9rZW4=, Bearer scope="a b"`, { scope: ['a', 'b'] }],
  [`Negotiate, Bearer scope="a"`, { scope: ['a'] }],
  [`Bearer error="invalid_token", error_description="no scope=admin here"`, { error: 'invalid_token' }],
  [`Bearer error_description="resource_metadata=https://evil.example/", resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`Bearer resource_metadata="${U}/1", resource_metadata="${U}/2"`, { metadataUrls: [`${U}/1`, `${U}/2`] }],
  [`Bearer resource_metadata="${U}", resource_metadata="${U}"`, { metadataUrls: [U] }],
  [`Bearer scope="one", scope="two"`, { scope: ['one'] }],
  [`Bearer scope="a  b   a"`, { scope: ['a', 'b'] }],
  [`Bearer scope=""`, {}],
  ['Bearer scope="ok b\\\\ad \u00e9"', { scope: ['ok'] }],
  [`DPoP algs="ES256"`, { dpopOnly: true }],
  [`DPoP algs="ES256", Bearer realm="x"`, { dpopOnly: false }],
  [`DPoP error="use_dpop_nonce", algs="ES256"`, { error: 'use_dpop_nonce', dpopOnly: true }],
  [`DPoP scope="a", resource_metadata="${U}"`, { scope: ['a'], metadataUrls: [U], dpopOnly: true }],
  [`Bearer error="insufficient_scope", scope="files:write", resource_metadata="${U}"`, { error: 'insufficient_scope', scope: ['files:write'], metadataUrls: [U] }],
  [`Basic realm="a", Basic realm="b", Bearer error="x"`, { error: 'x' }],
  [`Bearer realm="open`, {}],
  [`,, ,Bearer scope="a",,`, { scope: ['a'] }],
];

for (const [header, expected] of table) {
  test(`readChallenge() of ${header ?? 'no header'}`, () => {
    assert.deepEqual(readChallenge(header === undefined ? {} : { 'www-authenticate': header }), { ...nothing, ...expected });
  });
}
