import type { Config, Rule } from '../../config/types.ts';
import { createAdmission } from '../../host/admission.ts';
import type { Host } from '../../host/types.ts';
import { isNativeTool, nativeEntry, nativeTraits } from '../../registry/native-tools.ts';
import { createPolicy, ruleText, type Policy } from '../../registry/permission.ts';
import { compileRule, namesOf, nativeNames, type MatchOptions } from '../../registry/rule-match.ts';
import type { Decision, ToolEntry } from '../../registry/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { placeText } from '../explain.ts';
import { openConfig, pathsOf, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import type { Span } from '../span.ts';

/** What no mode switches off. */
const STILL_ENFORCED = [
  'deny rules, also those whose value is not understood', 'the exact list and the read-only role of an agent', 'the lock file, where it is enforced', 'the check of arguments against the schema of the tool', 'trust of project files',
] as const;

/** A rule with the place it has in the order, and how it fits a tool. */
interface Matching { readonly index: number; readonly rule: Rule; /** `loose`: another spelling fits; that can only tighten. `some`: it decides calls whose input fits. */ readonly match: 'sure' | 'loose' | 'some' }

interface Judged { readonly id: string; readonly server: string | undefined; readonly tool: string; readonly decision: Decision; readonly hidden: boolean; readonly barred: string | undefined; readonly matching: readonly Matching[] }

function matchingRules(rules: readonly Rule[], names: ReturnType<typeof namesOf>, options: MatchOptions): Matching[] {
  return rules.flatMap((rule, index): Matching[] => {
    const compiled = compileRule(rule, options), key = compiled.key(names);
    if (key === undefined) return [];
    const pattern = compiled.pattern(names, undefined);
    if (pattern === undefined) return rule.key === 'mcp' ? [] : [{ index, rule, match: 'some' }];
    return [{ index, rule, match: key === 'sure' && pattern === 'sure' ? 'sure' : 'loose' }];
  });
}

interface Order { readonly config: Config; readonly policy: Policy; readonly rules: readonly Rule[]; readonly options: MatchOptions; readonly agent: string | undefined; readonly barred: (entry: ToolEntry) => string | undefined }

function orderOf(context: Context, config: Config): Order {
  const admission = createAdmission(config, { agent: context.parsed.value('agent') }), { agent } = admission;
  const options: MatchOptions = { servers: [...config.servers.keys()], caseInsensitive: process.platform === 'win32', home: pathsOf(context).home };
  return {
    config, options, agent: agent?.name, rules: [...config.permissions.rules, ...agent?.rules ?? []], barred: (entry) => admission.refusal(entry)?.why,
    policy: createPolicy({ ...options, permissions: config.permissions, agentRules: agent?.rules, agentMode: agent?.permissionMode }),
  };
}

/** The host's own tools need no server; any other is looked up, which starts the one server that can have it. */
async function judge(order: Order, host: Host, words: string, signal: AbortSignal): Promise<Judged> {
  const { policy, rules, options } = order;
  if (isNativeTool(words)) {
    const key = nativeTraits(words).permissionKey;
    return { id: words, server: undefined, tool: nativeEntry(words).tool, decision: policy.decideNative(key, { id: words }), hidden: policy.hiddenNative(key, words), barred: undefined, matching: matchingRules(rules, nativeNames(key, words, options), options) };
  }
  const entry = await host.findTool(words, signal);
  return { id: entry.id, server: entry.server, tool: entry.tool, decision: policy.decide(entry), hidden: policy.hidden(entry), barred: order.barred(entry), matching: matchingRules(rules, namesOf(entry, options), options) };
}

const effectSpan = (effect: Rule['effect']): Span => ({ allow: green('allow'), ask: yellow('ask'), deny: red('deny') })[effect] ?? red(String(effect));
const matchWords: Readonly<Record<Matching['match'], string>> = { sure: 'every call', loose: 'by another spelling, which can only tighten', some: 'calls whose input fits' };

function show({ terminal }: Context, { config, policy, rules, agent }: Order, judged: Judged | undefined): void {
  const { mode: configured } = config.permissions;
  terminal.print(bold('Mode'), '  ', policy.mode, dim(configured === policy.mode ? '' : `  (configured: ${configured}; the agent "${agent ?? ''}" is stricter)`));
  if (policy.mode === 'allow_all') for (const what of STILL_ENFORCED) terminal.print(dim('  still enforced: '), what);
  terminal.print('');
  terminal.print(bold('Rules'), dim('  in order; the last that fits decides, and a deny of the configuration is final'));
  if (rules.length === 0) terminal.print(dim('  none: every tool needs a yes'));
  else terminal.table([{ title: '#', align: 'right' }, { title: 'RULE', shrink: 1, least: 24 }, { title: 'FROM', shrink: 2, least: 24, cut: 'start' }], rules.map((rule, index) => [String(index + 1), ruleText(rule), dim(placeText(rule.origin))]), { indent: 2 });
  if (judged === undefined) return;
  terminal.print('');
  terminal.print(bold(judged.id), '  ', judged.barred !== undefined ? red('no') : effectSpan(judged.decision.effect), judged.hidden ? dim('  hidden from models') : '', dim(`  ${judged.barred ?? judged.decision.why}`));
  for (const { index, rule, match } of judged.matching) terminal.print('  ', dim(`${index + 1}  `), ruleText(rule), dim(`  ${placeText(rule.origin)}, ${matchWords[match]}`));
  if (judged.matching.length === 0) terminal.print(dim('  no rule fits it'));
}

function document({ config, policy, rules, agent }: Order, judged: Judged | undefined): object {
  return {
    ok: true, configuredMode: config.permissions.mode, mode: policy.mode, agent: agent ?? null, rules, allowAllStillEnforces: STILL_ENFORCED, lock: config.lock,
    ...(judged === undefined ? {} : { tool: { ...judged, server: judged.server ?? null, barred: judged.barred ?? null } }),
  };
}

async function run(context: Context): Promise<number> {
  const { terminal, json, parsed, signal } = context;
  const config = await openConfig(context), order = orderOf(context, config), words = parsed.operands[0];
  const tell = (judged?: Judged): number => {
    if (json) terminal.document(document(order, judged)); else show(context, order, judged);
    return EXIT_OK;
  };
  return words === undefined ? tell() : withHost(context, { config, ...onlooker(context) }, async (host) => tell(await judge(order, host, words, signal)));
}

export const command: Command = {
  usage: ['debug permissions [TOOL] [--agent NAME]'],
  operands: ['[TOOL]'],
  options: [{ name: 'agent', value: 'NAME', summary: 'with the rules and the mode of this agent' }],
  examples: [
    { line: 'debug permissions', about: 'the mode and all rules in their order, each with its file and line:' },
    { line: 'debug permissions docs_search', about: 'what is decided of one tool, and every rule that fits it:' },
    { line: 'debug permissions docs_search --agent plan --json', about: 'for an agent, as a document:' },
  ],
  notes: ['Without TOOL nothing is started. With it the one server that can have the tool is asked for its list.'],
  run,
};
