/** Time of what happens in the background, and the patience of those who wait for it. */
import type { AnyFailure } from '../base/failure.ts';

/** It keeps no process alive, and a test may own it. */
export interface Timers {
  /** Runs once after `ms`; the returned function takes it back. */
  after(ms: number, run: () => void): () => void;
}

export const realTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** The caller stops waiting, with the failure that `why` makes; the work, which others may share, goes on. */
export function patience<T>(work: Promise<T>, signal: AbortSignal | undefined, why: () => AnyFailure): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(why());
    if (signal.aborted) { work.catch(() => {}); onAbort(); return; }
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves when the work is over, however it went, or when the signal aborts. */
export function untilAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) { work.catch(() => {}); resolve(); return; }
    const done = (): void => { signal?.removeEventListener('abort', done); resolve(); };
    signal?.addEventListener('abort', done, { once: true });
    work.then(done, done);
  });
}
