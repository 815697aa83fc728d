import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAgentFilter } from '../../../src/registry/agent-filter.ts';
import type { AgentScope } from '../../../src/registry/agent-filter.ts';
import type { ToolEntry } from '../../../src/registry/types.ts';
import { entry, rule } from './entries.ts';

const search = entry('docs', 'search'), write = entry('docs', 'write');
const has = (scope: Partial<AgentScope>, of: ToolEntry, servers: readonly string[] = ['docs']): boolean => createAgentFilter({ readOnly: false, rules: [], ...scope }, servers).inheritable(of).inherits;

describe('inheritable()', () => {
  test('a working agent inherits servers’ tools, a read-only one none (rows 135, 136)', () => {
    assert.equal(has({}, search), true);
    assert.equal(has({ readOnly: true }, search), false);
    assert.match(createAgentFilter({ readOnly: true, rules: [] }).inheritable(search).why, /read-only/);
  });

  test('a read-only agent has what its own rules name exactly (row 135)', () => {
    for (const key of ['docs_search', 'docs.search', 'docs/search', 'mcp__docs__search']) {
      assert.deepEqual([search, write].map((of) => has({ readOnly: true, rules: [rule(key, 'allow')] }, of)), [true, false], key);
    }
    assert.equal(has({ readOnly: true, rules: [rule('docs_search', 'ask')] }, search), true);
    assert.equal(has({ readOnly: true, rules: [rule('docs_search', 'allow', 'public *')] }, search), true);
    for (const key of ['*', 'docs_*', 'docs_searc?', 'mcp', 'mcp__docs', 'docs']) assert.equal(has({ readOnly: true, rules: [rule(key, 'allow')] }, search), false, key);
    assert.equal(has({ readOnly: true, rules: [rule('docs_search', 'deny')] }, search), false);
  });

  test('an exact list is taken at its word, in any spelling that is sure (rows 112, 124)', () => {
    for (const word of ['docs_search', 'docs.search', 'docs/search', 'mcp__docs__search']) assert.deepEqual([search, write].map((of) => has({ tools: [word] }, of)), [true, false], word);
    for (const word of ['docs_*', '*', 'mcp__docs', 'DOCS_search']) assert.equal(has({ tools: [word] }, search), false, word);
    assert.equal(has({ tools: [] }, search), false);
    assert.equal(has({ tools: ['docs_write'], readOnly: true, rules: [rule('docs_search', 'allow')] }, search), false);
    assert.equal(has({ tools: ['docs_search'], readOnly: true }, search), true);
    assert.deepEqual(createAgentFilter({ tools: ['docs_search'], readOnly: false, rules: [] }).inheritable(search), { inherits: true, listed: true, why: 'the agent lists it' });
  });

  test('a spelling that another server or tool can claim names nobody but the owner of the id', () => {
    const servers = ['a', 'a.b'], inner = entry('a', 'b.c'), outer = entry('a.b', 'c');
    assert.deepEqual([inner, outer].map((of) => has({ tools: ['a.b.c'] }, of, servers)), [false, true]);
    assert.equal(has({ tools: ['a/b.c', 'a.b.c'] }, inner, servers), true);
    const second = entry('s', 'x/y', {}, 's_x_y_11112222');
    assert.deepEqual(['s_x_y', 'mcp__s__x_y', 's_x_y_11112222', 's/x/y'].map((word) => has({ tools: [word] }, second, ['s'])), [false, false, true, true]);
  });
});

test('inheritableNative() keeps to an exact list and lets everybody else read', () => {
  const ask = (scope: Partial<AgentScope>, id: 'tool_search' | 'read_mcp_resource'): boolean => createAgentFilter({ readOnly: false, rules: [], ...scope }).inheritableNative(id).inherits;
  assert.deepEqual([ask({}, 'tool_search'), ask({ readOnly: true }, 'read_mcp_resource')], [true, true]);
  assert.deepEqual([ask({ tools: ['x'] }, 'tool_search'), ask({ tools: ['x'] }, 'read_mcp_resource')], [false, false]);
  assert.deepEqual([ask({ tools: ['read'] }, 'tool_search'), ask({ tools: ['read'] }, 'read_mcp_resource'), ask({ tools: ['tool_search'] }, 'tool_search')], [false, true, true]);
});
