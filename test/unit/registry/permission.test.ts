import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { createPolicy, ruleText } from '../../../src/registry/permission.ts';
import type { PolicyOptions } from '../../../src/registry/permission.ts';
import type { Effect, PermissionMode, Rule, ToolEntry } from '../../../src/registry/types.ts';
import { entry, permissions, rule } from './entries.ts';

const search = entry('docs', 'search'), write = entry('docs', 'write');
const policy = (rules: readonly Rule[], more: Partial<PolicyOptions> & { mode?: PermissionMode } = {}) => createPolicy({ permissions: permissions(rules, more.mode), ...more });
const effect = (rules: readonly Rule[], of: ToolEntry, args: JsonObject = {}, more: Partial<PolicyOptions> & { mode?: PermissionMode } = {}): Effect => policy(rules, more).decide(of, args).effect;

describe('decide()', () => {
  test('asks when no rule matches (row 129)', () => {
    const decision = policy([]).decide(search, {});
    assert.equal(decision.effect, 'ask');
    assert.equal(decision.rule, undefined);
    assert.match(decision.why, /No rule matches "docs_search"/);
  });

  test('lets the last match win (row 131)', () => {
    assert.equal(effect([rule('*', 'deny'), rule('docs_*', 'allow')], search), 'allow');
    assert.equal(effect([rule('docs_*', 'allow'), rule('*', 'deny')], search), 'deny');
    assert.equal(effect([rule('docs_search', 'allow')], search), 'allow');
    assert.equal(effect([rule('docs_search', 'allow')], write), 'ask');
  });

  test('names the rule, its place and what it does', () => {
    const decision = policy([rule('docs_*', 'deny')]).decide(search, {});
    assert.deepEqual(decision.rule, rule('docs_*', 'deny'));
    assert.equal(decision.why, 'The rule "docs_*": "deny" of /home/x/.config/zuno/zuno.json:7 denies "docs_search"');
    assert.match(policy([rule('docs_*', 'ask')]).decide(search, {}).why, /asks before/);
  });

  test('allow_all asks nothing, and an explicit deny still denies (row 130)', () => {
    assert.equal(effect([], search, {}, { mode: 'allow_all' }), 'allow');
    assert.equal(effect([rule('docs_search', 'ask')], search, {}, { mode: 'allow_all' }), 'allow');
    assert.equal(effect([rule('docs_search', 'deny')], search, {}, { mode: 'allow_all', assumeYes: true, extraRules: [rule('docs_search', 'allow')] }), 'deny');
  });

  test('strict asks afresh for every call, readOnlyHint and allow rules or not (row 128)', () => {
    const reader = entry('docs', 'search', { annotations: { readOnlyHint: true } });
    const strict = policy([rule('docs_search', 'allow')], { mode: 'strict' });
    assert.equal(strict.decide(reader, {}).effect, 'ask');
    assert.equal(strict.remembers(strict.decide(reader, {})), false);
    assert.equal(policy([]).remembers(policy([]).decide(reader, {})), true);
    assert.equal(effect([rule('docs_search', 'deny')], search, {}, { mode: 'strict' }), 'deny');
  });

  test('rules and the yes of this run settle an ask and never a deny', () => {
    const allow = [{ ...rule('docs_search', 'allow'), origin: { file: '--allow', layer: 'cli' } }];
    assert.equal(effect([], search, {}, { extraRules: allow }), 'allow');
    assert.equal(effect([], write, {}, { extraRules: allow }), 'ask');
    assert.equal(effect([rule('docs_*', 'deny')], search, {}, { extraRules: allow, assumeYes: true }), 'deny');
    assert.equal(effect([], write, {}, { assumeYes: true }), 'allow');
    assert.equal(effect([], search, {}, { mode: 'strict', extraRules: allow }), 'allow');
    assert.equal(effect([rule('docs_search', 'allow')], search, {}, { extraRules: [rule('docs_*', 'deny')] }), 'deny');
    assert.equal(effect([rule('docs_search', 'allow')], search, {}, { extraRules: [rule('docs_*', 'ask')] }), 'allow');
  });

  test('denies by a rule whose value is not understood', () => {
    const decision = policy([rule('docs_search', 'yes' as Effect)]).decide(search, {});
    assert.equal(decision.effect, 'deny');
    assert.match(decision.why, /not understood/);
  });
});

