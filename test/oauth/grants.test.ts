import assert from 'node:assert/strict';
import { generateKeyPairSync, createPublicKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/process.ts';
import { guarded, nobody } from './support.ts';
import type { AnyFailure } from '../../src/base/failure.ts';

const quietly = (config: Record<string, unknown>) => ({ config, interaction: nobody });
const words = (error: string) => (failure: AnyFailure): boolean => { assert.equal((failure.details as { error?: string }).error, error, failure.message); return true; };

for (const [methods, method] of [[['client_secret_basic'], 'client_secret_basic'], [['client_secret_post'], 'client_secret_post']] as const) {
  test(`client_credentials gets a token without a browser by ${method} (row 191)`, async (t) => {
    const one = await guarded(t, { methods, resourceScopes: ['read'] }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 's3cret+value' }));
    assert.match((await one.call()).body, /with read/);
    assert.equal(one.server.stats.lastMethod, method);
    assert.equal(one.server.stats.authorizes, 0);
    assert.equal(one.server.seen('/token')[0]!.parameters['resource'], one.server.url);
    assert.equal(one.oauth.status().state, 'authenticated');
    await one.call();
    assert.equal(one.server.stats.clientCredentials, 1);
    one.server.expireAll();
    await Promise.all([one.call(), one.call(), one.call()]);
    assert.equal(one.server.stats.clientCredentials, 2);
  });
}

for (const [type, options, alg] of [['ec', { namedCurve: 'P-256' }, 'ES256'], ['rsa', { modulusLength: 2048 }, 'RS256'], ['ed25519', undefined, 'EdDSA']] as const) {
  test(`client_credentials signs its assertion with ${alg}, for the issuer and one minute`, async (t) => {
    const { privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const one = await guarded(t, { methods: ['private_key_jwt'] }, quietly({ type: 'client_credentials', clientId: 'robot', privateKey: pem, privateKeyId: 'k1' }));
    await one.call();
    const [head, claims, signature] = one.server.seen('/token')[0]!.parameters['client_assertion']!.split('.') as [string, string, string];
    const read = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
    assert.deepEqual(read(head), { alg, typ: 'JWT', kid: 'k1' });
    const { iss, sub, aud, exp, iat, jti } = read(claims);
    assert.deepEqual({ iss, sub, aud }, { iss: 'robot', sub: 'robot', aud: one.server.issuer });
    assert.equal((exp as number) - (iat as number), 60);
    assert.ok(typeof jti === 'string' && jti.length > 10);
    const key = createPublicKey(pem);
    assert.ok(verify(type === 'ed25519' ? null : 'sha256', Buffer.from(`${head}.${claims}`), type === 'ec' ? { key, dsaEncoding: 'ieee-p1363' } : key, Buffer.from(signature, 'base64url')));
  });
}

test('client_credentials says which method is taken, steps up once, and tells refusals from trouble', async (t) => {
  const wrong = await guarded(t, { methods: ['private_key_jwt'] }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 'x' }));
  await assert.rejects(wrong.call(), words('client_auth_failed'));
  const up = await guarded(t, { methods: [], metadata: { token_endpoint_auth_methods_supported: null }, resourceScopes: ['read'], requiredScope: { write: 'write' } }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 'x' }));
  assert.match((await up.call('write')).body, /with read write/);
  const refused = await guarded(t, { methods: ['client_secret_basic'], tokenError: 'unauthorized_client' }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 'x' }));
  await assert.rejects(refused.call(), words('client_auth_failed'));
  const down = await guarded(t, { methods: ['client_secret_basic'] }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 'x' }));
  down.server.behaviour.routes['/token'] = (_request, response) => { response.writeHead(503).end(); };
  await assert.rejects(down.call(), (failure: AnyFailure) => failure.recovery === 'retryable' && failure.code === 'HTTP_STATUS');
});

test('workload_jwt presents its file as it is now, once, and falls back to nothing', async (t) => {
  const file = path.join(tempDir(t), 'token');
  writeFileSync(file, 'first.jwt.value\n');
  const one = await guarded(t, { resourceScopes: ['read'] }, quietly({ type: 'workload_jwt', clientId: 'robot', assertionFile: file }));
  await one.call();
  assert.equal(one.server.seen('/token')[0]!.parameters['assertion'], 'first.jwt.value');
  writeFileSync(file, 'second.jwt.value');
  one.server.expireAll();
  await one.call();
  assert.equal(one.server.seen('/token')[1]!.parameters['assertion'], 'second.jwt.value');
  one.server.behaviour['tokenError'] = 'invalid_grant';
  one.server.expireAll();
  await assert.rejects(one.call(), words('invalid_grant'));
  assert.equal(one.server.stats.assertions, 3);
  const missing = await guarded(t, {}, quietly({ type: 'workload_jwt', assertionFile: `${file}-none` }));
  await assert.rejects(missing.call(), words('assertion_missing'));
  const bare = await guarded(t, {}, quietly({ type: 'workload_jwt', assertion: 'a.b.c' }));
  await bare.call();
  assert.ok(!('client_id' in bare.server.seen('/token')[0]!.parameters));
});

