/**
 * Budgets. Every wait of the house goes through here or through the shared timer of a connection. Built on `setTimeout`,
 * so that mocked timers move it (`AbortSignal.timeout` they do not).
 */

/** Monotonic milliseconds. */
export function now(): number {
  return performance.now();
}

export interface Deadline {
  /** Aborts when the budget is used up or the outer signal aborts; `reason` tells which. */
  readonly signal: AbortSignal;
  readonly budgetMs: number;
  /** Milliseconds left, at least 0. */
  remaining(): number;
  /** True when the time ran out (not when someone aborted). */
  readonly expired: boolean;
  elapsed(): number;
  /** Ends the timer and the listener. Call it on every way out. */
  dispose(): void;
}

export function startDeadline(budgetMs: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const startedAt = now();
  let expired = false;
  const timer = setTimeout(() => { expired = true; controller.abort(new DOMException('The time budget is used up', 'TimeoutError')); }, Math.min(Math.max(0, budgetMs), 2 ** 31 - 1));
  const onAbort = (): void => { clearTimeout(timer); controller.abort(outer?.reason); };
  if (outer?.aborted) onAbort(); else outer?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    budgetMs,
    remaining: () => Math.max(0, budgetMs - (now() - startedAt)),
    get expired() { return expired; },
    elapsed: () => now() - startedAt,
    dispose() { clearTimeout(timer); outer?.removeEventListener('abort', onAbort); },
  };
}

/** Waits; resolves early (never rejects) when the signal aborts. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) { resolve(); return; }
    const done = (): void => { clearTimeout(timer); signal?.removeEventListener('abort', done); resolve(); };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** True when `promise` settled in time. Leaves no timer behind; the promise itself goes on. */
export function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const done = (): void => { clearTimeout(timer); resolve(true); };
    promise.then(done, done);
  });
}
