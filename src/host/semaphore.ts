/** At most `max` pieces of work at once; the rest wait in order. */
export interface Semaphore {
  /** Once the signal aborts, work that still waits is begun without a place: it is expected to see the signal and to end at once. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createSemaphore(max: number): Semaphore {
  let running = 0;
  const waiting = new Set<() => void>();

  /** False when the signal ended the wait. A place that becomes free is handed to the first in line, so that nobody slips in between. */
  function place(signal: AbortSignal | undefined): Promise<boolean> | boolean {
    if (running < max) { running += 1; return true; }
    if (signal?.aborted) return false;
    return new Promise((resolve) => {
      const settle = (given: boolean): void => { waiting.delete(take); signal?.removeEventListener('abort', leave); resolve(given); };
      const take = (): void => settle(true), leave = (): void => settle(false);
      waiting.add(take);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async run(work, signal) {
      const given = await place(signal);
      try {
        return await work();
      } finally {
        if (given) {
          const [next] = waiting;
          if (next === undefined) running -= 1; else next();
        }
      }
    },
  };
}
