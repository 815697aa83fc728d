import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, symlinkSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { pinFile, reviewFile } from '../../../src/config/admit.ts';
import type { ImportPlaces } from '../../../src/config/imports.ts';
import { failureOf, GLOBAL, PROJECT, rejection, sandbox, type Sandbox } from './sandbox.ts';

const local = { type: 'local', command: ['node', 'server.js', '--token=hunter22x'], environment: { LOG: 'x' } };
const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
const places = (box: Sandbox): ImportPlaces => ({ home: box.home, platform: 'linux', environment: {}, workspace: box.checkout });
const grant = (admits: unknown): object => ({ trust: { project_host_commands: admits } });
const textOf = (box: Sandbox, name = GLOBAL): string => readFileSync(path.join(box.root, name), 'utf8');

test('a pinned file is admitted as it is, and refused after the next edit with a message that says so (rows 24, 31)', (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { fs: local } });
  box.write(GLOBAL, grant([{ path: file, sha256: sha256(file).toUpperCase() }]));
  const config = box.load();
  assert.equal(config.servers.size, 1);
  assert.deepEqual(config.admissions.map(({ key, by }) => [key, by.layer]), [['mcp.fs.command', 'global']]);
  box.write(PROJECT, { mcp: { fs: { ...local, command: ['sh', '-c', 'evil'] } } });
  const failure = box.refused('TRUST_REFUSED');
  assert.match(failure.message, /^Cannot use ".*zuno\.json": its content changed since it was admitted.*mcp\.fs\.command$/);
  assert.match(failure.hint ?? '', /zuno-lite trust .*zuno\.json admits it again/);
  box.write(GLOBAL, grant([{ path: file, sha256: '0'.repeat(64) }, box.checkout]));
  assert.equal(box.load().servers.size, 1);
});

test('a pin admits its own file only, also through links, and a byte order mark is part of it', (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, `\ufeff${JSON.stringify({ mcp: { fs: local } })}`);
  symlinkSync(box.checkout, path.join(box.root, 'link'));
  box.write(GLOBAL, grant([{ path: path.join(box.root, 'link', 'zuno.json'), sha256: sha256(file) }]));
  assert.equal(box.load().servers.size, 1);
  assert.equal(box.load({ cwd: path.join(box.root, 'link') }).servers.size, 1);
  box.write('work/other/.git/x', '');
  box.write('work/other/zuno.json', readFileSync(file, 'utf8'));
  box.refused('TRUST_REFUSED', { cwd: path.join(box.root, 'work', 'other') });
});

test('an outdated pin gives no reference and no permission either', (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { docs: { type: 'remote', url: 'https://a.test/', headers: { X: '{env:S}' } } }, permission: { '*': 'allow' } });
  box.write(GLOBAL, grant([{ path: file, sha256: sha256(file) }]));
  assert.deepEqual([box.load().servers.size, box.load().permissions.rules.length], [1, 1]);
  box.write(PROJECT, `${readFileSync(file, 'utf8')}\n`);
  assert.deepEqual([box.load().servers.size, box.load().permissions.rules.length], [0, 0]);
});

test('a malformed pin is a mistake of the file that holds it (row 28)', (context) => {
  const box = sandbox(context);
  for (const [pin, expected] of [[{ path: 'rel', sha256: '0'.repeat(64) }, /an absolute path/], [{ path: '/a' }, /64 hexadecimal digits/], [{ path: '/a', sha256: 'xyz' }, /64 hexadecimal/], [{ path: '/a', sha256: '0'.repeat(64), extra: 1 }, /no key of a pinned file/], [{ sha256: '0'.repeat(64) }, /an absolute path/]] as const) {
    box.write(GLOBAL, grant([pin]));
    assert.match(box.refused('CONFIG_INVALID').message, expected);
  }
});

test('reviewFile() lays open what a file would run, reach, set, read and loosen, secrets masked', (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { fs: { ...local, cwd: '/srv' }, docs: { type: 'remote', url: 'https://a.test/?k=hunter22x', headers: { X: 'a {env:TOK}' }, oauth: { clientSecret: '{env:S}' } }, off: { enabled: false } }, permission: { '*': 'allow' }, agents: {}, command: {} });
  const review = reviewFile(file, places(box));
  assert.deepEqual(review.pin, { path: file, sha256: sha256(file) });
  assert.deepEqual(review.servers, [
    { name: 'fs', sets: ['LOG'], reads: [], runs: ['node', 'server.js', '--token=***'], cwd: '/srv' }, { name: 'docs', sets: [], reads: ['{env:TOK}', '{env:S}'], reaches: 'https://a.test/?k=***' },
  ]);
  assert.deepEqual(review.loosens, ['permission', 'agents', 'command']);
  const foreign = box.write('work/checkout/.vscode/mcp.json', { servers: { a: { type: 'stdio', command: 'touch' } } });
  assert.deepEqual(reviewFile(foreign, places(box)).servers.map(({ runs }) => runs), [['touch']]);
  failureOf('CONFIG_UNREADABLE', () => reviewFile(path.join(box.root, 'none'), places(box)));
  failureOf('CONFIG_UNREADABLE', () => reviewFile(box.write(PROJECT, '{'), places(box)));
});

test('pinFile() writes beside what is there, replaces its own older pin, and keeps comments', async (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { fs: local } });
  const pin = (): ReturnType<typeof pinFile> => pinFile(reviewFile(file, places(box)).pin, box.paths);
  assert.deepEqual(await pin(), { file: path.join(box.root, GLOBAL), change: 'added' });
  assert.equal(box.load().servers.size, 1);
  assert.deepEqual((await pin()).change, 'none');
  box.write(GLOBAL, '{\n  // trust\n  "trust": {\n    "project_host_commands": [\n      "/srv/mine", // mine\n      // more\n    ],\n  },\n}\n');
  assert.equal((await pin()).change, 'added');
  assert.match(textOf(box), /"\/srv\/mine",\n {6}\{\n {8}"path": ".*",\n {8}"sha256": "[0-9a-f]{64}"\n {6}\}, \/\/ mine\n {6}\/\/ more\n/);
  box.write(PROJECT, { mcp: { fs: { ...local, timeout: 5 } } });
  box.refused('TRUST_REFUSED');
  assert.equal((await pin()).change, 'replaced');
  assert.equal(textOf(box).match(/sha256/g)?.length, 1);
  assert.equal(box.load().servers.size, 1);
  for (const [admits, change] of [[true, 'none'], [false, 'added'], [[], 'added'], [null, 'added']] as const) {
    box.write(GLOBAL, grant(admits));
    assert.equal((await pin()).change, change);
    assert.equal(box.load().servers.size, 1);
  }
  box.write(GLOBAL, { trust: 5 });
  await rejection('CONFIG_INVALID', pin());
});

test('pinFile() writes where the list that counts stands', async (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { fs: local } });
  box.write(GLOBAL, {});
  const jsonc = box.write('home/.config/zuno/zuno.jsonc', grant(['/srv']));
  assert.equal((await pinFile(reviewFile(file, places(box)).pin, box.paths)).file, jsonc);
  assert.equal(box.load().servers.size, 1);
});
