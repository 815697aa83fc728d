import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { createRoster, loadRoster, saveRoster } from '../../../src/registry/roster.ts';

describe('createRoster()', () => {
  test('keeps the first owner of a name', () => {
    const roster = createRoster();
    roster.give('s_a', { server: 's', tool: 'a' });
    roster.give('s_a', { server: 't', tool: 'b' });
    assert.deepEqual(roster.owner('s_a'), { server: 's', tool: 'a' });
    assert.equal(roster.owner('other'), undefined);
    assert.equal(roster.size, 1);
  });

  test('survives a round trip, names like __proto__ included', () => {
    const roster = createRoster();
    roster.give('__proto__', { server: '_', tool: 'proto__' });
    const again = createRoster(JSON.parse(JSON.stringify(roster)));
    assert.deepEqual(again.owner('__proto__'), { server: '_', tool: 'proto__' });
    assert.equal(again.changed, false);
  });

  test('believes only well-formed entries', () => {
    const names = { good: ['s', 'a'], 'not legal': ['s', 'b'], short: ['s'], odd: [1, 2], none: null };
    assert.equal(createRoster({ version: 1, names }).size, 1);
    for (const stored of [undefined, null, [], 'x', { version: 2, names }, { version: 1, names: [] }]) assert.equal(createRoster(stored).size, 0);
  });

  test('takes no more than its limit', () => {
    const names: Record<string, [string, string]> = {};
    for (let i = 0; i < limits.rosterNames; i++) names[`s_${i}`] = ['s', String(i)];
    const roster = createRoster({ version: 1, names });
    roster.give('one_more', { server: 's', tool: 'more' });
    assert.equal(roster.owner('one_more'), undefined);
  });
});

describe('loadRoster()', () => {
  test('starts empty without a file and warns of a file that is none', async () => {
    assert.equal((await loadRoster(async () => undefined)).warning, undefined);
    for (const text of ['{', '{"version":9,"names":{}}']) assert.match((await loadRoster(async () => text)).warning ?? '', /cannot be read/);
    const { roster, warning } = await loadRoster(async () => '{"version":1,"names":{"s_a":["s","a"]}}');
    assert.equal(warning, undefined);
    assert.deepEqual(roster.owner('s_a'), { server: 's', tool: 'a' });
  });
});

describe('saveRoster()', () => {
  test('writes what is new together with what others stored, theirs first', async () => {
    let file: string | undefined = '{"version":1,"names":{"s_a":["s","other"],"t_x":["t","x"]}}';
    const store = { read: async () => file, write: async (text: string) => { file = text; } };
    const roster = createRoster();
    assert.equal(await saveRoster(roster, store), false);
    roster.give('s_a', { server: 's', tool: 'a' });
    roster.give('s_b', { server: 's', tool: 'b' });
    assert.equal(await saveRoster(roster, store), true);
    assert.deepEqual(JSON.parse(file), { version: 1, names: { s_a: ['s', 'other'], s_b: ['s', 'b'], t_x: ['t', 'x'] } });
    assert.equal(await saveRoster(roster, store), false);
    let fresh = '';
    const first = createRoster();
    first.give('s_a', { server: 's', tool: 'a' });
    await saveRoster(first, { read: async () => undefined, write: async (text) => { fresh = text; } });
    assert.equal(createRoster(JSON.parse(fresh)).size, 1);
  });
});
