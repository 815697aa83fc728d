/** The stateless era (2026-07-28): every request says who asks and what it can do; servers never send requests. */
import { delay, now } from '../base/deadline.ts';
import { Failure, isFailure, toFailure, type AnyFailure } from '../base/failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Connection } from '../jsonrpc/connection.ts';
import type { Id } from '../jsonrpc/message.ts';
import type { Stamp } from '../jsonrpc/transport.ts';
import { declaredCapabilities } from './answers.ts';
import type { InputRequired, Lifecycle, WatchFilter } from './lifecycle.ts';
import { expectObject, readCapabilities, readImplementation, refuse } from './results.ts';
import type { Answers, Implementation, ListKind } from './types.ts';

const PREFIX = 'io.modelcontextprotocol/';

/** The `_meta` members of every request, encoded once. */
export function makeStamp(revision: string, clientInfo: Implementation, answers: Answers, logLevel?: string): Stamp {
  const meta: JsonObject = {
    [`${PREFIX}protocolVersion`]: revision,
    [`${PREFIX}clientInfo`]: clientInfo,
    [`${PREFIX}clientCapabilities`]: declaredCapabilities(answers),
    ...(logLevel === undefined ? {} : { [`${PREFIX}logLevel`]: logLevel }),
  };
  return { revision, meta, metaText: JSON.stringify(meta).slice(1, -1) };
}

/** Only these may answer `input_required` (MCP 2026-07-28, multi round-trip requests). */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Subscription {
  readonly wanted: ReadonlySet<string>;
  readonly uris: boolean;
  acknowledged: (honoured: unknown) => void;
  ready: boolean;
  over: (reason: AnyFailure | undefined) => void;
}

