import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { typeArguments, typeText } from '../../../src/cli/arguments.ts';

const sources = { readFile: (name: string) => Promise.resolve(`<${name}>`), readInput: () => Promise.resolve('{"from":"stdin"}') };
const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' }, count: { type: 'integer' }, ratio: { type: 'number' }, on: { type: 'boolean' }, nothing: { type: 'null' }, any: {}, either: { type: ['integer', 'string'] },
    maybe: { type: ['integer', 'null'] }, mode: { enum: ['fast', 'slow', 3, true] }, fixed: { const: 7 }, tags: { type: 'array', items: { type: 'string' } }, numbers: { type: 'array', items: { $ref: '#/$defs/n' } },
    optionalTags: { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] }, filter: { type: 'object', properties: { lang: { type: 'string' }, deep: { $ref: '#/$defs/deep' } } },
    map: { type: 'object', additionalProperties: { type: 'integer' } }, 'dotted.name': { type: 'integer' }, listOrText: { type: ['array', 'string'] },
  },
  $defs: { n: { type: 'number' }, deep: { type: 'object', properties: { level: { type: 'integer' } } } },
} as const satisfies JsonObject;

const type = (words: readonly string[], more: { schema?: JsonObject; base?: string } = {}): Promise<JsonObject> => typeArguments({ tool: 't', schema: more.schema ?? schema, words, base: more.base }, sources);
async function problemsOf(words: readonly string[], more: { schema?: JsonObject } = {}): Promise<readonly (readonly [string, string])[]> {
  try {
    await type(words, more);
  } catch (error) {
    if (isFailure(error) && error.code === 'ARGUMENTS_INVALID') return error.details.problems.map(({ pointer, message }) => [pointer, message]);
    throw error;
  }
  throw new Error('no problem was found');
}

const good: readonly (readonly [words: readonly string[], args: unknown])[] = [
  [['text=3'], { text: '3' }], [['text='], { text: '' }], [['text=a=b:=c'], { text: 'a=b:=c' }], [['text=true'], { text: 'true' }], [['count=3'], { count: 3 }], [['count=-7'], { count: -7 }],
  [['ratio=1.5e2'], { ratio: 150 }], [['on=yes'], { on: true }], [['on=FALSE'], { on: false }], [['nothing=null'], { nothing: null }], [['nothing='], { nothing: null }], [['any=3'], { any: '3' }],
  [['either=3'], { either: '3' }], [['maybe=3'], { maybe: 3 }], [['maybe=null'], { maybe: null }], [['mode=fast'], { mode: 'fast' }], [['mode=3'], { mode: 3 }], [['mode=true'], { mode: true }], [['fixed=7'], { fixed: 7 }],
  [['tags=a'], { tags: ['a'] }], [['tags=a', 'tags=b,c'], { tags: ['a', 'b,c'] }], [['tags=["a","b"]'], { tags: ['a', 'b'] }], [['numbers=1', 'numbers=2.5'], { numbers: [1, 2.5] }], [['optionalTags=1', 'optionalTags=2'], { optionalTags: [1, 2] }],
  [['filter={"lang":"en"}'], { filter: { lang: 'en' } }], [['filter.lang=en', 'filter.deep.level=2'], { filter: { lang: 'en', deep: { level: 2 } } }], [['map.a=1', 'map.b=2'], { map: { a: 1, b: 2 } }], [['dotted.name=4'], { 'dotted.name': 4 }],
  [['new.part=x'], { new: { part: 'x' } }], [['a..b=1'], { 'a..b': '1' }], [['unknown=3'], { unknown: '3' }], [['any:={"a":[1]}'], { any: { a: [1] } }], [['text=@file'], { text: '<file>' }], [['text=@@file'], { text: '@file' }],
  [['text=@'], { text: '@' }], [['listOrText=[1]'], { listOrText: '[1]' }], [['any:=@file'], undefined],
];
for (const [words, args] of good) {
  if (args === undefined) continue;
  test(`typeArguments() takes ${words.join(' ')}`, async () => assert.deepEqual(await type(words), args));
}

test('typeArguments() reads key:=@file as JSON from the file', async () => {
  assert.deepEqual(await typeArguments({ tool: 't', schema, words: ['any:=@x'] }, { ...sources, readFile: () => Promise.resolve('[1]') }), { any: [1] });
});

