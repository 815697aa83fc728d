import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { test } from 'node:test';
import { Failure, isFailure, type AnyFailure, type FailureCode } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import { encodeRequest, openConnection, type Connection, type Inbound, type RequestOptions } from '../../../src/jsonrpc/connection.ts';
import type { Notice, Stamp } from '../../../src/jsonrpc/transport.ts';
import { createScriptedPeer, exited, type ScriptedPeer, type ScriptedPeerOptions } from '../../support/scripted-peer.ts';

interface Setup { readonly peer: ScriptedPeer; readonly connection: Connection; readonly notices: Notice[]; readonly told: [method: string, params: unknown][] }

async function setup(options: ScriptedPeerOptions & { readonly inbound?: Partial<Inbound> } = {}): Promise<Setup> {
  const peer = createScriptedPeer(options), notices: Notice[] = [], told: [string, unknown][] = [];
  const inbound: Inbound = { request: () => ({ result: {} }), notification: (method, params) => { told.push([method, params]); }, ...options.inbound };
  const connection = await openConnection(peer.transport, { inbound, onNotice: (notice) => notices.push(notice), signal: new AbortController().signal });
  return { peer, connection, notices, told };
}

const reading = (extra: Partial<RequestOptions<unknown>> = {}): RequestOptions<unknown> =>
  ({ action: 'list tools', stage: 'list', timeoutMs: 5_000, cancel: 'notify', mutating: false, accept: (result) => result, ...extra });
const mutating = (extra: Partial<RequestOptions<unknown>> = {}): RequestOptions<unknown> => reading({ action: 'call the tool "x"', stage: 'call', mutating: true, ...extra });

async function failureOf<C extends FailureCode>(promise: Promise<unknown>, code: C): Promise<Failure<C>> {
  const outcome = await promise.then(() => assert.fail('it succeeded'), (error: unknown) => error);
  assert.ok(isFailure(outcome), String(outcome));
  assert.equal(outcome.code, code, outcome.message);
  return outcome as unknown as Failure<C>;
}
const unanswered = (request: Promise<unknown>): void => { request.catch(() => {}); };
const cancels = (peer: ScriptedPeer): unknown[] => peer.sent.filter(({ method }) => method === 'notifications/cancelled').map(({ params }) => params?.['requestId']);
const settledMicrotasks = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

// ---- what is sent

test('request() numbers its requests from 1 and sends params only when there are some', async () => {
  const { peer, connection } = await setup();
  unanswered(connection.request('tools/list', reading()));
  unanswered(connection.request('x', reading({ params: { a: 1 } })));
  assert.deepEqual(peer.sent, [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { jsonrpc: '2.0', id: 2, method: 'x', params: { a: 1 } }]);
  assert.equal(connection.pendingCount, 2);
  peer.end();
});

test('request() hands the transport what it may need beside the text', async () => {
  const { peer, connection } = await setup();
  unanswered(connection.request('tools/call', mutating({ params: { name: 'x' }, headers: { 'Mcp-Param-A': '1' } })));
  unanswered(connection.request('tools/list', reading()));
  peer.end();
  const [first, second] = peer.outgoing;
  assert.ok(first?.kind === 'request' && second?.kind === 'request');
  assert.deepEqual([first.id, first.method, first.params, first.headers, first.replaySafe, second.replaySafe], [1, 'tools/call', { name: 'x' }, { 'Mcp-Param-A': '1' }, false, true]);
});

test('encodeRequest() gives the same JSON as plain objects would, with and without stamp, token and own _meta', () => {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const stamp: Stamp = { revision: '2026-07-28', meta, metaText: JSON.stringify(meta).slice(1, -1) };
  const decode = (...args: Parameters<typeof encodeRequest>): unknown => (JSON.parse(encodeRequest(...args)) as { params?: unknown }).params;
  assert.equal(decode(1, 'x', undefined, undefined, false), undefined);
  assert.deepEqual(decode(1, 'x', { a: 1 }, undefined, false), { a: 1 });
  assert.deepEqual(decode(7, 'x', undefined, undefined, true), { _meta: { progressToken: 7 } });
  assert.deepEqual(decode(7, 'x', { a: 1 }, undefined, true), { _meta: { progressToken: 7 }, a: 1 });
  assert.deepEqual(decode(1, 'x', undefined, stamp, false), { _meta: meta });
  assert.deepEqual(decode(1, 'x', {}, stamp, false), { _meta: meta });
  assert.deepEqual(decode(7, 'x', { a: 1 }, stamp, true), { _meta: { ...meta, progressToken: 7 }, a: 1 });
  assert.deepEqual(decode(7, 'x', { _meta: { mine: 1, 'io.modelcontextprotocol/protocolVersion': 'forged' }, a: 1 }, stamp, true), { _meta: { mine: 1, ...meta, progressToken: 7 }, a: 1 });
  assert.deepEqual(decode(7, 'x', { _meta: { mine: 1 } }, undefined, true), { _meta: { mine: 1, progressToken: 7 } });
  assert.deepEqual(decode(7, 'x', { _meta: { mine: 1 } }, stamp, false), { _meta: { mine: 1, ...meta } });
});

