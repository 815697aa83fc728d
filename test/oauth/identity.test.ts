import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connect, type IdentityProvider } from '../../src/client.ts';
import { failureKind } from '../../src/host/failure-kinds.ts';
import { createHttp } from '../../src/http/fetch.ts';
import { withIdentity } from '../../src/oauth/identity.ts';
import { home } from '../support/hosts.ts';
import { pem } from '../support/http-server.ts';
import { guarded, landing } from './support.ts';
import { keyedServer, type KeyedServer } from './keyed-server.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Client } from '../../src/client.ts';
import type { HttpRequest } from '../../src/http/types.ts';

const without = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> => headers;
const refused = async (work: Promise<unknown>): Promise<AnyFailure> => work.then(() => assert.fail('it should have been refused'), (failure: AnyFailure) => failure);

/** Hands out `key-1`, `key-2`... */
function provider(origin: string, headers: () => Record<string, string> = () => ({})): IdentityProvider & { readonly asked: number } {
  let asked = 0;
  return { origin, get asked() { return asked; }, async headers() { asked += 1; return { 'X-Key': `key-${asked}`, ...headers() }; } };
}

async function connected(t: TestContext, server: KeyedServer, identity: IdentityProvider, headers: Record<string, string> = {}): Promise<Client> {
  const client = await connect({ type: 'http', url: server.url, identity, headers, ca: pem('ca.pem') }, { protocol: 'legacy' });
  t.after(() => client.close());
  return client;
}

test('identity: its headers go out with every request, in place of configured ones, never of the protocol\'s', async (t) => {
  const server = await keyedServer(t, () => undefined, { tls: { cert: pem('server.pem'), key: pem('server.key') } });
  const identity = provider(server.origin, () => ({ Accept: 'text/html', 'mcp-session-id': 'theirs', AUTHORIZATION: 'Token host' }));
  const client = await connected(t, server, identity, { 'x-key': 'configured', authorization: 'Bearer configured', 'x-other': 'stays' });
  await client.listTools();
  assert.equal(identity.asked, server.requests.length);
  assert.deepEqual([...new Set(server.sent('authorization'))], ['Token host']);
  assert.deepEqual([...new Set(server.sent('x-other'))], ['stays']);
  assert.equal(server.sent('x-key').every((one) => one?.startsWith('key-')), true);
  assert.deepEqual([server.sent('accept')[0], server.sent('mcp-session-id')[0]], ['application/json, text/event-stream', undefined]);
});

test('identity: a 401 has it asked once more, and only if something was sent', async (t) => {
  let refuse = 1;
  const once = await keyedServer(t, () => (refuse-- > 0 ? 401 : undefined));
  await connected(t, once, provider(once.origin));
  assert.deepEqual(once.sent('x-key').slice(0, 2), ['key-1', 'key-2']);
  const server = await keyedServer(t, () => 401);
  const again = await refused(connected(t, server, provider(server.origin)));
  assert.deepEqual(server.sent('x-key'), ['key-1', 'key-2']);
  assert.deepEqual([again.code, again.stage, again.details], ['LOGIN_REQUIRED', 'auth', { error: 'identity_refused' }]);
  const nobody = { origin: server.origin, headers: async () => ({}) };
  const absent = await refused(connected(t, server, nobody));
  assert.equal(server.requests.length, 3);
  assert.deepEqual(absent.details, { error: 'identity_absent' });
});

test('identity: 403, a redirect and another origin are failures of their own; nothing goes where it does not belong', async (t) => {
  const elsewhere = await keyedServer(t, () => undefined);
  let verdict: number | { status: number; location: string } | undefined = 403;
  const server = await keyedServer(t, () => verdict);
  const identity = provider(server.origin);
  const forbidden = await refused(connected(t, server, identity));
  assert.deepEqual([forbidden.code, forbidden.details], ['TOKEN_REFUSED', { error: 'identity_forbidden' }]);
  for (const location of [`${elsewhere.origin}/mcp`, '/same']) {
    verdict = { status: 307, location };
    const redirected = await refused(connected(t, server, identity));
    assert.equal(redirected.code, 'URL_REFUSED');
    assert.match(redirected.message, /redirects \(307\) to http:\/\/127\.0\.0\.1/);
  }
  const foreign = await refused(connected(t, elsewhere, identity));
  assert.deepEqual([foreign.code, foreign.stage, failureKind(foreign, false)], ['ISSUER_UNTRUSTED', 'auth', 'official_origin_untrusted']);
  assert.match(foreign.message, /nothing was sent/);
  assert.equal(elsewhere.requests.length, 0);
  verdict = 503;
  assert.equal((await refused(connected(t, server, identity))).code, 'HTTP_STATUS');
});

test('identity: origins are compared letter by letter, and are https or this machine', async () => {
  for (const origin of ['https://mcp.example/', 'HTTPS://mcp.example', 'https://mcp.example:443', 'http://mcp.example', 'mcp.example', 'https://u@mcp.example']) {
    assert.throws(() => withIdentity(() => assert.fail('sent'), { name: 'x', without, provider: provider(origin) }), TypeError, origin);
  }
  const send = withIdentity(() => assert.fail('sent'), { name: 'x', without, provider: provider('https://mcp.example') });
  for (const url of ['https://mcp.example:444/', 'http://mcp.example/', 'https://mcp.example.evil/', 'https://user@mcp.example/', 'nonsense']) {
    const failure = await new Promise<AnyFailure>((onFail) => { send({ url, onHead() {}, onData() {}, onEnd() {}, onFail }); });
    assert.equal(failure.code, 'ISSUER_UNTRUSTED', url);
  }
});

