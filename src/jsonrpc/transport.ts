/**
 * The contract of everything that carries messages. A transport knows bytes and streams; it knows nothing of pending
 * requests, retries or what a method means. `open` hands over the sink, so nothing can arrive before anyone listens.
 */
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Id, Message } from './message.ts';

/** What a modern request says of itself in `params._meta`: one object, the only source of body text and of HTTP headers. */
export interface Stamp {
  readonly revision: string;
  /** Members of `_meta` as JSON text without braces, ready to be spliced in. */
  readonly metaText: string;
  readonly meta: JsonObject;
}

/** A message on its way out. `text` is the whole JSON-RPC message, encoded once. */
export type Outgoing =
  | { readonly kind: 'request'; readonly id: Id; readonly method: string; readonly params: JsonObject | undefined; readonly stamp: Stamp | undefined; readonly text: string; /** Running it twice does no harm. */ readonly replaySafe: boolean; /** For transports that carry per-call facts outside the body (HTTP headers from a tool's schema). */ readonly headers?: Readonly<Record<string, string>> | undefined }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined; readonly text: string }
  | { readonly kind: 'response'; readonly id: Id; readonly text: string };

/** Things worth noticing that are not messages. Never fatal by themselves. */
export type Notice =
  /** Text where a message was due: `total` on this connection so far, `run` in a row. */
  | { readonly kind: 'noise'; readonly excerpt: string; readonly total: number; readonly run: number }
  | { readonly kind: 'stderr'; readonly line: string }
  /** A response nobody waits for: late, duplicate, unknown id or id of the wrong JSON type. */
  | { readonly kind: 'unmatched'; readonly id: Id | null; readonly reason: 'late' | 'unknown' | 'id-type' | 'no-id' }
  | { readonly kind: 'violation'; readonly message: string }
  | { readonly kind: 'stream'; readonly message: string };

export interface Sink {
  message(message: Message): void;
  notice(notice: Notice): void;
  /** This request has still to leave, or to leave again (somebody signs in): its limits are put off by `ms`; a negative number takes some of it back. */
  postpone?(id: Id, ms: number): void;
  /** Called exactly once, after the last message: nothing arrives any more. */
  closed(reason: AnyFailure): void;
}

/** What ending it took. `forced` lists what had to be done by force, for instance `SIGKILL to 2 processes`. */
export interface CloseReport { readonly forced: readonly string[] }

export interface Transport {
  readonly kind: 'stdio' | 'streamable-http' | 'sse' | 'memory';
  /** True when every request has a stream of its own, whose end cancels it (Streamable HTTP). */
  readonly perRequest: boolean;
  /** Begins what takes long (a process) ahead of `open`, which must follow. Its failure is told by `open`. */
  prepare?(signal: AbortSignal): void;
  /** Starts or reaches the peer. Rejects with a `Failure`; then nothing is left behind. `signal` ends the attempt. */
  open(sink: Sink, signal: AbortSignal): Promise<void>;
  /**
   * Hands one message over. A returned promise settles when the message surely left or surely cannot; a rejection
   * belongs to this message alone. A broken peer is reported by `sink.closed`.
   */
  send(message: Outgoing): void | Promise<void>;
  /** Closes the stream of one request (only where `perRequest`). */
  cancel?(id: Id): void;
  /** Told once, when the era and revision of the peer are known. */
  negotiated?(peer: { readonly era: 'legacy' | 'modern'; readonly revision: string }): void;
  /** Undecodable lines so far while nothing was ever decoded; 0 otherwise. Lets a timeout say what was seen instead of an answer. */
  noiseBeforeFirst?(): number;
  /** Ends the peer and everything that belongs to it. Idempotent, never rejects. */
  close(): Promise<CloseReport>;
}
