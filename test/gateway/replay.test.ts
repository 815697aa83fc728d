import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { AnyFailure } from '../../src/base/failure.ts';
import { now } from '../../src/base/deadline.ts';
import { connect } from '../../src/client.ts';
import { replayServer } from '../../src/gateway/replay.ts';
import { readTrace, type TraceEntry } from '../../src/gateway/trace.ts';
import type { Client, ClientEvent, Progress } from '../../src/mcp/types.ts';
import { sandbox } from '../cli/support.ts';
import { refusal } from '../support/http-fixture.ts';
import { everything, tempDir, waitFor } from '../support/process.ts';
import { clientOf, demo, recorded, recorder, traceOf } from './traces.ts';

/** Everything a client of the demo server can ask for. */
async function survey(client: Client): Promise<unknown> {
  const steps: Progress[] = [];
  return {
    serverInfo: client.serverInfo, capabilities: client.capabilities, instructions: client.instructions,
    tools: (await client.listTools()).items, resources: (await client.listResources()).items, templates: (await client.listResourceTemplates()).items, prompts: (await client.listPrompts()).items,
    sum: await client.callTool('add', { a: 2, b: 3 }), counted: await client.callTool('count', { to: 3, delayMs: 0 }, { onProgress: (step) => steps.push(step) }), steps,
    picture: await client.callTool('picture', { size: 4 }), failed: await client.callTool('fail', {}), guide: await client.readResource('demo://guide'), greeting: await client.getPrompt('greet', { who: 'Ada' }),
    wrong: await refusal(client.callTool('nothing', {}), 'REMOTE_ERROR').then(({ message, details }) => ({ message, details })),
  };
}
const out = (id: number, method: string, params?: object, at = id): TraceEntry => ({ at, side: 'upstream', dir: 'out', message: { jsonrpc: '2.0', id, method, params } });
const back = (id: number, result: object, at = id): TraceEntry => ({ at, side: 'upstream', dir: 'in', message: { jsonrpc: '2.0', id, result } });
const note = (at: number, method: string, params?: object): TraceEntry => ({ at, side: 'upstream', dir: 'in', message: { jsonrpc: '2.0', method, params } });
const call = (id: number, name: string, args: object, at = id): TraceEntry => out(id, 'tools/call', { name, arguments: args }, at);
const said = (text: string): object => ({ content: [{ type: 'text', text }] });
const server = { serverInfo: { name: 'docs', version: '1' }, revision: '2025-11-25', capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {}, custom: {} } };
const textOf = (result: { readonly content: readonly unknown[] }): string => (result.content[0] as { text: string }).text;

for (const protocol of ['auto', 'legacy']) {
  test(`replayServer() gives a client the lists and results of the recorded session (${protocol})`, async (t) => {
    const to = await recorder(t);
    const live = await recorded(t, to, [demo], { protocol });
    const seen = await survey(live);
    await to.close();
    const trace = readTrace(to.file);
    for (let run = 0; run < 2; run++) assert.deepEqual(await survey(await clientOf(t, replayServer(trace), { protocol })), seen);
  });
}

test('replayServer() serves what one era recorded to a client of the other', async (t) => {
  const to = await recorder(t);
  const live = await recorded(t, to, [demo], { protocol: 'legacy' });
  const { items } = await live.listTools();
  const result = await live.callTool('add', { a: 1, b: 1 });
  await to.close();
  const client = await clientOf(t, replayServer(readTrace(to.file)));
  assert.equal(client.era, 'modern');
  assert.deepEqual((await client.listTools()).items, items);
  assert.equal(textOf(await client.callTool('add', { b: 1, a: 1 })), textOf(result));
});

