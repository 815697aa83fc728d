import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallLanes } from '../../../src/host/call-lanes.ts';

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

test('run() lets parallel work run up to the bound and exclusive work alone, in the order in which it came', async () => {
  const lanes = createCallLanes(2), events: string[] = [], ends = new Map<string, () => void>();
  const start = (name: string, exclusive: boolean): Promise<string> => lanes.run(exclusive, async () => {
    events.push(name);
    await new Promise<void>((resolve) => { ends.set(name, resolve); });
    events.push(`/${name}`);
    return name;
  });
  const all = Promise.all([start('p1', false), start('p2', false), start('p3', false), start('x1', true), start('x2', true), start('p4', false)]);
  const end = async (name: string): Promise<void> => { ends.get(name)!(); await turn(); };
  await turn();
  assert.deepEqual(events, ['p1', 'p2']);
  await end('p2');
  assert.deepEqual(events, ['p1', 'p2', '/p2', 'p3']);
  await end('p1');
  assert.equal(events.includes('x1'), false, 'the barrier waits for all before it');
  await end('p3');
  await end('x1');
  assert.deepEqual(events.slice(5), ['/p3', 'x1', '/x1', 'x2'].slice(0), events.join());
  await end('x2');
  await end('p4');
  assert.deepEqual(await all, ['p1', 'p2', 'p3', 'x1', 'x2', 'p4']);
});

test('run() gives the place on when work fails', async () => {
  const lanes = createCallLanes(1);
  const failed = lanes.run(true, () => Promise.reject(new Error('no')));
  const after = lanes.run(true, () => Promise.resolve('yes'));
  await assert.rejects(failed, /no/);
  assert.equal(await after, 'yes');
});

test('run() begins work whose signal aborts while it waits at once, without a place', async () => {
  const lanes = createCallLanes(1), giveUp = new AbortController();
  let end = (): void => {};
  const first = lanes.run(true, () => new Promise<void>((resolve) => { end = resolve; }));
  const second = lanes.run(true, () => Promise.resolve('gave up'), giveUp.signal), third = lanes.run(false, () => Promise.resolve('third'));
  await turn();
  giveUp.abort();
  assert.equal(await second, 'gave up');
  assert.equal(await lanes.run(true, () => Promise.resolve('late'), giveUp.signal), 'late');
  end();
  await first;
  assert.equal(await third, 'third');
});
