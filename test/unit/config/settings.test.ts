import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { explainConfig, mergedDocument } from '../../../src/config/inspect.ts';
import type { Config, Rule } from '../../../src/config/types.ts';
import { GLOBAL, PROJECT, sandbox, type Sandbox } from './sandbox.ts';

const url = 'http://127.0.0.1:9/mcp';
const spelled = (rules: readonly Rule[]): string[] => rules.map(({ key, pattern, effect }) => `${key} ${pattern} ${effect}`);
const complaints = (box: Sandbox): string[] => box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer);

function load(box: Sandbox, content: object): Config {
  box.write(GLOBAL, content);
  return box.load();
}

// --- Exposure ----------------------------------------------------------------------------------------------------------

test('loadConfig() reads mcp_tool_exposure and merges its servers over layers (row 143)', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { big: { type: 'remote', url }, small: { type: 'remote', url } }, mcp_tool_exposure: { mode: 'deferred', auto_tool_limit: 0, auto_schema_bytes: 1000, servers: { big: 'eager' } } });
  box.write(PROJECT, { mcp_tool_exposure: { small_server_tool_limit: 2, servers: { small: 'deferred' } } });
  const config = box.load();
  assert.deepEqual(config.exposure, { mode: 'deferred', autoToolLimit: 0, autoSchemaBytes: 1000, smallServerToolLimit: 2, servers: { big: 'eager', small: 'deferred' } });
  assert.deepEqual(config.diagnostics, []);
  assert.deepEqual(load(box, { mcp_tool_exposure: { auto_tool_limit: limits.exposureToolsMax, auto_schema_bytes: limits.exposureBytesMax } }).exposure.autoSchemaBytes, limits.exposureBytesMax);
});

test('loadConfig() names each wrong value of mcp_tool_exposure with file, line and key, and unknown keys with the nearest', (context) => {
  const box = sandbox(context);
  const file = box.write(GLOBAL, `{
  "mcp_tool_exposure": {
    "mode": "lazy",
    "auto_tool_limit": -1,
    "auto_schema_bytes": 1.5,
    "small_server_tool_limit": ${limits.exposureToolsMax + 1},
    "auto_tools_limit": 5,
    "servers": { "a": "always", "b": 5 }
  }
}`);
  const failure = box.refused('CONFIG_INVALID');
  assert.deepEqual(failure.details.problems.map(({ pointer }) => pointer), ['mode', 'auto_tool_limit', 'auto_schema_bytes', 'small_server_tool_limit', 'auto_tools_limit', 'servers.a', 'servers.b'].map((key) => `mcp_tool_exposure.${key}`));
  assert.match(failure.message, /"mcp_tool_exposure\.auto_tools_limit" \(line 7\): unknown key; did you mean "auto_tool_limit"\?/);
  assert.match(failure.message, /"mcp_tool_exposure\.auto_tool_limit" \(line 4\): a whole number from 0 to 10000 is due, not the number -1/);
  assert.equal(failure.details.file, file);
  for (const value of [5, [], 'auto', { servers: [] }]) {
    box.write(GLOBAL, { mcp_tool_exposure: value });
    assert.equal(complaints(box).length, 1);
  }
});

test('loadConfig() warns of an exposure for a server that nobody declares, and not for one that is broken', (context) => {
  const config = load(sandbox(context), { mcp: { docs: { type: 'remote', url }, bad: { type: 'remote', url, colour: 1 } }, mcp_tool_exposure: { servers: { dosc: 'eager', bad: 'eager', docs: 'eager' } } });
  assert.deepEqual(config.diagnostics.filter(({ severity }) => severity === 'warning').map(({ code, pointer }) => [code, pointer]), [['config_exposure_unmatched', 'mcp_tool_exposure.servers.dosc']]);
  assert.match(config.diagnostics.at(-1)!.message, /there is no server "dosc"; did you mean "docs"\?/);
});

// --- Concurrency -------------------------------------------------------------------------------------------------------

