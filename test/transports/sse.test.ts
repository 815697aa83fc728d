import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSseTransport } from '../../src/transports/sse.ts';
import { data, deep, directHttp, events, owned, reach, refusal, scripted, startSse, textOf, withServer } from '../support/http-fixture.ts';
import { waitFor } from '../support/process.ts';
import { transportContract } from './contract.ts';

transportContract({
  name: 'sse', ordered: false,
  async start() {
    const server = await startSse();
    return withServer(server, (http) => createSseTransport({ name: 'fixture', url: server.url('/any/sse'), headers: {}, send: http.request, dispose: () => http.close() }));
  },
});

test('the endpoint is resolved against the stream\'s own address, however it is written', async (t) => {
  const server = owned(t, await startSse());
  for (const endpoint of ['relative', 'path', 'full', 'query', 'late']) {
    const path = `/deep/prefix/${endpoint}/sse`;
    const { client } = await reach(t, server.url(`${path}?endpoint=${endpoint}`), { kind: 'sse' });
    assert.equal(textOf(await client.callTool('add', { a: 1, b: 2 })), '3', endpoint);
    const posted = server.requests.filter((request) => request.method === 'POST' && request.path.includes(`/${endpoint}/`));
    assert.deepEqual([...new Set(posted.map((request) => request.path))], [endpoint === 'query' ? path : `/deep/prefix/${endpoint}/messages`]);
    await client.close();
  }
});

test('an endpoint on another origin, with a login or unreadable is refused, and nothing is sent there', async (t) => {
  const server = owned(t, await startSse());
  for (const [endpoint, says] of [['other-origin', /not on its own origin but on http:\/\/other\.invalid/], ['other-port', /127\.0\.0\.1:1\b/], ['userinfo', /holds a user name or password/], ['unreadable', /cannot be read/]] as const) {
    const failure = await refusal(reach(t, server.url(`/x/sse?endpoint=${endpoint}`), { kind: 'sse', headers: { Authorization: 'Bearer s3cret' } }), 'URL_REFUSED');
    assert.match(failure.message, says);
    assert.doesNotMatch(`${failure.message} ${failure.hint}`, /s3cret|sid=|secret@/);
  }
  assert.ok(server.requests.every(({ method }) => method === 'GET'));
});

test('an endpoint may move inside its origin, and a move to elsewhere ends the connection', async (t) => {
  const server = owned(t, await startSse());
  const { client } = await reach(t, server.url('/x/sse'), { kind: 'sse' });
  const moved = client.callTool('move', { to: 'messages?sid=1&moved=yes' });
  await waitFor(() => server.requests.some(({ message }) => message?.params?.['name'] === 'move'), 'the move');
  await client.listTools();
  await client.ping();
  assert.ok(server.requests.some((request) => (request as unknown as { query: { moved?: string } }).query.moved === 'yes'));
  const away = client.callTool('move', { to: 'http://other.invalid/messages' });
  await refusal(moved, 'OUTCOME_UNKNOWN');
  assert.match((await refusal(away, 'OUTCOME_UNKNOWN')).message, /other\.invalid/);
  assert.equal((await client.closed).code, 'URL_REFUSED');
});

test('a stream without endpoint ends with the time to connect, or with whoever waits', async (t) => {
  const server = owned(t, await startSse());
  const failure = await refusal(reach(t, server.url('/x/sse?endpoint=none'), { kind: 'sse', connectMs: 100 }), 'TIMEOUT');
  assert.match(failure.message, /within 100 ms/);
  const controller = new AbortController();
  const waiting = refusal(reach(t, server.url('/x/sse?endpoint=none'), { kind: 'sse', signal: controller.signal }), 'CANCELED');
  setImmediate(() => controller.abort());
  await waiting;
  await refusal(Promise.resolve(createSseTransport({ name: 'x', url: server.url('/x/sse'), headers: {}, send: directHttp(t).request }).open({ message() {}, notice() {}, closed() {} }, AbortSignal.abort())), 'CANCELED');
  await waitFor(() => server.sockets() === 0, 'the end of all connections');
});

