import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mock, test } from 'node:test';
import { isFailure, type Failure, type FailureCode } from '../../../src/base/failure.ts';
import type { Id } from '../../../src/jsonrpc/message.ts';
import type { Notice } from '../../../src/jsonrpc/transport.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import type { Client, ClientEvent } from '../../../src/mcp/types.ts';
import { clientInfo, createLegacyPeer, createModernPeer, exited, type ScriptedPeer, type ScriptedPeerOptions } from '../../support/scripted-peer.ts';

interface Connected { readonly client: Client; readonly peer: ScriptedPeer; readonly notices: Notice[]; readonly events: ClientEvent[] }

async function join(peer: ScriptedPeer): Promise<Connected> {
  const notices: Notice[] = [], events: ClientEvent[] = [];
  const client = await connectClient({ clientInfo, transport: () => peer.transport, onNotice: (notice) => notices.push(notice) });
  client.on((event) => { if (event.kind !== 'closed') events.push(event); });
  return { client, peer, notices, events };
}
const modern = (options: ScriptedPeerOptions = {}): Promise<Connected> => join(createModernPeer(options));

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const tell = (peer: ScriptedPeer, id: Id | undefined, method: string, params: object = {}): void => peer.notify(`notifications/${method}`, { ...params, _meta: { [SUBSCRIPTION]: id } });
const acknowledge = (peer: ScriptedPeer, id: Id | undefined, notifications?: unknown): void => tell(peer, id, 'subscriptions/acknowledged', notifications === undefined ? {} : { notifications });
const cancels = (peer: ScriptedPeer): unknown[] => peer.sent.filter(({ method }) => method === 'notifications/cancelled').map(({ params }) => params?.['requestId']);
const listens = (peer: ScriptedPeer): number => peer.sent.filter(({ method }) => method === 'subscriptions/listen').length;
const settled = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

async function failureOf<C extends FailureCode>(promise: Promise<unknown>, code: C): Promise<Failure<C>> {
  const outcome = await promise.then(() => assert.fail('it succeeded'), (error: unknown) => error);
  assert.ok(isFailure(outcome) && outcome.code === code, String(outcome));
  return outcome as unknown as Failure<C>;
}
/** Begins to watch and acknowledges; gives the id of the subscription. */
async function watching({ client, peer }: Connected, filter: Parameters<Client['watch']>[0]): Promise<{ readonly id: Id; readonly watch: { close(): Promise<void> } }> {
  const opening = client.watch(filter);
  const { id } = await peer.next('subscriptions/listen');
  acknowledge(peer, id);
  return { id: id!, watch: await opening };
}

