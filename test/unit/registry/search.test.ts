import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerSearch, createSearchIndex, searchDescription } from '../../../src/registry/search.ts';
import type { SearchSource } from '../../../src/registry/search.ts';
import type { ToolEntry } from '../../../src/registry/types.ts';
import { entry } from './entries.ts';

const ids = (found: readonly ToolEntry[]): string[] => found.map(({ id }) => id);
const search = (entries: readonly ToolEntry[], query: string, limit?: number, sources?: ReadonlyMap<string, SearchSource>): string[] => ids(createSearchIndex(entries, sources).search(query, limit));

describe('search()', () => {
  const tools = [
    entry('docs', 'find', { title: 'Look up pages', description: 'Full text over the handbook' }),
    entry('mail', 'send', { description: 'Sends a message' }),
    entry('files', 'copy', { annotations: { title: 'Twin' } }),
  ];

  test('finds by id, server, title and description (row 146)', () => {
    for (const query of ['docs_find', 'DOCS', 'look up', 'handbook']) assert.deepEqual(search(tools, query), ['docs_find'], query);
    assert.deepEqual(search(tools, 'twin'), ['files_copy']);
    assert.deepEqual(search(tools, 'post office', 8, new Map([['mail', { title: 'Post', description: 'An office' }]])), ['mail_send']);
    assert.deepEqual(search(tools, 'nothing like it'), []);
    for (const query of ['', '  ', '.,;']) assert.deepEqual(search(tools, query), [], query);
  });

  test('puts an exact id first, then prefixes, then what contains it (row 147)', () => {
    const near = [entry('x', 'my_docs_find'), entry('docs', 'find_all'), entry('docs', 'find'), entry('other', 'docs', { description: 'docs_find docs_find' })];
    assert.deepEqual(search(near, 'docs_find'), ['docs_find', 'docs_find_all', 'x_my_docs_find', 'other_docs']);
  });

  test('weighs as documented (row 147)', () => {
    const order = (better: ToolEntry, worse: ToolEntry, query: string): void => assert.deepEqual(search([worse, better], query), ids([better, worse]), query);
    // The token in the id 100, in the name 70, in the description 35.
    order(entry('a', 'alpha1'), entry('b', 'x', { title: 'y alpha' }), 'alpha zz');
    order(entry('b', 'x', { title: 'y alpha' }), entry('c', 'x', { description: 'alpha' }), 'alpha zz');
    // All tokens found: 100 more.
    order(entry('a', 'x', { description: 'red green' }), entry('b', 'red'), 'red green');
    // The whole query as the name of a server 1000 + 0; one of its tokens 100.
    order(entry('weather map', 'x', {}, 'w_x'), entry('weather', 'y', {}, 'q_y'), 'weather map');
    order(entry('sun', 'x', {}, 'p_x'), entry('b', 'y', { description: 'sun' }), 'sun zz');
  });

  test('splits words at everything but letters, digits, _, - and /', () => {
    const tools = [entry('a', 'x', { description: 'read/write b-tree _id 検索 Straße' })];
    for (const query of ['zz read/write', 'zz, b-tree!', '(_id) zz', 'zz 検索', 'zz straße']) assert.deepEqual(search(tools, query), ['a_x'], query);
  });

  test('keeps the catalogue’s order among equals, and the limit (row 145)', () => {
    const many = Array.from({ length: 30 }, (_, index) => entry('s', `tool${29 - index}`, { description: 'same words' }));
    assert.deepEqual(search(many, 'same words'), ids(many).slice(0, 8));
    assert.deepEqual(search(many, 'same words', 20), ids(many).slice(0, 20));
  });

  test('takes a hostile query and texts as they come', () => {
    const odd = [entry('a', 'x', { description: `${'a '.repeat(50_000)}needle` })];
    assert.deepEqual(search(odd, 'needle'), ['a_x']);
    assert.deepEqual(search(odd, 'a '.repeat(100_000)), ['a_x']);
    assert.deepEqual(search(odd, '.*+?^${}()|[]\\'), []);
  });
});

