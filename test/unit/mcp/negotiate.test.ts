import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import { isReplaySafe } from '../../../src/mcp/methods.ts';
import { judge, modernAfterAll, noCommonRevision, type Circumstances, type Observation } from '../../../src/mcp/negotiate.ts';
import { eraOf, legacyRevisions, modernRevisions, mutual, newestLegacy, newestModern } from '../../../src/mcp/revisions.ts';

const failure = new Failure('TIMEOUT', 'Cannot ask the server what it speaks: no answer', { stage: 'probe', details: { afterMs: 1 } }) as AnyFailure;
const on = (carrier: Circumstances['carrier'], wanted = 'auto', corrected = false): Circumstances => ({ carrier, wanted, corrected });
const stdio = on('process'), http = on('network');

const discovered = (...supportedVersions: unknown[]): Observation => ({ kind: 'result', value: { resultType: 'complete', supportedVersions, capabilities: {} } });
const error = (code: number, data?: unknown): Observation => ({ kind: 'error', code, data, failure });
const unsupported = (...supported: unknown[]): Observation => error(-32022, { supported, requested: newestModern });

/** What a verdict comes down to, in one word or two. */
function verdict(seen: Observation, at: Circumstances): string {
  const made = judge(seen, at);
  switch (made.kind) {
    case 'modern': case 'again': return `${made.kind} ${made.revision}`;
    case 'legacy': return [made.kind, ...(made.fresh ? ['fresh'] : []), ...(made.revision === undefined ? [] : [made.revision])].join(' ');
    case 'fail': return `fail ${made.failure.code}`;
  }
}

test('judge(): what a stdio server\'s answer to the probe proves (MCP 2026-07-28, stdio probe)', () => {
  const rows: readonly (readonly [string, Observation])[] = [
    ['modern 2026-07-28', discovered('2026-07-28')],
    ['modern 2026-07-28', discovered('2025-11-25', '2027-01-01', '2026-07-28')],
    ['legacy 2025-06-18', discovered('2025-06-18', '2024-11-05')],
    ['fail REVISION_UNSUPPORTED', discovered('2027-01-01')],
    ['fail REVISION_UNSUPPORTED', discovered()],
    ['again 2026-07-28', unsupported('2026-07-28')],
    ['again 2026-07-28', unsupported('2025-11-25', '2026-07-28')],
    ['legacy 2025-11-25', unsupported('2024-11-05', '2025-11-25')],
    ['fail REVISION_UNSUPPORTED', unsupported('2027-01-01')],
    ['legacy', unsupported()],
    ['legacy', unsupported(7)],
    ['legacy', error(-32022)],
    ['legacy', error(-32022, { supported: '2026-07-28' })],
    ['fail TIMEOUT', error(-32020)],
    ['fail TIMEOUT', error(-32021, { requiredCapabilities: {} })],
    ...[-32601, -32602, -32600, -32000, -32001, -32003, -32004, -32700, -32603, 0].map((code) => ['legacy', error(code)] as const),
    ['legacy', { kind: 'silence', failure }],
    ['legacy fresh', { kind: 'gone', failure }],
    ['fail TIMEOUT', { kind: 'trouble', failure }],
  ];
  for (const [expected, seen] of rows) assert.equal(verdict(seen, stdio), expected, JSON.stringify(seen));
});

test('judge(): what an HTTP server\'s answer to the probe proves (MCP 2026-07-28, HTTP probe)', () => {
  const rows: readonly (readonly [string, Observation])[] = [
    ['modern 2026-07-28', discovered('2026-07-28')],
    ['again 2026-07-28', unsupported('2026-07-28')],
    ['fail TIMEOUT', error(-32020)],
    ['fail TIMEOUT', error(-32021)],
    ['legacy', error(-32000)],
    ['legacy', error(-32601)],
    ['legacy', { kind: 'foreign', failure }],
    ['fail TIMEOUT', { kind: 'silence', failure }],
    ['fail TIMEOUT', { kind: 'gone', failure }],
    ['fail TIMEOUT', { kind: 'trouble', failure }],
  ];
  for (const [expected, seen] of rows) assert.equal(verdict(seen, http), expected, JSON.stringify(seen));
});

