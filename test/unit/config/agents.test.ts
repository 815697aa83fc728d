import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentDefinition, Config, Rule } from '../../../src/config/types.ts';
import { builtInRoles } from '../../../src/config/roles.ts';
import { GLOBAL, PROJECT, sandbox, type Sandbox } from './sandbox.ts';

const spelled = (rules: readonly Rule[]): string[] => rules.map(({ key, pattern, effect }) => `${key} ${pattern} ${effect}`);

function load(box: Sandbox, content: object): Config {
  box.write(GLOBAL, content);
  return box.load();
}

function agentOf(box: Sandbox, agent: unknown, name = 'reviewer'): AgentDefinition {
  return load(box, { agents: { [name]: agent } }).agents.get(name)!;
}

test('loadConfig() reads an agent with all its keys, under agents and under agent', (context) => {
  const box = sandbox(context);
  const full = { description: 'Reads', mode: 'subagent', tools: ['docs_search', 'docs.read'], permission: { mode: 'strict', rules: { 'docs_*': 'allow', docs_write: { 'x*': 'deny' } } }, read_only: true, requires: ['docs'], prompt: 'Look.', disable: false, temperature: 0.2, model: 'm' };
  const config = load(box, { agents: { reviewer: full }, agent: { helper: {}, reviewer: { prompt: 'older', mode: 'all' } } });
  assert.deepEqual(config.diagnostics, []);
  assert.deepEqual([...config.agents.keys()], ['helper', 'reviewer']);
  const { origin, rules, ...rest } = config.agents.get('reviewer')!;
  assert.deepEqual(rest, { name: 'reviewer', description: 'Reads', mode: 'subagent', tools: ['docs_search', 'docs.read'], readOnly: true, permissionMode: 'strict', requires: ['docs'], prompt: 'Look.', disabled: false });
  assert.deepEqual(spelled(rules), ['docs_* * allow', 'docs_write x* deny']);
  assert.deepEqual([origin.key, origin.layer, rules[0]!.origin.key], ['agents.reviewer', 'global', 'agents.reviewer.permission.rules.docs_*']);
  const { origin: _origin, ...helper } = config.agents.get('helper')!;
  assert.deepEqual(helper, { name: 'helper', mode: 'all', readOnly: false, rules: [], requires: [], disabled: false });
});

test('loadConfig() knows the other spellings of an agent: readOnly, disabled, permission as a word and as bare rules', (context) => {
  const box = sandbox(context);
  const agent = agentOf(box, { readOnly: true, disabled: true, permission: 'deny' });
  assert.deepEqual([agent.readOnly, agent.disabled, spelled(agent.rules)], [true, true, ['* * deny']]);
  assert.deepEqual(spelled(agentOf(box, { permission: { docs_read: 'allow', 'docs_*': 'ask' } }).rules), ['docs_read * allow', 'docs_* * ask']);
  assert.deepEqual(spelled(agentOf(box, { permission: { disallowedTools: ['docs_write'], rules: { '*': 'allow' }, allowedTools: ['a'] } }).rules), ['a * allow', '* * allow', 'docs_write * deny']);
});

test('loadConfig() lets a built-in role stay as it is where a file says nothing (rows 135, 136)', (context) => {
  const box = sandbox(context);
  const { agents } = load(box, { agents: { plan: { description: 'mine' }, build: {}, explorer: { read_only: false, mode: 'all' } } });
  assert.deepEqual(['plan', 'build', 'explorer'].map((name) => { const { mode, readOnly } = agents.get(name)!; return [mode, readOnly]; }), [['primary', true], ['primary', false], ['all', true]]);
  assert.deepEqual(Object.keys(builtInRoles), ['orchestrator', 'build', 'plan', 'deep', 'fixer', 'general', 'explorer', 'librarian', 'oracle', 'looker']);
  assert.deepEqual(Object.keys(builtInRoles).filter((name) => builtInRoles[name]!.readOnly), ['plan', 'explorer', 'oracle']);
});

test('loadConfig() reads the older map of tools: true is listed, false denies', (context) => {
  const box = sandbox(context);
  const shown = (tools: unknown, rest: object = {}): unknown[] => { const agent = agentOf(box, { tools, ...rest }); return [agent.tools, spelled(agent.rules)]; };
  assert.deepEqual(shown({ docs_search: true, docs_write: false, gone: null }), [['docs_search'], ['docs_write * deny']]);
  assert.deepEqual(shown({ docs_write: false, 'fs_*': false }), [undefined, ['docs_write * deny', 'fs_* * deny']]);
  assert.deepEqual(shown({ '*': false, docs_search: true }), [['docs_search'], []]);
  assert.deepEqual(shown({ '*': false }), [[], []]);
  assert.deepEqual(shown({ '*': true, docs_write: false }), [undefined, ['docs_write * deny']]);
  assert.deepEqual(shown({}), [undefined, []]);
  assert.deepEqual(shown({ docs_write: false }, { permission: { rules: { '*': 'allow' }, disallowedTools: ['a'] } }), [undefined, ['* * allow', 'a * deny', 'docs_write * deny']]);
  assert.deepEqual(shown([]), [[], []]);
});

