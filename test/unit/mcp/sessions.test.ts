import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, isFailure, type AnyFailure } from '../../../src/base/failure.ts';
import type { Outgoing } from '../../../src/jsonrpc/transport.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import type { Client, ClientEvent } from '../../../src/mcp/types.ts';
import { clientInfo, createLegacyPeer, type ScriptedPeer } from '../../support/scripted-peer.ts';

const lost = (): AnyFailure => new Failure('SESSION_LOST', 'Cannot reach the server: it no longer knows the session', { stage: 'call', details: { status: 404 }, recovery: 'retryable' }) as AnyFailure;

/** A legacy server over HTTP whose sessions end when the test says so: what was sent in an old one is refused. */
async function http(refuse: (message: Outgoing, handshakes: number) => boolean): Promise<{ readonly client: Client; readonly peer: ScriptedPeer; readonly events: ClientEvent[] }> {
  let handshakes = 0;
  const peer = createLegacyPeer({
    kind: 'streamable-http', perRequest: true, answers: { 'tools/call': () => ({ result: { content: [] } }) },
    onSend: (message) => {
      if (message.kind === 'request' && message.method === 'initialize') handshakes += 1;
      return refuse(message, handshakes) ? Promise.reject(lost()) : undefined;
    },
  });
  const events: ClientEvent[] = [];
  const client = await connectClient({ clientInfo, protocol: 'legacy', transport: () => peer.transport });
  client.on((event) => events.push(event));
  // A refused request must not be answered too.
  const result = peer.result.bind(peer);
  peer.result = (id, value) => { const message = peer.outgoing.find((one) => one.kind === 'request' && one.id === id); if (message === undefined || !refuse(message, handshakes)) result(id, value); };
  return { client, peer, events };
}
const isCall = (message: Outgoing): boolean => message.kind === 'request' && message.method === 'tools/call';
const methods = (peer: ScriptedPeer): unknown[] => peer.sent.map(({ method }) => method);

test('a session that ended is renewed once, the request is sent once more, and whoever watches is told to look again (row 97)', async () => {
  const { client, peer, events } = await http((message, handshakes) => isCall(message) && handshakes === 1);
  assert.deepEqual((await client.callTool('t', {})).content, []);
  assert.deepEqual(methods(peer), ['initialize', 'notifications/initialized', 'tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
  assert.deepEqual(events.map((event) => (event.kind === 'list_changed' ? event.list : event.kind)), ['tools', 'resources', 'prompts']);
});

test('all requests that meet the end of a session share one renewal', async () => {
  const { client, peer } = await http((message, handshakes) => isCall(message) && handshakes === 1);
  await Promise.all([1, 2, 3].map((n) => client.callTool(`t${n}`, {})));
  assert.equal(methods(peer).filter((method) => method === 'initialize').length, 2);
});

test('a session that is lost again at once is not chased', async () => {
  const { client, peer } = await http(isCall);
  const outcome = await client.callTool('t', {}).catch((error: unknown) => error);
  assert.ok(isFailure(outcome) && outcome.code === 'SESSION_LOST');
  assert.equal(methods(peer).filter((method) => method === 'tools/call').length, 2);
});

test('a renewal that fails is what the caller hears, and other failures renew nothing', async () => {
  const { client } = await http((message, handshakes) => (isCall(message) && handshakes === 1) || (message.kind === 'request' && message.method === 'initialize' && handshakes === 2));
  const outcome = await client.callTool('t', {}).catch((error: unknown) => error);
  assert.ok(isFailure(outcome) && outcome.code === 'SESSION_LOST');

  const plain = await http(() => false);
  await plain.client.readResource('a:1', { timeoutMs: 20 }).catch(() => {});
  assert.equal(methods(plain.peer).filter((method) => method === 'initialize').length, 1);
});

test('what comes while a session is being renewed waits for it, and what comes after a renewal failed renews first', async () => {
  let failing = true;
  const { client, peer } = await http((message, handshakes) => (isCall(message) && handshakes === 1) || (failing && handshakes === 2 && message.kind === 'request' && message.method === 'initialize'));
  await client.callTool('t', {}).catch((error: unknown) => error);
  failing = false;
  await Promise.all([client.callTool('t', {}), client.callTool('t', {})]);
  assert.deepEqual(methods(peer), ['initialize', 'notifications/initialized', 'tools/call', 'initialize', 'initialize', 'notifications/initialized', 'tools/call', 'tools/call']);
});

test('who gives up does not wait for the new session, and it is made all the same', async () => {
  const { client, peer } = await http((message, handshakes) => isCall(message) && handshakes === 1);
  const controller = new AbortController();
  const outcome = client.callTool('t', {}, { signal: controller.signal }).catch((error: unknown) => error);
  await peer.next('tools/call');
  controller.abort();
  const failure = await outcome;
  assert.ok(isFailure(failure) && failure.code === 'CANCELED');
  assert.deepEqual((await client.callTool('t', {})).content, []);
});