export function createModern(options: { readonly revision: string; readonly discovered: JsonObject; readonly clientInfo: Implementation; readonly answers: Answers; readonly perRequest: boolean; readonly onNotice: (message: string) => void; /** Delivers an event of our own making. */ readonly emit: (method: string, params: JsonObject) => void }): Lifecycle {
  const { revision, discovered } = options;
  let stamp = makeStamp(revision, options.clientInfo, options.answers);
  let toldMissingType = false;
  const meta = discovered['_meta'];
  const instructions = discovered['instructions'];
  const subscriptions = new Map<Id, Subscription>();
  const capabilities = readCapabilities(discovered['capabilities']);

  return {
    era: 'modern', revision, capabilities,
    serverInfo: readImplementation(isObject(meta) ? meta[`${PREFIX}serverInfo`] : undefined) ?? readImplementation(discovered['serverInfo']),
    instructions: typeof instructions === 'string' ? instructions : undefined,
    cancel: options.perRequest ? 'close' : 'notify',
    stamp: () => stamp,
    unwrap(method, raw) {
      const result = expectObject(method, raw);
      const type = result['resultType'];
      if (type === 'complete') return { kind: 'complete', result };
      if (type === undefined) {
        if (!toldMissingType) { toldMissingType = true; options.onNotice(`a result of ${method} has no resultType; taken as complete`); }
        return { kind: 'complete', result };
      }
      if (type !== 'input_required') throw refuse(method, `its resultType is ${JSON.stringify(type)}, which was not asked for`);
      if (!mayAsk.has(method)) throw refuse(method, 'it asks for input, which this method must not');
      return { kind: 'input_required', input: readInputRequired(method, result) };
    },
    answer(method) {
      options.onNotice(`the server sent the request ${method}, which this revision forbids`);
      return undefined;
    },
    admits(method, params) {
      if (method === 'notifications/message' || method === 'notifications/progress') return true;
      const subscription = subscriptions.get(subscriptionId(method, params));
      if (subscription === undefined) return false;
      if (method === 'notifications/subscriptions/acknowledged') { subscription.ready = true; subscription.acknowledged(params['notifications']); return false; }
      if (method === 'notifications/cancelled') { subscription.over(undefined); return false; }
      return subscription.ready && (subscription.wanted.has(method) || (method === 'notifications/resources/updated' && subscription.uris));
    },
    async ping(connection, settings) {
      try {
        await connection.request('server/discover', { stamp, action: 'reach the server', stage: 'connect', timeoutMs: settings.timeoutMs, signal: settings.signal, cancel: this.cancel, mutating: false, accept: (result) => result });
      } catch (error) {
        if (!isFailure(error) || error.code !== 'REMOTE_ERROR') throw error;
      }
    },
    setLogLevel(_connection, level) {
      stamp = makeStamp(revision, options.clientInfo, options.answers, level);
      return Promise.resolve();
    },
    watch: (connection, filter, settings) => listen(connection, filter, settings.timeoutMs, settings.signal),
  };

  /**
   * `subscriptions/listen`. The stream has no deadline; its acknowledgement, which comes first, has one. A stream that drops is
   * opened again with growing pauses, and everything it watched counts as changed: nothing is replayed.
   */
  async function listen(connection: Connection, filter: WatchFilter, timeoutMs: number, signal: AbortSignal | undefined): Promise<{ close(): Promise<void> }> {
    const stopping = new AbortController();
    let openedAt = now(), attempt = 0;
    let stop = await subscribe(connection, filter, timeoutMs, signal, dropped);
    void connection.closed.then(() => stopping.abort());
    return {
      close() {
        stopping.abort();
        stop();
        return Promise.resolve();
      },
    };

    function dropped(): void {
      if (stopping.signal.aborted) return;
      // One that ends as soon as it is open is no better than one that cannot be opened.
      if (now() - openedAt >= limits.streamStoodMs) attempt = 0;
      void again();
    }
    async function again(): Promise<void> {
      for (; attempt < limits.streamRetries; attempt++) {
        await delay(Math.min(limits.streamRetryMs * limits.streamRetryFactor ** attempt, limits.retryCapMs), stopping.signal);
        if (stopping.signal.aborted) return;
        try {
          const opened = await subscribe(connection, filter, timeoutMs, stopping.signal, dropped);
          if (stopping.signal.aborted) { opened(); return; }
          stop = opened;
          openedAt = now();
          attempt += 1;
          for (const list of filter.lists ?? []) options.emit(`notifications/${list}/list_changed`, {});
          for (const uri of filter.uris ?? []) options.emit('notifications/resources/updated', { uri });
          return;
        } catch (error) {
          options.onNotice(`watching for changes could not be taken up again: ${toFailure(error).message}`);
        }
      }
      options.onNotice('watching for changes is given up: the stream ends again and again');
    }
  }

  /** Resolves once the server acknowledged; `dropped` is called when the stream ends after that without being told to. */
  function subscribe(connection: Connection, filter: WatchFilter, timeoutMs: number, signal: AbortSignal | undefined, dropped: () => void): Promise<() => void> {
    const lists = filter.lists ?? [];
    const uris = filter.uris ?? [];
    const wanted: JsonObject = { ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])), ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) };
    return new Promise((resolve, reject) => {
      if (signal?.aborted) { reject(unwatched()); return; }
      let phase: 'waiting' | 'open' | 'over' = 'waiting';
      const settle = (): void => { clearTimeout(timer); signal?.removeEventListener('abort', onAbort); };
      const finish = (failure: AnyFailure | undefined): void => {
        const before = phase;
        phase = 'over';
        subscriptions.delete(opened.id);
        settle();
        if (before === 'waiting') reject(failure ?? ended()); else if (before === 'open') dropped();
      };
      const opened = connection.stream('subscriptions/listen', {
        params: { notifications: wanted }, stamp, cancel: options.perRequest ? 'close' : 'notify',
      }, (outcome) => finish('failure' in outcome ? outcome.failure : undefined));
      const giveUp = (failure: AnyFailure): void => { opened.stop(); finish(failure); };
      const timer = setTimeout(() => giveUp(new Failure('TIMEOUT', `Cannot watch for changes: the server did not acknowledge within ${timeoutMs} ms`, { stage: 'list', details: { afterMs: timeoutMs, method: 'subscriptions/listen' }, recovery: 'retryable' }) as AnyFailure), timeoutMs);
      const onAbort = (): void => giveUp(unwatched());
      signal?.addEventListener('abort', onAbort, { once: true });
      subscriptions.set(opened.id, {
        wanted: new Set(lists.map((list: ListKind) => `notifications/${list}/list_changed`)), uris: uris.length > 0, ready: false,
        acknowledged: (honoured) => {
          if (phase !== 'waiting') return;
          phase = 'open';
          settle();
          const refused = Object.keys(wanted).filter((key) => isObject(honoured) && (honoured[key] ?? false) === false);
          if (refused.length > 0) options.onNotice(`the server will not tell about ${refused.join(', ')}, though asked to`);
          resolve(() => { phase = 'over'; opened.stop(); subscriptions.delete(opened.id); });
        },
        // The response that should come too has nobody waiting for it then.
        over: (reason) => { opened.stop(); finish(reason); },
      });
    });
  }
}

function unwatched(): AnyFailure {
  return new Failure('CANCELED', 'Cannot watch for changes: it was canceled', { stage: 'list', details: {}, recovery: 'retryable' }) as AnyFailure;
}

function ended(): AnyFailure {
  return new Failure('CONNECTION_CLOSED', 'Cannot watch for changes: the server ended the subscription', { stage: 'list', details: {}, recovery: 'retryable' }) as AnyFailure;
}

function subscriptionId(method: string, params: JsonObject): Id {
  const own = isObject(params['_meta']) ? params['_meta'][`${PREFIX}subscriptionId`] : undefined;
  return (own ?? (method === 'notifications/cancelled' ? params['requestId'] : undefined)) as Id;
}

function readInputRequired(method: string, result: JsonObject): InputRequired {
  const { inputRequests, requestState } = result;
  const requests: [key: string, request: JsonObject][] = [];
  if (inputRequests !== undefined) {
    if (!isObject(inputRequests)) throw refuse(method, '"inputRequests" is not an object');
    for (const [key, request] of Object.entries(inputRequests)) {
      if (!isObject(request) || typeof request['method'] !== 'string') throw refuse(method, `the input request ${JSON.stringify(key)} has no method`);
      requests.push([key, request]);
    }
  }
  if (requestState !== undefined && typeof requestState !== 'string') throw refuse(method, '"requestState" is not a string');
  if (inputRequests === undefined && requestState === undefined) throw refuse(method, 'it asks for input without saying which');
  return { requests: Object.fromEntries(requests), state: requestState };
}
