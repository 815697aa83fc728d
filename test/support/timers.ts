/** Background time that a test owns: nothing runs until it says so. */
import type { Timers } from '../../src/host/timers.ts';

export interface FakeTimers extends Timers {
  /** Waits that are pending, milliseconds, in the order in which they began. */
  waits(): readonly number[];
  /** Lets every pending wait of at most `ms` be over. */
  fire(ms?: number): void;
}

export function fakeTimers(): FakeTimers {
  const pending = new Set<{ readonly ms: number; readonly run: () => void }>();
  return {
    after(ms, run) {
      const one = { ms, run };
      pending.add(one);
      return () => { pending.delete(one); };
    },
    waits: () => [...pending].map(({ ms }) => ms),
    fire(ms = Infinity) {
      for (const one of [...pending]) if (one.ms <= ms && pending.delete(one)) one.run();
    },
  };
}
