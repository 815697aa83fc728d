import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codes, isModernError } from '../../../src/jsonrpc/codes.ts';
import { classify, parseFrame } from '../../../src/jsonrpc/message.ts';

const kindOf = (value: unknown): string | undefined => classify(typeof value === 'object' && value !== null && !Array.isArray(value) ? { jsonrpc: '2.0', ...value } : value)?.kind;

test('classify() knows the four kinds', () => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['request', { id: 1, method: 'ping' }],
    ['request', { id: 'a', method: 'ping', params: {} }],
    ['request', { id: '', method: 'x' }],
    ['request', { id: 0, method: 'x', result: 1 }],
    ['notification', { method: 'n' }],
    ['notification', { method: 'n', params: { a: 1 } }],
    ['result', { id: 1, result: {} }],
    ['result', { id: 1, result: null }],
    ['result', { id: 1, result: [], error: null }],
    ['error', { id: 1, error: { code: -1, message: 'x' } }],
    ['error', { error: { code: -32700, message: 'x' } }],
    ['error', { id: null, error: { code: -32700, message: 'x' } }],
    ['error', { id: 1, result: null, error: { code: -1, message: 'x' } }],
  ];
  for (const [kind, value] of rows) assert.equal(kindOf(value), kind, JSON.stringify(value));
});

test('classify() refuses what is none of them', () => {
  const rows: readonly unknown[] = [
    null, 'ping', 7, [], [{ jsonrpc: '2.0', method: 'n' }],
    {}, { id: 1 }, { result: {} }, { id: null, result: {} }, { id: 1.5, result: {} }, { id: true, result: {} },
    { id: null, method: 'x' }, { id: 1.5, method: 'x' }, { id: {}, method: 'x' },
    { method: 7 }, { id: 1, method: null }, { method: 'n', params: [] }, { method: 'n', params: 'x' },
    { id: 1, result: {}, error: { code: 1, message: 'x' } }, { id: {}, error: { code: 1, message: 'x' } },
  ];
  for (const value of rows) assert.equal(kindOf(value), undefined, JSON.stringify(value));
  for (const version of [undefined, '1.0', 2, 2.0]) assert.equal(classify({ jsonrpc: version, method: 'n' }), undefined);
});

test('classify() treats null params as absent', () => {
  const message = classify({ jsonrpc: '2.0', id: 1, method: 'x', params: null });
  assert.ok(message?.kind === 'request');
  assert.equal(message.message.params, undefined);
});

test('classify() makes an absent and a null id of an error the same', () => {
  for (const value of [{ jsonrpc: '2.0', error: { code: -32700, message: 'x' } }, { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'x' } }]) {
    const message = classify(value);
    assert.ok(message?.kind === 'error');
    assert.equal(message.message.id, null);
  }
});

test('classify() believes an error whose code or message is unusable, so that its request does not wait for ever', () => {
  const rows: readonly (readonly [unknown, object])[] = [
    [{ code: 'ECONN', message: 'x' }, { code: codes.internalError, message: 'x' }],
    [{ code: 1.5 }, { code: codes.internalError, message: '' }],
    [{ message: 7, data: [1] }, { code: codes.internalError, message: '', data: [1] }],
    ['it broke', { code: codes.internalError, message: 'it broke' }],
    [false, { code: codes.internalError, message: '' }],
    [{ code: -7, message: 'x', data: null }, { code: -7, message: 'x', data: null }],
  ];
  for (const [error, expected] of rows) {
    const message = classify({ jsonrpc: '2.0', id: 1, error });
    assert.ok(message?.kind === 'error', JSON.stringify(error));
    assert.deepEqual(message.message.error, expected);
  }
});

test('isModernError() holds for the three codes of 2026-07-28 and nothing else', () => {
  for (const code of [-32020, -32021, -32022]) assert.equal(isModernError(code), true);
  for (const code of [-32000, -32001, -32003, -32004, -32601, -32602, -32019, -32023, -1]) assert.equal(isModernError(code), false);
});

const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

test('parseFrame() reads what nests 512 levels, and of a message that nests deeper only what it is and whose', () => {
  const one = (text: string): unknown => { const frame = parseFrame(text); return classify(frame?.value, frame?.pruned); };
  assert.deepEqual(one(`{"jsonrpc":"2.0","id":1,"result":[]}`), { kind: 'result', message: { jsonrpc: '2.0', id: 1, result: [] } });
  assert.equal((one(`{"jsonrpc":"2.0","id":1,"result":${deep(511)}}`) as { kind: string }).kind, 'result');
  for (const levels of [512, 20_000, 1_000_000]) {
    for (const [text, message] of [
      [`{"jsonrpc":"2.0","id":7,"result":${deep(levels)}}`, { of: 'answer', id: 7 }],
      [`{"result":{"a":[${deep(levels)}],"id":9},"jsonrpc":"2.0","id":"x"}`, { of: 'answer', id: 'x' }],
      [`\ufeff {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":${deep(levels)}}}`.slice(1), { of: 'answer', id: 1 }],
      [`{"jsonrpc":"2.0","error":${deep(levels)}}`, { of: 'answer', id: null }],
      [`{"jsonrpc":"2.0","id":2,"method":"roots/list","params":{"x":${deep(levels)}}}`, { of: 'request', id: 2 }],
      [`{"jsonrpc":"2.0","method":"notifications/message","params":{"x":${deep(levels)}}}`, { of: 'notification', id: null }],
    ] as const) assert.deepEqual(one(text), { kind: 'refused', message }, text.slice(0, 60));
  }
});

test('parseFrame() takes a batch apart, and finds no message where there is none', () => {
  const batch = parseFrame(`[{"jsonrpc":"2.0","id":1,"result":${deep(600)}},{"jsonrpc":"2.0","id":2,"result":{}}]`)?.value as unknown[];
  assert.deepEqual(batch.map((item) => classify(item, true)), [{ kind: 'refused', message: { of: 'answer', id: 1 } }, { kind: 'refused', message: { of: 'answer', id: 2 } }]);
  for (const text of [deep(20_000), '['.repeat(20_000), `{"a":${deep(600)}}`, `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(600)}`]) {
    const value = parseFrame(text)?.value;
    for (const item of Array.isArray(value) ? value as unknown[] : [value]) assert.equal(classify(item, true), undefined, text.slice(0, 20));
  }
});