describe('rule keys', () => {
  test('match either spelling and the raw pair (row 112)', () => {
    for (const key of ['docs_search', 'mcp__docs__search', 'docs.search', 'docs/search', 'mcp__docs__*', 'docs.*', 'mcp__docs', 'mcp', '*']) {
      assert.equal(effect([rule(key, 'allow')], search), 'allow', key);
      assert.equal(effect([rule(key, 'deny')], search), 'deny', key);
    }
    const mcpNamed = entry('docs', 'search', {}, 'mcp__docs__search');
    for (const key of ['docs_search', 'mcp__docs__search', 'docs.search']) assert.equal(effect([rule(key, 'allow')], mcpNamed), 'allow', key);
  });

  test('an allow for foo.bar never allows a tool of foo_bar', () => {
    const servers = ['foo.bar', 'foo_bar'];
    const dotted = entry('foo.bar', 'x', {}, 'foo_bar_x_6b9bfbaf'), plain = entry('foo_bar', 'x');
    const allows = (key: string, of: ToolEntry): boolean => effect([rule(key, 'allow')], of, {}, { servers }) === 'allow';
    for (const key of ['foo.bar.x', 'foo.bar/x', 'foo.bar.*', 'foo_bar_x_6b9bfbaf']) { assert.ok(allows(key, dotted), key); assert.ok(!allows(key, plain), key); }
    for (const key of ['foo_bar_x', 'foo_bar_*', 'mcp__foo_bar__x', 'foo_bar.x']) { assert.ok(allows(key, plain), key); assert.ok(!allows(key, dotted), key); }
    assert.ok(!allows('mcp__foo_bar', plain) && !allows('mcp__foo_bar', dotted));
    assert.ok(allows('foo*', plain) && allows('foo*', dotted));
  });

  test('a deny holds for every tool that the spelling may mean', () => {
    const servers = ['foo.bar', 'foo_bar'];
    const dotted = entry('foo.bar', 'x', {}, 'foo_bar_x_6b9bfbaf'), plain = entry('foo_bar', 'x');
    for (const key of ['foo_bar_x', 'foo_bar_*', 'mcp__foo_bar__x', 'mcp__foo_bar']) for (const of of [dotted, plain]) assert.equal(effect([rule('*', 'allow'), rule(key, 'deny')], of, {}, { servers }), 'deny', key);
    assert.equal(effect([rule('my server_read file', 'deny')], entry('my server', 'read file')), 'deny');
    assert.equal(effect([rule('mcp__a_b__x_y', 'deny')], entry('a__b', 'x__y')), 'deny');
  });

  test('a wildcard that reaches a server’s prefix speaks for that server alone', () => {
    const servers = ['git', 'git_hub'], hub = entry('git_hub', 'push');
    assert.equal(effect([rule('git_*', 'allow')], hub, {}, { servers }), 'ask');
    assert.equal(effect([rule('git_*', 'allow')], entry('git', 'push'), {}, { servers }), 'allow');
    assert.equal(effect([rule('git_*', 'allow')], hub, {}, { servers: ['git_hub'] }), 'allow');
    assert.equal(effect([rule('*_push', 'allow')], hub, {}, { servers }), 'allow');
    assert.equal(effect([rule('*', 'allow'), rule('git_*', 'deny')], hub, {}, { servers }), 'deny');
  });

  test('a literal that two pairs can spell allows neither by spelling, only the owner of the id', () => {
    const first = entry('s', 'x.y', {}, 's_x_y'), second = entry('s', 'x/y', {}, 's_x_y_11112222');
    assert.equal(effect([rule('s_x_y', 'allow')], first), 'allow');
    assert.equal(effect([rule('s_x_y', 'allow')], second), 'ask');
    assert.equal(effect([rule('mcp__s__x_y', 'allow')], second), 'ask');
    const servers = ['a', 'a.b'];
    assert.equal(effect([rule('a.b.c', 'allow')], entry('a', 'b.c'), {}, { servers }), 'ask');
    assert.equal(effect([rule('a.b.c', 'allow')], entry('a.b', 'c'), {}, { servers }), 'allow');
  });

  test('a loose match can only tighten', () => {
    const lossy = entry('my server', 'x', {}, 'my_server_x_aaaabbbb');
    assert.equal(effect([rule('*', 'deny'), rule('my_server_x', 'allow')], lossy), 'deny');
    assert.equal(effect([rule('*', 'deny'), rule('my_server_x', 'ask')], lossy), 'deny');
    assert.equal(effect([rule('*', 'allow'), rule('my_server_x', 'ask')], lossy), 'ask');
  });

  test('a server that is not configured still has its own names', () => {
    assert.equal(effect([rule('mcp__docs__search', 'allow')], search, {}, { servers: ['other'] }), 'allow');
  });

  test('ignores case on Windows for what holds back, never for what lets through', () => {
    assert.equal(effect([rule('DOCS_search', 'deny')], search, {}, { caseInsensitive: true }), 'deny');
    assert.equal(effect([rule('DOCS_search', 'allow')], search, {}, { caseInsensitive: true }), 'ask');
    assert.equal(effect([rule('DOCS_search', 'deny')], search), 'ask');
  });
});

