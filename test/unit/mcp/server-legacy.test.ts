/** Legacy sessions put to the engine directly: what a client does wrong, what it does not answer, what it is told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { limits } from '../../../src/base/limits.ts';
import { classify } from '../../../src/jsonrpc/message.ts';
import type { ServedSession } from '../../../src/jsonrpc/serving.ts';
import { createServer } from '../../../src/mcp/server.ts';
import { RpcFault } from '../../../src/mcp/server-fault.ts';
import type { Served, ServedContext, ServedPeer, ServerOptions } from '../../../src/mcp/server-types.ts';
import { createFixtureProgram } from '../../fixtures/served.ts';
import { waitFor } from '../../support/process.ts';

interface Heard { readonly text: string | undefined; readonly status: number; readonly result: any; readonly error: any; readonly before: any[] }
interface Client {
  readonly session: ServedSession;
  /** What came outside of requests. */
  readonly told: any[];
  request(method: string, params?: JsonObject, options?: { readonly id?: number | string; readonly signal?: AbortSignal; readonly onMessage?: (message: any) => void; readonly deaf?: boolean }): Promise<Heard>;
  say(message: JsonObject): void;
}

async function client(serve: ServerOptions['serve'], capabilities: JsonObject = { elicitation: {}, sampling: {}, roots: {} }, options: Partial<ServerOptions> & { readonly initialize?: boolean } = {}): Promise<Client> {
  const told: unknown[] = [];
  let nextId = 100;
  const session = createServer({ serve, ...options }).openSession({ principal: 'ann', send: (text) => { told.push(JSON.parse(text)); return true; } });
  const say = (message: JsonObject): void => session.receive(classify({ jsonrpc: '2.0', ...message })!);
  const request: Client['request'] = (method, params, { id = nextId++, signal = new AbortController().signal, onMessage, deaf } = {}) => new Promise((resolve) => {
    const before: unknown[] = [];
    session.receive(classify({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })!, {
      principal: 'ann', signal,
      send(text) { const message: unknown = JSON.parse(text); before.push(message); onMessage?.(message); return deaf !== true; },
      answer(text, status) { const parsed = text === undefined ? {} : JSON.parse(text) as { result?: unknown; error?: unknown }; resolve({ text, status, result: parsed.result, error: parsed.error, before }); },
    });
  });
  if (options.initialize !== false) await request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c', version: '1' } });
  return { session, told, request, say };
}
const call = (name: string): JsonObject => ({ name, arguments: {} });
const one = (run: (context: ServedContext) => Promise<JsonObject> | JsonObject, more: Partial<Served> = {}): Served => ({ serverInfo: { name: 'one', version: '1' }, capabilities: { tools: {} }, callTool: (_name, _args, context) => run(context), ...more });

test('initialize agrees on a revision of ours, happens once, and comes first but for ping', async () => {
  const raw = await client(createFixtureProgram(), {}, { initialize: false });
  assert.deepEqual((await raw.request('ping')).result, {});
  assert.deepEqual([(await raw.request('tools/list')).error.code, (await raw.request('tools/list')).status], [-32600, 400]);
  assert.equal((await raw.request('initialize', {})).error.code, -32602);
  assert.equal(raw.session.revision, undefined);
  const agreed = (await raw.request('initialize', { protocolVersion: '1999-01-01' })).result;
  assert.deepEqual([agreed.protocolVersion, raw.session.revision, agreed.instructions], ['2025-11-25', '2025-11-25', 'Use the tools.']);
  assert.equal((await raw.request('initialize', { protocolVersion: '2025-11-25' })).error.code, -32600);
});

test('a request right behind initialize waits for what is served; a program that cannot be opened refuses the session, which may try again', async () => {
  let tries = 0;
  const { session, request } = await client(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (tries++ === 0) throw new RpcFault(-32000, 'not yet');
    return one(() => ({ content: [] }));
  }, {}, { initialize: false });
  const [refused, behind] = await Promise.all([request('initialize', { protocolVersion: '2025-06-18' }), request('tools/call', call('x'))]);
  assert.deepEqual([refused.error.code, behind.error.code, session.revision], [-32000, -32000, undefined]);
  const [opened, after] = await Promise.all([request('initialize', { protocolVersion: '2025-06-18' }), request('tools/call', call('x'))]);
  assert.deepEqual([opened.result.protocolVersion, after.result], ['2025-06-18', { content: [] }]);
});

test('a session closed while it is opened lets go of what was opened', async () => {
  let open: (served: Served) => void = () => {}, closed = 0;
  const { session, request } = await client(() => new Promise((resolve) => { open = resolve; }), {}, { initialize: false });
  const answer = request('initialize', { protocolVersion: '2025-06-18' });
  await session.close();
  open(one(() => ({}), { close: () => { closed += 1; } }));
  assert.equal((await answer).text, undefined, 'nobody is answered any more');
  assert.equal(closed, 1);
  assert.equal((await request('ping')).status, 404);
});

