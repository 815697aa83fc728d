/** Which era and which transport a server on the network turns out to speak, and what follows from it on the wire. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { FailureCode } from '../../src/base/failure.ts';
import { data, events, failed, json, owned, reach, refusal, result, scripted, startSse, startStreamable, textOf, told, type Reply, type SeenMessage } from '../support/http-fixture.ts';
import { startServer } from '../support/http-server.ts';
import { waitFor } from '../support/process.ts';

const discovered: Reply = (message, response) => json(response, result(message, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }));
const status = (code: number, body: string | object = '', type?: string): Reply => (_message, response) => { response.writeHead(code, { 'content-type': type ?? (typeof body === 'string' ? 'text/plain' : 'application/json') }).end(typeof body === 'string' ? body : JSON.stringify(body)); };
const rpc = (code: number, httpStatus: number, extra?: unknown, id: 'same' | null | undefined = 'same'): Reply => (message, response) => json(response, { ...failed(id === 'same' ? message : undefined, code, 'no', extra), ...(id === null ? { id: null } : {}) }, httpStatus);

// ---- MCP.md 6.3, every row

const legacy: Readonly<Record<string, Reply>> = {
  '400 and nothing': status(400),
  '400 with a text': status(400, 'Bad Request'),
  '400 that wants a session': rpc(-32000, 400, undefined, null),
  '400 that is not initialized': rpc(-32000, 400, undefined, undefined),
  '400 invalid request': rpc(-32600, 400),
  '404 invalid session': status(404, 'Invalid session ID'),
  '404 method not found': rpc(-32601, 404),
  '405': status(405), '406': status(406), '415': status(415), '422': status(422, { detail: 'x' }),
  '200 method not found': rpc(-32601, 200),
  '200 with the old number of a version error': rpc(-32004, 400, { supported: ['2026-07-28'], requested: 'x' }),
  'a result that is no discovery': (message, response) => json(response, result(message, {})),
  '-32022 without a usable list': rpc(-32022, 400, { supported: [] }),
  '202': status(202), '204': status(204), 'a page': status(200, '<html><title>Hello</title></html>', 'text/html'),
  'an event that is no message': (_message, response) => { events(response, 'data: {}'); },
  'method not found as an event': (message, response) => { events(response, data(failed(message, -32601))).end(); },
};
const trouble: Readonly<Record<string, readonly [Reply, FailureCode]>> = {
  ...Object.fromEntries([401, 403, 408, 429, 500, 502, 503].map((code): [string, readonly [Reply, FailureCode]] => [String(code), [status(code, 'x'), 'HTTP_STATUS']])),
  '401 with a body that looks legacy': [rpc(-32601, 401), 'HTTP_STATUS'],
  '500 with a body that looks legacy': [rpc(-32601, 500), 'HTTP_STATUS'],
  '-32020 in a 400': [rpc(-32020, 400), 'REMOTE_ERROR'], '-32021 in a 400': [rpc(-32021, 400, { requiredCapabilities: { sampling: {} } }), 'REMOTE_ERROR'],
  'no answer but an end': [(_message, response) => { response.socket?.destroy(); }, 'CONNECTION_CLOSED'],
  'a redirect to elsewhere': [(_message, response) => { response.writeHead(307, { location: 'http://other.invalid/' }).end(); }, 'URL_REFUSED'],
};

describe('the probe over HTTP', { concurrency: 6 }, () => {
  for (const [what, reply] of Object.entries(legacy)) {
    test(`means legacy, and the handshake behind it is clean: ${what}`, async (t) => {
      const server = await scripted(t, { on: { 'server/discover': reply } });
      const { client } = await reach(t, server.url(), { headers: { 'X-Tenant': 'blue' } });
      assert.equal(client.era, 'legacy');
      assert.deepEqual(server.methods().slice(0, 3), ['server/discover', 'initialize', 'notifications/initialized']);
      const { request, message } = server.posted('initialize')[0]!;
      assert.deepEqual(Object.keys(request.headers).filter((name) => name.startsWith('mcp-')), []);
      assert.deepEqual(Object.keys(message.params ?? {}).sort(), ['capabilities', 'clientInfo', 'protocolVersion']);
      assert.equal(request.headers['x-tenant'], 'blue');
    });
  }
  for (const [what, [reply, code]] of Object.entries(trouble)) {
    test(`is no evidence, and its trouble is told: ${what}`, async (t) => {
      const server = await scripted(t, { on: { 'server/discover': reply } });
      await refusal(reach(t, server.url()), code);
      assert.ok(!server.methods().includes('initialize'));
    });
  }
  test('means modern with a DiscoverResult, as JSON or as an event', async (t) => {
    for (const reply of [discovered, ((message, response) => { events(response, data(result(message, { supportedVersions: ['2026-07-28', '2025-11-25'], capabilities: {} }))).end(); }) as Reply]) {
      const server = await scripted(t, { on: { 'server/discover': reply } });
      const { client } = await reach(t, server.url());
      await client.close();
      assert.deepEqual([client.era, server.methods()], ['modern', ['server/discover']]);
    }
  });
  test('is sent once more for -32022, with a revision of the list', async (t) => {
    for (const code of [400, 404]) {
      let asked = 0;
      const server = await scripted(t, { on: { 'server/discover': (message, response, request) => (++asked === 1 ? rpc(-32022, code, { supported: ['2026-07-28'], requested: '2026-07-28' }) : discovered)(message, response, request) } });
      assert.equal((await reach(t, server.url())).client.era, 'modern');
    }
    const always = await scripted(t, { on: { 'server/discover': rpc(-32022, 400, { supported: ['2026-07-28'], requested: '2026-07-28' }) } });
    await refusal(reach(t, always.url()), 'REMOTE_ERROR');
    assert.deepEqual(always.methods(), ['server/discover', 'server/discover']);
    const other = await scripted(t, { on: { 'server/discover': rpc(-32022, 400, { supported: ['2027-01-01'], requested: '2026-07-28' }) } });
    assert.match((await refusal(reach(t, other.url()), 'REVISION_UNSUPPORTED')).message, /2027-01-01/);
  });
  test('that a modern server answered too late is corrected by its refusal of initialize', async (t) => {
    let asked = 0;
    const server = await scripted(t, { on: { 'server/discover': (message, response, request) => (++asked === 1 ? status(404) : discovered)(message, response, request), initialize: rpc(-32022, 400, { supported: ['2026-07-28'], requested: '2025-11-25' }) } });
    const { client } = await reach(t, server.url());
    assert.deepEqual([client.era, server.methods()], ['modern', ['server/discover', 'initialize', 'server/discover']]);
  });
  test('pinned to the modern revision never becomes a handshake (row 61)', async (t) => {
    const server = await scripted(t);
    assert.match((await refusal(reach(t, server.url(), { protocol: '2026-07-28' }), 'REVISION_UNSUPPORTED')).message, /pinned revision 2026-07-28/);
    assert.deepEqual(server.methods(), ['server/discover']);
  });
  test('may take as long as connecting may (row 63)', async (t) => {
    const server = await scripted(t, { on: { 'server/discover': (message, response, request) => { setTimeout(() => discovered(message, response, request), 5_300); } } });
    assert.equal((await reach(t, server.url(), { connectMs: 20_000 })).client.era, 'modern');
  });
});

// ---- the older transport

test('an endpoint that refuses the handshake is tried as HTTP+SSE where the entry leaves it open, and only there (row 99)', async (t) => {
  const server = owned(t, await startSse());
  for (const refuse of ['405', '404', '400', '405-rpc', '400-rpc', '404-rpc']) {
    const { client } = await reach(t, server.url(`/auto/sse?refuse=${refuse}`), { kind: 'auto' });
    assert.equal(textOf(await client.callTool('add', { a: 1, b: 2 })), '3', refuse);
    await client.close();
  }
  const explicit = await refusal(reach(t, server.url('/http/sse')), 'HTTP_STATUS');
  assert.deepEqual([explicit.details.status, explicit.recovery], [405, 'blocked']);
  assert.match((await refusal(reach(t, server.url('/http/sse?refuse=405-rpc')), 'HTTP_STATUS')).message, /405 with "Method not allowed\."/);
  assert.ok(server.requests.every(({ method, path }) => method === 'POST' || path !== '/http/sse'));

  await refusal(reach(t, server.url('/out/sse?refuse=500'), { kind: 'auto' }), 'HTTP_STATUS');
  await refusal(reach(t, server.url('/out/sse?refuse=403'), { kind: 'auto' }), 'HTTP_STATUS');
  assert.ok(server.requests.every(({ method, path }) => method === 'POST' || path !== '/out/sse'), 'an outage is no old server');
});

test('when both transports fail, both stories are told, the configured one first (row 99)', async (t) => {
  const server = owned(t, await startSse());
  const failure = await refusal(reach(t, server.url('/none/sse?sse=404'), { kind: 'auto' }), 'HTTP_STATUS');
  assert.equal(failure.details.status, 405);
  assert.match(failure.message, /answers 405.*; nor is it a server of the older HTTP\+SSE kind: .*answers 404/);
  assert.deepEqual((failure.cause as AggregateError).errors.map((error: { details: unknown }) => (error.details as { status: number }).status), [405, 404]);
  const html = await refusal(reach(t, server.url('/none/sse?sse=html'), { kind: 'auto' }), 'HTTP_STATUS');
  assert.match(html.message, /nor is it .*Sign in/);
});

test('a refused handshake of a modern server is its answer, not an older transport', async (t) => {
  for (const reply of [rpc(-32601, 404), rpc(-32021, 400)]) {
    const server = await scripted(t, { on: { 'server/discover': status(404), initialize: reply } });
    await refusal(reach(t, server.url(), { kind: 'auto' }), 'REMOTE_ERROR');
    assert.ok(!server.methods().includes('GET'));
  }
});

// ---- mirrored parameters

test('arguments that a tool wants in headers go there, and a stale schema is read again once', async (t) => {
  const schemas: object[] = [{ zone: { type: 'string' } }, { zone: { type: 'string', 'x-mcp-header': 'Zone' }, on: { type: 'boolean', 'x-mcp-header': 'On' } }];
  const server = await scripted(t, { era: 'modern', on: {
    'tools/list': (message, response) => json(response, result(message, { tools: [{ name: 'zoned', inputSchema: { type: 'object', properties: schemas[0] } }, { name: 'illegal', inputSchema: { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } } }] })),
    'tools/call': (message, response, { headers }) => {
      const { zone, on } = message.params?.['arguments'] as { zone: string; on: boolean };
      if (headers['mcp-param-zone'] === zone && headers['mcp-param-on'] === String(on)) json(response, result(message, told('mirrored'))); else json(response, failed(message, -32020, 'Mcp-Param-Zone is missing'), 400);
    },
  } });
  const { client } = await reach(t, server.url(), { headers: { 'mcp-param-zone': 'configured' } });
  const { items, dropped } = await client.listTools();
  assert.deepEqual([items.map(({ name }) => name), dropped.map(({ name }) => name)], [['zoned'], ['illegal']]);
  schemas.shift();
  assert.equal(textOf(await client.callTool('zoned', { zone: 'eu 1', on: false })), 'mirrored');
  assert.deepEqual(server.methods(), ['server/discover', 'tools/list', 'tools/call', 'tools/list', 'tools/call']);
  assert.equal(server.posted('tools/call')[0]?.request.headers['mcp-param-zone'], undefined);
  // A refusal that stays is told, after one more try.
  assert.equal((await refusal(client.callTool('zoned', { zone: 'eu 1' }), 'REMOTE_ERROR')).details.rpcCode, -32020);
  assert.equal(server.posted('tools/call').length, 4);
});

// ---- changes

test('list changes arrive over both eras (row 79)', async (t) => {
  const server = owned(t, await startStreamable());
  for (const how of ['/legacy/sse/session', '/modern/sse']) {
    const { client } = await reach(t, server.url(how));
    if (how.startsWith('/legacy')) await waitFor(() => server.requests.some(({ method, path }) => method === 'GET' && path === how), 'the standing stream');
    const watch = await client.watch({ lists: ['tools'] });
    const changed = new Promise((resolve) => { client.on((event) => { if (event.kind === 'list_changed') resolve(event.list); }); });
    await client.callTool('add_tool', { name: 'later' });
    assert.equal(await changed, 'tools');
    assert.ok((await client.listTools()).items.some(({ name }) => name === 'later'));
    await watch.close();
    if (how === '/modern/sse') await waitFor(() => server.events.some(({ kind, method }) => kind === 'closed' && method === 'subscriptions/listen'), 'the end of its stream');
    await client.close();
  }
});

test('a watch whose stream drops is taken up again, and everything watched counts as changed', async (t) => {
  const streams: ServerResponse[] = [];
  const server = await scripted(t, { era: 'modern', capabilities: { tools: { listChanged: true }, resources: { subscribe: true } }, on: { 'subscriptions/listen': (message, response) => {
    streams.push(events(response, data({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications: message.params?.['notifications'], _meta: { 'io.modelcontextprotocol/subscriptionId': message.id } } })));
  } } });
  const { client } = await reach(t, server.url());
  const seen: string[] = [];
  client.on((event) => { seen.push(event.kind === 'list_changed' ? event.list : event.kind === 'resource_updated' ? event.uri : event.kind); });
  const watch = await client.watch({ lists: ['tools'], uris: ['file:///a'] });
  assert.deepEqual(server.posted('subscriptions/listen')[0]?.message.params?.['notifications'], { toolsListChanged: true, resourceSubscriptions: ['file:///a'] });
  streams[0]!.socket?.destroy();
  await waitFor(() => seen.length === 2, 'the second stream');
  assert.deepEqual(seen, ['tools', 'file:///a']);
  const [first, second] = server.posted('subscriptions/listen').map(({ message }) => message.id);
  assert.notEqual(first, second);
  let ended = false;
  streams[1]!.on('close', () => { ended = true; });
  await watch.close();
  await waitFor(() => ended, 'the end of it');
  assert.equal(server.posted('subscriptions/listen').length, 2);
});

// ---- redirects

test('redirects inside the origin are followed with method, body and headers (307, 308)', async (t) => {
  for (const code of [307, 308]) {
    const server = await startServer((request, response) => {
      const message = JSON.parse(request.body || '{}') as SeenMessage;
      if (request.url === '/mcp') response.writeHead(code, { location: '/mcp/' }).end();
      else if (message.method === 'server/discover') discovered(message, response, request);
      else json(response, result(message, told('there')));
    });
    t.after(() => server.close());
    const { client } = await reach(t, `${server.origin}/mcp`, { headers: { Authorization: 'Bearer s3cret' } });
    assert.equal(textOf(await client.callTool('echo', {})), 'there');
    assert.ok(server.requests.every(({ method, headers }) => method === 'POST' && headers.authorization === 'Bearer s3cret' && headers['mcp-method'] !== undefined));
  }
});

test('a redirect to another origin is refused, and that origin sees nothing at all (row 100)', async (t) => {
  const elsewhere = await startServer((_request, response) => { response.writeHead(200).end('{}'); });
  t.after(() => elsewhere.close());
  for (const code of [301, 302, 303, 307, 308]) {
    const server = await scripted(t, { on: { 'tools/call': (_message, response) => { response.writeHead(code, { location: `${elsewhere.origin}/mcp` }).end(); }, 'server/discover': discovered } });
    const { client } = await reach(t, server.url(), { headers: { Authorization: 'Bearer s3cret', 'X-Secret': 'also' } });
    const failure = await refusal(client.callTool('echo', {}), 'URL_REFUSED');
    assert.match(failure.message, new RegExp(elsewhere.origin));
    assert.doesNotMatch(failure.message, /s3cret|also/);
  }
  assert.equal(elsewhere.requests.length, 0);
});

test('a redirect that changes the address for good, or goes in circles, says what to do', async (t) => {
  const moved = await scripted(t, { on: { 'server/discover': (_message, response) => { response.writeHead(301, { location: '/mcp/' }).end(); } } });
  assert.match((await refusal(reach(t, moved.url()), 'HTTP_STATUS')).hint ?? '', /\/mcp\//);
  const loop = await scripted(t, { on: { 'server/discover': (_message, response) => { response.writeHead(307, { location: '/mcp' }).end(); } } });
  await refusal(reach(t, loop.url()), 'LIMIT_EXCEEDED');
  assert.equal(loop.requests.length, 4);
});
