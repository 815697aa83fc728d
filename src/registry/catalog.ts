/** From the lists of servers to tool entries under wire ids, and from the words of a user back to an entry. */
import { sha256 } from '../base/hash.ts';
import type { Origin } from '../base/failure.ts';
import { canonicalJson } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import type { Dropped, Tool } from '../mcp/types.ts';
import { assignNames, spellings } from './names.ts';
import type { NamingOptions, Renamed } from './names.ts';
import { normalizeInputSchema } from './input-schema.ts';
import type { ToolEntry } from './types.ts';

/** What one server listed. */
export interface ServerTools {
  readonly server: string;
  /** Where the server was configured. */
  readonly origin: Origin;
  readonly listing: { readonly items: readonly Tool[]; readonly dropped: readonly Dropped[] };
}

export interface Catalogue {
  /** By server name, within a server in its own order. */
  readonly entries: readonly ToolEntry[];
  readonly dropped: readonly (Dropped & { readonly server: string })[];
  readonly renamed: readonly Renamed[];
}

/** Identity of a definition: SHA-256 over the canonical JSON of what a model or person decides by. */
export function fingerprint(tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return sha256(canonicalJson({ name, title, description, inputSchema, outputSchema, annotations }), 'hex');
}

/** The fingerprint is worked out when someone asks: listing 10,000 tools hashes none. */
function createEntry(id: string, server: string, origin: Origin, definition: Tool): ToolEntry {
  let known: string | undefined;
  return { id, server, tool: definition.name, definition, origin, get fingerprint() { return (known ??= fingerprint(definition)); } };
}

/** Builds the catalogue. Names come from `options` (naming, configured servers, roster) and do not depend on the order of `servers`. */
export function buildCatalogue(servers: readonly ServerTools[], options: NamingOptions = {}): Catalogue {
  const found: { server: string; origin: Origin; definition: Tool }[] = [];
  const dropped: (Dropped & { server: string })[] = [];
  for (const { server, origin, listing } of [...servers].sort((a, b) => (a.server < b.server ? -1 : a.server > b.server ? 1 : 0))) {
    const seen = new Set<string>();
    for (const drop of listing.dropped) dropped.push({ server, ...drop });
    for (const tool of listing.items) {
      if (seen.has(tool.name)) { dropped.push({ server, name: tool.name, reason: 'the server lists this name twice; the first one counts' }); continue; }
      seen.add(tool.name);
      const inputSchema = normalizeInputSchema(tool.inputSchema);
      found.push({ server, origin, definition: inputSchema === tool.inputSchema ? tool : { ...tool, inputSchema } });
    }
  }
  const { ids, renamed } = assignNames(found.map(({ server, definition }) => ({ server, tool: definition.name })), options);
  return { entries: found.map(({ server, origin, definition }, index) => createEntry(ids[index]!, server, origin, definition)), dropped, renamed };
}

export type Found =
  | { readonly kind: 'found'; readonly entry: ToolEntry }
  /** The words fit several tools: nothing is picked. */
  | { readonly kind: 'ambiguous'; readonly entries: readonly ToolEntry[] }
  | { readonly kind: 'none'; /** Wire ids close to the words, best first. */ readonly nearest: readonly string[] };

/** An exact wire id, else one of the other spellings. A near miss is suggested, never taken. */
export function findTool(words: string, entries: readonly ToolEntry[]): Found {
  const exact = entries.find((entry) => entry.id === words);
  if (exact !== undefined) return { kind: 'found', entry: exact };
  let fallback: ToolEntry[] = [];
  const raw: ToolEntry[] = [];
  for (const entry of entries) {
    const { plain, mcp, mcpCollapsed, dotted, slashed } = spellings(entry.server, entry.tool);
    if (words === dotted || words === slashed) raw.push(entry);
    else if (words === plain || words === mcp || words === mcpCollapsed) fallback.push(entry);
  }
  // What keeps the names as they are says more than what replaces characters.
  if (raw.length > 0) fallback = raw;
  if (fallback.length === 1) return { kind: 'found', entry: fallback[0]! };
  if (fallback.length > 1) return { kind: 'ambiguous', entries: fallback };
  const known = new Map<string, string>();
  for (const entry of entries) { known.set(entry.id, entry.id); known.set(`${entry.server}.${entry.tool}`, entry.id); }
  return { kind: 'none', nearest: [...new Set(nearest(words, known.keys(), 6).map((name) => known.get(name)!))].slice(0, 3) };
}
