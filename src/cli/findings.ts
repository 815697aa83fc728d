/** What `mcp debug` found out about one server, for people and as JSON: complete, or up to where it failed or was given up. */
import type { AnyFailure } from '../base/failure.ts';
import { redactPatterns } from '../base/redact.ts';
import { count } from '../base/text.ts';
import type { ServerEntry } from '../config/types.ts';
import type { Attempt, OpenServer, Timing } from '../host/types.ts';
import { attemptDocument, rounded, showAttempts } from './attempt-view.ts';
import type { Context } from './command.ts';
import { certificatesOf, commandLineOf, entryDocument, maskedTemplate, targetOf } from './entry-view.ts';
import { explain, failureDocument, nextText, originText } from './explain.ts';
import { abridged } from './home.ts';
import { seconds } from './progress.ts';
import { bold, dim, green, red, yellow } from './span.ts';
import type { Line, Span } from './span.ts';
import type { SignInFacts } from './standing-view.ts';

const TAIL_LINES = 10;
const LIVE_TAIL_LINES = 5;
const INSTRUCTION_LINES = 8;

export interface Unfinished { readonly stage: string; readonly ms: number }
export interface Counted { readonly list: string; readonly count?: number; readonly dropped?: number; readonly ms: number; readonly failure?: AnyFailure }

/** What probing found out, complete or up to where it failed. */
export interface Findings {
  readonly entry: ServerEntry;
  readonly opened: OpenServer | undefined;
  readonly failure: AnyFailure | undefined;
  readonly failureKind: string | undefined;
  readonly timings: readonly Timing[];
  readonly attempts: readonly Attempt[];
  readonly lists: readonly Counted[];
  /** What it was at when nobody waited any longer. */
  readonly unfinished?: Unfinished | undefined;
  /** Of a remote server: how its sign-in stands. */
  readonly signIn?: SignInFacts | undefined;
}

/** The program, also of an attempt that is not over or came to nothing. */
export function processOf(opened: OpenServer | undefined, attempts: readonly Attempt[]): OpenServer['process'] {
  return opened?.process ?? attempts.at(-1)?.process?.();
}

/** `handshake, for 3.2 s` */
export function unfinishedText({ stage, ms }: Unfinished): string {
  return `${stage}, for ${seconds(ms)}`;
}

function stderrLines(child: OpenServer['process']): string[] {
  return child?.stderrTail().split('\n').filter((line) => line.trim() !== '').map((line) => redactPatterns(line)) ?? [];
}

/** While it is probed: who it is, what it is at, and what it has said so far. */
export function liveFindings(entry: ServerEntry, child: OpenServer['process'], waiting: string, home: string): Line[] {
  const row = (name: string, text: string): Line => [dim(`  ${name.padEnd(12)} `), text];
  return [
    [bold(entry.name), dim(`  ${waiting}`)],
    row(entry.kind === 'local' ? 'command' : 'url', abridged(targetOf(entry), home)),
    ...(child?.pid === undefined ? [] : [row('pid', String(child.pid))]),
    ...stderrLines(child).slice(-LIVE_TAIL_LINES).map((line, index) => row(index === 0 ? 'stderr' : '', line)),
  ];
}

export function findingsDocument({ entry, opened, failureKind, timings, attempts, lists, unfinished, signIn }: Findings): object {
  const client = opened?.client, child = processOf(opened, attempts);
  return {
    server: entryDocument(entry),
    signIn: signIn?.document ?? null,
    process: child === undefined ? null : { command: commandLineOf([child.command, ...child.args]), cwd: child.cwd, pid: child.pid ?? null, stderrTail: redactPatterns(child.stderrTail()) },
    era: client?.era ?? null, protocolVersion: client?.revision ?? null, serverInfo: client?.serverInfo ?? null, capabilities: client?.capabilities ?? null, instructions: client?.instructions === undefined ? null : (opened?.redact ?? String)(client.instructions),
    lists: lists.map((one) => ({ list: one.list, count: one.count ?? null, dropped: one.dropped ?? 0, ms: rounded(one.ms), error: one.failure === undefined ? null : failureDocument(one.failure) })),
    unfinished: unfinished === undefined ? null : { stage: unfinished.stage, ms: rounded(unfinished.ms) },
    timings: timings.map(({ stage, ms }) => ({ stage, ms: rounded(ms) })),
    attempts: attempts.map((attempt, index) => attemptDocument(attempt, opened !== undefined && index === attempts.length - 1)),
    failureKind: failureKind ?? null,
  };
}