test('identity: a program that cannot say, says nonsense or takes too long fails the request, which was not sent', async (t) => {
  const server = await keyedServer(t, () => undefined);
  const fails = async (headers: IdentityProvider['headers']): Promise<AnyFailure> => refused(connected(t, server, { origin: server.origin, headers }));
  const broken = await fails(() => Promise.reject(new Error('keychain is locked')));
  assert.deepEqual([broken.code, broken.details, (broken.cause as Error).message], ['LOGIN_REFUSED', { error: 'host_auth_unavailable' }, 'keychain is locked']);
  assert.match((await fails(async () => ({ 'X-Key': 'a\r\nb: c' }))).message, /"X-Key"/);
  assert.equal((await fails(() => { throw new Error('at once'); })).code, 'LOGIN_REFUSED');
  assert.equal(server.requests.length, 0);
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  let stopped = false;
  const slow: IdentityProvider = { origin: server.origin, headers: (signal) => new Promise(() => { signal.addEventListener('abort', () => { stopped = true; }); }) };
  const send = withIdentity(http.request, { name: 'x', without, provider: slow });
  const request = (more: Partial<HttpRequest>): Promise<AnyFailure> => new Promise((onFail) => { send({ url: server.url, onHead() {}, onData() {}, onEnd() {}, onFail, ...more }); });
  assert.match((await request({ deadlineMs: 20 })).message, /did not say/);
  assert.equal(stopped, true);
  const stop = new AbortController();
  const canceled = request({ signal: stop.signal });
  stop.abort();
  assert.equal((await canceled).code, 'CANCELED');
  const gone = send({ url: server.url, onHead() {}, onData() {}, onEnd() {}, onFail: () => assert.fail('told after abort') });
  assert.equal(gone.abort(), 'no');
});

test('identity: time that it takes is not the request\'s, and pauses hold', async (t) => {
  const server = await keyedServer(t, () => undefined);
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  const held: number[] = [];
  const send = withIdentity(http.request, { name: 'x', without, provider: { origin: server.origin, async headers() { await new Promise((resolve) => setTimeout(resolve, 30)); return {}; } } });
  await new Promise<void>((resolve, reject) => {
    const exchange = send({ url: server.url, onHold: (ms) => held.push(ms), onHead() {}, onData() {}, onEnd: () => resolve(), onFail: reject });
    exchange.pause();
    setTimeout(() => exchange.resume(), 60);
  });
  assert.equal(held.length, 2);
  const spent = held[0]! + held[1]!;
  assert.equal(spent >= 25 && spent < 5000, true, `${spent} ms were put off`);
});

test('identity: the embedding program gives it to a host by the name of the server; it is neither kept nor logged', async (t) => {
  const server = await keyedServer(t, ({ headers }) => (headers['x-key'] === 'whose-user' ? undefined : 401));
  const place = home(t, { mcp: { docs: { type: 'remote', url: server.url, transport: 'http', protocol: 'legacy', oauth: { clientId: 'unused' } } } });
  const host = place.host({ identityFor: (name) => (name === 'docs' ? { origin: server.origin, headers: async () => ({ 'X-Key': 'whose-user' }) } : undefined) });
  await host.open('docs');
  assert.equal(JSON.stringify([place.logged, host.status()]).includes('whose-user'), false);
  assert.equal((await refused(place.host().open('docs'))).code, 'LOGIN_REQUIRED');
});

test('connect() signs in where its target says so, and not otherwise', async (t) => {
  const { server, store } = await guarded(t);
  const plain = await refused(connect({ type: 'http', url: server.url }));
  assert.ok(plain.code === 'HTTP_STATUS' && plain.details.status === 401, plain.message);
  assert.deepEqual(server.paths(), ['/mcp']);
  const logged: string[] = [];
  const oauth = { config: { clientName: 'A program' }, storeDirectory: store, interaction: { mode: 'surface' as const, visit: ({ url }: { url: string }) => landing(url) }, log: ({ message }: { message: string }) => { logged.push(message); } };
  const client = await connect({ type: 'http', url: server.url, oauth });
  assert.equal((await client.listTools()).items.length, 1);
  await client.close();
  assert.match(logged.join('\n'), /Signed in to/);
  const again = await connect({ type: 'http', url: server.url, oauth: { storeDirectory: store } });
  await again.close();
  assert.equal(server.stats.authorizes, 1);
  assert.equal((await refused(connect({ type: 'http', url: server.url, oauth: {} }))).code, 'LOGIN_REQUIRED');
  assert.equal((await refused(connect({ type: 'http', url: server.url, headers: { authorization: 'Bearer wrong' }, oauth }))).code, 'TOKEN_REFUSED');
  assert.equal((await refused(connect({ type: 'http', url: server.url, oauth: { config: { callbackPort: -1 } } }))).code, 'CONFIG_INVALID');
  await assert.rejects(connect({ type: 'http', url: server.url, oauth: {}, identity: provider(server.origin) }), TypeError);
});
