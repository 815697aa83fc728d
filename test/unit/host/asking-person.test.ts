import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askInBatches, createBatch, type Batch } from '../../../src/host/asking-person.ts';
import type { Approval, ApprovalAnswer } from '../../../src/registry/types.ts';

const approval = {} as Approval;

test('ask() hands the answer on, and a "no" to every question of the batch that waits or comes', async () => {
  const batch = createBatch(), answers: ((answer: ApprovalAnswer) => void)[] = [];
  const question = (): Promise<ApprovalAnswer> => new Promise((resolve) => { answers.push(resolve); });
  const first = batch.ask(question);
  answers[0]!('once');
  assert.equal(await first, 'once');
  const second = batch.ask(question), third = batch.ask(question);
  answers[2]!('no');
  assert.deepEqual(await Promise.all([second, third]), ['no', 'no']);
  assert.equal(await batch.ask(question), 'no');
  assert.equal(answers.length, 3);
  answers[1]!('no');
});

test('ask() rejects with what the question rejects with, and the batch goes on', async () => {
  const batch = createBatch();
  await assert.rejects(batch.ask(() => Promise.reject(new Error('gone'))), /gone/);
  assert.equal(await batch.ask(() => Promise.resolve('always')), 'always');
});

test('askInBatches() finds the batch by the signal of the call, and asks plainly without one', async () => {
  assert.equal(askInBatches(undefined, new WeakMap()), undefined);
  const batches = new WeakMap<AbortSignal, Batch>(), { signal } = new AbortController(), asked: string[] = [];
  const approve = askInBatches(() => { asked.push('asked'); return Promise.resolve('no'); }, batches)!;
  batches.set(signal, createBatch());
  for (const given of [signal, signal, undefined, new AbortController().signal]) assert.equal(await approve(approval, given), 'no');
  assert.equal(asked.length, 3);
});
