/**
 * Wire ids: the names under which a model sees the tools of all servers. Legal (`A-Za-z0-9_-`, at most 64), one per
 * (server, tool), the same on every start and in whatever order servers connect.
 *
 * A plain id `server_tool` is given only when nothing can dispute it. Disputes are settled by the configured server
 * names alone, so that nobody has to be connected first: the id belongs to the server whose prefix covers most of it
 * (`a_b_c` to `a_b`, not to `a`); of two servers that sanitize to one prefix it belongs to the one spelled exactly so, else to none.
 * Everything else carries a digest of its pair. The roster remembers: a name once given stays with its pair.
 */
import { sha256 } from '../base/hash.ts';
import { limits } from '../base/limits.ts';
import { keyOf } from './roster.ts';
import type { Roster, ToolKey } from './roster.ts';

export type Naming = 'plain' | 'mcp';
/** A wire id that is not the plain one, and why. */
export interface Renamed extends ToolKey { readonly id: string; readonly reason: string }

/** Tools of the host itself: no server's tool may take their names. */
export const nativeTools: readonly string[] = ['tool_search', 'list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource'];

const DIGEST_CHARS = 8;

/** Each UTF-16 unit outside `A-Za-z0-9_-` becomes one `_`; runs are not collapsed. */
export function sanitize(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_');
}

const collapse = (text: string): string => text.replace(/_{2,}/g, '_');

/** Every way in which people and other clients write one tool. Only `dotted` and `slashed` keep the names as they are. */
export interface Spellings { readonly plain: string; readonly mcp: string; readonly mcpCollapsed: string; readonly dotted: string; readonly slashed: string }

export function spellings(server: string, tool: string): Spellings {
  const cleanServer = sanitize(server), cleanTool = sanitize(tool);
  return {
    plain: `${cleanServer}_${cleanTool}`,
    mcp: `mcp__${cleanServer}__${cleanTool}`,
    mcpCollapsed: `mcp__${collapse(cleanServer)}__${collapse(cleanTool)}`,
    dotted: `${server}.${tool}`,
    slashed: `${server}/${tool}`,
  };
}

/** The wire id a tool gets when nobody disputes it. */
export function plainId(server: string, tool: string, naming: Naming = 'plain'): string {
  return naming === 'mcp' ? spellings(server, tool).mcp : `${sanitize(server)}_${sanitize(tool)}`;
}

/** Shortened plain id, `_`, and hexadecimal digits of SHA-256 over the pair. */
export function digestId(server: string, tool: string, naming: Naming = 'plain', digits = DIGEST_CHARS): string {
  const digest = sha256(JSON.stringify([server, tool]), 'hex').slice(0, digits);
  const head = plainId(server, tool, naming).slice(0, limits.toolIdChars - digits - 1).replace(/_+$/, '');
  return `${head === '' ? 'tool' : head}_${digest}`;
}

/** True when `id` carries a digest, that is, when it is none of the pair's plain ids. */
export function isRenamed(id: string, { server, tool }: ToolKey): boolean {
  return id !== plainId(server, tool) && id !== plainId(server, tool, 'mcp');
}

/** The beginnings that mark a text as naming a tool of this server. */
const prefixes = (server: string): readonly string[] => {
  const clean = sanitize(server);
  return [`${clean}_`, `mcp__${clean}__`, `${server}.`, `${server}/`];
};

/**
 * Which of `servers` a text speaks of: the one whose prefix covers most of it. `none` when it begins with no server's prefix;
 * `disputed` when several fit equally well and none is spelled exactly like its prefix.
 */
export function ownerOf(text: string, servers: Iterable<string>): { readonly kind: 'one'; readonly server: string } | { readonly kind: 'none' | 'disputed' } {
  let length = 0, best: string[] = [];
  for (const server of servers) {
    let covered = 0;
    for (const prefix of prefixes(server)) if (prefix.length > covered && text.startsWith(prefix)) covered = prefix.length;
    if (covered === 0 || covered < length) continue;
    if (covered > length) { length = covered; best = []; }
    if (!best.includes(server)) best.push(server);
  }
  if (best.length > 1) best = best.filter((server) => sanitize(server) === server);
  const [server] = best;
  return server !== undefined && best.length === 1 ? { kind: 'one', server } : { kind: length === 0 ? 'none' : 'disputed' };
}

/** Per server: the other servers that could dispute one of its ids. Usually empty, which keeps naming linear. */
function rivalsOf(servers: ReadonlySet<string>, naming: Naming): (server: string) => readonly string[] {
  const known = new Map<string, readonly string[]>(), beginnings = [...servers].map((server) => ({ server, all: prefixes(server) }));
  return (server) => {
    let rivals = known.get(server);
    if (rivals === undefined) {
      const own = plainId(server, '', naming);
      rivals = beginnings.filter((other) => other.server !== server && other.all.some((prefix) => prefix.startsWith(own))).map((other) => other.server);
      known.set(server, rivals);
    }
    return rivals;
  };
}

export interface NamingOptions {
  readonly naming?: Naming | undefined;
  /** All configured servers, connected or not: they make the outcome independent of who is connected. */
  readonly servers?: Iterable<string> | undefined;
  readonly roster?: Roster | undefined;
  /** Names nobody may take. Default: `nativeTools`. */
  readonly native?: readonly string[] | undefined;
}

export interface NamePlan {
  /** In the order of the pairs given. */
  readonly ids: readonly string[];
  /** Sorted by server and tool. */
  readonly renamed: readonly Renamed[];
}

const order = (a: ToolKey, b: ToolKey): number => (a.server < b.server ? -1 : a.server > b.server ? 1 : a.tool < b.tool ? -1 : a.tool > b.tool ? 1 : 0);

