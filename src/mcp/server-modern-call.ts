/**
 * One call of the stateless era, which may outlive the request that began it. While its handler waits for the client, the request is
 * answered with `input_required` and a sealed state; the retry that brings the state back goes on with the same handler (MCP
 * 2026-07-28, multi round-trip requests).
 */
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Id, RpcError } from '../jsonrpc/message.ts';
import { encodeError, encodeNotification, encodeResult, type Exchange } from '../jsonrpc/serving.ts';
import { faultOfAnswer, undeclared } from './server-asks.ts';
import { faultFor, invalidParams, isRpcError, missingCapability, RpcFault, statusOf } from './server-fault.ts';
import { createProgress, isLoud, progressToken } from './server-notes.ts';
import { modernResult } from './server-shape.ts';
import type { GivenInput, Served, ServedContext } from './server-types.ts';

/** What one request of the stateless era says of itself, checked. */
export interface Envelope {
  readonly id: Id;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly revision: string;
  readonly clientInfo: JsonObject | undefined;
  readonly clientCapabilities: JsonObject;
  readonly logLevel: string | undefined;
}

export interface ModernCall {
  /** Methods of the questions that are open, by key. */
  readonly open: ReadonlyMap<string, string>;
  /** The client is back. */
  resume(envelope: Envelope, exchange: Exchange, responses: Readonly<Record<string, JsonObject>>): void;
  /** Nobody came back in time. */
  expire(): void;
  /** Settles once its handler has ended and its answer has left or is not wanted. */
  readonly over: Promise<void>;
}

export interface CallOptions {
  readonly served: Served;
  readonly envelope: Envelope;
  readonly exchange: Exchange;
  readonly input: GivenInput | undefined;
  run(context: ServedContext): Promise<JsonObject>;
  /** Keeps the call and seals where it is; `undefined` when too many are kept. */
  suspend(call: ModernCall): string | undefined;
  /** Seals a state of the handler's own. */
  seal(state: string): string;
  onFault(method: string, error: unknown): void;
}

/** Only these may be answered with `input_required`. */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Question { readonly method: string; readonly params: JsonObject; resolve(answer: JsonObject): void; reject(fault: RpcFault): void }
type Outcome = { readonly result: JsonObject } | { readonly error: unknown };

