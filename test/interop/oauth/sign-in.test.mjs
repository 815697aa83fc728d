// Signing in at a real authorization server: every client identity, resource indicators, rotation with reuse detection, devices, revocation.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { textOf } from '../household.mjs';
import { createBrowser, createMachine } from './machine.mjs';
import { documents, startService } from './service.mjs';

const SECRET = 'a secret: with+special/characters=and%20more';
const REDIRECT = 'http://127.0.0.1/oauth/callback/mcp/docs';
const redirects = { application_type: 'native', redirect_uris: [REDIRECT], response_types: ['code'], grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] };

async function set(t, { service: options = {}, entry = {} } = {}) {
  const service = await startService(options);
  t.after(service.close);
  const machine = createMachine(service.url, entry);
  t.after(machine.remove);
  const whoami = async (house = machine) => textOf(await house.call('docs_whoami'));
  return { service, machine, whoami };
}

test('dynamic registration: sign in, use, renew, sign out; the token is good for this server alone', async (t) => {
  const { service, machine, whoami } = await set(t);
  const needed = await machine.failure(6, 'tools', 'docs');
  assert.deepEqual([needed.code, needed.hint], ['LOGIN_REQUIRED', 'Run: zuno-lite mcp auth docs']);
  assert.deepEqual(service.asked.filter((one) => /reg|auth|token/.test(one.replace('/.well-known/oauth-protected-resource/mcp', ''))), [], 'without a person nobody is asked');
  const { stdout } = await machine.login();
  assert.match(stdout, new RegExp(`issuer +${service.origin}\\n +scopes +read\\n`));
  assert.equal(await whoami(), 'ann with read');
  const { tokens, registrations } = machine.record();
  assert.deepEqual([tokens.resource, tokens.issuer, Object.keys(registrations)], [service.url, service.origin, [service.origin]]);
  const stored = await service.provider.AccessToken.find(tokens.accessToken);
  assert.equal(stored.aud, service.url);
  service.expireAccess();
  assert.equal(await whoami(), 'ann with read');
  assert.equal(service.count('grant.success', 'refresh_token'), 1);
  assert.notEqual(machine.record().tokens.refreshToken, tokens.refreshToken);
  assert.equal(service.count('registration_create.success'), 1);
  const { removed } = await machine.json('mcp', 'logout', 'docs');
  assert.equal(removed[0].revoked, 'yes');
  assert.equal((await machine.failure(6, 'tools', 'docs')).code, 'LOGIN_REQUIRED');
});

test('the registration is used again; rights that it was not registered for need another', async (t) => {
  const { service, machine, whoami } = await set(t);
  await machine.login();
  await machine.json('mcp', 'logout', 'docs');
  await machine.login();
  assert.equal(service.count('registration_create.success'), 1);
  await machine.login(['--scope', 'write']);
  assert.equal(service.count('registration_create.success'), 2);
  assert.equal(await whoami(), 'ann with read write');
});

