/** The configured servers as rows: as they stand in the files, and as far as they were probed. */
import type { AnyFailure, Origin } from '../base/failure.ts';
import { Failure } from '../base/failure.ts';
import { oneLine } from '../base/text.ts';
import type { Config, Timeouts } from '../config/types.ts';
import { failureKind } from '../host/failure-kinds.ts';
import type { ServerRetry, ServerStatus, ToolListing } from '../host/types.ts';
import { targetOf, transportOf } from './entry-view.ts';
import { failureDocument, placeText } from './explain.ts';
import { abridged } from './home.ts';
import { bold, dim, green, red, yellow } from './span.ts';
import type { Line, Span } from './span.ts';
import { layOut } from './table.ts';
import type { Column } from './table.ts';

/** One server of the table, probed or not. */
export interface Row {
  readonly name: string;
  readonly status: ServerStatus['state'] | 'not probed';
  readonly transport: ServerStatus['transport'];
  readonly target: string;
  readonly origin: Origin | undefined;
  readonly timeouts: Timeouts | undefined;
  readonly probed: ServerStatus | undefined;
  readonly failure: AnyFailure | undefined;
  /** Why the configuration lost it. */
  readonly problem: { readonly pointer: string; readonly message: string } | undefined;
  /** Where somebody can sign in at this moment. */
  readonly signInUrl?: string | undefined;
}

/** Entries as configured, and those that the configuration lost to a mistake, by name. */
export function rowsOf(config: Config, statuses: readonly ServerStatus[] | undefined): Row[] {
  const rows = [...config.servers.values()].map((entry): Row => {
    const probed = statuses?.find((status) => status.name === entry.name);
    const enabled = entry.enabled && config.mcpEnabled;
    return { name: entry.name, status: !enabled ? 'disabled' : probed?.state ?? 'not probed', transport: probed?.transport ?? transportOf(entry), target: targetOf(entry), origin: entry.origin, timeouts: entry.timeouts, probed, failure: probed?.failure, problem: undefined };
  });
  const lost = config.diagnostics.filter((one) => one.server !== undefined && one.severity === 'error' && !config.servers.has(one.server));
  for (const { server, origin, pointer, message } of lost) {
    if (!rows.some((row) => row.name === server)) rows.push({ name: server!, status: 'invalid', transport: 'unknown', target: '', origin, timeouts: undefined, probed: undefined, failure: undefined, problem: { pointer, message } });
  }
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether something of it is still waited for: a connection, its tools, or the next try. */
export function isPending({ name, state, toolCount, failure }: ServerStatus, retries: ReadonlyMap<string, ServerRetry>): boolean {
  return state === 'idle' || state === 'connecting' || (state === 'connected' && toolCount === undefined && (failure === undefined || failure.code === 'CANCELED')) || (state === 'failed' && retries.get(name)?.failure === failure);
}

/** Rows once nobody waits any more: what was not ready has a failure that says so. */
export function unfinished(rows: readonly Row[], pending: ReadonlySet<string>, ended: 'late' | 'canceled', waitedMs: number): Row[] {
  return rows.map((row) => {
    if (!pending.has(row.name)) return row;
    const stage = row.status === 'connected' ? 'list' : 'connect', { origin } = row;
    if (ended === 'canceled') return { ...row, status: row.status === 'connected' ? 'connected' : 'not probed', failure: new Failure('CANCELED', `Cannot tell how the server "${row.name}" is: the list was canceled`, { stage, details: {}, recovery: 'retryable', origin }) as AnyFailure };
    const message = `Cannot tell how the server "${row.name}" is: ${stage === 'list' ? 'its tools were not listed' : 'it was still connecting'} after ${waitedMs} ms`;
    return { ...row, failure: new Failure('TIMEOUT', message, { stage, details: { afterMs: waitedMs }, recovery: 'retryable', origin, hint: `zuno-lite mcp debug ${row.name}, or wait longer with --timeout MS` }) as AnyFailure };
  });
}

/** The status knows it, unless the failure is that of a wait which was given up. */
function kindOf({ failure, probed, status }: Row): string | null {
  if (failure === undefined || failure === probed?.failure) return probed?.failureKind ?? (status === 'invalid' ? 'config_invalid' : null);
  return failure.code === 'CANCELED' ? null : failureKind(failure, false);
}

export function rowDocument(row: Row, { renamed, dropped }: Pick<ToolListing, 'renamed' | 'dropped'>): object {
  return {
    name: row.name, status: row.status, transport: row.transport, target: row.target,
    layer: row.origin?.layer ?? null, file: row.origin?.file ?? null, line: row.origin?.line ?? null,
    timeouts: row.timeouts ?? null, toolCount: row.probed?.toolCount ?? null, era: row.probed?.era ?? null, protocolVersion: row.probed?.revision ?? null,
    signInUrl: row.signInUrl ?? null,
    renamed: renamed.filter(({ server }) => server === row.name).map(({ tool, id, reason }) => ({ tool, id, reason })),
    dropped: dropped.filter(({ server }) => server === row.name).map(({ name, reason }) => ({ name, reason })),
    failureKind: kindOf(row),
    error: row.failure !== undefined ? failureDocument(row.failure) : row.problem !== undefined ? { code: 'CONFIG_INVALID', pointer: row.problem.pointer, message: row.problem.message, origin: row.origin } : null,
  };
}

function statusCell({ status, failure, probed, signInUrl }: Row): Span {
  if (failure?.code === 'LOGIN_REQUIRED') return yellow(signInUrl === undefined ? 'needs login' : 'signing in');
  if (failure?.code === 'CANCELED') return yellow(status === 'connected' ? 'connected, not listed (canceled)' : 'not probed (canceled)');
  switch (status) {
    case 'connected': return failure === undefined ? green('connected') : yellow(failure.code === 'TIMEOUT' ? 'connected, still listing' : 'connected, with faults');
    case 'failed': case 'invalid': return red(probed?.failureKind ?? status);
    case 'connecting': case 'idle': return yellow(failure === undefined ? 'connecting' : 'still connecting');
    case 'disconnected': return yellow('disconnected');
    default: return dim(status);
  }
}

export const serverColumns: readonly Column[] = [
  { title: 'NAME' }, { title: 'STATUS', shrink: 1, least: 20 }, { title: 'TRANSPORT' }, { title: 'TOOLS', align: 'right' }, { title: 'ERA' },
  { title: 'RUNS / REACHES', shrink: 2, least: 24 }, { title: 'ORIGIN', shrink: 3, least: 24, cut: 'start', spare: true },
];

export function rowCells(row: Row, home: string): Span[] {
  const { probed, origin } = row;
  return [bold(row.name), statusCell(row), row.transport, probed?.toolCount === undefined ? '' : String(probed.toolCount), probed?.era ?? '', abridged(row.target, home), origin === undefined ? '' : abridged(placeText(origin), home)];
}

/** The table while it fills, with what is waited for below it. */
export function liveTable(rows: readonly Row[], waiting: string, home: string, width: number): Line[] {
  return [...layOut(serverColumns, rows.map((row) => rowCells(row, home)), width), [dim(oneLine(waiting))]];
}
