import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { Failure, isFailure, type AnyFailure, type FailureCode, type Stage } from '../../../src/base/failure.ts';
import type { Notice } from '../../../src/jsonrpc/transport.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import type { Client, ConnectOptions, Era } from '../../../src/mcp/types.ts';
import { clientInfo, createLegacyPeer, createModernPeer, createScriptedPeer, exited, type Scripted, type ScriptedPeer, type ScriptedPeerOptions } from '../../support/scripted-peer.ts';

type Options = Partial<Omit<ConnectOptions, 'transport'>>;

/** Connects to the peers one after another: each fresh start takes the next one. */
function connect(peers: ScriptedPeer | readonly ScriptedPeer[], options: Options = {}): Promise<Client> {
  const queue = [peers].flat();
  return connectClient({ clientInfo, connectMs: 5_000, ...options, transport: () => queue.shift()?.transport ?? assert.fail('no further start was expected') });
}
async function failureOf<C extends FailureCode>(promise: Promise<unknown>, code: C): Promise<Failure<C>> {
  const outcome = await promise.then(() => assert.fail('it succeeded'), (error: unknown) => error);
  assert.ok(isFailure(outcome), String(outcome));
  assert.equal(outcome.code, code, outcome.message);
  return outcome as unknown as Failure<C>;
}
const methods = (peer: ScriptedPeer): unknown[] => peer.sent.map(({ method }) => method);
const remember = (): { recall(): Era | undefined; remember(era: Era): void; readonly eras: Era[] } => { const eras: Era[] = []; return { eras, recall: () => eras.at(-1), remember: (era) => { eras.push(era); } }; };
const silent: Scripted = () => undefined;

// ---- auto

test('connectClient() asks a modern server what it speaks, and needs no handshake', async () => {
  const peer = createModernPeer(), memory = remember(), stages: string[] = [];
  const client = await connect(peer, { memory, onStage: (stage) => stages.push(stage) });
  assert.deepEqual(methods(peer), ['server/discover']);
  assert.deepEqual(peer.sent[0]?.params, { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': clientInfo, 'io.modelcontextprotocol/clientCapabilities': {} } });
  assert.deepEqual([client.era, client.revision, client.serverInfo, client.instructions], ['modern', '2026-07-28', { name: 'modern', version: '2' }, 'Be kind']);
  assert.deepEqual(peer.negotiated, [{ era: 'modern', revision: '2026-07-28' }]);
  assert.deepEqual(memory.eras, ['modern']);
  assert.deepEqual(stages, ['spawn', 'probe']);
  await client.close();
});

test('connectClient() takes a server\'s name from where older drafts put it, and does without', async () => {
  const older = await connect(createModernPeer({ discovered: { _meta: undefined, serverInfo: { name: 'old', version: '0' }, instructions: 7 } }));
  assert.deepEqual([older.serverInfo, older.instructions], [{ name: 'old', version: '0' }, undefined]);
  assert.equal((await connect(createModernPeer({ discovered: { _meta: {} } }))).serverInfo, undefined);
});

test('connectClient() shakes hands with a legacy server on the same connection, cleanly (row 59)', async () => {
  const peer = createLegacyPeer(), memory = remember(), stages: string[] = [];
  const client = await connect(peer, { memory, onStage: (stage) => stages.push(stage), answers: { roots: () => [] } });
  assert.deepEqual(methods(peer), ['server/discover', 'initialize', 'notifications/initialized']);
  assert.deepEqual(peer.sent[1]?.params, { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo });
  assert.deepEqual([client.era, client.revision, client.serverInfo, client.instructions], ['legacy', '2025-11-25', { name: 'legacy', version: '1' }, 'Be brief']);
  assert.deepEqual(peer.negotiated, [{ era: 'legacy', revision: '2025-11-25' }]);
  assert.deepEqual(memory.eras, ['legacy']);
  assert.deepEqual(stages, ['spawn', 'probe', 'handshake']);
});

test('connectClient() accepts every legacy revision that a server picks (row 60)', async () => {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) assert.equal((await connect(createLegacyPeer({ revision }))).revision, revision);
});

test('connectClient() fails clearly on a revision nobody knows, and ends the server (row 60)', async () => {
  for (const revision of ['2023-01-01', '2026-07-28', 'latest']) {
    const peer = createLegacyPeer({ revision });
    const failure = await failureOf(connect(peer), 'REVISION_UNSUPPORTED');
    assert.deepEqual(failure.details.theirs, [revision]);
    assert.equal(failure.stage, 'handshake');
    assert.equal(peer.closeCount, 1);
    assert.equal(methods(peer).includes('notifications/initialized'), false);
  }
  const mute = createScriptedPeer({ answers: { 'server/discover': () => ({ error: { code: -32601 } }), initialize: () => ({ result: {} }) } });
  assert.deepEqual((await failureOf(connect(mute), 'REVISION_UNSUPPORTED')).details.theirs, []);
});

test('connectClient() takes silence for a legacy server, keeps the process, tells no cancel, ignores the late answer (row 62)', async () => {
  const peer = createLegacyPeer({ answers: { 'server/discover': silent } }), notices: Notice[] = [];
  const client = await connect(peer, { connectMs: 200, onNotice: (notice) => notices.push(notice) });
  assert.deepEqual(methods(peer), ['server/discover', 'initialize', 'notifications/initialized']);
  peer.result(1, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} });
  assert.equal(client.era, 'legacy');
  assert.deepEqual(notices, [{ kind: 'unmatched', id: 1, reason: 'late' }]);
});

