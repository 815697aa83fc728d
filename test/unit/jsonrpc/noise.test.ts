import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { createNoise } from '../../../src/jsonrpc/noise.ts';

test('the first 32 are told, then each 1,024th', () => {
  const noise = createNoise();
  const told = Array.from({ length: 3000 }, () => noise.heard('x')).flatMap((notice) => (notice?.kind === 'noise' ? [notice.total] : []));
  assert.deepEqual(told, [...Array.from({ length: 32 }, (_, index) => index + 1), 1024, 2048]);
});

test('blank text is counted and told only on each 1,024th', () => {
  const noise = createNoise();
  const told = Array.from({ length: 1024 }, () => noise.heard(' \n')).filter((notice) => notice !== undefined);
  assert.deepEqual(told, [{ kind: 'noise', excerpt: ' \n', total: 1024, run: 1024 }]);
});

test('a message ends the run, never the total; an excerpt is short', () => {
  const noise = createNoise();
  noise.heard('a');
  assert.deepEqual(noise.heard('b'), { kind: 'noise', excerpt: 'b', total: 2, run: 2 });
  noise.message();
  assert.deepEqual(noise.heard('c'.repeat(100_000)), { kind: 'noise', excerpt: 'c'.repeat(limits.excerptBytes), total: 3, run: 1 });
});
