import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, isObject, isStringArray, isStringMap, member, parseJson, pointerStep, pruneJson, textNestsDeeper } from '../../../src/base/json.ts';

test('isObject() is true for plain objects only', () => {
  for (const value of [{}, { a: 1 }, JSON.parse('{"__proto__":1}')]) assert.equal(isObject(value), true);
  for (const value of [null, undefined, [], 'a', 1, true]) assert.equal(isObject(value), false);
});

test('isStringArray() and isStringMap() look at every entry', () => {
  assert.equal(isStringArray([]), true);
  assert.equal(isStringArray(['a', 'b']), true);
  assert.equal(isStringArray(['a', 1]), false);
  assert.equal(isStringArray('ab'), false);
  assert.equal(isStringMap({ a: 'x' }), true);
  assert.equal(isStringMap({ a: 'x', b: null }), false);
  assert.equal(isStringMap(['x']), false);
});

test('member() never reaches a prototype', () => {
  assert.equal(member({ a: 1 }, 'a'), 1);
  assert.equal(member({}, 'constructor'), undefined);
  assert.equal(member({}, '__proto__'), undefined);
  assert.equal(member(JSON.parse('{"__proto__":7}'), '__proto__'), 7);
});

test('parseJson() tells "not JSON" apart from the value null', () => {
  assert.deepEqual(parseJson('null'), { value: null });
  assert.deepEqual(parseJson(' [1] '), { value: [1] });
  for (const text of ['', '{', 'undefined', "{'a':1}", '{"a":1}x']) assert.equal(parseJson(text), undefined);
});

test('parseJson() refuses what nests deeper than 512 levels, whatever would walk it', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  assert.equal(canonicalJson(parseJson(deep(512))?.value), deep(512));
  for (const levels of [513, 20_000, 1_000_000]) assert.equal(parseJson(deep(levels)), undefined);
});

test('pointerStep() escapes tilde before slash', () => {
  assert.equal(pointerStep('a'), '/a');
  assert.equal(pointerStep('a/b~c'), '/a~1b~0c');
  assert.equal(pointerStep('~1'), '/~01');
  assert.equal(pointerStep(''), '/');
  assert.equal(pointerStep(3), '/3');
});

test('canonicalJson() gives equal text for equal values, whatever the order of their keys', () => {
  assert.equal(canonicalJson({ b: 1, a: { d: [1, { y: 2, x: 1 }], c: null } }), '{"a":{"c":null,"d":[1,{"x":1,"y":2}]},"b":1}');
  assert.equal(canonicalJson({ b: 2, a: 1 }), canonicalJson({ a: 1, b: 2 }));
  assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]));
});

test('canonicalJson() treats undefined as JSON does: absent in objects, null in lists and alone', () => {
  assert.equal(canonicalJson({ a: undefined, b: [undefined] }), '{"b":[null]}');
  assert.equal(canonicalJson(undefined), 'null');
});

test('canonicalJson() stays JSON for strings and for the key __proto__', () => {
  const value: unknown = JSON.parse('{"__proto__":{"z":1},"é\\"\\n":"\\u2028"}');
  assert.deepEqual(JSON.parse(canonicalJson(value)), value);
});

test('textNestsDeeper() counts levels, not brackets: strings and siblings do not nest', () => {
  const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
  assert.equal(textNestsDeeper(nested(512), 512), false);
  assert.equal(textNestsDeeper(nested(514), 512), true);
  assert.equal(textNestsDeeper(JSON.stringify(Array.from({ length: 2000 }, () => [{ a: [] }])), 4), false);
  for (const tricky of ['['.repeat(99), '\\"'.repeat(50) + '['.repeat(99), '\\', '"', '\\\\" ['.repeat(30), '{'.repeat(99) + '\\']) assert.equal(textNestsDeeper(JSON.stringify([tricky, tricky]), 8), false, tricky);
  assert.equal(textNestsDeeper(`["${'x'.repeat(99)}\\\\",${'['.repeat(20)}`, 8), true);
  assert.equal(textNestsDeeper(`["${'['.repeat(99)}`, 8), false);
});

test('textNestsDeeper() is linear, also on text made of quotes, backslashes or brackets', () => {
  for (const unit of ['\\', '"', '[', '\\"', '{"a":', ']']) {
    const startedAt = performance.now();
    textNestsDeeper(unit.repeat(4_000_000), 1e9);
    textNestsDeeper(`"${unit.repeat(4_000_000)}`, 8);
    pruneJson(`"${unit.repeat(4_000_000)}`, 1);
    assert.ok(performance.now() - startedAt < 4_000, JSON.stringify(unit));
  }
});

test('pruneJson() leaves out what lies deeper and keeps the rest as it stood', () => {
  assert.equal(pruneJson('{"a":[1,[2]],"b":"[{","c":{"d":{}},"e":2}', 1), '{"a":null,"b":"[{","c":null,"e":2}');
  assert.equal(pruneJson('[{"a":[]},{"b":{}}] ', 2), '[{"a":null},{"b":null}] ');
  assert.equal(pruneJson('{"a":1}', 1), '{"a":1}');
  assert.equal(pruneJson('{"a":[[[', 1), '{"a":null');
});
