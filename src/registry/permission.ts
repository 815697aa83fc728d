/**
 * What the policy says of one call. Rules stand in order and the last one that matches decides; no match asks; a deny holds
 * against everything that could settle an ask (grants, `--allow`, `--yes`, the mode `allow_all`).
 *
 * Names and inputs are matched with care in two strengths, because a rule that lets something through must be sure whom
 * it means, and a rule that holds something back must not be dodged by a spelling:
 * - A match is **sure** when the key is the wire id itself, the raw pair (`server.tool`, `server/tool`), an alternative spelling that no other
 *   configured server or tool can claim, or a wildcard over those. `git_*` does not speak for a configured server `git_hub`,
 *   and a rule for `foo.bar` never for `foo_bar`.
 * - A match is **loose** when any spelling fits. A loose match can only tighten (allow to ask or deny, ask to deny).
 *
 * The pattern of a rule is matched on each string among the top-level arguments and on the canonical compact JSON of all arguments.
 * A loose match needs one of them. A sure one needs every string argument (with no array or object beside them and no `..`
 * path segment in any) or, for a pattern without wildcards, the JSON.
 */
import type { Origin } from '../base/failure.ts';
import { canonicalJson } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { isRenamed, ownerOf, sanitize, spellings } from './names.ts';
import type { Decision, Effect, PermissionMode, Permissions, Rule, ToolEntry } from './types.ts';
import { comparable, compileComparable, compileWildcard } from './wildcard.ts';
import type { Matches } from './wildcard.ts';

export interface PolicyOptions {
  readonly permissions: Permissions;
  /** All configured servers: with them a key is known to mean one of them. Default: only the server of the entry in question. */
  readonly servers?: readonly string[] | undefined;
  /** Rules of this run (`--allow`): they settle an ask, never a deny of the configuration. */
  readonly extraRules?: readonly Rule[] | undefined;
  /** `--yes`: settles every ask. */
  readonly assumeYes?: boolean | undefined;
  /** Windows. Default: false. */
  readonly caseInsensitive?: boolean | undefined;
  /** What `~` and `$HOME` at the head of a pattern stand for. Without it they are literal. */
  readonly home?: string | undefined;
}

export interface Policy {
  readonly mode: PermissionMode;
  /** Without arguments: what holds for a call that no narrower rule decides. */
  decide(entry: ToolEntry, args?: JsonObject): Decision;
  /** True when a model must not even see the tool: the last rule whose key matches denies every call. */
  hidden(entry: ToolEntry): boolean;
  /** True when a person's earlier "always" may answer this ask. */
  remembers(decision: Decision): boolean;
}

type Strength = 'sure' | 'loose' | undefined;
const RANK: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 };

interface CompiledRule {
  readonly rule: Rule;
  readonly effect: Effect;
  readonly everyCall: boolean;
  readonly key: (names: Names) => Strength;
  /** Without inputs only what is known of the name. */
  readonly pattern: (names: Names, inputs: Inputs | undefined) => Strength;
}

/** The names of one tool that a key is matched on, worked out once. */
interface Names { readonly id: string; readonly server: string; readonly serverWord: string; readonly sure: readonly string[]; readonly loose: readonly string[] }

function namesOf(entry: ToolEntry, caseInsensitive: boolean | undefined): Names {
  const { id, server, tool } = entry, { plain, mcp, mcpCollapsed, dotted, slashed } = spellings(server, tool);
  // A spelling that replaces characters counts only while the wire id shows that nobody disputed it.
  const sure = isRenamed(id, entry) ? [id, dotted, slashed] : [id, dotted, slashed, mcp, ...(id === mcp ? [plain] : [])];
  const word = serverWord(server);
  const loose = [id, plain, mcp, mcpCollapsed, dotted, slashed, `${server}_${tool}`, `mcp__${server}__${tool}`, word].map((text) => comparable(text, { caseInsensitive, slashes: true }));
  return { id, server, serverWord: word, sure, loose: [...new Set(loose)] };
}

