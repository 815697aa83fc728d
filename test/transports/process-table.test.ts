import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { linuxTable, nativeProcessSystem, parsePs, psTable, treeMembers, type ProcessRecord, type RunProgram } from '../../src/transports/process-table.ts';
import { tempDir } from '../support/process.ts';

function fakeProc(t: TestContext, processes: readonly { pid: number; comm?: string; state?: string; parent?: number; started?: string; environ?: string; children?: string }[]): string {
  const root = tempDir(t);
  mkdirSync(path.join(root, 'self'));
  for (const { pid, comm = 'sh', state = 'S', parent = 1, started = '100', environ = '', children = '' } of processes) {
    const directory = path.join(root, String(pid));
    mkdirSync(path.join(directory, 'task', String(pid)), { recursive: true });
    writeFileSync(path.join(directory, 'stat'), `${pid} (${comm}) ${state} ${parent} ${pid} ${pid} ${Array.from({ length: 15 }, () => 0).join(' ')} ${started} 0 0\n`);
    writeFileSync(path.join(directory, 'environ'), environ);
    writeFileSync(path.join(directory, 'task', String(pid), 'children'), children);
  }
  return root;
}

test('linuxTable() reads parents, start times and the marker, and leaves zombies and torn entries out', async (t) => {
  const root = fakeProc(t, [
    { pid: 10, comm: 'a) b (c', started: '777', environ: 'A=1\0ZUNO_TREE=mark.1.\0' },
    { pid: 11, parent: 10, environ: 'A=1\0' }, { pid: 12, state: 'Z' }, { pid: 13, environ: `X=${'y'.repeat(200_000)}\0ZUNO_TREE=mark.1.\0` },
  ]);
  mkdirSync(path.join(root, '14'));
  const table = linuxTable(root, 1000);
  const records = await table.list({ marker: 'mark.1.' });
  assert.deepEqual(records.map(({ pid, parent, started, marked }) => ({ pid, parent, started, marked })), [
    { pid: 10, parent: 1, started: '777', marked: true }, { pid: 11, parent: 10, started: '100', marked: false }, { pid: 13, parent: 1, started: '100', marked: true },
  ]);
  assert.equal(table.startOf(10), '777');
  assert.equal(table.startOf(12), undefined);
  assert.equal(table.lives(records[0]!), true);
  assert.equal(table.lives({ ...records[0]!, started: '778' }), false);
});

test('linuxTable() finds a marker on the border of what is read at once', (t) => {
  for (const offset of [0, 3, 8]) {
    const root = fakeProc(t, [{ pid: 10, environ: `${'y'.repeat(64 * 1024 - offset)}mark.1.\0` }]);
    assert.equal(linuxTable(root, 1000).listSync({ marker: 'mark.1.' })[0]!.marked, true);
  }
});

test('linuxTable() leaves out who is older than the leader, but not the host, and whoever is known as a stranger', (t) => {
  const root = fakeProc(t, [{ pid: 10, started: '99' }, { pid: 11, started: '100' }, { pid: 12, started: '1000' }, { pid: 13, started: '5' }]);
  const table = linuxTable(root, 1000, 13);
  const pids = (search: object): number[] => table.listSync({ marker: 'x', ...search }).map((record) => record.pid);
  assert.deepEqual(pids({}), [10, 11, 12, 13]);
  assert.deepEqual(pids({ since: '100' }), [11, 12, 13]);
  assert.deepEqual(pids({ since: '100', strangers: new Set([12]) }), [11, 13]);
});

test('linuxTable() walks from children to their children', (t) => {
  const root = fakeProc(t, [{ pid: 10, children: '11 12 ' }, { pid: 11, children: '13 ' }, { pid: 12, state: 'Z' }, { pid: 13 }]);
  assert.deepEqual(linuxTable(root).descendants!(10).map((record) => record.pid).sort(), [11, 13]);
});

test('linuxTable() of a system without /proc is empty, and root looks at its own only', (t) => {
  assert.deepEqual(linuxTable('/no/such/proc').listSync({ marker: 'x' }), []);
  const root = fakeProc(t, [{ pid: 10 }]);
  assert.equal(linuxTable(root, 0).listSync({ marker: 'x' }).length, process.getuid?.() === 0 ? 1 : 0);
});

const PS = `
  100     1   100 Ss   Mon Jan  5 10:00:00 2026     node server.js ZUNO_TREE=mark.1. HOME=/x
  101   100   100 S+   Mon Jan  5 10:00:01 2026     sleep 5
  102   100   102 Z    Mon Jan  5 10:00:01 2026     (sleep)
garbage
`;

