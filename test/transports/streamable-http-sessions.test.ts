/** HTTP session ids of the legacy era: where they come from, where they go, and how they end. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { data, events, failed, json, owned, reach, refusal, result, scripted, startStreamable, textOf, told, type Reply, type SeenMessage } from '../support/http-fixture.ts';
import { waitFor } from '../support/process.ts';

const sessionOf = (headers: { readonly [name: string]: unknown }): unknown => headers['mcp-session-id'];

test('a session that the server forgot is replaced once, whatever it was asked when that showed (row 97)', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/sse/session?resources=1&prompts=1&logging=1'));
  const initializes = (): number => server.requests.filter(({ message }) => message?.method === 'initialize').length;
  const asked: (() => Promise<unknown>)[] = [
    () => client.callTool('echo', {}), () => client.listTools(), () => client.ping(), () => client.setLogLevel('info'), () => client.readResource('file:///a.txt'), () => client.watch({ uris: ['file:///a.txt'] }),
  ];
  for (const [n, ask] of asked.entries()) {
    server.forget();
    await ask();
    assert.equal(initializes(), n + 2);
  }
  await waitFor(() => server.requests.filter(({ method }) => method === 'GET').length === initializes(), 'a standing stream per session');
});

test('requests that meet the loss together share one handshake, and those that come meanwhile wait for it (row 97)', async (t) => {
  let answer: (() => void) | undefined, lost = false;
  const server = await scripted(t, { sessions: ['s1', 's2'], on: {
    initialize: (message, response, { headers }) => {
      assert.equal(sessionOf(headers), undefined);
      const reply = (id: string): void => json(response, result(message, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }), 200, { 'mcp-session-id': id });
      if (lost) answer = () => reply('s2'); else reply('s1');
    },
    'tools/call': (message, response, { headers }) => {
      if (lost && sessionOf(headers) !== 's2') json(response, failed(undefined, -32001, 'Session not found'), sessionOf(headers) === undefined ? 400 : 404);
      else json(response, result(message, told(String(message.params?.['arguments'].n))));
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  lost = true;
  const early = Array.from({ length: 10 }, (_, n) => client.callTool('echo', { n }));
  await waitFor(() => answer, 'the new handshake');
  const late = Array.from({ length: 5 }, (_, n) => client.callTool('echo', { n: n + 10 }));
  const controller = new AbortController();
  const givenUp = refusal(client.callTool('echo', {}, { signal: controller.signal }), 'CANCELED');
  controller.abort();
  await givenUp;
  answer!();
  assert.deepEqual((await Promise.all([...early, ...late])).map(textOf), Array.from({ length: 15 }, (_, n) => String(n)));
  assert.equal(server.posted('initialize').length, 2);
  assert.ok(server.posted('tools/call').every(({ request }) => sessionOf(request.headers) !== undefined), 'none went out without a session');
  assert.equal(server.posted('initialize')[1]?.message.params?.['protocolVersion'], '2025-06-18', 'the new session is asked for what the old one spoke');
});

test('each sign of a lost session is understood, and nothing else is taken for one', async (t) => {
  const signs: Readonly<Record<string, readonly [Reply, boolean]>> = {
    'a bare 404': [(_m, response) => { response.writeHead(404).end(); }, true],
    'a 404 with another error': [(_m, response) => json(response, failed(undefined, -32001, 'Session not found'), 404), true],
    'a 404 page': [(_m, response) => { response.writeHead(404, { 'content-type': 'text/html' }).end('<html></html>'); }, true],
    'a 400 that speaks of the session': [(_m, response) => json(response, { ...failed(undefined, -32000, 'Bad Request: No valid session ID provided'), id: null }, 400), true],
    'a 400 text that does': [(_m, response) => { response.writeHead(400).end('Invalid Mcp-Session-Id'); }, true],
    'a 200 with the well-known error': [(message, response) => json(response, failed(message, -32001, 'Bad Request: No valid session (Session not found)')), true],
    'a method that is not found': [(message, response) => json(response, failed(message, -32601, 'Method not found'), 404), false],
    'a 400 about something else': [(message, response) => json(response, failed(message, -32602, 'wrong arguments'), 400), false],
    'a 200 with another error': [(message, response) => json(response, failed(message, -32000, 'browser session not found')), false],
    'a 410': [(_m, response) => { response.writeHead(410).end('session'); }, false],
  };
  for (const [what, [reply, loss]] of Object.entries(signs)) {
    let refused = 0;
    const server = await scripted(t, { sessions: ['s1', 's2'], on: { 'tools/call': (message, response, request) => { if (refused++ === 0) reply(message, response, request); else json(response, result(message, told('ok'))); } } });
    const { client } = await reach(t, server.url(), { protocol: 'legacy' });
    const outcome = await client.callTool('echo', {}).then(textOf, (error: unknown) => String(error));
    assert.deepEqual([outcome === 'ok', server.posted('initialize').length, server.posted('tools/call').length], loss ? [true, 2, 2] : [false, 1, 1], `${what}: ${outcome}`);
  }
});

test('without a session a 404 is a wrong address, and a session that is lost again at once is not chased', async (t) => {
  const gone: Reply = (_message, response) => { response.writeHead(404).end('not here'); };
  const bare = await scripted(t, { on: { 'tools/call': gone } });
  const { client } = await reach(t, bare.url(), { protocol: 'legacy' });
  assert.equal((await refusal(client.callTool('echo', {}), 'HTTP_STATUS')).details.status, 404);
  assert.equal(bare.posted('initialize').length, 1);

  const dying = await scripted(t, { sessions: ['s1', 's2', 's3', 's4'], on: { 'tools/call': gone } });
  const second = await reach(t, dying.url(), { protocol: 'legacy' });
  await refusal(second.client.callTool('echo', {}), 'SESSION_LOST');
  assert.deepEqual([dying.posted('initialize').length, dying.posted('tools/call').length], [2, 2]);
});

test('a renewal that fails is what the caller hears, and the next request tries again before it goes out', async (t) => {
  let down = false;
  const server = await scripted(t, { sessions: ['s1', 's2', 's3'], on: {
    'tools/call': (message, response, { headers }) => { if (sessionOf(headers) === 's1' || sessionOf(headers) === undefined) response.writeHead(404).end(); else json(response, result(message, told('back'))); },
    initialize: (message, response) => {
      if (down) { down = false; response.writeHead(503).end('starting'); return; }
      json(response, result(message, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }), 200, { 'mcp-session-id': `s${server.posted('initialize').length}` });
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  down = true;
  const failure = await refusal(client.callTool('echo', {}), 'HTTP_STATUS');
  assert.deepEqual([failure.details.status, failure.recovery], [503, 'retryable']);
  assert.equal(textOf(await client.callTool('echo', {})), 'back');
  assert.equal(server.posted('tools/call').length, 2);
});

test('a late refusal of the old session does not end the new one', async (t) => {
  let slow: ServerResponse | undefined;
  const server = await scripted(t, { sessions: ['s1', 's2', 's3'], on: {
    'tools/call': (message, response, { headers }) => {
      if (sessionOf(headers) !== 's1') json(response, result(message, told('ok')));
      else if (message.params?.['name'] === 'slow') slow = response;
      else response.writeHead(404).end();
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  const waiting = client.callTool('slow', {});
  await waitFor(() => slow, 'the slow call');
  await client.callTool('echo', {});
  slow!.writeHead(404).end();
  assert.equal(textOf(await waiting), 'ok');
  assert.equal(server.posted('initialize').length, 2);
  await client.ping();
  assert.equal(sessionOf(server.posted('ping')[0]!.request.headers), 's2');
});

test('a stream of the old session is not looked for in the new one', async (t) => {
  const server = await scripted(t, { sessions: ['s1', 's2'], on: {
    'tools/call': (message, response, { headers }) => {
      if (message.params?.['name'] === 'cut') events(response, 'id: 1\nretry: 200\ndata:').on('close', () => {}).end();
      else if (sessionOf(headers) === 's1') response.writeHead(404).end();
      else json(response, result(message, told('ok')));
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  const cut = refusal(client.callTool('cut', {}), 'OUTCOME_UNKNOWN');
  await waitFor(() => server.posted('tools/call').length === 1, 'the call');
  await client.callTool('echo', {});
  await cut;
  assert.deepEqual(server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined).map(({ headers }) => sessionOf(headers)).filter((id) => id !== 's1'), []);
});

test('what the old session was told is told to the new one: subscriptions, as often as somebody watches, and the log level', async (t) => {
  const server = owned(t, await startStreamable());
  const { client } = await reach(t, server.url('/legacy/json/session?resources=1&logging=1'));
  const [first, second] = [await client.watch({ uris: ['file:///a.txt', 'file:///b.bin'] }), await client.watch({ uris: ['file:///a.txt'] })];
  await client.setLogLevel('debug');
  await first.close();
  await first.close();
  const updated: string[] = [], changed: string[] = [];
  client.on((event) => { if (event.kind === 'resource_updated') updated.push(event.uri); if (event.kind === 'list_changed') changed.push(event.list); });
  const from = server.requests.length;
  server.forget();
  await client.listTools();
  const after = server.requests.slice(from).map(({ message }) => [message?.method, message?.params?.['uri'] ?? message?.params?.['level']]).filter(([method]) => method === 'resources/subscribe' || method === 'logging/setLevel');
  assert.deepEqual(after, [['logging/setLevel', 'debug'], ['resources/subscribe', 'file:///a.txt']]);
  assert.ok(updated.includes('file:///a.txt'));
  assert.deepEqual(changed, ['tools', 'resources', 'prompts']);
  await second.close();
  assert.equal(server.requests.filter(({ message }) => message?.method === 'resources/unsubscribe').length, 2);
});

test('an id comes from the answer to initialize alone, also when that is a stream, and must be visible ASCII', async (t) => {
  const rows: readonly (readonly [string | undefined, string | undefined])[] = [['a!~0', 'a!~0'], ['has space', undefined], ['caf\u00e9', undefined], [undefined, undefined]];
  for (const [given, expected] of rows) {
    const server = await scripted(t, { on: {
      initialize: (message, response) => {
        if (given !== undefined) response.setHeader('Mcp-Session-Id', given);
        events(response, data(result(message, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }))).end();
      },
      'tools/list': (message, response) => json(response, result(message, { tools: [] }), 200, { 'mcp-session-id': 'smuggled' }),
    } });
    const { client } = await reach(t, server.url());
    await client.listTools();
    await client.ping();
    await client.close();
    assert.deepEqual(server.requests.slice(2).map(({ headers }) => sessionOf(headers)), server.requests.slice(2).map(() => expected), String(given));
    assert.equal(server.methods().includes('DELETE'), expected !== undefined);
  }
});

test('a handshake that ends with a revision nobody speaks still gives its session back', async (t) => {
  const server = await scripted(t, { sessions: ['s1'], revision: '1999-01-01' });
  await refusal(reach(t, server.url(), { protocol: 'legacy' }), 'REVISION_UNSUPPORTED');
  assert.deepEqual([server.methods().at(-1), sessionOf(server.requests.at(-1)!.headers)], ['DELETE', 's1']);
});

test('a modern server\'s session id means nothing, and a probe leaves nothing to the handshake behind it', async (t) => {
  const modern = await scripted(t, { era: 'modern', on: { 'server/discover': (message, response) => json(response, result(message, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }), 200, { 'mcp-session-id': 'x' }), 'tools/call': (message: SeenMessage, response) => json(response, result(message, told('ok')), 200, { 'mcp-session-id': 'y' }) } });
  const { client } = await reach(t, modern.url());
  await client.callTool('echo', {});
  await client.callTool('echo', {});
  await client.close();
  assert.deepEqual(modern.methods(), ['server/discover', 'tools/call', 'tools/call']);
  assert.ok(modern.requests.every(({ headers }) => sessionOf(headers) === undefined));
});
