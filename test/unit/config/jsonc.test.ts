import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure, type AnyFailure } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import { memberOf, parseJsonc, positionAt, valueOf } from '../../../src/config/jsonc.ts';
import { createRandom, generateJsonc } from './generate.ts';

const source = { file: '/x/zuno.jsonc', layer: 'global' };
const parse = (text: string): unknown => valueOf(parseJsonc(text, source).root);

function failureOf(text: string): AnyFailure & { readonly code: 'CONFIG_UNREADABLE' } {
  try {
    parseJsonc(text, source);
  } catch (error) {
    assert.ok(isFailure(error), String(error));
    assert.equal(error.code, 'CONFIG_UNREADABLE');
    return error as AnyFailure & { readonly code: 'CONFIG_UNREADABLE' };
  }
  assert.fail(`parsed: ${text.slice(0, 100)}`);
}

test('parseJsonc() reads every kind of value as JSON.parse does', () => {
  const text = '{"a":[1,-0.5e+3,true,false,null,"x\\u0041\\n\\"\\\\/"],"b":{"":{}},"c":[]}';
  assert.deepEqual(parse(text), JSON.parse(text));
  for (const word of ['null', '1', '"a"', '[]', '  {} ']) assert.deepEqual(parse(word), JSON.parse(word));
});

test('parseJsonc() accepts comments, trailing commas and a byte order mark (row 35)', () => {
  assert.deepEqual(parse('\ufeff// one\n{ /* two */ "a": [1, 2,], // three\n "b": "// no comment", /* four */ }\n/* five */'), { a: [1, 2], b: '// no comment' });
  assert.deepEqual(parse('{"a": 1/**/,"b": 2// x\r\n}'), { a: 1, b: 2 });
});

test('parseJsonc() takes a text without a value for an empty object', () => {
  for (const text of ['', '  \n', '// only a comment', '\ufeff', '/* x */\n']) assert.deepEqual(parse(text), {});
});

test('parseJsonc() names line, column and excerpt of a mistake in the original text (row 35)', () => {
  const failure = failureOf('{\n  // comment\n  "mcp": {\n    "a": tru\n  }\n}');
  assert.deepEqual(failure.details, { file: '/x/zuno.jsonc', line: 4, column: 10 });
  assert.equal(failure.origin?.line, 4);
  assert.match(failure.message, /^Cannot read "\/x\/zuno\.jsonc": line 4, column 10: a value is due here .*near: "a": tru\)$/);
});

test('parseJsonc() says what is wrong', () => {
  const table: readonly (readonly [string, RegExp, number, number])[] = [
    ['{"a" 1}', /a colon is due/, 1, 6],
    ['{"a":1 "b":2}', /a comma or \} is due/, 1, 8],
    ['[1 2]', /a comma or \] is due/, 1, 4],
    ['{a:1}', /a key in double quotes/, 1, 2],
    ['{"a":1', /an object that does not end/, 1, 1],
    ['{"a":1,', /an object that does not end/, 1, 1],
    ['{"a":', /a value is missing/, 1, 6],
    ['[1', /an array that does not end/, 1, 1],
    ['[1,', /an array that does not end/, 1, 1],
    ['{} x', /text after the end/, 1, 4],
    ['{}\n/* x', /a comment that does not end/, 2, 1],
    ['"a\nb"', /does not end on its line/, 1, 3],
    ['"a\u0001"', /a control character/, 1, 3],
    ['"a', /text that does not end/, 1, 1],
    ['"\\x"', /an escape that JSON does not know/, 1, 1],
    ['[,]', /a value is due/, 1, 2],
    ['[01]', /a value is due/, 1, 2],
    ['[1.]', /a value is due/, 1, 2],
    ['[NaN]', /a value is due/, 1, 2],
    ["['a']", /a value is due/, 1, 2],
    ['/', /a value is due/, 1, 1],
    ['\ufeff{"a" 1}', /a colon is due/, 1, 6],
  ];
  for (const [text, expected, line, column] of table) {
    const failure = failureOf(text);
    assert.match(failure.message, expected, JSON.stringify(text));
    assert.deepEqual([failure.details.line, failure.details.column], [line, column], JSON.stringify(text));
  }
});

