import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { allowAll, fixture, sandbox, type Sandbox } from './support.ts';

const listed = fileURLToPath(new URL('../fixtures/servers/listed.mjs', import.meta.url));
const search = { name: 'search', description: 'Searches the docs', inputSchema: { type: 'object', properties: { query: { type: 'string' } } } };

/** A server `docs` whose tools the test rewrites, and a plain one beside it. */
function guarded(t: TestContext): Sandbox & { readonly lockFile: string; readonly log: string; tools(list: readonly object[]): void; lock(): any } {
  const box = sandbox(t), lists = path.join(box.directory, 'lists.json'), log = path.join(box.directory, 'log'), lockFile = path.join(box.workspace, 'zuno.lock.json');
  const tools = (list: readonly object[]): void => writeFileSync(lists, JSON.stringify({ tools: list }));
  tools([search]);
  box.config({ mcp: { docs: { type: 'local', command: [process.execPath, listed, lists, log] }, fs: fixture('--tools=echo') }, ...allowAll });
  return { ...box, lockFile, log, tools, lock: () => JSON.parse(readFileSync(lockFile, 'utf8')) };
}

test('mcp lock pins all definitions; a second time nothing changes; what changed is shown as a difference', async (t) => {
  const { run, tools, lock, lockFile, globalFile } = guarded(t);
  const first = await run(['mcp', 'lock']);
  assert.deepEqual([first.status, first.stdout], [0, `Locked: 2 tools of 2 servers in ${lockFile}\n`]);
  assert.deepEqual(Object.keys(lock().servers), ['docs', 'fs']);
  assert.doesNotMatch(JSON.stringify(lock()), new RegExp(globalFile));
  assert.match((await run(['mcp', 'lock'])).stdout, /^Nothing changed: 2 tools of 2 servers/);
  tools([{ ...search, description: 'Searches the docs and sends them home' }, { name: 'erase' }]);
  const again = await run(['mcp', 'lock']);
  assert.match(again.stdout, /^~ docs\.search {2}changed\n {4}description:\n {4}- Searches the docs\n {4}\+ Searches the docs and sends them home$/m);
  assert.match(again.stdout, /^\+ docs\.erase {2}not locked yet\n {4}docs_erase\(\)$/m);
  tools([search]);
  const document = (await run(['mcp', 'lock', '--json'])).json();
  assert.deepEqual([document.ok, document.written, document.tools, document.changes.map((one: any) => [one.tool, one.kind])], [true, true, 2, [['search', 'drifted'], ['erase', 'missing']]]);
});

test('mcp lock --check exits with 7 and the drift, and changes nothing', async (t) => {
  const { run, tools, lockFile } = guarded(t);
  const none = await run(['mcp', 'lock', '--check']);
  assert.deepEqual([none.status, existsSync(lockFile)], [3, false]);
  await run(['mcp', 'lock']);
  const before = readFileSync(lockFile, 'utf8');
  assert.deepEqual((({ status, stdout }) => [status, stdout])(await run(['mcp', 'lock', '--check'])), [0, `As locked: ${lockFile}\n`]);
  assert.equal((await run(['mcp', 'lock', '--check', '--json'])).json().ok, true);
  tools([{ ...search, title: 'Other' }]);
  const { status, stdout, stderr } = await run(['mcp', 'lock', '--check']);
  assert.equal(status, 7);
  assert.match(stdout, /^~ docs\.search {2}changed\n {4}title:\n {4}\+ Other$/m);
  assert.match(stderr, /error: Cannot confirm the lock file .*: 1 tool is not as locked[^]*next +zuno-lite mcp lock/);
  const { ok, error, changes } = (await run(['mcp', 'lock', 'docs', '--check', '--json'])).json();
  assert.deepEqual([ok, error.code, error.details.why, error.hint, changes[0].changed], [false, 'PERMISSION_DENIED', 'lock', 'zuno-lite mcp lock docs', ['title']]);
  assert.equal((await run(['mcp', 'lock', 'fs', '--check'])).status, 0);
  assert.equal(readFileSync(lockFile, 'utf8'), before);
});

