import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { createSeal } from '../../../src/mcp/request-state.ts';

const binding = { principal: 'ann', method: 'tools/call', params: { name: 'x', arguments: { b: 1, a: [2] }, _meta: { progressToken: 1 } } };

test('seal() makes a state that opens for the same request, whatever its answers, its _meta and the order of its members', () => {
  const { seal, open } = createSeal(1000);
  const token = seal({ state: 'é' }, binding);
  const retry = { ...binding, params: { _meta: { other: 1 }, arguments: { a: [2], b: 1 }, inputResponses: { k: {} }, requestState: token, name: 'x' } };
  assert.deepEqual(open(token, retry)?.content, { state: 'é' });
  assert.doesNotMatch(Buffer.from(token, 'base64url').toString('latin1'), /state/);
});

test('open() refuses every other request, principal, server and spelling', () => {
  const { seal, open } = createSeal(1000);
  const token = seal({ state: 'x' }, binding);
  for (const other of [{ ...binding, principal: 'bob' }, { ...binding, method: 'prompts/get' }, { ...binding, params: { name: 'y', arguments: { b: 1, a: [2] } } }, { ...binding, params: { name: 'x', arguments: { b: 1, a: [3] } } }]) assert.equal(open(token, other), undefined);
  assert.equal(createSeal(1000).open(token, binding), undefined);
  for (const wrong of ['', 'x', `${token}-TAMPERED`, `${token}=`, `${token}.`, token.slice(0, -4), `A${token.slice(1)}`, 'x'.repeat(2 * limits.requestStateBytes + 1)]) assert.equal(open(wrong, binding), undefined, wrong.slice(0, 20));
  assert.ok(open(token, binding));
});

test('open() refuses a state that expired', (t) => {
  const clock = mock.method(performance, 'now', () => 5);
  t.after(() => clock.mock.restore());
  const { seal, open } = createSeal(1000);
  const token = seal({}, binding);
  clock.mock.mockImplementation(() => 1005);
  assert.ok(open(token, binding));
  clock.mock.mockImplementation(() => 1005.1);
  assert.equal(open(token, binding), undefined);
});

test('spend() works once; what lies far behind the states remembered counts as spent', () => {
  const { seal, open } = createSeal(60_000);
  const first = seal({}, binding), kept = seal({}, binding);
  const opened = open(kept, binding)!, again = open(kept, binding)!;
  assert.deepEqual([opened.spend(), again.spend(), open(kept, binding)], [true, false, undefined]);
  for (let n = 0; n < limits.spentStates + 1; n++) assert.ok(open(seal({}, binding), binding)!.spend());
  assert.equal(open(first, binding), undefined, 'never used, but older than what is remembered');
  assert.ok(open(seal({}, binding), binding));
});
