/**
 * A session: what an agent program holds of a host. Its servers are a lease, its grants die with it, its journal outlives it. Here it is put
 * together and taken apart; what a step shows is `offer.ts`, what a call becomes is `step.ts`.
 */
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import { startDeadline } from '../base/deadline.ts';
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { resolveAgent } from './agents.ts';
import { createArtifactStore } from './artifact-store.ts';
import type { Batch } from './asking-person.ts';
import { createCommands } from './commands.ts';
import { createDelegation } from './delegation.ts';
import { openJournal, type Journal } from './journal.ts';
import { exposureOf, isNativeOffered, planOffer, standings } from './offer.ts';
import { requireServers } from './required-servers.ts';
import { createCore, type SessionCore } from './session-core.ts';
import type { SessionContext } from './session-context.ts';
import { pastCalls } from './session-history.ts';
import { connectAll, withSessionServers } from './session-servers.ts';
import { createStep, type LiveStep } from './step.ts';
import { loadToolLock } from './tool-lock.ts';
import type { Session, SessionOptions, Step } from './types.ts';

/**
 * Opens a session. Fails with USAGE or CONFIG_INVALID when the agent, the journal or the lock file is not what it has to be, with
 * SERVER_UNKNOWN when a server that the agent requires is not there, and with the failure of the first of `servers` that did not connect.
 */
export async function createSession(context: SessionContext, options: SessionOptions = {}): Promise<Session> {
  const own = Object.keys(options.servers ?? {});
  if (own.length > 0 && options.share !== undefined) throw new TypeError('Servers of one session cannot be shared: leave out "servers" or "share"');
  const agent = resolveAgent(context.config, options.agent, options.inspect === true ? 'any' : 'root');
  const config = own.length > 0 ? withSessionServers(context.config, options.servers ?? {}, context) : context.config;
  const pins = context.locked ? loadToolLock(config.workspace) : undefined;
  const lease = context.lease({ share: options.share, person: options.person, ...(own.length > 0 ? { config } : {}) });
  let journal: Journal | undefined;
  try {
    if (own.length > 0) await connectAll(lease, own, options.signal);
    await requireServers(agent, lease, options.signal);
    const id = randomUUID();
    journal = options.journal === undefined ? undefined : await openJournal(options.journal, { session: id, workspace: config.workspace, agent: agent.name }, context.log);
    const session = journal?.session ?? id;
    const artifacts = createArtifactStore(options.artifacts ?? path.join(context.paths.data, 'artifacts', session));
    const batches = new WeakMap<AbortSignal, Batch>();
    const core = createCore({ id: session, agent, options, context, lease, pins, artifacts, journal, ownServers: own, depth: 0, batches });
    return openSession(core, batches, () => lease.release());
  } catch (error) {
    await journal?.close();
    await lease.release();
    throw error;
  }
}

