/** The stateless era put to the engine directly: order of refusals, suspended calls and their states, subscriptions, what is opened for whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { delay } from '../../../src/base/deadline.ts';
import { limits } from '../../../src/base/limits.ts';
import { createServer, type Server } from '../../../src/mcp/server.ts';
import { RpcFault } from '../../../src/mcp/server-fault.ts';
import type { Served, ServedContext, ServerOptions } from '../../../src/mcp/server-types.ts';
import { createFixtureProgram } from '../../fixtures/served.ts';
import { put, PREFIX, type Heard } from '../../support/exchanges.ts';
import { waitFor } from '../../support/process.ts';

const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, arguments: {}, ...more });
const fixture = (options: Partial<ServerOptions> = {}): Server => createServer({ serve: createFixtureProgram(), ...options });
const accept = (content: JsonObject = {}): JsonObject => ({ action: 'accept', content });
/** A server of one tool. */
const oneTool = (run: (context: ServedContext) => Promise<JsonObject> | JsonObject, options: Partial<ServerOptions> = {}, more: Partial<Served> = {}): Server => createServer({ serve: { serverInfo: { name: 'one', version: '1' }, capabilities: { tools: {} }, callTool: (_name, _args, context) => run(context), ...more }, ...options });

test('serve() refuses in the order of the specification', async (t) => {
  const engine = fixture();
  t.after(() => engine.close());
  const version = { [`${PREFIX}protocolVersion`]: '2026-07-28' }, capable = { [`${PREFIX}clientCapabilities`]: {} };
  const headers = (given: Readonly<Record<string, string>>) => ({ header: (name: string): string | undefined => given[name] });
  const cases: readonly (readonly [string, Promise<Heard>, number, number])[] = [
    ['no _meta', put(engine, 'tools/list', {}, { raw: true }), 400, -32602],
    ['no version', put(engine, 'tools/list', { _meta: capable }, { raw: true }), 400, -32602],
    ['no capabilities', put(engine, 'tools/list', { _meta: version }, { raw: true }), 400, -32602],
    ['capabilities that are a list', put(engine, 'tools/list', { _meta: { ...version, [`${PREFIX}clientCapabilities`]: [] } }, { raw: true }), 400, -32602],
    ['no version header', put(engine, 'tools/list', {}, headers({ 'mcp-method': 'tools/list' })), 400, -32020],
    ['a header that differs, before the version is judged', put(engine, 'tools/list', {}, { ...headers({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }), meta: { [`${PREFIX}protocolVersion`]: 'v999' } }), 400, -32020],
    ['an unknown version', put(engine, 'tools/list', {}, { meta: { [`${PREFIX}protocolVersion`]: 'v999' } }), 400, -32022],
    ['a legacy version', put(engine, 'tools/list', {}, { meta: { [`${PREFIX}protocolVersion`]: '2025-11-25' } }), 400, -32022],
    ['a method that is not the header\'s, before it is looked for', put(engine, 'no/such', {}, headers({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'no/Such' })), 400, -32020],
    ['an unknown method', put(engine, 'no/such'), 404, -32601],
    ['a method of the other era', put(engine, 'logging/setLevel', { level: 'info' }), 404, -32601],
    ['a log level that is none', put(engine, 'tools/list', {}, { meta: { [`${PREFIX}logLevel`]: 'loud' } }), 200, -32602],
    ['a parameter header that is missing', put(engine, 'tools/call', { name: 'test_header_mirror', arguments: { region: 'eu' } }, headers({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'test_header_mirror' })), 400, -32020],
    ['a name that is no text', put(engine, 'tools/call', { name: 1 }), 200, -32602],
    ['arguments that are no object', put(engine, 'tools/call', { name: 'echo', arguments: [] }), 200, -32602],
    ['a cursor that is no text', put(engine, 'tools/list', { cursor: 1 }), 200, -32602],
    ['a cursor nobody gave', put(engine, 'tools/list', { cursor: 'x' }), 200, -32602],
    ['a reference that is missing', put(engine, 'completion/complete', { argument: {} }), 200, -32602],
  ];
  for (const [what, heard, status, code] of cases) assert.deepEqual([(await heard).status, (await heard).error.code], [status, code], what);
  assert.deepEqual((await put(engine, 'tools/list', {}, { meta: { [`${PREFIX}protocolVersion`]: 'v999' } })).error.data, { supported: ['2026-07-28'], requested: 'v999' });
});

