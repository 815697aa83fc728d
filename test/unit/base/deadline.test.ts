import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mock, test } from 'node:test';
import { delay, now, settlesWithin, startDeadline } from '../../../src/base/deadline.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('startDeadline() aborts when the budget is used up and says that time ran out', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const deadline = startDeadline(100);
    mock.timers.tick(99);
    assert.equal(deadline.signal.aborted, false);
    assert.equal(deadline.expired, false);
    mock.timers.tick(1);
    assert.equal(deadline.expired, true);
    assert.equal((deadline.signal.reason as DOMException).name, 'TimeoutError');
  } finally {
    mock.timers.reset();
  }
});

test('startDeadline() aborts with the outer reason and does not call that expired, not even later', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const outer = new AbortController();
    const deadline = startDeadline(100, outer.signal);
    outer.abort('enough');
    assert.equal(deadline.signal.reason, 'enough');
    mock.timers.tick(1_000);
    assert.equal(deadline.expired, false);
    assert.equal(startDeadline(100, outer.signal).signal.aborted, true);
  } finally {
    mock.timers.reset();
  }
});

test('startDeadline() counts down and never below zero', async () => {
  const deadline = startDeadline(30);
  assert.equal(deadline.budgetMs, 30);
  assert.ok(deadline.remaining() > 0 && deadline.remaining() <= 30);
  await delay(40);
  assert.equal(deadline.remaining(), 0);
  assert.ok(deadline.elapsed() >= 30);
  deadline.dispose();
});

test('startDeadline() takes budgets that no timer can hold', () => {
  const deadline = startDeadline(Infinity);
  assert.equal(deadline.remaining(), Infinity);
  deadline.dispose();
  startDeadline(-5).dispose();
});

test('dispose() leaves neither a timer nor a listener', () => {
  const before = process.getActiveResourcesInfo().length;
  const outer = new AbortController();
  const deadline = startDeadline(60_000, outer.signal);
  assert.equal(listeners(outer.signal), 1);
  deadline.dispose();
  deadline.dispose();
  assert.equal(listeners(outer.signal), 0);
  assert.equal(process.getActiveResourcesInfo().length, before);
});

test('delay() resolves early when its signal aborts, and leaves no listener', async () => {
  const controller = new AbortController();
  const startedAt = now();
  const waiting = delay(60_000, controller.signal);
  controller.abort();
  await waiting;
  await delay(60_000, controller.signal);
  assert.ok(now() - startedAt < 5_000);

  const quiet = new AbortController();
  await delay(1, quiet.signal);
  assert.equal(listeners(quiet.signal), 0);
});

test('settlesWithin() is true for anything that settles in time and false otherwise', async () => {
  assert.equal(await settlesWithin(Promise.resolve(1), 1_000), true);
  assert.equal(await settlesWithin(Promise.reject(new Error('no')), 1_000), true);
  assert.equal(await settlesWithin(new Promise(() => {}), 5), false);
});
