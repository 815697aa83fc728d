/**
 * What is tried again, and when (FACTS Z48 to Z52). Only what changes nothing is ever repeated: connecting, listing, reading. A
 * server that is overloaded, broken for the moment or cut off gets a little time; whatever stays the same until someone
 * changes something is told at once, and so is our own timeout, which has cost its time already.
 */
import { delay, now } from '../base/deadline.ts';
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';

/** A wait that is about to begin. */
export interface Retry {
  /** The try that failed, from 1. */
  readonly attempt: number;
  /** How many there are at most. */
  readonly tries: number;
  readonly waitMs: number;
  /** Why the last one failed. */
  readonly failure: AnyFailure;
}

/** Time and chance, so that tests own them. */
export interface RetryClock {
  /** Resolves after `ms`, early when the signal aborts; never rejects. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Monotonic milliseconds. */
  readonly clock?: (() => number) | undefined;
  /** From 0 up to, not including, 1. */
  readonly random?: (() => number) | undefined;
}

export interface RetrySettings extends RetryClock {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for all tries and waits together: a wait that would not leave time for a try is not begun. Default: none. */
  readonly budgetMs?: number | undefined;
  /** Default: `isPassing`. */
  readonly may?: ((failure: AnyFailure) => boolean) | undefined;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/**
 * Runs `work` up to `limits.retryTries` times. It must be safe to run twice. Rejects with the last failure, with `CANCELED` when
 * the signal ended a wait.
 */
export async function withRetries<T>(work: (attempt: number) => Promise<T>, settings: RetrySettings = {}): Promise<T> {
  const { signal, budgetMs = Infinity, may = isPassing, onRetry, sleep = delay, clock = now, random = Math.random } = settings;
  const startedAt = clock();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      const failure = toFailure(error);
      if (attempt >= limits.retryTries || signal?.aborted === true || !may(failure)) throw failure;
      const waitMs = waitAfter(attempt, failure, random());
      if (clock() - startedAt + waitMs >= budgetMs) throw failure;
      onRetry?.({ attempt, tries: limits.retryTries, waitMs, failure });
      await sleep(waitMs, signal);
      if (signal?.aborted) throw givenUp(failure);
    }
  }
}

/** HTTP 408, 429 and 5xx, and a connection that was lost: the troubles that pass by themselves. */
export function isPassing(failure: AnyFailure): boolean {
  if (failure.recovery !== 'retryable') return false;
  switch (failure.code) {
    case 'HTTP_STATUS': return true;
    case 'CONNECTION_CLOSED': return failure.stage !== 'close';
    // Lost before anything was sent. A port where nothing listens, or a name that nobody knows, is an answer.
    case 'CONNECT_FAILED': return ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'].includes(failure.details.system ?? '');
    default: return false;
  }
}

/**
 * Whether a server that could not be reached may be there some time later without anybody changing its entry: a program that gets installed,
 * a machine that comes up. Wrong settings, missing sign-ins and answers that say no stay as they are.
 */
export function mayComeBack(failure: AnyFailure): boolean {
  switch (failure.code) {
    case 'SPAWN_FAILED': case 'SERVER_EXITED': case 'CONNECT_FAILED': case 'CONNECTION_CLOSED': case 'SESSION_LOST': case 'TIMEOUT': return true;
    case 'HTTP_STATUS': return failure.recovery === 'retryable';
    default: return false;
  }
}

/** Doubling from 2 s with +-20 %, at most 30 s; what the server asked for (`Retry-After`) wins, up to the same cap. */
export function waitAfter(attempt: number, failure: AnyFailure, chance: number): number {
  const asked = failure.code === 'HTTP_STATUS' ? failure.details.retryAfterMs : undefined;
  if (asked !== undefined) return Math.min(asked, limits.retryCapMs);
  const spread = 1 + limits.retryJitter * (2 * chance - 1);
  return Math.min(limits.retryCapMs, Math.round(limits.retryFirstMs * limits.retryFactor ** (attempt - 1) * spread));
}

function givenUp(last: AnyFailure): AnyFailure {
  return new Failure('CANCELED', `${last.message}; it was canceled before the next try`, {
    stage: last.stage, details: {}, recovery: 'retryable', origin: last.origin, hint: last.hint, cause: last,
  }) as AnyFailure;
}
