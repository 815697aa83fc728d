/** The life of one request, the same on every engine: redirects, repeats, deadlines, caps, and exactly one ending. */
import { now } from '../base/deadline.ts';
import { isFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { mediaType, proxyLoginFailure, redirectFailure, redirectLoopFailure } from './answers.ts';
import { canceledFailure, isConnectionLoss, limitFailure, networkFailure, timeoutFailure } from './failures.ts';
import { parseUrl, targetOf } from './url.ts';
import type { AnyFailure, Sent } from '../base/failure.ts';
import type { RequestFacts } from './failures.ts';
import type { Breakdown, Engine, Exchange, HttpRequest, ResponseHeaders, Running, Target } from './types.ts';

/** An exchange as its owner sees it: `close` fails it with `CANCELED` because everything ends. */
export interface OpenExchange extends Exchange { close(): void }

/** What the exchanges of one client share. */
export interface Shared { readonly engine: Engine; readonly open: Set<OpenExchange>; readonly signals: SignalWatch }

export function startExchange({ engine, open, signals }: Shared, request: HttpRequest, first: Target): OpenExchange {
  const startedAt = now();
  const { signal, deadlineMs, headMs, method = 'GET', headers = {}, body } = request;
  let target = first;
  let running: Running;
  let settled = false;
  let status = 0, received = 0, cap = Infinity;
  let hops = 0, repeated = false;
  /** Set while the body of a redirect is read to its end, so that its connection can serve again. */
  let next: Target | undefined;
  let deadline: NodeJS.Timeout | undefined, headTimer: NodeJS.Timeout | undefined;

  const facts = (sent: Sent): RequestFacts => ({
    target, sent, stage: request.stage ?? 'call', replaySafe: request.replaySafe === true, elapsedMs: now() - startedAt, proxy: proxyOf(engine, target),
  });
  const settle = (): void => {
    settled = true;
    clearTimeout(deadline);
    clearTimeout(headTimer);
    if (signal !== undefined) signals.remove(signal, onAbort);
    open.delete(exchange);
  };
  const fail = (failure: AnyFailure): void => {
    if (settled) return;
    settle();
    request.onFail(failure);
  };
  const stop = (failureFor: (facts: RequestFacts) => AnyFailure): void => {
    if (!settled) fail(failureFor(facts(running.cancel())));
  };
  const onAbort = (): void => stop((known) => abortFailure(signal?.reason, known));

  const send = (): void => {
    status = 0;
    received = 0;
    running = engine.send({ target, method, headers, body, replaySafe: request.replaySafe === true }, sink);
  };
  const followNext = (): void => {
    target = next!;
    next = undefined;
    hops += 1;
    send();
  };

  /** True when the answer is a redirect that was dealt with. */
  const redirected = (location: string | undefined): boolean => {
    if (request.redirect === 'manual' || location === undefined) return false;
    const to = parseUrl(location, target.url);
    const follows = request.redirect !== 'error' && (status === 307 || status === 308) && to?.origin === target.origin;
    if (!follows) stop(({ stage }) => redirectFailure(target, status, to, stage));
    else if (hops >= limits.httpRedirects) stop(({ stage }) => redirectLoopFailure(first, stage));
    else {
      to.hash = '';
      try {
        next = targetOf(to, request.stage ?? 'call');
      } catch (error) {
        stop((known) => networkFailure(error, known));
      }
    }
    return true;
  };

  const sink = {
    head(code: number, responseHeaders: ResponseHeaders): void {
      status = code;
      if (code >= 300 && code < 400 && redirected(responseHeaders['location'])) return;
      clearTimeout(headTimer);
      const proxy = code === 407 ? proxyOf(engine, target) : undefined;
      if (proxy !== undefined) { stop(() => proxyLoginFailure(target, proxy)); return; }
      cap = capOf(request.maxBytes, code, responseHeaders);
      if (code < 400 && announcedBytes(responseHeaders) > cap) { overflow(); return; }
      request.onHead({ status: code, headers: responseHeaders, url: target.href });
    },
    data(chunk: Uint8Array): void {
      received += chunk.length;
      if (next !== undefined) {
        if (received > limits.httpErrorBodyBytes) { running.cancel(); followNext(); }
      } else if (received <= cap) request.onData(chunk);
      else if (status < 400) overflow();
      else truncate(chunk.subarray(0, chunk.length - (received - cap)));
    },
    end(): void {
      if (next !== undefined) { followNext(); return; }
      settle();
      request.onEnd(false);
    },
    fail(breakdown: Breakdown): void {
      if (next !== undefined) { followNext(); return; }
      if (mayRepeat(breakdown)) {
        repeated = true;
        engine.dropIdle();
        send();
        return;
      }
      fail(networkFailure(breakdown.error, facts(breakdown.sent)));
    },
  };
  const overflow = (): void => stop((known) => limitFailure('HTTP body', cap, known));
  const truncate = (rest: Uint8Array): void => {
    running.cancel();
    if (rest.length > 0) request.onData(rest);
    if (settled) return;
    settle();
    request.onEnd(true);
  };
  const mayRepeat = ({ error, sent, reused }: Breakdown): boolean => {
    if (repeated || sent === 'yes' || !isConnectionLoss(error)) return false;
    return sent === 'no' ? reused === true : request.replaySafe === true && reused !== false;
  };

  const exchange: OpenExchange = {
    abort() {
      if (settled) return status > 0 ? 'yes' : 'unknown';
      const sent = running.cancel();
      settle();
      return sent;
    },
    pause: () => running.pause(),
    resume: () => running.resume(),
    close: () => stop((known) => canceledFailure(known, 'the client was closed')),
  };
  open.add(exchange);
  send();
  if (deadlineMs !== undefined) deadline = setTimeout(() => stop((known) => timeoutFailure(deadlineMs, known)), timerMs(deadlineMs));
  if (headMs !== undefined) headTimer = setTimeout(() => stop((known) => timeoutFailure(headMs, known)), timerMs(headMs));
  if (signal?.aborted === true) queueMicrotask(onAbort);
  else if (signal !== undefined) signals.add(signal, onAbort);
  return exchange;
}

export interface SignalWatch {
  add(signal: AbortSignal, onAbort: () => void): void;
  remove(signal: AbortSignal, onAbort: () => void): void;
}

/** One listener per signal, however many requests share it: a hundred calls in flight are no leak and must not look like one. */
export function watchSignals(): SignalWatch {
  const watched = new Map<AbortSignal, { readonly waiting: Set<() => void>; readonly listener: () => void }>();
  return {
    add(signal, onAbort) {
      let entry = watched.get(signal);
      if (entry === undefined) {
        const waiting = new Set<() => void>();
        entry = { waiting, listener: () => { for (const abort of [...waiting]) abort(); } };
        watched.set(signal, entry);
        signal.addEventListener('abort', entry.listener);
      }
      entry.waiting.add(onAbort);
    },
    remove(signal, onAbort) {
      const entry = watched.get(signal);
      if (entry === undefined || !entry.waiting.delete(onAbort) || entry.waiting.size > 0) return;
      watched.delete(signal);
      signal.removeEventListener('abort', entry.listener);
    },
  };
}

/** Only for telling: a proxy variable that cannot be read has failed the request already. */
function proxyOf(engine: Engine, target: Target): string | undefined {
  try {
    return engine.proxyFor(target);
  } catch {
    return undefined;
  }
}

function timerMs(ms: number): number {
  return Math.min(Math.max(0, ms), 2 ** 31 - 1);
}

function capOf(wanted: number | undefined, status: number, headers: ResponseHeaders): number {
  if (status >= 400) return Math.min(wanted ?? Infinity, limits.httpErrorBodyBytes);
  return wanted ?? (mediaType(headers) === 'text/event-stream' ? Infinity : limits.httpBodyBytes);
}

/** What the body will measure, when the server says so and no coding is in between. */
function announcedBytes(headers: ResponseHeaders): number {
  const length = headers['content-length'];
  return length === undefined || headers['content-encoding'] !== undefined ? 0 : Number(length);
}

function abortFailure(reason: unknown, facts: RequestFacts): AnyFailure {
  if (isFailure(reason)) return reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return timeoutFailure(facts.elapsedMs, facts, reason);
  return canceledFailure(facts);
}
