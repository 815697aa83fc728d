import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { expand } from '../../../src/config/substitute.ts';
import type { Config, LocalEntry, RemoteEntry } from '../../../src/config/types.ts';
import { GLOBAL, PROJECT, sandbox, type Sandbox } from './sandbox.ts';

const url = 'http://127.0.0.1:9/mcp';
const local = { type: 'local', command: ['node', 'server.js', ''] };

function load(box: Sandbox, mcp: unknown, rest: object = {}): Config {
  box.write(GLOBAL, { mcp, ...rest });
  return box.load();
}
const lost = (config: Config): unknown[] => config.diagnostics.filter(({ severity }) => severity === 'error').map(({ server, pointer }) => [server, pointer]);

test('a local entry keeps command, arguments, variables and resolves cwd from the workspace (row 12)', (context) => {
  const box = sandbox(context);
  const fs = load(box, { fs: { ...local, cwd: './a/../b', environment: { A: 'x', B: '{env:TOK}', C: '' } } }).servers.get('fs') as LocalEntry;
  assert.equal(fs.cwd, path.join(box.checkout, 'b'));
  assert.deepEqual([fs.command.source, fs.args.map(({ source }) => source), Object.keys(fs.environment)], ['node', ['server.js', ''], ['A', 'B', 'C']]);
  assert.equal((load(box, { fs: local }).servers.get('fs') as LocalEntry).cwd, box.checkout);
  assert.equal((load(box, { fs: { ...local, cwd: '/abs' } }).servers.get('fs') as LocalEntry).cwd, path.resolve('/abs'));
  assert.equal((load(box, { fs: { ...local, cwd: '~/x' } }).servers.get('fs') as LocalEntry).cwd, path.join(box.home, 'x'));
  assert.equal((load(box, { fs: { ...local, cwd: '~' } }).servers.get('fs') as LocalEntry).cwd, box.home);
});

test('a variable in cwd is expanded at once, and an unset one costs the entry', (context) => {
  const box = sandbox(context);
  const config = load(box, { fs: { ...local, cwd: '{env:WHERE}/x' } });
  assert.deepEqual(lost(config), [['fs', 'mcp.fs.cwd']]);
  assert.equal((box.load({ environment: { WHERE: '/w' } }).servers.get('fs') as LocalEntry).cwd, path.resolve('/w/x'));
});

test('a local entry without command is lost and the diagnostic names mcp.x.command (row 13)', (context) => {
  const box = sandbox(context);
  const config = load(box, { x: { type: 'local' }, y: { type: 'local', command: [] }, z: { type: 'local', command: null }, w: { type: 'local', command: ['', 'a'] }, v: { type: 'local', command: 'node' } });
  assert.equal(config.servers.size, 0);
  assert.deepEqual(lost(config).map((line) => (line as string[])[1]), ['mcp.x.command', 'mcp.y.command', 'mcp.z.command', 'mcp.w.command', 'mcp.v.command']);
  const [x] = config.diagnostics;
  assert.equal(x?.code, 'config_mcp_server_invalid');
  assert.equal(x.message, 'Cannot use the server "x": "command" is missing');
  assert.deepEqual([x.origin.file, x.origin.line, x.origin.key], [path.join(box.root, GLOBAL), 3, 'mcp.x.command']);
});

test('a remote entry without url is lost and the diagnostic names mcp.x.url (row 14)', (context) => {
  const box = sandbox(context);
  const config = load(box, { x: { type: 'remote' }, y: { type: 'remote', url: 'not a url' }, z: { type: 'remote', url: 'ftp://a.test/' }, w: { type: 'remote', url: '' }, t: { type: 'remote', url: '{env:BASE}/mcp' } });
  assert.deepEqual([...config.servers.keys()], ['t']);
  assert.deepEqual(lost(config).map((line) => (line as string[])[1]), ['mcp.x.url', 'mcp.y.url', 'mcp.z.url', 'mcp.w.url']);
});

test('an entry that is off is listed as off (row 16)', (context) => {
  const fs = load(sandbox(context), { fs: { ...local, enabled: false } }).servers.get('fs');
  assert.equal(fs?.enabled, false);
  assert.equal(fs.switchedBy, undefined);
});

