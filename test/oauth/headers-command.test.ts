import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { loadConfig } from '../../src/config/load.ts';
import { readHeaders } from '../../src/host/headers-command.ts';
import { home, type Home } from '../support/hosts.ts';
import { isAlive, tempDir, waitFor } from '../support/process.ts';
import { keyedServer, type KeyedServer } from './keyed-server.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Host } from '../../src/host/types.ts';

/** A program that counts its runs and then does what `code` says; `run` is the number of this run. */
function program(t: TestContext, code: string): { readonly command: string[]; runs(): number; readonly directory: string } {
  const directory = tempDir(t), file = path.join(directory, 'keys.mjs'), count = path.join(directory, 'runs');
  writeFileSync(file, `import fs from 'node:fs';\nconst file = ${JSON.stringify(count)};\nfs.appendFileSync(file, '.');\nconst run = fs.readFileSync(file, 'utf8').length;\nconst print = (value) => console.log(JSON.stringify(value));\n${code}\n`);
  return { command: [process.execPath, file], directory, runs: () => (existsSync(count) ? readFileSync(count, 'utf8').length : 0) };
}

const keyed = (t: TestContext, accepts: (key: string | undefined) => boolean = () => true): Promise<KeyedServer> => keyedServer(t, ({ headers }) => (accepts(headers['x-key']?.toString()) ? undefined : 401));

function place(t: TestContext, server: KeyedServer, headersCommand: readonly string[], more: Record<string, unknown> = {}, environment: Record<string, string> = {}): Home {
  return home(t, { mcp: { docs: { type: 'remote', url: server.url, transport: 'http', protocol: 'legacy', headersCommand, ...more } } }, environment);
}

async function failureOf(host: Host): Promise<AnyFailure> {
  return host.open('docs').then(() => assert.fail('it opened'), (failure: AnyFailure) => failure);
}

test('headersCommand: one run serves a connection; its headers replace configured ones, never the protocol\'s', async (t) => {
  const server = await keyed(t);
  const { command, runs } = program(t, `print({ 'X-Key': 'k-' + run, Authorization: 'Bearer printed', Accept: 'text/html', 'Mcp-Session-Id': 'theirs' });`);
  const host = place(t, server, command, { headers: { authorization: 'Bearer configured', 'x-key': 'configured', 'x-other': 'stays' } }).host();
  const { client } = await host.open('docs');
  await Promise.all([client.listTools(), client.listTools()]);
  assert.deepEqual(['x-key', 'authorization', 'x-other', 'mcp-session-id'].map((name) => [...new Set(server.sent(name))]), [['k-1'], ['Bearer printed'], ['stays'], [undefined]]);
  assert.equal(server.sent('accept')[0], 'application/json, text/event-stream');
  assert.equal(runs(), 1);
});

test('headersCommand: it runs without a shell, in the directory of its file, and is told which server it is for', async (t) => {
  const server = await keyed(t);
  const { command } = program(t, `print({ 'X-Key': JSON.stringify([process.argv.slice(2), process.cwd(), process.env.ZUNO_MCP_SERVER, process.env.ZUNO_MCP_URL]) });`);
  const at = place(t, server, [...command, '$(id) ; "quoted"', '{env:WHICH}'], {}, { WHICH: 'of the environment' });
  await at.host().open('docs');
  assert.deepEqual(JSON.parse(server.sent('x-key')[0]!), [['$(id) ; "quoted"', 'of the environment'], path.join(at.directory, 'config', 'zuno'), 'docs', server.url]);
});

test('headersCommand: what has expired is asked for again, what has not is kept', async (t) => {
  const server = await keyed(t);
  const short = program(t, `print({ headers: { 'X-Key': 'k-' + run }, expiresIn: run === 1 ? 0 : 3600 });`);
  const { client } = await place(t, server, short.command).host().open('docs');
  await client.listTools();
  await client.listTools();
  assert.deepEqual([server.sent('x-key')[0], server.sent('x-key').at(-1), short.runs()], ['k-1', 'k-2', 2]);
});