test('parsePs() reads the lines of ps and leaves zombies out', () => {
  assert.deepEqual(parsePs(PS, 'mark.1.').map(({ pid, parent, group, started, marked }) => [pid, parent, group, started, marked]), [
    [100, 1, 100, 'Mon Jan  5 10:00:00 2026', true], [101, 100, 100, 'Mon Jan  5 10:00:01 2026', false],
  ]);
});

test('psTable() asks each system in its own words, and asks a pid whether it lives', async () => {
  const asked: string[] = [];
  const run: RunProgram = { later: async (file, args) => { asked.push([file, ...args].join(' ')); return PS; }, now: (file, args) => { asked.push([file, ...args].join(' ')); return PS; } };
  const errors: Record<number, string> = { 100: '', 101: 'EPERM', 102: 'ESRCH' };
  const mac = psTable('darwin', run, (pid) => { if (errors[pid] !== '') throw Object.assign(new Error(), { code: errors[pid] }); });
  const records = await mac.list({ marker: 'mark.1.' });
  assert.equal(records.length, 2);
  assert.equal(psTable('freebsd', run, () => {}).listSync({ marker: 'mark.1.' }).length, 2);
  assert.match(asked[0]!, /^ps -axww -E -o pid=,/);
  assert.match(asked[1]!, /^ps -axwwe -o pid=,/);
  assert.equal(mac.startOf(100), undefined);
  const one = records[0]!;
  assert.deepEqual([100, 101, 102].map((pid) => mac.lives({ ...one, pid })), [true, true, false]);
});

test('nativeProcessSystem() ends trees on Windows with taskkill', async () => {
  const asked: string[] = [];
  const run: RunProgram = { later: async (file, args) => { asked.push(['later', file, ...args].join(' ')); return ''; }, now: (file, args) => { asked.push(['now', file, ...args].join(' ')); return ''; } };
  const system = nativeProcessSystem('win32', run);
  await system.taskkill(5);
  system.taskkillSync(6);
  assert.deepEqual(asked, ['later taskkill /PID 5 /T /F', 'now taskkill /PID 6 /T /F']);
});

test('nativeProcessSystem() runs programs, and a missing one says nothing', async () => {
  const system = nativeProcessSystem('win32');
  await system.taskkill(999_999);
  system.taskkillSync(999_999);
  const mac = nativeProcessSystem('darwin');
  assert.ok(Array.isArray(await mac.table.list({ marker: 'x' })));
  assert.ok(Array.isArray(mac.table.listSync({ marker: 'x' })));
});

// ---- who is ours

const record = (pid: number, parent: number, session: number, more: Partial<ProcessRecord> = {}): ProcessRecord => ({ pid, parent, group: session, session, started: `s${pid}`, marked: false, ...more });
const tree = { pid: 50, marker: 'm' };
const pidsOf = (records: readonly ProcessRecord[]): number[] => records.map((one) => one.pid).sort((a, b) => a - b);

test('treeMembers() takes the leader, its session, children in other sessions and whoever carries the marker', () => {
  const records = [
    record(1, 0, 1), record(7, 1, 7), record(50, 7, 50), record(51, 50, 50), record(52, 50, 52), record(53, 52, 52), record(54, 1, 54, { marked: true }),
    record(55, 1, 54), record(60, 7, 60), record(61, 1, 50, { group: 61 }),
  ];
  assert.deepEqual(pidsOf(treeMembers(records, tree, new Map(), true, 7)), [50, 51, 52, 53, 54, 55, 61]);
});

test('treeMembers() does not trust the pid of a leader that is gone: a later owner is a stranger', () => {
  const records = [record(50, 1, 50, { started: 'later' }), record(51, 50, 50), record(54, 1, 54)];
  assert.deepEqual(treeMembers(records, tree, new Map([[50, 's50'], [54, 'other']]), false, 7), []);
  assert.deepEqual(pidsOf(treeMembers(records, tree, new Map([[54, 's54']]), false, 7)), [54]);
});

test('treeMembers() never names the host, its session or init', () => {
  const records = [record(1, 0, 1, { marked: true }), record(7, 1, 7, { marked: true }), record(8, 7, 7), record(9, 1, 7, { marked: true })];
  assert.deepEqual(treeMembers(records, tree, new Map(), true, 7), [{ ...records[3], group: 0 }]);
});