test('a toggle switches a server of another layer; what else it says is diagnosed and left out (row 17)', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { fs: local } });
  const file = box.write(PROJECT, { mcp: { fs: { enabled: false, timeout: 1 } } });
  const config = box.load();
  const fs = config.servers.get('fs');
  assert.deepEqual([fs?.enabled, fs?.timeouts.requestMs, fs?.switchedBy?.file, fs?.origin.layer, fs?.shadowed], [false, 5000, file, 'global', []]);
  assert.deepEqual(config.diagnostics.map(({ code, severity, pointer, server }) => [code, severity, pointer, server]), [['config_mcp_server_invalid', 'warning', 'mcp.fs.timeout', undefined]]);
  const on = '{"mcp":{"fs":{"enabled":true}}}';
  box.write(GLOBAL, { mcp: { fs: { ...local, enabled: false } } });
  box.write(PROJECT, {});
  assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT: on } }).servers.get('fs')?.enabled, true);
  const alone = box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":{"gone":{"enabled":false},"bad":{"enabled":5}}}' } });
  assert.deepEqual(alone.diagnostics.map(({ code, pointer }) => [code, pointer]), [['config_mcp_toggle_unmatched', 'mcp.gone'], ['config_mcp_server_invalid', 'mcp.bad.enabled'], ['config_mcp_toggle_unmatched', 'mcp.bad']]);
});

test('references of headers, variables and files stay templates until they are expanded (rows 36, 37, 38)', (context) => {
  const box = sandbox(context);
  box.write('home/.config/zuno/t', 'filed\n');
  const docs = load(box, { docs: { type: 'remote', url, headers: { Authorization: 'Bearer {env:TOK}', 'X-File': '{file:./t}' } } }).servers.get('docs') as RemoteEntry;
  assert.equal(docs.headers['Authorization']?.source, 'Bearer {env:TOK}');
  assert.doesNotMatch(JSON.stringify(docs), /filed/);
  const key = 'mcp.docs.headers.Authorization';
  assert.equal(expand(docs.headers['Authorization'], { environment: { TOK: 's' }, key }), 'Bearer s');
  assert.equal(expand(docs.headers['X-File']!, { environment: {}, key }), 'filed');
  assert.throws(() => expand(docs.headers['Authorization']!, { environment: {}, key }), /TOK is not set/);
});

test('a Zuno entry called "servers" is one server; otherwise mcp.servers holds servers (row 42)', (context) => {
  const box = sandbox(context);
  assert.deepEqual([...load(box, { servers: local }).servers.keys()], ['servers']);
  assert.deepEqual([...load(box, { servers: { url } }).servers.keys()], ['servers']);
  assert.deepEqual([...load(box, { servers: { a: { url }, type: { command: 'x' } } }).servers.keys()], ['a', 'type']);
  assert.equal(load(box, { servers: {} }).diagnostics.length, 0);
  assert.equal(load(box, { servers: { enabled: false } }).diagnostics[0]?.code, 'config_mcp_toggle_unmatched');
});

test('mcp.servers and mcpServers are read, with stdio, http and sse (rows 40, 41)', (context) => {
  const box = sandbox(context);
  const { servers } = load(box, { servers: { a: { type: 'stdio', command: 'node', args: ['x'], env: { T: '${T:-d}' } }, b: { type: 'http', url }, c: { type: 'sse', url }, t: { type: 'http', url, timeoutMs: 60_000 } } }, { mcpServers: { d: { command: 'npx', args: ['-y', 'p'] } } });
  const a = servers.get('a') as LocalEntry;
  assert.deepEqual([a.command.source, a.args[0]?.source, a.environment['T']?.parts], ['node', 'x', [{ kind: 'env', name: 'T', token: '${T:-d}', default: 'd' }]]);
  assert.deepEqual(['b', 'c'].map((name) => (servers.get(name) as RemoteEntry).transport), ['http', 'sse']);
  assert.deepEqual([a.timeouts, servers.get('t')?.timeouts], [{ requestMs: 30_000, connectMs: 30_000 }, { requestMs: 60_000, connectMs: 60_000 }]);
  assert.deepEqual(servers.get('d')?.origin.key, 'mcpServers.d');
});

