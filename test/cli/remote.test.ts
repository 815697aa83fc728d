/** Servers that are reached over HTTP, from a configuration file to the wire and back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, owned, result, scripted, startSse, startStreamable, told } from '../support/http-fixture.ts';
import { allowAll, sandbox } from './support.ts';

test('configured headers, variables included, reach every request of a remote server (rows 15, 96)', async (t) => {
  const server = owned(t, await startStreamable()), box = sandbox(t);
  box.config({ ...allowAll, mcp: { fixture: { type: 'remote', url: server.url('/legacy/sse/session'), headers: { 'X-Tenant': 'blue', Authorization: 'Bearer {env:TOKEN}' } } } });
  const ran = await box.run(['call', 'fixture.add', 'a=1', 'b=2', '--json'], { env: { TOKEN: 's3cret-value' } });
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stdout, /"3"/);
  const kinds = server.requests.map(({ method, message }) => message?.method ?? method);
  for (const kind of ['initialize', 'tools/list', 'tools/call', 'DELETE']) assert.ok(kinds.includes(kind), `${kind} of ${kinds.join()}`);
  for (const { headers } of server.requests) assert.deepEqual([headers['x-tenant'], headers['authorization']], ['blue', 'Bearer s3cret-value']);
  assert.doesNotMatch(ran.stdout + ran.stderr, /s3cret-value/);
});

test('a remote server that a project declares is connected to, with the project\'s own headers (row 23)', async (t) => {
  const server = owned(t, await startStreamable()), box = sandbox(t);
  box.file('zuno.json', JSON.stringify({ mcp: { shared: { type: 'remote', url: server.url('/both/json'), headers: { 'X-Project': 'yes' } } } }));
  const ran = await box.run(['mcp', 'list', '--json']);
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stdout, /"connected"/);
  assert.ok(server.requests.length > 0 && server.requests.every(({ headers }) => headers['x-project'] === 'yes'));
});

test('the older transport is found by itself, and only where the entry leaves it open (row 99)', async (t) => {
  const server = owned(t, await startSse()), box = sandbox(t);
  const entry = (path: string, more: object = {}): object => ({ type: 'remote', url: server.url(path), ...more });
  box.config({ ...allowAll, mcp: { open: entry('/open/sse') } });
  assert.equal((await box.run(['call', 'open.add', 'a=1', 'b=2'])).status, 0);
  box.config({ ...allowAll, mcp: { servers: { explicit: { type: 'http', url: server.url('/explicit/sse') } } } });
  const explicit = await box.run(['tools', 'explicit', '--json']);
  assert.notEqual(explicit.status, 0);
  assert.match(explicit.stdout + explicit.stderr, /405/);
  assert.ok(server.requests.every(({ method, path }) => method === 'POST' || path !== '/explicit/sse'));
  box.config({ ...allowAll, mcp: { out: entry('/out/sse?refuse=500') } });
  const out = await box.run(['tools', 'out', '--json']);
  assert.notEqual(out.status, 0);
  assert.match(out.stdout + out.stderr, /answers 500/);
  assert.ok(server.requests.every(({ method, path }) => method === 'POST' || path !== '/out/sse'), 'one transport was tried');
});

test('a listing that is refused is asked for once, and a call over HTTP is never repeated (rows 103, 107)', async (t) => {
  const box = sandbox(t);
  for (const status of [400, 401, 403, 404, 405]) {
    const server = await scripted(t, { on: { 'tools/list': (_message, response) => { response.writeHead(status).end('refused'); } } });
    box.config({ ...allowAll, mcp: { fixture: { type: 'remote', url: server.url(), oauth: false } } });
    const ran = await box.run(['tools', 'fixture', '--json']);
    assert.notEqual(ran.status, 0, String(status));
    assert.equal(server.posted('tools/list').length, 1, String(status));
    assert.match(ran.stdout + ran.stderr, new RegExp(`${status}`));
  }
  const cut = await scripted(t, { on: { 'tools/call': (_message, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0",'); } } });
  box.config({ ...allowAll, mcp: { fixture: { type: 'remote', url: cut.url() } } });
  const called = await box.run(['call', 'fixture.echo', '--json']);
  assert.equal(called.status, 8, called.stdout + called.stderr);
  assert.equal(cut.posted('tools/call').length, 1);
});

test('two calls of one run wait for nobody but their server', async (t) => {
  const server = await scripted(t, { era: 'modern', on: { 'tools/call': (message, response) => json(response, result(message, told('here'))) } });
  const box = sandbox(t);
  box.config({ ...allowAll, mcp: { fixture: { type: 'remote', url: server.url() } } });
  const ran = await box.run(['call', 'fixture.echo']);
  assert.deepEqual([ran.status, ran.stdout.trim()], [0, 'here']);
  assert.ok(!server.methods().includes('initialize') && !server.methods().includes('DELETE'));
});