test('loadConfig() reads tool_calls and delegations from 1 to 64, and parallel_tools of trusted layers alone', (context) => {
  const box = sandbox(context);
  const config = load(box, { concurrency: { tool_calls: 1, delegations: 64, mcp_connections: 3, parallel_tools: ['docs_*', ' docs.read '] } });
  assert.deepEqual([config.concurrency, config.parallelTools], [{ connections: 3, toolCalls: 1, delegations: 64 }, ['docs_*', 'docs.read']]);
  for (const key of ['tool_calls', 'delegations']) {
    for (const value of [0, 65, 1.5, '8']) {
      box.write(GLOBAL, { concurrency: { [key]: value } });
      assert.deepEqual(complaints(box), [`concurrency.${key}`]);
    }
  }
  box.write(GLOBAL, { concurrency: { parallel_tools: 'x' } });
  assert.deepEqual(complaints(box), ['concurrency.parallel_tools']);
  box.write(GLOBAL, { concurrency: { parallel_tools: [5, ''] } });
  assert.deepEqual(complaints(box), ['concurrency.parallel_tools.0', 'concurrency.parallel_tools.1']);
  for (const grant of [{}, { trust: { project_host_commands: true } }]) {
    box.write(GLOBAL, { ...grant, concurrency: { parallel_tools: ['docs_*'] } });
    box.write(PROJECT, { concurrency: { parallel_tools: ['*'], tool_calls: 2 } });
    const own = box.load();
    assert.deepEqual([own.parallelTools, own.concurrency.toolCalls, own.diagnostics.map(({ pointer }) => pointer)], [['docs_*'], 2, ['concurrency.parallel_tools']]);
  }
});

// --- Lock --------------------------------------------------------------------------------------------------------------

test('loadConfig() reads mcp.lock as a setting, and a server that is called lock as a server', (context) => {
  const box = sandbox(context);
  const config = load(box, { mcp: { lock: 'enforce', docs: { type: 'remote', url } } });
  assert.deepEqual([config.lock, [...config.servers.keys()], config.diagnostics], ['enforce', ['docs'], []]);
  assert.equal(load(box, { mcp: { lock: 'off' } }).lock, 'off');
  const named = load(box, { mcp: { lock: { type: 'remote', url } }, mcpServers: { other: { url } } });
  assert.deepEqual([named.lock, [...named.servers.keys()]], ['off', ['other', 'lock']]);
  box.write(GLOBAL, { mcp: { lock: 'enforce' } });
  const both = box.load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp: { lock: { type: 'remote', url } } }) } });
  assert.deepEqual([both.lock, both.servers.has('lock')], ['enforce', true]);
  for (const lock of ['on', true, 5]) {
    box.write(GLOBAL, { mcp: { lock } });
    assert.deepEqual(complaints(box), ['mcp.lock']);
  }
  for (const content of [{ mcpServers: { lock: 'enforce' } }, { mcp: { servers: { lock: 'enforce' } } }, { mcp: { lock: ['enforce'] } }]) assert.equal(load(box, content).diagnostics[0]?.code, 'config_mcp_server_invalid');
});

test('a project turns the lock on and never off, wherever it stands', (context) => {
  const box = sandbox(context);
  const on = JSON.stringify({ mcp: { lock: 'enforce' } });
  box.write(PROJECT, on);
  assert.deepEqual([box.load().lock, box.load().diagnostics], ['enforce', []]);
  for (const grant of [{}, { trust: { project_host_commands: true } }]) {
    for (const project of [{ mcp: { lock: 'off' } }, { mcp: { lock: null } }, { mcp: null }, { mcp: 5 }, { mcp: { lock: 'nonsense' } }]) {
      box.write(PROJECT, project);
      box.write('work/checkout/.zuno/zuno.json', project);
      box.write(GLOBAL, { ...grant, mcp: { lock: 'enforce' } });
      assert.equal(box.load().lock, 'enforce', JSON.stringify(project));
      box.write(GLOBAL, grant);
      assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT: on } }).lock, 'enforce', JSON.stringify(project));
    }
  }
  box.write(GLOBAL, { mcp: { lock: 'enforce' } });
  assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":{"lock":"off"}}' } }).lock, 'off');
  assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":{"lock":null}}' } }).lock, 'off');
});

// --- Audit -------------------------------------------------------------------------------------------------------------