test('inside one file mcp.<name> merges over mcpServers.<name>', (context) => {
  const box = sandbox(context);
  const x = load(box, { x: { timeout: 7 } }, { mcpServers: { x: { command: 'node', args: ['a'] } } }).servers.get('x') as LocalEntry;
  assert.deepEqual([x.command.source, x.timeouts.requestMs, x.origin.key, x.shadowed[0]?.key], ['node', 7, 'mcp.x', 'mcpServers.x']);
});

test('the kind follows from command or url, and "remote" means http there (row 43)', (context) => {
  const { servers } = load(sandbox(context), { z: { url } }, { mcpServers: { a: { command: 'x' }, b: { url }, c: { type: 'remote', url } } });
  assert.deepEqual([...servers.values()].map((entry) => [entry.name, entry.kind, entry.kind === 'remote' && entry.transport]), [['a', 'local', false], ['b', 'remote', 'auto'], ['c', 'remote', 'http'], ['z', 'remote', 'auto']]);
});

test('older spellings count, newer ones win, and of two switches off wins (rows 44, 45)', (context) => {
  const { servers } = load(sandbox(context), {}, { mcpServers: {
    a: { command: 'x', environment: { A: '1' }, enable: false }, b: { command: 'x', env: { B: '1' }, environment: { A: '1' } }, c: { url, http_headers: { H: '1' } },
    d: { url, enable: false, enabled: true }, e: { url, enable: true, enabled: false } } });
  assert.deepEqual(Object.keys((servers.get('a') as LocalEntry).environment), ['A']);
  assert.deepEqual(Object.keys((servers.get('b') as LocalEntry).environment), ['B']);
  assert.deepEqual(Object.keys((servers.get('c') as RemoteEntry).headers), ['H']);
  assert.deepEqual(['a', 'd', 'e'].map((name) => servers.get(name)?.enabled), [false, false, false]);
});

test('timeout of other programs is dropped with a word, and the server lives (row 46)', (context) => {
  const config = load(sandbox(context), {}, { mcpServers: { a: { command: 'x', timeout: 60, startup_timeout_sec: 5 } } });
  assert.equal(config.servers.get('a')?.timeouts.requestMs, 30_000);
  assert.deepEqual(config.diagnostics.map(({ severity, pointer }) => [severity, pointer]), [['warning', 'mcpServers.a.timeout'], ['warning', 'mcpServers.a.startup_timeout_sec']]);
});

test('one bad entry costs one entry, and a container that is no object costs itself (row 47)', (context) => {
  const box = sandbox(context);
  const config = load(box, { a: { type: 'remote', url }, bad: { type: 'remote', url, timeot: 5 }, c: { type: 'remote', url } });
  assert.deepEqual([...config.servers.keys()], ['a', 'c']);
  assert.deepEqual(lost(config), [['bad', 'mcp.bad.timeot']]);
  assert.match(config.diagnostics[0]!.message, /^Cannot use the server "bad": "timeot" is no key of a server; did you mean "timeout"\?$/);
  for (const [mcp, rest, pointer] of [[{ servers: [], a: { url } }, {}, 'mcp.servers'], [{ a: { url } }, { mcpServers: 'x' }, 'mcpServers']] as const) {
    const other = load(box, mcp, rest);
    assert.deepEqual([...other.servers.keys()], ['a']);
    assert.deepEqual(other.diagnostics.map(({ code, severity, pointer: at }) => [code, severity, at]), [['config_mcp_servers_invalid', 'warning', pointer]]);
  }
  assert.equal(load(box, [1]).diagnostics[0]?.pointer, 'mcp');
});

