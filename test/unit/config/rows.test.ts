/** The acceptance rows that speak of server entries, in every dialect and both kinds of text: what holds in one place holds in all. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { addServer, changeServer, removeServer, switchServer } from '../../../src/config/edit.ts';
import { explainConfig } from '../../../src/config/inspect.ts';
import { expand } from '../../../src/config/substitute.ts';
import type { Config, LocalEntry, RemoteEntry, ServerEntry } from '../../../src/config/types.ts';
import { failureOf, sandbox, type Sandbox } from './sandbox.ts';

interface Words {
  readonly name: string;
  /** Where the entries stand. */
  wrap(entries: object): Record<string, unknown>;
  readonly prefix: string;
  local(words: readonly string[], rest?: object): object;
  remote(url: string, rest?: object): object;
  readonly environment: string;
  readonly timeout: string;
  readonly defaultMs: number;
  /** Takes the tolerant words of other programs. */
  readonly tolerant: boolean;
}

const foreign = {
  local: ([command, ...args]: readonly string[], rest: object = {}): object => ({ type: 'stdio', command, args, ...rest }), remote: (url: string, rest: object = {}): object => ({ type: 'http', url, ...rest }),
  environment: 'env', timeout: 'timeoutMs', defaultMs: 30_000, tolerant: true,
};
const dialects: readonly Words[] = [
  { name: 'mcp.<name>', wrap: (entries) => ({ mcp: entries }), prefix: 'mcp', local: (command, rest = {}) => ({ type: 'local', command, ...rest }), remote: (url, rest = {}) => ({ type: 'remote', url, ...rest }), environment: 'environment', timeout: 'timeout', defaultMs: 5_000, tolerant: false },
  { ...foreign, name: 'mcp.servers.<name>', wrap: (entries) => ({ mcp: { servers: entries } }), prefix: 'mcp.servers' },
  { ...foreign, name: 'mcpServers.<name>', wrap: (entries) => ({ mcpServers: entries }), prefix: 'mcpServers' },
];

/** The same value as a person writes it: remarks everywhere, commas at the end. */
function jsonc(value: unknown): string {
  return `// head\n${JSON.stringify(value, null, 2).replace(/([^,{[\s])\n(\s*[}\]])/g, '$1,\n$2').replace(/\n/g, ' // note, "x": {\n')}\n/* tail */\n`;
}
const kinds = [{ kind: 'JSON', ending: 'json', text: (value: unknown) => JSON.stringify(value, null, 2) }, { kind: 'JSONC', ending: 'jsonc', text: jsonc }] as const;

interface Place extends Sandbox { readonly words: Words; own(entries: object, rest?: object): string; project(entries: object, rest?: object): string; put(file: string, entries: object, rest?: object): string; key(...steps: string[]): string; readonly ending: string }

function each(row: string, claim: string, story: (place: Place, context: TestContext) => void | Promise<void>, only: (words: Words) => boolean = () => true): void {
  for (const words of dialects.filter(only)) {
    for (const { kind, ending, text } of kinds) {
      test(`${claim} (${row.includes(',') ? 'rows' : 'row'} ${row}, ${words.name}, ${kind})`, async (context) => {
        const box = sandbox(context);
        const put = (file: string, entries: object, rest: object = {}): string => {
          const content = words.wrap(entries), extra = rest as Record<string, unknown>;
          return box.write(`${file}.${ending}`, text({ ...content, ...extra }));
        };
        await story({ ...box, words, ending, put, own: (entries, rest) => put('home/.config/zuno/zuno', entries, rest), project: (entries, rest) => put('work/checkout/zuno', entries, rest), key: (...steps) => [words.prefix, ...steps].join('.') }, context);
      });
    }
  }
}

const url = 'https://docs.test/mcp', evil = 'https://evil.test/mcp';
const grant = (admits: unknown): object => ({ trust: { project_host_commands: admits } });
const told = (config: Config, severity: 'error' | 'warning'): string[] => config.diagnostics.filter((one) => one.severity === severity).map(({ pointer }) => pointer);
const remoteOf = (config: Config, name: string): RemoteEntry => { const entry = config.servers.get(name); assert.ok(entry?.kind === 'remote', name); return entry; };
const localOf = (config: Config, name: string): LocalEntry => { const entry = config.servers.get(name); assert.ok(entry?.kind === 'local', name); return entry; };

