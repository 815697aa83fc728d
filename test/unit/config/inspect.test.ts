import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { explainConfig, mergedDocument } from '../../../src/config/inspect.ts';
import { merge, plain, settled, unplacedLayer, type Setting } from '../../../src/config/layers.ts';
import { createRandom, generateJsonc } from './generate.ts';
import { GLOBAL, PROJECT, sandbox } from './sandbox.ts';

test('explainConfig() shows the value of the highest layer and all below it; taken away one by one, the next wins (row 32)', (context) => {
  const box = sandbox(context);
  const url = 'https://docs.test/mcp';
  const cwd = path.join(box.checkout, 'sub');
  const entry = (timeout: number): object => ({ mcp: { docs: { timeout } } });
  box.write(GLOBAL, { mcp: { docs: { type: 'remote', url, timeout: 1 } } });
  const named = box.write('named.json', entry(7));
  box.write('dir/zuno.json', entry(8));
  const cli = box.write('cli.json', entry(10));
  const files = ['home/.config/zuno/zuno.jsonc', PROJECT, 'work/checkout/sub/zuno.json', 'home/.zuno/zuno.json', 'work/checkout/.zuno/zuno.json', 'named.json', 'dir/zuno.json', 'ZUNO_CONFIG_CONTENT', 'cli.json', 'managed/zuno.json'];
  for (const [index, file] of files.entries()) if (file.includes('/')) box.write(file, entry(index + 2));
  const environment: Record<string, string> = { ZUNO_CONFIG: named, ZUNO_CONFIG_DIR: path.join(box.root, 'dir'), ZUNO_CONFIG_CONTENT: JSON.stringify(entry(9)) };
  const options: { cwd: string; environment: Record<string, string>; configFile?: string } = { cwd, environment, configFile: cli };
  for (let top = files.length - 1; top >= 0; top--) {
    const file = files[top]!;
    const timeout = explainConfig(box.read(options)).find(({ key }) => key === 'mcp.docs.timeout')!;
    assert.equal(timeout.value, top + 2);
    assert.equal(path.isAbsolute(timeout.origin.file) ? path.relative(box.root, timeout.origin.file) : timeout.origin.file, file);
    assert.deepEqual(timeout.shadowed.map(({ value }) => value), Array.from({ length: top + 1 }, (_, index) => top + 1 - index));
    if (file === 'cli.json') delete options.configFile;
    else if (file === 'named.json') delete environment['ZUNO_CONFIG'];
    else if (file === 'ZUNO_CONFIG_CONTENT') delete environment['ZUNO_CONFIG_CONTENT'];
    else rmSync(path.join(box.root, file));
  }
});

test('explainConfig() masks every secret, shows references, and gives each value its line', (context) => {
  const box = sandbox(context);
  const file = box.write(GLOBAL, `{
  "mcp": {
    "docs": { "type": "remote", "url": "https://u:hunter22@docs.test/mcp?key=hunter22", "headers": { "Authorization": "Bearer hunter22", "X": "a {env:TOK}" },
      "oauth": { "clientId": "x", "clientSecret": "hunter22" } }
  },
  "mcpServers": { "fs": { "command": "node", "args": ["--token=hunter22"], "env": { "A": "hunter22" } } },
  "permission": { "docs_*": { "*.md": "allow" } },
  "plugins": [{ "path": "/none", "config": { "key": "hunter22" } }]
}`);
  const values = explainConfig(box.read());
  assert.doesNotMatch(JSON.stringify(values), /hunter22/);
  assert.deepEqual(values.map(({ key, value, origin }) => [key, value, origin.line]), [
    ['mcp.fs.type', 'local', 6], ['mcp.fs.command', 'node', 6], ['mcp.fs.args', ['--token=***'], 6], ['mcp.fs.environment.A', '***', 6],
    ['mcp.docs.type', 'remote', 3], ['mcp.docs.url', 'https://***@docs.test/mcp?key=***', 3], ['mcp.docs.headers.Authorization', 'Bearer ***', 3], ['mcp.docs.headers.X', '***{env:TOK}', 3],
    ['mcp.docs.oauth', { clientId: '***', clientSecret: '***' }, 4], ['permission.rules.docs_*.*.md', 'allow', 7], ['plugins', [{ path: '/none', config: { key: '***' } }], 8],
  ]);
  assert.ok(values.every(({ origin }) => origin.file === file && origin.layer === 'global'));
  assert.deepEqual((mergedDocument(values)['permission'] as object), { rules: { 'docs_*': { '*.md': 'allow' } } });
});

