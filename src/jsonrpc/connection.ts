/**
 * JSON-RPC over one transport: which answer belongs to which request, and what happens when none comes.
 *
 * All mutable state is here. A request is pending before its bytes leave (an answer may overtake the return of `send`) and
 * is settled exactly once: by its answer, its deadline, its caller's signal, its transport's refusal or the end of the
 * connection; the first reason wins. One timer serves all requests: it wakes at the earliest deadline known when it was set
 * and looks through what is pending, so a call costs no timer, no AbortController and one promise.
 *
 * A lost answer is told apart by what the request may have done: for a mutating one that left, the outcome is unknown and
 * must not be repeated blindly; a reading one simply failed.
 */
import { now } from '../base/deadline.ts';
import { Failure, toFailure, withContext, type AnyFailure, type Stage } from '../base/failure.ts';
import { isObject, type JsonObject, textNestsDeeper } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { shorten } from '../base/text.ts';
import { codes } from './codes.ts';
import type { Id, Message, RpcError } from './message.ts';
import type { CloseReport, Notice, Outgoing, Stamp, Transport } from './transport.ts';

export interface ProgressNote { readonly progress: number; readonly total?: number; readonly message?: string }

export interface RequestOptions<T> {
  readonly params?: JsonObject | undefined;
  readonly stamp?: Stamp | undefined;
  /** What failed, for messages: `call the tool "echo"`. */
  readonly action: string;
  readonly stage: Stage;
  /** Idle limit, milliseconds. Progress for this very request re-arms it. */
  readonly timeoutMs: number;
  /** Absolute limit, milliseconds, whatever progress arrives. Default: the larger of 10 x `timeoutMs` and 300 s. */
  readonly ceilingMs?: number | undefined;
  /** Ask for progress: without a token a server sends none, and a long call would die of its idle limit. */
  readonly progress?: boolean | undefined;
  readonly onProgress?: ((note: ProgressNote) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How giving up is told: a notification, the end of this request's stream, or not at all (`initialize`, probes). */
  readonly cancel: 'notify' | 'close' | 'none';
  /** True when repeating it could do something twice. */
  readonly mutating: boolean;
  /** Believes or refuses the result; what it returns settles the request. Throws a `Failure` to refuse. */
  accept(result: unknown, startedAt: number): T | Promise<T>;
  /** Looks at an error answer before it settles the request; what it returns settles it instead. */
  readonly refused?: ((failure: Failure<'REMOTE_ERROR'>) => Promise<T> | undefined) | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type InboundAnswer = { readonly result: JsonObject } | { readonly error: RpcError };

/** What the peer may ask or tell. `request` must always answer; `undefined` where the peer must not ask and gets no answer. */
export interface Inbound {
  request(method: string, params: JsonObject, signal: AbortSignal): InboundAnswer | undefined | Promise<InboundAnswer>;
  notification(method: string, params: JsonObject): void;
}

export interface Connection {
  request<T>(method: string, options: RequestOptions<T>): Promise<T>;
  /**
   * Sends a request whose answers are events over time (`subscriptions/listen`): no deadline, ended by `stop`, which is silent.
   * `ended` is told once how it ended otherwise; neither it nor any event comes before this function returned.
   */
  stream(method: string, options: Pick<RequestOptions<unknown>, 'params' | 'stamp' | 'cancel'>, ended: (outcome: { readonly result: unknown } | { readonly failure: AnyFailure }) => void): { readonly id: Id; stop(): void };
  /** A promise only where delivery takes time (HTTP); it resolves when the notification was taken or surely cannot be, and never rejects. */
  notify(method: string, params?: JsonObject): void | Promise<void>;
  readonly transport: Transport;
  readonly pendingCount: number;
  /** Resolves once with the reason when nothing can arrive any more. */
  readonly closed: Promise<AnyFailure>;
  /** Cancels what is pending, closes the transport. Idempotent, never rejects. */
  close(): Promise<CloseReport>;
}

interface Pending {
  readonly id: number;
  readonly method: string;
  /** As handed in: copying its members would cost every call. */
  readonly options: Asked;
  readonly startedAt: number;
  ceilingAt: number;
  idleAt: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: unknown) => void;
  onAbort: (() => void) | undefined;
  /** The id of an answer that would be its own, were the id of the right JSON type. */
  misaddressed: string | undefined;
}
type Asked = Pick<RequestOptions<unknown>, 'action' | 'stage' | 'mutating' | 'cancel' | 'timeoutMs' | 'onProgress' | 'accept' | 'refused' | 'signal'>;

/** Opens the transport and joins it to a connection. Rejects with the transport's failure; then nothing is left behind. */
export async function openConnection(transport: Transport, options: { readonly inbound: Inbound; readonly onNotice?: (notice: Notice) => void; readonly signal: AbortSignal }): Promise<Connection> {
  const { inbound } = options;
  const notice = options.onNotice ?? ((): void => {});
  const pending = new Map<Id, Pending>();
  const asked = new Map<Id, AbortController>();
  let nextId = 1;
  let ended: AnyFailure | undefined;
  let closing: Promise<CloseReport> | undefined;
  let timer: NodeJS.Timeout | undefined, timerAt = Infinity;
  /** Since when an answer of ours is being thought about. Meanwhile it is the server that waits: no limit of a request runs. */
  let askedSince: number | undefined;
  let announce: (reason: AnyFailure) => void = () => {};
  const closed = new Promise<AnyFailure>((resolve) => { announce = resolve; });

  // ---- the one timer
  function arm(at: number): void {
    if (at >= timerAt) { timer?.ref(); return; }
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(sweep, Math.min(Math.max(1, Math.ceil(at - now())), 2 ** 31 - 1));
  }
  function sweep(): void {
    timer = undefined;
    timerAt = Infinity;
    const time = now();
    let next = Infinity;
    for (const entry of pending.values()) {
      const due = Math.min(entry.idleAt, entry.ceilingAt) + owed(entry, time);
      if (due <= time) expire(entry); else if (due < next) next = due;
    }
    if (next < Infinity) arm(next);
  }

  /** The part of our thinking that falls into the life of this request. */
  function owed(entry: Pending, time: number): number {
    return askedSince === undefined ? 0 : time - Math.max(askedSince, entry.startedAt);
  }
  function answered(id: Id): void {
    asked.delete(id);
    if (asked.size > 0 || askedSince === undefined) return;
    const time = now();
    for (const entry of pending.values()) {
      const ours = owed(entry, time);
      entry.idleAt += ours;
      entry.ceilingAt += ours;
    }
    askedSince = undefined;
  }

  function postpone(id: Id, ms: number): void {
    const entry = pending.get(id);
    if (entry === undefined) return;
    entry.idleAt += ms;
    entry.ceilingAt += ms;
    if (ms < 0) arm(Math.min(entry.idleAt, entry.ceilingAt));
  }

  // ---- settling: every way out of `pending` goes through `take`
  function take(id: Id): Pending | undefined {
    const entry = pending.get(id);
    if (entry === undefined) return undefined;
    pending.delete(id);
    if (entry.onAbort !== undefined) entry.options.signal?.removeEventListener('abort', entry.onAbort);
    if (pending.size === 0) timer?.unref();
    return entry;
  }
  function lose(entry: Pending, why: 'timeout' | 'closed' | 'unreadable' | 'canceled', cause: AnyFailure): void {
    if (!entry.options.mutating) { entry.reject(definite(cause, entry.options.stage)); return; }
    entry.reject(unknownOutcome(entry, why, cause));
  }
  function unknownOutcome(entry: Pending, why: 'timeout' | 'closed' | 'unreadable' | 'canceled', cause: AnyFailure): AnyFailure {
    return new Failure('OUTCOME_UNKNOWN', `Cannot tell whether the server did it: the request to ${entry.options.action} was sent, and ${reasonText(why, entry, cause)}`, {
      stage: entry.options.stage, details: { why, method: entry.method, elapsedMs: Math.round(now() - entry.startedAt), ...(cause.code === 'SERVER_EXITED' || cause.code === 'CONNECTION_CLOSED' ? exitFacts(cause.details) : {}) }, recovery: 'unknown',
      hint: 'It may have taken effect: look at the state it changes before you repeat it', cause,
    }) as AnyFailure;
  }
  function expire(entry: Pending): void {
    if (take(entry.id) === undefined) return;
    const afterMs = Math.round(now() - entry.startedAt);
    const noiseLines = transport.noiseBeforeFirst?.() ?? 0;
    tellCanceled(entry, `no answer within ${afterMs} ms`);
    const seen = noiseLines > 0 ? `, only ${noiseLines} lines that are no JSON-RPC messages` : astray(entry);
    lose(entry, 'timeout', new Failure('TIMEOUT', `Cannot ${entry.options.action}: no answer within ${afterMs} ms${seen}`, {
      stage: entry.options.stage, details: { afterMs, method: entry.method, ...(noiseLines > 0 ? { noiseLines } : {}) }, recovery: 'retryable',
      hint: entry.misaddressed === undefined ? 'Raise the server\'s "timeout" (milliseconds) if it needs longer' : 'This is a fault of the server: an answer must repeat the id of its request, as the same JSON type',
    }) as AnyFailure);
  }
  /** Once, and only for what is still pending on the wire. A cancel that cannot be delivered changes nothing. */
  function tellCanceled(entry: Pending, reason: string): void {
    if (entry.options.cancel === 'none' || ended !== undefined) return;
    if (entry.options.cancel === 'close') { transport.cancel?.(entry.id); return; }
    notify('notifications/cancelled', { requestId: entry.id, reason });
    if (transport.perRequest) transport.cancel?.(entry.id);
  }
  function abort(entry: Pending): void {
    if (take(entry.id) === undefined) return;
    tellCanceled(entry, 'canceled by the caller');
    entry.reject(canceled(entry));
  }

  // ---- inbound
  function onMessage(message: Message): void {
    switch (message.kind) {
      case 'result': return settle(message.message.id, message.message.result, undefined);
      case 'error': return settle(message.message.id, undefined, message.message.error);
      case 'notification': return onNotification(message.message.method, message.message.params ?? {});
      case 'request': return answer(message.message.id, message.message.method, message.message.params ?? {});
      case 'refused': return onRefused(message.message);
    }
  }
  function settle(id: Id | null, result: unknown, error: RpcError | undefined): void {
    const entry = id === null ? undefined : take(id);
    if (entry === undefined) { onUnmatched(id); return; }
    if (error !== undefined) {
      const failure = remoteError(entry, error), instead = entry.options.refused?.(failure);
      if (instead === undefined) entry.reject(failure); else entry.resolve(instead);
      return;
    }
    try {
      entry.resolve(entry.options.accept(result, entry.startedAt));
    } catch (refusal) {
      lose(entry, 'unreadable', toFailure(refusal, entry.options.stage));
    }
  }
  /** A server that nests without end is told, its request is not looked at; an answer of that kind is as good as none. */
  function onRefused({ of, id }: Extract<Message, { kind: 'refused' }>['message']): void {
    const words = `nests deeper than ${limits.jsonDepth} levels`;
    if (of === 'request') post({ kind: 'response', id: id!, text: encodeResponse(id!, { error: { code: codes.invalidRequest, message: `The request ${words}` } }) });
    const entry = of === 'answer' && id !== null ? take(id) : undefined;
    if (entry === undefined) { if (of === 'answer') onUnmatched(id); else notice({ kind: 'violation', message: `a ${of} of the server ${words}` }); return; }
    lose(entry, 'unreadable', new Failure('LIMIT_EXCEEDED', `Cannot ${entry.options.action}: the answer of the server ${words}`, {
      stage: entry.options.stage, details: { limit: 'jsonDepth', maximum: limits.jsonDepth }, hint: 'This is a fault of the server; its author can fix it',
    }) as AnyFailure);
  }
  function onUnmatched(id: Id | null): void {
    const reason = unmatched(id);
    if (reason === 'id-type') pending.get(Number(id))!.misaddressed = String(id);
    notice({ kind: 'unmatched', id, reason });
  }
  function unmatched(id: Id | null): 'late' | 'unknown' | 'id-type' | 'no-id' {
    if (id === null) return 'no-id';
    if (typeof id === 'string') return pending.has(Number(id)) ? 'id-type' : 'unknown';
    return id >= 1 && id < nextId ? 'late' : 'unknown';
  }
  function onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/progress') { onProgress(params); return; }
    if (method === 'notifications/cancelled') {
      const id = params['requestId'] as Id;
      const running = asked.get(id);
      if (running !== undefined) { answered(id); running.abort(); return; }
    }
    inbound.notification(method, params);
  }
  function onProgress(params: JsonObject): void {
    const entry = pending.get(params['progressToken'] as Id);
    if (entry === undefined || typeof params['progress'] !== 'number') return;
    entry.idleAt = now() + entry.options.timeoutMs;
    if (entry.options.onProgress === undefined) return;
    const { progress, total, message } = params;
    try {
      entry.options.onProgress({ progress, ...(typeof total === 'number' ? { total } : {}), ...(typeof message === 'string' ? { message } : {}) });
    } catch (error) {
      notice({ kind: 'violation', message: `a progress listener threw: ${String(error)}` });
    }
  }
  function answer(id: Id, method: string, params: JsonObject): void {
    if (asked.size >= limits.inboundRequests) {
      post({ kind: 'response', id, text: encodeResponse(id, { error: { code: codes.internalError, message: 'Too many requests are waiting for an answer' } }) });
      return;
    }
    const running = new AbortController();
    asked.set(id, running);
    const done = (outcome: InboundAnswer): void => {
      if (asked.get(id) !== running) return;            // canceled by the peer: it wants no answer any more
      const text = encodeResponse(id, outcome);
      answered(id);
      post({ kind: 'response', id, text });
    };
    const failed = (error: unknown): void => {
      notice({ kind: 'violation', message: `answering ${method} failed: ${String(error)}` });
      done({ error: { code: codes.internalError, message: 'The client failed to answer' } });
    };
    try {
      const outcome = inbound.request(method, params, running.signal);
      if (outcome instanceof Promise) { askedSince ??= now(); outcome.then(done).catch(failed); } else if (outcome === undefined) answered(id); else done(outcome);
    } catch (error) {
      failed(error);
    }
  }