test('judge() takes no result for a discovery that is none', () => {
  for (const value of [{}, [], null, 'ok', { supportedVersions: ['2026-07-28'] }, { capabilities: {} }, { supportedVersions: '2026-07-28', capabilities: {} }, { supportedVersions: ['2026-07-28', 7], capabilities: {} }]) {
    assert.equal(verdict({ kind: 'result', value }, stdio), 'legacy', JSON.stringify(value));
    assert.equal(verdict({ kind: 'result', value }, http), 'legacy');
  }
});

test('judge() asks again once, even for the version that was just refused, and not twice', () => {
  assert.equal(verdict(unsupported('2026-07-28'), on('network', 'auto', true)), 'fail TIMEOUT');
  assert.equal(verdict(discovered('2026-07-28'), on('network', 'auto', true)), 'modern 2026-07-28');
  assert.equal(verdict(error(-32601), on('process', 'auto', true)), 'legacy');
});

test('judge() never falls back from a pinned revision (row 61)', () => {
  const pinned = on('process', '2026-07-28');
  assert.equal(verdict(discovered('2026-07-28'), pinned), 'modern 2026-07-28');
  assert.equal(verdict(unsupported('2026-07-28'), pinned), 'again 2026-07-28');
  for (const seen of [error(-32601), { kind: 'silence', failure }, { kind: 'gone', failure }, unsupported('2025-11-25'), unsupported(), discovered('2025-11-25'), { kind: 'result', value: {} }] as const) {
    const made = judge(seen, pinned);
    assert.ok(made.kind === 'fail' && made.failure.code === 'REVISION_UNSUPPORTED', JSON.stringify(seen));
    assert.deepEqual(made.failure.details.ours, ['2026-07-28']);
  }
  const refused = judge(error(-32601), pinned);
  assert.ok(refused.kind === 'fail' && refused.failure.cause === failure);
});

test('modernAfterAll() believes only -32022 with a modern revision we share', () => {
  assert.equal(modernAfterAll(-32022, { supported: ['2025-11-25', '2026-07-28'] }), '2026-07-28');
  for (const [code, data] of [[-32601, { supported: ['2026-07-28'] }], [-32022, undefined], [-32022, { supported: '2026-07-28' }], [-32022, { supported: ['2025-11-25'] }], [-32022, { supported: ['2027-01-01'] }]] as const) {
    assert.equal(modernAfterAll(code, data), undefined);
  }
});

test('noCommonRevision() names both sides', () => {
  const made = noCommonRevision(['2026-07-28'], ['2027-01-01', '2028-01-01']);
  assert.match(made.message, /server speaks 2027-01-01, 2028-01-01, this client 2026-07-28/);
  assert.match(noCommonRevision(['2026-07-28'], []).message, /server speaks none/);
});

test('revisions: newest first, one era boundary, ours decide the choice', () => {
  assert.deepEqual([...legacyRevisions].sort().reverse(), legacyRevisions);
  assert.deepEqual([modernRevisions[0], legacyRevisions[0]], [newestModern, newestLegacy]);
  assert.ok(modernRevisions.every((revision) => eraOf(revision) === 'modern') && legacyRevisions.every((revision) => eraOf(revision) === 'legacy'));
  assert.equal(eraOf('2027-01-01'), 'modern');
  assert.equal(mutual(legacyRevisions, ['2024-11-05', '2025-06-18']), '2025-06-18');
  assert.equal(mutual(legacyRevisions, ['x']), undefined);
});

test('isReplaySafe(): reading methods may be sent twice, everything else may not (row 109)', () => {
  for (const method of ['initialize', 'ping', 'completion/complete', 'prompts/get', 'prompts/list', 'resources/list', 'resources/read', 'resources/templates/list', 'tools/list', 'server/discover']) assert.equal(isReplaySafe(method), true, method);
  for (const method of ['tools/call', 'sampling/createMessage', 'x/unknown', 'constructor', '']) assert.equal(isReplaySafe(method), false, method);
});
