/** The host: configuration, people and policy on one side, live servers on the other, the gate between them. */
import * as path from 'node:path';
import { isFailure, toFailure, Failure, type AnyFailure } from '../base/failure.ts';
import { silentLog } from '../base/log.ts';
import { redactPatterns } from '../base/redact.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { nearest } from '../base/text.ts';
import { version } from '../base/version.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import type { Answers } from '../mcp/types.ts';
import type { Interaction } from '../oauth/types.ts';
import type { Gate, GateOptions } from '../registry/gate.ts';
import { candidateServers } from '../registry/names.ts';
import type { ToolEntry } from '../registry/types.ts';
import { createProcessTrees } from '../transports/process-tree.ts';
import type { Admission } from './admission.ts';
import type { Audit } from './audit.ts';
import type { CatalogueCache } from './catalogue-cache.ts';
import { createConnect } from './connect.ts';
import { createEraStore } from './era-memory.ts';
import { createEvents } from './events.ts';
import { connectionIdentity } from './identity.ts';
import { createLiving, type Living } from './lease.ts';
import { createPool } from './pool.ts';
import { closedHost } from './server-failures.ts';
import type { GateWishes, Registry, SessionContext } from './session-context.ts';
import { createSignIns } from './sign-in.ts';
import { realTimers } from './timers.ts';
import { createToolNames } from './tool-names.ts';
import type { Host, HostOptions, Lease, LeaseOptions, Person, ServerRetry, Session, ToolListing } from './types.ts';

