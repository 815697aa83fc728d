import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choicesOf, completeForm } from '../../../src/mcp/elicitation.ts';

const form = (properties: object, required?: unknown): Record<string, unknown> => ({ type: 'object', properties, ...(required === undefined ? {} : { required }) });
/** The complaint about one value of one property, or undefined. */
const complaint = (property: object, value: unknown): string | undefined => completeForm(form({ a: property }), { a: value }).problems[0]?.message;

test('completeForm() fills in the defaults of what was left out, of every kind', () => {
  const schema = form({
    text: { type: 'string', default: 'x' }, count: { type: 'integer', default: 42 }, ratio: { type: 'number', default: 1.5 }, flag: { type: 'boolean', default: false },
    pick: { type: 'string', enum: ['a', 'b'], default: 'b' }, many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a'] }, none: { type: 'string' },
  }, ['text', 'flag']);
  assert.deepEqual(completeForm(schema, { text: 'mine' }), { content: { text: 'mine', count: 42, ratio: 1.5, flag: false, pick: 'b', many: ['a'] }, problems: [] });
});

test('completeForm() asks for what is required and points at each fault', () => {
  const { problems } = completeForm(form({ 'a/b': { type: 'string' }, n: { type: 'number' } }, ['a/b', 'n', 'elsewhere']), { n: 'x' });
  assert.deepEqual(problems, [{ pointer: '/n', message: 'must be a number' }, { pointer: '/a~1b', message: 'is required' }, { pointer: '/elsewhere', message: 'is required' }]);
});

test('completeForm() checks each kind of value', () => {
  const rows: readonly (readonly [object, unknown, RegExp | undefined])[] = [
    [{ type: 'string' }, 'x', undefined], [{ type: 'string' }, 7, /must be a string/],
    [{ type: 'string', minLength: 2 }, '🙂', /at least 2/], [{ type: 'string', maxLength: 1 }, '🙂', undefined], [{ type: 'string', maxLength: 1 }, 'ab', /at most 1/],
    [{ type: 'string', format: 'email' }, 'a@b.c', undefined], [{ type: 'string', format: 'email' }, 'a b', /must be a email/],
    [{ type: 'string', format: 'uri' }, 'a:b', undefined], [{ type: 'string', format: 'uri' }, 'not one', /uri/],
    [{ type: 'string', format: 'date' }, '2025-02-03', undefined], [{ type: 'string', format: 'date' }, '2025-13-03', /date/], [{ type: 'string', format: 'date' }, '3 Feb', /date/],
    [{ type: 'string', format: 'date-time' }, '2025-02-03T04:05:06Z', undefined], [{ type: 'string', format: 'date-time' }, '2025-02-03', /date-time/],
    [{ type: 'string', format: 'something-new' }, 'x', undefined],
    [{ type: 'string', enum: ['a', 'b'] }, 'a', undefined], [{ type: 'string', enum: ['a', 'b'] }, 'c', /one of a, b/],
    [{ type: 'string', enum: ['a'], enumNames: ['A'] }, 'A', /one of a/],
    [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, 'a', undefined], [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, 'A', /one of a/],
    [{ type: 'number' }, 1.5, undefined], [{ type: 'number' }, '1', /a number/], [{ type: 'number' }, NaN, /a number/], [{ type: 'number', minimum: 2 }, 1, /at least 2/], [{ type: 'number', maximum: 2 }, 3, /at most 2/],
    [{ type: 'integer' }, 2, undefined], [{ type: 'integer' }, 1.5, /an integer/], [{ type: 'integer' }, '2', /an integer/],
    [{ type: 'boolean' }, false, undefined], [{ type: 'boolean' }, 'false', /true or false/],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, ['a'], undefined], [{ type: 'array', items: { enum: ['a'] } }, ['b'], /only hold a/], [{ type: 'array', items: { anyOf: [{ const: 'a' }] } }, ['a'], undefined],
    [{ type: 'array' }, ['x'], undefined], [{ type: 'array' }, 'x', /list of strings/], [{ type: 'array' }, [1], /list of strings/], [{ type: 'array', minItems: 1 }, [], /at least 1/], [{ type: 'array', maxItems: 1 }, ['a', 'b'], /at most 1/],
    [{ type: 'new' }, {}, undefined], [{}, 'x', undefined],
  ];
  for (const [property, value, expected] of rows) {
    const message = complaint(property, value);
    if (expected === undefined) assert.equal(message, undefined, JSON.stringify([property, value])); else assert.match(message ?? '', expected, JSON.stringify([property, value]));
  }
});

test('completeForm() checks defaults too: a wrong one is not sent', () => {
  assert.equal(completeForm(form({ a: { type: 'integer', default: 'x' } }), {}).problems.length, 1);
});

test('completeForm() is not misled by fields called like members of every object', () => {
  const schema = form({ constructor: { type: 'string', default: 'x' }, toString: { type: 'string' } }, ['valueOf']);
  assert.deepEqual(completeForm(schema, {}), { content: { constructor: 'x' }, problems: [{ pointer: '/valueOf', message: 'is required' }] });
  assert.equal(JSON.stringify(completeForm(form({}), JSON.parse('{"__proto__":"x"}')).content), '{"__proto__":"x"}');
});

test('completeForm() lives with schemas that are none', () => {
  for (const schema of [{}, { properties: [] }, { properties: { a: 7 } }, { properties: {}, required: 'a' }]) assert.deepEqual(completeForm(schema, { a: 1 }), { content: { a: 1 }, problems: [] });
});

test('choicesOf() reads every spelling of an enumeration', () => {
  assert.deepEqual(choicesOf({ enum: ['a'] }), ['a']);
  assert.deepEqual(choicesOf({ oneOf: [{ const: 'a' }, { const: 1 }, 'x'] }), ['a']);
  assert.deepEqual(choicesOf({ anyOf: [{ const: 'b' }] }), ['b']);
  for (const property of [{}, { enum: [1] }, { oneOf: 'x' }]) assert.equal(choicesOf(property), undefined);
});
