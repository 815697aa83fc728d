/** What a terminal shows while servers are waited for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure } from '../../src/base/failure.ts';
import { waitingText } from '../../src/cli/commands/mcp-list.ts';
import { retryText } from '../../src/cli/open.ts';
import type { ServerRetry, ServerStatus } from '../../src/host/types.ts';
import { startTroubled } from '../support/troubled-server.ts';
import { fixture, sandbox } from './support.ts';

const busy = new Failure('HTTP_STATUS', 'Cannot use it', { stage: 'list', recovery: 'retryable', details: { status: 503, url: '', excerpt: '' } }) as AnyFailure;
const cut = new Failure('CONNECTION_CLOSED', 'Cannot use it', { stage: 'list', recovery: 'retryable', details: {} }) as AnyFailure;
const status = (name: string, state: ServerStatus['state'], more: Partial<ServerStatus> = {}): ServerStatus => ({ name, state, transport: 'http', origin: undefined, timings: [], attempts: [], timeouts: { requestMs: 5000, connectMs: 30_000 }, updatedAt: 0, ...more });
const retry = (server: string, failure: AnyFailure): [string, ServerRetry] => [server, { server, attempt: 1, tries: 3, waitMs: 2000, failure }];

test('waitingText() names who is still waited for, and why again', () => {
  const statuses = [status('a', 'connected', { toolCount: 0 }), status('b', 'connecting'), status('c', 'failed', { failure: cut }), status('d', 'failed', { failure: busy }), status('e', 'disabled'), status('f', 'idle')];
  assert.equal(waitingText(statuses, new Map([retry('d', busy), retry('c', busy)])), '2 of 5 servers checked · waiting for b, d (answers 503, try 2 of 3), f');
  assert.equal(waitingText(Array.from({ length: 8 }, (_, n) => status(`s${n}`, 'connecting')), new Map()), '0 of 8 servers checked · waiting for s0, s1, s2, s3, s4 and 3 more');
  assert.equal(waitingText([status('a', 'connected', { toolCount: 1 })], new Map()), '1 of 1 server checked');
});

test('retryText() says who, why, which try and when', () => {
  assert.equal(retryText(retry('docs', busy)[1]), 'docs answers 503: try 2 of 3 in 2.0 s');
  assert.equal(retryText(retry('docs', cut)[1]), 'docs was cut off: try 2 of 3 in 2.0 s');
});

test('mcp list asks all servers at once: a slow one is named on the live line and delays nobody (row 101)', async (t) => {
  const { run, config } = sandbox(t);
  const server = await startTroubled(t, { 'tools/list': [{ status: 503, headers: { 'retry-after': '0' } }] });
  config({ mcp: { quick: { type: 'remote', url: server.url }, slow: { ...fixture('--initialize-ms=900', '--tools=echo') } } });
  const { status: exit, stdout, stderr } = await run(['mcp', 'list'], { terminal: { columns: 100 } });
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /1 of 2 servers checked · waiting for slow · \d/);
  assert.ok(stderr.endsWith('\r\u001b[2K'));
  assert.match(stdout, /quick.*connected/);
  assert.match(stdout, /slow.*connected/);
  assert.equal(server.count('tools/list'), 2);
  assert.equal((await run(['mcp', 'list'])).stderr, '');
});

test('a server that is tried again is told on a terminal, and in a pipe only to who wants to know (row 102)', async (t) => {
  const { run, config } = sandbox(t);
  const trouble = { status: 429, headers: { 'retry-after': '0' } };
  const server = await startTroubled(t, { 'resources/read': [trouble, trouble, trouble, trouble] }, { era: 'modern', resources: true });
  config({ mcp: { docs: { type: 'remote', url: server.url } } });
  const shown = await run(['read', 'docs', 'file:///a.txt'], { terminal: { columns: 100 } });
  assert.equal(shown.status, 4);
  assert.match(shown.stderr, /docs answers 429: try 2 of 3 in 0\.0 s/);
  const told = await run(['read', 'docs', 'file:///a.txt', '--log-level', 'info']);
  assert.deepEqual([told.status, told.stdout], [0, 'alpha\n']);
  assert.match(told.stderr, /The server "docs" is tried again in 0 ms \(try 2 of 3\)/);
});
