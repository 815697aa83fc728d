/** The failures by which the gate keeps a call from happening, each with the step that would let it through. */
import { Failure } from '../base/failure.ts';
import type { AnyFailure, Problem } from '../base/failure.ts';
import { count } from '../base/text.ts';
import { ruleText } from './permission.ts';
import type { PinCheck } from './pins.ts';
import type { Decision, ToolEntry } from './types.ts';

/** The JSON that allows one tool, ready to be pasted. */
export function allowLine(id: string): string {
  return `"permission": { "rules": { ${JSON.stringify(id)}: "allow" } }`;
}

const shown = ({ pointer, message }: Problem): string => `${pointer === '' ? 'the arguments' : pointer} ${message}`;

export function invalidArguments(entry: ToolEntry, problems: readonly Problem[], signature?: string): AnyFailure {
  const rest = problems.length > 3 ? `; and ${count(problems.length - 3, 'more problem')}` : '';
  return new Failure('ARGUMENTS_INVALID', `Cannot call "${entry.id}": ${problems.slice(0, 3).map(shown).join('; ')}${rest}`, {
    stage: 'call', details: { tool: entry.id, problems }, hint: signature,
  });
}

export function deniedByRule(entry: ToolEntry, decision: Decision): AnyFailure {
  const { rule } = decision;
  return new Failure('PERMISSION_DENIED', `Cannot call "${entry.id}": ${lowerFirst(decision.why)}`, {
    stage: 'permission', origin: rule?.origin,
    details: { tool: entry.id, why: 'rule', ...(rule === undefined ? {} : { rule: ruleText(rule) }) },
    hint: rule === undefined ? undefined : `Change the rule ${ruleText(rule)} in ${rule.origin.file}, or add ${JSON.stringify(entry.id)}: "allow" after it`,
  });
}

export function notAllowed(entry: ToolEntry, decision: Decision, answer: 'no' | 'nobody', ruleFile: string | undefined, cause?: unknown): AnyFailure {
  const { rule } = decision;
  const file = ruleFile ?? 'the global configuration file';
  const message = answer === 'no' ? 'the person who was asked said no' : `${lowerFirst(decision.why)}, and nobody can be asked here`;
  return new Failure('PERMISSION_DENIED', `Cannot call "${entry.id}": ${message}`, {
    stage: 'permission', origin: rule?.origin, cause,
    details: { tool: entry.id, why: answer === 'no' ? 'declined' : 'nobody', ...(rule === undefined ? {} : { rule: ruleText(rule) }) },
    hint: `${answer === 'no' ? 'To allow it always, add' : 'Add'} ${allowLine(entry.id)} to ${file}, or run it once with --allow ${entry.id} or --yes`,
  });
}

/** `check`: what `checkPin` found; the members that changed are named, `diffText` shows how. */
export function refusedByLock(entry: ToolEntry, check: Exclude<PinCheck, { kind: 'same' }>): AnyFailure {
  const what = check.kind === 'new' ? 'it is not in zuno.lock.json' : `its definition is not the one in zuno.lock.json (changed: ${check.changes.map(({ field }) => field).join(', ')})`;
  return new Failure('PERMISSION_DENIED', `Cannot call "${entry.id}": ${what}`, {
    stage: 'permission', origin: entry.origin, details: { tool: entry.id, why: 'lock' },
    hint: `See the difference with "zuno-lite mcp lock --check"; "zuno-lite mcp lock ${entry.server}" accepts it`,
  });
}

export function canceled(entry: ToolEntry): AnyFailure {
  return new Failure('CANCELED', `Cannot call "${entry.id}": it was canceled before it started`, { stage: 'permission', details: { method: 'tools/call' } });
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
