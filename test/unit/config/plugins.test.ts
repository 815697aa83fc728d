import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Config, LocalEntry, RemoteEntry } from '../../../src/config/types.ts';
import { GLOBAL, sandbox, type Sandbox } from './sandbox.ts';

const url = 'https://a.test/mcp';
const lost = (config: Config): unknown[] => config.diagnostics.filter(({ severity }) => severity === 'error').map(({ server, pointer }) => [server, pointer]);

function withPlugin(box: Sandbox, servers: object, rest: { readonly manifest?: object; readonly config?: object; readonly global?: object } = {}): string {
  const root = path.join(box.root, 'plugins', 'notes');
  box.write('plugins/notes/.mcp.json', { mcpServers: servers });
  if (rest.manifest !== undefined) box.write('plugins/notes/.claude-plugin/plugin.json', rest.manifest);
  box.write(GLOBAL, { plugins: [rest.config === undefined ? root : { path: root, config: rest.config }], ...rest.global });
  return root;
}

test('servers of a plugin carry its name, and rank below everything else', (context) => {
  const box = sandbox(context);
  const root = withPlugin(box, { fs: { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/s.js'] }, wiki: { type: 'http', url } }, { global: { mcp: { 'plugin:notes:wiki': { enabled: false }, 'plugin:notes:fs': { timeout: 9 } } } });
  const config = box.load();
  const fs = config.servers.get('plugin:notes:fs') as LocalEntry;
  assert.deepEqual([fs.args[0]?.source, fs.timeouts.requestMs, fs.shadowed[0]?.layer, fs.cwd], [`${root}/s.js`, 9, 'plugin', box.checkout]);
  assert.equal(config.servers.get('plugin:notes:wiki')?.enabled, false);
  assert.deepEqual(config.layers.filter(({ kind }) => kind === 'plugin').map(({ source, trusted, state }) => [path.relative(root, source), trusted, state]), [['.mcp.json', true, 'loaded']]);
  assert.deepEqual(config.diagnostics, []);
});

test('a manifest wins over .mcp.json; its servers stand inline, in a file of the plugin, or both', (context) => {
  const box = sandbox(context);
  box.write('plugins/notes/more/servers.json', { b: { url: 'https://more.test/' }, c: { url: 'https://more.test/' } });
  withPlugin(box, { a: { url: 'https://plain.test/' }, b: { url: 'https://plain.test/' } }, { manifest: { name: 'named', mcpServers: ['${CLAUDE_PLUGIN_ROOT}/more/servers.json', { c: { url: 'https://inline.test/' } }] } });
  const { servers } = box.load();
  assert.deepEqual([...servers].map(([name, entry]) => [name, (entry as RemoteEntry).url.source]), [['plugin:named:a', 'https://plain.test/'], ['plugin:named:b', 'https://more.test/'], ['plugin:named:c', 'https://inline.test/']]);
  box.write('plugins/notes/.claude-plugin/plugin.json', { mcpServers: { only: { url } } });
  assert.ok(box.load().servers.has('plugin:notes:only'));
});

test('own places and the person\'s settings are filled in everywhere', (context) => {
  const box = sandbox(context);
  const root = withPlugin(box, { fs: { command: '${ZCODE_PLUGIN_ROOT}/bin', args: ['${CLAUDE_PLUGIN_DATA}', '${ZUNO_PROJECT_DIR}', '${user_config.level}'], env: { N: '${user_config.count}' } }, web: { url: 'https://${user_config.host}/mcp' } }, { config: { level: 'high', count: 3, host: 'own.test' } });
  const { servers } = box.load();
  const fs = servers.get('plugin:notes:fs') as LocalEntry;
  assert.deepEqual([fs.command.source, ...fs.args.map(({ source }) => source), fs.environment['N']?.source], [`${root}/bin`, path.join(box.paths.data, 'plugins', 'notes'), box.checkout, 'high', '3']);
  assert.equal((servers.get('plugin:notes:web') as RemoteEntry).url.source, 'https://own.test/mcp');
});

test('variables of this environment go to the server alone: its variables, headers and client secret', (context) => {
  const box = sandbox(context);
  withPlugin(box, {
    ok: { command: 'node', env: { KEY: '${NOTES_KEY}', LOG: '${NOTES_LOG:-warn}' } }, head: { url, headers: { Authorization: 'Bearer ${env:NOTES_KEY}' }, oauth: { clientId: 'c', clientSecret: '{env:NOTES_KEY}' } },
    command: { command: '${NOTES_KEY}' }, arg: { command: 'node', args: ['--key=${NOTES_KEY}'] }, cwd: { command: 'node', cwd: '{env:NOTES_KEY}' }, url: { url: 'https://x.test/${NOTES_KEY}' }, id: { url, oauth: { clientId: '${NOTES_KEY}' } },
    own: { command: 'node', args: ['${ZCODE_MODE}'] },
  });
  const config = box.load({ environment: { NOTES_KEY: 'secret', ZCODE_MODE: 'm' } });
  assert.deepEqual([...config.servers.keys()], ['plugin:notes:ok', 'plugin:notes:head', 'plugin:notes:own']);
  assert.deepEqual(lost(config), ['command.command', 'arg.args.0', 'cwd.cwd', 'url.url', 'id.oauth.clientId'].map((key) => [`plugin:notes:${key.split('.')[0]}`, `mcpServers.${key}`]));
  assert.match(config.diagnostics[0]!.message, /may stand in variables, headers and the client secret only/);
  assert.doesNotMatch(JSON.stringify(config), /secret"/);
});

test('a missing variable disables that server with a diagnostic, and so does what cannot be filled in', (context) => {
  const box = sandbox(context);
  withPlugin(box, {
    unset: { command: 'node', env: { A: '${NOTES_KEY}' } }, empty: { command: 'node', env: { A: '${EMPTY}' } }, config: { command: 'node', args: ['${user_config.none}'] }, session: { command: 'node', env: { A: '${CLAUDE_SESSION_ID}' } },
    skill: { command: 'node', env: { A: '${ZCODE_SKILL_DIR}' } }, file: { command: 'node', env: { A: '{file:~/.ssh/id}' } }, input: { command: 'node', env: { A: '${input:x}' } }, odd: { command: 'node', env: { A: '${a b}' } }, fine: { command: 'node' }, auth: { url, auth: { type: 'x' } },
  });
  const config = box.load({ environment: { EMPTY: '', CLAUDE_SESSION_ID: 'x', ZCODE_SKILL_DIR: 'x' } });
  assert.deepEqual([...config.servers.keys()], ['plugin:notes:fine']);
  const messages = config.diagnostics.map(({ message }) => message.replace(/^Cannot use the server "plugin:notes:/, ''));
  for (const expected of [/^unset": the variable NOTES_KEY is not set/, /^empty": the variable EMPTY is not set/, /^config".*under "config" of the plugin/, /^session".*belongs to a session or a skill/, /^skill".*belongs to/, /^file".*which a plugin may not/, /^auth": "auth" is not for configuration files/]) {
    assert.ok(messages.some((message) => expected.test(message)), `${String(expected)} in ${messages.join('\n')}`);
  }
});

test('what is wrong with a plugin costs that plugin and is told', (context) => {
  const box = sandbox(context);
  box.write('plugins/ok/.mcp.json', { a: { url } });
  box.write('plugins/broken/.mcp.json', '{');
  box.write('plugins/out/plugin.json', { mcpServers: '../ok/.mcp.json' });
  box.write('plugins/named/plugin.json', { name: '../x', mcpServers: { a: { url } } });
  box.write('plugins/link/plugin.json', { mcpServers: './link.json' });
  box.write('secret.json', { a: { url } });
  symlinkSync(path.join(box.root, 'secret.json'), path.join(box.root, 'plugins', 'link', 'link.json'));
  box.write(GLOBAL, { plugins: ['~/none', path.join(box.root, 'plugins/broken'), path.join(box.root, 'plugins/out'), path.join(box.root, 'plugins/named'), path.join(box.root, 'plugins/link'), 5, { config: {} }, '../../../plugins/ok'] });
  const config = box.load();
  assert.deepEqual([...config.servers.keys()], ['plugin:ok:a']);
  assert.deepEqual(config.diagnostics.map(({ code, pointer }) => [code, pointer]), [0, 1, 2, 3, 4, 5, 6].map((index) => ['config_plugin_invalid', `plugins.${index}`]));
  assert.match(config.diagnostics[2]!.message, /names no file inside the plugin/);
  assert.match(config.diagnostics[4]!.message, /names no file inside the plugin/);
  box.write(GLOBAL, { plugins: { x: true } });
  assert.match(box.load().diagnostics[0]!.message, /a list of directories is due/);
});

test('servers that are built in cannot be replaced, changed or switched off by files', (context) => {
  const box = sandbox(context);
  const builtIn = { notes: { type: 'local', command: ['node', 'own.js'] }, extra: { type: 'remote', url } };
  box.write(GLOBAL, { mcp: { notes: { type: 'remote', url: 'https://evil.test/' }, extra: { enabled: false, url: 'https://evil.test/' }, other: { type: 'remote', url } } });
  box.write('work/checkout/zuno.json', { mcp: { notes: { enabled: false } } });
  const config = box.load({ builtIn });
  const notes = config.servers.get('notes') as LocalEntry;
  assert.deepEqual([notes.command.source, notes.enabled, notes.origin], ['node', true, { file: 'built-in', layer: 'built-in', key: 'mcp.notes' }]);
  assert.equal((config.servers.get('extra') as RemoteEntry).url.source, url);
  assert.deepEqual([...config.servers.keys()], ['other', 'notes', 'extra']);
  assert.deepEqual(config.diagnostics.filter(({ code }) => code === 'config_built_in').map(({ pointer }) => pointer), ['mcp.notes', 'mcp.extra']);
  assert.throws(() => box.load({ builtIn: { x: { type: 'local' } } }), TypeError);
  box.write(GLOBAL, { features: { mcp: false } });
  assert.equal(box.load({ builtIn }).mcpEnabled, false);
});
