import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureCode, Recovery } from '../../src/base/failure.ts';
import { createStreamableHttpTransport } from '../../src/transports/streamable-http.ts';
import { data, deep, directHttp, events, failed, json, owned, reach, refusal, result, scripted, startStreamable, textOf, told, withServer, type Reply } from '../support/http-fixture.ts';
import { startRaw } from '../support/http-server.ts';
import { waitFor } from '../support/process.ts';
import { transportContract } from './contract.ts';

for (const path of ['/legacy/json/no-get', '/legacy/sse/session', '/legacy/sse/ids/session', '/modern/json', '/modern/sse']) {
  transportContract({
    name: `streamable-http ${path}`, ordered: false, modern: path.startsWith('/modern'),
    async start() {
      const server = await startStreamable();
      return withServer(server, (http) => createStreamableHttpTransport({ name: 'fixture', url: server.url(path), headers: {}, send: http.request, dispose: () => http.close() }));
    },
  });
}

// ---- headers

test('legacy requests carry both types, the session and the version, and the configured headers everywhere (rows 15, 96)', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/sse/session?resources=1'), {
    headers: { 'X-Tenant': 'blue', Accept: 'text/plain', 'content-TYPE': 'text/plain', 'MCP-Protocol-Version': '1999-01-01', 'Mcp-Session-Id': 'stolen', 'Mcp-Method': 'x', 'mcp-param-a': 'x', 'Last-Event-ID': '7' },
    answers: { roots: () => [] },
  });
  await waitFor(() => server.requests.some(({ method }) => method === 'GET'), 'the standing stream');
  await client.listTools();
  await client.callTool('ask', { what: 'roots' });
  await client.close();
  const [probe, initialize, ...rest] = server.requests;
  assert.deepEqual([probe?.message?.method, probe?.headers['mcp-protocol-version'], probe?.headers['mcp-session-id']], ['server/discover', '2026-07-28', undefined]);
  assert.deepEqual([initialize?.message?.method, initialize?.headers['mcp-protocol-version'], initialize?.headers['mcp-session-id'], initialize?.headers['mcp-method']], ['initialize', undefined, undefined, undefined]);
  assert.deepEqual(rest.map(({ method, message }) => (method === 'POST' ? message?.method ?? 'an answer' : method)).sort(), ['DELETE', 'GET', 'an answer', 'notifications/initialized', 'tools/call', 'tools/list']);
  for (const { method, headers, message } of rest) {
    assert.deepEqual([headers['mcp-session-id'], headers['mcp-protocol-version']], ['session-1', '2025-11-25'], method);
    assert.deepEqual(Object.keys(headers).filter((name) => /^(mcp-(method|name|param-.*)|last-event-id)$/.test(name)), [], `${method} ${message?.method}`);
  }
  for (const { method, headers } of server.requests) {
    assert.equal(headers['x-tenant'], 'blue');
    assert.equal(headers['accept'], method === 'POST' ? 'application/json, text/event-stream' : method === 'GET' ? 'text/event-stream' : undefined);
    assert.equal(headers['content-type'], method === 'POST' ? 'application/json' : undefined);
  }
});

test('modern requests mirror body and stamp into headers, names encoded, and never speak of sessions', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/modern/sse?resources=1&prompts=1&tools=caf%C3%A9,%20x,echo'), { headers: { 'mcp-method': 'no', 'Mcp-Name': 'no' } });
  await client.listTools();
  assert.equal(textOf(await client.callTool('café', {})), 'café was called');
  assert.equal(textOf(await client.callTool(' x', {})), ' x was called');
  await client.readResource('file:///a.txt');
  await client.getPrompt('greet', { who: 'you' });
  await client.close();
  assert.deepEqual(server.requests.map(({ method, headers }) => [method, headers['mcp-method'], headers['mcp-name']]), [
    ['POST', 'server/discover', undefined], ['POST', 'tools/list', undefined], ['POST', 'tools/call', '=?base64?Y2Fmw6k=?='], ['POST', 'tools/call', '=?base64?IHg=?='],
    ['POST', 'resources/read', 'file:///a.txt'], ['POST', 'prompts/get', 'greet'],
  ]);
  assert.ok(server.requests.every(({ headers }) => headers['mcp-session-id'] === undefined && headers['mcp-protocol-version'] === '2026-07-28'));
});

