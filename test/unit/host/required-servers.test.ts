import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import type { AgentDefinition } from '../../../src/config/types.ts';
import { requireConnected, requireServers } from '../../../src/host/required-servers.ts';
import type { Lease, ServerState } from '../../../src/host/types.ts';
import { refusal } from '../../support/http-fixture.ts';

const agent = (...requires: string[]): AgentDefinition => ({ name: 'needy', mode: 'all', readOnly: false, rules: [], requires, disabled: false, origin: { file: 'x', layer: 'global' } });

test('requireServers() connects the first that fits and works, and fails with why none did', async () => {
  const opened: string[] = [];
  const lease = {
    config: { servers: new Map([['Docs-One', 1], ['docs-two', 1], ['wiki', 1]]) },
    connections: { open: async (name: string) => { opened.push(name); if (name !== 'docs-two') throw new Failure('CONNECT_FAILED', `Cannot reach "${name}"`, { stage: 'connect', details: { address: name }, hint: 'look' }); } },
  } as unknown as Lease;
  await requireServers(agent('DOCS'), lease);
  assert.deepEqual(opened, ['Docs-One', 'docs-two']);
  const failure = await refusal(requireServers(agent('wik'), lease), 'SERVER_UNKNOWN');
  assert.match(failure.message, /"wik", which is not connected: Cannot reach "wiki"/);
  assert.equal(failure.hint, 'look');
  assert.match((await refusal(requireServers(agent('jira'), lease), 'SERVER_UNKNOWN')).hint ?? '', /mcp list/);
});

test('requireConnected() takes what is connected or known from the cache, not what failed, is off or was stopped', async () => {
  const states: Record<string, ServerState> = { up: 'connected', cached: 'idle', fresh: 'idle', failed: 'failed', stopped: 'idle' };
  const lease = {
    connections: { status: () => Object.entries(states).map(([name, state]) => ({ name, state })) },
    catalogue: { view: () => Promise.resolve({ servers: new Map(['up', 'cached', 'failed', 'stopped'].map((name) => [name, {}])) }) },
  } as unknown as Lease;
  const stopped = new Set(['stopped']);
  await requireConnected(agent(), lease, stopped);
  await requireConnected(agent('up', 'cache'), lease, stopped);
  for (const name of ['fresh', 'failed', 'stopped']) await refusal(requireConnected(agent(name), lease, stopped), 'SERVER_UNKNOWN');
});
