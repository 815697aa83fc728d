import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, isFailure, toFailure, withContext, type AnyFailure, type Origin } from '../../../src/base/failure.ts';

const origin: Origin = { file: '/etc/zuno/zuno.json', layer: 'managed', key: 'mcp.docs', line: 3 };
const timeout = (extra: { hint?: string; origin?: Origin } = {}): AnyFailure =>
  new Failure('TIMEOUT', 'Cannot list tools: no answer within 5 ms', { stage: 'list', details: { afterMs: 5 }, recovery: 'retryable', ...extra }) as AnyFailure;

test('Failure carries code, stage, details, recovery and cause, and is an Error', () => {
  const cause = new Error('below');
  const failure = new Failure('TIMEOUT', 'Cannot x: y', { stage: 'call', details: { afterMs: 5 }, cause });
  assert.ok(failure instanceof Error);
  assert.equal(failure.name, 'Failure');
  assert.equal(failure.code, 'TIMEOUT');
  assert.equal(failure.stage, 'call');
  assert.deepEqual(failure.details, { afterMs: 5 });
  assert.equal(failure.recovery, 'blocked');
  assert.equal(failure.cause, cause);
  assert.equal('cause' in new Failure('INTERNAL', 'x', { stage: 'internal', details: {} }), false);
});

test('isFailure() narrows details by code', () => {
  const value: unknown = timeout();
  assert.ok(isFailure(value));
  if (value.code === 'TIMEOUT') assert.equal(value.details.afterMs, 5); else assert.fail('another code');
  assert.equal(isFailure(new Error('x')), false);
});

test('toFailure() gives a failure back as it is and makes everything else INTERNAL', () => {
  const known = timeout();
  assert.equal(toFailure(known), known);
  const cause = new RangeError('too far');
  const made = toFailure(cause, 'call');
  assert.equal(made.code, 'INTERNAL');
  assert.equal(made.stage, 'call');
  assert.equal(made.message, 'Cannot go on: too far');
  assert.equal(made.cause, cause);
  assert.equal(toFailure('text').message, 'Cannot go on: text');
});

test('toFailure() survives values that have no text', () => {
  for (const value of [undefined, null, Symbol('s'), Object.create(null), { toString() { throw new Error('no'); } }]) assert.equal(toFailure(value).code, 'INTERNAL');
});

test('withContext() adds what was not known and keeps what was', () => {
  const bare = timeout();
  const told = withContext(bare, { origin, hint: 'zuno-lite mcp debug docs' });
  assert.notEqual(told, bare);
  assert.equal(told.origin, origin);
  assert.equal(told.hint, 'zuno-lite mcp debug docs');
  assert.equal(told.code, 'TIMEOUT');
  assert.equal(told.recovery, 'retryable');
  assert.equal(told.stack, bare.stack);

  const full = timeout({ hint: 'first', origin });
  assert.equal(withContext(full, { hint: 'second', origin: { file: 'x', layer: 'y' } }), full);
  assert.equal(withContext(full, {}), full);
  assert.equal(withContext(full, { stage: 'list' }), full);
});

test('withContext() moves a failure to the stage where it was met, and works without a stack', () => {
  const bare = timeout();
  delete bare.stack;
  const moved = withContext(bare, { stage: 'probe' });
  assert.equal(moved.stage, 'probe');
  assert.deepEqual(moved.details, bare.details);
});
