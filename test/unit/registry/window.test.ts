import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readWindow } from '../../../src/registry/window.ts';

function walk(source: string | Uint8Array, maxBytes?: number): string[] {
  const pieces: string[] = [];
  for (let cursor = 0; ;) {
    const window = readWindow(source, cursor, maxBytes);
    pieces.push(window.text);
    assert.ok(!window.hasMore || window.nextCursor > cursor);
    if (!window.hasMore) return pieces;
    cursor = window.nextCursor;
  }
}

describe('readWindow()', () => {
  test('walks a text in windows of 16,384 bytes, at most 51,200 (row 174)', () => {
    const text = 'x'.repeat(120_000);
    assert.deepEqual(walk(text).map(({ length }) => length), [16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 5_312]);
    assert.deepEqual(walk(text, 1_000_000).map(({ length }) => length), [51_200, 51_200, 17_600]);
    assert.deepEqual(readWindow(text, 100_000, 10_000), { text: 'x'.repeat(10_000), cursor: 100_000, nextCursor: 110_000, totalBytes: 120_000, hasMore: true });
    assert.deepEqual(readWindow(text, 110_000, 10_000).hasMore, false);
  });

  test('never cuts a character, whatever the size and the start', () => {
    const text = 'aä漢😀'.repeat(20);
    for (let max = 1; max <= 12; max++) {
      const pieces = walk(text, max);
      assert.equal(pieces.join(''), text);
      if (max >= 4) assert.ok(pieces.every((piece) => Buffer.byteLength(piece) <= max));
    }
    const bytes = Buffer.from(text);
    for (let cursor = 0; cursor < bytes.length; cursor++) {
      const window = readWindow(bytes, cursor, 10);
      assert.ok(window.cursor <= cursor && cursor - window.cursor < 4 && text.includes(window.text) && !window.text.includes('\ufffd'), String(cursor));
    }
  });

  test('moves on over bytes that are no text', () => {
    const noise = Buffer.alloc(50, 0x80);
    assert.equal(walk(noise, 7).length, 8);
    assert.ok(walk(Buffer.from([0xff, 0xe2, 0x82, 0x41, 0xf0, 0x9f])).join('').includes('A'));
  });

  test('has nothing past the end and refuses what is no position', () => {
    assert.deepEqual(readWindow('abc', 3), { text: '', cursor: 3, nextCursor: 3, totalBytes: 3, hasMore: false });
    assert.deepEqual(readWindow(''), { text: '', cursor: 0, nextCursor: 0, totalBytes: 0, hasMore: false });
    for (const cursor of [-1, 0.5, Number.NaN]) assert.throws(() => readWindow('abc', cursor), TypeError);
    for (const size of [0, -1, 1.5]) assert.throws(() => readWindow('abc', 0, size), TypeError);
  });
});
