import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, lstatSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { addServer, changeServer, checkName, removeServer, switchServer, type NewEntry } from '../../../src/config/edit.ts';
import { parseJsonc, valueOf } from '../../../src/config/jsonc.ts';
import type { LocalEntry, RemoteEntry } from '../../../src/config/types.ts';
import { failureOf, GLOBAL, PROJECT, rejection, sandbox, type Sandbox } from './sandbox.ts';

const local: NewEntry = { type: 'local', command: ['node', 'FS.js', '/srv/data'] };
const url = 'http://127.0.0.1:9/mcp';
const options = (box: Sandbox): { paths: Sandbox['paths']; cwd: string } => ({ paths: box.paths, cwd: box.checkout });
const textOf = (box: Sandbox, name: string): string => readFileSync(path.join(box.root, name), 'utf8');
const valueIn = (box: Sandbox, name: string): unknown => valueOf(parseJsonc(textOf(box, name), { file: name, layer: '' }).root);

test('addServer() writes a local entry into a new global file, readable to its owner only (row 1)', async (context) => {
  const box = sandbox(context);
  const edit = await addServer('fs', local, options(box));
  assert.deepEqual(valueIn(box, GLOBAL), { mcp: { fs: { type: 'local', command: ['node', 'FS.js', '/srv/data'] } } });
  assert.deepEqual([edit.file, edit.layer, edit.change, edit.written, edit.before, edit.warnings], [path.join(box.root, GLOBAL), 'global', 'added', true, undefined, []]);
  assert.equal(edit.after, '"fs": {\n  "type": "local",\n  "command": [\n    "node",\n    "FS.js",\n    "/srv/data"\n  ]\n}');
  if (process.platform !== 'win32') assert.equal(statSync(edit.file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(path.dirname(edit.file)), ['zuno.json']);
});

test('addServer() writes variables as they are (row 2)', async (context) => {
  const box = sandbox(context);
  await addServer('fs', { ...local, environment: { LOG_LEVEL: 'warn', A: 'b=c' } }, options(box));
  assert.deepEqual((valueIn(box, GLOBAL) as { mcp: { fs: object } }).mcp.fs, { ...local, environment: { LOG_LEVEL: 'warn', A: 'b=c' } });
});

test('addServer() writes a remote entry, refuses a literal secret, or warns of it and masks it in what it shows (row 3)', async (context) => {
  const box = sandbox(context);
  const entry: NewEntry = { type: 'remote', url, headers: { Authorization: 'Bearer hunter2', 'X-Tenant': 'a', 'X-Ref': 'Bearer {env:TOK}' } };
  const refused = await rejection('USAGE', addServer('docs', entry, options(box)));
  assert.match(refused.message, /^Cannot write "headers\.Authorization" of the server "docs": it looks like a secret/);
  assert.match(refused.hint ?? '', /write "Bearer \{env:DOCS_TOKEN\}", and set that variable; or repeat with --literal/);
  assert.doesNotMatch(JSON.stringify(refused), /hunter2/);
  assert.equal(existsSync(path.join(box.root, GLOBAL)), false);
  const edit = await addServer('docs', entry, { ...options(box), literal: true });
  assert.equal((box.load().servers.get('docs') as RemoteEntry).headers['Authorization']?.source, 'Bearer hunter2');
  assert.equal(edit.warnings.length, 1);
  assert.match(edit.warnings[0]!, /"headers\.Authorization" holds what looks like a secret.*write "Bearer \{env:DOCS_TOKEN\}"/);
  assert.doesNotMatch(JSON.stringify(edit), /hunter2/);
  assert.match(edit.after ?? '', /Bearer \{env:TOK\}/);
});

test('addServer() warns of secrets in URL, command and client secret too', async (context) => {
  const box = sandbox(context);
  const dry = { ...options(box), dryRun: true, literal: true };
  const two = await rejection('USAGE', addServer('a', { type: 'local', command: ['x', '--api-key=abcdefgh'], environment: { API_KEY: 'abcdefgh' } }, { ...dry, literal: false }));
  assert.match(two.message, /"command\.1" of the server "a" \(and "environment\.API_KEY"\)/);
  assert.equal((await addServer('a', { type: 'remote', url, headers: { Authorization: 'Bearer x' } }, { ...dry, literal: false })).warnings.length, 1);
  assert.equal((await addServer('a', { type: 'remote', url: 'http://x.test/?token=abcdefgh', oauth: { clientSecret: 's3cret-s3cret' } }, dry)).warnings.length, 2);
  assert.equal((await addServer('a', { type: 'local', command: ['x', '--api-key=abcdefgh'], environment: { API_KEY: 'abcdefgh', REF: '{env:X}' } }, dry)).warnings.length, 2);
  assert.equal((await addServer('a', { type: 'remote', url, oauth: false, enabled: false, timeout: 5, protocol: 'legacy', transport: 'sse' }, dry)).warnings.length, 0);
  assert.equal(existsSync(path.join(box.root, 'home/.config')), false);
});

test('addServer() with an invalid entry changes nothing (rows 4, 5)', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, '{}');
  const failure = await rejection('CONFIG_INVALID', addServer('x', { type: 'remote', url: 'not a url' }, options(box)));
  assert.match(failure.message, /"url": this is no URL/);
  await rejection('CONFIG_INVALID', addServer('x', { type: 'local', command: [] }, options(box)));
  assert.equal(textOf(box, GLOBAL), '{}');
  assert.deepEqual(readdirSync(path.dirname(path.join(box.root, GLOBAL))), ['zuno.json']);
});

