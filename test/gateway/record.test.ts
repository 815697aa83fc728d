import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { LogEntry } from '../../src/base/log.ts';
import { createRedactor } from '../../src/base/redact.ts';
import { tapEngine, tapTransport } from '../../src/gateway/record.ts';
import { readTrace } from '../../src/gateway/trace.ts';
import { connectClient } from '../../src/mcp/connect.ts';
import { servePeer } from '../../src/mcp/server-peer.ts';
import { createServer } from '../../src/mcp/server.ts';
import { createMemoryTransportPair } from '../../src/transports/memory.ts';
import { createFixtureProgram } from '../fixtures/served.ts';
import { refusal } from '../support/http-fixture.ts';
import { everything, tempDir, waitFor } from '../support/process.ts';
import { demo, linesOf, recorded, recorder } from './traces.ts';

test('tapTransport() records both ways of a real session, in order, in a file of mode 0600', async (t) => {
  const to = await recorder(t);
  const client = await recorded(t, to, [demo]);
  await client.listTools();
  await client.callTool('add', { a: 2, b: 3 });
  await client.close();
  await to.close();
  const [header, ...entries] = linesOf(to.file);
  assert.equal(header.trace, 'zuno-lite');
  assert.equal(header.version, 1);
  assert.ok(Math.abs(Date.parse(header.startedAt) - Date.now()) < 60_000);
  assert.deepEqual(entries.map((entry) => [entry.side, entry.dir, entry.message.method ?? 'answer']), [
    ['upstream', 'out', 'server/discover'], ['upstream', 'in', 'answer'], ['upstream', 'out', 'tools/list'], ['upstream', 'in', 'answer'], ['upstream', 'out', 'tools/call'], ['upstream', 'in', 'answer'],
  ]);
  assert.match(JSON.stringify(entries.at(-1).message.result.content), /5/);
  assert.ok(entries.every((entry, index) => entry.at >= (entries[index - 1]?.at ?? 0)));
  if (process.platform !== 'win32') assert.equal(statSync(to.file).mode & 0o777, 0o600);
  assert.equal(readTrace(to.file).entries.length, entries.length);
});

test('record() keeps no secret: not those of the environment, not what is named or looks like one; what ties messages together stays', async (t) => {
  const secret = 'quite "unguessable" value/42', to = await recorder(t, { secrets: [secret] });
  const client = await recorded(t, to, [everything, '--tools=environment,echo'], { environment: { FIXTURE_KEY: secret } });
  assert.match(JSON.stringify(await client.callTool('environment', {})), /unguessable/, 'the session itself is not masked');
  await client.callTool('echo', { text: `Authorization: Bearer abcdef0123456789 ${secret}`, password: 'hunter2', nested: [{ apiKey: 'k-1', [secret]: 1 }] }, { onProgress() {} });
  to.know(createRedactor(['came-later']).redact);
  to.record('out', 'downstream', { jsonrpc: '2.0', id: 1, result: { said: `came-later ${secret}` } });
  to.record('in', 'downstream', { jsonrpc: '2.0', id: 1, method: 'x', params: { _meta: { progressToken: 'p-1' }, token: 7, secret: '' } });
  await to.close();
  const text = readFileSync(to.file, 'utf8');
  for (const gone of ['unguessable', 'came-later', 'hunter2', 'k-1', 'abcdef0123456789']) assert.equal(text.includes(gone), false, gone);
  assert.match(text, /"password":"\*\*\*"/);
  assert.match(text, /"progressToken":"p-1"},"token":7,"secret":""/);
  readTrace(to.file);
});

