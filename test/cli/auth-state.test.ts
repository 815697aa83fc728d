/** What is kept of sign-ins: `mcp auth list`, `mcp logout`, and what every other command says of them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { momentText, relativeTime } from '../../src/cli/moments.ts';
import { createStore } from '../../src/oauth/store.ts';
import { freePort } from '../support/http-server.ts';
import { addressIn, browse, guarded, onAddress, type Guarded } from './signing-in.ts';
import { fixture, unwrapped } from './support.ts';

const HOUR = 3_600_000;
const SECRET = 'never-shown-token';

/** A stored sign-in, as this program writes it. */
async function keep(box: Guarded, name: string, more: object = {}, serverUrl = box.server.url): Promise<void> {
  const store = createStore({ directory: box.store, name, serverUrl, log: () => {} });
  const tokens = {
    issuer: 'https://auth.example', clientId: 'client', tokenEndpoint: 'https://auth.example/token', accessToken: `${SECRET}-access`, refreshToken: `${SECRET}-refresh`, tokenType: 'bearer' as const,
    scopeRequested: ['read'], scopeGranted: ['read'], obtainedAt: Date.now() - 2 * HOUR, resource: serverUrl, ...more,
  };
  await store.locked(async (inside) => { await inside.write({ ...store.empty, tokens }); });
}

const remote = (url: string, more: object = {}): object => ({ type: 'remote', url, ...more });

test('mcp auth list: authenticated, expired and none are right for known expiries; times are local and relative; no token (row 189)', async (t) => {
  const box = await guarded(t);
  const { url } = box.server;
  await keep(box, 'good', { expiresAt: Date.now() + HOUR + 60_000 });
  await keep(box, 'endless');
  await keep(box, 'old', { expiresAt: Date.now() - 49 * HOUR, refreshToken: undefined });
  await keep(box, 'stale', { expiresAt: Date.now() - 1000 });
  await keep(box, 'gone', { expiresAt: Date.now() + HOUR });
  await keep(box, 'good', { expiresAt: Date.now() + HOUR }, 'https://before.example/mcp?key=s3cret-key');
  box.configure({}, {
    good: remote(url), endless: remote(url), old: remote(url), stale: remote(url), files: fixture(), off: remote(url, { oauth: false }), fixed: remote(url, { headers: { Authorization: 'Bearer {env:T}' } }),
    robot: remote(url, { oauth: { type: 'client_credentials', clientId: 'a', clientSecret: 'b' } }), broken: remote('{env:NOT_SET_ANYWHERE}'), program: remote(url, { headersCommand: ['true'] }),
  });
  const { status, json, stdout } = await box.run(['mcp', 'auth', 'list', '--json']);
  assert.equal(status, 0);
  const rows = new Map<string, any>(json().servers.map((row: any) => [row.configured === 'yes' ? row.name : `${row.name} (${row.configured})`, row]));
  assert.deepEqual([...rows].map(([name, row]) => [name, row.state]), [
    ['docs', 'needs_login'], ['good', 'authenticated'], ['endless', 'authenticated'], ['old', 'expired'], ['stale', 'expired'], ['off', 'off'], ['fixed', 'static_header'], ['robot', 'automatic'], ['broken', 'unusable'], ['program', 'automatic'],
    ...[...rows].filter(([name]) => name.includes('(')).map(([name, row]) => [name, row.state]),
  ]);
  assert.deepEqual([rows.get('gone (no)').state, rows.get('good (other-url)').state], ['authenticated', 'authenticated']);
  assert.deepEqual([rows.get('good').refreshable, rows.get('old').refreshable, rows.get('stale').refreshable, rows.get('endless').expiresAt], [true, false, true, null]);
  assert.ok(Math.abs(Date.parse(rows.get('good').expiresAt) - Date.now() - HOUR - 60_000) < 10_000);
  assert.equal(rows.get('broken').error.code, 'VARIABLE_UNSET');
  const shown = await box.run(['mcp', 'auth', 'list']);
  const line = (name: string): string => shown.stdout.split('\n').find((one) => one.startsWith(`${name} `))!;
  assert.match(line('good'), /authenticated +\d{4}-\d\d-\d\d \d\d:\d\d \(in 1 hour\) +read +https:\/\/auth\.example/);
  assert.match(line('endless'), /authenticated +not told/);
  assert.match(line('old'), /expired +\d{4}-\d\d-\d\d \d\d:\d\d \(2 days ago\)/);
  assert.match(line('stale'), /expired, will be renewed/);
  assert.match(line('docs'), /needs login/);
  assert.match(shown.stdout, /^gone \(not configured any more\) /m);
  assert.match(shown.stdout, /^good \(of another URL\) .*https:\/\/before\.example\/mcp\?key=\*\*\*/m);
  assert.match(shown.stderr, /Forget what is left of "gone": zuno-lite mcp logout gone/);
  assert.match(shown.stderr, /broken: Cannot expand "\{env:NOT_SET_ANYWHERE\}"/);
  assert.match(shown.stderr, /Sign in: zuno-lite mcp auth docs/);
  for (const text of [stdout, shown.stdout, shown.stderr]) assert.doesNotMatch(text, new RegExp(`${SECRET}|s3cret`));
  assert.deepEqual(box.server.paths(), [], 'nobody is asked');
});

