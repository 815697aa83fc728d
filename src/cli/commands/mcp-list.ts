import type { AnyFailure, Origin } from '../../base/failure.ts';
import type { Config, Timeouts } from '../../config/types.ts';
import { count } from '../../base/text.ts';
import type { Host, ServerRetry, ServerStatus } from '../../host/types.ts';
import type { Command, Context } from '../command.ts';
import { targetOf, transportOf } from '../entry-view.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { failureDocument, placeText } from '../explain.ts';
import { openConfig, tellFailures, settledFailures, troubleText, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { showWaiting } from '../progress.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import type { Span } from '../span.ts';

/** One server of the table, probed or not. */
interface Row {
  readonly name: string;
  readonly status: ServerStatus['state'] | 'not probed';
  readonly transport: ServerStatus['transport'];
  readonly target: string;
  readonly origin: Origin | undefined;
  readonly timeouts: Timeouts | undefined;
  readonly probed: ServerStatus | undefined;
  readonly failure: AnyFailure | undefined;
  readonly problem: string | undefined;
  /** Where somebody can sign in at this moment. */
  readonly signInUrl?: string | undefined;
}

/** Entries as configured, and after them those that the configuration lost to a mistake. */
function rowsOf(config: Config, statuses: readonly ServerStatus[] | undefined): Row[] {
  const rows = [...config.servers.values()].map((entry): Row => {
    const probed = statuses?.find((status) => status.name === entry.name);
    const enabled = entry.enabled && config.mcpEnabled;
    return { name: entry.name, status: !enabled ? 'disabled' : probed?.state ?? 'not probed', transport: probed?.transport ?? transportOf(entry), target: targetOf(entry), origin: entry.origin, timeouts: entry.timeouts, probed, failure: probed?.failure, problem: undefined };
  });
  const lost = config.diagnostics.filter((one) => one.server !== undefined && one.severity === 'error' && !config.servers.has(one.server));
  for (const one of lost) {
    if (rows.some((row) => row.name === one.server)) continue;
    rows.push({ name: one.server!, status: 'invalid', transport: 'unknown', target: '', origin: one.origin, timeouts: undefined, probed: undefined, failure: undefined, problem: one.message });
  }
  return rows;
}

function document(row: Row): object {
  return {
    name: row.name,
    status: row.status,
    transport: row.transport,
    target: row.target,
    layer: row.origin?.layer ?? null,
    file: row.origin?.file ?? null,
    line: row.origin?.line ?? null,
    timeouts: row.timeouts ?? null,
    toolCount: row.probed?.toolCount ?? null,
    era: row.probed?.era ?? null,
    protocolVersion: row.probed?.revision ?? null,
    signInUrl: row.signInUrl ?? null,
    failureKind: row.probed?.failureKind ?? (row.status === 'invalid' ? 'config_invalid' : null),
    error: row.failure !== undefined ? failureDocument(row.failure) : row.problem !== undefined ? { code: 'CONFIG_INVALID', message: row.problem, origin: row.origin } : null,
  };
}

function statusCell(row: Row): Span {
  if (row.failure?.code === 'LOGIN_REQUIRED') return yellow(row.signInUrl === undefined ? 'needs login' : 'signing in');
  switch (row.status) {
    case 'connected': return green('connected');
    case 'failed': case 'invalid': return red(row.probed?.failureKind ?? row.status);
    case 'connecting': return yellow('not ready in time');
    case 'disconnected': return yellow('disconnected');
    default: return dim(row.status);
  }
}

function show({ terminal }: Context, rows: readonly Row[]): void {
  terminal.table(
    [{ title: 'NAME' }, { title: 'STATUS', shrink: 1, least: 20 }, { title: 'TRANSPORT' }, { title: 'TOOLS', align: 'right' }, { title: 'ERA' }, { title: 'RUNS / REACHES', shrink: 2, least: 24 }, { title: 'ORIGIN', shrink: 3, least: 24, cut: 'start', spare: true }],
    rows.map((row) => [bold(row.name), statusCell(row), row.transport, row.probed?.toolCount === undefined ? '' : String(row.probed.toolCount), row.probed?.era ?? '', row.target, row.origin === undefined ? '' : placeText(row.origin)]),
  );
}

/** A sign-in that waits, in this process or another, is told with its address. */
async function withSignIns(context: Context, config: Config, rows: readonly Row[]): Promise<readonly Row[]> {
  const remote = [...config.servers.values()].filter((entry) => entry.kind === 'remote');
  if (remote.length === 0) return rows;
  const { standingOf } = await import('../credentials.ts');
  const urls = new Map<string, string | undefined>();
  for (const entry of remote) urls.set(entry.name, (await standingOf(context, entry)).status?.signInUrl);
  return rows.map((row) => ({ ...row, signInUrl: urls.get(row.name) }));
}

async function present(context: Context, config: Config, found: readonly Row[]): Promise<number> {
  const rows = await withSignIns(context, config, found);
  const failures = rows.flatMap((row) => (row.failure === undefined ? [] : [{ server: row.name, failure: row.failure }]));
  if (context.json) context.terminal.document({ ok: true, servers: rows.map(document) });
  else {
    show(context, rows);
    tellFailures(context, failures);
    await tellSignIns(context, rows);
  }
  const first = failures[0]?.failure;
  if (!context.parsed.has('check')) return EXIT_OK;
  return first !== undefined ? exitStatus[first.code] : rows.some((row) => row.status === 'invalid') ? exitStatus.CONFIG_INVALID : EXIT_OK;
}

async function tellSignIns({ terminal }: Context, rows: readonly Row[]): Promise<void> {
  const waiting = rows.filter(({ signInUrl }) => signInUrl !== undefined);
  if (waiting.length === 0) return;
  const { waitingLines } = await import('../standing-view.ts');
  for (const { name, signInUrl } of waiting) for (const line of waitingLines(name, signInUrl!)) terminal.alert(...line);
}

/** `3 of 12 servers checked · waiting for docs, wiki (answers 503, try 2 of 3)`: whoever is asked, told by name. */
export function waitingText(statuses: readonly ServerStatus[], retries: ReadonlyMap<string, ServerRetry>): string {
  const asked = statuses.filter(({ state }) => state !== 'disabled');
  const waiting = asked.filter(({ name, state, toolCount, failure }) => state === 'idle' || state === 'connecting' || (state === 'connected' && toolCount === undefined && failure === undefined) || (state === 'failed' && retries.get(name)?.failure === failure));
  const names = waiting.slice(0, 5).map(({ name }) => { const retry = retries.get(name); return retry === undefined ? name : `${name} (${troubleText(retry)}, try ${retry.attempt + 1} of ${retry.tries})`; });
  return `${asked.length - waiting.length} of ${count(asked.length, 'server')} checked${names.length === 0 ? '' : ` · waiting for ${names.join(', ')}${waiting.length > names.length ? ` and ${waiting.length - names.length} more` : ''}`}`;
}

async function probe(context: Context, config: Config, host: Host, retries: ReadonlyMap<string, ServerRetry>): Promise<number> {
  const checked = showWaiting(context.terminal, () => waitingText(host.status(), retries));
  const listing = await host.listTools(undefined, context.signal).finally(checked);
  const failures = settledFailures(context, listing.failures);
  const rows = rowsOf(config, host.status());
  return present(context, config, rows.map((row) => ({ ...row, failure: failures.find((one) => one.server === row.name)?.failure ?? row.failure })));
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  if (rowsOf(config, undefined).length === 0) {
    if (context.json) context.terminal.document({ ok: true, servers: [] });
    else {
      context.terminal.print('No MCP servers are configured.');
      context.terminal.note(dim('Add one with: zuno-lite mcp add NAME -- COMMAND ARGS...  or try: zuno-lite demo'));
    }
    return EXIT_OK;
  }
  if (context.parsed.has('no-probe')) return present(context, config, rowsOf(config, undefined));
  const retries = new Map<string, ServerRetry>();
  return withHost(context, { config, ...onlooker(context), onRetry: (retry) => retries.set(retry.server, retry) }, (host) => probe(context, config, host, retries));
}

export const command: Command = {
  usage: ['mcp list [--no-probe] [--check]'],
  operands: [],
  options: [
    { name: 'no-probe', summary: 'start and reach nothing: only what is configured' },
    { name: 'check', summary: 'exit with the status of the first server that failed (default: 0)' },
  ],
  examples: [
    { line: 'mcp list', about: 'connects to all enabled servers at once and shows how they are:' },
    { line: 'mcp list --no-probe', about: 'only reads the configuration:' },
    { line: 'mcp list --check --json', about: 'a health check for scripts:' },
  ],
  run,
};
