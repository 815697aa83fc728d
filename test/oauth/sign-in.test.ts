import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { freePort } from '../support/http-server.ts';
import { browse, browsing, guarded, landing, nobody } from './support.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Interaction } from '../../src/oauth/types.ts';

const words = (error: string) => (failure: AnyFailure): boolean => { assert.equal((failure.details as { error?: string }).error, error, failure.message); return true; };
const files = (directory: string): string[] => readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => path.join(one.parentPath ?? one.path, one.name));

test('authorize() signs in on the first 401 and repeats the request once (row 176)', async (t) => {
  const { server, call, visits } = await guarded(t, { resourceScopes: ['read'] }, { interaction: browsing });
  assert.match((await call()).body, /with read/);
  const registered = JSON.parse(server.seen('/register')[0]!.body) as Record<string, unknown>;
  assert.equal(registered['application_type'], 'native');
  assert.deepEqual(registered['grant_types'], ['authorization_code', 'refresh_token']);
  assert.deepEqual(registered['redirect_uris'], [visits[0]!.redirectUri]);
  const [authorize] = server.seen('/authorize');
  assert.equal(new URLSearchParams(authorize!.query).get('redirect_uri'), visits[0]!.redirectUri);
  assert.equal(server.seen('/mcp').length, 2);
  assert.equal((await call()).status, 200);
  assert.equal(server.seen('/mcp').length, 3);
  assert.equal(server.stats.authorizes, 1);
  assert.equal(server.stats.badResource, 0);
});

test('authorize() uses the configured client and scope and registers nothing (row 176)', async (t) => {
  const port = await freePort();
  const { server, call } = await guarded(t, { resourceScopes: ['everything'], methods: ['client_secret_basic'] }, { config: { clientId: 'configured:1', clientSecret: 'top secret:/?', scope: 'read write', callbackPort: port } });
  assert.match((await call()).body, /with read write/);
  assert.equal(server.seen('/register').length, 0);
  const query = new URLSearchParams(server.seen('/authorize')[0]!.query);
  assert.equal(query.get('client_id'), 'configured:1');
  assert.equal(query.get('scope'), 'read write');
  assert.equal(query.get('redirect_uri'), `http://127.0.0.1:${port}/oauth/callback/mcp/docs`);
  const basic = Buffer.from(server.seen('/token')[0]!.headers.authorization!.slice(6), 'base64').toString();
  assert.equal(basic, 'configured%3A1:top+secret%3A%2F%3F');
});

test('authorize() sends an S256 challenge and keeps the verifier off the disk (row 177)', async (t) => {
  let during: string[] = [];
  const interaction: Interaction = { mode: 'surface', visit: async ({ url }) => { during = files(store).map((file) => readFileSync(file, 'utf8')); return landing(url); } };
  const { server, call, store } = await guarded(t, {}, { interaction });
  await call();
  const query = new URLSearchParams(server.seen('/authorize')[0]!.query);
  const verifier = server.seen('/token')[0]!.parameters['code_verifier']!;
  assert.equal(query.get('code_challenge_method'), 'S256');
  assert.equal(query.get('code_challenge'), createHash('sha256').update(verifier).digest('base64url'));
  assert.ok(during.length > 0, 'the pending sign-in is on the disk while it runs');
  assert.ok(![...during, ...files(store).map((file) => readFileSync(file, 'utf8'))].some((text) => text.includes(verifier)));
  assert.deepEqual(readdirSync(path.join(store, 'pending')), []);
});

test('authorize() answers strangers and goes on: favicon, HEAD, POST, hosts, paths, states, long queries (row 177) (row 179)', async (t) => {
  const statuses: number[] = [];
  let page = '';
  const interaction: Interaction = {
    mode: 'surface',
    async visit({ url, redirectUri }) {
      const at = redirectUri!, { origin, port } = new URL(at);
      const good = await landing(url);
      const ask = async (target: string, init: RequestInit = {}): Promise<void> => { statuses.push(await fetch(target, init).then((r) => r.status, () => 0)); };
      await ask(`${origin}/favicon.ico`);
      await ask(good, { method: 'HEAD' });
      await ask(good, { method: 'POST', body: 'x' });
      await ask(`${at}?code=x&state=wrong`);
      await ask(`${at}?code=x`);
      await ask(`${good}&code=again`);
      await ask(`${at}?junk=${'x'.repeat(20_000)}`);
      statuses.push(await rawStatus(Number(port), `GET ${good.slice(origin.length)} HTTP/1.1\r\nHost: evil.example\r\n\r\n`));
      const held = Array.from({ length: 50 }, () => net.connect(Number(port), '127.0.0.1').on('error', () => {}));
      const shown = await browse(url);
      page = shown.page;
      statuses.push(shown.status);
      for (const socket of held) socket.destroy();
    },
  };
  const { call } = await guarded(t, {}, { interaction });
  assert.equal((await call()).status, 200);
  await waitFor(() => page !== '', 'the page');
  assert.deepEqual(statuses, [404, 405, 405, 400, 400, 400, 431, 421, 200].map((status, at) => (at === 6 && statuses[6] === 0 ? 0 : status)));
  assert.match(page, /You are signed in/);
});