test('replayServer() answers repeats in order and stays with the last; secrets match as they were masked', async (t) => {
  const trace = traceOf(t, [
    call(1, 'next', {}), back(1, said('one')), call(2, 'next', {}), back(2, said('two')), out(3, 'tools/call', { name: 'next', _meta: { progressToken: 9 } }), back(3, said('three')),
    call(4, 'login', { user: 'ada', password: '***' }), back(4, said('in')),
  ], server);
  const client = await clientOf(t, replayServer(trace), { protocol: 'legacy' });
  const answers = [];
  for (let n = 0; n < 5; n++) answers.push(textOf(await client.callTool('next', {})));
  assert.deepEqual(answers, ['one', 'two', 'three', 'three', 'three']);
  assert.equal(textOf(await client.callTool('login', { user: 'ada', password: 'whatever it is' })), 'in');
});

test('replayServer() tells on the way what was told on the way, and afterwards what came after', async (t) => {
  const trace = traceOf(t, [
    out(1, 'tools/call', { name: 'work', arguments: {}, _meta: { progressToken: 'p' } }), note(2, 'notifications/progress', { progressToken: 'p', progress: 1, total: 2 }), note(2, 'notifications/message', { level: 'warning', data: 'half way' }),
    note(3, 'notifications/progress', { progressToken: 'p', progress: 2, total: 2 }), note(3, 'notifications/progress', { progressToken: 'stranger', progress: 2 }), back(1, said('done'), 4),
    note(5, 'notifications/tools/list_changed'), note(6, 'notifications/resources/updated', { uri: 'x:1' }), note(7, 'notifications/other', {}), note(8, 'notifications/message', { level: 'error', data: 'later' }),
  ], server);
  const client = await clientOf(t, replayServer(trace), { protocol: 'legacy' });
  const events: ClientEvent[] = [], steps: Progress[] = [];
  client.on((event) => events.push(event));
  await client.watch({ uris: ['x:1'] });
  assert.equal(textOf(await client.callTool('work', {}, { onProgress: (step) => steps.push(step) })), 'done');
  assert.deepEqual(steps.map(({ progress }) => progress), [1, 2]);
  assert.deepEqual(events.map(({ kind }) => kind), ['log']);
  await waitFor(() => events.length === 4, 'what came after');
  assert.deepEqual(events.map((event) => (event.kind === 'log' ? event.data : event.kind)), ['half way', 'list_changed', 'resource_updated', 'later']);
});

test('replayServer() keeps the recorded delays where it is asked to', async (t) => {
  const trace = traceOf(t, [call(1, 'slow', {}, 10_000), note(10_050, 'notifications/message', { level: 'info', data: 'half' }), back(1, said('done'), 10_400)], server);
  const took = async (timing: boolean): Promise<number> => {
    const client = await clientOf(t, replayServer(trace, { timing }), { protocol: 'legacy' }), startedAt = now();
    await client.callTool('slow', {});
    return now() - startedAt;
  };
  assert.ok(await took(true) >= 398);
  assert.ok(await took(false) < 350);
});

test('replayServer() names the nearest recorded request for one that it does not know', async (t) => {
  const trace = traceOf(t, [call(1, 'add', { a: 1, b: 2 }), back(1, said('3')), call(2, 'add', { a: 7, b: 9 }), back(2, said('16')), call(3, 'move', { a: 7, b: 8 }), back(3, said('moved')), out(4, 'custom/things', {}), back(4, {})], server);
  const client = await clientOf(t, replayServer(trace), { protocol: 'legacy' });
  const near = async (name: string, args: object): Promise<string> => (await refusal(client.callTool(name, args as Record<string, unknown>), 'REMOTE_ERROR')).message;
  assert.match(await near('add', { a: 7, b: 8 }), /holds no answer to tools\/call \{"arguments":\{"a":7,"b":8\},"name":"add"\}; the nearest request in it is tools\/call \{"arguments":\{"a":7,"b":9\},"name":"add"\} \(line 4\)/);
  assert.match(await near('remove', { b: 2 }), /the nearest request in it is tools\/call .* \(line 2\)/);
  assert.match((await refusal(client.listTools(), 'REMOTE_ERROR')).message, /holds no answer to tools\/list \{\}/);
  assert.equal(/nearest/.test((await refusal(client.readResource('x:1'), 'REMOTE_ERROR')).message), false);
});

