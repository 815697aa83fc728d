/** A failure as it may be shown: whatever a server echoed of the secrets it was given is masked, in words, facts and causes. */
import { Failure, isFailure, type AnyFailure } from './failure.ts';
import { isObject } from './json.ts';
import { limits } from './limits.ts';
import type { Redact } from './redact.ts';

/** The same failure where there is nothing to mask. */
export function redactFailure(failure: AnyFailure, redact: Redact): AnyFailure {
  const message = redact(failure.message);
  const details = redactValue(failure.details, redact, 0);
  const hint = failure.hint === undefined ? undefined : redact(failure.hint);
  const cause = redactCause(failure.cause, redact);
  if (message === failure.message && details === failure.details && hint === failure.hint && cause === failure.cause) return failure;
  const copy = new Failure(failure.code, message, { stage: failure.stage, details: details as never, recovery: failure.recovery, origin: failure.origin, hint, cause });
  if (failure.stack !== undefined) copy.stack = redact(failure.stack);
  return copy as AnyFailure;
}

/** Copies only what changes. What lies deeper than our own facts ever do is a server's, and is left out. */
function redactValue(value: unknown, redact: Redact, depth: number): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > limits.schemaDepth) return null;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactValue(item, redact, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const members = Object.entries(value).map(([key, member]) => {
    const shown = redactValue(member, redact, depth + 1);
    changed ||= shown !== member;
    return [key, shown] as const;
  });
  return changed ? Object.fromEntries(members) : value;
}

function redactCause(cause: unknown, redact: Redact): unknown {
  if (isFailure(cause)) return redactFailure(cause, redact);
  if (!(cause instanceof Error)) return typeof cause === 'string' ? redact(cause) : cause;
  const message = redact(cause.message);
  return message === cause.message ? cause : new Error(message);
}