test('request() rejects arguments that are no JSON, and goes on', async () => {
  const { peer, connection } = await setup();
  await assert.rejects(connection.request('tools/call', mutating({ params: { n: 1n } })), TypeError);
  const ok = connection.request('x', reading());
  peer.result((await peer.next()).id, 'fine');
  assert.equal(await ok, 'fine');
  assert.equal(connection.pendingCount, 0);
});

// ---- answers

test('request() refuses what nests too deep to be written, and sends nothing', async () => {
  const { peer, connection } = await setup();
  for (const levels of [600, 50_000]) {
    let deep: object = {};
    for (let level = 0; level < levels; level++) deep = [deep];
    assert.equal((await failureOf(connection.request('tools/call', mutating({ params: { deep } })), 'LIMIT_EXCEEDED')).details.limit, 'jsonDepth');
  }
  assert.deepEqual([peer.sent, connection.pendingCount], [[], 0]);
});

test('request() is pending before its bytes leave: an answer inside send counts', async () => {
  const { connection } = await setup({ onSend: (message, peer) => { if (message.kind === 'request') peer.result(message.id, 'at once'); } });
  assert.equal(await connection.request('x', reading()), 'at once');
});

test('request() pairs answers that come out of order (row 74)', async () => {
  const { peer, connection, notices } = await setup();
  const first = connection.request('a', reading()), second = connection.request('b', reading());
  peer.result(2, 'second');
  peer.result(1, 'first');
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  assert.deepEqual(notices, []);
});

test('request() is settled once: duplicate, late, unknown and wrongly typed ids are noticed and harm nobody (row 74)', async () => {
  const { peer, connection, notices } = await setup();
  const first = connection.request('a', reading()), second = connection.request('b', reading());
  peer.result('1', 'a string is another id');
  peer.result('7', 'no such');
  peer.result(99, 'no such');
  peer.error(null, -32700);
  peer.error(undefined, -32600);
  peer.result(1, 'first');
  peer.result(1, 'again');
  peer.error(1, -1);
  peer.result(2, 'second');
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  assert.deepEqual(notices, [
    { kind: 'unmatched', id: '1', reason: 'id-type' }, { kind: 'unmatched', id: '7', reason: 'unknown' }, { kind: 'unmatched', id: 99, reason: 'unknown' },
    { kind: 'unmatched', id: null, reason: 'no-id' }, { kind: 'unmatched', id: null, reason: 'no-id' },
    { kind: 'unmatched', id: 1, reason: 'late' }, { kind: 'unmatched', id: 1, reason: 'late' },
  ]);
});

test('request() makes an error answer a definite REMOTE_ERROR, also for a mutating request', async () => {
  const { peer, connection } = await setup();
  const asked = connection.request('tools/call', mutating());
  peer.error(1, -32602, 'Unknown tool: x', { tool: 'x' });
  const failure = await failureOf(asked, 'REMOTE_ERROR');
  assert.deepEqual(failure.details, { rpcCode: -32602, method: 'tools/call', data: { tool: 'x' } });
  assert.equal(failure.recovery, 'blocked');
  assert.equal(failure.message, 'Cannot call the tool "x": the server answered error -32602: Unknown tool: x');

  const terse = connection.request('x', reading());
  peer.error(2, -1, '');
  assert.match((await failureOf(terse, 'REMOTE_ERROR')).message, /answered error -1$/);
  const wordy = connection.request('x', reading());
  peer.error(3, -1, 'y'.repeat(10_000));
  assert.ok((await failureOf(wordy, 'REMOTE_ERROR')).message.length < 2_200);
});