describe('answerSearch()', () => {
  const found = [entry('docs', 'find', { title: 'Find\npages', description: `First line\n  second ${'x'.repeat(400)}` }), entry('docs', 'bare')];
  const state = { query: 'pages', matched: found, visible: new Set<string>(), revision: 4, deferred: 12 };

  test('tells what matched, what is new and not to call it yet (row 151)', () => {
    const { text, metadata } = answerSearch(state);
    const lines = text.split('\n');
    assert.equal(lines[0], '2 tools matched "pages"; 2 newly exposed for the next step.');
    assert.match(lines[1]!, /^- docs_find \(Find pages\): First line second x+…$/);
    assert.equal(lines[1]!.split('): ')[1]!.length, 240);
    assert.equal(lines[2], '- docs_bare (bare)');
    assert.match(lines[3]!, /^Do not call the newly exposed ones in this message/);
    assert.deepEqual(metadata, { query: 'pages', matchedTools: ['docs_find', 'docs_bare'], newlyExposedTools: ['docs_find', 'docs_bare'], toolCatalogRevision: 5, remainingDeferredTools: 10 });
  });

  test('raises the revision only for news (row 151)', () => {
    const one = answerSearch({ ...state, visible: new Set(['docs_find']) });
    assert.deepEqual([one.metadata.newlyExposedTools, one.metadata.toolCatalogRevision, one.metadata.remainingDeferredTools], [['docs_bare'], 5, 11]);
    assert.match(one.text, /x… \[shown already\]\n/);
    const none = answerSearch({ ...state, visible: new Set(['docs_find', 'docs_bare']) });
    assert.deepEqual([none.metadata.newlyExposedTools, none.metadata.toolCatalogRevision, none.metadata.remainingDeferredTools], [[], 4, 12]);
    assert.match(none.text, /All of them are shown already/);
  });

  test('says when nothing matches, and how much is left', () => {
    const { text, metadata } = answerSearch({ ...state, matched: [] });
    assert.equal(text, 'No tool matches "pages". 12 tools can still be searched: try other words, or the name of a service.');
    assert.equal(metadata.toolCatalogRevision, 4);
  });
});

describe('searchDescription()', () => {
  test('names services as they are called, with counts and up to three tools each (row 152)', () => {
    const tools = ['d', 'c', 'b', 'a'].map((name) => entry('my server', name, { description: `Does ${name}\nand more` }));
    assert.match(searchDescription([...tools, entry('docs', 'find')]), /\n- docs \(1 tool\): find\n- my server \(4 tools\): d - Does d and more; c - Does c and more; b - Does b and more$/);
    assert.doesNotMatch(searchDescription([]), /Services/);
  });

  test('names every one of 200 services within 8,192 bytes (row 152)', () => {
    const entries = Array.from({ length: 200 }, (_, index) => Array.from({ length: 50 }, (_, tool) => entry(`service ${index}`, `tool${tool}`, { description: 'ä'.repeat(300) }))).flat();
    const text = searchDescription(entries);
    assert.ok(Buffer.byteLength(text) <= 8_192);
    assert.ok(Buffer.byteLength(text) > 8_000);
    for (let index = 0; index < 200; index++) assert.ok(text.includes(`- service ${index} (50 tools)`), String(index));
  });

  test('counts the services that it has no room to name', () => {
    const entries = Array.from({ length: 200 }, (_, index) => entry(`${'n'.repeat(90)}${1000 + index}`, 'x'));
    const text = searchDescription(entries), named = text.match(/^- n/gm)!.length;
    assert.ok(Buffer.byteLength(text) <= 8_192);
    assert.ok(text.endsWith(`\n- and ${200 - named} more services`));
    assert.match(searchDescription([entry('n'.repeat(10_000), 'x')]), /- n{199}… \(1 tool\)/);
    for (let max = 400; max < 600; max++) assert.ok(Buffer.byteLength(searchDescription(entries.slice(0, 5), max)) <= max, String(max));
  });
});
