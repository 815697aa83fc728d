import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure, type FailureCode, type FailureDetails, type Recovery } from '../../src/base/failure.ts';
import { limits } from '../../src/base/limits.ts';
import { isPassing, waitAfter, withRetries, type Retry } from '../../src/host/recovery.ts';
import type { Host } from '../../src/host/types.ts';
import { failureOf } from '../support/http-client.ts';
import { startHost } from '../support/host.ts';
import { startTroubled, type Trouble } from '../support/troubled-server.ts';

function failure<C extends FailureCode>(code: C, details: FailureDetails[C], recovery: Recovery = 'retryable'): AnyFailure {
  return new Failure(code, `Cannot go on: ${code}`, { stage: 'list', details, recovery }) as AnyFailure;
}
const status = (code: number, retryAfterMs?: number): AnyFailure => failure('HTTP_STATUS', { status: code, url: 'http://x.test/', excerpt: '', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
const busy = status(503);

/** Fails with each of these, then succeeds. */
function failing(...failures: unknown[]): { work: (attempt: number) => Promise<string>; readonly attempts: number[] } {
  const attempts: number[] = [];
  return { attempts, work: (attempt) => { attempts.push(attempt); const next = failures.shift(); return next === undefined ? Promise.resolve('done') : Promise.reject(next); } };
}
function recorded(): { readonly waits: number[]; sleep(ms: number): Promise<void>; random(): number } {
  const waits: number[] = [];
  return { waits, sleep(ms) { waits.push(ms); return Promise.resolve(); }, random: () => 0.5 };
}

// ---- the pure part

test('withRetries() tries three times, 2 s and 4 s apart, and tells before each wait', async () => {
  const { work, attempts } = failing(busy, busy);
  const { waits, ...clock } = recorded();
  const told: Retry[] = [];
  assert.equal(await withRetries(work, { ...clock, onRetry: (retry) => told.push(retry) }), 'done');
  assert.deepEqual(attempts, [1, 2, 3]);
  assert.deepEqual(waits, [2000, 4000]);
  assert.deepEqual(told, [{ attempt: 1, tries: 3, waitMs: 2000, failure: busy }, { attempt: 2, tries: 3, waitMs: 4000, failure: busy }]);
});

test('withRetries() gives the last failure after the third try', async () => {
  const last = status(502);
  const { work, attempts } = failing(busy, busy, last);
  assert.equal(await failureOf(withRetries(work, recorded())), last);
  assert.equal(attempts.length, 3);
});

test('withRetries() never repeats what is blocked, unknown, timed out or our own defect', async () => {
  for (const error of [
    failure('HTTP_STATUS', { status: 403, url: '', excerpt: '' }, 'blocked'), failure('OUTCOME_UNKNOWN', { why: 'closed', method: 'tools/call', elapsedMs: 1 }, 'unknown'),
    failure('CONNECTION_CLOSED', {}, 'unknown'), failure('TIMEOUT', { afterMs: 5 }), failure('CANCELED', {}), failure('CONNECT_FAILED', { address: '127.0.0.1:1', system: 'ECONNREFUSED' }),
    failure('CONNECT_FAILED', { address: '127.0.0.1:1' }), failure('PROTOCOL_VIOLATION', {}), failure('SERVER_EXITED', { exitCode: 1, signal: null, stderrTail: '' }),
    new Failure('CONNECTION_CLOSED', 'Cannot go on: closed by us', { stage: 'close', details: {}, recovery: 'retryable' }), new TypeError('ours'),
  ]) {
    const { work, attempts } = failing(error);
    const clock = recorded();
    await assert.rejects(withRetries(work, clock));
    assert.deepEqual([attempts, clock.waits], [[1], []], String(error));
  }
});

test('isPassing() knows overload, outage and a lost connection', () => {
  for (const code of [408, 429, 500, 502, 503, 504]) assert.ok(isPassing(status(code)));
  assert.ok(isPassing(failure('CONNECTION_CLOSED', { sent: 'yes' })));
  assert.ok(isPassing(failure('CONNECT_FAILED', { address: 'x', system: 'ECONNRESET' })));
});

test('waitAfter() spreads by 20 %, stops at 30 s, and lets Retry-After win up to the same cap', () => {
  assert.equal(waitAfter(1, busy, 0), 1600);
  assert.equal(waitAfter(1, busy, 0.999_999), 2400);
  assert.equal(waitAfter(9, busy, 0.999_999), limits.retryCapMs);
  assert.equal(waitAfter(1, status(429, 700), 0), 700);
  assert.equal(waitAfter(2, status(503, 0), 0.5), 0);
  assert.equal(waitAfter(1, status(429, 3_600_000), 0.5), limits.retryCapMs);
});

test('withRetries() does not begin a wait that its budget cannot hold', async () => {
  const { work, attempts } = failing(busy, busy);
  let time = 0;
  const clock = { random: () => 0.5, clock: () => time, sleep: (ms: number) => { time += ms; return Promise.resolve(); } };
  assert.equal(await failureOf(withRetries(work, { ...clock, budgetMs: 6000 })), busy);
  assert.deepEqual(attempts, [1, 2]);
});

test('withRetries() ends a wait with the signal, and leaves no timer', async () => {
  const controller = new AbortController();
  const { work, attempts } = failing(busy);
  const ended = await failureOf(withRetries(work, { signal: controller.signal, random: () => 0.5, onRetry: () => { setImmediate(() => controller.abort()); } }));
  assert.deepEqual([ended.code, ended.recovery, ended.cause, attempts], ['CANCELED', 'retryable', busy, [1]]);
  assert.match(ended.message, /canceled before the next try/);
  const again = failing(busy);
  assert.equal(await failureOf(withRetries(again.work, { signal: controller.signal })), busy);
});

// ---- with servers

const listed = async (host: Host): Promise<unknown> => {
  const { entries, failures } = await host.listTools();
  if (failures[0] !== undefined) throw failures[0].failure;
  return entries.length;
};
const remote = (url: string, more: object = {}): object => ({ mcp: { docs: { type: 'remote', url, transport: 'http', ...more } }, permission: { mode: 'allow_all' } });

for (const [name, troubles] of [['503', [503, 503]], ['408', [408, 408]], ['a connection cut before the answer', ['cut', 'cut', 'cut']], ['a connection cut in the answer', ['half', 'half']]] as const satisfies readonly (readonly [string, readonly Trouble[]])[]) {
  test(`listing waits out ${name}: three tries, 2 s and 4 s apart (row 101)`, async (t) => {
    const server = await startTroubled(t, { 'tools/list': troubles });
    const host = startHost(t, remote(server.url));
    assert.equal(await listed(host), 2);
    // What dies on a connection that served before is sent again at once, as part of the same try.
    assert.equal(server.count('tools/list'), troubles.length + 1);
    assert.deepEqual(host.waits, [2000, 4000]);
    assert.deepEqual(host.retries.map(({ server: which, attempt }) => [which, attempt]), [['docs', 1], ['docs', 2]]);
    assert.equal(host.status()[0]?.state, 'connected');
  });
}

test('connecting waits out an outage, try by try (row 101)', async (t) => {
  const server = await startTroubled(t, { 'server/discover': [503, 502] });
  const host = startHost(t, remote(server.url));
  assert.equal(await listed(host), 2);
  assert.deepEqual(host.waits, [2000, 4000]);
  const { attempts } = host.status()[0]!;
  assert.deepEqual(attempts.map(({ answers, failure: why }) => [answers.map((answer) => answer.status), why?.code]), [[[503], 'HTTP_STATUS'], [[502], 'HTTP_STATUS'], [[200], undefined]]);
});

test('an outage that lasts is told after three tries, with its cause', async (t) => {
  const server = await startTroubled(t, { '*': Array.from({ length: 10 }, () => 503) });
  const host = startHost(t, remote(server.url));
  const why = await failureOf(host.open('docs'));
  assert.deepEqual([why.code, why.recovery, why.origin?.key, server.requests.length], ['HTTP_STATUS', 'retryable', 'mcp.docs', 3]);
  assert.equal(host.status()[0]?.failureKind, 'server_unavailable');
});

test('429 with Retry-After is waited for as long as the server asks, in real time (row 102)', async (t) => {
  const server = await startTroubled(t, { 'tools/list': [{ status: 429, headers: { 'retry-after': '1' } }] });
  const host = startHost(t, remote(server.url), { retryClock: {} });
  const startedAt = performance.now();
  await listed(host);
  const took = performance.now() - startedAt;
  assert.ok(took > 950 && took < 2500, `${took} ms`);
  assert.equal(host.retries[0]?.waitMs, 1000);
});

for (const code of [400, 401, 403, 404, 405]) {
  test(`${code} is blocked: one request, no second try (row 103)`, async (t) => {
    const connecting = await startTroubled(t, { '*': [code, code, code] });
    const first = startHost(t, remote(connecting.url, { protocol: 'legacy', oauth: false }));
    const why = await failureOf(first.open('docs'));
    assert.deepEqual([why.recovery, connecting.methods(), first.waits], ['blocked', ['initialize'], []]);
    assert.equal(first.status()[0]?.state, 'failed');

    const listing = await startTroubled(t, { 'tools/list': [code, code] });
    const second = startHost(t, remote(listing.url, { oauth: false }));
    assert.equal((await failureOf(listed(second))).recovery, 'blocked');
    assert.deepEqual([listing.count('tools/list'), second.waits], [1, []]);
  });
}

async function callOnce(host: Host, signal?: AbortSignal): Promise<Awaited<ReturnType<Host['call']>>> {
  return host.call(await host.findTool('docs_echo'), { text: 'x' }, signal === undefined ? {} : { signal });
}

for (const [trouble, kind, code] of [[503, 'failed', 'HTTP_STATUS'], [429, 'failed', 'HTTP_STATUS'], [502, 'unknown', 'OUTCOME_UNKNOWN'], ['half', 'unknown', 'OUTCOME_UNKNOWN'], [{ status: 200, body: '{"jsonrpc":' }, 'unknown', 'OUTCOME_UNKNOWN']] as const satisfies readonly (readonly [Trouble, string, string])[]) {
  test(`a tool call that meets ${JSON.stringify(trouble)} is sent once and its outcome told (rows 105, 107)`, async (t) => {
    const server = await startTroubled(t, { 'tools/call': [trouble, trouble] });
    const host = startHost(t, remote(server.url));
    const outcome = await callOnce(host);
    assert.deepEqual([outcome.kind, 'failure' in outcome ? outcome.failure.code : ''], [kind, code]);
    assert.deepEqual([server.count('tools/call'), host.waits], [1, []]);
  });
}

test('a call that hangs has an unknown outcome, with the advice to look before repeating (row 106)', async (t) => {
  const server = await startTroubled(t, { 'tools/call': ['hang'] });
  const host = startHost(t, remote(server.url, { timeout: 150 }));
  const outcome = await callOnce(host);
  assert.ok(outcome.kind === 'unknown');
  assert.deepEqual([outcome.failure.code, outcome.failure.recovery, server.count('tools/call')], ['OUTCOME_UNKNOWN', 'unknown', 1]);
  assert.match(outcome.failure.hint ?? '', /look at the state it changes before you repeat it/);
});

test('a garbled list is a protocol error, told at once (row 108)', async (t) => {
  const server = await startTroubled(t, { 'tools/list': [{ status: 200, body: '{"jsonrpc":' }] });
  const host = startHost(t, remote(server.url));
  assert.equal((await failureOf(listed(host))).code, 'PROTOCOL_VIOLATION');
  assert.deepEqual([server.count('tools/list'), host.waits], [1, []]);
});

test('listing resources, reading one and getting a prompt survive a dropped connection (row 109)', async (t) => {
  const server = await startTroubled(t, { 'resources/list': ['half'], 'resources/read': [503], 'prompts/get': [500] }, { era: 'modern', resources: true, prompts: true });
  const host = startHost(t, remote(server.url));
  assert.equal((await host.ask('docs', ({ client }) => client.listResources())).items.length, 2);
  assert.equal((await host.ask('docs', ({ client }) => client.readResource('file:///a.txt'))).contents[0]?.text, 'alpha');
  assert.equal((await host.ask('docs', ({ entry, client }) => { assert.equal(entry.name, 'docs'); return client.getPrompt('greet', { who: 'Ann' }); })).messages.length, 1);
  assert.deepEqual(host.waits, [2000, 2000, 2000]);
});

test('ask() tells whose server it was, and asks a program that ends only once', async (t) => {
  const server = await startTroubled(t, { 'resources/read': [403] }, { era: 'modern', resources: true });
  const host = startHost(t, remote(server.url));
  const why = await failureOf(host.ask('docs', ({ client }) => client.readResource('file:///a.txt')));
  assert.deepEqual([why.code, why.origin?.key, why.hint], ['HTTP_STATUS', 'mcp.docs', why.hint]);
  const local = startHost(t, { mcp: { fs: { type: 'local', command: [process.execPath, '-e', 'process.exit(3)'] } } });
  assert.equal((await failureOf(local.ask('fs', ({ client }) => client.ping()))).code, 'SERVER_EXITED');
  assert.deepEqual(local.waits, []);
});

test('a connection that died is made anew before asking again, and trouble there is not multiplied', async (t) => {
  const server = await startTroubled(t, { 'tools/list': [503] });
  const host = startHost(t, remote(server.url));
  const { client } = await host.open('docs');
  let asked = 0;
  const answer = await host.ask('docs', async (asking) => {
    asked += 1;
    if (asked === 1) { await client.close(); throw busy; }
    return asking.client === client;
  });
  assert.deepEqual([answer, asked], [false, 2]);
  const broken = startHost(t, remote(server.url));
  await broken.open('docs');
  let first = true;
  const why = await failureOf(broken.ask('docs', async (asking) => {
    if (!first) throw new TypeError('not reached');
    first = false;
    await (asking.client as unknown as { close(): Promise<void> }).close();
    await server.close();
    throw busy;
  }));
  assert.equal(why.code, 'CONNECT_FAILED');
  assert.deepEqual(broken.waits, [2000]);
});

test('closing the host ends a wait at once', async (t) => {
  const server = await startTroubled(t, { '*': [503, 503, 503] });
  const host = startHost(t, remote(server.url), { retryClock: {} });
  const outcome = failureOf(host.open('docs'));
  while (host.retries.length === 0) await new Promise((resolve) => { setImmediate(resolve); });
  await host.close();
  assert.equal((await outcome).code, 'CANCELED');
});