test('headersCommand: after a 401 it runs once more, for all that were refused', async (t) => {
  let good = 'k-1';
  const server = await keyed(t, (key) => key === good);
  const { command, runs } = program(t, `print({ 'X-Key': 'k-' + run });`);
  const host = place(t, server, command).host();
  const { client } = await host.open('docs');
  good = 'k-2';
  await Promise.all([client.listTools(), client.listTools(), client.callTool('read', {})]);
  assert.equal(runs(), 2);
  good = 'k-9';
  const refused = await client.listTools().then(() => assert.fail('accepted'), (failure: AnyFailure) => failure);
  assert.deepEqual([refused.code, refused.details, runs()], ['TOKEN_REFUSED', { error: 'headers_refused' }, 3]);
  assert.match(refused.origin?.key ?? '', /headersCommand/);
});

test('headersCommand: nobody signs in beside it; an oauth object is told once that it is not used', async (t) => {
  const server = await keyed(t, () => false);
  const at = place(t, server, program(t, `print({});`).command, { oauth: { clientId: 'x' } });
  assert.equal((await failureOf(at.host({ person: { visit: () => assert.fail('somebody was asked') } }))).code, 'TOKEN_REFUSED');
  assert.equal(server.requests.every(({ url }) => url === '/mcp'), true);
  assert.equal(at.logged.filter(({ event }) => event === 'oauth.header-wins').length, 1);
});

test('headersCommand: how it failed is told, with the exit and its last words, and nothing is sent', async (t) => {
  const server = await keyed(t);
  const fails = async (code: string): Promise<AnyFailure> => failureOf(place(t, server, program(t, code).command).host());
  const exit = await fails(`console.error('one line\\nlogin first: token=abcdefgh'); process.exit(3);`);
  assert.deepEqual([exit.code, exit.stage, exit.details], ['LOGIN_REFUSED', 'auth', { error: 'headers_command_failed' }]);
  assert.match(exit.message, /server "docs" .*ended with exit code 3: login first: token=\*\*\*/);
  if (process.platform !== 'win32') assert.match((await fails(`process.kill(process.pid, 'SIGKILL');`)).message, /ended with SIGKILL/);
  assert.match((await fails(`console.log('X-Key: abc');`)).message, /it printed text that is no JSON where a JSON object is due/);
  assert.match((await fails(`print(['a']);`)).message, /it printed a list/);
  assert.match((await fails(``)).message, /it printed nothing at all/);
  const much = await fails(`process.stdout.write('x'.repeat(${limits.headersCommandBytes + 1})); setInterval(() => {}, 1000);`);
  assert.deepEqual([much.code, much.stage], ['LIMIT_EXCEEDED', 'auth']);
  const missing = await failureOf(place(t, server, ['no-such-program-here']).host());
  assert.deepEqual([missing.code, missing.stage], ['SPAWN_FAILED', 'auth']);
  assert.match(missing.message, /headers of server "docs": cannot start "no-such-program-here"/);
  assert.equal(server.requests.length, 0);
});

test('headersCommand: what it prints is never logged or told', async (t) => {
  const server = await keyedServer(t, () => 500);
  const at = place(t, server, program(t, `console.error('using printed-secret-1'); print({ 'X-Key': 'printed-secret-1' });`).command);
  const failure = await failureOf(at.host({ retryClock: { sleep: () => Promise.resolve() } }));
  assert.equal(failure.code, 'HTTP_STATUS');
  assert.equal(server.sent('x-key')[0], 'printed-secret-1');
  assert.match(JSON.stringify(at.logged), /X-Key/);
  assert.match(JSON.stringify(at.logged), /using \*\*\*/);
  assert.equal(JSON.stringify([at.logged, failure.message]).includes('printed-secret'), false);
});

test('headersCommand: one that does not end is ended', async (t) => {
  const server = await keyed(t), pid = path.join(tempDir(t), 'pid');
  const { command } = program(t, `fs.writeFileSync(${JSON.stringify(pid)}, String(process.pid)); setInterval(() => {}, 1000);`);
  const host = place(t, server, command).host();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const opening = failureOf(host);
  const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });
  while (!existsSync(pid) || readFileSync(pid, 'utf8') === '') await turn();
  t.mock.timers.tick(limits.headersCommandMs);
  const failure = await opening;
  assert.deepEqual([failure.code, failure.stage, failure.details], ['TIMEOUT', 'auth', { afterMs: limits.headersCommandMs }]);
  const child = Number(readFileSync(pid, 'utf8'));
  while (isAlive(child)) { t.mock.timers.tick(50); await turn(); }
  const closing = host.close();
  let closed = false;
  void closing.then(() => { closed = true; });
  while (!closed) { t.mock.timers.tick(50); await turn(); }
  assert.equal(server.requests.length, 0);
});

