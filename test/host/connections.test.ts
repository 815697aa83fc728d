import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { isFailure, type AnyFailure } from '../../src/base/failure.ts';
import { limits } from '../../src/base/limits.ts';
import { loadConfig } from '../../src/config/load.ts';
import { resolvePaths } from '../../src/base/paths.ts';
import type { Config } from '../../src/config/types.ts';
import type { HostEvent, Lease } from '../../src/host/types.ts';
import { fixture, home, type Home } from '../support/hosts.ts';
import { everything, isAlive, processFiles, tempDir, waitFor, waitUntilGone } from '../support/process.ts';
import { fakeTimers } from '../support/timers.ts';

const failureOf = async (work: Promise<unknown>): Promise<AnyFailure> => {
  const caught: unknown = await work.then(() => undefined, (error: unknown) => error);
  assert.ok(isFailure(caught), `a Failure is due, not ${String(caught)}`);
  return caught;
};
const stateOf = ({ connections }: Lease, server = 'docs'): string | undefined => connections.status().find(({ name }) => name === server)?.state;
const story = (lease: Lease): HostEvent['kind'][] => { const kinds: HostEvent['kind'][] = []; lease.connections.on(({ kind }) => { if (kind !== 'catalogue') kinds.push(kind); }); return kinds; };

/** The table that these entries make, with the same workspace each time. */
function tableOf(directory: string, mcp: Record<string, unknown>, more: Record<string, unknown> = {}): Config {
  const paths = { ...resolvePaths({ platform: 'linux', home: directory, environment: {} }), managed: path.join(directory, 'managed') };
  return loadConfig({ cwd: directory, environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp, ...more }) }, paths });
}

test('open() of a server that crashed tells how it ended, and the next call starts it again within its deadline (row 81, row 82)', async (t) => {
  const files = processFiles(t);
  const lease = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } }).host({ timers: fakeTimers() }).lease();
  const kinds = story(lease);
  const first = await lease.connections.open('docs');
  process.kill(first.process!.pid!, 'SIGKILL');
  await waitFor(() => stateOf(lease) === 'disconnected', 'the loss');
  const [status] = lease.connections.status();
  assert.equal(status?.failureKind, 'unexpected_disconnect');
  assert.ok(status.failure?.code === 'SERVER_EXITED');
  assert.deepEqual([status.failure.details.signal, typeof status.failure.details.stderrTail, status.failure.origin?.key], ['SIGKILL', 'string', 'mcp.docs']);
  const second = await lease.connections.open('docs');
  assert.notEqual(second.process?.pid, first.process?.pid);
  assert.deepEqual((await second.client.callTool('echo', { text: 'there' })).isError, false);
  assert.deepEqual(kinds, ['started', 'connected', 'lost', 'started', 'connected', 'restarted']);
});

test('a server that cannot be started is tried again in the background with growing waits, and a call meanwhile fails at once and says when (row 83)', async (t) => {
  const directory = tempDir(t), program = path.join(directory, 'late-server');
  const timers = fakeTimers();
  const lease = home(t, { mcp: { docs: { type: 'local', command: [program] } } }).host({ timers, retryClock: { random: () => 0.5 } }).lease();
  const events: HostEvent[] = [];
  lease.connections.on((event) => events.push(event));
  assert.equal((await failureOf(lease.connections.open('docs'))).code, 'SPAWN_FAILED');
  assert.deepEqual(timers.waits(), [2_000]);
  // Right after the first failure a call may try for itself.
  await failureOf(lease.connections.open('docs'));
  assert.deepEqual(timers.waits(), [4_000], 'one wait, and a longer one');
  const starts = events.filter(({ kind }) => kind === 'started').length;
  const early = await failureOf(lease.connections.open('docs'));
  assert.match(early.message, /failed several times and is tried again in \d s/);
  assert.equal(events.filter(({ kind }) => kind === 'started').length, starts, 'nothing was started');
  for (const due of [8_000, 16_000, 30_000, 30_000]) {
    timers.fire();
    await waitFor(() => timers.waits()[0] === due, `a wait of ${due}`);
  }
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${everything}"\n`);
  chmodSync(program, 0o755);
  timers.fire();
  await waitFor(() => stateOf(lease) === 'connected', 'the late server');
  assert.deepEqual(timers.waits(), []);
  assert.equal(events.at(-1)?.kind, 'restarted');
  assert.ok(events.some((event) => event.kind === 'failed' && event.retryInMs === 2_000 && event.failureKind === 'process_start_failed'));
});

