/** Asking the person: one question at a time for one tool, "always" remembered for the very definition it was said of. */
import { isFailure } from '../base/failure.ts';
import type { AnyFailure } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { MASK, redactPatterns } from '../base/redact.ts';
import type { Redact } from '../base/redact.ts';
import type { Approval, ApprovalAnswer, Decision, ToolEntry } from './types.ts';

export interface AskingOptions {
  readonly approve?: ((approval: Approval, signal?: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
  readonly redact?: Redact | undefined;
}

export type Reply =
  | { readonly kind: 'answered'; readonly answer: ApprovalAnswer | 'remembered'; readonly cause?: unknown }
  | { readonly kind: 'canceled' }
  | { readonly kind: 'failed'; readonly failure: AnyFailure };

export interface Asking {
  /** Never rejects. `remember`: whether an "always" of before may answer. */
  ask(approval: Approval, remember: boolean, signal?: AbortSignal): Promise<Reply>;
  /** The decision as a remembered "always" leaves it. */
  remembered(decision: Decision, entry: ToolEntry, remembers: (decision: Decision) => boolean): Decision;
}

/** A grant holds for one definition: a server that changes the tool under it has to be asked about again. */
const grantKey = (entry: ToolEntry): string => `${entry.id} ${entry.fingerprint}`;

export function createAsking({ approve, redact = redactPatterns }: AskingOptions): Asking {
  const grants = new Set<string>();
  const turns = new Map<string, Promise<void>>();

  const question = async (approval: Approval, remember: boolean, signal: AbortSignal | undefined): Promise<Reply> => {
    if (approve === undefined) return { kind: 'answered', answer: 'nobody' };
    try {
      const { entry, args, decision } = approval;
      const answer = await orAbort(approve({ entry, args: maskArguments(args, redact), decision }, signal), signal);
      if (answer === undefined) return { kind: 'canceled' };
      if (answer === 'always' && remember) grants.add(grantKey(entry));
      return { kind: 'answered', answer: answer === 'once' || answer === 'always' || answer === 'no' ? answer : 'nobody' };
    } catch (error) {
      return isFailure(error) ? { kind: 'failed', failure: error } : { kind: 'answered', answer: 'nobody', cause: error };
    }
  };

  return {
    async ask(approval, remember, signal) {
      const key = grantKey(approval.entry);
      const before = turns.get(key);
      let done = (): void => {};
      const turn = new Promise<void>((resolve) => { done = resolve; });
      // Whoever comes next waits for us and for those before us, also when we give up early.
      const tail = Promise.all([before, turn]).then(() => {});
      turns.set(key, tail);
      try {
        if (before !== undefined && (await orAbort(before.then(() => true), signal)) === undefined) return { kind: 'canceled' };
        if (remember && grants.has(key)) return { kind: 'answered', answer: 'remembered' };
        return await question(approval, remember, signal);
      } finally {
        done();
        if (turns.get(key) === tail) turns.delete(key);
      }
    },
    remembered(decision, entry, remembers) {
      if (decision.effect !== 'ask' || !remembers(decision) || grants.size === 0 || !grants.has(grantKey(entry))) return decision;
      return { ...decision, effect: 'allow', why: `"${entry.id}" was allowed for this session` };
    },
  };
}

/** `undefined` as soon as the signal aborts; the promise itself goes on and its late end is nobody's concern. */
function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(undefined);
    if (signal.aborted) abort(); else signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Arguments as a person may see them: strings through the redactor, members with the name of a secret masked whole. */
export function maskArguments(args: JsonObject, redact: Redact = redactPatterns): JsonObject {
  return mask(args, redact) as JsonObject;
}

// The redactor knows what names secrets have; asking it keeps that list in one place.
const namesSecret = (key: string): boolean => redactPatterns(`${key}=0`) !== `${key}=0`;

function mask(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => mask(item, redact));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, namesSecret(key) && item !== null && typeof item !== 'boolean' ? MASK : mask(item, redact)]));
}