test('explainConfig() shows what a project said in vain, and not what it was refused', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { docs: { type: 'remote', url: 'https://docs.test/', enabled: false } }, tools: { a: false } });
  box.write(PROJECT, { mcp: { docs: { enabled: true } }, tools: { a: true, b: false }, imports: ['cursor'] });
  const values = explainConfig(box.read());
  const enabled = values.find(({ key }) => key === 'mcp.docs.enabled')!;
  assert.deepEqual([enabled.value, enabled.origin.layer, enabled.shadowed.map(({ value, origin }) => [value, origin.layer])], [false, 'global', [[true, 'project']]]);
  assert.deepEqual(values.filter(({ key }) => key.startsWith('tools') || key === 'imports').map(({ key, value, shadowed }) => [key, value, shadowed]), [['tools.a', false, []], ['tools.b', false, []]]);
});

test('merge() is associative on generated layers, also where null takes something away, and equals a fold from below', () => {
  const random = createRandom(23);
  const layer = (): Setting => unplacedLayer({ kind: 'global', source: 'x', trusted: true, directory: '/' }, generateJsonc(random).value).root;
  const shown = (setting: Setting): string => { const left = settled(setting); return left === undefined ? 'nothing' : JSON.stringify(plain(left)); };
  let nulls = 0;
  for (let round = 0; round < 4_000; round++) {
    const [a, b, c, d] = [layer(), layer(), layer(), layer()] as const;
    const expected = JSON.stringify(plainly([a, b, c, d].map(plain)));
    if (expected !== JSON.stringify(plainly([a, b, c, d].map((one) => withoutNulls(plain(one)))))) nulls += 1;
    for (const grouped of [merge(merge(merge(a, b), c), d), merge(merge(a, b), merge(c, d)), merge(a, merge(merge(b, c), d)), merge(a, merge(b, merge(c, d))), merge(merge(a, merge(b, c)), d)]) assert.equal(shown(grouped), expected);
    assert.equal(shown(merge(a, a)), shown(a));
  }
  assert.ok(nulls > 100, `null decided in ${nulls} rounds only`);
});

test('merge() puts a key that comes back after a null at the end, in whatever order layers are merged', () => {
  const setting = (value: object): Setting => unplacedLayer({ kind: 'global', source: 'x', trusted: true, directory: '/' }, value as Record<string, unknown>).root;
  const [a, b, c] = [setting({ x: { p: 1 }, y: 1 }), setting({ x: null, z: 1 }), setting({ x: { q: 2 } })];
  for (const grouped of [merge(merge(a, b), c), merge(a, merge(b, c))]) assert.equal(JSON.stringify(plain(settled(grouped)!)), '{"y":1,"z":1,"x":{"q":2}}');
});

/** The definition: from the lowest layer up, null deletes. */
function plainly(layers: readonly unknown[]): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
  const over = (lower: unknown, upper: unknown): unknown => {
    if (!isMap(upper)) return upper;
    const result = new Map(isMap(lower) ? Object.entries(lower) : []);
    for (const [key, value] of Object.entries(upper)) if (value === null) result.delete(key); else result.set(key, over(result.get(key), value));
    return Object.fromEntries(result);
  };
  return layers.reduce(over, undefined);
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null).map(([key, item]) => [key, withoutNulls(item)]));
}
