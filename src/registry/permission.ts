/**
 * What the policy says of one call. Rules stand in order and the last one that matches decides; no match asks (of a tool of the host itself:
 * allows). Three layers follow each other: the configuration, the agent, the session. A deny of the configuration alone is final; a deny of
 * the three together holds against everything that could settle an ask (grants, `--allow`, `--yes`, the mode `allow_all`).
 * How sure a rule must be of whom it means: `rule-match.ts`.
 */
import type { Origin } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { compileRule, inputsOf, isUnderstood, namesOf, nativeNames } from './rule-match.ts';
import type { CompiledRule, Inputs, MatchOptions, Names, NativeKey } from './rule-match.ts';
import type { Decision, Effect, PermissionMode, Permissions, Rule, ToolEntry } from './types.ts';

export interface PolicyOptions extends MatchOptions {
  /** Of the configuration. */
  readonly permissions: Permissions;
  readonly agentRules?: readonly Rule[] | undefined;
  /** Counts when it is stricter than that of the configuration. */
  readonly agentMode?: PermissionMode | undefined;
  readonly sessionRules?: readonly Rule[] | undefined;
  /** Rules of this run (`--allow`, `--deny`): they settle an ask, never a deny of the layers, and their own deny holds too. */
  readonly extraRules?: readonly Rule[] | undefined;
  /** `--yes`: settles every ask. */
  readonly assumeYes?: boolean | undefined;
}

/** `id`: the tool's own name, which rules may name too. Default: the key. */
export interface NativeCall { readonly id?: string | undefined; readonly args?: JsonObject | undefined }

export interface Policy {
  readonly mode: PermissionMode;
  /** Without arguments: what holds for a call that no narrower rule decides. */
  decide(entry: ToolEntry, args?: JsonObject): Decision;
  /** True when a model must not even see the tool: the last rule whose key matches denies every call. */
  hidden(entry: ToolEntry): boolean;
  /** The same for the tools of the host: allowed unless a rule says otherwise, and the mode `strict` asks for none of them. */
  decideNative(key: NativeKey, call?: NativeCall): Decision;
  hiddenNative(key: NativeKey, id?: string): boolean;
  /** True when a person's earlier "always" may answer this ask. */
  remembers(decision: Decision): boolean;
}

const RANK: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 };
/** From loose to strict. */
const MODES: readonly PermissionMode[] = ['allow_all', 'standard', 'strict'];

/** A mode that is not understood is the strictest. */
function stricter(mode: PermissionMode, other: PermissionMode = mode): PermissionMode {
  const [a, b] = [MODES.indexOf(mode), MODES.indexOf(other)];
  return a < 0 || b < 0 ? 'strict' : MODES[Math.max(a, b)]!;
}