  // ---- outbound
  function notify(method: string, params?: JsonObject): void | Promise<void> {
    return post({ kind: 'notification', method, params, text: `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${JSON.stringify(params)}`}}` });
  }
  function post(message: Outgoing): void | Promise<void> {
    if (ended !== undefined) return undefined;
    try {
      const sent = transport.send(message);
      return sent?.catch((error: unknown) => notice({ kind: 'stream', message: `a ${message.kind} could not be delivered: ${toFailure(error).message}` }));
    } catch (error) {
      notice({ kind: 'stream', message: `a ${message.kind} could not be delivered: ${toFailure(error).message}` });
    }
  }
  function request<T>(method: string, options: RequestOptions<T>): Promise<T> {
    if (ended !== undefined) return Promise.reject(withContext(ended, { stage: options.stage }));
    if (closing !== undefined) return Promise.reject(refusedWhileClosing(options));
    if (options.signal?.aborted) return Promise.reject(new Failure('CANCELED', `Cannot ${options.action}: it was canceled`, { stage: options.stage, details: { method }, recovery: 'retryable' }));
    const id = nextId++;
    return new Promise<T>((resolve, reject) => {
      // In here, so that arguments that are no JSON reject like everything else.
      const text = encodeOrRefuse(id, method, options);
      const startedAt = now();
      const entry: Pending = {
        id, method, options: options as Asked, startedAt, idleAt: startedAt + options.timeoutMs,
        ceilingAt: startedAt + (options.ceilingMs ?? Math.max(limits.ceilingFactor * options.timeoutMs, limits.ceilingMs)),
        resolve: resolve as (value: unknown) => void, reject, onAbort: undefined, misaddressed: undefined,
      };
      if (options.signal !== undefined) {
        entry.onAbort = () => abort(entry);
        options.signal.addEventListener('abort', entry.onAbort, { once: true });
      }
      pending.set(id, entry);
      arm(entry.idleAt < entry.ceilingAt ? entry.idleAt : entry.ceilingAt);
      let sent: void | Promise<void>;
      try {
        sent = transport.send({ kind: 'request', id, method, params: options.params, stamp: options.stamp, text, replaySafe: !options.mutating, headers: options.headers });
      } catch (error) {
        notSent(entry, error);
        return;
      }
      if (sent !== undefined) sent.catch((error: unknown) => notSent(entry, error));
    });
  }
  /** Whoever sends knows whether the request can have arrived: anything but `unknown` means that nothing happened. */
  function notSent(entry: Pending, error: unknown): void {
    if (take(entry.id) === undefined) return;
    const failure = toFailure(error, entry.options.stage);
    if (failure.recovery === 'unknown') lose(entry, whyLost(failure), failure); else entry.reject(failure);
  }
  function launch(message: Outgoing, failed: (error: unknown) => void): void {
    try {
      const sent = transport.send(message);
      if (sent !== undefined) sent.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
  function stream(method: string, options: Pick<RequestOptions<unknown>, 'params' | 'stamp' | 'cancel'>, over: (outcome: { readonly result: unknown } | { readonly failure: AnyFailure }) => void): { readonly id: Id; stop(): void } {
    const id = nextId++;
    const entry: Pending = {
      id, method, startedAt: now(), idleAt: Infinity, ceilingAt: Infinity, onAbort: undefined, misaddressed: undefined,
      options: { action: method, stage: 'list', mutating: false, cancel: options.cancel, timeoutMs: Infinity, accept: (result) => result },
      resolve: (result) => over({ result }), reject: (failure) => over({ failure: toFailure(failure) }),
    };
    if (ended !== undefined || closing !== undefined) {
      queueMicrotask(() => entry.reject(ended ?? canceled(entry)));
      return { id, stop: () => {} };
    }
    pending.set(id, entry);
    const text = encodeRequest(id, method, options.params, options.stamp, false);
    let sent = false;
    // A moment later: whoever opens a stream needs its id before the first event can arrive.
    queueMicrotask(() => {
      if (!pending.has(id)) return;
      sent = true;
      launch({ kind: 'request', id, method, params: options.params, stamp: options.stamp, text, replaySafe: true }, (error) => { take(id)?.reject(error); });
    });
    return { id, stop: () => { if (take(id) !== undefined && sent) tellCanceled(entry, 'no longer wanted'); } };
  }

  // ---- the end
  function onClosed(reason: AnyFailure): void {
    if (ended !== undefined) return;
    ended = reason;
    clearTimeout(timer);
    timer = undefined;
    timerAt = Infinity;
    for (const entry of [...pending.values()]) if (take(entry.id) !== undefined) lose(entry, 'closed', reason);
    for (const running of asked.values()) running.abort();
    asked.clear();
    announce(reason);
  }
  async function shut(): Promise<CloseReport> {
    for (const entry of [...pending.values()]) if (take(entry.id) !== undefined) { tellCanceled(entry, 'the client is closing'); entry.reject(canceled(entry)); }
    const report = await transport.close();
    onClosed(new Failure('CONNECTION_CLOSED', 'Cannot use the connection: it was closed by this side', { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure);
    return report;
  }

  await transport.open({ message: onMessage, notice, postpone, closed: onClosed }, options.signal);
  return {
    request, stream, notify, transport, closed,
    get pendingCount() { return pending.size; },
    close: () => (closing ??= shut()),
  };
}

/**
 * The text of a request. A stamp's members are spliced in as text that was encoded once; only params that bring a `_meta` of
 * their own have to be merged as objects.
 */
export function encodeRequest(id: number, method: string, params: JsonObject | undefined, stamp: Stamp | undefined, progress: boolean): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
  if (stamp === undefined && !progress) return params === undefined ? `${head}}` : `${head},"params":${JSON.stringify(params)}}`;
  const own = params?.['_meta'];
  if (isObject(own)) {
    const meta = { ...own, ...stamp?.meta, ...(progress ? { progressToken: id } : {}) };
    return `${head},"params":${JSON.stringify({ ...params, _meta: meta })}}`;
  }
  const token = progress ? `"progressToken":${id}` : '';
  const meta = stamp === undefined ? token : token === '' ? stamp.metaText : `${stamp.metaText},${token}`;
  const rest = params === undefined ? '{}' : JSON.stringify(params);
  return `${head},"params":{"_meta":{${meta}}${rest === '{}' ? '}' : `,${rest.slice(1)}`}}`;
}

/** Nothing leaves that we would not take. Some engines walk by recursion, where nesting ends in a `RangeError`. Other mistakes of the caller stay what they are. */
function encodeOrRefuse(id: number, method: string, { params, stamp, progress, action, stage }: Pick<RequestOptions<unknown>, 'params' | 'stamp' | 'progress' | 'action' | 'stage'>): string {
  const refusal = (cause?: unknown): Failure => new Failure('LIMIT_EXCEEDED', `Cannot ${action}: what is to be sent nests too deep or is too long`, { stage, details: { limit: 'jsonDepth', maximum: limits.jsonDepth }, cause });
  let text: string;
  try {
    text = encodeRequest(id, method, params, stamp, progress === true);
  } catch (error) {
    throw error instanceof RangeError ? refusal(error) : error;
  }
  if (textNestsDeeper(text, limits.jsonDepth)) throw refusal();
  return text;
}

function encodeResponse(id: Id, outcome: InboundAnswer): string {
  const [key, body] = 'error' in outcome ? ['error', outcome.error] : ['result', outcome.result];
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined) throw new TypeError('an answer must be a JSON object');
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${key}":${text}}`;
}