test('accept() decides what an answer is worth: refused reads are definite, refused writes unknown', async () => {
  const { peer, connection } = await setup();
  const refuse = (): never => { throw new Failure('PROTOCOL_VIOLATION', 'Cannot use the answer: it is not an object', { stage: 'call', details: {} }); };
  const read = connection.request('tools/list', reading({ accept: refuse }));
  peer.result(1, []);
  const definite = await failureOf(read, 'PROTOCOL_VIOLATION');
  assert.equal(definite.stage, 'list');
  const write = connection.request('tools/call', mutating({ accept: refuse }));
  peer.result(2, []);
  const unknown = await failureOf(write, 'OUTCOME_UNKNOWN');
  assert.equal(unknown.details.why, 'unreadable');
  assert.equal(unknown.recovery, 'unknown');
  assert.equal((unknown.cause as AnyFailure).code, 'PROTOCOL_VIOLATION');
  assert.match(unknown.message, /cannot be read \(Cannot use the answer/);
  const bug = connection.request('x', reading({ accept: () => { throw new RangeError('bug'); } }));
  peer.result(3, []);
  await failureOf(bug, 'INTERNAL');
});

test('accept() may go on asking: its promise settles the request', async () => {
  const { peer, connection } = await setup();
  const asked = connection.request('a', reading({ accept: () => connection.request('b', reading()) }));
  peer.result(1, 'more');
  peer.result((await peer.next('b')).id, 'done');
  assert.equal(await asked, 'done');
});

// ---- deadlines

test('request() fails after its idle limit, tells the server once, and says what it waited for (row 58)', async () => {
  const { peer, connection, notices } = await setup();
  const failure = await failureOf(connection.request('tools/list', reading({ timeoutMs: 20 })), 'TIMEOUT');
  assert.ok(failure.details.afterMs >= 19);
  assert.equal(failure.details.method, 'tools/list');
  assert.equal(failure.stage, 'list');
  assert.equal(failure.recovery, 'retryable');
  assert.deepEqual(cancels(peer), [1]);
  peer.result(1, 'late');
  assert.deepEqual(notices, [{ kind: 'unmatched', id: 1, reason: 'late' }]);
});

test('request() does not know the outcome of a mutating request that timed out (row 106)', async () => {
  const { peer, connection } = await setup();
  const failure = await failureOf(connection.request('tools/call', mutating({ timeoutMs: 20 })), 'OUTCOME_UNKNOWN');
  assert.equal(failure.details.why, 'timeout');
  assert.equal(failure.details.method, 'tools/call');
  assert.ok(failure.details.elapsedMs >= 19);
  assert.equal(failure.recovery, 'unknown');
  assert.equal((failure.cause as AnyFailure).code, 'TIMEOUT');
  assert.match(failure.hint ?? '', /before you repeat it/);
  assert.deepEqual(cancels(peer), [1]);
});

test('request() says how many lines of noise came instead of an answer', async () => {
  const { connection } = await setup({ noiseBeforeFirst: 3 });
  const failure = await failureOf(connection.request('x', reading({ timeoutMs: 10 })), 'TIMEOUT');
  assert.equal(failure.details.noiseLines, 3);
  assert.match(failure.message, /only 3 lines that are no JSON-RPC messages/);
});

test('request() with several limits: each fails at its own time, in order, with one timer', async () => {
  const { connection } = await setup();
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const order: number[] = [];
  const waits = [60, 20, 40].map((timeoutMs) => connection.request('x', reading({ timeoutMs })).catch(() => { order.push(timeoutMs); }));
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, before + 1);
  await Promise.all(waits);
  assert.deepEqual(order, [20, 40, 60]);
});

test('progress re-arms the request it belongs to and no other (row 57)', async () => {
  const { peer, connection } = await setup();
  const notes: unknown[] = [];
  const startedAt = performance.now();
  const talking = connection.request('tools/call', mutating({ timeoutMs: 60, progress: true, onProgress: (note) => notes.push(note) }));
  const silent = connection.request('tools/call', mutating({ timeoutMs: 60, progress: true })).then(() => 0, () => performance.now() - startedAt);
  assert.equal(peer.sent[0]?.params?.['_meta'].progressToken, 1);
  for (let i = 1; i <= 8; i++) {
    await new Promise((resolve) => { setTimeout(resolve, 25); });
    peer.notify('notifications/progress', { progressToken: 1, progress: i, ...(i === 1 ? { total: 8, message: 'first' } : { total: 'x', message: 7 }) });
  }
  peer.result(1, 'done');
  assert.equal(await talking, 'done');
  assert.ok(await silent < 150);
  assert.deepEqual(notes.slice(0, 2), [{ progress: 1, total: 8, message: 'first' }, { progress: 2 }]);
  assert.equal(notes.length, 8);
});

