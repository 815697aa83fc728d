/** Time of what happens in the background: it keeps no process alive, and a test may own it. */
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