test('serve() answers only what is declared and has a handler; lists of declared resources exist', async () => {
  const bare = createServer({ serve: { serverInfo: { name: 'bare', version: '1' }, capabilities: { resources: {}, tasks: {} }, callTool: () => ({ content: [] }), methods: { 'x/y': (params) => params } } });
  assert.equal((await put(bare, 'tools/call', tool('x'))).status, 404);
  assert.equal((await put(bare, 'resources/list')).error.code, -32601);
  assert.deepEqual((await put(bare, 'resources/templates/list')).result.resourceTemplates, []);
  assert.equal((await put(bare, 'x/y', { a: 1 })).result.a, 1);
  assert.equal((await put(bare, 'subscriptions/listen', { notifications: {} })).status, 404, 'there is nothing to tell');
  const found = (await put(bare, 'server/discover')).result;
  assert.deepEqual([found.capabilities, found.ttlMs, found.cacheScope, 'instructions' in found, found._meta[`${PREFIX}serverInfo`].name], [{ resources: {} }, 0, 'private', false, 'bare']);
});

test('modern results have what the era demands, and what the handler said stands', async () => {
  const engine = oneTool(() => ({ resultType: 'task', taskId: 't', _meta: { [`${PREFIX}serverInfo`]: { name: 'upstream', version: '2' }, other: 1 } }), {}, { listTools: () => ({ tools: [1, { name: 'x', execution: {} }], ttlMs: -4, cacheScope: 'everyone' }) });
  assert.deepEqual((await put(engine, 'tools/call', tool('x'))).result, { resultType: 'task', taskId: 't', _meta: { [`${PREFIX}serverInfo`]: { name: 'upstream', version: '2' }, other: 1 } });
  const { tools, ttlMs, cacheScope, resultType } = (await put(engine, 'tools/list')).result;
  assert.deepEqual([tools, ttlMs, cacheScope, resultType], [[1, { name: 'x' }], 0, 'private', 'complete']);
});

// ---- suspended calls

async function suspend(engine: Server, options: Parameters<typeof put>[3] = {}): Promise<{ readonly heard: Heard; readonly state: string; retry(responses: unknown, more?: JsonObject, other?: Parameters<typeof put>[3]): Promise<Heard> }> {
  const heard = await put(engine, 'tools/call', tool('ask_twice'), options);
  assert.equal(heard.result.resultType, 'input_required');
  const state = heard.result.requestState as string;
  return { heard, state, retry: (responses, more = {}, other = options) => put(engine, 'tools/call', tool('ask_twice', { inputResponses: responses, requestState: state, ...more }), { id: 2, ...other }) };
}
const both = { 'question-1': accept({ name: 'n' }), 'question-2': accept({ color: 'c' }) };

test('a suspended call asks together what is asked together, takes answers in parts, asks again for the rest, and ends', async (t) => {
  const engine = fixture();
  t.after(() => engine.close());
  const { heard, retry } = await suspend(engine);
  assert.deepEqual(Object.values(heard.result.inputRequests as JsonObject).map((request) => (request as { method: string }).method), ['elicitation/create', 'elicitation/create']);
  assert.equal(engine.suspended, 1);
  const part = await retry({ 'question-1': both['question-1'], stranger: { action: 'accept' } });
  assert.deepEqual(Object.keys(part.result.inputRequests), ['question-2']);
  const next = await put(engine, 'tools/call', tool('ask_twice', { inputResponses: { 'question-2': both['question-2'] }, requestState: part.result.requestState }), { id: 3, meta: { progressToken: 'later' } });
  assert.deepEqual([Object.keys(next.result.inputRequests), next.before[0].params], [['question-3'], { progress: 1, progressToken: 'later' }]);
  const last = await put(engine, 'tools/call', tool('ask_twice', { inputResponses: { 'question-3': { roots: [] } }, requestState: next.result.requestState }), { id: 4 });
  assert.equal(last.result.content[0].text, '[{"name":"n"},{"color":"c"},[]]');
  assert.deepEqual([JSON.parse(last.text!).id, engine.suspended], [4, 0]);
});

