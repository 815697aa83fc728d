/** Layers that were read: their values with the place of each, and how two of them become one. */
import { Failure, type Origin } from '../base/failure.ts';
import { readBytes, readText } from '../base/files.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { parseJsonc, positionAt, type JsoncDocument, type JsoncNode } from './jsonc.ts';
import type { Place } from './locate.ts';
import { readManagedPreferences } from './plist.ts';
import type { LayerKind } from './types.ts';

export interface Layer {
  readonly kind: LayerKind;
  readonly source: string;
  readonly trusted: boolean;
  readonly directory: string;
  readonly document: JsoncDocument;
  /** Made of values that have no line: a property list, what an embedding program hands over. */
  readonly unplaced?: boolean;
  readonly root: Setting & { readonly kind: 'object' };
}

/** Where a value stands: `key` is the dotted path. */
export interface At { readonly layer: Pick<Layer, 'kind' | 'source' | 'trusted' | 'directory' | 'document' | 'unplaced'>; readonly key: string; readonly offset: number }

/**
 * A value of a layer, or of several merged ones. Maps keep the order of keys and know no prototype. What merging has to remember, in
 * whatever order layers are put together: `fresh`, it stood over a null, so the key is a new one; `whole`, it stood over something
 * that is no object, so nothing below shines through.
 */
export type Setting = { readonly at: At; readonly fresh?: true } & (
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Setting>; readonly whole?: true }
  | { readonly kind: 'array'; readonly items: readonly Setting[] }
  | { readonly kind: 'scalar'; readonly value: string | number | boolean | null }
);
export type ObjectSetting = Setting & { readonly kind: 'object' };

export function originOf(at: At): Origin {
  const place = at.layer.unplaced === true ? {} : positionAt(at.layer.document.text, at.offset);
  return { file: at.layer.source, layer: at.layer.kind, ...(at.key === '' ? {} : { key: at.key }), ...place };
}

export function join(key: string, step: string): string {
  return key === '' ? step : `${key}.${step}`;
}

/** Reads one place; `undefined` when nothing is there. Fails with CONFIG_UNREADABLE or CONFIG_INVALID. */
export function readLayer(place: Place): Layer | undefined {
  if (place.kind === 'managed-preferences') {
    const bytes = readBytes(place.source, limits.configFileBytes);
    return bytes === undefined ? undefined : unplacedLayer(place, readManagedPreferences(bytes, place.source));
  }
  // With its byte order mark: a pin is the digest of the file as it is.
  const text = place.text ?? readText(place.source, limits.configFileBytes, { keepBom: true });
  if (text === undefined) {
    if (!place.required) return undefined;
    throw new Failure('CONFIG_UNREADABLE', `Cannot read "${place.source}": no such file`, { stage: 'config', details: { file: place.source }, origin: { file: place.source, layer: place.kind }, hint: 'Correct the path, or create the file' });
  }
  return layerOf(place, text);
}

/** The layer that a text at this place is. Fails with CONFIG_UNREADABLE or CONFIG_INVALID. */
export function layerOf(place: Pick<Place, 'kind' | 'source' | 'trusted' | 'directory'>, text: string): Layer {
  const document = parseJsonc(text, { file: place.source, layer: place.kind });
  const base = { kind: place.kind, source: place.source, trusted: place.trusted, directory: place.directory, document };
  const root = settingOf(document.root, base, '', document.root.start);
  if (root.kind === 'object') return { ...base, root };
  const message = 'an object was expected';
  throw new Failure('CONFIG_INVALID', `Cannot use "${place.source}": ${message}`, { stage: 'config', details: { file: place.source, problems: [{ pointer: '', message }] }, origin: originOf(root.at) });
}

/** A layer of values that stand in no text. */
export function unplacedLayer(place: Pick<Place, 'kind' | 'source' | 'trusted' | 'directory'>, value: JsonObject): Layer {
  const { kind, source, trusted, directory } = place;
  const base = { kind, source, trusted, directory, unplaced: true, document: { text: '', root: { kind: 'object', start: 0, end: 0, members: [] }, repeated: [] } } as const;
  return { ...base, root: settingFrom(value, { layer: base, key: '', offset: 0 }) as Layer['root'] };
}

