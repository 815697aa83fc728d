/**
 * The life of every configured server: opened on first need, at most so many lifecycle operations at once, one at a time per server, requests
 * for the same server join. Every wish to have a server gone begins a new generation, and what an older one still brings is closed, never
 * installed. One bad server costs only itself.
 */
import { now } from '../base/deadline.ts';
import { toFailure, withContext, type AnyFailure, type Stage } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { redactFailure } from '../base/redact-failure.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import type { Events } from './events.ts';
import { failureKind } from './failure-kinds.ts';
import { connectionIdentity } from './identity.ts';
import { isPassing, mayComeBack, waitAfter, withRetries, type RetryClock } from './recovery.ts';
import { createSemaphore } from './semaphore.ts';
import { closedHost, contextOf, disabledServer, givenUp, impatient, stoppedServer, triedLater, unknownServer } from './server-failures.ts';
import type { Timers } from './timers.ts';
import type { Attempt, Connections, OpenServer, ServerRetry, ServerState, ServerStatus, Timing, Waiting } from './types.ts';

/** Starts or reaches one server: the composition root. An attempt is told when it begins and goes on being filled in. */
export type Connect = (entry: ServerEntry, observe: { readonly signal: AbortSignal; readonly onStage: (stage: Stage, ms: number) => void; readonly onAttempt: (attempt: Attempt) => void }) => Promise<Pick<OpenServer, 'client' | 'process' | 'redact'>>;

export interface ConnectionsOptions {
  readonly connect: Connect;
  readonly events: Events;
  readonly onRetry?: ((retry: ServerRetry) => void) | undefined;
  readonly clock?: RetryClock | undefined;
  readonly waitingAt?: ((server: string) => Waiting | undefined) | undefined;
  /** With it, failed servers are tried again in the background. Without it one failure is the end, until somebody asks again. */
  readonly timers?: Timers | undefined;
}

interface Slot {
  entry: ServerEntry;
  state: ServerState;
  /** Rises with each wish to have it gone. */
  generation: number;
  /** Disconnected by hand. */
  stopped: boolean;
  opening: Promise<OpenServer> | undefined;
  attempt: AbortController | undefined;
  open: OpenServer | undefined;
  /** Lifecycle operations, one after the other. */
  line: Promise<unknown>;
  failure: AnyFailure | undefined;
  wasConnected: boolean;
  /** Failures in a row: to connect, or to stay for more than moments. */
  failures: number;
  /** `now()` before which a call fails at once instead of starting it again. */
  notBefore: number;
  cancelRetry: (() => void) | undefined;
  toolCount: number | undefined;
  timings: Timing[];
  attempts: Attempt[];
  updatedAt: number;
}

const nothing = (): void => {};