function rawStatus(port: number, text: string): Promise<number> {
  return new Promise((resolve) => {
    let got = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => { got += chunk.toString(); }).on('close', () => resolve(Number(/ (\d{3}) /.exec(got)?.[1] ?? 0))).on('error', () => resolve(0));
  });
}

test('authorize() shows what the authorization server says, and only when it said it (row 179)', async (t) => {
  let page = '';
  const interaction: Interaction = { mode: 'surface', visit({ url }) { void browse(url).then((shown) => { page = shown.page; }); } };
  const refused = await guarded(t, { authorizeError: 'access_denied', errorDescription: '\u001b[31mnot\u202e you\u200b<b>' }, { interaction });
  await assert.rejects(refused.call(), (failure: AnyFailure) => words('access_denied')(failure) && /access_denied: not you<b>/.test(failure.message) && failure.code === 'LOGIN_REFUSED');
  await waitFor(() => page !== '', 'the page');
  assert.match(page, /did not complete/);
  assert.ok(!page.includes('not you'));
  const foreign = await guarded(t, { authorizeError: 'access_denied', iss: 'https://evil.example' });
  await assert.rejects(foreign.call(), (failure: AnyFailure) => words('iss_mismatch')(failure) && !failure.message.includes('access_denied'));
});

for (const [advertised, iss, outcome] of [
  [true, true, 'ok'], [true, false, 'iss_missing'], [true, 'https://evil.example', 'iss_mismatch'], [false, true, 'ok'], [false, false, 'ok'], [false, 'https://evil.example', 'iss_mismatch'], [true, 'slash', 'iss_mismatch'],
] as const) {
  test(`authorize() with iss ${String(iss)}, ${advertised ? '' : 'not '}advertised: ${outcome} (row 184)`, async (t) => {
    const one = await guarded(t, { issAdvertised: advertised, iss });
    if (iss === 'slash') one.server.behaviour['iss'] = `${one.server.issuer}/`;
    if (outcome === 'ok') { assert.equal((await one.call()).status, 200); return; }
    await assert.rejects(one.call(), words(outcome));
    assert.equal(one.server.seen('/token').length, 0);
  });
}

test('login() takes pasted addresses, says what is wrong with others, and wins against the listener (row 180)', async (t) => {
  const problems: (string | undefined)[] = [];
  let url = '', at = 0;
  const texts = (good: string): string[] => ['abc', 'http://127.0.0.1:1/other?code=1&state=2', `${good.split('?')[0]!}?code=x&state=old`, ` <${good.slice(0, 40)}\n  ${good.slice(40)}> `];
  const interaction: Interaction = {
    mode: 'surface', visit(visit) { url = visit.url; },
    async paste(problem) { problems.push(problem); return texts(await landing(url))[at++]; },
  };
  const { oauth, call, visits } = await guarded(t, {}, { interaction });
  const status = await oauth.login();
  assert.equal(status.state, 'authenticated');
  assert.equal(visits.length, 1);
  assert.deepEqual(problems.map((one) => one?.split('.')[0]?.slice(0, 20)), [undefined, 'it is no address', 'it does not begin wi', 'it belongs to anothe']);
  assert.equal((await call()).status, 200);
});

test('login() gives up after five wrong addresses', async (t) => {
  let asked = 0;
  const { oauth } = await guarded(t, {}, { interaction: { mode: 'surface', async paste() { asked += 1; return 'nonsense'; } } });
  await assert.rejects(oauth.login(), words('state_mismatch'));
  assert.equal(asked, 5);
});

