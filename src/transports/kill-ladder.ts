/**
 * How a server's processes are ended so that none is left.
 *
 *   end of stdin, 250 ms | INT, 250 | TERM, 750 | KILL, 250 to verify; the tree is looked up anew before each step
 *
 * Each step ends as soon as the tree is gone. When the leader leaves by itself, what it left behind gets TERM at once: INT is
 * for the one who serves, and a shell's background jobs ignore it. A pid is checked once more right before it is signalled.
 * Windows has no signals: after the end of stdin the whole tree is ended by `taskkill` while its root is there to name it.
 */
import { delay, now } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { count } from '../base/text.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { treeMembers, type ProcessRecord, type ProcessSystem, type Search } from './process-table.ts';

export interface Tree {
  readonly pid: number;
  readonly marker: string;
  /** Start time of the leader, where the platform tells it. */
  readonly started: string | undefined;
  /** Resolves when the leader has ended. */
  readonly exited: Promise<unknown>;
  hasExited(): boolean;
  /** Ends the leader's stdin; at once and without waiting for what is still to be written when `now`. */
  endInput(now: boolean): void;
}

type Step = readonly [signal: NodeJS.Signals, waitMs: number];
const SERVING: readonly Step[] = [['SIGINT', limits.killIntMs], ['SIGTERM', limits.killTermMs]];
const LEFT_BEHIND: readonly Step[] = [['SIGTERM', limits.killIntMs]];

/** Ends a tree; resolves when all of it is gone, or after about a second and a half with a report of what would not go. */
export async function endTree(tree: Tree, system: ProcessSystem, patienceMs: number): Promise<CloseReport> {
  if (system.platform === 'win32') return endWindowsTree(tree, system, patienceMs);
  const { table } = system;
  const watch = createWatch(tree);
  const look = async (): Promise<ProcessRecord[]> => watch.members(await table.list(watch.search()));
  if (!tree.hasExited()) {
    // Who wiped the environment and took a new session is found only through its parents, and only while they live.
    if (table.descendants !== undefined) watch.remember(table.descendants(tree.pid)); else await look();
    tree.endInput(false);
    const left = within(tree.exited, patienceMs);
    // The long look is taken while the server is leaving, so that only newcomers are left to look at when it is gone.
    if (table.descendants !== undefined) { await turn(); await turn(); if (!tree.hasExited()) await look(); }
    await left;
  }
  const forced: string[] = [];
  let living = await look();
  for (const [signal, waitMs] of tree.hasExited() ? LEFT_BEHIND : SERVING) {
    if (living.length === 0) break;
    forced.push(`${signal} to ${count(strike(living, signal, system), 'process', 'processes')}`);
    await untilGone(living, waitMs);
    living = await look();
  }
  if (living.length > 0) forced.push(`SIGKILL to ${count(living.length, 'process', 'processes')}`);
  for (const until = now() + limits.killVerifyMs; living.length > 0 && now() < until; living = await look()) {
    strike(living, 'SIGKILL', system);
    await untilGone(living, limits.killPollMs);
  }
  if (living.length > 0) forced.push(`left alive: ${living.map((one) => one.pid).join(', ')}`);
  return { forced };

  async function untilGone(records: readonly ProcessRecord[], ms: number): Promise<void> {
    for (const until = now() + ms; now() < until && records.some(table.lives);) {
      await (tree.hasExited() ? delay(limits.killPollMs) : within(tree.exited, limits.killPollMs));
    }
  }
}

async function endWindowsTree(tree: Tree, system: ProcessSystem, patienceMs: number): Promise<CloseReport> {
  if (tree.hasExited()) return { forced: [] };
  tree.endInput(false);
  await within(tree.exited, patienceMs);
  if (tree.hasExited()) return { forced: [] };
  await system.taskkill(tree.pid);
  await within(tree.exited, limits.killVerifyMs);
  if (!tree.hasExited()) attempt(() => system.kill(tree.pid, 'SIGKILL'));
  return { forced: ['taskkill of the process tree'] };
}

/**
 * The last resort of a host that cannot wait (its `exit` event): the same ladder for all trees at once, without the event
 * loop and with less patience, at most about 650 ms.
 */
export function endTreesSync(trees: readonly Tree[], system: ProcessSystem): void {
  const open = trees.filter((tree) => !tree.hasExited());
  if (system.platform === 'win32') {
    for (const { pid } of open) system.taskkillSync(pid);
    return;
  }
  const watches = trees.map(createWatch);
  const look = (): ProcessRecord[] => watches.flatMap((watch) => watch.members(system.table.listSync(watch.search())));
  const steps: readonly (readonly [NodeJS.Signals | undefined, number])[] = [[undefined, limits.killEofOneShotMs], ['SIGTERM', limits.killIntMs], ['SIGKILL', limits.killVerifyMs]];
  let living = look();
  for (const tree of open) tree.endInput(true);
  for (const [signal, ms] of steps) {
    if (living.length === 0) return;
    if (signal !== undefined) strike(living, signal, system);
    for (const until = now() + ms; now() < until && living.some(system.table.lives);) pauseSync(limits.killPollMs);
    living = look();
  }
}

interface Watch { search(): Search; members(records: readonly ProcessRecord[]): ProcessRecord[]; remember(records: readonly ProcessRecord[]): void }

/** Remembers who belonged to the tree, so that it is recognized when its parents and its marker are gone. */
function createWatch(tree: Tree): Watch {
  const known = new Map<number, string>();
  const strangers = new Set<number>();
  let useful = false, rootReleased = false;
  const remember = (records: readonly ProcessRecord[]): void => { for (const record of records) known.set(record.pid, record.started); };
  return {
    remember,
    search: () => ({ marker: tree.marker, since: tree.started, strangers }),
    members(records) {
      const members = treeMembers(records, tree, known, !rootReleased);
      // From its exit on the leader's pid may get another owner; the look taken at that moment is the last to trust it.
      rootReleased = tree.hasExited();
      remember(members);
      // Good for one look: a stranger never becomes ours, but after a while its pid might.
      useful = !useful;
      if (useful) { for (const { pid } of records) if (!known.has(pid)) strangers.add(pid); } else strangers.clear();
      return members;
    },
  };
}

/** Signals whole groups where they are ours, and single processes elsewhere. Returns how many processes were meant. */
function strike(members: readonly ProcessRecord[], signal: NodeJS.Signals, { table, kill }: ProcessSystem): number {
  const groups = new Set<number>();
  let struck = 0;
  for (const member of members) {
    if (groups.has(member.group)) { struck += 1; continue; }
    if (!table.lives(member)) continue;
    struck += 1;
    // A group of ours is led by one of ours, or is the first of its session.
    const ours = member.group > 1 && (member.group === member.session || members.some((other) => other.pid === member.group));
    if (ours && attempt(() => kill(-member.group, signal))) groups.add(member.group); else attempt(() => kill(member.pid, signal));
  }
  return struck;
}

function attempt(action: () => void): boolean {
  try { action(); return true; } catch { return false; }
}

function pauseSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Lets the event loop go round: what was written and ended before reaches the system. */
function turn(): Promise<void> {
  return new Promise((resolve) => { setImmediate(resolve); });
}

/** Waits for the promise at most so long; leaves no timer behind. */
function within(promise: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void promise.finally(() => { clearTimeout(timer); resolve(); });
  });
}
