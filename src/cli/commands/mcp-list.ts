import { startDeadline } from '../../base/deadline.ts';
import { Failure } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import { limits } from '../../base/limits.ts';
import { count } from '../../base/text.ts';
import type { Config } from '../../config/types.ts';
import type { Host, ServerRetry, ServerStatus, ToolListing } from '../../host/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { openConfig, pathsOf, tellFailures, troubleText, withHost } from '../open.ts';
import { millisecondsOf } from '../parse.ts';
import { onlooker } from '../person.ts';
import { showWaiting } from '../progress.ts';
import { isPending, liveTable, rowCells, rowDocument, rowsOf, serverColumns, unfinished } from '../server-table.ts';
import type { Row } from '../server-table.ts';
import { dim, yellow } from '../span.ts';

/** A sign-in that waits, in this process or another, is told with its address. */
async function withSignIns(context: Context, config: Config, rows: readonly Row[]): Promise<readonly Row[]> {
  const remote = [...config.servers.values()].filter((entry) => entry.kind === 'remote');
  if (remote.length === 0) return rows;
  const { standingOf } = await import('../credentials.ts');
  const urls = new Map<string, string | undefined>();
  for (const entry of remote) urls.set(entry.name, (await standingOf(context, entry)).status?.signInUrl);
  return rows.map((row) => ({ ...row, signInUrl: urls.get(row.name) }));
}

interface Found { readonly rows: readonly Row[]; readonly listing: Pick<ToolListing, 'renamed' | 'dropped'>; /** By a signal: the list is what was known by then. */ readonly canceled?: AnyFailure | undefined }

async function present(context: Context, config: Config, { rows: found, listing, canceled }: Found): Promise<number> {
  const { terminal, json, parsed } = context;
  const rows = await withSignIns(context, config, found);
  const failures = rows.flatMap((row) => (row.failure === undefined ? [] : [{ server: row.name, failure: row.failure }]));
  const servers = rows.map((row) => rowDocument(row, listing));
  if (json) terminal.document(canceled === undefined ? { ok: true, servers } : { ok: false, error: failureDocument(canceled), servers });
  else {
    const { home } = pathsOf(context);
    terminal.table(serverColumns, rows.map((row) => rowCells(row, home)));
    for (const { server, tool, id, reason } of listing.renamed) terminal.note(dim(`${server}: tool "${tool}" is called ${id}: ${reason}`));
    for (const { server, name, reason } of listing.dropped) terminal.note(yellow(`${server}: `), `tool "${name}" is left out: ${reason}`);
    tellFailures(context, failures.filter(({ failure }) => failure.code !== 'CANCELED'));
    await tellSignIns(context, rows);
  }
  if (canceled !== undefined) return exitStatus.CANCELED;
  if (!parsed.has('check')) return EXIT_OK;
  return failures[0] !== undefined ? exitStatus[failures[0].failure.code] : rows.some((row) => row.status === 'invalid') ? exitStatus.CONFIG_INVALID : EXIT_OK;
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
  const waiting = asked.filter((status) => isPending(status, retries));
  const names = waiting.slice(0, 5).map(({ name }) => { const retry = retries.get(name); return retry === undefined ? name : `${name} (${troubleText(retry)}, try ${retry.attempt + 1} of ${retry.tries})`; });
  return `${asked.length - waiting.length} of ${count(asked.length, 'server')} checked${names.length === 0 ? '' : ` · waiting for ${names.join(', ')}${waiting.length > names.length ? ` and ${waiting.length - names.length} more` : ''}`}`;
}

async function probe(context: Context, config: Config, host: Host, retries: ReadonlyMap<string, ServerRetry>): Promise<number> {
  const { terminal, signal, interrupt, parsed } = context, { home } = pathsOf(context);
  const deadline = startDeadline(millisecondsOf(parsed.value('timeout'), 'timeout') ?? limits.listPatienceMs, signal);
  const checked = showWaiting(terminal, () => waitingText(host.status(), retries), (waiting, width) => liveTable(rowsOf(config, host.status()), waiting, home, width));
  try {
    const listing = await host.listTools(undefined, deadline.signal).finally(checked);
    const statuses = host.status(), rows = rowsOf(config, statuses);
    const failed = rows.map((row) => ({ ...row, failure: row.failure ?? listing.failures.find(({ server, failure }) => server === row.name && failure.code !== 'CANCELED')?.failure }));
    if (!deadline.signal.aborted) return await present(context, config, { rows: failed, listing });
    const pending = new Set(statuses.filter((status) => status.state !== 'disabled' && isPending(status, retries)).map(({ name }) => name));
    if (deadline.expired) return await present(context, config, { rows: unfinished(failed, pending, 'late', deadline.budgetMs), listing });
    const canceled = new Failure('CANCELED', 'Cannot finish the list: it was canceled', { stage: 'list', details: {}, recovery: 'retryable' }) as AnyFailure;
    if (interrupt.by === 'reader' || interrupt.by === 'write') throw canceled;
    return await present(context, config, { rows: unfinished(failed, pending, 'canceled', 0), listing, canceled });
  } finally {
    deadline.dispose();
  }
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context), rows = rowsOf(config, undefined);
  if (rows.length === 0) {
    if (context.json) context.terminal.document({ ok: true, servers: [] });
    else {
      context.terminal.print('No MCP servers are configured.');
      context.terminal.note(dim('Add one with: zuno-lite mcp add NAME -- COMMAND ARGS...  or try: zuno-lite demo'));
    }
    return EXIT_OK;
  }
  if (context.parsed.has('no-probe')) return present(context, config, { rows, listing: { renamed: [], dropped: [] } });
  const retries = new Map<string, ServerRetry>();
  return withHost(context, { config, ...onlooker(context), onRetry: (retry) => retries.set(retry.server, retry) }, (host) => probe(context, config, host, retries));
}

export const command: Command = {
  usage: ['mcp list [--no-probe] [--check] [--timeout MS]'],
  operands: [],
  options: [
    { name: 'no-probe', summary: 'start and reach nothing: only what is configured' },
    { name: 'check', summary: 'exit with the status of the first server that failed (default: 0)' },
    { name: 'timeout', value: 'MS', summary: `patience with all servers together (default: ${limits.listPatienceMs}); who is late is shown as "still connecting"` },
  ],
  examples: [
    { line: 'mcp list', about: 'connects to all enabled servers at once and shows how they are:' },
    { line: 'mcp list --no-probe', about: 'only reads the configuration:' },
    { line: 'mcp list --check --json', about: 'a health check for scripts:' },
  ],
  notes: ['On a terminal the table fills while servers answer. Ctrl-C shows what is known by then (exit status 130).'],
  run,
};
