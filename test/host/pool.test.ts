import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import type { Person } from '../../src/host/types.ts';
import { fixture, home } from '../support/hosts.ts';
import { isAlive, processFiles, waitUntilGone } from '../support/process.ts';
import { fakeTimers } from '../support/timers.ts';

test('lease() has servers of its own, unless it names what it shares', async (t) => {
  const files = processFiles(t);
  const host = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } }).host({ timers: fakeTimers() });
  const [a, b] = [host.lease(), host.lease()];
  const [one, two] = await Promise.all([a.connections.open('docs'), b.connections.open('docs')]);
  assert.notEqual(one.process?.pid, two.process?.pid);
  const [c, d] = [host.lease({ share: 'team' }), host.lease({ share: 'team' })];
  assert.equal(await c.connections.open('docs'), await d.connections.open('docs'));
  assert.equal(files.pids().length, 3);
  await a.release();
  assert.equal(isAlive(one.process!.pid!), false);
  assert.equal(isAlive(two.process!.pid!), true);
  assert.throws(() => host.lease({ share: 'team', config: host.config }), TypeError);
});

test('shared servers outlive their last holder by the grace, and whoever comes within it finds them running', async (t) => {
  const files = processFiles(t), timers = fakeTimers();
  const host = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } }).host({ timers });
  const first = host.lease({ share: 'team' }), second = host.lease({ share: 'team' });
  await first.connections.open('docs');
  await first.release();
  await first.release();
  assert.deepEqual(timers.waits(), [], 'somebody holds it still');
  await second.release();
  assert.deepEqual(timers.waits(), [limits.poolGraceMs]);
  const third = host.lease({ share: 'team' });
  assert.deepEqual(timers.waits(), []);
  await third.connections.open('docs');
  assert.equal(files.pids().length, 1, 'the same process');
  await third.release();
  timers.fire();
  await waitUntilGone(files.pids());
  await host.lease({ share: 'team' }).connections.open('docs');
  assert.equal(files.pids().length, 2, 'another one');
});

test('host.close() ends every lease and session at once', async (t) => {
  const files = processFiles(t), timers = fakeTimers();
  const host = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } }).host({ timers });
  const shared = host.lease({ share: 'team' });
  await Promise.all([shared.connections.open('docs'), host.lease().connections.open('docs'), host.open('docs'), (async () => { await (await host.session()).step(); })()]);
  assert.equal(files.pids().length, 4);
  await shared.release();
  await host.close();
  await waitUntilGone(files.pids());
  assert.deepEqual(timers.waits(), []);
  await assert.rejects(host.session(), { code: 'CONNECTION_CLOSED' });
  await assert.rejects(host.lease().connections.open('docs'), { code: 'CONNECTION_CLOSED' });
});

test('a server that several share asks the first holder who can answer, and the next one when that has left', async (t) => {
  const asked: string[] = [];
  const person = (name: string): Person => ({ answer: () => { asked.push(name); return Promise.resolve({ action: 'decline' }); } });
  const host = home(t, { mcp: { docs: fixture() } }).host({ timers: fakeTimers() });
  const first = host.lease({ share: 'team', person: person('first') });
  host.lease({ share: 'team', person: person('second') });
  const { client } = await first.connections.open('docs');
  await client.callTool('ask', { what: 'elicitation' });
  await first.release();
  await client.callTool('ask', { what: 'elicitation' });
  assert.deepEqual(asked, ['first', 'second']);
});