export function createPolicy(options: PolicyOptions): Policy {
  const mode = stricter(options.permissions.mode, options.agentMode);
  const compileAll = (rules: readonly Rule[] = []): readonly CompiledRule[] => rules.map((rule) => compileRule(rule, options));
  const configured = compileAll(options.permissions.rules), added = [...compileAll(options.agentRules), ...compileAll(options.sessionRules)];
  const layered = [...configured, ...added], extra = compileAll(options.extraRules);

  const known = new WeakMap<ToolEntry, Names>();
  const names = (entry: ToolEntry): Names => {
    let found = known.get(entry);
    if (found === undefined) known.set(entry, (found = namesOf(entry, options)));
    return found;
  };

  const settle = (asked: Decision, of: Names, inputs: Inputs | undefined): Decision => {
    const given = evaluate(extra, of, inputs);
    if (given?.effect === 'deny') return describe(given, of);
    if (asked.effect === 'allow') return asked;
    if (given?.effect === 'allow') return describe(given, of);
    return options.assumeYes === true ? { ...asked, effect: 'allow', why: `"${of.id}" is allowed because every question was answered with yes in advance (--yes)` } : asked;
  };

  const decide = (of: Names, args: JsonObject | undefined): Decision => {
    const inputs = args === undefined ? undefined : inputsOf(args);
    const first = evaluate(configured, of, inputs);
    const matched = first?.effect === 'deny' ? first : evaluate(added, of, inputs, first);
    const decision = matched === undefined ? unmatched(of) : describe(matched, of);
    if (decision.effect === 'deny') return decision;
    const settled = settle(applyMode(mode, decision, of), of, inputs);
    const narrower = inputs === undefined && layered.some((rule) => !rule.everyCall && rule.key(of) !== undefined);
    return narrower ? { ...settled, why: `${settled.why}; rules with patterns decide some of its calls` } : settled;
  };

  const hides = (rules: readonly CompiledRule[], of: Names): boolean => {
    const last = rules.findLast((rule) => { const strength = rule.key(of); return strength === 'sure' || (strength === 'loose' && rule.effect === 'deny'); });
    return last !== undefined && last.effect === 'deny' && last.everyCall;
  };
  const hidden = (of: Names): boolean => hides(configured, of) || (added.length > 0 && hides(layered, of)) || hides(extra, of);

  return {
    mode,
    decide: (entry, args) => decide(names(entry), args),
    hidden: (entry) => layered.length + extra.length > 0 && hidden(names(entry)),
    decideNative: (key, { id = key, args } = {}) => decide(nativeNames(key, id, options), args),
    hiddenNative: (key, id = key) => hidden(nativeNames(key, id, options)),
    remembers: () => mode !== 'strict',
  };
}

/** The last match decides, but a loose one only ever tightens. Without inputs narrower rules stay out of it. `before`: what earlier rules decided. */
function evaluate(rules: readonly CompiledRule[], names: Names, inputs: Inputs | undefined, before?: CompiledRule): CompiledRule | undefined {
  const unmatchedRank = RANK[names.native === undefined ? 'ask' : 'allow'];
  let decided = before;
  for (const rule of rules) {
    const key = rule.key(names);
    if (key === undefined) continue;
    const pattern = rule.pattern(names, inputs);
    if (pattern === undefined) continue;
    if ((key === 'sure' && pattern === 'sure') || RANK[rule.effect] > (decided === undefined ? unmatchedRank : RANK[decided.effect])) decided = rule;
  }
  return decided;
}

function unmatched({ id, native }: Names): Decision {
  return native === undefined ? { effect: 'ask', why: `No rule matches "${id}", so it needs a yes` } : { effect: 'allow', why: `"${id}" only reads and no rule is against it` };
}

function applyMode(mode: PermissionMode, decision: Decision, { id, native }: Names): Decision {
  if (mode === 'allow_all' && decision.effect === 'ask') return { ...decision, effect: 'allow', why: `The mode allow_all lets "${id}" run without a question` };
  if (mode === 'strict' && decision.effect === 'allow' && native === undefined) return { ...decision, effect: 'ask', why: `The mode strict asks before every call of "${id}", allowed by a rule or not` };
  return decision;
}

/** A rule as it stands in a file: `"docs_*": "allow"`, or with a pattern `"docs_*": { "x*": "deny" }`. */
export function ruleText({ key, pattern, effect }: Rule): string {
  return pattern === '*' ? `${JSON.stringify(key)}: ${JSON.stringify(effect)}` : `${JSON.stringify(key)}: { ${JSON.stringify(pattern)}: ${JSON.stringify(effect)} }`;
}

const place = ({ file, line }: Origin): string => (line === undefined ? file : `${file}:${line}`);
const VERBS: Readonly<Record<Effect, string>> = { allow: 'allows', ask: 'asks before', deny: 'denies' };

function describe({ rule, effect }: CompiledRule, { id }: Names): Decision {
  const odd = isUnderstood(rule) ? '' : ' (its value is not understood, and what is not understood denies)';
  return { effect, rule, why: `The rule ${ruleText(rule)} of ${place(rule.origin)} ${VERBS[effect]} "${id}"${odd}` };
}