test('JSON and event-stream answers give the same result (row 96)', async (t) => {
  const server = owned(t, await startStreamable());
  const [plain, streamed] = await Promise.all(['json', 'sse'].map(async (how) => {
    const { client } = await reach(t, server.url(`/legacy/${how}`));
    return [await client.listTools(), await client.callTool('blocks', {})];
  }));
  assert.deepEqual(plain, streamed);
});

// ---- every answer to a POST

interface Row { readonly call: FailureCode | string; readonly list?: FailureCode; readonly recovery?: Recovery; readonly says?: RegExp; readonly reply: Reply }
const page = '<!doctype html><html><head><title>Sign in</title></head><body><p>page text</p></body></html>';
const status = (code: number, body: string | object = '', type = typeof body === 'string' ? 'text/plain' : 'application/json'): Reply => (_message, response) => { response.writeHead(code, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body)); };

const believed: Readonly<Record<string, Reply>> = {
  'a type spelled oddly': (message, response) => json(response, result(message, told('ok')), 200, { 'content-type': 'Application/JSON; Charset="UTF-8"' }),
  'no content type': (message, response) => { response.writeHead(200).end(JSON.stringify(result(message, told('ok')))); },
  'JSON called text': (message, response) => json(response, result(message, told('ok')), 200, { 'content-type': 'text/plain' }),
  'a byte order mark': (message, response) => json(response, `\ufeff${JSON.stringify(result(message, told('ok')))}`),
  'a batch of 2025-03-26': (message, response) => json(response, [{ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }, result(message, told('ok'))]),
  'a batch in an event': (message, response) => { events(response, data([result(message, told('ok'))])).end(); },
  'status 201': (message, response) => json(response, result(message, told('ok')), 201),
  'an event stream called 202': (message, response) => { response.writeHead(202, { 'content-type': 'text/event-stream' }); events(response, data(result(message, told('ok')))).end(); },
  'an event in pieces, lines ended by CR, comments and foreign types between': (message, response) => {
    const text = JSON.stringify(result(message, told('ok')), null, 1);
    events(response, ': hello\revent: endpoint\rdata: /x\r', `data: ${text.split('\n').join('\rdata: ')}\r\r`).end();
  },
  'a stream that goes on behind the answer': (message, response) => { events(response, data(result(message, told('ok'))), ': still here'); },
};

test('a tool call believes each honest form of answer', async (t) => {
  for (const [what, reply] of Object.entries(believed)) {
    const server = await scripted(t, { on: { 'tools/call': reply } });
    const { client } = await reach(t, server.url(), { protocol: 'legacy' });
    assert.equal(textOf(await client.callTool('echo', {})), 'ok', what);
  }
});