type Show = (name: string, ...text: Span[]) => void;

function showEntry(entry: ServerEntry, home: string, row: Show): void {
  row(entry.kind === 'local' ? 'command' : 'url', abridged(targetOf(entry), home));
  if (entry.kind === 'local') row('cwd', abridged(entry.cwd, home));
  // Presence only: whether a credential is there, never what it is.
  for (const [key, template] of Object.entries(entry.kind === 'remote' ? entry.headers : {})) row('header', `${key}: ${maskedTemplate(template)}`);
  for (const [key, file] of Object.entries(entry.kind === 'remote' ? certificatesOf(entry) : {})) row(key, abridged(file, home));
  row('origin', abridged(originText(entry.origin), home));
  row('timeouts', `${entry.timeouts.requestMs} ms a request, ${entry.timeouts.connectMs} ms to connect`);
  if (!entry.enabled) row('note', yellow('it is disabled; this probe starts it all the same'));
}

export function showFindings({ terminal }: Context, findings: Findings, home: string): void {
  const { entry, opened, failure, failureKind, timings, attempts, lists, unfinished, signIn } = findings, child = processOf(opened, attempts);
  const row: Show = (name, ...text) => terminal.print(dim(`  ${name.padEnd(12)} `), ...text);
  const verdict = opened === undefined ? red('not connected') : failure === undefined ? green('connected') : yellow('connected, with faults');
  terminal.print(bold(entry.name), '  ', verdict, failureKind === undefined ? '' : dim(`  ${failureKind}`));
  showEntry(entry, home, row);
  for (const [name, ...text] of signIn?.lines ?? []) row(name, ...text);
  if (child !== undefined) row('pid', child.pid === undefined ? 'none' : String(child.pid));
  if (opened !== undefined) {
    const { client } = opened;
    row('protocol', `${client.revision} (${client.era})`);
    if (client.serverInfo !== undefined) row('server', opened.redact(`${client.serverInfo.name} ${client.serverInfo.version}`));
    row('capabilities', Object.keys(client.capabilities).join(', ') || 'none');
  }
  // Of a program there is one try, and its stages are told below.
  if (entry.kind === 'remote') showAttempts(attempts, row, opened !== undefined);
  for (const one of lists) row(one.list, one.failure === undefined ? String(one.count) : red(one.failure.message), dim(`  ${rounded(one.ms)} ms${one.dropped ? `, ${count(one.dropped, 'one', 'ones')} left out` : ''}`));
  // Each try told its own; what is left to tell is the whole.
  const told = entry.kind === 'local' || attempts.length === 0 ? timings : timings.filter(({ stage }, index) => opened !== undefined && stage === 'connect' && index === timings.length - 1);
  if (told.length > 0 || attempts.length === 0) row('timings', told.map(({ stage, ms }) => `${stage} ${rounded(ms)} ms`).join(', ') || 'none');
  if (unfinished !== undefined) row('unfinished', yellow(unfinishedText(unfinished)));
  if (opened?.client.instructions !== undefined) showInstructions(opened.redact(opened.client.instructions), row);
  const stderr = stderrLines(child);
  stderr.slice(-TAIL_LINES).forEach((line, index) => row(index === 0 ? 'stderr' : '', line));
  if (child !== undefined && stderr.length === 0) row('stderr', dim('nothing'));
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
export function nextStep(entry: ServerEntry, failure: AnyFailure): string {
  const next = nextText(failure), own = `zuno-lite mcp debug ${entry.name}`;
  if (entry.kind === 'remote' && entry.transport !== 'auto' && failure.code === 'HTTP_STATUS' && [400, 404, 405].includes(failure.details.status)) {
    return `${next === own ? 'Check the path of the url' : next}; or let both HTTP transports be tried: zuno-lite mcp set ${entry.name} --unset transport`;
  }
  return next.endsWith(own) ? `${next} --log-level debug` : next;
}