test('mcp auth list on a terminal keeps to its width, and an address that waits stands whole on its line', async (t) => {
  const box = await guarded(t);
  let listed: Awaited<ReturnType<typeof box.run>> | undefined, others: Awaited<ReturnType<typeof box.run>>[] = [], address = '';
  await box.run(['mcp', 'auth', 'docs'], {
    onStderr: onAddress(async (one) => {
      address = one;
      listed = await box.run(['mcp', 'auth', 'list'], { terminal: { columns: 70 }, env: { NO_COLOR: '1' } });
      others = [await box.run(['mcp', 'list', '--no-probe']), await box.run(['mcp', 'list']), await box.run(['mcp', 'list', '--json']), await box.run(['mcp', 'debug', 'docs']), await box.run(['mcp', 'debug', 'docs', '--json']), await box.run(['mcp', 'auth', 'list', '--json'])];
      await browse(one);
    }),
  });
  assert.match(listed!.stdout, /docs +signing in/);
  assert.ok(listed!.stdout.split('\n').every((line) => line.length <= 70), listed!.stdout);
  assert.equal(addressIn(listed!.stderr), address);
  const [unprobed, probed, listDocument, debugged, debugDocument, authDocument] = others;
  for (const one of [unprobed!, probed!, debugged!]) assert.equal(addressIn(one.stderr), address, one.stderr);
  assert.match(probed!.stdout, /docs +signing in/);
  assert.equal(listDocument!.json().servers[0].signInUrl, address);
  assert.equal(debugDocument!.json().signIn.signInUrl, address);
  assert.equal(authDocument!.json().servers[0].signInUrl, address);
});

test('mcp auth list with nothing to sign in to', async (t) => {
  const box = await guarded(t);
  box.config({ mcp: { files: fixture() } });
  const { status, stdout } = await box.run(['mcp', 'auth', 'ls']);
  assert.deepEqual([status, stdout], [0, 'No configured server can be signed in to, and nothing is kept.\n']);
  assert.equal(existsSync(box.store), false, 'looking creates nothing');
});

// ---- signing out