describe('patterns on the input', () => {
  test('decide call by call (row 133)', () => {
    const rules = [rule('docs_search', 'ask'), rule('docs_search', 'allow', 'public *'), rule('docs_search', 'deny', '*secret*')];
    assert.equal(effect(rules, search, { query: 'public rates' }), 'allow');
    assert.equal(effect(rules, search, { query: 'public' }), 'allow');
    assert.equal(effect(rules, search, { query: 'other' }), 'ask');
    assert.equal(effect(rules, search, { query: 'public secret' }), 'deny');
    assert.equal(effect(rules, search, { query: 'public rates', limit: 3 }), 'allow');
    assert.equal(effect(rules, search, { nested: { deep: ['a secret'] } }), 'deny');
    assert.equal(policy(rules).hidden(search), false);
  });

  test('let through only when every string fits and nothing else can carry one', () => {
    const rules = [rule('docs_write', 'allow', '/srv/*')];
    assert.equal(effect(rules, write, { path: '/srv/a' }), 'allow');
    assert.equal(effect(rules, write, { path: '\\srv\\a' }), 'allow');
    assert.equal(effect(rules, write, { path: '/srv/a', to: '/etc/passwd' }), 'ask');
    assert.equal(effect(rules, write, { path: '/srv/a', to: ['/etc/passwd'] }), 'ask');
    assert.equal(effect(rules, write, { path: '/srv/../etc/passwd' }), 'ask');
    assert.equal(effect(rules, write, { path: '/srv/..' }), 'ask');
    assert.equal(effect(rules, write, { path: '/srv/a..b' }), 'allow');
    assert.equal(effect(rules, write, {}), 'ask');
  });

  test('match the canonical JSON: literally to let through, by wildcard to hold back', () => {
    assert.equal(effect([rule('docs_write', 'allow', '{"a":1,"b":[2]}')], write, { b: [2], a: 1 }), 'allow');
    assert.equal(effect([rule('docs_write', 'allow', '{"a":*')], write, { a: 1 }), 'ask');
    assert.equal(effect([rule('docs_write', 'deny', '{"a":*')], write, { a: 1 }), 'deny');
  });

  test('know the home directory at the head of a path', () => {
    for (const pattern of ['~/notes/*', '$HOME/notes/*']) assert.equal(effect([rule('docs_write', 'allow', pattern)], write, { path: '/home/x/notes/a' }, { home: '/home/x' }), 'allow');
    assert.equal(effect([rule('docs_write', 'allow', '~')], write, { path: '/home/x' }, { home: '/home/x' }), 'allow');
    assert.equal(effect([rule('docs_write', 'allow', '~x/*')], write, { path: '/home/xx/a' }, { home: '/home/x' }), 'ask');
    assert.equal(effect([rule('docs_write', 'allow', '~/*')], write, { path: '~/a' }), 'allow');
  });

  test('under the key mcp name tools, and inputs only to hold back', () => {
    assert.equal(effect([rule('mcp', 'allow', 'docs_search')], search), 'allow');
    assert.equal(effect([rule('mcp', 'allow', 'docs_search')], write), 'ask');
    assert.equal(effect([rule('mcp', 'allow', 'docs_search')], write, { query: 'docs_search' }), 'ask');
    assert.equal(effect([rule('mcp', 'allow'), rule('mcp', 'deny', '*secret*')], write, { query: 'a secret' }), 'deny');
    assert.equal(policy([rule('mcp', 'deny', 'docs_write')]).decide(write).effect, 'deny');
  });

  test('stay out of a decision without arguments, which says so', () => {
    const decision = policy([rule('docs_search', 'allow'), rule('docs_search', 'deny', '*secret*')]).decide(search);
    assert.equal(decision.effect, 'allow');
    assert.match(decision.why, /rules with patterns decide some of its calls/);
  });
});

describe('hidden()', () => {
  test('is true only when the last rule whose key matches denies every call (row 125)', () => {
    assert.equal(policy([rule('docs_*', 'deny')]).hidden(search), true);
    assert.equal(policy([rule('docs_*', 'deny'), rule('docs_search', 'allow')]).hidden(search), false);
    assert.equal(policy([rule('docs_*', 'deny', 'x*')]).hidden(search), false);
    assert.equal(policy([rule('docs_*', 'deny'), rule('docs_*', 'allow', 'x*')]).hidden(search), false);
    assert.equal(policy([rule('*', 'allow'), rule('other_*', 'deny')]).hidden(search), false);
    assert.equal(policy([]).hidden(search), false);
    assert.equal(policy([rule('my_server_x', 'deny')]).hidden(entry('my server', 'x', {}, 'my_server_x_aaaabbbb')), true);
  });
});

