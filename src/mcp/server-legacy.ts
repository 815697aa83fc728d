/** One session of the `initialize` era (MCP 2024-11-05 to 2025-11-25) on the server's side. */
import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Id, Message, Request, RpcError } from '../jsonrpc/message.ts';
import { encodeError, encodeNotification, encodeResult, type Exchange, type ServedSession, type SessionCarrier } from '../jsonrpc/serving.ts';
import { legacyRevisions, newestLegacy } from './revisions.ts';
import { undeclared } from './server-asks.ts';
import { createQuestions } from './server-questions.ts';
import { faultFor, invalidParams, isRpcError, methodNotFound, missingCapability, RpcFault } from './server-fault.ts';
import { isServed, runMethod } from './server-methods.ts';
import { createProgress, isLogLevel, isLoud, progressToken, unsubscribedParams } from './server-notes.ts';
import { legacyResult } from './server-shape.ts';
import type { Change, GivenInput, Served, ServedContext, ServedPeer } from './server-types.ts';

export interface LegacyOptions {
  readonly carrier: SessionCarrier;
  /** Finds what is served. May throw an `RpcFault`, which refuses the session. */
  open(peer: ServedPeer): Promise<Served>;
  /** Lets go of it. Never rejects. */
  close(served: Served): Promise<void>;
  onFault(method: string, error: unknown): void;
  readonly askMs: number;
}