test('progress without a number, for nobody, or after the end is ignored', async () => {
  const { peer, connection, told, notices } = await setup();
  const asked = connection.request('x', reading({ progress: true, onProgress: () => assert.fail('no note') }));
  peer.notify('notifications/progress', { progressToken: 1 });
  peer.notify('notifications/progress', { progressToken: '1', progress: 1 });
  peer.notify('notifications/progress');
  peer.result(1, 1);
  await asked;
  peer.notify('notifications/progress', { progressToken: 1, progress: 1 });
  assert.deepEqual([told, notices], [[], []]);
});

test('a progress listener that throws is noticed and does not end the request', async () => {
  const { peer, connection, notices } = await setup();
  const asked = connection.request('x', reading({ progress: true, onProgress: () => { throw new Error('mine'); } }));
  peer.notify('notifications/progress', { progressToken: 1, progress: 1 });
  peer.result(1, 'ok');
  assert.equal(await asked, 'ok');
  assert.match(notices[0]?.kind === 'violation' ? notices[0].message : '', /mine/);
});

test('progress cannot carry a request past its ceiling', async () => {
  const { peer, connection } = await setup();
  const chatter = setInterval(() => peer.notify('notifications/progress', { progressToken: 1, progress: 1 }), 5);
  try {
    const failure = await failureOf(connection.request('x', reading({ timeoutMs: 40, ceilingMs: 90, progress: true })), 'TIMEOUT');
    assert.ok(failure.details.afterMs >= 89 && failure.details.afterMs < 1_000);
  } finally {
    clearInterval(chatter);
  }
});

test('while the peer waits for an answer of ours no limit of a request runs; afterwards it goes on where it stood', async () => {
  const answers: ((answer: { result: Record<string, unknown> }) => void)[] = [];
  const { peer, connection } = await setup({ inbound: { request: () => new Promise((resolve) => { answers.push(resolve); }) } });
  const wait = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });
  const startedAt = performance.now();
  const write = connection.request('tools/call', mutating({ timeoutMs: 60, ceilingMs: 100 }));
  const read = failureOf(connection.request('x', reading({ timeoutMs: 80 })), 'TIMEOUT');
  peer.request('a', 'elicitation/create');
  peer.request('b', 'elicitation/create');
  await wait(120);
  answers[0]?.({ result: {} });
  const late = connection.request('y', reading({ timeoutMs: 60 }));
  await wait(80);
  assert.equal(connection.pendingCount, 3);
  answers[1]?.({ result: {} });
  await settledMicrotasks();
  peer.result(1, 'done');
  peer.result(3, 'too');
  assert.deepEqual([await write, await late], ['done', 'too']);
  await read;
  const took = performance.now() - startedAt;
  assert.ok(took >= 270 && took < 1_000, `${took} ms`);
});

// ---- giving up

test('an aborted signal gives up at once, tells the server once, and keeps the caller\'s doubt (row 58)', async () => {
  const { peer, connection } = await setup();
  const controller = new AbortController();
  const write = connection.request('tools/call', mutating({ signal: controller.signal })), read = connection.request('x', reading({ signal: controller.signal }));
  controller.abort();
  assert.equal((await failureOf(write, 'CANCELED')).recovery, 'unknown');
  assert.equal((await failureOf(read, 'CANCELED')).recovery, 'retryable');
  assert.deepEqual(cancels(peer), [1, 2]);
  peer.result(1, 'late');
  assert.equal(connection.pendingCount, 0);
});

test('a signal that was aborted before sends nothing', async () => {
  const { peer, connection } = await setup();
  const failure = await failureOf(connection.request('x', mutating({ signal: AbortSignal.abort() })), 'CANCELED');
  assert.equal(failure.recovery, 'retryable');
  assert.deepEqual(peer.sent, []);
});

