/** Keeps what happened on the way to a server, try by try, for whoever has to explain it; nothing is kept once it is connected. */
import { now } from '../base/deadline.ts';
import { toFailure, type AnyFailure, type Stage } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { ConnectionFacts, SendRequest } from '../http/types.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import type { Attempt, HttpAnswer, Timing } from './types.ts';

export interface Witness {
  /** A transport is about to be opened: what follows belongs to it. `because`: why the one before it was given up. */
  begin(transport: Transport['kind'], known?: { readonly proxy?: string | undefined; readonly process?: Attempt['process'] }, because?: AnyFailure): void;
  /** A stage begins. */
  running(stage: Stage): void;
  /** It has ended. */
  stage(stage: Stage, ms: number): void;
  connection(facts: ConnectionFacts): void;
  /** The same requests, with their answers noted. */
  over(send: SendRequest): SendRequest;
  failed(error: unknown): void;
  /** The server is there: the rest is no longer connecting. */
  end(): void;
}

/** An attempt while it is filled in. */
interface Draft { readonly transport: Transport['kind']; readonly proxy: string | undefined; readonly timings: Timing[]; readonly connections: ConnectionFacts[]; readonly answers: HttpAnswer[]; readonly process: Attempt['process']; running?: Attempt['running']; failure?: AnyFailure }

export function createWitness(onAttempt: (attempt: Attempt) => void): Witness {
  const drafts: Draft[] = [];
  let over = false;
  const keep = <T>(into: keyof Draft & ('timings' | 'connections' | 'answers'), what: T): void => {
    const list = drafts.at(-1)?.[into] as T[] | undefined;
    if (!over && list !== undefined && list.length < limits.attemptFacts) list.push(what);
  };
  return {
    begin(transport, { proxy, process } = {}, because) {
      const before = drafts.at(-1);
      if (before !== undefined && because !== undefined) before.failure = because;
      const draft: Draft = { transport, proxy, timings: [], connections: [], answers: [], process };
      drafts.push(draft);
      onAttempt(draft);
    },
    running(stage) {
      const draft = drafts.at(-1);
      if (draft !== undefined && !over) draft.running = { stage, since: now() };
    },
    stage(stage, ms) {
      keep('timings', { stage, ms });
      const draft = drafts.at(-1);
      if (draft !== undefined) draft.running = undefined;
    },
    connection: (facts) => keep('connections', facts),
    over: (send) => (request) => {
      if (over) return send(request);
      const startedAt = now();
      return send({ ...request, onHead(head) { keep('answers', { method: request.method ?? 'GET', status: head.status, ms: now() - startedAt }); request.onHead(head); } });
    },
    failed(error) {
      // Where both HTTP transports were tried, the failure holds one of each.
      const cause = error instanceof Error ? error.cause : undefined;
      const each: readonly unknown[] = cause instanceof AggregateError && cause.errors.length === drafts.length ? cause.errors : [];
      drafts.forEach((draft, index) => {
        if (each.length > 0 || index === drafts.length - 1) draft.failure = toFailure(each[index] ?? error, 'connect');
      });
      over = true;
    },
    end() { over = true; },
  };
}