/** The whole server in one word, as other clients write it: `mcp__server`. */
const serverWord = (server: string): string => `mcp__${sanitize(server)}`;

/** The texts that patterns are matched on. */
interface Inputs { readonly json: string; readonly strings: readonly string[]; readonly plain: boolean }

function inputsOf(args: JsonObject): Inputs {
  const values = Object.values(args), json = canonicalJson(args);
  const nested = values.some((value) => typeof value === 'object' && value !== null);
  const climbs = /(?:^|[\\/"])\.\.(?:[\\/"]|$)/.test(json);
  return { json, strings: values.filter((value) => typeof value === 'string'), plain: !nested && !climbs };
}

const isWild = (text: string): boolean => /[*?]/.test(text);
const EFFECTS: ReadonlySet<unknown> = new Set(['allow', 'ask', 'deny']);

export function createPolicy(options: PolicyOptions): Policy {
  const { permissions, assumeYes = false } = options;
  const rules = permissions.rules.map((rule) => compile(rule, options));
  const extra = (options.extraRules ?? []).map((rule) => compile(rule, options));

  const known = new WeakMap<ToolEntry, Names>();
  const names = (entry: ToolEntry): Names => {
    let found = known.get(entry);
    if (found === undefined) known.set(entry, (found = namesOf(entry, options.caseInsensitive)));
    return found;
  };

  const settle = (asked: Decision, entry: ToolEntry, inputs: Inputs | undefined): Decision => {
    const given = evaluate(extra, names(entry), inputs);
    if (given?.effect === 'deny') return describe(given, entry);
    if (asked.effect === 'allow') return asked;
    if (given?.effect === 'allow') return describe(given, entry);
    return assumeYes ? { ...asked, effect: 'allow', why: `"${entry.id}" is allowed because every question was answered with yes in advance (--yes)` } : asked;
  };

  return {
    mode: permissions.mode,
    decide(entry, args) {
      const inputs = args === undefined ? undefined : inputsOf(args);
      const matched = evaluate(rules, names(entry), inputs);
      const decision = matched === undefined ? { effect: 'ask' as const, why: `No rule matches "${entry.id}", so it needs a yes` } : describe(matched, entry);
      if (decision.effect === 'deny') return decision;
      const settled = settle(applyMode(permissions.mode, decision, entry), entry, inputs);
      const narrower = inputs === undefined && rules.some((rule) => !rule.everyCall && rule.key(names(entry)) !== undefined);
      return narrower ? { ...settled, why: `${settled.why}; rules with patterns decide some of its calls` } : settled;
    },
    hidden(entry) {
      const last = rules.findLast((rule) => { const strength = rule.key(names(entry)); return strength === 'sure' || (strength === 'loose' && rule.effect === 'deny'); });
      return last !== undefined && last.effect === 'deny' && last.everyCall;
    },
    remembers: () => permissions.mode !== 'strict',
  };
}

/** The last match decides, but a loose one only ever tightens. Without inputs narrower rules stay out of it. */
function evaluate(rules: readonly CompiledRule[], names: Names, inputs: Inputs | undefined): CompiledRule | undefined {
  let decided: CompiledRule | undefined;
  for (const rule of rules) {
    const key = rule.key(names);
    if (key === undefined) continue;
    const pattern = rule.pattern(names, inputs);
    if (pattern === undefined) continue;
    if ((key === 'sure' && pattern === 'sure') || RANK[rule.effect] > RANK[decided?.effect ?? 'ask']) decided = rule;
  }
  return decided;
}

function applyMode(mode: PermissionMode, decision: Decision, entry: ToolEntry): Decision {
  if (mode === 'allow_all' && decision.effect === 'ask') return { ...decision, effect: 'allow', why: `The mode allow_all lets "${entry.id}" run without a question` };
  if (mode === 'strict' && decision.effect === 'allow') return { ...decision, effect: 'ask', why: `The mode strict asks before every call of "${entry.id}", allowed by a rule or not` };
  return decision;
}

