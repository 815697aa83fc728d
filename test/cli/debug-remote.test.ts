/** What `mcp debug` tells of a server on the network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripControls } from '../../src/base/text.ts';
import { owned, startSse } from '../support/http-fixture.ts';
import { startProxy } from '../support/http-proxy.ts';
import { freePort, pem } from '../support/http-server.ts';
import { startTroubled } from '../support/troubled-server.ts';
import { sandbox, type Sandbox } from './support.ts';

const tlsFile = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
const configure = (box: Sandbox, url: string, more: object = {}): void => box.config({ mcp: { docs: { type: 'remote', url, headers: { Authorization: 'Bearer s3cret-value', 'X-Key': '{env:KEY}' }, ...more } } });
const env = { KEY: 'another-s3cret' };

test('mcp debug shows address, answers and stages with their times, and of credentials only that they are there (row 161)', async (t) => {
  const server = await startTroubled(t), box = sandbox(t);
  configure(box, server.url);
  const { status, stdout, stderr } = await box.run(['mcp', 'debug', 'docs'], { env });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /try +Streamable HTTP {2}worked/);
  assert.match(stdout, new RegExp(`connection +127\\.0\\.0\\.1:${server.port} in [\\d.]+ ms, no TLS`));
  assert.match(stdout, /answers +POST 200 \([\d.]+ ms\)/);
  assert.match(stdout, /stages +probe [\d.]+ ms/);
  assert.match(stdout, /header +Authorization: \*\*\*/);
  const json = await box.run(['mcp', 'debug', 'docs', '--json'], { env });
  const { attempts } = json.json();
  assert.deepEqual([attempts.length, attempts[0].transport, attempts[0].ok, attempts[0].answers[0].status, attempts[0].connections[0].tls], [1, 'streamable-http', true, 200, null]);
  for (const text of [stdout, stderr, json.stdout]) assert.doesNotMatch(text, /s3cret/);
});

test('mcp debug shows every try when Streamable HTTP is refused and HTTP+SSE works', async (t) => {
  const server = owned(t, await startSse()), box = sandbox(t);
  configure(box, server.url('/open/sse'));
  const { status, stdout, stderr } = await box.run(['mcp', 'debug', 'docs'], { env });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /try 1 +Streamable HTTP {2}.*405/);
  assert.match(stdout, /answers +POST 405 /);
  assert.match(stdout, /try 2 +HTTP\+SSE {2}worked/);
  assert.match(stdout, /answers +GET 200 /);
  assert.match(stdout, /stages +connect [\d.]+ ms, handshake /);
  const { servers } = (await box.run(['mcp', 'list', '--json'], { env })).json();
  assert.equal(servers[0].transport, 'sse', 'the list shows what is spoken, not what was tried first');
});

test('mcp debug shows both failures when no transport works', async (t) => {
  const server = await startTroubled(t, { '*': Array.from({ length: 9 }, () => 404) }), box = sandbox(t);
  configure(box, server.url);
  const { status, stdout } = await box.run(['mcp', 'debug', 'docs', '--json'], { env });
  assert.equal(status, 4);
  assert.match(JSON.parse(stdout).error.message, /404.*; nor is it a server of the older HTTP\+SSE kind: it answers the same$/);
  assert.deepEqual(JSON.parse(stdout).attempts.map((one: any) => [one.transport, one.ok, one.error.code, one.answers.at(-1).status]), [['streamable-http', false, 'HTTP_STATUS', 404], ['sse', false, 'HTTP_STATUS', 404]]);
});

test('mcp debug does not send to itself: it names the log, or the transport that is pinned', async (t) => {
  const server = await startTroubled(t, { '*': Array.from({ length: 9 }, () => 400) }), box = sandbox(t);
  configure(box, server.url, { transport: 'http' });
  assert.match((await box.run(['mcp', 'debug', 'docs', '--json'], { env })).json().error.hint, /^Check the path of the url; or let both HTTP transports be tried: zuno-lite mcp set docs --unset transport$/);
  const taken = await startTroubled(t, { '*': Array.from({ length: 9 }, () => 409) });
  configure(box, taken.url);
  assert.equal((await box.run(['mcp', 'debug', 'docs', '--json'], { env })).json().error.hint, 'zuno-lite mcp debug docs --log-level debug');
});

test('mcp debug shows each repeated try of a server that is overloaded', async (t) => {
  const server = await startTroubled(t, { '*': Array.from({ length: 3 }, () => ({ status: 503, headers: { 'retry-after': '0' } })) }), box = sandbox(t);
  configure(box, server.url);
  const { status, stdout } = await box.run(['mcp', 'debug', 'docs'], { env });
  assert.equal(status, 4);
  assert.deepEqual([...stdout.matchAll(/try (\d) +Streamable HTTP {2}.*503/g)].map((match) => match[1]), ['1', '2', '3']);
});

test('mcp debug shows TLS: protocol, who certified it, until when, and the certificate files of the entry', async (t) => {
  const server = await startTroubled(t, {}, undefined, { tls: { cert: pem('server.pem'), key: pem('server.key') } }), box = sandbox(t);
  configure(box, server.url.replace('127.0.0.1', 'localhost'), { caFile: tlsFile('ca.pem') });
  const { status, stdout, stderr } = await box.run(['mcp', 'debug', 'docs'], { env });
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`connection +localhost:${server.port} at (?:127\\.0\\.0\\.1|::1) in [\\d.]+ ms, TLSv1\\.\\d, certificate by .+, valid to .+ GMT`));
  assert.ok(stdout.includes(`caFile       ${tlsFile('ca.pem')}`), stdout);
  configure(box, server.url);
  const without = await box.run(['mcp', 'debug', 'docs'], { env });
  assert.equal(without.status, 4);
  assert.match(stripControls(without.stderr), /next +Trust its certificate authority: name a PEM file as "caFile"/);
});

test('mcp debug tells a proxy variable that cannot be read', async (t) => {
  const box = sandbox(t);
  configure(box, 'http://wiki.test/mcp', { transport: 'http' });
  const { status, stdout, stderr } = await box.run(['mcp', 'debug', 'docs'], { env: { ...env, HTTP_PROXY: 'ftp://anna:hunter22@p.test' } });
  assert.notEqual(status, 0);
  assert.match(stdout, /try +Streamable HTTP {2}Cannot /);
  assert.doesNotMatch(stdout + stderr, /hunter22/);
});

test('mcp debug names the proxy without its password, used or not reached', async (t) => {
  const server = await startTroubled(t), proxy = await startProxy({ login: 'anna:hunter22' }), box = sandbox(t);
  t.after(() => proxy.close());
  configure(box, server.url);
  const through = { ...env, HTTP_PROXY: proxy.url.replace('//', '//anna:hunter22@'), NO_PROXY: '' };
  const { status, stdout, stderr } = await box.run(['mcp', 'debug', 'docs'], { env: through });
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`through the proxy http://127\\.0\\.0\\.1:${proxy.port}`));
  assert.ok(proxy.log.length > 0);
  const dead = await box.run(['mcp', 'debug', 'docs'], { env: { ...env, HTTP_PROXY: `http://anna:hunter22@127.0.0.1:${await freePort()}` } });
  assert.equal(dead.status, 4);
  assert.match(dead.stdout, /proxy +http:\/\/127\.0\.0\.1:/);
  for (const text of [stdout, stderr, dead.stdout, dead.stderr]) assert.doesNotMatch(text, /hunter22/);
});