test('replayServer() gives recorded errors as they were, and says of lost answers why they are', async (t) => {
  const trace = traceOf(t, [
    call(1, 'bad', {}), { at: 1, side: 'upstream', dir: 'in', message: { jsonrpc: '2.0', id: 1, error: { code: -32050, message: 'out of paper', data: { tray: 2 } } } },
    call(2, 'big', {}), { at: 2, side: 'upstream', dir: 'in', left: { why: 'message', bytes: 9_000_000, id: 2 } }, { at: 2, side: 'upstream', dir: 'in', left: { why: 'message', bytes: 9, method: 'notifications/message' } },
    call(3, 'lost', {}), note(3, 'notifications/cancelled'), call(4, 'given_up', {}), { at: 4, side: 'upstream', dir: 'out', message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } } },
  ], server);
  const client = await clientOf(t, replayServer(trace), { protocol: 'legacy' });
  const failed = async (name: string): Promise<AnyFailure> => refusal(client.callTool(name, {}), 'REMOTE_ERROR');
  const bad = await failed('bad');
  assert.deepEqual(bad.details, { rpcCode: -32050, method: 'tools/call', data: { tray: 2 } });
  assert.match((await failed('big')).message, /The answer to tools\/call \(line 4\) was left out of the trace .*9000000 bytes/);
  assert.match((await failed('lost')).message, /ends before the answer to tools\/call \(line 7\)/);
  assert.match((await failed('given_up')).message, /ends before the answer/);
});

for (const protocol of ['legacy', 'auto']) {
  test(`replayServer() asks the client what the server asked (${protocol})`, async (t) => {
    const to = await recorder(t), asked: string[] = [];
    const answers = { elicit: async ({ message }: { readonly message: string }) => { asked.push(message); return { action: 'accept' as const, content: { name: 'Ada' } }; } };
    const live = await recorded(t, to, [everything, '--tools=ask', `--era=${protocol === 'auto' ? 'modern' : 'legacy'}`], { protocol, answers });
    const before = await live.callTool('ask', { what: 'elicitation' });
    await to.close();
    const client = await clientOf(t, replayServer(readTrace(to.file)), { protocol, answers });
    assert.deepEqual((await client.callTool('ask', { what: 'elicitation' })).content, before.content);
    assert.deepEqual(asked, ['Your name?', 'Your name?']);
    if (protocol === 'legacy') assert.deepEqual(await (await clientOf(t, replayServer(readTrace(to.file)), { protocol })).callTool('ask', { what: 'elicitation' }), before, 'a client that cannot be asked gets the answer all the same');
  });
}

test('replayServer() serves what the client of a gateway saw where both sides were recorded, and what a middle part of a session tells', async (t) => {
  const down = (id: number, method: string, params: object, result: object): TraceEntry[] => [{ at: id, side: 'downstream', dir: 'in', on: 'a', message: { jsonrpc: '2.0', id, method, params } }, { at: id, side: 'downstream', dir: 'out', on: 'a', message: { jsonrpc: '2.0', id, result } }];
  const both = traceOf(t, [call(1, 'add', {}), back(1, said('upstream')), ...down(1, 'tools/call', { name: 'add' }, said('downstream')), ...down(2, 'prompts/get', { name: 'p' }, { messages: [] }), ...down(3, 'completion/complete', { ref: {}, argument: {} }, { completion: { values: [] } }), ...down(4, 'custom/x', {}, {})]);
  const served = replayServer(both);
  assert.deepEqual(served.capabilities, { tools: {}, prompts: {}, completions: {} });
  assert.deepEqual(Object.keys(served.methods ?? {}), ['custom/x']);
  const client = await clientOf(t, served, { protocol: 'legacy' });
  assert.deepEqual(client.serverInfo, { name: 'replay', version: '0' });
  assert.equal(textOf(await client.callTool('add', {})), 'downstream');
  assert.deepEqual(await client.getPrompt('p', {}), { messages: [] });
});

