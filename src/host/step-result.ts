/** What goes back to the model of one call: the result within its bounds, or in words why there is none and what that means. */
import { Failure, type AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { redactPatterns } from '../base/redact.ts';
import { keepArtifacts, type WriteArtifact } from '../registry/artifacts.ts';
import { renderResult, textOf, type Rendered } from '../registry/results.ts';
import type { Outcome, ToolEntry } from '../registry/types.ts';
import type { StepResult } from './types.ts';

/** Said with every outcome that is not known (FACTS Z50). */
export const RECOVERY_NOTE = 'The call may have taken effect. Do not repeat it before you have checked by other means, at the place that it would have changed, that it did not.';

export async function resultOf({ callId, id }: { readonly callId: string; readonly id: string }, outcome: Outcome, write: WriteArtifact, metadata?: JsonObject): Promise<StepResult> {
  const shown = refusedBeforeTheCall(outcome);
  const failure = 'failure' in shown ? redactFailure(shown.failure, redactPatterns) : undefined;
  const rendered = 'result' in shown ? renderResult(shown.result) : inWords(shown.kind, failure!);
  const { parts, isError } = await keepArtifacts(rendered, id, write);
  return {
    callId, id, outcome: shown.kind, isError, parts, text: textOf(parts.filter((part) => part.kind === 'text')), warnings: 'warnings' in shown ? shown.warnings : [],
    ...(failure === undefined ? {} : { failure }), ...(metadata === undefined ? {} : { metadata }),
  };
}

/** A definition that turned out to be another one once its server was there: nothing was sent. */
function refusedBeforeTheCall(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' && outcome.failure.code === 'TOOL_UNKNOWN' ? { kind: 'blocked', failure: outcome.failure } : outcome;
}

/** What a model is told of a call that has no result. */
export function inWords(kind: Outcome['kind'], { message, hint }: AnyFailure): Rendered {
  const lines = [message, ...(hint === undefined ? [] : [hint]), ...(kind === 'unknown' ? [RECOVERY_NOTE] : kind === 'blocked' ? ['Nothing was done.'] : [])];
  return { parts: [{ kind: 'text', text: lines.map((line) => (/[.!?]$/.test(line) ? line : `${line}.`)).join('\n') }], isError: true };
}

/** A tool that this step does not offer, or no more as it was shown. */
export function unavailable(id: string, why: string, options: { readonly nearest?: readonly string[]; readonly hint?: string | undefined } = {}): AnyFailure {
  const close = options.nearest ?? [];
  return new Failure('TOOL_UNKNOWN', `Cannot call "${id}": ${why}${close.length > 0 ? `; did you mean ${close.join(' or ')}?` : ''}`, { stage: 'call', details: { tool: id, nearest: close }, hint: options.hint }) as AnyFailure;
}

/** A model decided by what it was shown. `now`: what the server has under that name by now. */
export function changed({ id, server }: ToolEntry, now: ToolEntry | undefined): AnyFailure {
  return unavailable(id, now === undefined ? `the server "${server}" no longer has it` : `the server "${server}" changed it since it was shown`, { hint: 'The next step shows what there is' });
}
