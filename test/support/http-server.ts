/** Loopback servers for HTTP tests: whatever a handler does, everything is gone after `close`. */
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import * as net from 'node:net';
import { fileURLToPath } from 'node:url';

export interface SeenRequest { readonly method: string; readonly url: string; readonly headers: http.IncomingHttpHeaders; readonly body: string }
export type Handler = (request: SeenRequest, response: http.ServerResponse, socket: net.Socket) => void;
export interface TestServer {
  readonly port: number;
  /** `http(s)://127.0.0.1:port` */
  readonly origin: string;
  readonly requests: SeenRequest[];
  /** Connections accepted so far. */
  readonly connections: () => number;
  /** Resolves when every connection made so far is closed. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export function pem(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url)), 'utf8');
}

export interface ServerOptions { readonly host?: string; readonly tls?: https.ServerOptions; readonly port?: number }

export async function startServer(handler: Handler, { host = '127.0.0.1', tls, port = 0 }: ServerOptions = {}): Promise<TestServer> {
  const requests: SeenRequest[] = [];
  const listener = (message: http.IncomingMessage, response: http.ServerResponse): void => {
    const chunks: Buffer[] = [];
    message.on('error', () => {}).on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
      const seen = { method: message.method ?? '', url: message.url ?? '', headers: message.headers, body: Buffer.concat(chunks).toString() };
      requests.push(seen);
      handler(seen, response, message.socket);
    });
  };
  const server = tls === undefined ? http.createServer(listener) : https.createServer(tls, listener);
  server.keepAliveTimeout = 0;
  const life = await listen(server, host, port, tls === undefined ? 'connection' : 'secureConnection');
  return { ...life, requests, origin: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${life.port}` };
}

/** Speaks bytes. `nth` counts connections from 1; `seen` grows as bytes arrive. */
export async function startRaw(onConnection: (socket: net.Socket, nth: number) => void, host = '127.0.0.1'): Promise<TestServer> {
  let nth = 0;
  const server = net.createServer((socket) => { nth += 1; socket.on('error', () => {}); onConnection(socket, nth); });
  const life = await listen(server, host, 0, 'connection');
  return { ...life, requests: [], origin: `http://${host}:${life.port}` };
}

async function listen(server: net.Server, host: string, port: number, event: string): Promise<Pick<TestServer, 'port' | 'connections' | 'quiet' | 'close'>> {
  const sockets = new Set<net.Socket>();
  let accepted = 0;
  let waiting: (() => void)[] = [];
  // With TLS both the raw and the secure socket are tracked: a failed handshake has only the raw one.
  for (const name of new Set(['connection', event])) {
    server.on(name, (socket: net.Socket) => {
      if (name === 'connection') accepted += 1;
      socket.on('error', () => {});
      // A server that a failed test left open must not hold the process.
      socket.unref();
      sockets.add(socket);
      socket.on('close', () => {
        sockets.delete(socket);
        if (sockets.size === 0) { for (const done of waiting) done(); waiting = []; }
      });
    });
  }
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve, reject) => { server.once('error', reject).listen(port, host, resolve); });
  server.unref();
  return {
    port: (server.address() as net.AddressInfo).port,
    connections: () => accepted,
    quiet: () => sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => { waiting.push(resolve); for (const socket of sockets) socket.ref(); }),
    close: () => new Promise((resolve) => { server.close(() => resolve()); for (const socket of sockets) socket.destroy(); }),
  };
}

/** A port where nothing listens. */
export async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function hasIpv6(): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer().on('error', () => resolve(false));
    server.listen(0, '::1', () => server.close(() => resolve(true)));
  });
}
