import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdmission, createTokenCheck, isLoopbackHost } from '../../../src/http/admission.ts';

test('isLoopbackHost() knows the names of this machine', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]']) assert.ok(isLoopbackHost(host), host);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'localhost.evil.example', '127.0.0.1.nip.io']) assert.ok(!isLoopbackHost(host), host);
});

test('createAdmission() lets only this machine\'s names in on loopback, with any port', () => {
  const admit = createAdmission({ host: '127.0.0.2' });
  for (const host of ['localhost', 'LOCALHOST:8080', '127.0.0.1:1', '[::1]:3', '127.0.0.2:1']) assert.equal(admit(host, undefined), undefined, host);
  for (const host of [undefined, '', 'evil.example', 'localhost.evil.example', 'evil.example:80', 'localhost:80:80', 'localhost/', 'a@localhost', '127.0.0.3']) assert.ok(admit(host, undefined), String(host));
  for (const origin of ['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:4']) assert.equal(admit('localhost', origin), undefined, origin);
  for (const origin of ['null', '', 'http://evil.example', 'file://localhost', 'localhost', 'http://localhost@evil.example', 'https://', 'chrome-extension://localhost']) assert.ok(admit('localhost', origin), origin);
});

test('createAdmission() takes further names and origins, and elsewhere any name unless some are given', () => {
  const named = createAdmission({ host: '::1', allowedHosts: ['Box.Local'], allowedOrigins: ['https://app.example'] });
  assert.equal(named('box.local:1', 'https://app.example'), undefined);
  assert.ok(named('box.local', 'https://app.example.evil'));
  const open = createAdmission({ host: '0.0.0.0' });
  assert.equal(open('anything.example:1', undefined), undefined);
  assert.equal(open('a.example:1', 'http://a.example:1'), undefined);
  assert.ok(open('a.example', 'http://b.example'));
  const closed = createAdmission({ host: '0.0.0.0', allowedHosts: ['a.example'] });
  assert.equal(closed('a.example', 'https://a.example'), undefined);
  assert.ok(closed('localhost', undefined));
});

test('createTokenCheck() tells whose token it is', () => {
  const whose = createTokenCheck(new Map([['first', 'ann'], ['second', 'bob']]));
  assert.deepEqual(['Bearer first', 'bearer  second'].map(whose), ['ann', 'bob']);
  for (const wrong of [undefined, '', 'first', 'Basic first', 'Bearer', 'Bearer firs', 'Bearer first x', 'Bearer FIRST', 'Bearer first,']) assert.equal(whose(wrong), undefined, String(wrong));
});