test('loadConfig() reads audit: a path beside the file that names it, in the home, or with bounds', (context) => {
  const box = sandbox(context);
  const file = path.join(box.root, GLOBAL), origin = { file, layer: 'global' };
  const shown = (audit: unknown): unknown => { const read = load(box, { audit }).audit!; return { ...read, origin: { file: read.origin.file, layer: read.origin.layer } }; };
  assert.deepEqual(shown('calls.jsonl'), { file: path.join(path.dirname(file), 'calls.jsonl'), maxBytes: 10 * 1024 * 1024, keep: 5, origin });
  assert.deepEqual(shown('~/calls.jsonl'), { file: path.join(box.home, 'calls.jsonl'), maxBytes: limits.auditBytes, keep: limits.auditFiles, origin });
  assert.deepEqual(shown({ file: '/var/log/calls.jsonl', max_bytes: limits.auditBytesMin, keep: 0 }), { file: path.resolve('/var/log/calls.jsonl'), maxBytes: limits.auditBytesMin, keep: 0, origin });
  assert.equal(load(box, { audit: null }).audit, undefined);
  for (const [audit, keys] of [[5, ['audit']], ['', ['audit']], [{}, ['audit']], [{ file: 5 }, ['audit.file']], [{ file: 'a', keep: limits.auditFilesMax + 1, max_bytes: limits.auditBytesMin - 1, size: 5 }, ['audit.size', 'audit.max_bytes', 'audit.keep']], [['a'], ['audit']]] as const) {
    box.write(GLOBAL, { audit });
    assert.deepEqual(complaints(box), keys, JSON.stringify(audit));
  }
});

test('a project sets no audit and takes none away, admitted or not', (context) => {
  const box = sandbox(context);
  for (const grant of [{}, { trust: { project_host_commands: true } }]) {
    for (const audit of ['/tmp/theirs', null, { file: 'x' }]) {
      box.write(PROJECT, { audit });
      box.write(GLOBAL, { ...grant, audit: '/tmp/mine' });
      const config = box.load();
      assert.equal(config.audit?.file, path.resolve('/tmp/mine'));
      assert.deepEqual(config.diagnostics.map(({ pointer }) => pointer), ['audit']);
      box.write(GLOBAL, grant);
      assert.equal(box.load().audit, undefined);
    }
  }
});

// --- Commands ----------------------------------------------------------------------------------------------------------

test('loadConfig() reads commands as texts and as objects, under both keys (row 165)', (context) => {
  const box = sandbox(context);
  const config = load(box, { command: { a: 'older', b: { template: 'B $1', description: 'about b' } }, commands: { a: { template: 'A $ARGUMENTS', agent: 'build' }, 'docs:find': 'mine' } });
  assert.deepEqual([...config.commands.values()].map(({ key, template, description, origin }) => [key, template, description, origin.key]), [['a', 'A $ARGUMENTS', undefined, 'commands.a'], ['b', 'B $1', 'about b', 'command.b'], ['docs:find', 'mine', undefined, 'commands.docs:find']]);
  assert.deepEqual(config.diagnostics, []);
  const over = box.load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ commands: { b: 'other', a: { description: 'about a' }, 'docs:find': null } }) } });
  assert.deepEqual([...over.commands.values()].map(({ key, template, description }) => [key, template, description]), [['a', 'A $ARGUMENTS', 'about a'], ['b', 'other', 'about b']]);
});

test('loadConfig() leaves out a command that is none, and says so', (context) => {
  const box = sandbox(context);
  const config = load(box, { commands: { a: 5, b: {}, c: { template: '' }, d: { template: [] }, e: { template: 'x', description: 5 }, ' ': 'x' } });
  assert.deepEqual([...config.commands.keys()], ['e']);
  assert.deepEqual(config.diagnostics.map(({ severity, code, pointer }) => [severity, code, pointer]), ['a', 'b', 'c.template', 'd.template', 'e.description', ' '].map((key) => ['warning', 'config_command_invalid', `commands.${key}`]));
  assert.equal(load(box, { command: 'x' }).diagnostics[0]?.pointer, 'command');
});

test('a project adds commands and changes none of a trusted layer', (context) => {
  const box = sandbox(context);
  for (const project of [{ commands: { mine: 'theirs', own: 'own' } }, { command: { mine: { description: 'theirs' }, own: 'own' } }, { commands: { mine: null, own: 'own' } }]) {
    box.write(PROJECT, project);
    box.write(GLOBAL, { commands: { mine: 'mine' } });
    const config = box.load();
    assert.deepEqual([...config.commands.values()].map(({ key, template, description }) => [key, template, description]), [['mine', 'mine', undefined], ['own', 'own', undefined]]);
    assert.equal(config.diagnostics[0]?.code, 'config_project_loosens');
  }
  box.write(PROJECT, { commands: null });
  assert.equal(box.load().commands.size, 1);
});

// --- Lists of tools ----------------------------------------------------------------------------------------------------

