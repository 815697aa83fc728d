/**
 * Whom a rule means and which of its calls. Names and inputs are matched with care in two strengths, because a rule that lets something
 * through must be sure whom it means, and a rule that holds something back must not be dodged by a spelling:
 * - A match is **sure** when the key is the wire id itself, the raw pair (`server.tool`, `server/tool`), an alternative spelling that no other
 *   configured server or tool can claim, or a wildcard over those. `git_*` does not speak for a configured server `git_hub`,
 *   and a rule for `foo.bar` never for `foo_bar`.
 * - A match is **loose** when any spelling fits. A loose match can only tighten (allow to ask or deny, ask to deny).
 *
 * The pattern of a rule is matched on each string among the top-level arguments and on the canonical compact JSON of all arguments.
 * A loose match needs one of them. A sure one needs every string argument (with no array or object beside them and no `..`
 * path segment in any) or, for a pattern without wildcards, the JSON.
 */
import { canonicalJson } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { isRenamed, ownerOf, sanitize, spellings } from './names.ts';
import type { ToolKey } from './roster.ts';
import type { Effect, Rule, ToolEntry } from './types.ts';
import { comparable, compileComparable, compileWildcard } from './wildcard.ts';

export interface MatchOptions {
  /** All configured servers: with them a key is known to mean one of them. Default: only the server of the entry in question. */
  readonly servers?: readonly string[] | undefined;
  /** Windows. Default: false. */
  readonly caseInsensitive?: boolean | undefined;
  /** What `~` and `$HOME` at the head of a pattern stand for. Without it they are literal. */
  readonly home?: string | undefined;
}

/** The permission keys of the host's own tools: all three resource tools answer to `read`. */
export type NativeKey = 'read' | 'tool_search';

export type Strength = 'sure' | 'loose' | undefined;

export interface CompiledRule {
  readonly rule: Rule;
  readonly effect: Effect;
  readonly everyCall: boolean;
  readonly key: (names: Names) => Strength;
  /** Without inputs only what is known of the name. */
  readonly pattern: (names: Names, inputs: Inputs | undefined) => Strength;
}

/** The names of one tool that a key is matched on, worked out once. */
export interface Names {
  readonly id: string;
  readonly server: string;
  readonly serverWord: string;
  readonly sure: readonly string[];
  readonly loose: readonly string[];
  /** Of a tool of the host itself. */
  readonly native?: NativeKey;
}

/** Without the wire id: the spellings that keep or replace the characters of a pair and surely mean it while the id shows that nobody disputed them. */
function sureSpellings({ id, server, tool }: ToolKey & { readonly id: string }): readonly string[] {
  const { plain, mcp, dotted, slashed } = spellings(server, tool);
  return isRenamed(id, { server, tool }) ? [dotted, slashed] : [dotted, slashed, mcp, ...(id === mcp ? [plain] : [])];
}

export function namesOf(entry: ToolEntry, { caseInsensitive }: MatchOptions): Names {
  const { id, server, tool } = entry, { plain, mcp, mcpCollapsed, dotted, slashed } = spellings(server, tool);
  const word = serverWord(server);
  const loose = [id, plain, mcp, mcpCollapsed, dotted, slashed, `${server}_${tool}`, `mcp__${server}__${tool}`, word].map((text) => comparable(text, { caseInsensitive, slashes: true }));
  return { id, server, serverWord: word, sure: [id, ...sureSpellings(entry)], loose: [...new Set(loose)] };
}

export function nativeNames(key: NativeKey, id: string, { caseInsensitive }: MatchOptions): Names {
  const sure = [...new Set([id, key])];
  return { id, server: '', serverWord: '', sure, loose: sure.map((text) => comparable(text, { caseInsensitive, slashes: true })), native: key };
}

/** True when the words, none of them a wildcard, can mean this tool only. */
export function namesExactly(words: ReadonlySet<string>, entry: ToolEntry, servers: readonly string[]): boolean {
  if (words.has(entry.id)) return true;
  const known = servers.includes(entry.server) ? servers : [...servers, entry.server];
  return sureSpellings(entry).some((text) => {
    if (!words.has(text)) return false;
    const meant = ownerOf(text, known);
    return meant.kind === 'one' && meant.server === entry.server;
  });
}

