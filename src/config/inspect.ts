/** A configuration explained: each value that counts with the place it comes from, and the values it stands over. */
import type { Origin } from '../base/failure.ts';
import type { Cell, Fields } from './fields.ts';
import { isNull, join, originOf, plain, settingAt, type At, type Setting } from './layers.ts';
import type { LoadedConfig } from './load.ts';
import { maskDeep, maskText, maskUrl } from './mask.ts';
import { ownKeys } from './settings.ts';
import type { Template } from './types.ts';

/** Secrets are masked in `value`, also in what is shadowed. */
export interface ShownValue {
  /** In the words of the Zuno dialect, whatever the file says: `mcp.docs.headers.Authorization`. */
  readonly key: string;
  /** The same step by step: names may hold dots. */
  readonly path: readonly string[];
  readonly value: unknown;
  readonly origin: Origin;
  /** What lower layers said of the same thing, nearest first. */
  readonly shadowed: readonly { readonly value: unknown; readonly origin: Origin }[];
}

/** All values, servers first, in the order in which they count. */
export function explainConfig(loaded: LoadedConfig): ShownValue[] {
  return [...serverValues(loaded), ...settingValues(loaded)];
}

/** The values put together again: the merged configuration, masked. */
export function mergedDocument(values: readonly ShownValue[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const value of values) {
    const last = value.path.at(-1)!;
    let at = root;
    for (const step of value.path.slice(0, -1)) {
      if (!Object.hasOwn(at, step)) define(at, step, {});
      at = at[step] as Record<string, unknown>;
    }
    define(at, last, value.value);
  }
  return root;
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

// --- Servers ---------------------------------------------------------------------------------------------------------

interface Told { readonly path: readonly string[]; readonly value: unknown; readonly at: At }

function serverValues({ drafts, declarations }: LoadedConfig): ShownValue[] {
  return [...drafts].flatMap(([name, draft]) => {
    const told = toldBy({ ...draft.fields, ...(draft.enabled === undefined ? {} : { enabled: draft.enabled }) });
    const all = declarations.filter((declaration) => declaration.name === name).flatMap(({ fields }) => toldBy(fields));
    return told.map((value) => shown(['mcp', name, ...value.path], value, all.filter((other) => other.at !== value.at && same(other.path, value.path))));
  });
}

const same = (one: readonly string[], other: readonly string[]): boolean => one.length === other.length && one.every((step, index) => step.toLowerCase() === other[index]!.toLowerCase());

function shown(path: readonly string[], { value, at }: Pick<Told, 'value' | 'at'>, below: readonly Pick<Told, 'value' | 'at'>[]): ShownValue {
  return { key: path.reduce(join, ''), path, value, origin: originOf(at), shadowed: [...below].reverse().map((other) => ({ value: other.value, origin: originOf(other.at) })) };
}

/** What the fields say, each with its own place; of maps each member. */
function toldBy(fields: Fields): Told[] {
  const found: Told[] = [];
  const add = <T>(name: string, cell: Cell<T> | undefined, show: (value: T) => unknown): void => {
    if (cell?.value !== undefined) found.push({ path: [name], value: show(cell.value), at: cell.at });
  };
  const source = (template: Template): unknown => maskDeep(template.source);
  add('type', fields.kind, (kind) => kind);
  add('transport', fields.transport, (transport) => transport);
  add('command', fields.command, source);
  add('args', fields.args, (args) => args.map(source));
  add('cwd', fields.cwd, source);
  map(found, 'environment', fields.environment);
  add('url', fields.url, (url) => maskUrl(url.source));
  map(found, 'headers', fields.headers);
  add('headersCommand', fields.headersCommand, (words) => words.map(source));
  add('oauth', fields.oauth, (oauth) => (oauth === false ? false : maskDeep(plain(oauth), maskText)));
  for (const key of ['caFile', 'certFile', 'keyFile'] as const) add(key, fields[key], source);
  add('enabled', fields.enabled, (enabled) => enabled);
  add('timeout', fields.timeoutMs, (timeout) => timeout);
  add('protocol', fields.protocol, (protocol) => protocol);
  return found;
}

function map(found: Told[], name: string, cell: Fields['headers']): void {
  for (const [key, { value, at }] of cell?.value ?? []) if (value !== undefined) found.push({ path: [name, key], value: maskText(value.source), at });
}

// --- Everything else -------------------------------------------------------------------------------------------------

function settingValues({ merged, layers }: LoadedConfig): ShownValue[] {
  const found: ShownValue[] = [];
  const walk = (setting: Setting, path: readonly string[]): void => {
    if (setting.kind === 'object' && setting.members.size > 0) {
      for (const [key, value] of setting.members) walk(value, [...path, key]);
      return;
    }
    const told = (one: Setting): Pick<Told, 'value' | 'at'> => ({ value: path[0] === 'plugins' ? maskPlugins(plain(one)) : maskDeep(plain(one)), at: one.at });
    const below = layers.map(({ root }) => settingAt(root, ...path)).filter((other) => other !== undefined && !isNull(other) && other.at !== setting.at);
    found.push(shown(path, told(setting), (below as Setting[]).map(told)));
  };
  for (const key of ownKeys) {
    const setting = key === '$schema' || key === 'mcpServers' ? undefined : settingAt(merged, key);
    // Servers are shown above; of `mcp` only the lock is left.
    if (setting !== undefined && !(key === 'mcp' && settingAt(setting, 'lock') === undefined)) walk(setting, [key]);
  }
  return found;
}

/** What is handed to plugins may be anything. */
function maskPlugins(value: unknown): unknown {
  if (!Array.isArray(value)) return maskDeep(value, maskText);
  return value.map((item: unknown) => (typeof item === 'object' && item !== null ? Object.fromEntries(Object.entries(item).map(([key, one]) => [key, key === 'path' ? one : maskDeep(one, maskText)])) : item));
}
