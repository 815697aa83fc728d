/**
 * The programs whose servers can be taken over, one static table: where their files are, where the entries stand in them, and what
 * becomes of each key. Nothing here is read unless a command or a trusted `imports` setting names the row. A new source is one row.
 */
import * as path from 'node:path';
import * as rule from './import-rules.ts';
import type { Rules } from './import-rules.ts';
import { settingAt, type Setting } from './layers.ts';
import { isServersContainer } from './dialects.ts';
import type { Environment } from './substitute.ts';

export interface ImportPlaces {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly environment: Environment;
  /** Root of the workspace: what the other program would have been opened in. */
  readonly workspace: string;
}

export interface ImportSource {
  readonly name: string;
  readonly title: string;
  /** Files of the person, low to high. */
  readonly own: (places: ImportPlaces) => readonly string[];
  /** Files of a checkout, relative to its root: as untrusted as everything else in it. */
  readonly project: readonly string[];
  readonly format: 'json' | 'toml' | 'yaml';
  /** Objects whose members are entries, low to high. */
  readonly containers: (root: Setting, places: ImportPlaces) => readonly (Setting | undefined)[];
  readonly keys: Rules;
  /** Which references the program itself fills in. `shell` is `$NAME` beside `${NAME}`. */
  readonly references: 'none' | 'braces' | 'dollar' | 'shell';
  /** Words between `${` and `}` that are no variables. */
  readonly words?: (places: ImportPlaces) => Readonly<Record<string, string>>;
  /** Entries that the file switches off in another place. */
  readonly off?: (root: Setting, name: string) => boolean;
  /** Entries that are no MCP servers: the program's own parts. */
  readonly skip?: (entry: Setting) => boolean;
}

const base: Rules = {
  type: rule.transportWord, command: rule.as('command'), args: rule.as('args'), env: rule.variables, cwd: rule.as('cwd'),
  url: rule.urlOf(undefined), headers: rule.headers, oauth: rule.signIn({ clientId: 'clientId', clientSecret: 'clientSecret', scope: 'scope', scopes: 'scope', callbackPort: 'callbackPort', redirectUri: 'redirectUri', issuer: 'issuer' }),
  enabled: rule.as('enabled'), disabled: rule.as('disabled'), name: rule.silently, description: rule.silently, timeoutMs: rule.as('timeoutMs'),
};
const toolLists = rule.without('which tools may be used is said by "permission" and "tools" here');
const envFile = rule.without('files of variables are not read; load it before this program starts');

const servers = (root: Setting): readonly (Setting | undefined)[] => [settingAt(root, 'mcpServers')];

/** Words of editors for places. */
const editorWords = ({ home, workspace }: ImportPlaces): Readonly<Record<string, string>> => ({
  workspaceFolder: workspace, workspaceRoot: workspace, workspaceFolderBasename: path.basename(workspace), userHome: home, pathSeparator: path.sep, '/': path.sep, cwd: workspace,
});

/** Where programs keep settings of one person. */
const settingsHome = ({ home, platform, environment }: ImportPlaces): string =>
  platform === 'darwin' ? path.join(home, 'Library', 'Application Support') : platform === 'win32' ? environment['APPDATA'] ?? path.join(home, 'AppData', 'Roaming') : xdgConfig(home, environment);
const xdgConfig = (home: string, environment: Environment): string => { const value = environment['XDG_CONFIG_HOME']; return value !== undefined && path.isAbsolute(value) ? value : path.join(home, '.config'); };
const under = (variable: string, fallback: string) => ({ home, environment }: ImportPlaces): string => { const value = environment[variable]; return value !== undefined && value !== '' ? path.resolve(value) : path.join(home, fallback); };
const codexHome = under('CODEX_HOME', '.codex');

