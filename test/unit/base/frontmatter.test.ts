import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFrontmatter } from '../../../src/base/frontmatter.ts';
import { limits } from '../../../src/base/limits.ts';

const head = (yaml: string): string => `---\n${yaml}\n---\n\nBody: {not: [yaml\n`;
function read(yaml: string): unknown {
  const found = readFrontmatter(head(yaml));
  if ('problem' in found) assert.fail(`${found.problem}\n${yaml}`);
  return found.value;
}
function refused(yaml: string): string {
  const found = readFrontmatter(head(yaml));
  if ('value' in found) assert.fail(`${JSON.stringify(found.value)}\n${yaml}`);
  return found.problem;
}

const vectors: readonly (readonly [what: string, yaml: string, value: unknown])[] = [
  ['plain text', 'name: pdf-processing\ndescription: Extract, fill, and assemble PDF documents', { name: 'pdf-processing', description: 'Extract, fill, and assemble PDF documents' }],
  ['nothing', '', {}],
  ['only comments', '# one\n\n  # two', {}],
  ['no value, and null in its spellings', 'a:\nb: ~\nc: null\nd: NULL\ne: nullable', { a: null, b: null, c: null, d: null, e: 'nullable' }],
  ['booleans of the core schema only', 'a: true\nb: False\nc: yes\nd: on', { a: true, b: false, c: 'yes', d: 'on' }],
  ['numbers', 'a: 12\nb: -3\nc: 1.50\nd: 1e3\ne: .5\nf: 0x1F\ng: 0o17\nh: +7\ni: 007\nj: 1.\nk: -0', { a: 12, b: -3, c: 1.5, d: 1000, e: 0.5, f: 31, g: 15, h: 7, i: 7, j: 1, k: -0 }],
  ['what only looks like a number', 'a: 1.2.3\nb: 1_000\nc: 2026-07-28\nd: 0x\ne: "12"\nf: e3\ng: "."', { a: '1.2.3', b: '1_000', c: '2026-07-28', d: '0x', e: '12', f: 'e3', g: '.' }],
  ['comments behind values', 'a: x # one\nb: "y" # two\nc: x#y\nd: # three\n  z # four', { a: 'x', b: 'y', c: 'x#y', d: 'z' }],
  ['colons inside plain text', 'a: http://x.test/y?z=1:2\nb: 12:30\nc:d: e', { a: 'http://x.test/y?z=1:2', b: '12:30', 'c:d': 'e' }],
  ['keys in quotes and with spaces', '"a b": 1\n\'c\'\'d\': 2\nlong key : 3\n"e\\n": 4', { 'a b': 1, "c'd": 2, 'long key': 3, 'e\n': 4 }],
  ['a plain value over several lines', 'a: one\n  two\n\n  three\n\n\n  four\nb: x', { a: 'one two\nthree\n\nfour', b: 'x' }],
  ['a plain value below its key', 'a:\n  one\n  two\nb: x', { a: 'one two', b: 'x' }],
  ['double quotes', 'a: "x \\"y\\" \\\\ \\t \\x41 \\u00e9 \\U0001F600 \\/ \\0"', { a: 'x "y" \\ \t A é 😀 / \0' }],
  ['double quotes over several lines', 'a: "one  \n  two\n\n  three \\\n  four\\\n  five"', { a: 'one two\nthree fourfive' }],
  ['single quotes', "a: 'it''s \\n # no comment: here'\nb: ''", { a: "it's \\n # no comment: here", b: '' }],
  ['single quotes over several lines', "a: 'one\n  two'", { a: 'one two' }],
  ['maps below maps', 'metadata:\n  author: x\n  deep:\n    version: "1.0"\n  n: 1\nb: 2', { metadata: { author: 'x', deep: { version: '1.0' }, n: 1 }, b: 2 }],
  ['lists', 'a:\n  - one\n  - 2\n  -\n  - "x: y"\nb: c', { a: ['one', 2, null, 'x: y'], b: 'c' }],
  ['a list as far left as its key', 'a:\n- one\n- two\nb: c', { a: ['one', 'two'], b: 'c' }],
  ['lists of maps and of lists', 'a:\n  - x: 1\n    y: 2\n  - x: 3\n  - - p\n    - q\n  -\n    z: 4\n  - # comment\n    w: 5', { a: [{ x: 1, y: 2 }, { x: 3 }, ['p', 'q'], { z: 4 }, { w: 5 }] }],
  ['lists in brackets', 'a: [one, "two, three", 3, [4], {b: 5}, ]\nb: []', { a: ['one', 'two, three', 3, [4], { b: 5 }], b: [] }],
  ['lists in brackets over several lines', 'a: [ # first\n  one,\n\n  # second\n  two\n  ]\nb: 1', { a: ['one', 'two'], b: 1 }],
  ['maps in braces', 'a: {b: 1, "c d": x y, e: , f: {}, g: http://x.test}\nh: {}', { a: { b: 1, 'c d': 'x y', e: null, f: {}, g: 'http://x.test' }, h: {} }],
  ['JSON', 'a: {"b":1,"c":[true,null,"d"]}', { a: { b: 1, c: [true, null, 'd'] } }],
  ['a literal block', 'a: |\n  one\n   two\n\n  three\n\nb: x', { a: 'one\n two\n\nthree\n', b: 'x' }],
  ['a literal block, stripped and kept', 'a: |-\n  one\n\nb: |+\n  two\n\nc: |+\n\nd: |\n\ne: 1', { a: 'one', b: 'two\n\n', c: '\n', d: '', e: 1 }],
  ['a folded block', 'a: >\n  one\n  two\n\n  three\n    code\n    more\n  four\n\n\n  five\nb: >-\n\n  x', { a: 'one two\nthree\n  code\n  more\nfour\n\nfive\n', b: '\nx' }],
  ['blocks with an indentation of their own', 'a: |2\n   one\n  two\nb: >1-\n  x\nc:\n  - |\n    deep', { a: ' one\ntwo\n', b: ' x', c: ['deep\n'] }],
  ['a block with a comment and a comment behind it', 'a: | # text\n  # not a comment\n# a comment\nb: 1', { a: '# not a comment\n', b: 1 }],
  ['keys that are names of a prototype', '__proto__: 1\nconstructor:\n  __proto__: 2\na: {__proto__: 3}', JSON.parse('{"__proto__":1,"constructor":{"__proto__":2},"a":{"__proto__":3}}')],
  ['quotes inside plain text', 'a: [x "y"]\nb: it\'s', { a: ['x "y"'], b: "it's" }],
  ['dashes that are none', 'a: -x\n-b: 1\nc: --', { a: '-x', '-b': 1, c: '--' }],
];
for (const [what, yaml, value] of vectors) {
  test(`readFrontmatter() reads ${what}`, () => {
    assert.deepEqual(read(yaml), value);
    assert.deepEqual(readFrontmatter(head(yaml).replaceAll('\n', '\r\n')), { value: read(yaml) }, 'with CR LF');
  });
}