test('login() ends the question when the browser comes back by itself (row 180)', async (t) => {
  let ended = false;
  const interaction: Interaction = {
    mode: 'surface', visit({ url }) { void browse(url).catch(() => {}); },
    paste: (_problem, signal) => new Promise((resolve) => { signal.addEventListener('abort', () => { ended = true; resolve(undefined); }); }),
  };
  const { oauth } = await guarded(t, {}, { interaction });
  await oauth.login();
  assert.ok(ended);
});

test('login() with a redirect URI elsewhere needs somebody who pastes', async (t) => {
  const config = { clientId: 'configured', redirectUri: 'https://app.example/back' };
  const pasted = await guarded(t, {}, { config });
  assert.equal((await pasted.oauth.login()).state, 'authenticated');
  assert.equal(pasted.visits[0]!.listening, false);
  const silent = await guarded(t, {}, { config, interaction: { mode: 'surface' } });
  await assert.rejects(silent.oauth.login(), words('callback_missing'));
});

test('login() takes another port when the usual one is busy, and registers that one (row 178)', async (t) => {
  const holder = net.createServer();
  await new Promise<void>((resolve) => { holder.once('error', () => resolve()).listen(19876, '127.0.0.1', resolve); });
  t.after(() => new Promise((resolve) => holder.close(resolve)));
  const { oauth, visits, server } = await guarded(t, {}, { interaction: browsing });
  await oauth.login();
  const port = new URL(visits[0]!.redirectUri!).port;
  assert.notEqual(port, '19876');
  assert.deepEqual((JSON.parse(server.seen('/register')[0]!.body) as { redirect_uris: string[] }).redirect_uris, [visits[0]!.redirectUri]);
});

test('login() refuses a busy port that is pinned, and says which (row 178)', async (t) => {
  const holder = net.createServer();
  await new Promise<void>((resolve) => { holder.listen(0, '127.0.0.1', resolve); });
  t.after(() => new Promise((resolve) => holder.close(resolve)));
  const { port } = holder.address() as net.AddressInfo;
  for (const config of [{ callbackPort: port }, { redirectUri: `http://127.0.0.1:${port}/cb` }, { clientId: 'configured', callbackPort: port }]) {
    const { oauth } = await guarded(t, {}, { config });
    await assert.rejects(oauth.login(), (failure: AnyFailure) => words('callback_port_busy')(failure) && failure.message.includes(String(port)));
  }
});

test('login() listens where redirectUri says, on both families for localhost (row 178)', async (t) => {
  const port = await freePort();
  const { oauth, visits } = await guarded(t, {}, { config: { redirectUri: `http://localhost:${port}/callback` }, interaction: browsing });
  await oauth.login();
  assert.equal(visits[0]!.redirectUri, `http://localhost:${port}/callback`);
});

test('login() registers with localhost where addresses are not taken', async (t) => {
  const { oauth, visits } = await guarded(t, { registration: 'no-addresses' }, { interaction: browsing });
  await oauth.login();
  assert.match(visits[0]!.redirectUri!, /^http:\/\/localhost:/);
});

test('login() leaves scope out of a registration that does not know it', async (t) => {
  const { oauth, server } = await guarded(t, { registration: 'scope-unknown', resourceScopes: ['read'] });
  await oauth.login();
  assert.equal(server.seen('/register').length, 2);
});

test('login() says how to register by hand where registering is refused or not offered', async (t) => {
  const refused = await guarded(t, { registration: 'invalid_client_metadata' });
  await assert.rejects(refused.oauth.login(), (failure: AnyFailure) => words('registration_rejected')(failure) && /oauth\.clientId/.test(failure.hint ?? ''));
  const closed = await guarded(t, { registration: false });
  await assert.rejects(closed.oauth.login(), (failure: AnyFailure) => words('client_required')(failure) && /127\.0\.0\.1:19876\/oauth\/callback\/mcp\/docs/.test(failure.hint ?? ''));
  const down = await guarded(t, { registration: 503 });
  await assert.rejects(down.oauth.login(), (failure: AnyFailure) => failure.recovery === 'retryable');
});

test('login() uses a client ID metadata document where that is known', async (t) => {
  const { oauth, server, visits } = await guarded(t, { metadata: { client_id_metadata_document_supported: true } }, { config: { clientMetadataUrl: 'https://zuno.example/client.json', callbackPort: await freePort() } });
  assert.equal((await oauth.login()).client, 'metadata-document');
  assert.equal(server.seen('/register').length, 0);
  assert.equal(server.seen('/token')[0]!.parameters['client_id'], 'https://zuno.example/client.json');
  assert.ok(visits[0]!.redirectUri!.endsWith('/oauth/callback/mcp'));
});

