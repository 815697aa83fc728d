/**
 * One connected server, the same face for both eras: connect and negotiate, then lists, calls, reads, prompts, completion.
 * Retries live elsewhere; what belongs to one call (pages, input rounds) lives in that call's frame.
 */
import { now, startDeadline } from '../base/deadline.ts';
import { Failure, isFailure, toFailure, type AnyFailure, type Stage } from '../base/failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import { openConnection, type Connection, type Inbound } from '../jsonrpc/connection.ts';
import type { Notice, Transport } from '../jsonrpc/transport.ts';
import { answerQuestion } from './answers.ts';
import { initialize } from './legacy.ts';
import type { InputRequired, Lifecycle } from './lifecycle.ts';
import { isReplaySafe } from './methods.ts';
import { createModern, makeStamp } from './modern.ts';
import { judge, modernAfterAll, type Observation } from './negotiate.ts';
import {
  readCallResult, readCompletion, readPromptResult, readPrompts, readReadResult, readResources, readTemplates, readTools, refuse, type Page,
} from './results.ts';
import { eraOf, newestModern } from './revisions.ts';
import type { Answers, CallSettings, Client, ClientEvent, Era, Implementation, Listing } from './types.ts';

/** What is known of a server's era from earlier connections, so that the probe is paid for once. */
export interface EraMemory {
  recall(): Era | undefined;
  remember(era: Era): void;
}

export interface ConnectOptions {
  /** Makes an unopened transport; called again when the server has to be started afresh. */
  readonly transport: () => Transport;
  /** `auto` probes and falls back; `legacy` never probes; a revision is used or refused. Default `auto`. */
  readonly protocol?: string;
  readonly clientInfo: Implementation;
  readonly answers?: Answers;
  /** Idle limit of one request, milliseconds. Default `limits.requestMs`. */
  readonly requestMs?: number;
  /** Start, connect and negotiate together, milliseconds. Default `limits.connectMs`. */
  readonly connectMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly memory?: EraMemory | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Told how long each stage of connecting took. */
  readonly onStage?: ((stage: Stage, ms: number) => void) | undefined;
}

interface Peer { readonly connection: Connection; readonly bind: (lifecycle: Lifecycle) => void; readonly listeners: Set<(event: ClientEvent) => void> }

/** Starts or reaches the server and agrees on a revision. Rejects with a `Failure`; then nothing is left running. */
export async function connectClient(options: ConnectOptions): Promise<Client> {
  const deadline = startDeadline(options.connectMs ?? limits.connectMs, options.signal);
  let peer: Peer | undefined;
  const fresh = async (): Promise<Peer> => {
    await peer?.connection.close();
    peer = undefined;
    return (peer = await timed(options, 'spawn', () => openPeer(options, deadline.signal)));
  };
  try {
    const { lifecycle, connection, listeners } = await negotiate(await fresh(), fresh, options, deadline.remaining);
    options.memory?.remember(lifecycle.era);
    return createClient(connection, lifecycle, listeners, options);
  } catch (error) {
    // The cause is known before the cleaning up; closing can only add to it.
    const failure = deadline.expired ? connectTimeout(deadline.budgetMs, error) : toFailure(error, 'connect');
    await peer?.connection.close();
    throw failure;
  } finally {
    deadline.dispose();
  }
}

async function timed<T>(options: ConnectOptions, stage: Stage, work: () => Promise<T>): Promise<T> {
  const startedAt = now();
  try {
    return await work();
  } finally {
    options.onStage?.(stage, now() - startedAt);
  }
}

function connectTimeout(budgetMs: number, cause: unknown): AnyFailure {
  if (isFailure(cause) && cause.code === 'TIMEOUT') return cause;
  return new Failure('TIMEOUT', `Cannot connect to the server: it was not ready within ${budgetMs} ms`, { stage: isFailure(cause) ? cause.stage : 'connect', details: { afterMs: budgetMs }, recovery: 'retryable', cause }) as AnyFailure;
}

