import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import { nativeTools } from '../../../src/registry/names.ts';
import { createOffers, isNativeTool, listArguments, nativeEntry, nativeTraits, offered, offeredDescription, offeredNative, readArguments, resourceToolIds, searchArguments } from '../../../src/registry/native-tools.ts';
import { entry, tool } from './entries.ts';

function refused(work: () => unknown): string {
  try { work(); } catch (error) { assert.ok(isFailure(error) && error.code === 'ARGUMENTS_INVALID' && error.hint !== undefined); return error.message; }
  throw new Error('nothing was refused');
}

describe('the host’s own tools', () => {
  test('are the names that no server’s tool may take, closed to other members', () => {
    assert.deepEqual(['tool_search', ...resourceToolIds], nativeTools);
    for (const id of ['tool_search', ...resourceToolIds] as const) {
      assert.ok(isNativeTool(id));
      assert.equal(offeredNative(id).inputSchema['additionalProperties'], false);
      assert.deepEqual(offeredNative(id).source, { kind: 'native' });
    }
    assert.ok(!isNativeTool('docs_search') && !isNativeTool('constructor'));
  });

  test('only read and may be repeated; resources answer to the key read (row 134)', () => {
    assert.deepEqual(nativeTraits('tool_search'), { permissionKey: 'tool_search', effect: 'read_only', replay: 'safe', concurrency: 'exclusive' });
    for (const id of resourceToolIds) assert.deepEqual(nativeTraits(id), { permissionKey: 'read', effect: 'read_only', replay: 'safe', concurrency: 'parallel' });
  });

  test('keep their identity whatever the search tells of services', () => {
    const told = offeredNative('tool_search', 'Services: docs');
    assert.equal(told.description, 'Services: docs');
    assert.equal(told.schemaId, offeredNative('tool_search').schemaId);
    assert.match(told.schemaId, /^[0-9a-f]{64}$/);
  });

  test('stand before a person as entries', () => {
    assert.equal(nativeEntry('read_mcp_resource', { server: 'docs', uri: 'x:y' }).server, 'docs');
    assert.equal(nativeEntry('list_mcp_resources').server, 'zuno-lite');
  });
});

describe('searchArguments()', () => {
  test('wants a query, trims it, and takes 1 to 20 with 8 as the default (row 145)', () => {
    assert.deepEqual(searchArguments({ query: ' a ' }), { query: 'a', limit: 8 });
    for (const limit of [1, 20]) assert.deepEqual(searchArguments({ query: 'a', limit }), { query: 'a', limit });
    for (const args of [{ query: '' }, { query: ' \n' }, { query: 'a', limit: 0 }, { query: 'a', limit: 21 }, { query: 'a', limit: 1.5 }, { query: 'a', extra: 1 }, { query: 3 }, {}, null, undefined, 'a', []]) {
      assert.match(refused(() => searchArguments(args)), /^Cannot call "tool_search": /, JSON.stringify(args));
    }
  });
});

describe('arguments of the resource tools', () => {
  test('name one server or none (row 163)', () => {
    for (const args of [{}, null, undefined, { server: '' }, { server: null }]) assert.deepEqual(listArguments('list_mcp_resources', args), {});
    assert.deepEqual(listArguments('list_mcp_resource_templates', { server: 'docs' }), { server: 'docs' });
    for (const args of [{ server: 3 }, { servers: 'docs' }, 'docs']) refused(() => listArguments('list_mcp_resources', args));
  });

  test('name server and URI of what is read (row 164)', () => {
    assert.deepEqual(readArguments({ server: 'docs', uri: 'x:y' }), { server: 'docs', uri: 'x:y' });
    for (const args of [{ server: 'docs' }, { uri: 'x:y' }, { server: '', uri: 'x:y' }, { server: 'docs', uri: 'x:y', more: 1 }, {}]) refused(() => readArguments(args));
  });
});

describe('offered()', () => {
  test('tells a provider id, description and schema, and identifies these three', () => {
    const own = offered(entry('docs', 'find', { title: 'Find', description: 'Finds' }));
    assert.deepEqual({ ...own, schemaId: '' }, { id: 'docs_find', description: 'Finds', inputSchema: { type: 'object', properties: {} }, schemaId: '', source: { kind: 'server', server: 'docs', tool: 'find', title: 'Find' } });
    const same = offered(entry('docs', 'find', { description: 'Finds', title: 'Other', inputSchema: { properties: {}, type: 'object' } }));
    assert.equal(same.schemaId, own.schemaId);
    assert.notEqual(offered(entry('docs', 'find', { description: 'Finds!' })).schemaId, own.schemaId);
    assert.notEqual(offered(entry('docs', 'find', { description: 'Finds', inputSchema: { type: 'object', properties: { a: {} } } })).schemaId, own.schemaId);
    assert.notEqual(offered(entry('docs', 'find', { description: 'Finds' }, 'docs_find_2')).schemaId, own.schemaId);
  });

  test('falls back to a title, then to nothing', () => {
    assert.equal(offeredDescription(tool('x', { title: 'T' })), 'T');
    assert.equal(offeredDescription(tool('x', { annotations: { title: 'A' } })), 'A');
    assert.equal(offeredDescription(tool('x')), '');
  });

  test('is put together once per entry by createOffers()', () => {
    const offers = createOffers(), own = entry('docs', 'find');
    assert.equal(offers(own), offers(own));
    assert.deepEqual({ ...offers(own) }, { ...offered(own) });
  });
});
