/**
 * A port that serves requests, beside the callback listener the only one of the house. Everything a client could fill or hold has a
 * bound here: heads, bodies, sockets, the time for each, and what it leaves unread.
 */
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { limits } from '../base/limits.ts';
import { collectText } from './body.ts';

export type ReplyHeaders = Readonly<Record<string, string>>;

/** A response body that is written over time. */
export interface ReplyStream {
  write(text: string): void;
  /** Bytes that the client has not taken yet. */
  readonly backlog: number;
  end(): void;
  /** Ends the connection, whatever waits in it. */
  destroy(): void;
}

/** One request that came in. Exactly one of `reply` and `stream` answers it. */
export interface InboundRequest {
  readonly method: string;
  /** As it was asked for, without the query. */
  readonly path: string;
  /** By its lower-case name, without surrounding blanks; the values of a repeated one are joined with `, `. */
  header(name: string): string | undefined;
  /** `too-large` beyond `maxBytes`; `gone` when the client gave up. */
  body(maxBytes: number): Promise<{ readonly text: string } | 'too-large' | 'gone'>;
  /** Each is called once if the client goes away before its answer has left. */
  onGone(listener: () => void): void;
  reply(status: number, headers?: ReplyHeaders, body?: string): void;
  stream(status: number, headers: ReplyHeaders): ReplyStream;
  /** Called once when the answer has left or nobody waits for it; with the status, 0 when none was sent. */
  onOver(listener: (status: number) => void): void;
}

export interface ServeOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Must not throw. */
  onRequest(request: InboundRequest): void;
}

export interface HttpServing {
  readonly host: string;
  readonly port: number;
  /** Takes no new connections and ends idle ones; after `drainMs` also those that are busy. Idempotent, never rejects. */
  close(drainMs: number): Promise<void>;
}

/** Rejects with the system's error (`EADDRINUSE`, `EACCES`). */
export async function serveHttp({ host, port, onRequest }: ServeOptions): Promise<HttpServing> {
  const server = http.createServer({
    maxHeaderSize: limits.serverHeaderBytes, headersTimeout: limits.serverHeadMs, requestTimeout: limits.serverBodyMs, keepAliveTimeout: limits.serverIdleMs, connectionsCheckingInterval: 1_000,
  });
  server.maxConnections = limits.serverSockets;
  // A socket on which nothing moves: quiet streams carry a comment now and then, so this one's client does not read.
  server.timeout = limits.serverStallMs;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') { socket.destroy(); return; }
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  });
  server.on('request', (request, response) => onRequest(inbound(request, response, () => closing !== undefined)));
  let closing: Promise<void> | undefined;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });

  function shut(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => { for (const socket of sockets) socket.destroy(); }, drainMs);
      server.close(() => { clearTimeout(timer); resolve(); });
      server.closeIdleConnections();
    });
  }
  return { host, port: (server.address() as AddressInfo).port, close: (drainMs) => (closing ??= shut(drainMs)) };
}

function inbound(request: http.IncomingMessage, response: http.ServerResponse, closing: () => boolean): InboundRequest {
  const target = request.url ?? '/', mark = target.indexOf('?');
  const gone: (() => void)[] = [];
  let over: ((status: number) => void) | undefined, ended = false;
  const left = (): void => {
    if (ended) return;
    ended = true;
    if (!response.writableFinished) for (const listener of gone) listener();
    over?.(response.headersSent ? response.statusCode : 0);
  };
  request.on('error', () => {});
  response.on('error', () => {});
  response.on('close', left);
  const head = (status: number, headers: ReplyHeaders): void => {
    // A body that was not read to its end is still on its way: the connection cannot serve again.
    response.writeHead(status, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers, ...(closing() || !request.complete ? { connection: 'close' } : {}) });
  };
  return {
    method: request.method ?? '',
    path: mark < 0 ? target : target.slice(0, mark),
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value?.trim();
    },
    body(maxBytes) {
      return new Promise((resolve) => {
        if (Number(request.headers['content-length'] ?? 0) > maxBytes) { resolve('too-large'); return; }
        const text = collectText();
        const onData = (chunk: Buffer): void => {
          text.add(chunk);
          if (text.bytes() <= maxBytes) return;
          request.off('data', onData);
          request.pause();
          text.take();
          resolve('too-large');
        };
        request.on('data', onData);
        request.on('end', () => resolve({ text: text.take() }));
        request.on('close', () => resolve('gone'));
      });
    },
    onGone(listener) { if (!ended) gone.push(listener); else if (!response.writableFinished) listener(); },
    onOver(listener) { over = listener; },
    reply(status, headers = {}, body) {
      if (response.headersSent || response.destroyed) return;
      head(status, { ...headers, 'content-length': String(body === undefined ? 0 : Buffer.byteLength(body)) });
      response.end(body);
    },
    stream(status, headers) {
      if (!response.headersSent && !response.destroyed) {
        head(status, headers);
        // The client may wait for the head alone; events come when they come.
        response.flushHeaders();
        request.socket.setNoDelay(true);
      }
      return {
        write(text) { if (!response.destroyed && !response.writableEnded) response.write(text); },
        get backlog() { return response.writableLength; },
        end() { if (!response.destroyed) response.end(); },
        destroy() { response.destroy(); },
      };
    },
  };
}