export function createConnections(initial: Config, options: ConnectionsOptions): Connections {
  const { events, connect, timers, clock = {}, waitingAt } = options;
  const random = clock.random ?? Math.random;
  const operations = createSemaphore(initial.concurrency.connections);
  let config = initial, closing: Promise<CloseReport> | undefined, replacing: Promise<void> = Promise.resolve();
  let checking: Promise<void> | undefined;
  const slots = new Map<string, Slot>();
  for (const entry of config.servers.values()) slots.set(entry.name, slotFor(entry));

  function slotFor(entry: ServerEntry): Slot {
    return {
      entry, state: entry.enabled && config.mcpEnabled ? 'idle' : 'disabled', generation: 0, stopped: false, opening: undefined, attempt: undefined, open: undefined, line: Promise.resolve(), failure: undefined,
      wasConnected: false, failures: 0, notBefore: 0, cancelRetry: undefined, toolCount: undefined, timings: [], attempts: [], updatedAt: Date.now(),
    };
  }

  function move(slot: Slot, state: ServerState, failure?: AnyFailure): void {
    slot.state = state;
    slot.failure = failure;
    slot.updatedAt = Date.now();
  }

  /** One lifecycle operation of a server at a time, in the order in which they were wished for. */
  function inLine<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
    const result = slot.line.then(work);
    slot.line = result.catch(nothing);
    return result;
  }

  function open(server: string, signal?: AbortSignal): Promise<OpenServer> {
    const slot = slots.get(server);
    if (slot === undefined) return Promise.reject(unknownServer(server, config));
    if (slot.state === 'disabled') return Promise.reject(disabledServer(slot.entry, config));
    if (closing !== undefined) return Promise.reject(closedHost(server));
    if (slot.stopped) return Promise.reject(stoppedServer(slot.entry));
    if (slot.open !== undefined) return Promise.resolve(slot.open);
    if (slot.opening === undefined) {
      const waitMs = slot.notBefore - now();
      if (waitMs > 0 && slot.failure !== undefined) return Promise.reject(triedLater(slot.failure, waitMs, server));
      const { generation } = slot;
      const opening: Promise<OpenServer> = inLine(slot, () => reach(slot, generation)).finally(() => { if (slot.opening === opening) slot.opening = undefined; });
      slot.opening = opening;
    }
    return signal === undefined ? slot.opening : patience(slot.opening, signal, slot.entry);
  }

  /** A program that does not start will not start by itself; a server on the network may. Nobody's place is held while it waits. */
  async function reach(slot: Slot, generation: number): Promise<OpenServer> {
    if (slot.generation !== generation || closing !== undefined) throw closing !== undefined ? closedHost(slot.entry.name) : givenUp(slot.entry.name);
    slot.cancelRetry?.();
    slot.attempts = [];
    const attempt = new AbortController();
    slot.attempt = attempt;
    const { kind, name, timeouts } = slot.entry;
    const once = (): Promise<OpenServer> => operations.run(() => start(slot, generation, attempt.signal), attempt.signal);
    try {
      if (kind === 'local') return await once();
      let began = Infinity;
      return await withRetries(() => operations.run(() => { began = Math.min(began, now()); return start(slot, generation, attempt.signal); }, attempt.signal), {
        ...clock, signal: attempt.signal, onRetry: (retry) => options.onRetry?.({ server: name, ...retry }),
        may: (failure) => isPassing(failure) && now() - began < timeouts.connectMs,
      });
    } catch (error) {
      const failure = toFailure(error, 'connect');
      if (slot.generation === generation && closing === undefined) failed(slot, failure);
      throw failure;
    } finally {
      if (slot.attempt === attempt) slot.attempt = undefined;
    }
  }

  async function start(slot: Slot, generation: number, signal: AbortSignal): Promise<OpenServer> {
    const { entry } = slot;
    const overtaken = (): AnyFailure | undefined => (closing !== undefined ? closedHost(entry.name) : slot.generation !== generation ? givenUp(entry.name) : undefined);
    const before = overtaken();
    if (before !== undefined) throw before;
    const again = slot.wasConnected || slot.failures > 0;
    move(slot, 'connecting');
    events.emit({ kind: 'started', server: entry.name });
    const timings: Timing[] = [];
    slot.timings = timings;
    const startedAt = now();
    try {
      const made = await connect(entry, { signal, onStage: (stage, ms) => timings.push({ stage, ms }), onAttempt: (attempt) => slot.attempts.push(attempt) });
      const after = overtaken();
      if (after !== undefined) {
        await made.client.close();
        throw after;
      }
      const opened: OpenServer = { entry, timings, attempts: slot.attempts, ...made };
      slot.open = opened;
      slot.wasConnected = true;
      move(slot, 'connected');
      const ms = now() - startedAt;
      timings.push({ stage: 'connect', ms });
      const connectedAt = now();
      void made.client.closed.then((reason) => { if (slot.open === opened) lost(slot, redactFailure(reason, made.redact), now() - connectedAt); });
      events.emit({ kind: 'connected', server: entry.name, era: made.client.era, revision: made.client.revision, ms });
      if (again) events.emit({ kind: 'restarted', server: entry.name });
      return opened;
    } catch (error) {
      const failure = withContext(toFailure(error, 'connect'), contextOf(entry));
      if (slot.generation === generation) move(slot, 'failed', failure);
      throw failure;
    }
  }

  function lost(slot: Slot, reason: AnyFailure, stayedMs: number): void {
    slot.open = undefined;
    const failure = withContext(reason, contextOf(slot.entry));
    move(slot, 'disconnected', failure);
    // One that ends again and again as soon as it is there is not started in a loop.
    slot.failures = stayedMs < limits.settledMs ? slot.failures + 1 : 0;
    if (timers !== undefined && slot.failures > 1) slot.notBefore = now() + waitAfter(slot.failures - 1, failure, random());
    events.emit({ kind: 'lost', server: slot.entry.name, failure });
  }

  /** The last try of this attempt failed. */
  function failed(slot: Slot, failure: AnyFailure): void {
    slot.failures += 1;
    const retryInMs = timers === undefined || !mayComeBack(failure) ? undefined : Math.max(limits.retryFirstMs / 2, waitAfter(slot.failures, failure, random()));
    if (retryInMs !== undefined) {
      // A call right after the first failure may try for itself; after that it waits for the background.
      if (slot.failures > 1) slot.notBefore = now() + retryInMs;
      const cancel = timers!.after(retryInMs, () => {
        slot.cancelRetry = undefined;
        slot.notBefore = 0;
        if (slot.open === undefined && !slot.stopped) open(slot.entry.name).catch(nothing);
      });
      slot.cancelRetry = () => { slot.cancelRetry = undefined; cancel(); };
    }
    events.emit({ kind: 'failed', server: slot.entry.name, failure, failureKind: failureKind(failure, slot.wasConnected), ...(retryInMs === undefined ? {} : { retryInMs }) });
  }

  /** Ends what is open and what is on its way. Resolves when nothing of it is left. */
  function end(slot: Slot, by: 'person' | 'replacement' | 'host'): Promise<CloseReport> {
    slot.generation += 1;
    slot.cancelRetry?.();
    slot.notBefore = 0;
    slot.failures = 0;
    slot.attempt?.abort();
    slot.opening = undefined;
    const opened = slot.open;
    slot.open = undefined;
    if (slot.state !== 'disabled') move(slot, by !== 'person' && opened === undefined && slot.state === 'idle' ? 'idle' : 'disconnected');
    return inLine(slot, async () => {
      const report = opened === undefined ? { forced: [] } : await opened.client.close();
      if (opened !== undefined) events.emit({ kind: 'closed', server: slot.entry.name, by });
      return report;
    });
  }

  function slotOf(server: string): Slot {
    const slot = slots.get(server);
    if (slot === undefined) throw unknownServer(server, config);
    return slot;
  }

  async function connectByHand(server: string, signal?: AbortSignal): Promise<OpenServer> {
    const slot = slotOf(server);
    slot.stopped = false;
    slot.notBefore = 0;
    return open(server, signal);
  }

  async function disconnect(server: string): Promise<boolean> {
    const slot = slotOf(server);
    if (slot.state === 'disabled') return false;
    const there = slot.open !== undefined || slot.opening !== undefined;
    slot.stopped = true;
    await end(slot, 'person');
    return there;
  }

  async function replaceWith(next: Config): Promise<void> {
    const gone = [...slots.values()].filter(({ entry }) => { const other = next.servers.get(entry.name); return other === undefined || connectionIdentity(other, next.workspace) !== connectionIdentity(entry, config.workspace); });
    const switchedOff = [...slots.values()].filter((slot) => !gone.includes(slot) && slot.state !== 'disabled' && !(next.servers.get(slot.entry.name)!.enabled && next.mcpEnabled));
    for (const { entry } of gone) slots.delete(entry.name);
    config = next;
    // Whatever takes the place of something may not begin before that has ended (FACTS C22).
    await Promise.all([...gone, ...switchedOff].map((slot) => end(slot, 'replacement')));
    for (const entry of next.servers.values()) {
      const slot = slots.get(entry.name), on = entry.enabled && next.mcpEnabled;
      if (slot === undefined) { slots.set(entry.name, slotFor(entry)); continue; }
      slot.entry = entry;
      if (!on) move(slot, 'disabled'); else if (slot.state === 'disabled') move(slot, 'idle');
    }
  }

  /** Any answer proves life, also an error (FACTS CA10). What does not answer is let go of; the next call connects again. */
  async function check(slot: Slot, signal: AbortSignal | undefined): Promise<void> {
    const opened = slot.open;
    if (opened === undefined) return;
    try {
      await opened.client.ping({ signal });
    } catch (error) {
      const failure = redactFailure(toFailure(error, 'call'), opened.redact);
      if (failure.code === 'CANCELED' || slot.open !== opened) return;
      lost(slot, failure, Infinity);
      void inLine(slot, () => opened.client.close());
    }
  }

  return {
    open, disconnect,
    config: () => config,
    connect: connectByHand,
    peek: (server) => slots.get(server)?.open,
    replace(next) {
      if (closing !== undefined) return Promise.reject(closedHost([...next.servers.keys()][0] ?? ''));
      return (replacing = replacing.then(() => replaceWith(next)));
    },
    revalidate(servers, signal) {
      return (checking ??= Promise.all([...slots.values()].filter(({ entry }) => servers?.includes(entry.name) !== false).map((slot) => check(slot, signal))).then(nothing).finally(() => { checking = undefined; }));
    },
    status: () => [...slots.values()].map((slot) => statusOf(slot, waitingAt)),
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
    on: events.on,
    close: () => (closing ??= closeAll()),
  };

  async function closeAll(): Promise<CloseReport> {
    await Promise.resolve();   // `closing` is set by now
    const reports = await Promise.all([...slots.values()].map(async (slot) => {
      const { forced } = await end(slot, 'host');
      return forced.map((what) => `${slot.entry.name}: ${what}`);
    }));
    await replacing.catch(nothing);
    return { forced: reports.flat() };
  }
}

/** The caller stops waiting; the attempt, which others may share, goes on. */
function patience<T>(work: Promise<T>, signal: AbortSignal, entry: ServerEntry): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(impatient(entry));
    if (signal.aborted) { work.catch(nothing); onAbort(); return; }
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function statusOf(slot: Slot, waitingAt?: (server: string) => Waiting | undefined): ServerStatus {
  const { entry, open, failure } = slot;
  const authorization = slot.state === 'connecting' || failure?.code === 'LOGIN_REQUIRED' ? waitingAt?.(entry.name) : undefined;
  return {
    name: entry.name, state: slot.state, origin: entry.origin, updatedAt: slot.updatedAt, timings: slot.timings, attempts: slot.attempts, timeouts: entry.timeouts,
    transport: entry.kind === 'local' ? 'stdio' : entry.transport === 'sse' || (open !== undefined && slot.attempts.at(-1)?.transport === 'sse') ? 'sse' : 'http',
    ...(open === undefined ? {} : { era: open.client.era, revision: open.client.revision }),
    ...(slot.toolCount === undefined ? {} : { toolCount: slot.toolCount }),
    ...(failure === undefined ? {} : { failure, failureKind: failureKind(failure, slot.wasConnected) }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}
