import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerSearch, createSearchIndex, searchDescription } from '../../../src/registry/search.ts';
import type { SearchSource } from '../../../src/registry/search.ts';
import type { ToolEntry } from '../../../src/registry/types.ts';
import { entry, random } from './entries.ts';

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

  test('weighs every match as documented: what adds up to the same keeps the catalogue’s order (row 147)', () => {
    const words = (n: number): string[] => Array.from({ length: n }, (_, index) => `w${String(index).padStart(2, '0')}`), query = (n: number): string => words(n).join(' ');
    const silent = (id: string, server: string, more: Parameters<typeof entry>[2] = {}): ToolEntry => entry(server, 'y', more, id), sources = new Map([['told', { description: query(20) }], ['titled', { title: 'w00' }]]);
    const holdingIds = (n: number, server = 'q'): ToolEntry => silent(`${words(n).join('')}_`, server);
    const ties: readonly (readonly [what: string, query: string, ToolEntry, ToolEntry])[] = [
      ['35 in the description, 35 in what the server says of itself', 'w00 zz', silent('a', 'q', { description: 'w00' }), silent('b', 'told')],
      ['the same by the title of the server', 'w00 zz', silent('a', 'titled'), silent('b', 'told')],
      ['2 x 35, 70 in the display name', 'w00 w01 zz', silent('a', 'q', { description: query(2) }), silent('b', 'q', { title: 'w00' })],
      ['20 x 35, 7 x 100 in the id', `${query(20)} zz`, silent('a', 'q', { description: query(20) }), holdingIds(7)],
      ['2 x 70, 140 for the id itself', 'w00 w01 b zz', silent('a', 'q', { title: 'w00 w01' }), silent('b', 'q')],
      ['100 in the id, 100 in the name of the server', 'w00 zz', holdingIds(1), silent('b', 'w00 server')],
      ['3 x 35 and 100 for all words, 100 in the id and 3 x 35 of the server', query(3), silent('a', 'q', { description: query(3) }), holdingIds(1, 'told')],
      ['1,000 for the name of the server and no more, 9 x 100 in the id and 100 for all words', query(9), silent('a', query(9)), holdingIds(9)],
      ['1,000 for the display name, 10 x 70, 100; 10 x 100, 100, 7 x 100 in the name of the server', query(10), silent('a', 'q', { title: query(10) }), holdingIds(10, query(7))],
      ['500 + 250 for its beginning, 15 x 70, 100; 15 x 100, 100, 3 x 100', query(15), silent('a', 'q', { title: `${query(15)}!` }), holdingIds(15, query(3))],
      ['250 for what contains it, 5 x 70, 100; 5 x 100, 100, 100', query(5), silent('a', 'q', { title: `!${query(5)}` }), holdingIds(5, query(1))],
      ['1,000 for the id, 1,000 for the display name', '!!', silent('!!', 'q'), silent('b', 'q', { title: '!!' })],
      ['500 + 250 for the beginning of the id and of the display name', '!!', silent('!!a', 'q'), silent('b', 'q', { title: '!!b' })],
    ];
    for (const [what, text, a, b] of ties) for (const both of [[a, b], [b, a]]) assert.deepEqual(search(both, text, 8, sources), ids(both), what);
  });

  test('equals a direct reference over 3,000 random catalogues', () => {
    const { below, pick } = random(31), vocabulary = ['red', 'Green', 'blue', 're', 'İst', 'a_b', 'x/y', 'ß', '\0', 'ΟΣ', '1'];
    const text = (most: number): string => Array.from({ length: below(most + 1) }, () => pick(vocabulary)).join(pick([' ', '_', '', ', ']));
    for (let round = 0; round < 3_000; round++) {
      const servers = Array.from({ length: 3 }, () => text(2)), sources = new Map([[servers[0]!, { title: text(2), description: text(3) }]]);
      const tools = Array.from({ length: below(9) }, () => entry(pick(servers), text(2), below(3) === 0 ? { title: text(3), description: text(4) } : { description: text(4) }, text(3)));
      const wanted = text(4).replaceAll('\0', ''), limit = 1 + below(9), direct = tools.map((of, index) => ({ of, index, score: scored(of, wanted, sources.get(of.server)) })).filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || a.index - b.index);
      const found = createSearchIndex(tools, sources).search(wanted, limit);
      assert.deepEqual(found.map((of) => tools.indexOf(of)), direct.slice(0, limit).map(({ index }) => index), `${JSON.stringify(wanted)} in ${JSON.stringify(tools.map(({ id, server, tool, definition }) => [id, server, tool, definition.title, definition.description]))}`);
    }
  });

  test('finds its place behind characters that become longer in lower case', () => {
    const odd = [entry('a', 'x', { title: 'İİİİİ', description: 'İstanbul' }), entry('a', 'y', { description: 'needle' }), entry('a', 'z', { title: 'needle' })];
    assert.deepEqual(search(odd, 'needle'), ['a_z', 'a_y']);
    assert.deepEqual(search(odd, 'istanbul'), ['a_x']);
    assert.deepEqual(search(odd, 'İSTANBUL'), ['a_x']);
  });

  test('looks through 10,000 tools without delay', () => {
    const tools = Array.from({ length: 10_000 }, (_, index) => entry(`service-${index % 200}`, `read_${index}`, { description: `Lets you read the number ${index} of all that the workspace holds` }, `service-${index % 200}_read_${index}`));
    const before = process.cpuUsage(), index = createSearchIndex(tools);
    assert.equal(index.search('the number 4711 of a workspace')[0], tools[4711]);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 200_000, `${user + system} us`);
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

/** The score of one tool, term by term. */
function scored({ id, server, tool, definition }: ToolEntry, query: string, { title = '', description: about = '' }: SearchSource = {}): number {
  const low = (text: string): string => text.replaceAll('İ', 'i').toLowerCase(), wanted = low(query.trim()), tokens = wanted.split(/[^\p{L}\p{N}_/-]+/u).filter(Boolean);
  if (wanted === '') return 0;
  const names = [low(id), low(definition.title ?? tool)], said = low(definition.description ?? ''), source = low(server), told = low(`${title} ${about}`);
  let score = names.includes(wanted) ? 1000 : (names.some((name) => name.startsWith(wanted)) ? 500 : 0) + (names.some((name) => name.includes(wanted)) ? 250 : 0);
  const each = tokens.map((token) => (names[0] === token ? 140 : names[0]!.includes(token) ? 100 : names[1]!.includes(token) ? 70 : said.includes(token) ? 35 : 0));
  for (const found of each) score += found;
  if (tokens.length > 0 && each.every((found) => found > 0)) score += 100;
  score += source === wanted ? 1000 : 100 * tokens.filter((token) => source.includes(token)).length;
  return score + 35 * tokens.filter((token) => told.includes(token)).length;
}

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
