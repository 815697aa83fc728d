// Two servers that speak 2026-07-28 over stdio, and all of them at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createHousehold, textOf } from './household.mjs';

const house = createHousehold();
const { json, call, failure } = house;
before(async () => {
  await house.add('shadcn', 'shadcn', { args: ['mcp'] });
  await house.add('mongo', 'mongodb-mcp-server', { args: ['--readOnly', '--telemetry', 'disabled'] });
});
after(house.remove);

test('shadcn: answers a call in 2026-07-28 without a network', async () => {
  const result = await call('shadcn.get_audit_checklist');
  assert.match(textOf(result), /Checklist/);
});

test('shadcn: mcp debug shows the modern era, found by the probe without a handshake', async () => {
  const found = await json('mcp', 'debug', 'shadcn');
  assert.deepEqual([found.era, found.protocolVersion], ['modern', '2026-07-28']);
  assert.equal(found.lists.find((one) => one.list === 'tools').count, 7);
  assert.ok(!found.timings.some((timing) => timing.stage === 'handshake'));
});

test('shadcn: pinned to the old era it is spoken to in the old era', async () => {
  await house.add('shadcn-old', 'shadcn', { options: ['--protocol', 'legacy'], args: ['mcp'] });
  const found = await json('mcp', 'debug', 'shadcn-old');
  assert.deepEqual([found.era, found.protocolVersion], ['legacy', '2025-11-25']);
  await json('mcp', 'remove', 'shadcn-old');
});

test('mongodb: tools without a database, in 2026-07-28', async () => {
  const { tools, dropped } = await json('tools', 'mongo');
  assert.ok(tools.length >= 15 && tools.every((tool) => tool.server === 'mongo'));
  assert.deepEqual(dropped, []);
  const find = tools.find((tool) => tool.tool === 'find');
  assert.equal(find.annotations.readOnlyHint, true);
  // Started read-only, it offers nothing that writes.
  assert.ok(!tools.some((tool) => /insert|delete|drop/.test(tool.tool)));
});

test('mongodb: reads a resource and reports the connections it has', async () => {
  const [{ contents }, result] = await Promise.all([json('read', 'mongo', 'config://config'), call('mongo_list-connections')]);
  assert.equal(JSON.parse(contents[0].text).telemetry, 'disabled');
  assert.deepEqual(result.structuredContent, { connections: [] });
});

test('mongodb: a missing argument is refused here, an unknown connection by the tool', async () => {
  const [error, result] = await Promise.all([failure(2, 'call', 'mongo_find', 'connectionId=x', 'database=d', '--yes'), house.toolError('mongo_list-databases', 'connectionId=nowhere')]);
  assert.deepEqual(error.details.problems.map((problem) => problem.pointer), ['/collection']);
  assert.match(textOf(result), /nowhere|connect/i);
});

test('all servers at once: both eras, one that is broken costs only itself, nothing is left', async () => {
  await house.add('everything', '@modelcontextprotocol/server-everything');
  await house.add('files', '@modelcontextprotocol/server-filesystem', { args: [house.work] });
  await house.add('memory', '@modelcontextprotocol/server-memory', { options: ['--env', `MEMORY_FILE_PATH=${house.base}/graph.jsonl`] });
  await house.add('thinking', '@modelcontextprotocol/server-sequential-thinking');
  const added = await house.zuno('mcp', 'add', 'broken', '--', 'no-such-program-anywhere');
  assert.equal(added.status, 0, added.stderr);
  const { servers } = await json('mcp', 'list');
  const eras = Object.fromEntries(servers.map((server) => [server.name, server.era ?? server.status]));
  assert.deepEqual(eras, { shadcn: 'modern', mongo: 'modern', everything: 'legacy', files: 'legacy', memory: 'legacy', thinking: 'legacy', broken: 'failed' });
  assert.equal(servers.find((server) => server.name === 'broken').error.code, 'SPAWN_FAILED');
});
