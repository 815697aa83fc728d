/** What differs between the two eras, and nothing else. One file implements it per era; `negotiate` chooses once. */
import type { JsonObject } from '../base/json.ts';
import type { Connection, InboundAnswer } from '../jsonrpc/connection.ts';
import type { Stamp } from '../jsonrpc/transport.ts';
import type { CallSettings, Era, Implementation, ListKind, ServerCapabilities } from './types.ts';

/** A modern result that asks for input first (MCP 2026-07-28, multi round-trip requests). */
export interface InputRequired {
  /** One entry per key to answer: `{ method, params }`. */
  readonly requests: Readonly<Record<string, JsonObject>>;
  /** To be given back byte for byte, if present. */
  readonly state: string | undefined;
}

export type Unwrapped = { readonly kind: 'complete'; readonly result: JsonObject } | { readonly kind: 'input_required'; readonly input: InputRequired };

export type BoundedSettings = Omit<CallSettings, 'timeoutMs'> & { readonly timeoutMs: number };

export interface WatchFilter { readonly lists?: readonly ListKind[]; readonly uris?: readonly string[] }

export interface Lifecycle {
  readonly era: Era;
  readonly revision: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** `_meta` of every request; `undefined` in the legacy era. */
  stamp(): Stamp | undefined;
  /** How a request of this connection is given up. */
  readonly cancel: 'notify' | 'close';
  /** Looks at the raw result before the method's reader does. Throws a `Failure` for a result type nobody asked for. */
  unwrap(method: string, result: unknown): Unwrapped;
  /** Answers a request of the server; `undefined` in the era in which servers must not send any and clients must not answer. */
  answer(method: string, params: JsonObject, signal: AbortSignal): InboundAnswer | undefined | Promise<InboundAnswer>;
  /** Sees every notification of the server first; false when it must not be believed (a type nobody subscribed to). */
  admits(method: string, params: JsonObject): boolean;
  ping(connection: Connection, settings: BoundedSettings): Promise<void>;
  setLogLevel(connection: Connection, level: string, settings: BoundedSettings): Promise<void>;
  watch(connection: Connection, filter: WatchFilter, settings: BoundedSettings): Promise<{ close(): Promise<void> }>;
  /** After a new handshake: sets up again what the server had been told in the session that is gone. Never rejects. */
  restore?(connection: Connection, emit: (method: string, params: JsonObject) => void, timeoutMs: number): Promise<void>;
}
