/**
 * What all servers offer, as far as it is known: each list is asked once per connection and again when its server says that it changed, and
 * comes from the disk before the server runs. A list that cannot be read again keeps its last state. Whoever looks gets a frozen view; news
 * make the next one.
 */
import { now } from '../base/deadline.ts';
import { toFailure, withContext, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { redactFailure } from '../base/redact-failure.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { Listing, ListKind, Tool } from '../mcp/types.ts';
import type { CatalogueCache } from './catalogue-cache.ts';
import type { Events } from './events.ts';
import { connectionIdentity } from './identity.ts';
import { contextOf } from './server-failures.ts';
import type { Timers } from './timers.ts';
import type { ToolNames } from './tool-names.ts';
import type { Catalogue, CatalogueView, Connections, OpenServer, ServerLists } from './types.ts';

export interface CatalogueOptions {
  readonly connections: Connections;
  readonly events: Events;
  readonly names: ToolNames;
  readonly loadRegistry: () => Promise<Pick<typeof import('../registry/catalog.ts'), 'buildCatalogue'>>;
  /** Asks over this connection, or a fresh one where that broke; changes nothing. */
  readonly reading: <T>(first: OpenServer, question: (opened: OpenServer) => Promise<T>, signal?: AbortSignal) => Promise<T>;
  readonly log: Log;
  /** Follows changes in the background and keeps the lists on disk. Absent in a run of one command. */
  readonly background?: { readonly timers: Timers; readonly cache: () => Promise<CatalogueCache> } | undefined;
}

/** What is known of one server. */
interface Known {
  lists: ServerLists | undefined;
  /** The connection that `lists` came from, while it is the current one and nothing changed since. */
  current: OpenServer | undefined;
  watched: OpenServer | undefined;
  changes: number;
  cancelRefresh: (() => void) | undefined;
}

export function createCatalogue(options: CatalogueOptions): Catalogue & { close(): Promise<void> } {
  const { connections, events, names, log, background } = options;
  const known = new Map<string, Known>();
  const writing = new Set<Promise<void>>();
  let revision = 0, closed = false, cached: Promise<void> | undefined;
  let seen = connections.config();
  let built: { readonly revision: number; readonly view: Omit<CatalogueView, 'failures'> } | undefined;

  /** The names of the servers that are on. What is known of one whose entry was replaced by another is forgotten. */
  function enabled(config: Config): string[] {
    if (config !== seen) {
      for (const [name, note] of known) if (!sameServer(seen.servers.get(name), config.servers.get(name), config.workspace)) { note.cancelRefresh?.(); known.delete(name); }
      seen = config;
      cached = undefined;
      revision += 1;
    }
    return config.mcpEnabled ? [...config.servers.values()].filter((entry) => entry.enabled).map(({ name }) => name) : [];
  }
  function knownOf(server: string): Known {
    let found = known.get(server);
    if (found === undefined) known.set(server, (found = { lists: undefined, current: undefined, watched: undefined, changes: 0, cancelRefresh: undefined }));
    return found;
  }

  function learn(server: string, lists: ServerLists): void {
    knownOf(server).lists = lists;
    revision += 1;
    events.emit({ kind: 'catalogue', revision });
  }

  /** What was known when the last run ended, for servers that nothing better is known of. */
  async function loadCached(): Promise<void> {
    if (background === undefined) return;
    const cache = await background.cache(), config = connections.config();
    for (const name of enabled(config)) {
      if (knownOf(name).lists !== undefined) continue;
      const lists = cache.read(config.servers.get(name)!);
      if (lists !== undefined) learn(name, lists);
    }
  }

  /** Hears what this connection tells of changes; modern servers tell only who asks. */
  function watch(server: string, opened: OpenServer): void {
    const note = knownOf(server);
    if (note.watched === opened) return;
    note.watched = opened;
    const { client } = opened;
    client.on((event) => {
      if (note.watched !== opened) return;
      if (event.kind === 'resource_updated') events.emit({ kind: 'resource_updated', server, uri: event.uri });
      if (event.kind !== 'list_changed') return;
      events.emit({ kind: 'list_changed', server, list: event.list });
      if (event.list === 'tools') changed(server, note);
    });
    if (background === undefined || client.era !== 'modern') return;
    const lists = (['tools', 'resources', 'prompts'] as const satisfies readonly ListKind[]).filter((list) => client.capabilities[list]?.listChanged === true);
    if (lists.length === 0) return;
    client.watch({ lists }).catch((error: unknown) => log({ level: 'info', event: 'host.watch', message: `Changes of the lists of "${server}" will not be noticed: ${toFailure(error).message}`, fields: { server } }));
  }

  function changed(server: string, note: Known): void {
    note.changes += 1;
    note.current = undefined;
    if (background === undefined || closed) return;
    note.cancelRefresh?.();
    note.cancelRefresh = background.timers.after(limits.listChangedMs, () => {
      note.cancelRefresh = undefined;
      if (closed || connections.peek(server) === undefined) return;
      listing(server).catch((error: unknown) => log({ level: 'warning', event: 'catalogue.stale', message: `The tools of "${server}" changed and could not be read again, so the old list stays: ${toFailure(error).message}`, fields: { server } }));
    });
  }

  async function listing(server: string, signal?: AbortSignal): Promise<Listing<Tool>> {
    const opened = await connections.open(server, signal), note = knownOf(server);
    watch(server, opened);
    if (note.current === opened && note.lists !== undefined) return note.lists.tools;
    const startedAt = now();
    try {
      const { connectMs, requestMs } = opened.entry.timeouts;
      return await options.reading(opened, async (asked) => {
        watch(server, asked);
        const { changes } = note;
        const tools = await asked.client.listTools({ signal, timeoutMs: Math.max(requestMs, connectMs - spentOn(asked)) });
        connections.noteTools(server, tools.items.length, now() - startedAt);
        // Told of a change while it was read, the list may be the old one: the next look asks again.
        // What came of a connection that was replaced meanwhile tells nothing of the new one.
        if (connections.peek(server) !== asked) return tools;
        if (note.changes === changes) note.current = asked;
        const { serverInfo, capabilities, instructions } = asked.client;
        learn(server, {
          server, origin: asked.entry.origin, from: 'live', tools, resources: capabilities.resources !== undefined, prompts: capabilities.prompts !== undefined,
          ...(serverInfo?.title === undefined ? {} : { title: serverInfo.title }), ...(instructions === undefined ? {} : { instructions }),
        });
        keep(tools, asked);
        return tools;
      }, signal);
    } catch (error) {
      const failure = withContext(redactFailure(toFailure(error, 'list'), opened.redact), contextOf(opened.entry));
      connections.noteFailure(server, failure);
      throw failure;
    }
  }

  function keep(tools: Listing<Tool>, asked: OpenServer): void {
    if (background === undefined || closed) return;
    const work: Promise<void> = background.cache().then((cache) => cache.write(asked.entry, tools, asked)).finally(() => { writing.delete(work); });
    writing.add(work);
  }

  /** Once per table. */
  function ready(): Promise<void> {
    enabled(connections.config());
    return (cached ??= loadCached());
  }

  async function view(): Promise<CatalogueView> {
    await ready();
    const config = connections.config();
    if (built?.revision !== revision) {
      const [roster, { buildCatalogue }] = await Promise.all([names.roster(), options.loadRegistry()]);
      const at = revision, servers = new Map(enabled(config).flatMap((name) => { const lists = known.get(name)?.lists; return lists === undefined ? [] : [[name, lists] as const]; }));
      const { entries, dropped, renamed } = buildCatalogue([...servers.values()].map(({ server, origin, tools }) => ({ server, origin, listing: tools })), { naming: config.naming, servers: config.servers.keys(), roster });
      built = { revision: at, view: { revision: at, entries, servers, dropped, renamed } };
      // A process that is killed has not said good-bye; a name must stay with its tool all the same.
      if (background !== undefined) void names.save();
    }
    const failures: { server: string; failure: AnyFailure }[] = connections.status().flatMap(({ name, state, failure }) => (failure === undefined || state === 'disabled' || built!.view.servers.has(name) ? [] : [{ server: name, failure }]));
    return { ...built.view, failures };
  }

  return {
    view, listing,
    async settle(signal) {
      await ready();
      const stopped = new Set(connections.status().filter(({ state }) => state === 'disconnected').map(({ name }) => name));
      const asking = Promise.all(enabled(connections.config()).filter((name) => known.get(name)?.lists === undefined && !stopped.has(name)).map((name) => listing(name).then(() => {}, () => {})));
      await (signal === undefined ? asking : untilAborted(asking, signal));
    },
    async close() {
      closed = true;
      for (const note of known.values()) note.cancelRefresh?.();
      await Promise.all(writing);
    },
  };
}

/** By what connects us: a changed time limit makes no other server. */
function sameServer(before: ServerEntry | undefined, after: ServerEntry | undefined, workspace: string): boolean {
  return before === after || (before !== undefined && after !== undefined && connectionIdentity(before, workspace) === connectionIdentity(after, workspace));
}

function spentOn(opened: OpenServer): number {
  return opened.timings.find((timing) => timing.stage === 'connect')?.ms ?? 0;
}

function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) { resolve(); return; }
    const done = (): void => { signal.removeEventListener('abort', done); resolve(); };
    signal.addEventListener('abort', done, { once: true });
    void work.then(done, done);
  });
}
