import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { Failure, isFailure, type FailureCode } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import type { Notice } from '../../../src/jsonrpc/transport.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import type { Client, ClientEvent, ConnectOptions } from '../../../src/mcp/types.ts';
import { clientInfo, createLegacyPeer, createModernPeer, exited, type Scripted, type ScriptedPeer, type ScriptedPeerOptions, type Sent } from '../../support/scripted-peer.ts';

type Setup = ScriptedPeerOptions & { readonly capabilities?: object; readonly revision?: string };
interface Connected { readonly client: Client; readonly peer: ScriptedPeer; readonly notices: Notice[]; readonly events: ClientEvent[] }

async function join(peer: ScriptedPeer, options: Partial<ConnectOptions>): Promise<Connected> {
  const notices: Notice[] = [], events: ClientEvent[] = [];
  const client = await connectClient({ clientInfo, ...options, transport: () => peer.transport, onNotice: (notice) => notices.push(notice) });
  client.on((event) => events.push(event));
  return { client, peer, notices, events };
}
const modern = (setup: Setup = {}, options: Partial<ConnectOptions> = {}): Promise<Connected> => join(createModernPeer(setup), options);
const legacy = (setup: Setup = {}, options: Partial<ConnectOptions> = {}): Promise<Connected> => join(createLegacyPeer(setup), { protocol: 'legacy', ...options });

async function failureOf<C extends FailureCode>(promise: Promise<unknown>, code: C): Promise<Failure<C>> {
  const outcome = await promise.then(() => assert.fail('it succeeded'), (error: unknown) => error);
  assert.ok(isFailure(outcome), String(outcome));
  assert.equal(outcome.code, code, outcome.message);
  return outcome as unknown as Failure<C>;
}
const answering = (result: unknown): Scripted => () => ({ result });
const calls = (peer: ScriptedPeer, method: string): Sent[] => peer.sent.filter((message) => message.method === method);
const settled = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });
const META = 'io.modelcontextprotocol/';

// ---- calls

test('callTool() sends name, arguments and a progress token, in either era (row 57)', async () => {
  const old = await legacy({ answers: { 'tools/call': answering({ content: [{ type: 'text', text: 'hi' }] }) } });
  assert.deepEqual(await old.client.callTool('echo', { a: 1 }), { content: [{ type: 'text', text: 'hi' }], isError: false });
  const [sent] = calls(old.peer, 'tools/call');
  assert.deepEqual(sent?.params, { _meta: { progressToken: sent?.id }, name: 'echo', arguments: { a: 1 } });

  const now = await modern({ answers: { 'tools/call': answering({ resultType: 'complete', content: [], isError: true }) } });
  assert.deepEqual(await now.client.callTool('echo', {}), { content: [], isError: true });
  const [stamped] = calls(now.peer, 'tools/call');
  assert.deepEqual(stamped?.params, {
    _meta: { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: clientInfo, [`${META}clientCapabilities`]: {}, progressToken: stamped?.id }, name: 'echo', arguments: {},
  });
});

test('callTool() hands progress to its caller', async () => {
  const notes: unknown[] = [];
  const { client } = await legacy({ answers: { 'tools/call': (request, peer) => {
    peer.notify('notifications/progress', { progressToken: request.id, progress: 1, total: 2 });
    return { result: { content: [] } };
  } } });
  await client.callTool('slow', {}, { onProgress: (note) => notes.push(note) });
  assert.deepEqual(notes, [{ progress: 1, total: 2 }]);
});

test('callTool() that gets no answer tells the server and does not claim to know (rows 58, 106)', async () => {
  for (const { client, peer } of [await legacy(), await modern()]) {
    assert.equal((await failureOf(client.callTool('hang', {}, { timeoutMs: 20 }), 'OUTCOME_UNKNOWN')).details.why, 'timeout');
    const [sent] = calls(peer, 'tools/call');
    assert.deepEqual(calls(peer, 'notifications/cancelled').map(({ params }) => params?.['requestId']), [sent?.id]);
  }
});

