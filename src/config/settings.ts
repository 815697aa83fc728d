/** Everything of a configuration that is no server: which top-level keys exist, and the few that mean something here. */
import { Failure, type Origin, type Problem } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { nearest } from '../base/text.ts';
import { readAudit } from './audit.ts';
import { emptyConfig } from './defaults.ts';
import { readExposure, readWhole } from './exposure.ts';
import { kindName, originOf, settingAt, type Layer, type Setting } from './layers.ts';
import { readPermissions, type Complain } from './permissions.ts';
import type { Config } from './types.ts';

/** Keys that this program reads. */
export const ownKeys: readonly string[] = [
  '$schema', 'mcp', 'mcpServers', 'permission', 'tools', 'agent', 'agents', 'default_agent', 'command', 'commands', 'mcp_tool_exposure', 'concurrency', 'features', 'trust', 'mcp_naming', 'audit',
  'imports', 'plugins',
];

/** Keys of the full Zuno (and of the programs whose files it reads): accepted so that one file serves both, and ignored. */
export const ignoredKeys: readonly string[] = [
  'attachment', 'authorization', 'autoshare', 'autoupdate', 'compaction', 'disabled_providers', 'enabled_providers', 'enterprise', 'experimental', 'formatter', 'goal', 'hooks',
  'instructions', 'keybinds', 'layout', 'logLevel', 'lsp', 'memory', 'mode', 'model', 'network', 'plugin', 'preset', 'presets', 'productAgent', 'provider', 'providers', 'reference',
  'references', 'sandbox', 'server', 'share', 'shell', 'skill', 'skills', 'small_model', 'snapshot', 'subagent_depth', 'theme', 'tool_output', 'tui', 'username', 'watcher', 'web_search',
  'workflow', 'workflows',
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

/** What of a `Config` stands in settings alone. */
export type Settings = Pick<Config, 'permissions' | 'concurrency' | 'parallelTools' | 'exposure' | 'lock' | 'audit' | 'defaultAgent' | 'mcpEnabled' | 'naming'>;

/** Reads the merged settings; what is wrong goes to `complaints`. */
export function readSettings(root: Setting | undefined, home: string, complaints: Complaint[]): Settings {
  const complain: Complain = (setting, message) => { complaints.push({ pointer: setting.at.key, message, origin: originOf(setting.at) }); };
  const concurrency = settingAt(root, 'concurrency'), audit = readAudit(settingAt(root, 'audit'), home, complain), defaultAgent = readDefaultAgent(settingAt(root, 'default_agent'), complain);
  return {
    permissions: readPermissions(root, complain),
    concurrency: readConcurrency(concurrency, complain),
    parallelTools: readPatterns(settingAt(concurrency, 'parallel_tools'), complain),
    exposure: readExposure(settingAt(root, 'mcp_tool_exposure'), complain),
    lock: readLock(settingAt(root, 'mcp', 'lock'), complain),
    mcpEnabled: readMcpEnabled(settingAt(root, 'features'), complain),
    naming: readNaming(settingAt(root, 'mcp_naming'), complain),
    ...(audit === undefined ? {} : { audit }), ...(defaultAgent === undefined ? {} : { defaultAgent }),
  };
}

function readConcurrency(concurrency: Setting | undefined, complain: Complain): Config['concurrency'] {
  if (concurrency !== undefined && concurrency.kind !== 'object') complain(concurrency, `an object is due, not ${kindName(concurrency)}`);
  const read = (key: string): number | undefined => {
    const setting = settingAt(concurrency, key);
    return setting === undefined ? undefined : readWhole(setting, limits.connectionsMin, limits.connectionsMax, complain);
  };
  const { connections, toolCalls, delegations } = emptyConfig.concurrency;
  return { connections: read('mcp_connections') ?? connections, toolCalls: read('tool_calls') ?? toolCalls, delegations: read('delegations') ?? delegations };
}

function readPatterns(setting: Setting | undefined, complain: Complain): string[] {
  if (setting === undefined) return [];
  if (setting.kind !== 'array') { complain(setting, `a list of tools is due, not ${kindName(setting)}`); return []; }
  return setting.items.flatMap((item) => {
    if (item.kind === 'scalar' && typeof item.value === 'string' && item.value.trim() !== '') return [item.value.trim()];
    complain(item, 'the name of a tool is due');
    return [];
  });
}

/** A text there is this setting; an object is a server that is called so. */
function readLock(setting: Setting | undefined, complain: Complain): Config['lock'] {
  if (setting?.kind !== 'scalar') return 'off';
  if (setting.value === 'enforce' || setting.value === 'off') return setting.value;
  complain(setting, '"enforce" or "off" is due');
  return 'off';
}

function readDefaultAgent(setting: Setting | undefined, complain: Complain): string | undefined {
  if (setting === undefined) return undefined;
  if (setting.kind === 'scalar' && typeof setting.value === 'string' && setting.value.trim() !== '') return setting.value;
  complain(setting, `the name of an agent is due, not ${kindName(setting)}`);
  return undefined;
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