test('record() leaves out what is too large for one line or for the whole, says so in the trace, and once in the log at its end', async (t) => {
  const logged: LogEntry[] = [], to = await recorder(t, { bounds: { messageBytes: 400, traceBytes: 1_500 }, log: (entry) => logged.push(entry) });
  to.record('in', 'upstream', JSON.stringify({ jsonrpc: '2.0', id: 'big', result: { text: 'x'.repeat(500) } }), '7');
  to.record('out', 'upstream', { jsonrpc: '2.0', id: 1, method: 'm', params: { text: '\u0000'.repeat(60) } });
  to.record('in', 'upstream', 'no JSON at all');
  for (let n = 0; n < 20; n++) to.record('out', 'upstream', { jsonrpc: '2.0', method: `note/${n}`, params: { text: 'y'.repeat(100) } });
  await to.close();
  to.record('in', 'upstream', { jsonrpc: '2.0', method: 'late' });
  const entries = linesOf(to.file).slice(1);
  assert.deepEqual({ left: entries[0].left, on: entries[0].on }, { left: { why: 'message', bytes: 549, id: 'big' }, on: '7' });
  // 60 characters become six times as many bytes by escaping alone.
  assert.equal(entries[1].left.why, 'message');
  assert.equal(entries[2].left.why, 'message');
  assert.deepEqual(entries.filter(({ left }) => left?.why === 'trace').length, 1);
  assert.equal(entries.at(-1).left.why, 'trace');
  assert.match(entries.at(-1).left.method, /^note\/\d+$/);
  assert.ok(statSync(to.file).size < 2_000);
  assert.equal(logged.filter(({ message }) => /The trace is full: \d+ messages are not in it/.test(message)).length, 1);
  assert.equal(readTrace(to.file).entries.length, entries.length);
});

test('record() leaves out what a slow disk has no room for', async (t) => {
  const to = await recorder(t, { bounds: { backlogBytes: 300 } });
  for (let n = 0; n < 10; n++) to.record('in', 'upstream', { jsonrpc: '2.0', method: 'note', params: { n, text: 'y'.repeat(50) } });
  await to.close();
  const entries = readTrace(to.file).entries;
  assert.equal(entries.length, 10);
  assert.ok(entries.some(({ left }) => left?.why === 'disk'));
});

test('record() warns once when the disk fails, and the session goes on', async (t) => {
  const logged: LogEntry[] = [], directory = path.join(tempDir(t), 'traces');
  mkdirSync(directory);
  const to = await recorder(t, { file: path.join(directory, 'trace.jsonl'), log: (entry) => logged.push(entry) });
  const client = await recorded(t, to, [demo]);
  renameSync(directory, `${directory}-gone`);
  for (let n = 0; n < 3; n++) assert.equal((await client.callTool('add', { a: n, b: 1 })).isError, false);
  await to.close();
  assert.equal(logged.length, 1);
  assert.match(logged[0]!.message, /^Nothing more is being recorded, and the session goes on: Cannot write /);
});

test('openRecorder() takes the place of an older trace, and refuses what is none and what cannot be written', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'trace.jsonl');
  writeFileSync(file, '{"trace":"zuno-lite","version":99}\nold\n', { mode: 0o644 });
  const to = await recorder(t, { file, server: { serverInfo: { name: 'docs', version: '1' }, revision: '2025-11-25', capabilities: { tools: {} }, instructions: 'password=abc' } });
  await to.close();
  assert.deepEqual(linesOf(file).map(({ startedAt: _at, ...rest }) => rest), [{ trace: 'zuno-lite', version: 1, server: { serverInfo: { name: 'docs', version: '1' }, revision: '2025-11-25', capabilities: { tools: {} }, instructions: 'password=***' } }]);
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600);
  writeFileSync(file, '');
  await (await recorder(t, { file })).close();
  writeFileSync(file, '{"mcp":{}}');
  const refused = await refusal(recorder(t, { file }), 'USAGE');
  assert.match(refused.message, /it is there already and is no trace/);
  assert.equal(readFileSync(file, 'utf8'), '{"mcp":{}}');
  await refusal(recorder(t, { file: path.join(directory, 'missing', 'trace.jsonl') }), 'CONFIG_UNREADABLE');
});

