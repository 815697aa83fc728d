/**
 * Pinned tool definitions: the content of `zuno.lock.json`. Whoever locked a tool has looked at exactly this definition; one that differs
 * is a different tool under the same name. Pins are kept by the raw (server, tool) pair, never by a wire id.
 */
import { Failure } from '../base/failure.ts';
import type { Problem } from '../base/failure.ts';
import { canonicalJson, isObject, member, parseJson, pointerStep } from '../base/json.ts';
import type { Tool } from '../mcp/types.ts';
import { fingerprint } from './catalog.ts';
import type { ToolEntry } from './types.ts';

export const LOCK_VERSION = 1;
const pinnedFields = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
export type PinnedField = (typeof pinnedFields)[number];
export type PinnedDefinition = { readonly [field in PinnedField]?: Tool[field] | undefined };

/** What was locked of one tool. */
export interface Pin { readonly fingerprint: string; readonly definition: PinnedDefinition }
/** By server, then by the server's own name of the tool. */
export interface Lock { readonly servers: ReadonlyMap<string, ReadonlyMap<string, Pin>> }

/** One member of a definition that is not what was locked; absent members are `undefined`. */
export interface Change { readonly field: PinnedField; readonly old: unknown; readonly new: unknown }
export type PinCheck = { readonly kind: 'same' } | { readonly kind: 'new' } | { readonly kind: 'drifted'; readonly changes: readonly Change[] };
export type Comparison = { readonly server: string; readonly tool: string } & (
  | (PinCheck & { readonly entry: ToolEntry })
  /** Locked, and not listed any more. */
  | { readonly kind: 'missing' });

function pinnedOf(definition: Tool): PinnedDefinition {
  return Object.fromEntries(pinnedFields.filter((field) => definition[field] !== undefined).map((field) => [field, definition[field]]));
}

export function createLock(entriesByServer: ReadonlyMap<string, readonly ToolEntry[]>): Lock {
  return { servers: new Map([...entriesByServer].map(([server, entries]) => [server, new Map(entries.map((entry) => [entry.tool, { fingerprint: entry.fingerprint, definition: pinnedOf(entry.definition) }]))])) };
}

/** Whether one tool is what was locked. `new`: nobody has locked it. */
export function checkPin(lock: Lock, entry: ToolEntry): PinCheck {
  const pin = lock.servers.get(entry.server)?.get(entry.tool);
  if (pin === undefined) return { kind: 'new' };
  if (pin.fingerprint === entry.fingerprint) return { kind: 'same' };
  const now = pinnedOf(entry.definition);
  return { kind: 'drifted', changes: pinnedFields.filter((field) => canonicalJson(pin.definition[field]) !== canonicalJson(now[field])).map((field) => ({ field, old: pin.definition[field], new: now[field] })) };
}

/**
 * Every tool listed, in catalogue order, then what is missing, by server and tool.
 * @param servers those whose lists are known: a server that could not be asked misses nothing. Default: those of the entries
 */
export function compareLock(lock: Lock, entries: readonly ToolEntry[], servers: Iterable<string> = entries.map(({ server }) => server)): readonly Comparison[] {
  const listed = new Map<string, Set<string>>([...servers].map((server) => [server, new Set()]));
  for (const { server, tool } of entries) listed.get(server)?.add(tool);
  const missing = [...lock.servers].flatMap(([server, pins]) => {
    const there = listed.get(server);
    return there === undefined ? [] : [...pins.keys()].filter((tool) => !there.has(tool)).map((tool) => ({ kind: 'missing' as const, server, tool }));
  });
  missing.sort((a, b) => order(a.server, b.server) || order(a.tool, b.tool));
  return [...entries.map((entry) => ({ ...checkPin(lock, entry), entry, server: entry.server, tool: entry.tool })), ...missing];
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

// ---- the file

/** Keys sorted, one tool a block: equal locks are equal texts, and a version control system shows which tool changed. */
export function stringifyLock(lock: Lock): string {
  const block = (members: readonly (readonly [string, string])[], depth: number): string => {
    const indent = '  '.repeat(depth);
    return members.length === 0 ? '{}' : `{\n${members.map(([key, text]) => `${indent}  ${JSON.stringify(key)}: ${text}`).join(',\n')}\n${indent}}`;
  };
  const sorted = <T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] => [...map].sort(([a], [b]) => order(a, b));
  const servers = sorted(lock.servers).map(([server, pins]) => [server, block(sorted(pins).map(([tool, pin]) => [tool, prettyJson({ definition: pin.definition, fingerprint: pin.fingerprint }, 3)]), 2)] as const);
  return `${block([['version', String(LOCK_VERSION)], ['servers', block(servers, 1)]], 0)}\n`;
}

