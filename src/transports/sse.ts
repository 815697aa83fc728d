/**
 * HTTP+SSE, the transport of 2024-11-05: one GET stream brings everything the server says; its first event, `endpoint`, names
 * where messages are posted. The stream is the connection: when it drops, everything pending is lost with it.
 */
import { settlesWithin } from '../base/deadline.ts';
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { contentFailure, statusFailure } from '../http/answers.ts';
import { collectText } from '../http/body.ts';
import { createEventDecoder } from '../http/event-stream.ts';
import type { Exchange, RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';
import { classify, parseFrame } from '../jsonrpc/message.ts';
import { createNoise } from '../jsonrpc/noise.ts';
import type { CloseReport, Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';
import { crowdedOut, handOver, withoutOurHeaders, type Handover } from './handover.ts';
import { isEventStream } from './standing-stream.ts';

export interface SseOptions {
  /** The server's, for messages. */
  readonly name: string;
  readonly url: string;
  /** Of the configuration; they never override the protocol's own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly send: SendRequest;
  /** Ends the connections that this transport alone uses. */
  readonly dispose?: () => void;
}

export function createSseTransport(options: SseOptions): Transport {
  const { name, url } = options;
  const headers = withoutOurHeaders(options.headers);
  const handovers = new Set<Handover>();
  let sink: Sink | undefined, stream: Exchange | undefined, endpoint: string | undefined;
  const noise = createNoise();
  let posting: RequestHeaders = { ...headers, 'content-type': 'application/json' };
  let over: AnyFailure | undefined, closing: Promise<CloseReport> | undefined;

  /** Resolves when the server has said where to post, which it may never do: `signal` ends the waiting. */
  function open(to: Sink, signal: AbortSignal): Promise<void> {
    sink = to;
    return new Promise((resolve, reject) => {
      let head: ResponseHead | undefined, ready = false;
      const body = collectText();
      const fail = (failure: AnyFailure): void => {
        signal.removeEventListener('abort', onAbort);
        if (ready) { finish(failure); return; }
        if (over !== undefined) return;
        over = failure;
        stream?.abort();
        reject(failure);
      };
      const onAbort = (): void => fail(new Failure('CANCELED', `Cannot reach server "${name}": it was canceled`, { stage: 'connect', details: {}, recovery: 'retryable' }) as AnyFailure);
      const noStream = (): void => {
        const answer = { ...head!, body: body.take(), stage: 'connect' as const };
        fail(answer.status >= 300 ? statusFailure(answer) : contentFailure(answer, 'an event stream'));
      };
      const events = createEventDecoder({
        onEvent({ data, type }) {
          if (over !== undefined) return;
          if (type !== 'endpoint') { if (data !== '' && type === 'message') receive(data); return; }
          const found = resolveEndpoint(data, head!.url, name);
          if (typeof found !== 'string') { fail(found); return; }
          endpoint = found;
          if (ready) return;
          ready = true;
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      });
      if (signal.aborted) { onAbort(); return; }
      stream = options.send({
        method: 'GET', url, headers: { ...headers, accept: 'text/event-stream' }, stage: 'connect', replaySafe: true,
        onHead: (received) => { head = received; },
        onData(chunk) {
          if (isEventStream(head!)) {
            try { events.feed(chunk); } catch (error) { fail(toFailure(error, 'call')); }
          } else {
            body.add(chunk);
            // Enough to say what came instead.
            if (body.bytes() >= limits.httpErrorBodyBytes) noStream();
          }
        },
        onEnd() { if (isEventStream(head!)) fail(streamEnded(name)); else noStream(); },
        onFail: fail,
      });
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  function receive(text: string): void {
    const parsed = parseFrame(text);
    const list: readonly unknown[] = parsed === undefined ? [undefined] : Array.isArray(parsed.value) ? parsed.value : [parsed.value];
    for (const value of list) {
      const message = value === undefined ? undefined : classify(value, parsed?.pruned);
      if (message !== undefined) { noise.message(); sink!.message(message); continue; }
      const notice = noise.heard(text);
      if (notice !== undefined) sink!.notice(notice);
    }
  }

  function send(message: Outgoing): Promise<void> {
    if (over !== undefined || closing !== undefined || endpoint === undefined) return Promise.reject(over ?? closedHere(name));
    const crowded = crowdedOut(message, handovers.size, name);
    if (crowded !== undefined) return Promise.reject(crowded);
    const handover = handOver({
      send: options.send, url: endpoint, body: message.text, replaySafe: message.kind === 'request' ? message.replaySafe : message.kind === 'notification',
      headers: posting,
      refused: (head, body) => message.kind === 'request' && errorAnswer(message.id, head.status, body),
      onHold: (ms) => { if (message.kind === 'request') sink!.postpone?.(message.id, ms); },
      over: () => { handovers.delete(handover); },
    });
    handovers.add(handover);
    if (message.kind !== 'request') return handover.taken;
    // Some servers hold the POST until the call is done. Its answer comes on the stream, and the request has a deadline of its own.
    return handover.taken.catch((failure: AnyFailure) => {
      if (failure.code !== 'TIMEOUT' || failure.details.sent === 'no') throw failure;
    });
  }

  /** A refusal may say in JSON-RPC why. */
  function errorAnswer(id: number | string, status: number, body: string): boolean {
    const parsed = status < 500 && status !== 401 && status !== 403 ? parseFrame(body) : undefined;
    const message = classify(parsed?.value, parsed?.pruned);
    if (message?.kind !== 'error' || (message.message.id !== null && message.message.id !== id)) return false;
    sink!.message({ kind: 'error', message: { ...message.message, id } });
    return true;
  }

  function finish(reason: AnyFailure): void {
    if (over !== undefined) return;
    over = reason;
    stream?.abort();
    sink!.closed(reason);
    for (const handover of [...handovers]) handover.abort(reason);
  }

  async function shut(): Promise<CloseReport> {
    // Cancellations and answers that were just sent get a moment to leave.
    if (handovers.size > 0) await settlesWithin(Promise.allSettled([...handovers].map(({ taken }) => taken)), limits.drainMs);
    if (sink !== undefined) finish(closedHere(name));
    options.dispose?.();
    return { forced: [] };
  }

  return {
    kind: 'sse',
    perRequest: false,
    open,
    send,
    negotiated(peer) { posting = { ...posting, 'mcp-protocol-version': peer.revision }; },
    close: () => (closing ??= shut()),
  };
}

/** Resolved against the stream's own URL. Another origin would be handed our headers and messages, so it is refused. */
function resolveEndpoint(written: string, base: string, name: string): string | AnyFailure {
  const found = URL.canParse(written, base) ? new URL(written, base) : undefined;
  const fault = found === undefined ? 'cannot be read' : found.origin !== new URL(base).origin ? `is not on its own origin but on ${found.origin}` : found.username !== '' || found.password !== '' ? 'holds a user name or password' : undefined;
  if (found !== undefined && fault === undefined) return found.href;
  return new Failure('URL_REFUSED', `Cannot use server "${name}": the address it names for messages ${fault}`, {
    stage: 'connect', details: { url: found === undefined ? '' : found.origin }, hint: 'The server, or a proxy in front of it, is set up wrongly; nothing was sent there',
  }) as AnyFailure;
}

function streamEnded(name: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": its event stream ended`, { stage: 'call', details: {}, recovery: 'retryable' }) as AnyFailure;
}

function closedHere(name: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": the connection was closed by this side`, { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
}
