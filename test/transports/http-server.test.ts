/** Our server over HTTP: the stories of both eras with our own client, and the wire where a client would not go by itself. */
import assert from 'node:assert/strict';
import * as http from 'node:http';
import * as net from 'node:net';
import { describe, mock, test, type TestContext } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { createHttp } from '../../src/http/fetch.ts';
import { createEventDecoder, type ServerEvent } from '../../src/http/event-stream.ts';
import { createServer, type Server } from '../../src/mcp/server.ts';
import type { ServerOptions } from '../../src/mcp/server-types.ts';
import { startHttpServer } from '../../src/transports/http-server.ts';
import type { AccessEntry, HttpServer, HttpServerOptions } from '../../src/transports/http-server-types.ts';
import { createStreamableHttpTransport } from '../../src/transports/streamable-http.ts';
import { createFixtureProgram, type FixtureProgram } from '../fixtures/served.ts';
import { failureOf } from '../support/peer.ts';
import { waitFor } from '../support/process.ts';
import { servedStories } from '../support/served-stories.ts';

servedStories({
  name: 'HTTP',
  async start(t, engine) {
    const server = await startHttpServer({ engine });
    const wire = createHttp({ environment: {} });
    t.after(async () => { wire.close(); await server.close(0); });
    return () => createStreamableHttpTransport({ name: 'fx', url: server.url, headers: {}, send: wire.request });
  },
});

// ---- the raw wire

interface Wire { readonly server: HttpServer; readonly engine: Server; readonly program: FixtureProgram; readonly log: AccessEntry[] }
async function wire(t: TestContext, options: Partial<HttpServerOptions> = {}, serverOptions: Partial<ServerOptions> = {}): Promise<Wire> {
  const program = createFixtureProgram(), log: AccessEntry[] = [];
  const engine = createServer({ serve: () => program, ...serverOptions });
  const server = await startHttpServer({ engine, onAccess: (entry) => { log.push(entry); }, ...options });
  t.after(() => server.close(0));
  return { server, engine, program, log };
}

interface Answer { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string; readonly json: any; readonly events: readonly ServerEvent[] }
interface Sent { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown; readonly onEvent?: (event: ServerEvent, request: http.ClientRequest) => void; readonly onComment?: (text: string) => void; readonly path?: string }

function call({ server }: Wire, { method = 'POST', headers = {}, body, onEvent, onComment = () => {}, path = '/mcp' }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: server.port, path, method, agent: false, headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), accept: 'application/json, text/event-stream', ...headers } }, (response) => {
      const events: ServerEvent[] = [], chunks: Buffer[] = [];
      const decoder = createEventDecoder({ onComment, onEvent: (event) => { events.push(event); onEvent?.(event, request); } });
      const streaming = /event-stream/.test(response.headers['content-type'] ?? '');
      response.on('data', (chunk: Buffer) => { chunks.push(chunk); if (streaming) decoder.feed(chunk); });
      response.on('close', () => {
        const text = String(Buffer.concat(chunks));
        let json: unknown;
        try { json = JSON.parse(text); } catch { json = undefined; }
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json, events });
      });
      response.on('error', () => {});
    });
    request.on('error', reject);
    request.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const meta = (more: object = {}): object => ({ 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, ...more });
const modern = (method: string, params: Record<string, unknown> = {}, id: unknown = 1): Sent => ({
  body: { jsonrpc: '2.0', id, method, params: { _meta: meta(), ...params } },
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}) },
});
const hello = (protocolVersion = '2025-11-25', capabilities: object = {}): Sent => ({ body: { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } } } });

interface Session { readonly id: string; send(body: unknown, more?: Sent): Promise<Answer>; get(headers?: Record<string, string>, more?: Sent): Promise<Answer> }
async function session(wired: Wire, revision = '2025-11-25', headers: Record<string, string> = {}, capabilities: object = {}): Promise<Session> {
  const first = await call(wired, { ...hello(revision, capabilities), headers });
  const id = String(first.headers['mcp-session-id']);
  const own = { 'mcp-session-id': id, 'mcp-protocol-version': revision, ...headers };
  return {
    id,
    send: (body, more = {}) => call(wired, { ...more, body, headers: { ...own, ...more.headers } }),
    get: (extra = {}, more = {}) => call(wired, { ...more, method: 'GET', headers: { ...own, accept: 'text/event-stream', ...extra } }),
  };
}
const toolCall = (id: unknown, name: string, args: object = {}): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