export function createLegacySession({ carrier, open, close, onFault, askMs }: LegacyOptions): ServedSession {
  const running = new Map<Id, AbortController>();
  const subscribed = new Set<string>();
  const questions = createQuestions(askMs);
  let peer: ServedPeer | undefined, opening: Promise<Served> | undefined, served: Served | undefined;
  let revision: string | undefined, logLevel: string | undefined;
  let unwatch: (() => void) | undefined, closing: Promise<void> | undefined;

  function receive(message: Message, exchange?: Exchange): void {
    if (closing !== undefined) { exchange?.answer(undefined, 404); return; }
    switch (message.kind) {
      case 'request': if (exchange !== undefined) void answer(message.message, exchange); return;
      case 'notification': onNotification(message.message.method, message.message.params ?? {}); return;
      case 'result': questions.settle(message.message.id, isObject(message.message.result) ? { result: message.message.result } : { error: { code: codes.internalError, message: 'The answer of the client is no object' } }); return;
      case 'error': questions.settle(message.message.id, { error: message.message.error }); return;
      case 'refused': exchange?.answer(encodeError(message.message.id, { code: codes.invalidRequest, message: `The request nests deeper than ${limits.jsonDepth} levels` }), 400); return;
    }
  }

  function onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/cancelled') running.get(params['requestId'] as Id)?.abort(); else if (method !== 'notifications/initialized') served?.notified?.(method, params);
  }

  async function answer({ id, method, params = {} }: Request, exchange: Exchange): Promise<void> {
    const refuse = (error: RpcError, status: number): void => exchange.answer(encodeError(id, error), status);
    if (running.has(id)) { refuse({ code: codes.invalidRequest, message: 'This id belongs to a request that is still running' }, 400); return; }
    if (running.size >= limits.serverRequests) { refuse({ code: codes.internalError, message: 'Too many requests are running' }, 200); return; }
    const abort = new AbortController();
    const onGone = (): void => abort.abort();
    running.set(id, abort);
    exchange.signal.addEventListener('abort', onGone, { once: true });
    if (exchange.signal.aborted) abort.abort();
    try {
      const result = await dispatch(id, method, params, exchange, abort.signal);
      exchange.answer(abort.signal.aborted ? undefined : encodeResult(id, result), 200);
    } catch (error) {
      if (abort.signal.aborted) { exchange.answer(undefined, 200); return; }
      if (!isRpcError(error)) onFault(method, error);
      const fault = faultFor('legacy', method, isRpcError(error) ? error : { code: codes.internalError, message: 'Internal error' });
      refuse(fault, fault.code === codes.invalidRequest ? 400 : 200);
    } finally {
      exchange.signal.removeEventListener('abort', onGone);
      running.delete(id);
    }
  }

  async function dispatch(id: Id, method: string, params: JsonObject, exchange: Exchange, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'ping') return {};
    if (method === 'initialize') return initialize(params);
    // A request may come right behind `initialize`, while what is served is still being opened.
    const program = served ?? await opening;
    if (program === undefined || peer === undefined) throw new RpcFault(codes.invalidRequest, 'The session is not initialized');
    switch (method) {
      case 'logging/setLevel':
        if (program.capabilities['logging'] === undefined) throw methodNotFound(method);
        if (!isLogLevel(params['level'])) throw invalidParams('Invalid params: level is no log level');
        logLevel = params['level'];
        await program.setLogLevel?.(logLevel);
        return {};
      case 'resources/subscribe': case 'resources/unsubscribe': return subscription(program, method, params);
    }
    if (!isServed(program, method)) throw methodNotFound(method);
    return legacyResult(method, await inRounds(program, id, method, params, exchange, signal, peer));
  }

  async function initialize(params: JsonObject): Promise<JsonObject> {
    if (opening !== undefined) throw new RpcFault(codes.invalidRequest, 'The session is initialized already');
    const { protocolVersion, capabilities, clientInfo } = params;
    if (typeof protocolVersion !== 'string') throw invalidParams('Invalid params: protocolVersion is not a string');
    const agreed = legacyRevisions.includes(protocolVersion) ? protocolVersion : newestLegacy;
    const found: ServedPeer = {
      era: 'legacy', revision: agreed, principal: carrier.principal, clientInfo: isObject(clientInfo) ? clientInfo : undefined,
      clientCapabilities: isObject(capabilities) ? capabilities : {},
      ask: (method, question, signal) => ask(found, method, question, (text) => carrier.send(text), signal),
    };
    peer = found;
    opening = open(found);
    opening.catch(() => { opening = undefined; });
    const program = await opening;
    if (closing !== undefined) { await close(program); throw new RpcFault(codes.internalError, 'The session was closed'); }
    served = program;
    revision = agreed;
    unwatch = program.watch?.(tell);
    return {
      protocolVersion: agreed, capabilities: program.capabilities, serverInfo: program.serverInfo,
      ...(program.instructions === undefined ? {} : { instructions: program.instructions }),
    };
  }

  /** Answers of the kind `input_required`, which this era does not have, become requests to the client; then the handler goes on. */
  async function inRounds(program: Served, id: Id, method: string, params: JsonObject, exchange: Exchange, signal: AbortSignal, client: ServedPeer): Promise<JsonObject> {
    const meta = isObject(params['_meta']) ? params['_meta'] : {};
    const token = progressToken(meta);
    const send = (text: string): void => { if (!signal.aborted) exchange.send(text, true); };
    const progress = createProgress(() => token, send);
    let input: GivenInput | undefined;
    for (let round = 0; ; round++) {
      const context: ServedContext = {
        era: 'legacy', revision: client.revision, principal: client.principal, id, clientInfo: client.clientInfo, clientCapabilities: client.clientCapabilities,
        meta, input, signal, wantsProgress: token !== undefined, progress,
        log: (entry) => { if (isLoud(entry, logLevel)) send(encodeNotification('notifications/message', entry)); },
        mayAsk: (question, asked = {}) => undeclared(question, asked, client.clientCapabilities) === undefined,
        ask: (question, asked) => ask(client, question, asked, (text) => exchange.send(text), signal),
        pause: (retryMs) => exchange.pause?.(retryMs),
      };
      const result = await runMethod(program, method, params, context);
      if (result['resultType'] !== 'input_required') return result;
      if (round >= limits.inputRounds) throw new RpcFault(codes.internalError, `More than ${limits.inputRounds} rounds of input were asked for`);
      input = await gather(result, context);
    }
  }

  async function gather(result: JsonObject, context: ServedContext): Promise<GivenInput> {
    const requests = isObject(result['inputRequests']) ? Object.entries(result['inputRequests']) : [];
    const responses = await Promise.all(requests.map(async ([key, request]): Promise<[string, JsonObject]> => {
      const { method, params } = isObject(request) ? request : {} as JsonObject;
      const question = isObject(params) ? params : {};
      // Up to 2025-11-25 a page to visit has an id; the modern era has none to give.
      const asked = question['mode'] === 'url' && question['elicitationId'] === undefined ? { ...question, elicitationId: randomUUID() } : question;
      return [key, await context.ask(String(method), asked)];
    }));
    return { responses: Object.fromEntries(responses), state: typeof result['requestState'] === 'string' ? result['requestState'] : undefined };
  }

  function ask(client: ServedPeer, method: string, params: JsonObject, send: (text: string) => boolean, signal?: AbortSignal): Promise<JsonObject> {
    const required = undeclared(method, params, client.clientCapabilities);
    return required !== undefined ? Promise.reject(missingCapability(required)) : questions.ask(method, params, send, signal);
  }

  // ---- what changes
  async function subscription(program: Served, method: string, { uri }: JsonObject): Promise<JsonObject> {
    const { resources } = program.capabilities;
    if (!isObject(resources) || resources['subscribe'] !== true) throw methodNotFound(method);
    if (typeof uri !== 'string') throw invalidParams('Invalid params: uri is not a string');
    if (method === 'resources/unsubscribe') {
      if (subscribed.delete(uri)) await program.unsubscribe?.(uri);
      return {};
    }
    if (subscribed.has(uri)) return {};
    if (subscribed.size >= limits.subscribedResources) throw new RpcFault(codes.internalError, `More than ${limits.subscribedResources} resources are watched`);
    subscribed.add(uri);
    try {
      await program.subscribe?.(uri);
    } catch (error) {
      subscribed.delete(uri);
      throw error;
    }
    return {};
  }

  function tell(change: Change): void {
    const say = (method: string, params?: JsonObject): void => { carrier.send(encodeNotification(method, params)); };
    switch (change.kind) {
      case 'list_changed': {
        const offered = served?.capabilities[change.list];
        if (isObject(offered) && offered['listChanged'] === true) say(`notifications/${change.list}/list_changed`, unsubscribedParams(change.params));
        return;
      }
      case 'resource_updated': if (concerns(subscribed, change.uri)) say('notifications/resources/updated', { ...unsubscribedParams(change.params), uri: change.uri }); return;
      case 'log': if (isLoud(change.params, logLevel)) say('notifications/message', change.params); return;
      case 'other': say(change.method, change.params); return;
    }
  }

  async function shut(): Promise<void> {
    unwatch?.();
    questions.close();
    for (const abort of running.values()) abort.abort();
    const program = served;
    if (program === undefined) return;
    try {
      for (const uri of subscribed) await program.unsubscribe?.(uri);
    } catch (error) {
      onFault('resources/unsubscribe', error);
    }
    await close(program);
  }

  return {
    receive,
    get revision() { return revision; },
    get running() { return running.size; },
    close: () => (closing ??= shut()),
  };
}

/** A change concerns who watches that resource or one that it is part of (MCP 2025-11-25, subscriptions). */
export function concerns(watched: ReadonlySet<string>, uri: string): boolean {
  if (watched.has(uri)) return true;
  for (const one of watched) if (uri.startsWith(one.endsWith('/') ? one : `${one}/`)) return true;
  return false;
}