test('readTrace() names file and line of what is damaged, cut off in its head, foreign or of the future', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'trace.jsonl'), head = '{"trace":"zuno-lite","version":1,"startedAt":""}', fine = JSON.stringify(note(1, 'x'));
  const cases: readonly [string, string | undefined, RegExp, number | undefined][] = [
    ['no file', undefined, /there is no such file/, undefined], ['empty', '', /it is empty/, 1], ['cut in its head', head.slice(0, 20), /line 1 is not the header/, 1],
    ['foreign JSON', '{"mcp":{}}\n', /line 1 is not the header/, 1], ['foreign text', '#!/bin/sh\n', /it is no trace/, 1], ['future', head.replace(':1', ':2'), /line 1 says version 2, and this program reads version 1/, 1],
    ['damaged', `${head}\n${fine}\n{"at":1\n${fine}\n`, /line 3 is no entry of a trace: "\{\\"at\\":1"/, 3], ['no JSON-RPC', `${head}\n${fine.replace('2.0', '1.0')}\n`, /line 2 /, 2],
    ['a list', `${head}\n[]\n`, /line 2 /, 2], ['no such side', `${head}\n${fine.replace('upstream', 'sideways')}\n`, /line 2 /, 2], ['no such way', `${head}\n${fine.replace('"in"', '"up"')}\n`, /line 2 /, 2], ['no time', `${head}\n${fine.replace('"at":1', '"at":-1')}\n`, /line 2 /, 2],
  ];
  for (const [name, text, why, line] of cases) {
    if (text !== undefined) writeFileSync(file, text);
    const failure = await refusal((async () => readTrace(file))(), 'CONFIG_UNREADABLE');
    assert.match(failure.message, why, name);
    assert.equal(failure.origin?.line, line, name);
    assert.equal(failure.details.line, line, name);
    assert.ok(failure.hint, name);
    if (text === undefined) writeFileSync(file, '');
  }
  writeFileSync(file, `${head}\n${fine}\n${fine.slice(0, 30)}`);
  assert.deepEqual({ torn: readTrace(file).torn, entries: readTrace(file).entries.length }, { torn: true, entries: 1 });
});

test('replay FILE serves a trace on stdio as a process of its own and ends with its client', async (t) => {
  const to = await recorder(t), house = sandbox(t);
  const live = await recorded(t, to, [demo]);
  const { items } = await live.listTools(), sum = await live.callTool('add', { a: 40, b: 2 });
  await to.close();
  const client = await connect({ type: 'stdio', command: process.execPath, args: ['--import', 'tsx', path.resolve('test/cli/entry.ts'), 'replay', to.file], env: { ...house.env } });
  t.after(() => client.close());
  assert.deepEqual((await client.listTools()).items, items);
  assert.deepEqual(await client.callTool('add', { a: 40, b: 2 }), sum);
  assert.deepEqual((await client.close()).forced, []);
  const missing = await house.run(['replay', path.join(house.directory, 'none.jsonl'), '--json']);
  assert.equal(missing.status, 3);
  assert.equal(missing.json().error.code, 'CONFIG_UNREADABLE');
});

test('replay FILE says that a trace was torn, and ends when it is told to', { skip: process.platform === 'win32' }, async (t) => {
  const house = sandbox(t), { file } = traceOf(t, [call(1, 'add', {}), back(1, said('3'))], server);
  appendFileSync(file, '{"at":3,"si');
  const child = house.start(['replay', file, '--timing']);
  let stderr = '';
  child.stderr!.on('data', (chunk) => { stderr += String(chunk); });
  const ended = new Promise((resolve) => { child.once('exit', resolve); });
  await waitFor(() => /the last line of the trace was cut off.*serving .*: 2 messages/s.test(stderr), 'its first words');
  child.kill('SIGTERM');
  assert.equal(await ended, 143);
});
