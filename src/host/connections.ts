/**
 * The life of every configured server: opened on first need, at most so many lifecycle operations at once, one at a time per
 * server, requests for the same server join. A late result of an attempt that was given up is closed, never installed. One
 * bad server costs only itself.
 */
import { setMaxListeners } from 'node:events';
import { now } from '../base/deadline.ts';
import { Failure, toFailure, withContext, type AnyFailure, type Stage } from '../base/failure.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { nearest } from '../base/text.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { failureKind } from './failure-kinds.ts';
import { isPassing, withRetries, type RetryClock } from './recovery.ts';
import { createSemaphore } from './semaphore.ts';
import type { Attempt, OpenServer, ServerRetry, ServerState, ServerStatus, Timing, Waiting } from './types.ts';

/** Starts or reaches one server: the composition root. An attempt is told when it begins and goes on being filled in. */
export type Connect = (entry: ServerEntry, observe: { readonly signal: AbortSignal; readonly onStage: (stage: Stage, ms: number) => void; readonly onAttempt: (attempt: Attempt) => void }) => Promise<Pick<OpenServer, 'client' | 'process' | 'redact'>>;

export interface Connections {
  open(server: string, signal?: AbortSignal): Promise<OpenServer>;
  status(): readonly ServerStatus[];
  /** What listing found belongs to a server's status too. */
  noteTools(server: string, count: number, ms: number): void;
  noteFailure(server: string, failure: AnyFailure): void;
  close(): Promise<CloseReport>;
}

interface Slot {
  readonly entry: ServerEntry;
  state: ServerState;
  opening: Promise<OpenServer> | undefined;
  open: OpenServer | undefined;
  failure: AnyFailure | undefined;
  wasConnected: boolean;
  toolCount: number | undefined;
  timings: Timing[];
  attempts: Attempt[];
  updatedAt: number;
}

export function createConnections(config: Config, connect: Connect, retrying: { readonly onRetry?: ((retry: ServerRetry) => void) | undefined; readonly clock?: RetryClock | undefined; readonly waitingAt?: ((server: string) => Waiting | undefined) | undefined } = {}): Connections {
  const operations = createSemaphore(config.concurrency.connections);
  const stopping = new AbortController();
  // Every attempt listens, and there are as many as there are servers: no leak that Node should warn of.
  setMaxListeners(0, stopping.signal);
  let closing: Promise<CloseReport> | undefined;
  const slots = new Map<string, Slot>();
  for (const entry of config.servers.values()) {
    slots.set(entry.name, { entry, state: entry.enabled && config.mcpEnabled ? 'idle' : 'disabled', opening: undefined, open: undefined, failure: undefined, wasConnected: false, toolCount: undefined, timings: [], attempts: [], updatedAt: Date.now() });
  }

  function move(slot: Slot, state: ServerState, failure?: AnyFailure): void {
    slot.state = state;
    slot.failure = failure;
    slot.updatedAt = Date.now();
  }

  function open(server: string, signal?: AbortSignal): Promise<OpenServer> {
    const slot = slots.get(server);
    if (slot === undefined) return Promise.reject(unknownServer(server, config));
    if (slot.state === 'disabled') return Promise.reject(disabledServer(slot.entry, config));
    if (closing !== undefined) return Promise.reject(closed(server));
    if (slot.open !== undefined) return Promise.resolve(slot.open);
    slot.opening ??= reach(slot).finally(() => { slot.opening = undefined; });
    return signal === undefined ? slot.opening : patience(slot.opening, signal, slot.entry);
  }

  /** A program that does not start will not start by itself; a server on the network may. Nobody's place is held while it waits. */
  function reach(slot: Slot): Promise<OpenServer> {
    slot.attempts = [];
    const { kind, name, timeouts } = slot.entry;
    if (kind === 'local') return operations.run(() => start(slot));
    let began = Infinity;
    return withRetries(() => operations.run(() => { began = Math.min(began, now()); return start(slot); }), {
      ...retrying.clock, signal: stopping.signal, onRetry: (retry) => retrying.onRetry?.({ server: name, ...retry }),
      may: (failure) => isPassing(failure) && now() - began < timeouts.connectMs,
    });
  }

  async function start(slot: Slot): Promise<OpenServer> {
    if (stopping.signal.aborted) throw closed(slot.entry.name);
    move(slot, 'connecting');
    const timings: Timing[] = [];
    slot.timings = timings;
    const startedAt = now();
    try {
      const made = await connect(slot.entry, { signal: stopping.signal, onStage: (stage, ms) => timings.push({ stage, ms }), onAttempt: (attempt) => slot.attempts.push(attempt) });
      const opened: OpenServer = { entry: slot.entry, timings, attempts: slot.attempts, ...made };
      if (stopping.signal.aborted) {
        await made.client.close();
        throw closed(slot.entry.name);
      }
      slot.open = opened;
      slot.wasConnected = true;
      move(slot, 'connected');
      timings.push({ stage: 'connect', ms: now() - startedAt });
      void made.client.closed.then((reason) => {
        if (slot.open !== opened) return;
        slot.open = undefined;
        move(slot, 'disconnected', withContext(redactFailure(reason, made.redact), contextOf(slot.entry)));
      });
      return opened;
    } catch (error) {
      const failure = withContext(toFailure(error, 'connect'), contextOf(slot.entry));
      move(slot, 'failed', failure);
      throw failure;
    }
  }

  return {
    open,
    status: () => [...slots.values()].map((slot) => statusOf(slot, retrying.waitingAt)),
    noteTools(server, count, ms) {
      const slot = slots.get(server);
      if (slot === undefined) return;
      slot.toolCount = count;
      slot.timings.push({ stage: 'list', ms });
    },
    noteFailure(server, failure) {
      const slot = slots.get(server);
      if (slot !== undefined) { slot.failure = failure; slot.updatedAt = Date.now(); }
    },
    close: () => (closing ??= closeAll()),
  };

  async function closeAll(): Promise<CloseReport> {
    stopping.abort();
    await Promise.allSettled([...slots.values()].map((slot) => slot.opening));
    const reports = await Promise.all([...slots.values()].map(async (slot) => {
      const opened = slot.open;
      slot.open = undefined;
      if (opened === undefined) return [];
      move(slot, 'disconnected');
      const report = await opened.client.close();
      return report.forced.map((what) => `${slot.entry.name}: ${what}`);
    }));
    return { forced: reports.flat() };
  }
}