test('ruleText() writes the rule as it stands in a file', () => {
  assert.equal(ruleText(rule('docs_*', 'allow')), '"docs_*": "allow"');
  assert.equal(ruleText(rule('docs_*', 'deny', 'x*')), '"docs_*": { "x*": "deny" }');
});

describe('layers', () => {
  const layered = (configured: readonly Rule[], agentRules: readonly Rule[], sessionRules: readonly Rule[] = [], more: Partial<PolicyOptions> & { mode?: PermissionMode } = {}) => policy(configured, { agentRules, sessionRules, ...more });

  test('configuration, agent and session follow each other, the last match wins (row 131)', () => {
    assert.equal(layered([], [rule('docs_*', 'allow')]).decide(search, {}).effect, 'allow');
    assert.equal(layered([rule('docs_*', 'allow')], [rule('docs_*', 'ask')]).decide(search, {}).effect, 'ask');
    assert.equal(layered([], [rule('docs_*', 'deny')], [rule('docs_search', 'allow')]).decide(search, {}).effect, 'allow');
    assert.equal(layered([], [rule('docs_search', 'allow')], [rule('docs_*', 'deny')]).decide(search, {}).effect, 'deny');
    assert.equal(layered([rule('*', 'deny'), rule('docs_*', 'allow')], [rule('docs_search', 'ask')]).decide(search, {}).effect, 'ask');
  });

  test('a deny of the configuration is final, whatever agent and session say', () => {
    const held = layered([rule('docs_*', 'deny')], [rule('docs_search', 'allow')], [rule('*', 'allow')], { mode: 'allow_all', assumeYes: true, extraRules: [rule('docs_search', 'allow')] });
    assert.equal(held.decide(search, {}).effect, 'deny');
    assert.equal(held.hidden(search), true);
    assert.equal(layered([rule('docs_search', 'deny', '*secret*')], [rule('docs_search', 'allow')]).decide(search, { q: 'a secret' }).effect, 'deny');
    assert.equal(layered([rule('docs_search', 'deny', '*secret*')], [rule('docs_search', 'allow')]).decide(search, { q: 'open' }).effect, 'allow');
  });

  test('a deny of agent or session holds against allow_all, --allow and --yes', () => {
    for (const [agentRules, sessionRules] of [[[rule('docs_search', 'deny')], []], [[], [rule('docs_search', 'deny')]]] as const) {
      const held = layered([rule('docs_search', 'allow')], agentRules, sessionRules, { mode: 'allow_all', assumeYes: true, extraRules: [rule('docs_search', 'allow')] });
      assert.deepEqual([held.decide(search, {}).effect, held.hidden(search), held.hidden(write)], ['deny', true, false]);
    }
  });

  test('the stricter mode of configuration and agent holds', () => {
    const modes: readonly PermissionMode[] = ['allow_all', 'standard', 'strict'];
    for (const [a, mode] of modes.entries()) for (const [b, agentMode] of modes.entries()) assert.equal(policy([], { mode, agentMode }).mode, modes[Math.max(a, b)]);
    assert.equal(policy([], { mode: 'strict' }).mode, 'strict');
    assert.equal(policy([], { mode: 'free' as PermissionMode }).mode, 'strict');
    assert.equal(policy([], { agentMode: 'free' as PermissionMode }).decide(search, {}).effect, 'ask');
    assert.equal(policy([], { mode: 'standard', agentMode: 'allow_all' }).decide(search, {}).effect, 'ask');
  });

  test('hidden() looks at the configuration alone, at all layers together and at the rules of this run (rows 125, 200)', () => {
    assert.equal(layered([], [rule('docs_*', 'deny')]).hidden(search), true);
    assert.equal(layered([], [rule('docs_*', 'deny')], [rule('docs_search', 'allow')]).hidden(search), false);
    assert.equal(layered([], [rule('docs_*', 'deny', 'x*')]).hidden(search), false);
    assert.deepEqual([search, entry('mail', 'send')].map((of) => policy([rule('*', 'allow')], { extraRules: [rule('docs_*', 'deny')] }).hidden(of)), [true, false]);
  });

  test('a rule that is not understood denies in every layer', () => {
    assert.equal(layered([], [rule('docs_search', 'yes' as Effect)], [rule('docs_search', 'allow')], { extraRules: [rule('docs_search', 'sure' as Effect)] }).decide(search, {}).effect, 'deny');
  });
});