test('callTool() over HTTP in the modern era closes its stream instead of telling a cancel', async () => {
  const { client, peer } = await modern({ kind: 'streamable-http', perRequest: true });
  await failureOf(client.callTool('hang', {}, { timeoutMs: 20 }), 'OUTCOME_UNKNOWN');
  assert.deepEqual(peer.streamsClosed, calls(peer, 'tools/call').map(({ id }) => id));
  assert.deepEqual(calls(peer, 'notifications/cancelled'), []);
});

test('callTool() uses the client\'s own limit where the call has none (rows 53, 54)', async () => {
  const { client } = await legacy({}, { requestMs: 30 });
  const startedAt = performance.now();
  await failureOf(client.callTool('hang', {}), 'OUTCOME_UNKNOWN');
  assert.ok(performance.now() - startedAt < 1_000);
  assert.equal(limits.requestMs, 5_000);
});

test('readResource(), getPrompt() and complete() send what the specification has and believe what comes back', async () => {
  const { client, peer } = await legacy({ answers: {
    'resources/read': answering({ contents: [{ uri: 'a:1', text: 'x' }] }), 'prompts/get': answering({ messages: [] }), 'completion/complete': answering({ completion: { values: ['a'] } }),
  } });
  assert.deepEqual(await client.readResource('a:1'), { contents: [{ uri: 'a:1', text: 'x' }] });
  assert.deepEqual(await client.getPrompt('p', { who: 'me' }), { messages: [] });
  assert.deepEqual(await client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'who', value: 'm' }), { values: ['a'] });
  await client.complete({ type: 'ref/resource', uri: 'a:{x}' }, { name: 'x', value: '' }, { y: '1' });
  const bare = (method: string, index = 0): unknown => { const { _meta, ...params } = calls(peer, method)[index]?.params ?? {}; return params; };
  assert.deepEqual(bare('resources/read'), { uri: 'a:1' });
  assert.deepEqual(bare('prompts/get'), { name: 'p', arguments: { who: 'me' } });
  assert.deepEqual(bare('completion/complete'), { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'who', value: 'm' } });
  assert.deepEqual(bare('completion/complete', 1), { ref: { type: 'ref/resource', uri: 'a:{x}' }, argument: { name: 'x', value: '' }, context: { arguments: { y: '1' } } });
});

