import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import { createRedactor } from '../../../src/base/redact.ts';
import { redactFailure } from '../../../src/base/redact-failure.ts';

const { redact } = createRedactor(['open-sesame-4711']);
const failure = (text: string, cause?: unknown): AnyFailure => new Failure('REMOTE_ERROR', `Cannot go on: ${text}`, {
  stage: 'call', details: { rpcCode: 1, method: 'tools/call', data: { list: [{ deep: text }, 1, null] } }, hint: `try ${text}`, recovery: 'unknown', origin: { file: 'f', layer: 'global' }, cause,
}) as AnyFailure;

test('redactFailure() masks message, hint, facts and the chain of causes, and keeps the rest', () => {
  const clean = redactFailure(failure('open-sesame-4711', new Error('because open-sesame-4711', { cause: 'x' })), redact);
  assert.doesNotMatch(JSON.stringify([clean.message, clean.hint, clean.details, String(clean.cause), clean.stack]), /sesame/);
  assert.equal(clean.code, 'REMOTE_ERROR');
  assert.equal(clean.recovery, 'unknown');
  assert.equal(clean.origin?.file, 'f');
  const nested = redactFailure(failure('fine', failure('open-sesame-4711', 'open-sesame-4711')), redact);
  assert.doesNotMatch(JSON.stringify([(nested.cause as AnyFailure).message, (nested.cause as AnyFailure).cause]), /sesame/);
});

test('redactFailure() gives back the very failure where there is nothing to mask', () => {
  const plain = failure('nothing here', new Error('nor here'));
  assert.equal(redactFailure(plain, redact), plain);
});

test('redactFailure() ends in whatever a server nested', () => {
  let data: unknown = 'open-sesame-4711';
  for (let i = 0; i < 20_000; i++) data = [data];
  const deep = new Failure('REMOTE_ERROR', 'Cannot go on', { stage: 'call', details: { rpcCode: 1, method: 'x', data } }) as AnyFailure;
  assert.doesNotMatch(JSON.stringify(redactFailure(deep, redact).details), /sesame/);
});