/** What a call and a listing become. Anything that may have been done is unknown for the call and plainly failed for the listing. */
const rows: Readonly<Record<string, Row>> = {
  'a page instead of JSON': { reply: status(200, page, 'text/html'), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /HTML page titled "Sign in"/ },
  'an empty 200': { reply: status(200, '', 'application/json'), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /status 200 with an empty body/ },
  '202 to a request': { reply: status(202), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /status 202/ },
  '204 to a request': { reply: status(204), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /status 204/ },
  'a wrong content type': { reply: status(200, 'hello there'), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /text\/plain.*hello there/ },
  'JSON that ends early (rows 107, 108)': { reply: status(200, '{"jsonrpc":"2.0","id":', 'application/json'), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /cannot be parsed/ },
  'JSON that is no message': { reply: status(200, { hello: 1 }), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION' },
  'an empty batch': { reply: status(200, []), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION' },
  'a batch without the answer': { reply: status(200, [{ jsonrpc: '2.0', method: 'notifications/message', params: {} }]), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /no answer to it/ },
  'a batch with something else in it': { reply: status(200, [7]), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION' },
  'the answer to another request': { reply: (message, response) => json(response, { jsonrpc: '2.0', id: `${String(message.id)}`, result: {} }), call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /has the id "\d+" instead of \d+/ },
  'an answer in an event to another request': { reply: (message, response) => { events(response, data({ jsonrpc: '2.0', id: String(message.id), result: {} })); }, call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /has the id "\d+" instead of \d+/ },
  'an answer that nests 20,000 levels': { reply: (message, response) => json(response, deep(message)), call: 'OUTCOME_UNKNOWN', list: 'LIMIT_EXCEEDED', recovery: 'blocked', says: /nests deeper than 512 levels/ },
  'an event that nests 20,000 levels': { reply: (message, response) => { events(response, `data: ${deep(message)}`).end(); }, call: 'OUTCOME_UNKNOWN', list: 'LIMIT_EXCEEDED', recovery: 'blocked', says: /nests deeper than 512 levels/ },
  'an error that nests 20,000 levels': { reply: (message, response) => json(response, deep(message, 'error'), 400), call: 'HTTP_STATUS', recovery: 'blocked' },
  'a body that is cut (row 107)': { reply: (_message, response) => { response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 }).write('{"jsonrpc"'); setTimeout(() => response.socket?.destroy(), 20); }, call: 'OUTCOME_UNKNOWN', list: 'CONNECTION_CLOSED' },
  'an event that is no JSON (row 107)': { reply: (_message, response) => { events(response, 'data: {"jsonrpc":'); }, call: 'OUTCOME_UNKNOWN', list: 'PROTOCOL_VIOLATION', says: /no JSON-RPC message/ },
  'a stream that ends early (row 107)': { reply: (_message, response) => { events(response, ': working').end(); }, call: 'OUTCOME_UNKNOWN', list: 'CONNECTION_CLOSED', says: /its stream ended before the answer/ },
  'a stream that is cut': { reply: (_message, response) => { events(response, ': working'); setTimeout(() => response.socket?.destroy(), 20); }, call: 'OUTCOME_UNKNOWN', list: 'CONNECTION_CLOSED' },
  'no answer at all': { reply: (_message, response) => { response.socket?.destroy(); }, call: 'OUTCOME_UNKNOWN', list: 'CONNECTION_CLOSED' },
  'an error without an id': { reply: (_message, response) => json(response, failed(undefined, -32602, 'missing _meta'), 400), call: 'REMOTE_ERROR', list: 'REMOTE_ERROR', says: /-32602: missing _meta/ },
  'an error with the id null': { reply: (_message, response) => json(response, { ...failed(undefined, -32600, 'odd'), id: null }, 400), call: 'REMOTE_ERROR', says: /-32600: odd/ },
  'an error without an id in a 200': { reply: (_message, response) => json(response, failed(undefined, -32603, 'broken')), call: 'REMOTE_ERROR', says: /-32603/ },
  'an error without an id in an event': { reply: (_message, response) => { events(response, data(failed(undefined, -32603, 'broken'))).end(); }, call: 'REMOTE_ERROR', says: /-32603/ },
  'a method that is not found': { reply: (message, response) => json(response, failed(message, -32601, 'Method not found'), 404), call: 'REMOTE_ERROR', says: /-32601/ },
  'an error for another request': { reply: (_message, response) => json(response, { jsonrpc: '2.0', id: 'other', error: { code: -32603, message: 'x' } }, 409), call: 'HTTP_STATUS' },
  'an error in an outage': { reply: (message, response) => json(response, failed(message, -32603, 'db down'), 500), call: 'OUTCOME_UNKNOWN', list: 'HTTP_STATUS', says: /500/ },
  'an error behind a login': { reply: (message, response) => json(response, failed(message, -32603, 'log in'), 401), call: 'HTTP_STATUS', says: /401/ },
  ...Object.fromEntries([400, 401, 403, 404, 405, 406, 409, 413, 415, 431].map((code): [string, Row] => [`${code} (row 103)`, { reply: status(code, 'refused'), call: 'HTTP_STATUS', recovery: 'blocked', says: new RegExp(`${code} with "refused"`) }])),
  ...Object.fromEntries([408, 429, 501, 503].map((code): [string, Row] => [`${code}`, { reply: status(code, 'later'), call: 'HTTP_STATUS', recovery: 'retryable' }])),
  ...Object.fromEntries([500, 502, 504].map((code): [string, Row] => [`${code}`, { reply: status(code, 'broke'), call: 'OUTCOME_UNKNOWN', list: 'HTTP_STATUS', recovery: 'retryable' }])),
  '300 without an address': { reply: status(300, 'choose'), call: 'HTTP_STATUS', recovery: 'blocked' },
};

describe('an answer that is none', { concurrency: 8 }, () => {
  for (const [what, row] of Object.entries(rows)) {
    for (const era of ['legacy', 'modern'] as const) {
      test(`fails promptly, once and with the right consequence: ${what}, ${era}`, async (t) => {
        const server = await scripted(t, { era, on: { 'tools/call': row.reply, 'tools/list': row.reply } });
        const { client } = await reach(t, server.url(), { protocol: era === 'legacy' ? 'legacy' : 'auto' });
        const called = await refusal(client.callTool('echo', {}), row.call as FailureCode);
        const listed = await refusal(client.listTools(), row.list ?? row.call as FailureCode);
        if (row.says !== undefined) for (const failure of [called, listed]) assert.match(failure.message, row.says);
        assert.doesNotMatch(called.message, /page text/);
        assert.equal(called.recovery, row.call === 'OUTCOME_UNKNOWN' ? 'unknown' : row.recovery ?? called.recovery);
        assert.notEqual(listed.recovery, 'unknown');
        if (row.recovery !== undefined) assert.equal(listed.recovery, row.recovery);
        assert.equal(server.posted('tools/call').length, 1);
        // Reading may be sent again at once, when its connection died without a word.
        assert.ok(server.posted('tools/list').length <= (what === 'no answer at all' ? 2 : 1));
      });
    }
  }
});

test('a body and an event that are too large end their request alone, and the limit is named', async (t) => {
  const huge = (type: string, head: string): Reply => (_message, response) => {
    response.writeHead(200, { 'content-type': type }).write(head);
    const block = 'x'.repeat(4 << 20);
    const more = (): void => { while (!response.destroyed && response.write(block)); if (!response.destroyed) response.once('drain', more); };
    response.on('error', () => {});
    more();
  };
  const server = await scripted(t, { on: { 'tools/call': huge('text/event-stream', 'data: "'), 'tools/list': huge('application/json', '"') } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy', requestMs: 20_000 });
  const called = await refusal(client.callTool('echo', {}), 'OUTCOME_UNKNOWN');
  assert.match(called.message, /one event is larger than 64 MiB/);
  assert.match((await refusal(client.listTools(), 'LIMIT_EXCEEDED')).message, /larger than 64 MiB/);
  await client.ping();
});

// ---- notifications and answers of ours

test('no form of reply to a notification disturbs the session', async (t) => {
  const server = owned(t, await startStreamable());
  for (const form of ['null', 'text', 'empty', 'bare', 'html', 'stream', '400']) {
    const { client, notices } = await reach(t, server.url(`/legacy/json/told-${form}`));
    await client.listTools();
    assert.equal(textOf(await client.callTool('add', { a: 1, b: 2 })), '3', form);
    assert.equal(notices.filter(({ kind }) => kind === 'stream').length, form === '400' ? 1 : 0, form);
    const opened = server.requests.some(({ method, path }) => method === 'GET' && path.endsWith(form));
    if (form !== '400') await waitFor(() => opened || server.requests.some(({ method, path }) => method === 'GET' && path.endsWith(form)), `the standing stream after ${form}`);
    await client.close();
  }
});

test('requests of the server on a POST stream are answered by POSTs of their own, and the call goes on (rows 75, 76)', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/sse/session'), { answers: { roots: () => [{ uri: 'file:///w' }], elicit: () => Promise.resolve({ action: 'accept', content: { name: 'Ada' } }) } });
  assert.equal(textOf(await client.callTool('ask', { what: 'ping' })), '{}');
  assert.match(textOf(await client.callTool('ask', { what: 'sampling' })), /-32601/);
  assert.equal(textOf(await client.callTool('ask', { what: 'roots' })), '{"roots":[{"uri":"file:///w"}]}');
  assert.equal(textOf(await client.callTool('ask', { what: 'elicitation' })), '{"action":"accept","content":{"name":"Ada"}}');
});

test('requests on the standing stream are answered too', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/json/session'));
  await waitFor(() => server.requests.some(({ method }) => method === 'GET'), 'the standing stream');
  server.say({ jsonrpc: '2.0', id: 'ask-1', method: 'ping' });
  server.say({ jsonrpc: '2.0', id: 'ask-2', method: 'sampling/createMessage', params: {} });
  const answers = await waitFor(() => { const found = server.requests.filter(({ message }) => typeof message?.id === 'string' && message.method === undefined); return found.length === 2 && found; }, 'both answers');
  assert.deepEqual(answers.map(({ message, headers }) => [message?.id, message?.result ?? message?.error.code, headers['mcp-session-id']]).sort(), [['ask-1', {}, 'session-1'], ['ask-2', -32601, 'session-1']]);
  await client.ping();
});

test('a modern server that sends a request on a stream gets no answer, and is told on', async (t) => {
  const ask = data({ jsonrpc: '2.0', id: 's1', method: 'ping' });
  const server = await scripted(t, { era: 'modern', on: {
    'server/discover': (message, response) => { events(response, ask, data(result(message, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }))).end(); },
    'tools/call': (message, response) => { events(response, ask, data(result(message, told('ok')))).end(); },
  } });
  const { client, notices } = await reach(t, server.url());
  assert.equal(textOf(await client.callTool('echo', {})), 'ok');
  assert.equal(notices.filter((notice) => notice.kind === 'violation' && /request ping on the stream of (server\/discover|tools\/call)/.test(notice.message)).length, 2);
  assert.deepEqual(server.methods(), ['server/discover', 'tools/call']);
});