test('what a server does not offer is not asked: lists are empty, the rest is refused', async () => {
  const { client, peer } = await legacy({ capabilities: {} });
  for (const list of [client.listTools, client.listResources, client.listResourceTemplates, client.listPrompts]) assert.deepEqual((await list()).items, []);
  for (const [ask, capability] of [
    [client.readResource('a:1'), 'resources'], [client.getPrompt('p', {}), 'prompts'], [client.setLogLevel('info'), 'logging'],
    [client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' }), 'completions'],
  ] as const) assert.deepEqual((await failureOf(ask, 'CAPABILITY_MISSING')).details, { capability });
  assert.deepEqual(peer.sent.map(({ method }) => method), ['initialize', 'notifications/initialized']);
});

test('complete() is tried on a server of 2024-11-05, which had no flag for it', async () => {
  const { client } = await legacy({ capabilities: {}, revision: '2024-11-05', answers: { 'completion/complete': answering({ completion: { values: [] } }) } });
  assert.deepEqual(await client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' }), { values: [] });
});

test('a result that is no object is refused: definite for a list, unknown for a call (rows 107, 108)', async () => {
  const { client } = await legacy({ answers: { 'tools/list': answering('x'), 'tools/call': answering([1]), 'prompts/list': answering([]) } });
  const list = await failureOf(client.listTools(), 'PROTOCOL_VIOLATION');
  assert.equal(list.stage, 'list');
  assert.equal((await failureOf(client.callTool('x', {}), 'OUTCOME_UNKNOWN')).details.why, 'unreadable');
  assert.match((await failureOf(client.listPrompts(), 'PROTOCOL_VIOLATION')).message, /"prompts" is not an array/);
});

test('an empty array where an empty object is due passes in the legacy era', async () => {
  const { client } = await legacy({ answers: { 'tools/call': answering([]) } });
  assert.deepEqual(await client.callTool('x', {}), { content: [], isError: false });
});

// ---- lists

const tool = (name: string): object => ({ name, inputSchema: { type: 'object' } });

test('listTools() joins the pages of a list, an empty cursor included (row 77)', async () => {
  const pages: Record<string, object> = { start: { tools: [tool('a'), { name: 7 }], nextCursor: '' }, '': { tools: [tool('b')], nextCursor: 'z' }, z: { tools: [tool('c')], nextCursor: null } };
  for (const connect of [legacy, modern]) {
    const { client, peer } = await connect({ answers: { 'tools/list': ({ params }) => ({ result: { resultType: 'complete', ...pages[params?.['cursor'] ?? 'start'] } }) } });
    const { items, dropped } = await client.listTools();
    assert.deepEqual(items.map(({ name }) => name), ['a', 'b', 'c']);
    assert.equal(dropped.length, 1);
    assert.deepEqual(calls(peer, 'tools/list').map(({ params }) => params?.['cursor']), [undefined, '', 'z']);
  }
});

test('listTools() gives the least fresh hint of all pages', async () => {
  const { client } = await modern({ answers: { 'tools/list': ({ params }) => ({ result: params?.['cursor'] === undefined ? { tools: [], nextCursor: 'b', ttlMs: 9_000, cacheScope: 'public' } : { tools: [], ttlMs: 4_000 } }) } });
  assert.deepEqual(await client.listTools(), { items: [], dropped: [], ttlMs: 4_000, cacheScope: 'private' });
  const single = await modern({ answers: { 'tools/list': answering({ resultType: 'complete', tools: [], ttlMs: 5, cacheScope: 'public' }) } });
  assert.deepEqual(await single.client.listTools(), { items: [], dropped: [], ttlMs: 5, cacheScope: 'public' });
});

test('listTools() refuses a cursor that comes twice (row 77)', async () => {
  const { client } = await legacy({ answers: { 'tools/list': ({ params }) => ({ result: { tools: [], nextCursor: params?.['cursor'] === 'a' ? 'b' : 'a' } }) } });
  assert.match((await failureOf(client.listTools(), 'PROTOCOL_VIOLATION')).message, /"a" came twice/);
});

test('listTools() stops at the page cap when pages have no end (row 77)', async () => {
  let page = 0;
  const { client, peer } = await legacy({ answers: { 'tools/list': () => ({ result: { tools: [], nextCursor: String(++page) } }) } });
  const failure = await failureOf(client.listTools(), 'LIMIT_EXCEEDED');
  assert.deepEqual(failure.details, { limit: 'listPages', maximum: 1_000, seen: 1_000 });
  assert.equal(calls(peer, 'tools/list').length, 1_000);
});

test('listTools() keeps 10,000 tools and says that there were more', async () => {
  const many = (from: number, length: number): object[] => Array.from({ length }, (_, i) => tool(`t${from + i}`));
  const whole = await legacy({ answers: { 'tools/list': answering({ tools: many(0, 10_001) }) } });
  const paged = await legacy({ answers: { 'tools/list': ({ params }) => { const from = Number(params?.['cursor'] ?? 0); return { result: { tools: many(from, 4_000), nextCursor: String(from + 4_000) } }; } } });
  for (const { client } of [whole, paged]) {
    const { items, dropped } = await client.listTools();
    assert.equal(items.length, 10_000);
    assert.match(dropped.at(-1)?.reason ?? '', /longer than 10000/);
  }
  assert.equal(calls(paged.peer, 'tools/list').length, 3);
});

test('a cursor that is refused in the middle of a list starts the list once more, and once only', async () => {
  for (const connect of [legacy, modern]) {
    let lists = 0;
    const { client, peer } = await connect({ answers: { 'tools/list': ({ params }) => {
      const cursor = params?.['cursor'] as string | undefined;
      if (cursor === undefined) lists += 1;
      if (cursor === 'old') return { error: { code: -32602, message: 'Invalid cursor' } };
      return { result: { resultType: 'complete', ...(cursor === undefined ? { tools: [tool(`a${lists}`)], nextCursor: lists === 1 ? 'old' : 'new' } : { tools: [tool('b')] }) } };
    } } });
    assert.deepEqual((await client.listTools()).items.map(({ name }) => name), ['a2', 'b']);
    assert.deepEqual(calls(peer, 'tools/list').map(({ params }) => params?.['cursor']), [undefined, 'old', undefined, 'new']);
  }
  const never = await legacy({ answers: { 'tools/list': ({ params }) => (params?.['cursor'] === undefined ? { result: { tools: [tool('a')], nextCursor: 'x' } } : { error: { code: -32602 } }) } });
  assert.equal((await failureOf(never.client.listTools(), 'REMOTE_ERROR')).details.rpcCode, -32602);
  assert.equal(calls(never.peer, 'tools/list').length, 4);
  for (const [code, cursor] of [[-32603, 'x'], [-32602, undefined]] as const) {
    const other = await legacy({ answers: { 'tools/list': ({ params }) => (params?.['cursor'] === cursor ? { error: { code } } : { result: { tools: [], nextCursor: 'x' } }) } });
    await failureOf(other.client.listTools(), 'REMOTE_ERROR');
    assert.equal(calls(other.peer, 'tools/list').filter(({ params }) => params?.['cursor'] === undefined).length, 1);
  }
});

test('listResourceTemplates() takes "method not found" for none, and any other error for an error', async () => {
  const none = await legacy({ answers: { 'resources/templates/list': () => ({ error: { code: -32601 } }) } });
  assert.deepEqual((await none.client.listResourceTemplates()).items, []);
  const broken = await legacy({ answers: { 'resources/templates/list': () => ({ error: { code: -32603 } }) } });
  await failureOf(broken.client.listResourceTemplates(), 'REMOTE_ERROR');
});

test('a list that fails on a later page fails as a whole (row 56)', async () => {
  const { client } = await legacy({ answers: { 'tools/list': ({ params }) => (params?.['cursor'] === undefined ? { result: { tools: [tool('a')], nextCursor: 'b' } } : undefined) } });
  const failure = await failureOf(client.listTools({ timeoutMs: 20 }), 'TIMEOUT');
  assert.deepEqual([failure.stage, failure.details.method], ['list', 'tools/list']);
});

// ---- result types and rounds of input (MCP 2026-07-28)

test('a modern result without resultType counts as complete and is mentioned once', async () => {
  const { client, notices } = await modern({ answers: { 'tools/call': answering({ content: [] }) } });
  await client.callTool('a', {});
  await client.callTool('b', {});
  assert.equal(notices.filter((notice) => notice.kind === 'violation' && notice.message.includes('no resultType')).length, 1);
});

test('a modern result of a type nobody asked for is refused, not taken for success', async () => {
  for (const resultType of ['task', 'Complete', null, 7]) {
    const { client } = await modern({ answers: { 'tools/call': answering({ resultType, content: [] }), 'tools/list': answering({ resultType, tools: [] }) } });
    await failureOf(client.callTool('a', {}), 'OUTCOME_UNKNOWN');
    await failureOf(client.listTools(), 'PROTOCOL_VIOLATION');
  }
});

test('input_required is refused where it must not come, and where it asks for nothing', async () => {
  const asks = { resultType: 'input_required', requestState: 's' };
  const { client } = await modern({ answers: { 'tools/list': answering(asks), 'completion/complete': answering(asks) } });
  await failureOf(client.listTools(), 'PROTOCOL_VIOLATION');
  await failureOf(client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' }), 'PROTOCOL_VIOLATION');
  for (const empty of [{}, { inputRequests: [] }, { inputRequests: 'x' }, { inputRequests: { a: 7 } }, { inputRequests: { a: {} } }, { requestState: 7 }]) {
    const odd = await modern({ answers: { 'resources/read': answering({ resultType: 'input_required', ...empty }) } });
    await failureOf(odd.client.readResource('a:1'), 'PROTOCOL_VIOLATION');
  }
});

/** Plays one answer after the other to the calls of one method. */
function inTurn(results: readonly object[]): Scripted {
  const queue = [...results];
  return () => ({ result: queue.shift() ?? assert.fail('one request too many') });
}
const done = { resultType: 'complete', content: [{ type: 'text', text: 'done' }], contents: [], messages: [] };
const askName = { method: 'elicitation/create', params: { message: 'Name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } };
const answers = { elicit: () => Promise.resolve({ action: 'accept' as const, content: { name: 'Ann' } }), roots: () => [{ uri: 'file:///w' }] };
const accepted = { action: 'accept', content: { name: 'Ann' } };

test('rounds of input: same request, new id, bare answers for this round only, state byte for byte or not at all', async () => {
  const state = ' {"b":1, "a":"\\u00e9"}é\n';
  const { client, peer } = await modern({ answers: { 'tools/call': inTurn([
    { resultType: 'input_required', inputRequests: { who: askName, where: { method: 'roots/list' } }, requestState: state },
    { resultType: 'input_required', inputRequests: { again: askName } },
    { resultType: 'input_required', requestState: '' },
    done,
  ]) } }, { answers });
  assert.deepEqual((await client.callTool('t', { x: 1 })).content, [{ type: 'text', text: 'done' }]);
  const sent = calls(peer, 'tools/call');
  assert.deepEqual(sent.map(({ params }) => { const { _meta, ...rest } = params ?? {}; return rest; }), [
    { name: 't', arguments: { x: 1 } },
    { name: 't', arguments: { x: 1 }, inputResponses: { who: accepted, where: { roots: [{ uri: 'file:///w' }] } }, requestState: state },
    { name: 't', arguments: { x: 1 }, inputResponses: { again: accepted } },
    { name: 't', arguments: { x: 1 }, requestState: '' },
  ]);
  assert.equal(new Set(sent.map(({ id }) => id)).size, 4);
  for (const { id, params } of sent) assert.deepEqual([params?.['_meta'].progressToken, params?.['_meta'][`${META}clientCapabilities`]], [id, { elicitation: { form: {} }, roots: {} }]);
});

test('rounds of input work for prompts and resources, and leak nothing into parallel calls', async () => {
  const asks = { resultType: 'input_required', inputRequests: { k: askName }, requestState: 's' };
  const { client, peer } = await modern({ answers: { 'resources/read': inTurn([asks, done]), 'prompts/get': inTurn([asks, done]), 'tools/call': ({ params }) => ({ result: params?.['name'] === 'plain' || params?.['requestState'] !== undefined ? done : asks }) } }, { answers });
  await Promise.all([client.readResource('a:1'), client.getPrompt('p', {}), client.callTool('asks', {}), client.callTool('plain', {})]);
  for (const { params } of calls(peer, 'tools/call').filter((call) => call.params?.['name'] === 'plain')) assert.equal('requestState' in (params ?? {}) || 'inputResponses' in (params ?? {}), false);
  assert.equal(peer.sent.filter(({ params }) => params?.['requestState'] === 's').length, 3);
});

test('rounds of input: a person\'s no is an answer', async () => {
  const { client, peer } = await modern({ answers: { 'tools/call': inTurn([{ resultType: 'input_required', inputRequests: { k: askName } }, done]) } }, { answers: { elicit: () => Promise.resolve({ action: 'decline' }) } });
  await client.callTool('t', {});
  assert.deepEqual(calls(peer, 'tools/call')[1]?.params?.['inputResponses'], { k: { action: 'decline' } });
});

test('rounds of input: what was not declared fails the call and is not retried', async () => {
  for (const [request, mine] of [[{ method: 'sampling/createMessage', params: {} }, answers], [{ method: 'x/new' }, answers], [askName, {}], [{ method: 'elicitation/create', params: { mode: 'url', message: 'x', url: 'https://example.com' } }, answers]] as const) {
    const { client, peer } = await modern({ answers: { 'tools/call': inTurn([{ resultType: 'input_required', inputRequests: { k: request }, requestState: 's' }]) } }, { answers: mine });
    assert.equal((await failureOf(client.callTool('t', {}), 'CAPABILITY_MISSING')).details.capability, request.method);
    assert.equal(calls(peer, 'tools/call').length, 1);
  }
});

test('rounds of input: ten are played, the eleventh ends it', async () => {
  let asked = 0;
  const { client, peer } = await modern({ answers: { 'tools/call': () => ({ result: ++asked === 11 ? done : { resultType: 'input_required', requestState: String(asked) } }) } });
  await client.callTool('t', {});
  assert.equal(calls(peer, 'tools/call').length, 11);
  const endless = await modern({ answers: { 'tools/call': answering({ resultType: 'input_required', requestState: 's' }) } });
  assert.deepEqual((await failureOf(endless.client.callTool('t', {}), 'LIMIT_EXCEEDED')).details, { limit: 'inputRounds', maximum: 10, seen: 11 });
  assert.equal(calls(endless.peer, 'tools/call').length, 11);
});

test('rounds of input: keys are data, whatever they are called', async () => {
  const inputRequests = JSON.parse(`{"__proto__":${JSON.stringify(askName)},"constructor":${JSON.stringify(askName)}}`) as object;
  const { client, peer } = await modern({ answers: { 'tools/call': inTurn([{ resultType: 'input_required', inputRequests }, done]) } }, { answers });
  await client.callTool('t', {});
  assert.deepEqual(Object.entries(calls(peer, 'tools/call')[1]?.params?.['inputResponses']), [['__proto__', accepted], ['constructor', accepted]]);
});

test('rounds of input: whoever gives up does not wait for the person, and no listener stays', async () => {
  const controller = new AbortController();
  const { client, peer } = await modern({ answers: { 'tools/call': answering({ resultType: 'input_required', inputRequests: { k: askName } }) } }, { answers: { elicit: (_request, signal) => { assert.equal(signal, controller.signal); queueMicrotask(() => controller.abort()); return new Promise(() => {}); } } });
  assert.equal((await failureOf(client.callTool('t', {}, { signal: controller.signal }), 'CANCELED')).recovery, 'unknown');
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  assert.equal(calls(peer, 'tools/call').length, 1);

  const eager = new AbortController();
  const other = await modern({ answers: { 'tools/call': answering({ resultType: 'input_required', inputRequests: { k: { method: 'roots/list' } } }) } }, { answers: { roots: () => { eager.abort(); return []; } } });
  await failureOf(other.client.callTool('t', {}, { signal: eager.signal }), 'CANCELED');

  const patient = new AbortController();
  const fine = await modern({ answers: { 'tools/call': inTurn([{ resultType: 'input_required', inputRequests: { k: askName } }, done]) } }, { answers });
  await fine.client.callTool('t', {}, { signal: patient.signal });
  await settled();
  assert.equal(getEventListeners(patient.signal, 'abort').length, 0);
});

// ---- what servers say unasked

test('events of a legacy server reach every listener until it leaves', async () => {
  const { client, peer, events } = await legacy();
  const other: ClientEvent[] = [];
  const leave = client.on((event) => other.push(event));
  for (const list of ['tools', 'resources', 'prompts']) peer.notify(`notifications/${list}/list_changed`);
  leave();
  peer.notify('notifications/resources/updated', { uri: 'a:1' });
  peer.notify('notifications/resources/updated', {});
  peer.notify('notifications/message', { level: 'warning', logger: 'db', data: { a: 1 } });
  peer.notify('notifications/message', { data: 'x' });
  peer.notify('notifications/unheard-of');
  assert.deepEqual(events, [
    { kind: 'list_changed', list: 'tools' }, { kind: 'list_changed', list: 'resources' }, { kind: 'list_changed', list: 'prompts' }, { kind: 'resource_updated', uri: 'a:1' },
    { kind: 'log', level: 'warning', logger: 'db', data: { a: 1 } }, { kind: 'log', level: 'info', data: 'x' },
  ]);
  assert.equal(other.length, 3);
});

test('a listener that throws costs neither the others nor the messages behind', async () => {
  const peer = createLegacyPeer(), notices: Notice[] = [], events: ClientEvent[] = [];
  const client = await connectClient({ clientInfo, protocol: 'legacy', transport: () => peer.transport, onNotice: (notice) => notices.push(notice) });
  client.on(() => { throw new Error('mine'); });
  client.on((event) => events.push(event));
  peer.notify('notifications/tools/list_changed');
  assert.equal(events.length, 1);
  assert.match(notices[0]?.kind === 'violation' ? notices[0].message : '', /list_changed threw: .*mine/);
});

test('the end of a server is an event, and close() is idempotent (row 81)', async () => {
  const { client, peer, events } = await legacy();
  peer.end(exited());
  assert.equal((await client.closed).code, 'SERVER_EXITED');
  await settled();
  assert.equal(events[0]?.kind, 'closed');
  await failureOf(client.callTool('x', {}), 'SERVER_EXITED');
  assert.equal(client.close(), client.close());
  await client.close();
});

test('a legacy server may ask: ping, roots, sampling and a form (rows 75, 76)', async () => {
  const { peer } = await legacy({}, { answers: { ...answers, sample: () => Promise.resolve({ role: 'assistant', content: { type: 'text', text: 'ok' }, model: 'm' }) } });
  peer.request('p', 'ping');
  peer.request('r', 'roots/list');
  peer.request('s', 'sampling/createMessage', { messages: [], maxTokens: 1 });
  peer.request('e', 'elicitation/create', askName.params);
  peer.request('u', 'elicitation/create', { mode: 'url', message: 'x', url: 'https://example.com' });
  peer.request('n', 'x/new');
  await settled();
  const said = Object.fromEntries(peer.sent.filter(({ id }) => typeof id === 'string').map(({ id, result, error }) => [id, result ?? error?.code]));
  assert.deepEqual(said, { p: {}, r: { roots: [{ uri: 'file:///w' }] }, s: { role: 'assistant', content: { type: 'text', text: 'ok' }, model: 'm' }, e: accepted, u: -32602, n: -32601 });
});

test('a question that was not declared is refused and the call in progress goes on (row 76)', async () => {
  const { client, peer } = await legacy({ answers: { 'tools/call': (request, self) => { self.request('s', 'sampling/createMessage', { messages: [], maxTokens: 1 }); self.result(request.id, { content: [] }); } } });
  assert.deepEqual((await client.callTool('x', {})).content, []);
  await settled();
  assert.equal(peer.sent.find(({ id }) => id === 's')?.error?.code, -32601);
});

test('a modern server must not ask: nothing is answered, one notice says so', async () => {
  const { peer, notices } = await modern({}, { answers });
  peer.request('r', 'roots/list');
  peer.request('p', 'ping');
  await settled();
  assert.equal(peer.sent.some(({ id }) => typeof id === 'string'), false);
  assert.deepEqual(notices.map((notice) => notice.kind), ['violation', 'violation']);
});

// ---- ping, log level

test('ping() takes any answer for a sign of life, silence for none, in either era (row 75)', async () => {
  for (const { client, peer } of [await legacy(), await modern(), await legacy({ answers: { ping: () => ({ error: { code: -32601 } }) } })]) {
    await client.ping();
    assert.ok(['ping', 'server/discover'].includes(peer.sent.at(-1)?.method ?? ''));
  }
  const mute = await legacy({ answers: { ping: () => undefined } });
  await failureOf(mute.client.ping({ timeoutMs: 20 }), 'TIMEOUT');
  let asked = 0;
  const proof = { result: { supportedVersions: ['2026-07-28'], capabilities: {} } };
  const late = await modern({ answers: { 'server/discover': () => (++asked === 1 ? proof : asked === 2 ? { error: { code: -32603 } } : undefined) } });
  await late.client.ping();
  await failureOf(late.client.ping({ timeoutMs: 20 }), 'TIMEOUT');
});

test('setLogLevel() is a request in the legacy era and part of every request in the modern one', async () => {
  const old = await legacy({ answers: { 'logging/setLevel': answering({}) } });
  await old.client.setLogLevel('debug');
  assert.deepEqual(old.peer.sent.at(-1)?.params, { level: 'debug' });
  const { client, peer, events } = await modern({ answers: { 'tools/list': answering({ resultType: 'complete', tools: [] }) } });
  await client.setLogLevel('warning');
  await client.listTools();
  assert.equal(peer.sent.at(-1)?.params?.['_meta'][`${META}logLevel`], 'warning');
  peer.notify('notifications/message', { level: 'error', data: 'x' });
  assert.deepEqual(events, [{ kind: 'log', level: 'error', data: 'x' }]);
});

// ---- pages to visit first (MCP 2025-11-25, -32042)

const page = (url: string, more: object = {}): object => ({ mode: 'url', url, elicitationId: 'e1', message: 'Please connect', ...more });
const pagesFirst = (times: number, elicitations: unknown = [page('https://auth.example/connect?token=s3cret')]): Scripted => {
  let left = times;
  return () => (left-- > 0 ? { error: { code: -32042, message: 'Visit first', data: { elicitations } } } : { result: { content: [], messages: [], contents: [] } });
};

test('-32042: the pages are shown, and after the person agreed the call is sent once more', async () => {
  const shown: unknown[] = [];
  const visiting: NonNullable<ConnectOptions['answers']> = { elicitModes: ['url'], elicit: (request) => { shown.push(request); return Promise.resolve({ action: 'accept' }); } };
  const two = [page('https://a.example/1'), { url: 'https://b.example/2' }];
  const { client, peer } = await legacy({ answers: { 'tools/call': pagesFirst(1, two), 'prompts/get': pagesFirst(1), 'resources/read': pagesFirst(1) } }, { answers: visiting });
  assert.deepEqual((await client.callTool('t', { a: 1 })).content, []);
  assert.deepEqual(shown.map((one) => (one as { url: string; message: string }).url), ['https://a.example/1', 'https://b.example/2']);
  const sent = calls(peer, 'tools/call');
  assert.deepEqual(sent.map(({ params }) => params?.['arguments']), [{ a: 1 }, { a: 1 }]);
  assert.notEqual(sent[0]?.id, sent[1]?.id);
  await client.getPrompt('p', {});
  await client.readResource('x:1');
  assert.equal(shown.length, 4);
});

test('-32042: the call fails with the host where nobody can be asked, nobody agrees, or the server asks again', async () => {
  const agrees = (action: 'accept' | 'decline' | 'cancel'): NonNullable<ConnectOptions['answers']> => ({ elicitModes: ['form', 'url'], elicit: () => Promise.resolve({ action }) });
  for (const [mine, code, says, sent] of [
    [{}, 'CAPABILITY_MISSING', /auth\.example, and nobody can be asked here/, 1],
    [{ elicit: () => Promise.resolve({ action: 'accept' as const }) }, 'CAPABILITY_MISSING', /nobody can be asked/, 1],
    [agrees('decline'), 'REMOTE_ERROR', /auth\.example, which was not agreed to/, 1],
    [agrees('cancel'), 'REMOTE_ERROR', /not agreed to/, 1],
    [agrees('accept'), 'REMOTE_ERROR', /auth\.example, and still does after that was agreed to/, 2],
  ] as const) {
    const { client, peer } = await legacy({ answers: { 'tools/call': pagesFirst(9) } }, { answers: mine });
    const failure = await failureOf(client.callTool('t', {}), code);
    assert.match(failure.message, says);
    assert.doesNotMatch(failure.message, /s3cret/);
    assert.equal(failure.recovery, 'blocked');
    assert.equal(calls(peer, 'tools/call').length, sent);
  }
});

test('-32042 without readable pages, with too many of them, or in the modern era is an error like any other', async () => {
  const mine: NonNullable<ConnectOptions['answers']> = { elicitModes: ['url'], elicit: () => assert.fail('it was asked') };
  for (const elicitations of [null, [], {}, [7], [page('no url')], [{}], Array.from({ length: 11 }, () => page('https://a.example/'))]) {
    const { client, peer } = await legacy({ answers: { 'tools/call': pagesFirst(1, elicitations) } }, { answers: mine });
    assert.equal((await failureOf(client.callTool('t', {}), 'REMOTE_ERROR')).details.rpcCode, -32042);
    assert.equal(calls(peer, 'tools/call').length, 1);
  }
  const later = await modern({ answers: { 'tools/call': pagesFirst(1) } }, { answers: mine });
  await failureOf(later.client.callTool('t', {}), 'REMOTE_ERROR');
});

test('-32042: whoever gives up does not wait for the person, and nothing happened', async () => {
  const controller = new AbortController();
  const { client, peer } = await legacy({ answers: { 'tools/call': pagesFirst(9) } }, { answers: { elicitModes: ['url'], elicit: () => { queueMicrotask(() => controller.abort()); return new Promise(() => {}); } } });
  assert.equal((await failureOf(client.callTool('t', {}, { signal: controller.signal }), 'CANCELED')).recovery, 'retryable');
  assert.equal(calls(peer, 'tools/call').length, 1);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
});