// --- Fields ------------------------------------------------------------------------------------------------------------

each('12', 'a local entry: words, variables, and a directory relative to the workspace', ({ words, own, load, checkout }) => {
  own({ fs: words.local(['node', 'a b.js', ''], { cwd: './sub', [words.environment]: { A: '1', B: '{env:TOK}' } }), plain: words.local(['node']) });
  const fs = localOf(load(), 'fs');
  assert.deepEqual([fs.command.source, fs.args.map(({ source }) => source), fs.cwd, Object.keys(fs.environment)], ['node', ['a b.js', ''], path.join(checkout, 'sub'), ['A', 'B']]);
  assert.equal(localOf(load(), 'plain').cwd, checkout);
  assert.equal(fs.timeouts.requestMs, words.defaultMs);
});

each('13', 'a local entry without command is lost, and the diagnostic names the key', ({ words, own, load, key }) => {
  const { command: _command, ...bare } = words.local(['x']) as { command: unknown };
  const file = own({ x: bare, y: { ...words.local(['x']), command: words.tolerant ? '' : [] }, ok: words.local(['x']) });
  const config = load();
  assert.deepEqual([[...config.servers.keys()], told(config, 'error')], [['ok'], [key('x', 'command'), key('y', 'command')]]);
  assert.ok(config.diagnostics.every(({ origin }) => origin.file === file && origin.line !== undefined));
});

each('14', 'a remote entry without url is lost, and the diagnostic names the key', ({ words, own, load, key }) => {
  const { url: _url, ...bare } = words.remote(url) as { url: unknown };
  own({ x: bare, y: words.remote('nowhere'), z: words.remote('ftp://a.test/'), ok: words.remote(url) });
  const config = load();
  assert.deepEqual([[...config.servers.keys()], told(config, 'error')], [['ok'], ['x', 'y', 'z'].map((name) => key(name, 'url'))]);
});

each('16', 'an entry that is off is listed as off', ({ words, own, load }) => {
  own({ fs: words.local(['x'], { enabled: false }), docs: words.remote(url, { enabled: false }), on: words.remote(url, { enabled: true }) });
  assert.deepEqual([...load().servers.values()].map(({ enabled }) => enabled), [false, false, true]);
});

each('17', 'a toggle of a project switches off, one of a trusted layer on, and takes nothing else', ({ words, own, project, load, key }) => {
  own({ fs: words.local(['x']), off: words.local(['x'], { enabled: false }) });
  const file = project({ fs: { enabled: false, [words.timeout]: 5 } });
  const config = load();
  assert.deepEqual([config.servers.get('fs')?.enabled, config.servers.get('fs')?.switchedBy?.file, config.servers.get('fs')?.timeouts.requestMs], [false, file, words.defaultMs]);
  assert.deepEqual(told(config, 'warning'), [key('fs', words.timeout)]);
  assert.equal(load({ environment: { ZUNO_CONFIG_CONTENT: JSON.stringify(words.wrap({ off: { enabled: true } })) } }).servers.get('off')?.enabled, true);
});

test('a toggle of one dialect switches a server of another (row 17, all dialects)', (context) => {
  for (const definer of dialects) {
    for (const switcher of dialects) {
      const box = sandbox(context);
      box.write('home/.config/zuno/zuno.json', definer.wrap({ fs: definer.local(['x']) }));
      box.write('work/checkout/zuno.json', switcher.wrap({ fs: { enabled: false } }));
      assert.equal(box.load().servers.get('fs')?.enabled, false, `${definer.name} ${switcher.name}`);
    }
  }
});

// --- Trust -------------------------------------------------------------------------------------------------------------

each('18, 21', 'a command of a project is refused', ({ words, project, refused, key }) => {
  const file = project({ fs: words.local(['x']) });
  const failure = refused('TRUST_REFUSED');
  assert.deepEqual(failure.details, { file, keys: [key('fs', 'command')] });
  assert.ok(failure.message.includes(file) && failure.message.includes(key('fs', 'command')));
});