/** The whole server in one word, as other clients write it: `mcp__server`. */
const serverWord = (server: string): string => `mcp__${sanitize(server)}`;

/** The texts that patterns are matched on. */
export interface Inputs { readonly json: string; readonly strings: readonly string[]; readonly plain: boolean }

export function inputsOf(args: JsonObject): Inputs {
  const values = Object.values(args), json = canonicalJson(args);
  const nested = values.some((value) => typeof value === 'object' && value !== null);
  const climbs = /(?:^|[\\/"])\.\.(?:[\\/"]|$)/.test(json);
  return { json, strings: values.filter((value) => typeof value === 'string'), plain: !nested && !climbs };
}

export const isWild = (text: string): boolean => /[*?]/.test(text);
const EFFECTS: ReadonlySet<unknown> = new Set(['allow', 'ask', 'deny']);

/** False: the value of the rule is none of the three, and such a rule denies. */
export function isUnderstood(rule: Rule): boolean {
  return EFFECTS.has(rule.effect);
}

export function compileRule(rule: Rule, options: MatchOptions): CompiledRule {
  const key = compileKey(rule.key, options), every = /^\*+$/.test(rule.pattern);
  return {
    rule, key, everyCall: every, effect: isUnderstood(rule) ? rule.effect : 'deny',
    pattern: every ? () => 'sure' : rule.key === 'mcp' ? compileAliasPattern(rule.pattern, options) : compilePattern(rule.pattern, options),
  };
}

function compileKey(key: string, { servers = [], caseInsensitive }: MatchOptions): CompiledRule['key'] {
  if (/^\*+$/.test(key)) return () => 'sure';
  // `mcp` lets every server's tool through; of the host's own tools it can only hold back those that read from servers.
  if (key === 'mcp') return ({ native }) => (native === undefined ? 'sure' : native === 'read' ? 'loose' : undefined);
  const exact = compileWildcard(key), loose = compileComparable(key, { caseInsensitive, slashes: true });
  // What stands before the first wildcard tells which server is meant, if it reaches that far.
  const head = isWild(key) ? key.slice(0, key.search(/[*?]/)) : key;
  const known = new Set(servers), owner = ownerOf(head, known);
  const namesakes = servers.filter((server) => serverWord(server) === key).length;
  return (names) => {
    if (names.id === key) return 'sure';
    // Whatever is sure is loose too, so most tools are done with here.
    if (!names.loose.some(loose)) return undefined;
    if (names.native !== undefined) return names.sure.some(exact) ? 'sure' : 'loose';
    const meant = known.has(names.server) ? owner : ownerOf(head, [...known, names.server]);
    const mayMean = meant.kind === 'one' ? meant.server === names.server : meant.kind === 'none';
    if (mayMean && names.sure.some(exact)) return 'sure';
    return key === names.serverWord && namesakes <= 1 ? 'sure' : 'loose';
  };
}

function expandHome(pattern: string, home: string | undefined): string {
  const match = home === undefined ? null : /^(?:~|\$HOME)(?=$|[\\/])/.exec(pattern);
  return match === null ? pattern : `${home}${pattern.slice(match[0].length)}`;
}

function compilePattern(pattern: string, { caseInsensitive, home }: MatchOptions): CompiledRule['pattern'] {
  const wanted = expandHome(pattern, home);
  const matches = compileWildcard(wanted, { caseInsensitive, slashes: true });
  return (_names, inputs) => {
    if (inputs === undefined) return undefined;
    const { json, strings, plain } = inputs;
    if (wanted === json || (plain && strings.length > 0 && strings.every(matches))) return 'sure';
    return strings.some(matches) || matches(json) ? 'loose' : undefined;
  };
}

/** Under the key `mcp` a pattern names tools; it may also hold inputs back, but never let a call through by its input. */
function compileAliasPattern(pattern: string, options: MatchOptions): CompiledRule['pattern'] {
  const byName = compileKey(pattern, options), byInput = compilePattern(pattern, options);
  return (names, inputs) => byName(names) ?? (byInput(names, inputs) === undefined ? undefined : 'loose');
}
