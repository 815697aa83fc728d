/** FACTS table T7: each kind of failure that a status can show, by what brings it about. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Failure, type AnyFailure, type FailureCode, type FailureDetails, type Stage } from '../../src/base/failure.ts';
import { failureKind, type FailureKind } from '../../src/host/failure-kinds.ts';
import { fixture, home } from '../support/hosts.ts';
import { waitFor } from '../support/process.ts';
import { fakeTimers } from '../support/timers.ts';
import { startTroubled } from '../support/troubled-server.ts';

function failure<C extends FailureCode>(code: C, stage: Stage, details: FailureDetails[C]): AnyFailure {
  return new Failure(code, 'Cannot', { stage, details }) as AnyFailure;
}
const http = (status: number): AnyFailure => failure('HTTP_STATUS', 'connect', { status, url: '', excerpt: '' });

const table: readonly (readonly [kind: FailureKind, failure: AnyFailure, wasConnected?: true])[] = [
  ['config_invalid', failure('VARIABLE_UNSET', 'config', { token: '', key: '' })],
  ['runtime_unavailable', failure('INTERNAL', 'internal', {})],
  ['process_start_failed', failure('SPAWN_FAILED', 'spawn', { command: '' })],
  ['network_unreachable', failure('CONNECT_FAILED', 'connect', { address: '' })],
  ['connection_timeout', failure('TIMEOUT', 'list', { afterMs: 1 })],
  ['protocol_negotiation_failed', failure('REVISION_UNSUPPORTED', 'handshake', { ours: [], theirs: [] })],
  ['tool_list_failed', failure('REMOTE_ERROR', 'list', { rpcCode: -32603, method: 'tools/list' })],
  ['unexpected_disconnect', failure('CONNECTION_CLOSED', 'call', {}), true],
  ['oauth_authorization_failed', failure('LOGIN_REFUSED', 'auth', {})],
  ['official_origin_untrusted', failure('ISSUER_UNTRUSTED', 'auth', { issuer: '' })],
  ['not_authenticated', failure('LOGIN_REQUIRED', 'auth', {})],
  ['coding_plan_required', http(402)],
  ['server_not_found', http(404)],
  ['server_unavailable', http(503)],
  ['rate_limited', http(429)],
  ['server_internal_error', http(500)],
  ['protocol_error', failure('PROTOCOL_VIOLATION', 'handshake', {})],
  ['status_unavailable', failure('TRUST_REFUSED', 'trust', { file: '', keys: [] })],
  ['connection_failed', failure('CONNECTION_CLOSED', 'connect', {})],
];

test('failureKind() has a way to every one of the 19 kinds (row 88)', () => {
  assert.equal(new Set(table.map(([kind]) => kind)).size, 19);
  for (const [kind, cause, wasConnected = false] of table) assert.equal(failureKind(cause, wasConnected), kind);
});

async function statusOf(t: TestContext, entry: Record<string, unknown>): Promise<string | undefined> {
  const lease = home(t, { mcp: { docs: entry } }).host({ timers: fakeTimers(), retryClock: { sleep: () => Promise.resolve() } }).lease();
  await lease.catalogue.settle();
  return lease.connections.status()[0]?.failureKind;
}

const local: readonly (readonly [FailureKind, Record<string, unknown>])[] = [
  ['config_invalid', { type: 'local', command: ['{env:NO_SUCH_VARIABLE_HERE}'] }],
  ['process_start_failed', { type: 'local', command: ['no-such-program-here'] }],
  ['network_unreachable', { type: 'remote', url: 'http://127.0.0.1:9/' }],
  ['protocol_negotiation_failed', { ...fixture('--era=modern'), protocol: 'legacy' }],
  ['tool_list_failed', fixture('--list-fails-after=0')],
  ['protocol_error', fixture('--junk-at-start=40')],
];
for (const [kind, entry] of local) test(`status() shows ${kind} for its server (row 88)`, async (t) => assert.equal(await statusOf(t, entry), kind));

for (const [kind, status] of [['oauth_authorization_failed', 401], ['coding_plan_required', 402], ['server_not_found', 404], ['rate_limited', 429], ['server_internal_error', 500], ['server_unavailable', 503]] as const) {
  test(`status() shows ${kind} for HTTP ${status} (row 88)`, async (t) => {
    const { url } = await startTroubled(t, { '*': Array.from({ length: 20 }, () => ({ status })) });
    assert.equal(await statusOf(t, { type: 'remote', url, transport: 'http', oauth: false }), kind);
  });
}

test('status() shows unexpected_disconnect for a server that is lost (row 88)', async (t) => {
  const lease = home(t, { mcp: { docs: fixture() } }).host({ timers: fakeTimers() }).lease();
  process.kill((await lease.connections.open('docs')).process!.pid!, 'SIGKILL');
  await waitFor(() => lease.connections.status()[0]?.failureKind === 'unexpected_disconnect', 'the kind');
});
