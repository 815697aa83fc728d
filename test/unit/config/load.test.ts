import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import type { RemoteEntry } from '../../../src/config/types.ts';
import { GLOBAL, PROJECT, sandbox } from './sandbox.ts';

const url = 'http://127.0.0.1:9/mcp';

test('loadConfig() without any file is an empty configuration with defaults', (context) => {
  const box = sandbox(context);
  const config = box.load();
  assert.equal(config.servers.size, 0);
  assert.deepEqual([config.permissions, config.concurrency, config.mcpEnabled, config.naming, config.workspace], [{ mode: 'standard', rules: [] }, { connections: 8, toolCalls: 8, delegations: 8 }, true, 'plain', box.checkout]);
  assert.deepEqual([config.exposure, config.agents.size, config.commands.size, config.lock, config.parallelTools, 'audit' in config, 'defaultAgent' in config], [{ mode: 'auto', autoToolLimit: 32, autoSchemaBytes: 65_536, smallServerToolLimit: 8, servers: {} }, 0, 0, 'off', [], false, false]);
  assert.ok(config.layers.every(({ state }) => state === 'absent'));
});

test('loadConfig() lets the highest layer win, merges objects deep and replaces lists (row 32)', (context) => {
  const box = sandbox(context);
  const layer = (name: string, naming: string): string => box.write(name, { mcp_naming: naming, mcp: { docs: { type: 'remote', url, headers: { [path.basename(path.dirname(name))]: 'x' }, timeout: naming.length } } });
  layer(GLOBAL, 'mcp');
  layer(PROJECT, 'plain');
  layer('work/checkout/sub/zuno.json', 'mcp');
  const cwd = path.join(box.checkout, 'sub');
  const nested = box.load({ cwd });
  assert.equal(nested.naming, 'mcp');
  const docs = nested.servers.get('docs') as RemoteEntry;
  assert.deepEqual(Object.keys(docs.headers), ['zuno', 'checkout', 'sub']);
  assert.equal(docs.origin.file, path.join(cwd, 'zuno.json'));
  assert.deepEqual(docs.shadowed.map(({ file }) => file), [path.join(box.root, PROJECT), path.join(box.root, GLOBAL)]);
  layer('managed/zuno.json', 'plain');
  assert.equal(box.load({ cwd, environment: { ZUNO_CONFIG_CONTENT: '{"mcp_naming":"mcp"}' } }).naming, 'plain');
  rmSync(path.join(box.root, 'managed'), { recursive: true });
  assert.equal(box.load({ cwd, environment: { ZUNO_CONFIG_CONTENT: '{"mcp_naming":"plain"}' } }).naming, 'plain');
  box.write('home/.config/zuno/zuno.jsonc', { mcp_naming: 'plain' });
  assert.equal(box.load({ cwd: box.home, environment: { ZUNO_DISABLE_PROJECT_CONFIG: '1' } }).naming, 'plain');
  assert.deepEqual(nested.layers.filter(({ state }) => state === 'loaded').map(({ kind }) => kind), ['global', 'project', 'project']);
});

test('loadConfig() reads inline text above files, and --config above that (row 39)', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { docs: { type: 'remote', url }, fs: { type: 'local', command: ['a', 'b'], environment: { A: '1', B: '2' } } } });
  const ZUNO_CONFIG_CONTENT = '{"mcp":{"fs":{"command":["c"],"environment":{"B":"3","A":null}},"docs":null}}';
  const { servers } = box.load({ environment: { ZUNO_CONFIG_CONTENT } });
  assert.deepEqual([...servers.keys()], ['fs']);
  const fs = servers.get('fs');
  assert.ok(fs?.kind === 'local');
  assert.deepEqual([fs.command.source, fs.args, Object.keys(fs.environment), fs.environment['B']?.source], ['c', [], ['B'], '3']);
  assert.equal(fs.origin.file, 'ZUNO_CONFIG_CONTENT');
  const file = box.write('x.json', { mcp: { fs: { command: ['d'] } } });
  assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT }, configFile: file }).servers.get('fs')?.origin.layer, 'cli');
});