describe('what the endpoint refuses', () => {
  const refusals: Readonly<Record<string, readonly [Sent, number, number?]>> = {
    'another machine in Host': [{ ...hello(), headers: { host: 'evil.example' } }, 403],
    'an unreadable Host': [{ ...hello(), headers: { host: 'a b' } }, 403],
    'a foreign Origin': [{ ...hello(), headers: { origin: 'http://evil.example' } }, 403],
    'the Origin null': [{ ...hello(), headers: { origin: 'null' } }, 403],
    'another path': [{ ...hello(), path: '/other' }, 404],
    'another method': [{ method: 'PUT', body: '{}' }, 405],
    'another media type': [{ ...hello(), headers: { 'content-type': 'text/plain' } }, 415],
    'a client that takes neither form': [{ ...hello(), headers: { accept: 'text/html, application/json;q=0' } }, 406],
    'what is not JSON': [{ body: '{"jsonrpc"' }, 400, -32700],
    'what nests without end': [{ body: `{"jsonrpc":"2.0","id":1,"method":"x","params":${'{"a":'.repeat(600)}1${'}'.repeat(601)}` }, 400, -32600],
    'what is no message': [{ body: { jsonrpc: '2.0', id: 7, method: 4 } }, 400, -32600],
    'a fractional id': [{ body: { jsonrpc: '2.0', id: 1.5, method: 'ping' } }, 400, -32600],
    'a list': [{ body: [modern('server/discover').body] }, 400, -32600],
    'an empty list': [{ body: [] }, 400, -32600],
    'a response in the stateless era': [{ body: { jsonrpc: '2.0', id: 1, result: {} }, headers: { 'mcp-protocol-version': '2026-07-28' } }, 400, -32600],
    'a request without a session': [{ body: { jsonrpc: '2.0', id: 3, method: 'tools/list' } }, 400, -32600],
    'an unknown session': [{ body: { jsonrpc: '2.0', id: 3, method: 'tools/list' }, headers: { 'mcp-session-id': 'no' } }, 404, -32600],
    'a legacy version that is none': [{ body: { jsonrpc: '2.0', id: 3, method: 'tools/list' }, headers: { 'mcp-session-id': 'no', 'mcp-protocol-version': 'v1' } }, 400, -32600],
    'initialize inside a session': [{ ...hello(), headers: { 'mcp-session-id': 'x' } }, 400, -32600],
    'GET without a session': [{ method: 'GET' }, 405],
    'GET in the stateless era': [{ method: 'GET', headers: { 'mcp-protocol-version': '2026-07-28' } }, 405],
    'GET for what is no stream': [{ method: 'GET', headers: { 'mcp-session-id': 'x', accept: 'application/json' } }, 406],
    'DELETE in the stateless era': [{ method: 'DELETE', headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'x' } }, 405],
    'DELETE of an unknown session': [{ method: 'DELETE', headers: { 'mcp-session-id': 'x' } }, 404],
  };
  for (const [what, [sent, status, code]] of Object.entries(refusals)) {
    test(`startHttpServer() refuses ${what}`, async (t) => {
      const wired = await wire(t);
      const answer = await call(wired, sent);
      assert.equal(answer.status, status);
      assert.equal(typeof answer.json.error.message, 'string');
      if (code !== undefined) assert.equal(answer.json.error.code, code);
      if (status === 405) assert.match(String(answer.headers.allow), /POST/);
      assert.equal(wired.server.sessions, 0);
      await waitFor(() => wired.log.length === 1, 'the log entry');
      assert.equal(wired.log[0]!.status, status);
      assert.equal(typeof wired.log[0]!.refused, 'string');
    });
  }

  test('startHttpServer() keeps the id of a request that it refuses', async (t) => {
    assert.equal((await call(await wire(t), { body: { jsonrpc: '2.0', id: 'mine', method: 'tools/list' } })).json.id, 'mine');
  });
  test('startHttpServer() bounds bodies, whether their size is told or not', async (t) => {
    const wired = await wire(t, { maxBodyBytes: 1000 });
    assert.equal((await call(wired, { body: `"${'x'.repeat(1000)}"` })).status, 413);
    const chunked = await new Promise<number>((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: wired.server.port, path: '/mcp', method: 'POST', agent: false, headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } }, (response) => { response.resume(); resolve(response.statusCode ?? 0); });
      request.on('error', reject);
      request.write('x'.repeat(600));
      request.write('x'.repeat(600));
    });
    assert.equal(chunked, 413);
    assert.equal((await call(wired, modern('server/discover'))).status, 200);
  });
  test('startHttpServer() serves loopback without a token, other addresses only with one; a taken port is told', async (t) => {
    const engine = createServer({ serve: createFixtureProgram() });
    const open = await failureOf(startHttpServer({ engine, host: '0.0.0.0' }));
    assert.equal(open.code, 'USAGE');
    assert.match(open.hint ?? '', /token/);
    const { server } = await wire(t);
    const taken = await failureOf(startHttpServer({ engine, port: server.port }));
    assert.equal(taken.code, 'CONNECT_FAILED');
    assert.match(taken.message, /another program has that port/);
    assert.equal((await failureOf(startHttpServer({ engine, host: '127.0.0.1', port: 70_000 }))).code, 'CONNECT_FAILED');
  });
  test('startHttpServer() lets in who brings a token, and each only into sessions of its own', async (t) => {
    const wired = await wire(t, { tokens: new Map([['first-token', 'ann'], ['second-token', 'bob']]) });
    const bare = await call(wired, hello());
    assert.deepEqual([bare.status, bare.headers['www-authenticate']], [401, 'Bearer']);
    const wrong = await call(wired, { ...hello(), headers: { authorization: 'Bearer first-tokem' } });
    assert.deepEqual([wrong.status, wrong.headers['www-authenticate']], [401, 'Bearer error="invalid_token"']);
    const anns = await session(wired, '2025-11-25', { authorization: 'Bearer first-token' });
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    assert.equal((await anns.send(ping)).status, 200);
    assert.equal((await anns.send(ping, { headers: { authorization: 'bearer second-token' } })).status, 404);
    await waitFor(() => wired.log.length === 5, 'the log');
    assert.deepEqual(wired.log.map(({ principal, rpc, status }) => [principal, rpc, status]), [[undefined, undefined, 401], [undefined, undefined, 401], ['ann', 'initialize', 200], ['ann', 'ping', 200], ['bob', 'ping', 404]]);
    assert.doesNotMatch(JSON.stringify(wired.log), /first-token|[0-9a-f]{8}-/);
  });
});

