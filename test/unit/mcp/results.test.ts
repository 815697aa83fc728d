import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import {
  expectObject, readCallResult, readCapabilities, readCompletion, readImplementation, readPromptResult, readPrompts, readReadResult, readResources, readTemplates, readTools,
} from '../../../src/mcp/results.ts';

const object = { type: 'object' };
function refused(act: () => unknown, pattern: RegExp): void {
  assert.throws(act, (error: unknown) => isFailure(error) && error.code === 'PROTOCOL_VIOLATION' && pattern.test(error.message));
}

test('readTools() keeps good tools as they came and drops a bad one by name and reason', () => {
  const good = { name: 'a', inputSchema: { ...object, additionalProperties: true, $defs: {} }, outputSchema: {}, annotations: { readOnlyHint: true }, icons: [], _meta: { x: 1 } };
  const page = readTools({ tools: [good, { name: 'bad', inputSchema: 7 }, { inputSchema: object }, { name: '', inputSchema: object }, null, 'x', { name: 'b', inputSchema: object }] });
  assert.deepEqual(page.items.map((tool) => tool.name), ['a', 'b']);
  assert.equal(page.items[0], good);
  assert.deepEqual(page.dropped.map(({ name }) => name), ['bad', '#3', '#4', '#5', '#6']);
  assert.match(page.dropped[0]?.reason ?? '', /inputSchema is not an object/);
});

test('readTools() gives a tool without inputSchema an empty object schema (row 119)', () => {
  for (const tool of [{ name: 'a' }, { name: 'a', inputSchema: null }]) assert.deepEqual(readTools({ tools: [tool] }).items[0]?.inputSchema, { type: 'object', properties: {} });
});

test('readTools() lets every inputSchema say "object", and drops one that says something else', () => {
  const schemas: readonly (readonly [unknown, unknown])[] = [
    [{}, object], [{ properties: { a: {} } }, { properties: { a: {} }, type: 'object' }], [{ type: null }, object], [{ type: ['object', 'null'] }, object],
    [{ type: 'string' }, undefined], [{ type: ['array'] }, undefined], [[], undefined], ['object', undefined], [true, undefined],
  ];
  for (const [inputSchema, expected] of schemas) {
    const { items, dropped } = readTools({ tools: [{ name: 'a', inputSchema }] });
    assert.deepEqual(items[0]?.inputSchema, expected, JSON.stringify(inputSchema));
    assert.equal(dropped.length, expected === undefined ? 1 : 0);
  }
  assert.match(readTools({ tools: [{ name: 'a', inputSchema: { type: 'string' } }] }).dropped[0]?.reason ?? '', /for "string", not for an object/);
});

test('readTools() drops only the member that has the wrong type', () => {
  const [tool] = readTools({ tools: [{ name: 'a', title: 7, description: null, inputSchema: object, outputSchema: 'x', annotations: [] }] }).items;
  assert.deepEqual(tool, { name: 'a', inputSchema: object });
  const [half] = readTools({ tools: [{ name: 'a', title: 'A', inputSchema: object, annotations: null, outputSchema: {} }] }).items;
  assert.deepEqual(half, { name: 'a', title: 'A', inputSchema: object, outputSchema: {} });
});

test('a page refuses what is no list, and names the method', () => {
  refused(() => readTools({}), /tools\/list: "tools" is not an array/);
  refused(() => readTools({ tools: { a: 1 } }), /"tools" is not an array/);
  refused(() => readResources({ resources: null }), /resources\/list/);
  refused(() => readTools({ tools: [], nextCursor: 7 }), /"nextCursor" is not a string/);
});

test('a page knows its cursor by presence, not by content', () => {
  const cursorOf = (nextCursor?: unknown): unknown => readTools({ tools: [], ...(nextCursor === undefined ? {} : { nextCursor }) }).nextCursor;
  assert.equal(cursorOf('a'), 'a');
  assert.equal(cursorOf(''), '');
  assert.equal(cursorOf(null), undefined);
  assert.equal(cursorOf(), undefined);
});

test('a page takes missing or absurd caching hints for "stale at once" and "private"', () => {
  const hints = (extra: object): unknown[] => { const page = readTools({ tools: [], ...extra }); return [page.ttlMs, page.cacheScope]; };
  assert.deepEqual(hints({}), [0, 'private']);
  assert.deepEqual(hints({ ttlMs: 5_000, cacheScope: 'public' }), [5_000, 'public']);
  assert.deepEqual(hints({ ttlMs: -1, cacheScope: 'shared' }), [0, 'private']);
  assert.deepEqual(hints({ ttlMs: '5', cacheScope: 1 }), [0, 'private']);
  assert.deepEqual(hints({ ttlMs: 1e15 }), [86_400_000, 'private']);
});

test('readResources(), readTemplates() and readPrompts() name what has no name and drop what cannot be used', () => {
  const resources = readResources({ resources: [{ uri: 'a:1', name: 'A', size: 3 }, { uri: 'a:2' }, { name: 'no uri' }, { uri: 'a:3', name: 'C', mimeType: 7 }, { uri: '' }] });
  assert.deepEqual(resources.items, [{ uri: 'a:1', name: 'A', size: 3 }, { uri: 'a:2', name: 'a:2' }, { uri: 'a:3', name: 'C' }]);
  assert.deepEqual(resources.dropped.map(({ name }) => name), ['no uri', '#5']);
  const templates = readTemplates({ resourceTemplates: [{ uriTemplate: 'a:{x}' }, { uriTemplate: 'b:{x}', name: 'B' }, { uriTemplate: '' }, {}] });
  assert.deepEqual(templates.items, [{ uriTemplate: 'a:{x}', name: 'a:{x}' }, { uriTemplate: 'b:{x}', name: 'B' }]);
  const prompts = readPrompts({ prompts: [{ name: 'p' }, { name: 'q', arguments: [{ name: 'a', required: true }, 'x', { title: 'no name' }] }, { name: 'r', arguments: 'x', title: 7 }, { name: '' }, {}] });
  assert.deepEqual(prompts.items, [{ name: 'p' }, { name: 'q', arguments: [{ name: 'a', required: true }] }, { name: 'r', arguments: [] }]);
  assert.equal(prompts.dropped.length, 2);
});

