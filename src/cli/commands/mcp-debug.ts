import { now } from '../../base/deadline.ts';
import { Failure, toFailure } from '../../base/failure.ts';
import type { ServerEntry } from '../../config/types.ts';
import type { Host, OpenServer } from '../../host/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { findingsDocument, liveFindings, nextStep, processOf, showFindings, unfinishedText } from '../findings.ts';
import type { Counted, Findings, Unfinished } from '../findings.ts';
import { inLightOf } from '../interrupt.ts';
import { alone, entryOf, openConfig, pathsOf, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { showWaiting } from '../progress.ts';

/** What the probe is at, apart from connecting, which tells by itself. */
interface Watch { list?: { readonly stage: string; readonly since: number } | undefined; opened?: OpenServer }

/** Asks every list the server declares, each on its own: one that fails says nothing of the others. */
async function countLists({ client }: OpenServer, watch: Watch, signal: AbortSignal): Promise<Counted[]> {
  const { tools, resources, prompts } = client.capabilities;
  const asks: { readonly list: string; readonly ask: () => Promise<{ readonly items: readonly unknown[]; readonly dropped: readonly unknown[] }> }[] = [
    ...(tools === undefined ? [] : [{ list: 'tools', ask: () => client.listTools({ signal }) }]),
    ...(resources === undefined ? [] : [{ list: 'resources', ask: () => client.listResources({ signal }) }, { list: 'templates', ask: () => client.listResourceTemplates({ signal }) }]),
    ...(prompts === undefined ? [] : [{ list: 'prompts', ask: () => client.listPrompts({ signal }) }]),
  ];
  const counted: Counted[] = [];
  for (const { list, ask } of asks) {
    const startedAt = now();
    watch.list = { stage: `list of ${list}`, since: startedAt };
    try {
      const { items, dropped } = await ask();
      counted.push({ list, count: items.length, dropped: dropped.length, ms: now() - startedAt });
    } catch (thrown) {
      counted.push({ list, ms: now() - startedAt, failure: toFailure(thrown, 'list') });
      // Nobody waits any more: what it was at stays to be told.
      if (signal.aborted) return counted;
    }
    watch.list = undefined;
  }
  return counted;
}

function statusOf(host: Host, { name }: ServerEntry) {
  return host.status().find((one) => one.name === name);
}

function unfinishedOf(host: Host, entry: ServerEntry, watch: Watch): Unfinished | undefined {
  const at = watch.list ?? statusOf(host, entry)?.attempts.at(-1)?.running;
  return at === undefined ? undefined : { stage: at.stage, ms: now() - at.since };
}

async function probe({ signal }: Context, host: Host, entry: ServerEntry, watch: Watch): Promise<Findings> {
  const startedAt = now();
  try {
    const opened = await host.open(entry.name, signal);
    watch.opened = opened;
    const lists = await countLists(opened, watch, signal);
    return { entry, opened, failure: lists.find((one) => one.failure !== undefined)?.failure, failureKind: undefined, timings: opened.timings, attempts: opened.attempts, lists, unfinished: unfinishedOf(host, entry, watch) };
  } catch (thrown) {
    const failure = toFailure(thrown, 'connect');
    const status = statusOf(host, entry), timings = status?.timings ?? [];
    return { entry, opened: undefined, failure, failureKind: status?.failureKind, timings: timings.length > 0 ? timings : [{ stage: failure.stage, ms: now() - startedAt }], attempts: status?.attempts ?? [], lists: [], unfinished: unfinishedOf(host, entry, watch) };
  }
}

async function run(context: Context): Promise<number> {
  const { terminal, json, interrupt, signal } = context;
  const config = await openConfig(context), { home } = pathsOf(context);
  const entry = entryOf(config, context.parsed.operands[0]!);
  return withHost(context, { config: alone(config, entry), ...onlooker(context) }, async (host) => {
    const watch: Watch = {};
    const doing = (): string => { const at = unfinishedOf(host, entry, watch); return at === undefined ? 'probing' : unfinishedText(at); };
    const done = showWaiting(terminal, () => `${entry.name}: ${doing()}`, (_line, _width) => liveFindings(entry, processOf(watch.opened, statusOf(host, entry)?.attempts ?? []), doing(), home));
    const found = await probe(context, host, entry, watch).finally(done);
    const failure = found.failure === undefined ? undefined : inLightOf(found.failure, interrupt);
    // The command as a whole was ended, whatever had failed by then.
    const told = failure?.code === 'CANCELED' ? new Failure('CANCELED', `Cannot finish probing "${entry.name}": it was canceled`, { stage: failure.stage, details: {}, recovery: 'retryable', origin: entry.origin, hint: `zuno-lite mcp debug ${entry.name}` }) as typeof failure : failure;
    const signIn = entry.kind === 'remote' && !signal.aborted ? await (await import('../standing-view.ts')).signInFacts(context, entry, found.opened !== undefined) : undefined;
    const findings = { ...found, failure: told, signIn };
    if (!json) showFindings(context, findings, home);
    else terminal.document(told === undefined ? { ok: true, ...findingsDocument(findings) } : { ok: false, error: failureDocument(told, nextStep(entry, told)), ...findingsDocument(findings) });
    return told === undefined ? EXIT_OK : exitStatus[told.code];
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
  notes: ['A disabled server is probed too. Values of variables and headers are never shown. With --timeout or Ctrl-C what is known by then is shown: process, stderr, and the stage that is not done.'],
  run,
};
