import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import type { Tool } from '../../../src/mcp/types.ts';
import { buildCatalogue } from '../../../src/registry/catalog.ts';
import { LOCK_VERSION, checkPin, compareLock, createLock, prettyJson, readLock, stringifyLock } from '../../../src/registry/pins.ts';
import type { Lock } from '../../../src/registry/pins.ts';
import { refusedByLock } from '../../../src/registry/refusals.ts';
import type { ToolEntry } from '../../../src/registry/types.ts';
import { origin, tool } from './entries.ts';

function entries(servers: Readonly<Record<string, readonly Tool[]>>): readonly ToolEntry[] {
  return buildCatalogue(Object.entries(servers).map(([server, items]) => ({ server, origin, listing: { items, dropped: [] } }))).entries;
}
function lockOf(all: readonly ToolEntry[]): Lock {
  const servers = new Map<string, ToolEntry[]>();
  for (const entry of all) servers.set(entry.server, [...(servers.get(entry.server) ?? []), entry]);
  return createLock(servers);
}
function problem(text: string): string {
  try { readLock(text, '/w/zuno.lock.json'); } catch (error) { assert.ok(isFailure(error) && error.code === 'CONFIG_INVALID' && /mcp lock/.test(error.hint ?? '')); return error.message.replace('Cannot use the lock file "/w/zuno.lock.json": ', ''); }
  throw new Error('the lock was taken');
}

const full = tool('find', { title: 'Find', description: 'Finds\nthings', outputSchema: { type: 'object' }, annotations: { readOnlyHint: true }, _meta: { build: 7 } });

describe('a lock', () => {
  test('says the same after it was written and read', () => {
    const all = entries({ docs: [full, tool('bare')], mail: [tool('send')] }), lock = readLock(stringifyLock(lockOf(all)));
    assert.deepEqual(lock, lockOf(all));
    assert.deepEqual(compareLock(lock, all).map(({ kind }) => kind), ['same', 'same', 'same']);
    assert.equal(stringifyLock(lock), stringifyLock(lockOf(all)));
  });

  test('is one text for equal content, sorted, one tool a block', () => {
    const one = stringifyLock(lockOf(entries({ b: [tool('y'), tool('x')], a: [tool('z')] }))), other = stringifyLock(lockOf(entries({ a: [tool('z')], b: [tool('x'), tool('y')] })));
    assert.equal(one, other);
    assert.deepEqual(JSON.parse(one), { version: LOCK_VERSION, servers: { a: { z: JSON.parse(one).servers.a.z }, b: { x: JSON.parse(one).servers.b.x, y: JSON.parse(one).servers.b.y } } });
    assert.match(one, /^ {6}"x": \{$/m);
    assert.ok(one.endsWith('}\n'));
    assert.equal(stringifyLock({ servers: new Map() }), '{\n  "version": 1,\n  "servers": {}\n}\n');
  });

  test('changes only in the block of the tool that changed', () => {
    const before = stringifyLock(lockOf(entries({ a: [tool('x', { description: 'one' }), tool('y')] }))).split('\n');
    const after = stringifyLock(lockOf(entries({ a: [tool('x', { description: 'two' }), tool('y')] }))).split('\n');
    assert.deepEqual(before.flatMap((line, index) => (line === after[index] ? [] : [line.trim().split(':')[0]])), ['"description"', '"fingerprint"']);
  });

  test('keeps names and members that are no ordinary keys', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}}}') as Tool['inputSchema'];
    const all = buildCatalogue(['__proto__', 'constructor'].map((server) => ({ server, origin, listing: { items: [tool('__proto__', { inputSchema: schema }), tool('toString')], dropped: [] } }))).entries;
    const lock = readLock(stringifyLock(lockOf(all)));
    assert.deepEqual(compareLock(lock, all).map(({ kind }) => kind), ['same', 'same', 'same', 'same']);
    assert.equal(checkPin(lock, entries({ docs: [tool('__proto__')] })[0]!).kind, 'new');
  });

  test('keeps names with line breaks, quotes and half characters', () => {
    const names = ['a\n"b": {', 'back\\slash', '\ud800', '', ' ', '\u001b[31m'], all = entries(Object.fromEntries(names.map((server) => [`s${server}`, names.map((name) => tool(name, { description: `${name}\n}` }))])));
    const text = stringifyLock(lockOf(all)), lock = readLock(text);
    assert.ok(compareLock(lock, all).every(({ kind }) => kind === 'same') && all.length === 36);
    assert.doesNotMatch(text, /\u001b/);
    assert.equal(stringifyLock(lock), text);
  });

  test('passes over members that it does not know, except within a definition', () => {
    const all = entries({ docs: [full] }), stored = JSON.parse(stringifyLock(lockOf(all)));
    stored.comment = 'ours';
    stored.servers.docs.find.lockedBy = 'a person';
    assert.deepEqual(compareLock(readLock(JSON.stringify(stored)), all).map(({ kind }) => kind), ['same']);
    stored.servers.docs.find.definition.icons = [];
    assert.match(problem(JSON.stringify(stored)), /unknown member "icons"/);
  });

  test('does not mind what is no part of a definition', () => {
    const lock = lockOf(entries({ docs: [full] }));
    assert.equal(checkPin(lock, entries({ docs: [{ ...full, _meta: { build: 8 }, icons: [] }] })[0]!).kind, 'same');
  });
});