test('headersCommand: it ends with its host', async (t) => {
  const server = await keyed(t), pid = path.join(tempDir(t), 'pid');
  const host = place(t, server, program(t, `fs.writeFileSync(${JSON.stringify(pid)}, String(process.pid)); setInterval(() => {}, 1000);`).command).host();
  const opening = failureOf(host);
  const child = await waitFor(() => existsSync(pid) && Number(readFileSync(pid, 'utf8')), 'the program');
  await host.close();
  await opening;
  await waitFor(() => !isAlive(child), 'its end');
});

test('headersCommand: a project file may not choose one, nor take a trusted one to an address of its own', async (t) => {
  const server = await keyed(t), at = place(t, server, ['keys']);
  const project = (entry: object): void => writeFileSync(path.join(at.directory, 'workspace', 'zuno.json'), JSON.stringify({ mcp: { docs: { type: 'remote', ...entry } } }));
  project({ url: server.url, headersCommand: ['evil'] });
  assert.throws(() => at.host(), (failure: AnyFailure) => failure.code === 'TRUST_REFUSED' && failure.details.keys.join() === 'mcp.docs.headersCommand');
  project({ url: 'https://evil.test/mcp' });
  const host = at.host(), docs = host.config.servers.get('docs');
  assert.equal(docs?.kind === 'remote' && docs.headersCommand === undefined, true);
  assert.match(host.config.diagnostics.map(({ message }) => message).join('\n'), /headersCommand of trusted layers is left out/);
});

test('headersCommand: wrong shapes cost the entry, with the place', (t) => {
  const directory = tempDir(t), remote = { type: 'remote', url: 'https://x.test/mcp' };
  mkdirSync(path.join(directory, 'zuno'));
  const paths = { home: directory, config: directory, data: directory, cache: directory, state: directory, managed: directory };
  const config = loadConfig({ cwd: directory, paths, environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp: {
    a: { ...remote, headersCommand: 'keys --all' }, b: { ...remote, headersCommand: [] }, c: { ...remote, headersCommand: ['', 'x'] }, d: { type: 'local', command: ['x'], headersCommand: ['y'] }, e: { ...remote, headersCommand: ['keys', ''] },
  } }) } });
  assert.deepEqual(config.diagnostics.map(({ pointer }) => pointer), ['a', 'b', 'c', 'd'].map((name) => `mcp.${name}.headersCommand`));
  assert.deepEqual([...config.servers.keys()], ['e']);
});

test('readHeaders() takes both forms, every spelling of an expiry, and nothing that cannot be sent', () => {
  const at = Date.UTC(2026, 0, 1);
  const until = (value: object): number => { const read = readHeaders(JSON.stringify(value), at); assert.ok('until' in read, JSON.stringify(read)); return read.until; };
  assert.deepEqual(readHeaders(' {"A": "b"}\n', at), { headers: { A: 'b' }, until: Infinity });
  assert.deepEqual(readHeaders('{"headers": "text", "A": "b"}', at), { headers: { headers: 'text', A: 'b' }, until: Infinity });
  assert.equal(until({ headers: {} }), Infinity);
  assert.equal(until({ headers: {}, expiresIn: 3600 }), at + 3_600_000 - limits.tokenSkewMs);
  assert.equal(until({ headers: {}, expiresIn: 100 }), at + 90_000);
  for (const expiresAt of ['2026-01-01T01:00:00Z', (at + 3_600_000) / 1000, at + 3_600_000]) assert.equal(until({ headers: {}, expiresAt }), at + 3_600_000 - limits.tokenSkewMs);
  assert.equal(until({ headers: {}, expiresAt: '2026-01-01T01:00:00Z', expiresIn: 100 }), at + 90_000, 'the earlier one counts');
  assert.equal(until({ headers: {}, expiresAt: null, expiresIn: null }), Infinity);
  for (const wrong of [{ 'A b': 'c' }, { A: 'b\nc' }, { A: 5 }, { headers: { A: null } }, { headers: {}, expiresAt: 'soon' }, { headers: {}, expiresIn: '60' }, { headers: {}, expiresAt: true }]) {
    assert.ok('problem' in readHeaders(JSON.stringify(wrong), at), JSON.stringify(wrong));
  }
});
