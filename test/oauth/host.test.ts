/** Signing in as a host does it: entries of a configuration, a guarded server, a person who is shown where to go. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { resolvePaths } from '../../src/base/paths.ts';
import { projectOAuthKeys } from '../../src/config/entries.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createConnect } from '../../src/host/connect.ts';
import { createConnections } from '../../src/host/connections.ts';
import { createEvents } from '../../src/host/events.ts';
import { createSignIns } from '../../src/host/sign-in.ts';
import { settingsProblems } from '../../src/oauth/settings.ts';
import { createProcessTrees } from '../../src/transports/process-tree.ts';
import { startAuthorizationServer } from '../fixtures/authorization-server.mjs';
import { home } from '../support/hosts.ts';
import { tempDir } from '../support/process.ts';
import { browse, landing } from './support.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Host, Person } from '../../src/host/types.ts';
import type { Interaction, Visit } from '../../src/oauth/types.ts';
import type { AuthorizationServer } from '../fixtures/authorization-server.mjs';

async function guard(t: TestContext, behaviour: Record<string, unknown> = {}): Promise<AuthorizationServer> {
  const server = await startAuthorizationServer(behaviour);
  t.after(() => server.close());
  return server;
}

const entry = (server: AuthorizationServer, more: Record<string, unknown> = {}): Record<string, unknown> => ({ mcp: { docs: { type: 'remote', url: server.url, transport: 'http', ...more } } });

/** Follows each address as a browser would; `visits` are what it was shown. */
function person(visits: Visit[] = []): Person {
  return { visit(visit) { visits.push(visit); return landing(visit.url); } };
}

async function callRead(host: Host): Promise<string> {
  const outcome = await host.call(await host.findTool('docs.read'), {});
  assert.equal(outcome.kind, 'ok', JSON.stringify(outcome));
  return JSON.stringify(outcome);
}

const refused = async (work: Promise<unknown>): Promise<AnyFailure> => work.then(() => assert.fail('it should have been refused'), (failure: AnyFailure) => failure);
const authorizations = (server: AuthorizationServer): (string | undefined)[] => server.seen('/mcp').map(({ headers }) => headers.authorization);

test('a 401 leads to a person, whose sign-in serves the call that waits and later hosts (rows 176, 185)', async (t) => {
  const server = await guard(t), place = home(t, entry(server)), visits: Visit[] = [];
  const host = place.host({ person: person(visits), assumeYes: true });
  await callRead(host);
  assert.deepEqual(visits.map((visit) => [visit.server, visit.host]), [['docs', new URL(server.origin).host]]);
  const [status] = host.status();
  assert.deepEqual([status?.state, status?.authorization], ['connected', undefined]);
  const kept = path.join(place.directory, '.local', 'share', 'zuno', 'mcp-auth', 'credentials');
  const [file] = readdirSync(kept);
  if (process.platform !== 'win32') assert.deepEqual([statSync(kept).mode & 0o777, statSync(path.join(kept, file!)).mode & 0o777], [0o700, 0o600]);
  await callRead(place.host({ assumeYes: true }));
  assert.equal(server.stats.authorizes, 1);
  const told = JSON.stringify(place.logged);
  for (const secret of server.secrets) assert.equal(told.includes(secret), false, 'no secret is logged');
});

test('a missing sign-in with nobody there fails at once, registers nothing and says what to do', async (t) => {
  const server = await guard(t), host = home(t, entry(server)).host();
  const failure = await refused(host.open('docs'));
  assert.deepEqual([failure.code, failure.stage, failure.recovery], ['LOGIN_REQUIRED', 'auth', 'blocked']);
  assert.match(failure.hint ?? '', /zuno-lite mcp auth docs/);
  assert.equal(failure.origin?.key, 'mcp.docs');
  assert.deepEqual(server.paths(), ['/mcp']);
  const [status] = host.status();
  assert.deepEqual([status?.state, status?.failureKind, status?.authorization], ['failed', 'not_authenticated', undefined]);
});

test('status() tells where to sign in while somebody is waited for', async (t) => {
  const server = await guard(t), place = home(t, entry(server));
  let shown: (visit: Visit) => void = () => {};
  const visited = new Promise<Visit>((resolve) => { shown = resolve; });
  const host = place.host({ person: { visit: (visit) => shown(visit) } });
  const opening = host.open('docs');
  const visit = await visited;
  const [status] = host.status();
  assert.equal(status?.state, 'connecting');
  assert.deepEqual(status?.authorization, { url: visit.url, startedAt: visit.startedAt });
  // A second program sees it too, and sends nobody anywhere itself.
  const other = place.host();
  assert.equal((await refused(other.open('docs'))).code, 'LOGIN_REQUIRED');
  assert.equal(other.status()[0]?.authorization?.url, visit.url);
  await browse(visit.url);
  await opening;
  assert.equal(host.status()[0]?.authorization, undefined);
  await other.open('docs');
  assert.equal(server.stats.authorizes, 1);
});