test('enterprise_managed exchanges at the identity provider, then presents the grant', async (t) => {
  const provider = await guarded(t);
  const config = { type: 'enterprise_managed', clientId: 'us', clientSecret: 'our-secret', identityProvider: { tokenEndpoint: `${provider.server.origin}/token`, clientId: 'us-there', clientSecret: 'idp-secret', subjectToken: 'id.token.text' } };
  const one = await guarded(t, { methods: ['client_secret_basic'], resourceScopes: ['read'] }, quietly(config));
  await one.call();
  const exchange = provider.server.seen('/token')[0]!.parameters;
  assert.equal(exchange['audience'], one.server.issuer);
  assert.equal(exchange['resource'], one.server.url);
  assert.equal(exchange['subject_token'], 'id.token.text');
  const presented = one.server.seen('/token')[0]!;
  assert.match(presented.parameters['assertion']!, /^id-jag-/);
  assert.match(presented.headers.authorization!, /^Basic /);
  for (const [status, body, error] of [[400, '{"error":"invalid_grant"}', 'invalid_grant'], [200, '{"access_token":"x","token_type":"Bearer"}', 'bad_token_response']] as const) {
    provider.server.behaviour.routes['/token'] = (_request, response) => { response.writeHead(status, { 'content-type': 'application/json' }).end(body); };
    const again = await guarded(t, { methods: ['client_secret_basic'] }, quietly(config));
    await assert.rejects(again.call(), words(error));
  }
  for (const answer of [503, 200]) {
    provider.server.behaviour.routes['/token'] = (_request, response) => { response.writeHead(answer, { 'content-type': 'text/html' }).end('<html>'); };
    const again = await guarded(t, {}, quietly(config));
    await assert.rejects(again.call(), (failure: AnyFailure) => failure.recovery === 'retryable');
  }
  const closed = await guarded(t, { metadata: { authorization_grant_profiles_supported: ['other'] } }, quietly(config));
  await assert.rejects(closed.call(), words('unsupported_grant_type'));
});

test('the device flow waits, slows down, survives trouble, and signs in', async (t) => {
  const one = await guarded(t, { devicePending: 2, resourceScopes: ['read'] }, { interaction: { mode: 'surface' } });
  await one.oauth.login({ method: 'device' });
  const [visit] = one.visits;
  assert.equal(visit!.userCode, 'WDJB-MJHT');
  assert.equal(visit!.url, `${one.server.issuer}/activate`);
  assert.equal(visit!.completeUrl, `${one.server.issuer}/activate?user_code=x`);
  assert.match((await one.call()).body, /with read/);
  const registered = JSON.parse(one.server.seen('/register')[0]!.body) as { grant_types: string[] };
  assert.ok(registered.grant_types.includes('urn:ietf:params:oauth:grant-type:device_code'));
  one.server.behaviour['deviceAnswers'] = ['drop', 'authorization_pending'];
  await one.oauth.login({ method: 'device' });
  assert.equal(one.server.stats.registrations, 1);
});

test('the device flow stops for denial, expiry and other errors, and cleans what it shows', async (t) => {
  for (const [answer, error] of [['access_denied', 'access_denied'], ['expired_token', 'device_expired'], ['invalid_grant', 'invalid_grant']] as const) {
    const one = await guarded(t, { deviceAnswers: [answer], userCode: '\u001b[2JAB\u202eCD' }, { config: { type: 'device_code' }, interaction: { mode: 'surface' } });
    await assert.rejects(one.oauth.login(), words(error));
    assert.equal(one.visits[0]!.userCode, 'ABCD');
  }
  const none = await guarded(t, { metadata: { device_authorization_endpoint: null } });
  await assert.rejects(none.oauth.login({ method: 'device' }), words('device_unsupported'));
  for (const [status, body, error] of [
    [200, { user_code: 'x', verification_uri: 'https://a.example' }, 'bad_token_response'], [200, { device_code: 'x', verification_uri: 'https://a.example' }, 'bad_token_response'],
    [200, { device_code: 'x', user_code: 'x', verification_uri: 'javascript:alert(1)' }, 'bad_token_response'], [400, { error: 'invalid_scope' }, 'invalid_scope'],
  ] as const) {
    const odd = await guarded(t);
    odd.server.behaviour.routes['/device'] = (_request, response) => { response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)); };
    await assert.rejects(odd.oauth.login({ method: 'device' }), words(error));
  }
  const down = await guarded(t);
  down.server.behaviour.routes['/device'] = (_request, response) => { response.writeHead(503).end(); };
  await assert.rejects(down.oauth.login({ method: 'device' }), (failure: AnyFailure) => failure.recovery === 'retryable');
});

