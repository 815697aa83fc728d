/** At most `max` pieces of work at once; the rest wait in order. */
export interface Semaphore {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSemaphore(max: number): Semaphore {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      // A place that becomes free is handed to the first in line, so that nobody slips in between.
      if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve)); else running += 1;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1; else next();
      }
    },
  };
}
