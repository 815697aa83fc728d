import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleCall } from '../../../src/cli/example.ts';
import { alternatives, fixedValues, kindsOf, propertiesOf, requiredOf, resolveShape, shapeOfMember } from '../../../src/cli/shape.ts';

test('resolveShape() follows local references and gives up on foreign, missing and circular ones', () => {
  const root = { $defs: { 'a/b': { type: 'string' }, loop: { $ref: '#/$defs/loop' }, hop: { $ref: '#/$defs/a~1b' } } };
  assert.deepEqual(resolveShape({ $ref: '#/$defs/a~1b' }, root), { type: 'string' });
  assert.deepEqual(resolveShape({ $ref: '#/$defs/hop' }, root), { type: 'string' });
  for (const schema of [{ $ref: '#/$defs/loop' }, { $ref: 'https://example.com/schema' }, { $ref: '#/$defs/none/deeper' }, true, undefined, 3]) assert.deepEqual(resolveShape(schema, root), {});
  assert.equal(resolveShape({ $ref: '#' }, root), root);
});

test('kindsOf() reads type, enum, const, alternatives and allOf', () => {
  const kinds = (schema: object): string[] => [...kindsOf(schema as never, {})];
  assert.deepEqual(kinds({ type: 'integer' }), ['integer']);
  assert.deepEqual(kinds({ type: ['string', 'null', 3] }), ['string', 'null']);
  assert.deepEqual(kinds({ enum: ['a', 1, null, [], {}] }), ['string', 'number', 'null', 'array', 'object']);
  assert.deepEqual(kinds({ const: true }), ['boolean']);
  assert.deepEqual(kinds({ anyOf: [{ type: 'string' }, { type: 'integer' }] }), ['string', 'integer']);
  assert.deepEqual(kinds({ anyOf: [{ type: 'string' }, {}] }), []);
  assert.deepEqual(kinds({ allOf: [{ minLength: 1 }, { type: 'string' }] }), ['string']);
  assert.deepEqual(kinds({ properties: {} }), ['object']);
  const endless: Record<string, unknown> = {};
  endless['anyOf'] = [endless];
  assert.deepEqual(kinds(endless), []);
});

test('propertiesOf() joins the members of combined schemas, its own last; shapeOfMember() finds one', () => {
  const schema = { allOf: [{ properties: { a: { type: 'string' } } }], oneOf: [{ properties: { b: { type: 'integer' } } }], properties: { a: { type: 'boolean' } }, additionalProperties: { type: 'null' } };
  assert.deepEqual(propertiesOf(schema, schema), { a: { type: 'boolean' }, b: { type: 'integer' } });
  assert.deepEqual(shapeOfMember(schema, 'b', schema), { type: 'integer' });
  assert.deepEqual(shapeOfMember(schema, 'z', schema), { type: 'null' });
  const endless: Record<string, unknown> = {};
  endless['allOf'] = [endless];
  assert.deepEqual(propertiesOf(endless, endless), {});
});

test('fixedValues(), alternatives() and requiredOf() read what is there', () => {
  assert.deepEqual(fixedValues({ const: null }), [null]);
  assert.equal(fixedValues({ enum: 'x' }), undefined);
  assert.deepEqual(alternatives({ oneOf: [{ type: 'null' }] }, {}), [{ type: 'null' }]);
  assert.deepEqual(requiredOf({ required: ['a', 3] }), ['a']);
  assert.deepEqual(requiredOf({ required: 'a' }), []);
});

test('exampleCall() gives each required argument a value of its type', () => {
  const schema = {
    type: 'object', required: ['s', 'i', 'b', 'l', 'o', 'e', 'd', 'x', 'q', 'z', 'w'],
    properties: { s: { type: 'string' }, i: { type: 'integer' }, b: { type: 'boolean' }, l: { type: 'array' }, o: { type: 'object' }, e: { enum: ['a', 'b'] }, d: { type: 'integer', default: 5 }, x: { examples: ["it's"] }, q: { default: { a: 1 } }, z: {}, optional: {}, w: { type: 'null' } },
  };
  assert.equal(exampleCall('t', schema), "zuno-lite call t s=TEXT i=1 b=yes l:='[…]' o:='{…}' e=a d=5 'x=it'\\''s' q:='{\"a\":1}' z=TEXT w:='{…}'");
});
