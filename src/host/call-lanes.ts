/** Which calls of one session may run beside each other: exclusive ones alone, the others together, all in the order in which they came. */

export interface CallLanes {
  /** Once the signal aborts, work that still waits is begun without a place: it is expected to see the signal and to end at once. */
  run<T>(exclusive: boolean, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting { readonly exclusive: boolean; start(placed: boolean): void }

/** `max`: how many parallel ones at once. An exclusive one waits for all before it, and all after it wait for it. */
export function createCallLanes(max: number): CallLanes {
  const waiting: Waiting[] = [];
  let running = 0, barrier = false;

  const next = (): void => {
    for (;;) {
      const first = waiting[0];
      if (first === undefined || barrier || (first.exclusive ? running > 0 : running >= max)) return;
      waiting.shift();
      running += 1;
      barrier = first.exclusive;
      first.start(true);
    }
  };

  const place = (exclusive: boolean, signal: AbortSignal | undefined): Promise<boolean> => new Promise((resolve) => {
    const turn: Waiting = { exclusive, start(placed) { signal?.removeEventListener('abort', leave); resolve(placed); } };
    const leave = (): void => { waiting.splice(waiting.indexOf(turn), 1); turn.start(false); next(); };
    waiting.push(turn);
    signal?.addEventListener('abort', leave, { once: true });
    next();
  });

  return {
    async run(exclusive, work, signal) {
      const placed = signal?.aborted !== true && await place(exclusive, signal);
      try {
        return await work();
      } finally {
        if (placed) {
          running -= 1;
          if (exclusive) barrier = false;
          next();
        }
      }
    },
  };
}