test('a sign-in that takes longer than the wait goes on, and the server opens at the next look', async (t) => {
  const server = await guard(t), directory = tempDir(t), visits: Visit[] = [];
  const paths = resolvePaths({ platform: 'linux', home: directory, environment: {} });
  const config = loadConfig({ cwd: directory, environment: { ZUNO_CONFIG_CONTENT: JSON.stringify(entry(server)) }, paths: { ...paths, managed: directory } });
  const signIns = createSignIns(), trees = createProcessTrees();
  const interaction: Interaction = { mode: 'surface', waitMs: 60, visit(visit) { visits.push(visit); } };
  const connect = createConnect({
    environment: {}, workspace: directory, trees, log: silentLog, clientInfo: { name: 'test', version: '0' }, life: 'session', answersFor: () => ({}), memoryFor: () => undefined,
    data: paths.data, signIns, interactionFor: () => interaction, identityFor: () => undefined,
  });
  const connections = createConnections(config, { connect, events: createEvents(), waitingAt: signIns.waitingAt });
  t.after(async () => { signIns.close(); await connections.close(); await trees.close(); });
  const failure = await refused(connections.open('docs'));
  assert.deepEqual([failure.code, failure.details], ['LOGIN_REQUIRED', { error: 'login_in_progress', url: visits[0]!.url }]);
  assert.deepEqual(connections.status()[0]?.authorization, { url: visits[0]!.url, startedAt: visits[0]!.startedAt });
  await browse(visits[0]!.url);
  const { client } = await connections.open('docs');
  assert.equal((await client.listTools()).items.length, 1);
  assert.equal(visits.length, 1);
});

test('a token that ends soon is renewed before it is used, one that is refused once after (row 185)', async (t) => {
  const server = await guard(t), place = home(t, entry(server));
  await callRead(place.host({ person: person(), assumeYes: true }));
  const kept = path.join(place.directory, '.local', 'share', 'zuno', 'mcp-auth', 'credentials'), file = path.join(kept, readdirSync(kept)[0]!);
  const record = JSON.parse(readFileSync(file, 'utf8')) as { tokens: object };
  writeFileSync(file, JSON.stringify({ ...record, tokens: { ...record.tokens, expiresAt: Date.now() + 20_000, obtainedAt: Date.now() - 60_000 } }));
  const before = server.log.length, host = place.host({ assumeYes: true });
  await callRead(host);
  assert.equal(server.stats.refreshes, 1);
  assert.equal(server.paths().slice(before).find((one) => one === '/token' || one === '/mcp'), '/token');
  server.expireAll();
  await callRead(host);
  assert.deepEqual([server.stats.refreshes, server.stats.authorizes], [2, 1]);
});

test('two hosts that need a new token ask for one (row 186)', async (t) => {
  const server = await guard(t), place = home(t, entry(server));
  const hosts = [place.host({ person: person(), assumeYes: true }), place.host({ assumeYes: true })] as const;
  await callRead(hosts[0]);
  await callRead(hosts[1]);
  server.expireAll();
  await Promise.all(hosts.map(callRead));
  assert.deepEqual([server.stats.refreshes, server.stats.reuse, server.stats.authorizes], [1, 0, 1]);
});

test('a sign-in service that is out of order costs neither the credentials nor a question to the person (row 187)', async (t) => {
  const server = await guard(t), place = home(t, entry(server)), visits: Visit[] = [];
  await callRead(place.host({ person: person(visits), assumeYes: true }));
  server.expireAll();
  server.behaviour['refreshAnswer'] = 503;
  const host = place.host({ person: person(visits), assumeYes: true, retryClock: { sleep: () => Promise.resolve() } });
  const failure = await refused(host.open('docs'));
  assert.deepEqual([failure.code, failure.stage], ['HTTP_STATUS', 'auth']);
  server.behaviour['refreshAnswer'] = 'ok';
  await callRead(place.host({ assumeYes: true }));
  assert.equal(visits.length, 1);
});