// ---- several at once, and giving up

test('a slow call delays nobody (row 98)', async (t) => {
  const server = owned(t, await startStreamable());
  for (const how of ['/legacy/json', '/modern/sse']) {
    const { client } = await reach(t, server.url(how));
    const order: string[] = [];
    await Promise.all([client.callTool('slow', { ms: 300 }).then(() => order.push('slow')), client.callTool('echo', {}).then(() => order.push('fast'))]);
    assert.deepEqual(order, ['fast', 'slow']);
  }
});

test('canceling closes the stream in the modern era and sends a notification in the legacy one', async (t) => {
  const server = owned(t, await startStreamable());
  for (const how of ['/modern/sse', '/modern/json', '/legacy/sse', '/legacy/json']) {
    const { client } = await reach(t, server.url(how));
    const controller = new AbortController();
    const running = refusal(client.callTool('hang', {}, { signal: controller.signal }), 'CANCELED');
    const request = await waitFor(() => server.requests.find(({ path, message }) => path === how && message?.params?.['name'] === 'hang'), 'the call');
    controller.abort();
    assert.equal((await running).recovery, 'unknown');
    await waitFor(() => server.events.some(({ kind, id, method }) => kind === 'closed' && id === request.message?.id && method === 'tools/call'), 'the end of its stream');
    const told = (): unknown[] => server.requests.filter(({ path, message }) => path === how && message?.method === 'notifications/cancelled').map(({ message }) => message?.params?.['requestId']);
    if (how.startsWith('/legacy')) await waitFor(() => told().length === 1, 'the notification');
    assert.deepEqual(told(), how.startsWith('/legacy') ? [request.message?.id] : []);
    assert.equal(textOf(await client.callTool('echo', {})), '{}');
  }
});