test('what is no event stream is told with status and title, however long it is', async (t) => {
  const server = owned(t, await startSse());
  const of = (how: string, code: 'HTTP_STATUS' | 'PROTOCOL_VIOLATION'): Promise<Error> => refusal(reach(t, server.url(`/x/sse?sse=${how}`), { kind: 'sse' }), code);
  assert.match((await of('404', 'HTTP_STATUS')).message, /answers 404 with "not here"/);
  assert.match((await of('401', 'HTTP_STATUS')).message, /answers 401/);
  assert.match((await of('json', 'PROTOCOL_VIOLATION')).message, /application\/json.* instead of an event stream/);
  assert.match((await of('html', 'PROTOCOL_VIOLATION')).message, /HTML page titled "Sign in"/);
  assert.match((await of('endless', 'PROTOCOL_VIOLATION')).message, /text\/plain/);
  await server.close();
  await refusal(reach(t, server.url('/x/sse'), { kind: 'sse' }), 'CONNECT_FAILED');
  const early = await scripted(t, { on: { GET: (_message, response) => { events(response, ':').end(); } } });
  await refusal(reach(t, early.url(), { kind: 'sse' }), 'CONNECTION_CLOSED');
});

test('configured headers travel with the stream and every message, and override none of ours (row 15)', async (t) => {
  const server = owned(t, await startSse());
  const { client } = await reach(t, server.url('/x/sse'), { kind: 'sse', headers: { 'X-Tenant': 'blue', ACCEPT: 'text/html', 'Content-Type': 'text/html', 'Mcp-Protocol-Version': '1' } });
  await client.listTools();
  assert.ok(server.requests.length >= 4);
  for (const { method, headers, message } of server.requests) {
    assert.equal(headers['x-tenant'], 'blue');
    assert.equal(headers['accept'], method === 'GET' ? 'text/event-stream' : undefined);
    assert.equal(headers['content-type'], method === 'GET' ? undefined : 'application/json');
    assert.equal(headers['mcp-protocol-version'], method === 'GET' || message?.method === 'initialize' ? undefined : client.revision);
  }
});

test('a dropped stream settles everything that is pending at once: unknown for calls, failed for lists', async (t) => {
  const server = owned(t, await startSse());
  const { client } = await reach(t, server.url('/x/sse'), { kind: 'sse', requestMs: 60_000 });
  const startedAt = performance.now();
  const calls = [client.callTool('hang', {}), client.callTool('drop', {})].map((call) => refusal(call, 'OUTCOME_UNKNOWN'));
  for (const { message } of await Promise.all(calls)) assert.match(message, /its event stream ended|ended in the middle/);
  assert.ok(performance.now() - startedAt < 2000);
  assert.equal((await client.closed).code, 'CONNECTION_CLOSED');
  assert.equal((await refusal(client.listTools(), 'CONNECTION_CLOSED')).recovery, 'retryable');
});

test('whatever a server answers to a POST with a success, the stream has the answer', async (t) => {
  const server = owned(t, await startSse());
  for (const form of ['text', 'null', 'stream', 'hold']) {
    const { client, notices } = await reach(t, server.url(`/x/sse?post=${form}`), { kind: 'sse' });
    assert.equal(textOf(await client.callTool('add', { a: 1, b: 2 })), '3', form);
    assert.deepEqual(notices, [], form);
    await client.close();
  }
});

test('a refused POST fails its request alone, with the consequence that its status has', async (t) => {
  const server = owned(t, await startSse());
  for (const [post, code, says] of [['400', 'HTTP_STATUS', /400 with "refused"/], ['404', 'HTTP_STATUS', /404/], ['503', 'HTTP_STATUS', /503/], ['500', 'OUTCOME_UNKNOWN', /500/], ['502', 'OUTCOME_UNKNOWN', /502/], ['400-rpc', 'REMOTE_ERROR', /-32600: too odd/]] as const) {
    const { client } = await reach(t, server.url(`/x/sse?post=${post}`), { kind: 'sse' });
    assert.match((await refusal(client.callTool('echo', {}), code)).message, says);
    await client.listTools();
    await client.close();
  }
});

