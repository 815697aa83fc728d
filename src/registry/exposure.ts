/**
 * Which of the tools that passed the gates one request shows, and which wait for a search. Decides what is shown, never what may be called.
 * What somebody picked by name is shown outside the budget; the rest is looked at server by server in name order, and a server's
 * tools are taken together or not at all, so that a model never sees half of a service without knowing it.
 */
import { plainId } from './names.ts';
import { offeredDescription } from './native-tools.ts';
import type { NativeToolId } from './native-tools.ts';
import type { ExposureMode, ExposurePolicy, Standing, ToolEntry } from './types.ts';

export interface ExposureInput {
  /** Those that passed the gates, in catalogue order. */
  readonly entries: readonly ToolEntry[];
  readonly policy: ExposurePolicy;
  /** Wire ids that an agent or session lists by name. */
  readonly pinned?: ReadonlySet<string>;
  /** Servers that are an explicit contract, for instance those an ACP client brought: shown whole. */
  readonly forcedEager?: ReadonlySet<string>;
  /** False: there is no `tool_search`, so nothing may wait for it. */
  readonly discovery: boolean;
  /** Wire ids that earlier searches found. */
  readonly found?: ReadonlySet<string>;
}

export type Exposure = NonNullable<Standing['exposure']>;
export interface PlannedTool { readonly id: string; readonly server: string; /** UTF-8 bytes of input schema, id and description. */ readonly schemaBytes: number; readonly exposure: Exposure }

export interface ExposurePlan {
  /** Shown, in catalogue order. */
  readonly eager: readonly ToolEntry[];
  readonly deferred: readonly ToolEntry[];
  /** What searches look through: deferred ones, those found before included. Does not shrink as searches find, so neither does the search tool's text. */
  readonly searchable: readonly ToolEntry[];
  readonly discoveryAvailable: boolean;
  /** In the order of the entries. Put together when someone asks. */
  readonly tools: readonly PlannedTool[];
}

export interface ExposurePlanner {
  plan(input: ExposureInput): ExposurePlan;
  schemaBytes(entry: ToolEntry): number;
}

/** What a provider is told of a tool, in bytes. */
function schemaBytesOf({ id, definition }: ToolEntry): number {
  return Buffer.byteLength(JSON.stringify(definition.inputSchema)) + Buffer.byteLength(id) + Buffer.byteLength(offeredDescription(definition));
}

/** Remembers the size of every entry it has seen, for as long as the entry lives. */
export function createExposure(): ExposurePlanner {
  const sizes = new WeakMap<ToolEntry, number>();
  const schemaBytes = (entry: ToolEntry): number => {
    let size = sizes.get(entry);
    if (size === undefined) sizes.set(entry, (size = schemaBytesOf(entry)));
    return size;
  };
  return { plan: (input) => planExposure(input, schemaBytes), schemaBytes };
}

export function planExposure(input: ExposureInput, schemaBytes: (entry: ToolEntry) => number = schemaBytesOf): ExposurePlan {
  const { entries, discovery, pinned, found } = input;
  const services = discovery ? planServices(input, schemaBytes) : undefined;
  const eager: ToolEntry[] = [], deferred: ToolEntry[] = [], searchable: ToolEntry[] = [];
  const exposures = entries.map((entry): Exposure => {
    const { id, server } = entry;
    let exposure: Exposure = pinned?.has(id) === true ? 'pinned' : services?.get(server) ?? 'eager';
    if (exposure === 'deferred') {
      searchable.push(entry);
      if (found?.has(id) === true) exposure = 'found';
    }
    (exposure === 'deferred' ? deferred : eager).push(entry);
    return exposure;
  });
  let tools: readonly PlannedTool[] | undefined;
  const describe = (entry: ToolEntry, index: number): PlannedTool => ({ id: entry.id, server: entry.server, exposure: exposures[index]!, get schemaBytes() { return schemaBytes(entry); } });
  return { eager, deferred, searchable, discoveryAvailable: discovery, get tools() { return (tools ??= entries.map(describe)); } };
}

/** What becomes of the tools of each server that nobody picked by name. */
function planServices({ entries, policy, pinned, forcedEager }: ExposureInput, schemaBytes: (entry: ToolEntry) => number): ReadonlyMap<string, Exposure> {
  const groups = new Map<string, ToolEntry[]>();
  for (const entry of entries) {
    if (pinned?.has(entry.id) === true) continue;
    const group = groups.get(entry.server);
    if (group === undefined) groups.set(entry.server, [entry]); else group.push(entry);
  }
  const plan = new Map<string, Exposure>();
  let toolsLeft = policy.autoToolLimit, bytesLeft = policy.autoSchemaBytes;
  for (const [server, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const mode = forcedEager?.has(server) === true ? 'eager' : modeOf(policy, server);
    if (mode === 'auto' && group.length <= policy.smallServerToolLimit && group.length <= toolsLeft) {
      const bytes = group.reduce((sum, entry) => sum + schemaBytes(entry), 0);
      if (bytes <= bytesLeft) {
        toolsLeft -= group.length;
        bytesLeft -= bytes;
        plan.set(server, 'auto');
        continue;
      }
    }
    plan.set(server, mode === 'eager' ? 'eager' : 'deferred');
  }
  return plan;
}

function modeOf({ mode, servers }: ExposurePolicy, server: string): ExposureMode {
  return Object.hasOwn(servers, server) ? servers[server]! : mode;
}

/** The tool of a server that would be called `tool_search`: with it there, ours steps back and everything is shown. */
export function rivalOfSearch(entries: readonly ToolEntry[]): ToolEntry | undefined {
  // A plain id is as long as its two names together; the other spelling begins with `mcp__` and can never be it.
  return entries.find(({ server, tool }) => server.length + tool.length + 1 === SEARCH.length && plainId(server, tool) === SEARCH);
}

const SEARCH: NativeToolId = 'tool_search';
