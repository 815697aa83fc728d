/** What only our own engine does: connections kept, given up and made again; certificates; address policy. */
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type * as net from 'node:net';
import * as zlib from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { delay } from '../../../src/base/deadline.ts';
import { limits } from '../../../src/base/limits.ts';
import { createHttp } from '../../../src/http/fetch.ts';
import { freePort, hasIpv6, pem, startRaw, startServer } from '../../support/http-server.ts';
import { failureOf, receive } from '../../support/http-client.ts';
import type { ConnectionFacts, Exchange, Http } from '../../../src/http/types.ts';
import type { Handler, TestServer } from '../../support/http-server.ts';

const echo: Handler = ({ url, body }, response) => { response.writeHead(200, { 'content-type': 'text/plain' }).end(`${url} ${body}`); };
const answer = (body: string, extra = ''): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${extra}\r\n${body}`;
const environment = {};

/** Runs a line or two in a process of its own; what it printed and its exit status. */
async function runScript(text: string, variables: Record<string, string> = {}): Promise<[printed: string, code: number]> {
  const script = `import { createHttp } from ${JSON.stringify(new URL('../../../src/http/fetch.ts', import.meta.url).href)};\n${text}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)), stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...variables },
  });
  let printed = '';
  child.stdout.on('data', (chunk) => { printed += String(chunk); });
  const [code] = await once(child, 'close') as [number];
  return [printed.trim(), code];
}