export function createHost(options: HostOptions): Host {
  const { config, person, paths, environment } = options;
  const log = options.log ?? silentLog, life = options.life ?? 'session', timers = options.timers ?? realTimers;
  const trees = createProcessTrees({ environment });
  const eras = createEraStore(paths.state);
  const names = createToolNames(paths.state, config.workspace, log);
  const signIns = createSignIns();
  const events = createEvents(log);
  const sessions = new Set<Session>();
  let closing: Promise<CloseReport> | undefined;

  const onRetry = (retry: ServerRetry): void => {
    const { server, attempt, tries, waitMs, failure } = retry;
    log({ level: 'info', event: 'retry', message: `The server "${server}" is tried again in ${waitMs} ms (try ${attempt + 1} of ${tries}): ${failure.message}`, fields: { server, attempt, waitMs } });
    options.onRetry?.(retry);
  };

  // Loaded while the first server starts: its process takes longer for that than reading our files does.
  let registry: Promise<Registry & { readonly gate: Gate }> | undefined, gate: Gate | undefined;
  const loadRegistry = (): Promise<Registry & { readonly gate: Gate }> => (registry ??= Promise.all([import('../registry/catalog.ts'), import('../registry/gate.ts'), admissionOf(), auditOf()]).then(([catalog, { createGate }, admission, audit]) => {
    gate = createGate({
      ...gateOptions(own()),
      ...(admission === undefined ? {} : { agentRules: admission.agent?.rules, agentMode: admission.agent?.permissionMode, admit: (entry) => admission.refusal(entry)?.failure }),
      ...(audit === undefined ? {} : { audit: audit.recorder({ session: 'host', agent: options.agent ?? '' }) }),
    });
    return { ...catalog, createGate, gate };
  }));
  /** Loaded where somebody asks for it only. */
  const locked = options.locked ?? config.lock === 'enforce';
  const admissionOf = async (): Promise<Admission | undefined> => (options.agent === undefined && !locked ? undefined : (await import('./admission.ts')).createAdmission(config, options));
  let audit: Promise<Audit | undefined> | undefined;
  const auditOf = (): Promise<Audit | undefined> => (audit ??= config.audit === undefined ? Promise.resolve(undefined) : import('./audit.ts').then(({ createAudit }) => createAudit(config.audit!, { redact: redactPatterns, log })));
  let cache: Promise<CatalogueCache> | undefined;
  const cacheOf = (): Promise<CatalogueCache> => (cache ??= import('./catalogue-cache.ts').then(({ createCatalogueCache }) => createCatalogueCache({ directory: paths.cache, workspace: config.workspace, environment, log })));

  const pool = createPool(startLiving, timers);
  let held: Lease | undefined;
  /** The servers of the host's own functions. */
  const own = (): Lease => (held ??= pool.lease({}));

  function startLiving(lease: LeaseOptions, holders: () => readonly LeaseOptions[]): Living {
    const configured = lease.config ?? config;
    const asked = (): Person | undefined => holders().find((holder) => holder.person !== undefined)?.person ?? person;
    const connect = createConnect({
      environment, workspace: configured.workspace, trees, log, life, clientInfo: { name: 'zuno-lite', version },
      answersFor: (entry) => lease.answers?.(entry) ?? answersOf(entry, asked),
      memoryFor: (entry) => eras.forIdentity(() => connectionIdentity(entry, configured.workspace)),
      data: paths.data, signIns, interactionFor: (entry) => interactionOf(entry, configured, asked()), identityFor: ({ name }) => options.identityFor?.(name), tap: options.tap,
      // What is wrong with it is told to whoever needs it.
      onStarted: () => void loadRegistry().catch(() => {}),
    });
    return createLiving({
      config: configured, connect, events, onRetry, clock: options.retryClock, waitingAt: signIns.waitingAt, names, loadRegistry, log,
      ...(life === 'one-shot' ? {} : { timers, background: { timers, cache: cacheOf } }),
    });
  }

  function gateOptions(lease: Lease, wishes: GateWishes = {}): GateOptions {
    const asked = wishes.person ?? person;
    return {
      permissions: wishes.permissions ?? lease.config.permissions,
      extraRules: [...options.rules ?? [], ...wishes.rules ?? []],
      assumeYes: options.assumeYes ?? false,
      caseInsensitive: process.platform === 'win32',
      home: paths.home,
      servers: [...lease.config.servers.keys()],
      ...(asked?.approve === undefined ? {} : { approve: (approval) => asked.approve!(approval) }),
      ruleFile: path.join(paths.config, 'zuno.json'),
      async invoke(permit, take) {
        const { entry, args, options: call } = take(permit);
        const { client, redact } = await lease.connections.open(entry.server, call.signal);
        try {
          return await client.callTool(entry.tool, args, { signal: call.signal, onProgress: call.onProgress, input: call.input });
        } catch (error) {
          throw isFailure(error) ? redactFailure(error, redact) : error;
        }
      },
    };
  }

  /** Declared is what can be answered when the server is connected; who answers is looked up when it asks. */
  function answersOf(entry: ServerEntry, asked: () => Person | undefined): Answers {
    const now = asked();
    return {
      ...(now?.answer === undefined ? {} : { elicit: (request, signal) => asked()?.answer?.(entry.name, request, signal) ?? Promise.resolve({ action: 'cancel' }), elicitModes: now.modes ?? (['form', 'url'] as const) }),
      ...(options.roots === undefined ? {} : { roots: options.roots }),
    };
  }

  async function listTools(servers?: readonly string[], signal?: AbortSignal): Promise<ToolListing> {
    const wanted = servers ?? [...config.servers.values()].filter((entry) => entry.enabled && config.mcpEnabled).map((entry) => entry.name);
    const failures: { server: string; failure: AnyFailure }[] = [];
    const { catalogue } = own();
    const found = await Promise.all(wanted.map(async (server) => {
      try {
        const listing = await catalogue.listing(server, signal);
        return { server, origin: config.servers.get(server)!.origin, listing };
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
    const { connections } = own();
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
    // The roster remembers names of tools that are gone; of a server that was just asked it suggests none.
    const remembered = Object.entries(roster.toJSON().names).filter(([, [server]]) => !candidates.includes(server)).map(([id]) => id);
    throw unknownTool(words, close.length > 0 ? close : nearest(words, [...remembered, ...known]), candidates);
  }

  const context = async (): Promise<SessionContext> => ({
    config, paths, log, environment, life, person, rules: options.rules ?? [], assumeYes: options.assumeYes ?? false, locked,
    ruleFile: path.join(paths.config, 'zuno.json'), audit: await auditOf(), lease: (wished = {}) => pool.lease(wished), loadRegistry, gateOptions,
  });

  return {
    config,
    status: () => own().connections.status(),
    open: (server, signal) => own().connections.open(server, signal),
    ask: (server, question, signal) => own().ask(server, question, signal),
    listTools,
    findTool: find,
    decide(entry) {
      if (gate === undefined) throw new TypeError('An entry of this host is needed: list the tools first');
      return gate.decide(entry);
    },
    call: async (entry, args, call) => (await loadRegistry()).gate.call(entry, args, call ?? {}),
    lease: (wished = {}) => pool.lease(wished),
    async gated(lease, wished = {}) {
      const [{ createGated }, given] = await Promise.all([import('./gated.ts'), context()]);
      return createGated(given, lease, wished);
    },
    async session(wished = {}) {
      if (closing !== undefined) throw closedHost('');
      const [{ createSession }, given] = await Promise.all([import('./session.ts'), context()]);
      const session = await createSession(given, wished);
      const { close } = session;
      const kept: Session = { ...session, close: () => { sessions.delete(kept); return close(); } };
      sessions.add(kept);
      return kept;
    },
    on: events.on,
    close: () => (closing ??= shutDown()),
    killSync: () => trees.killAllSync(),
  };

  async function shutDown(): Promise<CloseReport> {
    signIns.close();
    await Promise.all([...sessions].map((session) => session.close()));
    const report = await pool.close();
    await Promise.all([eras.save(), names.save(), audit?.then((one) => one?.close())]);
    await trees.close();
    return report;
  }
}

/** Nobody is sent to an address that a checkout chose just because a server of it was needed: that takes "mcp auth". */
function interactionOf({ origin }: ServerEntry, config: Config, person: Person | undefined): Interaction {
  const trusted = config.layers.find(({ source }) => source === origin.file)?.trusted !== false;
  return person?.visit === undefined || !trusted ? { mode: 'none' } : { mode: 'surface', visit: (visit, signal) => person.visit!(visit, signal) };
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