test('the device flow asks no faster after slow_down', { timeout: 20_000 }, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { deviceCode } = await import('../../src/oauth/device.ts');
  const asked: number[] = [];
  let clock = 0;
  const answers = ['slow_down', 'slow_down', 'authorization_pending', undefined];
  const context = {
    name: 'docs', settings: { type: 'device_code', clientId: 'c' }, scope: [], proofs: undefined, interaction: { mode: 'surface' }, log() {}, signal: new AbortController().signal,
    discovery: { server: { issuer: 'https://as.example', token_endpoint: 'https://as.example/token', device_authorization_endpoint: 'https://as.example/device' }, resource: 'https://r.example', issuers: [], resourceScopes: [], dpopRequired: false },
    clients: { plan: () => ({ kind: 'ready', client: { kind: 'configured', clientId: 'c', method: 'none' } }) },
    async show() { return undefined; },
    async request(kind: string, url: string) {
      if (kind === 'device') return { url, status: 200, headers: {}, body: JSON.stringify({ device_code: 'd', user_code: 'U', verification_uri: 'https://as.example/activate', expires_in: 900 }) };
      asked.push(clock);
      const error = answers.shift();
      return { url, status: error === undefined ? 200 : 400, headers: {}, body: JSON.stringify(error === undefined ? { access_token: 'a', token_type: 'bearer' } : { error }) };
    },
  } as unknown as Parameters<typeof deviceCode.obtain>[0];
  const done = deviceCode.obtain(context);
  let over = false;
  void done.then(() => { over = true; }, () => { over = true; });
  while (!over) {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    if (!over) { clock += 1000; t.mock.timers.tick(1000); }
  }
  assert.deepEqual(asked, [5_000, 15_000, 30_000, 45_000]);
});

test('DPoP: proofs at both places, nonces learned once, the key kept with the tokens', async (t) => {
  const one = await guarded(t, { dpop: true, dpopNonce: 'n-1' });
  assert.equal((await one.call()).status, 200);
  one.server.behaviour['dpopNonce'] = 'n-2';
  assert.equal((await one.call()).status, 200);
  const proof = JSON.parse(Buffer.from(String(one.server.seen('/mcp').at(-1)!.headers['dpop']).split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
  assert.equal(proof['nonce'], 'n-2');
  assert.equal(proof['htu'], one.server.url);
  assert.ok(typeof proof['content_digest'] === 'string');
  one.server.expireAll();
  const second = one.another({ interaction: nobody });
  assert.equal((await second.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 1);
  assert.equal(one.server.stats.authorizes, 1);
});

test('the code flow ends after five minutes and forgets a registration that brought no answer', { timeout: 20_000 }, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { authorizationCode } = await import('../../src/oauth/authorization-code.ts');
  const forgotten: string[] = [];
  const registration = { clientId: 'old', method: 'none', redirectUri: 'https://app.example/back', grantTypes: ['authorization_code'], registeredAt: 1 };
  const context = {
    name: 'docs', settings: { type: 'authorization_code', redirectUri: 'https://app.example/back' }, scope: [], proofs: undefined, log() {}, signal: new AbortController().signal,
    interaction: { mode: 'surface', paste: () => new Promise(() => {}) },
    discovery: { server: { issuer: 'https://as.example', token_endpoint: 'https://as.example/token', authorization_endpoint: 'https://as.example/authorize' }, resource: 'https://r.example', issuers: [], resourceScopes: [], dpopRequired: false },
    clients: { plan: () => ({ kind: 'register' }), registration: () => registration, async register() { return { kind: 'registered', clientId: 'old', method: 'none' }; }, async forget(id: string) { forgotten.push(id); } },
    async show() { return undefined; },
    async request() { throw new Error('nobody is asked'); },
  } as unknown as Parameters<typeof authorizationCode.obtain>[0];
  const done = assert.rejects(authorizationCode.obtain(context), words('callback_timeout'));
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(300_000);
  await done;
  assert.deepEqual(forgotten, ['old']);
});

test('a server that names its metadata only once is found again for new tokens', async (t) => {
  const one = await guarded(t, { methods: ['client_secret_basic'], challenge: 'Bearer resource_metadata="ORIGIN/custom"' }, quietly({ type: 'client_credentials', clientId: 'robot', clientSecret: 'x' }));
  for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource']) one.server.behaviour.routes[path] = (_request, response) => { response.writeHead(404).end(); };
  one.server.behaviour.routes['/custom'] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ resource: one.server.origin, authorization_servers: [one.server.issuer] })); };
  await one.call();
  one.server.behaviour['challenge'] = 'none';
  one.server.expireAll();
  await one.call();
  assert.deepEqual(one.server.seen('/token').map(({ parameters }) => parameters['resource']), [one.server.origin, one.server.origin]);
});