describe('connections:', () => {
  test('request() keeps one connection for requests in a row, and none for long after close()', async () => {
    const server = await startServer(echo);
    const http = createHttp({ environment });
    for (let i = 0; i < 20; i++) await receive(http, { url: `${server.origin}/${i}`, method: 'POST', body: 'x' });
    assert.equal(server.connections(), 1);
    http.close();
    await server.quiet();
    await server.close();
  });

  test('request() leaves no listener or socket behind over 10,000 requests, 50 at a time', async () => {
    const server = await startRaw((socket) => {
      let waiting = '';
      socket.on('data', (chunk) => {
        waiting += chunk.toString('latin1');
        for (let end = waiting.indexOf('\r\n\r\n'); end >= 0; end = waiting.indexOf('\r\n\r\n')) { waiting = waiting.slice(end + 4); socket.write(answer('ok')); }
      });
    });
    const http = createHttp({ environment });
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => { warnings.push(warning); };
    process.on('warning', onWarning);
    const { signal } = new AbortController();
    let left = 10_000;
    await Promise.all(Array.from({ length: 50 }, async () => { while (left-- > 0) assert.equal((await receive(http, { url: server.origin, signal, deadlineMs: 30_000 })).body, 'ok'); }));
    process.off('warning', onWarning);
    assert.deepEqual(warnings, []);
    assert.ok(server.connections() <= 50, `${server.connections()} connections`);
    http.close();
    await server.quiet();
    await server.close();
  });

  test('an idle connection does not keep the process alive', async () => {
    const server = await startServer(echo);
    const [printed, code] = await runScript(`createHttp({ environment: {} }).request({ url: ${JSON.stringify(server.origin)}, onHead() {}, onData() {}, onEnd() { console.log('done'); }, onFail(failure) { console.log(failure.message); } });`);
    assert.deepEqual([printed, code], ['done', 0]);
    await server.close();
  });

  /** Answers the first request of each connection; the second one is met by `meet`. Later connections answer always. */
  const dyingServer = (meet: (socket: net.Socket) => void): Promise<TestServer> => startRaw((socket, nth) => {
    let served = 0;
    socket.on('data', () => {
      served += 1;
      if (nth === 1 && served === 2) meet(socket);
      else socket.write(answer(`connection ${nth}`));
    });
  });
  for (const [name, meet] of [['reset', (socket: net.Socket) => socket.resetAndDestroy()], ['closed', (socket: net.Socket) => socket.destroy()]] as const) {
    test(`a request whose kept connection is ${name} under it goes out again when that does no harm`, async () => {
      const server = await dyingServer(meet);
      const http = createHttp({ environment });
      await receive(http, { url: server.origin });
      assert.equal((await receive(http, { url: server.origin, method: 'POST', body: 'x', replaySafe: true })).body, 'connection 2');
      http.close();
      await server.close();
    });
    test(`a request whose kept connection is ${name} under it is not repeated otherwise`, async () => {
      const server = await dyingServer(meet);
      const http = createHttp({ environment });
      await receive(http, { url: server.origin });
      const failure = await failureOf(receive(http, { url: server.origin, method: 'POST', body: 'x' }));
      assert.equal(failure.code, 'CONNECTION_CLOSED');
      assert.deepEqual(failure.details, { sent: 'unknown' });
      assert.equal(failure.recovery, 'unknown');
      assert.equal(server.connections(), 1);
      http.close();
      await server.close();
    });
  }
  test('a repeat is made once, and only for a connection that served before', async () => {
    const server = await startRaw((socket, nth) => {
      let served = 0;
      socket.on('data', () => { served += 1; if (nth === 1 && served === 1) socket.write(answer('first')); else socket.destroy(); });
    });
    const http = createHttp({ environment });
    await receive(http, { url: server.origin });
    const failure = await failureOf(receive(http, { url: server.origin, replaySafe: true }));
    assert.equal(failure.code, 'CONNECTION_CLOSED');
    assert.equal(failure.recovery, 'retryable');
    assert.equal(server.connections(), 2);
    await failureOf(receive(http, { url: server.origin, replaySafe: true }));
    assert.equal(server.connections(), 3, 'a fresh connection that dies is no stale one');
    http.close();
    await server.close();
  });
  test('a server restarted between two calls is reached on a new connection', async () => {
    const first = await startServer(echo);
    const http = createHttp({ environment });
    await receive(http, { url: first.origin });
    await first.close();
    const second = await startServer(echo, { port: first.port });
    await delay(10);
    assert.equal((await receive(http, { url: `${second.origin}/again`, method: 'POST', body: 'x' })).body, '/again x');
    http.close();
    await second.close();
  });
  test('a connection that ended while nobody looked is not used for what must not run twice', async () => {
    const accepted: net.Socket[] = [];
    const server = await startRaw((socket, nth) => { accepted.push(socket); socket.on('data', () => socket.write(answer(`connection ${nth}`))); });
    const http = createHttp({ environment });
    await receive(http, { url: server.origin });
    await delay(10);
    accepted[0]!.destroy();
    assert.equal((await receive(http, { url: server.origin, method: 'POST', body: 'x' })).body, 'connection 2');
    await delay(10);
    const calls: string[] = [];
    const exchange = http.request({ url: server.origin, method: 'POST', body: 'x', onHead: () => calls.push('head'), onData: () => calls.push('data'), onEnd: () => calls.push('end'), onFail: () => calls.push('fail') });
    exchange.pause();
    exchange.resume();
    assert.equal(exchange.abort(), 'no');
    await delay(20);
    assert.deepEqual(calls, []);
    http.close();
    await server.close();
  });
  test('a connection is given up before the server gives it up', async () => {
    const hint = async (keepAlive: string): Promise<number> => {
      const server = await startRaw((socket) => { socket.on('data', () => socket.write(answer('ok', `Keep-Alive: ${keepAlive}\r\n`))); });
      const http = createHttp({ environment });
      await receive(http, { url: server.origin });
      await delay(10);
      await receive(http, { url: server.origin });
      http.close();
      await server.close();
      return server.connections();
    };
    assert.equal(await hint('timeout=1'), 2, 'too short to be kept');
    assert.equal(await hint('max=5, timeout=60'), 1);
    assert.equal(await hint('max=5'), 1);
  });
  test('an idle connection is closed a second before the server would', async () => {
    const server = await startRaw((socket) => { socket.on('data', () => socket.write(answer('ok', 'Keep-Alive: timeout=2\r\n'))); });
    const http = createHttp({ environment });
    await receive(http, { url: server.origin });
    const startedAt = performance.now();
    await server.quiet();
    const ms = performance.now() - startedAt;
    assert.ok(ms > 500 && ms < 1900, `${ms.toFixed(0)} ms`);
    http.close();
    await server.close();
  });
  test('more requests than connections wait for one', async () => {
    const server = await startServer(() => {});
    const http = createHttp({ environment });
    const all = Array.from({ length: limits.httpSockets + 20 }, () => failureOf(receive(http, { url: server.origin, method: 'POST', body: 'x' })));
    while (server.requests.length < limits.httpSockets) await delay(5);
    await delay(20);
    assert.equal(server.connections(), limits.httpSockets);
    http.close();
    const sent = (await Promise.all(all)).map(({ details }) => (details as { sent?: string }).sent);
    assert.equal(sent.filter((how) => how === 'no').length, 20, 'those that waited have surely not left');
    await server.close();
  });
  test('a server that closes after each answer is taken as it is', async () => {
    const server = await startServer((_request, response) => { response.writeHead(200, { connection: 'close' }).end('x'); });
    const http = createHttp({ environment });
    for (let i = 0; i < 3; i++) assert.equal((await receive(http, { url: server.origin })).body, 'x');
    assert.equal(server.connections(), 3);
    http.close();
    await server.close();
  });
  test('an interim response is no answer', async () => {
    const server = await startRaw((socket) => { socket.on('data', () => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n${answer('ok')}`)); });
    const http = createHttp({ environment });
    assert.equal((await receive(http, { url: server.origin })).body, 'ok');
    http.close();
    await server.close();
  });
  test('a request that waits for its connection has surely not left', async () => {
    // The tunnel never opens: the proxy says nothing.
    const silent = await startRaw((socket) => { socket.resume(); });
    const http = createHttp({ environment: { https_proxy: silent.origin } });
    const failure = await failureOf(receive(http, { url: 'https://mcp.example/', headMs: 60 }));
    assert.equal(failure.code, 'TIMEOUT');
    assert.deepEqual(failure.details, { afterMs: 60, sent: 'no' });
    assert.equal(failure.recovery, 'retryable');
    assert.equal(failure.stage, 'connect');
    http.close();
    await silent.quiet();
    await silent.close();
  });
});

describe('bodies:', () => {
  test('a bare deflate stream is decoded too', async () => {
    const server = await startServer((_request, response) => { response.writeHead(200, { 'content-encoding': 'deflate' }).end(zlib.deflateRawSync('raw '.repeat(100))); });
    const http = createHttp({ environment });
    assert.equal((await receive(http, { url: server.origin })).body, 'raw '.repeat(100));
    http.close();
    await server.close();
  });
  for (const coding of ['gzip', 'br'] as const) {
    test(`events arrive one by one through ${coding}`, async () => {
      let next: (() => void) | undefined;
      const server = await startServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding });
        const stream = coding === 'gzip' ? zlib.createGzip() : zlib.createBrotliCompress();
        stream.pipe(response);
        response.on('close', () => stream.destroy());
        next = () => { stream.write('data: x\n\n'); stream.flush(() => {}); };
        next();
      });
      const http = createHttp({ environment });
      let seen = 0;
      await new Promise<void>((resolve, reject) => {
        receive(http, { url: server.origin, onData() { seen += 1; if (seen === 3) resolve(); else next?.(); } }).catch(reject);
      }).finally(() => http.close());
      assert.equal(seen, 3);
      await server.close();
    });
  }
  test('pause() holds a compressed body back', async () => {
    const server = await startServer((_request, response) => { response.writeHead(200, { 'content-encoding': 'gzip' }).end(zlib.gzipSync(Buffer.alloc(8 << 20))); });
    const http = createHttp({ environment });
    let received = 0, stalled = -1;
    let exchange: Exchange | undefined;
    const whole = receive(http, {
      url: server.origin,
      onData(chunk) {
        if (received === 0) { exchange?.pause(); setTimeout(() => { stalled = received; exchange?.resume(); }, 80); }
        received += chunk.length;
      },
    }, (its) => { exchange = its; its.pause(); its.resume(); });
    await whole;
    assert.ok(stalled < 1 << 20, `${stalled}`);
    assert.equal(received, 8 << 20);
    http.close();
    await server.close();
  });
});

describe('localhost:', () => {
  test('localhost reaches a server on IPv4', async () => {
    const server = await startServer(echo);
    const http = createHttp({ environment });
    assert.equal((await receive(http, { url: `http://localhost:${server.port}/4` })).body, '/4 ');
    assert.equal((await receive(http, { url: `http://app.localhost:${server.port}/4` })).body, '/4 ');
    http.close();
    await server.close();
  });
  test('localhost reaches a server on IPv6 only, and so does its address', async (t) => {
    if (!await hasIpv6()) { t.skip('no IPv6 here'); return; }
    const server = await startServer(echo, { host: '::1' });
    const http = createHttp({ environment });
    assert.equal((await receive(http, { url: `http://localhost:${server.port}/6` })).body, '/6 ');
    assert.equal((await receive(http, { url: `${server.origin}/6` })).body, '/6 ');
    http.close();
    await server.close();
  });
  test('localhost without a server names both addresses', async () => {
    const port = await freePort();
    const http = createHttp({ environment });
    const failure = await failureOf(receive(http, { url: `http://localhost:${port}/` }));
    assert.equal(failure.code, 'CONNECT_FAILED');
    assert.ok(failure.message.includes(`127.0.0.1:${port}`) && failure.message.includes(`[::1]:${port}`), failure.message);
    http.close();
  });
});

describe('connectPolicy:', () => {
  test('each address is asked about before it is connected to, and nothing else is', async () => {
    const server = await startServer(echo);
    const asked: string[] = [];
    const http = createHttp({ environment, connectPolicy: (address) => { asked.push(address); return address === '127.0.0.1'; } });
    assert.equal((await receive(http, { url: `http://localhost:${server.port}/a` })).status, 200);
    assert.deepEqual(asked, ['127.0.0.1', '::1']);
    http.close();
    await server.close();
  });
  test('a refused address is never connected to, as a name or as an address', async () => {
    const server = await startServer(echo);
    const http = createHttp({ environment, connectPolicy: () => false });
    for (const host of ['localhost', '127.0.0.1', '127.1', '2130706433', '[::ffff:127.0.0.1]']) {
      const failure = await failureOf(receive(http, { url: `http://${host}:${server.port}/` }));
      assert.equal(failure.code, 'URL_REFUSED');
      assert.match(failure.message, /may not be reached/);
    }
    assert.equal(server.connections(), 0);
    http.close();
    await server.close();
  });
});

describe('TLS:', () => {
  let server: TestServer, strict: TestServer;
  const tls = { cert: pem('server.pem'), key: pem('server.key') };
  before(async () => {
    server = await startServer(echo, { tls });
    strict = await startServer(echo, { tls: { ...tls, ca: pem('ca.pem'), requestCert: true, rejectUnauthorized: true } });
  });
  after(async () => { await server.close(); await strict.close(); });
  const using = async (options: Parameters<typeof createHttp>[0], run: (http: Http) => Promise<void>): Promise<void> => {
    const http = createHttp({ environment, ...options });
    try { await run(http); } finally { http.close(); }
  };

  test('ca adds an authority for this client only', async () => {
    const facts: ConnectionFacts[] = [];
    await using({ ca: pem('ca.pem'), onConnection: (its) => facts.push(its) }, async (http) => {
      for (let i = 0; i < 3; i++) assert.equal((await receive(http, { url: `${server.origin}/x` })).body, '/x ');
      assert.equal((await receive(http, { url: `https://localhost:${server.port}/x` })).body, '/x ');
    });
    assert.equal(server.connections(), 2);
    assert.equal(facts.length, 2);
    assert.deepEqual({ ...facts[0], elapsedMs: 0, tls: { ...facts[0]?.tls, validTo: '' } }, { host: `127.0.0.1:${server.port}`, address: '127.0.0.1', elapsedMs: 0, proxy: undefined, tls: { protocol: 'TLSv1.3', issuer: 'zuno-lite tests', validTo: '' } });
    await using({}, async (http) => { assert.equal((await failureOf(receive(http, { url: server.origin }))).code, 'CONNECT_FAILED'); });
  });
  test('ca may hold several certificates', async () => {
    await using({ ca: `${pem('self-signed.pem')}\n${pem('ca.pem')}` }, async (http) => { assert.equal((await receive(http, { url: server.origin })).status, 200); });
  });
  test('ca goes together with NODE_EXTRA_CA_CERTS, which works alone too', async () => {
    const self = await startServer(echo, { tls: { cert: pem('self-signed.pem'), key: pem('self-signed.key') } });
    const [printed] = await runScript(`
      for (const [ca, url] of ${JSON.stringify([[null, self.origin], [pem('ca.pem'), self.origin], [pem('ca.pem'), server.origin], [null, server.origin]])}) {
        const http = createHttp({ environment: {}, ...(ca && { ca }) });
        console.log(await http.fetch(url).then(({ status }) => status, ({ code }) => code));
        http.close();
      }`, { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('../../fixtures/tls/self-signed.pem', import.meta.url)) });
    assert.deepEqual(printed.split('\n'), ['200', '200', '200', 'CONNECT_FAILED']);
    const previous = process.env['NODE_EXTRA_CA_CERTS'];
    process.env['NODE_EXTRA_CA_CERTS'] = fileURLToPath(new URL('.', import.meta.url));
    await using({ ca: pem('ca.pem') }, async (http) => { assert.equal((await receive(http, { url: server.origin })).status, 200); });
    if (previous === undefined) delete process.env['NODE_EXTRA_CA_CERTS']; else process.env['NODE_EXTRA_CA_CERTS'] = previous;
    await self.close();
  });
  test('cert and key let the client in where a certificate is asked for', async () => {
    await using({ ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }, async (http) => { assert.equal((await receive(http, { url: strict.origin })).status, 200); });
    await using({ ca: pem('ca.pem') }, async (http) => {
      const failure = await failureOf(receive(http, { url: strict.origin }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.match(failure.hint ?? '', /certFile/);
    });
  });
  for (const [name, cert, key, reason] of [['another name', 'other-name.pem', 'other-name.key', /is for another name/], ['the past', 'expired.pem', 'server.key', /has expired/]] as const) {
    test(`a certificate for ${name} is refused with its reason`, async () => {
      const odd = await startServer(echo, { tls: { cert: pem(cert), key: pem(key) } });
      await using({ ca: pem('ca.pem') }, async (http) => {
        const failure = await failureOf(receive(http, { url: odd.origin, method: 'POST', body: 'x' }));
        assert.equal(failure.code, 'CONNECT_FAILED');
        assert.equal(failure.recovery, 'blocked');
        assert.match(failure.message, reason);
      });
      assert.equal(odd.requests.length, 0);
      await odd.close();
    });
  }
  test('a connection that ends during the handshake has sent nothing', async () => {
    const raw = await startRaw((socket) => { socket.once('data', () => socket.destroy()); });
    await using({}, async (http) => {
      const failure = await failureOf(receive(http, { url: `https://127.0.0.1:${raw.port}/`, method: 'POST', body: 'x' }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.equal(failure.recovery, 'retryable');
      assert.match(failure.message, /during the TLS handshake/);
    });
    await raw.close();
  });
  test('createHttp() names the file whose PEM text cannot be used, never its content', () => {
    for (const [options, pointer] of [
      [{ ca: 'hunter2' }, '/caFile'], [{ cert: 'hunter2', key: pem('client.key') }, '/certFile'], [{ cert: pem('client.pem'), key: pem('server.key') }, '/certFile'],
    ] as const) {
      assert.throws(() => createHttp({ environment, ...options }), (error: unknown) => {
        const { code, details, message } = error as { code: string; details: { problems: { pointer: string }[] }; message: string };
        return code === 'CONFIG_INVALID' && details.problems[0]?.pointer === pointer && !message.includes('hunter2');
      });
    }
  });
});

test('createHttp() refuses options that the chosen engine cannot honour', () => {
  assert.throws(() => createHttp({ engine: 'fetch', ca: 'x', connectPolicy: () => true }), /cannot honour: ca, connectPolicy/);
  assert.throws(() => createHttp({ fetch: globalThis.fetch }), TypeError);
});