const refusals: readonly (readonly [yaml: string, problem: RegExp])[] = [
  ['a: &x 1', /line 2 of its frontmatter: anchors are not supported/], ['a: *x', /aliases/], ['a: !!str 1', /tags/], ['a: [!t x]', /tags/], ['a: @x', /"@"/], ['a: `x`', /"`"/], ['? a', /complex keys/], ['a:\n  ? b', /complex keys/],
  ['<<: x', /merge keys/], ['a: %x', /directives/],
  ['a: 1\na: 2', /line 3 of its frontmatter: the key "a" comes twice/], ['a: {b: 1, b: 2}', /the key "b" comes twice/],
  ['\ta: 1', /tab is no indentation/], ['a:\n\t- x', /tab is no indentation/],
  ['just text', /is not a mapping/], ['- a', /is not a mapping/], ['"a": 1\nnonsense', /"nonsense" is no key with a value/], ['a: 1\n  b: 2', /has to be quoted|fits nothing/], ['a: "x"\n  b: 2', /fits nothing/],
  ['a:\n  - x\n    - y: 1', /has to be quoted|fits nothing/], ['a:\n   b: 1\n  c: 2', /fits nothing/], ['  a: 1', /begins indented/],
  ['a: b: c', /has to be quoted/], ['a: one\n  two: three', /has to be quoted/], ['a: x:', /has to be quoted/],
  ['a: "x" y', /behind a complete value/], ['a: [x] y', /behind a complete value/], ['a: {b: 1}}', /behind a complete value/],
  ['a: "x', /not closed/], ["a: 'x\nb: 1", /not closed/], ['a: [x', /not closed/], ['a: [x,\nb: 1', /not closed/], ['a: {b: 1', /not closed/], ['a: {b: 1\nc: 2', /not closed/],
  ['a: "\\q"', /"\\q" is no escape/], ['a: "\\u12"', /is no character/], ['a: "\\U00110000"', /is no character/],
  ['a: .inf', /no form in JSON/], ['a: [.nan]', /no form in JSON/], ['a: -.INF', /no form in JSON/],
  ['a: |x\n  y', /not understood/], ['a: |0\n  y', /not understood/], ['a: |\n    x\n  y', /indented too little/],
  ['a: [x: 1]', /outside of braces/], ['a: [x y z', /not closed/], ['a: [x]]', /behind/], ['a: [,]', /where a value is due/], ['a: {b}', /has no value/], ['a: {: 1}', /a key is missing/], ['a: ]', /where a value is due/], ['a: {b: "x" y}', /due/], ['a: ["x" y]', /due/],
  ['a: - x', /where a value is due/], ['a: 1\n- b', /list item/], ['x\n  y: 1', /no key|quoted|not a mapping/],
];
for (const [yaml, problem] of refusals) {
  test(`readFrontmatter() refuses ${JSON.stringify(yaml)}`, () => {
    assert.match(refused(yaml), problem);
  });
}

