/** Permission rules against a second reading of them: what `rule-match.ts` and `permission.ts` promise, written down once more as plainly as can be. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { assignNames } from '../../../src/registry/names.ts';
import { createPolicy, ruleText } from '../../../src/registry/permission.ts';
import type { PolicyOptions } from '../../../src/registry/permission.ts';
import type { NativeKey } from '../../../src/registry/rule-match.ts';
import type { Effect, PermissionMode, Rule, ToolEntry } from '../../../src/registry/types.ts';
import { entry, permissions, random, rule } from './entries.ts';

type Target = ToolEntry | { readonly native: NativeKey; readonly id: string };
interface World { readonly servers: readonly string[]; readonly windows: boolean; readonly home: string | undefined; /** What was worked out before. */ readonly keys: Map<string, Match>; readonly inputs: Map<string, Map<JsonObject, Match>> }
/** No match, a match of some spelling, a match that is sure whom or what it means. */
type Match = 0 | 1 | 2;

// ---- the second reading

const globs = new Map<string, RegExp>();
/** `windows`: case and the direction of slashes do not count; `slashes`: only the latter. */
function glob(pattern: string, text: string, { windows = false, slashes = false } = {}): boolean {
  const level = (value: string): string => (slashes ? value.replaceAll('\\', '/') : value), key = `${windows} ${slashes} ${pattern}`;
  let made = globs.get(key);
  if (made === undefined) {
    const source = (part: string): string => [...part].map((char) => (char === '*' ? '[^]*' : char === '?' ? '[^]' : char.replace(/[^A-Za-z0-9]/, (odd) => `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`))).join('');
    const wanted = level(pattern), bare = wanted.endsWith(' *') ? `|${source(wanted.slice(0, -2))}` : '';
    globs.set(key, (made = new RegExp(`^(?:${source(wanted)}${bare})$`, windows ? 'i' : '')));
  }
  return made.test(level(text));
}

const onlyStars = (text: string): boolean => text !== '' && text.replaceAll('*', '') === '';
const clean = (name: string): string => [...name].map((char) => (/[A-Za-z0-9_-]/.test(char) ? char : '_')).join('');
const single = (name: string): string => clean(name).replace(/__+/g, '_');

/** The one server that a text surely speaks of, `undefined` when none begins it, `null` when two have as good a claim. */
function claimant(text: string, servers: readonly string[]): string | null | undefined {
  const claims = servers.map((server) => ({ server, length: Math.max(0, ...[`${clean(server)}_`, `mcp__${clean(server)}__`, `${server}.`, `${server}/`].filter((head) => text.startsWith(head)).map((head) => head.length)) }));
  const most = Math.max(0, ...claims.map(({ length }) => length));
  if (most === 0) return undefined;
  const best = claims.filter(({ length }) => length === most).map(({ server }) => server);
  if (best.length === 1) return best[0];
  const literal = best.filter((server) => clean(server) === server);
  return literal.length === 1 ? literal[0] : null;
}

function keyMatch(key: string, target: Target, world: World): Match {
  const both = `${target.id} ${'native' in target ? target.native : target.server} ${key}`;
  let match = world.keys.get(both);
  if (match === undefined) world.keys.set(both, (match = readKey(key, target, world)));
  return match;
}

function readKey(key: string, target: Target, { servers, windows }: World): Match {
  if (onlyStars(key)) return 2;
  if ('native' in target) {
    if (key === 'mcp') return target.native === 'read' ? 1 : 0;
    const names = [target.id, target.native];
    return names.some((name) => glob(key, name)) ? 2 : names.some((name) => glob(key, name, { windows, slashes: true })) ? 1 : 0;
  }
  const { id, server, tool } = target;
  if (key === 'mcp' || key === id) return 2;
  const plain = `${clean(server)}_${clean(tool)}`, mcp = `mcp__${clean(server)}__${clean(tool)}`, word = `mcp__${clean(server)}`, raw = [`${server}.${tool}`, `${server}/${tool}`];
  const spelled = [id, plain, mcp, `mcp__${single(server)}__${single(tool)}`, ...raw, `${server}_${tool}`, `mcp__${server}__${tool}`, word].some((name) => glob(key, name, { windows, slashes: true }));
  if (!spelled) return 0;
  const everybody = servers.includes(server) ? servers : [...servers, server];
  if (key === word && servers.filter((other) => `mcp__${clean(other)}` === word).length <= 1) return 2;
  // An id with a digest says that somebody disputed the plain spellings.
  const certain = [...raw, ...(id === plain || id === mcp ? [mcp] : []), ...(id === mcp ? [plain] : [])];
  if (!/[*?]/.test(key)) return certain.includes(key) && claimant(key, everybody) === server ? 2 : 1;
  const meant = claimant(key.split(/[*?]/, 1)[0]!, everybody);
  return (meant === undefined || meant === server) && [id, ...certain].some((name) => glob(key, name)) ? 2 : 1;
}