test('connectClient() starts a server again that died of the probe, and asks it nothing new (row 62)', async () => {
  const first = createScriptedPeer({ answers: { 'server/discover': (_request, peer) => { peer.end(exited()); } } }), second = createLegacyPeer();
  const client = await connect([first, second]);
  assert.equal(client.era, 'legacy');
  assert.equal(first.closeCount, 1);
  assert.deepEqual(methods(second), ['initialize', 'notifications/initialized']);
});

test('connectClient() asks once more when the version is refused, even for the same version, and not a third time', async () => {
  const refusal = { error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'], requested: '2026-07-28' } } };
  let asked = 0;
  const once = createScriptedPeer({ answers: { 'server/discover': () => (++asked === 1 ? refusal : { result: { supportedVersions: ['2026-07-28'], capabilities: {} } }) } });
  assert.equal((await connect(once)).era, 'modern');
  assert.equal(asked, 2);

  const always = createScriptedPeer({ answers: { 'server/discover': () => refusal } });
  assert.equal((await failureOf(connect(always), 'REMOTE_ERROR')).details.rpcCode, -32022);
  assert.deepEqual(methods(always), ['server/discover', 'server/discover']);
});

test('connectClient() shakes hands with the legacy revision that a dual server lists', async () => {
  const peer = createLegacyPeer({ revision: '2025-06-18', answers: { 'server/discover': () => ({ error: { code: -32022, data: { supported: ['2025-06-18'], requested: 'x' } } }) } });
  assert.equal((await connect(peer)).revision, '2025-06-18');
  assert.equal(peer.sent[1]?.params?.['protocolVersion'], '2025-06-18');
});

test('connectClient() sees that a slow server was modern after all', async () => {
  let asked = 0;
  const peer = createModernPeer({ answers: {
    'server/discover': () => (++asked === 1 ? undefined : { result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } }),
    initialize: () => ({ error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2025-11-25' } } }),
  } });
  const memory = remember();
  const client = await connect(peer, { connectMs: 200, memory });
  assert.deepEqual([client.era, client.capabilities], ['modern', { tools: {} }]);
  assert.deepEqual(methods(peer), ['server/discover', 'initialize', 'server/discover']);
  assert.deepEqual(memory.eras, ['modern']);
});

test('connectClient() gives the refusal of initialize when it proves nothing, or its proof does not hold', async () => {
  const plain = createScriptedPeer({ answers: { 'server/discover': () => ({ error: { code: -32601 } }), initialize: () => ({ error: { code: -32603, message: 'not today' } }) } });
  assert.match((await failureOf(connect(plain), 'REMOTE_ERROR')).message, /initialize the connection.*not today/);
  const liar = createScriptedPeer({ answers: { 'server/discover': () => ({ error: { code: -32601 } }), initialize: () => ({ error: { code: -32022, data: { supported: ['2026-07-28'] } } }) } });
  assert.equal((await failureOf(connect(liar), 'REMOTE_ERROR')).details.rpcCode, -32022);
});

test('connectClient() surfaces a modern error of the probe instead of falling back', async () => {
  for (const code of [-32020, -32021]) {
    const peer = createLegacyPeer({ answers: { 'server/discover': () => ({ error: { code } }) } });
    assert.equal((await failureOf(connect(peer), 'REMOTE_ERROR')).details.rpcCode, code);
    assert.deepEqual(methods(peer), ['server/discover']);
  }
});

// ---- told what to speak

test('connectClient() never probes where legacy was asked for or remembered', async () => {
  for (const options of [{ protocol: 'legacy' }, { protocol: '2025-11-25' }, { memory: { recall: () => 'legacy' as const, remember() {} } }]) {
    const peer = createLegacyPeer();
    assert.equal((await connect(peer, options)).era, 'legacy');
    assert.deepEqual(methods(peer), ['initialize', 'notifications/initialized']);
  }
});

test('connectClient() finds out that a remembered legacy server has been updated', async () => {
  const peer = createModernPeer({ answers: { initialize: () => ({ error: { code: -32022, data: { supported: ['2026-07-28'], requested: 'x' } } }) } });
  assert.equal((await connect(peer, { memory: { recall: () => 'legacy', remember() {} } })).era, 'modern');
});

test('connectClient() probes a remembered modern server, because its capabilities are needed', async () => {
  const peer = createModernPeer();
  await connect(peer, { memory: { recall: () => 'modern', remember() {} } });
  assert.deepEqual(methods(peer), ['server/discover']);
});

test('connectClient() offers a pinned legacy revision and accepts no other', async () => {
  const kept = createLegacyPeer({ revision: '2025-03-26' });
  assert.equal((await connect(kept, { protocol: '2025-03-26' })).revision, '2025-03-26');
  assert.equal(kept.sent[0]?.params?.['protocolVersion'], '2025-03-26');
  const failure = await failureOf(connect(createLegacyPeer({ revision: '2025-11-25' }), { protocol: '2025-03-26' }), 'REVISION_UNSUPPORTED');
  assert.deepEqual(failure.details, { ours: ['2025-03-26'], theirs: ['2025-11-25'] });
});

test('connectClient() pinned to a modern revision fails on a legacy server without trying initialize (row 61)', async () => {
  assert.equal((await connect(createModernPeer(), { protocol: '2026-07-28' })).era, 'modern');
  const legacy = createLegacyPeer();
  await failureOf(connect(legacy, { protocol: '2026-07-28' }), 'REVISION_UNSUPPORTED');
  assert.deepEqual(methods(legacy), ['server/discover']);
  assert.equal(legacy.closeCount, 1);
  const dead = createScriptedPeer({ answers: { 'server/discover': (_request, peer) => { peer.end(); } } });
  assert.equal(((await failureOf(connect(dead, { protocol: '2026-07-28' }), 'REVISION_UNSUPPORTED')).cause as AnyFailure).code, 'SERVER_EXITED');
});

// ---- over a network

const http: ScriptedPeerOptions = { kind: 'streamable-http', perRequest: true };
/** Refuses the probe as an HTTP transport would, and is a legacy server otherwise. */
function refusing(failure: AnyFailure, options: ScriptedPeerOptions = http): ScriptedPeer {
  return createLegacyPeer({ ...options, answers: { 'server/discover': silent }, onSend: (message) => (message.kind === 'request' && message.method === 'server/discover' ? Promise.reject(failure) : undefined) });
}
const status = (code: number, stage: Stage = 'probe'): AnyFailure => new Failure('HTTP_STATUS', `Cannot reach http://127.0.0.1:1/mcp: status ${code}`, { stage, details: { status: code, url: 'http://127.0.0.1:1/mcp', excerpt: '' } }) as AnyFailure;

test('connectClient() takes an HTTP refusal of the unknown for a legacy server, and trouble for trouble', async () => {
  for (const code of [400, 404, 405, 406, 415, 422]) assert.equal((await connect(refusing(status(code)))).era, 'legacy', String(code));
  for (const code of [301, 401, 403, 408, 429, 500, 502, 503]) {
    const peer = refusing(status(code));
    assert.equal((await failureOf(connect(peer), 'HTTP_STATUS')).details.status, code);
    assert.deepEqual(methods(peer), ['server/discover']);
  }
});

test('connectClient() takes an answer that is no message for a legacy server over HTTP, and for noise on a pipe', async () => {
  const garbled = new Failure('PROTOCOL_VIOLATION', 'Cannot read the answer: it is HTML', { stage: 'probe', details: {} }) as AnyFailure;
  assert.equal((await connect(refusing(garbled))).era, 'legacy');
  await failureOf(connect(refusing(garbled, { kind: 'stdio' })), 'PROTOCOL_VIOLATION');
});

test('connectClient() does not fall back because a network is silent, gone or wants a login', async () => {
  const mute = createLegacyPeer({ ...http, answers: { 'server/discover': silent } });
  await failureOf(connect(mute, { connectMs: 60 }), 'TIMEOUT');
  assert.deepEqual([methods(mute), mute.closeCount], [['server/discover'], 1]);
  for (const code of ['LOGIN_REQUIRED', 'CONNECTION_CLOSED', 'CONNECT_FAILED'] as const) {
    const peer = refusing(new Failure(code, 'Cannot', { stage: 'probe', details: { address: 'x' } as never }) as AnyFailure);
    await failureOf(connect(peer), code);
    assert.deepEqual(methods(peer), ['server/discover']);
  }
});

test('connectClient() lets a slow HTTP server use the whole budget for the probe (row 63)', async () => {
  const peer = createModernPeer({ ...http, answers: { 'server/discover': (request, self) => { setTimeout(() => self.result(request.id, { supportedVersions: ['2026-07-28'], capabilities: {} }), 300); } } });
  assert.equal((await connect(peer, { connectMs: 500 })).era, 'modern');
});

test('connectClient() knows that HTTP+SSE is legacy', async () => {
  const peer = createLegacyPeer({ kind: 'sse' });
  assert.equal((await connect(peer)).era, 'legacy');
  assert.deepEqual(methods(peer), ['initialize', 'notifications/initialized']);
  await failureOf(connect(createLegacyPeer({ kind: 'sse' }), { protocol: '2026-07-28' }), 'REVISION_UNSUPPORTED');
});

test('connectClient() tries the older transport when the handshake meets 400, 404 or 405, and tells both stories when that fails too (row 99)', async () => {
  const closed = (code: number): ScriptedPeer => createScriptedPeer({ ...http, onSend: (message) => Promise.reject(status(code, message.kind === 'request' && message.method === 'initialize' ? 'handshake' : 'probe')) });
  for (const code of [400, 404, 405]) {
    const newer = closed(code), older = createLegacyPeer({ kind: 'sse' });
    assert.equal((await connect(newer, { fallback: () => older.transport })).era, 'legacy');
    assert.equal(newer.closeCount, 1);
  }
  const failure = await failureOf(connect(closed(405), { fallback: () => createScriptedPeer({ kind: 'sse', open: () => Promise.reject(exited()) }).transport }), 'HTTP_STATUS');
  assert.match(failure.message, /status 405; nor is it a server of the older HTTP\+SSE kind: .*exited/);
  assert.equal((failure.cause as AggregateError).errors.length, 2);
  await failureOf(connect(closed(500), { fallback: () => assert.fail('an outage is no old server') }), 'HTTP_STATUS');
  await failureOf(connect(closed(405)), 'HTTP_STATUS');
});

// ---- budgets and ends

test('connectClient() answers a ping during the handshake and nothing else (row 75)', async () => {
  const peer = createLegacyPeer({ answers: { initialize: (request, self) => {
    self.request('p', 'ping');
    self.request('r', 'roots/list');
    self.result(request.id, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } });
  } } });
  await connect(peer, { answers: { roots: () => [] } });
  assert.deepEqual(peer.sent.filter(({ id }) => typeof id === 'string'), [{ jsonrpc: '2.0', id: 'p', result: {} }, { jsonrpc: '2.0', id: 'r', error: { code: -32601, message: 'Method not found: roots/list' } }]);
});