/** Why a pair can never have its plain id, whatever else is listed. */
function lastingObstacle({ server, tool }: ToolKey, plain: string, naming: Naming, native: ReadonlySet<string>, rivals: readonly string[]): string | undefined {
  if (plain.length > limits.toolIdChars) return `the plain id is longer than ${limits.toolIdChars} characters`;
  if (native.has(plain)) return 'the plain id is the name of a tool of the host';
  if (!/[A-Za-z0-9]/.test(tool) || !/[A-Za-z0-9]/.test(server)) return 'no character of the name can be used';
  if (naming === 'plain' && plain.startsWith('mcp__')) return 'the plain id looks like the mcp__ spelling of another tool';
  if (rivals.length === 0) return undefined;
  const verdict = ownerOf(plain, [server, ...rivals]);
  if (verdict.kind !== 'one') return 'several servers have this prefix';
  return verdict.server === server ? undefined : `the plain id reads like a tool of "${verdict.server}"`;
}

/** Names all pairs (and notes them in the roster, if one is given). The same set of pairs gives the same names in any order. */
export function assignNames(pairs: readonly ToolKey[], options: NamingOptions = {}): NamePlan {
  const { naming = 'plain', roster } = options;
  const native = new Set(options.native ?? nativeTools);
  const servers = new Set([...(options.servers ?? []), ...pairs.map((pair) => pair.server)]);
  const rivals = rivalsOf(servers, naming);
  const wanted = new Map<string, { pair: ToolKey; plain: string; lasting: string | undefined }>();
  const claims = new Map<string, number>();
  const keys = pairs.map(keyOf);
  for (const [index, pair] of pairs.entries()) {
    const key = keys[index]!;
    if (wanted.has(key)) continue;
    const plain = plainId(pair.server, pair.tool, naming), lasting = lastingObstacle(pair, plain, naming, native, rivals(pair.server));
    wanted.set(key, { pair, plain, lasting });
    if (lasting === undefined) claims.set(plain, (claims.get(plain) ?? 0) + 1);
  }

  const owns = (id: string, pair: ToolKey): boolean => { const owner = roster?.owner(id); return owner !== undefined && owner.server === pair.server && owner.tool === pair.tool; };
  const obstacle = (pair: ToolKey, plain: string, lasting: string | undefined): string | undefined => {
    if (owns(plain, pair) && !native.has(plain)) return undefined;
    if (lasting !== undefined) return lasting;
    const owner = roster?.owner(plain);
    if (owner !== undefined) return `the plain id belongs to "${owner.tool}" of "${owner.server}"`;
    if ((claims.get(plain) ?? 0) > 1) return 'several tools have this plain id';
    // A tool that had to carry a digest once keeps it: a model and rules know it by that name.
    return roster?.knows(pair) === true && owns(digestId(pair.server, pair.tool, naming), pair) ? 'it was given this id before' : undefined;
  };

  const given = new Map<string, string>();
  const taken = new Set<string>();
  const blocked: { key: string; pair: ToolKey; reason: string }[] = [];
  for (const [key, { pair, plain, lasting }] of wanted) {
    const reason = obstacle(pair, plain, lasting);
    if (reason === undefined) { given.set(key, plain); taken.add(plain); } else blocked.push({ key, pair, reason });
  }
  const renamed: Renamed[] = [];
  for (const { key, pair, reason } of blocked.sort((a, b) => order(a.pair, b.pair))) {
    let id = '';
    // A name may be crafted to look like another one's digest: then more digits tell them apart.
    for (let digits = DIGEST_CHARS; digits <= 40; digits += 8) {
      id = digestId(pair.server, pair.tool, naming, digits);
      if (owns(id, pair) || (!taken.has(id) && !native.has(id) && roster?.owner(id) === undefined)) break;
    }
    given.set(key, id);
    taken.add(id);
    renamed.push({ id, ...pair, reason });
  }
  if (roster !== undefined) for (const [key, { pair }] of wanted) roster.give(given.get(key)!, pair);
  return { ids: keys.map((key) => given.get(key)!), renamed };
}

/**
 * The servers that words of a user (`wire_id`, `server.tool`, `server/tool`, `mcp__server__tool`) can mean, best first, without
 * asking any of them. Empty: they name no known server.
 */
export function candidateServers(words: string, serverNames: Iterable<string>, roster?: Roster): string[] {
  const known = [...new Set(serverNames)];
  const ranked: { server: string; covered: number; exact: boolean }[] = [];
  const head = /^(.*?)_?[0-9a-f]{8,40}$/.exec(words)?.[1];
  for (const server of known) {
    const clean = sanitize(server);
    let covered = 0;
    for (const prefix of [...prefixes(server), `mcp__${collapse(clean)}__`]) if (words.startsWith(prefix)) covered = Math.max(covered, prefix.length);
    // A shortened id may end within the server's name, or have lost its trailing underscores.
    if (covered === 0 && head !== undefined && [`${clean}_`, `mcp__${clean}__`].some((prefix) => prefix.startsWith(head) && (head.length > 40 || prefix.slice(head.length).replace(/_/g, '') === ''))) covered = 1;
    if (covered === 0 && head === 'tool' && !/[A-Za-z0-9-]/.test(clean)) covered = 1;
    if (covered > 0) ranked.push({ server, covered, exact: words.startsWith(`${server}.`) || words.startsWith(`${server}/`) || clean === server });
  }
  ranked.sort((a, b) => b.covered - a.covered || Number(b.exact) - Number(a.exact) || (a.server < b.server ? -1 : 1));
  const owner = roster?.owner(words)?.server;
  const rest = ranked.map((entry) => entry.server);
  return owner !== undefined && known.includes(owner) ? [owner, ...rest.filter((server) => server !== owner)] : rest;
}