const bad: readonly (readonly [words: readonly string[], problem: readonly [string, RegExp]])[] = [
  [['count=three'], ['/count', /"three" is not a whole number/]], [['count=1.5'], ['/count', /not a whole number/]], [['count=9007199254740993'], ['/count', /larger than a number can hold/]], [['ratio=0x10'], ['/ratio', /is not a number/]],
  [['ratio=1e999'], ['/ratio', /is not a number/]], [['on=maybe'], ['/on', /neither yes, no, true nor false/]], [['nothing=x'], ['/nothing', /"x" is not null/]], [['filter=x'], ['/filter', /must be an object: write key:=/]],
  [['filter={"a"'], ['/filter', /looks like JSON and is not valid/]], [['any:=nope'], ['/any', /what follows := is not valid JSON/]], [['text=a', 'text=b'], ['/text', /given twice and is not a list/]],
  [['numbers=1', 'numbers=x'], ['/numbers', /"x" is not a number/]], [['text=a', 'text.b=c'], ['/text/b', /"text" is not an object/]], [['tags=[1'], ['/tags', /looks like JSON/]],
];
for (const [words, [pointer, message]] of bad) {
  test(`typeArguments() refuses ${words.join(' ')} with its pointer`, async () => {
    const [[at, said] = ['', '']] = await problemsOf(words);
    assert.equal(at, pointer);
    assert.match(said, message);
  });
}

test('typeArguments() names what is required and missing, and the word that may be meant for it', async () => {
  const strict = { type: 'object', properties: { message: { type: 'string' }, count: { type: 'integer' } }, required: ['message', 'count'] };
  assert.deepEqual(await problemsOf(['mesage=x', 'count=y'], { schema: strict }), [['/count', '"y" is not a whole number'], ['/message', 'is missing (is "mesage" meant for it?)']]);
  assert.deepEqual(await problemsOf([], { schema: strict }), [['/message', 'is missing'], ['/count', 'is missing']]);
});

test('typeArguments() refuses words that are no arguments and --args that is no object', async () => {
  for (const words of [['hello'], ['=x'], [':=1']]) await assert.rejects(type(words), { code: 'USAGE' });
  await assert.rejects(type([], { base: '3' }), /--args: it is not a JSON object/);
  await assert.rejects(type([], { base: '{' }), /--args: it is not valid JSON/);
  await assert.rejects(type([], { base: '@f' }), /--args "@f": it is not valid JSON/);
  assert.deepEqual(await type([], { base: '-' }), { from: 'stdin' });
});

test('typeArguments() keeps __proto__ a plain member', async () => {
  const args = await type(['__proto__.x=1', '__proto__.y=2']);
  assert.equal(Object.hasOwn(args, '__proto__'), true);
  assert.equal(Object.getPrototypeOf(args), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('typeText() leaves text alone where alternatives accept a string', () => {
  assert.deepEqual(typeText('3', { oneOf: [{ type: 'string' }, { type: 'integer' }] }, {}), { value: '3' });
  assert.deepEqual(typeText('3', { oneOf: [{ type: 'null' }, { type: 'integer' }] }, {}), { value: 3 });
  assert.deepEqual(typeText('x', { anyOf: [{}, { type: 'integer' }] }, {}), { value: 'x' });
});

test('--args that is no JSON is told with line, column and what stands there, without what is inside texts', async () => {
  const told = (base: string): Promise<string> => type([], { base }).then(() => 'nothing', (error: Error) => error.message);
  assert.match(await told('{"text": "secret-words"\n "count": 1}'), /^Cannot read --args: it is not valid JSON: line 2, column 2: a comma/);
  assert.match(await told('{"text": "secret-words" "count": 1}'), /line 1, column 25: a comma or \} is due here \(near: \{"text": "…"\)$/);
  assert.match(await told('{"text": "x",}'), /commas at an end are not JSON$/);
  assert.equal(await told(' '), 'Cannot read --args: it is not valid JSON: it is empty');
  assert.equal(await told('[1]'), 'Cannot read --args: it is not a JSON object');
  assert.match(await told('@file'), /^Cannot read --args "@file": it is not valid JSON: line 1, column 1/);
});
