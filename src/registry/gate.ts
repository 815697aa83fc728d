/**
 * The one road to a tool: arguments, schema, policy, person, call. A `Permit` is made, marked and spent here; the arguments of a call
 * can be had only by spending one, so that nothing can be called around the gate.
 */
import { isFailure, toFailure } from '../base/failure.ts';
import type { AnyFailure, Problem } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import type { Redact } from '../base/redact.ts';
import { count } from '../base/text.ts';
import type { CallToolResult } from '../mcp/types.ts';
import { createAsking } from './asking.ts';
import { signature } from './input-schema.ts';
import { createPolicy } from './permission.ts';
import type { PolicyOptions } from './permission.ts';
import { canceled, deniedByRule, invalidArguments, notAllowed } from './refusals.ts';
import { createSchemaChecks } from './schema.ts';
import type { SchemaCheck } from './schema.ts';
import type { Approval, ApprovalAnswer, CallOptions, Decision, Outcome, ToolEntry } from './types.ts';

declare const permitBrand: unique symbol;
/** Leave for one call. Says nothing by itself; `TakePermit` turns it into the call, once. */
export interface Permit { readonly [permitBrand]: true }
export interface Admitted { readonly entry: ToolEntry; readonly args: JsonObject; readonly options: CallOptions }
/** @throws {TypeError} when the permit is not one of this gate, or was spent before */
export type TakePermit = (permit: Permit) => Admitted;

/** One line of the audit: what was asked for, decided and became of it. Arguments by name only. */
export interface AuditRecord {
  readonly id: string; readonly server: string; readonly tool: string; readonly fingerprint: string;
  readonly argumentNames: readonly string[];
  /** Absent when the call did not get as far as the policy. */
  readonly decision?: Decision; readonly answer?: ApprovalAnswer | 'remembered';
  readonly outcome: Outcome['kind']; readonly code?: string; readonly elapsedMs: number;
}