test('watch() asks a modern server for exactly what is wanted and is there once it is acknowledged', async () => {
  const { client, peer } = await modern();
  let there = false;
  const opening = client.watch({ lists: ['tools', 'prompts'], uris: ['a:1'] }).then((watch) => { there = true; return watch; });
  const sent = await peer.next('subscriptions/listen');
  assert.deepEqual(sent.params?.['notifications'], { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:1'] });
  assert.equal(sent.params?.['_meta']['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
  await settled();
  assert.equal(there, false);
  acknowledge(peer, sent.id);
  await opening;
  const bare = client.watch({});
  const other = await peer.next('subscriptions/listen');
  assert.deepEqual(other.params?.['notifications'], {});
  acknowledge(peer, other.id);
  await bare;
});

test('watch() believes only what was asked for, after the acknowledgement, under its own id', async () => {
  const connected = await modern();
  const { client, peer, events, notices } = connected;
  const opening = client.watch({ lists: ['tools'], uris: ['a:1'] });
  const { id } = await peer.next('subscriptions/listen');
  tell(peer, id, 'tools/list_changed');
  assert.equal(notices.length, 1, 'before the acknowledgement');
  acknowledge(peer, id, { toolsListChanged: true, resourceSubscriptions: ['a:1'] });
  await opening;
  tell(peer, id, 'prompts/list_changed');
  tell(peer, String(id), 'tools/list_changed');
  tell(peer, 99, 'tools/list_changed');
  peer.notify('notifications/tools/list_changed');
  assert.deepEqual(events, []);
  assert.equal(notices.length, 5);
  tell(peer, id, 'tools/list_changed');
  tell(peer, id, 'resources/updated', { uri: 'a:1/part' });
  assert.deepEqual(events, [{ kind: 'list_changed', list: 'tools' }, { kind: 'resource_updated', uri: 'a:1/part' }]);

  const lists = await watching(connected, { lists: ['resources'] });
  tell(peer, lists.id, 'resources/updated', { uri: 'a:1' });
  assert.equal(events.length, 2);
});

test('watch() mentions what the server will not tell about', async () => {
  const { client, peer, notices } = await modern();
  const opening = client.watch({ lists: ['tools', 'prompts'] });
  const { id } = await peer.next('subscriptions/listen');
  acknowledge(peer, id, { toolsListChanged: true, promptsListChanged: false });
  await opening;
  acknowledge(peer, id, {});
  assert.deepEqual(notices, [{ kind: 'violation', message: 'the server will not tell about promptsListChanged, though asked to' }]);
});

test('an acknowledgement and an ending of nothing are ignored', async () => {
  const { peer, notices, events } = await modern();
  acknowledge(peer, 99);
  acknowledge(peer, undefined);
  peer.notify('notifications/cancelled', { requestId: 99 });
  peer.notify('notifications/cancelled');
  assert.deepEqual([notices, events], [[], []]);
});

test('watch() fails when the server refuses, is silent, ends it at once, or is canceled', async () => {
  const refused = await modern({ answers: { 'subscriptions/listen': () => ({ error: { code: -32601, message: 'no' } }) } });
  assert.equal((await failureOf(refused.client.watch({ lists: ['tools'] }), 'REMOTE_ERROR')).details.rpcCode, -32601);

  const mute = await modern();
  assert.equal((await failureOf(mute.client.watch({ lists: ['tools'] }, { timeoutMs: 20 }), 'TIMEOUT')).details.afterMs, 20);
  assert.equal(cancels(mute.peer).length, 1);

  const brief = await modern({ answers: { 'subscriptions/listen': () => ({ result: { resultType: 'complete' } }) } });
  await failureOf(brief.client.watch({ lists: ['tools'] }), 'CONNECTION_CLOSED');

  const { client, peer } = await modern();
  const controller = new AbortController();
  const opening = client.watch({ lists: ['tools'] }, { signal: controller.signal });
  await peer.next('subscriptions/listen');
  controller.abort();
  await failureOf(opening, 'CANCELED');
  assert.equal(cancels(peer).length, 1);
  await failureOf(client.watch({ lists: ['tools'] }, { signal: controller.signal }), 'CANCELED');
  assert.equal(listens(peer), 1);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
});

test('watch() leaves no timer and no listener once it is there', async () => {
  const connected = await modern();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const { signal } = new AbortController();
  const opening = connected.client.watch({ lists: ['tools'] }, { signal, timeoutMs: 60_000 });
  acknowledge(connected.peer, (await connected.peer.next('subscriptions/listen')).id);
  await opening;
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, timers);
});

test('close() of a watch cancels it once, and nothing is believed after', async () => {
  const connected = await modern();
  const { id, watch } = await watching(connected, { lists: ['tools'] });
  await watch.close();
  await watch.close();
  assert.deepEqual(cancels(connected.peer), [id]);
  tell(connected.peer, id, 'tools/list_changed');
  assert.deepEqual(connected.events, []);

  const http = await modern({ kind: 'streamable-http', perRequest: true });
  const other = await watching(http, { lists: ['tools'] });
  await other.watch.close();
  assert.deepEqual([cancels(http.peer), http.peer.streamsClosed], [[], [other.id]]);
});

test('a watch that a server ends, either way, is taken up again and counts as a change of everything', async () => {
  for (const end of [
    (peer: ScriptedPeer, id: Id): void => peer.result(id, { resultType: 'complete', _meta: { [SUBSCRIPTION]: id } }),
    (peer: ScriptedPeer, id: Id): void => peer.notify('notifications/cancelled', { requestId: id }),
    (peer: ScriptedPeer, id: Id): void => { peer.notify('notifications/cancelled', { requestId: id }); peer.result(id, { resultType: 'complete' }); },
    (peer: ScriptedPeer, id: Id): void => { peer.result(id, { resultType: 'complete' }); peer.notify('notifications/cancelled', { requestId: id }); },
  ]) {
    const connected = await modern();
    const { peer, events } = connected;
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { id, watch } = await watching(connected, { lists: ['tools'], uris: ['a:1'] });
      end(peer, id);
      await settled();
      assert.equal(listens(peer), 1);
      mock.timers.tick(1_000);
      const again = await peer.next('subscriptions/listen');
      assert.notEqual(again.id, id);
      assert.deepEqual(events, []);
      acknowledge(peer, again.id);
      await settled();
      assert.deepEqual(events, [{ kind: 'list_changed', list: 'tools' }, { kind: 'resource_updated', uri: 'a:1' }]);
      await watch.close();
      assert.equal(cancels(peer).at(-1), again.id);
      mock.timers.tick(60_000);
      await settled();
      assert.equal(listens(peer), 2);
    } finally {
      mock.timers.reset();
    }
  }
});

test('a watch that cannot be taken up again is given up after growing pauses, with a word each time', async () => {
  let refuse = false;
  const connected = await modern({ answers: { 'subscriptions/listen': () => (refuse ? { error: { code: -32603, message: 'full' } } : undefined) } });
  const { peer, notices } = connected;
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { id } = await watching(connected, { lists: ['tools'] });
    refuse = true;
    peer.result(id, { resultType: 'complete' });
    for (const [pauseMs, expected] of [[999, 1], [1, 2], [1_499, 2], [1, 3], [2_250, 4], [3_375, 5], [5_063, 6], [60_000, 6]] as const) {
      await settled();
      mock.timers.tick(pauseMs);
      await settled();
      assert.equal(listens(peer), expected);
    }
    assert.equal(notices.filter((notice) => notice.kind === 'violation' && notice.message.includes('full')).length, 5);
  } finally {
    mock.timers.reset();
  }
});

test('a watch ends with its connection and keeps nothing alive', async () => {
  const connected = await modern();
  await watching(connected, { lists: ['tools'] });
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  connected.peer.end(exited());
  await settled();
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, timers);
  assert.equal(listens(connected.peer), 1);

  const leaving = await modern();
  await watching(leaving, { lists: ['tools'] });
  await leaving.client.close();
  await settled();
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, timers);
});

