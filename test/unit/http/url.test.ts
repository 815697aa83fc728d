import { test } from 'node:test';
import assert from 'node:assert/strict';
import { collectText, decodeUtf8 } from '../../../src/http/body.ts';
import { shownUrl, targetOf } from '../../../src/http/url.ts';

test('shownUrl() hides userinfo, query values and fragment', () => {
  for (const [url, shown] of [
    ['https://user:secret@a.example:8443/p/a?key=secret&b=secret#secret', 'https://a.example:8443/p/a?key=***&b=***'],
    ['http://a/', 'http://a/'],
    ['http://a/?secret&x=1', 'http://a/?***&x=***'],
    ['mailto:someone', 'mailto:***'],
    ['file:///secret', 'file:***'],
    ['user:secret@host/path?secret', 'user:***'],
    ['not a url?secret', 'not a url'],
    ['http://us er:secret@[x', 'http://[x'],
  ] as const) {
    const got = shownUrl(url);
    assert.equal(got, shown);
    assert.ok(!got.includes('secret'));
  }
});

test('targetOf() takes a URL apart', () => {
  const { url: _url, ...target } = targetOf('https://A.example/mcp?x=1#there');
  assert.deepEqual(target, { secure: true, host: 'a.example', port: 443, authority: 'a.example', origin: 'https://a.example', href: 'https://a.example/mcp?x=1#there', path: '/mcp?x=1', shown: 'https://a.example/mcp?x=***' });
  const ipv6 = targetOf(new URL('http://[::1]:81/'));
  assert.deepEqual([ipv6.host, ipv6.port, ipv6.authority, ipv6.secure], ['::1', 81, '[::1]:81', false]);
});

test('collectText() decodes once, over chunk borders, without a byte order mark', () => {
  const bytes = Buffer.from('\ufeff漢字 é 😀');
  const text = collectText();
  for (const byte of bytes) text.add(Uint8Array.of(byte));
  assert.equal(text.bytes(), bytes.length);
  assert.equal(text.take(), '漢字 é 😀');
  assert.equal(text.bytes(), 0);
  assert.equal(text.take(), '');
  text.add(Buffer.from('plain'));
  assert.equal(text.take(), 'plain');
});

test('decodeUtf8() decodes a part of plain bytes', () => {
  const bytes = new Uint8Array(Buffer.from('xxéabcé')).subarray(2);
  assert.equal(decodeUtf8(bytes, 5), 'éabc');
  assert.equal(decodeUtf8(bytes.subarray(2), 3), 'abc');
});