test('loadConfig() fails for a named file that is absent, and for one that is no file', (context) => {
  const box = sandbox(context);
  assert.match(box.refused('CONFIG_UNREADABLE', { configFile: 'none.json' }).message, /none\.json": no such file/);
  assert.match(box.refused('CONFIG_UNREADABLE', { environment: { ZUNO_CONFIG: '/nowhere/x.json' } }).message, /no such file/);
  mkdirSync(path.join(box.root, GLOBAL), { recursive: true });
  assert.match(box.refused('CONFIG_UNREADABLE').message, /not a regular file/);
});

test('loadConfig() fails with line and column for a text that is no JSON (row 35)', (context) => {
  const box = sandbox(context);
  const file = box.write(GLOBAL, '{\n  "mcp": {,}\n}');
  assert.deepEqual(box.refused('CONFIG_UNREADABLE').details, { file, line: 2, column: 11 });
  box.write(GLOBAL, '[1]');
  assert.match(box.refused('CONFIG_INVALID').message, /an object was expected/);
  box.write(GLOBAL, `// mine\n{"mcp": {"docs": {"type": "remote", "url": "${url}",},},}`);
  assert.deepEqual(box.load().servers.get('docs')?.origin, { file, layer: 'global', key: 'mcp.docs', line: 2, column: 10 });
});

test('loadConfig() ignores a file above the Git root (row 33)', (context) => {
  const box = sandbox(context);
  box.write('work/zuno.json', { mcp: { docs: { type: 'remote', url } } });
  assert.equal(box.load().servers.size, 0);
  assert.equal(box.load({ cwd: path.join(box.root, 'work') }).servers.size, 1);
});

test('loadConfig() names every unknown top-level key at once, with the nearest known one (row 34)', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { permissions: {}, mcpp: {}, theme: 'x', providers: {}, $schema: 's' });
  box.write(PROJECT, '{\n\n"zzz": 1}');
  const failure = box.refused('CONFIG_INVALID');
  assert.deepEqual(failure.details.problems.map(({ pointer }) => pointer), ['permissions', 'mcpp', 'zzz']);
  assert.match(failure.message, /did you mean "permission"\?/);
  assert.match(failure.message, /"zzz" \(.*checkout\/zuno\.json, line 3\): unknown key/);
  assert.equal(failure.details.file, undefined);
});

test('loadConfig() rejects a global MCP timeout as unknown (row 52)', (context) => {
  const box = sandbox(context);
  for (const key of ['mcp_timeout', 'mcpTimeout', 'timeout']) {
    box.write(GLOBAL, { [key]: 5000 });
    assert.deepEqual(box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), [key]);
  }
});

test('loadConfig() accepts 1 to 64 connections and nothing else (row 93)', (context) => {
  const box = sandbox(context);
  for (const connections of [1, 3, 64]) {
    box.write(GLOBAL, { concurrency: { mcp_connections: connections, tool_calls: 8 } });
    assert.equal(box.load().concurrency.connections, connections);
  }
  for (const connections of [0, 65, 1.5, -1, '8', true, [8]]) {
    box.write(GLOBAL, { concurrency: { mcp_connections: connections } });
    const failure = box.refused('CONFIG_INVALID');
    assert.equal(failure.details.problems[0]?.pointer, 'concurrency.mcp_connections');
    assert.match(failure.message, /a whole number from 1 to 64 is due/);
  }
});

test('loadConfig() reads features.mcp and mcp_naming, and complains about everything wrong at once', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { features: { mcp: false, other: 1 }, mcp_naming: 'mcp' });
  assert.equal(box.load().mcpEnabled, false);
  assert.equal(box.load().naming, 'mcp');
  box.write(GLOBAL, { features: { mcp: 'no' }, mcp_naming: 'x', concurrency: 5, tools: [], permission: 7 });
  assert.deepEqual(box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), ['tools', 'permission', 'concurrency', 'features.mcp', 'mcp_naming']);
  box.write(GLOBAL, { features: [], tools: { a: 1 }, permission: { mode: 'loose', rulez: {}, rules: [] } });
  assert.deepEqual(box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), ['tools.a', 'permission.rulez', 'permission.mode', 'permission.rules', 'features']);
});