test('connectClient() gives up within its budget wherever the server hangs, and cancels no handshake on the wire', async () => {
  const mute = createScriptedPeer({ answers: { 'server/discover': () => ({ error: { code: -32601 } }) } });
  const failure = await failureOf(connect(mute, { connectMs: 60 }), 'TIMEOUT');
  assert.equal(failure.stage, 'handshake');
  assert.deepEqual(methods(mute), ['server/discover', 'initialize']);
  assert.equal(mute.closeCount, 1);

  const stuck = createScriptedPeer({ open: (signal) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(exited()), { once: true }); }) });
  const late = await failureOf(connect(stuck, { connectMs: 30 }), 'TIMEOUT');
  assert.match(late.message, /not ready within 30 ms/);
});

test('connectClient() passes on why a server could not be started or left', async () => {
  assert.equal((await failureOf(connect(createScriptedPeer({ open: () => Promise.reject(exited()) })), 'SERVER_EXITED')).stage, 'call');
  const leaving = createLegacyPeer({ answers: { initialize: (_request, peer) => { peer.end(exited()); } } });
  assert.equal((await failureOf(connect(leaving), 'SERVER_EXITED')).stage, 'handshake');
  await failureOf(connect(createScriptedPeer({ open: () => Promise.reject(new Error('odd')) })), 'INTERNAL');
});

test('connectClient() stops when its caller does, and leaves nothing on the signal', async () => {
  const controller = new AbortController();
  const peer = createScriptedPeer({ answers: { 'server/discover': () => { controller.abort(); } } });
  await failureOf(connect(peer, { signal: controller.signal }), 'CANCELED');
  assert.equal(peer.closeCount, 1);
  const quiet = new AbortController();
  const client = await connect(createModernPeer(), { signal: quiet.signal });
  assert.equal(getEventListeners(quiet.signal, 'abort').length, 0);
  assert.equal(client.era, 'modern');
});