test('a tool that needs more rights has the person asked for both (row 188)', async (t) => {
  const server = await guard(t, { resourceScopes: ['list'], requiredScope: { read: 'write' } }), visits: Visit[] = [];
  const host = home(t, entry(server)).host({ person: person(visits), assumeYes: true });
  assert.match(await callRead(host), /with list write/);
  assert.deepEqual(visits.map(({ scope }) => scope.join(' ')), ['list', 'list write']);
  const quiet = await guard(t, { requiredScope: { read: '403' }, anonymous: true });
  const outcome = await home(t, entry(quiet)).host({ assumeYes: true }).findTool('docs.read').then((tool) => tool);
  assert.equal(outcome.server, 'docs');
  assert.ok(quiet.paths().every((one) => one === '/mcp'), 'a plain 403 starts nothing');
});

test('a call waits for its sign-in longer than its own timeout', async (t) => {
  const server = await guard(t, { refreshToken: false }), place = home(t, entry(server, { timeout: 150 }));
  const host = place.host({ assumeYes: true, person: { visit: async ({ url }) => { await new Promise((resolve) => setTimeout(resolve, 400)); return landing(url); } } });
  const tool = await host.findTool('docs.read');
  server.access.clear();
  const outcome = await host.call(tool, {});
  assert.equal(outcome.kind, 'ok', JSON.stringify(outcome));
  assert.equal(server.stats.authorizes, 2);
});

test('a call that nobody can sign in for surely did nothing', async (t) => {
  const server = await guard(t, { refreshToken: false }), place = home(t, entry(server));
  const tool = await place.host({ person: person() }).findTool('docs.read');
  const host = place.host({ assumeYes: true });
  await host.open('docs');
  server.access.clear();
  const outcome = await host.call(tool, {});
  assert.ok(outcome.kind === 'failed' && outcome.failure.code === 'LOGIN_REQUIRED', JSON.stringify(outcome));
});

test('a configured Authorization header is the only one that is sent, and nobody signs in (row 191)', async (t) => {
  const server = await guard(t, { refuse: false }), place = home(t, entry(server, { headers: { AUTHORIZATION: 'Bearer mine-mine' }, oauth: { clientId: 'unused', clientSecret: '{env:NOWHERE}' } }));
  const visits: Visit[] = [];
  const host = place.host({ person: person(visits) });
  const failure = await refused(host.open('docs'));
  assert.deepEqual([failure.code, failure.details], ['TOKEN_REFUSED', { error: 'static_token_rejected' }]);
  assert.match(failure.message, /401/);
  assert.ok(authorizations(server).every((one) => one === 'Bearer mine-mine'));
  assert.deepEqual([...new Set(server.paths())], ['/mcp']);
  assert.equal(visits.length, 0);
  await refused(host.open('docs'));
  assert.equal(place.logged.filter(({ event }) => event === 'oauth.header-wins').length, 1);
  // One that works: exactly that.
  server.access.set('mine-mine', { expiresAt: Date.now() + 60_000, scope: 'all', family: 'f' });
  await callRead(place.host({ assumeYes: true }));
});

test('oauth: {"type": "client_credentials"} gets a token without anybody (row 191)', async (t) => {
  const server = await guard(t, { methods: ['client_secret_basic'] });
  const place = home(t, entry(server, { oauth: { type: 'client_credentials', clientId: 'machine', clientSecret: '{env:MACHINE_SECRET}', scope: 'read' } }), { MACHINE_SECRET: 'very-secret-value' });
  assert.match(await callRead(place.host({ assumeYes: true })), /with read/);
  assert.deepEqual([server.stats.clientCredentials, server.stats.authorizes], [1, 0]);
  assert.equal(JSON.stringify(place.logged).includes('very-secret-value'), false);
});

test('oauth: false asks nobody, discovers nothing and says that it is off (row 104)', async (t) => {
  const server = await guard(t), visits: Visit[] = [];
  const failure = await refused(home(t, entry(server, { oauth: false })).host({ person: person(visits) }).open('docs'));
  assert.equal(failure.code, 'LOGIN_REFUSED');
  assert.match(failure.message, /OAuth is turned off for it \("oauth": false\)/);
  assert.deepEqual([server.paths(), visits], [['/mcp'], []]);
});