test('methods need what they belong to declared, and parameters of the right shape', async () => {
  const bare = await client(one(() => ({}), { capabilities: {} }));
  for (const method of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tools/call', 'no/such', 'subscriptions/listen']) assert.equal((await bare.request(method, { level: 'info', uri: 'a:b' })).error.code, -32601, method);
  const { request } = await client(createFixtureProgram());
  for (const [method, params] of [['logging/setLevel', { level: 'loud' }], ['resources/subscribe', {}], ['tools/call', {}], ['resources/read', { uri: 1 }]] as const) assert.equal((await request(method, params)).error.code, -32602, method);
  assert.equal((await request('logging/setLevel', { level: 'info' })).status, 200);
});

test('ids that run are refused, and more requests than a peer may have', async () => {
  const { request, session } = await client(createFixtureProgram());
  const stops = Array.from({ length: limits.serverRequests }, () => new AbortController());
  const running = stops.map(({ signal }, id) => request('tools/call', call('wait'), { id, signal }));
  assert.equal((await request('ping', {}, { id: 5 })).error.code, -32600);
  assert.match((await request('ping', {}, { id: 'more' })).error.message, /Too many/);
  assert.equal(session.running, limits.serverRequests);
  for (const stop of stops) stop.abort();
  for (const { text } of await Promise.all(running)) assert.equal(text, undefined);
  assert.equal(session.running, 0);
  assert.equal((await request('tools/call', call('echo'), { signal: AbortSignal.abort() })).text, undefined);
});

test('questions: answers without shape, refusals, silence, cancellation and too many of them reach the handler as faults', async () => {
  const outcomes: string[] = [];
  const program = one(async (context) => {
    try { return { content: [], answer: await context.ask('elicitation/create', { message: 'm', requestedSchema: {} }) }; } catch (error) { outcomes.push(`${String((error as RpcFault).code)} ${(error as Error).message}`); throw error; }
  });
  const { request, say, session } = await client(program, { elicitation: {} }, { askMs: 40 });
  const answering = (reply: (id: unknown) => JsonObject) => ({ onMessage: (message: any) => { if (message.id !== undefined) say(reply(message.id)); } });
  assert.deepEqual((await request('tools/call', call('x'), answering((id) => ({ id, result: { action: 'decline' } })))).result.answer, { action: 'decline' });
  await request('tools/call', call('x'), answering((id) => ({ id, result: { action: 'perhaps' } })));
  await request('tools/call', call('x'), answering((id) => ({ id, result: 'text' })));
  assert.deepEqual((await request('tools/call', call('x'), answering((id) => ({ id, error: { code: -1, message: 'no', data: { x: 1 } } })))).error, { code: -1, message: 'no', data: { x: 1 } });
  const silent = await request('tools/call', call('x'));
  assert.equal(silent.before.at(-1).method, 'notifications/cancelled');
  await request('tools/call', call('x'), { deaf: true });
  const stop = new AbortController();
  await request('tools/call', call('x'), { signal: stop.signal, onMessage: () => setImmediate(() => stop.abort()) });
  const waiting = Array.from({ length: limits.inboundRequests + 1 }, () => request('tools/call', call('x')));
  say({ id: 4711, result: {} });
  say({ id: null, error: { code: 1, message: '' } });
  assert.match((await Promise.race(waiting)).error.message, /Too many questions/);
  await session.close();
  assert.ok((await Promise.all(waiting)).every(({ result }) => result === undefined));
  assert.deepEqual(outcomes.slice(0, 6).map((line) => line.slice(0, 32)), ['-32603 The client\'s answer to el', '-32603 The answer of the client ', '-1 no', '-32603 The client did not answer', '-32603 The client cannot be aske', '-32603 The client did not answer']);
  assert.equal(outcomes.length, 6 + limits.inboundRequests + 1);
});

test('input asked for by a result: kinds that were not declared, a page to visit, and rounds without end', async () => {
  const wants = (method: string, params: JsonObject): JsonObject => ({ resultType: 'input_required', inputRequests: { a: { method, params } } });
  const undeclared = await client(one(() => wants('sampling/createMessage', { tools: [] })), { sampling: {} });
  const refused = (await undeclared.request('tools/call', call('x'))).error;
  assert.deepEqual([refused.code, refused.data], [-32603, { requiredCapabilities: { sampling: { tools: {} } } }]);
  const visit = await client(one(({ input }) => (input === undefined ? wants('elicitation/create', { mode: 'url', message: 'm', url: 'https://x.test/' }) : { content: [], given: input.responses })), { elicitation: { url: {} } });
  let asked: any;
  const done = await visit.request('tools/call', call('x'), { onMessage: (message) => { asked = message; visit.say({ id: message.id, result: { action: 'accept' } }); } });
  assert.match(asked.params.elicitationId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(done.result.given, { a: { action: 'accept' } });
  const endless = await client(one(() => ({ resultType: 'input_required', requestState: 's' })));
  assert.match((await endless.request('tools/call', call('x'))).error.message, /More than 10 rounds/);
  const nonsense = await client(one(() => ({ resultType: 'input_required', inputRequests: { a: 1 } })));
  assert.equal((await nonsense.request('tools/call', call('x'))).error.code, -32603);
});

test('a session is told what it may hear: offered lists, watched resources, loud logs, and whatever else a program says', async () => {
  const program = createFixtureProgram();
  const { request, told, say, session } = await client(() => program);
  program.tell({ kind: 'list_changed', list: 'prompts' });
  program.tell({ kind: 'resource_updated', uri: 'test://a/b' });
  for (const uri of ['test://a', 'test://a', 'test://c/']) await request('resources/subscribe', { uri });
  assert.equal((await request('resources/subscribe', { uri: 'test://none' })).error.code, -32602);
  program.tell({ kind: 'resource_updated', uri: 'test://a/b' });
  program.tell({ kind: 'resource_updated', uri: 'test://ab' });
  program.tell({ kind: 'resource_updated', uri: 'test://c/d' });
  program.tell({ kind: 'log', params: { level: 'debug', data: 1 } });
  await request('logging/setLevel', { level: 'warning' });
  program.tell({ kind: 'log', params: { level: 'info', data: 2 } });
  program.tell({ kind: 'log', params: { level: 'none', data: 3 } });
  program.tell({ kind: 'other', method: 'notifications/elicitation/complete', params: { elicitationId: 'e' } });
  say({ method: 'notifications/roots/list_changed' });
  say({ method: 'notifications/initialized' });
  for (const uri of ['test://a', 'test://never']) await request('resources/unsubscribe', { uri });
  await session.close();
  assert.deepEqual(told.map(({ method, params }) => [method.slice(14), params?.uri ?? params?.data]), [['prompts/list_changed', undefined], ['resources/updated', 'test://a/b'], ['resources/updated', 'test://c/d'], ['message', 1], ['elicitation/complete', undefined]]);
  assert.deepEqual(program.happened, ['subscribe test://a', 'subscribe test://c/', 'level warning', 'notifications/roots/list_changed', 'unsubscribe test://a', 'unsubscribe test://c/', 'close']);
  const silent = await client(one(() => ({}), { capabilities: { tools: {} }, watch: (listener) => { listener({ kind: 'list_changed', list: 'tools' }); return () => {}; } }));
  assert.deepEqual(silent.told, [], 'what is not declared is not told');
});

test('a session watches a bounded number of resources, and a program that fails to let go is reported', async () => {
  const faults: string[] = [];
  const { request, session } = await client(() => ({ serverInfo: { name: 'x', version: '1' }, capabilities: { resources: { subscribe: true } }, unsubscribe: () => { throw new Error('stuck'); } }), {}, { onFault: (method, error) => { faults.push(`${method} ${(error as Error).message}`); } });
  for (let n = 0; n < limits.subscribedResources; n++) await request('resources/subscribe', { uri: `t:${n}` });
  assert.match((await request('resources/subscribe', { uri: 't:more' })).error.message, /resources are watched/);
  await Promise.all([session.close(), session.close()]);
  assert.deepEqual(faults, ['resources/unsubscribe stuck']);
});

test('a program may ask outside of any request, and progress goes upwards only', async () => {
  let peer: ServedPeer | undefined;
  const { request, told, say } = await client((who) => { peer = who; return one((context) => { for (const progress of [1, 1, 0.5, 'x', 2]) context.progress({ progress, _meta: { kept: 1 } }); context.pause(1); return {}; }); }, { roots: {} });
  const roots = peer!.ask!('roots/list', {});
  await waitFor(() => told.length === 1, 'the question');
  assert.deepEqual(told[0], { jsonrpc: '2.0', id: 1, method: 'roots/list' });
  say({ id: 1, result: { roots: [] } });
  assert.deepEqual(await roots, { roots: [] });
  await assert.rejects(peer!.ask!('sampling/createMessage', {}), { code: -32021 });
  await assert.rejects(peer!.ask!('tools/list', {}), { code: -32021 });
  const { before } = await request('tools/call', { ...call('x'), _meta: { progressToken: 0 } });
  assert.deepEqual(before.map(({ params }) => params), [{ progress: 1, _meta: { kept: 1 }, progressToken: 0 }, { progress: 2, _meta: { kept: 1 }, progressToken: 0 }]);
});