test('a state is refused when it is spent, another principal\'s, for another call, changed or no text; it stays good after answers that cannot be used', async (t) => {
  const engine = fixture();
  t.after(() => engine.close());
  const { state, retry } = await suspend(engine);
  for (const [what, heard] of [
    ['another principal', retry(both, {}, { principal: 'bob' })],
    ['another tool', put(engine, 'tools/call', tool('echo', { inputResponses: both, requestState: state }))],
    ['another method', put(engine, 'prompts/get', tool('ask_twice', { inputResponses: both, requestState: state }))],
    ['other arguments', retry(both, { arguments: { x: 1 } })],
    ['changed', retry(both, { requestState: `${state}x` })],
    ['no text', retry(both, { requestState: 5 })],
    ['an answer that is no object', retry({ 'question-1': 12345 })],
    ['an answer of no shape', retry({ 'question-1': { action: 'maybe' } })],
    ['content that is no object', retry({ 'question-1': { action: 'accept', content: 'x' } })],
    ['answers that are no object', retry(null)],
  ] as const) assert.equal((await heard).error?.code, -32602, what);
  assert.equal((await retry(both)).result.resultType, 'input_required');
  assert.equal((await retry(both)).error.code, -32602, 'spent');
});

test('a state of a handler\'s own comes back to it alone, once, and only if it is ours', async (t) => {
  const engine = fixture();
  t.after(() => engine.close());
  const first = await put(engine, 'tools/call', tool('test_input_required_result_request_state'));
  const { requestState } = first.result;
  assert.doesNotMatch(requestState, /confirming/);
  const again = (more: JsonObject = {}): Promise<Heard> => put(engine, 'tools/call', tool('test_input_required_result_request_state', { inputResponses: { confirm: accept() }, requestState, ...more }));
  assert.equal((await again({ requestState: `${requestState}-TAMPERED` })).error.code, -32602);
  assert.equal((await again()).result.content[0].text, 'state-ok: confirming');
  assert.equal((await again()).error.code, -32602);
  assert.equal((await put(engine, 'tools/call', tool('test_input_required_result_elicitation', { inputResponses: { user_name: accept({ name: 'A' }), other: accept() } }))).result.content[0].text, 'Hello, A!');
});

test('what a client did not declare is not asked for: left out beside others, refused alone', async () => {
  const engine = fixture();
  const ask = (name: string, capabilities: JsonObject): Promise<Heard> => put(engine, 'tools/call', tool(name), { capabilities });
  assert.deepEqual(Object.keys((await ask('test_input_required_result_capabilities', { sampling: {} })).result.inputRequests), ['sampled']);
  const none = await ask('test_input_required_result_capabilities', {});
  assert.deepEqual([none.status, none.error.code, none.error.data], [400, -32021, { requiredCapabilities: { elicitation: { form: {} } } }]);
  assert.deepEqual((await ask('test_missing_capability', { roots: {} })).error.data, { requiredCapabilities: { sampling: {} } });
  assert.equal((await ask('test_streaming_elicitation', { elicitation: {} })).result.resultType, 'input_required', 'an empty object means form');
  assert.equal((await ask('test_streaming_elicitation', { elicitation: { url: {} } })).status, 400);
});

test('input is asked for by the three methods that may, with something in it, and of a bounded size', async () => {
  const faults: unknown[] = [];
  const answer = async (result: JsonObject): Promise<Heard> => put(oneTool(() => result, { onFault: (_method, error) => { faults.push(error); } }), 'tools/call', tool('x'));
  assert.equal((await answer({ resultType: 'input_required' })).error.code, -32603);
  assert.equal((await answer({ resultType: 'input_required', requestState: 'x'.repeat(limits.requestStateBytes + 1) })).error.code, -32603);
  assert.equal(typeof (await answer({ resultType: 'input_required', requestState: 'wait' })).result.requestState, 'string', 'a state alone asks for patience');
  const lists = oneTool(() => ({}), { onFault: (_method, error) => { faults.push(error); } }, { listTools: async (_cursor, context) => (context.mayAsk('roots/list') ? {} : { resultType: 'input_required', inputRequests: {} }) });
  assert.equal((await put(lists, 'tools/list')).error.code, -32603);
  const asks = oneTool(() => ({}), {}, { listTools: async (_cursor, context) => context.ask('roots/list', {}) });
  assert.match((await put(asks, 'tools/list')).error.message, /cannot ask/);
  assert.equal(faults.length, 3);
});

