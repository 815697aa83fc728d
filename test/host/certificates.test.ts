import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { failureOf } from '../support/http-client.ts';
import { pem } from '../support/http-server.ts';
import { startHost, type TestHost } from '../support/host.ts';
import { startTroubled, type TroubledServer } from '../support/troubled-server.ts';

const tlsFile = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));

async function secure(t: TestContext, options: object = {}): Promise<TroubledServer> {
  return startTroubled(t, {}, { era: 'modern', tools: 'echo' }, { tls: { cert: pem('server.pem'), key: pem('server.key'), ...options } });
}
const hostOf = (t: TestContext, { url }: TroubledServer, fields: object): TestHost => startHost(t, { mcp: { docs: { type: 'remote', url, transport: 'http', ...fields } } });

test('caFile makes a server of a private authority reachable; without it the failure names the remedy', async (t) => {
  const server = await secure(t);
  const host = hostOf(t, server, { caFile: tlsFile('ca.pem') });
  assert.equal((await host.listTools()).entries.length, 1);
  const [facts] = host.status()[0]!.attempts[0]!.connections;
  assert.deepEqual([facts?.address, /^TLSv1\.[23]$/.test(facts?.tls?.protocol ?? '')], ['127.0.0.1', true]);
  const without = await failureOf(hostOf(t, server, {}).open('docs'));
  assert.equal(without.code, 'CONNECT_FAILED');
  assert.match(without.hint ?? '', /"caFile"/);
});

test('certFile and keyFile are shown to a server that asks for a client certificate', async (t) => {
  const server = await secure(t, { requestCert: true, rejectUnauthorized: true, ca: pem('ca.pem') });
  const caFile = tlsFile('ca.pem');
  const host = hostOf(t, server, { caFile, certFile: tlsFile('client.pem'), keyFile: tlsFile('client.key') });
  assert.equal((await host.listTools()).entries.length, 1);
  const without = await failureOf(hostOf(t, server, { caFile }).open('docs'));
  assert.match(`${without.message} ${without.hint}`, /certFile/);
});

test('a file that is missing, unreadable or holds something else is named with its key', async (t) => {
  const server = await secure(t);
  const directory = mkdtempSync(path.join(tmpdir(), 'zuno-tls-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const bad = path.join(directory, 'bad.pem');
  writeFileSync(bad, 'not a certificate');
  const missing = path.join(directory, 'missing.pem');
  for (const [fields, code, message] of [
    [{ caFile: missing }, 'CONFIG_UNREADABLE', `Cannot read "${missing}" for mcp.docs.caFile: there is no such file`],
    [{ caFile: directory }, 'CONFIG_UNREADABLE', `Cannot read "${directory}" for mcp.docs.caFile: `],
    [{ caFile: bad }, 'CONFIG_INVALID', `Cannot use "${bad}" for mcp.docs.caFile: does not hold a certificate in PEM form`],
    [{ certFile: tlsFile('client.pem'), keyFile: bad }, 'CONFIG_INVALID', `Cannot use "${tlsFile('client.pem')}" and "${bad}" for mcp.docs.certFile and mcp.docs.keyFile: does not hold`],
  ] as const) {
    const failure = await failureOf(hostOf(t, server, fields).open('docs'));
    assert.equal(failure.code, code);
    assert.ok(failure.message.startsWith(message), failure.message);
    assert.match(failure.origin?.key ?? '', /^mcp\.docs\./);
  }
  assert.equal(server.connections(), 0);
});
