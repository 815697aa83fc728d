import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyConfig } from '../../../src/config/defaults.ts';
import { isPending, liveTable, rowCells, rowDocument, rowsOf, unfinished } from '../../../src/cli/server-table.ts';
import type { Row } from '../../../src/cli/server-table.ts';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import type { Config, ServerEntry, Template } from '../../../src/config/types.ts';
import type { ServerStatus } from '../../../src/host/types.ts';

const origin = { file: '/home/ann/zuno.json', layer: 'global', line: 3 };
const literal = (text: string): Template => ({ parts: [text], source: text });
const local = (name: string): ServerEntry => ({ kind: 'local', name, origin, enabled: true, timeouts: { requestMs: 1, connectMs: 2 }, protocol: 'auto', shadowed: [], command: literal('node'), args: [], cwd: '/', environment: {} });
const status = (name: string, state: ServerStatus['state'], more: Partial<ServerStatus> = {}) => ({ name, state, transport: 'stdio', origin, timings: [], attempts: [], updatedAt: 0, timeouts: { requestMs: 1, connectMs: 2 }, ...more }) as ServerStatus;
const lost = { code: 'x', severity: 'error', pointer: 'mcp.x.command', message: 'Cannot use it', origin, server: 'x' } as const;
const config: Config = { ...emptyConfig, workspace: '/', servers: new Map([['b', local('b')], ['a', local('a')]]), diagnostics: [lost, { ...lost, pointer: 'mcp.x.cwd' }] };
const failed = new Failure('CONNECTION_CLOSED', 'Cannot', { stage: 'call', details: {} }) as AnyFailure;
const text = (row: Row): string[] => rowCells(row, '/home/ann').map((cell) => (typeof cell === 'string' ? cell : cell.text));

test('rowsOf() has every server by name, the lost ones with the pointer of their first mistake', () => {
  const rows = rowsOf(config, [status('a', 'connected', { toolCount: 2, era: 'legacy' })]);
  assert.deepEqual(rows.map((row) => text(row).slice(0, 5)), [['a', 'connected', 'stdio', '2', 'legacy'], ['b', 'not probed', 'stdio', '', ''], ['x', 'invalid', 'unknown', '', '']]);
  assert.equal(text(rows[0]!).at(-1), '~/zuno.json:3 (global)');
  assert.deepEqual((rowDocument(rows[2]!, { renamed: [], dropped: [] }) as { error: unknown }).error, { code: 'CONFIG_INVALID', pointer: 'mcp.x.command', message: 'Cannot use it', origin });
  assert.deepEqual(rowsOf({ ...config, mcpEnabled: false }, undefined).map((row) => row.status), ['disabled', 'disabled', 'invalid']);
});

test('isPending() is whatever somebody still waits for', () => {
  const retry = new Map([['a', { server: 'a', attempt: 1, tries: 3, waitMs: 1, failure: failed }]]);
  assert.deepEqual([isPending(status('a', 'idle'), retry), isPending(status('a', 'connecting'), retry), isPending(status('a', 'connected'), retry), isPending(status('a', 'failed', { failure: failed }), retry)], [true, true, true, true]);
  const canceled = new Failure('CANCELED', 'Cannot', { stage: 'list', details: {} }) as AnyFailure;
  assert.equal(isPending(status('a', 'connected', { failure: canceled }), retry), true);
  assert.deepEqual([isPending(status('a', 'connected', { toolCount: 0 }), retry), isPending(status('a', 'connected', { failure: failed }), retry), isPending(status('b', 'failed', { failure: failed }), retry), isPending(status('a', 'disconnected'), retry)], [false, false, false, false]);
});

test('unfinished() says of each row why nothing more is known', () => {
  const rows = rowsOf(config, [status('a', 'connected'), status('b', 'connecting')]), pending = new Set(['a', 'b']);
  const late = unfinished(rows, pending, 'late', 500);
  assert.deepEqual(late.map((row) => text(row)[1]), ['connected, still listing', 'still connecting', 'invalid']);
  assert.deepEqual(late.map((row) => row.failure?.message), ['Cannot tell how the server "a" is: its tools were not listed after 500 ms', 'Cannot tell how the server "b" is: it was still connecting after 500 ms', undefined]);
  const canceled = unfinished(rows, pending, 'canceled', 0);
  assert.deepEqual(canceled.map((row) => text(row)[1]), ['connected, not listed (canceled)', 'not probed (canceled)', 'invalid']);
  assert.deepEqual(unfinished(rows, new Set(), 'late', 1), rows);
});

test('rowCells() tells faults, failures and sign-ins apart', () => {
  const [row] = rowsOf(config, undefined) as [Row];
  const login = new Failure('LOGIN_REQUIRED', 'Cannot', { stage: 'auth', details: {} }) as AnyFailure;
  const cell = (more: Partial<Row>): string => text({ ...row, ...more })[1]!;
  assert.deepEqual([cell({ status: 'connected', failure: failed }), cell({ status: 'failed', probed: status('a', 'failed', { failureKind: 'timeout' }), failure: failed }), cell({ status: 'failed' }), cell({ status: 'connecting' }), cell({ status: 'disconnected' }), cell({ failure: login }), cell({ failure: login, signInUrl: 'https://x' })],
    ['connected, with faults', 'timeout', 'failed', 'connecting', 'disconnected', 'needs login', 'signing in']);
});

test('liveTable() is the table with what is waited for below it', () => {
  const lines = liveTable(rowsOf(config, [status('a', 'connecting')]), 'waiting for a', '/home/ann', 100).map((line) => line.map((span) => (typeof span === 'string' ? span : span.text)).join(''));
  assert.match(lines[0]!, /^NAME +STATUS/);
  assert.match(lines[1]!, /^a +connecting/);
  assert.equal(lines.at(-1), 'waiting for a');
});
