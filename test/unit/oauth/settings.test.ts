import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { readSettings, secretsOf, settingsProblems } from '../../../src/oauth/settings.ts';
import { isFailure } from '../../../src/base/failure.ts';

const none = { readText: () => undefined };
const complaint = (value: unknown): string => settingsProblems(value).map(({ pointer, message }) => `${pointer} ${message}`).join(' | ');

test('settingsProblems() accepts what OAUTH.md names', () => {
  for (const value of [
    undefined, false, {}, { clientId: 'x', clientSecret: 'y', scope: 'a b', callbackPort: 3118 }, { redirectUri: 'http://localhost:3118/callback' }, { redirectUri: 'https://app.example/back' },
    { scope: ['a'], issuer: 'https://as.example', resource: false, authorizationParams: { prompt: 'login' } }, { resource: 'api://x' }, { clientMetadataUrl: 'https://zuno.example/client.json' },
    { type: 'client_credentials', clientId: 'x', clientSecret: 'y', tokenEndpointAuthMethod: 'client_secret_post' }, { type: 'workload_jwt', assertionFile: '/run/token' }, { dpop: true, legacyDefaultEndpoints: true },
    { type: 'enterprise_managed', clientId: 'x', identityProvider: { tokenEndpoint: 'https://idp.example/token', clientId: 'y', subjectToken: 'z' } },
  ]) assert.equal(complaint(value), '');
});

for (const [value, expected] of [
  [true, '/oauth must be an object or false'], [[], '/oauth must be an object or false'], [{ clientID: 'x' }, 'did you mean "clientId"'], [{ 'a/b': 1 }, '/oauth/a~1b is not known'],
  [{ type: 'implicit' }, '/oauth/type must be one of'], [{ clientId: '' }, '/oauth/clientId must be a text'], [{ callbackPort: 0 }, 'must be a port'], [{ callbackPort: 1.5 }, 'must be a port'],
  [{ redirectUri: 'http://app.example/x' }, 'must be http on this machine'], [{ redirectUri: 'app:/x' }, 'must be http on this machine'], [{ redirectUri: 'x' }, 'must be a URL'], [{ issuer: 'http://as.example' }, 'is not https'],
  [{ issuer: 1 }, 'must be a URL'], [{ scope: 5 }, '/oauth/scope must be scopes'], [{ resource: 'relative' }, 'must be an absolute URI'], [{ clientMetadataUrl: 'https://x.example' }, 'https URL with a path'],
  [{ authorizationParams: { a: 1 } }, 'object of texts'], [{ dpop: 'yes' }, 'true or false'], [{ identityProvider: 1 }, 'must be an object'], [{ identityProvider: { tokenEndpoint: 'ftp://x' } }, 'needs subjectToken'],
  [{ identityProvider: { tokenEndpont: 'x' } }, '/oauth/identityProvider/tokenEndpont is not known'], [{ type: 'client_credentials' }, 'needs clientId'], [{ type: 'client_credentials', clientId: 'x' }, 'needs clientSecret or privateKeyFile'],
  [{ type: 'enterprise_managed', clientId: 'x' }, 'needs identityProvider'], [{ type: 'workload_jwt' }, 'needs assertionFile'], [{ clientSecret: 'x' }, 'needs clientId beside clientSecret'],
  [{ clientId: 'x', tokenEndpointAuthMethod: 'private_key_jwt' }, 'needs privateKeyFile'],
] as const) {
  test(`settingsProblems() of ${JSON.stringify(value)}`, () => { assert.ok(complaint(value).includes(expected), complaint(value)); });
}

test('readSettings() reads keys, splits scopes, defaults the type, and tells every secret', () => {
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.deepEqual(readSettings(undefined, 'docs', none), { type: 'authorization_code' });
  const settings = readSettings({ type: 'client_credentials', clientId: 'x', privateKeyFile: '/key.pem', scope: 'a  b' }, 'docs', { readText: (file) => (file === '/key.pem' ? pem : undefined) });
  assert.deepEqual(settings, { type: 'client_credentials', clientId: 'x', scope: ['a', 'b'], privateKey: pem });
  assert.deepEqual(secretsOf(settings), [pem]);
  assert.deepEqual(secretsOf({ type: 'enterprise_managed', clientSecret: 's', identityProvider: { tokenEndpoint: 'https://i.example', clientId: 'c', clientSecret: 't', subjectToken: 'u' } }), ['s', 't', 'u']);
});

test('readSettings() fails with every problem and no value', () => {
  const failing = (value: unknown, pointer: string): void => {
    assert.throws(() => readSettings(value, 'docs', none), (error: unknown) => isFailure(error) && error.code === 'CONFIG_INVALID' && error.details.problems.some((one) => one.pointer === pointer) && !error.message.includes('s3cret'));
  };
  failing({ clientSecret: 's3cret', callbackPort: -1 }, '/oauth/callbackPort');
  failing({ clientId: 'x', privateKeyFile: '/missing' }, '/oauth/privateKeyFile');
  failing({ clientId: 'x', privateKey: 's3cret no pem' }, '/oauth/privateKey');
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  failing({ clientId: 'x', privateKey: rsa, signingAlg: 'ES256' }, '/oauth/privateKey');
});