test('addServer() keeps other keys, their order, comments and the mode of the file (rows 6, 7)', async (context) => {
  const box = sandbox(context);
  const before = '{\n    // my theme\n    "theme": "dark",\n    "mcp": {\n        "old": {"enabled": false}, // off\n    },\n    "model": "m",\n}\n';
  const file = box.write('home/.config/zuno/zuno.jsonc', before);
  const edit = await addServer('fs', local, options(box));
  assert.equal(edit.file, file);
  assert.equal(textOf(box, 'home/.config/zuno/zuno.jsonc'), before.replace('// off\n', '// off\n        "fs": {\n            "type": "local",\n            "command": [\n                "node",\n                "FS.js",\n                "/srv/data"\n            ]\n        },\n'));
  assert.equal(existsSync(path.join(box.root, GLOBAL)), false);
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o644);
});

test('addServer() prefers zuno.json where both files exist, and looks for the name in both (row 7)', async (context) => {
  const box = sandbox(context);
  const jsonc = box.write('home/.config/zuno/zuno.jsonc', '{"mcp":{"a":{"enabled":false}}}');
  box.write(GLOBAL, '{}');
  assert.equal((await addServer('b', local, options(box))).file, path.join(box.root, GLOBAL));
  const failure = await rejection('USAGE', addServer('a', local, options(box)));
  assert.equal(failure.message, `Cannot add "a": the server exists already in ${jsonc}, line 1`);
  assert.match(failure.hint ?? '', /--replace/);
  const edit = await addServer('a', local, { ...options(box), replace: true });
  assert.deepEqual([edit.file, edit.change, edit.before], [jsonc, 'replaced', '"a":{"enabled":false}']);
});

test('addServer() with replace moves an entry of another dialect to mcp', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcpServers: { a: { command: 'x' }, b: { command: 'y' } }, mcp: { servers: { a: { command: 'z' } } } });
  await addServer('a', local, { ...options(box), replace: true });
  assert.deepEqual(valueIn(box, GLOBAL), { mcpServers: { b: { command: 'y' } }, mcp: { servers: {}, a: local } });
});

test('addServer() refuses reserved and odd names', () => {
  for (const name of ['list', 'ls', 'all', 'servers', '', '-x', 'a/b', 'x\n', 'ä', ' a', 'a ', 'x'.repeat(65)]) failureOf('USAGE', () => checkName(name));
  for (const name of ['a', 'my server', 'a.b-c_d', '0', 'x'.repeat(64)]) checkName(name);
});

test('addServer() to a project writes at the Git root and says that a command there needs admission', async (context) => {
  const box = sandbox(context);
  const edit = await addServer('fs', local, { paths: box.paths, cwd: path.join(box.checkout, 'sub'), scope: 'project' });
  assert.deepEqual([edit.file, edit.layer], [path.join(box.root, PROJECT), 'project']);
  assert.match(edit.warnings[0]!, /project_host_commands/);
  box.refused('TRUST_REFUSED');
  const bare = path.join(box.root, 'bare');
  mkdirSync(bare);
  assert.equal((await addServer('docs', { type: 'remote', url }, { paths: box.paths, cwd: bare, scope: 'project' })).file, path.join(bare, 'zuno.json'));
});

