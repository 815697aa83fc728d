/**
 * Which processes belong to a server.
 *
 * A server is started as the leader of its own session, and often is only a wrapper (`npx`, a shell) of the real one. What it
 * starts may change group or session, or be re-parented to init when its parent ends. So a process is one of ours when any of
 * these holds: it carries the tree's marker in its environment (inherited, unless wiped), its parent is one of ours, it shares
 * a session with one of ours, or it was one of ours before (same pid and same start time).
 *
 * Reading /proc here is a look at the file system outside of `base/files`, and the only one; nothing is ever written. The
 * only programs started are `ps` where there is no /proc, and `taskkill`.
 */
import { execFile, execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { limits } from '../base/limits.ts';

export interface ProcessRecord {
  readonly pid: number;
  readonly parent: number;
  /** 0: signal the process alone. */
  readonly group: number;
  /** The group where the platform does not tell the session. */
  readonly session: number;
  /** Tells two owners of one pid apart; compared only for equality. */
  readonly started: string;
  readonly marked: boolean;
}

/** What a list is about. Where a list is one answer of `ps`, only the marker counts. */
export interface Search {
  readonly marker: string;
  /** Start time of the tree's leader: nobody older can be one of its descendants, and needs no closer look. */
  readonly since?: string | undefined;
  /** Pids known not to be ours: not looked at again; whoever is too old is added. */
  readonly strangers?: Set<number> | undefined;
}

/** The processes of this user, zombies left out. */
export interface ProcessTable {
  list(search: Search): Promise<readonly ProcessRecord[]>;
  listSync(search: Search): readonly ProcessRecord[];
  /** Start time of a living process; undefined when it is gone or the platform tells it only in a list. */
  startOf(pid: number): string | undefined;
  /** The process of the record still lives, and its pid has no later owner. */
  lives(record: ProcessRecord): boolean;
  /** Children and their children, found without reading the whole table. */
  descendants?(pid: number): readonly ProcessRecord[];
}

/** What ending a tree needs of the machine; tests hand in their own. */
export interface ProcessSystem {
  readonly platform: NodeJS.Platform;
  readonly table: ProcessTable;
  /** A negative pid means a group. Throws when there is none, or none we may signal. */
  kill(pid: number, signal: NodeJS.Signals | 0): void;
  /** Windows: ends the tree of a process that still lives. Neither rejects nor throws. */
  taskkill(pid: number): Promise<void>;
  taskkillSync(pid: number): void;
}

export function nativeProcessSystem(platform: NodeJS.Platform = process.platform, run: RunProgram = runProgram): ProcessSystem {
  const kill = (pid: number, signal: NodeJS.Signals | 0): void => { process.kill(pid, signal); };
  const words = (pid: number): string[] => ['/PID', String(pid), '/T', '/F'];
  return {
    platform,
    kill,
    table: platform === 'linux' || platform === 'android' ? linuxTable() : psTable(platform, run, kill),
    taskkill: async (pid) => { await run.later('taskkill', words(pid)); },
    taskkillSync: (pid) => { run.now('taskkill', words(pid)); },
  };
}

/** A program's output; empty when it failed or took longer than two seconds. */
export interface RunProgram {
  later(file: string, args: readonly string[]): Promise<string>;
  now(file: string, args: readonly string[]): string;
}

const RUN_OPTIONS = { timeout: limits.taskkillMs, maxBuffer: 64 * 1024 * 1024, encoding: 'utf8', windowsHide: true } as const;
const runProgram: RunProgram = {
  later: (file, args) => new Promise((resolve) => { execFile(file, args, RUN_OPTIONS, (_error, stdout) => resolve(stdout)); }),
  now(file, args) {
    try { return execFileSync(file, args, { ...RUN_OPTIONS, stdio: ['ignore', 'pipe', 'ignore'] }); } catch { return ''; }
  },
};

// ---- Linux: /proc

const STAT_BYTES = 1024;

/** One pass over `/proc`: one small read a process, a second one only for those that may be ours. */
export function linuxTable(root = '/proc', uid = process.getuid?.() ?? 0, own = process.pid): ProcessTable {
  const record = (pid: number, buffer: Buffer): ProcessRecord | undefined => {
    const text = readText(`${root}/${pid}/stat`, buffer);
    // The command's name stands in parentheses and may hold anything, blanks and parentheses too.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ', 20);
    if (fields.length < 20 || fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return { pid, parent: Number(fields[1]), group: Number(fields[2]), session: Number(fields[3]), started: fields[19]!, marked: false };
  };
  const startOf = (pid: number): string | undefined => record(pid, Buffer.allocUnsafe(STAT_BYTES))?.started;

  function listSync({ marker, since, strangers }: Search): ProcessRecord[] {
    const buffer = Buffer.allocUnsafe(64 * 1024);
    const found: ProcessRecord[] = [];
    for (const name of entries(root)) {
      const pid = Number(name);
      if (!(pid > 0) || strangers?.has(pid) === true) continue;
      const one = record(pid, buffer);
      if (one === undefined) continue;
      if (since !== undefined && Number(one.started) < Number(since) && pid !== own) { strangers?.add(pid); continue; }
      // The kernel keeps an ordinary user out of the environment of others. For root a marker counts on root's own processes only:
      // a server that gave up its rights is found by parent, group and session, and nobody else can plant a marker.
      const foreign = uid === 0 && ownerOf(`${root}/${name}`) !== 0;
      found.push(!foreign && contains(`${root}/${name}/environ`, marker, buffer) ? { ...one, marked: true } : one);
    }
    return found;
  }
  function descendants(pid: number): ProcessRecord[] {
    const buffer = Buffer.allocUnsafe(64 * 1024);
    const found: ProcessRecord[] = [];
    const queue = [pid];
    for (let next = queue.pop(); next !== undefined && found.length < 10_000; next = queue.pop()) {
      for (const thread of entries(`${root}/${next}/task`)) {
        for (const child of readText(`${root}/${next}/task/${thread}/children`, buffer).split(' ')) {
          const one = child === '' ? undefined : record(Number(child), buffer);
          if (one !== undefined) { found.push(one); queue.push(one.pid); }
        }
      }
    }
    return found;
  }
  return { list: async (search) => listSync(search), listSync, startOf, lives: (one) => startOf(one.pid) === one.started, descendants };
}

/** A process that some host started, or that came of one, as the mark in its environment says. */
export interface MarkedProcess {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** The mark of the innermost host and server. */
  readonly mark: string;
}

/**
 * Processes of this user whose host is gone: they carry the mark of a server's tree, and what is left of that tree was taken over by the
 * system's first process. `undefined` where there is no /proc to look into. Own ancestors are not among them.
 */
export function orphanedProcesses(variable: string, root = '/proc', own = process.pid): readonly MarkedProcess[] | undefined {
  const names = entries(root);
  if (!names.includes('self') && !names.includes(String(own))) return undefined;
  const buffer = Buffer.allocUnsafe(256 * 1024);
  // A program may give its first thread a name of its own, and that is what stands in "comm": Node from 24 on calls it MainThread.
  const commandOf = (pid: number): string => programName(readText(`${root}/${pid}/cmdline`, buffer)) || readText(`${root}/${pid}/comm`, buffer).trim();
  const parentOf = (pid: number): number => { const text = readText(`${root}/${pid}/stat`, buffer); return Number(text.slice(text.lastIndexOf(')') + 2).split(' ', 2)[1] ?? 0); };
  const marked: MarkedProcess[] = [];
  for (const name of names) {
    const pid = Number(name);
    if (!(pid > 1)) continue;
    const assignment = readText(`${root}/${name}/environ`, buffer).split('\0').find((one) => one.startsWith(`${variable}=`));
    const mark = assignment?.slice(variable.length + 1).split(',').at(-1);
    if (mark !== undefined && mark !== '') marked.push({ pid, parent: parentOf(pid), command: commandOf(pid), mark });
  }
  const ancestors = new Set<number>();
  for (let pid = own; pid > 1 && !ancestors.has(pid); pid = parentOf(pid)) ancestors.add(pid);
  const held = new Set(marked.filter(({ pid, parent, mark }) => ancestors.has(pid) || (!isFirst(parent, commandOf) && !marked.some((other) => other.pid === parent && other.mark === mark))).map(({ mark }) => mark));
  return marked.filter(({ mark }) => !held.has(mark));
}

/** The file name of the program that a command line (ended by NUL) starts with. */
function programName(commandLine: string): string {
  const program = commandLine.split('\0', 1)[0] ?? '';
  return program.slice(program.lastIndexOf('/') + 1).replace(/^-|:.*$/g, '').trim();
}

/** Who takes over processes without a parent: the first process, or a session's own. In a container the first may be a host itself. */
function isFirst(pid: number, commandOf: (pid: number) => string): boolean {
  if (pid <= 1) return !/^(?:node|bun|deno|electron)/i.test(commandOf(1));
  return /^(?:init|systemd|tini|dumb-init|docker-init|catatonit|s6-svscan|runit|launchd)$/.test(commandOf(pid));
}

function entries(directory: string): string[] {
  try { return fs.readdirSync(directory); } catch { return []; }
}

function ownerOf(path: string): number | undefined {
  try { return fs.statSync(path).uid; } catch { return undefined; }
}

/** The beginning of a file, as much as the buffer takes; empty when it is gone or not ours to read. */
function readText(path: string, buffer: Buffer): string {
  let file: number | undefined;
  try {
    file = fs.openSync(path, 'r');
    return buffer.toString('latin1', 0, fs.readSync(file, buffer, 0, buffer.length, null));
  } catch {
    return '';
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

/** Searches an environment block piece by piece, so that its size does not matter. */
function contains(path: string, marker: string, buffer: Buffer): boolean {
  let file: number | undefined;
  try {
    file = fs.openSync(path, 'r');
    const overlap = marker.length - 1;
    for (let kept = 0, read: number; (read = fs.readSync(file, buffer, kept, buffer.length - kept, null)) > 0;) {
      const length = kept + read;
      if (buffer.subarray(0, length).includes(marker, 0, 'latin1')) return true;
      kept = Math.min(overlap, length);
      buffer.copyWithin(0, length - kept, length);
    }
    return false;
  } catch {
    return false;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

// ---- everywhere else: ps

/** `ps` of macOS and the BSDs, which shows the environment behind the command when asked to. */
export function psTable(platform: NodeJS.Platform, run: RunProgram, kill: ProcessSystem['kill']): ProcessTable {
  const columns = 'pid=,ppid=,pgid=,stat=,lstart=,command=';
  const args = platform === 'darwin' ? ['-axww', '-E', '-o', columns] : ['-axwwe', '-o', columns];
  return {
    list: async ({ marker }) => parsePs(await run.later('ps', args), marker),
    listSync: ({ marker }) => parsePs(run.now('ps', args), marker),
    startOf: () => undefined,
    lives({ pid }) {
      try { kill(pid, 0); return true; } catch (error) { return (error as NodeJS.ErrnoException).code === 'EPERM'; }
    },
  };
}

/** Lines of `pid ppid pgid state start-time command`; the start time is five words (`Mon Jan 5 10:00:00 2026`). */
export function parsePs(text: string, marker: string): ProcessRecord[] {
  const found: ProcessRecord[] = [];
  for (const line of text.split('\n')) {
    const [, pid, parent, group, state, started] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)/.exec(line) ?? [];
    if (started === undefined || state!.startsWith('Z')) continue;
    found.push({ pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group), started, marked: line.includes(marker) });
  }
  return found;
}

// ---- who is ours

/**
 * The records that belong to the tree. `rootHeld` says that the leader's pid cannot have another owner yet, so that its group
 * and session count without further proof; later only the marker and what was `known` (pid to start time) do.
 */
export function treeMembers(records: readonly ProcessRecord[], tree: { readonly pid: number; readonly marker: string }, known: ReadonlyMap<number, string>, rootHeld: boolean, own = process.pid): ProcessRecord[] {
  const byParent = grouped(records, (record) => record.parent);
  const bySession = grouped(records, (record) => record.session);
  const ownSession = records.find((record) => record.pid === own)?.session;
  const members = new Map<ProcessRecord, ProcessRecord>();
  const queue = records.filter((record) => record.marked || known.get(record.pid) === record.started
    || (rootHeld && (record.pid === tree.pid || record.group === tree.pid || record.session === tree.pid)));
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (members.has(next) || next.pid <= 1 || next.pid === own) continue;
    const inOurs = next.session === ownSession;
    // Whoever got into the host's own session must never drag the host's group along.
    members.set(next, inOurs ? { ...next, group: 0 } : next);
    for (const child of byParent.get(next.pid) ?? []) queue.push(child);
    if (inOurs) continue;
    for (const other of bySession.get(next.session) ?? []) queue.push(other);
    bySession.delete(next.session);
  }
  return [...members.values()];
}

function grouped(records: readonly ProcessRecord[], key: (record: ProcessRecord) => number): Map<number, ProcessRecord[]> {
  const groups = new Map<number, ProcessRecord[]>();
  for (const record of records) {
    const group = groups.get(key(record));
    if (group === undefined) groups.set(key(record), [record]); else group.push(record);
  }
  return groups;
}
