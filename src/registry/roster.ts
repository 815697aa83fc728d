/** Who owns which wire id, kept per workspace: a name once given to a (server, tool) pair is never given to another. */
import { canonicalJson, isObject, member, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';

const VERSION = 1;

/** The raw pair: what a name stands for. */
export interface ToolKey { readonly server: string; readonly tool: string }

/** One text per pair, different for different pairs. */
export function keyOf({ server, tool }: ToolKey): string {
  return `${server.length} ${server} ${tool}`;
}

export interface StoredRoster { readonly version: number; readonly names: Readonly<Record<string, readonly [server: string, tool: string]>> }

export interface Roster {
  owner(id: string): ToolKey | undefined;
  /** True when the pair has a name. */
  knows(pair: ToolKey): boolean;
  /** Notes a name. The first owner stays; a full roster takes nothing more (names with a digest are safe without it). */
  give(id: string, pair: ToolKey): void;
  /** Takes over what another process noted; where both name one id, the stored owner wins. */
  absorb(stored: unknown): void;
  readonly size: number;
  /** True when there is something that `toJSON` was not asked for yet. */
  readonly changed: boolean;
  toJSON(): StoredRoster;
}

function readNames(stored: unknown): readonly (readonly [string, ToolKey])[] {
  if (!isObject(stored) || stored['version'] !== VERSION) return [];
  const names = member(stored, 'names');
  if (!isObject(names)) return [];
  const read: (readonly [string, ToolKey])[] = [];
  for (const [id, pair] of Object.entries(names)) {
    if (Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(id)) read.push([id, { server: pair[0], tool: pair[1] }]);
  }
  return read;
}

/** Believes only well-formed entries of `stored`. */
export function createRoster(stored?: unknown): Roster {
  const names = new Map<string, ToolKey>();
  let changed = false;
  const pairs = new Set<string>();
  const set = (id: string, pair: ToolKey): void => { names.set(id, { server: pair.server, tool: pair.tool }); pairs.add(keyOf(pair)); };
  for (const [id, pair] of readNames(stored)) set(id, pair);
  return {
    owner: (id) => names.get(id),
    knows: (pair) => pairs.has(keyOf(pair)),
    give(id, pair) {
      if (names.has(id) || names.size >= limits.rosterNames) return;
      set(id, pair);
      changed = true;
    },
    absorb(other) {
      for (const [id, pair] of readNames(other)) set(id, pair);
    },
    get size() { return names.size; },
    get changed() { return changed; },
    toJSON() {
      changed = false;
      return { version: VERSION, names: Object.fromEntries([...names].map(([id, pair]) => [id, [pair.server, pair.tool] as const])) };
    },
  };
}

export interface RosterStore {
  /** The stored text; `undefined` when there is none yet. */
  readonly read: () => Promise<string | undefined>;
  readonly write: (text: string) => Promise<void>;
}

/** A text that is no roster of this version costs the memory, not the start: the warning says so. */
export async function loadRoster(read: RosterStore['read']): Promise<{ readonly roster: Roster; readonly warning?: string }> {
  const text = await read();
  if (text === undefined) return { roster: createRoster() };
  const stored = parseJson(text)?.value;
  const usable = isObject(stored) && stored['version'] === VERSION;
  return usable ? { roster: createRoster(stored) } : { roster: createRoster(), warning: 'The roster of tool names cannot be read: names are given afresh' };
}

/** Writes what is new, together with what others stored meanwhile. Run it under the file's lock. Returns whether it wrote. */
export async function saveRoster(roster: Roster, { read, write }: RosterStore): Promise<boolean> {
  if (!roster.changed) return false;
  const text = await read();
  if (text !== undefined) roster.absorb(parseJson(text)?.value);
  await write(`${canonicalJson(roster.toJSON())}\n`);
  return true;
}
