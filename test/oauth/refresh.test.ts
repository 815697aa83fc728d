import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { guarded, nobody } from './support.ts';
import { freePort } from '../support/http-server.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { CredentialRecord } from '../../src/oauth/record.ts';
import type { Guarded } from './support.ts';

/** The stored record, and a way to change it as another process would. */
function recordOf({ store }: Guarded): { read(): CredentialRecord; change(tokens: Record<string, unknown>): void; text(): string } {
  const directory = path.join(store, 'credentials');
  const file = path.join(directory, readdirSync(directory)[0]!);
  const read = (): CredentialRecord => JSON.parse(readFileSync(file, 'utf8')) as CredentialRecord;
  return {
    read, text: () => readFileSync(file, 'utf8'),
    change(tokens) { const record = read(); writeFileSync(file, JSON.stringify({ ...record, generation: 'changed', tokens: { ...record.tokens, ...tokens } })); chmodSync(file, 0o600); },
  };
}

/** Signed in, and then taken over by a program that may ask nobody. */
async function signedIn(t: Parameters<typeof guarded>[0], behaviour: Record<string, unknown> = {}): Promise<Guarded & { readonly record: ReturnType<typeof recordOf> }> {
  const first = await guarded(t, behaviour);
  await first.oauth.login();
  const second = first.another({ interaction: nobody });
  return { ...second, record: recordOf(second) };
}

test('authorize() renews a token that has 20 s left before it is used (row 185)', async (t) => {
  const one = await signedIn(t, { resourceScopes: ['read'] });
  one.record.change({ expiresAt: Date.now() + 20_000, obtainedAt: Date.now() - 60_000 });
  const before = one.server.seen('/mcp').length;
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 1);
  assert.equal(one.server.seen('/mcp').length, before + 1);
  const refresh = one.server.seen('/token').at(-1)!.parameters;
  assert.equal(refresh['resource'], one.server.url);
  assert.equal(refresh['scope'], 'read');
  assert.ok(one.record.read().tokens!.expiresAt! > Date.now() + 3_000_000);
});

test('authorize() renews once after a 401 and the call succeeds (row 185)', async (t) => {
  const one = await signedIn(t);
  one.server.expireAll();
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 1);
  assert.equal(one.server.stats.authorizes, 1);
});

test('authorize() makes one refresh of many refusals', async (t) => {
  const one = await signedIn(t, { refreshDelayMs: 30 });
  one.server.expireAll();
  const answers = await Promise.all(Array.from({ length: 8 }, () => one.call()));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal(one.server.stats.refreshes, 1);
  assert.equal(one.server.stats.reuse, 0);
});

test('authorize() takes over what another process has renewed', async (t) => {
  const one = await signedIn(t);
  await one.call();
  one.server.expireAll();
  const other = one.another({ interaction: nobody });
  assert.equal((await other.call()).status, 200);
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 1);
});

for (const [answer, more] of [[503, {}], [429, { retryAfter: '1' }], ['html403', {}], ['drop', {}]] as const) {
  test(`authorize() keeps everything when the refresh ends with ${answer}, and asks nobody (row 187)`, async (t) => {
    const one = await signedIn(t, { refreshAnswer: answer, ...more });
    const before = one.record.text();
    one.server.expireAll();
    await assert.rejects(one.call(), (failure: AnyFailure) => failure.recovery === 'retryable' && failure.code !== 'LOGIN_REQUIRED' && /kept/.test(failure.message));
    assert.equal(one.record.text(), before);
    // Until the back-off is over nobody is asked again.
    const asked = one.server.seen('/token').length;
    await assert.rejects(one.call(), (failure: AnyFailure) => failure.recovery === 'retryable');
    assert.equal(one.server.seen('/token').length, asked);
    one.server.behaviour['refreshAnswer'] = 'ok';
    assert.equal((await one.another().call()).status, 200);
  });
}

test('authorize() goes on with a token that still lives while renewing is impossible', async (t) => {
  const one = await signedIn(t, { refreshAnswer: 503 });
  one.record.change({ expiresAt: Date.now() + 20_000, obtainedAt: Date.now() - 60_000 });
  assert.equal((await one.call()).status, 200);
});

