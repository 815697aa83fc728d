/** What a client promises on both engines, told by servers whose paths are behaviours. */
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import * as zlib from 'node:zlib';
import { delay } from '../../../src/base/deadline.ts';
import { Failure } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import { createHttp } from '../../../src/http/fetch.ts';
import { freePort, pem, startRaw, startServer } from '../../support/http-server.ts';
import { failureOf, receive } from '../../support/http-client.ts';
import type { Exchange, Http, HttpOptions } from '../../../src/http/types.ts';
import type { Handler, TestServer } from '../../support/http-server.ts';

const fail = (): never => assert.fail('called');
const never = { onHead: fail, onData: fail, onEnd: fail, onFail: fail };
const text = 'some text, é 漢 😀 '.repeat(300);
const coded = (coding: string, body: Buffer): Handler => (_request, response) => { response.writeHead(200, { 'content-encoding': coding, 'content-type': 'text/plain' }).end(body); };
const endless: Handler = (_request, response) => {
  const more = (): void => { while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x'))); };
  response.on('drain', more);
  more();
};
const status = (code: number, headers: Record<string, string> = {}, body = ''): Handler => (_request, response) => { response.writeHead(code, headers).end(body); };

const behaviours: Readonly<Record<string, Handler>> = {
  '/echo': ({ method, headers, body }, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-twice': ['a', 'b'] }).end(JSON.stringify({ method, headers, body }));
  },
  '/gzip': coded('gzip', zlib.gzipSync(text)),
  '/x-gzip': coded('x-gzip', zlib.gzipSync(text)),
  '/deflate': coded('deflate', zlib.deflateSync(text)),
  '/br': coded('br', zlib.brotliCompressSync(text)),
  '/identity': coded('identity', Buffer.from(text)),
  '/double': coded('gzip, gzip', zlib.gzipSync(zlib.gzipSync(text))),
  '/zstd9': coded('zstd9', Buffer.from(text)),
  '/five': coded('gzip, gzip, gzip, gzip, gzip', Buffer.from(text)),
  '/not-gzip': coded('gzip', Buffer.from(text)),
  '/no-content': status(204),
  '/empty-gzip': coded('gzip', Buffer.alloc(0)),
  '/bomb': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    const gzip = zlib.createGzip({ level: 9 });
    gzip.on('error', () => {}).pipe(response);
    response.on('close', () => gzip.destroy());
    const block = Buffer.alloc(1 << 20);
    let left = 256;
    const more = (): void => { if (left-- > 0) gzip.write(block, more); else gzip.end(); };
    more();
  },
  '/endless': endless,
  '/endless-error': (request, response, socket) => { response.statusCode = 500; endless(request, response, socket); },
  '/endless-redirect': (request, response, socket) => { response.writeHead(307, { location: '/echo' }); endless(request, response, socket); },
  '/announced': status(200, { 'content-length': '2000' }, 'x'.repeat(2000)),
  '/large-event': (_request, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${'x'.repeat(5000)}\n\n`); },
  '/silent': () => {},
  '/drip': (_request, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  },
  '/head-then-silence': (_request, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n'); },
  '/cut': (_request, response, socket) => { response.writeHead(200, { 'content-length': '100', 'content-type': 'application/json' }).write('{"a":'); setTimeout(() => socket.destroy(), 30); },
  '/cut-chunked': (_request, response, socket) => { response.writeHead(200).write('{"a":'); setTimeout(() => socket.destroy(), 30); },
  '/cut-gzip': (_request, response) => { response.writeHead(200, { 'content-encoding': 'gzip' }).end(zlib.gzipSync(text).subarray(0, 60)); },
  '/reset': (_request, _response, socket) => { socket.resetAndDestroy(); },
  '/hang-up': (_request, _response, socket) => { socket.destroy(); },
  '/huge-headers': (_request, response) => { response.writeHead(200, { 'x-huge': 'x'.repeat(200_000) }).end(); },
  '/307': status(307, { location: '/echo?x=1' }, 'moved'),
  '/308': status(308, { location: './echo#there' }),
  '/301': status(301, { location: '/echo?token=secret' }),
  '/302': status(302, { location: '/echo' }),
  '/304': status(304),
  '/300': status(300, {}, 'choose'),
  '/loop': status(307, { location: '/loop' }),
  '/nowhere': status(307, { location: 'http://[' }),
  '/userinfo': (request, response) => { response.writeHead(307, { location: `http://user:secret@${request.headers.host}/echo` }).end(); },
  '/cut-redirect': (_request, response, socket) => { response.writeHead(307, { location: '/echo', 'content-length': '50' }).write('x'); setTimeout(() => socket.destroy(), 20); },
  '/404': status(404, { 'content-type': 'application/json' }, '{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}'),
};

for (const engine of ['node', 'fetch'] as const) {
  describe(`createHttp() with engine ${engine}:`, () => {
    const options: HttpOptions = engine === 'node' ? { engine, environment: {} } : { engine };
    const http: Http = createHttp(options);
    let server: TestServer, other: TestServer;
    const at = (path: string): string => `${server.origin}${path}`;
    before(async () => {
      other = await startServer(behaviours['/echo']!);
      server = await startServer((request, response, socket) => {
        const path = request.url.replace(/\?.*$/, '');
        if (path === '/cross') response.writeHead(307, { location: `${other.origin}/echo?code=1` }).end();
        else if (path === '/https') response.writeHead(308, { location: `https://${request.headers.host}/echo` }).end();
        else (behaviours[path] ?? status(404))(request, response, socket);
      });
    });
    after(async () => { http.close(); await server.close(); await other.close(); });

    test('request() carries method, headers and body there, status, headers and body back', async () => {
      const answer = await receive(http, { url: at('/echo'), method: 'POST', headers: { 'X-One': '1', Authorization: 'Bearer t', 'Content-Length': '999', Host: 'evil', 'content-type': 'application/json' }, body: '{"é":1}' });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.equal(answer.headers['x-twice'], 'a, b');
      assert.equal(answer.url, at('/echo'));
      assert.equal(answer.truncated, false);
      const seen = JSON.parse(answer.body) as { method: string; headers: Record<string, string>; body: string };
      assert.equal(seen.method, 'POST');
      assert.equal(seen.body, '{"é":1}');
      assert.equal(seen.headers['x-one'], '1');
      assert.equal(seen.headers['authorization'], 'Bearer t');
      assert.equal(seen.headers['content-length'], '8');
      assert.equal(seen.headers['host'], `127.0.0.1:${server.port}`);
    });

    test('request() sends bytes, empty bodies and methods without a body', async () => {
      const sent = async (method: string, body?: Uint8Array): Promise<string> => (JSON.parse((await receive(http, { url: new URL(at('/echo')), method, ...(body && { body }) })).body) as { body: string }).body;
      assert.equal(await sent('PUT', Buffer.from('bytes')), 'bytes');
      assert.equal(await sent('POST'), '');
      assert.equal(await sent('DELETE'), '');
      assert.equal(await sent('GET'), '');
    });

    test('request() asks for a pure event stream uncompressed, for anything else compressed', async () => {
      const asked = async (headers: Record<string, string>): Promise<string | undefined> => (JSON.parse((await receive(http, { url: at('/echo'), headers })).body) as { headers: Record<string, string> }).headers['accept-encoding'];
      assert.equal(await asked({ Accept: 'text/event-stream' }), 'identity');
      assert.match(await asked({ Accept: 'application/json, text/event-stream' }) ?? '', /gzip/);
      assert.match(await asked({}) ?? '', /gzip/);
      assert.equal(await asked({ Accept: 'text/event-stream', 'accept-encoding': 'br' }), 'br');
    });

    test('request() calls nothing before it returned, and the ending once', async () => {
      const calls: string[] = [];
      await new Promise<void>((resolve) => {
        http.request({ url: at('/echo'), onHead: () => calls.push('head'), onData: () => calls.push('data'), onEnd: () => { calls.push('end'); resolve(); }, onFail: () => calls.push('fail') });
        calls.push('returned');
      });
      assert.deepEqual(calls, ['returned', 'head', 'data', 'end']);
      const bad: string[] = [];
      await new Promise<void>((resolve) => {
        http.request({ url: 'ftp://x/', onHead() {}, onData() {}, onEnd() {}, onFail: ({ code }) => { bad.push(code); resolve(); } });
        bad.push('returned');
      });
      assert.deepEqual(bad, ['returned', 'URL_REFUSED']);
    });

    for (const path of ['/gzip', '/x-gzip', '/deflate', '/br', '/double', '/identity']) {
      test(`request() decodes ${path}`, async () => { assert.equal((await receive(http, { url: at(path) })).body, text); });
    }
    test('request() takes an empty body for one, whatever coding it names', async () => {
      assert.equal((await receive(http, { url: at('/no-content') })).status, 204);
      if (engine === 'node') assert.equal((await receive(http, { url: at('/empty-gzip') })).body, '');
    });
    test('request() names a coding that it cannot take off', async () => {
      const failure = await failureOf(receive(http, { url: at('/zstd9') }));
      assert.equal(failure.code, 'PROTOCOL_VIOLATION');
      assert.match(failure.message, /encoded as "zstd9"/);
      assert.match((await failureOf(receive(http, { url: at('/five') }))).message, /encoded 5 times/);
    });
    test('request() says that a compressed body is broken', async () => {
      for (const path of engine === 'node' ? ['/not-gzip', '/cut-gzip'] : ['/not-gzip']) {
        const failure = await failureOf(receive(http, { url: at(path) }));
        assert.ok(['PROTOCOL_VIOLATION', 'CONNECTION_CLOSED'].includes(failure.code), failure.code);
        if (engine === 'node') assert.match(failure.message, /compressed body is broken or cut/);
      }
    });

    test('request() stops a gzip bomb at the cap with bounded memory', async () => {
      const before = process.memoryUsage.rss();
      let bytes = 0;
      const failure = await failureOf(receive(http, { url: at('/bomb'), maxBytes: 1 << 20, onData: (chunk) => { bytes += chunk.length; } }));
      assert.equal(failure.code, 'LIMIT_EXCEEDED');
      assert.deepEqual(failure.details, { limit: 'HTTP body', maximum: 1 << 20 });
      assert.ok(bytes <= 1 << 20);
      assert.ok(process.memoryUsage.rss() - before < 120 << 20);
    });
    test('request() stops an endless body at the cap', async () => {
      const failure = await failureOf(receive(http, { url: at('/endless'), maxBytes: 100_000, stage: 'list' }));
      assert.equal(failure.code, 'LIMIT_EXCEEDED');
      assert.equal(failure.stage, 'list');
    });
    test('request() refuses a body that announces more than the cap without reading it', async () => {
      let heads = 0;
      const failure = await failureOf(receive(http, { url: at('/announced'), maxBytes: 1999, onHead: () => { heads += 1; } }));
      assert.equal(failure.code, 'LIMIT_EXCEEDED');
      assert.equal(heads, 0);
      assert.equal((await receive(http, { url: at('/announced'), maxBytes: 2000 })).body.length, 2000);
    });
    test('request() cuts the body of an error status instead of failing', async () => {
      const answer = await receive(http, { url: at('/endless-error') });
      assert.equal(answer.status, 500);
      assert.equal(answer.truncated, true);
      assert.equal(answer.body.length, limits.httpErrorBodyBytes);
      assert.equal((await receive(http, { url: at('/endless-error'), maxBytes: 10 })).body.length, 10);
    });
    test('request() caps an event stream only when told to', async () => {
      assert.equal((await receive(http, { url: at('/large-event') })).body.length, 5008);
      assert.equal((await failureOf(receive(http, { url: at('/large-event'), maxBytes: 100 }))).code, 'LIMIT_EXCEEDED');
    });
    test('request() hands an error status with its body over like any other', async () => {
      const answer = await receive(http, { url: at('/404') });
      assert.equal(answer.status, 404);
      assert.match(answer.body, /-32601/);
    });

    test('request() follows 307 and 308 inside the origin with method, body and headers', async () => {
      for (const [path, url] of [['/307', '/echo?x=1'], ['/308', '/echo'], ['/endless-redirect', '/echo'], ['/cut-redirect', '/echo']] as const) {
        const answer = await receive(http, { url: at(path), method: 'POST', headers: { authorization: 'Bearer t', 'mcp-session-id': 's' }, body: 'hello' });
        const seen = JSON.parse(answer.body) as { method: string; headers: Record<string, string>; body: string };
        assert.deepEqual([seen.method, seen.body, seen.headers['authorization'], seen.headers['mcp-session-id']], ['POST', 'hello', 'Bearer t', 's']);
        assert.equal(answer.url, at(url));
      }
    });
    test('request() refuses a redirect to another origin, which sees nothing (row 100)', async () => {
      const failure = await failureOf(receive(http, { url: at('/cross'), method: 'POST', headers: { authorization: 'Bearer t' }, body: 'x' }));
      assert.equal(failure.code, 'URL_REFUSED');
      assert.ok(failure.message.includes(other.origin));
      assert.ok(!failure.message.includes('code=1'));
      assert.equal(other.requests.length, 0);
      assert.equal((await failureOf(receive(http, { url: at('/https') }))).code, 'URL_REFUSED');
    });
    test('request() fails other redirects and names where they point', async () => {
      for (const path of ['/301', '/302']) {
        const failure = await failureOf(receive(http, { url: at(path), method: 'POST', body: 'x' }));
        assert.equal(failure.code, 'HTTP_STATUS');
        assert.ok(failure.message.includes(at('/echo')), failure.message);
        assert.ok(!`${failure.message} ${failure.hint}`.includes('secret'));
      }
    });
    test('request() ends a redirect loop', async () => {
      const seen = server.requests.length;
      const failure = await failureOf(receive(http, { url: at('/loop'), method: 'POST', body: 'x' }));
      assert.equal(failure.code, 'LIMIT_EXCEEDED');
      assert.equal(server.requests.length - seen, 1 + limits.httpRedirects);
    });
    test('request() fails a redirect to nothing readable or with credentials', async () => {
      assert.match((await failureOf(receive(http, { url: at('/nowhere') }))).message, /no readable address/);
      const failure = await failureOf(receive(http, { url: at('/userinfo') }));
      assert.equal(failure.code, 'URL_REFUSED');
      assert.ok(!failure.message.includes('secret'));
    });
    test('request() leaves a 3xx to the caller when asked, and one without a location always', async () => {
      const answer = await receive(http, { url: at('/307'), redirect: 'manual' });
      assert.deepEqual([answer.status, answer.headers['location']], [307, '/echo?x=1']);
      assert.equal((await receive(http, { url: at('/300') })).status, 300);
      assert.equal((await receive(http, { url: at('/304') })).status, 304);
      assert.equal((await failureOf(receive(http, { url: at('/307'), redirect: 'error' }))).code, 'HTTP_STATUS');
    });

    test('request() gives up when no head comes in time', async () => {
      for (const budget of [{ headMs: 60 }, { deadlineMs: 60 }]) {
        const failure = await failureOf(receive(http, { url: at('/silent'), method: 'POST', body: 'x', ...budget }));
        assert.equal(failure.code, 'TIMEOUT');
        assert.deepEqual(failure.details, { afterMs: 60, sent: 'unknown' });
        assert.equal(failure.recovery, 'unknown');
      }
      assert.equal((await failureOf(receive(http, { url: at('/silent'), headMs: 30, replaySafe: true }))).recovery, 'retryable');
    });
    test('request() gives up on a body that drips past the deadline, not on a stream that only has a head limit', async () => {
      const failure = await failureOf(receive(http, { url: at('/drip'), deadlineMs: 120 }));
      assert.equal(failure.code, 'TIMEOUT');
      assert.equal((failure.details as { sent?: string }).sent, 'yes');
      let exchange: Exchange | undefined, chunks = 0;
      await new Promise<void>((resolve, reject) => {
        receive(http, { url: at('/drip'), headMs: 40, onData: () => { chunks += 1; if (chunks === 8) resolve(); } }, (its) => { exchange = its; }).catch(reject);
      });
      exchange?.abort();
    });
    test('request() hands on the first bytes of a stream while it goes on', async () => {
      let exchange: Exchange | undefined;
      const first = await new Promise<string>((resolve, reject) => {
        receive(http, { url: at('/head-then-silence'), onData: (chunk) => resolve(Buffer.from(chunk).toString()) }, (its) => { exchange = its; }).catch(reject);
      });
      assert.equal(first, ': hello\n\n');
      assert.equal(exchange?.abort(), 'yes');
      assert.equal(exchange?.abort(), 'yes', 'twice does no harm');
    });

    test('abort() ends it without another call, and the server sees the connection close', async () => {
      const calls: string[] = [];
      let exchange: Exchange | undefined;
      const closed = new Promise<void>((resolve) => {
        const requests = server.requests.length;
        const look = setInterval(() => {
          if (server.requests.length === requests) return;
          clearInterval(look);
          exchange?.abort();
          resolve();
        }, 5);
      });
      exchange = http.request({ url: at('/silent'), onHead: () => calls.push('head'), onData: () => calls.push('data'), onEnd: () => calls.push('end'), onFail: () => calls.push('fail') });
      await closed;
      await receive(http, { url: at('/echo') });
      assert.deepEqual(calls, []);
    });
    test('abort() at once leaves nothing behind', async () => {
      const exchange = http.request({ url: at('/echo'), ...never });
      assert.ok(['no', 'unknown'].includes(exchange.abort()));
      http.request({ url: 'nonsense', ...never }).abort();
      await receive(http, { url: at('/echo') });
    });
    test('a signal ends a request with CANCELED, with its own failure, or as a timeout', async () => {
      const ended = (reason?: unknown): Promise<Failure> => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(reason), 30);
        return failureOf(receive(http, { url: at('/silent'), signal: controller.signal })) as Promise<Failure>;
      };
      assert.equal((await ended()).code, 'CANCELED');
      const own = new Failure('INTERNAL', 'x', { stage: 'call', details: {} });
      assert.equal(await ended(own), own);
      assert.equal((await ended(new DOMException('late', 'TimeoutError'))).code, 'TIMEOUT');
      assert.equal((await failureOf(receive(http, { url: at('/echo'), signal: AbortSignal.abort() }))).code, 'CANCELED');
    });
    test('a signal shared by many requests keeps no listener', async () => {
      const { signal } = new AbortController();
      for (let i = 0; i < 50; i++) await receive(http, { url: at('/echo'), signal, deadlineMs: 5000 });
      await failureOf(receive(http, { url: at('/hang-up'), signal }));
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    });

    test('request() says that an answer was cut', async () => {
      for (const path of ['/cut', '/cut-chunked']) {
        const failure = await failureOf(receive(http, { url: at(path), method: 'POST', body: 'x' }));
        assert.equal(failure.code, 'CONNECTION_CLOSED');
        assert.deepEqual(failure.details, { sent: 'yes' });
        assert.equal(failure.recovery, 'unknown');
        assert.match(failure.message, /in the middle of the answer/);
      }
    });
    test('request() does not claim to know what became of a request without an answer', async () => {
      for (const path of ['/reset', '/hang-up']) {
        const seen = server.requests.length;
        const failure = await failureOf(receive(http, { url: at(path), method: 'POST', body: 'x' }));
        assert.equal(failure.code, 'CONNECTION_CLOSED');
        assert.deepEqual(failure.details, { sent: 'unknown' });
        assert.equal(failure.recovery, 'unknown');
        assert.equal(server.requests.length - seen, 1, 'sent once');
      }
    });
    test('request() names address, reason and remedy when nobody listens', async () => {
      const port = await freePort();
      const failure = await failureOf(receive(http, { url: `http://127.0.0.1:${port}/mcp?key=secret` }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.equal(failure.stage, 'connect');
      assert.equal(failure.recovery, 'retryable');
      assert.deepEqual(failure.details, { address: `127.0.0.1:${port}`, system: 'ECONNREFUSED' });
      assert.match(failure.message, /nothing listens there/);
      assert.match(failure.hint ?? '', /Start the server/);
      assert.ok(!failure.message.includes('secret'));
    });
    test('request() says that a host name is unknown', async () => {
      const failure = await failureOf(receive(http, { url: 'http://no-such-host.invalid/mcp', headMs: 8000 }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.match(failure.message, /no such host name|name service/);
    });
    test('request() bounds the response head', async () => {
      const failure = await failureOf(receive(http, { url: at('/huge-headers') }));
      assert.equal(failure.code, 'LIMIT_EXCEEDED');
      assert.match(failure.message, /response head/);
    });
    test('request() says that something else than HTTP answers', async () => {
      const raw = await startRaw((socket) => { socket.end('220 mail.example ESMTP\r\n'); });
      const failure = await failureOf(receive(http, { url: `${raw.origin}/` }));
      assert.equal(failure.code, 'PROTOCOL_VIOLATION');
      assert.match(failure.message, /not HTTP/);
      await raw.close();
    });
    test('request() names a header that HTTP does not allow, never its value', async () => {
      const failure = await failureOf(receive(http, { url: at('/echo'), headers: { 'X-Key': 'hunter2\nhunter3' } }));
      assert.equal(failure.code, 'CONFIG_INVALID');
      assert.ok(!`${failure.message}${failure.hint}${JSON.stringify(failure.details)}${String(failure.cause)}`.includes('hunter'));
      if (engine === 'node') assert.match(failure.message, /X-Key/);
    });

    for (const [url, why] of [['ftp://x/', /only http and https/], ['file:///etc/passwd', /only http and https/], ['http://user:secret@x/', /user name or password/], ['//x', /absolute/], ['', /absolute/]] as const) {
      test(`request() refuses the URL "${url}"`, async () => {
        const failure = await failureOf(receive(http, { url }));
        assert.equal(failure.code, 'URL_REFUSED');
        assert.match(failure.message, why);
        assert.ok(!failure.message.includes('secret'));
      });
    }

    for (const [name, cert, key, reason] of [
      ['self-signed', 'self-signed.pem', 'self-signed.key', /self-signed/],
      ['of an unknown authority', 'server.pem', 'server.key', /authority that is not (known|trusted)/],
    ] as const) {
      test(`request() refuses a certificate ${name} and says how to trust it`, async () => {
        const tls = await startServer(behaviours['/echo']!, { tls: { cert: pem(cert), key: pem(key) } });
        const failure = await failureOf(receive(http, { url: tls.origin }));
        assert.equal(failure.code, 'CONNECT_FAILED');
        assert.equal(failure.recovery, 'blocked');
        assert.match(failure.message, reason);
        assert.match(failure.hint ?? '', /caFile/);
        assert.match(failure.hint ?? '', /NODE_EXTRA_CA_CERTS/);
        assert.equal(tls.requests.length, 0);
        await tls.close();
      });
    }
    test('request() says that a port does not speak TLS', async () => {
      const failure = await failureOf(receive(http, { url: `https://127.0.0.1:${server.port}/` }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.match(failure.message, /does not speak TLS/);
    });

    test('pause() makes the peer wait, resume() goes on', async () => {
      const block = Buffer.alloc(64 * 1024, 'x');
      let written = 0;
      const source = await startServer((_request, response) => {
        const more = (): void => { while (written < 64 << 20 && !response.destroyed) { written += block.length; if (!response.write(block)) { response.once('drain', more); return; } } response.end(); };
        more();
      });
      let exchange: Exchange | undefined, received = 0;
      const whole = receive(http, { url: source.origin, maxBytes: 1 << 30, onData(chunk) { if (received === 0) { exchange?.pause(); exchange?.pause(); setTimeout(() => { stalled = received; exchange?.resume(); }, 150); } received += chunk.length; } }, (its) => { exchange = its; });
      let stalled = -1;
      await whole;
      assert.ok(stalled < 8 << 20, `${stalled} bytes came while paused`);
      assert.equal(received, written);
      await source.close();
    });

    test('close() fails what runs and what comes later with CANCELED', async () => {
      const mine = createHttp(options);
      const running = failureOf(receive(mine, { url: at('/silent') }));
      await delay(50);
      mine.close();
      assert.equal((await running).code, 'CANCELED');
      assert.equal((await failureOf(receive(mine, { url: at('/echo') }))).code, 'CANCELED');
      mine.close();
    });
  });
}