test('addServer() with dryRun shows the change and writes nothing', async (context) => {
  const box = sandbox(context);
  const edit = await addServer('fs', local, { ...options(box), dryRun: true });
  assert.deepEqual([edit.change, edit.written], ['added', false]);
  assert.match(edit.after ?? '', /"FS\.js"/);
  assert.equal(existsSync(edit.file), false);
});

test('addServer() follows a linked file and leaves an unreadable one alone', async (context) => {
  const box = sandbox(context);
  const real = box.write('dotfiles/zuno.json', '{}');
  mkdirSync(box.paths.config, { recursive: true });
  symlinkSync(real, path.join(box.root, GLOBAL));
  await addServer('fs', local, options(box));
  assert.ok(lstatSync(path.join(box.root, GLOBAL)).isSymbolicLink());
  assert.match(readFileSync(real, 'utf8'), /FS\.js/);
  box.write('dotfiles/zuno.json', '{"a" 1}');
  await rejection('CONFIG_UNREADABLE', addServer('x', local, options(box)));
  assert.equal(readFileSync(real, 'utf8'), '{"a" 1}');
});

test('addServer() loses nothing when ten run at once', async (context) => {
  const box = sandbox(context);
  await Promise.all(Array.from({ length: 10 }, (_, index) => addServer(`s${index}`, local, options(box))));
  assert.equal(box.load().servers.size, 10);
});

test('removeServer() takes the entry out of every dialect of the file that has it', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, '{\n  // keep\n  "mcp": {"a": {"enabled": false}},\n  "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}\n}');
  const edit = await removeServer('a', options(box));
  assert.deepEqual([edit.change, edit.written, edit.after], ['removed', true, undefined]);
  assert.match(edit.before ?? '', /"a": \{"enabled": false\}/);
  assert.equal(textOf(box, GLOBAL), '{\n  // keep\n  "mcp": {},\n  "mcpServers": {"b": {"command": "x"}}\n}');
});

test('removeServer() fails for a name that no file has, and says what is near', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { docs: { type: 'remote', url } } });
  const failure = await rejection('SERVER_UNKNOWN', removeServer('dosc', options(box)));
  assert.deepEqual(failure.details, { server: 'dosc', known: ['docs'], nearest: ['docs'] });
  assert.equal(failure.hint, 'Did you mean "docs"?');
  assert.equal((await rejection('SERVER_UNKNOWN', removeServer('zzzzzz', options(box)))).hint, 'zuno-lite mcp list');
  await rejection('SERVER_UNKNOWN', removeServer('docs', { ...options(box), scope: 'project' }));
  const file = box.write('work/checkout/.zuno/zuno.json', { mcp: { docs: { type: 'remote', url } } });
  const edit = await removeServer('docs', { ...options(box), file: { path: file, layer: 'project-dir' } });
  assert.deepEqual([edit.file, edit.layer], [file, 'project-dir']);
});

test('switchServer() changes the entry where it stands, in each dialect', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { a: local }, mcpServers: { b: { command: 'x', enable: true } } });
  assert.equal((await switchServer('a', false, options(box))).change, 'changed');
  await switchServer('b', false, options(box));
  assert.deepEqual(valueIn(box, GLOBAL), { mcp: { a: { ...local, enabled: false } }, mcpServers: { b: { command: 'x', enabled: false } } });
  await switchServer('a', true, options(box));
  assert.equal(box.load().servers.get('a')?.enabled, true);
  assert.deepEqual([(await switchServer('a', true, options(box))).change, (await switchServer('a', true, options(box))).written], ['none', false]);
});

test('switchServer() switches a project\'s server off by a toggle in the global file', async (context) => {
  const box = sandbox(context);
  const file = box.write(PROJECT, { mcp: { docs: { type: 'remote', url, enabled: true } } });
  const off = await switchServer('docs', false, options(box));
  assert.deepEqual([off.file, off.change, valueIn(box, GLOBAL)], [path.join(box.root, GLOBAL), 'added', { mcp: { docs: { enabled: false } } }]);
  assert.equal(box.load().servers.get('docs')?.enabled, false);
  await switchServer('docs', true, options(box));
  assert.equal(box.load().servers.get('docs')?.enabled, true);
  assert.equal((await switchServer('docs', false, { ...options(box), scope: 'project' })).file, file);
  assert.equal((await switchServer('nobody', false, { ...options(box), scope: 'project' })).change, 'added');
});

