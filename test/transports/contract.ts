/** One table of stories that every carrier of messages must tell alike. A new carrier registers with one line. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Transport } from '../../src/jsonrpc/transport.ts';
import { connectPeer, failureOf, type Peer } from '../support/peer.ts';
import { waitFor } from '../support/process.ts';

export interface Carrier {
  readonly name: string;
  /** A transport to a fresh peer that behaves as `test/fixtures/servers/behaviours.mjs` without flags. What it needs is ended after the test. */
  start(t: TestContext): Transport | Promise<Transport>;
  /** False when the carrier cannot ask the client anything. Default: true. */
  readonly asks?: boolean;
  /** False when each message travels on its own and may overtake another. Default: true. */
  readonly ordered?: boolean;
  /** True when the peer speaks 2026-07-28: requests carry their stamp, and there is nothing else to send. */
  readonly modern?: boolean;
}

type Story = (peer: Peer, carrier: Carrier) => Promise<void>;

const stories: Readonly<Record<string, Story>> = {
  'opens and delivers answers to their requests': async (peer, carrier) => {
    const result = await peer.initialize();
    if (carrier.modern === true) assert.deepEqual(result['supportedVersions'], ['2026-07-28']); else assert.equal(result['protocolVersion'], '2025-11-25');
    assert.equal(await peer.call('echo', { text: 'hi' }), '{"text":"hi"}');
    assert.equal(await peer.call('add', { a: 2, b: 3 }), '5');
  },
  'keeps the order of what is sent': async (peer, carrier) => {
    if (carrier.modern === true) return;
    await peer.initialize();
    const told = Array.from({ length: 20 }, (_, n) => peer.connection.notify('notifications/note', { n }));
    if (carrier.ordered === false) await Promise.all(told);
    const seen = JSON.parse(await peer.call('seen')) as { method?: string; params?: { n?: number } }[];
    const numbers = seen.filter((message) => message.method === 'notifications/note').map((message) => message.params?.n ?? NaN);
    assert.deepEqual(carrier.ordered === false ? numbers.sort((a, b) => a - b) : numbers, Array.from({ length: 20 }, (_, n) => n));
  },
  'delivers an error answer as a failure of its request alone': async (peer) => {
    await peer.initialize();
    const [failure, text] = await Promise.all([failureOf(peer.call('error', { code: -32050, message: 'no luck' })), peer.call('echo', {})]);
    assert.equal(failure.code, 'REMOTE_ERROR');
    assert.match(failure.message, /-32050: no luck/);
    assert.equal(text, '{}');
  },
  'keeps every character': async (peer) => {
    await peer.initialize();
    const text = 'line\u2028separator \u2029 é 漢 🦊 \u0000 "quote" \\ \n tab\t';
    assert.deepEqual(JSON.parse(await peer.call('echo', { text })), { text });
  },
  'pairs out-of-order answers and ignores an unknown id (row 74)': async (peer) => {
    await peer.initialize();
    assert.deepEqual(await Promise.all([peer.call('pair', { n: 1 }), peer.call('pair', { n: 2 })]), ['1', '2']);
    assert.ok(peer.notices.some((notice) => notice.kind === 'unmatched' && notice.id === 987654));
  },
  'delivers progress before the answer': async (peer) => {
    await peer.initialize();
    const steps: number[] = [];
    assert.equal(await peer.call('progress', { steps: 3, ms: 1 }, { progress: true, onProgress: (note) => steps.push(note.progress) }), 'done');
    assert.deepEqual(steps, [1, 2, 3]);
  },
  'lets a request be canceled, and the peer is told': async (peer) => {
    await peer.initialize();
    const controller = new AbortController();
    const failed = failureOf(peer.call('hang', {}, { signal: controller.signal }));
    setImmediate(() => controller.abort());
    assert.equal((await failed).code, 'CANCELED');
    if (peer.connection.transport.perRequest) return;
    const seen = JSON.parse(await peer.call('seen')) as { method?: string }[];
    assert.ok(seen.some((message) => message.method === 'notifications/cancelled'));
  },
  'carries a request of the peer while a call is in flight': async (peer, carrier) => {
    if (carrier.asks === false || carrier.modern === true) return;
    await peer.initialize();
    assert.equal(await peer.call('ask', { what: 'ping' }), '{}');
    assert.match(await peer.call('ask', { what: 'sampling' }), /-32601/);
  },
  'carries 100 calls at once': async (peer) => {
    await peer.initialize();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => peer.call('echo', { n })));
    assert.deepEqual(answers.map((text) => (JSON.parse(text) as { n: number }).n), Array.from({ length: 100 }, (_, n) => n));
  },
  'carries 8 MiB in both directions': async (peer) => {
    await peer.initialize();
    const bytes = 8 * 1024 * 1024;
    assert.equal((await peer.call('big', { bytes })).length, bytes);
    assert.equal((await peer.call('echo', { text: 'z'.repeat(bytes) })).length, bytes + 11);
  },
  'rejects what is pending when it is closed': async (peer) => {
    await peer.initialize();
    const pending = [failureOf(peer.call('hang')), failureOf(peer.call('hang'))];
    await peer.connection.close();
    for (const failure of await Promise.all(pending)) assert.equal(failure.code, 'CANCELED');
  },
  'rejects what is pending when the peer is gone, and says so once': async (peer) => {
    await peer.initialize();
    const pending = [failureOf(peer.call('hang')), failureOf(peer.call('crash'))];
    if (peer.connection.transport.perRequest) {
      // Each request has a connection of its own: the next one finds out by itself, and may succeed with a server that is back.
      for (const failure of await Promise.all(pending)) assert.ok(['CONNECTION_CLOSED', 'CONNECT_FAILED'].includes(failure.code), failure.code);
      assert.equal((await failureOf(peer.call('echo'))).code, 'CONNECT_FAILED');
      return;
    }
    const reason = await peer.connection.closed;
    for (const failure of await Promise.all(pending)) assert.ok(['SERVER_EXITED', 'CONNECTION_CLOSED', 'CONNECT_FAILED'].includes(failure.code), failure.code);
    assert.ok(['SERVER_EXITED', 'CONNECTION_CLOSED', 'CONNECT_FAILED'].includes(reason.code), reason.code);
    assert.equal((await failureOf(peer.call('echo'))).code, reason.code);
  },
  'closes once, however often it is asked': async (peer) => {
    await peer.initialize();
    const [first, second] = await Promise.all([peer.connection.transport.close(), peer.connection.transport.close()]);
    assert.deepEqual(first, second);
    assert.deepEqual(await peer.connection.transport.close(), first);
    assert.equal((await peer.connection.closed).stage, 'close');
    assert.ok((await failureOf(peer.call('echo'))).code);
  },
};

/** Registers all stories for one carrier; each ends with the proof that no handle is left. */
export function transportContract(carrier: Carrier): void {
  describe(`transport contract on ${carrier.name}`, () => {
    for (const [title, story] of Object.entries(stories)) {
      it(title, async (t) => {
        const before = handles();
        const peer = await connectPeer(await carrier.start(t), {}, carrier.modern);
        try {
          await story(peer, carrier);
        } finally {
          await peer.connection.close();
        }
        await waitFor(() => Object.entries(handles()).every(([kind, n]) => n <= (before[kind] ?? 0)), `the end of the handles ${JSON.stringify(handles())}, before ${JSON.stringify(before)}`, 2000);
      });
    }
  });
}

/** What keeps the event loop alive and could be left by a carrier, counted by kind. */
function handles(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) if (/Pipe|Process|TCP|HTTP/.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
