/**
 * Requests with headers that somebody else provides: asked for before each request, asked for anew once when the server answers 401.
 * What provides them, and what a refusal means, is the caller's.
 */
import { now, startDeadline } from '../base/deadline.ts';
import { toFailure } from '../base/failure.ts';
import { canceled } from './failures.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Exchange, HttpRequest, RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';

export interface HeaderSource {
  /** Of the server, for messages. */
  readonly name: string;
  /** How long `headers` may take, milliseconds. */
  readonly patienceMs: number;
  /** Throws a `Failure` for a request that may not be sent at all. */
  admit?(request: HttpRequest): void;
  /** Laid over the request's own. `refused`: what was given for this request before and met a 401. Without a promise where they are at hand. */
  headers(signal: AbortSignal, refused: RequestHeaders | undefined): RequestHeaders | Promise<RequestHeaders>;
  /** After `patienceMs`. */
  late(): AnyFailure;
  /** What a head means: `again` asks once more for headers and repeats the request. */
  judge(head: ResponseHead, sent: { readonly headers: RequestHeaders; readonly repeated: boolean }): 'deliver' | 'again' | AnyFailure;
  readonly redirect?: HttpRequest['redirect'];
}

export function withHeaders(send: SendRequest, source: HeaderSource): SendRequest {
  return (request) => start(send, request, source);
}

function start(send: SendRequest, request: HttpRequest, source: HeaderSource): Exchange {
  let running: Exchange | undefined, asking: AbortController | undefined;
  let over = false, paused = false;

  const fail = (error: unknown): void => {
    if (over) return;
    over = true;
    request.onFail(toFailure(error, 'auth'));
  };

  const ask = (refused: RequestHeaders | undefined): void => {
    const repeated = refused !== undefined;
    const stop = asking = new AbortController();
    try {
      source.admit?.(request);
      const headers = source.headers(stop.signal, refused);
      if (!(headers instanceof Promise)) { asking = undefined; attempt(headers, repeated); return; }
      void patiently(headers, stop, repeated);
    } catch (error) {
      asking = undefined;
      queueMicrotask(() => fail(error));
    }
  };

  const patiently = async (headers: Promise<RequestHeaders>, stop: AbortController, repeated: boolean): Promise<void> => {
    const budgetMs = Math.min(source.patienceMs, request.deadlineMs ?? Infinity), startedAt = now();
    const deadline = startDeadline(budgetMs, stop.signal);
    const onAbort = (): void => stop.abort();
    if (request.signal?.aborted === true) onAbort(); else request.signal?.addEventListener('abort', onAbort, { once: true });
    request.onHold?.(budgetMs);
    try {
      const ended = new Promise<never>((_, reject) => {
        const give = (): void => { reject(deadline.expired ? source.late() : canceled(`use server "${source.name}"`)); stop.abort(); };
        if (deadline.signal.aborted) give(); else deadline.signal.addEventListener('abort', give, { once: true });
      });
      const given = await Promise.race([headers, ended]);
      request.onHold?.(now() - startedAt - budgetMs);
      asking = undefined;
      if (!over) attempt(given, repeated);
    } catch (error) {
      asking = undefined;
      fail(error);
    } finally {
      deadline.dispose();
      request.signal?.removeEventListener('abort', onAbort);
    }
  };

  const attempt = (headers: RequestHeaders, repeated: boolean): void => {
    let swallowed = false;
    const before = running;
    const exchange = running = send({
      ...request, headers: laidOver(request.headers ?? {}, headers), ...(source.redirect !== undefined && { redirect: source.redirect }),
      onHead(head) {
        // The way out is never held up.
        const verdict = request.stage === 'close' ? 'deliver' : source.judge(head, { headers, repeated });
        if (verdict === 'deliver' || (verdict === 'again' && repeated)) { request.onHead(head); return; }
        swallowed = true;
        if (verdict === 'again') ask(headers); else fail(verdict);
      },
      // The body of a refusal is read to its end, so that its connection can serve again.
      onData(chunk) { if (!swallowed) request.onData(chunk); },
      onEnd(truncated) { if (swallowed || over) return; over = true; request.onEnd(truncated); },
      onFail(failure) { if (!swallowed) fail(failure); },
    });
    before?.abort();
    if (paused) exchange.pause();
  };

  ask(undefined);
  return {
    abort() {
      over = true;
      // Refused, or never sent: nothing of it has happened.
      if (asking !== undefined || running === undefined) { asking?.abort(); running?.abort(); return 'no'; }
      return running.abort();
    },
    pause() { paused = true; running?.pause(); },
    resume() { paused = false; running?.resume(); },
  };
}

/** Both, without regard to the case of names: what is laid over wins, and no name goes out twice. */
export function laidOver(under: RequestHeaders, over: RequestHeaders): RequestHeaders {
  const names = new Set(Object.keys(over).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(under).filter(([name]) => !names.has(name.toLowerCase()))), ...over };
}

/** A name and a value that can go out as a header (RFC 9110 section 5). */
export function isHeader(name: string, value: unknown): value is string {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