const spelled = (rules: readonly { key: string; pattern: string; effect: string }[]): string[] => rules.map(({ key, pattern, effect }) => `${key} ${pattern} ${effect}`);

test('loadConfig() keeps rules in order: tools first, a lower layer\'s keys in their places, ZUNO_PERMISSION on top', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { tools: { b: true, a: false }, permission: { mode: 'strict', rules: { '*': 'ask', 'docs_*': { '*.md': 'allow', '*': 'deny' }, x: 'deny' } } });
  const config = box.load({ environment: { ZUNO_PERMISSION: '{"x":"allow","*":"deny","new":{"p":"ask"}}' } });
  assert.deepEqual(spelled(config.permissions.rules), ['b * allow', 'a * deny', '* * deny', 'docs_* *.md allow', 'docs_* * deny', 'x * allow', 'new p ask']);
  assert.equal(config.permissions.mode, 'strict');
  assert.equal(config.permissions.rules[2]?.origin.file, 'ZUNO_PERMISSION');
  assert.deepEqual(config.permissions.rules[3]?.origin.key, 'permission.rules.docs_*.*.md');
  assert.deepEqual(spelled(box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"permission":{"rules":{"docs_*":null}}}' } }).permissions.rules), ['b * allow', 'a * deny', '* * ask', 'x * deny']);
});

test('loadConfig() fails for effects that are none and for a ZUNO_PERMISSION that is no JSON', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { permission: { rules: { a: 'alow', b: { p: true }, c: ['deny'] } } });
  assert.deepEqual(box.refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), ['permission.rules.a', 'permission.rules.b.p', 'permission.rules.c']);
  box.write(GLOBAL, {});
  box.refused('CONFIG_UNREADABLE', { environment: { ZUNO_PERMISSION: '{"*":' } });
  box.refused('CONFIG_INVALID', { environment: { ZUNO_PERMISSION: '"deny"' } });
  box.refused('CONFIG_INVALID', { environment: { ZUNO_PERMISSION: '{"*":"no"}' } });
});

test('loadConfig() reads the older permission forms and the mode words of ZCode', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { permission: 'deny' });
  assert.deepEqual(spelled(box.load().permissions.rules), ['* * deny']);
  box.write(GLOBAL, { permission: { read: 'allow', bash: { 'git *': 'allow' } } });
  assert.deepEqual(spelled(box.load().permissions.rules), ['read * allow', 'bash git * allow']);
  for (const [word, mode] of [['yolo', 'allow_all'], ['build', 'standard'], ['edit', 'standard'], ['plan', 'strict'], ['allow_all', 'allow_all']] as const) {
    box.write(GLOBAL, { permission: { mode: word } });
    assert.equal(box.load().permissions.mode, mode);
  }
});

test('loadConfig() warns about a key that stands twice', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, `{"mcp": {"a": {"type": "remote", "url": "${url}"},\n "a": {"type": "remote", "url": "http://b.test/"}}}`);
  const config = box.load();
  assert.equal((config.servers.get('a') as RemoteEntry).url.source, 'http://b.test/');
  assert.deepEqual(config.diagnostics.map(({ code, severity, origin }) => [code, severity, origin.line]), [['config_duplicate_key', 'warning', 2]]);
  assert.ok(box.log.some(({ event, level }) => event === 'config.duplicate_key' && level === 'warning'));
});

test('loadConfig() starts quickly: five small layers in a few milliseconds', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`s${index}`, { type: 'remote', url }])) });
  box.load();
  const startedAt = performance.now();
  for (let round = 0; round < 10; round++) box.load();
  assert.ok((performance.now() - startedAt) / 10 < 50);
});

test('loadConfig() refuses a file over the limit', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, `{}${' '.repeat(limits.configFileBytes)}`);
  assert.match(box.refused('CONFIG_UNREADABLE').message, /larger than 1\.0 MiB/);
});