test('login() uses the method that the registration came back with', async (t) => {
  for (const method of ['none', 'client_secret_basic', 'client_secret_post']) {
    const { oauth } = await guarded(t, { methods: [method] });
    assert.equal((await oauth.login()).state, 'authenticated', method);
  }
});

test('login() registers anew when the secret of a registration has expired', async (t) => {
  const { oauth, server } = await guarded(t, { methods: ['client_secret_basic'], registrationSecretExpiresAt: 1000 });
  await oauth.login();
  await oauth.login();
  assert.equal(server.stats.registrations, 2);
  server.behaviour['registrationSecretExpiresAt'] = 0;
  await oauth.login();
  await oauth.login();
  assert.equal(server.stats.registrations, 3);
});

test('login() pushes the request where the server demands it', async (t) => {
  const one = await guarded(t);
  one.server.behaviour['metadata'] = { require_pushed_authorization_requests: true, pushed_authorization_request_endpoint: `${one.server.issuer}/par` };
  await one.oauth.login();
  assert.match(one.server.seen('/authorize')[0]!.query, /request_uri=urn/);
  const silent = await guarded(t, { metadata: { require_pushed_authorization_requests: true } });
  await assert.rejects(silent.oauth.login(), words('no_as_metadata'));
});

test('login() asks for offline_access only where it is listed, and never lets authorizationParams change what is ours', async (t) => {
  const listed = await guarded(t, { resourceScopes: ['read'], metadata: { scopes_supported: ['read', 'offline_access', 'admin'] } }, { config: { authorizationParams: { audience: 'a', state: 'mine', resource: 'x' } } });
  await listed.oauth.login();
  const query = new URLSearchParams(listed.server.seen('/authorize')[0]!.query);
  assert.equal(query.get('scope'), 'read offline_access');
  assert.equal(query.get('prompt'), 'consent');
  assert.equal(query.get('audience'), 'a');
  assert.equal(query.get('resource'), listed.server.url);
  assert.notEqual(query.get('state'), 'mine');
  const omitted = await guarded(t);
  await omitted.oauth.login();
  assert.ok(!omitted.server.seen('/authorize')[0]!.query.includes('scope'));
});

test('login() says that a code was refused, and forgets a registration that is not known any more', async (t) => {
  const late = await guarded(t, { tokenError: 'invalid_grant' });
  await assert.rejects(late.oauth.login(), words('code_exchange_failed'));
  const forgotten = await guarded(t, { tokenError: 'invalid_client' });
  await assert.rejects(forgotten.oauth.login(), words('client_auth_failed'));
  forgotten.server.behaviour['tokenError'] = undefined;
  await forgotten.oauth.login();
  assert.equal(forgotten.server.stats.registrations, 2);
});

test('login() refuses token types that it cannot use', async (t) => {
  const { oauth } = await guarded(t, { tokenType: 'MAC' });
  await assert.rejects(oauth.login(), words('bad_token_response'));
});

test('deliver() brings an address to the process that waits for it (row 180)', async (t) => {
  let url = '';
  const leader = await guarded(t, {}, { interaction: { mode: 'surface', visit(visit) { url = visit.url; } } });
  const waiting = leader.oauth.login();
  await waitFor(() => url !== '', 'the address');
  const second = leader.another({ interaction: nobody });
  assert.equal(second.oauth.status().signInUrl, url);
  await assert.rejects(second.oauth.deliver('https://elsewhere.example/?code=1&state=2'), words('state_mismatch'));
  await assert.rejects(second.oauth.deliver(`${leader.visits[0]!.redirectUri!}?code=1&state=2`), words('state_mismatch'));
  await second.oauth.deliver(await landing(url));
  assert.equal((await waiting).state, 'authenticated');
  await assert.rejects(second.oauth.deliver(await landing(url)), words('callback_missing'));
  assert.equal((await second.call()).status, 200);
});

