import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assignNames, candidateServers, digestId, nativeTools, ownerOf, sanitize, spellings } from '../../../src/registry/names.ts';
import { createRoster } from '../../../src/registry/roster.ts';
import type { ToolKey } from '../../../src/registry/roster.ts';
import { random } from './entries.ts';

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;
const pair = (server: string, tool: string): ToolKey => ({ server, tool });
const idOf = (server: string, tool: string): string => assignNames([pair(server, tool)]).ids[0]!;

describe('assignNames()', () => {
  test('joins server and tool with one underscore (row 110)', () => {
    assert.equal(idOf('docs', 'search'), 'docs_search');
    assert.equal(idOf('a-b', 'c_d'), 'a-b_c_d');
  });

  test('replaces each other UTF-16 unit and collapses nothing (row 111)', () => {
    assert.equal(idOf('my server', 'read:file'), 'my_server_read_file');
    assert.equal(sanitize('\u{1f600}'), '__');
    assert.equal(idOf('docs', 'werkzeug_äö_工具'), 'docs_werkzeug______');
  });

  test('gives a usable id to a name of only bad characters (row 111)', () => {
    for (const [server, tool] of [['docs', '工具'], ['工具', '工具'], ['工具', 'search'], ['docs', ''], ['docs', '___']] as const) {
      const id = idOf(server, tool);
      assert.match(id, LEGAL);
      assert.match(id, /_[0-9a-f]{8}$/);
    }
    assert.equal(idOf('工具', '工具').slice(0, 5), 'tool_');
  });

  test('spells mcp__server__tool when told so', () => {
    assert.deepEqual(assignNames([pair('docs', 'search')], { naming: 'mcp' }).ids, ['mcp__docs__search']);
  });

  test('shortens an over-long id to 64 characters, the same each time (row 113)', () => {
    const long = 'x'.repeat(100), id = idOf('docs', long);
    assert.equal(id.length, 64);
    assert.match(id, /^docs_x+_[0-9a-f]{8}$/);
    assert.equal(idOf('docs', long), id);
    assert.notEqual(idOf('docs', `${'x'.repeat(99)}y`), id);
    assert.equal(idOf('docs', 'x'.repeat(59)), `docs_${'x'.repeat(59)}`);
  });

  test('keeps pairs apart that would share an id (row 114)', () => {
    const pairs = [pair('a', 'b_c'), pair('a_b', 'c'), pair('s', 'x.y'), pair('s', 'x/y')];
    const { ids, renamed } = assignNames(pairs);
    assert.equal(new Set(ids).size, 4);
    for (const id of ids) assert.match(id, LEGAL);
    assert.deepEqual(renamed.map(({ server, tool }) => `${server}/${tool}`), ['a/b_c', 's/x.y', 's/x/y']);
    assert.match(renamed[0]!.reason, /"a_b"/);
  });

  test('settles who owns a prefix by the configured names, without anyone connected', () => {
    const servers = ['git', 'git_hub'];
    assert.deepEqual(assignNames([pair('git_hub', 'push')], { servers }).ids, ['git_hub_push']);
    assert.deepEqual(assignNames([pair('git', 'status')], { servers }).ids, ['git_status']);
    assert.deepEqual(assignNames([pair('git', 'hub_push')], { servers }).ids, [digestId('git', 'hub_push')]);
  });

  test('lets the exact spelling own a prefix that two servers sanitize to', () => {
    const servers = ['foo.bar', 'foo_bar', 'foo bar'];
    assert.deepEqual(assignNames([pair('foo.bar', 'x'), pair('foo_bar', 'x')], { servers }).ids, [digestId('foo.bar', 'x'), 'foo_bar_x']);
    assert.deepEqual(assignNames([pair('foo.bar', 'x')], { servers: ['foo.bar', 'foo bar'] }).ids, [digestId('foo.bar', 'x')]);
  });

  test('gives the same ids in any order of servers (row 115)', () => {
    const pairs = [pair('a', 'b_c'), pair('a_b', 'c'), pair('z', 'm.n'), pair('z', 'm_n'), pair('z', 'k')];
    const forward = new Map(assignNames(pairs).ids.map((id, index) => [JSON.stringify(pairs[index]), id]));
    const reversed = [...pairs].reverse();
    assignNames(reversed).ids.forEach((id, index) => assert.equal(id, forward.get(JSON.stringify(reversed[index]))));
    // One server at a time, in both orders, each with a fresh roster.
    const servers = ['a', 'a_b', 'z'];
    for (const order of [servers, [...servers].reverse()]) {
      const roster = createRoster();
      for (const server of order) {
        const own = pairs.filter((each) => each.server === server);
        assignNames(own, { servers, roster }).ids.forEach((id, index) => assert.equal(id, forward.get(JSON.stringify(own[index]))));
      }
    }
  });

  test('never gives a name of the past to another tool (row 116)', () => {
    const roster = createRoster();
    assert.deepEqual(assignNames([pair('s', 'a.b')], { roster }).ids, ['s_a_b']);
    const later = createRoster(JSON.parse(JSON.stringify(roster)));
    const { ids, renamed } = assignNames([pair('s', 'a/b')], { roster: later });
    assert.deepEqual(ids, [digestId('s', 'a/b')]);
    assert.match(renamed[0]!.reason, /belongs to "a\.b" of "s"/);
    assert.deepEqual(assignNames([pair('s', 'a.b'), pair('s', 'a/b')], { roster: later }).ids, ['s_a_b', digestId('s', 'a/b')]);
  });

  test('leaves a tool the name that it had to carry once', () => {
    const roster = createRoster();
    const [first] = assignNames([pair('s', 'a.b'), pair('s', 'a/b')], { roster }).ids;
    assert.deepEqual(assignNames([pair('s', 'a.b')], { roster }).ids, [first]);
  });

  test('never takes the name of a native tool (row 117)', () => {
    const { ids, renamed } = assignNames([pair('tool', 'search'), pair('read', 'mcp_resource')]);
    assert.deepEqual(ids, [digestId('tool', 'search'), digestId('read', 'mcp_resource')]);
    assert.ok(ids.every((id) => !nativeTools.includes(id)));
    assert.match(renamed[0]!.reason, /tool of the host/);
    const roster = createRoster({ version: 1, names: { tool_search: ['tool', 'search'] } });
    assert.notEqual(assignNames([pair('tool', 'search')], { roster }).ids[0], 'tool_search');
  });

  test('keeps plain ids out of the mcp__ spelling', () => {
    assert.match(assignNames([pair('mcp', '_docs__search')]).ids[0]!, /^mcp__docs__search_[0-9a-f]{8}$/);
  });

  test('takes more digits when a name was crafted to look like another one’s digest', () => {
    const crafted = digestId('s', 'x.y').slice(2);
    const { ids } = assignNames([pair('s', 'x.y'), pair('s', 'x/y'), pair('s', crafted)]);
    assert.equal(new Set(ids).size, 3);
    assert.equal(ids[2], `s_${crafted}`);
    assert.match(ids[0]!, /^s_x_y_[0-9a-f]{16}$/);
  });

  test('names one pair once, however often it is listed', () => {
    assert.deepEqual(assignNames([pair('s', 'a'), pair('s', 'a')]).ids, ['s_a', 's_a']);
  });

  test('is injective and stable under permutation over 100,000 pairs', () => {
    const { below, pick } = random(7);
    const alphabet = ['a', 'b', '_', '.', '/', 'ä', '-', '__', 'mcp', 'search'];
    const name = (): string => Array.from({ length: 1 + below(6) }, () => pick(alphabet)).join('') + (below(40) === 0 ? 'x'.repeat(70) : '');
    const servers = Array.from({ length: 60 }, name);
    const unique = new Map<string, ToolKey>();
    while (unique.size < 100_000) { const made = pair(pick(servers), name()); unique.set(JSON.stringify(made), made); }
    const pairs = [...unique.values()];
    const { ids } = assignNames(pairs);
    assert.equal(new Set(ids).size, pairs.length);
    assert.ok(ids.every((id) => LEGAL.test(id) && !nativeTools.includes(id)));
    const shuffled = pairs.map((each, index) => ({ each, index, at: below(1e9) })).sort((a, b) => a.at - b.at);
    assignNames(shuffled.map(({ each }) => each)).ids.forEach((id, position) => assert.equal(id, ids[shuffled[position]!.index]));
  });
});

