/**
 * The only opener of ports: loopback, exact Host, GET, one path. Everything else is answered and forgotten, so that a favicon, a port
 * scan or a page of some web site (DNS rebinding) neither ends nor fills what waits here.
 */
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { limits } from '../base/limits.ts';

export interface LoopbackAnswer { readonly status: number; readonly html: string }

export interface LoopbackOptions {
  /** `localhost` listens on both families, since a browser may choose either. */
  readonly host: '127.0.0.1' | '::1' | 'localhost';
  /** 0: any free one. */
  readonly port: number;
  /** The exact path, as a browser sends it. */
  readonly path: string;
  /** The query of a request that passed every check. May take its time. Never rejects. */
  onRequest(query: URLSearchParams): Promise<LoopbackAnswer>;
}

export interface LoopbackListener {
  readonly port: number;
  /** Idempotent. Connections that wait for their answer end with it, the others at once. */
  close(): void;
}

/** Rejects with the system's error (`EADDRINUSE`, `EACCES`). */
export async function listenLoopback(options: LoopbackOptions): Promise<LoopbackListener> {
  const servers: http.Server[] = [];
  const sockets = new Set<Socket>(), answering = new Set<Socket>();
  let port = options.port;
  try {
    for (const [nth, address] of (options.host === 'localhost' ? ['127.0.0.1', '::1'] : [options.host]).entries()) {
      const server = createServer(options, () => port, sockets, answering);
      try {
        await listen(server, port, address);
      } catch (error) {
        // A machine without IPv6 is fine; a port that another program holds in one family is not.
        if (nth > 0 && error instanceof Error && 'code' in error && error.code !== 'EADDRINUSE') continue;
        throw error;
      }
      servers.push(server);
      port = (server.address() as AddressInfo).port;
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  const close = (): void => {
    for (const server of servers) server.close();
    // One that is being answered closes by itself (`Connection: close`).
    for (const socket of sockets) if (!answering.has(socket)) socket.destroy();
  };
  return { port, close };
}

function listen(server: http.Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}

function createServer(options: LoopbackOptions, port: () => number, sockets: Set<Socket>, answering: Set<Socket>): http.Server {
  const server = http.createServer({ maxHeaderSize: limits.callbackHeaderBytes, headersTimeout: limits.callbackHeadMs, requestTimeout: limits.callbackHeadMs, connectionsCheckingInterval: 1000 });
  server.maxConnections = limits.callbackSockets;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => { sockets.delete(socket); answering.delete(socket); });
  });
  server.on('request', (request, response) => { answering.add(request.socket); void answer(options, port(), request, response); });
  server.on('clientError', (_error, socket) => { socket.destroy(); });
  return server;
}

async function answer(options: LoopbackOptions, port: number, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const refuse = (status: number): void => send(response, { status, html: plainPage(status) });
  // Whatever body comes is not read.
  request.on('error', () => {});
  const host = options.host === '::1' ? '[::1]' : options.host;
  if (request.headers.host !== `${host}:${port}` && !(port === 80 && request.headers.host === host)) { refuse(421); return; }
  if (request.method !== 'GET') { refuse(405); return; }
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  if ((mark < 0 ? target : target.slice(0, mark)) !== options.path) { refuse(404); return; }
  send(response, await options.onRequest(new URLSearchParams(mark < 0 ? '' : target.slice(mark))));
}

function plainPage(status: number): string {
  return `<!doctype html><meta charset="utf-8"><title>${status}</title><p>${http.STATUS_CODES[status] ?? ''}</p>\n`;
}

function send(response: http.ServerResponse, { status, html }: LoopbackAnswer): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8', 'content-length': Buffer.byteLength(html), connection: 'close', 'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin',
  });
  response.end(html);
}
