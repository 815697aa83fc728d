/** The host: configuration, people and policy on one side, connected servers on the other, the gate between them. */
import * as path from 'node:path';
import { now } from '../base/deadline.ts';
import { Failure, isFailure, toFailure, withContext, type AnyFailure } from '../base/failure.ts';
import { silentLog } from '../base/log.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { nearest } from '../base/text.ts';
import type { ServerEntry } from '../config/types.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import type { Answers, Listing, Tool } from '../mcp/types.ts';
import type { Gate, GateOptions } from '../registry/gate.ts';
import { candidateServers } from '../registry/names.ts';
import type { ToolEntry } from '../registry/types.ts';
import { createProcessTrees } from '../transports/process-tree.ts';
import { createConnect } from './connect.ts';
import { contextOf, createConnections } from './connections.ts';
import { createEraStore } from './era-memory.ts';
import { connectionIdentity } from './identity.ts';
import { isPassing, withRetries } from './recovery.ts';
import { createSignIns } from './sign-in.ts';
import { createToolNames } from './tool-names.ts';
import type { Interaction } from '../oauth/types.ts';
import type { Host, HostOptions, OpenServer, ServerRetry, ToolListing } from './types.ts';
import { version } from '../base/version.ts';

type Registry = Pick<typeof import('../registry/catalog.ts'), 'buildCatalogue' | 'findTool'> & { readonly gate: Gate };

/** The tools behind one connection, as far as they are known. */
interface Note { readonly opened: OpenServer; listing: Listing<Tool> | undefined; changes: number }

