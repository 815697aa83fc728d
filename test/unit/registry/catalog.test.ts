import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildCatalogue, fingerprint, findTool } from '../../../src/registry/catalog.ts';
import type { ServerTools } from '../../../src/registry/catalog.ts';
import { createRoster } from '../../../src/registry/roster.ts';
import { entry, origin, tool } from './entries.ts';

const listed = (server: string, names: readonly string[]): ServerTools => ({ server, origin, listing: { items: names.map((name) => tool(name)), dropped: [] } });

describe('buildCatalogue()', () => {
  test('sorts by server and keeps each server’s own order', () => {
    const { entries } = buildCatalogue([listed('b', ['z', 'a']), listed('a', ['y'])]);
    assert.deepEqual(entries.map(({ id, server, tool: name }) => [id, server, name]), [['a_y', 'a', 'y'], ['b_z', 'b', 'z'], ['b_a', 'b', 'a']]);
    assert.equal(entries[0]!.origin, origin);
  });

  test('reports renamed ids and dropped tools, a name listed twice among them', () => {
    const servers: ServerTools[] = [{ ...listed('s', ['x.y', 'x/y', 'twice', 'twice']), listing: { items: ['x.y', 'x/y', 'twice', 'twice'].map((name) => tool(name)), dropped: [{ name: '?', reason: 'no name' }] } }];
    const { entries, dropped, renamed } = buildCatalogue(servers);
    assert.equal(entries.length, 3);
    assert.deepEqual(dropped, [{ server: 's', name: '?', reason: 'no name' }, { server: 's', name: 'twice', reason: 'the server lists this name twice; the first one counts' }]);
    assert.deepEqual(renamed.map((each) => each.tool), ['x.y', 'x/y']);
  });

  test('uses naming and roster', () => {
    const roster = createRoster();
    assert.equal(buildCatalogue([listed('docs', ['search'])], { naming: 'mcp', roster }).entries[0]!.id, 'mcp__docs__search');
    assert.deepEqual(roster.owner('mcp__docs__search'), { server: 'docs', tool: 'search' });
  });

  test('makes schemas usable and leaves good ones untouched (row 119)', () => {
    const good = tool('good'), bad = { ...tool('bad'), inputSchema: { additionalProperties: true } };
    const { entries } = buildCatalogue([{ server: 's', origin, listing: { items: [good, bad], dropped: [] } }]);
    assert.equal(entries[0]!.definition, good);
    assert.deepEqual(entries[1]!.definition.inputSchema, { additionalProperties: true, type: 'object', properties: {} });
  });

  test('fingerprints what a person decides by, and nothing else', () => {
    const [first] = buildCatalogue([listed('s', ['a'])]).entries;
    assert.match(first!.fingerprint, /^[0-9a-f]{64}$/);
    assert.equal(first!.fingerprint, first!.fingerprint);
    const base = fingerprint(tool('a'));
    assert.equal(first!.fingerprint, base);
    assert.equal(fingerprint({ inputSchema: { properties: {}, type: 'object' }, name: 'a', _meta: { x: 1 } }), base);
    for (const change of [{ title: 'A' }, { description: 'd' }, { inputSchema: { type: 'object' } }, { outputSchema: {} }, { annotations: { readOnlyHint: true } }]) assert.notEqual(fingerprint({ ...tool('a'), ...change }), base);
  });

  test('names and lists 10,000 tools without delay', () => {
    const servers = Array.from({ length: 10 }, (_, index) => listed(`server${index}`, Array.from({ length: 1_000 }, (_each, n) => `tool_number_${n}`)));
    buildCatalogue(servers);
    const started = process.cpuUsage();
    const { entries } = buildCatalogue(servers, { roster: createRoster() });
    const { user } = process.cpuUsage(started);
    assert.equal(entries.length, 10_000);
    assert.ok(user < 400_000, `${user} µs`);
  });
});

describe('findTool()', () => {
  const entries = buildCatalogue([listed('docs', ['search', 'write']), listed('my server', ['read:file', 'x__y']), listed('s', ['x.y', 'x/y'])]).entries;
  const idOf = (words: string): string => { const found = findTool(words, entries); return found.kind === 'found' ? found.entry.id : found.kind; };

  test('takes every spelling of a tool', () => {
    for (const words of ['docs_search', 'docs.search', 'docs/search', 'mcp__docs__search']) assert.equal(idOf(words), 'docs_search');
    for (const words of ['my_server_read_file', 'my server.read:file', 'mcp__my_server__read_file']) assert.equal(idOf(words), 'my_server_read_file');
    assert.equal(idOf('mcp__my_server__x_y'), 'my_server_x__y');
  });

  test('picks the raw name and nothing where words fit several tools', () => {
    const found = findTool('s_x_y', entries);
    assert.ok(found.kind === 'ambiguous' && found.entries.length === 2);
    assert.notEqual(idOf('s.x.y'), idOf('s.x/y'));
  });

  test('suggests a near miss and never takes it', () => {
    assert.deepEqual(findTool('docs_serch', entries), { kind: 'none', nearest: ['docs_search'] });
    assert.deepEqual(findTool('docs.serch', entries), { kind: 'none', nearest: ['docs_search'] });
    assert.deepEqual(findTool('zzz', [entry('a', 'b')]), { kind: 'none', nearest: [] });
  });
});
