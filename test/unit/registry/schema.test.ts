import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { checkSchema, createSchemaChecks } from '../../../src/registry/schema.ts';

const DRAFT7 = 'http://json-schema.org/draft-07/schema#';

/** `ok`, the problems as `pointer message`, or `unusable: reason`. */
function verdict(schema: unknown, value: unknown, assertFormats = false): string {
  const check = checkSchema(schema, value, { assertFormats });
  if ('unusable' in check) return `unusable: ${check.unusable}`;
  return check.valid ? 'ok' : check.problems.map(({ pointer, message }) => `${pointer} ${message}`.trim()).join('; ');
}

/** Each row: schema, values that fit, values that do not. */
function table(rows: readonly (readonly [schema: unknown, fits: readonly unknown[], fails: readonly unknown[]])[]): void {
  for (const [schema, fits, fails] of rows) {
    for (const value of fits) assert.equal(verdict(schema, value), 'ok', `${JSON.stringify(schema)} must take ${JSON.stringify(value)}`);
    for (const value of fails) assert.match(verdict(schema, value), /^(?!ok$|unusable)./, `${JSON.stringify(schema)} must refuse ${JSON.stringify(value)}`);
  }
}

describe('checkSchema() values', () => {
  test('types, enum, const', () => {
    table([
      [true, [1, null, {}], []], [false, [], [1, null]], [{}, [1, null, []], []],
      [{ type: 'string' }, ['', 'x'], [1, null, [], {}]], [{ type: 'integer' }, [1, 1.0, -3], [1.5, '1']], [{ type: 'number' }, [1.5, 1], ['1']],
      [{ type: ['string', 'null'] }, ['x', null], [1]], [{ type: 'array' }, [[]], [{}]], [{ type: 'object' }, [{}], [[], null]], [{ type: 'boolean' }, [true, false], [0]],
      [{ enum: ['a', 1, null, { b: [1] }] }, ['a', 1, null, { b: [1] }], ['b', { b: [2] }, [1], false]], [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }, null]], [{ const: null }, [null], [0]],
    ]);
  });

  test('numbers', () => {
    table([
      [{ minimum: 1, maximum: 3 }, [1, 2.5, 3, 'x'], [0.9, 3.1]], [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1.1, 2.9], [1, 3]],
      [{ multipleOf: 0.01 }, [0.07, 1.1, 4.35, 0], [0.075]], [{ multipleOf: 3 }, [9, -3], [10]], [{ multipleOf: 0.0001 }, [0.0075], [0.00751]], [{ multipleOf: 0.123456789 }, [], [1e308]], [{ multipleOf: 0.5 }, [1e308], []],
      [{ minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true }, [2], [1, 3]], [{ minimum: 1, exclusiveMinimum: false }, [1], [0]],
    ]);
  });

  test('strings, measured in code points', () => {
    table([
      [{ minLength: 2 }, ['ab', '\u{1f600}a'], ['a', '\u{1f600}']], [{ maxLength: 2 }, ['\u{1f600}\u{1f600}', 'a'], ['abc']], [{ minLength: 1, maxLength: 1 }, ['\ud800'], ['']],
      [{ pattern: '^\\p{L}+$' }, ['äé'], ['a1']], [{ pattern: 'b' }, ['abc', 7], ['ac']], [{ pattern: '^[\\w-]+$' }, ['a-b'], ['a b']], [{ pattern: '^\\-$' }, ['-'], ['x']],
    ]);
  });

  test('arrays', () => {
    table([
      [{ items: { type: 'string' } }, [[], ['a']], [['a', 1]]], [{ items: false }, [[]], [[1]]], [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [['a', 1], []], [[1], ['a', 'b']]],
      [{ minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]], [{ uniqueItems: true }, [[1, '1', { a: 1 }, { a: 2 }]], [[{ a: 1, b: 2 }, { b: 2, a: 1 }]]], [{ uniqueItems: false }, [[1, 1]], []],
      [{ contains: { const: 1 } }, [[0, 1]], [[], [0]]], [{ contains: { const: 1 }, minContains: 2, maxContains: 3 }, [[1, 1], [1, 1, 1, 0]], [[1], [1, 1, 1, 1]]], [{ contains: { const: 1 }, minContains: 0 }, [[]], []],
      [{ items: [{ type: 'string' }], additionalItems: false }, [['a'], []], [['a', 1]]], [{ items: [{ type: 'string' }], additionalItems: { type: 'number' } }, [['a', 1]], [['a', 'b']]],
    ]);
  });

  test('objects', () => {
    table([
      [{ properties: { a: { type: 'string' } }, required: ['a'] }, [{ a: 'x', b: 1 }], [{}, { a: 1 }]], [{ additionalProperties: false, properties: { a: {} } }, [{ a: 1 }, {}], [{ b: 1 }]],
      [{ additionalProperties: { type: 'number' }, patternProperties: { '^x-': { type: 'string' } } }, [{ 'x-a': 's', b: 1 }], [{ 'x-a': 1 }, { b: 's' }]],
      [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }]], [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]], [{ propertyNames: false }, [{}], [{ a: 1 }]],
      [{ dependentRequired: { a: ['b'] } }, [{ a: 1, b: 1 }, { b: 1 }], [{ a: 1 }]], [{ dependentSchemas: { a: { required: ['b'] } } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
      [{ dependencies: { a: ['b'], c: { required: ['d'] } } }, [{ a: 1, b: 1 }, { c: 1, d: 1 }], [{ a: 1 }, { c: 1 }]],
    ]);
  });

  test('own properties only, whatever they are called', () => {
    const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},"required":["__proto__"]}') as unknown;
    assert.equal(verdict(proto, JSON.parse('{"__proto__":"x"}')), 'ok');
    assert.equal(verdict(proto, {}), 'must have the property "__proto__"');
    assert.equal(verdict(proto, JSON.parse('{"__proto__":1}')), '/__proto__ must be a string, but is a number');
    assert.equal(verdict({ required: ['toString'] }, {}), 'must have the property "toString"');
  });

  test('combinations', () => {
    table([
      [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2], [0, 4]], [{ anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['x', 6], [4]], [{ oneOf: [{ minimum: 1 }, { maximum: 3 }] }, [0, 4], [2]],
      [{ not: { type: 'string' } }, [1], ['x']], [{ if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['c'] } }, [{ a: 1, b: 1 }, { c: 1 }], [{ a: 1 }, {}]], [{ if: false, then: false }, [1], []],
      [{ anyOf: [] }, [], [1]],
    ]);
  });

  test('unevaluated properties and items see through combinations', () => {
    table([
      [{ allOf: [{ properties: { a: {} } }], properties: { b: {} }, unevaluatedProperties: false }, [{ a: 1, b: 1 }], [{ c: 1 }]],
      [{ anyOf: [{ properties: { a: { const: 1 } }, required: ['a'] }, { properties: { b: {} }, required: ['b'] }], unevaluatedProperties: false }, [{ a: 1 }, { a: 1, b: 2 }], [{ a: 2, b: 1 }]],
      [{ if: { properties: { a: { const: 1 } }, required: ['a'] }, then: { properties: { b: {} } }, unevaluatedProperties: { type: 'string' } }, [{ a: 1, b: 2 }, { c: 's' }], [{ c: 1 }]],
      [{ prefixItems: [{}], allOf: [{ prefixItems: [{}, {}] }], unevaluatedItems: false }, [[1, 2]], [[1, 2, 3]]], [{ contains: { type: 'string' }, unevaluatedItems: { type: 'number' } }, [['a', 1]], [['a', null]]],
      [{ $ref: '#/$defs/a', $defs: { a: { items: {} } }, unevaluatedItems: false }, [[1, 2]], []], [{ not: { not: { properties: { a: {} } } }, unevaluatedProperties: false }, [{}], [{ a: 1 }]],
      [{ allOf: [{ unevaluatedProperties: true }], unevaluatedProperties: false }, [{ a: 1 }], []], [{ dependentSchemas: { a: { properties: { b: {} } } }, properties: { a: {} }, unevaluatedProperties: false }, [{ a: 1, b: 1 }], [{ b: 1 }]],
    ]);
  });
});

