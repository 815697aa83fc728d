/**
 * The contract between what carries messages to a server of ours and what answers them. The carrier knows bytes, streams and HTTP; the
 * engine knows methods and eras. Messages pass as JSON text, encoded once.
 */
import type { Id, Message, Request, RpcError } from './message.ts';

/** A header of the HTTP request by its lower-case name, without surrounding blanks. */
export type HeaderLookup = (name: string) => string | undefined;

/** The way back of one request. */
export interface Exchange {
  /** Who asks, as far as the carrier made sure of it: what one principal began another must not go on with. */
  readonly principal: string;
  /** Absent where the carrier has none. */
  readonly header?: HeaderLookup | undefined;
  /** Aborts when the peer gave the request up. */
  readonly signal: AbortSignal;
  /**
   * A message that belongs to this request and comes before its answer. False: it will not be delivered, since there is no way, or since the
   * message is dispensable and too much is waiting already.
   */
  send(text: string, dispensable?: boolean): boolean;
  /** The end of it, once. No text: no answer is wanted. `status` is for HTTP, where nothing has left yet. */
  answer(text: string | undefined, status: number): void;
  /** Ends the stream but not the request; the peer comes back for the rest after `retryMs` (MCP 2025-11-25, polling). */
  pause?(retryMs: number): void;
}

/** A legacy session's way to its peer outside of any request. */
export interface SessionCarrier {
  readonly principal: string;
  send(text: string): boolean;
}

/** One legacy session (2024-11-05 to 2025-11-25): opened by the `initialize` it receives first. */
export interface ServedSession {
  /** The revision that was agreed on; `undefined` until `initialize` went well. */
  readonly revision: string | undefined;
  /** Requests bring their way back; other messages have none. */
  receive(message: Message, exchange?: Exchange): void;
  /** Requests that are not answered yet. */
  readonly running: number;
  /** Ends what is running and lets go of what is served. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** `opening`: the `initialize` of a session. */
export type MessageEra = 'legacy' | 'modern' | 'opening';

export interface ServerEngine {
  /** Which era a message belongs to (MCP 2026-07-28, version negotiation): its body decides, the version header only where that is silent. */
  eraOf(message: Message, versionHeader?: string): MessageEra;
  /** Whether a legacy `MCP-Protocol-Version` header names a revision that is served. */
  servesLegacy(revision: string): boolean;
  /** Answers one request of the stateless era. `connection` says whose: what is served is opened once for it, or for this request alone. */
  serve(request: Request, exchange: Exchange, connection?: object): void;
  openSession(carrier: SessionCarrier): ServedSession;
  /** The connection of stateless requests has ended: lets go of what was opened for it. */
  release(connection: object): Promise<void>;
  /** Subscriptions end with their last word, suspended calls are given up. Idempotent. */
  close(): void;
}

export function encodeResult(id: Id, result: object): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`;
}

/** `id` null: it could not be read. */
export function encodeError(id: Id | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } });
}

export function encodeNotification(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
}
