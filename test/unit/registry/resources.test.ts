import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { mergeResourceTemplates, mergeResources, resourceListing, resourceServers } from '../../../src/registry/resources.ts';

describe('mergeResources()', () => {
  test('sorts by server, name and address and gives each its server (row 163)', () => {
    const merged = mergeResources([
      { server: 'b', items: [{ uri: 'b:1', name: 'n', server: 'forged' }] },
      { server: 'a', items: [{ uri: 'a:2', name: 'n' }, { uri: 'a:1', name: 'n' }, { uri: 'a:9', name: 'm' }] },
    ]);
    assert.deepEqual(merged.map(({ server, uri }) => [server, uri]), [['a', 'a:9'], ['a', 'a:1'], ['a', 'a:2'], ['b', 'b:1']]);
    assert.deepEqual(mergeResourceTemplates([{ server: 'a', items: [{ uriTemplate: 'x:{b}', name: 't' }, { uriTemplate: 'x:{a}', name: 't' }] }]).map(({ uriTemplate }) => uriTemplate), ['x:{a}', 'x:{b}']);
  });
});

test('resourceListing() is pretty JSON with one key and the facts beside it (row 163)', () => {
  const items = mergeResources([{ server: 'b', items: [{ uri: 'b:1', name: 'n' }] }, { server: 'a', items: [{ uri: 'a:1', name: 'n' }] }]);
  const { text, ...facts } = resourceListing('resources', items);
  assert.deepEqual(JSON.parse(text), { resources: [{ uri: 'a:1', name: 'n', server: 'a' }, { uri: 'b:1', name: 'n', server: 'b' }] });
  assert.match(text, /^\{\n {2}"resources"/);
  assert.deepEqual(facts, { count: 2, servers: ['a', 'b'] });
});

describe('resourceServers()', () => {
  test('means all where none is named', () => {
    for (const wanted of [undefined, null, '']) assert.deepEqual(resourceServers(wanted, ['b', 'a']), ['a', 'b']);
    assert.deepEqual(resourceServers('b', ['b', 'a']), ['b']);
  });

  test('refuses another one, naming those that have resources (row 163)', () => {
    const thrown = (available: readonly string[]): Failure => { try { resourceServers('dosc', available); } catch (error) { assert.ok(error instanceof Failure); return error; } throw new Error('nothing thrown'); };
    assert.equal(thrown(['docs', 'wiki']).message, 'Cannot list the resources of "dosc": it has no resources; 2 servers have some: docs, wiki');
    assert.deepEqual(thrown(['docs', 'wiki']).details, { server: 'dosc', known: ['docs', 'wiki'], nearest: ['docs'] });
    assert.match(thrown([]).message, /no server has resources$/);
  });
});