test('a batch is taken apart, and an event that is no message is noise, not the end', async (t) => {
  const server = owned(t, await startSse());
  const { client, notices } = await reach(t, server.url('/x/sse'), { kind: 'sse' });
  assert.equal(textOf(await client.callTool('batch', {})), 'in a batch');
  await refusal(client.callTool('garble', {}, { timeoutMs: 60 }), 'OUTCOME_UNKNOWN');
  assert.deepEqual(notices.filter(({ kind }) => kind === 'noise').map((notice) => notice.kind === 'noise' && [notice.excerpt, notice.total]), [['{"jsonrpc": "2.0", "id":', 1]]);
  await client.listTools();
});

test('an event without end closes the connection, and the limit is named', async (t) => {
  const server = await scripted(t, { on: { GET: (_message, response) => {
    events(response, 'event: endpoint\ndata: /messages').write('data: ');
    response.on('error', () => {});
    const block = 'x'.repeat(8 << 20);
    const more = (): void => { while (!response.destroyed && response.write(block)); if (!response.destroyed) response.once('drain', more); };
    more();
  }, initialize: (_message, response) => { response.writeHead(202).end(); } } });
  const failure = await refusal(reach(t, server.url(), { kind: 'sse', connectMs: 20_000 }), 'LIMIT_EXCEEDED');
  assert.match(failure.message, /larger than 64 MiB/);
});

test('a canceled call is told by a notification, also while closing', async (t) => {
  const server = owned(t, await startSse());
  const { client, http } = await reach(t, server.url('/x/sse'), { kind: 'sse' });
  const running = refusal(client.callTool('hang', {}), 'CANCELED');
  await waitFor(() => server.requests.some(({ message }) => message?.params?.['name'] === 'hang'), 'the call');
  await client.close();
  await running;
  assert.equal(server.requests.at(-1)?.message?.method, 'notifications/cancelled');
  http.close();
  await waitFor(() => server.sockets() === 0, 'the end of all connections');
});

test('close() before and without open() has nothing to do', async (t) => {
  const transport = createSseTransport({ name: 'x', url: 'http://127.0.0.1:1/', headers: {}, send: directHttp(t).request });
  await refusal(Promise.resolve(transport.send({ kind: 'notification', method: 'n', params: undefined, text: '{}' })), 'CONNECTION_CLOSED');
  assert.deepEqual(await transport.close(), { forced: [] });
});

test('an event that nests 20,000 levels fails its request alone', async (t) => {
  let stream: ReturnType<typeof events> | undefined;
  const server = await scripted(t, { on: {
    GET: (_message, response) => { stream = events(response, 'event: endpoint\ndata: /messages'); },
    initialize: (message, response) => { response.writeHead(202).end(); events(stream!, data({ jsonrpc: '2.0', id: message.id, result: { protocolVersion: '2024-11-05', capabilities: { tools: {} } } })); },
    'tools/list': (message, response) => { response.writeHead(202).end(); events(stream!, `data: ${deep(message)}`); },
    'tools/call': (message, response) => { response.writeHead(202).end(); events(stream!, `data: ${deep(message)}`); },
    ping: (message, response) => { response.writeHead(202).end(); events(stream!, data({ jsonrpc: '2.0', id: message.id, result: {} })); },
  } });
  const { client } = await reach(t, server.url(), { kind: 'sse', protocol: 'legacy' });
  assert.deepEqual((await refusal(client.listTools(), 'LIMIT_EXCEEDED')).details, { limit: 'jsonDepth', maximum: 512 });
  assert.equal((await refusal(client.callTool('x', {}), 'OUTCOME_UNKNOWN')).details.why, 'unreadable');
  await client.ping();
});
