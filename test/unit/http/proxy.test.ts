import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { limits } from '../../../src/base/limits.ts';
import { createHttp } from '../../../src/http/fetch.ts';
import { parseNoProxy, proxyFromEnvironment } from '../../../src/http/proxy.ts';
import { targetOf } from '../../../src/http/url.ts';
import { freePort, pem, startServer } from '../../support/http-server.ts';
import { startProxy } from '../../support/http-proxy.ts';
import { failureOf, receive } from '../../support/http-client.ts';
import type { ConnectionFacts, HttpOptions } from '../../../src/http/types.ts';
import type { ProxySettings } from '../../support/http-proxy.ts';

const chosen = (environment: Record<string, string>, url: string): string | undefined => proxyFromEnvironment(environment).choose(targetOf(url))?.shown;

describe('proxyFromEnvironment():', () => {
  test('choose() tells targets apart, however they alternate', () => {
    const choice = proxyFromEnvironment({ http_proxy: 'http://p:1', https_proxy: 'http://s:2', no_proxy: 'free' });
    const targets = ['http://a/', 'https://a/', 'http://free/', 'http://b/'].map((url) => targetOf(url));
    for (let round = 0; round < 2; round++) assert.deepEqual(targets.flatMap((target) => [choice.choose(target)?.shown, choice.choose(target)?.shown]), ['http://p:1', 'http://p:1', 'http://s:2', 'http://s:2', undefined, undefined, 'http://p:1', 'http://p:1']);
    const broken = proxyFromEnvironment({ http_proxy: 'socks5://x' });
    for (let again = 0; again < 2; again++) assert.throws(() => broken.choose(targets[0]!), /HTTP_PROXY/);
  });

  for (const [name, environment, url, proxy] of [
    ['no variable', {}, 'http://a/', undefined],
    ['http_proxy for http', { http_proxy: 'http://p:1' }, 'http://a/', 'http://p:1'],
    ['not for https', { http_proxy: 'http://p:1' }, 'https://a/', undefined],
    ['capitals', { HTTPS_PROXY: 'http://p:1' }, 'https://a/', 'http://p:1'],
    ['lower case first', { https_proxy: 'http://low:1', HTTPS_PROXY: 'http://up:1' }, 'https://a/', 'http://low:1'],
    ['all_proxy last', { all_proxy: 'http://all:1', https_proxy: 'http://p:1' }, 'https://a/', 'http://p:1'],
    ['all_proxy alone', { ALL_PROXY: 'http://all:1' }, 'http://a/', 'http://all:1'],
    ['empty switches off', { https_proxy: '', all_proxy: 'http://all:1' }, 'https://a/', undefined],
    ['no scheme', { https_proxy: 'p:3128' }, 'https://a/', 'http://p:3128'],
    ['default ports', { https_proxy: 'http://p', http_proxy: 'https://q' }, 'https://a/', 'http://p:80'],
    ['a secure proxy', { http_proxy: 'https://q' }, 'http://a/', 'https://q:443'],
    ['an IPv6 proxy', { http_proxy: 'http://[::1]:3128' }, 'http://a/', 'http://[::1]:3128'],
    ['blanks around', { http_proxy: ' http://p:1 ' }, 'http://a/', 'http://p:1'],
    ['HTTP_PROXY is not believed in a CGI program', { HTTP_PROXY: 'http://p:1', REQUEST_METHOD: 'GET' }, 'http://a/', undefined],
    ['http_proxy is', { http_proxy: 'http://p:1', REQUEST_METHOD: 'GET' }, 'http://a/', 'http://p:1'],
    ['NO_PROXY', { http_proxy: 'http://p:1', NO_PROXY: 'a' }, 'http://a/', undefined],
    ['no_proxy before NO_PROXY', { http_proxy: 'http://p:1', no_proxy: 'b', NO_PROXY: 'a' }, 'http://a/', 'http://p:1'],
    ['loopback is not special', { http_proxy: 'http://p:1' }, 'http://127.0.0.1/', 'http://p:1'],
  ] as const) {
    test(name, () => { assert.equal(chosen(environment, url), proxy); });
  }
  test('credentials become Proxy-Authorization and are not shown', () => {
    const proxy = proxyFromEnvironment({ https_proxy: 'http://us%40er:p%3Aw%@p:1' }).choose(targetOf('https://a/'));
    assert.equal(proxy?.authorization, `Basic ${Buffer.from('us@er:p%3Aw%').toString('base64')}`);
    assert.equal(proxy?.shown, 'http://p:1');
  });
  test('another kind of proxy is refused by the name of its variable', () => {
    assert.throws(() => chosen({ all_proxy: 'socks5://user:secret@p:1' }, 'https://a/'), (error: Error) => /proxy of ALL_PROXY/.test(error.message) && !error.message.includes('secret'));
    assert.throws(() => chosen({ HTTPS_PROXY: 'http://[' }, 'https://a/'), /HTTPS_PROXY/);
  });
});

