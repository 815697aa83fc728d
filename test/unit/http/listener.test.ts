import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as net from 'node:net';
import { test } from 'node:test';
import { addressKind, isLoopbackHost, isPrivateHost } from '../../../src/http/addresses.ts';
import { listenLoopback } from '../../../src/http/listener.ts';
import { hasIpv6 } from '../../support/http-server.ts';

const answerOk = async (): Promise<{ status: number; html: string }> => ({ status: 200, html: '<p>ok' });

test('listenLoopback() answers one path on loopback with headers that let nothing in', async (t) => {
  const listener = await listenLoopback({ host: '127.0.0.1', port: 0, path: '/cb', async onRequest(query) { return { status: 200, html: query.get('x') ?? '' }; } });
  t.after(() => listener.close());
  const answer = await fetch(`http://127.0.0.1:${listener.port}/cb?x=a%26b`);
  assert.equal(await answer.text(), 'a&b');
  assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
  for (const [path, init, status] of [['/cb/', {}, 404], ['/', {}, 404], ['/cb', { method: 'POST' }, 405], ['/cb', { method: 'OPTIONS' }, 405]] as const) assert.equal((await fetch(`http://127.0.0.1:${listener.port}${path}`, init)).status, status);
});

test('listenLoopback() answers for its exact host only', async (t) => {
  const listener = await listenLoopback({ host: '127.0.0.1', port: 0, path: '/cb', onRequest: answerOk });
  t.after(() => listener.close());
  for (const [host, status] of [[`127.0.0.1:${listener.port}`, '200'], ['127.0.0.1', '421'], [`localhost:${listener.port}`, '421'], [`evil.example:${listener.port}`, '421']]) {
    const socket = net.connect(listener.port, '127.0.0.1', () => socket.write(`GET /cb HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    const [text] = await once(socket, 'data') as [Buffer];
    assert.equal(text.toString().split(' ')[1], status, host);
    socket.destroy();
  }
});

test('listenLoopback() listens on both families for localhost', { skip: !(await hasIpv6()) }, async (t) => {
  const listener = await listenLoopback({ host: 'localhost', port: 0, path: '/cb', onRequest: answerOk });
  t.after(() => listener.close());
  for (const host of ['127.0.0.1', '::1']) {
    const socket = net.connect(listener.port, host, () => socket.write(`GET /cb HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`));
    const [text] = await once(socket, 'data') as [Buffer];
    assert.match(text.toString(), /^HTTP\/1\.1 200/);
    socket.destroy();
  }
  const six = await listenLoopback({ host: '::1', port: 0, path: '/cb', onRequest: answerOk });
  t.after(() => six.close());
  assert.equal((await fetch(`http://[::1]:${six.port}/cb`)).status, 200);
  await assert.rejects(listenLoopback({ host: 'localhost', port: six.port, path: '/cb', onRequest: answerOk }), { code: 'EADDRINUSE' });
});

test('close() lets go of the port, cuts idle connections and lets an answer finish', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => { release = resolve; });
  const listener = await listenLoopback({ host: '127.0.0.1', port: 0, path: '/cb', async onRequest() { await held; return { status: 200, html: 'late' }; } });
  const idle = net.connect(listener.port, '127.0.0.1').on('error', () => {});
  await once(idle, 'connect');
  const answer = fetch(`http://127.0.0.1:${listener.port}/cb`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  listener.close();
  listener.close();
  await once(idle, 'close');
  release();
  assert.equal(await (await answer).text(), 'late');
  await assert.rejects(fetch(`http://127.0.0.1:${listener.port}/cb`));
});

test('addressKind() knows what is not public', async () => {
  for (const one of ['8.8.8.8', '2606:4700::1', '172.32.0.1', '[2001:4860::8]', '::ffff:8.8.8.8']) assert.equal(addressKind(one), 'public', one);
  for (const one of ['127.0.0.1', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '::1', '::', 'fd00::1', 'ff02::1', '::ffff:10.0.0.1', 'no address']) assert.equal(addressKind(one), 'private', one);
  for (const one of ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.1.1']) assert.equal(addressKind(one), 'link-local', one);
  for (const one of ['localhost', 'localhost.', 'a.localhost', '127.1.2.3', '[::1]']) assert.ok(isLoopbackHost(one), one);
  for (const one of ['localhost.example', '10.0.0.1', '127.example']) assert.ok(!isLoopbackHost(one), one);
  assert.deepEqual(await Promise.all(['127.0.0.1', '[::1]', '10.0.0.1', 'localhost', '8.8.8.8', 'no-such-host.invalid'].map(isPrivateHost)), [true, true, true, true, false, false]);
});