/** A plain value as a setting, all of which stands at one place. */
export function settingFrom(value: unknown, at: At): Setting {
  const inner = (step: string): At => ({ ...at, key: join(at.key, step) });
  if (Array.isArray(value)) return { kind: 'array', items: value.map((item, index) => settingFrom(item, inner(String(index)))), at };
  if (isObject(value)) return { kind: 'object', members: new Map(Object.entries(value).map(([key, item]) => [key, settingFrom(item, inner(key))])), at };
  return { kind: 'scalar', value: typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null, at };
}

/** The values of a parsed text. */
export function settingOf(node: JsoncNode, layer: At['layer'], key: string, offset: number): Setting {
  const at: At = { layer, key, offset };
  if (node.kind === 'scalar') return { kind: 'scalar', value: node.value, at };
  if (node.kind === 'array') return { kind: 'array', items: node.items.map((item, index) => settingOf(item, layer, join(key, String(index)), item.start)), at };
  const members = new Map<string, Setting>();
  // A repeated key replaces the earlier one, which keeps its place in the order: as JSON.parse does it.
  for (const member of node.members) members.set(member.key, settingOf(member.node, layer, join(key, member.key), member.keyStart));
  return { kind: 'object', members, at };
}

/**
 * Objects merge deep, everything else replaces, null removes. Keys keep the order in which the lower layer had them; one that comes
 * back after a null stands at the end. A null stays in what this returns, so that it also removes what is merged in below later:
 * upper layers may be put together first. `settled` drops it in the end.
 */
export function merge(lower: Setting | undefined, upper: Setting): Setting {
  if (isNull(upper)) return upper;
  const fresh = upper.fresh === true || lower?.fresh === true || isNull(lower) ? { fresh: true } as const : {};
  if (upper.kind !== 'object' || upper.whole === true) return { ...upper, ...fresh };
  const members = new Map(lower?.kind === 'object' ? lower.members : []);
  for (const [key, value] of upper.members) {
    const before = members.get(key);
    if (value.fresh === true || (isNull(before) && !isNull(value))) members.delete(key);
    members.set(key, merge(before, value));
  }
  const whole = lower !== undefined && (lower.kind !== 'object' || lower.whole === true);
  return { kind: 'object', members, at: upper.at, ...(whole ? { whole } : {}), ...fresh };
}

/** What is left when nothing is merged any more: without nulls, but for those in lists. */
export function settled(setting: Setting | undefined): Setting | undefined {
  if (setting === undefined || isNull(setting)) return undefined;
  if (setting.kind !== 'object') return setting;
  const members = new Map<string, Setting>();
  for (const [key, value] of setting.members) { const kept = settled(value); if (kept !== undefined) members.set(key, kept); }
  return { ...setting, members };
}

/** The value at a path of keys. */
export function settingAt(setting: Setting | undefined, ...keys: readonly string[]): Setting | undefined {
  let at = setting;
  for (const key of keys) at = at?.kind === 'object' ? at.members.get(key) : undefined;
  return at;
}

export function isNull(setting: Setting | undefined): boolean {
  return setting?.kind === 'scalar' && setting.value === null;
}

/** The plain value, for settings that are passed on as they were written. */
export function plain(setting: Setting): unknown {
  if (setting.kind === 'scalar') return setting.value;
  if (setting.kind === 'array') return setting.items.map(plain);
  return Object.fromEntries([...setting.members].map(([key, value]) => [key, plain(value)]));
}

/** What kind of value came, for messages: values themselves may be secrets. */
export function kindName(setting: Setting): string {
  if (setting.kind === 'object') return 'an object';
  if (setting.kind === 'array') return 'a list';
  return setting.value === null ? 'null' : typeof setting.value === 'string' ? 'text' : `the ${typeof setting.value} ${String(setting.value)}`;
}