/** The session around a core; `release` gives back what was taken for it. */
export function openSession(core: SessionCore, batches: WeakMap<AbortSignal, Batch>, release: () => Promise<CloseReport>): Session {
  const { lease, memory, journal } = core;
  const { connections, catalogue } = lease;
  const commands = createCommands(lease, core.log);
  const unsubscribes = new Set<() => void>([connections.on((event) => {
    if (event.kind === 'closed' && event.by === 'person') core.stopped.add(event.server);
    if (event.kind === 'connected') core.stopped.delete(event.server);
  })]);
  // Shared servers may have been disconnected before; one that was lost has a failure to show.
  for (const { name, state, failure } of connections.status()) if (state === 'disconnected' && failure === undefined) core.stopped.add(name);
  let warned: string | undefined, current: LiveStep | undefined, stepping: Promise<unknown> = Promise.resolve(), closing: Promise<CloseReport> | undefined;
  const steps = new WeakSet<Step>();
  const delegation = createDelegation(core, (step): step is LiveStep => steps.has(step), openSession);

  const mayChange = (server: string, verb: string): void => {
    if (closing !== undefined) throw sessionClosed();
    if (core.parent === undefined) return;
    throw new Failure('PERMISSION_DENIED', `Cannot ${verb} the server "${server}": a session that was delegated to may not change connections`, { stage: 'permission', details: { tool: server, why: 'child' }, hint: 'Let the session that delegated do it' });
  };

  /** The first step knows what there is; nobody waits a second time. */
  async function settle(signal: AbortSignal | undefined, waitMs: number | undefined): Promise<void> {
    if (memory.settled) return;
    const deadline = waitMs === undefined ? undefined : startDeadline(waitMs, signal);
    try {
      await catalogue.settle(deadline?.signal ?? signal);
    } catch (error) {
      if (deadline?.expired !== true) throw error;
    } finally {
      deadline?.dispose();
    }
    if (signal?.aborted === true) throw new Failure('CANCELED', 'Cannot begin a step: it was canceled while it waited for the servers', { stage: 'list', details: {}, recovery: 'retryable' });
    memory.settled = true;
  }

  async function nextStep(signal: AbortSignal | undefined, waitMs: number | undefined): Promise<LiveStep> {
    if (closing !== undefined) throw sessionClosed();
    await settle(signal, waitMs);
    const offer = planOffer(core, await catalogue.view());
    if (closing !== undefined) throw sessionClosed();
    if (offer.warning !== undefined && offer.warning !== warned) core.log({ level: 'warning', event: 'session.search', message: offer.warning });
    warned = offer.warning;
    current?.retire();
    const tools = offer.tools.map(({ id, schemaId }) => [id, schemaId] as const);
    const news = (memory.restored && offer.plan.tools.some(({ exposure }) => exposure === 'found')) || tools.some(([id]) => !memory.shown.has(id));
    if (news) memory.revision += 1;
    memory.restored = false;
    memory.steps += 1;
    for (const [id] of tools) memory.shown.add(id);
    const same = tools.length === memory.lastShown.size && tools.every(([id, schemaId]) => memory.lastShown.get(id) === schemaId);
    memory.lastShown = new Map(tools);
    journal?.append({ kind: 'step', number: memory.steps, revision: memory.revision, ...(same ? {} : { tools }) });
    current = createStep(core, offer, { number: memory.steps, revision: memory.revision }, batches);
    steps.add(current);
    return current;
  }

  async function closeAll(): Promise<CloseReport> {
    await delegation.close();
    current?.cancel();
    for (const unsubscribe of unsubscribes) unsubscribe();
    unsubscribes.clear();
    await journal?.close();
    return release();
  }

  return {
    id: core.id, agent: core.agent, ...(core.parent === undefined ? {} : { parent: core.parent.session }),
    step({ signal, waitMs } = {}) {
      const step = stepping.then(() => nextStep(signal, waitMs));
      stepping = step.catch(() => {});
      return step;
    },
    delegate: delegation.delegate,
    history: (calls, step) => pastCalls(core, calls, step),
    async standings() {
      await settle(undefined, undefined);
      return standings(core, await catalogue.view());
    },
    async schemaExposure() {
      await settle(undefined, undefined);
      return exposureOf(core, await catalogue.view());
    },
    status: () => connections.status(),
    revalidate: (signal) => connections.revalidate(undefined, signal),
    async subscribe(server, uris, signal) {
      if (!isNativeOffered(core, 'read_mcp_resource')) throw new Failure('PERMISSION_DENIED', `Cannot subscribe to resources of "${server}": the policy denies reading`, { stage: 'permission', details: { tool: 'read_mcp_resource', why: 'rule' }, hint: 'zuno-lite debug permissions' });
      // Its list is asked first: whoever holds that hears what the connection tells.
      await catalogue.listing(server, signal);
      return (await connections.open(server, signal)).client.watch({ uris }, { signal });
    },
    complete: (server, reference, argument, context, signal) => lease.ask(server, ({ client }) => client.complete(reference, argument, context, { signal }), signal),
    async connect(server, signal) {
      mayChange(server, 'connect');
      await connections.connect(server, signal);
      // So that the next step has its tools. A list that fails is told by the status.
      await catalogue.listing(server, signal).catch((error: unknown) => { if (signal?.aborted === true) throw toFailure(error); });
    },
    async disconnect(server) {
      mayChange(server, 'disconnect');
      return connections.disconnect(server);
    },
    commands: (signal) => commands.list(signal),
    expand: (key, input, signal) => commands.expand(key, input, signal),
    readArtifact: (file, cursor, maxBytes) => core.artifacts.read(file, cursor, maxBytes),
    on(listener) {
      const off = connections.on(listener), unsubscribe = (): void => { off(); unsubscribes.delete(unsubscribe); };
      unsubscribes.add(unsubscribe);
      return unsubscribe;
    },
    close: () => (closing ??= closeAll()),
  };
}

function sessionClosed(): AnyFailure {
  return new Failure('CANCELED', 'Cannot go on: the session is closed', { stage: 'close', details: {} }) as AnyFailure;
}