test('request() leaves no listener on the caller\'s signal, however it ends', async () => {
  const { peer, connection } = await setup();
  const { signal } = new AbortController();
  const count = (): number => getEventListeners(signal, 'abort').length;
  const answered = connection.request('x', reading({ signal })), refused = connection.request('x', reading({ signal })), late = connection.request('x', reading({ signal, timeoutMs: 10 }));
  assert.equal(count(), 3);
  peer.result(1, 1);
  peer.error(2, -1);
  await Promise.allSettled([answered, refused, late]);
  assert.equal(count(), 0);
  const cut = connection.request('x', reading({ signal }));
  assert.equal(count(), 1);
  peer.end();
  await Promise.allSettled([cut]);
  assert.equal(count(), 0);
});

test('cancel "none" is never told, cancel "close" ends the stream instead', async () => {
  const { peer, connection } = await setup({ perRequest: true });
  await failureOf(connection.request('initialize', reading({ timeoutMs: 10, cancel: 'none' })), 'TIMEOUT');
  assert.deepEqual([cancels(peer), peer.streamsClosed], [[], []]);
  await failureOf(connection.request('tools/list', reading({ timeoutMs: 10, cancel: 'close' })), 'TIMEOUT');
  assert.deepEqual([cancels(peer), peer.streamsClosed], [[], [2]]);
  await failureOf(connection.request('tools/list', reading({ timeoutMs: 10, cancel: 'notify' })), 'TIMEOUT');
  assert.deepEqual([cancels(peer), peer.streamsClosed], [[3], [2, 3]]);
});

// ---- the transport says no

test('a refusal by the transport belongs to one message alone, and nothing happened', async () => {
  for (const sendFails of [(): Promise<void> => Promise.reject(refused('retryable')), (): void => { throw refused('retryable'); }]) {
    let fail = true;
    const { peer, connection } = await setup({ onSend: () => (fail ? sendFails() : undefined) });
    const failure = await failureOf(connection.request('tools/call', mutating()), 'CONNECT_FAILED');
    assert.equal(failure.recovery, 'retryable');
    fail = false;
    const next = connection.request('x', reading());
    peer.result(2, 'fine');
    assert.equal(await next, 'fine');
  }
});

test('a refusal that cannot rule out that the request arrived leaves the outcome of a mutating one unknown', async () => {
  const { connection } = await setup({ onSend: () => Promise.reject(refused('unknown')) });
  const failure = await failureOf(connection.request('tools/call', mutating()), 'OUTCOME_UNKNOWN');
  assert.equal(failure.details.why, 'closed');
  const read = await failureOf(connection.request('tools/list', reading()), 'CONNECT_FAILED');
  assert.equal(read.recovery, 'retryable');
  assert.equal(read.stage, 'list');
});

test('a lost answer of a mutating request says how it was lost (row 107)', async () => {
  for (const [code, why] of [['PROTOCOL_VIOLATION', 'unreadable'], ['LIMIT_EXCEEDED', 'unreadable'], ['TIMEOUT', 'timeout'], ['CONNECTION_CLOSED', 'closed']] as const) {
    const lost = new Failure(code, 'Cannot get the answer', { stage: 'call', details: { afterMs: 7 } as never, recovery: 'unknown' });
    const { connection } = await setup({ onSend: () => Promise.reject(lost) });
    const failure = await failureOf(connection.request('tools/call', mutating()), 'OUTCOME_UNKNOWN');
    assert.deepEqual([failure.details.why, failure.cause], [why, lost]);
  }
});

test('a refusal that comes after the answer changes nothing', async () => {
  let refuse: (reason: unknown) => void = () => {};
  const { peer, connection } = await setup({ onSend: () => new Promise((_, reject) => { refuse = reject; }) });
  const asked = connection.request('x', reading());
  peer.result(1, 'ok');
  refuse(refused('unknown'));
  assert.equal(await asked, 'ok');
});