/** JSON over lines with sorted keys, any key safe. `depth`: of the line that it begins on. */
export function prettyJson(value: unknown, depth = 0): string {
  const indent = '  '.repeat(depth + 1), close = `\n${'  '.repeat(depth)}`;
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[\n${value.map((item) => `${indent}${prettyJson(item ?? null, depth + 1)}`).join(',\n')}${close}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).filter((key) => value[key] !== undefined).sort();
  return keys.length === 0 ? '{}' : `{\n${keys.map((key) => `${indent}${JSON.stringify(key)}: ${prettyJson(value[key], depth + 1)}`).join(',\n')}${close}}`;
}

/**
 * Members that this version does not know are passed over, except within a definition: there everything counts, or a change could hide in it.
 * @throws {Failure} CONFIG_INVALID: no lock of this version, or a hash that is not that of its definition
 */
export function readLock(text: string, file = 'zuno.lock.json'): Lock {
  const root = parseJson(text)?.value, problems: Problem[] = [], servers = new Map<string, Map<string, Pin>>();
  const complain = (pointer: string, message: string): void => { problems.push({ pointer, message }); };
  if (!isObject(root)) complain('', 'must be a JSON object');
  else if (member(root, 'version') !== LOCK_VERSION) complain('/version', `must be ${LOCK_VERSION}: it was written by another version`);
  else if (!isObject(member(root, 'servers'))) complain('/servers', 'must be an object');
  else for (const [server, tools] of Object.entries(root['servers'] as object)) {
    const at = `/servers${pointerStep(server)}`, pins = new Map<string, Pin>();
    servers.set(server, pins);
    if (!isObject(tools)) { complain(at, 'must be an object'); continue; }
    for (const [tool, stored] of Object.entries(tools)) {
      const pin = readPin(tool, stored);
      if (typeof pin === 'string') complain(`${at}${pointerStep(tool)}`, pin); else pins.set(tool, pin);
    }
  }
  if (problems.length === 0) return { servers };
  const { pointer, message } = problems[0]!;
  throw new Failure('CONFIG_INVALID', `Cannot use the lock file "${file}": ${pointer === '' ? 'it' : pointer} ${message}`, {
    stage: 'config', origin: { file, layer: 'lock' }, details: { file, problems: problems.slice(0, 20) }, hint: 'Write it afresh with "zuno-lite mcp lock" after a look at what changed',
  });
}

/** The pin, or what is wrong with it. */
function readPin(name: string, stored: unknown): Pin | string {
  if (!isObject(stored)) return 'must be an object';
  const hash = member(stored, 'fingerprint'), definition = member(stored, 'definition');
  if (typeof hash !== 'string' || !isObject(definition)) return 'needs "fingerprint" and "definition"';
  const unknown = Object.keys(definition).find((key) => !(pinnedFields as readonly string[]).includes(key));
  if (unknown !== undefined) return `has an unknown member ${JSON.stringify(unknown)} in its definition`;
  // The fields have been compared with a hash over them before anything believes their types.
  const pinned = definition as PinnedDefinition;
  if (fingerprint({ ...pinned, name } as Tool) !== hash) return 'has a fingerprint that is not that of its definition';
  return { fingerprint: hash, definition: pinned };
}
