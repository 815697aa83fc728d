import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Message } from '../../src/jsonrpc/message.ts';
import type { Notice, Sink, Transport } from '../../src/jsonrpc/transport.ts';
import { createMemoryTransportPair } from '../../src/transports/memory.ts';
import { failureOf } from '../support/peer.ts';
import { transportContract } from './contract.ts';

interface FixturePeer { handle(message: unknown): void }
const { createPeer } = await import(new URL('../fixtures/servers/behaviours.mjs', import.meta.url).href) as { createPeer: (flags: object, io: object) => FixturePeer };

const raw = (text: string): Parameters<Transport['send']>[0] => ({ kind: 'notification', method: '', params: undefined, text });

transportContract({
  name: 'memory',
  async start() {
    const [client, server] = createMemoryTransportPair();
    const peer = createPeer({}, {
      send: (message: object) => { void server.send(raw(JSON.stringify({ jsonrpc: '2.0', ...message }))); },
      text: (text: string) => { void server.send(raw(text)); },
      stderr() {}, exit: () => { void server.close(); }, closeOutput: () => { void server.close(); },
    });
    await server.open({ message: ({ message }) => peer.handle(message), notice() {}, closed() {} }, new AbortController().signal);
    return client;
  },
});

function recorder(): { readonly sink: Sink; readonly messages: Message[]; readonly notices: Notice[]; readonly closed: Promise<AnyFailure> } {
  const messages: Message[] = [], notices: Notice[] = [];
  let tell: (failure: AnyFailure) => void = () => {};
  const closed = new Promise<AnyFailure>((resolve) => { tell = resolve; });
  return { messages, notices, closed, sink: { message: (message) => { messages.push(message); }, notice: (notice) => { notices.push(notice); }, closed: tell } };
}

test('createMemoryTransportPair() keeps what was sent before the other side opened, and delivers it before the end', async () => {
  const [left, right] = createMemoryTransportPair();
  const there = recorder();
  await left.open(recorder().sink, new AbortController().signal);
  void left.send(raw('{"jsonrpc":"2.0","method":"a"}'));
  void left.send(raw('{"jsonrpc":"2.0","method":"b"}'));
  await left.close();
  await right.open(there.sink, new AbortController().signal);
  const reason = await there.closed;
  assert.match(reason.message, /closed by the other side/);
  assert.deepEqual(there.messages.map(({ message }) => 'method' in message && message.method), ['a', 'b']);
});

test('createMemoryTransportPair() delivers later, never inside send', async () => {
  const [left, right] = createMemoryTransportPair();
  const there = recorder();
  await right.open(there.sink, new AbortController().signal);
  assert.equal(left.send(raw('{"jsonrpc":"2.0","method":"a"}')), undefined);
  assert.equal(there.messages.length, 0);
  await Promise.resolve();
  assert.equal(there.messages.length, 1);
});

test('createMemoryTransportPair() reports text that is no message and goes on', async () => {
  const [left, right] = createMemoryTransportPair();
  const there = recorder();
  await right.open(there.sink, new AbortController().signal);
  for (const text of ['nonsense', '{"jsonrpc":"1.0"}', '{"jsonrpc":"2.0","method":"a"}']) void left.send(raw(text));
  await left.close();
  await there.closed;
  assert.deepEqual(there.notices.map((notice) => notice.kind), ['violation', 'violation']);
  assert.equal(there.messages.length, 1);
});

test('createMemoryTransportPair() refuses a canceled attempt, a second open and a send after the end', async () => {
  const [left, right] = createMemoryTransportPair();
  assert.equal((await failureOf(left.open(recorder().sink, AbortSignal.abort()))).code, 'CANCELED');
  await left.open(recorder().sink, new AbortController().signal);
  await assert.rejects(left.open(recorder().sink, new AbortController().signal), TypeError);
  await right.close();
  assert.equal((await failureOf(Promise.resolve(left.send(raw('{}'))))).code, 'CONNECTION_CLOSED');
});
