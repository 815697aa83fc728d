/**
 * HTTP+SSE, the transport of 2024-11-05: one GET stream brings everything the server says; its first event, `endpoint`, names
 * where messages are posted. The stream is the connection: when it drops, everything pending is lost with it.
 */
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import { parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { contentFailure, mediaType, statusFailure } from '../http/answers.ts';
import { collectText } from '../http/body.ts';
import { createEventDecoder } from '../http/event-stream.ts';
import type { Exchange, ResponseHead, SendRequest } from '../http/types.ts';
import { classify } from '../jsonrpc/message.ts';
import type { CloseReport, Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';

export interface SseOptions {
  /** The server's, for messages. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly send: SendRequest;
  readonly dispose?: () => void;
}

export function createSseTransport(options: SseOptions): Transport {
  const { name, url, headers } = options;
  const posts = new Set<Exchange>();
  let sink: Sink | undefined, stream: Exchange | undefined, endpoint: string | undefined;
  let revision: string | undefined, over: AnyFailure | undefined, closing: Promise<CloseReport> | undefined;

  const versionHeader = (): Record<string, string> => (revision === undefined ? {} : { 'mcp-protocol-version': revision });

  function open(to: Sink, signal: AbortSignal): Promise<void> {
    sink = to;
    return new Promise((resolve, reject) => {
      let head: ResponseHead | undefined, ready = false;
      const body = collectText();
      const fail = (failure: AnyFailure): void => {
        signal.removeEventListener('abort', onAbort);
        if (ready) { finish(failure); return; }
        stream?.abort();
        over ??= failure;
        reject(failure);
      };
      const onAbort = (): void => fail(new Failure('CANCELED', `Cannot reach server "${name}": it was canceled`, { stage: 'connect', details: {}, recovery: 'retryable' }) as AnyFailure);
      const events = createEventDecoder({
        onEvent({ data, type }) {
          if (type === 'endpoint') {
            const found = resolveEndpoint(data, head?.url ?? url, name);
            if (typeof found !== 'string') { fail(found); return; }
            endpoint = found;
            if (ready) return;
            ready = true;
            signal.removeEventListener('abort', onAbort);
            resolve();
          } else if (data !== '' && type === 'message') receive(data);
        },
      });
      stream = options.send({
        method: 'GET', url, headers: { ...headers, accept: 'text/event-stream' }, stage: 'connect', replaySafe: true,
        onHead: (received) => { head = received; },
        onData(chunk) {
          if (!isStream(head!)) { body.add(chunk); return; }
          try { events.feed(chunk); } catch (error) { fail(toFailure(error, 'call')); }
        },
        onEnd() {
          if (isStream(head!)) { fail(streamEnded(name)); return; }
          const answer = { url: head!.url, status: head!.status, headers: head!.headers, body: body.take(), stage: 'connect' as const };
          fail(head!.status >= 400 ? statusFailure(answer) : contentFailure(answer, 'an event stream'));
        },
        onFail: fail,
      });
      if (signal.aborted) onAbort(); else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  function receive(text: string): void {
    const parsed = parseJson(text);
    const list: readonly unknown[] = parsed === undefined ? [undefined] : Array.isArray(parsed.value) ? parsed.value : [parsed.value];
    for (const value of list) {
      const message = value === undefined ? undefined : classify(value);
      if (message === undefined) sink!.notice({ kind: 'noise', excerpt: text.slice(0, limits.excerptBytes), total: 1, run: 1 }); else sink!.message(message);
    }
  }

  function send(message: Outgoing): Promise<void> {
    if (over !== undefined || endpoint === undefined) return Promise.reject(over ?? closedHere(name));
    return new Promise((resolve, reject) => {
      let head: ResponseHead | undefined;
      const body = collectText();
      const exchange = options.send({
        method: 'POST', url: endpoint!, headers: { ...headers, 'content-type': 'application/json', ...versionHeader() }, body: message.text, stage: 'call',
        replaySafe: message.kind === 'request' ? message.replaySafe : message.kind === 'notification', deadlineMs: limits.requestMsLong,
        onHead: (received) => { head = received; },
        onData: (chunk) => body.add(chunk),
        onEnd() {
          posts.delete(exchange);
          if (head!.status < 400) resolve(); else reject(statusFailure({ url: head!.url, status: head!.status, headers: head!.headers, body: body.take(), stage: 'call' }));
        },
        onFail(failure) { posts.delete(exchange); reject(failure); },
      });
      posts.add(exchange);
    });
  }

  function finish(reason: AnyFailure): void {
    if (over !== undefined) return;
    over = reason;
    stream?.abort();
    for (const exchange of posts) exchange.abort();
    posts.clear();
    sink!.closed(reason);
  }

  return {
    kind: 'sse',
    perRequest: false,
    open,
    send,
    negotiated(peer) { revision = peer.revision; },
    close() {
      return (closing ??= Promise.resolve().then(() => {
        if (sink !== undefined) finish(closedHere(name));
        options.dispose?.();
        return { forced: [] };
      }));
    },
  };
}

function isStream(head: ResponseHead): boolean {
  return head.status === 200 && mediaType(head.headers) === 'text/event-stream';
}

/** Resolved against the stream's own URL. Another origin would be handed our headers and messages, so it is refused. */
function resolveEndpoint(written: string, base: string, name: string): string | AnyFailure {
  const found = URL.canParse(written, base) ? new URL(written, base) : undefined;
  if (found !== undefined && found.origin === new URL(base).origin && found.username === '' && found.password === '') return found.href;
  return new Failure('URL_REFUSED', `Cannot use server "${name}": the address it names for messages ${found === undefined ? 'cannot be read' : `is on another origin, ${found.origin}`}`, {
    stage: 'connect', details: { url: found === undefined ? '' : found.origin }, hint: 'The server, or a proxy in front of it, is set up wrongly; nothing was sent there',
  }) as AnyFailure;
}

function streamEnded(name: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": its event stream ended`, { stage: 'call', details: {}, recovery: 'retryable' }) as AnyFailure;
}

function closedHere(name: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": the connection was closed by this side`, { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
}
