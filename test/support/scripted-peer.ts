/**
 * The other end of a connection, in a test's hands: it records every message that was sent and says what the test tells it to.
 * Nothing is answered by itself unless `answers` holds the method.
 */
import { Failure, type AnyFailure } from '../../src/base/failure.ts';
import { classify } from '../../src/jsonrpc/message.ts';
import type { Id, Message } from '../../src/jsonrpc/message.ts';
import type { Outgoing, Sink, Transport } from '../../src/jsonrpc/transport.ts';

export interface Sent {
  readonly id?: Id;
  readonly method?: string;
  readonly params?: Readonly<Record<string, any>>;
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** What the peer answers to a method: a result, an error, silence, or whatever it does itself. */
export type Scripted = (request: Sent, peer: ScriptedPeer) => { readonly result: unknown } | { readonly error: { readonly code: number; readonly message?: string; readonly data?: unknown } } | undefined | void;

export interface ScriptedPeer {
  readonly transport: Transport;
  /** Everything that was sent, in order. */
  readonly sent: readonly Sent[];
  /** The same with what the transport was told beside the text. */
  readonly outgoing: readonly Outgoing[];
  /** Ids whose stream was closed through `cancel`. */
  readonly streamsClosed: readonly Id[];
  /** What `negotiated` was told. */
  readonly negotiated: readonly { readonly era: string; readonly revision: string }[];
  readonly closeCount: number;
  /** The next message that was not taken yet, waiting for it if need be; of this method if one is given. */
  next(method?: string): Promise<Sent>;
  /** Says one message. */
  say(message: unknown): void;
  /** The same, classified before. */
  deliver(message: Message): void;
  result(id: Id | undefined, result: unknown): void;
  error(id: Id | null | undefined, code: number, message?: string, data?: unknown): void;
  request(id: Id, method: string, params?: unknown): void;
  notify(method: string, params?: unknown): void;
  /** Ends the connection from the other side. */
  end(reason?: AnyFailure): void;
}

export interface ScriptedPeerOptions {
  readonly kind?: Transport['kind'];
  readonly perRequest?: boolean;
  readonly answers?: Readonly<Record<string, Scripted>>;
  /** Replaces the sending of one message: refuse, wait, or answer at once. */
  readonly onSend?: (message: Outgoing, peer: ScriptedPeer) => void | Promise<void>;
  readonly open?: (signal: AbortSignal) => Promise<void>;
  readonly noiseBeforeFirst?: number;
}

export function createScriptedPeer(options: ScriptedPeerOptions = {}): ScriptedPeer {
  const sent: Sent[] = [], outgoing: Outgoing[] = [], streamsClosed: Id[] = [], negotiated: { era: string; revision: string }[] = [];
  const taken = new Set<Sent>();
  let waiting: { readonly method: string | undefined; readonly resolve: (message: Sent) => void }[] = [];
  let sink: Sink | undefined, over = false, closeCount = 0;

  const transport: Transport = {
    kind: options.kind ?? 'memory',
    perRequest: options.perRequest ?? false,
    async open(to, signal) {
      await options.open?.(signal);
      sink = to;
    },
    send(message) {
      outgoing.push(message);
      const parsed = JSON.parse(message.text) as Sent;
      sent.push(parsed);
      const index = waiting.findIndex((one) => one.method === undefined || one.method === parsed.method);
      if (index >= 0) {
        taken.add(parsed);
        waiting.splice(index, 1)[0]?.resolve(parsed);
      }
      const scripted = message.kind === 'request' || message.kind === 'notification' ? options.answers?.[message.method] : undefined;
      if (scripted !== undefined) queueMicrotask(() => play(scripted, parsed));
      return options.onSend?.(message, peer);
    },
    cancel: (id) => { streamsClosed.push(id); },
    negotiated: (told) => { negotiated.push(told); },
    noiseBeforeFirst: () => options.noiseBeforeFirst ?? 0,
    async close() {
      closeCount += 1;
      peer.end(closedHere());
      return { forced: [] };
    },
  };

  function play(scripted: Scripted, request: Sent): void {
    const answer = scripted(request, peer);
    if (answer === undefined || request.id === undefined) return;
    if ('result' in answer) peer.result(request.id, answer.result); else peer.error(request.id, answer.error.code, answer.error.message, answer.error.data);
  }

  const peer: ScriptedPeer = {
    transport, sent, outgoing, streamsClosed, negotiated,
    get closeCount() { return closeCount; },
    next(method) {
      const found = sent.find((message) => !taken.has(message) && (method === undefined || message.method === method));
      if (found !== undefined) { taken.add(found); return Promise.resolve(found); }
      return new Promise((resolve) => { waiting = [...waiting, { method, resolve }]; });
    },
    say(message) {
      const known = classify(message);
      if (known === undefined) throw new TypeError(`no JSON-RPC message: ${JSON.stringify(message)}`);
      peer.deliver(known);
    },
    deliver(message) { if (!over) sink?.message(message); },
    result: (id, result) => peer.say({ jsonrpc: '2.0', id, result }),
    error: (id, code, message = 'no', data) => peer.say({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, ...(data === undefined ? {} : { data }) } }),
    request: (id, method, params) => peer.say({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }),
    notify: (method, params) => peer.say({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }),
    end(reason = exited()) {
      if (over || sink === undefined) return;
      over = true;
      sink.closed(reason);
    },
  };
  return peer;
}

export function exited(): AnyFailure {
  return new Failure('SERVER_EXITED', 'Cannot reach server "scripted": its process exited with code 1', { stage: 'call', details: { exitCode: 1, signal: null, stderrTail: '' }, recovery: 'retryable' }) as AnyFailure;
}

function closedHere(): AnyFailure {
  return new Failure('CONNECTION_CLOSED', 'Cannot reach server "scripted": the connection was closed by this side', { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
}

export const clientInfo = { name: 'zuno-lite', version: '0.0.0-test' };

/** A server of 2026-07-28: answers `server/discover`, then whatever `answers` holds. */
export function createModernPeer(options: ScriptedPeerOptions & { readonly capabilities?: object; readonly discovered?: object } = {}): ScriptedPeer {
  const result = {
    resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: options.capabilities ?? { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} },
    ttlMs: 0, cacheScope: 'private', instructions: 'Be kind', _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'modern', version: '2' } }, ...options.discovered,
  };
  return createScriptedPeer({ ...options, answers: { 'server/discover': () => ({ result }), ...options.answers } });
}

/** A server of `initialize`: knows no `server/discover`. */
export function createLegacyPeer(options: ScriptedPeerOptions & { readonly capabilities?: object; readonly revision?: string } = {}): ScriptedPeer {
  const result = {
    protocolVersion: options.revision ?? '2025-11-25', capabilities: options.capabilities ?? { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
    serverInfo: { name: 'legacy', version: '1' }, instructions: 'Be brief',
  };
  return createScriptedPeer({ ...options, answers: { 'server/discover': () => ({ error: { code: -32601, message: 'Method not found' } }), initialize: () => ({ result }), ping: () => ({ result: {} }), ...options.answers } });
}