test('a timeout gives up in the same way, and the call is unknown', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/sse'));
  await refusal(client.callTool('hang', {}, { timeoutMs: 50 }), 'OUTCOME_UNKNOWN');
  await waitFor(() => server.requests.some(({ message }) => message?.method === 'notifications/cancelled'), 'the notification');
});

// ---- connections that go away between calls

test('a connection that the server dropped between calls costs nothing', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/json/session/no-get'));
  await client.listTools();
  server.cut();
  await client.listTools();
  await waitFor(() => server.sockets() > 0, 'a new connection');
  server.cut();
  // A call may only go out on a fresh connection once this side has noticed, which nothing tells.
  await sleep(30);
  assert.equal(textOf(await client.callTool('echo', {})), '{}');
});

test('a server that is restarted between calls is found again', async (t) => {
  const first = await startStreamable();
  const { client } = await reach(t, first.url('/modern/json'));
  await client.listTools();
  await first.close();
  await refusal(client.listTools(), 'CONNECT_FAILED');
  assert.equal((await refusal(client.callTool('echo', {}), 'CONNECT_FAILED')).recovery, 'retryable');
  const second = owned(t, await startStreamable({ port: first.port }));
  assert.equal(textOf(await client.callTool('echo', {})), '{}');
  assert.equal(second.requests.length, 1);
});

// ---- the end

