import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { gitRoot, locateLayers, projectWalk } from '../../../src/config/locate.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

const listed = (box: Sandbox, cwd: string, environment: Record<string, string> = {}, configFile?: string): string[] =>
  locateLayers({ cwd, environment, paths: box.paths, configFile }).map(({ kind, source, trusted }) => `${trusted ? '' : '!'}${kind} ${path.isAbsolute(source) ? path.relative(box.root, source) : source}`);

test('locateLayers() lists every place from low to high (row 32)', (context) => {
  const box = sandbox(context);
  const cwd = path.join(box.checkout, 'sub');
  assert.deepEqual(listed(box, cwd, { ZUNO_CONFIG: 'c.json', ZUNO_CONFIG_DIR: '../dir', ZUNO_CONFIG_CONTENT: '{}', ZUNO_PERMISSION: '{}' }, 'cli.json'), [
    'global home/.config/zuno/zuno.json', 'global home/.config/zuno/zuno.jsonc',
    '!project work/checkout/zuno.json', '!project work/checkout/zuno.jsonc', '!project work/checkout/sub/zuno.json', '!project work/checkout/sub/zuno.jsonc',
    'home-dir home/.zuno/zuno.json', 'home-dir home/.zuno/zuno.jsonc',
    '!project-dir work/checkout/.zuno/zuno.json', '!project-dir work/checkout/.zuno/zuno.jsonc', '!project-dir work/checkout/sub/.zuno/zuno.json', '!project-dir work/checkout/sub/.zuno/zuno.jsonc',
    'env-file work/checkout/sub/c.json', 'env-dir work/checkout/dir/zuno.json', 'env-dir work/checkout/dir/zuno.jsonc', 'env-content ZUNO_CONFIG_CONTENT',
    'cli work/checkout/sub/cli.json', 'managed managed/zuno.json', 'managed managed/zuno.jsonc', 'env-permission ZUNO_PERMISSION',
  ]);
});

test('projectWalk() ends at the Git root, and outside Git walks all parents (row 33)', (context) => {
  const box = sandbox(context);
  const inner = path.join(box.checkout, 'a', 'b');
  assert.deepEqual(projectWalk(inner), [box.checkout, path.join(box.checkout, 'a'), inner]);
  assert.equal(gitRoot(inner), box.checkout);
  assert.equal(gitRoot(box.home), undefined);
  assert.equal(projectWalk(box.home)[0], path.parse(box.root).root);
  assert.equal(projectWalk(box.home).at(-1), box.home);
  box.write('work/tree/.git', 'gitdir: elsewhere');
  assert.deepEqual(projectWalk(path.join(box.root, 'work', 'tree')), [path.join(box.root, 'work', 'tree')]);
});

test('locateLayers() counts ~/.zuno as trusted, once, also on the walk (row 31)', (context) => {
  const box = sandbox(context);
  const found = listed(box, path.join(box.home, 'x')).filter((line) => line.includes('home/.zuno'));
  assert.deepEqual(found, ['home-dir home/.zuno/zuno.json', 'home-dir home/.zuno/zuno.jsonc']);
  assert.ok(listed(box, box.home).includes('!project home/zuno.json'));
});

test('locateLayers() leaves the project out on request, and takes an empty variable for an unset one', (context) => {
  const box = sandbox(context);
  assert.deepEqual(listed(box, box.checkout, { ZUNO_DISABLE_PROJECT_CONFIG: '1' }).filter((line) => line.startsWith('!')), []);
  for (const value of ['0', 'false', '', 'no']) assert.ok(listed(box, box.checkout, { ZUNO_DISABLE_PROJECT_CONFIG: value }).some((line) => line.startsWith('!')));
  assert.deepEqual(listed(box, box.checkout, { ZUNO_CONFIG: '', ZUNO_CONFIG_DIR: ' ', ZUNO_CONFIG_CONTENT: '' }).filter((line) => line.startsWith('env')), []);
});

test('locateLayers() leaves out of the project what is trusted elsewhere: a named file, the own configuration', (context) => {
  const box = sandbox(context);
  const local = { mcp: { fs: { type: 'local', command: ['node'] } } };
  const file = box.write('work/checkout/zuno.json', local);
  for (const options of [{ configFile: 'zuno.json' }, { environment: { ZUNO_CONFIG: file } }, { environment: { ZUNO_CONFIG_DIR: '.' } }]) assert.equal(box.load(options).servers.get('fs')?.kind, 'local');
  box.refused('TRUST_REFUSED');
  box.write('home/.config/zuno/zuno.json', local);
  assert.equal(box.load({ cwd: box.paths.config }).servers.get('fs')?.origin.layer, 'global');
});