async function openPeer(options: ConnectOptions, signal: AbortSignal): Promise<Peer> {
  let lifecycle: Lifecycle | undefined;
  const listeners = new Set<(event: ClientEvent) => void>();
  const notice = options.onNotice ?? ((): void => {});
  const inbound: Inbound = {
    request: (method, params, abort) => {
      if (lifecycle !== undefined) return lifecycle.answer(method, params, abort);
      return method === 'ping' ? { result: {} } : { error: { code: codes.methodNotFound, message: `Method not found: ${method}` } };
    },
    notification: (method, params) => {
      if (lifecycle !== undefined && !lifecycle.admits(method, params)) {
        if (!method.startsWith('notifications/subscriptions/') && method !== 'notifications/cancelled') notice({ kind: 'violation', message: `${method} was sent without a subscription to it` });
        return;
      }
      const event = eventOf(method, params);
      if (event !== undefined) for (const listener of [...listeners]) listener(event);
    },
  };
  const connection = await openConnection(options.transport(), { inbound, onNotice: notice, signal });
  void connection.closed.then((reason) => { for (const listener of [...listeners]) listener({ kind: 'closed', reason }); });
  return { connection, listeners, bind: (made) => { lifecycle = made; } };
}

function eventOf(method: string, params: JsonObject): ClientEvent | undefined {
  switch (method) {
    case 'notifications/tools/list_changed': return { kind: 'list_changed', list: 'tools' };
    case 'notifications/resources/list_changed': return { kind: 'list_changed', list: 'resources' };
    case 'notifications/prompts/list_changed': return { kind: 'list_changed', list: 'prompts' };
    case 'notifications/resources/updated': return typeof params['uri'] === 'string' ? { kind: 'resource_updated', uri: params['uri'] } : undefined;
    case 'notifications/message': {
      const { level, logger, data } = params;
      return { kind: 'log', level: typeof level === 'string' ? level : 'info', ...(typeof logger === 'string' ? { logger } : {}), data };
    }
    default: return undefined;
  }
}

// ---- negotiation

type Settled = Peer & { readonly lifecycle: Lifecycle };

async function negotiate(first: Peer, fresh: () => Promise<Peer>, options: ConnectOptions, remaining: () => number): Promise<Settled> {
  const wanted = options.protocol ?? 'auto';
  const pinnedLegacy = wanted !== 'auto' && wanted !== 'legacy' && eraOf(wanted) === 'legacy';
  if (wanted === 'legacy' || pinnedLegacy) return handshake(first, options, remaining, pinnedLegacy ? wanted : undefined);
  if (wanted === 'auto' && options.memory?.recall() === 'legacy') return handshakeOrModern(first, options, remaining);
  return probe(first, fresh, options, remaining, wanted);
}

async function handshake(peer: Peer, options: ConnectOptions, remaining: () => number, revision?: string): Promise<Settled> {
  const lifecycle = await timed(options, 'handshake', () => initialize(peer.connection, { clientInfo: options.clientInfo, answers: options.answers ?? {}, revision, timeoutMs: remaining(), signal: options.signal }));
  peer.bind(lifecycle);
  return { ...peer, lifecycle };
}

/** `initialize`, unless its refusal proves a modern server that was only slow to answer the probe, or has been updated since. */
async function handshakeOrModern(peer: Peer, options: ConnectOptions, remaining: () => number, revision?: string): Promise<Settled> {
  try {
    return await handshake(peer, options, remaining, revision);
  } catch (error) {
    const modern = isFailure(error) && error.code === 'REMOTE_ERROR' ? modernAfterAll(error.details.rpcCode, error.details.data) : undefined;
    if (modern === undefined) throw error;
    const seen = await observe(peer, options, modern, remaining());
    const verdict = judge(seen, { wanted: 'auto', carrier: carrierOf(peer), corrected: true });
    if (verdict.kind !== 'modern') throw error;
    return adopt(peer, options, verdict.revision, verdict.discovered);
  }
}

