/** The web-standard face. */
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createHttp } from '../../../src/http/fetch.ts';
import { startServer } from '../../support/http-server.ts';
import { failureOf } from '../../support/http-client.ts';
import type { FetchLike, Http } from '../../../src/http/types.ts';
import type { TestServer } from '../../support/http-server.ts';

// The platform's fetch is a FetchLike, and so is ours: this must compile.
const platform: FetchLike = globalThis.fetch;
const asFetchLike = (http: Http): FetchLike => http.fetch;

for (const engine of ['node', 'fetch'] as const) {
  describe(`fetch() with engine ${engine}:`, () => {
    const http = createHttp(engine === 'node' ? { environment: {} } : { engine, fetch: platform });
    const fetch = asFetchLike(http);
    let server: TestServer;
    before(async () => {
      server = await startServer(({ url, method, body, headers }, response) => {
        if (url === '/large') { response.end(Buffer.alloc(4 << 20, 'x')); return; }
        if (url === '/none') { response.writeHead(204, { 'x-a': '1' }).end(); return; }
        if (url === '/bom') { response.end('\ufeff{"a":1}'); return; }
        if (url === '/moved') { response.writeHead(307, { location: '/echo', 'set-cookie': ['a=1', 'b=2'] }).end(); return; }
        if (url === '/silent') return;
        response.writeHead(url === '/404' ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, body, x: headers['x'] }));
      });
    });
    after(async () => { http.close(); await server.close(); });

    test('status, url, headers and JSON come back', async () => {
      const response = await fetch(new URL(`${server.origin}/echo`), { method: 'post', headers: { X: '1' }, body: 'b', signal: null });
      assert.deepEqual([response.status, response.ok, response.url], [200, true, `${server.origin}/echo`]);
      assert.equal(response.headers.get('Content-TYPE'), 'application/json');
      assert.equal(response.headers.get('absent'), null);
      assert.deepEqual(await response.json(), { method: 'POST', body: 'b', x: '1' });
      const missing = await fetch(`${server.origin}/404`);
      assert.deepEqual([missing.status, missing.ok], [404, false]);
      await missing.text();
    });
    test('text() drops a byte order mark; a body is read once', async () => {
      const response = await fetch(`${server.origin}/bom`);
      assert.deepEqual(await response.json(), { a: 1 });
      await assert.rejects(response.text(), TypeError);
    });
    test('a status without a body has none', async () => {
      const response = await fetch(`${server.origin}/none`);
      assert.equal(response.body, null);
      assert.equal(await response.text(), '');
      const names: string[] = [];
      response.headers.forEach((value, name) => { if (value === '1') names.push(name); });
      assert.deepEqual(names, ['x-a']);
    });
    test('redirects: followed inside the origin, shown, or refused', async () => {
      assert.equal((await fetch(`${server.origin}/moved`)).url, `${server.origin}/echo`);
      const shown = await fetch(`${server.origin}/moved`, { redirect: 'manual' });
      assert.deepEqual([shown.status, shown.headers.get('location')], [307, '/echo']);
      assert.match(shown.headers.get('set-cookie') ?? '', /b=2/);
      await shown.body?.cancel();
      assert.equal((await failureOf(fetch(`${server.origin}/moved`, { redirect: 'error' }))).code, 'HTTP_STATUS');
      assert.equal((await fetch(`${server.origin}/echo`, { redirect: 'follow' })).status, 200);
    });
    test('a body that nobody reads waits, and comes whole when somebody does', async () => {
      const response = await fetch(`${server.origin}/large`);
      await new Promise((resolve) => setTimeout(resolve, 30));
      assert.equal((await response.text()).length, 4 << 20);
    });
    test('leaving a body early, or cancelling it, ends the exchange', async () => {
      for await (const chunk of (await fetch(`${server.origin}/large`)).body!) { assert.ok(chunk.length > 0); break; }
      const response = await fetch(`${server.origin}/large`);
      await response.body?.cancel();
      await assert.rejects(response.text(), TypeError);
    });
    test('it rejects with a Failure; a signal rejects it too', async () => {
      assert.equal((await failureOf(fetch('nonsense'))).code, 'URL_REFUSED');
      assert.equal((await failureOf(fetch(`${server.origin}/silent`, { signal: AbortSignal.timeout(30) }))).code, 'TIMEOUT');
    });
    test('our own fetch takes a cap and a deadline', async () => {
      const response = await http.fetch(`${server.origin}/large`, { maxBytes: 1000 }).catch((error: unknown) => error as Error);
      assert.ok(response instanceof Error || (await failureOf(response.text())).code === 'LIMIT_EXCEEDED');
      assert.equal((await failureOf(http.fetch(`${server.origin}/silent`, { deadlineMs: 30, stage: 'auth' }))).stage, 'auth');
    });
    test('a body that fails while it is read rejects the reader', async () => {
      const stall = await startServer((_request, response, socket) => { response.writeHead(200, { 'content-length': '10' }).write('x'); setTimeout(() => socket.destroy(), 30); });
      const response = await fetch(stall.origin);
      assert.equal((await failureOf(response.text())).code, 'CONNECTION_CLOSED');
      await stall.close();
    });
  });
}

test('engine fetch calls nothing of a custom fetch before request() returned, and cancels what it started', async () => {
  const calls: string[] = [];
  const http = createHttp({
    engine: 'fetch',
    fetch: (_url, init) => { calls.push('fetch'); init?.signal?.addEventListener('abort', () => calls.push('abort')); return new Promise(() => {}); },
  });
  const quiet = { onHead() {}, onData() {}, onEnd() {}, onFail() {} };
  http.request({ url: 'http://a.example/', ...quiet }).abort();
  const exchange = http.request({ url: 'http://a.example/', ...quiet });
  calls.push('returned');
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(calls, ['returned', 'fetch']);
  exchange.pause();
  exchange.resume();
  assert.equal(exchange.abort(), 'unknown');
  assert.deepEqual(calls, ['returned', 'fetch', 'abort']);
  assert.equal(http.proxyFor('http://a.example/'), undefined);
});

test('engine fetch sends a replay-safe request again when its connection was lost', async () => {
  let calls = 0;
  const lost = Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) });
  const http = createHttp({ engine: 'fetch', fetch: async () => { calls += 1; if (calls % 2 === 1) throw lost; return new Response('ok'); } });
  assert.equal(await (await http.fetch('http://a.example/', { replaySafe: true })).text(), 'ok');
  assert.equal(calls, 2);
  const failure = await failureOf(http.fetch('http://a.example/', { method: 'POST', body: 'x' }));
  assert.deepEqual([failure.code, failure.recovery, calls], ['CONNECTION_CLOSED', 'unknown', 3]);
});