test('suspended calls are bounded, expire with their handlers told, and end with the connection or the server', async () => {
  const ends: string[] = [];
  const run = async (context: ServedContext): Promise<JsonObject> => {
    await context.ask('roots/list', {}).catch((error: unknown) => { ends.push((error as Error).message); });
    ends.push(String(context.signal.aborted));
    return {};
  };
  const engine = oneTool(run, { suspendedCalls: 1, askMs: 30 });
  const first = await put(engine, 'tools/call', tool('x'));
  const second = await put(engine, 'tools/call', tool('x'));
  assert.match(second.error.message, /Too many calls/);
  await waitFor(() => ends.length === 2, 'its handler to be told');
  assert.deepEqual([engine.suspended, ends], [1, ['Too many calls wait for input', 'true']]);
  ends.length = 0;
  // Expiry holds no process alive; this test has to.
  await delay(60);
  assert.deepEqual([engine.suspended, ends], [0, ['No answer came in time', 'true']]);
  assert.equal((await put(engine, 'tools/call', tool('x', { requestState: first.result.requestState }))).error.code, -32602);

  const connection = {}, other = {};
  const long = oneTool(run);
  await put(long, 'tools/call', tool('x'), { connection });
  await put(long, 'tools/call', tool('x'), { connection: other });
  await long.release(connection);
  assert.equal(long.suspended, 1);
  long.close();
  assert.equal(long.suspended, 0);
  assert.match((await put(long, 'tools/call', tool('x'))).error.message, /Too many/);
});

test('a handler that ends while nobody waits is heard by the client that comes back', async (t) => {
  let go: () => void = () => {};
  const engine = oneTool(async (context) => {
    void context.ask('roots/list', {}).catch(() => {});
    await new Promise<void>((resolve) => { go = resolve; });
    return { content: [{ type: 'text', text: 'late' }] };
  });
  t.after(() => engine.close());
  const first = await put(engine, 'tools/call', tool('x'));
  go();
  await new Promise((resolve) => setImmediate(resolve));
  const second = await put(engine, 'tools/call', tool('x', { requestState: first.result.requestState, inputResponses: {} }));
  assert.equal(second.result.content[0].text, 'late');
});

test('a client that goes away aborts its handler, also one that is back for a suspended call', async (t) => {
  const program = createFixtureProgram();
  const engine = createServer({ serve: () => program });
  t.after(() => engine.close());
  const gone = new AbortController();
  void put(engine, 'tools/call', tool('wait'), { signal: gone.signal });
  await waitFor(() => program.happened.includes('waiting'), 'the call');
  gone.abort();
  await waitFor(() => program.happened.includes('close'), 'the end');
  assert.deepEqual(program.happened, ['waiting', 'aborted', 'close']);
  const already = put(engine, 'tools/call', tool('wait'), { signal: AbortSignal.abort() });
  assert.equal((await already).text, undefined);
  const { retry } = await suspend(engine);
  void retry({}, {}, { signal: AbortSignal.abort() });
  await waitFor(() => program.happened.filter((what) => what === 'close').length === 3, 'the end of the suspended one');
});

// ---- subscriptions