async function probe(first: Peer, fresh: () => Promise<Peer>, options: ConnectOptions, remaining: () => number, wanted: string): Promise<Settled> {
  // Pinned: the probe is the only handshake and may take all there is. Auto: a silent old server must not eat the budget.
  const budget = (): number => (wanted === 'auto' ? Math.max(1, Math.min(limits.probeMs, Math.floor((options.connectMs ?? limits.connectMs) / 2), remaining())) : remaining());
  let revision = wanted === 'auto' ? newestModern : wanted;
  for (let corrected = false; ; corrected = true) {
    const asked = revision;
    const seen = await timed(options, 'probe', () => observe(first, options, asked, budget()));
    const verdict = judge(seen, { wanted, carrier: carrierOf(first), corrected });
    switch (verdict.kind) {
      case 'modern': return adopt(first, options, verdict.revision, verdict.discovered);
      case 'again': revision = verdict.revision; break;
      case 'legacy': return handshakeOrModern(verdict.fresh ? await fresh() : first, options, remaining, verdict.revision);
      case 'fail': throw verdict.failure;
    }
  }
}

function carrierOf(peer: Peer): 'process' | 'network' {
  return peer.connection.transport.kind === 'stdio' || peer.connection.transport.kind === 'memory' ? 'process' : 'network';
}

async function observe(peer: Peer, options: ConnectOptions, revision: string, timeoutMs: number): Promise<Observation> {
  try {
    const value = await peer.connection.request('server/discover', {
      stamp: makeStamp(revision, options.clientInfo, options.answers ?? {}), action: 'ask the server what it speaks', stage: 'probe',
      timeoutMs, ceilingMs: timeoutMs, signal: options.signal, cancel: 'none', mutating: false, accept: (result) => result,
    });
    return { kind: 'result', value };
  } catch (error) {
    const failure = toFailure(error, 'probe');
    switch (failure.code) {
      case 'REMOTE_ERROR': return { kind: 'error', code: failure.details.rpcCode, data: failure.details.data, failure };
      case 'TIMEOUT': return { kind: 'silence', failure };
      case 'SERVER_EXITED': case 'CONNECTION_CLOSED': return { kind: 'gone', failure };
      default: return { kind: 'trouble', failure };
    }
  }
}

function adopt(peer: Peer, options: ConnectOptions, revision: string, discovered: JsonObject): Settled {
  const lifecycle = createModern({
    revision, discovered, clientInfo: options.clientInfo, answers: options.answers ?? {}, perRequest: peer.connection.transport.perRequest,
    onNotice: (message) => options.onNotice?.({ kind: 'violation', message }),
  });
  peer.connection.transport.negotiated?.({ era: 'modern', revision });
  peer.bind(lifecycle);
  return { ...peer, lifecycle };
}

// ---- the client

interface Ask<T> {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  readonly action: string;
  readonly stage: Stage;
  readonly progress?: boolean;
  read(result: JsonObject): T;
}