const sortedJson = (value: unknown): string => JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner));

function inputMatch(pattern: string, args: JsonObject | undefined, world: World): Match {
  if (args === undefined) return 0;
  let matches = world.inputs.get(pattern);
  if (matches === undefined) world.inputs.set(pattern, (matches = new Map()));
  let match = matches.get(args);
  if (match === undefined) matches.set(args, (match = readInput(pattern, args, world)));
  return match;
}

function readInput(pattern: string, args: JsonObject, { windows, home }: World): Match {
  const wanted = home === undefined ? pattern : pattern.replace(/^(~|\$HOME)(?![^/\\])/, () => home), how = { windows, slashes: true };
  const values = Object.values(args), strings = values.filter((value) => typeof value === 'string'), json = sortedJson(args);
  const plain = values.every((value) => typeof value !== 'object' || value === null) && !strings.some((value) => value.split(/[\\/]/).includes('..'));
  if (wanted === json || (plain && strings.length > 0 && strings.every((value) => glob(wanted, value, how)))) return 2;
  return strings.some((value) => glob(wanted, value, how)) || glob(wanted, json, how) ? 1 : 0;
}

function patternMatch({ key, pattern }: Rule, target: Target, args: JsonObject | undefined, world: World): Match {
  if (onlyStars(pattern)) return 2;
  if (key !== 'mcp') return inputMatch(pattern, args, world);
  return keyMatch(pattern, target, world) || (inputMatch(pattern, args, world) === 0 ? 0 : 1);
}

const RANK = { allow: 0, ask: 1, deny: 2 };
const effectOf = ({ effect }: Rule): Effect => (Object.hasOwn(RANK, effect) ? effect : 'deny');

function read(rules: readonly Rule[], target: Target, args: JsonObject | undefined, world: World): Effect | undefined {
  let held: Effect | undefined;
  for (const each of rules) {
    const key = keyMatch(each.key, target, world), pattern = key === 0 ? 0 : patternMatch(each, target, args, world);
    if (key === 0 || pattern === 0) continue;
    if (key + pattern === 4 || RANK[effectOf(each)] > RANK[held ?? ('native' in target ? 'allow' : 'ask')]) held = effectOf(each);
  }
  return held;
}

function hides(rules: readonly Rule[], target: Target, world: World): boolean {
  const last = rules.filter((each) => { const match = keyMatch(each.key, target, world); return match === 2 || (match === 1 && effectOf(each) === 'deny'); }).at(-1);
  return last !== undefined && effectOf(last) === 'deny' && onlyStars(last.pattern);
}

const MODES: readonly string[] = ['allow_all', 'standard', 'strict'];

function expected(options: PolicyOptions, target: Target, args: JsonObject | undefined, world: World): { readonly effect: Effect; readonly hidden: boolean } {
  const { permissions: { rules: configured, mode }, agentMode = mode, agentRules = [], sessionRules = [], extraRules = [], assumeYes } = options;
  const layers = [...configured, ...agentRules, ...sessionRules], native = 'native' in target;
  const hidden = [configured, layers, extraRules].some((rules) => hides(rules, target, world));
  const alone = read(configured, target, args, world), together = read(layers, target, args, world) ?? (native ? 'allow' : 'ask'), run = read(extraRules, target, args, world);
  if ([alone, together, run].includes('deny')) return { effect: 'deny', hidden };
  if (run === 'allow' || assumeYes === true) return { effect: 'allow', hidden };
  const strictness = [mode, agentMode].some((each) => !MODES.includes(each)) ? 2 : Math.max(MODES.indexOf(mode), MODES.indexOf(agentMode));
  return { effect: strictness === 0 ? 'allow' : strictness === 2 && !native ? 'ask' : together, hidden };
}

// ---- what they are held against each other with

