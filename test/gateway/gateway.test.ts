import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, type ClientOptions } from '../../src/client.ts';
import { createGateway, type GatewayOptions } from '../../src/gateway/gateway.ts';
import type { Host, HostOptions } from '../../src/host/types.ts';
import { createServer } from '../../src/mcp/server.ts';
import type { CallToolResult, Client, Elicitation } from '../../src/mcp/types.ts';
import { startHttpServer } from '../../src/transports/http-server.ts';
import { fixture, home } from '../support/hosts.ts';
import { processFiles, waitFor, waitUntilGone } from '../support/process.ts';
import { listed, tools as plainTools } from '../support/sessions.ts';

const ERAS = ['2026-07-28', '2025-11-25'] as const;
const allowAll = { mode: 'allow_all' };

interface Setup { readonly host: Host; readonly url: string; client(options?: ClientOptions): Promise<Client> }

async function gateway(t: TestContext, mcp: Record<string, unknown>, { permission = allowAll, host: hostOptions, ...options }: GatewayOptions & { permission?: unknown; host?: Partial<HostOptions> } = {}): Promise<Setup> {
  const host = home(t, { mcp, permission }).host(hostOptions);
  const server = await startHttpServer({ engine: createServer(createGateway(host, options)) });
  t.after(() => server.close(0));
  return {
    host, url: server.url,
    async client(options) {
      const client = await connect({ type: 'http', url: server.url }, options);
      t.after(() => client.close());
      return client;
    },
  };
}

const text = ({ content }: CallToolResult): string => content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
const names = async (client: Client): Promise<string[]> => (await client.listTools()).items.map(({ name }) => name);

