/** The ladder on systems that are not at hand, and on processes that cannot be had on order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endTree, endTreesSync, type Tree } from '../../src/transports/kill-ladder.ts';
import type { ProcessRecord, ProcessSystem } from '../../src/transports/process-table.ts';

interface Stage { readonly system: ProcessSystem; readonly tree: Tree; readonly log: string[]; readonly alive: Map<number, ProcessRecord>; exit(): void }

/** A small world: `alive` are the processes; `onKill` says what a signal does. */
function stage(platform: NodeJS.Platform, records: readonly ProcessRecord[], onKill: (target: number, signal: string, world: Stage) => void = () => {}): Stage {
  const log: string[] = [];
  const alive = new Map(records.map((record) => [record.pid, record]));
  let gone = false, tell: () => void = () => {};
  const exited = new Promise<void>((resolve) => { tell = resolve; });
  const world: Stage = {
    log, alive,
    exit() { gone = true; alive.delete(50); tell(); },
    tree: { pid: 50, marker: 'm', started: undefined, exited, hasExited: () => gone, endInput: (now) => { log.push(now ? 'destroy input' : 'end input'); onKill(50, 'EOF', world); } },
    system: {
      platform,
      table: {
        list: async () => [...alive.values()], listSync: () => [...alive.values()], startOf: () => undefined,
        lives: ({ pid, started }) => alive.get(pid)?.started === started,
      },
      kill(pid, signal) { log.push(`${signal} ${pid}`); onKill(pid, String(signal), world); },
      taskkill: async (pid) => { log.push(`taskkill ${pid}`); onKill(pid, 'taskkill', world); },
      taskkillSync: (pid) => { log.push(`taskkillSync ${pid}`); },
    },
  };
  return world;
}
const record = (pid: number, parent: number, session = 50, more: Partial<ProcessRecord> = {}): ProcessRecord => ({ pid, parent, group: session, session, started: `s${pid}`, marked: true, ...more });

test('endTree() on Windows ends the input, then the whole tree with taskkill', async () => {
  const polite = stage('win32', [record(50, 1)], (_, signal, world) => { if (signal === 'EOF') world.exit(); });
  assert.deepEqual(await endTree(polite.tree, polite.system, 50), { forced: [] });
  assert.deepEqual(polite.log, ['end input']);
  assert.deepEqual(await endTree(polite.tree, polite.system, 50), { forced: [] });

  const stubborn = stage('win32', [record(50, 1)], (_, signal, world) => { if (signal === 'taskkill') world.exit(); });
  assert.deepEqual(await endTree(stubborn.tree, stubborn.system, 10), { forced: ['taskkill of the process tree'] });
  assert.deepEqual(stubborn.log, ['end input', 'taskkill 50']);

  const broken = stage('win32', [record(50, 1)]);
  await endTree(broken.tree, broken.system, 10);
  assert.deepEqual(broken.log, ['end input', 'taskkill 50', 'SIGKILL 50']);
});

test('endTreesSync() on Windows ends each tree that still has its root', () => {
  const open = stage('win32', [record(50, 1)]), done = stage('win32', []);
  done.exit();
  endTreesSync([open.tree, done.tree], open.system);
  assert.deepEqual(open.log, ['taskkillSync 50']);
});

test('endTree() signals a group once, and alone whoever is in a group that is not ours', async () => {
  const world = stage('darwin', [record(50, 1), record(51, 50), record(52, 50, 52), record(53, 50, 99, { group: 98 })], (target, signal, { alive, exit }) => {
    if (signal === 'EOF') return;
    for (const one of [...alive.values()]) if (one.pid === target || -one.group === target) { if (one.pid === 50) exit(); else alive.delete(one.pid); }
  });
  const { forced } = await endTree(world.tree, world.system, 10);
  assert.deepEqual(forced, ['SIGINT to 4 processes']);
  assert.deepEqual(world.log.sort(), ['SIGINT -50', 'SIGINT -52', 'SIGINT 53', 'end input']);
});

test('endTree() never signals a pid that got another owner between the look and the signal', async () => {
  const world = stage('linux', [record(50, 1), record(60, 1, 60)], (_, signal, { exit, alive }) => {
    if (signal === 'EOF') { exit(); alive.set(60, { ...record(60, 1, 60), started: 'later', marked: false }); }
  });
  // The list is a moment old: it still shows the former owner.
  const { list } = world.system.table;
  const stale = await list({ marker: 'm' });
  let first = true;
  const system: ProcessSystem = { ...world.system, table: { ...world.system.table, list: async (search) => { if (!first) return list(search); first = false; return stale; }, descendants: () => [record(60, 1, 60)] } };
  await endTree(world.tree, system, 10);
  assert.deepEqual(world.log, ['end input']);
  assert.ok(world.alive.has(60));
});

test('endTree() reports what cannot be ended', async () => {
  const world = stage('linux', [record(60, 1, 60)], (target) => { if (target === -60 || target === 60) throw new Error('EPERM'); });
  world.exit();
  const { forced } = await endTree(world.tree, world.system, 10);
  assert.deepEqual(forced.filter((line) => !line.startsWith('SIGTERM')), ['SIGKILL to 1 process', 'left alive: 60']);
});

test('endTreesSync() gives the end of input a moment, then terminates, then kills', () => {
  const world = stage('linux', [record(50, 1)], (target, signal, { alive }) => { if (signal === 'SIGKILL' && target === -50) alive.delete(50); });
  const startedAt = performance.now();
  endTreesSync([world.tree], world.system);
  assert.ok(performance.now() - startedAt < 700);
  assert.deepEqual(world.log, ['destroy input', 'SIGTERM -50', 'SIGKILL -50']);
  assert.equal(world.alive.size, 0);
});