each('19', 'so is one under .zuno, of any directory on the way', ({ words, put, refused, checkout, key }) => {
  const file = put('work/checkout/a/.zuno/zuno', { fs: words.local(['x']) });
  assert.deepEqual(refused('TRUST_REFUSED', { cwd: path.join(checkout, 'a', 'b') }).details, { file, keys: [key('fs', 'command')] });
});

each('20', 'so is one that is off, and one that a higher layer takes back', ({ words, project, refused, key }) => {
  project({ fs: words.local(['x'], { enabled: false }) });
  for (const environment of [{}, { ZUNO_CONFIG_CONTENT: JSON.stringify(words.wrap({ fs: null })) }, { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp: null, mcpServers: null }) }]) {
    assert.deepEqual(refused('TRUST_REFUSED', { environment }).details.keys, [key('fs', 'command')]);
  }
});

each('20', 'so is what steers a command of the person: variables, directory, and where there are some, arguments', ({ words, own, project, refused, key }) => {
  own({ fs: words.local(['x']) });
  for (const [field, value] of [[words.environment, { NODE_OPTIONS: '--require=./evil' }], ['cwd', './evil'], ...(words.tolerant ? [['args', ['evil']], ['environment', { A: 'b' }]] as const : [])] as const) {
    project({ fs: { [field]: value } });
    assert.deepEqual(refused('TRUST_REFUSED').details.keys, [key('fs', field)]);
  }
});

each('22', 'all keys of a file are named at once', ({ words, project, refused, key }) => {
  project({ a: words.local(['x']), docs: words.remote(url), b: words.local(['x']) });
  assert.deepEqual(refused('TRUST_REFUSED').details.keys, [key('a', 'command'), key('b', 'command')]);
});

each('23', 'a remote server of a project is allowed', ({ words, project, load }) => {
  project({ docs: words.remote('http://127.0.0.1:9/mcp') });
  assert.deepEqual([remoteOf(load(), 'docs').origin.layer, load().diagnostics], ['project', []]);
});

each('24, 25, 26', 'grants: true admits all, a list what lies inside, and a longer name is not inside', ({ words, own, put, load, refused, root }) => {
  put('work/checkout/zuno', { fs: words.local(['x']) });
  put('work/checkout-evil/zuno', { fs: words.local(['x']) });
  mkdirSync(path.join(root, 'work/checkout-evil/.git'));
  const sibling = { cwd: path.join(root, 'work/checkout-evil') };
  own({}, grant(true));
  assert.deepEqual([load().servers.size, load(sibling).servers.size], [1, 1]);
  own({}, grant([path.join(root, 'work/checkout')]));
  assert.equal(load().servers.size, 1);
  refused('TRUST_REFUSED', sibling);
  own({}, grant(false));
  refused('TRUST_REFUSED');
});

each('27', 'links are followed before paths are compared', ({ words, own, put, load, refused, root }) => {
  if (process.platform === 'win32') return;
  put('work/checkout/zuno', { fs: words.local(['x']) });
  put('elsewhere/zuno', { fs: words.local(['x']) });
  symlinkSync(path.join(root, 'work/checkout'), path.join(root, 'alias'));
  symlinkSync(path.join(root, 'elsewhere'), path.join(root, 'work/inside'));
  own({}, grant([path.join(root, 'work')]));
  assert.equal(load({ cwd: path.join(root, 'alias') }).servers.size, 1);
  refused('TRUST_REFUSED', { cwd: path.join(root, 'work/inside') });
});

each('28, 29', 'a grant has to be absolute, and a project grants nothing', ({ words, own, project, refused }) => {
  for (const root of ['.', '', 'work']) {
    own({}, grant([root]));
    assert.match(refused('CONFIG_INVALID').message, /an absolute directory is due/);
  }
  own({});
  project({ fs: words.local(['x']) }, grant(true));
  assert.deepEqual(refused('TRUST_REFUSED').details.keys, ['trust']);
});

