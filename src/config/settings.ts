/** Everything of a configuration that is no server: which top-level keys exist, and the few that mean something here. */
import { Failure, type Origin, type Problem } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { nearest } from '../base/text.ts';
import { kindName, originOf, settingAt, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import type { Effect, PermissionMode, Permissions, Rule } from './types.ts';

/** Keys that this program reads. */
export const ownKeys: readonly string[] = ['$schema', 'mcp', 'mcpServers', 'permission', 'tools', 'concurrency', 'features', 'trust', 'mcp_naming', 'imports', 'plugins'];

/** Keys of the full Zuno (and of the programs whose files it reads): accepted so that one file serves both, and ignored. */
export const ignoredKeys: readonly string[] = [
  'agent', 'agents', 'attachment', 'authorization', 'autoshare', 'autoupdate', 'command', 'commands', 'compaction', 'default_agent', 'disabled_providers',
  'enabled_providers', 'enterprise', 'experimental', 'formatter', 'goal', 'hooks', 'instructions', 'keybinds', 'layout', 'logLevel', 'lsp',
  'mcp_tool_exposure', 'memory', 'mode', 'model', 'network', 'plugin', 'preset', 'presets', 'productAgent', 'provider', 'providers', 'reference', 'references', 'sandbox',
  'server', 'share', 'shell', 'skill', 'skills', 'small_model', 'snapshot', 'subagent_depth', 'theme', 'tool_output', 'tui', 'username', 'watcher',
  'web_search', 'workflow', 'workflows',
];

export interface Complaint extends Problem { readonly origin: Origin }

/** The top-level keys that nobody knows, each with the nearest one that exists. */
export function unknownKeys(layers: readonly Layer[]): Complaint[] {
  const known = [...ownKeys, ...ignoredKeys];
  const found: Complaint[] = [];
  for (const layer of layers) {
    if (layer.kind === 'env-permission') continue;
    for (const [key, value] of layer.root.members) {
      if (known.includes(key)) continue;
      const near = nearest(key, known, 1)[0];
      found.push({ pointer: key, message: `unknown key${near === undefined ? '' : `; did you mean "${near}"?`}`, origin: originOf(value.at) });
    }
  }
  return found;
}

/** One failure for all complaints at once. */
export function invalidConfig(complaints: readonly Complaint[]): Failure {
  const files = [...new Set(complaints.map(({ origin }) => origin.file))];
  const said = complaints.map(({ pointer, message, origin }) => `"${pointer}" (${files.length > 1 ? `${origin.file}, ` : ''}line ${origin.line ?? '?'}): ${message}`).join('; ');
  const origin = complaints[0]!.origin;
  return new Failure('CONFIG_INVALID', `Cannot use "${files.join('", "')}": ${said}`, {
    stage: 'config', details: { ...(files.length === 1 ? { file: files[0]! } : {}), problems: complaints.map(({ pointer, message }) => ({ pointer, message })) }, origin, hint: `Edit ${origin.file}`,
  });
}

export interface Settings {
  readonly permissions: Permissions;
  readonly connections: number;
  readonly mcpEnabled: boolean;
  readonly naming: 'plain' | 'mcp';
}

/** Reads the merged settings; what is wrong goes to `complaints`. */
export function readSettings(root: Setting | undefined, complaints: Complaint[]): Settings {
  const complain = (setting: Setting, message: string): void => { complaints.push({ pointer: setting.at.key, message, origin: originOf(setting.at) }); };
  return {
    permissions: readPermissions(root, complain),
    connections: readConnections(settingAt(root, 'concurrency'), complain),
    mcpEnabled: readMcpEnabled(settingAt(root, 'features'), complain),
    naming: readNaming(settingAt(root, 'mcp_naming'), complain),
  };
}

type Complain = (setting: Setting, message: string) => void;

function readConnections(concurrency: Setting | undefined, complain: Complain): number {
  if (concurrency !== undefined && concurrency.kind !== 'object') complain(concurrency, `an object is due, not ${kindName(concurrency)}`);
  const setting = settingAt(concurrency, 'mcp_connections');
  if (setting === undefined) return limits.connections;
  const value = setting.kind === 'scalar' ? setting.value : undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= limits.connectionsMin && value <= limits.connectionsMax) return value;
  complain(setting, `a whole number from ${limits.connectionsMin} to ${limits.connectionsMax} is due, not ${kindName(setting)}`);
  return limits.connections;
}

