import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { normalizeInputSchema, signature } from '../../../src/registry/input-schema.ts';
import { checkSchema } from '../../../src/registry/schema.ts';

describe('normalizeInputSchema()', () => {
  test('gives an open object where there is none (row 119)', () => {
    for (const schema of [undefined, null, true, false, 'x', []]) assert.deepEqual(normalizeInputSchema(schema), { type: 'object', properties: {} });
  });

  test('keeps what the server said, additionalProperties too (row 119)', () => {
    const whole = { type: 'object', properties: { a: {} }, additionalProperties: true };
    assert.equal(normalizeInputSchema(whole), whole);
    assert.deepEqual(normalizeInputSchema({ additionalProperties: true }), { additionalProperties: true, type: 'object', properties: {} });
    assert.deepEqual(normalizeInputSchema({ type: 'object', additionalProperties: false, properties: null }), { type: 'object', additionalProperties: false, properties: {} });
    assert.deepEqual(normalizeInputSchema({ type: ['object', 'null'], required: ['a'] }), { type: 'object', required: ['a'], properties: {} });
    assert.deepEqual(normalizeInputSchema({ $ref: '#/$defs/In', $defs: { In: {} } }), { $ref: '#/$defs/In', $defs: { In: {} }, type: 'object', properties: {} });
    assert.deepEqual(normalizeInputSchema({ anyOf: [{}], enum: [{}, 1] }), { anyOf: [{}], enum: [{}, 1], type: 'object', properties: {} });
  });

  test('wraps a root that is no object without breaking its references', () => {
    const wrapped = normalizeInputSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array', items: { $ref: '#/$defs/s' }, $defs: { s: { type: 'string' } } });
    assert.deepEqual(wrapped['properties'], { value: { type: 'array', items: { $ref: '#/$defs/s' } } });
    assert.deepEqual(checkSchema(wrapped, { value: ['x'] }), { valid: true });
    assert.deepEqual(checkSchema(wrapped, {}), { valid: true });
    assert.ok(!('valid' in checkSchema(wrapped, { value: [1] }) && (checkSchema(wrapped, { value: [1] }) as { valid: boolean }).valid));
    for (const root of [{ type: 'string' }, { enum: ['a'] }, { const: 3 }, { type: [] }]) assert.deepEqual(normalizeInputSchema(root), { type: 'object', properties: { value: root } });
  });
});

describe('signature()', () => {
  const of = (properties: JsonObject, more: JsonObject = {}): string => signature({ name: 'search', inputSchema: { type: 'object', properties, ...more } });

  test('is one line with types, optional marks and defaults, required first', () => {
    assert.equal(of({ limit: { type: 'integer', default: 10 }, query: { type: 'string' } }, { required: ['query'] }), 'search(query: string, limit?: integer = 10)');
    assert.equal(of({}), 'search()');
    assert.equal(signature({ name: 'x', inputSchema: {} }, 'docs_x'), 'docs_x()');
  });

  test('spells enums, unions, arrays, references and odd names', () => {
    assert.equal(of({ sort: { enum: ['asc', 'desc'] } }), 'search(sort?: "asc" | "desc")');
    assert.equal(of({ a: { type: ['string', 'null'] }, b: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }), 'search(a?: string | null, b?: integer | null)');
    assert.equal(of({ tags: { type: 'array', items: { type: 'string' } }, any: { type: 'array' }, mix: { type: 'array', items: { enum: [1, 2] } } }), 'search(tags?: string[], any?: any[], mix?: (1 | 2)[])');
    assert.equal(of({ n: { $ref: '#/$defs/a~1b' }, m: { $ref: 'x.json' } }, { $defs: { 'a/b': { type: 'number' } } }), 'search(n?: number, m?: any)');
    assert.equal(of({ 'x-y z': { const: 3 }, o: { properties: {} }, t: true, l: { $ref: '#/properties/l' } }), 'search("x-y z"?: 3, o?: object, t?: any, l?: any)');
    assert.equal(of({ many: { enum: [1, 2, 3, 4, 5, 6, 7] }, none: { enum: [] } }), 'search(many?: 1 | 2 | 3 | 4 | 5 | 6 | …, none?: any)');
  });

  test('ends with an ellipsis where it grows too long', () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`parameter_${i}`, { type: 'string' }]));
    const line = of(properties);
    assert.match(line, /, …\)$/);
    assert.ok(line.length <= 210);
  });
});
