/**
 * What a program offers as an MCP server, whatever era its clients speak. Handlers give results as the wire has them and the engine
 * adds only what the era demands, so that a gateway relays what it does not know. A JSON-RPC error is thrown: `RpcFault`, or any
 * value with an integer `code` and a string `message`; everything else that is thrown becomes an internal error.
 */
import type { JsonObject } from '../base/json.ts';
import type { Id } from '../jsonrpc/message.ts';
import type { Era, Implementation, ListKind } from './types.ts';

export type Handled = JsonObject | Promise<JsonObject>;

/** Who is served, as far as it is known when it begins: by `initialize`, or by the first request of the stateless era. */
export interface ServedPeer {
  readonly era: Era;
  readonly revision: string;
  readonly principal: string;
  readonly clientInfo: JsonObject | undefined;
  readonly clientCapabilities: JsonObject;
  /** A request of ours outside of any request of the client. Legacy sessions only. */
  readonly ask?: (method: string, params: JsonObject, signal?: AbortSignal) => Promise<JsonObject>;
}

/** What the client answered to an `input_required` result that the handler returned. */
export interface GivenInput {
  /** By the keys of its `inputRequests`; may lack some and have others. */
  readonly responses: Readonly<Record<string, JsonObject>>;
  /** The handler's own `requestState`, proved to be ours and for this very request; `undefined` when it gave none. */
  readonly state: string | undefined;
}

/** One request being answered. */
export interface ServedContext {
  readonly era: Era;
  readonly revision: string;
  readonly principal: string;
  readonly id: Id;
  readonly clientInfo: JsonObject | undefined;
  readonly clientCapabilities: JsonObject;
  /** `_meta` of the request as it came. */
  readonly meta: JsonObject;
  readonly input: GivenInput | undefined;
  /** Aborts when the client canceled, went away, or let a suspended call expire. */
  readonly signal: AbortSignal;
  /** Whether the client wants progress. */
  readonly wantsProgress: boolean;
  /** `progress`, `total`, `message`. Sent only for a token of the caller's and only if it increases. */
  progress(note: JsonObject): void;
  /** `level`, `data`, `logger`. Sent only from the level on that the client asked for. */
  log(entry: JsonObject): void;
  /** Whether the client declared that it answers this. */
  mayAsk(method: string, params?: JsonObject): boolean;
  /**
   * Asks the client (`elicitation/create`, `sampling/createMessage`, `roots/list`). Legacy: a request on the session. Modern: the call is
   * suspended, its request answered with `input_required`, and the client's retry goes on with it. Rejects with an `RpcFault` when the
   * client did not declare it (-32021), refused, went away or let it expire.
   */
  ask(method: string, params: JsonObject): Promise<JsonObject>;
  /** Ends this request's stream but not the request (MCP 2025-11-25, polling); without effect elsewhere. */
  pause(retryMs: number): void;
}

/** What changed. `params`: of an upstream's notification, relayed but for what names the subscription. */
export type Change =
  | { readonly kind: 'list_changed'; readonly list: ListKind; readonly params?: JsonObject }
  | { readonly kind: 'resource_updated'; readonly uri: string; readonly params?: JsonObject }
  /** A log message that belongs to no request. Legacy sessions only: the modern era has no place for it. */
  | { readonly kind: 'log'; readonly params: JsonObject }
  /** Anything else for legacy sessions, `notifications/elicitation/complete` for instance. */
  | { readonly kind: 'other'; readonly method: string; readonly params: JsonObject };

export interface Served {
  readonly serverInfo: Implementation;
  /** What is not declared here is answered "method not found", whatever handlers exist. */
  readonly capabilities: JsonObject;
  readonly instructions?: string | undefined;
  /** Caching hint of `server/discover`. Default: none. */
  readonly discovery?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' };
  listTools?(cursor: string | undefined, context: ServedContext): Handled;
  /** For the check of `Mcp-Param-*` headers (MCP 2026-07-28). Without it, or for `undefined`, they are not checked. */
  inputSchemaOf?(tool: string, principal: string): JsonObject | undefined | Promise<JsonObject | undefined>;
  callTool?(name: string, args: JsonObject, context: ServedContext): Handled;
  listResources?(cursor: string | undefined, context: ServedContext): Handled;
  listResourceTemplates?(cursor: string | undefined, context: ServedContext): Handled;
  readResource?(uri: string, context: ServedContext): Handled;
  listPrompts?(cursor: string | undefined, context: ServedContext): Handled;
  getPrompt?(name: string, args: JsonObject, context: ServedContext): Handled;
  /** The whole params: `ref`, `argument`, `context`. */
  complete?(params: JsonObject, context: ServedContext): Handled;
  /** Further methods (extensions), by name. */
  readonly methods?: Readonly<Record<string, (params: JsonObject, context: ServedContext) => Handled>>;
  /** A legacy session set its level. What it then gets is filtered by the engine. */
  setLogLevel?(level: string): void | Promise<void>;
  /** Each is followed by exactly one `unsubscribe`, at the latest before `close`. Throws to refuse. */
  subscribe?(uri: string): void | Promise<void>;
  unsubscribe?(uri: string): void | Promise<void>;
  /** Begins to tell what changes; returns how to stop. */
  watch?(listener: (change: Change) => void): () => void;
  /** A notification of a legacy client that the engine has no use for, `notifications/roots/list_changed` for instance. */
  notified?(method: string, params: JsonObject): void;
  /** Called once, when the session, the connection or (stateless over HTTP) the request for which it was opened is over. */
  close?(): void | Promise<void>;
}

export interface ServerOptions {
  /** What is served: to everybody, or as each session, connection or stateless request finds it. May throw an `RpcFault`. */
  readonly serve: Served | ((peer: ServedPeer) => Served | Promise<Served>);
  /** Told what a handler threw that was no JSON-RPC error. Default: nobody. */
  readonly onFault?: ((method: string, error: unknown) => void) | undefined;
  /** How long a person may take to answer, and how long a suspended call or a state is kept. Default `limits.serverAskMs`. */
  readonly askMs?: number | undefined;
  /** Suspended calls at once. Default `limits.suspendedCalls`. */
  readonly suspendedCalls?: number | undefined;
}