test('what does not pass by itself is not tried again, and one command tries nothing in the background', async (t) => {
  const timers = fakeTimers();
  const unset = home(t, { mcp: { docs: { type: 'local', command: ['{env:NO_SUCH_VARIABLE_HERE}'] } } }).host({ timers }).lease();
  assert.equal((await failureOf(unset.connections.open('docs'))).code, 'VARIABLE_UNSET');
  assert.deepEqual(timers.waits(), []);
  const once = home(t, { mcp: { docs: { type: 'local', command: ['no-such-program-here'] } } }).host({ timers, life: 'one-shot' }).lease();
  await failureOf(once.connections.open('docs'));
  assert.deepEqual(timers.waits(), []);
  const gone = home(t, { mcp: { docs: { type: 'local', command: ['no-such-program-here'] } } }).host({ timers });
  const lease = gone.lease();
  await failureOf(lease.connections.open('docs'));
  assert.equal(timers.waits().length, 1);
  await gone.close();
  assert.deepEqual(timers.waits(), [], 'a closed host waits for nothing');
});

test('a server that ends as soon as it is there is not started in a loop', async (t) => {
  const timers = fakeTimers();
  const lease = home(t, { mcp: { docs: fixture() } }).host({ timers, retryClock: { random: () => 0.5 } }).lease();
  for (let round = 0; round < 2; round += 1) {
    process.kill((await lease.connections.open('docs')).process!.pid!, 'SIGKILL');
    await waitFor(() => stateOf(lease) === 'disconnected', 'the loss');
  }
  assert.match((await failureOf(lease.connections.open('docs'))).message, /tried again in 2 s/);
  assert.equal((await lease.connections.connect('docs')).client.era, 'legacy', 'a person does not wait');
});

test('disconnect() is sticky: no call brings the server back, connect() does (row 85)', async (t) => {
  const files = processFiles(t);
  const lease = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } }).host().lease();
  const kinds = story(lease);
  assert.equal(await lease.connections.disconnect('docs'), false, 'it was not there');
  const refused = await failureOf(lease.connections.open('docs'));
  assert.match(refused.message, /disconnected by hand/);
  await lease.connections.connect('docs');
  assert.equal(await lease.connections.disconnect('docs'), true);
  await waitUntilGone(files.pids());
  assert.match((await failureOf(lease.connections.open('docs'))).message, /disconnected by hand/);
  assert.equal(files.pids().length, 1, 'no call started it');
  await lease.connections.connect('docs');
  assert.equal(stateOf(lease), 'connected');
  assert.deepEqual(kinds, ['started', 'connected', 'closed', 'started', 'connected', 'restarted']);
  assert.equal((await failureOf(lease.connections.disconnect('nobody'))).code, 'SERVER_UNKNOWN');
});

test('connect() and disconnect() fired together never leave two processes (row 94)', async (t) => {
  const files = processFiles(t);
  const lease = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`, '--initialize-ms=5') } }).host().lease();
  const all: Promise<unknown>[] = [];
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, files.pids().filter(isAlive).length); }, 1);
  for (let round = 0; round < 15; round += 1) {
    all.push(lease.connections.connect('docs').catch(() => {}), lease.connections.disconnect('docs'));
    if (round % 5 === 4) await Promise.allSettled(all);
  }
  await Promise.allSettled(all);
  clearInterval(watch);
  await waitUntilGone(files.pids());
  assert.ok(most <= 1, `${most} lived at once`);
  assert.equal(stateOf(lease), 'disconnected');
  await lease.connections.connect('docs');
  assert.equal(files.pids().filter(isAlive).length, 1);
});

test('disconnect() while it starts gives the start up, and nothing late is installed', async (t) => {
  const files = processFiles(t);
  const lease = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`, '--initialize-ms=3000') } }).host().lease();
  const opening = failureOf(lease.connections.open('docs'));
  await waitFor(() => files.pids().length === 1, 'the process');
  assert.equal(await lease.connections.disconnect('docs'), true);
  assert.equal((await opening).code, 'CANCELED');
  await waitUntilGone(files.pids());
  assert.equal(lease.connections.peek('docs'), undefined);
});

test('replace() ends what is gone or changed before anything starts, and keeps the rest (row 86)', async (t) => {
  const directory = tempDir(t), marks = processFiles(t), others = processFiles(t);
  const a = (flag: string): object => ({ type: 'local', command: [process.execPath, everything, `--pids=${marks.pidsFile}`, flag] });
  const c = { type: 'local', command: [process.execPath, everything, `--pids=${others.pidsFile}`] };
  const host = home(t, {}).host();
  const lease = host.lease({ config: tableOf(directory, { a: a('--name=one'), c }) });
  const order: string[] = [];
  lease.connections.on((event) => { if (event.kind === 'closed' || event.kind === 'started') order.push(`${event.kind} ${event.server}`); });
  const [before, kept] = await Promise.all([lease.connections.open('a'), lease.connections.open('c')]);
  await lease.catalogue.settle();
  order.length = 0;
  const replaced = lease.connections.replace(tableOf(directory, { b: a('--name=two'), c: { ...c, timeout: 9_000 } }));
  const b = await replaced.then(() => lease.connections.open('b'));
  assert.deepEqual(order, ['closed a', 'started b']);
  assert.equal(isAlive(before.process!.pid!), false, 'it had ended by then');
  assert.equal(lease.connections.peek('c'), kept, 'the unchanged one keeps its process');
  assert.equal(lease.connections.status().find(({ name }) => name === 'c')?.timeouts.requestMs, 9_000);
  assert.equal((await failureOf(lease.connections.open('a'))).code, 'SERVER_UNKNOWN');
  assert.deepEqual([...(await lease.catalogue.view()).servers.keys()], ['c'], 'what is known of the rest stays');
  await lease.catalogue.settle();
  assert.deepEqual([...(await lease.catalogue.view()).servers.keys()].sort(), ['b', 'c']);
  // A changed entry under the same name is another server.
  await lease.connections.replace(tableOf(directory, { b: a('--name=three'), c: { ...c, enabled: false } }));
  assert.equal(isAlive(b.process!.pid!), false);
  assert.deepEqual(lease.connections.status().map(({ name, state }) => [name, state]).sort(), [['b', 'idle'], ['c', 'disabled']]);
  await lease.connections.replace(tableOf(directory, { c }));
  assert.equal(stateOf(lease, 'c'), 'idle');
});