describe('checkSchema() references', () => {
  test('local pointers, anchors, ids and recursion', () => {
    table([
      [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, ['x'], [1]], [{ $ref: '#/definitions/n%25', definitions: { 'n%': { type: 'null' } } }, [null], [1]],
      [{ properties: { n: { $ref: '#node' } }, $defs: { x: { $anchor: 'node', properties: { n: { $ref: '#node' }, v: { type: 'number' } } } } }, [{ n: { n: { v: 1 } } }], [{ n: { n: { v: 'x' } } }]],
      [{ $id: 'https://example.test/root', $ref: 'item', $defs: { i: { $id: 'item', type: 'string', $defs: { d: {} } } } }, ['x'], [1]], [{ properties: { self: { $ref: '#' } }, additionalProperties: false }, [{ self: { self: {} } }], [{ self: { x: 1 } }]],
      [{ $ref: '#/x-parts/0', 'x-parts': [{ type: 'string' }] }, ['x'], [1]], [{ $id: 'urn:example:a', $ref: '#/$defs/s', $defs: { s: { type: 'string' } } }, ['x'], [1]],
      [{ $schema: DRAFT7, $ref: '#frag', definitions: { a: { $id: '#frag', type: 'string' } } }, ['x'], [1]],
    ]);
  });

  test('up to draft-07 a reference hides what stands beside it', () => {
    assert.equal(verdict({ $schema: DRAFT7, $ref: '#/definitions/a', maximum: 1, definitions: { a: { type: 'number' } } }, 5), 'ok');
    assert.equal(verdict({ $ref: '#/definitions/a', maximum: 1, definitions: { a: { type: 'number' } } }, 5), 'must be at most 1');
  });

  test('dynamic references find the outermost anchor', () => {
    const tree = { $id: 'https://example.test/strict', $dynamicAnchor: 'node', $ref: 'tree', unevaluatedProperties: false, $defs: { t: { $id: 'tree', $dynamicAnchor: 'node', properties: { v: true, kids: { items: { $dynamicRef: '#node' } } } } } };
    assert.equal(verdict(tree, { v: 1, kids: [{ v: 2, kids: [] }] }), 'ok');
    assert.equal(verdict(tree, { kids: [{ vv: 2 }] }), '/kids/0/vv is not allowed');
    const recursive = { $schema: 'https://json-schema.org/draft/2019-09/schema', $id: 'https://example.test/s', $recursiveAnchor: true, $ref: 't', required: ['v'], $defs: { t: { $id: 't', $recursiveAnchor: true, properties: { kid: { $recursiveRef: '#' } } } } };
    assert.equal(verdict(recursive, { v: 1, kid: { v: 1 } }), 'ok');
    assert.equal(verdict(recursive, { v: 1, kid: {} }), '/kid must have the property "v"');
    assert.equal(verdict({ $dynamicRef: '#a', $defs: { x: { $anchor: 'a', type: 'string' } } }, 1), 'must be a string, but is a number');
  });

  test('an external or missing reference makes the schema unusable, and nothing is fetched', () => {
    for (const $ref of ['http://127.0.0.1:9/x.json', 'other.json', '#/$defs/none', '#nowhere', '#/properties/a/enum', '#/%zz', 'http://[']) {
      assert.match(verdict({ properties: { a: { enum: [1] }, r: { $ref } } }, {}), /^unusable: .*refers to .*nothing is fetched/, $ref);
    }
    assert.equal(verdict({ type: 'object', $defs: { unused: { $ref: 'http://127.0.0.1:9/x.json' } } }, {}), 'ok');
  });

  test('references that lead nowhere end', () => {
    assert.match(verdict({ $ref: '#' }, 1), /^unusable: its references lead too deep/);
    assert.match(verdict({ $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, 1), /^unusable/);
  });
});

describe('checkSchema() unusable schemas', () => {
  test('what is not understood is never a yes', () => {
    const rows: readonly (readonly [unknown, RegExp])[] = [
      [null, /must be an object or a boolean/], ['x', /must be an object/], [{ $schema: 'https://example.test/dialect' }, /dialect "https:\/\/example\.test\/dialect" is not known/], [{ $schema: 7 }, /dialect 7/],
      [{ type: 'int' }, /\/type must be a JSON type/], [{ required: true }, /\/required must be a list of names/], [{ properties: { a: 1 } }, /\/properties must be a map of schemas/], [{ minLength: -1 }, /\/minLength must be a whole number/],
      [{ pattern: '(' }, /no regular expression/], [{ patternProperties: { '[': {} } }, /no regular expression/], [{ multipleOf: 0 }, /number above 0/], [{ allOf: {} }, /\/allOf must be a list of schemas/],
      [{ properties: { a: { items: 'x' } } }, /\/properties\/a\/items must be a schema/], [{ uniqueItems: 'yes' }, /true or false/], [{ enum: 'a' }, /list of values/], [{ maximum: '3' }, /a number/], [{ $ref: 3 }, /a string/], [{ dependentRequired: { a: 'b' } }, /map of lists/],
    ];
    for (const [schema, reason] of rows) assert.match(verdict(schema, {}), reason, JSON.stringify(schema));
  });

  test('known dialects, null and empty maps of other languages are taken', () => {
    for (const name of ['https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2019-09/schema', DRAFT7, 'http://json-schema.org/draft-06/schema', 'http://json-schema.org/draft-04/schema#']) assert.equal(verdict({ $schema: name, type: 'object' }, {}), 'ok');
    assert.equal(verdict({ type: 'object', properties: [], required: [], description: null, enum: null, pattern: null, items: null, $schema: null }, { a: 1 }), 'ok');
  });

  test('a pattern is not tried on a text on which it could take too long', () => {
    const started = performance.now();
    assert.match(verdict({ pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`), /^unusable: a pattern is too costly/);
    assert.match(verdict({ patternProperties: { '^(a|a)*$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }), /^unusable: a pattern is too costly/);
    assert.match(verdict({ pattern: '(.*)(.*)(.*)(.*)x' }, 'y'.repeat(1_000)), /^unusable/);
    assert.equal(verdict({ pattern: '^(a+)+$' }, 'aaaa'), 'ok');
    assert.equal(verdict({ pattern: '^[a-z]+$' }, 'a'.repeat(100_000)), 'ok');
    assert.ok(performance.now() - started < 3_000);
  });

  test('bounds hold: depth, steps, problems, nesting of the value', () => {
    let deep: unknown = {};
    for (let i = 0; i <= limits.schemaDepth; i++) deep = { items: deep };
    assert.match(verdict(deep, []), /^unusable: it nests deeper than 64/);
    assert.match(verdict({ items: { allOf: [{}, {}, {}] } }, Array.from({ length: 40_000 }, () => 1)), /^unusable: .*more than 100000 steps/);
    const check = checkSchema({ items: { type: 'string' } }, Array.from({ length: 100 }, () => 1));
    assert.ok('valid' in check && !check.valid);
    assert.equal(check.problems.length, limits.schemaProblems);
    let value: unknown = [];
    for (let i = 0; i < limits.jsonDepth + 5; i++) value = [value];
    assert.match(verdict({}, value), /nests deeper than 512 levels/);
    let tree: unknown = { v: 1 };
    for (let i = 0; i < 600; i++) tree = { kid: tree };
    assert.match(verdict({ properties: { kid: { $ref: '#' } } }, tree), /nests deeper/);
    let list: unknown = {};
    for (let i = 0; i < 300; i++) list = { kid: list };
    assert.match(verdict({ properties: { kid: { $ref: '#' } } }, list), /^unusable: its references lead too deep/);
  });
});

describe('checkSchema() messages', () => {
  test('say what is wanted and where, never the value', () => {
    const rows: readonly (readonly [schema: unknown, value: unknown, message: string])[] = [
      [{ type: 'number' }, 'x', 'must be a number, but is a string'], [{ type: 'integer' }, 1.5, 'must be an integer, but is not a whole number'], [{ type: ['string', 'integer', 'null'] }, true, 'must be a string, an integer or null, but is a boolean'],
      [{ properties: { 'a/b~': { items: { type: 'null' } } } }, { 'a/b~': [null, 3] }, '/a~1b~0/1 must be null, but is a number'], [{ enum: ['asc', 'desc'] }, 'hush', 'must be one of "asc", "desc"'],
      [{ enum: Array.from({ length: 12 }, (_, i) => i) }, 99, 'must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (and 2 more)'], [{ const: 5 }, 4, 'must be 5'],
      [{ properties: { limit: {} }, additionalProperties: false }, { limt: 1 }, '/limt is not a known property (did you mean "limit"?)'], [{ additionalProperties: false }, { q: 1 }, '/q is not a known property'],
      [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'must have the property "b" when it has "a"'], [{ propertyNames: { pattern: '^a' } }, { b: 1 }, '/b has a name that is not allowed: it must match the pattern ^a'], [{ propertyNames: false }, { b: 1 }, '/b has a name that is not allowed: it is not allowed'],
      [{ not: {} }, 1, 'has a form that is excluded'], [{ minLength: 2 }, 'x', 'must have at least 2 characters'], [{ maxItems: 1 }, [1, 2], 'must have at most 1 item, but has 2'], [{ prefixItems: [{}], items: false }, [1, 2], 'must have at most 1 item, but has 2'],
      [{ uniqueItems: true }, [1, 1], 'must not hold the same item twice'], [{ contains: false }, [1], 'must hold at least 1 item of a certain kind, but holds 0'], [{ contains: {}, maxContains: 1 }, [1, 2], 'must hold at most 1 item of a certain kind, but holds 2'], [false, 1, 'is not allowed'],
      [{ type: 'string' }, undefined, 'must be a string, but is not JSON'],
    ];
    for (const [schema, value, message] of rows) assert.equal(verdict(schema, value), message);
  });

  test('name the form that was meant', () => {
    const optional = { anyOf: [{ type: 'string' }, { type: 'null' }] };
    assert.equal(verdict(optional, 3), 'must be a string or null, but is a number');
    assert.equal(verdict({ anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] }, 'x'), 'must have at least 2 characters');
    const shape = { oneOf: [{ properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] }, { properties: { kind: { const: 'box' }, w: { type: 'number' } }, required: ['kind', 'w'] }] };
    assert.equal(verdict(shape, { kind: 'box' }), 'fits none of the 2 allowed forms (the nearest one: it must have the property "w")');
    assert.equal(verdict({ properties: { s: shape } }, { s: { kind: 'box', w: 'x' } }), '/s fits none of the 2 allowed forms (the nearest one: /w must be a number, but is a string)');
    assert.equal(verdict({ oneOf: [{ const: 'a' }, { const: 'b' }] }, 'c'), 'must be one of 2 allowed values or forms');
    assert.equal(verdict({ oneOf: [{}, {}] }, 1), 'fits 2 of the 2 forms of which exactly one may fit');
    assert.equal(verdict({ anyOf: [] }, 1), 'fits none of the allowed forms');
  });
});

describe('formats', () => {
  test('are annotations unless asserted', () => assert.equal(verdict({ format: 'email' }, 'x'), 'ok'));

  test('asserted for elicitation: email, uri, date, date-time', () => {
    const good: Record<string, string[]> = { email: ['a@b.example', 'ä@x'], uri: ['https://x.test/a?b#c', 'urn:x:y', 'mailto:a@b'], date: ['2024-02-29', '2000-02-29', '2026-12-31'], 'date-time': ['2026-07-28T09:30:00Z', '2026-07-28t23:59:60.5+02:00'], unknown: ['anything'] };
    const bad: Record<string, string[]> = { email: ['x', 'a b@c', '@x', 'a@'], uri: ['x', '/path', 'http://a b', 'https://[', '1x:y'], date: ['2023-02-29', '1900-02-29', '2026-13-01', '2026-00-10', '2026-01-00', '26-1-1'], 'date-time': ['2026-07-28', '2026-07-28T09:30:00', '2026-07-28 09:30:00Z', '2026-02-30T00:00:00Z', '2026-07-28T24:00:00Z', '2026-07-28T09:30:00+25:00'] };
    for (const [format, values] of Object.entries(good)) for (const value of values) assert.equal(verdict({ format }, value, true), 'ok', `${format} ${value}`);
    for (const [format, values] of Object.entries(bad)) for (const value of values) assert.match(verdict({ format }, value, true), /^must be an? /, `${format} ${value}`);
    assert.equal(verdict({ format: 'email' }, 7, true), 'ok');
  });
});

test('createSchemaChecks() gives the same answers with prepared schemas', () => {
  const { check } = createSchemaChecks();
  const schema = { type: 'string' };
  assert.deepEqual(check(schema, 'x'), { valid: true });
  assert.deepEqual(check(schema, 1), { valid: false, problems: [{ pointer: '', message: 'must be a string, but is a number' }] });
  assert.deepEqual(check(false, 1), { valid: false, problems: [{ pointer: '', message: 'is not allowed' }] });
});
