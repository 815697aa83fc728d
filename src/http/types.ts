/**
 * The contracts of outgoing HTTP. Two faces over one policy: `Http.request` (callbacks, the lean road that every message takes)
 * and `Http.fetch` (the web-standard signature, for OAuth and embedders). Two engines under it, see `Engine`.
 */
import type { AnyFailure, Sent, Stage } from '../base/failure.ts';

export type RequestHeaders = Readonly<Record<string, string>>;

/** Names in lower case; a repeated header is joined with `, `. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/**
 * One request and what is to happen with its answer. The callbacks come in the order `onHead`, `onData`..., then exactly one of
 * `onEnd` and `onFail`, never before `request` has returned, never after `abort`.
 */
export interface HttpRequest {
  /** http or https, without userinfo. Anything else fails with `URL_REFUSED`. */
  readonly url: string | URL;
  /** Default `GET`. */
  readonly method?: string;
  /** `Host`, `Content-Length` and the headers of the connection are ours and are left out; `Accept-Encoding` is ours unless it is given. */
  readonly headers?: RequestHeaders;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the end of the body, redirects and repeats included. Default: none. */
  readonly deadlineMs?: number | undefined;
  /** Milliseconds until the response head; for streams that may live for days. Default: none. */
  readonly headMs?: number | undefined;
  /**
   * True when running it twice does no harm: a request that dies on a reused connection before any answer is then sent again
   * on a fresh one. One that surely never left is sent again in any case.
   */
  readonly replaySafe?: boolean | undefined;
  /**
   * `same-origin` (default): 307 and 308 inside the origin are followed at most `limits.httpRedirects` times, every other 3xx
   * fails. `manual`: a 3xx is a response like any other. `error`: each 3xx that names a location fails.
   */
  readonly redirect?: 'same-origin' | 'manual' | 'error' | undefined;
  /**
   * Cap on the decoded body. Default `limits.httpBodyBytes`; none for event streams, where the decoder bounds each event. Bodies of
   * statuses from 400 on are cut at `limits.httpErrorBodyBytes` in any case, which is no failure: `onEnd(true)`.
   */
  readonly maxBytes?: number | undefined;
  /** Where in the walk of a call this stands; default `call`. Failures to connect say `connect`. */
  readonly stage?: Stage | undefined;
  /**
   * Told by what decorates requests before it has somebody sign in, a program run, or the like: this may take so many milliseconds, in
   * which nothing is on its way, so that no bound of the receiver's should count them. A negative number takes back what was left over.
   */
  readonly onHold?: ((ms: number) => void) | undefined;
  onHead(head: ResponseHead): void;
  /** Decoded bytes. The receiver may keep the chunk. */
  onData(chunk: Uint8Array): void;
  onEnd(truncated: boolean): void;
  onFail(failure: AnyFailure): void;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Where the answer came from: differs from the request's after a redirect. */
  readonly url: string;
}

/** A request on its way. */
export interface Exchange {
  /** Ends it and its connection. No callback follows. Answers how far the request surely got. */
  abort(): Sent;
  /** Makes the peer wait: no `onData` until `resume` (a chunk or two may still come). */
  pause(): void;
  resume(): void;
}

/** Sends one request. What decorates requests (authorization, identity headers) wraps this function. */
export type SendRequest = (request: HttpRequest) => Exchange;

/** The part of the web-standard `fetch` that this house relies on; the platform's fetch is one of these. */
export type FetchLike = (input: string | URL, init?: FetchInit) => Promise<ResponseLike>;

export interface FetchInit {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal | null;
  redirect?: 'follow' | 'manual' | 'error';
}

/** What our own fetch understands beyond the standard; the platform's ignores it. */
export interface FetchExtras extends Pick<HttpRequest, 'deadlineMs' | 'maxBytes' | 'replaySafe' | 'stage'> {}

export interface ResponseLike {
  readonly status: number;
  readonly ok: boolean;
  readonly url: string;
  readonly headers: { get(name: string): string | null; forEach(callback: (value: string, name: string) => void): void };
  /** `null` when the status allows no body. One that is not read must be cancelled. */
  readonly body: BodyLike | null;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

export interface BodyLike extends AsyncIterable<Uint8Array> {
  cancel(reason?: unknown): Promise<void>;
}

export interface Http {
  readonly request: SendRequest;
  /** `redirect: 'follow'` (the default) means our rule: same-origin 307 and 308 only. Rejects with a `Failure`. */
  readonly fetch: (input: string | URL, init?: FetchInit & FetchExtras) => Promise<ResponseLike>;
  /** The proxy that a request to this URL takes, without its credentials; `undefined` for none. For `mcp debug`. */
  proxyFor(url: string | URL): string | undefined;
  /** Fails what is still running with `CANCELED` and destroys every connection. Idempotent. */
  close(): void;
}

export interface HttpOptions {
  /** `node` (default): keep-alive on `node:http`. `fetch`: the platform's, or `fetch` below. */
  readonly engine?: 'node' | 'fetch' | undefined;
  /** With engine `fetch`: used in place of the platform's. */
  readonly fetch?: FetchLike | undefined;
  /** Where the proxy variables are read. Default `process.env`; `{}` for no proxy. Engine `node` only. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** PEM text of certificate authorities trusted in addition to the default roots. Engine `node` only. */
  readonly ca?: string | undefined;
  /** PEM text of the client certificate (chain) and its key. Engine `node` only. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /**
   * Asked with each address (IP literal or resolved) before it is connected to; `false` refuses it. What was asked about is what is
   * connected to: there is no second look-up. Not asked for names that a proxy resolves. Engine `node` only.
   */
  readonly connectPolicy?: ((address: string) => boolean) | undefined;
  /** Told about each connection that was established. Engine `node` only. */
  readonly onConnection?: ((facts: ConnectionFacts) => void) | undefined;
}

/** What is worth telling a person about a new connection. Holds no secret. */
export interface ConnectionFacts {
  readonly host: string;
  readonly address: string | undefined;
  readonly elapsedMs: number;
  readonly proxy?: string | undefined;
  readonly tls?: { readonly protocol: string; readonly issuer: string; readonly validTo: string } | undefined;
}

/** A URL that passed the policy, taken apart once. */
export interface Target {
  readonly url: URL;
  readonly href: string;
  readonly origin: string;
  readonly secure: boolean;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** `host[:port]` as the Host header spells it. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  /** For messages: no userinfo, query values or fragment. */
  readonly shown: string;
}

export interface Order {
  readonly target: Target;
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly body: string | Uint8Array | undefined;
  readonly replaySafe: boolean;
}

/** How a request went wrong, as the system told it. `reused`: it went out on a connection that had served before; undefined: nobody knows. */
export interface Breakdown { readonly error: unknown; readonly sent: Sent; readonly reused: boolean | undefined }

export interface EngineSink {
  head(status: number, headers: ResponseHeaders): void;
  data(chunk: Uint8Array): void;
  end(): void;
  fail(breakdown: Breakdown): void;
}

/** Sends one request once, knows no policy: no redirects, deadlines or caps. Bodies arrive decoded. Never calls the sink before `send` returned. */
export interface Engine {
  readonly name: 'node' | 'fetch';
  send(order: Order, sink: EngineSink): Running;
  proxyFor(target: Target): string | undefined;
  /** Makes sure that the next request gets a connection that never served before. */
  dropIdle(): void;
  close(): void;
}

export interface Running {
  /** Nothing is called after it. */
  cancel(): Sent;
  pause(): void;
  resume(): void;
}