test('wrong values are named one by one', (context) => {
  const box = sandbox(context);
  const wrong: readonly (readonly [object | number | string, string])[] = [
    [5, 'mcp.x'], [{ type: 'stdio', url }, 'mcp.x.type'], [{ type: 5, url }, 'mcp.x.type'], [{ type: 'remote', url, enabled: 'yes' }, 'mcp.x.enabled'],
    [{ type: 'remote', url, timeout: 0 }, 'mcp.x.timeout'], [{ type: 'remote', url, timeout: 2 ** 31 }, 'mcp.x.timeout'], [{ type: 'remote', url, timeout: '5' }, 'mcp.x.timeout'],
    [{ type: 'remote', url, headers: [] }, 'mcp.x.headers'], [{ type: 'remote', url, headers: { a: 5 } }, 'mcp.x.headers.a'], [{ type: 'remote', url, headers: { 'a b': 'x' } }, 'mcp.x.headers.a b'],
    [{ type: 'remote', url, headers: { a: 'x\r\ny: z' } }, 'mcp.x.headers.a'], [{ type: 'remote', url, oauth: true }, 'mcp.x.oauth'], [{ type: 'remote', url, protocol: 'new' }, 'mcp.x.protocol'],
    [{ type: 'remote', url, protocolVersion: 5 }, 'mcp.x.protocolVersion'], [{ type: 'remote', url, transport: 'ws' }, 'mcp.x.transport'], [{ ...local, environment: { 'A=B': 'x' } }, 'mcp.x.environment.A=B'],
    [{ ...local, environment: { A: 'x\0' } }, 'mcp.x.environment.A'], [{ ...local, environment: 'A=B' }, 'mcp.x.environment'], [{ ...local, command: ['a', 5] }, 'mcp.x.command.1'],
    [{ ...local, command: ['a\0'] }, 'mcp.x.command.0'], [{ ...local, cwd: '' }, 'mcp.x.cwd'], [{ ...local, url }, 'mcp.x.url'], [{ type: 'remote', url, cwd: 'x' }, 'mcp.x.cwd'],
    [{ timeout: 5 }, 'mcp.x.type'], [{ ...local, __proto__x: 1 }, 'mcp.x.__proto__x'],
  ];
  for (const [entry, pointer] of wrong) {
    const config = load(box, { x: entry, ok: { url } });
    assert.deepEqual([...config.servers.keys()], ['ok'], JSON.stringify(entry));
    assert.equal((lost(config)[0] as string[])[1], pointer, JSON.stringify(entry));
    assert.ok(config.diagnostics[0]!.origin.line !== undefined);
  }
  assert.match(load(box, { '': { url } }).diagnostics[0]!.message, /its name is empty/);
  assert.deepEqual([...load(box, JSON.parse(`{"__proto__": {"url": "${url}"}, "constructor": {"url": "${url}"}}`)).servers.keys()].length, 2);
});

test('protocol and transport are read, and protocolVersion means protocol', (context) => {
  const { servers } = load(sandbox(context), { a: { url, protocol: '2026-07-28', transport: 'sse' }, b: { url, protocolVersion: 'legacy' }, c: { url, protocolVersion: 'legacy', protocol: 'auto', transport: 'streamable-http' }, d: { url, timeout: 300, oauth: { clientId: 'x' } } });
  const shown = [...servers.values()].map((entry) => [entry.protocol, (entry as RemoteEntry).transport, entry.timeouts.requestMs, entry.timeouts.connectMs]);
  assert.deepEqual(shown, [['2026-07-28', 'sse', 5000, 30_000], ['legacy', 'auto', 5000, 30_000], ['auto', 'http', 5000, 30_000], ['auto', 'auto', 300, 30_000]]);
  assert.deepEqual((servers.get('d') as RemoteEntry).oauth, { clientId: 'x' });
});

test('another kind in a higher layer replaces the entry, and null in it takes values away', (context) => {
  const box = sandbox(context);
  load(box, { x: { ...local, environment: { A: '1' }, timeout: 9 }, h: { url, headers: { Authorization: 'a', B: 'b' }, timeout: 9 }, bad: { type: 'local' } });
  const { servers, diagnostics } = box.load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp: { x: { type: 'remote', url }, h: { headers: { authorization: 'c', B: null, Z: null }, timeout: null }, bad: { url } } }) } });
  assert.deepEqual(servers.get('x')?.kind, 'remote');
  assert.equal(servers.get('x')?.timeouts.requestMs, 5000);
  assert.deepEqual(Object.entries((servers.get('h') as RemoteEntry).headers).map(([key, { source }]) => [key, source]), [['authorization', 'c']]);
  assert.equal(servers.get('h')?.timeouts.requestMs, 5000);
  assert.equal(servers.get('bad')?.kind, 'remote');
  assert.deepEqual(diagnostics, []);
  const cleared = box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":{"h":{"headers":null},"x":{"command":null}}}' } });
  assert.deepEqual((cleared.servers.get('h') as RemoteEntry).headers, {});
  assert.ok(lost(cleared).some((line) => (line as string[])[1] === 'mcp.x.command'));
  assert.equal(box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":null}' } }).servers.size, 0);
});

