import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeHeaderValue } from '../../../src/base/header-value.ts';

/** As a strict receiver reads it: both marks or neither, canonical Base64, valid UTF-8. */
function decode(value: string): string {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const payload = value.slice(9, -2);
  assert.match(payload, /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(payload, 'base64'));
}

test('encodeHeaderValue() gives the values of the specification (MCP 2026-07-28, value encoding)', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['us-west1', 'us-west1'], ['us west 1', 'us west 1'], [' x', '=?base64?IHg=?='], ['x ', '=?base64?eCA=?='], ['\tx', '=?base64?CXg=?='], ['café', '=?base64?Y2Fmw6k=?='],
    ['a\tb', '=?base64?YQli?='], ['line\r\n', '=?base64?bGluZQ0K?='], ['=?base64?aGk=?=', '=?base64?PT9iYXNlNjQ/YUdrPT89?='], ['', '=?base64??='], [' ', '=?base64?IA==?='],
    ['=?base64?open', '=?base64?open'], ['shut?=', 'shut?='], ['=?BASE64?aGk=?=', '=?BASE64?aGk=?='], ['file:///a%20b?q=1#f', 'file:///a%20b?q=1#f'], ['~!"#', '~!"#'], ['\u007f', '=?base64?fw==?='], ['x', 'x'],
  ];
  for (const [value, expected] of rows) assert.equal(encodeHeaderValue(value), expected, JSON.stringify(value));
});

test('encodeHeaderValue() gives what a header can carry, whatever it is given, and a strict reader gets it back', () => {
  const samples = ['漢字 🦊', '\u0000', '\ufeffmark', 'a\u0301', '=?base64??=', '=?base64?=', 'x'.repeat(10_000), ` ${'y'.repeat(10_000)}`, ...Array.from({ length: 256 }, (_, code) => `a${String.fromCharCode(code)}`)];
  for (const value of samples) {
    const encoded = encodeHeaderValue(value);
    assert.match(encoded, /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
    assert.equal(decode(encoded), value);
  }
});

test('encodeHeaderValue() takes time in proportion to the length', () => {
  const startedAt = performance.now();
  encodeHeaderValue(`a${' '.repeat(2_000_000)}`);
  encodeHeaderValue(`${' a'.repeat(1_000_000)}\u00e9`);
  assert.ok(performance.now() - startedAt < 1000);
});