describe('spellings()', () => {
  test('gives every form in which one tool is written', () => {
    assert.deepEqual(spellings('my server', 'a__b'), {
      plain: 'my_server_a__b', mcp: 'mcp__my_server__a__b', mcpCollapsed: 'mcp__my_server__a_b', dotted: 'my server.a__b', slashed: 'my server/a__b',
    });
  });
});

describe('ownerOf()', () => {
  test('names the server whose prefix covers most', () => {
    assert.deepEqual(ownerOf('a_b_c', ['a', 'a_b']), { kind: 'one', server: 'a_b' });
    assert.deepEqual(ownerOf('a.b.c', ['a', 'a.b']), { kind: 'one', server: 'a.b' });
    assert.deepEqual(ownerOf('mcp__docs__x', ['mcp', 'docs']), { kind: 'one', server: 'docs' });
    assert.deepEqual(ownerOf('a', ['a']), { kind: 'none' });
    assert.deepEqual(ownerOf('a_b_x', ['a.b', 'a b']), { kind: 'disputed' });
  });
});

describe('candidateServers()', () => {
  test('understands every spelling of a user', () => {
    for (const words of ['docs_search', 'docs.search', 'docs/search', 'mcp__docs__search']) assert.deepEqual(candidateServers(words, ['other', 'docs']), ['docs']);
    assert.deepEqual(candidateServers('my_server_read_file', ['my server']), ['my server']);
    assert.deepEqual(candidateServers('mcp__a_b__x', ['a__b']), ['a__b']);
    assert.deepEqual(candidateServers('nothing', ['docs']), []);
  });

  test('puts the closest first', () => {
    assert.deepEqual(candidateServers('a_b_c', ['a', 'a_b']), ['a_b', 'a']);
    assert.deepEqual(candidateServers('foo_bar_x', ['foo.bar', 'foo_bar']), ['foo_bar', 'foo.bar']);
    assert.deepEqual(candidateServers('foo.bar.x', ['foo_bar', 'foo.bar']), ['foo.bar']);
  });

  test('finds the server of a shortened id', () => {
    const server = 's'.repeat(80);
    assert.deepEqual(candidateServers(idOf(server, 'x'), [server, 'other']), [server]);
    assert.deepEqual(candidateServers(idOf('工具', '工具'), ['工具', 'docs']), ['工具']);
    assert.deepEqual(candidateServers(idOf('docs', '工具'), ['docs', 'x']), ['docs']);
  });

  test('asks the roster first', () => {
    const roster = createRoster({ version: 1, names: { a_b_c: ['a', 'b_c'] } });
    assert.deepEqual(candidateServers('a_b_c', ['a', 'a_b'], roster), ['a', 'a_b']);
    assert.deepEqual(candidateServers('a_b_c', ['a_b'], roster), ['a_b']);
  });
});
