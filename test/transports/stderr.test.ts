import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedactor } from '../../src/base/redact.ts';
import { createStderrTail } from '../../src/transports/stderr.ts';

function recorder(redact: (text: string) => string = (text) => text): { readonly lines: string[]; readonly tail: ReturnType<typeof createStderrTail>; feed(...chunks: (string | Uint8Array)[]): void } {
  const lines: string[] = [];
  const tail = createStderrTail(redact, (line) => { lines.push(line); });
  return { lines, tail, feed: (...chunks) => { for (const chunk of chunks) tail.feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk); } };
}

test('createStderrTail() cuts lines wherever the chunks end', () => {
  const { lines, tail, feed } = recorder();
  feed('one\ntw', 'o\r\n', '\nunfin', 'ished');
  assert.deepEqual(lines, ['one', 'two', '']);
  assert.equal(tail.text(), 'one\ntwo\n\nunfinished');
  tail.end();
  tail.end();
  assert.equal(lines.at(-1), 'unfinished');
});

test('createStderrTail() keeps a character split across chunks, and takes any byte array', () => {
  const { lines, feed } = recorder();
  const bytes = Buffer.from('é漢🦊\n');
  for (const byte of bytes) feed(Uint8Array.of(byte));
  assert.deepEqual(lines, ['é漢🦊']);
});

test('createStderrTail() shows at most 8 KiB of a line and never half a character', () => {
  const { lines, feed } = recorder();
  feed(`${'é'.repeat(100_000)}\n`, `x${'é'.repeat(100_000)}\n`, 'next\n');
  assert.deepEqual(lines.map((line) => Buffer.byteLength(line)), [8192, 8191, 4]);
});

test('createStderrTail() keeps the last 64 KiB only, however many lines that takes', () => {
  const { tail, feed } = recorder();
  for (let n = 0; n < 50_000; n++) feed(`line ${n}\n`);
  const text = tail.text();
  assert.ok(text.length <= 64 * 1024 && text.length > 60 * 1024);
  assert.ok(text.endsWith('line 49999'));
  assert.ok(!text.includes('line 100\n'));
});

test('createStderrTail() redacts a secret across the cut, in lines, tail and unfinished text', () => {
  const { redact } = createRedactor(['TOPSECRETVALUE']);
  const { lines, tail, feed } = recorder(redact);
  feed(`${'.'.repeat(8185)}TOPSECRETVALUE\n`, 'with TOPSECRETVALUE');
  assert.doesNotMatch(lines[0]!, /TOPSEC/);
  assert.equal(tail.text().split('\n').at(-1), 'with ***');
});