test('mcp logout has the tokens revoked and removes them; the next use needs a sign-in; the file was 0600 (row 190)', async (t) => {
  const box = await guarded(t);
  await box.signIn();
  const [file] = readdirSync(path.join(box.store, 'credentials'));
  if (process.platform !== 'win32') assert.equal(statSync(path.join(box.store, 'credentials', file!)).mode & 0o777, 0o600);
  assert.equal((await box.run(['tools', 'docs'])).status, 0);
  const { status, stdout } = await box.run(['mcp', 'logout', 'docs']);
  assert.equal(status, 0);
  assert.match(stdout, new RegExp(`^Signed out of "docs" {2}${box.server.url}\\n {2}${box.server.issuer} has revoked the tokens\\n {2}Removed from this machine: the tokens\\n$`));
  assert.deepEqual(box.server.stats.revoked, ['refresh_token', 'access_token']);
  assert.deepEqual([box.record().tokens, Object.keys(box.record().registrations).length], [undefined, 1]);
  const next = await box.run(['tools', 'docs']);
  assert.deepEqual([next.status, /next +Run: zuno-lite mcp auth docs/.test(next.stderr)], [6, true]);
  const again = await box.run(['mcp', 'logout', 'docs']);
  assert.deepEqual([again.status, again.stdout], [0, 'Nobody is signed in to "docs"\n']);
});

test('mcp logout --client forgets the registration too', async (t) => {
  const box = await guarded(t);
  await box.signIn();
  const { stdout } = await box.run(['mcp', 'logout', 'docs', '--client']);
  assert.match(stdout, /Removed from this machine: the tokens and the registration of this program there/);
  assert.equal(box.record(), undefined);
  await box.signIn();
  assert.equal(box.server.stats.registrations, 2);
});

test('mcp logout removes the tokens whatever the service says, and tells how long they still work', async (t) => {
  for (const [revocation, words, expected] of [[503, [], /did not confirm that the tokens are revoked \(.+503.*\): the access token works until \d{4}-/], ['none', [], /revokes no tokens: the access token works until /], [200, ['--local'], /was not told: the access token works until /]] as const) {
    const box = await guarded(t, { revocation });
    await box.signIn();
    const { status, stdout, stderr } = await box.run(['mcp', 'logout', 'docs', ...words]);
    assert.equal(status, 0, stderr);
    assert.match(stdout, expected);
    assert.equal(box.record().tokens, undefined);
    assert.equal(box.server.stats.revoked.length, revocation === 503 ? 2 : 0);
  }
});

test('mcp logout of tokens that have expired, or do not say when, and of a registration alone', async (t) => {
  const box = await guarded(t, { revocation: 'none' });
  const of = (more: object): Promise<void> => keep(box, 'docs', { issuer: box.server.issuer, tokenEndpoint: `${box.server.issuer}/token`, ...more });
  await of({ expiresAt: Date.now() - HOUR });
  assert.match((await box.run(['mcp', 'logout', 'docs'])).stdout, /revokes no tokens: the access token has expired$/m);
  await of({});
  assert.match((await box.run(['mcp', 'logout', 'docs'])).stdout, /revokes no tokens: the access token works until it expires$/m);
  await box.signIn();
  await box.run(['mcp', 'logout', 'docs']);
  const registration = await box.run(['mcp', 'logout', 'docs', '--client']);
  assert.deepEqual([registration.status, /There were no tokens$/m.test(registration.stdout), box.record()], [0, true, undefined]);
  assert.equal((await box.run(['mcp', 'logout'])).stderr.includes('and no sign-in is kept'), true);
});