test('login() in a second process follows the first instead of starting its own', async (t) => {
  let url = '';
  const leader = await guarded(t, {}, { interaction: { mode: 'surface', visit(visit) { url = visit.url; } } });
  const first = leader.oauth.login();
  await waitFor(() => url !== '', 'the address');
  const follower = leader.another();
  const second = follower.call();
  await waitFor(() => follower.visits.length > 0, 'the address in the second process');
  assert.equal(follower.visits[0]!.url, url);
  assert.equal(follower.visits[0]!.elsewhere, true);
  await browse(url);
  await first;
  assert.equal((await second).status, 200);
  assert.equal(leader.server.stats.authorizes, 1);
});

test('authorize() in mode none fails at once and asks nobody', async (t) => {
  const { server, call } = await guarded(t, {}, { interaction: nobody });
  await assert.rejects(call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED' && /mcp auth docs/.test(failure.hint ?? ''));
  assert.deepEqual(server.paths(), ['/mcp']);
});

test('authorize() waits as long as its budget says; the sign-in goes on and revives the entry', async (t) => {
  let url = '';
  const one = await guarded(t, {}, { interaction: { mode: 'surface', waitMs: 300, visit(visit) { url = visit.url; } } });
  await assert.rejects(one.call(), (failure: AnyFailure) => words('login_in_progress')(failure) && (failure.details as { url?: string }).url === url);
  assert.equal(one.oauth.status().state, 'signing-in');
  await browse(url);
  assert.equal((await one.call()).status, 200);
});

test('authorize() lets a caller leave without ending the sign-in', async (t) => {
  let url = '';
  const one = await guarded(t, {}, { interaction: { mode: 'surface', visit(visit) { url = visit.url; } } });
  const stop = new AbortController();
  const gone = one.call('read', { signal: stop.signal });
  await waitFor(() => url !== '', 'the address');
  stop.abort();
  await assert.rejects(gone, (failure: AnyFailure) => failure.code === 'CANCELED');
  await browse(url);
  assert.equal((await one.call()).status, 200);
  assert.equal(one.server.stats.authorizes, 1);
});

test('authorize() is revived by a sign-in in another process', async (t) => {
  const one = await guarded(t, {}, { interaction: nobody });
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED');
  await one.another({ interaction: browsing }).oauth.login();
  assert.equal((await one.call()).status, 200);
});

test('authorize() gives up on a server that refuses what was just issued', async (t) => {
  const { call, server } = await guarded(t, { refuse: true });
  await assert.rejects(call(), words('token_rejected'));
  await assert.rejects(call(), words('token_rejected'));
  assert.equal(server.stats.authorizes, 1);
});

test('createOAuth() with oauth false discovers nothing and says that OAuth is off (row 104)', async (t) => {
  const { server, call, oauth } = await guarded(t, {}, { config: false });
  await assert.rejects(call(), (failure: AnyFailure) => words('oauth_disabled')(failure) && /OAuth is turned off/.test(failure.message));
  assert.deepEqual(server.paths(), ['/mcp']);
  assert.equal(oauth.status().state, 'off');
  await assert.rejects(oauth.login(), words('oauth_disabled'));
});

test('createOAuth() leaves a configured Authorization header alone (row 191)', async (t) => {
  const { server, call, logs, oauth } = await guarded(t, {}, { config: { clientId: 'x' }, staticAuthorization: true });
  await assert.rejects(call('read', { headers: { authorization: 'Bearer mine' } }), words('static_token_rejected'));
  assert.deepEqual(server.paths(), ['/mcp']);
  assert.equal(server.log[0]!.headers.authorization, 'Bearer mine');
  assert.equal(logs.filter((one) => one.level === 'warning').length, 1);
  await assert.rejects(oauth.login(), words('auth_header_conflict'));
});

test('the store is closed to others whatever it was before (row 190)', async (t) => {
  const { oauth, store } = await guarded(t);
  await oauth.login();
  for (const directory of ['', 'credentials', 'locks', 'pending']) assert.equal(statSync(path.join(store, directory)).mode & 0o777, 0o700);
  for (const file of files(store)) assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('login() asks the server first, and signs in also where everybody is let in', async (t) => {
  const { server, oauth } = await guarded(t, { anonymous: true });
  const { createHttp } = await import('../../src/http/fetch.ts');
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  await oauth.login({ probe: http.request });
  assert.equal(server.stats.authorizes, 1);
  server.behaviour['anonymous'] = false;
  server.behaviour['challengeScope'] = 'deep';
  await oauth.login({ probe: http.request, scope: ['more'] });
  assert.match(server.seen('/authorize')[1]!.query, /scope=deep\+more/);
});
