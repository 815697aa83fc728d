/** Everything that ends a running command from outside, as one signal that remembers who was first. */
import { setMaxListeners } from 'node:events';
import { startDeadline } from '../base/deadline.ts';
import { Failure } from '../base/failure.ts';
import type { AnyFailure } from '../base/failure.ts';
import { signalStatus } from './exit.ts';
import type { EndingSignal } from './exit.ts';

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Who ended it; the first reason wins. */
  readonly by: EndingSignal | 'timeout' | 'reader' | 'write' | undefined;
  /** Budget of the whole operation, when there is one. */
  readonly budgetMs: number | undefined;
  dispose(): void;
}

/** `budgetMs` bounds the whole operation, spawn to result; `readerGone` aborts when nobody reads stdout any more, `writeFailed` when it cannot be written. */
export function watchInterrupts({ readerGone, writeFailed }: { readonly readerGone: AbortSignal; readonly writeFailed: AbortSignal }, budgetMs?: number): Interrupt {
  const controller = new AbortController();
  // All servers of a command listen to it: no leak that Node should warn of.
  setMaxListeners(0, controller.signal);
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
  const onUnwritten = (): void => end('write', writeFailed.reason as Error);
  readerGone.addEventListener('abort', onGone, { once: true });
  writeFailed.addEventListener('abort', onUnwritten, { once: true });
  const deadline = budgetMs === undefined ? undefined : startDeadline(budgetMs);
  deadline?.signal.addEventListener('abort', () => end('timeout', deadline.signal.reason as Error), { once: true });
  return {
    signal: controller.signal,
    get by() { return by; },
    budgetMs,
    dispose() {
      for (const [name, listener] of listeners) process.off(name, listener);
      readerGone.removeEventListener('abort', onGone);
      writeFailed.removeEventListener('abort', onUnwritten);
      deadline?.dispose();
    },
  };
}

/**
 * What the failure is in the light of who ended the command. By the time budget: TIMEOUT, or OUTCOME_UNKNOWN where a call was
 * under way and may have taken effect. By a signal: CANCELED.
 */
export function inLightOf(failure: AnyFailure, interrupt: Interrupt): AnyFailure {
  if (interrupt.by === undefined || failure.code === 'OUTCOME_UNKNOWN') return failure;
  const { origin, stage, recovery } = failure;
  // What was canceled before it began may be repeated, whoever made the failure.
  if (interrupt.by !== 'timeout') return failure.code === 'CANCELED' && recovery !== 'blocked' ? failure : new Failure('CANCELED', failure.code === 'CANCELED' ? failure.message : 'Cannot go on: it was canceled', { stage, details: failure.code === 'CANCELED' ? failure.details : {}, recovery: 'retryable', origin, cause: failure }) as AnyFailure;
  if (failure.code !== 'CANCELED') return failure;
  const afterMs = interrupt.budgetMs ?? 0, { method } = failure.details;
  const message = `Cannot finish within ${afterMs} ms: the time of --timeout is used up`;
  if (recovery === 'unknown') return new Failure('OUTCOME_UNKNOWN', `${message}, and the call was under way`, { stage, details: { why: 'timeout', method: method ?? 'tools/call', elapsedMs: afterMs }, recovery, origin, cause: failure }) as AnyFailure;
  return new Failure('TIMEOUT', message, { stage, details: { afterMs, ...(method === undefined ? {} : { method }) }, recovery: 'retryable', origin, hint: 'give it more with --timeout MS, or look where the time goes: zuno-lite mcp debug NAME', cause: failure }) as AnyFailure;
}