test('loadConfig() replaces tools across layers and merges everything else', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { agents: { a: { tools: ['x', 'y'], prompt: 'p', permission: { rules: { x: 'allow', y: 'ask' } } } } });
  const over = (agent: unknown): AgentDefinition => box.load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ agent: { a: agent } }) } }).agents.get('a')!;
  const a = over({ tools: ['z'], description: 'd', permission: { rules: { y: 'deny' } } });
  assert.deepEqual([a.tools, a.prompt, a.description, spelled(a.rules), a.origin.file], [['z'], 'p', 'd', ['x * allow', 'y * deny'], 'ZUNO_CONFIG_CONTENT']);
  assert.deepEqual(over({ tools: { z: true } }).tools, ['z']);
  assert.equal(over({ tools: null }).tools, undefined);
  assert.equal(over({ tools: { '*': true } }).tools, undefined);
  assert.deepEqual(over({ tools: { y: false } }).tools, ['x', 'y']);
  assert.equal(over(null), undefined);
});

test('loadConfig() leaves an agent that it cannot understand without any tool, and says so', (context) => {
  const box = sandbox(context);
  const tools = ['docs_search'];
  for (const [agent, pointer] of [
    [5, ''], [['x'], ''], [{ tools: 'docs_search' }, '.tools'], [{ tools: ['a', 5] }, '.tools'], [{ tools: ['a', ' '] }, '.tools'], [{ tools: { a: 'yes' } }, '.tools'], [{ tools: true }, '.tools'],
    [{ tools, permission: 5 }, '.permission'], [{ tools, permission: 'none' }, '.permission'], [{ tools, permission: { rules: { a: 'alow' } } }, '.permission.rules.a'], [{ tools, permission: { rules: [] } }, '.permission.rules'],
    [{ tools, permission: { mode: 'lax' } }, '.permission.mode'], [{ tools, permission: { rules: {}, rulez: {} } }, '.permission.rulez'], [{ tools, permission: { disallowedTools: 'a' } }, '.permission.disallowedTools'],
    [{ tools, permission: { disallowedTools: [5] } }, '.permission.disallowedTools.0'], [{ tools, read_only: 'yes' }, '.read_only'], [{ tools, disable: 1 }, '.disable'], [{ tools, requires: 'docs' }, '.requires'],
    [{ tools: { a: true, b: false }, permission: 'none' }, '.permission'], [{ tools: { a: true, b: false }, permission: { disallowedTools: 'x' } }, '.permission.disallowedTools'],
  ] as const) {
    const config = load(box, { agents: { a: agent, fine: { tools } } });
    assert.deepEqual(config.agents.get('a')?.tools, [], JSON.stringify(agent));
    assert.deepEqual(config.agents.get('fine')?.tools, tools);
    const errors = config.diagnostics.filter(({ severity }) => severity === 'error');
    assert.ok(errors.some(({ code, pointer: at, origin }) => code === 'config_agent_invalid' && at === `agents.a${pointer}` && origin.line !== undefined), `${JSON.stringify(agent)} ${JSON.stringify(errors)}`);
  }
  assert.match(load(box, { agents: 5 }).diagnostics[0]!.message, /Cannot read agents from "agents": an object is due, not the number 5/);
});

test('loadConfig() warns of what costs no safety: near misses, wildcards in a list, texts that are none, a mode that is none', (context) => {
  const box = sandbox(context);
  const config = load(box, { agents: { a: { permissions: {}, toolz: [], model: 'x', steps: 3, anything: {}, description: 5, prompt: [], mode: 'boss', tools: ['docs_*'] } } });
  assert.deepEqual(config.diagnostics.map(({ severity, pointer }) => [severity, pointer]), ['permissions', 'toolz', 'description', 'prompt', 'tools', 'mode'].map((key) => ['warning', `agents.a.${key}`]));
  assert.match(config.diagnostics[0]!.message, /"permissions" means nothing here; did you mean "permission"\?/);
  assert.equal(config.agents.get('a')?.mode, 'subagent');
});