/** A rule as it stands in a file: `"docs_*": "allow"`, or with a pattern `"docs_*": { "x*": "deny" }`. */
export function ruleText({ key, pattern, effect }: Rule): string {
  return pattern === '*' ? `${JSON.stringify(key)}: ${JSON.stringify(effect)}` : `${JSON.stringify(key)}: { ${JSON.stringify(pattern)}: ${JSON.stringify(effect)} }`;
}

const place = ({ file, line }: Origin): string => (line === undefined ? file : `${file}:${line}`);
const VERBS: Readonly<Record<Effect, string>> = { allow: 'allows', ask: 'asks before', deny: 'denies' };

function describe({ rule, effect }: CompiledRule, entry: ToolEntry): Decision {
  const odd = EFFECTS.has(rule.effect) ? '' : ' (its value is not understood, and what is not understood denies)';
  return { effect, rule, why: `The rule ${ruleText(rule)} of ${place(rule.origin)} ${VERBS[effect]} "${entry.id}"${odd}` };
}

function compile(rule: Rule, options: PolicyOptions): CompiledRule {
  const effect: Effect = EFFECTS.has(rule.effect) ? rule.effect : 'deny';
  const key = compileKey(rule.key, options), every = /^\*+$/.test(rule.pattern);
  return { rule, effect, everyCall: every, key, pattern: every ? () => 'sure' : rule.key === 'mcp' ? compileAliasPattern(rule.pattern, options) : compilePattern(rule.pattern, options) };
}

function compileKey(key: string, { servers = [], caseInsensitive }: PolicyOptions): CompiledRule['key'] {
  if (key === 'mcp' || /^\*+$/.test(key)) return () => 'sure';
  const wild = isWild(key);
  const exact = compileWildcard(key), loose = compileComparable(key, { caseInsensitive, slashes: true });
  // What stands before the first wildcard tells which server is meant, if it reaches that far.
  const head = wild ? key.slice(0, key.search(/[*?]/)) : key;
  const known = new Set(servers), owner = ownerOf(head, known);
  const namesakes = servers.filter((server) => serverWord(server) === key).length;
  return (names) => {
    if (names.id === key) return 'sure';
    // Whatever is sure is loose too, so most tools are done with here.
    if (!names.loose.some(loose)) return undefined;
    const meant = known.has(names.server) ? owner : ownerOf(head, [...known, names.server]);
    const mayMean = meant.kind === 'one' ? meant.server === names.server : wild && meant.kind === 'none';
    if (mayMean && names.sure.some((name, index) => (wild || index > 0) && exact(name))) return 'sure';
    return key === names.serverWord && namesakes <= 1 ? 'sure' : 'loose';
  };
}

function expandHome(pattern: string, home: string | undefined): string {
  const match = home === undefined ? null : /^(?:~|\$HOME)(?=$|[\\/])/.exec(pattern);
  return match === null ? pattern : `${home}${pattern.slice(match[0].length)}`;
}

function compilePattern(pattern: string, { caseInsensitive, home }: PolicyOptions): CompiledRule['pattern'] {
  const wanted = expandHome(pattern, home);
  const matches: Matches = compileWildcard(wanted, { caseInsensitive, slashes: true });
  return (_names, inputs) => {
    if (inputs === undefined) return undefined;
    const { json, strings, plain } = inputs;
    if (wanted === json || (plain && strings.length > 0 && strings.every(matches))) return 'sure';
    return strings.some(matches) || matches(json) ? 'loose' : undefined;
  };
}

/** Under the key `mcp` a pattern names tools; it may also hold inputs back, but never let a call through by its input. */
function compileAliasPattern(pattern: string, options: PolicyOptions): CompiledRule['pattern'] {
  const byName = compileKey(pattern, options), byInput = compilePattern(pattern, options);
  return (names, inputs) => byName(names) ?? (byInput(names, inputs) === undefined ? undefined : 'loose');
}
