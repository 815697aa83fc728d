import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, isObject, isStringArray, isStringMap, member, parseJson, pointerStep } from '../../../src/base/json.ts';

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
