/** Streams that end before their answer, and the standing stream of the legacy era. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { data, events, json, owned, reach, refusal, result, scripted, startStreamable, textOf, told, type ScriptedServer, type SeenMessage } from '../support/http-fixture.ts';
import { waitFor } from '../support/process.ts';

const gets = (server: ScriptedServer): (string | undefined)[] => server.requests.filter(({ method }) => method === 'GET').map(({ headers }) => headers['last-event-id'] as string | undefined);
/** The 2nd and later GETs resume; the first is the standing stream, which these servers refuse. */
const resuming = (server: ScriptedServer): (string | undefined)[] => gets(server).filter((id) => id !== undefined);

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

// ---- resuming a POST stream

test('a stream that was cut is taken up by GET where it ended, after the time the server wished for (row 96)', async (t) => {
  let call: SeenMessage = {}, endedAt = 0, cameAt = 0;
  const server = await scripted(t, { sessions: ['s1'], on: {
    'tools/call': (message, response) => { call = message; events(response, 'id: e1\nretry: 120\ndata:', `id: e2\n${data({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: message.id, progress: 1 } })}`).end(); endedAt = performance.now(); },
    GET: (_message, response, { headers }) => {
      if (headers['last-event-id'] === undefined) { response.writeHead(405).end(); return; }
      cameAt = performance.now();
      events(response, `id: e3\n${data(result(call, told('late')))}`);
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy', headers: { 'X-Tenant': 'blue' } });
  const steps: number[] = [];
  assert.equal(textOf(await client.callTool('echo', {}, { onProgress: ({ progress }) => steps.push(progress) })), 'late');
  assert.deepEqual([steps, resuming(server)], [[1], ['e2']]);
  assert.ok(cameAt - endedAt >= 110 && cameAt - endedAt < 600, `${cameAt - endedAt} ms`);
  const { headers } = server.requests.find((request) => request.headers['last-event-id'] === 'e2')!;
  assert.deepEqual([headers['mcp-session-id'], headers['mcp-protocol-version'], headers['x-tenant'], headers.accept], ['s1', '2025-11-25', 'blue', 'text/event-stream']);
});

test('a server may let its client come again and again, with or without news, and answer in JSON in the end', async (t) => {
  let call: SeenMessage = {}, visits = 0;
  const server = await scripted(t, { on: {
    'tools/call': (message, response) => { call = message; events(response, 'id: 1\nretry: 1\ndata:').end(); },
    GET: (_message, response, { headers }) => {
      if (headers['last-event-id'] === undefined) { response.writeHead(405).end(); return; }
      if (++visits === 8) json(response, result(call, told('done'))); else events(response, ...(visits === 2 ? ['id: 2\ndata:'] : [])).end();
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  const startedAt = performance.now();
  assert.equal(textOf(await client.callTool('echo', {})), 'done');
  assert.deepEqual(resuming(server), ['1', '1', '2', '2', '2', '2', '2', '2']);
  assert.ok(performance.now() - startedAt >= 8 * 45, 'retry: 1 does not become a busy loop');
});

test('resuming survives a connection that breaks, a busy server and a conflict with the old stream', async (t) => {
  let call: SeenMessage = {}, visits = 0;
  const server = await scripted(t, { on: {
    'tools/call': (message, response) => { call = message; events(response, 'id: 1\nretry: 1\ndata:'); setTimeout(() => response.socket?.destroy(), 20); },
    GET: (_message, response, { headers }) => {
      if (headers['last-event-id'] === undefined) { response.writeHead(405).end(); return; }
      switch (++visits) {
        case 1: response.socket?.destroy(); break;
        case 2: response.writeHead(503).end(); break;
        case 3: response.writeHead(409).end(); break;
        default: events(response, data(result(call, told('made it')))).end();
      }
    },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  assert.equal(textOf(await client.callTool('echo', {})), 'made it');
});

test('a stream that cannot be taken up again is lost promptly: unknown for a call, failed for a listing', async (t) => {
  const cut = (_message: SeenMessage, response: ServerResponse): void => { events(response, 'id: 1\nretry: 1\ndata:').end(); };
  for (const status of [404, 405, 400]) {
    const server = await scripted(t, { on: { 'tools/call': cut, 'tools/list': cut, GET: (_message, response) => { response.writeHead(status).end('no'); } } });
    const { client } = await reach(t, server.url(), { protocol: 'legacy' });
    assert.match((await refusal(client.callTool('echo', {}), 'OUTCOME_UNKNOWN')).message, new RegExp(`cannot be taken up again \\(status ${status}\\)`));
    assert.equal((await refusal(client.listTools(), 'CONNECTION_CLOSED')).recovery, 'retryable');
    assert.equal(resuming(server).length, 2);
  }
});

test('resuming that brings nothing is given up after a few attempts', async (t) => {
  const server = await scripted(t, { on: {
    'tools/call': (_message, response) => { events(response, 'id: 1\nretry: 1\ndata:').end(); },
    GET: (_message, response) => { response.socket?.destroy(); },
  } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  await refusal(client.callTool('echo', {}), 'OUTCOME_UNKNOWN');
  assert.ok(resuming(server).length >= 5 && resuming(server).length <= 12, String(resuming(server).length));
});

test('an id counts when its event had no data and when the cut came right behind it; one that no header can carry does not', async (t) => {
  const rows: readonly (readonly [string, string | undefined])[] = [['id: bare\nretry: 1', 'bare'], ['id: é漢\nretry: 1\ndata:', 'Ã©æ¼¢'], ['id: a\u0001b\nretry: 1\ndata:', undefined]];
  for (const [block, expected] of rows) {
    let call: SeenMessage = {};
    const seen: (string | undefined)[] = [];
    const server = await scripted(t, { on: {
      'tools/call': (message, response) => { call = message; events(response, block); setTimeout(() => response.socket?.destroy(), 20); },
      GET: (_message, response, { headers }) => {
        if (call.id === undefined) { response.writeHead(405).end(); return; }
        seen.push(headers['last-event-id'] as string | undefined);
        events(response, data(result(call, told('again')))).end();
      },
    } });
    const { client } = await reach(t, server.url(), { protocol: 'legacy' });
    assert.equal(textOf(await client.callTool('echo', {})), 'again');
    const bytes = expected === undefined ? undefined : expected === 'Ã©æ¼¢' ? Buffer.from('é漢').toString('latin1') : expected;
    assert.deepEqual(seen, [bytes]);
  }
});

test('without event ids, and in the modern era with them, a stream that ends is lost at once', async (t) => {
  const withIds = (_message: SeenMessage, response: ServerResponse): void => { events(response, 'id: 1\nretry: 1\ndata:').end(); };
  const modern = await scripted(t, { era: 'modern', on: { 'tools/call': withIds, 'tools/list': withIds } });
  const { client } = await reach(t, modern.url());
  await refusal(client.callTool('echo', {}), 'OUTCOME_UNKNOWN');
  assert.equal((await refusal(client.listTools(), 'CONNECTION_CLOSED')).recovery, 'retryable');
  assert.deepEqual(gets(modern), []);
});

test('a call that waits to be resumed can be given up, and nothing is left of it', async (t) => {
  const ended: ServerResponse[] = [];
  const server = await scripted(t, { on: { 'tools/call': (_message, response) => { response.on('close', () => ended.push(response)); events(response, 'id: 1\nretry: 60000\ndata:').end(); } } });
  const before = timers();
  const { client, http } = await reach(t, server.url(), { protocol: 'legacy' });
  const controller = new AbortController();
  const running = refusal(client.callTool('echo', {}, { signal: controller.signal }), 'CANCELED'), closing = refusal(client.callTool('echo', {}), 'CANCELED');
  await waitFor(() => ended.length === 2 && timers() >= before + 2, 'the wait before the next attempt');
  controller.abort();
  await running;
  await client.close();
  await closing;
  http.close();
  await waitFor(() => timers() <= before, 'the end of all timers');
});

test('an answer that comes on another stream than its own ends its own too', async (t) => {
  let stream: ServerResponse | undefined, closed = false;
  const server = await scripted(t, { on: {
    GET: (_message, response) => { stream = events(response, ':'); },
    'tools/call': (message, response) => { response.on('close', () => { closed = true; }); stream!.write(`${data(result(message, told('from elsewhere')))}\n\n`); },
  } });
  const { client, notices } = await reach(t, server.url(), { protocol: 'legacy' });
  await waitFor(() => stream, 'the standing stream');
  assert.equal(textOf(await client.callTool('echo', {})), 'from elsewhere');
  assert.deepEqual(notices, []);
  await client.close();
  await waitFor(() => closed, 'the end of its own');
});

test('answered streams that a server never ends are cut one by one, the oldest first', async (t) => {
  let open = 0, closed = 0;
  const server = await scripted(t, { on: { 'tools/call': (message, response) => { open += 1; response.on('close', () => { closed += 1; }); events(response, data(result(message, told('ok')))); } } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  for (let n = 0; n < 20; n++) await client.callTool('echo', {});
  await waitFor(() => closed === 4, 'the end of the oldest');
  assert.equal(open, 20);
  await client.close();
  await waitFor(() => closed === 20, 'the end of all');
});

test('noise behind the answer, and answers to nobody, cost nothing', async (t) => {
  const server = await scripted(t, { on: { 'tools/call': (message, response) => { events(response, data({ jsonrpc: '2.0', id: 4711, result: {} }), data(result(message, told('ok'))), data({ jsonrpc: '2.0', error: { code: 1, message: 'late' } }), 'data: nonsense').end(); } } });
  const { client, notices } = await reach(t, server.url(), { protocol: 'legacy' });
  assert.equal(textOf(await client.callTool('echo', {})), 'ok');
  await waitFor(() => notices.length === 3, 'all of it');
  assert.deepEqual(notices.map((notice) => (notice.kind === 'unmatched' ? notice.reason : notice.kind)), ['unknown', 'no-id', 'noise']);
});

// ---- the standing stream

test('the standing stream is optional in every form of refusal, and silence', async (t) => {
  const server = owned(t, await startStreamable());
  for (const form of ['no-get', 'get-404', 'get-400', 'get-406', 'get-501', 'get-500', 'get-hang', 'get-json']) {
    const { client, notices } = await reach(t, server.url(`/legacy/json/${form}`));
    const count = (): number => server.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(form)).length;
    await waitFor(() => count() === 1, `the GET of ${form}`);
    assert.equal(textOf(await client.callTool('add', { a: 1, b: 2 })), '3', form);
    assert.deepEqual(notices, [], form);
    await client.close();
    assert.equal(count(), 1, `${form} is final, or waits`);
  }
});

test('the standing stream comes back where it ended, in the server\'s own time, and brings changes', async (t) => {
  let visits = 0;
  const server = await scripted(t, { capabilities: { tools: { listChanged: true } }, on: { GET: (_message, response) => {
    switch (++visits) {
      case 1: events(response, 'id: g1\nretry: 60\ndata:').end(); break;
      case 2: response.writeHead(429, { 'retry-after': '0' }).end(); break;
      case 3: response.writeHead(409).end(); break;
      default: events(response, `id: g2\nretry: 60\n${data({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}`);
    }
  } } });
  const { client } = await reach(t, server.url(), { protocol: 'legacy' });
  const changed = new Promise<string>((resolve) => { client.on((event) => { if (event.kind === 'list_changed') resolve(event.list); }); });
  // After a refusal it waits longer: 2.25 s at the third attempt.
  assert.equal(await changed, 'tools');
  assert.deepEqual(gets(server), [undefined, 'g1', 'g1', 'g1']);
});

test('close() ends the wait for the standing stream, and no timer is left', async (t) => {
  let visits = 0;
  const server = await scripted(t, { on: { GET: (_message, response) => { visits += 1; response.socket?.destroy(); } } });
  const before = timers();
  const { client, http } = await reach(t, server.url(), { protocol: 'legacy' });
  await waitFor(() => visits === 2, 'the GET, sent again at once');
  await client.ping();
  await client.close();
  http.close();
  await waitFor(() => timers() <= before, 'the end of all timers');
  assert.equal(visits, 2);
});
