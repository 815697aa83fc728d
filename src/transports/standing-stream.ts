/**
 * The GET stream of the legacy era, for what belongs to no request (MCP 2025-11-25, listening for messages). It is optional: 405
 * says that there is none, other refusals and answers that are no stream mean the same to us, and nothing of it ever fails anything.
 */
import { delay, now } from '../base/deadline.ts';
import { toFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { mediaType, retryAfterMs } from '../http/answers.ts';
import { createEventDecoder } from '../http/event-stream.ts';
import type { Exchange, HttpRequest, ResponseHead } from '../http/types.ts';

export type StreamCallbacks = Pick<HttpRequest, 'onHead' | 'onData' | 'onEnd' | 'onFail'>;

export interface StandingStreamOptions {
  /** Sends the GET, with the id of the last event if there was one. */
  get(lastEventId: string | undefined, callbacks: StreamCallbacks): Exchange;
  /** The data of one event. */
  receive(text: string): void;
  /** Why a stream was given up that worked before. */
  trouble(message: string): void;
}

export interface StandingStream { start(): void; stop(): void }

export function createStandingStream({ get, receive, trouble }: StandingStreamOptions): StandingStream {
  let exchange: Exchange | undefined, waiting: AbortController | undefined;
  /** Counts starts: what belongs to an earlier one has no say any more. */
  let run = 0;

  function stop(): void {
    run += 1;
    exchange?.abort();
    waiting?.abort();
    exchange = waiting = undefined;
  }

  /** `barren`: attempts in a row that brought nothing. `worked`: the server has given us a stream before. */
  function stand(barren: number, before: string | undefined, worked: boolean): void {
    const mine = run, startedAt = now();
    let streaming = false, brought = false, retryMs: number | undefined;
    const events = createEventDecoder({
      onEvent({ data, type }) {
        brought = true;
        if (data !== '' && type === 'message' && mine === run) receive(data);
      },
      onRetry: (ms) => { retryMs = ms; },
    });
    const again = (): void => {
      if (mine !== run) return;
      exchange = undefined;
      // Proxies cut silent streams: one that stood for a while has worked, even if there was nothing to say.
      const useful = brought || (streaming && now() - startedAt >= limits.streamStoodMs);
      const next = useful ? 0 : barren + 1;
      if (next > limits.streamRetries) { if (worked || streaming) trouble('the stream for changes is given up: it ends again and again'); return; }
      const pause = waiting = new AbortController();
      void delay(streamPause(next, retryMs), pause.signal).then(() => { if (mine === run) stand(next, events.lastEventId() === '' ? before : events.lastEventId(), worked || streaming); });
    };
    const stream = get(before, {
      onHead(head) {
        streaming = isEventStream(head);
        if (streaming) return;
        stream.abort();
        retryMs = retryAfterMs(head.headers);
        if (mayComeBack(head.status, worked)) again(); else exchange = undefined;
      },
      onData(chunk) {
        try { events.feed(chunk); } catch (error) { trouble(toFailure(error).message); stream.abort(); again(); }
      },
      onEnd: again,
      onFail: again,
    });
    exchange = stream;
  }

  return { start() { stop(); stand(0, undefined, false); }, stop };
}

export function isEventStream({ status, headers }: ResponseHead): boolean {
  return status >= 200 && status < 300 && mediaType(headers) === 'text/event-stream';
}

/** A refusal that time may mend. A server that has not noticed the end of our last stream yet says 409 to the next one. */
export function mayComeBack(status: number, worked: boolean): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501) || (status === 409 && worked);
}

/** Milliseconds to wait before a stream is taken up again: the server's wish, otherwise growing. */
export function streamPause(attempt: number, retryMs: number | undefined): number {
  return Math.max(limits.streamRetryLeastMs, retryMs ?? Math.min(limits.streamRetryMs * limits.streamRetryFactor ** attempt, limits.retryCapMs));
}

/** A header carries bytes; ids are UTF-8 text (WHATWG HTML, `Last-Event-ID`). One with control characters cannot be sent back. */
export function lastEventHeader(id: string | undefined): { readonly 'last-event-id'?: string } {
  return id === undefined || /[\u0000-\u001f\u007f]/.test(id) ? {} : { 'last-event-id': Buffer.from(id, 'utf8').toString('latin1') };
}
