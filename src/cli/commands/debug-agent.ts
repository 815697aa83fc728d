import { Failure } from '../../base/failure.ts';
import { byteSize, count } from '../../base/text.ts';
import type { AgentDefinition, Config } from '../../config/types.ts';
import { knownAgents } from '../../host/agents.ts';
import type { Host, SchemaExposure, ServerStatus, Session } from '../../host/types.ts';
import { ruleText } from '../../registry/permission.ts';
import type { Standing } from '../../registry/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument, placeText } from '../explain.ts';
import { openConfig, tellFailures, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { showWaiting } from '../progress.ts';
import { bold, dim, green, yellow } from '../span.ts';

interface Seen { readonly agent: AgentDefinition; readonly exposure: SchemaExposure; readonly standings: readonly Standing[]; readonly status: readonly ServerStatus[] }

/** A session waits for its servers by itself; whoever ends the command does not. */
function orCanceled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Failure('CANCELED', 'Cannot look at the agent: it was canceled while servers were waited for', { stage: 'list', details: {}, recovery: 'retryable' }));
    if (signal.aborted) onAbort(); else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function look(session: Session, signal: AbortSignal): Promise<Seen> {
  const exposure = await orCanceled(session.schemaExposure(), signal);
  return { agent: session.agent, exposure, standings: await orCanceled(session.standings(), signal), status: session.status() };
}

const absentOf = ({ standings }: Seen): Standing[] => standings.filter(({ offered }) => !offered);
const failuresOf = ({ status }: Seen) => status.flatMap(({ name, failure }) => (failure === undefined ? [] : [{ server: name, failure }]));

function document(seen: Seen): object {
  const { agent: { name, description, mode, readOnly, tools, permissionMode, rules, requires, disabled, origin }, exposure, standings } = seen;
  return {
    ok: true, agent: { name, description: description ?? null, mode, readOnly, tools: tools ?? null, permissionMode: permissionMode ?? null, rules, requires, disabled, origin },
    schemaExposure: exposure,
    offered: standings.filter(({ offered }) => offered).map(({ id, server, tool, exposure: how, why, decision }) => ({ id, server, tool, exposure: how ?? null, why, effect: decision.effect })),
    absent: absentOf(seen).map(({ id, server, tool, gate, why, decision }) => ({ id, server, tool, gate: gate ?? null, why, rule: decision.rule ?? null })),
    failures: failuresOf(seen).map(({ server, failure }) => ({ server, error: failureDocument(failure) })),
  };
}

function show(context: Context, seen: Seen): void {
  const { terminal } = context, { agent, exposure, standings } = seen;
  const row = (name: string, text: string): void => terminal.print(dim(`  ${name.padEnd(10)} `), text);
  terminal.print(bold(agent.name), '  ', agent.disabled ? yellow('disabled') : green(agent.mode), agent.description === undefined ? '' : dim(`  ${agent.description}`));
  row('from', placeText(agent.origin));
  row('tools', agent.tools !== undefined ? `an exact list: ${agent.tools.join(', ') || '(empty)'}` : agent.readOnly ? 'read-only: those that a rule of its own names' : 'whatever the servers offer');
  if (agent.permissionMode !== undefined) row('mode', agent.permissionMode);
  agent.rules.forEach((rule, index) => row(index === 0 ? 'rules' : '', `${ruleText(rule)}  ${placeText(rule.origin)}`));
  if (agent.requires.length > 0) row('requires', agent.requires.join(', '));
  const { policy, discovery } = exposure;
  row('exposure', `${policy.mode}: at most ${count(policy.autoToolLimit, 'tool')} and ${byteSize(policy.autoSchemaBytes)} of schemas, ${policy.smallServerToolLimit} a server`);
  row('search', `${discovery.available ? 'offered' : 'not offered'}: ${discovery.why}`);
  row('sources', exposure.sources.map(({ server, tools, from }) => `${server} (${count(tools, 'tool')}${from === 'cache' ? ', from the cache' : ''})`).join(', ') || 'none');
  terminal.print('');
  terminal.print(bold('Shown at once'), dim(`  ${exposure.eager.length}`));
  for (const id of exposure.eager) terminal.print('  ', id);
  if (exposure.deferred.length > 0) {
    terminal.print(bold('Found by a search only'), dim(`  ${exposure.deferred.length}`));
    for (const id of exposure.deferred) terminal.print('  ', id);
  }
  const absent = absentOf(seen);
  if (absent.length > 0) {
    terminal.print(bold('Absent'), dim(`  ${absent.length} of ${standings.length}`));
    terminal.table([{ title: 'TOOL' }, { title: 'GATE' }, { title: 'WHY', shrink: 1 }], absent.map(({ id, gate, why }) => [id, gate ?? '', dim(why)]), { indent: 2 });
  }
  tellFailures(context, failuresOf(seen));
}

async function inspect(context: Context, host: Host): Promise<number> {
  const { terminal, json, signal, parsed } = context;
  const session = await host.session({ agent: parsed.operands[0], inspect: true, signal });
  const done = showWaiting(terminal, () => 'asking the servers what they offer');
  try {
    const seen = await look(session, signal);
    done();
    if (json) terminal.document(document(seen)); else show(context, seen);
    return EXIT_OK;
  } finally {
    done();
    await session.close();
  }
}

function list({ terminal, json }: Context, config: Config): number {
  const agents = [...knownAgents(config).values()];
  if (json) terminal.document({ ok: true, agents: agents.map(({ name, description, mode, readOnly, disabled, origin }) => ({ name, description: description ?? null, mode, readOnly, disabled, origin })) });
  else terminal.table([{ title: 'AGENT' }, { title: 'MODE' }, { title: 'WHAT', shrink: 1, least: 30 }, { title: 'FROM', shrink: 2, cut: 'start' }], agents.map(({ name, mode, readOnly, disabled, description, origin }) => [bold(name), `${mode}${readOnly ? ', read-only' : ''}${disabled ? ', disabled' : ''}`, description ?? '', dim(placeText(origin))]));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  if (context.parsed.operands.length === 0) return list(context, config);
  return withHost(context, { config, ...onlooker(context), ...(context.parsed.has('locked') ? { locked: true } : {}) }, (host) => inspect(context, host));
}

export const command: Command = {
  usage: ['debug agent [NAME] [--locked]'],
  operands: ['[NAME]'],
  options: [{ name: 'locked', summary: 'as if only locked tools were offered' }],
  examples: [
    { line: 'debug agent build', about: 'which tools a model is shown at once, which a search finds, and why the rest is absent:' },
    { line: 'debug agent plan --json', about: 'as a document with "schemaExposure" and, for every absent tool, its gate and rule:' },
  ],
  notes: ['Without a name: the agents there are, built in and of the configuration. Nothing is called.'],
  run,
};