function createClient(connection: Connection, lifecycle: Lifecycle, listeners: Set<(event: ClientEvent) => void>, options: ConnectOptions): Client {
  const answers = options.answers ?? {};
  const requestMs = options.requestMs ?? limits.requestMs;
  const { capabilities } = lifecycle;

  function ask<T>(what: Ask<T>, settings: CallSettings | undefined): Promise<T> {
    const timeoutMs = settings?.timeoutMs ?? requestMs;
    return send(what, what.params, settings, timeoutMs, Math.max(limits.ceilingFactor * timeoutMs, limits.ceilingMs), 1);
  }

  function send<T>(what: Ask<T>, params: JsonObject | undefined, settings: CallSettings | undefined, timeoutMs: number, ceilingMs: number, round: number): Promise<T> {
    const startedAt = round === 1 ? 0 : now();
    return connection.request<T>(what.method, {
      params, stamp: lifecycle.stamp(), action: what.action, stage: what.stage, timeoutMs, ceilingMs,
      progress: what.progress, onProgress: settings?.onProgress, signal: settings?.signal,
      cancel: lifecycle.cancel, mutating: !isReplaySafe(what.method),
      accept: (raw) => {
        const step = lifecycle.unwrap(what.method, raw);
        if (step.kind === 'complete') return what.read(step.result);
        return nextRound(what, step.input, settings, timeoutMs, ceilingMs - (startedAt === 0 ? 0 : now() - startedAt), round);
      },
    });
  }

  /** Answers everything the server asked for, then sends the same request again as a new one (MCP 2026-07-28, MRTR). */
  async function nextRound<T>(what: Ask<T>, input: InputRequired, settings: CallSettings | undefined, timeoutMs: number, ceilingMs: number, round: number): Promise<T> {
    if (round >= limits.inputRounds) {
      throw new Failure('LIMIT_EXCEEDED', `Cannot ${what.action}: the server asked for input ${round} times`, { stage: what.stage, details: { limit: 'inputRounds', maximum: limits.inputRounds } });
    }
    const startedAt = now();
    const keys = Object.keys(input.requests);
    const responses = keys.length === 0 ? undefined : await fulfil(what, input, settings?.signal);
    const params: JsonObject = {
      ...what.params,
      ...(responses === undefined ? {} : { inputResponses: responses }),
      ...(input.state === undefined ? {} : { requestState: input.state }),
    };
    return send(what, params, settings, timeoutMs, Math.max(1, ceilingMs - (now() - startedAt)), round + 1);
  }

  async function fulfil<T>(what: Ask<T>, input: InputRequired, signal: AbortSignal | undefined): Promise<JsonObject> {
    const quiet = new AbortController();
    const responses: Record<string, unknown> = {};
    for (const [key, request] of Object.entries(input.requests)) {
      const params = request['params'];
      const answer = await answerQuestion(answers, String(request['method']), isObject(params) ? params : {}, signal ?? quiet.signal);
      if ('error' in answer) {
        throw new Failure('CAPABILITY_MISSING', `Cannot ${what.action}: the server asks for ${String(request['method'])}, and ${answer.error.message}`, {
          stage: what.stage, details: { capability: String(request['method']) }, hint: 'Run it where a person can answer, or give the answer beforehand',
        });
      }
      responses[key] = answer.result;
    }
    return responses;
  }

  async function list<T>(method: string, capability: 'tools' | 'resources' | 'prompts', read: (result: JsonObject) => Page<T>, settings: CallSettings | undefined): Promise<Listing<T>> {
    if (capabilities[capability] === undefined) return { items: [], dropped: [], ttlMs: 0, cacheScope: 'private' };
    const what = (cursor: string | undefined): Ask<Page<T>> => ({ method, params: cursor === undefined ? undefined : { cursor }, action: `list ${capability}`, stage: 'list', read });
    const first = await ask(what(undefined), settings);
    if (first.nextCursor === undefined && first.items.length <= limits.toolsPerServer) return { items: first.items, dropped: first.dropped, ttlMs: first.ttlMs, cacheScope: first.cacheScope };
    const items = [...first.items], dropped = [...first.dropped];
    let { ttlMs, cacheScope } = first;
    const cursors = new Set<string>();
    // Presence decides, not content: an empty cursor means a further page. The walk ends by repeat, by page count or by size.
    for (let cursor = first.nextCursor, pages = 1; cursor !== undefined && items.length <= limits.toolsPerServer; pages++) {
      if (cursors.has(cursor)) throw refuse(method, `the cursor ${JSON.stringify(cursor)} came twice, so its pages have no end`);
      if (pages >= limits.listPages) throw new Failure('LIMIT_EXCEEDED', `Cannot list ${capability}: more than ${limits.listPages} pages`, { stage: 'list', details: { limit: 'listPages', maximum: limits.listPages, seen: pages } });
      cursors.add(cursor);
      const page = await ask(what(cursor), settings);
      for (const item of page.items) items.push(item);
      for (const item of page.dropped) dropped.push(item);
      ttlMs = Math.min(ttlMs, page.ttlMs);
      if (page.cacheScope === 'private') cacheScope = 'private';
      cursor = page.nextCursor;
    }
    if (items.length > limits.toolsPerServer) {
      items.length = limits.toolsPerServer;
      dropped.push({ name: '…', reason: `the list is longer than ${limits.toolsPerServer} entries; the rest was left out` });
    }
    return { items, dropped, ttlMs, cacheScope };
  }

  function need(capability: 'resources' | 'prompts' | 'completions' | 'logging', action: string): AnyFailure | undefined {
    if (capabilities[capability] !== undefined) return undefined;
    if (capability === 'completions' && lifecycle.revision === '2024-11-05') return undefined;   // had no flag for it
    return new Failure('CAPABILITY_MISSING', `Cannot ${action}: the server does not offer ${capability}`, { stage: 'call', details: { capability } }) as AnyFailure;
  }

  const bounded = (settings: CallSettings | undefined, fallback = requestMs): CallSettings & { readonly timeoutMs: number } => ({ ...settings, timeoutMs: settings?.timeoutMs ?? fallback });
  return {
    era: lifecycle.era, revision: lifecycle.revision, serverInfo: lifecycle.serverInfo, capabilities, instructions: lifecycle.instructions,
    listTools: (settings) => list('tools/list', 'tools', readTools, settings),
    listResources: (settings) => list('resources/list', 'resources', readResources, settings),
    async listResourceTemplates(settings) {
      try {
        return await list('resources/templates/list', 'resources', readTemplates, settings);
      } catch (error) {
        // Many servers offer resources and know no templates; that is an empty list, not a fault.
        if (isFailure(error) && error.code === 'REMOTE_ERROR' && error.details.rpcCode === codes.methodNotFound) return { items: [], dropped: [], ttlMs: 0, cacheScope: 'private' };
        throw error;
      }
    },
    listPrompts: (settings) => list('prompts/list', 'prompts', readPrompts, settings),
    callTool: (name, args, settings) => ask({ method: 'tools/call', params: { name, arguments: args }, action: `call the tool "${name}"`, stage: 'call', progress: true, read: readCallResult }, settings),
    readResource(uri, settings) {
      const missing = need('resources', `read "${uri}"`);
      return missing !== undefined ? Promise.reject(missing) : ask({ method: 'resources/read', params: { uri }, action: `read "${uri}"`, stage: 'call', progress: true, read: readReadResult }, settings);
    },
    getPrompt(name, args, settings) {
      const missing = need('prompts', `get the prompt "${name}"`);
      return missing !== undefined ? Promise.reject(missing) : ask({ method: 'prompts/get', params: { name, arguments: args }, action: `get the prompt "${name}"`, stage: 'call', progress: true, read: readPromptResult }, settings);
    },
    complete(ref, argument, context, settings) {
      const missing = need('completions', 'complete an argument');
      const params = { ref, argument, ...(context === undefined ? {} : { context: { arguments: context } }) };
      return missing !== undefined ? Promise.reject(missing) : ask({ method: 'completion/complete', params, action: 'complete an argument', stage: 'call', read: readCompletion }, settings);
    },
    ping: (settings) => lifecycle.ping(connection, bounded(settings, Math.min(limits.pingMs, requestMs))),
    async setLogLevel(level, settings) {
      const missing = need('logging', 'set the log level');
      if (missing !== undefined) throw missing;
      await lifecycle.setLogLevel(connection, level, bounded(settings));
    },
    watch: (filter, settings) => lifecycle.watch(connection, filter, bounded(settings)),
    on(listener) {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
    closed: connection.closed,
    close: () => connection.close(),
  };
}