test('changeServer() sets and removes keys and refuses what would be invalid', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, '{\n  "mcp": {\n    "docs": {\n      "type": "remote", // kind\n      "url": "http://a.test/",\n      "timeout": 5\n    }\n  }\n}');
  const edit = await changeServer('docs', { 'headers.X-A.b': 'c', timeout: null, protocol: 'legacy' }, options(box));
  assert.equal(edit.change, 'changed');
  assert.deepEqual((valueIn(box, GLOBAL) as { mcp: object }).mcp, { docs: { type: 'remote', url: 'http://a.test/', headers: { 'X-A.b': 'c' }, protocol: 'legacy' } });
  assert.match(textOf(box, GLOBAL), /\/\/ kind/);
  assert.match((await rejection('CONFIG_INVALID', changeServer('docs', { timeuot: 5 }, options(box)))).message, /did you mean "timeout"/);
  await rejection('SERVER_UNKNOWN', changeServer('x', { timeout: 5 }, options(box)));
});

test('changeServer() speaks the dialect of the entry, and refuses a literal secret (row 48)', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcpServers: { a: { command: 'x', args: ['y'], environment: { A: '1' }, http_headers: {}, protocolVersion: 'auto' }, b: { command: 'x' } } });
  await changeServer('a', { command: ['node', 's.js', 'z'], 'environment.B': '2', timeout: 7, protocol: 'legacy', enabled: false }, options(box));
  await changeServer('b', { command: null, url, 'headers.X': 'a' }, options(box));
  assert.deepEqual(valueIn(box, GLOBAL), { mcpServers: {
    a: { command: 'node', args: ['s.js', 'z'], environment: { A: '1', B: '2' }, http_headers: {}, protocolVersion: 'legacy', timeoutMs: 7, enabled: false }, b: { url, headers: { X: 'a' } } } });
  const failure = await rejection('USAGE', changeServer('b', { 'headers.Authorization': 'Bearer hunter2' }, options(box)));
  assert.match(failure.hint ?? '', /"Bearer \{env:B_TOKEN\}"/);
  assert.equal((await changeServer('b', { 'headers.Authorization': 'Bearer hunter2' }, { ...options(box), literal: true })).warnings.length, 1);
});

test('switchServer() leaves no older switch behind that says otherwise', async (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcpServers: { a: { command: 'x', disabled: true } } });
  assert.equal(box.load().servers.get('a')?.enabled, false);
  await switchServer('a', true, options(box));
  assert.deepEqual(valueIn(box, GLOBAL), { mcpServers: { a: { command: 'x', enabled: true } } });
});

test('every field that is written is read again as it was (row 48)', async (context) => {
  const box = sandbox(context);
  const common = { enabled: false, timeout: 1234, protocol: '2026-07-28' };
  await addServer('l', { type: 'local', command: ['a', 'b', ''], cwd: 'sub', environment: { A: '{env:B}' }, ...common }, options(box));
  await addServer('r', { type: 'remote', url, transport: 'sse', headers: { 'X-A': 'b' }, oauth: { clientId: 'c', scope: 's' }, ...common }, options(box));
  const config = box.load();
  assert.deepEqual(config.diagnostics, []);
  const l = config.servers.get('l') as LocalEntry, r = config.servers.get('r') as RemoteEntry;
  assert.deepEqual([l.command.source, l.args.map(({ source }) => source), l.cwd, l.environment['A']?.source], ['a', ['b', ''], path.join(box.checkout, 'sub'), '{env:B}']);
  assert.deepEqual([r.url.source, r.transport, r.headers['X-A']?.source, r.oauth], [url, 'sse', 'b', { clientId: 'c', scope: 's' }]);
  for (const entry of [l, r]) assert.deepEqual([entry.enabled, entry.timeouts.requestMs, entry.protocol], [false, 1234, '2026-07-28']);
});

test('no server is added as "lock", and no switch overwrites the setting mcp.lock', async (context) => {
  const box = sandbox(context);
  const file = box.write(GLOBAL, { mcp: { lock: 'enforce' } });
  const before = readFileSync(file, 'utf8');
  await rejection('USAGE', addServer('lock', local, options(box)));
  for (const on of [true, false]) await rejection('SERVER_UNKNOWN', switchServer('lock', on, options(box)));
  await rejection('SERVER_UNKNOWN', removeServer('lock', options(box)));
  await rejection('SERVER_UNKNOWN', changeServer('lock', { timeout: 5 }, options(box)));
  assert.equal(readFileSync(file, 'utf8'), before);
  box.write(GLOBAL, { mcp: { lock: { type: 'remote', url } } });
  await switchServer('lock', false, options(box));
  assert.equal(box.load().servers.get('lock')?.enabled, false);
});
