import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { createPolicy, ruleText } from '../../../src/registry/permission.ts';
import type { PolicyOptions } from '../../../src/registry/permission.ts';
import type { Effect, PermissionMode, Rule, ToolEntry } from '../../../src/registry/types.ts';
import { entry, permissions, random, rule } from './entries.ts';

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

test('decide() equals a direct reference on 20,000 random rule sets', () => {
  const { below, pick } = random(11);
  const star = (pattern: string, text: string): boolean => new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(text);
  const tools = [search, write, entry('docs', 'get_all'), entry('mail', 'send')];
  const keys = ['*', 'docs_*', 'docs_search', 'mail_*', '*_s*', 'mcp', 'docs_?rite', 'mcp__docs__*', 'mail.send', 'docs/*', 'nothing', 'mcp__mail', 'd*'];
  const patterns = ['*', '*', '*', 'a*', '*b', 'ab', '?b', 'c'];
  const inputs: JsonObject[] = [{}, { q: 'ab' }, { q: 'c' }, { q: 'ab', r: 'abb' }, { q: 'ab', r: 'c' }, { q: 'ab', n: 1 }];
  const modes: PermissionMode[] = ['standard', 'standard', 'strict', 'allow_all'];
  const rank = { allow: 0, ask: 1, deny: 2 };

  for (let round = 0; round < 20_000; round++) {
    const rules = Array.from({ length: below(6) }, () => rule(pick(keys), pick(['allow', 'ask', 'deny'] as const), pick(patterns)));
    const of = pick(tools), args = pick(inputs), mode = pick(modes), assumeYes = below(4) === 0;
    const names = [of.id, `mcp__${of.server}__${of.tool}`, `${of.server}.${of.tool}`, `${of.server}/${of.tool}`, `mcp__${of.server}`];
    let expected: Effect = 'ask';
    for (const { key, pattern, effect: wanted } of rules) {
      if (key !== 'mcp' && !names.some((name) => star(key, name))) continue;
      const values = Object.values(args).filter((value) => typeof value === 'string');
      // Under the key mcp none of these patterns names a tool.
      const every = pattern === '*' || (key !== 'mcp' && values.length > 0 && values.every((value) => star(pattern, value)));
      const some = every || values.some((value) => star(pattern, value)) || star(pattern, JSON.stringify(args));
      if (every || (some && rank[wanted] > rank[expected])) expected = wanted;
    }
    if (expected === 'ask' && mode === 'allow_all') expected = 'allow';
    if (expected === 'allow' && mode === 'strict') expected = 'ask';
    if (expected === 'ask' && assumeYes) expected = 'allow';
    const actual = createPolicy({ permissions: permissions(rules, mode), servers: ['docs', 'mail'], assumeYes }).decide(of, args);
    assert.equal(actual.effect, expected, `${rules.map(ruleText).join(', ')} on ${of.id} ${JSON.stringify(args)} ${mode} ${assumeYes}`);
  }
});

test('a deny rule holds in the spelling that keeps the characters of the names behind mcp__ (rows 112, 131)', () => {
  const rules = [rule('*', 'allow'), rule('mcp__a__x.y', 'deny')];
  assert.equal(effect(rules, entry('a', 'x.y'), {}, { servers: ['a'] }), 'deny');
  assert.equal(effect(rules, entry('a', 'x/y'), {}, { servers: ['a'] }), 'allow');
});