test('client ID metadata document: the program is known by its address', async (t) => {
  const clientMetadataUrl = 'https://clients.example/zuno-lite.json';
  documents.set(clientMetadataUrl, { client_id: clientMetadataUrl, client_name: 'zuno-lite', application_type: 'native', redirect_uris: ['http://127.0.0.1/oauth/callback/mcp'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' });
  const { service, machine, whoami } = await set(t, { entry: { oauth: { clientMetadataUrl, callbackPort: await freePort() } } });
  const { stdout } = await machine.login();
  assert.match(stdout, /client +client metadata document/);
  assert.equal(await whoami(), 'ann with read');
  service.expireAccess();
  assert.equal(await whoami(), 'ann with read');
  assert.deepEqual([service.count('registration_create.success'), machine.record().tokens.clientId], [0, clientMetadataUrl]);
});

test('resource indicators: a resource that the service does not know is refused, and what to set is said', async (t) => {
  const { machine } = await set(t, { entry: { oauth: { resource: 'https://elsewhere.example/mcp' } } });
  const { status, stderr } = await machine.signIn({ act: (address) => createBrowser().visit(address) });
  assert.equal(status, 6, stderr);
  assert.match(stderr, /does not accept the resource "https:\/\/elsewhere\.example\/mcp"[\s\S]*next +Set oauth\.resource/);
});

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }), rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwkOf = (pair, alg) => ({ ...pair.publicKey.export({ format: 'jwk' }), alg, use: 'sig', kid: alg });
const confidential = [
  ['client_secret_basic', {}, { clientSecret: '{env:APP_SECRET}' }],
  ['client_secret_post', {}, { clientSecret: '{env:APP_SECRET}' }],
  ['private_key_jwt', { jwks: { keys: [jwkOf(ec, 'ES256')] }, client_secret: undefined }, { privateKeyFile: 'ec.pem', privateKeyId: 'ES256' }],
  ['private_key_jwt', { jwks: { keys: [jwkOf(rsa, 'RS256')] }, client_secret: undefined, token_endpoint_auth_signing_alg: 'RS256' }, { privateKeyFile: 'rsa.pem', privateKeyId: 'RS256', signingAlg: 'RS256' }],
];

for (const [method, registered, settings] of confidential) {
  const key = settings.privateKeyFile === undefined ? '' : ` (${settings.privateKeyId})`;
  test(`confidential client, ${method}${key}: sign in, renew, sign out, and a token without a person`, async (t) => {
    const client = Object.fromEntries(Object.entries({ client_id: 'app:one', client_secret: SECRET, token_endpoint_auth_method: method, ...redirects, ...registered }).filter(([, value]) => value !== undefined));
    const { service, machine } = await set(t, { service: { clients: [client] } });
    const own = { clientId: 'app:one', callbackPort: await freePort(), tokenEndpointAuthMethod: method, ...settings };
    if (own.privateKeyFile !== undefined) {
      writeFileSync(path.join(machine.base, own.privateKeyFile), (own.privateKeyFile === 'ec.pem' ? ec : rsa).privateKey.export({ format: 'pem', type: 'pkcs8' }));
      own.privateKeyFile = path.join(machine.base, own.privateKeyFile);
    }
    machine.configure({ oauth: own });
    const house = machine.with({ APP_SECRET: SECRET });
    await machine.login([], { APP_SECRET: SECRET });
    const whoami = async () => textOf(await house.call('docs_whoami'));
    assert.equal(await whoami(), 'ann with read');
    service.expireAccess();
    assert.equal(await whoami(), 'ann with read');
    const { removed } = await house.json('mcp', 'logout', 'docs');
    assert.equal(removed[0].revoked, 'yes', removed[0].reason);
    machine.configure({ oauth: { ...own, type: 'client_credentials' } });
    assert.equal(await whoami(), 'app:one with read');
    assert.deepEqual([service.count('grant.error'), service.count('grant.success', 'client_credentials'), service.count('registration_create.success')], [0, 1, 0], String(service.events.find(({ error }) => error)?.error));
  });
}

test('a wrong secret is said to be wrong', async (t) => {
  const { machine } = await set(t, { service: { clients: [{ client_id: 'app', client_secret: SECRET, ...redirects }] }, entry: { oauth: { type: 'client_credentials', clientId: 'app', clientSecret: 'not it' } } });
  const error = await machine.failure(6, 'tools', 'docs');
  assert.match(error.message, /client/i);
  assert.doesNotMatch(JSON.stringify(error), /not it/);
});

test('rotation: an old refresh token ends the whole family, the registration stays', async (t) => {
  const { service, machine, whoami } = await set(t);
  await machine.login();
  assert.equal(await whoami(), 'ann with read');
  const old = machine.record();
  service.expireAccess();
  assert.equal(await whoami(), 'ann with read');
  const renewed = machine.record();
  machine.restore(old);
  const ended = await machine.failure(6, 'call', 'docs_whoami', '--yes');
  assert.deepEqual([ended.code, ended.hint], ['LOGIN_REQUIRED', 'Run: zuno-lite mcp auth docs']);
  assert.equal(machine.record().tokens, undefined);
  assert.equal(Object.keys(machine.record().registrations).length, 1);
  assert.equal(await service.provider.RefreshToken.find(renewed.tokens.refreshToken), undefined, 'the service has ended the family');
  await machine.login();
  assert.equal(await whoami(), 'ann with read');
  assert.equal(service.count('registration_create.success'), 1);
});

test('rotation: six processes with one expired sign-in renew it once, and all work', async (t) => {
  const { service, machine, whoami } = await set(t);
  await machine.login();
  await whoami();
  service.expireAccess();
  assert.deepEqual(await Promise.all(Array.from({ length: 6 }, () => whoami())), Array.from({ length: 6 }, () => 'ann with read'));
  assert.deepEqual([service.count('grant.success', 'refresh_token'), service.count('grant.error')], [1, 0]);
});

test('device sign-in: the code is confirmed in a browser elsewhere', async (t) => {
  const { service, machine, whoami } = await set(t);
  const { status, stdout, stderr } = await machine.signIn({
    words: ['--device'], pick: (screen) => /^(http\S+\?user_code=\S+)$/m.exec(screen)?.[1],
    async act(address) {
      const browser = createBrowser();
      // The page that takes the code, filled in; then the one that asks whether this is the device.
      let page = await browser.submit(await browser.visit(address));
      if (/name="confirm"/.test(page.text)) page = await browser.submit(page);
      assert.equal(page.status, 200, page.text);
    },
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stderr, /and enter [A-Z]{4}-[A-Z]{4} /);
  assert.equal(await whoami(), 'ann with read');
  assert.equal(service.count('grant.success', 'urn:ietf:params:oauth:grant-type:device_code'), 1);
  service.expireAccess();
  assert.equal(await whoami(), 'ann with read');
});

test('DPoP: tokens are bound to a key of this machine', async (t) => {
  const { service, machine, whoami } = await set(t, { entry: { oauth: { dpop: true } } });
  await machine.login();
  assert.equal(await whoami(), 'ann with read');
  const { tokens } = machine.record();
  assert.equal(tokens.tokenType, 'dpop');
  assert.ok((await service.provider.AccessToken.find(tokens.accessToken)).jkt);
  service.expireAccess();
  assert.equal(await whoami(), 'ann with read');
});

async function freePort() {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}
