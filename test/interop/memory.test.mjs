// A knowledge graph in a file, and a server with a single tool. Legacy era.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createHousehold, textOf } from './household.mjs';

const house = createHousehold();
const { json, call, failure, base } = house;
const graph = path.join(base, 'graph.jsonl');
before(async () => {
  await house.add('memory', '@modelcontextprotocol/server-memory', { options: ['--env', `MEMORY_FILE_PATH=${graph}`] });
  await house.add('thinking', '@modelcontextprotocol/server-sequential-thinking');
});
after(house.remove);

test('memory: entities and relations are kept from one command to the next', async () => {
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }, { name: 'Engine', entityType: 'machine', observations: [] }];
  const created = await call('memory_create_entities', '--args', JSON.stringify({ entities }));
  assert.deepEqual(created.structuredContent, { entities });
  const relations = [{ from: 'Ada', to: 'Engine', relationType: 'programs' }];
  await call('memory_create_relations', `relations:=${JSON.stringify(relations)}`);
  assert.deepEqual((await call('memory_read_graph')).structuredContent, { entities, relations });
  assert.equal(readFileSync(graph, 'utf8').trim().split('\n').length, 3);
});

test('memory: nested arguments are checked by JSON pointer', async () => {
  const error = await failure(2, 'call', 'memory_create_entities', 'entities:=[{"name":"x","entityType":7,"observations":[]}]', '--yes');
  assert.deepEqual(error.details.problems.map((problem) => problem.pointer), ['/entities/0/entityType']);
});

test('memory: its one resource is listed and read', async () => {
  const { resources } = await json('resources', 'memory');
  assert.equal(resources[0].uri, 'memory://knowledge-graph');
  const { contents } = await json('read', 'memory', 'memory://knowledge-graph');
  assert.equal(JSON.parse(contents[0].text).entities[0].name, 'Ada');
});

test('memory: a rule in the configuration settles the question, a denied tool stays denied', async () => {
  const rules = { 'memory_*': 'allow', 'memory_delete_*': 'deny' };
  const file = path.join(base, 'rules.json');
  writeFileSync(file, JSON.stringify({ permission: { rules } }));
  const { result } = await json('call', 'memory_search_nodes', 'query=Ada', '--config', file);
  assert.equal(result.structuredContent.entities.length, 1);
  const error = await failure(7, 'call', 'memory_delete_entities', 'entityNames:=["Ada"]', '--yes', '--config', file);
  assert.equal(error.code, 'PERMISSION_DENIED');
  assert.equal(error.details.why, 'rule');
});

test('memory: behind npx, whose wrappers are ended too', async () => {
  const added = await house.zuno('mcp', 'add', 'wrapped', '--cwd', path.dirname(fileURLToPath(import.meta.url)), '--env', `MEMORY_FILE_PATH=${graph}`, '--', 'npx', '--no-install', 'mcp-server-memory');
  assert.equal(added.status, 0, added.stderr);
  assert.equal((await call('wrapped_open_nodes', 'names=Ada')).structuredContent.entities[0].name, 'Ada');
});

test('sequential-thinking: booleans and integers from words, by a schema with alternatives', async () => {
  const result = await call('thinking.sequentialthinking', 'thought=first, look', 'nextThoughtNeeded=true', 'thoughtNumber=1', 'totalThoughts=2');
  const { branches, ...said } = JSON.parse(textOf(result));
  assert.deepEqual([said, branches], [{ thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true, thoughtHistoryLength: 1 }, []]);
  const error = await failure(2, 'call', 'thinking_sequentialthinking', 'thought=x', 'nextThoughtNeeded=true', 'thoughtNumber=1.5', 'totalThoughts=2', '--yes');
  assert.deepEqual(error.details.problems.map((problem) => problem.pointer), ['/thoughtNumber']);
});