test('permission.disallowedTools comes last and is terminal, permission.allowedTools comes first (row 200)', (context) => {
  const box = sandbox(context);
  const config = load(box, { tools: { a: true }, permission: { disallowedTools: ['docs_*', 'fs_write(*/etc/*)'], rules: { '*': 'ask', docs_search: 'allow' }, allowedTools: ['mcp__docs__read', 'fs_read()'] } });
  assert.deepEqual(spelled(config.permissions.rules), ['a * allow', 'mcp__docs__read * allow', 'fs_read * allow', '* * ask', 'docs_search * allow', 'docs_* * deny', 'fs_write */etc/* deny']);
  assert.equal(config.permissions.rules[5]!.origin.key, 'permission.disallowedTools.0');
  const over = box.load({ environment: { ZUNO_PERMISSION: '{"docs_search":"allow","docs_*":"allow"}' } });
  assert.deepEqual(spelled(over.permissions.rules).slice(-2), ['docs_* * deny', 'fs_write */etc/* deny']);
  for (const [permission, key] of [[{ allowedTools: 'a' }, 'allowedTools'], [{ disallowedTools: [5] }, 'disallowedTools.0'], [{ disallowedTools: [''] }, 'disallowedTools.0'], [{ disallowedTool: [], rules: {} }, 'disallowedTool']] as const) {
    box.write(GLOBAL, { permission });
    assert.deepEqual(complaints(box), [`permission.${key}`]);
  }
});

test('a project adds to permission.disallowedTools and replaces nothing; its allowedTools are dropped (row 200)', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { permission: { disallowedTools: ['docs_*'] } });
  for (const project of [{ disallowedTools: [] }, { disallowedTools: null }, { allowedTools: ['docs_*'] }, { mode: 'standard' }, { disallowedTools: 'x' }]) {
    box.write(PROJECT, { permission: project });
    assert.deepEqual(spelled(box.load().permissions.rules), ['docs_* * deny'], JSON.stringify(project));
  }
  box.write(PROJECT, { permission: { disallowedTools: ['fs_*'] } });
  assert.deepEqual([spelled(box.load().permissions.rules), box.load().diagnostics], [['docs_* * deny', 'fs_* * deny'], []]);
});

test('.mcp.json and .agents/mcp.json of a checkout are not read (row 200)', (context) => {
  const box = sandbox(context);
  const servers = { mcpServers: { evil: { command: 'evil', args: [] }, far: { url } } };
  for (const name of ['.mcp.json', '.agents/mcp.json', 'mcp.json', 'zcode.json', '.zcode/config.json', '.cursor/mcp.json', '.vscode/mcp.json']) box.write(`work/checkout/${name}`, servers);
  box.write('home/.mcp.json', servers);
  const config = box.load();
  assert.deepEqual([config.servers.size, config.diagnostics, config.layers.filter(({ state }) => state === 'loaded')], [0, [], []]);
});

// --- Shown -------------------------------------------------------------------------------------------------------------

test('explainConfig() shows the new settings, each with its place and what it stands over', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { lock: 'enforce', docs: { type: 'remote', url } }, mcp_tool_exposure: { mode: 'eager', servers: { docs: 'deferred' } }, agent: { a: { tools: ['x'] } }, default_agent: 'a', command: { go: 'Go' }, audit: 'a.jsonl', concurrency: { parallel_tools: ['docs_*'] } });
  const values = explainConfig(box.read({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp_tool_exposure":{"mode":"auto"},"agents":{"a":{"tools":["y"]}}}' } }));
  const shown = (key: string): unknown[] => { const found = values.find((one) => one.key === key)!; return [found.value, found.origin.layer, found.origin.key, found.shadowed.map(({ value }) => value)]; };
  assert.deepEqual(shown('mcp.lock'), ['enforce', 'global', 'mcp.lock', []]);
  assert.deepEqual(shown('mcp_tool_exposure.mode'), ['auto', 'env-content', 'mcp_tool_exposure.mode', ['eager']]);
  assert.deepEqual(shown('agents.a.tools'), [['y'], 'env-content', 'agents.a.tools', [['x']]]);
  assert.deepEqual(shown('commands.go.template'), ['Go', 'global', 'command.go', []]);
  assert.deepEqual(['default_agent', 'audit', 'concurrency.parallel_tools', 'mcp_tool_exposure.servers.docs'].map((key) => shown(key)[0]), ['a', 'a.jsonl', ['docs_*'], 'deferred']);
  assert.deepEqual((mergedDocument(values)['mcp'] as { lock: string }).lock, 'enforce');
  box.write(GLOBAL, { mcp: { lock: null } });
  assert.deepEqual(explainConfig(box.read()), []);
});