each('30', 'a grant counts from every trusted place', ({ words, project, put, load, root, ending }) => {
  project({ fs: words.local(['x']) });
  put('named/zuno', {}, grant(true));
  const ZUNO_CONFIG = path.join(root, `named/zuno.${ending}`);
  const by = (options: Parameters<Sandbox['load']>[0]): string => load(options).admissions[0]!.by.layer;
  assert.deepEqual([by({ environment: { ZUNO_CONFIG } }), by({ environment: { ZUNO_CONFIG_DIR: path.dirname(ZUNO_CONFIG) } }), by({ environment: { ZUNO_CONFIG_CONTENT: readFileSync(ZUNO_CONFIG, 'utf8') } }), by({ configFile: ZUNO_CONFIG })], ['env-file', 'env-dir', 'env-content', 'cli']);
  put('managed/zuno', {}, grant(true));
  assert.equal(by({}), 'managed');
});

each('31', 'each admitted key is logged without values, and the home needs no admission', ({ words, own, put, load, log, key }) => {
  const file = put('work/checkout/zuno', { fs: words.local(['x'], { [words.environment]: { TOKEN: 'hunter2' } }), b: words.local(['y']) });
  own({}, grant(true));
  put('home/.zuno/zuno', { mine: words.local(['z']) });
  const config = load();
  assert.equal(config.servers.get('mine')?.origin.layer, 'home-dir');
  assert.deepEqual(log.filter(({ event }) => event === 'config.admitted').map(({ fields }) => [fields?.['key'], fields?.['file']]), [[key('fs', 'command'), file], [key('b', 'command'), file]]);
  assert.doesNotMatch(JSON.stringify(log), /hunter2/);
});

// --- Layers ------------------------------------------------------------------------------------------------------------

each('32', 'the highest layer wins, objects merge deep, lists replace, and each value knows what it stands over', ({ words, own, put, load, read, checkout }) => {
  const layer = (file: string, timeout: number): string => put(file, { docs: words.remote(url, { [words.timeout]: timeout, headers: { [`X-${timeout}`]: 'x' } }) });
  own({ docs: words.remote(url, { [words.timeout]: 1, headers: { 'X-1': 'x' } }), fs: words.local(['a', 'b', 'c']) });
  layer('work/checkout/zuno', 2);
  layer('work/checkout/sub/zuno', 3);
  layer('work/checkout/.zuno/zuno', 4);
  const options = { cwd: path.join(checkout, 'sub') };
  assert.equal(load(options).servers.get('docs')?.timeouts.requestMs, 4);
  assert.equal(load().servers.get('docs')?.timeouts.requestMs, 4);
  layer('managed/zuno', 6);
  const content = { ZUNO_CONFIG_CONTENT: JSON.stringify(words.wrap({ docs: { type: words.tolerant ? 'http' : 'remote', [words.timeout]: 5 }, fs: words.local(['a', 'd']) })) };
  const config = load({ ...options, environment: content });
  assert.deepEqual([remoteOf(config, 'docs').timeouts.requestMs, Object.keys(remoteOf(config, 'docs').headers), localOf(config, 'fs').args.map(({ source }) => source)], [6, ['X-1', 'X-2', 'X-3', 'X-4', 'X-6'], ['d']]);
  const shown = explainConfig(read({ ...options, environment: content })).find(({ key }) => key === 'mcp.docs.timeout')!;
  assert.deepEqual([shown.value, shown.shadowed.map(({ value }) => value)], [6, [5, 4, 3, 2, 1]]);
});

each('33', 'a file above the Git root is not read', ({ words, put, load }) => {
  put('work/zuno', { docs: words.remote(url) });
  assert.equal(load().servers.size, 0);
});

each('34, 52', 'unknown keys beside the entries are named together, a timeout for all among them', ({ words, own, refused }) => {
  own({ docs: words.remote(url) }, { mcp_timeout: 5, mcpServer: {}, timeout: 5 });
  assert.deepEqual(refused('CONFIG_INVALID').details.problems.map(({ pointer }) => pointer), ['mcp_timeout', 'mcpServer', 'timeout']);
});