test('parseJsonc() shows no configured text in the excerpt of a mistake', () => {
  const failure = failureOf('{"headers": {"Authorization": "hunter2secret", "X": oops}}');
  assert.doesNotMatch(failure.message, /hunter2/);
  assert.match(failure.message, /"Authorization": "\*\*\*", "X": oops/);
  assert.doesNotMatch(failureOf('{"a": "hunter2secret\n}').message, /hunter2/);
  assert.doesNotMatch(failureOf('{"a": Bearer hunter2secret}').message, /hunter2secret/);
});

test('parseJsonc() lets the last of repeated keys win and reports them', () => {
  const document = parseJsonc('{"a":1,"b":2,"a":3,"a":4}', source);
  assert.deepEqual(valueOf(document.root), { a: 4, b: 2 });
  assert.deepEqual(document.repeated.map(({ key, keyStart }) => [key, keyStart]), [['a', 13], ['a', 19]]);
  assert.equal(memberOf(document.root, 'a')?.keyStart, 19);
  assert.equal(memberOf(parseJsonc('[]', source).root, 'a'), undefined);
});

test('valueOf() keeps keys that name a prototype harmless', () => {
  const value = parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as Record<string, unknown>;
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
});

test('parseJsonc() bounds nesting', () => {
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  parse(deep(limits.jsonDepth));
  assert.match(failureOf(deep(limits.jsonDepth + 2)).message, /nested deeper than 512/);
  assert.match(failureOf('{"a":'.repeat(100_000)).message, /nested deeper/);
});

test('parseJsonc() bounds the size', () => {
  assert.match(failureOf(`"${'x'.repeat(limits.configFileBytes)}"`).message, /larger than 1\.0 MiB/);
  parse(`"${'x'.repeat(limits.configFileBytes - 2)}"`);
});

test('parseJsonc() takes time in proportion to the text', () => {
  const texts = [
    `[${'"\\\\",'.repeat(100_000)}]`, '/*'.repeat(500_000), '/**/'.repeat(250_000), `{${'"a":1,'.repeat(150_000)}}`, '"'.repeat(1_000_000), '\\'.repeat(1_000_000),
    '-'.repeat(1_000_000), `[${'1,'.repeat(500_000)}x`, `"${'\\"'.repeat(500_000)}`,
  ];
  for (const text of texts) {
    const startedAt = performance.now();
    try { parse(text); } catch (error) { assert.ok(isFailure(error), String(error)); }
    const took = performance.now() - startedAt;
    assert.ok(took < 2_000, `${text.slice(0, 10)} took ${took} ms`);
  }
});

test('positionAt() counts lines and columns from 1, a byte order mark aside', () => {
  assert.deepEqual(positionAt('ab\ncd', 4), { line: 2, column: 2 });
  assert.deepEqual(positionAt('\ufeffab', 1), { line: 1, column: 1 });
  assert.deepEqual(positionAt('\ufeffab', 0), { line: 1, column: 1 });
});

test('parseJsonc() reads what was generated, and throws nothing but a Failure on 100,000 mutated texts, with a position inside the text', () => {
  const random = createRandom(7);
  const signs = ['{', '}', '[', ']', '"', ',', ':', '/', '*', '\\', '\n', '\u0000', '\ufeff', '0', 'e', '-', '\ud800', 'tru', '//', '/*'];
  let readable = 0;
  for (let round = 0; round < 1_000; round++) {
    const { text, value } = generateJsonc(random);
    assert.deepEqual(parse(text), value);
    for (let mutation = 0; mutation < 100; mutation++) {
      let mutated = text;
      for (let times = 1 + random.below(3); times > 0; times--) {
        const at = random.below(mutated.length + 1);
        mutated = mutated.slice(0, at) + (random.below(3) === 0 ? '' : random.pick(signs)) + mutated.slice(at + random.below(4));
      }
      try {
        parse(mutated);
        readable += 1;
      } catch (error) {
        assert.ok(isFailure(error) && error.code === 'CONFIG_UNREADABLE', `${String(error)} for ${JSON.stringify(mutated)}`);
        const { line = 0, column = 0 } = error.details;
        const lines = mutated.split('\n');
        assert.ok(line >= 1 && line <= lines.length && column >= 1 && column <= lines[line - 1]!.length + 1, `line ${line}, column ${column} of ${JSON.stringify(mutated)}`);
      }
    }
  }
  assert.ok(readable > 0 && readable < 100_000);
});
