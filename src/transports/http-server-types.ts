/** What a Streamable HTTP endpoint of ours is told, and what it tells. */
import type { ServerEngine } from '../jsonrpc/serving.ts';

/** One served request, for a log. Holds no secret: no header, no parameter, no session id. */
export interface AccessEntry {
  readonly method: string;
  readonly path: string;
  /** The JSON-RPC method, where there was one. */
  readonly rpc: string | undefined;
  /** 0: the client left before any. */
  readonly status: number;
  readonly ms: number;
  /** Who asked, once that was clear. */
  readonly principal: string | undefined;
  /** Why it was turned away, in words. */
  readonly refused: string | undefined;
}

export interface HttpServerOptions {
  /** Closed with the server. */
  readonly engine: ServerEngine;
  /** Default `127.0.0.1`. Any other than loopback needs `tokens`. */
  readonly host?: string | undefined;
  /** Default: any free one. */
  readonly port?: number | undefined;
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** Bearer tokens and whose they are. Without any, everybody who reaches the port is the same principal. */
  readonly tokens?: ReadonlyMap<string, string> | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Default `limits.serverBodyBytes`, at most `limits.serverBodyBytesMax`. */
  readonly maxBodyBytes?: number | undefined;
  /** Legacy sessions at once, default `limits.serverSessions`, and how long an unused one is kept. */
  readonly maxSessions?: number | undefined;
  readonly sessionIdleMs?: number | undefined;
  /** Told of each request once it is over. Must not throw. */
  readonly onAccess?: ((entry: AccessEntry) => void) | undefined;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly sessions: number;
  /** Refuses what is new, lets what runs end for `drainMs` (default `limits.serverDrainMs`), then ends it. Idempotent, never rejects. */
  close(drainMs?: number): Promise<void>;
}