test('authorize() asks for a sign-in after invalid_grant and keeps the registration (row 187)', async (t) => {
  const one = await signedIn(t, { refreshAnswer: 'invalid_grant' });
  one.server.expireAll();
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED' && failure.details.error === 'refresh_expired');
  const record = one.record.read();
  assert.equal(record.tokens, undefined);
  assert.equal(Object.keys(record.registrations).length, 1);
  const again = one.another({ interaction: { mode: 'surface', visit: async ({ url }) => (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? undefined } });
  assert.equal((await again.call()).status, 200);
  assert.equal(one.server.stats.registrations, 1);
});

test('authorize() takes over a newer token even when its own refresh is refused', async (t) => {
  const one = await signedIn(t);
  one.server.expireAll();
  let swapped = false;
  one.server.behaviour.routes['/token'] = (_request, response) => {
    // Another process, without our lock, was faster.
    if (!swapped) { swapped = true; one.record.change({ accessToken: 'elsewhere', refreshToken: 'newer' }); one.server.access.set('elsewhere', { expiresAt: Date.now() + 60_000, scope: '', family: 'x' }); }
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
  };
  assert.equal((await one.call()).status, 200);
  assert.equal(one.record.read().tokens!.accessToken, 'elsewhere');
});

test('authorize() forgets a registration after invalid_client, but never a configured client', async (t) => {
  const one = await signedIn(t, { refreshAnswer: 'invalid_client' });
  one.server.expireAll();
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED' && failure.details.error === 'client_forgotten');
  assert.deepEqual(one.record.read().registrations, {});
  const configured = await guarded(t, { refreshAnswer: 'invalid_client', methods: [] }, { config: { clientId: 'configured', callbackPort: await freePort() } });
  await configured.oauth.login();
  const record = recordOf(configured), before = record.text();
  configured.server.expireAll();
  const quiet = configured.another({ interaction: nobody });
  await assert.rejects(quiet.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REFUSED' && failure.details.error === 'client_auth_failed');
  assert.equal(record.text(), before);
});

test('authorize() keeps the old refresh token where no new one comes', async (t) => {
  const one = await signedIn(t, { rotate: false });
  const { refreshToken } = one.record.read().tokens!;
  one.server.expireAll();
  await one.call();
  assert.equal(one.record.read().tokens!.refreshToken, refreshToken);
});

test('authorize() asks once more without scope after invalid_scope', async (t) => {
  const one = await signedIn(t, { resourceScopes: ['read'], tokenScope: 'read extra' });
  one.server.expireAll();
  assert.equal((await one.call()).status, 200);
  assert.deepEqual(one.server.seen('/token').slice(-2).map((seen) => seen.parameters['scope']), ['read extra', undefined]);
});

test('authorize() names the setting after invalid_target', async (t) => {
  const one = await signedIn(t, { refreshAnswer: 'invalid_target' });
  one.server.expireAll();
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REFUSED' && /oauth\.resource/.test(failure.hint ?? ''));
});

test('authorize() asks for a sign-in when there is no refresh token', async (t) => {
  const one = await signedIn(t, { refreshToken: false });
  one.server.expireAll();
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED');
  assert.equal(one.server.stats.refreshes, 0);
});

test('a refresh that was sent is finished and kept though its caller has left', async (t) => {
  const one = await signedIn(t, { refreshDelayMs: 100 });
  const before = one.record.read().tokens!.accessToken;
  one.server.expireAll();
  const stop = new AbortController();
  const gone = one.call('read', { signal: stop.signal });
  while (one.server.seen('/token').length < 2) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await assert.rejects(gone, (failure: AnyFailure) => failure.code === 'CANCELED');
  assert.equal((await one.call()).status, 200);
  assert.notEqual(one.record.read().tokens!.accessToken, before);
  assert.equal(one.server.stats.refreshes, 1);
});

test('a clock that went back makes no token expired', async (t) => {
  const one = await signedIn(t);
  one.record.change({ obtainedAt: Date.now() + 86_400_000, expiresAt: Date.now() - 1 });
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 0);
});

test('authorize() refreshes at the stored endpoint when metadata cannot be had', async (t) => {
  const one = await signedIn(t);
  one.server.expireAll();
  one.server.behaviour.routes['/.well-known/oauth-authorization-server'] = (_request, response) => { response.writeHead(503).end(); };
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.refreshes, 1);
});

test('authorize() uses no token for another URL, client, issuer or resource (row 190)', async (t) => {
  const one = await signedIn(t);
  assert.equal((await one.call()).status, 200);
  const seen = (): number => one.server.log.filter(({ headers }) => headers.authorization?.startsWith('Bearer')).length;
  const before = seen();
  const moved = one.another({ interaction: nobody, serverUrl: `${one.server.url}?v=2` });
  assert.equal(moved.oauth.status().state, 'not-authenticated');
  for (const config of [{ clientId: 'other' }, { issuer: 'https://other.example' }, { resource: 'https://other.example/mcp' }, { resource: false }]) {
    const other = one.another({ interaction: nobody, config });
    await assert.rejects(other.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED');
  }
  assert.equal(seen(), before);
});

test('status() tells authenticated, expired and none (row 189)', async (t) => {
  const one = await signedIn(t, { resourceScopes: ['read'] });
  const state = (): string => one.another({ interaction: nobody }).oauth.status().state;
  assert.equal(state(), 'authenticated');
  const { issuer, scope, refreshable, expiresAt, client } = one.oauth.status();
  assert.deepEqual({ issuer, scope, refreshable, client }, { issuer: one.server.issuer, scope: ['read'], refreshable: true, client: 'registered' });
  assert.ok(expiresAt! > Date.now() + 3_500_000 && expiresAt! < Date.now() + 3_700_000, 'milliseconds, not seconds');
  one.record.change({ expiresAt: Date.now() - 1000, obtainedAt: Date.now() - 10_000 });
  assert.equal(state(), 'expired');
  await one.oauth.logout({ local: true });
  assert.equal(state(), 'not-authenticated');
});

test('logout() revokes the refresh token first, forgets, and keeps the registration (row 190)', async (t) => {
  const one = await signedIn(t);
  assert.deepEqual({ ...await one.oauth.logout(), expiresAt: 0 }, { found: true, revoked: 'yes', expiresAt: 0 });
  assert.deepEqual(one.server.stats.revoked, ['refresh_token', 'access_token']);
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED');
  assert.equal(Object.keys(one.record.read().registrations).length, 1);
  assert.deepEqual(await one.oauth.logout(), { found: false, revoked: 'skipped' });
  assert.equal((await one.oauth.logout({ client: true })).found, true);
  assert.deepEqual(readdirSync(path.join(one.store, 'credentials')), []);
});

test('logout() forgets whatever the server says (row 190)', async (t) => {
  const failing = await signedIn(t, { revocation: 503 });
  const report = await failing.oauth.logout({ client: true });
  assert.equal(report.revoked, 'failed');
  assert.match(report.reason ?? '', /503/);
  assert.deepEqual(readdirSync(path.join(failing.store, 'credentials')), []);
  assert.equal((await (await signedIn(t, { revocation: 'none' })).oauth.logout()).revoked, 'not-offered');
  const gone = await signedIn(t);
  await gone.server.close();
  assert.equal((await gone.oauth.logout()).revoked, 'failed');
});