test('at most mcp_connections servers are on their way at once (row 93)', async (t) => {
  const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
  const lease = home(t, { concurrency: { mcp_connections: 3 }, mcp: Object.fromEntries(names.map((name) => [name, fixture('--initialize-ms=40')])) }).host().lease();
  let most = 0;
  const count = (): void => { most = Math.max(most, lease.connections.status().filter(({ state }) => state === 'connecting').length); };
  lease.connections.on(count);
  await lease.catalogue.settle();
  assert.equal(most, 3);
  assert.equal(lease.connections.status().filter(({ state }) => state === 'connected').length, 12);
});

test('looking starts nothing (row 95), and broken servers break nothing (row 87)', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`), broken: { type: 'local', command: ['no-such-program-here'] }, off: { ...fixture(), enabled: false } } });
  const house = host(), lease = house.lease();
  house.status();
  lease.connections.status();
  await lease.catalogue.view();
  await lease.connections.revalidate();
  assert.deepEqual(files.pids(), []);
  await lease.catalogue.settle();
  const view = await lease.catalogue.view();
  assert.deepEqual([[...view.servers.keys()], view.failures.map(({ server, failure }) => [server, failure.code])], [['docs'], [['broken', 'SPAWN_FAILED']]]);
  assert.equal((await failureOf(lease.connections.open('off'))).code, 'CONFIG_INVALID');
  assert.equal(await lease.connections.disconnect('off'), false);
});

test('revalidate() notices a server that no longer answers, once for all who ask, and leaves it to the next call to start it (row 88)', async (t) => {
  const files = processFiles(t);
  const lease = home(t, { mcp: { docs: { ...fixture(`--pids=${files.pidsFile}`), timeout: 300 } } }).host({ timers: fakeTimers() }).lease();
  const { process: server } = await lease.connections.open('docs');
  await lease.connections.revalidate(['docs']);
  assert.equal(stateOf(lease), 'connected');
  process.kill(server!.pid!, 'SIGSTOP');
  const checks = [lease.connections.revalidate(), lease.connections.revalidate(['docs'])];
  assert.equal(checks[0], checks[1]);
  await Promise.all(checks);
  const [status] = lease.connections.status();
  assert.deepEqual([status?.state, status?.failureKind], ['disconnected', 'connection_timeout']);
  process.kill(server!.pid!, 'SIGCONT');
  await lease.connections.open('docs');
  assert.equal(stateOf(lease), 'connected');
});

test('a listener that throws harms nobody, and one that left hears nothing', async (t) => {
  const house: Home = home(t, { mcp: { docs: fixture() } });
  const host = house.host(), lease = host.lease();
  const heard: string[] = [];
  lease.connections.on(() => { throw new Error('not today'); });
  const off = lease.connections.on(({ kind }) => heard.push(kind));
  host.on(({ kind }) => heard.push(`host ${kind}`));
  await lease.connections.open('docs');
  off();
  await lease.release();
  assert.deepEqual(heard, ['host started', 'started', 'host connected', 'connected', 'host closed']);
  assert.ok(house.logged.some(({ event }) => event === 'host.listener'));
});

test('opening and closing leaves no listener and no timer behind', async (t) => {
  const lease = home(t, { mcp: { docs: fixture() } }).host().lease();
  const signal = new AbortController().signal;
  await lease.connections.connect('docs', signal);
  await lease.connections.disconnect('docs');
  const resources = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;
  const before = resources();
  for (let round = 0; round < 10; round += 1) {
    await lease.connections.connect('docs', signal);
    for (let again = 0; again < 20; again += 1) await lease.connections.open('docs', signal);
    await lease.connections.disconnect('docs');
  }
  await new Promise((resolve) => { setTimeout(resolve, limits.drainMs); });
  assert.ok(resources() <= before + 1, `${before} before, ${resources()} after`);
});