describe('legacy sessions', () => {
  test('startHttpServer() opens a session, takes notices with 202, ends it on DELETE, and knows it no more', async (t) => {
    const wired = await wire(t);
    const one = await session(wired);
    assert.match(one.id, /^[\x21-\x7e]{20,}$/);
    assert.deepEqual([(await one.send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, wired.server.sessions], [202, 1]);
    assert.equal((await one.send({ jsonrpc: '2.0', id: 99, result: {} })).status, 202);
    assert.equal((await one.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).json.result.tools.length, 30);
    assert.equal((await call(wired, { method: 'DELETE', headers: { 'mcp-session-id': one.id } })).status, 200);
    assert.equal((await one.send({ jsonrpc: '2.0', id: 2, method: 'ping' })).status, 404);
    assert.deepEqual(wired.program.happened, ['close']);
  });
  test('startHttpServer() gives no session to an initialize that fails, and answers in events where nothing else is taken', async (t) => {
    const wired = await wire(t);
    const failed = await call(wired, { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } });
    assert.deepEqual([failed.json.error.code, failed.headers['mcp-session-id'], wired.server.sessions], [-32602, undefined, 0]);
    const events = await call(wired, { ...hello(), headers: { accept: 'text/event-stream' } });
    assert.match(String(events.headers['mcp-session-id']), /./);
    assert.equal(JSON.parse(events.events.at(-1)!.data).result.protocolVersion, '2025-11-25');
  });
  test('startHttpServer() makes room for a new session of the same principal by ending its oldest unused one', async (t) => {
    const wired = await wire(t, { maxSessions: 2, tokens: new Map([['a', 'ann'], ['b', 'bob']]) });
    const first = await session(wired, '2025-11-25', { authorization: 'Bearer a' });
    const second = await session(wired, '2025-11-25', { authorization: 'Bearer a' });
    await first.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
    assert.equal((await call(wired, { ...hello(), headers: { authorization: 'Bearer b' } })).status, 503);
    await session(wired, '2025-11-25', { authorization: 'Bearer a' });
    assert.deepEqual([(await first.send({ jsonrpc: '2.0', id: 2, method: 'ping' })).status, (await second.send({ jsonrpc: '2.0', id: 2, method: 'ping' })).status], [200, 404]);
  });
  test('startHttpServer() ends sessions that nobody uses, turns slow answers into streams and keeps quiet ones alive', async (t) => {
    mock.timers.enable({ apis: ['setInterval'] });
    t.after(() => mock.timers.reset());
    const wired = await wire(t, { sessionIdleMs: -1 });
    const clock = mock.method(performance, 'now', performance.now.bind(performance));
    t.after(() => clock.mock.restore());
    const real = performance.now();
    const one = await session(wired);
    let comment: (text: string) => void = () => {};
    const kept = new Promise<string>((resolve) => { comment = resolve; });
    const slow = call(wired, { ...modern('tools/call', { name: 'wait' }), onComment: (text) => comment(text) }).catch(() => undefined);
    await waitFor(() => wired.program.happened.includes('waiting'), 'the slow call');
    clock.mock.mockImplementation(() => real + limits.serverStreamAfterMs + 10_000);
    mock.timers.tick(limits.serverTickMs);
    assert.equal(wired.server.sessions, 0);
    assert.equal((await one.send({ jsonrpc: '2.0', id: 1, method: 'ping' })).status, 404);
    clock.mock.mockImplementation(() => real + limits.serverStreamAfterMs + 10_000 + limits.serverKeepAliveMs);
    mock.timers.tick(limits.serverTickMs);
    assert.equal(await kept, ' keep-alive');
    await wired.server.close(0);
    await slow;
  });
  test('startHttpServer() gives the standing stream what happened before, while and after it stood, each once', async (t) => {
    const wired = await wire(t);
    const one = await session(wired);
    const change = (): void => { wired.program.tell({ kind: 'list_changed', list: 'tools' }); };
    change();
    const seen: ServerEvent[] = [];
    const first = one.get({}, { onEvent: (event, request) => { seen.push(event); if (seen.length === 2) change(); if (seen.length === 3) request.destroy(); } });
    await first;
    assert.deepEqual(seen.map(({ data }) => data === '' ? 'primed' : JSON.parse(data).method), ['primed', 'notifications/tools/list_changed', 'notifications/tools/list_changed']);
    await waitFor(() => wired.log.some(({ method }) => method === 'GET'), 'the end of the stream');
    change();
    const resumed = await one.get({ 'last-event-id': seen[1]!.id }, { onEvent: (event, request) => { seen.push(event); if (seen.length === 5) request.destroy(); } });
    assert.deepEqual(resumed.events.map(({ id }) => id), ['0-2', '0-3']);
    await waitFor(() => wired.log.filter(({ method }) => method === 'GET').length === 2, 'the end of the stream');
    const next = one.get({}, { onEvent: () => {} });
    await waitFor(() => wired.server.sessions === 1, 'the session');
    const other = one.get({}, { onEvent: (_event, request) => request.destroy() });
    assert.deepEqual((await next).events.map(({ data }) => data), [''], 'a newer stream takes its place, and nothing is said twice');
    await other;
  });
  test('startHttpServer() lets a client be sent away and come back for the rest (2025-11-25), and keeps an older one', async (t) => {
    const wired = await wire(t);
    const one = await session(wired);
    const first = await one.send(toolCall(1, 'test_reconnection'));
    assert.match(first.text, /^id: 1-0\ndata: \n\nid: 1-0\nretry: 500\ndata: \n\n$/);
    const rest = await one.get({ 'last-event-id': '1-0' });
    assert.deepEqual(rest.events.map(({ id, data }) => [id, JSON.parse(data).id]), [['1-1', 1]]);
    assert.equal((await one.get({ 'last-event-id': '1-0' })).events.length, 1, 'it is kept for who lost it');
    for (const gone of ['9-1', '1-7', 'x']) assert.equal((await one.get({ 'last-event-id': gone })).status, 400);
    const older = await session(wired, '2025-06-18');
    assert.equal((await older.send(toolCall(1, 'test_reconnection'))).json.id, 1);
  });
  test('startHttpServer() goes on with a legacy request whose client went away, and its answer waits to be fetched', async (t) => {
    const wired = await wire(t);
    const one = await session(wired);
    const cut = await one.send({ ...toolCall(1, 'test_tool_with_progress') as object, params: { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } } }, { onEvent: (event, request) => { if (event.data !== '') request.destroy(); } });
    const rest = await one.get({ 'last-event-id': cut.events.at(-1)!.id });
    assert.deepEqual(rest.events.map(({ data }) => JSON.parse(data).id ?? JSON.parse(data).params.progress), [50, 100, 1]);
  });
  test('startHttpServer() ends the stream of a canceled legacy request without an answer', async (t) => {
    const wired = await wire(t);
    const one = await session(wired);
    const waiting = one.send(toolCall(1, 'wait'));
    await waitFor(() => wired.program.happened.includes('waiting'), 'the call');
    assert.equal((await one.send(toolCall(1, 'echo'))).status, 400, 'its id is taken');
    await one.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    assert.deepEqual([(await waiting).status, (await waiting).text], [202, '']);
  });
  test('startHttpServer() asks a client that takes JSON alone nothing', async (t) => {
    const wired = await wire(t);
    const one = await session(wired, '2025-11-25', { accept: 'application/json' }, { sampling: {}, elicitation: {} });
    const answer = await one.send(toolCall(1, 'test_sampling', { prompt: 'x' }));
    assert.match(answer.json.error.message, /cannot be asked/);
  });
  test('startHttpServer() takes lists of messages in 2025-03-26, and there alone', async (t) => {
    const wired = await wire(t);
    const one = await session(wired, '2025-03-26');
    const answer = await one.send([{ jsonrpc: '2.0', method: 'notifications/initialized' }, toolCall('a', 'echo', { n: 1 }), { jsonrpc: '2.0', id: 'b', method: 'ping' }]);
    assert.deepEqual(answer.events.map(({ data }) => JSON.parse(data).id).sort(), ['a', 'b']);
    assert.equal((await one.send([{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status, 202);
    assert.equal((await one.send([hello().body])).status, 400);
    const newer = await session(wired);
    assert.equal((await newer.send([{ jsonrpc: '2.0', id: 1, method: 'ping' }])).status, 400);
  });
});

describe('stateless requests', () => {
  test('startHttpServer() takes the end of the connection for the end of the request', async (t) => {
    const wired = await wire(t);
    const waiting = new Promise<void>((resolve) => {
      const { body, headers } = modern('tools/call', { name: 'wait' });
      const request = http.request({ host: '127.0.0.1', port: wired.server.port, path: '/mcp', method: 'POST', agent: false, headers: { ...headers, 'content-type': 'application/json' } });
      request.on('error', () => resolve());
      request.end(JSON.stringify(body));
      void waitFor(() => wired.program.happened.includes('waiting'), 'the call').then(() => request.destroy());
    });
    await waiting;
    await waitFor(() => wired.program.happened.includes('close'), 'the program to be let go of');
    assert.deepEqual(wired.program.happened, ['waiting', 'aborted', 'close']);
    assert.deepEqual([wired.log[0]!.status, wired.log[0]!.rpc], [0, 'tools/call']);
  });
  test('startHttpServer() takes notices with 202 and drops them, and old session headers are nobody\'s', async (t) => {
    const wired = await wire(t);
    assert.equal((await call(wired, { body: { jsonrpc: '2.0', method: 'notifications/x' }, headers: { 'mcp-protocol-version': '2026-07-28' } })).status, 202);
    const { body, headers } = modern('server/discover');
    const answer = await call(wired, { body, headers: { ...headers!, 'mcp-session-id': 'old', 'last-event-id': '3-4' } });
    assert.deepEqual([answer.status, answer.headers['mcp-session-id'], answer.json.result.supportedVersions], [200, undefined, ['2026-07-28']]);
  });
  test('startHttpServer() ends subscriptions with their last word and lets calls end before it closes', async (t) => {
    const wired = await wire(t);
    let acknowledged: () => void = () => {};
    const ready = new Promise<void>((resolve) => { acknowledged = resolve; });
    const listening = call(wired, { ...modern('subscriptions/listen', { notifications: { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: [] } }, 'sub'), onEvent: () => acknowledged() });
    await ready;
    const slow = call(wired, modern('tools/call', { name: 'sleep', arguments: { ms: 150 } }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closing = wired.server.close(5_000);
    assert.equal(wired.server.close(0), closing);
    assert.equal((await call(wired, modern('server/discover')).catch(() => ({ status: 503 }))).status, 503);
    assert.equal((await slow).json.result.content[0].text, 'slept');
    const said = (await listening).events.map(({ data }) => JSON.parse(data));
    assert.deepEqual(said[0], { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications: { toolsListChanged: true, resourceSubscriptions: [] }, _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } } });
    assert.deepEqual([said[1].id, said[1].result.resultType, said[1].result._meta['io.modelcontextprotocol/subscriptionId']], ['sub', 'complete', 'sub']);
    await closing;
  });
  test('startHttpServer() refuses a subscription whose events the client would not take', async (t) => {
    const { body, headers } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const answer = await call(await wire(t), { body, headers: { ...headers, accept: 'application/json' } });
    assert.deepEqual([answer.status, answer.json.error.code], [400, -32600]);
  });
  test('startHttpServer() ends what does not end by itself when its patience is over', async (t) => {
    const wired = await wire(t);
    const waiting = call(wired, modern('tools/call', { name: 'wait' })).catch(() => 'cut');
    await waitFor(() => wired.program.happened.includes('waiting'), 'the call');
    await wired.server.close(0);
    assert.equal(await waiting, 'cut');
    await waitFor(() => wired.program.happened.includes('aborted'), 'the handler to be told');
  });
});

describe('clients that mean no good', () => {
  const raw = (port: number, text: string): Promise<string> => new Promise((resolve) => {
    let got = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => { got += String(chunk); });
    socket.on('close', () => resolve(got));
    socket.on('error', () => {});
  });
  test('startHttpServer() answers broken requests and heads without end, and goes on', async (t) => {
    const wired = await wire(t);
    assert.match(await raw(wired.server.port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /);
    assert.match(await raw(wired.server.port, `GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(limits.serverHeaderBytes + 1)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    assert.equal((await call(wired, modern('server/discover'))).status, 200);
  });
  test('startHttpServer() cuts the stream of a client that does not read', async (t) => {
    const wired = await wire(t);
    const { body, headers } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, 's');
    const text = JSON.stringify(body);
    const socket = net.connect(wired.server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${Object.entries(headers!).map(([name, value]) => `${name}: ${value}\r\n`).join('')}Content-Length: ${text.length}\r\n\r\n${text}`);
    await new Promise<void>((resolve) => { socket.once('data', () => { socket.pause(); resolve(); }); });
    const blob = 'x'.repeat(8 << 20);
    for (let n = 0; n < 20; n++) wired.program.tell({ kind: 'list_changed', list: 'tools', params: { blob } });
    await waitFor(() => wired.log.length === 1, 'the cut');
    socket.destroy();
  });
});