each('35', 'a diagnostic and a broken text give the line of the file as it is', ({ words, own, load, write, refused, ending }) => {
  const file = own({ docs: words.remote(url, { colour: 1 }) });
  const line = readFileSync(file, 'utf8').split('\n').findIndex((one) => one.includes('"colour"')) + 1;
  assert.equal(load().diagnostics[0]?.origin.line, line);
  write(`home/.config/zuno/zuno.${ending}`, `{\n  ${JSON.stringify(words.prefix.split('.')[0])}: {,}\n}`);
  assert.equal(refused('CONFIG_UNREADABLE').details.line, 2);
});

each('39', 'inline text stands above files and takes away with null', ({ words, own, load }) => {
  own({ docs: words.remote(url, { headers: { A: '1', B: '2' } }), gone: words.remote(url) });
  const config = load({ environment: { ZUNO_CONFIG_CONTENT: jsonc(words.wrap({ docs: words.remote(evil, { headers: { A: null, C: '3' } }), gone: null })) } });
  assert.deepEqual([[...config.servers.keys()], remoteOf(config, 'docs').url.source, Object.keys(remoteOf(config, 'docs').headers), remoteOf(config, 'docs').origin.file], [['docs'], evil, ['B', 'C'], 'ZUNO_CONFIG_CONTENT']);
});

// --- References --------------------------------------------------------------------------------------------------------

each('36, 37, 38', 'references stay references; an unset one and a missing file fail when they are filled in', ({ words, own, write, load, root }) => {
  write('home/.config/zuno/t', 'filed\n');
  own({ docs: words.remote(url, { headers: { A: 'Bearer {env:TOK}', F: '{file:./t}', G: '{file:./none}' } }), fs: words.local(['x', '{env:TOK}'], { [words.environment]: { T: '{env:TOK}' } }) });
  const config = load({ environment: { TOK: 'hunter2' } }), { headers } = remoteOf(config, 'docs');
  const filled = (template: Parameters<typeof expand>[0] | undefined, environment: Record<string, string>): string => expand(template!, { environment, key: 'k' });
  assert.doesNotMatch(JSON.stringify([...config.servers.values()]), /hunter2|filed/);
  assert.deepEqual([filled(headers['A'], { TOK: 's' }), filled(headers['F'], {}), filled(localOf(config, 'fs').environment['T'], { TOK: 's' })], ['Bearer s', 'filed', 's']);
  for (const environment of [{}, { TOK: '' }] as const) assert.match(failureOf('VARIABLE_UNSET', () => filled(headers['A'], environment)).message, /TOK is/);
  const missing = failureOf('VARIABLE_UNSET', () => filled(headers['G'], {}));
  assert.ok(missing.message.includes('{file:./none}') && missing.message.includes(path.join(root, 'home/.config/zuno/none')));
});

each('36, 37', 'the dollar form is a reference where other programs write it, and text in ours', ({ words, own, load }) => {
  own({ docs: words.remote(url, { headers: { A: '${TOK}', B: '${TOK:-d}', C: '${env:TOK}' } }) });
  const { headers } = remoteOf(load(), 'docs');
  const filled = (name: string, environment: Record<string, string>): string => expand(headers[name]!, { environment, key: 'k' });
  if (!words.tolerant) { assert.deepEqual(['A', 'B', 'C'].map((name) => filled(name, { TOK: 's' })), ['${TOK}', '${TOK:-d}', '$s']); return; }
  assert.deepEqual(['A', 'B', 'C'].map((name) => filled(name, { TOK: 's' })), ['s', 's', 's']);
  assert.equal(filled('B', {}), 'd');
  failureOf('VARIABLE_UNSET', () => filled('A', {}));
});

each('36', 'no reference of a project is filled in: the entry is lost', ({ words, project, load, key }) => {
  project({ a: words.remote(`${evil}?{env:AWS}`), b: words.remote(evil, { headers: { X: '{file:~/.ssh/id}' } }), ok: words.remote(evil) });
  const config = load();
  assert.deepEqual([[...config.servers.keys()], told(config, 'error')], [['ok'], [key('a', 'url'), key('b', 'headers', 'X')]]);
});

// --- Words of other programs -------------------------------------------------------------------------------------------

