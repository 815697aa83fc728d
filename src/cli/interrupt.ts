/** Everything that ends a running command from outside, as one signal that remembers who was first. */
import { startDeadline } from '../base/deadline.ts';
import { signalStatus } from './exit.ts';
import type { EndingSignal } from './exit.ts';

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Who ended it; the first reason wins. */
  readonly by: EndingSignal | 'timeout' | 'reader' | undefined;
  /** Budget of the whole operation, when there is one. */
  readonly budgetMs: number | undefined;
  dispose(): void;
}

/** `budgetMs` bounds the whole operation, spawn to result; `readerGone` aborts when nobody reads stdout any more. */
export function watchInterrupts(readerGone: AbortSignal, budgetMs?: number): Interrupt {
  const controller = new AbortController();
  let by: Interrupt['by'];
  const end = (reason: NonNullable<Interrupt['by']>, error: Error): void => {
    if (by !== undefined) return;
    by = reason;
    controller.abort(error);
  };
  const names = Object.keys(signalStatus) as EndingSignal[];
  const listeners = names.map((name) => [name, (): void => end(name, new Error(`ended by ${name}`))] as const);
  // Installed for the whole run: a second Ctrl-C must not cut the clean-up short, which is bounded anyway.
  for (const [name, listener] of listeners) process.on(name, listener);
  const onGone = (): void => end('reader', readerGone.reason as Error);
  readerGone.addEventListener('abort', onGone, { once: true });
  const deadline = budgetMs === undefined ? undefined : startDeadline(budgetMs);
  deadline?.signal.addEventListener('abort', () => end('timeout', deadline.signal.reason as Error), { once: true });
  return {
    signal: controller.signal,
    get by() { return by; },
    budgetMs,
    dispose() {
      for (const [name, listener] of listeners) process.off(name, listener);
      readerGone.removeEventListener('abort', onGone);
      deadline?.dispose();
    },
  };
}