test('readFrontmatter() needs both lines of dashes, and takes a byte order mark, spaces behind them and dots at the end', () => {
  assert.match(JSON.stringify(readFrontmatter('name: x')), /does not begin/);
  assert.match(JSON.stringify(readFrontmatter('')), /does not begin/);
  assert.match(JSON.stringify(readFrontmatter('--- \nname: x')), /not closed/);
  assert.match(JSON.stringify(readFrontmatter('----\nname: x\n---')), /does not begin/);
  assert.deepEqual(readFrontmatter('\ufeff---  \nname: x\n... \nbody'), { value: { name: 'x' } });
  assert.deepEqual(readFrontmatter('---\n---'), { value: {} });
  assert.deepEqual(readFrontmatter('---\na: |\n  x\n  ---\n---\n'), { value: { a: 'x\n---\n' } });
});

test('readFrontmatter() is bounded in size and depth, and linear in between', () => {
  assert.match(refused(`a: ${'x'.repeat(limits.frontmatterChars)}`), /longer than 65536 characters/);
  const nested = (levels: number): string => Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}k:`).join('\n');
  assert.ok(read(nested(limits.frontmatterDepth)));
  assert.match(refused(nested(limits.frontmatterDepth + 2)), /nested deeper than 32 levels/);
  assert.match(refused(`a: ${'['.repeat(40)}${']'.repeat(40)}`), /nested deeper/);
  const most = limits.frontmatterChars - 100;
  const startedAt = performance.now();
  for (const yaml of [`a: "${' '.repeat(most)}"`, `a: ${'x '.repeat(most / 2)}`, `a: "\n${' \n'.repeat(most / 2)}  "`, `a: ${'#'.repeat(most)}`, `${'a'.repeat(most)}: 1`, `a: [${'1,'.repeat(most / 2)}]`, `a: >\n${' x\n'.repeat(most / 3)}`, `a:\n${' - x\n'.repeat(most / 5)}`, `a: "${'\\n'.repeat(most / 2)}"`]) readFrontmatter(head(yaml));
  assert.ok(performance.now() - startedAt < 2000);
});
