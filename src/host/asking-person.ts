/** Asking the person on behalf of a session: a "no" to one call of a message is a "no" to all of its calls that wait for an answer (FACTS ZA57). */
import type { Approval, ApprovalAnswer } from '../registry/types.ts';

/** Calls that a model gave together. */
export interface Batch {
  /** Asks with `question`, unless another call of the batch was declined before or is while this one waits. */
  ask(question: () => Promise<ApprovalAnswer>): Promise<ApprovalAnswer>;
}

export type Approve = (approval: Approval, signal?: AbortSignal) => Promise<ApprovalAnswer>;

export function createBatch(): Batch {
  const waiting = new Set<() => void>();
  let declined = false;
  return {
    ask(question) {
      if (declined) return Promise.resolve('no');
      return new Promise((resolve, reject) => {
        const decline = (): void => resolve('no');
        waiting.add(decline);
        question().then((answer) => {
          waiting.delete(decline);
          resolve(answer);
          if (answer !== 'no' || declined) return;
          declined = true;
          for (const other of waiting) other();
          waiting.clear();
        }, (error: unknown) => { waiting.delete(decline); reject(error as Error); });
      });
    },
  };
}

/** The batch of a call is known by its signal, the only part of the call that the gate hands on. */
export function askInBatches(approve: ((approval: Approval) => Promise<ApprovalAnswer>) | undefined, batches: WeakMap<AbortSignal, Batch>): Approve | undefined {
  if (approve === undefined) return undefined;
  return async (approval, signal) => {
    const batch = signal === undefined ? undefined : batches.get(signal);
    const question = async (): Promise<ApprovalAnswer> => approve(approval);
    return batch === undefined ? question() : batch.ask(question);
  };
}