describe('parseNoProxy():', () => {
  for (const [list, covered, others] of [
    ['', [], ['http://a/']],
    ['*', ['http://a/', 'http://1.2.3.4/'], []],
    ['example.com', ['http://example.com/', 'http://a.example.com/', 'https://EXAMPLE.com./'], ['http://notexample.com/', 'http://example.com.evil/']],
    ['.example.com', ['http://example.com/', 'http://a.example.com/'], ['http://notexample.com/']],
    ['*.example.com', ['http://a.b.example.com/'], ['http://example.org/']],
    ['EXAMPLE.com.', ['http://a.example.com/'], []],
    ['a:8080', ['http://a:8080/'], ['http://a/', 'https://a/']],
    ['a:80', ['http://a/'], ['https://a/']],
    ['a b,c ,\td', ['http://a/', 'http://b/', 'http://c/', 'http://d/'], ['http://e/']],
    ['127.0.0.1', ['http://127.0.0.1:5/', 'http://127.1/'], ['http://127.0.0.2/', 'http://localhost/']],
    ['10.0.0.0/8', ['http://10.1.2.3/'], ['http://11.0.0.1/', 'http://ten.example/']],
    ['192.168.1.0/33', [], ['http://192.168.1.1/']],
    ['192.168.1.0/', [], ['http://192.168.1.0/']],
    ['192.168.1.0/x', [], ['http://192.168.1.0/']],
    ['::1', ['http://[::1]/', 'http://[0:0:0:0:0:0:0:1]:9/'], ['http://[::2]/']],
    ['[::1]:80', ['http://[::1]/'], ['http://[::1]:81/']],
    ['[::1]', ['http://[::1]:81/'], []],
    ['fd00::/8', ['http://[fd12::1]/'], ['http://[fe80::1]/']],
    ['.', [], ['http://a/']],
    [':80', [], ['http://a/']],
  ] as const) {
    test(`"${list}"`, () => {
      const exempt = parseNoProxy(list);
      for (const url of covered) assert.equal(exempt(targetOf(url)), true, url);
      for (const url of others) assert.equal(exempt(targetOf(url)), false, url);
    });
  }
});

