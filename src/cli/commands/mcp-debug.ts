import { now } from '../../base/deadline.ts';
import { toFailure } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import { redactPatterns } from '../../base/redact.ts';
import { count } from '../../base/text.ts';
import type { Config, ServerEntry } from '../../config/types.ts';
import type { Attempt, Host, OpenServer, Timing } from '../../host/types.ts';
import { attemptDocument, rounded, showAttempts } from '../attempt-view.ts';
import type { Command, Context } from '../command.ts';
import { certificatesOf, commandLineOf, entryDocument, maskedTemplate, targetOf } from '../entry-view.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { explain, failureDocument, nextText, originText } from '../explain.ts';
import { inLightOf } from '../interrupt.ts';
import { entryOf, openConfig, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import type { SignInFacts } from '../standing-view.ts';

const TAIL_LINES = 10;
const INSTRUCTION_LINES = 8;

interface Counted { readonly list: string; readonly count?: number; readonly dropped?: number; readonly ms: number; readonly failure?: AnyFailure }

/** What probing found out, complete or up to where it failed. */
interface Findings {
  readonly entry: ServerEntry;
  readonly opened: OpenServer | undefined;
  readonly failure: AnyFailure | undefined;
  readonly failureKind: string | undefined;
  readonly timings: readonly Timing[];
  readonly attempts: readonly Attempt[];
  readonly lists: readonly Counted[];
  /** Of a remote server: how its sign-in stands. */
  readonly signIn?: SignInFacts | undefined;
}

/** Asks every list the server declares, each on its own: one that fails says nothing of the others. */
async function countLists({ client }: OpenServer, signal: AbortSignal): Promise<Counted[]> {
  const { tools, resources, prompts } = client.capabilities;
  const asks: { readonly list: string; readonly ask: () => Promise<{ readonly items: readonly unknown[]; readonly dropped: readonly unknown[] }> }[] = [
    ...(tools === undefined ? [] : [{ list: 'tools', ask: () => client.listTools({ signal }) }]),
    ...(resources === undefined ? [] : [{ list: 'resources', ask: () => client.listResources({ signal }) }, { list: 'templates', ask: () => client.listResourceTemplates({ signal }) }]),
    ...(prompts === undefined ? [] : [{ list: 'prompts', ask: () => client.listPrompts({ signal }) }]),
  ];
  const counted: Counted[] = [];
  for (const { list, ask } of asks) {
    const startedAt = now();
    try {
      const { items, dropped } = await ask();
      counted.push({ list, count: items.length, dropped: dropped.length, ms: now() - startedAt });
    } catch (thrown) {
      counted.push({ list, ms: now() - startedAt, failure: toFailure(thrown, 'list') });
    }
  }
  return counted;
}

async function probe(context: Context, host: Host, entry: ServerEntry): Promise<Findings> {
  const startedAt = now();
  try {
    const opened = await host.open(entry.name, context.signal);
    const lists = await countLists(opened, context.signal);
    return { entry, opened, failure: lists.find((one) => one.failure !== undefined)?.failure, failureKind: undefined, timings: opened.timings, attempts: opened.attempts, lists };
  } catch (thrown) {
    const failure = toFailure(thrown, 'connect');
    const status = host.status().find((one) => one.name === entry.name);
    const timings = status?.timings ?? [];
    return { entry, opened: undefined, failure, failureKind: status?.failureKind, timings: timings.length > 0 ? timings : [{ stage: failure.stage, ms: now() - startedAt }], attempts: status?.attempts ?? [], lists: [] };
  }
}

function document({ entry, opened, failureKind, timings, attempts, lists, signIn }: Findings): object {
  const client = opened?.client;
  return {
    server: entryDocument(entry),
    signIn: signIn?.document ?? null,
    process: opened?.process === undefined ? null : { command: commandLineOf([opened.process.command, ...opened.process.args]), cwd: opened.process.cwd, pid: opened.process.pid ?? null, stderrTail: redactPatterns(opened.process.stderrTail()) },
    era: client?.era ?? null, protocolVersion: client?.revision ?? null, serverInfo: client?.serverInfo ?? null, capabilities: client?.capabilities ?? null, instructions: client?.instructions === undefined ? null : (opened?.redact ?? String)(client.instructions),
    lists: lists.map((one) => ({ list: one.list, count: one.count ?? null, dropped: one.dropped ?? 0, ms: rounded(one.ms), error: one.failure === undefined ? null : failureDocument(one.failure) })),
    timings: timings.map(({ stage, ms }) => ({ stage, ms: rounded(ms) })),
    attempts: attempts.map((attempt, index) => attemptDocument(attempt, opened !== undefined && index === attempts.length - 1)),
    failureKind: failureKind ?? null,
  };
}

function showEntry(context: Context, entry: ServerEntry, row: (name: string, ...text: Parameters<typeof context.terminal.print>) => void): void {
  row(entry.kind === 'local' ? 'command' : 'url', targetOf(entry));
  if (entry.kind === 'local') row('cwd', entry.cwd);
  // Presence only: whether a credential is there, never what it is.
  for (const [key, template] of Object.entries(entry.kind === 'remote' ? entry.headers : {})) row('header', `${key}: ${maskedTemplate(template)}`);
  for (const [key, file] of Object.entries(entry.kind === 'remote' ? certificatesOf(entry) : {})) row(key, file);
  row('origin', originText(entry.origin));
  row('timeouts', `${entry.timeouts.requestMs} ms a request, ${entry.timeouts.connectMs} ms to connect`);
  if (!entry.enabled) row('note', yellow('it is disabled; this probe starts it all the same'));
}

function show(context: Context, findings: Findings): void {
  const { terminal } = context;
  const { entry, opened, failure, failureKind, timings, attempts, lists, signIn } = findings;
  const row = (name: string, ...text: Parameters<typeof terminal.print>): void => terminal.print(dim(`  ${name.padEnd(12)} `), ...text);
  const verdict = opened === undefined ? red('not connected') : failure === undefined ? green('connected') : yellow('connected, with faults');
  terminal.print(bold(entry.name), '  ', verdict, failureKind === undefined ? '' : dim(`  ${failureKind}`));
  showEntry(context, entry, row);
  for (const [name, ...text] of signIn?.lines ?? []) row(name, ...text);
  if (opened !== undefined) {
    const { client, process: child } = opened;
    if (child !== undefined) row('pid', child.pid === undefined ? 'none' : String(child.pid));
    row('protocol', `${client.revision} (${client.era})`);
    if (client.serverInfo !== undefined) row('server', (opened?.redact ?? String)(`${client.serverInfo.name} ${client.serverInfo.version}`));
    row('capabilities', Object.keys(client.capabilities).join(', ') || 'none');
  }
  // Of a program there is one try, and its stages are told below.
  if (entry.kind === 'remote') showAttempts(attempts, row, opened !== undefined);
  for (const one of lists) row(one.list, one.failure === undefined ? String(one.count) : red(one.failure.message), dim(`  ${rounded(one.ms)} ms${one.dropped ? `, ${count(one.dropped, 'one', 'ones')} left out` : ''}`));
  // Each try told its own; what is left to tell is the whole.
  const told = entry.kind === 'local' || attempts.length === 0 ? timings : timings.filter(({ stage }, index) => opened !== undefined && stage === 'connect' && index === timings.length - 1);
  if (told.length > 0 || attempts.length === 0) row('timings', told.map(({ stage, ms }) => `${stage} ${rounded(ms)} ms`).join(', ') || 'none');
  if (opened?.client.instructions !== undefined) showInstructions(opened.redact(opened.client.instructions), row);
  const stderr = opened?.process?.stderrTail().split('\n').filter((line) => line.trim() !== '') ?? [];
  stderr.slice(-TAIL_LINES).forEach((line, index) => row(index === 0 ? 'stderr' : '', redactPatterns(line)));
  if (opened?.process !== undefined && stderr.length === 0) row('stderr', dim('nothing'));
  if (failure !== undefined) for (const line of explain(failure, nextStep(entry, failure))) terminal.alert(...line);
  for (const line of signIn?.waiting ?? []) terminal.alert(...line);
}

/** They are written for a model and often long: enough to know them by. */
function showInstructions(instructions: string, row: (name: string, text: string) => void): void {
  const lines = instructions.trimEnd().split('\n').map((line) => line.trimEnd());
  const shown = lines.length > INSTRUCTION_LINES + 1 ? [...lines.slice(0, INSTRUCTION_LINES), `(${lines.length - INSTRUCTION_LINES} more lines: --json shows all)`] : lines;
  shown.forEach((line, index) => row(index === 0 ? 'instructions' : '', line));
}

/** Whoever sees this has run `mcp debug` already; and a transport that is pinned may be the wrong one. */
function nextStep(entry: ServerEntry, failure: AnyFailure): string {
  const next = nextText(failure), own = `zuno-lite mcp debug ${entry.name}`;
  if (entry.kind === 'remote' && entry.transport !== 'auto' && failure.code === 'HTTP_STATUS' && [400, 404, 405].includes(failure.details.status)) {
    return `${next === own ? 'Check the path of the url' : next}; or let both HTTP transports be tried: zuno-lite mcp set ${entry.name} --unset transport`;
  }
  return next === own ? `${own} --log-level debug` : next;
}

/** Only this server, and switched on: probing is what was asked for. */
function alone(config: Config, entry: ServerEntry): Config {
  return { ...config, mcpEnabled: true, servers: new Map([[entry.name, { ...entry, enabled: true }]]) };
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const entry = entryOf(config, context.parsed.operands[0]!);
  return withHost(context, { config: alone(config, entry), ...onlooker(context) }, async (host) => {
    const found = await probe(context, host, entry);
    const failure = found.failure === undefined ? undefined : inLightOf(found.failure, context.interrupt);
    if (failure !== undefined && context.signal.aborted && context.interrupt.by !== 'timeout') throw failure;
    const signIn = entry.kind === 'remote' ? await (await import('../standing-view.ts')).signInFacts(context, entry, found.opened !== undefined) : undefined;
    const findings = { ...found, failure, signIn };
    if (!context.json) show(context, findings);
    else context.terminal.document(failure === undefined ? { ok: true, ...document(findings) } : { ok: false, error: failureDocument(failure, nextStep(entry, failure)), ...document(findings) });
    return failure === undefined ? EXIT_OK : exitStatus[failure.code];
  });
}

export const command: Command = {
  usage: ['mcp debug NAME'],
  operands: ['NAME'],
  options: [],
  examples: [
    { line: 'mcp debug docs', about: 'starts the server, asks for everything it offers and shows what each stage took:' },
    { line: 'mcp debug wiki', about: 'of a server on the network also every try, the address, TLS, a proxy and what HTTP answered:' },
    { line: 'mcp debug docs --log-level debug', about: 'with the stderr of the server and all that is noticed, as it happens:' },
  ],
  notes: ['A disabled server is probed too. Values of variables and headers are never shown.'],
  run,
};