test('notify() and answers that cannot be delivered are noticed, not thrown', async () => {
  for (const onSend of [(): Promise<void> => Promise.reject(new Error('gone')), (): void => { throw new Error('gone'); }]) {
    const { peer, connection, notices } = await setup({ onSend });
    connection.notify('notifications/initialized');
    connection.notify('n', { a: 1 });
    peer.request(1, 'ping');
    await settledMicrotasks();
    assert.deepEqual(notices.map((notice) => notice.kind), ['stream', 'stream', 'stream']);
    assert.deepEqual(peer.sent.slice(0, 2), [{ jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', method: 'n', params: { a: 1 } }]);
  }
});

function refused(recovery: 'retryable' | 'unknown'): AnyFailure {
  return new Failure('CONNECT_FAILED', 'Cannot reach http://127.0.0.1:1: refused', { stage: 'connect', details: { address: '127.0.0.1:1' }, recovery }) as AnyFailure;
}

// ---- the end

test('the end of the connection settles all that is pending with its reason, and every later request at once (row 107)', async () => {
  const { peer, connection } = await setup();
  const write = connection.request('tools/call', mutating()), read = connection.request('tools/list', reading());
  peer.end();
  const unknown = await failureOf(write, 'OUTCOME_UNKNOWN');
  assert.equal(unknown.details.why, 'closed');
  assert.match(unknown.message, /exited with code 1/);
  const definite = await failureOf(read, 'SERVER_EXITED');
  assert.equal(definite.stage, 'list');
  assert.equal((await connection.closed).code, 'SERVER_EXITED');
  const later = await failureOf(connection.request('tools/call', mutating()), 'SERVER_EXITED');
  assert.equal(later.stage, 'call');
  connection.notify('n');
  assert.deepEqual(cancels(peer), []);
  assert.equal(peer.sent.length, 2);
});

test('a connection keeps its first reason', async () => {
  const { peer, connection } = await setup();
  peer.end(exited());
  await connection.close();
  assert.equal((await connection.closed).code, 'SERVER_EXITED');
});

test('close() cancels what is pending, closes the transport once, and refuses what comes after', async () => {
  const { peer, connection } = await setup();
  const write = connection.request('tools/call', mutating()), handshake = connection.request('initialize', reading({ cancel: 'none' }));
  const closing = connection.close();
  assert.equal(connection.close(), closing);
  const refusedNow = connection.request('x', reading());
  assert.deepEqual(await closing, { forced: [] });
  assert.equal((await failureOf(write, 'CANCELED')).recovery, 'unknown');
  await failureOf(handshake, 'CANCELED');
  await failureOf(refusedNow, 'CONNECTION_CLOSED');
  assert.deepEqual(cancels(peer), [1]);
  assert.equal(peer.closeCount, 1);
  assert.equal((await connection.closed).code, 'CONNECTION_CLOSED');
  await failureOf(connection.request('x', reading()), 'CONNECTION_CLOSED');
});

test('request() is refused while the transport is still closing', async () => {
  let release: () => void = () => {};
  const { peer, connection } = await setup();
  const close = peer.transport.close.bind(peer.transport);
  peer.transport.close = async () => { await new Promise<void>((resolve) => { release = resolve; }); return close(); };
  const closing = connection.close();
  assert.match((await failureOf(connection.request('x', reading()), 'CONNECTION_CLOSED')).message, /is closing/);
  release();
  await closing;
});

test('openConnection() rejects with the reason of its transport', async () => {
  const opening = openConnection(createScriptedPeer({ open: () => Promise.reject(exited()) }).transport, { inbound: { request: () => ({ result: {} }), notification() {} }, signal: new AbortController().signal });
  await failureOf(opening, 'SERVER_EXITED');
});

test('a pending request keeps the process alive until its limit, an idle connection does not', async () => {
  const { peer, connection } = await setup();
  const timeouts = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timeouts();
  const first = connection.request('x', reading({ timeoutMs: 60_000 }));
  assert.equal(timeouts(), before + 1);
  peer.result(1, 1);
  await first;
  assert.equal(timeouts(), before);
  const second = connection.request('x', reading({ timeoutMs: 60_000 }));
  assert.equal(timeouts(), before + 1);
  peer.end();
  await Promise.allSettled([second]);
  assert.equal(timeouts(), before);
});

test('an idle connection lets a real process end', async () => {
  const script = `
    const { openConnection } = await import(${JSON.stringify(new URL('../../../src/jsonrpc/connection.ts', import.meta.url).href)});
    let sink;
    const transport = { kind: 'memory', perRequest: false, open: async (to) => { sink = to; }, send: (m) => sink.message({ kind: 'result', message: { jsonrpc: '2.0', id: m.id, result: 'ok' } }), close: async () => ({ forced: [] }) };
    const connection = await openConnection(transport, { inbound: { request: () => ({ result: {} }), notification() {} }, signal: new AbortController().signal });
    console.log(await connection.request('x', { action: 'x', stage: 'call', timeoutMs: 60000, cancel: 'notify', mutating: true, accept: (r) => r }));
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'], timeout: 9_000 });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => { output += String(chunk); });
  const [code] = await once(child, 'close') as [number | null];
  assert.deepEqual([code, output], [0, 'ok\n']);
});

// ---- the peer asks

test('the peer\'s requests are answered with their own id, at once or later (row 75)', async () => {
  const { peer } = await setup({ inbound: { request: (method, params) => (method === 'slow' ? Promise.resolve({ result: { params } }) : { error: { code: -32601, message: 'no' } }) } });
  peer.request('a"b', 'slow', { n: 1 });
  peer.request(7, 'fast');
  await settledMicrotasks();
  assert.deepEqual(peer.sent, [{ jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'no' } }, { jsonrpc: '2.0', id: 'a"b', result: { params: { n: 1 } } }]);
});

test('an answer that fails becomes an internal error for the peer and a notice for us', async () => {
  const broken: readonly Inbound['request'][] = [
    () => { throw new Error('bug'); },
    () => Promise.reject(new Error('bug')),
    () => ({ result: { n: 1n } }),
    () => Promise.resolve({ result: { n: 1n } }),
    () => ({ result: undefined as unknown as Record<string, unknown> }),
  ];
  for (const request of broken) {
    const { peer, notices } = await setup({ inbound: { request } });
    peer.request(1, 'x');
    await settledMicrotasks();
    assert.deepEqual(peer.sent, [{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'The client failed to answer' } }]);
    assert.equal(notices.length, 1);
  }
});

test('a peer that must not ask gets no answer', async () => {
  const { peer, notices } = await setup({ inbound: { request: () => undefined } });
  for (let id = 0; id < limits.inboundRequests + 2; id++) peer.request(id, 'ping');
  await settledMicrotasks();
  assert.deepEqual([peer.sent, notices], [[], []]);
});

test('a request that the peer cancels is aborted and not answered; other notifications pass', async () => {
  let seen: AbortSignal | undefined, finish: (answer: { result: object }) => void = () => {};
  const { peer, told } = await setup({ inbound: { request: (_method, _params, signal) => { seen = signal; return new Promise((resolve) => { finish = resolve as typeof finish; }); } } });
  peer.request(5, 'roots/list');
  assert.equal(seen?.aborted, false);
  peer.notify('notifications/cancelled', { requestId: 5 });
  assert.equal(seen.aborted, true);
  finish({ result: {} });
  peer.notify('notifications/cancelled', { requestId: 5 });
  await settledMicrotasks();
  assert.deepEqual(peer.sent, []);
  assert.deepEqual(told, [['notifications/cancelled', { requestId: 5 }]]);
});

test('the peer\'s requests that wait are bounded, and end with the connection', async () => {
  const signals: AbortSignal[] = [];
  const { peer } = await setup({ inbound: { request: (_method, _params, signal) => { signals.push(signal); return new Promise(() => {}); } } });
  for (let id = 0; id < limits.inboundRequests + 2; id++) peer.request(id, 'sampling/createMessage');
  assert.equal(signals.length, limits.inboundRequests);
  assert.deepEqual(peer.sent.map(({ id, error }) => [id, error?.code]), [[limits.inboundRequests, -32603], [limits.inboundRequests + 1, -32603]]);
  peer.end();
  assert.ok(signals.every((signal) => signal.aborted));
});

test('notifications reach the inbound handler with their params, or with none', async () => {
  const { peer, told } = await setup();
  peer.notify('notifications/message', { level: 'info' });
  peer.notify('notifications/tools/list_changed');
  assert.deepEqual(told, [['notifications/message', { level: 'info' }], ['notifications/tools/list_changed', {}]]);
});

// ---- streams

const listening = { params: { notifications: {} }, stamp: undefined, cancel: 'notify' } as const;

test('stream() knows its id before its request leaves, and has no limit', async () => {
  const { peer, connection } = await setup();
  let outcome: unknown;
  const { id } = connection.stream('subscriptions/listen', listening, (ended) => { outcome = ended; });
  assert.deepEqual([id, peer.sent.length], [1, 0]);
  await peer.next('subscriptions/listen');
  peer.result(id, { resultType: 'complete' });
  assert.deepEqual(outcome, { result: { resultType: 'complete' } });
  assert.equal(connection.pendingCount, 0);
});

test('stream() is told of refusal, of an undeliverable request and of the end, each once and never inside the call', async () => {
  for (const [options, act] of [
    [{ onSend: (_: unknown, peer: ScriptedPeer) => peer.error(1, -32601) }, (): void => {}],
    [{ onSend: () => Promise.reject(exited()) }, (): void => {}],
    [{ onSend: (): void => { throw exited(); } }, (): void => {}],
    [{}, (peer: ScriptedPeer): void => peer.end()],
  ] as readonly [ScriptedPeerOptions, (peer: ScriptedPeer) => void][]) {
    const { peer, connection } = await setup(options);
    const told: object[] = [];
    connection.stream('subscriptions/listen', listening, (ended) => told.push(ended));
    assert.equal(told.length, 0);
    await settledMicrotasks();
    act(peer);
    assert.equal(told.length, 1);
    assert.ok('failure' in told[0]!);
  }
});

test('stop() ends a stream silently and tells the server once, unless nothing was sent', async () => {
  const { peer, connection } = await setup();
  const first = connection.stream('subscriptions/listen', listening, () => assert.fail('stopped'));
  await peer.next();
  first.stop();
  first.stop();
  assert.deepEqual(cancels(peer), [1]);
  connection.stream('subscriptions/listen', listening, () => assert.fail('stopped')).stop();
  await settledMicrotasks();
  assert.deepEqual(cancels(peer), [1]);
  assert.equal(peer.sent.length, 2);
});

test('stream() on a connection that ended or closes fails in its own time', async () => {
  const ended = await setup();
  ended.peer.end();
  const outcome = await new Promise((resolve) => { ended.connection.stream('x', listening, resolve).stop(); });
  assert.ok('failure' in (outcome as object));

  const closing = await setup();
  const open = new Promise((resolve) => { closing.connection.stream('x', listening, resolve); });
  const done = closing.connection.close();
  const late = new Promise((resolve) => { closing.connection.stream('x', listening, resolve); });
  for (const told of [await open, await late]) assert.ok('failure' in (told as object));
  await done;
});

test('an answer of the wrong id type is named by whoever waited in vain for the right one', async () => {
  const { peer, connection } = await setup();
  const reads = failureOf(connection.request('tools/list', reading({ timeoutMs: 20 })), 'TIMEOUT');
  const writes = failureOf(connection.request('tools/call', mutating({ timeoutMs: 20 })), 'OUTCOME_UNKNOWN');
  peer.result('1', {});
  peer.error('2', -32603);
  assert.match((await reads).message, /no answer within \d+ ms, but one with the id "1" \(a string\) instead of 1 \(a number\)/);
  assert.match((await reads).hint ?? '', /fault of the server/);
  assert.match((await writes).message, /no answer came within \d+ ms, but one with the id "2" \(a string\) instead of 2/);
});

test('an answer that nests too deep fails its request alone: definite for reads, unknown for writes', async () => {
  const { peer, connection, notices } = await setup();
  const reads = failureOf(connection.request('tools/list', reading()), 'LIMIT_EXCEEDED');
  const writes = failureOf(connection.request('tools/call', mutating()), 'OUTCOME_UNKNOWN');
  const third = connection.request('x', reading());
  for (const [of, id] of [['answer', 1], ['answer', 2], ['answer', 77], ['request', 'q'], ['notification', null]] as const) peer.deliver({ kind: 'refused', message: { of, id } });
  peer.result(3, 'fine');
  assert.deepEqual([(await reads).details, (await reads).stage], [{ limit: 'jsonDepth', maximum: 512 }, 'list']);
  assert.match((await reads).message, /^Cannot list tools: the answer of the server nests deeper than 512 levels$/);
  assert.deepEqual([(await writes).details.why, ((await writes).cause as AnyFailure).code], ['unreadable', 'LIMIT_EXCEEDED']);
  assert.equal(await third, 'fine');
  assert.deepEqual(peer.sent.at(-1), { jsonrpc: '2.0', id: 'q', error: { code: -32600, message: 'The request nests deeper than 512 levels' } });
  assert.deepEqual(notices.map(({ kind }) => kind), ['unmatched', 'violation', 'violation']);
});

test('refused() may go on after an error answer, or leave it to be the failure', async () => {
  const { peer, connection } = await setup();
  const other = connection.request('a', mutating({ refused: ({ details }) => (details.rpcCode === -5 ? Promise.resolve('instead') : undefined) }));
  const plain = failureOf(connection.request('b', mutating({ refused: () => undefined })), 'REMOTE_ERROR');
  peer.error(1, -5);
  peer.error(2, -6);
  assert.equal(await other, 'instead');
  assert.equal((await plain).details.rpcCode, -6);
});
