/** Tools as they are shown: signature, what they may do, and of those that are kept out which gate it is. */
import { oneLine, shorten } from '../base/text.ts';
import type { Config } from '../config/types.ts';
import { createAdmission, type Admission } from '../host/admission.ts';
import type { Host, ToolListing } from '../host/types.ts';
import { signature } from '../registry/input-schema.ts';
import type { Decision, Standing, ToolEntry } from '../registry/types.ts';
import type { Context } from './command.ts';
import { tellFailures } from './open.ts';
import { policyOf } from './policy.ts';
import { bold, dim, green, red, yellow } from './span.ts';
import type { Span } from './span.ts';

export interface Shown {
  readonly entry: ToolEntry;
  readonly decision: Decision;
  /** The first gate that keeps it out. */
  readonly out: { readonly gate: NonNullable<Standing['gate']>; readonly why: string } | undefined;
}

const DESCRIPTION_CHARS = 200;

/** What the command line asks for besides rules: an agent, the lock file. */
export function admissionFor({ parsed }: Context, config: Config): Admission {
  return createAdmission(config, policyOf(parsed));
}

export function assess(host: Host, admission: Admission, entry: ToolEntry): Shown {
  const decision = host.decide(entry), barred = admission.refusal(entry);
  const out = barred !== undefined ? { gate: barred.gate, why: barred.why } : decision.effect === 'deny' ? { gate: 'permission' as const, why: decision.why } : undefined;
  return { entry, decision, out };
}

export const lineOf = (entry: ToolEntry): string => signature({ ...entry.definition, name: entry.tool }, entry.id, Infinity);

export function effectCell({ decision, out }: Shown): Span {
  if (out !== undefined) return red(out.gate === 'permission' ? 'deny' : 'no');
  return decision.effect === 'allow' ? green('allow') : decision.effect === 'ask' ? yellow('ask') : red('deny');
}

export const whyText = ({ decision, out }: Shown): string => (out === undefined ? decision.why : `${out.gate}: ${out.why}`);

export function toolDocument(tool: Shown, full: boolean): object {
  const { entry, decision, out } = tool, { definition } = entry;
  return {
    id: entry.id, server: entry.server, tool: entry.tool, signature: lineOf(entry), title: definition.title ?? definition.annotations?.title ?? null, description: definition.description ?? null,
    effect: decision.effect, offered: out === undefined, gate: out?.gate ?? null, why: out?.why ?? decision.why, rule: decision.rule ?? null, annotations: definition.annotations ?? null,
    ...(full ? { inputSchema: definition.inputSchema, outputSchema: definition.outputSchema ?? null, fingerprint: entry.fingerprint, origin: entry.origin } : {}),
  };
}

/** One line a tool; in a pipe with a tab between the columns. */
export function showTools({ terminal }: Pick<Context, 'terminal'>, tools: readonly Shown[], why: boolean): void {
  terminal.table(
    [{ title: 'TOOL', shrink: 2, least: 40 }, { title: 'MAY' }, ...(why ? [{ title: 'WHY', shrink: 1 }] : []), { title: 'DESCRIPTION', shrink: 3, least: 30 }],
    tools.map((tool) => [bold(lineOf(tool.entry)), effectCell(tool), ...(why ? [dim(whyText(tool))] : []), shorten(oneLine(tool.entry.definition.description ?? tool.entry.definition.title ?? ''), DESCRIPTION_CHARS)]),
    { piped: 'tabs' },
  );
}

/** What else is to be said of a listing, on stderr. */
export function tellListing(context: Context, { dropped, renamed, failures }: Pick<ToolListing, 'dropped' | 'renamed' | 'failures'>): void {
  const { terminal } = context;
  for (const { server, name, reason } of dropped) terminal.alert(yellow(`${server}: `), `tool "${name}" is left out: ${reason}`);
  for (const { id, server, tool, reason } of renamed) terminal.note(dim(`${server}: tool "${tool}" is called ${id}: ${reason}`));
  tellFailures(context, failures);
}