const CONFIGURED: readonly (readonly string[])[] = [['docs', 'mail'], ['a', 'a_b', 'a.b'], ['git', 'git_hub', 'my server'], ['foo.bar', 'foo bar'], ['mcp', 'docs'], []];
const TOOLS = ['x', 'b_c', 'b.c', 'hub_push', 'push', 'read:file', 'search', 's__t'];
const KEYS = [
  '*', '*', '*', '*', '*', '*', '**', 'mcp', 'mcp', 'mcp', 'docs_*', 'docs_search', 'DOCS_*', 'docs.search', 'docs/*', 'mcp__docs__*', 'mcp__docs', 'mcp__a_b', 'mcp__*', 'mail_?ush', 'a_b_c', 'a_b_*', 'a.b.c', 'a.b.*', 'a_*', 'a*', 'a/b.c', 'a?b*', 'mcp__a__b_c',
  'git_*', 'git*', 'git_hub_push', 'mcp__git_hub__push', 'git.hub_push', '*_push', '*push', 'my server_*', 'my_server_read_file', 'my server/read:file', 'foo_bar_x', 'foo*', 'foo.bar.x', 'foo bar.*', 'mcp__foo_bar__x', 'mcp__foo_bar', 'docs_s_t', 'mcp__docs__s_t',
  'read', 're*', 'read_mcp_resource', 'list_*', 'READ', 'tool_search', 'tool_*', 'nothing', '?', '',
];
const PATTERNS = ['*', '*', '*', '*', '**', '/srv/*', '\\srv\\*', '~/n/*', '$HOME', '~x', 'ab', 'AB', 'a *', '*b', '?b', '*secret*', '{"q":"ab"}', '{"q":*', 'docs_*', 'docs_search', 'a.b.c', 'git_hub_push', ''];
const INPUTS: readonly (JsonObject | undefined)[] = [
  undefined, {}, { q: 'ab' }, { q: 'Ab', n: 1 }, { q: 'a', r: 'ab' }, { q: 'a b', r: null }, { p: '/srv/x' }, { p: '/SRV/x' }, { p: '/srv/../x' }, { p: '..' }, { p: '\\srv\\x' }, { p: '/srv/x', q: ['/etc/secret'] }, { p: '/srv/x', q: 'top secret' },
  { p: '/home/x/n/a' }, { p: '/home/x' }, { q: '~x' }, { q: { b: 1, a: 'secret' } }, { q: 'docs_search' }, { server: 'docs', uri: 'docs_x' }, { q: '' },
];
const NATIVES: readonly Target[] = [{ native: 'tool_search', id: 'tool_search' }, { native: 'read', id: 'read_mcp_resource' }, { native: 'read', id: 'list_mcp_resources' }, { native: 'read', id: 'read' }];

const WORLDS = CONFIGURED.flatMap((servers) => {
  const pairs = [...servers, 'unlisted'].flatMap((server) => TOOLS.map((tool) => ({ server, tool })));
  const tools = (['plain', 'mcp'] as const).flatMap((naming) => assignNames(pairs, { servers, naming }).ids.map((id, index) => entry(pairs[index]!.server, pairs[index]!.tool, {}, id)));
  return [false, false, true].map((windows, index): World & { readonly tools: readonly ToolEntry[] } => ({ servers, windows, home: index === 0 ? undefined : '/home/x', keys: new Map(), inputs: new Map(), tools }));
});

describe('createPolicy()', () => {
  test('equals a direct reference on 100,000 random rule sets, layers, tools and inputs (rows 128-134)', () => {
    const { below, pick } = random(2_026), rules = (most: number): Rule[] => Array.from({ length: below(most) }, () => rule(pick(KEYS), below(40) === 0 ? 'maybe' as Effect : pick(['allow', 'ask', 'deny'] as const), pick(PATTERNS)));
    const mode = (): PermissionMode => (below(40) === 0 ? 'free' as PermissionMode : pick(['allow_all', 'standard', 'standard', 'strict'] as const));
    const seen = { allow: 0, ask: 0, deny: 0, hidden: 0 };
    for (let round = 0; round < 100_000; round++) {
      const world = pick(WORLDS), { servers, windows: caseInsensitive, home } = world, agentMode = below(2) === 0 ? undefined : mode();
      const options: PolicyOptions = {
        permissions: permissions(rules(6), mode()), agentRules: rules(5), sessionRules: rules(3), extraRules: below(3) === 0 ? rules(3) : [], assumeYes: below(8) === 0, agentMode, servers, caseInsensitive, home,
      };
      const target = below(4) === 0 ? pick(NATIVES) : pick(world.tools), args = pick(INPUTS), wanted = expected(options, target, args, world), policy = createPolicy(options);
      const { effect } = 'native' in target ? policy.decideNative(target.native, { id: target.id, args }) : policy.decide(target, args);
      const hidden = 'native' in target ? policy.hiddenNative(target.native, target.id) : policy.hidden(target);
      if (effect !== wanted.effect || hidden !== wanted.hidden) {
        const lists = [options.permissions.rules, options.agentRules!, options.sessionRules!, options.extraRules!].map((list) => list.map(ruleText).join(', ')).join(' | ');
        assert.fail(`${effect}${hidden ? ' hidden' : ''} in place of ${JSON.stringify(wanted)}: ${target.id} of ${'server' in target ? target.server : 'the host'} ${JSON.stringify(args)}, servers ${servers.join()}, ${options.permissions.mode} ${agentMode} ${options.assumeYes} ${caseInsensitive} ${home}: ${lists}`);
      }
      assert.ok(!hidden || effect === 'deny', 'what is hidden is denied');
      seen[effect] += 1;
      if (hidden) seen.hidden += 1;
    }
    assert.ok(Object.values(seen).every((times) => times > 5_000), JSON.stringify(seen));
  });
});