test('a recorder that is killed in the middle leaves a prefix that can be read', async (t) => {
  const file = path.join(tempDir(t), 'trace.jsonl');
  const source = `
    import { openRecorder } from ${JSON.stringify(new URL('../../src/gateway/record.ts', import.meta.url).href)};
    const to = await openRecorder({ file: process.argv[1], redact: (text) => text, log() {} });
    for (let n = 0; ; n++) { to.record('in', 'upstream', { jsonrpc: '2.0', method: 'note', params: { n, text: 'ü'.repeat(n % 3000) } }); if (n % 50 === 0) await new Promise(setImmediate); }
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source, file], { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: 'inherit' });
  const ended = new Promise((resolve) => { child.once('exit', resolve); });
  await waitFor(() => existsSync(file) && statSync(file).size > 200_000, 'a trace that grows', 9_000);
  child.kill('SIGKILL');
  await ended;
  const { entries } = readTrace(file);
  assert.ok(entries.length > 100);
  assert.ok(entries.every(({ message, left }) => left !== undefined || message?.kind === 'notification'));
  // Wherever the end is torn off: everything that was whole is there.
  const bytes = readFileSync(file), head = bytes.indexOf(0x0a) + 1, cutFile = path.join(path.dirname(file), 'cut.jsonl');
  for (let cut = head; cut < Math.min(head + 3_000, bytes.length); cut += 7) {
    writeFileSync(cutFile, bytes.subarray(0, cut));
    const whole = bytes.subarray(head, cut).toString('latin1').split('\n').length - 1;
    const trace = readTrace(cutFile);
    assert.ok(trace.entries.length === whole || trace.entries.length === whole + 1);
    assert.equal(trace.torn, trace.entries.length === whole && bytes[cut - 1] !== 0x0a);
  }
});

test('tapEngine() records what clients of both eras say and hear, each connection by itself', async (t) => {
  const to = await recorder(t), program = createFixtureProgram();
  const server = createServer({ serve: program }), engine = tapEngine(server, to);
  for (const protocol of ['legacy', 'auto']) {
    const [ours, theirs] = createMemoryTransportPair();
    const peer = await servePeer(engine, ours), client = await connectClient({ transport: () => theirs, clientInfo: { name: 'test', version: '0' }, protocol });
    t.after(async () => { await client.close(); await peer.close(); });
    await client.listTools();
    await client.callTool('test_tool_with_progress', {}, { onProgress() {} });
  }
  await to.close();
  const entries = readTrace(to.file).entries;
  const connections = new Set(entries.map(({ on }) => on));
  assert.equal(connections.size, 2);
  for (const on of connections) {
    const mine = entries.filter((entry) => entry.on === on);
    assert.equal(mine.filter(({ message }) => message?.kind === 'request').length, mine.filter(({ message }) => message?.kind === 'result').length);
    assert.equal(mine.filter(({ message }) => message?.kind === 'notification' && message.message.method === 'notifications/progress').length, 3);
    assert.ok(mine.every(({ side, dir, message }) => side === 'downstream' && (dir === 'in') === (message?.kind === 'request' || (message?.kind === 'notification' && message.message.method === 'notifications/initialized'))));
  }
  assert.equal(engine.servesLegacy('2025-11-25'), true);
  engine.close();
});

test('tapTransport() hands everything else through, also what nests too deep to be read', async (t) => {
  const to = await recorder(t), [ours, theirs] = createMemoryTransportPair();
  const tapped = tapTransport(ours, to, 'downstream'), got: string[] = [];
  assert.equal(tapped.kind, 'memory');
  assert.equal(tapped.perRequest, false);
  assert.equal(tapped.noiseBeforeFirst, undefined);
  await tapped.open({ message: ({ kind }) => got.push(kind), notice() {}, closed: () => got.push('closed') }, new AbortController().signal);
  await theirs.open({ message() {}, notice() {}, closed() {} }, new AbortController().signal);
  const deep = `${'['.repeat(600)}${']'.repeat(600)}`;
  await theirs.send({ kind: 'response', id: 3, text: `{"jsonrpc":"2.0","id":3,"result":${deep}}` });
  await theirs.send({ kind: 'request', id: 4, method: 'm', params: undefined, stamp: undefined, replaySafe: true, text: `{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":${deep}}}` });
  await tapped.send({ kind: 'notification', method: 'deep', params: undefined, text: `{"jsonrpc":"2.0","method":"deep","params":{"a":${deep}}}` });
  await waitFor(() => got.length === 2, 'the messages');
  await tapped.close();
  await waitFor(() => got.length === 3, 'the end');
  await to.close();
  assert.deepEqual(got, ['refused', 'refused', 'closed']);
  const entries = readTrace(to.file).entries;
  assert.deepEqual(entries.map(({ message, left }) => message?.kind ?? left?.why).sort(), ['error', 'message']);
});

test('a trace that nobody else may write to stops where it is', { skip: process.platform === 'win32' || process.getuid?.() === 0 }, async (t) => {
  const logged: LogEntry[] = [], to = await recorder(t, { log: (entry) => logged.push(entry) });
  chmodSync(to.file, 0o400);
  to.record('in', 'upstream', { jsonrpc: '2.0', method: 'note' });
  await to.close();
  assert.equal(logged.length, 1);
});
