import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { version } from '../../../src/base/version.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string; dependencies?: unknown; engines: { node: string } };
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

test('version is the one of package.json', () => {
  assert.equal(version, manifest.version);
});

test('the package has no runtime dependency', () => {
  assert.deepEqual(manifest.dependencies ?? {}, {});
});

test('npm pack holds exactly what is run and read, and what it holds runs in an empty folder without a network', { timeout: 120_000 }, async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'zuno-pack-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // A registry that cannot be reached: whatever asked for one would fail.
  const environment = { ...process.env, npm_config_registry: 'http://127.0.0.1:9/', npm_config_cache: path.join(folder, 'cache'), npm_config_update_notifier: 'false', NODE_V8_COVERAGE: '', XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder };

  const packed = JSON.parse((await run(npm, ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root, env: environment })).stdout) as [{ filename: string; size: number; files: { path: string }[] }];
  const files = packed[0].files.map((file) => file.path);
  const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts')).map((file) => file.replaceAll('\\', '/'));
  const expected = [
    'ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bin/package.json', 'bin/zuno-lite.js', 'demo/server.mjs', 'package.json',
    ...['cli', 'cli-start', 'cli-call', 'cli-rest'].map((file) => `dist/${file}.cjs`), ...sources.map((file) => `src/${file}`),
    ...sources.filter((file) => !file.startsWith('cli/')).flatMap((file) => [`dist/${file.replace(/\.ts$/, '.js')}`, `dist/${file.replace(/\.ts$/, '.d.ts')}`]),
  ];
  assert.deepEqual(files.sort(), expected.sort());
  assert.ok(packed[0].size < 1.5 * 1024 * 1024, `the package is ${packed[0].size} bytes`);

  writeFileSync(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  await run(npm, ['install', '--offline', '--no-audit', '--no-fund', path.join(folder, packed[0].filename)], { cwd: folder, env: environment });
  assert.deepEqual(readdirSync(path.join(folder, 'node_modules')).filter((name) => !name.startsWith('.')), ['zuno-lite']);

  const bin = path.join(folder, 'node_modules', 'zuno-lite', 'bin', 'zuno-lite.js');
  const demo = JSON.parse((await run(process.execPath, [bin, 'demo', '--json'], { cwd: folder, env: environment })).stdout) as { ok: boolean };
  assert.equal(demo.ok, true);

  writeFileSync(path.join(folder, 'use.mjs'), `
    import { connect } from 'zuno-lite/client';
    import { createHost, loadConfig, version } from 'zuno-lite';
    const client = await connect({ type: 'stdio', command: process.execPath, args: [${JSON.stringify(path.join(folder, 'node_modules', 'zuno-lite', 'demo', 'server.mjs'))}] });
    const { content } = await client.callTool('add', { a: 2, b: 3 });
    await client.close();
    console.log(JSON.stringify({ content, version, types: [typeof createHost, typeof loadConfig] }));
  `);
  const used = JSON.parse((await run(process.execPath, ['use.mjs'], { cwd: folder, env: environment })).stdout) as { content: { text: string }[]; version: string; types: string[] };
  assert.match(used.content[0]!.text, /5/);
  assert.equal(used.version, manifest.version);
  assert.deepEqual(used.types, ['function', 'function']);
});