test('listen() tags what it tells, honours what is offered, and bounds and refuses the rest', async (t) => {
  const program = createFixtureProgram();
  const engine = createServer({ serve: program });
  t.after(() => engine.close());
  const heard: any[] = [];
  const stop = new AbortController();
  void put(engine, 'subscriptions/listen', { notifications: { toolsListChanged: true, unknown: true, resourceSubscriptions: ['test://a', 'test://a'] } }, { id: 'sub', signal: stop.signal, onMessage: (message) => { heard.push(message); } });
  await waitFor(() => heard.length === 1, 'the acknowledgement');
  assert.deepEqual(heard[0].params.notifications, { toolsListChanged: true, resourceSubscriptions: ['test://a'] });
  program.tell({ kind: 'list_changed', list: 'tools', params: { _meta: { [`${PREFIX}subscriptionId`]: 'upstream', kept: 1 } } });
  program.tell({ kind: 'list_changed', list: 'prompts' });
  program.tell({ kind: 'resource_updated', uri: 'test://b' });
  program.tell({ kind: 'resource_updated', uri: 'test://a', params: { title: 'A' } });
  program.tell({ kind: 'log', params: { level: 'error', data: 1 } });
  assert.deepEqual(heard.slice(1).map(({ method, params }) => [method, params]), [
    ['notifications/tools/list_changed', { _meta: { [`${PREFIX}subscriptionId`]: 'sub', kept: 1 } }],
    ['notifications/resources/updated', { title: 'A', uri: 'test://a', _meta: { [`${PREFIX}subscriptionId`]: 'sub' } }],
  ]);
  stop.abort();
  await waitFor(() => program.happened.includes('unsubscribe test://a'), 'the end');
  assert.deepEqual(program.happened, ['subscribe test://a', 'unsubscribe test://a']);
  const refused = async (notifications: unknown): Promise<number> => (await put(engine, 'subscriptions/listen', { notifications })).error.code;
  assert.equal(await refused(undefined), -32602);
  assert.equal(await refused({ resourceSubscriptions: 'x' }), -32602);
  assert.equal(await refused({ resourceSubscriptions: ['test://none'] }), -32602, 'the program refuses');
  assert.equal(await refused({ resourceSubscriptions: Array.from({ length: limits.subscribedResources + 1 }, (_, n) => `t:${n}`) }), -32603);
  const ends = Array.from({ length: limits.subscriptions }, () => new AbortController());
  let ready = 0;
  for (const { signal } of ends) void put(engine, 'subscriptions/listen', { notifications: {} }, { signal, onMessage: () => { ready += 1; } });
  await waitFor(() => ready === ends.length, 'all of them');
  assert.match((await put(engine, 'subscriptions/listen', { notifications: {} })).error.message, /subscriptions are open/);
  for (const end of ends) end.abort();
});

// ---- who opens what

test('serve() opens what is served once for a connection and once for a request without one, and closes each once', async () => {
  const opened: string[] = [], closed: string[] = [], faults: string[] = [];
  const engine = createServer({
    serve: async (peer) => {
      opened.push(`${peer.principal} ${String(peer.clientInfo?.['name'])}`);
      if (peer.principal === 'bad') throw new RpcFault(-32000, 'not for you');
      if (peer.principal === 'broken') throw new Error('inside');
      return { serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} }, callTool: () => ({ content: [] }), close() { closed.push(peer.principal); if (peer.principal === 'sour') throw new Error('sour'); } };
    },
    onFault: (method, error) => { faults.push(`${method} ${(error as Error).message}`); },
  });
  const connection = {};
  const meta = { [`${PREFIX}clientInfo`]: { name: 'c', version: '1' } };
  await Promise.all([put(engine, 'tools/call', tool('x'), { connection, meta }), put(engine, 'tools/call', tool('x'), { connection, meta })]);
  assert.deepEqual([opened, closed], [['ann c'], []]);
  await engine.release(connection);
  await engine.release(connection);
  await put(engine, 'tools/call', tool('x'), { principal: 'sour' });
  await waitFor(() => closed.length === 2, 'both ends');
  assert.deepEqual([closed, opened[1]], [['ann', 'sour'], 'sour undefined']);
  assert.equal((await put(engine, 'tools/call', tool('x'), { principal: 'bad' })).error.code, -32000);
  assert.equal((await put(engine, 'tools/call', tool('x'), { principal: 'broken', connection })).error.message, 'Internal error');
  await engine.release(connection);
  assert.deepEqual(faults, ['close sour', 'tools/call inside']);
});