describe('compareLock()', () => {
  const lock = lockOf(entries({ docs: [full, tool('old')], gone: [tool('x')] }));

  test('tells what drifted with old and new, what is new and what is missing', () => {
    const now = entries({ docs: [{ ...full, description: 'Finds all', annotations: { readOnlyHint: false } }, tool('fresh')] });
    const [drifted, fresh, missing, ...rest] = compareLock(lock, now);
    assert.ok(drifted?.kind === 'drifted' && drifted.entry === now[0]);
    assert.deepEqual(drifted.changes, [
      { field: 'description', old: 'Finds\nthings', new: 'Finds all' },
      { field: 'annotations', old: { readOnlyHint: true }, new: { readOnlyHint: false } },
    ]);
    assert.deepEqual([fresh?.kind, fresh?.tool], ['new', 'fresh']);
    assert.deepEqual(missing, { kind: 'missing', server: 'docs', tool: 'old' });
    assert.deepEqual(rest, []);
  });

  test('sees every member of a definition change, come and go', () => {
    const bare = tool('find');
    for (const [field, value] of [['title', 'T'], ['description', 'D'], ['outputSchema', { type: 'object' }], ['annotations', { destructiveHint: true }]] as const) {
      const check = checkPin(lockOf(entries({ docs: [bare] })), entries({ docs: [{ ...bare, [field]: value }] })[0]!);
      assert.deepEqual(check, { kind: 'drifted', changes: [{ field, old: undefined, new: value }] });
    }
    const schema = checkPin(lockOf(entries({ docs: [bare] })), entries({ docs: [{ ...bare, inputSchema: { type: 'object', properties: { a: {} } } }] })[0]!);
    assert.ok(schema.kind === 'drifted' && schema.changes[0]?.field === 'inputSchema');
  });

  test('orders what is missing by server and tool, wherever it stood', () => {
    const unsorted = lockOf(entries({ b: [tool('y'), tool('x')], a: [tool('z')] }));
    assert.deepEqual(compareLock({ servers: new Map([...unsorted.servers].reverse()) }, [], ['b', 'a']).map(({ server, tool: name }) => `${server} ${name}`), ['a z', 'b x', 'b y']);
  });

  test('misses nothing of a server that could not be asked, and everything of one that has nothing left', () => {
    assert.deepEqual(compareLock(lock, []), []);
    assert.deepEqual(compareLock(lock, [], ['gone', 'docs']).map(({ server, tool: name, kind }) => [server, name, kind]), [['docs', 'find', 'missing'], ['docs', 'old', 'missing'], ['gone', 'x', 'missing']]);
  });
});

test('readLock() refuses what is no lock of this version, saying where', () => {
  assert.equal(problem('{'), 'it must be a JSON object');
  assert.equal(problem('[]'), 'it must be a JSON object');
  assert.match(problem('{"version":2,"servers":{}}'), /^\/version must be 1/);
  assert.equal(problem('{"version":1}'), '/servers must be an object');
  assert.equal(problem('{"version":1,"servers":{"a":[]}}'), '/servers/a must be an object');
  assert.equal(problem('{"version":1,"servers":{"a/b":{"x":3}}}'), '/servers/a~1b/x must be an object');
  assert.match(problem('{"version":1,"servers":{"a":{"x":{"fingerprint":"f"}}}}'), /^\/servers\/a\/x needs/);
  const text = stringifyLock(lockOf(entries({ a: [tool('x', { description: 'one' })] })));
  assert.match(problem(text.replace('"one"', '"two"')), /fingerprint that is not that of its definition/);
  assert.match(problem(text.replace('"description"', '"descriptions"')), /unknown member "descriptions"/);
});

test('refusedByLock() names what changed, and says so when nobody locked it', () => {
  const lock = lockOf(entries({ docs: [full] })), now = entries({ docs: [{ ...full, title: 'F', description: 'other' }, tool('fresh')] });
  const messages = now.map((entry) => { const check = checkPin(lock, entry); assert.ok(check.kind !== 'same'); const { code, message, hint } = refusedByLock(entry, check); return [code, message, hint]; });
  assert.deepEqual(messages.map(([code, message]) => [code, message]), [
    ['PERMISSION_DENIED', 'Cannot call "docs_find": its definition is not the one in zuno.lock.json (changed: title, description)'], ['PERMISSION_DENIED', 'Cannot call "docs_fresh": it is not in zuno.lock.json'],
  ]);
  assert.match(messages[0]![2]!, /mcp lock --check/);
});

test('prettyJson() is JSON with sorted keys', () => {
  assert.equal(prettyJson({ b: [1, undefined, {}], a: { c: null, d: [] }, e: undefined }), '{\n  "a": {\n    "c": null,\n    "d": []\n  },\n  "b": [\n    1,\n    null,\n    {}\n  ]\n}');
  assert.equal(prettyJson(undefined), 'null');
});
