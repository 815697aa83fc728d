import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abridged } from '../../../src/cli/home.ts';
import { dim, red } from '../../../src/cli/span.ts';
import type { Line } from '../../../src/cli/span.ts';
import { wrapLine, wrapText } from '../../../src/cli/wrap.ts';

const flat = (lines: readonly Line[]): string[] => lines.map((line) => line.map((span) => (typeof span === 'string' ? span : span.text)).join(''));

test('wrapLine() breaks between words and goes on a little further in', () => {
  assert.deepEqual(flat(wrapLine([red('error: '), 'Cannot find the server "docs"'], 20)), ['error: Cannot find', '  the server "docs"']);
  assert.deepEqual(flat(wrapLine(['    indented words stay where they were'], 24)), ['    indented words stay', '    where they were']);
});

test('wrapLine() goes on under the text of a labelled row, and keeps styles', () => {
  const lines = wrapLine([dim('  cause   '), 'exit code 9; its stderr: ', red('FATAL error')], 26);
  assert.deepEqual(flat(lines), ['  cause   exit code 9; its', '          stderr: FATAL', '          error']);
  assert.deepEqual(lines[2]!.at(-1), red('error'));
});

test('wrapLine() leaves a word that is longer than a line, and what fits, alone', () => {
  const url = `https://example.com/${'x'.repeat(40)}`;
  assert.deepEqual(flat(wrapLine([url], 30)), [url]);
  // It breaks where the terminal breaks it; words go on behind it.
  assert.deepEqual(flat(wrapLine([`open ${url} now please, if you can wait`], 30)), [`open ${url} now please, if you can`, '  wait']);
  const line: Line = ['short'];
  assert.equal(wrapLine(line, 30)[0], line);
  assert.equal(wrapLine(['a long line of words'], Infinity).length, 1);
  assert.equal(wrapLine(['a long line of words'], 10).length, 1);
});

test('wrapLine() counts cells, not characters, and takes line breaks as they are', () => {
  assert.deepEqual(flat(wrapLine(['日本語日本語 日本語日本語'], 20)), ['日本語日本語', '  日本語日本語']);
  assert.deepEqual(flat(wrapLine(['one two three four five six\nseven'], 20)), ['one two three four', '  five six', 'seven']);
  assert.equal(wrapText('one two three four five six', 20), 'one two three four\n  five six');
});

test('wrapLine() is linear', () => {
  const startedAt = performance.now();
  assert.ok(wrapLine(['word '.repeat(100_000)], 60).length > 8_000);
  wrapLine([' '.repeat(300_000)], 60);
  assert.ok(performance.now() - startedAt < 3_000);
});

test('abridged() writes ~ for the home directory, and only for a whole path', () => {
  const home = '/home/ann';
  assert.equal(abridged('/home/ann/bin/x --data=/home/ann/d /home/ann', home), '~/bin/x --data=~/d ~');
  assert.equal(abridged("node '/home/ann/my file'", home), "node '~/my file'");
  assert.equal(abridged('/home/anna/x /mnt/home/ann/x /home/ann-old', home), '/home/anna/x /mnt/home/ann/x /home/ann-old');
  assert.equal(abridged('C:\\Users\\Ann\\x', 'C:\\Users\\Ann'), '~\\x');
  assert.equal(abridged('/etc/x', '/'), '/etc/x');
});