test('close() ends the session and every stream, and leaves no connection', async (t) => {
  const server = owned(t, await startStreamable());
  const { client, http } = await reach(t, server.url('/legacy/sse/session'));
  await waitFor(() => server.requests.some(({ method }) => method === 'GET'), 'the standing stream');
  const running = refusal(client.callTool('hang', {}), 'CANCELED');
  await waitFor(() => server.requests.some(({ message }) => message?.params?.['name'] === 'hang'), 'the call');
  await client.close();
  await running;
  assert.deepEqual([server.requests.at(-1)?.method, server.requests.at(-1)?.headers['mcp-session-id']], ['DELETE', 'session-1']);
  assert.ok(server.requests.some(({ message }) => message?.method === 'notifications/cancelled'), 'what was canceled by closing is told');
  await refusal(client.callTool('echo', {}), 'CONNECTION_CLOSED');
  http.close();
  await waitFor(() => server.sockets() === 0, 'the end of all connections');
});

test('close() takes a refused DELETE as it is and waits little for a silent one', async (t) => {
  const server = owned(t, await startStreamable());
  for (const path of ['/legacy/json/session/no-delete', '/legacy/json/session/delete-hang', '/legacy/json']) {
    const { client } = await reach(t, server.url(path));
    const startedAt = performance.now();
    assert.deepEqual(await client.close(), { forced: [] });
    assert.ok(performance.now() - startedAt < 1500, path);
  }
  assert.equal(server.requests.filter(({ method }) => method === 'DELETE').length, 2);
});

test('the transport itself settles what is under way when it is closed, and refuses what comes later', async (t) => {
  const server = await scripted(t, { on: { 'tools/call': () => {}, note: () => {} } });
  const http = directHttp(t);
  const transport = createStreamableHttpTransport({ name: 'bare', url: server.url(), headers: {}, send: http.request });
  let ends = 0;
  await transport.open({ message() {}, notice() {}, closed() { ends += 1; } }, new AbortController().signal);
  const request = { kind: 'request', id: 1, method: 'tools/call', params: {}, stamp: undefined, text: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', replaySafe: false } as const;
  const note = { kind: 'notification', method: 'note', params: undefined, text: '{"jsonrpc":"2.0","method":"note"}' } as const;
  const pending = refusal(Promise.resolve(transport.send(request)), 'CONNECTION_CLOSED'), telling = refusal(Promise.resolve(transport.send(note)), 'CONNECTION_CLOSED');
  await waitFor(() => server.requests.length === 2, 'both requests');
  transport.cancel?.(99);
  await transport.close();
  assert.equal((await pending).recovery, 'unknown', 'it may have been done');
  await telling;
  assert.equal(ends, 1);
  await refusal(Promise.resolve(transport.send(note)), 'CONNECTION_CLOSED');
});

test('a head that does not come in time ends a request where that is asked for', async (t) => {
  const silent = owned(t, await startRaw(() => {}));
  const http = directHttp(t);
  const transport = owned(t, createStreamableHttpTransport({ name: 'silent', url: silent.origin, headers: {}, send: http.request, headMs: 40 }));
  await transport.open({ message() {}, notice() {}, closed() {} }, new AbortController().signal);
  const failure = await refusal(Promise.resolve(transport.send({ kind: 'request', id: 1, method: 'ping', params: undefined, stamp: undefined, text: '{}', replaySafe: true })), 'TIMEOUT');
  assert.equal(failure.recovery, 'retryable');
});

test('answers to a server that asks and asks and takes none of them are bounded', async (t) => {
  let stream: { write(text: string): unknown } | undefined;
  const held: unknown[] = [];
  const server = await scripted(t, { on: { GET: (_message, response) => { stream = events(response, ': here'); }, response: (_message, response) => { held.push(response); } } });
  const { client, notices } = await reach(t, server.url(), { protocol: 'legacy' });
  const standing = await waitFor(() => stream, 'the standing stream');
  standing.write(Array.from({ length: 3_000 }, (_, n) => `${data({ jsonrpc: '2.0', id: `p${n}`, method: 'ping' })}\n\n`).join(''));
  const dropped = (): number => notices.filter((notice) => notice.kind === 'stream' && /1024 messages wait for it to take them/.test(notice.message)).length;
  await waitFor(() => dropped() === 3_000 - 1_024, 'the answers to be dropped');
  assert.ok(held.length <= 256);
  await client.close();
});