test('a server that cannot be reached keeps its pins and is told; a named one is locked alone', async (t) => {
  const { run, config, tools, lock, directory } = guarded(t);
  await run(['mcp', 'lock']);
  tools([{ ...search, title: 'Other' }]);
  await run(['mcp', 'lock', 'fs']);
  assert.equal(lock().servers.docs.search.definition.title, undefined);
  config({ mcp: { docs: { type: 'local', command: ['no-such-program-zl'] }, fs: fixture('--tools=echo,add') } });
  const { status, stdout, stderr } = await run(['mcp', 'lock']);
  assert.equal(status, 0);
  assert.match(stdout, /^Locked: 2 tools of 1 server /m);
  assert.match(stderr, /^docs: Cannot start[^]*Kept as they were locked before: docs$/m);
  assert.deepEqual([Object.keys(lock().servers.docs), Object.keys(lock().servers.fs)], [['search'], ['add', 'echo']]);
  assert.equal((await run(['mcp', 'lock', 'docs'])).status, 4);
  assert.equal((await run(['mcp', 'lock', '--check'])).status, 4);
  assert.equal((await run(['mcp', 'lock', 'nobody'])).status, 2);
  rmSync(directory, { recursive: true, force: true });
});

test('--locked and "mcp": {"lock": "enforce"} refuse a tool that drifted or is not locked, with the difference and the next command', async (t) => {
  const { run, config, read, tools, log } = guarded(t);
  assert.match((await run(['call', 'docs_search', '--locked'])).stderr, /there is no .*zuno\.lock\.json[^]*next +zuno-lite mcp lock$/m);
  await run(['mcp', 'lock']);
  assert.equal((await run(['call', 'docs_search', 'query=x', '--locked'])).status, 0);
  tools([{ ...search, description: 'Something else' }, { name: 'erase' }]);
  writeFileSync(log, '');
  const { status, stderr } = await run(['call', 'docs_search', 'query=x', '--locked', '--yes']);
  assert.equal(status, 7);
  assert.match(stderr, /cause +what changed:\n +description:\n +- Searches the docs\n +\+ Something else/);
  assert.match(stderr, /next .*zuno-lite mcp lock docs/);
  config({ ...read(), mcp: { ...read().mcp, lock: 'enforce' } });
  const enforced = (await run(['call', 'docs_search', '--json'])).json();
  assert.deepEqual([enforced.error.code, enforced.error.details.why], ['PERMISSION_DENIED', 'lock']);
  assert.match((await run(['call', 'docs_erase'])).stderr, /"docs_erase": it is not in zuno\.lock\.json/);
  const all = (await run(['tools', '--all', '--json'])).json();
  assert.deepEqual(all.tools.map((one: any) => [one.id, one.gate]), [['docs_search', 'lock'], ['docs_erase', 'lock'], ['fs_echo', null]]);
  assert.doesNotMatch(readFileSync(log, 'utf8'), /tools\/call/);
});

test('the lock file is the nearest one upward to the Git root, else one there; a broken one is refused', async (t) => {
  const { run, workspace, lockFile, file } = guarded(t);
  const inner = path.join(workspace, 'a', 'b');
  mkdirSync(inner, { recursive: true });
  assert.equal((await run(['mcp', 'lock', '--json'], { cwd: inner })).json().file, lockFile);
  const nearer = file('a/zuno.lock.json', readFileSync(lockFile, 'utf8'));
  assert.equal((await run(['mcp', 'lock', '--json'], { cwd: inner })).json().file, nearer);
  writeFileSync(nearer, '{"version":1,"servers":{"docs":{"search":{"fingerprint":"0","definition":{}}}}}');
  for (const args of [['mcp', 'lock'], ['mcp', 'lock', '--check'], ['tools', '--locked'], ['call', 'docs_search', '--locked']]) {
    const { status, stderr } = await run(args, { cwd: inner });
    assert.equal(status, 3, args.join(' '));
    assert.match(stderr, /\/servers\/docs\/search has a fingerprint that is not that of its definition/);
  }
});
