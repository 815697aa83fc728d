import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteSize, count, nearest, oneLine, shorten, stripControls } from '../../../src/base/text.ts';

const ESC = '\u001b';

test('stripControls() removes what would act on a terminal and keeps the words', () => {
  const rows: readonly (readonly [string, string])[] = [
    [`${ESC}[31mred${ESC}[0m`, 'red'],
    [`${ESC}[2J${ESC}[1;1Hgone`, 'gone'],
    [`${ESC}]0;title\u0007after`, 'after'],
    [`${ESC}]8;;https://example.com${ESC}\\link${ESC}]8;;${ESC}\\`, 'link'],
    [`${ESC}P1$r0m${ESC}\\x`, 'x'],
    [`${ESC}c${ESC}7a${ESC}(Bb`, 'ab'],
    [`${ESC}`, ''],
    [`${ESC}${ESC}[1mb`, 'b'],
    ['\u009b31mred', 'red'],
    ['\u009d0;x\u009c', '0;x'],
    ['a\u0000b\u0008c\u007fd\u0085e', 'abcde'],
    ['safe\u202egnp.exe\u2066x\u200f', 'safegnp.exex'],
    ['one\r\ntwo\rthree\tfour\n', 'one\ntwothree\tfour\n'],
    ['日本 🙂 é', '日本 🙂 é'],
  ];
  for (const [from, to] of rows) assert.equal(stripControls(from), to, JSON.stringify(from));
});

test('stripControls() leaves no escape character behind, whatever is nested in what', () => {
  for (const text of [`${ESC}${ESC}[${ESC}[31m31m`, `${ESC}]${ESC}]0;a\u0007b`, `${ESC}[${ESC}]x`]) assert.equal(stripControls(text).includes(ESC), false);
});

test('stripControls() hides nothing behind a sequence that was opened and not closed', () => {
  assert.equal(stripControls(`${ESC}]0;rm -rf /\nsecond line`), '0;rm -rf /\nsecond line');
  assert.equal(stripControls(`${ESC}]a\nb\u0007c`), 'a\nbc');
});

test('oneLine() puts one space for every line break and the space around it', () => {
  assert.equal(oneLine('  a \n\n  b\tc  d\r\n'), 'a b c  d');
  assert.equal(oneLine('a\u2028b'), 'a b');
  assert.equal(oneLine(''), '');
});

test('oneLine() and stripControls() are linear in what a server sends', () => {
  const hostile = ['a' + ' '.repeat(400_000) + 'b', `${ESC}[`.repeat(150_000), `${ESC}[${'1'.repeat(300_000)}`, `${ESC}]x`.repeat(100_000), ' \n'.repeat(150_000)];
  const startedAt = performance.now();
  for (const text of hostile) oneLine(text);
  assert.ok(performance.now() - startedAt < 2_000);
});

test('shorten() keeps at most so many characters and never half a surrogate pair', () => {
  assert.equal(shorten('abc', 3), 'abc');
  assert.equal(shorten('abcd', 3), 'ab…');
  assert.equal(shorten('ab🙂cd', 4), 'ab…');
  assert.equal(shorten('ab🙂cd', 5), 'ab🙂…');
  assert.equal(shorten('abc', 1), '…');
  assert.equal(shorten('abc', 0), '');
});

test('count() speaks of one and of many', () => {
  assert.equal(count(1, 'tool'), '1 tool');
  assert.equal(count(0, 'tool'), '0 tools');
  assert.equal(count(2, 'entry', 'entries'), '2 entries');
});

test('byteSize() picks a unit a person can read', () => {
  assert.equal(byteSize(0), '0 B');
  assert.equal(byteSize(812), '812 B');
  assert.equal(byteSize(1434), '1.4 KiB');
  assert.equal(byteSize(12 * 1024 * 1024), '12 MiB');
  assert.equal(byteSize(5 * 1024 ** 4), '5120 GiB');
});

test('nearest() finds typing slips, swapped letters, prefixes and parts, best first', () => {
  const known = ['list', 'login', 'logout', 'resources', 'docs_search', 'docs_write'];
  assert.deepEqual(nearest('lsit', known), ['list']);
  assert.deepEqual(nearest('logut', known), ['logout']);
  assert.deepEqual(nearest('RESOURCE', known), ['resources']);
  assert.deepEqual(nearest('docs', known), ['docs_search', 'docs_write']);
  assert.deepEqual(nearest('search', known), ['docs_search']);
  assert.deepEqual(nearest('docs', ['docs_a', 'docs_b', 'docs_c', 'docs_d'], 2), ['docs_a', 'docs_b']);
});

test('nearest() suggests nothing where nothing is near', () => {
  for (const word of ['', 'zzzzzz', 'x'.repeat(201)]) assert.deepEqual(nearest(word, ['list', 'call']), []);
});