test('loadConfig() reads default_agent, and warns of one that leads no session', (context) => {
  const box = sandbox(context);
  const agents = { mine: {}, sub: { mode: 'subagent' }, off: { disable: true } };
  for (const [name, problem] of [['mine', undefined], ['build', undefined], ['nobody', /there is no agent "nobody"/], ['sub', /is a subagent/], ['off', /is disabled/], ['oracle', /is a subagent/]] as const) {
    const config = load(box, { agents, default_agent: name });
    assert.equal(config.defaultAgent, name);
    if (problem === undefined) assert.deepEqual(config.diagnostics, []);
    else assert.match(config.diagnostics[0]!.message, problem);
  }
  box.write(GLOBAL, { default_agent: 5 });
  assert.deepEqual(box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), ['default_agent']);
});

// --- What a checkout may say -------------------------------------------------------------------------------------------

/** The agent after a person's file and a project's, in both orders of rank. */
function bothWays(box: Sandbox, trusted: object, project: object, look: (config: Config) => void): void {
  box.write(PROJECT, project);
  box.write(GLOBAL, trusted);
  look(box.load());
  box.write(GLOBAL, {});
  look(box.load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify(trusted) } }));
}

test('hostile agent: a project gives itself no allow rule, no loose mode, in any form', (context) => {
  const box = sandbox(context);
  for (const permission of ['allow', 'ask', { '*': 'allow' }, { rules: { '*': 'allow', docs_write: { x: 'ask' } } }, { mode: 'allow_all' }, { mode: 'yolo' }, { mode: 'standard' }, { allowedTools: ['*'] }, null]) {
    bothWays(box, { permission: { rules: { docs_write: 'deny' } } }, { agents: { own: { permission }, build: { permission } } }, (config) => {
      for (const name of ['own', 'build']) assert.deepEqual([config.agents.get(name)?.rules, config.agents.get(name)?.permissionMode, config.agents.get(name)?.tools], [[], undefined, undefined], JSON.stringify(permission));
      assert.ok(config.diagnostics.some(({ code }) => code === 'config_project_loosens'));
    });
  }
});

test('a project may take away from an agent: deny rules, strict, lists of refusals, read_only, disable', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { agents: { mine: { permission: { mode: 'standard', rules: { docs_read: 'allow', docs_write: 'allow' }, disallowedTools: ['a'] } } } });
  box.write(PROJECT, { agents: { mine: { permission: { mode: 'strict', rules: { docs_write: { '*.md': 'deny' } }, disallowedTools: ['b'] }, read_only: true, disable: true } } });
  const config = box.load(), mine = config.agents.get('mine')!;
  assert.deepEqual(spelled(mine.rules), ['docs_read * allow', 'docs_write * allow', 'docs_write *.md deny', 'a * deny', 'b * deny']);
  assert.deepEqual([mine.permissionMode, mine.readOnly, mine.disabled, config.diagnostics], ['strict', true, true, []]);
});

test('hostile agent: a project widens no list of tools, whichever of the two ranks higher', (context) => {
  const box = sandbox(context);
  for (const tools of [['fs_write', 'docs_search'], { fs_write: true, docs_search: true }, { '*': true }, { '*': true, x: false }, null, ['docs_search', 'fs_write', ' fs_write'], [['docs_search']], 'fs_write', { 'fs_*': true }]) {
    bothWays(box, { agents: { mine: { tools: ['docs_search', 'docs_read'] } } }, { agents: { mine: { tools } } }, ({ agents }) => {
      const list = agents.get('mine')?.tools;
      assert.ok(list !== undefined && list.every((tool) => ['docs_search', 'docs_read'].includes(tool)), `${JSON.stringify(tools)} ${JSON.stringify(list)}`);
    });
  }
  box.write(GLOBAL, { agents: { mine: { tools: ['docs_search', 'docs_read'] } } });
  box.write(PROJECT, { agents: { mine: { tools: ['docs_read', 'fs_write'] } } });
  const config = box.load();
  assert.deepEqual(config.agents.get('mine')?.tools, ['docs_read']);
  assert.deepEqual(config.diagnostics.map(({ pointer }) => pointer), ['agents.mine.tools.1']);
  box.write(PROJECT, { agents: { mine: { tools: { docs_read: false } } } });
  assert.deepEqual([box.load().agents.get('mine')?.tools, spelled(box.load().agents.get('mine')!.rules)], [['docs_search', 'docs_read'], ['docs_read * deny']]);
});

