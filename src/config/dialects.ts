/**
 * The dialects in which servers are declared, one static table: where the entries stand, what their keys are called, and what the
 * defaults are. All become `Declaration`s; only the first is written. A new dialect is one row.
 */
import { nearest } from '../base/text.ts';
import { limits } from '../base/limits.ts';
import * as field from './fields.ts';
import type { FieldReader, Fields } from './fields.ts';
import { isNull, join, kindName, originOf, settingAt, type At, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import type { Diagnostic } from './types.ts';

export interface Dialect {
  readonly name: 'zuno' | 'mcp.servers' | 'mcpServers';
  /** Keys from the root to the object whose members are the entries. */
  readonly path: readonly string[];
  /** In reading order: an older spelling stands below the one that beats it. */
  readonly keys: Readonly<Record<string, FieldReader>>;
  /** Keys that choose or steer a program on this machine: what the trust rule is about. */
  readonly hostKeys: readonly string[];
  readonly syntax: 'zuno' | 'dollar';
  readonly requestMs: number;
}

const zunoKeys: Dialect['keys'] = {
  transport: field.transport,
  type: field.typeWords({ local: { kind: 'local' }, remote: { kind: 'remote' } }, ' ("stdio", "http" and "sse" entries stand under mcpServers)'),
  command: field.commandLine,
  cwd: field.cwd,
  environment: field.environment,
  url: field.url,
  headers: field.headers,
  headersCommand: field.headersCommand,
  oauth: field.oauth,
  caFile: field.caFile,
  certFile: field.certFile,
  keyFile: field.keyFile,
  enabled: field.enabled,
  timeout: field.timeout,
  protocol: field.protocol,
  protocolVersion: field.older('protocolVersion', 'protocol', 'protocol', field.protocol),
};

const stdioKeys: Dialect['keys'] = {
  transport: field.transport,
  type: field.typeWords({
    stdio: { kind: 'local' }, http: { kind: 'remote', transport: 'http' }, sse: { kind: 'remote', transport: 'sse' },
    remote: { kind: 'remote', transport: 'http' }, 'streamable-http': { kind: 'remote', transport: 'http' }, local: { kind: 'local' },
  }, ''),
  command: field.command,
  args: field.args,
  cwd: field.cwd,
  env: field.environment,
  environment: field.older('environment', 'env', 'environment', field.environment),
  url: field.url,
  headers: field.headers,
  http_headers: field.older('http_headers', 'headers', 'headers', field.headers),
  headersCommand: field.headersCommand,
  oauth: field.oauth,
  enabled: field.enabled,
  enable: field.otherSwitch('enable', true),
  disabled: field.otherSwitch('disabled', false),
  timeoutMs: field.timeout,
  protocol: field.protocol,
  protocolVersion: field.older('protocolVersion', 'protocol', 'protocol', field.protocol),
  isolation: field.reserved('isolation'),
  source: field.reserved('source'),
  auth: field.reserved('auth'),
  official: field.reserved('official'),
  timeout: field.dropped('"timeout" means nothing in this dialect and is left out: "timeoutMs" bounds a request'),
  startup_timeout_sec: field.dropped('"startup_timeout_sec" means nothing here and is left out'),
};

const stdioHostKeys = ['command', 'args', 'cwd', 'env', 'environment', 'headersCommand'] as const;

/** From low to high: inside one file a later row merges over an earlier one. */
export const dialects: readonly Dialect[] = [
  { name: 'mcpServers', path: ['mcpServers'], keys: stdioKeys, hostKeys: stdioHostKeys, syntax: 'dollar', requestMs: limits.requestMsLong },
  { name: 'mcp.servers', path: ['mcp', 'servers'], keys: stdioKeys, hostKeys: stdioHostKeys, syntax: 'dollar', requestMs: limits.requestMsLong },
  { name: 'zuno', path: ['mcp'], keys: zunoKeys, hostKeys: ['command', 'cwd', 'environment', 'headersCommand'], syntax: 'zuno', requestMs: limits.requestMs },
];

/** One entry of one file. */
export interface Declaration {
  readonly name: string;
  readonly dialect: Dialect;
  readonly layer: At['layer'];
  readonly at: At;
  /** `removed`: null. `toggle`: says only whether a server of another layer is on. */
  readonly shape: 'entry' | 'toggle' | 'removed';
  readonly fields: Fields;
  /** Complaints that cost the entry. */
  readonly problems: readonly Diagnostic[];
  /** Dotted keys that choose a program: the command where there is one, else what would steer it. */
  readonly hostKeys: readonly string[];
}

export interface Declared {
  readonly declarations: readonly Declaration[];
  readonly notices: readonly Diagnostic[];
  /** Dialects whose whole container is null here: what lower layers declared in them is gone. */
  readonly cleared: readonly Dialect[];
}

export const INVALID = 'config_mcp_server_invalid';

/** Is `mcp.servers` the container of the other dialect, or a server that is called "servers"? (R1) */
export function isServersContainer(setting: Setting): boolean {
  if (setting.kind !== 'object') return false;
  const scalar = (key: string): boolean => { const value = setting.members.get(key); return value !== undefined && value.kind !== 'object'; };
  if (scalar('type') || scalar('command') || scalar('url')) return false;
  return !(setting.members.size === 1 && scalar('enabled'));
}

/** Is `mcp.lock` the setting, or a server that is called "lock"? */
export function isLock(name: string, setting: Setting): boolean {
  return name === 'lock' && setting.kind === 'scalar' && setting.value !== null;
}

/** Every entry of a layer, in all dialects. */
export function readDeclarations(layer: Layer, home: string): Declared {
  const declarations: Declaration[] = [];
  const notices: Diagnostic[] = [];
  const cleared: Dialect[] = [];
  for (const dialect of dialects) {
    if (dialect.path.some((_, depth) => isNull(settingAt(layer.root, ...dialect.path.slice(0, depth + 1))))) cleared.push(dialect);
    const container = settingAt(layer.root, ...dialect.path);
    if (container === undefined || isNull(container)) continue;
    if (dialect.name === 'mcp.servers' && container.kind === 'object' && !isServersContainer(container)) continue;
    if (container.kind !== 'object') {
      notices.push({ code: 'config_mcp_servers_invalid', severity: 'warning', pointer: container.at.key, message: `Cannot read servers from "${container.at.key}": an object is due, not ${kindName(container)}`, origin: originOf(container.at) });
      continue;
    }
    for (const [name, setting] of container.members) {
      if (dialect.name === 'zuno' && name === 'servers' && !(setting.kind === 'object' && !isServersContainer(setting))) continue;
      if (dialect.name === 'zuno' && isLock(name, setting)) continue;
      declarations.push(readDeclaration(name, setting, dialect, layer, home, notices));
    }
  }
  return { declarations, notices, cleared };
}

/** One entry, whatever the container it came from. */
export function readDeclaration(name: string, setting: Setting, dialect: Dialect, layer: Layer, home: string, notices: Diagnostic[]): Declaration {
  const problems: Diagnostic[] = [];
  const complaint = (severity: 'error' | 'warning', at: At, message: string): Diagnostic => {
    const which = at.key.slice(setting.at.key.length + 1);
    const said = which === '' || message.startsWith('"') ? message : `"${which}": ${message}`;
    return { code: INVALID, severity, pointer: at.key, message: `${severity === 'error' ? 'Cannot use' : 'Cannot use all of'} the server "${name}": ${said}`, origin: originOf(at), ...(severity === 'error' ? { server: name } : {}) };
  };
  const invalid = (at: At, message: string): void => { problems.push(complaint('error', at, message)); };
  const base = { name, dialect, layer, at: setting.at, problems };
  if (isNull(setting)) return { ...base, shape: 'removed', fields: {}, hostKeys: [] };
  if (name.trim() === '') invalid(setting.at, 'its name is empty');
  if (setting.kind !== 'object') {
    invalid(setting.at, `an object is due, not ${kindName(setting)}`);
    return { ...base, shape: 'entry', fields: {}, hostKeys: [] };
  }
  const hostKeys = steeringKeys(setting, dialect);
  if (isToggle(setting)) {
    const fields: Fields = {};
    const context = { template: { directory: layer.directory, home, syntax: dialect.syntax }, invalid, notice: (at: At, message: string): void => { notices.push(complaint('warning', at, message)); } };
    for (const key of switches) { const value = setting.members.get(key); if (value !== undefined) dialect.keys[key]?.(fields, value, context); }
    for (const [key, value] of setting.members) {
      if (!switches.includes(key) || !Object.hasOwn(dialect.keys, key)) notices.push(complaint('warning', value.at, `"${key}": an entry that only switches a server on or off takes "enabled" alone; the rest is left out`));
    }
    return { ...base, shape: 'toggle', fields, hostKeys };
  }
  const fields = readFields(setting, dialect, { layer, home, invalid, notice: (at, message) => { notices.push(complaint('warning', at, message)); } });
  return { ...base, shape: 'entry', fields, hostKeys };
}

/** What other dialects call a key of ours, where the letters do not tell. */
const ELSEWHERE: Readonly<Record<string, string>> = { args: 'command', http_headers: 'headers', disabled: 'enabled' };

const switches: readonly string[] = ['enabled', 'enable', 'disabled'];

/** A switch without anything that tells a kind of server. */
function isToggle(setting: ObjectSetting): boolean {
  const has = (key: string): boolean => setting.members.has(key);
  return switches.some(has) && !has('type') && !has('command') && !has('url');
}

function readFields(setting: ObjectSetting, dialect: Dialect, sink: { readonly layer: Layer; readonly home: string; readonly invalid: (at: At, message: string) => void; readonly notice: (at: At, message: string) => void }): Fields {
  const fields: Fields = {};
  const context = { template: { directory: sink.layer.directory, home: sink.home, syntax: dialect.syntax }, invalid: sink.invalid, notice: sink.notice };
  for (const [key, read] of Object.entries(dialect.keys)) {
    const value = setting.members.get(key);
    if (value !== undefined) read(fields, value, context);
  }
  for (const [key, value] of setting.members) {
    if (Object.hasOwn(dialect.keys, key)) continue;
    const meant = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : undefined;
    const near = meant !== undefined && Object.hasOwn(dialect.keys, meant) ? meant : nearest(key, Object.keys(dialect.keys), 1)[0];
    sink.invalid(value.at, `"${key}" is no key of a server${near === undefined ? '' : `; did you mean "${near}"?`}`);
  }
  return fields;
}

function steeringKeys(setting: ObjectSetting, dialect: Dialect): string[] {
  const found = dialect.hostKeys.filter((key) => setting.members.has(key));
  const named = found.includes('command') ? ['command'] : found;
  return named.map((key) => join(setting.at.key, key));
}
