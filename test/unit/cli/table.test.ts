import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayWidth, fit, layOut } from '../../../src/cli/table.ts';
import { red } from '../../../src/cli/span.ts';

const flat = (lines: ReturnType<typeof layOut>): string[] => lines.map((line) => line.map((span) => (typeof span === 'string' ? span : span.text)).join(''));

test('displayWidth() counts wide characters twice and marks not at all', () => {
  assert.equal(displayWidth('abc'), 3);
  assert.equal(displayWidth('日本'), 4);
  assert.equal(displayWidth('e\u0301'), 1);
  assert.equal(displayWidth('a\u200bb'), 2);
  assert.equal(displayWidth('😀'), 2);
  assert.equal(displayWidth('Ж'), 1);
});

test('fit() cuts at the cells, never half of a wide character', () => {
  assert.equal(fit('abcdef', 6), 'abcdef');
  assert.equal(fit('abcdefg', 6), 'abcde…');
  assert.equal(fit('日本語', 4), '日…');
});

test('layOut() aligns, drops empty columns, flattens lines and keeps styles', () => {
  const lines = layOut([{ title: 'A' }, { title: 'EMPTY' }, { title: 'N', align: 'right' }, { title: 'B' }], [['x\ny', '', '7', red('bad')], ['日本', '', '10']], Infinity);
  assert.deepEqual(flat(lines), ['A      N  B', 'x y    7  bad', '日本  10  ']);
  assert.ok(lines[1]!.some((span) => typeof span !== 'string' && span.style === 'red'));
});

test('layOut() lets the most willing column give way first, none below its least', () => {
  const rows = [['n'.repeat(20), 'a'.repeat(30), 'b'.repeat(30)]];
  const columns = [{ title: 'N' }, { title: 'A', shrink: 1 }, { title: 'B', shrink: 2 }];
  const widths = (width: number): number[] => flat(layOut(columns, rows, width))[1]!.split(/ {2}/).map((cell) => cell.trim().length);
  assert.deepEqual(widths(84), [20, 30, 30]);
  assert.deepEqual(widths(70), [20, 30, 16]);
  assert.deepEqual(widths(60), [20, 24, 12]);
  assert.deepEqual(widths(45), [20, 12, 9]);
  assert.deepEqual(widths(10), [20, 1, 1]);
  assert.deepEqual(flat(layOut([{ title: 'P', shrink: 1, cut: 'start' }], [['/a/long/path/to/zuno.json']], 12))[1], '…o/zuno.json');
});

test('layOut() leaves a spare column out where the others could not keep their least', () => {
  const columns = [{ title: 'N' }, { title: 'A', shrink: 1, least: 20 }, { title: 'B', shrink: 2, least: 10, spare: true as const }];
  const rows = [['n'.repeat(10), 'a'.repeat(30), 'b'.repeat(30)]];
  const cells = (width: number): string[] => flat(layOut(columns, rows, width))[1]!.split(/ {2,}/);
  assert.deepEqual(cells(74).map((cell) => cell.length), [10, 30, 30]);
  assert.deepEqual(cells(44).map((cell) => cell.length), [10, 20, 10]);
  assert.deepEqual(cells(43).map((cell) => cell.length), [10, 30]);
  assert.deepEqual(cells(20).map((cell) => cell.length), [10, 8]);
});

test('layOut() without a width cuts nothing, and one long cell does not push the others away', () => {
  const lines = flat(layOut([{ title: 'A' }, { title: 'B' }], [['a'.repeat(200), 'x'], ['short', 'y']], Infinity));
  assert.deepEqual(lines, [`A${' '.repeat(61)}B`, `${'a'.repeat(200)}  x`, `short${' '.repeat(57)}y`]);
});