describe('through a real proxy:', () => {
  const setUp = async (settings: ProxySettings = {}): ReturnType<typeof make> => make(settings);
  const make = async (settings: ProxySettings) => {
    const plain = await startServer(({ url, body, headers }, response) => { response.end(`${url} ${body} ${headers['proxy-authorization'] ?? '-'}`); });
    const secure = await startServer(({ url, body, headers }, response) => { response.end(`${url} ${body} ${headers['proxy-authorization'] ?? '-'}`); }, { tls: { cert: pem('server.pem'), key: pem('server.key') } });
    const proxy = await startProxy(settings);
    const opened: { close(): void }[] = [];
    return {
      plain, secure, proxy,
      client(environment: Record<string, string>, options: HttpOptions = {}) {
        const http = createHttp({ environment, ca: pem('ca.pem'), ...options });
        opened.push(http);
        return http;
      },
      async close() { for (const http of opened) http.close(); await proxy.close(); await plain.close(); await secure.close(); },
    };
  };

  test('https goes through a CONNECT tunnel, kept for the next request', async () => {
    const { client, proxy, secure, close } = await setUp();
    const facts: ConnectionFacts[] = [];
    const http = client({ https_proxy: proxy.url }, { onConnection: (its) => facts.push(its) });
    for (let i = 0; i < 3; i++) assert.equal((await receive(http, { url: `${secure.origin}/${i}`, method: 'POST', body: 'b' })).body, `/${i} b -`);
    assert.deepEqual(proxy.log, [`CONNECT 127.0.0.1:${secure.port}`]);
    assert.equal(http.proxyFor(secure.origin), proxy.url);
    assert.deepEqual([facts.length, facts[0]?.proxy, facts[0]?.host], [1, proxy.url, `127.0.0.1:${secure.port}`]);
    await close();
  });
  test('http goes through in absolute form', async () => {
    const { client, proxy, plain, close } = await setUp();
    const http = client({ HTTP_PROXY: proxy.url });
    for (let i = 0; i < 2; i++) assert.equal((await receive(http, { url: `${plain.origin}/p?q=${i}`, method: 'POST', body: 'b' })).body, `/p?q=${i} b -`);
    assert.deepEqual(proxy.log, [0, 1].map((i) => `POST ${plain.origin}/p?q=${i}`));
    await close();
  });
  test('a login in the proxy URL opens it and reaches nobody else', async () => {
    const { client, proxy, plain, secure, close } = await setUp({ login: 'user:pass word' });
    const withLogin = `http://user:pass%20word@127.0.0.1:${proxy.port}`;
    const http = client({ ALL_PROXY: withLogin });
    assert.equal((await receive(http, { url: `${plain.origin}/a` })).body, '/a  -');
    assert.equal((await receive(http, { url: `${secure.origin}/a` })).body, '/a  -');
    assert.equal(http.proxyFor(plain.origin), proxy.url);
    await close();
  });
  test('a missing login is told as such, on both roads', async () => {
    const { client, proxy, plain, secure, close } = await setUp({ login: 'user:hunter2' });
    const http = client({ ALL_PROXY: `http://user:wrong-hunter@127.0.0.1:${proxy.port}` });
    for (const url of [plain.origin, secure.origin]) {
      const failure = await failureOf(receive(http, { url, method: 'POST', body: 'x' }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.equal(failure.recovery, 'blocked');
      assert.match(failure.message, /asks for a user name and password/);
      assert.ok(failure.message.includes(proxy.url));
      assert.match(failure.hint ?? '', /_PROXY to http:\/\/USER:PASSWORD@host:port/);
      assert.ok(!`${failure.message}${failure.hint}${JSON.stringify(failure.details)}`.includes('hunter'));
    }
    await close();
  });
  test('NO_PROXY goes directly', async () => {
    const { client, proxy, plain, secure, close } = await setUp();
    const http = client({ ALL_PROXY: proxy.url, NO_PROXY: '127.0.0.0/8' });
    assert.equal((await receive(http, { url: plain.origin })).status, 200);
    assert.equal((await receive(http, { url: secure.origin })).status, 200);
    assert.deepEqual(proxy.log, []);
    assert.equal(http.proxyFor(plain.origin), undefined);
    await close();
  });
  test('a proxy that is itself reached over TLS', async () => {
    const { client, proxy, plain, secure, close } = await setUp({ secure: true });
    const http = client({ ALL_PROXY: proxy.url.replace('127.0.0.1', 'localhost') });
    assert.equal((await receive(http, { url: `${plain.origin}/a` })).body, '/a  -');
    assert.equal((await receive(http, { url: `${secure.origin}/a` })).body, '/a  -');
    assert.equal(proxy.log.length, 2);
    await close();
  });
  for (const [name, settings, reason, recovery] of [
    ['refuses the tunnel', { connect: 403 }, /the proxy answers 403/, 'blocked'],
    ['cannot reach the server', { connect: 502 }, /the proxy answers 502/, 'retryable'],
    ['hangs up', { connect: 'hang up' }, /the connection ended \(ECONNRESET\)/, 'retryable'],
  ] as const) {
    test(`a proxy that ${name}`, async () => {
      const { client, proxy, secure, close } = await setUp(settings);
      const failure = await failureOf(receive(client({ https_proxy: proxy.url }), { url: secure.origin, method: 'POST', body: 'x' }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.equal(failure.recovery, recovery);
      assert.match(failure.message, reason);
      assert.match(failure.hint ?? '', /NO_PROXY/);
      await close();
    });
  }
  test('a proxy that is not there is named, not the server', async () => {
    const { client, plain, secure, close } = await setUp();
    const port = await freePort();
    const http = client({ ALL_PROXY: `http://127.0.0.1:${port}` });
    for (const url of [plain.origin, secure.origin]) {
      const failure = await failureOf(receive(http, { url }));
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.ok(failure.message.includes(`through the proxy http://127.0.0.1:${port}`), failure.message);
      assert.match(failure.message, /nothing listens there/);
      assert.equal((failure.details as { address: string }).address, `127.0.0.1:${port}`);
    }
    await close();
  });
  test('close() and a deadline end a tunnel that never opens', async () => {
    const { client, proxy, secure, close } = await setUp({ connect: 'silent' });
    const http = client({ https_proxy: proxy.url });
    assert.equal((await failureOf(receive(http, { url: secure.origin, headMs: 60 }))).code, 'TIMEOUT');
    const waiting = failureOf(receive(http, { url: secure.origin }));
    http.close();
    assert.equal((await waiting).code, 'CANCELED');
    await close();
  });
  test('a tunnel that does not open in time is given up', async (t) => {
    const { client, proxy, secure, close } = await setUp({ connect: 'silent' });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const failure = failureOf(receive(client({ https_proxy: proxy.url }), { url: secure.origin }));
    t.mock.timers.tick(limits.httpTunnelMs - 1);
    t.mock.timers.tick(1);
    t.mock.timers.reset();
    assert.match((await failure).message, /through the proxy .*: it does not answer \(ETIMEDOUT\)/);
    await close();
  });
  test('a certificate that is not trusted is refused behind a tunnel as well', async () => {
    const { proxy, secure, close } = await setUp();
    const http = createHttp({ environment: { https_proxy: proxy.url } });
    const failure = await failureOf(receive(http, { url: secure.origin }));
    assert.match(failure.message, /authority that is not/);
    http.close();
    await close();
  });
  test('a proxy variable that cannot be used fails the request', async () => {
    const http = createHttp({ environment: { ALL_PROXY: 'socks5://p:1' } });
    const failure = await failureOf(receive(http, { url: 'http://a.example/' }));
    assert.equal(failure.code, 'URL_REFUSED');
    http.close();
  });
});
