/**
 * The event streams of one legacy HTTP session: one for what belongs to no request and one for each request that is answered by events.
 * Each event has an id and is kept for a while, so that a client that lost a stream, or was sent away, gets the rest by
 * `Last-Event-ID` (MCP 2025-11-25, resumability).
 */
import { limits } from '../base/limits.ts';
import { encodeEvent } from '../http/event-stream.ts';
import type { Carrier } from './event-carriers.ts';

/** One stream, which outlives the connections that carry it. */
export interface SessionStream {
  readonly id: number;
  carrier: Carrier | undefined;
  /** Of its last event. */
  last: number;
  /** Its last event ends it. */
  over: boolean;
}

export interface SessionStreams {
  /** Where what belongs to no request goes. */
  readonly standing: SessionStream;
  open(): SessionStream;
  /** Lets a connection carry the stream; `after`: the last event that its client has. Without it: all that was not sent yet. */
  attach(stream: SessionStream, carrier: Carrier, after?: number): void;
  publish(stream: SessionStream, text: string): void;
  /** Nothing more comes: the connection ends, the events stay for who missed them. */
  finish(stream: SessionStream): void;
  /** The stream and the number of the event that a `Last-Event-ID` names; `undefined` when nothing of it is left. */
  find(eventId: string): { readonly stream: SessionStream; readonly after: number } | undefined;
  close(): void;
}

/** `primed`: the client understands an event without data at the head of a stream (2025-11-25). */
export function createSessionStreams(primed: () => boolean): SessionStreams {
  const streams = new Map<number, SessionStream>();
  const kept: { readonly stream: SessionStream; readonly nth: number; readonly text: string }[] = [];
  let bytes = 0, nextId = 0;
  /** The last event of the standing stream that had a connection to carry it. */
  let delivered = 0;

  function open(): SessionStream {
    const stream: SessionStream = { id: nextId++, carrier: undefined, last: 0, over: false };
    streams.set(stream.id, stream);
    return stream;
  }
  const standing = open();

  function write(stream: SessionStream, nth: number, text: string): void {
    if (stream.carrier === undefined) return;
    stream.carrier.write(encodeEvent({ id: `${stream.id}-${nth}`, data: text }));
    if (stream === standing) delivered = nth;
  }
  function keep(stream: SessionStream, nth: number, text: string): void {
    kept.push({ stream, nth, text });
    bytes += text.length;
    while (kept.length > limits.replayEvents || bytes > limits.replayBytes) {
      const oldest = kept.shift()!;
      bytes -= oldest.text.length;
      if (oldest.stream.over && oldest.nth === oldest.stream.last) streams.delete(oldest.stream.id);
    }
  }
  function detach(stream: SessionStream, carrier: Carrier): void {
    if (stream.carrier === carrier) stream.carrier = undefined;
  }

  return {
    standing, open,
    attach(stream, carrier, after) {
      stream.carrier?.end();
      stream.carrier = carrier;
      carrier.onGone(() => detach(stream, carrier));
      const from = after ?? (stream === standing ? delivered : 0);
      if (after === undefined && primed()) carrier.write(encodeEvent({ id: `${stream.id}-${from}`, data: '' }));
      for (const event of kept) if (event.stream === stream && event.nth > from) write(stream, event.nth, event.text);
      if (stream.over) { stream.carrier = undefined; carrier.end(); }
    },
    publish(stream, text) {
      const nth = ++stream.last;
      keep(stream, nth, text);
      write(stream, nth, text);
    },
    finish(stream) {
      stream.over = true;
      const { carrier } = stream;
      stream.carrier = undefined;
      carrier?.end();
      // Of one whose last event was not kept there is nothing to come back for.
      if (!kept.some((event) => event.stream === stream && event.nth === stream.last)) streams.delete(stream.id);
    },
    find(eventId) {
      const [, id, nth] = /^(\d{1,15})-(\d{1,15})$/.exec(eventId) ?? [];
      const stream = id === undefined ? undefined : streams.get(Number(id));
      const after = Number(nth);
      return stream === undefined || after > stream.last ? undefined : { stream, after };
    },
    close() {
      for (const stream of streams.values()) { stream.over = true; stream.carrier?.end(); stream.carrier = undefined; }
      kept.length = 0;
    },
  };
}
