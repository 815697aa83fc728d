/** The engine on `node:http`: keep-alive, one write for head and body, and the knowledge of how far a request got. */
import * as http from 'node:http';
import { isIP } from 'node:net';
import { now } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { ACCEPTED_CODINGS, codingsOf, readDecoded } from './decoding.ts';
import { addressRefused, createSockets } from './sockets.ts';
import type { Sent } from '../base/failure.ts';
import type { Proxy, ProxyChoice } from './proxy.ts';
import type { ConnectionOptions, Sockets } from './sockets.ts';
import type { Engine, EngineSink, Order, ResponseHeaders, Running } from './types.ts';

/** What a caller may not decide: framing and connection belong to the engine. */
export const ENGINE_HEADERS: ReadonlySet<string> = new Set([
  'host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade', 'expect',
]);

/** After a pause this long a kept connection may have ended without our having looked. */
const PAUSE_MS = 2;

/** A request this small leaves in one piece or not at all. */
const ONE_WRITE_BYTES = 16 * 1024;

export function createNodeEngine(options: ConnectionOptions, proxies: ProxyChoice): Engine {
  const sockets = createSockets(options);
  let lastUse = 0;
  const sendNow = (order: Order, sink: EngineSink): Running => {
    try {
      const { host } = order.target;
      if (options.connectPolicy !== undefined && isIP(host) !== 0 && !options.connectPolicy(host)) throw addressRefused(host);
      return start(order, sink, sockets, proxies.choose(order.target), () => { lastUse = now(); });
    } catch (error) {
      return neverStarted(sink, error);
    }
  };
  return {
    name: 'node',
    send: (order, sink) => order.replaySafe || lastUse === 0 || now() - lastUse < PAUSE_MS ? sendNow(order, sink) : sendAfterLook(() => sendNow(order, sink)),
    proxyFor: (target) => proxies.choose(target)?.shown,
    dropIdle: () => sockets.dropIdle(),
    close: () => sockets.destroy(),
  };
}

/**
 * Lets the event loop read what its sockets have to say before something that must not run twice is written to one of them: a connection
 * that the server closed while we were busy is then dropped, not written to. Two turns, so that one whole look at the sockets is in between.
 */
function sendAfterLook(send: () => Running): Running {
  let running: Running | undefined;
  let canceled = false, paused = false;
  setImmediate(() => setImmediate(() => {
    if (canceled) return;
    running = send();
    if (paused) running.pause();
  }));
  return {
    cancel() { canceled = true; return running?.cancel() ?? 'no'; },
    pause() { paused = true; running?.pause(); },
    resume() { paused = false; running?.resume(); },
  };
}

function neverStarted(sink: EngineSink, error: unknown): Running {
  let canceled = false;
  queueMicrotask(() => { if (!canceled) sink.fail({ error, sent: 'no', reused: false }); });
  return { cancel: () => { canceled = true; return 'no'; }, pause() {}, resume() {} };
}

function start(order: Order, sink: EngineSink, sockets: Sockets, proxy: Proxy | undefined, used: () => void): Running {
  const { target } = order;
  const agent = sockets.agentFor(target, proxy);
  const forward = proxy !== undefined && !target.secure ? proxy : undefined;
  const request = http.request({
    agent, protocol: (agent as { protocol?: string }).protocol ?? null, method: order.method, maxHeaderSize: limits.httpHeaderBytes,
    host: forward?.host ?? target.host, port: forward?.port ?? target.port,
    path: forward === undefined ? target.path : `${target.origin}${target.path}`,
    headers: headerList(order, forward) as never,
  });
  let done = false, answered = false, paused = false;
  let body: { pause(): void; resume(): void; destroy?(): void } | undefined;

  const howFar = (error?: unknown): Sent => {
    if (answered) return 'yes';
    const { socket } = request;
    if (socket === null || socket === undefined || !sockets.isEstablished(socket)) return 'no';
    return wroteNothing(error, order) ? 'no' : 'unknown';
  };
  const fail = (error: unknown): void => {
    if (done) return;
    done = true;
    const sent = howFar(error);
    request.destroy();
    body?.destroy?.();
    sink.fail({ error, sent, reused: request.reusedSocket });
  };
  const end = (): void => {
    if (done) return;
    done = true;
    used();
    sink.end();
  };

  request.on('error', fail);
  request.on('response', (response) => {
    if (done) return;
    answered = true;
    const headers = response.headers as ResponseHeaders;
    const keepAlive = headers['keep-alive'];
    if (keepAlive !== undefined) sockets.announced(response.socket, keepAlive);
    const coded = headers['content-encoding'];
    let codings: readonly string[] = [];
    try {
      if (coded !== undefined) codings = codingsOf(coded);
    } catch (error) {
      fail(error);
      return;
    }
    sink.head(response.statusCode ?? 0, headers);
    if (done) return;
    if (codings.length > 0) body = readDecoded(response, codings, { data: (chunk) => { if (!done) sink.data(chunk); }, end, fail });
    else {
      body = response;
      response.on('data', (chunk: Buffer) => { if (!done) sink.data(chunk); });
      response.on('end', end);
      response.on('error', fail);
    }
    if (paused) body.pause();
  });
  request.end(order.body);
  return {
    cancel() {
      done = true;
      const sent = howFar();
      request.destroy();
      body?.destroy?.();
      return sent;
    },
    pause() { paused = true; body?.pause(); },
    resume() { paused = false; body?.resume(); },
  };
}

/** True when the very first write of a small request was turned away: the kernel takes all of it or, on a dead connection, nothing. */
function wroteNothing(error: unknown, order: Order): boolean {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return syscall === 'write' && (code === 'EPIPE' || code === 'ECONNRESET') && (order.body?.length ?? 0) < ONE_WRITE_BYTES;
}

/** Name, value, name, value: the form that Node writes without sorting it into objects first. */
function headerList(order: Order, forward: Proxy | undefined): string[] {
  const { headers, body, target } = order;
  const list = ['Host', target.authority];
  let coding: string | undefined;
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase();
    if (lower === 'accept') coding ??= codingFor(headers[name]!);
    if (lower === 'accept-encoding') coding = '';
    if (!ENGINE_HEADERS.has(lower)) list.push(name, headers[name]!);
  }
  if (coding !== '') list.push('Accept-Encoding', coding ?? ACCEPTED_CODINGS);
  if (forward?.authorization !== undefined) list.push('Proxy-Authorization', forward.authorization);
  if (body !== undefined) list.push('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength));
  else if (order.method !== 'GET' && order.method !== 'HEAD' && order.method !== 'DELETE') list.push('Content-Length', '0');
  return list;
}

/** Compressing middleware holds small events back until a block is full: a pure event stream is asked for as it is. */
export function codingFor(accept: string): string {
  return accept.trim().toLowerCase() === 'text/event-stream' ? 'identity' : ACCEPTED_CODINGS;
}
