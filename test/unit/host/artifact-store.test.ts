import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import { createArtifactStore } from '../../../src/host/artifact-store.ts';
import { refusal } from '../../support/http-fixture.ts';
import { tempDir } from '../../support/process.ts';

test('createArtifactStore() writes 0600 into a 0700 directory that is made on need, one file for one content', async (t) => {
  const directory = path.join(tempDir(t), 'artifacts', 's1'), store = createArtifactStore(directory);
  assert.throws(() => statSync(directory));
  const file = await store.write('docs-1.txt', 'alpha');
  assert.equal(await store.write('docs-1.txt', 'alpha'), file);
  assert.equal(await store.write('../docs-2.txt', new Uint8Array([1])), path.join(directory, 'docs-2.txt'));
  assert.deepEqual(readdirSync(directory), ['docs-1.txt', 'docs-2.txt']);
  if (process.platform === 'win32') return;
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('read() gives windows between characters that add up to the whole text', async (t) => {
  const store = createArtifactStore(path.join(tempDir(t), 's1')), text = 'aä€😀'.repeat(3000);
  const file = await store.write('text.txt', text);
  for (const size of [undefined, 7, limits.artifactWindowBytesMax + 1]) {
    let whole = '', cursor = 0;
    for (;;) {
      const window = store.read(file, cursor, size);
      assert.equal(window.cursor, cursor);
      assert.ok(window.nextCursor - cursor <= Math.min(size ?? limits.artifactWindowBytes, limits.artifactWindowBytesMax));
      assert.ok(window.nextCursor > cursor);
      assert.equal(window.totalBytes, Buffer.byteLength(text));
      whole += window.text;
      cursor = window.nextCursor;
      if (!window.hasMore) break;
    }
    assert.equal(whole, text);
  }
  assert.deepEqual(store.read('text.txt', Buffer.byteLength(text) + 5), { text: '', cursor: Buffer.byteLength(text) + 5, nextCursor: Buffer.byteLength(text) + 5, totalBytes: Buffer.byteLength(text), hasMore: false });
});

test('read() moves on through bytes that are no text, and through a character that fits no window', async (t) => {
  const store = createArtifactStore(path.join(tempDir(t), 's1'));
  const binary = await store.write('a.bin', new Uint8Array(50).fill(0x80)), big = await store.write('b.txt', '😀😀');
  for (let cursor = 0; cursor < 50;) { const window = store.read(binary, cursor, 8); assert.ok(window.nextCursor > cursor); cursor = window.nextCursor; }
  for (let cursor = 0; cursor < 8;) { const window = store.read(big, cursor, 2); assert.ok(window.nextCursor > cursor); cursor = window.nextCursor; }
});

test('read() reads nothing outside the directory, by whatever way', async (t) => {
  const root = tempDir(t), directory = path.join(root, 's1'), store = createArtifactStore(directory);
  writeFileSync(path.join(root, 'secret.txt'), 'secret');
  const refused = (file: string): void => assert.throws(() => store.read(file), (error) => error instanceof Failure && error.code === 'USAGE');
  refused('anything');
  const file = await store.write('a.txt', 'a');
  mkdirSync(path.join(directory, 'inner'));
  writeFileSync(path.join(directory, 'inner', 'b.txt'), 'b');
  symlinkSync(path.join(root, 'secret.txt'), path.join(directory, 'link.txt'));
  for (const wrong of ['../secret.txt', path.join(root, 'secret.txt'), 'link.txt', 'inner', 'inner/b.txt', 'missing.txt', '.']) refused(wrong);
  assert.equal(store.read(file).text, 'a');
  for (const cursor of [-1, 1.5, Number.NaN]) assert.throws(() => store.read(file, cursor), TypeError);
});

test('write() refuses when the session keeps too many files or bytes', async (t) => {
  const directory = path.join(tempDir(t), 's1');
  const big = createArtifactStore(directory);
  await big.write('a.txt', 'a');
  truncateSync(path.join(directory, 'a.txt'), limits.artifactBytes);
  const full = createArtifactStore(directory);
  await refusal(Promise.resolve(full.write('b.txt', 'b')), 'LIMIT_EXCEEDED');
  const crowded = path.join(tempDir(t), 's2');
  mkdirSync(crowded);
  for (let n = 0; n < limits.artifactFiles; n++) writeFileSync(path.join(crowded, `${n}`), '');
  await refusal(Promise.resolve(createArtifactStore(crowded).write('b.txt', 'b')), 'LIMIT_EXCEEDED');
});