for (const protocol of ERAS) {
  test(`createGateway() serves the tools of all servers under their wire ids, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=echo,add'), two: fixture('--tools=echo,blocks,structured', '--era=modern') });
    const client = await open({ protocol });
    assert.equal(client.revision, protocol);
    assert.deepEqual((await names(client)).sort(), ['one_add', 'one_echo', 'two_blocks', 'two_echo', 'two_structured']);
    assert.equal(text(await client.callTool('one_add', { a: 2, b: 3 })), '5');
    assert.deepEqual((await client.callTool('two_structured', {})).structuredContent, (await client.callTool('two_structured', {})).structuredContent);
    assert.ok((await client.callTool('two_blocks', {})).content.length > 3);
    await assert.rejects(client.callTool('one_nothing', {}), /Unknown tool: one_nothing/);
  });

  test(`createGateway() hides and refuses what the policy denies, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=echo,add') }, { permission: { mode: 'allow_all', rules: { one_add: 'deny' } } });
    const client = await open({ protocol });
    assert.deepEqual(await names(client), ['one_echo']);
    const refused = await client.callTool('one_add', { a: 1, b: 1 });
    assert.equal(refused.isError, true);
    assert.match(text(refused), /one_add/);
    assert.match(text(refused), /Nothing was done/);
  });

  test(`createGateway() puts an ask to the client, and once or always is what was said, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=echo,add') }, { permission: { mode: 'standard', rules: { '*': 'ask' } } });
    const asked: Elicitation[] = [];
    let answer = 'no';
    const client = await open({ protocol, answers: { elicit: (request) => { asked.push(request); return Promise.resolve({ action: 'accept', content: { answer } }); } } });
    assert.match(text(await client.callTool('one_add', { a: 1, b: 1 })), /Nothing was done/);
    answer = 'allow once';
    assert.equal(text(await client.callTool('one_add', { a: 1, b: 1 })), '2');
    answer = 'allow for this session';
    assert.equal(text(await client.callTool('one_add', { a: 1, b: 2 })), '3');
    assert.equal(text(await client.callTool('one_add', { a: 1, b: 3 })), '4');
    assert.equal(asked.length, 3);
    assert.match(asked[0]!.message, /"add" of the server "one"/);
    const silent = await open({ protocol });
    const refused = await silent.callTool('one_add', { a: 1, b: 1 });
    assert.equal(refused.isError, true);
    assert.match(text(refused), /permission/);
  });

  test(`createGateway() sends progress to its owner only, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=progress,echo') });
    const [mine, other] = await Promise.all([open({ protocol }), open({ protocol })]);
    const seen: number[] = [], strange: number[] = [];
    await Promise.all([
      mine.callTool('one_progress', { steps: 3, ms: 20 }, { onProgress: ({ progress }) => seen.push(progress) }),
      other.callTool('one_echo', { text: 'x' }, { onProgress: ({ progress }) => strange.push(progress) }),
    ]);
    assert.equal(seen.length, 3);
    assert.deepEqual(strange, []);
  });

  test(`createGateway() passes a cancellation on, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=hang,seen') });
    const client = await open({ protocol }), abort = new AbortController();
    const hanging = client.callTool('one_hang', {}, { signal: abort.signal });
    const seen = async (): Promise<string> => text(await client.callTool('one_seen', {}));
    for (const until = performance.now() + 5000; !(await seen()).includes('"hang"');) assert.ok(performance.now() < until);
    abort.abort();
    await assert.rejects(hanging, { code: 'CANCELED' });
    for (const until = performance.now() + 5000; !(await seen()).includes('notifications/cancelled');) assert.ok(performance.now() < until);
  });

  test(`createGateway() tells a crash as a tool error, and the next call works, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=crash,echo') });
    const client = await open({ protocol });
    const crashed = await client.callTool('one_crash', { code: 3 });
    assert.equal(crashed.isError, true);
    assert.match(text(crashed), /may have taken effect/);
    assert.match(text(await client.callTool('one_echo', { text: 'again' })), /again/);
  });

  test(`createGateway() passes questions of a server on, in whatever eras, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { old: fixture('--tools=ask'), new: fixture('--tools=ask', '--era=modern') });
    const client = await open({
      protocol, answers: { elicit: () => Promise.resolve({ action: 'decline' }), roots: () => [{ uri: 'file:///r', name: 'r' }], sample: () => Promise.resolve({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }) },
    });
    for (const server of ['old', 'new']) {
      assert.match(text(await client.callTool(`${server}_ask`, { what: 'elicitation' })), /decline/, server);
      assert.match(text(await client.callTool(`${server}_ask`, { what: 'sampling' })), /sampled/, server);
      assert.match(text(await client.callTool(`${server}_ask`, { what: 'roots' })), /file:\/\/\/r/, server);
    }
  });

  test(`createGateway() relays resources, templates, prompts and errors of several servers, to ${protocol}`, async (t) => {
    const resource = (uri: string): object => ({ uri, name: uri, mimeType: 'text/plain', annotations: { priority: 1 }, _meta: { kept: true } });
    const one = listed(t, { tools: plainTools('x'), resources: [resource('mem://1')], templates: [{ uriTemplate: 'mem://t/{id}', name: 't' }], prompts: [{ name: 'greet', title: 'T' }], messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }], contents: { 'mem://1': [{ uri: 'mem://1', text: 'first' }], 'mem://t/5': [{ uri: 'mem://t/5', text: 'five' }] } });
    const two = listed(t, { tools: [], resources: [resource('mem://2')], prompts: [{ name: 'greet' }], messages: [{ role: 'user', content: { type: 'text', text: 'good day' } }], contents: { 'mem://2': [{ uri: 'mem://2', text: 'second' }] } });
    const { client: open } = await gateway(t, { one: one.entry, two: two.entry });
    const client = await open({ protocol });
    assert.deepEqual((await client.listResources()).items, [resource('mem://1'), resource('mem://2')]);
    assert.deepEqual((await client.listResourceTemplates()).items, [{ uriTemplate: 'mem://t/{id}', name: 't' }]);
    assert.deepEqual((await client.readResource('mem://2')).contents, [{ uri: 'mem://2', text: 'second' }]);
    assert.deepEqual((await client.readResource('mem://t/5')).contents, [{ uri: 'mem://t/5', text: 'five' }]);
    assert.deepEqual((await client.listPrompts()).items, [{ name: 'one_greet', title: 'T' }, { name: 'two_greet' }]);
    assert.deepEqual((await client.getPrompt('two_greet', {})).messages, [{ role: 'user', content: { type: 'text', text: 'good day' } }]);
    await assert.rejects(client.getPrompt('greet', {}), /Unknown prompt/);
  });

  test(`createGateway() tells of changed lists, to ${protocol}`, async (t) => {
    const { client: open } = await gateway(t, { one: fixture('--tools=add_tool,echo') });
    const client = await open({ protocol });
    let changes = 0;
    client.on(({ kind }) => { if (kind === 'list_changed') changes += 1; });
    await names(client);
    await client.watch({ lists: ['tools'] });
    await client.callTool('one_add_tool', { name: 'fresh' });
    await waitFor(() => changes > 0, 'list_changed');
    for (const until = performance.now() + 5000; !(await names(client)).includes('one_fresh');) assert.ok(performance.now() < until);
  });
}

test('createGateway() keeps two HTTP sessions apart, servers included', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=where,crash') });
  const [a, b] = await Promise.all([open({ protocol: '2025-11-25' }), open({ protocol: '2025-11-25' })]);
  const pid = async (client: Client): Promise<string> => text(await client.callTool('one_where', {}));
  const [first, second] = [await pid(a), await pid(b)];
  assert.notEqual(first, second);
  await a.callTool('one_crash', {});
  assert.equal(await pid(b), second);
});

test('createGateway() starts no server per stateless request', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=where') });
  const client = await open({ protocol: '2026-07-28' }), other = await open({ protocol: '2026-07-28' });
  const first = text(await client.callTool('one_where', {}));
  assert.equal(text(await client.callTool('one_where', {})), first);
  assert.equal(text(await other.callTool('one_where', {})), first);
});

test('createGateway() lets sessions share servers by name', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=where') }, { share: 'team' });
  const [a, b] = await Promise.all([open({ protocol: '2025-11-25' }), open({ protocol: '2025-11-25' })]);
  assert.equal(text(await a.callTool('one_where', {})), text(await b.callTool('one_where', {})));
});

test('createGateway() lists tool_search and tool_call in place of what waits, and the list stays', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=echo,add') }, { exposure: 'deferred', permission: { mode: 'allow_all', rules: { one_echo: 'deny' } } });
  const client = await open();
  assert.deepEqual(await names(client), ['tool_search', 'tool_call']);
  const found = text(await client.callTool('tool_search', { query: 'add numbers' }));
  assert.match(found, /"name":"one_add"/);
  assert.match(found, /inputSchema/);
  assert.doesNotMatch(found, /one_echo/);
  assert.deepEqual(await names(client), ['tool_search', 'tool_call']);
  assert.equal(text(await client.callTool('tool_call', { id: 'one_add', arguments: { a: 1, b: 2 } })), '3');
  assert.match(text(await client.callTool('tool_call', { id: 'one_echo', arguments: {} })), /Nothing was done/);
  await assert.rejects(client.callTool('tool_call', { id: 'tool_call' }), /needs the id/);
});

test('createGateway() hands questions of a modern server on with their own keys, and asks about the call once', async (t) => {
  const command = [process.execPath, '--import', import.meta.resolve === undefined ? 'tsx' : import.meta.resolve('tsx'), fileURLToPath(new URL('../support/serve-fixture.ts', import.meta.url))];
  const { url } = await gateway(t, { one: { type: 'local', command } }, { permission: { mode: 'standard', rules: { '*': 'ask' } } });
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} }, 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '0' } };
  const post = async (more: object): Promise<any> => {
    const name = 'one_test_input_required_result_multiple_inputs';
    const response = await fetch(url, {
      method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta: meta, ...more } }),
    });
    const body = await response.text();
    return JSON.parse(body.startsWith('{') ? body : /data: (\{.*)/.exec(body)![1]!).result;
  };
  const approval = await post({});
  const [key] = Object.keys(approval.inputRequests);
  const asked = await post({ requestState: approval.requestState, inputResponses: { [key!]: { action: 'accept', content: { answer: 'allow once' } } } });
  assert.deepEqual(Object.keys(asked.inputRequests).sort(), ['client_roots', 'greeting', 'user_name']);
  const responses = { user_name: { action: 'accept', content: { name: 'Ann' } }, greeting: { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } }, client_roots: { roots: [] } };
  const done = await post({ requestState: asked.requestState, inputResponses: responses });
  assert.deepEqual(done.content, [{ type: 'text', text: 'client_roots greeting user_name' }]);
});

test('createGateway() holds to the agent', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=echo,add') }, { agent: 'plan' });
  assert.deepEqual(await names(await open()), []);
});

test('createGateway() relays JSON-RPC errors of a server, and argument faults as tool errors', async (t) => {
  const { client: open } = await gateway(t, { one: fixture('--tools=error,add') });
  const client = await open();
  await assert.rejects(client.callTool('one_error', { code: -32099, message: 'no luck' }), (error: { details?: { rpcCode?: number } }) => error.details?.rpcCode === -32099);
  const wrong = await client.callTool('one_add', { a: 'x' });
  assert.equal(wrong.isError, true);
});

test('createGateway() leaves nothing running', async (t) => {
  const files = processFiles(t);
  const { client: open, host } = await gateway(t, { one: fixture('--tools=echo', `--pids=${files.pidsFile}`) });
  const legacy = await open({ protocol: '2025-11-25' }), modern = await open({ protocol: '2026-07-28' });
  await Promise.all([legacy.callTool('one_echo', {}), modern.callTool('one_echo', {})]);
  assert.equal(files.pids().length, 2);
  await legacy.close();
  await waitFor(() => files.pids().length === 2, 'both');
  await modern.close();
  await host.close();
  await waitUntilGone(files.pids());
});

test('createGateway() takes raw names of one server only', (t) => {
  const host = home(t, { mcp: { one: fixture(), two: fixture() } }).host();
  assert.throws(() => createGateway(host, { rawNames: true }), TypeError);
});