test('hostile agent: a project adds no tool to a read-only agent, of the person or built in (row 135)', (context) => {
  const box = sandbox(context);
  const trusted = { agents: { plan: { permission: { rules: { docs_search: 'allow', docs_write: 'deny' } } }, mine: { read_only: true, permission: { allowedTools: ['docs_read'] } }, odd: { read_only: 'maybe' } } };
  const tools = ['fs_write', 'docs_search', 'docs_write', 'docs_read'];
  const project = { agents: { plan: { tools, read_only: false }, oracle: { tools, readOnly: false, mode: 'primary' }, mine: { tools, read_only: false }, odd: { tools, read_only: false } } };
  bothWays(box, trusted, project, ({ agents, diagnostics }) => {
    assert.deepEqual(['plan', 'oracle', 'mine', 'odd'].map((name) => [name, agents.get(name)?.tools]), [['plan', ['docs_search']], ['oracle', []], ['mine', ['docs_read']], ['odd', []]]);
    assert.deepEqual(['plan', 'oracle', 'mine'].map((name) => agents.get(name)?.readOnly), [true, true, true]);
    assert.equal(agents.get('oracle')?.mode, 'subagent');
    assert.ok(diagnostics.some(({ code, pointer }) => code === 'config_project_loosens' && pointer === 'agents.oracle.mode'));
  });
});

test('hostile agent: a project re-enables, removes and redefines nothing of a trusted layer', (context) => {
  const box = sandbox(context);
  const trusted = { agents: { mine: { disable: true, prompt: 'mine', description: 'mine', requires: ['docs'], mode: 'subagent', tools: ['a'] }, broken: 5 } };
  for (const project of [
    { agents: { mine: { disable: false, disabled: false, prompt: 'theirs', description: 'theirs', requires: [], mode: 'all' }, broken: {} } }, { agents: { mine: null, broken: null } }, { agents: null }, { agent: null, agents: 5 }, { agents: { mine: 5 } },
    { agents: { mine: { disable: null, prompt: null, requires: null, tools: null, permission: null } } },
  ]) {
    bothWays(box, trusted, project, ({ agents }) => {
      const mine = agents.get('mine')!;
      assert.deepEqual([mine.disabled, mine.prompt, mine.description, mine.requires, mine.mode, mine.tools, agents.get('broken')?.tools], [true, 'mine', 'mine', ['docs'], 'subagent', ['a'], []], JSON.stringify(project));
    });
  }
});

test('a project defines agents of its own, and what is not understood there denies as well', (context) => {
  const box = sandbox(context);
  box.write(PROJECT, { agents: { theirs: { tools: ['docs_search'], prompt: 'p', description: 'd', mode: 'primary', read_only: false, disable: false, requires: ['docs'] }, odd: { permission: { rules: { a: 'alow' } } }, worse: { permission: 7 }, worst: { permission: { allowedTools: 'x' } }, bad: 5 }, default_agent: 'theirs' });
  const config = box.load();
  const { origin, ...theirs } = config.agents.get('theirs')!;
  assert.deepEqual(theirs, { name: 'theirs', tools: ['docs_search'], prompt: 'p', description: 'd', mode: 'primary', readOnly: false, disabled: false, requires: ['docs'], rules: [] });
  assert.equal(origin.layer, 'project');
  for (const name of ['odd', 'worse', 'worst', 'bad']) assert.deepEqual(config.agents.get(name)?.tools, [], name);
  assert.equal(config.defaultAgent, 'theirs');
  box.write(PROJECT, { agents: 5 });
  assert.equal(box.load().diagnostics[0]?.severity, 'error');
});

test('hostile default_agent: a project chooses no agent of a trusted layer, and overrides no choice', (context) => {
  const box = sandbox(context);
  bothWays(box, { agents: { loose: { permission: 'allow' } }, default_agent: 'plan' }, { default_agent: 'build' }, (config) => { assert.equal(config.defaultAgent, 'plan'); });
  bothWays(box, { agents: { loose: { permission: 'allow' } } }, { default_agent: 'loose' }, (config) => {
    assert.equal(config.defaultAgent, undefined);
    assert.ok(config.diagnostics.some(({ code, pointer }) => code === 'config_project_loosens' && pointer === 'default_agent'));
  });
  bothWays(box, { default_agent: 'plan' }, { default_agent: null }, (config) => { assert.equal(config.defaultAgent, 'plan'); });
});

test('an admitted project may say of agents what a trusted layer may', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { trust: { project_host_commands: true }, agents: { mine: { tools: ['a'] } } });
  box.write(PROJECT, { agents: { mine: { tools: ['b'], permission: 'allow' } }, default_agent: 'mine' });
  const config = box.load();
  assert.deepEqual([config.agents.get('mine')?.tools, spelled(config.agents.get('mine')!.rules), config.defaultAgent, config.diagnostics], [['b'], ['* * allow'], 'mine', []]);
});
