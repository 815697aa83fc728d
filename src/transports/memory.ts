/**
 * Two transports joined in memory, for tests and for a server that lives in the same process. Messages travel as JSON text,
 * so nothing is shared by reference, and arrive in order in a later microtask, so that no listener runs inside `send`.
 */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { classify, parseFrame } from '../jsonrpc/message.ts';
import type { Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';

interface End { sink: Sink | undefined; readonly inbox: string[]; scheduled: boolean; closed: AnyFailure | undefined; told: boolean }

/** Closing either side closes both; what was sent before is still delivered. */
export function createMemoryTransportPair(): readonly [Transport, Transport] {
  const left: End = { sink: undefined, inbox: [], scheduled: false, closed: undefined, told: false };
  const right: End = { sink: undefined, inbox: [], scheduled: false, closed: undefined, told: false };
  return [side(left, right), side(right, left)];
}

function side(mine: End, theirs: End): Transport {
  return {
    kind: 'memory',
    perRequest: false,
    async open(sink, signal) {
      if (signal.aborted) throw new Failure('CANCELED', 'Cannot open the connection: it was canceled', { stage: 'connect', details: {}, recovery: 'retryable' });
      if (mine.sink !== undefined) throw new TypeError('This transport was opened before; make a new pair');
      mine.sink = sink;
      schedule(mine);
    },
    send(message: Outgoing) {
      if (mine.closed !== undefined) return Promise.reject(mine.closed);
      theirs.inbox.push(message.text);
      schedule(theirs);
      return undefined;
    },
    async close() {
      mine.closed ??= closedBy('this side');
      theirs.closed ??= closedBy('the other side');
      schedule(mine);
      schedule(theirs);
      return { forced: [] };
    },
  };
}

function schedule(end: End): void {
  if (end.sink === undefined || end.scheduled) return;
  end.scheduled = true;
  queueMicrotask(() => {
    end.scheduled = false;
    deliver(end, end.sink!);
  });
}

function deliver(end: End, sink: Sink): void {
  // What a listener sends back meanwhile is appended to other inboxes or to this one and still leaves in order.
  for (let text = end.inbox.shift(); text !== undefined; text = end.inbox.shift()) {
    const parsed = parseFrame(text);
    const message = parsed === undefined ? undefined : classify(parsed.value, parsed.pruned);
    if (message === undefined) sink.notice({ kind: 'violation', message: 'the peer sent text that is no JSON-RPC message' }); else sink.message(message);
  }
  if (end.closed === undefined || end.told) return;
  end.told = true;
  sink.closed(end.closed);
}

function closedBy(who: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot use the connection: it was closed by ${who}`, { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
}
