import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createExposure, planExposure, rivalOfSearch } from '../../../src/registry/exposure.ts';
import type { ExposureInput } from '../../../src/registry/exposure.ts';
import type { ExposurePolicy, ToolEntry } from '../../../src/registry/types.ts';
import { entry } from './entries.ts';

const standard: ExposurePolicy = { mode: 'auto', autoToolLimit: 32, autoSchemaBytes: 65_536, smallServerToolLimit: 8, servers: {} };
const service = (server: string, tools: number): ToolEntry[] => Array.from({ length: tools }, (_, index) => entry(server, `t${index}`));
const plan = (entries: readonly ToolEntry[], more: Partial<Omit<ExposureInput, 'policy'>> & { policy?: Partial<ExposurePolicy> } = {}) =>
  createExposure().plan({ entries, discovery: true, ...more, policy: { ...standard, ...more.policy } });
const eagerServers = (made: ReturnType<typeof plan>): string[] => [...new Set(made.eager.map(({ server }) => server))];
/** A tool that costs exactly so many bytes. */
function sized(server: string, name: string, bytes: number): ToolEntry {
  const bare = entry(server, name, { description: '' });
  return entry(server, name, { description: 'x'.repeat(bytes - createExposure().schemaBytes(bare)) });
}

describe('plan()', () => {
  test('shows a service of 8 tools whole, and of 9 tools none (rows 139, 140)', () => {
    assert.equal(plan(service('docs', 8)).eager.length, 8);
    const nine = plan(service('docs', 9));
    assert.deepEqual([nine.eager.length, nine.deferred.length, nine.discoveryAvailable], [0, 9, true]);
  });

  test('takes groups in name order until 32 tools are shown, whole or not at all (row 141)', () => {
    const made = plan(['e', 'd', 'c', 'b', 'a'].flatMap((server) => service(server, 8)));
    assert.deepEqual(eagerServers(made).sort(), ['a', 'b', 'c', 'd']);
    assert.equal(made.deferred.length, 8);
    assert.ok(made.deferred.every(({ server }) => server === 'e'));
    // 31 taken: a group of 2 does not fit, the next one of 1 does.
    const tight = plan([...service('a', 8), ...service('b', 8), ...service('c', 8), ...service('d', 7), ...service('e', 2), ...service('f', 1)]);
    assert.deepEqual(eagerServers(tight), ['a', 'b', 'c', 'd', 'f']);
    assert.equal(plan([...service('a', 8), ...service('b', 8), ...service('c', 8), ...service('d', 8), ...service('e', 1)]).eager.length, 32);
  });

  test('takes groups until 65,536 bytes are shown and not one byte more (row 142)', () => {
    const most = [sized('a', 'x', 40_000), sized('a', 'y', 25_536)];
    assert.equal(plan(most).eager.length, 2);
    assert.equal(plan([sized('a', 'x', 40_000), sized('a', 'y', 25_537)]).eager.length, 0);
    assert.deepEqual(eagerServers(plan([...most, entry('b', 'x')])), ['a']);
    assert.equal(plan([sized('a', 'x', 25_000), sized('a', 'y', 25_000), sized('a', 'z', 20_000)]).deferred.length, 3);
    // What does not fit costs nothing.
    assert.deepEqual(eagerServers(plan([sized('a', 'x', 70_000), ...service('b', 8)])), ['b']);
  });

  test('measures serialized parameters, id and description in UTF-8', () => {
    const own = entry('docs', 'search', { description: 'Öl', inputSchema: { type: 'object', properties: { ä: {} } } });
    assert.equal(plan([own]).tools[0]!.schemaBytes, Buffer.byteLength('{"type":"object","properties":{"ä":{}}}') + 'docs_search'.length + 3);
    assert.deepEqual(Object.keys(plan([own]).tools[0]!).sort(), ['exposure', 'id', 'schemaBytes', 'server']);
  });

  test('a server’s own mode beats the global one and eager ones use no budget (row 143)', () => {
    const big = service('big', 40), small = service('small', 8);
    const forced = plan([...big, ...small], { policy: { servers: { big: 'eager' } } });
    assert.equal(forced.deferred.length, 0);
    assert.deepEqual([forced.tools[0]!.exposure, forced.tools.at(-1)!.exposure], ['eager', 'auto']);
    assert.deepEqual(eagerServers(plan([...big, ...small], { policy: { servers: { small: 'deferred' } } })), []);
    assert.equal(plan([...big, ...small], { policy: { mode: 'eager' } }).deferred.length, 0);
    assert.equal(plan(small, { policy: { mode: 'deferred' } }).eager.length, 0);
    assert.deepEqual(eagerServers(plan([...big, ...small], { policy: { mode: 'deferred', servers: { small: 'auto', big: 'auto' } } })), ['small']);
    assert.equal(plan(service('__proto__', 1), { policy: { mode: 'deferred' } }).eager.length, 0);
    assert.deepEqual([2, 3].map((size) => plan(service('s', size), { policy: { smallServerToolLimit: 2 } }).eager.length), [2, 0]);
  });

  test('shows what was picked by name outside the budget (row 144)', () => {
    const entries = service('big', 50), pinned = new Set(entries.slice(0, 12).map(({ id }) => id));
    const made = plan([...entries, ...service('small', 8)], { pinned });
    assert.deepEqual(made.tools.filter(({ exposure }) => exposure === 'pinned').map(({ id }) => id), [...pinned]);
    assert.equal(made.eager.length, 20);
    // What is left of a service is what its size is measured by.
    assert.equal(plan(service('s', 9), { pinned: new Set(['s_t0']) }).deferred.length, 0);
  });

  test('shows servers that are a contract whole, beside the policy of the others (row 197)', () => {
    const made = plan([...service('acp', 20), ...service('host', 20)], { forcedEager: new Set(['acp']), policy: { mode: 'deferred' } });
    assert.deepEqual(eagerServers(made), ['acp']);
    assert.equal(plan([...service('acp', 40), ...service('host', 8)], { forcedEager: new Set(['acp']) }).deferred.length, 0);
  });

  test('shows everything when there is no search (row 153)', () => {
    const made = plan([...service('big', 40), ...service('small', 3)], { discovery: false, policy: { mode: 'deferred' } });
    assert.deepEqual([made.deferred, made.searchable, made.discoveryAvailable, made.eager.length], [[], [], false, 43]);
    assert.deepEqual(made.tools[0]!.exposure, 'eager');
  });

  test('adds what searches found, which changes nothing for the rest (row 149)', () => {
    const entries = [...service('a', 9), ...service('b', 33)], found = new Set(['a_t3', 'b_t7', 'gone_x']);
    const made = plan(entries, { found });
    assert.deepEqual(made.eager.map(({ id }) => id), ['a_t3', 'b_t7']);
    assert.deepEqual(made.tools.filter(({ exposure }) => exposure === 'found').length, 2);
    assert.deepEqual([made.deferred.length, made.searchable], [40, entries]);
  });

  test('keeps the catalogue’s order', () => {
    const entries = [...service('z', 2), ...service('a', 2)];
    assert.deepEqual(plan(entries).eager, entries);
  });

  test('is the same with sizes remembered or not, and quick over 10,000 tools', () => {
    const entries = Array.from({ length: 200 }, (_, server) => service(`s${server}`, 50)).flat(), planner = createExposure();
    const input: ExposureInput = { entries, policy: { ...standard, smallServerToolLimit: 50, autoToolLimit: 10_000, autoSchemaBytes: 200_000 }, discovery: true };
    const first = planner.plan(input);
    assert.deepEqual(planExposure(input).deferred, first.deferred);
    const before = process.cpuUsage();
    planner.plan(input);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 250_000, `${user + system} us`);
  });
});

test('rivalOfSearch() finds the tool that would take the name of the search (row 154)', () => {
  assert.equal(rivalOfSearch([entry('docs', 'search'), entry('tool', 'search')])?.server, 'tool');
  assert.equal(rivalOfSearch([entry('docs', 'search')]), undefined);
});