each('40, 41', 'entries with every transport that the dialect knows are listed', ({ words, own, load }) => {
  own(words.tolerant ? { a: { type: 'stdio', command: 'x' }, b: { type: 'http', url }, c: { type: 'sse', url } } : { a: { type: 'local', command: ['x'] }, b: { type: 'remote', transport: 'http', url }, c: { type: 'remote', transport: 'sse', url } });
  assert.deepEqual([...load().servers.values()].map((entry) => (entry.kind === 'local' ? 'local' : entry.transport)), ['local', 'http', 'sse']);
});

each('42', 'a server may be called servers', ({ words, own, load }) => {
  own({ servers: words.local(['x']), other: words.remote(url) });
  assert.deepEqual([...load().servers.keys()], ['servers', 'other']);
});

each('43', 'without type the kind follows from command or url; remote is a word for it everywhere', ({ words, own, load }) => {
  own({ a: { command: words.tolerant ? 'x' : ['x'] }, b: { url }, c: { type: 'remote', url } });
  const { servers } = load();
  assert.deepEqual([...servers.values()].map(({ kind }) => kind), ['local', 'remote', 'remote']);
  assert.equal((servers.get('c') as RemoteEntry).transport, words.tolerant ? 'http' : 'auto');
});

each('44', 'older names of keys take effect, and newer ones beat them with a word', ({ own, load, key }) => {
  own({ a: { command: 'x', environment: { A: '1' } }, b: { command: 'x', environment: { A: '1' }, env: { B: '1' } }, c: { url, http_headers: { H: '1' } }, d: { command: 'x', enable: false } });
  const config = load();
  assert.deepEqual([Object.keys(localOf(config, 'a').environment), Object.keys(localOf(config, 'b').environment), Object.keys(remoteOf(config, 'c').headers), config.servers.get('d')?.enabled], [['A'], ['B'], ['H'], false]);
  assert.deepEqual(told(config, 'warning'), [key('b', 'environment')]);
}, ({ tolerant }) => tolerant);

each('44', 'the names of other programs cost the entry, with the nearest of ours', ({ own, load, key }) => {
  own({ a: { command: ['x'], env: { A: '1' } }, b: { url, http_headers: { H: '1' } }, c: { url, enable: true }, d: { command: ['x'], args: ['y'] } });
  const config = load();
  assert.deepEqual([config.servers.size, told(config, 'error')], [0, [key('a', 'env'), key('b', 'http_headers'), key('c', 'enable'), key('d', 'args')]]);
  assert.match(config.diagnostics.map(({ message }) => message).join('\n'), /did you mean "environment"[^]*did you mean "headers"[^]*did you mean "enabled"[^]*did you mean "command"/);
}, ({ tolerant }) => !tolerant);

each('45', 'where switches disagree, off wins', ({ own, load }) => {
  own({ a: { url, enable: false, enabled: true }, b: { url, enable: true, enabled: false }, c: { url, disabled: true, enabled: true } });
  assert.deepEqual([...load().servers.values()].map(({ enabled }) => enabled), [false, false, false]);
}, ({ tolerant }) => tolerant);

each('46', 'timeout counts where it is ours, and is dropped with a word where it is not', ({ words, own, load, key }) => {
  own({ a: words.local(['x'], words.tolerant ? { timeout: 60, startup_timeout_sec: 5 } : { timeout: 60 }) });
  const config = load();
  assert.equal(config.servers.get('a')?.timeouts.requestMs, words.tolerant ? 30_000 : 60);
  assert.deepEqual(told(config, 'warning'), words.tolerant ? [key('a', 'timeout'), key('a', 'startup_timeout_sec')] : []);
});

each('47', 'one bad entry costs itself, and a container that is none one warning', ({ words, own, write, load, key, ending }) => {
  const file = own({ a: words.remote(url), bad: words.remote(url, { [`${words.timeout}s`]: 5 }), c: words.local(['x']) });
  const config = load(), [first] = config.diagnostics;
  assert.deepEqual([...config.servers.keys()], ['a', 'c']);
  assert.deepEqual([first?.code, first?.severity, first?.pointer, first?.origin.file, first?.server], ['config_mcp_server_invalid', 'error', key('bad', `${words.timeout}s`), file, 'bad']);
  assert.ok(first?.message.includes(`did you mean "${words.timeout}"?`));
  for (const container of [[], 'x', 5, true]) {
    write(`home/.config/zuno/zuno.${ending}`, jsonc({ ...words.wrap(container as object), mcp_naming: 'mcp' }));
    const rest = load();
    assert.deepEqual([rest.naming, rest.diagnostics.map(({ code, severity, pointer }) => [code, severity, pointer])], ['mcp', [['config_mcp_servers_invalid', 'warning', words.prefix]]]);
  }
});