export function startModernCall(options: CallOptions): ModernCall {
  const { served } = options;
  const { method } = options.envelope;
  const abort = new AbortController();
  const questions = new Map<string, Question>();
  let envelope = options.envelope, exchange: Exchange | undefined;
  let asked = 0, flushing: NodeJS.Immediate | undefined, outcome: Outcome | undefined;
  let finished: () => void = () => {};
  const over = new Promise<void>((resolve) => { finished = resolve; });

  const onGone = (): void => { detach(); cancel('The client went away'); };
  function attach(to: Exchange): void {
    exchange = to;
    to.signal.addEventListener('abort', onGone, { once: true });
    if (to.signal.aborted) onGone();
  }
  function detach(): Exchange | undefined {
    const left = exchange;
    exchange = undefined;
    clearImmediate(flushing);
    flushing = undefined;
    left?.signal.removeEventListener('abort', onGone);
    return left;
  }
  function cancel(why: string): void {
    abort.abort();
    for (const [key, question] of questions) { questions.delete(key); question.reject(new RpcFault(codes.internalError, why)); }
    if (outcome !== undefined) finished();
  }
  function refuse(error: unknown): void {
    if (!isRpcError(error)) options.onFault(method, error);
    const fault = faultFor('modern', method, isRpcError(error) ? error as RpcError : { code: codes.internalError, message: 'Internal error' });
    detach()?.answer(encodeError(envelope.id, fault), statusOf(fault.code));
  }
  function reply(result: JsonObject): void {
    const text = encodeResult(envelope.id, modernResult(method, result, served.serverInfo));
    detach()?.answer(text, 200);
  }

  /** Answers what can be answered now: the end, or what the handler waits for. */
  function flush(): void {
    flushing = undefined;
    if (exchange === undefined) return;
    if (outcome !== undefined) { end(outcome); return; }
    if (questions.size === 0) return;
    const state = options.suspend(call);
    if (state === undefined) {
      refuse(new RpcFault(codes.internalError, 'Too many calls wait for input'));
      cancel('Too many calls wait for input');
      return;
    }
    reply({ resultType: 'input_required', inputRequests: Object.fromEntries([...questions].map(([key, question]) => [key, { method: question.method, params: question.params }])), requestState: state });
  }
  /** A moment later: questions that are asked together are sent together. */
  function flushSoon(): void { flushing ??= setImmediate(flush); }

  function end(how: Outcome): void {
    if ('error' in how) refuse(how.error); else {
      try {
        reply(how.result['resultType'] === 'input_required' ? ownInput(how.result) : how.result);
      } catch (error) {
        refuse(error);
      }
    }
    finished();
  }

  /** A handler's own `input_required`: what the client did not declare is left out, the state is sealed. */
  function ownInput(result: JsonObject): JsonObject {
    if (!mayAsk.has(method)) throw new TypeError(`${method} cannot ask for input`);
    const { inputRequests, requestState, ...rest } = result;
    const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
    let missing: JsonObject | undefined;
    const kept = requests.filter(([, request]) => {
      const question = isObject(request) ? request : {};
      const required = undeclared(String(question['method']), isObject(question['params']) ? question['params'] : {}, envelope.clientCapabilities);
      missing ??= required;
      return required === undefined;
    });
    if (kept.length === 0 && missing !== undefined) throw missingCapability(missing);
    if (typeof requestState === 'string' && requestState.length > limits.requestStateBytes) throw new RangeError('The requestState is too large');
    if (kept.length === 0 && typeof requestState !== 'string') throw new TypeError('An input_required result has neither inputRequests nor requestState');
    return { ...rest, ...(kept.length === 0 ? {} : { inputRequests: Object.fromEntries(kept) }), ...(typeof requestState === 'string' ? { requestState: options.seal(requestState) } : {}) };
  }

  function ask(question: string, params: JsonObject): Promise<JsonObject> {
    const required = undeclared(question, params, envelope.clientCapabilities);
    if (required !== undefined) return Promise.reject(missingCapability(required));
    if (!mayAsk.has(method)) return Promise.reject(new RpcFault(codes.internalError, `${method} cannot ask for input`));
    if (abort.signal.aborted) return Promise.reject(new RpcFault(codes.internalError, 'The request was canceled'));
    return new Promise((resolve, reject) => {
      questions.set(`question-${++asked}`, { method: question, params, resolve, reject });
      flushSoon();
    });
  }

  const send = (text: string): void => { exchange?.send(text, true); };
  const first = envelope;
  const context: ServedContext = {
    era: 'modern', revision: first.revision, principal: options.exchange.principal, id: first.id, clientInfo: first.clientInfo,
    get clientCapabilities() { return envelope.clientCapabilities; },
    meta: first.meta, input: options.input, signal: abort.signal,
    get wantsProgress() { return progressToken(envelope.meta) !== undefined; },
    progress: createProgress(() => (exchange === undefined ? undefined : progressToken(envelope.meta)), send),
    log: (entry) => { if (envelope.logLevel !== undefined && isLoud(entry, envelope.logLevel)) send(encodeNotification('notifications/message', entry)); },
    mayAsk: (question, params = {}) => mayAsk.has(method) && undeclared(question, params, envelope.clientCapabilities) === undefined,
    ask,
    pause: () => {},
  };
  const call: ModernCall = {
    get open() { return new Map([...questions].map(([key, question]) => [key, question.method])); },
    resume(next, to, responses) {
      envelope = next;
      attach(to);
      for (const [key, question] of [...questions]) {
        const answer = Object.hasOwn(responses, key) ? responses[key] : undefined;
        if (answer === undefined) continue;
        questions.delete(key);
        question.resolve(answer);
      }
      if (questions.size > 0 || outcome !== undefined) flushSoon();
    },
    expire: () => { cancel('No answer came in time'); },
    over,
  };
  attach(options.exchange);
  void Promise.resolve(context).then(options.run).then((result) => ({ result }), (error: unknown) => ({ error })).then((how: Outcome) => {
    outcome = how;
    if (exchange !== undefined) end(how);
    // Suspended: the client gets it when it comes back. Given up: nobody wants it.
    else if (abort.signal.aborted) finished();
  });
  return call;
}

/** Throws what is wrong with answers to open questions. Keys that nobody asked for are nobody's business. */
export function checkAnswers(open: ReadonlyMap<string, string>, responses: Readonly<Record<string, JsonObject>>): void {
  for (const [key, method] of open) {
    const fault = Object.hasOwn(responses, key) ? faultOfAnswer(method, responses[key]!) : undefined;
    if (fault !== undefined) throw invalidParams(`Invalid params: the input response ${JSON.stringify(key)} cannot be used: ${fault}`);
  }
}