describe('decideNative()', () => {
  const native = (rules: readonly Rule[], id: string, more: Partial<PolicyOptions> & { mode?: PermissionMode } = {}, args?: JsonObject): Effect => policy(rules, more).decideNative(id === 'tool_search' ? 'tool_search' : 'read', { id, args }).effect;
  const resources = ['list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource'];

  test('allows what only reads, in every mode', () => {
    for (const mode of ['standard', 'strict', 'allow_all'] as const) for (const id of ['tool_search', ...resources]) assert.equal(native([], id, { mode }), 'allow', `${mode} ${id}`);
    assert.match(policy([]).decideNative('read').why, /"read" only reads/);
  });

  test('one deny of read hides all three resource tools (row 134)', () => {
    for (const id of resources) {
      for (const key of ['read', 'r*', '*']) assert.deepEqual([native([rule(key, 'deny')], id), policy([rule(key, 'deny')]).hiddenNative('read', id)], ['deny', true], `${key} ${id}`);
      assert.equal(native([rule('*', 'deny'), rule('read', 'allow')], id), 'allow');
      assert.equal(native([rule('read', 'ask')], id), 'ask');
      assert.equal(native([rule('read', 'ask')], id, { mode: 'strict' }), 'ask');
      assert.equal(native([rule('read', 'ask')], id, { mode: 'allow_all' }), 'allow');
    }
    assert.deepEqual(resources.map((id) => native([rule('read_mcp_resource', 'deny')], id)), ['allow', 'allow', 'deny']);
    assert.deepEqual(resources.map((id) => native([rule('list_*', 'deny')], id)), ['deny', 'deny', 'allow']);
    assert.equal(native([rule('read', 'deny')], 'tool_search'), 'allow');
  });

  test('tool_search follows its own key and wildcards (row 153)', () => {
    assert.deepEqual([native([rule('tool_search', 'deny')], 'tool_search'), policy([rule('tool_*', 'deny')]).hiddenNative('tool_search')], ['deny', true]);
    assert.equal(native([rule('docs_*', 'deny')], 'tool_search'), 'allow');
    assert.equal(native([rule('TOOL_SEARCH', 'deny')], 'tool_search', { caseInsensitive: true }), 'deny');
    assert.equal(native([rule('*', 'deny'), rule('TOOL_SEARCH', 'allow')], 'tool_search', { caseInsensitive: true }), 'deny');
  });

  test('patterns decide by what is to be read', () => {
    const rules = [rule('read', 'deny', 'secret://*'), rule('read', 'ask', 'docs')];
    assert.equal(native(rules, 'read_mcp_resource', {}, { server: 'files', uri: 'secret://x' }), 'deny');
    assert.equal(native(rules, 'read_mcp_resource', {}, { server: 'docs', uri: 'a:b' }), 'ask');
    assert.equal(native(rules, 'read_mcp_resource', {}, { server: 'files', uri: 'a:b' }), 'allow');
    assert.equal(policy(rules).hiddenNative('read', 'read_mcp_resource'), false);
    assert.match(policy(rules).decideNative('read').why, /rules with patterns decide/);
  });

  test('the key mcp holds resources back and lets nothing through', () => {
    assert.deepEqual(['read_mcp_resource', 'tool_search'].map((id) => native([rule('mcp', 'deny')], id)), ['deny', 'allow']);
    assert.equal(native([rule('read', 'deny'), rule('mcp', 'allow')], 'read_mcp_resource'), 'deny');
  });

  test('layers hold as for any tool', () => {
    assert.equal(native([rule('read', 'deny')], 'read_mcp_resource', { agentRules: [rule('read', 'allow')] }), 'deny');
    assert.equal(native([], 'read_mcp_resource', { agentRules: [rule('read', 'deny')], assumeYes: true }), 'deny');
    assert.equal(native([], 'tool_search', { extraRules: [rule('tool_search', 'deny')] }), 'deny');
    assert.equal(native([rule('read', 'ask')], 'read_mcp_resource', { extraRules: [rule('read', 'allow')] }), 'allow');
  });
});

test('a deny rule holds in the spelling that keeps the characters of the names behind mcp__ (rows 112, 131)', () => {
  const rules = [rule('*', 'allow'), rule('mcp__a__x.y', 'deny')];
  assert.equal(effect(rules, entry('a', 'x.y'), {}, { servers: ['a'] }), 'deny');
  assert.equal(effect(rules, entry('a', 'x/y'), {}, { servers: ['a'] }), 'allow');
});