function readMcpEnabled(features: Setting | undefined, complain: Complain): boolean {
  if (features !== undefined && features.kind !== 'object') complain(features, `an object is due, not ${kindName(features)}`);
  const setting = settingAt(features, 'mcp');
  if (setting === undefined) return true;
  if (setting.kind === 'scalar' && typeof setting.value === 'boolean') return setting.value;
  complain(setting, `true or false is due, not ${kindName(setting)}`);
  return true;
}

function readNaming(setting: Setting | undefined, complain: Complain): 'plain' | 'mcp' {
  const value = setting?.kind === 'scalar' ? setting.value : undefined;
  if (value === 'plain' || value === 'mcp') return value;
  if (setting !== undefined) complain(setting, '"plain" (server_tool) or "mcp" (mcp__server__tool) is due');
  return 'plain';
}

// --- Permissions -----------------------------------------------------------------------------------------------------

/** Our words, and those of ZCode. `plan` has no agent to be read-only with here, so it is the strictest mode we have. */
const MODES: Readonly<Record<string, PermissionMode>> = {
  standard: 'standard', strict: 'strict', allow_all: 'allow_all', yolo: 'allow_all', build: 'standard', edit: 'standard', auto: 'standard', plan: 'strict',
};

function isEffect(value: unknown): value is Effect {
  return value === 'allow' || value === 'ask' || value === 'deny';
}

/** `tools` switches come first, so that every rule beats them; then the rules in their order. The last match wins. */
function readPermissions(root: Setting | undefined, complain: Complain): Permissions {
  const rules: Rule[] = [];
  const tools = settingAt(root, 'tools');
  if (tools !== undefined && tools.kind !== 'object') complain(tools, `an object is due, not ${kindName(tools)}`);
  else for (const [key, setting] of tools?.members ?? []) {
    if (setting.kind === 'scalar' && typeof setting.value === 'boolean') rules.push({ key, pattern: '*', effect: setting.value ? 'allow' : 'deny', origin: originOf(setting.at) });
    else complain(setting, `true or false is due, not ${kindName(setting)}`);
  }
  const permission = settingAt(root, 'permission');
  if (permission === undefined) return { mode: 'standard', rules };
  if (permission.kind !== 'object') {
    complain(permission, `an object is due, not ${kindName(permission)}`);
    return { mode: 'standard', rules };
  }
  for (const [key, setting] of permission.members) {
    if (key !== 'mode' && key !== 'rules') complain(setting, `unknown key${near(key)}`);
  }
  const ruleSetting = permission.members.get('rules');
  return { mode: readMode(permission.members.get('mode'), complain), rules: ruleSetting === undefined ? rules : [...rules, ...readRules(ruleSetting, complain)] };
}

/** One word for everything, and the older form in which the rules stand directly under `permission`, become `{ mode, rules }`. */
export function canonicalPermission(root: ObjectSetting): ObjectSetting {
  const permission = root.members.get('permission');
  if (permission === undefined) return root;
  const under = (rules: ObjectSetting): ObjectSetting => ({ ...root, members: new Map(root.members).set('permission', { kind: 'object', at: permission.at, members: new Map([['rules', rules]]) }) });
  if (permission.kind === 'object') return permission.members.has('mode') || permission.members.has('rules') ? root : under(permission);
  if (permission.kind === 'scalar' && isEffect(permission.value)) return under({ kind: 'object', at: permission.at, members: new Map([['*', permission]]) });
  return root;
}

function near(key: string): string {
  const found = nearest(key, ['mode', 'rules'], 1)[0];
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

function readMode(setting: Setting | undefined, complain: Complain): PermissionMode {
  if (setting === undefined) return 'standard';
  const mode = setting.kind === 'scalar' && typeof setting.value === 'string' && Object.hasOwn(MODES, setting.value) ? MODES[setting.value] : undefined;
  if (mode === undefined) complain(setting, '"standard", "strict" or "allow_all" is due');
  return mode ?? 'standard';
}

function readRules(setting: Setting, complain: Complain): Rule[] {
  if (setting.kind !== 'object') { complain(setting, `an object is due, not ${kindName(setting)}`); return []; }
  const rules: Rule[] = [];
  const add = (key: string, pattern: string, value: Setting): void => {
    if (value.kind === 'scalar' && isEffect(value.value)) rules.push({ key, pattern, effect: value.value, origin: originOf(value.at) });
    else complain(value, '"allow", "ask" or "deny" is due');
  };
  for (const [key, value] of setting.members) {
    if (value.kind === 'object') for (const [pattern, effect] of value.members) add(key, pattern, effect);
    else add(key, '*', value);
  }
  return rules;
}