// --- Writing -----------------------------------------------------------------------------------------------------------

each('1, 3, 7, 48', 'what this program changes in a file parses again, in the words of its dialect, and keeps the rest', async ({ words, own, load, paths, checkout, key }) => {
  const file = own({ docs: words.remote(url), fs: words.local(['x']), gone: words.remote(url) }, { theme: 'dark' });
  const remarks = (text: string): number => text.split('// note').length;
  const before = remarks(readFileSync(file, 'utf8'));
  const options = { paths, cwd: checkout };
  await changeServer('docs', { timeout: 7, 'headers.X-Team': 'core', protocol: '2026-07-28', oauth: false, transport: 'sse', enabled: false }, options);
  await changeServer('fs', { environment: { A: '1' }, cwd: '/srv', command: ['node', 'a.js'], timeout: 9 }, options);
  await switchServer('docs', true, options);
  const config = load(), docs = remoteOf(config, 'docs'), fs = localOf(config, 'fs');
  assert.deepEqual(config.diagnostics, []);
  assert.deepEqual([docs.timeouts.requestMs, docs.headers['X-Team']?.source, docs.protocol, docs.oauth, docs.transport, docs.enabled], [7, 'core', '2026-07-28', false, 'sse', true]);
  assert.deepEqual([fs.environment['A']?.source, fs.cwd, fs.command.source, fs.args.map(({ source }) => source), fs.timeouts.requestMs], ['1', path.resolve('/srv'), 'node', ['a.js'], 9]);
  assert.deepEqual([docs.origin.key, fs.origin.key], [key('docs'), key('fs')]);
  await removeServer('gone', options);
  await addServer('new', { type: 'local', command: ['node', 'FS.js', '/srv/data'], environment: { A: 'b=c' } }, options);
  await addServer('fs', { type: 'remote', url }, { ...options, replace: true });
  const after = load(), text = readFileSync(file, 'utf8');
  assert.deepEqual([[...after.servers.keys()].sort(), after.servers.get('new')?.origin.key, after.servers.get('fs')?.origin.key, after.diagnostics], [['docs', 'fs', 'new'], 'mcp.new', 'mcp.fs', []]);
  assert.match(text, /"theme": "dark"/);
  if (before > 1) assert.ok(remarks(text) > before / 2 && text.startsWith('// head') && text.includes('/* tail */'));
});

// --- Switches and credentials ------------------------------------------------------------------------------------------

each('49', 'features.mcp false switches all of them off', ({ words, own, load }) => {
  own({ docs: words.remote(url) }, { features: { mcp: false } });
  assert.deepEqual([load().mcpEnabled, load().servers.size], [false, 1]);
});

each('50', 'what the person switched off a project cannot switch on, in any dialect', ({ words, own, write, load }) => {
  own({ docs: { enabled: false } });
  for (const other of dialects) {
    write('work/checkout/zuno.json', other.wrap({ docs: other.remote(url, { enabled: true }) }));
    const docs: ServerEntry | undefined = load().servers.get('docs');
    assert.deepEqual([docs?.enabled, docs?.switchedBy?.layer], [false, 'global'], `${words.name} ${other.name}`);
  }
});

each('51', 'a URL that a project chose, in any dialect, gets nothing of the person\'s', ({ words, own, write, load }) => {
  own({ docs: words.remote(url, { headers: { Authorization: 'Bearer hunter2' }, oauth: { clientSecret: 'hunter2' } }) });
  for (const other of dialects) {
    write('work/checkout/zuno.json', other.wrap({ docs: other.remote(evil) }));
    const docs = remoteOf(load(), 'docs');
    assert.deepEqual([docs.url.source, docs.headers, docs.oauth], [evil, {}, undefined], `${words.name} ${other.name}`);
  }
});
