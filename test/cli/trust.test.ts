import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { everything, fixture, sandbox } from './support.ts';

const project = (flags: readonly string[] = []): string => JSON.stringify({ mcp: { fs: fixture(...flags) } });

test('trust shows what a file would run, admits exactly that with --yes, and an edit is refused again (rows 18, 24)', async (t) => {
  const { run, file, read, workspace } = sandbox(t);
  const name = file('zuno.json', project());
  const before = await run(['tools']);
  assert.equal(before.status, 3);
  assert.match(before.stderr, /mcp\.fs\.command/);
  assert.match(before.stderr, new RegExp(`zuno-lite trust ${name}`));
  const { status, stdout, stderr } = await run(['trust', 'zuno.json', '--yes']);
  assert.equal(status, 0);
  assert.match(stderr, /would run .*everything\.mjs/);
  assert.match(stdout, /^Admitted: .*zuno\.json as it is now, in .*zuno\/zuno\.json/);
  assert.deepEqual(Object.keys(read().trust.project_host_commands[0]), ['path', 'sha256']);
  assert.equal((await run(['tools'])).status, 0);
  assert.equal((await run(['tools'], { cwd: workspace })).status, 0);
  writeFileSync(name, `${project()}\n`);
  const changed = await run(['tools', '--json']);
  assert.deepEqual([changed.status, changed.json().error.code], [3, 'TRUST_REFUSED']);
  assert.match(changed.json().error.message, /its content changed since it was admitted/);
  assert.match((await run(['trust', name, '--yes'])).stdout, /^Admitted again/);
  assert.equal((await run(['tools'])).status, 0);
  assert.match((await run(['trust', name, '--yes'])).stdout, /this content is admitted there already/);
});

test('trust asks on a terminal, and takes anything but yes for no', async (t) => {
  const { run, file, globalFile } = sandbox(t);
  file('zuno.json', project());
  for (const answer of ['', 'n', 'what']) {
    const { status, stdout } = await run(['trust', 'zuno.json'], { terminal: { columns: 100, answers: [['[y]es', answer]] } });
    assert.equal(status, 0);
    assert.match(stdout, /Nothing was admitted/);
  }
  assert.equal(existsSync(globalFile), false);
  assert.match((await run(['trust', 'zuno.json'], { terminal: { columns: 100, answers: [['[y]es', 'y']] } })).stdout, /Admitted/);
});

test('trust without a terminal and without --yes admits nothing', async (t) => {
  const { run, file, globalFile } = sandbox(t);
  file('zuno.json', project());
  const { status, stderr } = await run(['trust', 'zuno.json']);
  assert.equal(status, 2);
  assert.match(stderr, /nobody is here to answer/);
  assert.equal(existsSync(globalFile), false);
  assert.equal((await run(['trust', 'none.json', '--yes'])).status, 3);
});

test('trust --json says what was admitted, and warns when a layer above decides otherwise', async (t) => {
  const { run, file, directory } = sandbox(t);
  const name = file('zuno.json', JSON.stringify({ mcp: { fs: fixture(), docs: { type: 'remote', url: 'https://docs.test/?k=hunter22x', headers: { X: '{env:TOK}' } } }, permission: { '*': 'allow' } }));
  const above = path.join(directory, 'above.json');
  writeFileSync(above, '{"trust":{"project_host_commands":false}}');
  const { stdout, stderr, json } = await run(['trust', name, '--yes', '--json'], { env: { ZUNO_CONFIG: above } });
  const document = json();
  assert.deepEqual([document.admitted, document.path, document.change], [false, name, 'added']);
  assert.match(document.warning, /may not choose what runs|does not admit it/);
  assert.deepEqual(document.servers.map((one: any) => [one.name, one.reads]), [['fs', []], ['docs', ['{env:TOK}']]]);
  assert.match(stderr, /decides +permission/);
  assert.match(stderr, /reads +\{env:TOK\}/);
  assert.doesNotMatch(stdout + stderr, /hunter22x/);
  assert.ok(document.servers[0].runs.includes(everything));
});

test('trust shows directories and names of variables, and has nothing to do where everything is admitted', async (t) => {
  const { run, file, config, read } = sandbox(t);
  config({ trust: { project_host_commands: true } });
  const name = file('.zuno/zuno.json', JSON.stringify({ mcp: { fs: { ...fixture(), cwd: '/srv', environment: { LOG: 'x', KEY: 'hunter22x' } }, docs: { type: 'remote', url: 'https://docs.test/' } } }));
  const { status, stdout, stderr } = await run(['trust', name, '--yes']);
  assert.equal(status, 0);
  assert.match(stderr, /in +\/srv\n +sets +LOG, KEY\n +reaches +https:\/\/docs\.test\//);
  assert.match(stdout, /every checkout is admitted there already/);
  assert.doesNotMatch(stdout + stderr, /hunter22x/);
  assert.deepEqual(read(), { trust: { project_host_commands: true } });
  file('empty/zuno.json', '{}');
  assert.match((await run(['trust', 'empty/zuno.json', '--yes'])).stderr, /It declares no server/);
  const declined = await run(['trust', name, '--json'], { terminal: { columns: 100, answers: [['[y]es', 'no']] } });
  assert.equal(declined.json().admitted, false);
});

test('trust admits a file of another program that is imported live', async (t) => {
  const { run, file, config, read } = sandbox(t);
  config({ imports: ['vscode'] });
  const name = file('.vscode/mcp.json', JSON.stringify({ servers: { fs: { type: 'stdio', command: process.execPath, args: [everything] } } }));
  assert.match((await run(['tools'])).stderr, /servers\.fs\.command/);
  assert.equal((await run(['trust', name, '--yes'])).status, 0);
  assert.equal(read().trust.project_host_commands[0].path, name);
  assert.equal((await run(['tools'])).status, 0);
});