test('an oauth object has its references filled in, and every fault of it is told with its place', async (t) => {
  const server = await guard(t, { methods: ['client_secret_basic'] });
  const broken = await refused(home(t, entry(server, { oauth: { clientid: 'x', callbackPort: -1 } })).host().open('docs'));
  assert.ok(broken.code === 'CONFIG_INVALID');
  assert.deepEqual(broken.details.problems.map(({ pointer }) => pointer), ['/oauth/clientid', '/oauth/callbackPort']);
  assert.deepEqual([broken.origin?.key, broken.stage], ['mcp.docs', 'config']);
  const unset = await refused(home(t, entry(server, { oauth: { clientId: 'x', clientSecret: '{env:NOWHERE}' } })).host().open('docs'));
  assert.ok(unset.code === 'VARIABLE_UNSET' && unset.details.key === 'mcp.docs.oauth.clientSecret');
  const dollar = { mcpServers: { docs: { type: 'http', url: server.url, oauth: { clientId: '${CLIENT:-fallback}', clientSecret: '${SECRET}', type: 'client_credentials' } } } };
  await callRead(home(t, dollar, { SECRET: 'the-secret-of-it' }).host({ assumeYes: true }));
  assert.equal(server.stats.clientCredentials, 1);
});

test('a key file is relative to the file that names it', async (t) => {
  const server = await guard(t, { methods: ['private_key_jwt'] });
  const oauth = (privateKeyFile: string): Record<string, unknown> => ({ oauth: { type: 'client_credentials', clientId: 'machine', privateKeyFile } });
  const place = home(t, entry(server, oauth('keys/client.pem'))), keys = path.join(place.directory, 'config', 'zuno', 'keys');
  mkdirSync(keys);
  writeFileSync(path.join(keys, 'client.pem'), generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await callRead(place.host({ assumeYes: true }));
  assert.equal(server.stats.lastMethod, 'private_key_jwt');
  place.write(entry(server, oauth('~/elsewhere.pem')));
  const missing = await refused(place.host().open('docs'));
  assert.ok(missing.code === 'CONFIG_INVALID' && missing.details.problems[0]?.pointer === '/oauth/privateKeyFile', missing.message);
});

test('a project file may say clientId and scope alone, and sends nobody anywhere', async (t) => {
  const server = await guard(t), place = home(t, {}), visits: Visit[] = [];
  const oauth = { clientId: 'theirs', scope: 'read', clientSecret: 'x', issuer: 'https://evil.test', type: 'client_credentials' };
  writeFileSync(path.join(place.directory, 'workspace', 'zuno.json'), JSON.stringify(entry(server, { oauth })));
  const host = place.host({ person: person(visits) });
  assert.deepEqual(host.config.diagnostics.map(({ pointer, severity }) => [pointer, severity]), ['clientSecret', 'issuer', 'type'].map((key) => [`mcp.docs.oauth.${key}`, 'warning']));
  const docs = host.config.servers.get('docs');
  assert.deepEqual(docs?.kind === 'remote' && docs.oauth, { clientId: 'theirs', scope: 'read' });
  assert.equal((await refused(host.open('docs'))).code, 'LOGIN_REQUIRED');
  assert.deepEqual([server.paths(), visits], [['/mcp'], []]);
});

test('what a project file may say under oauth are keys that there are', () => {
  for (const key of projectOAuthKeys) assert.deepEqual(settingsProblems({ [key]: 'x' }), []);
});

test('an HTTP+SSE server is signed in to as well', async (t) => {
  const server = await guard(t, { mcpPath: '/sse' });
  const { access, behaviour } = server;
  let stream: import('node:http').ServerResponse | undefined;
  behaviour.routes['/sse'] = (request, response) => {
    const token = request.headers.authorization?.split(' ')[1];
    if (token === undefined || !access.has(token)) { response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(); return; }
    stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
    stream.write('event: endpoint\ndata: /post\n\n');
  };
  behaviour.routes['/post'] = (request, response) => {
    if (request.headers.authorization === undefined) { response.writeHead(401).end(); return; }
    response.writeHead(202).end();
    const { body } = server.log.at(-1)!, message = JSON.parse(body) as { id?: number; method: string; params: { protocolVersion: string } };
    if (message.method === 'initialize') stream!.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 's', version: '1' } } })}\n\n`);
  };
  const host = home(t, { mcp: { docs: { type: 'remote', url: server.url, transport: 'sse' } } }).host({ person: person() });
  const { client } = await host.open('docs');
  assert.equal(client.revision, '2024-11-05');
});

test('close() ends a sign-in that waits, and leaves nothing behind', async (t) => {
  const server = await guard(t), place = home(t, entry(server));
  const events = new EventTarget();
  const host = place.host({ person: { visit: () => { events.dispatchEvent(new Event('visit')); } } });
  const opening = refused(host.open('docs'));
  await once(events, 'visit');
  await host.close();
  assert.ok(['CANCELED', 'CONNECTION_CLOSED'].includes((await opening).code));
  assert.deepEqual(readdirSync(path.join(place.directory, '.local', 'share', 'zuno', 'mcp-auth', 'pending')), []);
});
