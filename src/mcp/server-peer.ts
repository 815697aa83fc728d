/** A server at one end of a carrier that has one peer (stdio, memory): requests of both eras arrive interleaved and are answered over the same pipe. */
import { settlesWithin } from '../base/deadline.ts';
import type { AnyFailure } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Id, Message, Request } from '../jsonrpc/message.ts';
import { encodeError, type Exchange, type ServedSession, type ServerEngine } from '../jsonrpc/serving.ts';
import type { Notice, Transport } from '../jsonrpc/transport.ts';

export interface PeerOptions {
  /** Default: `local`. */
  readonly principal?: string;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told of each request once it is answered. */
  readonly onRequest?: ((entry: { readonly method: string; readonly era: 'legacy' | 'modern'; readonly ms: number }) => void) | undefined;
}

export interface ServedPeerConnection {
  /** Resolves with the reason once the peer is gone and everything is let go of. */
  readonly closed: Promise<AnyFailure>;
  /** Lets what runs end for a while, then ends it. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** Opens the transport and serves whoever is at its other end. Rejects with the transport's failure. */
export async function servePeer(engine: ServerEngine, transport: Transport, options: PeerOptions = {}): Promise<ServedPeerConnection> {
  const principal = options.principal ?? 'local';
  const notice = options.onNotice ?? ((): void => {});
  const connection = {};
  const running = new Map<Id, AbortController>();
  let session: ServedSession | undefined;
  let backlog = 0, gone = false, closing: Promise<void> | undefined;
  let idle: (() => void) | undefined;
  let announce: (reason: AnyFailure) => void = () => {};
  const closed = new Promise<AnyFailure>((resolve) => { announce = resolve; });

  /** What may be left out is, while the peer does not read. */
  function post(text: string, dispensable = false): boolean {
    if (gone || (dispensable && backlog > limits.serverBacklogBytes)) return false;
    // The engine made the text; what is left to say of it is that nothing waits for an answer here.
    const sent = transport.send({ kind: 'notification', method: '', params: undefined, text });
    if (sent !== undefined) {
      backlog += text.length;
      const over = (): void => { backlog = 0; };
      sent.then(over, over);
    }
    return true;
  }

  function receive(message: Message): void {
    if (closing !== undefined) return;
    switch (message.kind) {
      case 'request': onRequest(message.message, engine.eraOf(message)); return;
      case 'notification': {
        const { method, params } = message.message;
        session?.receive(message);
        // The engine does not answer what was given up.
        if (method === 'notifications/cancelled' && isObject(params)) running.get(params['requestId'] as Id)?.abort();
        return;
      }
      case 'refused': if (message.message.of === 'request') post(encodeError(message.message.id, { code: codes.invalidRequest, message: `The request nests deeper than ${limits.jsonDepth} levels` })); return;
      default: session?.receive(message);
    }
  }

  function onRequest(request: Request, era: 'legacy' | 'modern' | 'opening'): void {
    const { id } = request;
    const refuse = (code: number, words: string): void => { post(encodeError(id, { code, message: words })); };
    if (running.has(id)) { refuse(codes.invalidRequest, 'This id belongs to a request that is still running'); return; }
    if (running.size >= limits.serverRequests) { refuse(codes.internalError, 'Too many requests are running'); return; }
    if (era === 'legacy' && session === undefined) {
      refuse(codes.invalidRequest, 'The session is not initialized: send initialize first, or name the protocol version in _meta');
      return;
    }
    const abort = new AbortController();
    const startedAt = performance.now();
    running.set(id, abort);
    const over = (): void => {
      if (running.get(id) !== abort) return;
      running.delete(id);
      options.onRequest?.({ method: request.method, era: era === 'modern' ? 'modern' : 'legacy', ms: performance.now() - startedAt });
      if (running.size === 0) idle?.();
    };
    abort.signal.addEventListener('abort', over, { once: true });
    const exchange: Exchange = {
      principal, signal: abort.signal,
      send: (text, dispensable) => !abort.signal.aborted && post(text, dispensable),
      answer(text) {
        // A canceled request wants no answer any more (MCP, cancellation).
        if (text !== undefined && !abort.signal.aborted) post(text);
        over();
      },
    };
    if (era === 'modern') { engine.serve(request, exchange, connection); return; }
    // A second `initialize` is the session's to refuse.
    session ??= engine.openSession({ principal, send: (text) => post(text) });
    session.receive({ kind: 'request', message: request }, exchange);
  }

  async function shut(abrupt: boolean): Promise<void> {
    if (!abrupt && running.size > 0) await settlesWithin(new Promise<void>((resolve) => { idle = resolve; }), limits.serverDrainMs);
    for (const abort of [...running.values()]) abort.abort();
    await session?.close();
    await engine.release(connection);
  }

  await transport.open({
    message: receive,
    notice,
    closed(reason) {
      // A peer that ended what it sends may still read: what it asked before is answered, unless the way back is broken.
      closing ??= shut(transport.kind === 'memory' || reason.stage !== 'close');
      void closing.then(async () => {
        gone = true;
        await transport.close();
        announce(reason);
      });
    },
  }, options.signal ?? new AbortController().signal);

  return {
    closed,
    async close() {
      await (closing ??= shut(false));
      await transport.close();
      await closed;
    },
  };
}