export interface GateOptions extends PolicyOptions {
  /** Whom to ask. Absent: nobody can be asked. */
  readonly approve?: ((approval: Approval, signal?: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
  /** Asked before anything else: the failure of a tool that this gate does not let through whatever its arguments and rules. */
  readonly admit?: ((entry: ToolEntry) => AnyFailure | undefined) | undefined;
  /** Calls the server: `const { entry, args, options } = take(permit)`. */
  readonly invoke: (permit: Permit, take: TakePermit) => Promise<CallToolResult>;
  /** Masks secrets in the arguments that a person is shown. Default: by their usual shapes. */
  readonly redact?: Redact | undefined;
  readonly audit?: ((record: AuditRecord) => void) | undefined;
  /** The file in which a rule is to be added, for hints. */
  readonly ruleFile?: string | undefined;
}

export interface Gate {
  /** What the policy says before arguments are known, an earlier "always" included. */
  decide(entry: ToolEntry): Decision;
  hidden(entry: ToolEntry): boolean;
  /** Never rejects. `args`: an object; null and undefined stand for an empty one. */
  call(entry: ToolEntry, args: unknown, options?: CallOptions): Promise<Outcome>;
  readonly takePermit: TakePermit;
}

export function createGate(options: GateOptions): Gate {
  const policy = createPolicy(options);
  const asking = createAsking(options);
  const checks = createSchemaChecks();
  const permits = new WeakMap<Permit, Admitted>();

  const takePermit: TakePermit = (permit) => {
    const admitted = permits.get(permit);
    if (admitted === undefined) throw new TypeError('A tool call needs a fresh permit of the gate');
    permits.delete(permit);
    return admitted;
  };

  /** Leave for the call, or the failure that says why not. */
  const permission = async (entry: ToolEntry, args: JsonObject, callOptions: CallOptions, trace: Trace): Promise<AnyFailure | undefined> => {
    const decision = policy.decide(entry, args);
    trace.decision = decision;
    if (decision.effect === 'allow') return undefined;
    if (decision.effect === 'deny') return deniedByRule(entry, decision);
    const reply = await asking.ask({ entry, args, decision }, policy.remembers(decision), callOptions.signal);
    if (reply.kind === 'canceled') return canceled(entry);
    if (reply.kind === 'failed') return reply.failure;
    trace.answer = reply.answer;
    if (reply.answer === 'no' || reply.answer === 'nobody') return notAllowed(entry, decision, reply.answer, options.ruleFile, reply.cause);
    return undefined;
  };

  const invoke = async (entry: ToolEntry, args: JsonObject, callOptions: CallOptions): Promise<{ result: CallToolResult } | { failure: AnyFailure; unknown: boolean }> => {
    const permit = Object.freeze({}) as Permit;
    permits.set(permit, { entry, args, options: callOptions });
    try {
      const result = await options.invoke(permit, takePermit);
      if (permits.has(permit)) throw new TypeError('A tool result came without the permit being spent');
      return { result };
    } catch (error) {
      const failure = toFailure(error, 'call');
      // Our own mistake after the call had left: it may have taken effect.
      const unknown = failure.recovery === 'unknown' || failure.code === 'OUTCOME_UNKNOWN' || (!isFailure(error) && !permits.has(permit));
      return { failure, unknown };
    } finally {
      permits.delete(permit);
    }
  };

  const walk = async (entry: ToolEntry, given: unknown, callOptions: CallOptions, trace: Trace): Promise<Outcome> => {
    const barred = options.admit?.(entry);
    if (barred !== undefined) return blocked(barred);
    const args = given ?? {};
    if (!isObject(args)) return blocked(invalidArguments(entry, [{ pointer: '', message: 'must be an object' }]));
    trace.names = Object.keys(args);
    const warnings: string[] = [];
    const input = checks.check(entry.definition.inputSchema, args);
    if ('unusable' in input) warnings.push(`The input schema of "${entry.id}" cannot be checked (${input.unusable}); the server decides about the arguments`);
    else if (!input.valid) return blocked(invalidArguments(entry, input.problems, signature(entry.definition, entry.id)));
    if (isAborted(callOptions)) return blocked(canceled(entry));
    const refusal = await permission(entry, args, callOptions, trace);
    if (refusal !== undefined) return blocked(refusal);
    if (isAborted(callOptions)) return blocked(canceled(entry));
    const outcome = await invoke(entry, args, callOptions);
    if ('failure' in outcome) return { kind: outcome.unknown ? 'unknown' : 'failed', failure: outcome.failure };
    if (outcome.result.isError) return { kind: 'tool_error', result: outcome.result, warnings };
    return { kind: 'ok', result: outcome.result, warnings: [...warnings, ...outputWarnings(entry, outcome.result, checks.check)] };
  };

  return {
    decide: (entry) => asking.remembered(policy.decide(entry), entry, policy.remembers),
    hidden: (entry) => policy.hidden(entry),
    takePermit,
    async call(entry, args, callOptions = {}) {
      const trace: Trace = { names: [] };
      const startedAt = performance.now();
      let outcome: Outcome;
      try {
        outcome = await walk(entry, args, callOptions, trace);
      } catch (error) {
        // Nothing before the call itself may fail; if it does, nothing happened.
        outcome = blocked(toFailure(error));
      }
      record(options.audit, entry, outcome, trace, performance.now() - startedAt);
      return outcome;
    },
  };
}

const isAborted = ({ signal }: CallOptions): boolean => signal?.aborted === true;

interface Trace { names: readonly string[]; decision?: Decision; answer?: ApprovalAnswer | 'remembered' }

function blocked(failure: AnyFailure): Outcome {
  return failure.code === 'ARGUMENTS_INVALID' ? { kind: 'blocked', failure, problems: failure.details.problems } : { kind: 'blocked', failure };
}

/** A result that breaks its own schema stays usable: the content is kept and the mismatch told. */
function outputWarnings(entry: ToolEntry, result: CallToolResult, check: (schema: unknown, value: unknown) => SchemaCheck): readonly string[] {
  const schema = entry.definition.outputSchema;
  if (schema === undefined) return [];
  if (!('structuredContent' in result) || result.structuredContent === undefined) return [`"${entry.id}" declares an output schema and returned no structured content`];
  const output = check(schema, result.structuredContent);
  if ('unusable' in output || output.valid) return [];
  return [`The structured content of "${entry.id}" breaks its output schema in ${count(output.problems.length, 'place')}: ${describeProblems(output.problems)}`];
}

const describeProblems = (problems: readonly Problem[]): string => problems.slice(0, 3).map(({ pointer, message }) => `${pointer === '' ? 'the value' : pointer} ${message}`).join('; ');

function record(audit: GateOptions['audit'], entry: ToolEntry, outcome: Outcome, trace: Trace, elapsedMs: number): void {
  if (audit === undefined) return;
  try {
    const { id, server, tool, fingerprint } = entry;
    audit({
      id, server, tool, fingerprint, argumentNames: trace.names, outcome: outcome.kind, elapsedMs,
      ...(trace.decision === undefined ? {} : { decision: trace.decision }), ...(trace.answer === undefined ? {} : { answer: trace.answer }),
      ...('failure' in outcome ? { code: outcome.failure.code } : {}),
    });
  } catch {
    // The outcome of a call does not hang on the note about it.
  }
}