export function createHost(options: HostOptions): Host {
  const { config, person } = options;
  const log = options.log ?? silentLog;
  const trees = createProcessTrees({ environment: options.environment });
  const eras = createEraStore(options.paths.state);
  const names = createToolNames(options.paths.state, config.workspace, log);
  const listings = new Map<string, Note>();
  const signIns = createSignIns();
  let closing: Promise<CloseReport> | undefined;

  const connect = createConnect({
    environment: options.environment, workspace: config.workspace, trees, log, life: options.life ?? 'session',
    clientInfo: { name: 'zuno-lite', version }, answersFor, memoryFor: (entry) => eras.forIdentity(() => connectionIdentity(entry, config.workspace)),
    data: options.paths.data, signIns, interactionFor, identityFor: ({ name }) => options.identityFor?.(name),
    onStarted: () => void loadRegistry(),
  });
  const onRetry = (retry: ServerRetry): void => {
    const { server, attempt, tries, waitMs, failure } = retry;
    log({ level: 'info', event: 'retry', message: `The server "${server}" is tried again in ${waitMs} ms (try ${attempt + 1} of ${tries}): ${failure.message}`, fields: { server, attempt, waitMs } });
    options.onRetry?.(retry);
  };
  const connections = createConnections(config, connect, { onRetry, clock: options.retryClock, waitingAt: signIns.waitingAt });

  // Loaded while the first server starts: its process takes longer for that than reading our files does.
  let registry: Promise<Registry> | undefined, gate: Gate | undefined;
  const loadRegistry = (): Promise<Registry> => (registry ??= Promise.all([import('../registry/catalog.ts'), import('../registry/gate.ts')]).then(([catalog, { createGate }]) => {
    gate = createGate(gateOptions());
    return { ...catalog, gate };
  }));
  const gateOptions = (): GateOptions => ({
    permissions: config.permissions,
    extraRules: options.rules ?? [],
    assumeYes: options.assumeYes ?? false,
    caseInsensitive: process.platform === 'win32',
    home: options.paths.home,
    servers: [...config.servers.keys()],
    ...(person?.approve === undefined ? {} : { approve: (approval) => person.approve!(approval) }),
    ruleFile: path.join(options.paths.config, 'zuno.json'),
    async invoke(permit, take) {
      const { entry, args, options: call } = take(permit);
      const { client, redact } = await connections.open(entry.server, call.signal);
      try {
        return await client.callTool(entry.tool, args, { signal: call.signal, onProgress: call.onProgress });
      } catch (error) {
        throw isFailure(error) ? redactFailure(error, redact) : error;
      }
    },
  });

  function answersFor(entry: ServerEntry): Answers {
    return {
      ...(person?.answer === undefined ? {} : { elicit: (request, signal) => person.answer!(entry.name, request, signal), elicitModes: person.modes ?? (['form', 'url'] as const) }),
      ...(options.roots === undefined ? {} : { roots: options.roots }),
    };
  }

  /** Nobody is sent to an address that a checkout chose just because a server of it was needed: that takes "mcp auth". */
  function interactionFor({ origin }: ServerEntry): Interaction {
    const trusted = config.layers.find(({ source }) => source === origin.file)?.trusted !== false;
    return person?.visit === undefined || !trusted ? { mode: 'none' } : { mode: 'surface', visit: (visit, signal) => person.visit!(visit, signal) };
  }

  /** What is known of the tools behind one connection; a change that it tells makes us forget. */
  function noteOf(server: string, opened: OpenServer): Note {
    const known = listings.get(server);
    if (known?.opened === opened) return known;
    const fresh: Note = { opened, listing: undefined, changes: 0 };
    listings.set(server, fresh);
    opened.client.on((event) => {
      if (event.kind !== 'list_changed' || event.list !== 'tools') return;
      fresh.listing = undefined;
      fresh.changes += 1;
    });
    // Modern servers tell of changes only who asks for it. One command does not live long enough to hear of any.
    const { client } = opened;
    if (options.life !== 'one-shot' && client.era === 'modern' && client.capabilities.tools?.listChanged === true) {
      client.watch({ lists: ['tools'] }).catch((error: unknown) => log({ level: 'info', event: 'host.watch', message: `Changes of the tools of "${server}" will not be noticed: ${toFailure(error).message}`, fields: { server } }));
    }
    return fresh;
  }

  /** The list of one server, asked once per connection and again after it said that the list changed. */
  async function listingOf(server: string, signal?: AbortSignal): Promise<Listing<Tool>> {
    const opened = await connections.open(server, signal);
    const known = noteOf(server, opened);
    if (known.listing !== undefined) return known.listing;
    const startedAt = now();
    try {
      const { connectMs, requestMs } = opened.entry.timeouts;
      return await reading(opened, async (asked) => {
        const note = noteOf(server, asked), { changes } = note;
        const listing = await asked.client.listTools({ signal, timeoutMs: Math.max(requestMs, connectMs - spentOn(asked)) });
        connections.noteTools(server, listing.items.length, now() - startedAt);
        // Told of a change while it was read, the list may be the old one: the next look asks again.
        if (note.changes === changes) note.listing = listing;
        return listing;
      }, signal);
    } catch (error) {
      const failure = withContext(redactFailure(toFailure(error, 'list'), opened.redact), contextOf(opened.entry));
      connections.noteFailure(server, failure);
      throw failure;
    }
  }

  /** Asks again where the trouble passes; over a new connection if the old one is gone. Connecting has tries of its own. */
  function reading<T>(first: OpenServer, question: (opened: OpenServer) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (first.entry.kind === 'local') return question(first);
    const { name } = first.entry;
    let asking = false;
    return withRetries(async (attempt) => {
      asking = false;
      const opened = attempt === 1 ? first : await connections.open(name, signal);
      asking = true;
      return question(opened);
    }, { ...options.retryClock, signal, may: (failure) => asking && isPassing(failure), onRetry: (retry) => onRetry({ server: name, ...retry }) });
  }

  async function ask<T>(server: string, question: Parameters<typeof reading<T>>[1], signal?: AbortSignal): Promise<T> {
    const opened = await connections.open(server, signal);
    try {
      return await reading(opened, question, signal);
    } catch (error) {
      throw withContext(redactFailure(toFailure(error, 'call'), opened.redact), contextOf(opened.entry));
    }
  }

  async function listTools(servers?: readonly string[], signal?: AbortSignal): Promise<ToolListing> {
    const wanted = servers ?? [...config.servers.values()].filter((entry) => entry.enabled && config.mcpEnabled).map((entry) => entry.name);
    const failures: { server: string; failure: AnyFailure }[] = [];
    const found = await Promise.all(wanted.map(async (server) => {
      try {
        return { server, origin: config.servers.get(server)!.origin, listing: await listingOf(server, signal) };
      } catch (error) {
        failures.push({ server, failure: toFailure(error, 'list') });
        return undefined;
      }
    }));
    const [roster, { buildCatalogue }] = await Promise.all([names.roster(), loadRegistry()]);
    const { entries, dropped, renamed } = buildCatalogue(found.filter((one) => one !== undefined), { naming: config.naming, servers: config.servers.keys(), roster });
    return { entries, dropped, renamed, failures: failures.sort((a, b) => (a.server < b.server ? -1 : 1)) };
  }

  async function find(words: string, signal?: AbortSignal): Promise<ToolEntry> {
    const known = [...config.servers.keys()];
    // The words may say it alone; then its process need not wait for what we read.
    const named = known.find((server) => words.startsWith(`${server}.`) || words.startsWith(`${server}/`));
    if (named !== undefined) {
      connections.open(named, signal).catch(() => {});
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    const roster = await names.roster();
    const candidates = candidateServers(words, known, roster);
    let close: readonly string[] = [], firstFailure: AnyFailure | undefined;
    for (const server of candidates) {
      const { entries, failures } = await listTools([server], signal);
      firstFailure ??= failures[0]?.failure;
      const result = (await loadRegistry()).findTool(words, entries);
      if (result.kind === 'found') return result.entry;
      if (result.kind === 'ambiguous') throw ambiguous(words, result.entries);
      close = [...close, ...result.nearest];
    }
    // The words may begin with a server that the configuration lost: its fault is what has to be mended.
    const lost = candidates.length === 0 ? config.diagnostics.find(({ server, severity }) => severity === 'error' && server !== undefined && [`${server}.`, `${server}/`, `${server}_`].some((head) => words.startsWith(head))) : undefined;
    if (lost?.server !== undefined) await connections.open(lost.server, signal);
    // A server that might have had it could not be asked: that is what has to be mended, not the words.
    if (firstFailure !== undefined) throw firstFailure;
    throw unknownTool(words, close.length > 0 ? close : nearest(words, [...Object.keys(roster.toJSON().names), ...known]), candidates);
  }

  return {
    config,
    status: connections.status,
    open: connections.open,
    ask,
    listTools,
    findTool: find,
    decide(entry) {
      if (gate === undefined) throw new TypeError('An entry of this host is needed: list the tools first');
      return gate.decide(entry);
    },
    call: async (entry, args, call) => (await loadRegistry()).gate.call(entry, args, call ?? {}),
    close: () => (closing ??= shutDown()),
    killSync: () => trees.killAllSync(),
  };

  async function shutDown(): Promise<CloseReport> {
    signIns.close();
    const report = await connections.close();
    await Promise.all([eras.save(), names.save()]);
    await trees.close();
    return report;
  }
}

function spentOn(opened: OpenServer): number {
  return opened.timings.find((timing) => timing.stage === 'connect')?.ms ?? 0;
}

function ambiguous(words: string, entries: readonly ToolEntry[]): AnyFailure {
  const ids = entries.map((entry) => entry.id);
  return new Failure('TOOL_UNKNOWN', `Cannot tell which tool "${words}" means: it fits ${ids.join(', ')}`, { stage: 'usage', details: { tool: words, nearest: ids }, hint: `zuno-lite call ${ids[0] ?? 'TOOL'}` }) as AnyFailure;
}

function unknownTool(words: string, close: readonly string[], candidates: readonly string[]): AnyFailure {
  const where = candidates.length === 0 ? 'no configured server has a name that it starts with' : `${candidates.map((name) => `"${name}"`).join(' and ')} ${candidates.length === 1 ? 'has' : 'have'} no such tool`;
  return new Failure('TOOL_UNKNOWN', `Cannot find the tool "${words}": ${where}${close.length > 0 ? `; did you mean ${close.join(' or ')}?` : ''}`, {
    stage: 'usage', details: { tool: words, nearest: close }, hint: candidates.length === 1 ? `zuno-lite tools ${candidates[0]}` : 'zuno-lite tools',
  }) as AnyFailure;
}