test('readCallResult() knows every kind of block and keeps what it does not know', () => {
  const known = [
    { type: 'text', text: 't', annotations: { audience: ['user'] } }, { type: 'image', data: 'aa', mimeType: 'image/png' }, { type: 'audio', data: 'aa', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'a:1', name: 'A' }, { type: 'resource', resource: { uri: 'a:1', text: '' } }, { type: 'resource', resource: { uri: 'a:1', blob: '', mimeType: 'x/y' } },
  ];
  assert.deepEqual(readCallResult({ content: known }).content, known);
  const odd: readonly unknown[] = [
    { type: 'video', data: 'x' }, { type: 'text' }, { type: 'image', data: 'x' }, { type: 'audio', mimeType: 'x' }, { type: 'resource_link', name: 'A' }, { type: 'resource' },
    { type: 'resource', resource: { uri: 'a:1' } }, { type: 'resource', resource: { text: 'x' } }, {}, null, 'text', [],
  ];
  assert.deepEqual(readCallResult({ content: odd }).content, odd.map((block) => ({ type: 'unknown', block })));
  assert.deepEqual(readCallResult({ content: [{ type: 'resource_link', uri: 'a:1' }, { type: 'resource', resource: { uri: 'a:1', text: 'x', mimeType: 7 } }] }).content,
    [{ type: 'resource_link', uri: 'a:1', name: 'a:1' }, { type: 'resource', resource: { uri: 'a:1', text: 'x' } }]);
});

test('readCallResult() tells presence of structuredContent from its truth', () => {
  for (const value of [null, false, 0, '', [], { a: 1 }]) {
    const result = readCallResult({ content: [], structuredContent: value });
    assert.ok('structuredContent' in result);
    assert.deepEqual(result.structuredContent, value);
  }
  assert.equal('structuredContent' in readCallResult({ content: [] }), false);
});

test('readCallResult() takes missing content for none, and only true for an error', () => {
  assert.deepEqual(readCallResult({}), { content: [], isError: false });
  assert.deepEqual(readCallResult({ content: null, isError: 'yes', _meta: 'x' }), { content: [], isError: false });
  assert.deepEqual(readCallResult({ isError: true, _meta: { a: 1 } }), { content: [], isError: true, _meta: { a: 1 } });
  refused(() => readCallResult({ content: 'x' }), /"content" is not an array/);
});

test('readReadResult() takes text and blobs, empty ones too, and refuses an entry that is neither', () => {
  assert.deepEqual(readReadResult({ contents: [{ uri: 'a', text: '' }, { uri: 'b', blob: '', mimeType: 'x/y' }] }).contents.length, 2);
  assert.deepEqual(readReadResult({ contents: [] }), { contents: [] });
  refused(() => readReadResult({}), /"contents" is not an array/);
  refused(() => readReadResult({ contents: [{ uri: 'a' }] }), /neither text nor blob/);
  refused(() => readReadResult({ contents: ['x'] }), /neither text nor blob/);
});

test('readPromptResult() and readCompletion() take what real servers leave out', () => {
  assert.deepEqual(readPromptResult({ messages: [{ role: 'assistant', content: { type: 'text', text: 'x' } }, { content: { type: 'new' } }], description: 'd' }),
    { description: 'd', messages: [{ role: 'assistant', content: { type: 'text', text: 'x' } }, { role: 'user', content: { type: 'unknown', block: { type: 'new' } } }] });
  assert.deepEqual(readPromptResult({ messages: [] }), { messages: [] });
  refused(() => readPromptResult({}), /"messages" is not an array/);
  refused(() => readPromptResult({ messages: ['x'] }), /not an object/);
  assert.deepEqual(readCompletion({ completion: { values: ['a'], total: 3, hasMore: true } }), { values: ['a'], total: 3, hasMore: true });
  assert.deepEqual(readCompletion({ completion: { values: [], total: '3', hasMore: 1 } }), { values: [] });
  refused(() => readCompletion({}), /list of strings/);
  refused(() => readCompletion({ completion: { values: [1] } }), /list of strings/);
});

test('readImplementation() and readCapabilities() believe only what has the right shape', () => {
  assert.deepEqual(readImplementation({ name: 's', version: '1', title: 'S' }), { name: 's', version: '1', title: 'S' });
  assert.deepEqual(readImplementation({ name: 's' }), { name: 's', version: '' });
  for (const value of [undefined, null, 's', {}, { name: 7 }]) assert.equal(readImplementation(value), undefined);
  assert.deepEqual(readCapabilities({ tools: { listChanged: true }, prompts: null, resources: false, logging: {} }), { tools: { listChanged: true }, logging: {} });
  assert.deepEqual(readCapabilities('x'), {});
});

test('expectObject() shows a short excerpt of what came instead', () => {
  assert.deepEqual(expectObject('x', { a: 1 }), { a: 1 });
  assert.throws(() => expectObject('tools/list', ['y'.repeat(1_000)]), (error: unknown) => isFailure(error) && error.code === 'PROTOCOL_VIOLATION' && error.details.excerpt?.length === 256);
  assert.throws(() => expectObject('tools/list', undefined), (error: unknown) => isFailure(error) && error.code === 'PROTOCOL_VIOLATION');
});