function reasonText(why: 'timeout' | 'closed' | 'unreadable' | 'canceled', entry: Pending, cause: AnyFailure): string {
  switch (why) {
    case 'timeout': return `no answer came within ${cause.code === 'TIMEOUT' ? cause.details.afterMs : entry.options.timeoutMs} ms${astray(entry)}`;
    case 'closed': return `the connection ended before the answer (${cause.message})`;
    case 'unreadable': return `its answer cannot be read (${cause.message})`;
    case 'canceled': return 'it was canceled before the answer';
  }
}

/** Why a request may wait for an answer that has come. */
function astray({ id, misaddressed }: Pending): string {
  return misaddressed === undefined ? '' : `, but one with the id ${JSON.stringify(misaddressed)} (a string) instead of ${id} (a number)`;
}

function whyLost({ code }: AnyFailure): 'timeout' | 'closed' | 'unreadable' {
  return code === 'TIMEOUT' ? 'timeout' : code === 'PROTOCOL_VIOLATION' || code === 'LIMIT_EXCEEDED' ? 'unreadable' : 'closed';
}

/** Why a server went away is as good to know when the outcome is unknown. */
function exitFacts(details: { readonly exitCode?: number | null; readonly signal?: string | null; readonly stderrTail?: string }): { exitCode?: number | null; signal?: string | null; stderrTail?: string } {
  const { exitCode, signal, stderrTail } = details;
  return { ...(exitCode === undefined ? {} : { exitCode }), ...(signal === undefined ? {} : { signal }), ...(stderrTail === undefined || stderrTail === '' ? {} : { stderrTail }) };
}

