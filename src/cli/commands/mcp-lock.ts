import { Failure } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import { count } from '../../base/text.ts';
import type { Config } from '../../config/types.ts';
import { lockFileOf, readLockFile, writeLockFile } from '../../host/lock-file.ts';
import type { Host } from '../../host/types.ts';
import { diffText } from '../../registry/pin-diff.ts';
import { compareLock, createLock, type Comparison, type Lock } from '../../registry/pins.ts';
import type { ToolEntry } from '../../registry/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { explain, failureDocument } from '../explain.ts';
import { enabledServers, entryOf, openConfig, settledFailures, tellFailures, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { showWaiting } from '../progress.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import { lineOf } from '../tool-view.ts';

/** What differs between the lock and what servers list now. */
type Change = Exclude<Comparison, { readonly kind: 'same' }>;

const isChange = (one: Comparison): one is Change => one.kind !== 'same';
const marks: Readonly<Record<string, readonly [mark: string, words: string, color: typeof green]>> = { new: ['+', 'not locked yet', green], drifted: ['~', 'changed', yellow], missing: ['-', 'gone', red] };

function changeDocument(change: Change): object {
  const { server, tool, kind } = change;
  return { server, tool, kind, ...(kind === 'drifted' && 'changes' in change ? { changed: change.changes.map(({ field }) => field), diff: diffText(change.changes) } : {}) };
}

/** Descriptions are written by servers: they are shown, never obeyed. */
function showChanges({ terminal }: Context, changes: readonly Change[]): void {
  for (const change of changes) {
    const [mark, words, color] = marks[change.kind]!;
    terminal.print(color(`${mark} `), bold(`${change.server}.${change.tool}`), dim(`  ${words}`));
    if (change.kind === 'new' && 'entry' in change) terminal.print(`    ${lineOf(change.entry)}`);
    if ('changes' in change) for (const line of diffText(change.changes).split('\n')) terminal.print('    ', line.startsWith('+ ') ? green(line) : line.startsWith('- ') ? red(line) : line);
  }
}

function entriesByServer(entries: readonly ToolEntry[], servers: readonly string[]): ReadonlyMap<string, readonly ToolEntry[]> {
  return new Map(servers.map((server) => [server, entries.filter((entry) => entry.server === server)]));
}

/** Servers that were not asked, or did not answer, keep what was locked of them. */
function merged(old: Lock | undefined, now: Lock): Lock {
  return { servers: new Map([...old?.servers ?? [], ...now.servers]) };
}

interface Look { readonly file: string; readonly old: Lock | undefined; readonly now: Lock; readonly changes: readonly Change[]; readonly failures: readonly { readonly server: string; readonly failure: AnyFailure }[] }

async function look(context: Context, config: Config, host: Host, names: readonly string[]): Promise<Look> {
  const file = lockFileOf(config.workspace), old = readLockFile(file);
  const done = showWaiting(context.terminal, () => `listing the tools of ${count(names.length, 'server')}`);
  const listing = await host.listTools(names, context.signal).finally(done);
  const failures = settledFailures(context, listing.failures), failed = new Set(failures.map(({ server }) => server));
  const reached = names.filter((name) => !failed.has(name));
  const now = createLock(entriesByServer(listing.entries, reached));
  return { file, old, now, failures, changes: compareLock(old ?? { servers: new Map() }, listing.entries, reached).filter(isChange) };
}

function drifted(file: string, changes: readonly Change[], names: readonly string[]): AnyFailure {
  const first = changes[0]!;
  return new Failure('PERMISSION_DENIED', `Cannot confirm the lock file "${file}": ${count(changes.length, 'tool')} ${changes.length === 1 ? 'is' : 'are'} not as locked`, {
    stage: 'permission', origin: { file, layer: 'lock' }, details: { tool: `${first.server}.${first.tool}`, why: 'lock' }, hint: ['zuno-lite mcp lock', ...names].join(' '),
  }) as AnyFailure;
}

async function check(context: Context, { file, old, changes, failures }: Look, names: readonly string[]): Promise<number> {
  const { terminal, json } = context;
  if (old === undefined) throw new Failure('CONFIG_INVALID', `Cannot check the lock: there is no ${file}`, { stage: 'config', details: { file, problems: [{ pointer: '', message: 'is missing' }] }, hint: 'zuno-lite mcp lock' });
  const failure = changes.length > 0 ? drifted(file, changes, [...new Set(changes.map(({ server }) => server))].filter((server) => names.includes(server))) : undefined;
  if (json) {
    const facts = { file, changes: changes.map(changeDocument), failures: failures.map(({ server, failure: one }) => ({ server, error: failureDocument(one) })) };
    terminal.document(failure === undefined ? { ok: true, ...facts } : { ok: false, error: failureDocument(failure), ...facts });
  } else {
    showChanges(context, changes);
    tellFailures(context, failures);
    if (failure !== undefined) for (const line of explain(failure)) terminal.alert(...line);
    else if (failures.length === 0) terminal.print(green('As locked'), `: ${file}`);
  }
  return failure !== undefined ? exitStatus[failure.code] : failures[0] !== undefined ? exitStatus[failures[0].failure.code] : EXIT_OK;
}

async function lock(context: Context, { file, old, now, changes, failures }: Look): Promise<number> {
  const { terminal, json } = context;
  if (now.servers.size === 0 && failures[0] !== undefined) throw failures[0].failure;
  const written = old === undefined || changes.length > 0 || [...now.servers.keys()].some((server) => !old.servers.has(server));
  if (written) await writeLockFile(file, merged(old, now));
  const tools = [...now.servers.values()].reduce((sum, pins) => sum + pins.size, 0);
  const kept = [...old?.servers.keys() ?? []].filter((server) => !now.servers.has(server));
  if (json) {
    terminal.document({ ok: true, file, written, servers: [...now.servers.keys()], tools, kept, changes: changes.map(changeDocument), failures: failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) })) });
    return EXIT_OK;
  }
  if (old !== undefined) showChanges(context, changes);
  terminal.print(written ? green('Locked') : 'Nothing changed', `: ${count(tools, 'tool')} of ${count(now.servers.size, 'server')} in ${file}`);
  tellFailures(context, failures);
  if (kept.length > 0) terminal.note(dim(`Kept as they were locked before: ${kept.join(', ')}`));
  terminal.note(dim('Enforce it with --locked, or "mcp": {"lock": "enforce"} in your zuno.json'));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context), { operands } = context.parsed;
  const named = [...new Set(operands)].map((name) => entryOf(config, name).name), names = named.length > 0 ? named : enabledServers(config);
  return withHost(context, { config, ...onlooker(context) }, async (host) => {
    const found = await look(context, config, host, names);
    return context.parsed.has('check') ? check(context, found, named) : lock(context, found);
  });
}

export const command: Command = {
  usage: ['mcp lock [SERVER]... [--check]'],
  operands: ['[SERVER]...'],
  options: [{ name: 'check', summary: 'change nothing; exit with 7 when a definition is not as locked' }],
  examples: [
    { line: 'mcp lock', about: 'pins the definitions of all tools in zuno.lock.json and shows what changed since the last time:' },
    { line: 'mcp lock docs', about: 'of one server, after a look at what it changed; the others stay as they are:' },
    { line: 'mcp lock --check', about: 'for a pipeline: exit status 7 and the difference when a server changed a tool:' },
  ],
  notes: [
    'The file is the nearest zuno.lock.json upward to the Git root, else a new one there. Pinned are title, description, schemas and annotations.',
    'It is enforced by --locked (call, tools, search) and by "mcp": {"lock": "enforce"}: a tool that differs, or is not in it, is refused.',
  ],
  run,
};