export const importSources: readonly ImportSource[] = [
  {
    name: 'zcode', title: 'ZCode', format: 'json', references: 'dollar',
    own: ({ home }) => [path.join(home, '.zcode', 'cli', 'config.json')], project: ['zcode.json', '.zcode/config.json'],
    containers: (root) => [settingAt(root, 'mcp', 'servers')],
    keys: { ...base, environment: rule.as('environment'), http_headers: rule.as('http_headers'), enable: rule.as('enable'), protocolVersion: rule.as('protocolVersion'), oauth: rule.as('oauth'), timeout: rule.without('ZCode leaves "timeout" out, too'), startup_timeout_sec: rule.without('ZCode leaves it out, too') },
    off: (root) => { const mcp = settingAt(root, 'features', 'mcp'); return mcp?.kind === 'scalar' && mcp.value === false; },
  },
  {
    name: 'claude', title: 'Claude Code', format: 'json', references: 'dollar',
    own: (places) => [path.join(under('CLAUDE_CONFIG_DIR', '')(places), '.claude.json')], project: ['.mcp.json'],
    containers: (root, { workspace }) => [settingAt(root, 'mcpServers'), settingAt(root, 'projects', workspace, 'mcpServers')],
    keys: { ...base, timeout: rule.patience(1), headersHelper: rule.without('headers made by a command are not taken over; it would have to be started'), alwaysLoad: rule.silently },
    words: ({ workspace }) => ({ CLAUDE_PROJECT_DIR: workspace }),
  },
  {
    name: 'claude-desktop', title: 'Claude Desktop', format: 'json', references: 'none',
    own: (places) => [path.join(settingsHome(places), 'Claude', 'claude_desktop_config.json')], project: [],
    containers: servers, keys: base,
  },
  {
    name: 'cursor', title: 'Cursor', format: 'json', references: 'dollar',
    own: ({ home }) => [path.join(home, '.cursor', 'mcp.json')], project: ['.cursor/mcp.json'],
    containers: servers, keys: { ...base, envFile, auth: rule.signIn({ CLIENT_ID: 'clientId', CLIENT_SECRET: 'clientSecret', scopes: 'scope' }) }, words: editorWords,
  },
  {
    name: 'vscode', title: 'VS Code', format: 'json', references: 'dollar',
    own: (places) => [path.join(settingsHome(places), 'Code', 'User', 'mcp.json')], project: ['.vscode/mcp.json'],
    containers: (root) => [settingAt(root, 'mcp', 'servers'), settingAt(root, 'servers')],
    keys: {
      ...base, envFile, gallery: rule.silently, version: rule.silently, dev: rule.without('watching and debugging a server is the editor\'s'),
      sandbox: rule.without('servers are not put into a sandbox here'), sandboxEnabled: rule.without('servers are not put into a sandbox here'),
    }, words: editorWords,
  },
  {
    name: 'windsurf', title: 'Windsurf', format: 'json', references: 'dollar',
    own: ({ home }) => [path.join(home, '.codeium', 'windsurf', 'mcp_config.json')], project: [],
    containers: servers, keys: { ...base, serverUrl: rule.urlOf(undefined), disabledTools: toolLists, alwaysAllow: toolLists },
  },
  {
    name: 'codex', title: 'Codex', format: 'toml', references: 'none',
    own: (places) => [path.join(codexHome(places), 'config.toml')], project: ['.codex/config.toml'],
    containers: (root) => [settingAt(root, 'mcp_servers')],
    keys: {
      ...base, http_headers: rule.headers, env_http_headers: rule.headerVariables, bearer_token_env_var: rule.bearerVariable, env_vars: rule.variableNames(false),
      tool_timeout_sec: rule.patience(1000), startup_timeout_sec: rule.without('starting and connecting have 30 seconds here'), startup_timeout_ms: rule.without('starting and connecting have 30 seconds here'),
      enabled_tools: toolLists, disabled_tools: toolLists, tools: toolLists, default_tools_approval_mode: toolLists, required: rule.without('no server is required here'),
      oauth: rule.signIn({ client_id: 'clientId' }), scopes: rule.scopes, oauth_resource: rule.without('the address that the server names counts'),
    },
  },
  {
    name: 'gemini', title: 'Gemini CLI', format: 'json', references: 'shell',
    own: ({ home }) => [path.join(home, '.gemini', 'settings.json')], project: ['.gemini/settings.json'],
    containers: servers,
    keys: {
      ...base, url: rule.urlOf('sse'), httpUrl: rule.urlOf('http'), timeout: rule.patience(1), trust: rule.without('who may call without being asked is said by "permission" here'),
      includeTools: toolLists, excludeTools: toolLists, extension: rule.silently, authProviderType: rule.without('only OAuth as the server publishes it, and headers, are known here'),
    },
    off: (root, name) => { const listed = settingAt(root, 'mcp', 'excluded'); return listed?.kind === 'array' && listed.items.some((item) => item.kind === 'scalar' && item.value === name); },
  },
  {
    name: 'opencode', title: 'OpenCode', format: 'json', references: 'braces',
    own: ({ home, environment }) => ['opencode.json', 'opencode.jsonc'].map((name) => path.join(xdgConfig(home, environment), 'opencode', name)),
    project: ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'],
    containers: (root) => { const inner = settingAt(root, 'mcp', 'servers'); return [inner !== undefined && isServersContainer(inner) ? inner : settingAt(root, 'mcp')]; },
    keys: { ...base, command: rule.commandList, environment: rule.variables, timeout: rule.patience(1) },
  },
  {
    name: 'goose', title: 'Goose', format: 'yaml', references: 'none',
    own: (places) => [places.platform === 'win32' ? path.join(settingsHome(places), 'Block', 'goose', 'config', 'config.yaml') : path.join(xdgConfig(places.home, places.environment), 'goose', 'config.yaml')], project: [],
    containers: (root) => [settingAt(root, 'extensions')],
    keys: {
      ...base, cmd: rule.as('command'), envs: rule.variables, env_keys: rule.variableNames(true), uri: rule.urlOf(undefined), timeout: rule.patience(1000), bundled: rule.silently, display_name: rule.silently,
      available_tools: toolLists,
    },
    skip: (entry) => { const type = settingAt(entry, 'type'); return type?.kind === 'scalar' && ['builtin', 'platform', 'frontend', 'inline_python'].includes(String(type.value)); },
  },
  {
    name: 'mcp-json', title: '.mcp.json', format: 'json', references: 'dollar', own: () => [], project: ['.mcp.json'],
    // With or without the wrapper, as plugins have it.
    containers: (root) => [settingAt(root, 'mcpServers') ?? root], keys: { ...base, environment: rule.variables, timeout: rule.patience(1) }, words: editorWords,
  },
  {
    name: 'agents', title: '.agents/mcp.json', format: 'json', references: 'dollar',
    own: ({ home }) => [path.join(home, '.agents', 'mcp.json')], project: ['.agents/mcp.json'],
    containers: servers, keys: { ...base, environment: rule.variables, timeout: rule.patience(1) },
  },
];

export const importNames: readonly string[] = importSources.map(({ name }) => name);