test('mcp logout proves who it is anew for each token: an assertion is good for one request', async (t) => {
  const box = await guarded(t, { methods: ['private_key_jwt'] });
  const key = box.file('key.pem', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
  box.configure({ oauth: { clientId: 'configured', callbackPort: await freePort(), privateKeyFile: key, tokenEndpointAuthMethod: 'private_key_jwt' } });
  await box.signIn();
  assert.match((await box.run(['mcp', 'logout', 'docs'])).stdout, /has revoked the tokens/);
  const used = ['/token', '/revoke'].flatMap((place) => box.server.seen(place)).map(({ parameters }) => JSON.parse(Buffer.from(parameters['client_assertion']!.split('.')[1]!, 'base64url').toString()).jti);
  assert.deepEqual([used.length, new Set(used).size], [3, 3]);
});

test('mcp logout --json tells the same', async (t) => {
  const box = await guarded(t, { revocation: 503 });
  await box.signIn();
  const { ok, found, removed } = (await box.run(['mcp', 'logout', 'docs', '--json'])).json();
  assert.deepEqual([ok, found, removed[0].url, removed[0].issuer, removed[0].revoked, removed[0].registration], [true, true, box.server.url, box.server.issuer, 'failed', 'kept']);
  const unknown = (await box.run(['mcp', 'logout', 'nobody', '--json'])).json();
  assert.deepEqual([unknown.found, unknown.removed, unknown.kept], [false, [], ['docs']]);
});

test('mcp logout: what is left of other names and addresses goes; an unknown name is reported, no name is refused (row 190)', async (t) => {
  const box = await guarded(t);
  await keep(box, 'gone', { issuer: box.server.issuer, tokenEndpoint: `${box.server.issuer}/token`, expiresAt: Date.now() - HOUR });
  await keep(box, 'docs', {}, 'http://127.0.0.1:9/before');
  box.configure({}, { files: fixture() });
  const unused = await box.run(['tools', 'docs']);
  assert.equal(unused.status, 6, 'a sign-in that was kept for another URL is not used');
  assert.ok(box.server.seen('/mcp').every(({ headers }) => headers.authorization === undefined));
  const unknown = await box.run(['mcp', 'logout', 'gon']);
  assert.deepEqual([unknown.status, unknown.stdout, unknown.stderr], [0, 'Nobody is signed in to the unknown name "gon"; did you mean "gone"?\n', 'Sign-ins are kept for: docs, gone\n'.replace('docs, gone', unknown.stderr.includes('gone, docs') ? 'gone, docs' : 'docs, gone')]);
  const none = await box.run(['mcp', 'logout']);
  assert.deepEqual([none.status, /no name is given; sign-ins are kept for .*gone/.test(none.stderr)], [2, true], none.stderr);
  assert.equal((await box.run(['mcp', 'logout', 'files'])).status, 2);
  const gone = await box.run(['mcp', 'logout', 'gone']);
  assert.deepEqual([gone.status, /Signed out of "gone"/.test(gone.stdout), box.record('gone')], [0, true, undefined], gone.stderr);
  const other = await box.run(['mcp', 'logout', 'docs']);
  assert.match(other.stdout, /Signed out of "docs" {2}http:\/\/127\.0\.0\.1:9\/before\n {2}https:\/\/auth\.example did not confirm/);
  assert.equal(box.record('docs', 'http://127.0.0.1:9/before'), undefined);
});

test('mcp logout works for an entry that cannot be expanded any more', async (t) => {
  const box = await guarded(t);
  await box.signIn();
  box.configure({ oauth: { clientId: 'x', clientSecret: '{env:NOT_SET_ANYWHERE}' } });
  const { status, stdout } = await box.run(['mcp', 'logout', 'docs']);
  assert.deepEqual([status, /Signed out of "docs"/.test(stdout), box.record()?.tokens], [0, true, undefined]);
});

// ---- what other commands say

test('every command that meets a server that asks for sign-in says the next command, and mcp debug tells of credentials only that they are there (row 161)', async (t) => {
  const box = await guarded(t, { challengeScope: 'read' });
  for (const words of [['tools', 'docs'], ['call', 'docs.read'], ['resources', 'docs'], ['read', 'docs', 'x:y'], ['prompts', 'docs'], ['prompt', 'docs:x'], ['mcp', 'debug', 'docs']]) {
    const { status, stderr } = await box.run(words);
    assert.deepEqual([status, /next:? +Run: zuno-lite mcp auth docs$/m.test(stderr)], [6, true], `${words.join(' ')}\n${stderr}`);
    assert.equal((await box.run([...words, '--json'])).json().error.hint, 'Run: zuno-lite mcp auth docs', words.join(' '));
  }
  const list = await box.run(['mcp', 'list', '--check']);
  assert.deepEqual([list.status, /docs +needs login/.test(list.stdout), /next: Run: zuno-lite mcp auth docs/.test(list.stderr)], [6, true, true]);
  await box.signIn();
  const { stdout } = await box.run(['mcp', 'debug', 'docs']);
  assert.match(stdout, /sign-in +authenticated\n {2}issuer +http:.*\n {2}scopes +read\n[\s\S]*credentials +kept: access token, refresh token, client registration\n/);
  const { signIn } = (await box.run(['mcp', 'debug', 'docs', '--json'])).json();
  assert.deepEqual([signIn.state, signIn.kept], ['authenticated', { accessToken: true, refreshToken: true, registration: true }]);
  const open = await guarded(t, { anonymous: true });
  assert.match((await open.run(['mcp', 'debug', 'docs'])).stdout, /sign-in +none: the server answers without it\n[\s\S]*credentials +none are kept/);
});

test('a command that uses a server shows the address on a terminal, and goes on when somebody has signed in; a server of a checkout takes mcp auth', async (t) => {
  const box = await guarded(t);
  const { status, stdout, stderr } = await box.run(['call', 'docs.read'], { terminal: { columns: 80 }, env: { DISPLAY: ':9', NO_COLOR: '1' }, onStderr: onAddress((address) => void browse(address)) });
  assert.deepEqual([status, stdout.replaceAll('\r\u001b[2K', '')], [0, 'with \n'], stderr);
  assert.match(unwrapped(stderr), /zuno-lite mcp auth docs waits longer/);
  const other = await guarded(t);
  other.config({ permission: { mode: 'allow_all' } });
  other.file('zuno.json', JSON.stringify({ mcp: { docs: { type: 'remote', url: other.server.url } } }));
  const refused = await other.run(['call', 'docs.read'], { terminal: { columns: 80 } });
  assert.deepEqual([refused.status, /next.*Run: zuno-lite mcp auth docs/.test(stripControls(refused.stderr)), other.server.seen('/register')], [6, true, []], refused.stderr);
  assert.equal((await other.signIn()).status, 0);
  assert.equal((await other.run(['call', 'docs.read'])).status, 0);
});

test('a token with 20 s left is renewed before it is used, and a 401 renews once (row 185)', async (t) => {
  const box = await guarded(t);
  await box.signIn();
  // Young tokens are left alone, however short they live.
  const age = async (change: object): Promise<void> => {
    const store = createStore({ directory: box.store, name: 'docs', serverUrl: box.server.url, log: () => {} });
    await store.locked(async (inside) => { const record = inside.read()!; await inside.write({ ...record, tokens: { ...record.tokens!, ...change } }); });
  };
  await age({ expiresAt: Date.now() + 20_000, obtainedAt: Date.now() - HOUR });
  const before = box.record().tokens.accessToken;
  const { status, stdout } = await box.run(['call', 'docs.read']);
  assert.deepEqual([status, stdout, box.server.stats.refreshes], [0, 'with \n', 1]);
  assert.ok(box.server.seen('/mcp').slice(1).every(({ headers }) => headers.authorization !== `Bearer ${before}`));
  box.server.expireAll();
  assert.equal((await box.run(['call', 'docs.read'])).status, 0);
  assert.equal(box.server.stats.refreshes, 2);
});

test('two processes with one expired sign-in: one renewal, both work (row 186)', async (t) => {
  const box = await guarded(t, { refreshDelayMs: 200 });
  await box.signIn();
  box.server.expireAll();
  const run = async (): Promise<readonly [number | null, string]> => {
    const child = box.start(['call', 'docs.read', '--config', box.globalFile]);
    let text = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
    return new Promise((resolve) => { child.on('close', (status) => resolve([status, text])); });
  };
  assert.deepEqual(await Promise.all([run(), run()]), [[0, 'with \n'], [0, 'with \n']]);
  assert.deepEqual([box.server.stats.refreshes, box.server.stats.reuse], [1, 0]);
});

test('an outage of the service keeps the sign-in; invalid_grant ends it and keeps the registration (row 187)', async (t) => {
  const box = await guarded(t, { refreshAnswer: 503, retryAfter: '0' });
  await box.signIn();
  box.server.expireAll();
  const down = await box.run(['call', 'docs.read']);
  assert.deepEqual([down.status, /which is kept/.test(down.stderr), /mcp auth/.test(down.stderr)], [4, true, false], down.stderr);
  assert.ok(box.record().tokens.refreshToken);
  box.server.behaviour['refreshAnswer'] = 'invalid_grant';
  const ended = await box.run(['call', 'docs.read']);
  assert.deepEqual([ended.status, /next +Run: zuno-lite mcp auth docs/.test(ended.stderr)], [6, true], ended.stderr);
  assert.deepEqual([box.record().tokens, Object.keys(box.record().registrations).length], [undefined, 1]);
  await box.signIn();
  assert.equal(box.server.stats.registrations, 1);
});

test('a server that wants more rights: the command that asks for the union; a plain 403 is no matter of signing in (row 188)', async (t) => {
  const box = await guarded(t, { challengeScope: 'read', requiredScope: { read: 'write' } });
  await box.signIn();
  const { status, stderr } = await box.run(['call', 'docs.read']);
  assert.deepEqual([status, /it needs more rights: write/.test(stderr), /next +Run: zuno-lite mcp auth docs --scope "read write"$/m.test(stderr)], [6, true, true], stderr);
  await box.signIn(['--scope', 'read write']);
  assert.equal((await box.run(['call', 'docs.read'])).stdout, 'with read write\n');
  const { authorizes } = box.server.stats;
  box.server.behaviour['requiredScope'] = { read: '403' };
  const plain = await box.run(['call', 'docs.read']);
  assert.deepEqual([plain.status, /mcp auth/.test(plain.stderr), box.server.stats.authorizes], [4, false, authorizes], plain.stderr);
});

test('a configured Authorization header is the only one that is sent; client credentials need nobody (row 191)', async (t) => {
  const box = await guarded(t, {}, { headers: { AUTHORIZATION: 'Bearer of-my-own' }, oauth: { clientId: 'x' } });
  const { status, stderr } = await box.run(['tools', 'docs']);
  assert.equal(status, 6);
  assert.match(stderr, /^warning: Server "docs" has an Authorization header and an oauth object: the header is sent/m);
  assert.match(stderr, /it refused (?:\(401\) )?the Authorization header of the configuration/);
  for (const { headers } of box.server.log) assert.equal(headers.authorization, 'Bearer of-my-own');
  assert.deepEqual([...new Set(box.server.paths())], ['/mcp']);
  const robot = await guarded(t, { methods: ['client_secret_post'] }, { oauth: { type: 'client_credentials', clientId: 'configured', clientSecret: '{env:S}' } });
  assert.equal((await robot.run(['call', 'docs.read'], { env: { S: 'robots-own-s3cret' } })).status, 0);
  assert.deepEqual([robot.server.stats.clientCredentials, robot.server.stats.authorizes], [1, 0]);
});

test('relativeTime() and momentText() say how far away, in whole units', () => {
  const at = (ms: number): string => relativeTime(1_000_000_000_000 + ms, 1_000_000_000_000);
  assert.deepEqual([0, 900, 45_000, -60_000, 2 * HOUR, -25 * HOUR, 72 * HOUR].map(at), ['now', 'in 1 second', 'in 45 seconds', '1 minute ago', 'in 2 hours', '1 day ago', 'in 3 days']);
  assert.match(momentText(Date.now() + 61_000), /^\d{4}-\d\d-\d\d \d\d:\d\d \(in 1 minute\)$/);
});