export function contextOf(entry: ServerEntry): { readonly origin: ServerEntry['origin']; readonly hint: string } {
  return { origin: entry.origin, hint: `zuno-lite mcp debug ${entry.name}` };
}

/** The caller stops waiting; the attempt, which others may share, goes on. */
function patience<T>(work: Promise<T>, signal: AbortSignal, { name, origin }: ServerEntry): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Failure('CANCELED', `Cannot connect to the server "${name}": it was canceled`, { stage: 'connect', details: {}, recovery: 'retryable', origin }));
    if (signal.aborted) { work.catch(() => {}); onAbort(); return; }
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function statusOf(slot: Slot, waitingAt?: (server: string) => Waiting | undefined): ServerStatus {
  const { entry, open, failure } = slot;
  const authorization = slot.state === 'connecting' || failure?.code === 'LOGIN_REQUIRED' ? waitingAt?.(entry.name) : undefined;
  return {
    name: entry.name, state: slot.state, origin: entry.origin, updatedAt: slot.updatedAt, timings: slot.timings, attempts: slot.attempts,
    transport: entry.kind === 'local' ? 'stdio' : entry.transport === 'sse' || (open !== undefined && slot.attempts.at(-1)?.transport === 'sse') ? 'sse' : 'http',
    ...(open === undefined ? {} : { era: open.client.era, revision: open.client.revision }),
    ...(slot.toolCount === undefined ? {} : { toolCount: slot.toolCount }),
    ...(failure === undefined ? {} : { failure, failureKind: failureKind(failure, slot.wasConnected) }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

function unknownServer(server: string, config: Config): AnyFailure {
  const lost = config.diagnostics.find((diagnostic) => diagnostic.server === server && diagnostic.severity === 'error') ?? config.diagnostics.find((diagnostic) => diagnostic.server === server);
  if (lost !== undefined) {
    return new Failure('CONFIG_INVALID', `Cannot use the server "${server}": ${lost.pointer} ${lost.message}`, {
      stage: 'config', details: { file: lost.origin.file, problems: [lost] }, origin: lost.origin, hint: `Correct the entry in ${lost.origin.file}`,
    }) as AnyFailure;
  }
  const known = [...config.servers.keys()];
  const close = nearest(server, known);
  return new Failure('SERVER_UNKNOWN', `Cannot find the server "${server}": it is not configured${close.length > 0 ? `; did you mean ${close.map((name) => `"${name}"`).join(' or ')}?` : ''}`, {
    stage: 'config', details: { server, known, nearest: close },
    hint: close.length > 0 || known.length > 0 ? 'zuno-lite mcp list' : `zuno-lite mcp add ${/^[\w-]+$/.test(server) ? server : 'NAME'} -- COMMAND ARGS...`,
  }) as AnyFailure;
}

function disabledServer(entry: ServerEntry, config: Config): AnyFailure {
  const off = !config.mcpEnabled;
  const origin = off ? entry.origin : entry.switchedBy ?? entry.origin;
  return new Failure('CONFIG_INVALID', `Cannot use the server "${entry.name}": ${off ? 'MCP is switched off by "features.mcp": false' : 'it is disabled'}`, {
    stage: 'config', details: { file: origin.file, problems: [{ pointer: origin.key ?? '', message: off ? 'features.mcp is false' : 'is disabled' }] },
    origin, hint: off ? 'Set "features": { "mcp": true }' : `zuno-lite mcp enable ${entry.name}`,
  }) as AnyFailure;
}

function closed(server: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot connect to the server "${server}": the host is closing`, { stage: 'connect', details: {}, recovery: 'retryable' }) as AnyFailure;
}