/** A request that only reads has failed, whatever became of it on the way: it may be repeated. */
function definite(cause: AnyFailure, stage: Stage): AnyFailure {
  const failure = withContext(cause, { stage });
  if (failure.recovery !== 'unknown') return failure;
  return new Failure(failure.code, failure.message, { stage, details: failure.details as never, recovery: 'retryable', hint: failure.hint, origin: failure.origin, cause: failure.cause }) as AnyFailure;
}

function canceled(entry: Pending): AnyFailure {
  return new Failure('CANCELED', `Cannot ${entry.options.action}: it was canceled before the answer`, {
    stage: entry.options.stage, details: { method: entry.method }, recovery: entry.options.mutating ? 'unknown' : 'retryable',
    hint: entry.options.mutating ? 'It may have taken effect: look at the state it changes before you repeat it' : undefined,
  }) as AnyFailure;
}

function refusedWhileClosing(options: { readonly action: string; readonly stage: Stage }): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot ${options.action}: the connection is closing`, { stage: options.stage, details: {}, recovery: 'retryable' }) as AnyFailure;
}

function remoteError(entry: Pending, error: RpcError): Failure<'REMOTE_ERROR'> {
  return new Failure('REMOTE_ERROR', `Cannot ${entry.options.action}: the server answered error ${error.code}${error.message === '' ? '' : `: ${shorten(error.message, 2000)}`}`, {
    stage: entry.options.stage, details: { rpcCode: error.code, method: entry.method, ...(error.data === undefined ? {} : { data: error.data }) }, recovery: 'blocked',
  });
}