test('watch() on a legacy server subscribes to resources where that is offered, and leaves again', async () => {
  const { client, peer, events } = await join(createLegacyPeer({ answers: { 'resources/subscribe': () => ({ result: {} }), 'resources/unsubscribe': () => ({ error: { code: -32602 } }) } }));
  const watch = await client.watch({ lists: ['tools'], uris: ['a:1', 'a:2'] });
  assert.deepEqual(peer.sent.slice(-2).map(({ method, params }) => [method, params]), [['resources/subscribe', { uri: 'a:1' }], ['resources/subscribe', { uri: 'a:2' }]]);
  peer.notify('notifications/tools/list_changed');
  assert.equal(events.length, 1);
  await watch.close();
  assert.deepEqual(peer.sent.slice(-2).map(({ method }) => method), ['resources/unsubscribe', 'resources/unsubscribe']);

  const plain = await join(createLegacyPeer({ capabilities: { tools: {}, resources: {} } }));
  await (await plain.client.watch({ uris: ['a:1'] })).close();
  await (await plain.client.watch({})).close();
  assert.equal(plain.peer.sent.some(({ method }) => method?.startsWith('resources/')), false);
});

test('watch() on a legacy server fails when a subscription is refused', async () => {
  const { client } = await join(createLegacyPeer({ answers: { 'resources/subscribe': () => ({ error: { code: -32002, message: 'no such' } }) } }));
  await failureOf(client.watch({ uris: ['a:1'] }), 'REMOTE_ERROR');
});