test('of two spellings in one entry the newer counts, and what is left out is told (rows 44, 45, 46)', (context) => {
  const config = load(sandbox(context), {}, { mcpServers: {
    a: { command: 'x', environment: { A: '1' }, env: { B: '1' } }, b: { url, http_headers: { A: '1' }, headers: { B: '1' } }, c: { url, protocolVersion: 'legacy', protocol: 'auto' },
    d: { url, enabled: true, enable: false }, e: { url, disabled: true }, f: { url, enabled: true, disabled: true }, g: { url, enabled: true, disabled: false, enable: true }, h: { url, timeout: 5, startup_timeout_sec: 5 }, i: { environment: { A: '1' }, command: 'x' } } });
  const { servers } = config;
  assert.deepEqual(Object.keys((servers.get('a') as LocalEntry).environment), ['B']);
  assert.deepEqual(Object.keys((servers.get('b') as RemoteEntry).headers), ['B']);
  assert.deepEqual(['c', 'd', 'e', 'f', 'g'].map((name) => [servers.get(name)?.protocol, servers.get(name)?.enabled]), [['auto', true], ['auto', false], ['auto', false], ['auto', false], ['auto', true]]);
  assert.deepEqual(Object.keys((servers.get('i') as LocalEntry).environment), ['A']);
  assert.deepEqual(config.diagnostics.map(({ pointer, severity }) => [pointer, severity]), ['a.environment', 'b.http_headers', 'c.protocolVersion', 'd.enable', 'f.disabled', 'h.timeout', 'h.startup_timeout_sec'].map((key) => [`mcpServers.${key}`, 'warning']));
});

test('keys that only a program may set cost the entry, in both dialects that know them (row 47)', (context) => {
  for (const key of ['isolation', 'source', 'auth', 'official']) {
    const config = load(sandbox(context), { servers: { x: { url, [key]: 'session' }, ok: { url } } }, { mcpServers: { y: { url, [key]: 'session' } } });
    assert.deepEqual([...config.servers.keys()], ['ok']);
    assert.match(config.diagnostics[0]!.message, new RegExp(`"${key}" is not for configuration files`));
  }
});

test('what an editor asks its user for costs the entry when it is read, with advice', (context) => {
  const config = load(sandbox(context), {}, { mcpServers: { a: { url, headers: { K: 'Bearer ${input:my-key}' } }, b: { command: '${command:pick}' }, c: { command: 'x', args: ['${config:editor.x}'] }, d: { command: 'x', env: { A: '${input:}' } }, ok: { url } } });
  assert.deepEqual([...config.servers.keys()], ['ok']);
  assert.match(config.diagnostics[0]!.message, /"headers\.K": \$\{input:my-key\} cannot be filled in: an editor asks its user for it; set a variable and write \{env:MY_KEY\} in its place/);
  assert.match(config.diagnostics[1]!.message, /only an editor can fill it in/);
  assert.match(config.diagnostics[3]!.message, /\{env:NAME\}/);
});

test('a toggle takes the switches of its own dialect alone', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { a: local }, mcpServers: { b: { command: 'x' } } });
  const content = JSON.stringify({ mcpServers: { a: { disabled: true }, b: { enable: false } } });
  const { servers, diagnostics } = box.load({ environment: { ZUNO_CONFIG_CONTENT: content } });
  assert.deepEqual([servers.get('a')?.enabled, servers.get('b')?.enabled, diagnostics], [false, false, []]);
  assert.deepEqual(box.load({ environment: { ZUNO_CONFIG_CONTENT: '{"mcp":{"a":{"disabled":true}}}' } }).diagnostics.map(({ pointer }) => pointer), ['mcp.a.disabled']);
});
