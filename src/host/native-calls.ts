/** Calls of the host's own tools: the same walk as at the gate (schema, policy, person), then the work, which changes nothing. */
import { isFailure, toFailure, type AnyFailure } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import type { ContentBlock } from '../mcp/types.ts';
import { nativeEntry, nativeTraits, type NativeToolId } from '../registry/native-tools.ts';
import { canceled, deniedByRule, notAllowed } from '../registry/refusals.ts';
import type { Decision, Outcome, ToolEntry } from '../registry/types.ts';
import type { SessionCore } from './session-core.ts';

/** What one of them returns. */
export interface NativeResult { readonly content: readonly ContentBlock[]; readonly metadata: JsonObject; readonly warnings?: readonly string[] }
/** Checks the arguments first (ARGUMENTS_INVALID), works only when it is let. */
export type NativeWork = (args: unknown) => (signal: AbortSignal) => Promise<NativeResult>;
export interface NativeOutcome { readonly outcome: Outcome; readonly metadata?: JsonObject }

export const textBlock = (text: string): ContentBlock => ({ type: 'text', text });

/** Never rejects. */
export async function callNative(core: SessionCore, id: NativeToolId, given: unknown, prepare: NativeWork, signal: AbortSignal): Promise<NativeOutcome> {
  const startedAt = performance.now(), args = isObject(given) ? given : {}, entry = nativeEntry(id, args);
  const trace: { decision?: Decision } = {};
  let done: NativeOutcome;
  try {
    const work = prepare(given);
    const refusal = await refusalOf(core, id, entry, args, signal, trace);
    done = refusal === undefined ? await run(work, signal) : { outcome: { kind: 'blocked', failure: refusal } };
  } catch (error) {
    done = { outcome: blocked(toFailure(error, 'call')) };
  }
  const { outcome } = done;
  core.audit?.({
    id, server: entry.server, tool: id, fingerprint: entry.fingerprint, argumentNames: Object.keys(args), outcome: outcome.kind, elapsedMs: performance.now() - startedAt,
    ...(trace.decision === undefined ? {} : { decision: trace.decision }), ...('failure' in outcome ? { code: outcome.failure.code } : {}),
  });
  return done;
}

async function refusalOf(core: SessionCore, id: NativeToolId, entry: ToolEntry, args: JsonObject, signal: AbortSignal, trace: { decision?: Decision }): Promise<AnyFailure | undefined> {
  const { permissionKey } = nativeTraits(id);
  for (const policy of core.parent?.policies ?? []) {
    const held = policy.decideNative(permissionKey, { id, args });
    if (held.effect === 'deny') { trace.decision = held; return deniedByRule(entry, held); }
  }
  const decision = core.policy.decideNative(permissionKey, { id, args });
  trace.decision = decision;
  if (decision.effect === 'deny') return deniedByRule(entry, decision);
  if (signal.aborted) return canceled(entry);
  if (decision.effect === 'allow') return undefined;
  const reply = await core.asking.ask({ entry, args, decision }, core.policy.remembers(decision), signal);
  if (reply.kind === 'canceled') return canceled(entry);
  if (reply.kind === 'failed') return reply.failure;
  return reply.answer === 'no' || reply.answer === 'nobody' ? notAllowed(entry, decision, reply.answer, undefined, reply.cause) : undefined;
}

async function run(work: (signal: AbortSignal) => Promise<NativeResult>, signal: AbortSignal): Promise<NativeOutcome> {
  try {
    const { content, metadata, warnings = [] } = await work(signal);
    return { outcome: { kind: 'ok', result: { content, isError: false }, warnings }, metadata };
  } catch (error) {
    const failure = toFailure(error, 'call');
    // Wrong words of a model (a server without resources) cost nothing and can be put right.
    return { outcome: isFailure(error) && failure.code === 'SERVER_UNKNOWN' ? blocked(failure) : { kind: 'failed', failure } };
  }
}

function blocked(failure: AnyFailure): Outcome {
  return failure.code === 'ARGUMENTS_INVALID' ? { kind: 'blocked', failure, problems: failure.details.problems } : { kind: 'blocked', failure };
}
