/**
 * How connections come to be and how long they live: agents per route (direct, through a proxy, through a tunnel), address policy,
 * certificates. Together with `node-engine` the only file that opens connections.
 */
import { X509Certificate } from 'node:crypto';
import * as dns from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import * as net from 'node:net';
import * as tls from 'node:tls';
import { now } from '../base/deadline.ts';
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Duplex } from 'node:stream';
import type { Proxy } from './proxy.ts';
import type { HttpOptions, Target } from './types.ts';

export interface ConnectionOptions extends Pick<HttpOptions, 'ca' | 'cert' | 'key' | 'connectPolicy' | 'onConnection'> {
  /** What NODE_EXTRA_CA_CERTS adds to the default roots; asked only where Node does not tell. */
  readonly extraRoots: () => string | undefined;
}
type Connected = (error: Error | null, socket?: Duplex) => void;
/** What `http.Agent` lets us replace; its types name only part of it. */
interface OpenAgent {
  createConnection(options: Dial, callback: Connected): Duplex | undefined;
  keepSocketAlive(socket: net.Socket): boolean;
  readonly freeSockets: Readonly<Record<string, readonly net.Socket[] | undefined>>;
}
interface Dial { readonly host?: string; readonly port?: number }

export interface Sockets {
  agentFor(target: Target, proxy: Proxy | undefined): http.Agent;
  /** True once bytes of ours can have left through it: connected and, with TLS, the peer's identity checked. */
  isEstablished(socket: Duplex): boolean;
  /** Takes note of a `Keep-Alive` response header: the connection is given up a second before the server does. */
  announced(socket: net.Socket, keepAlive: string): void;
  dropIdle(): void;
  destroy(): void;
}

export function createSockets(options: ConnectionOptions): Sockets {
  const own = secureContext(options, options.extraRoots);
  // Our certificate is for the server, not for a proxy in between. Costs tens of milliseconds: only when it is needed.
  let proxyContext = options.cert === undefined && options.key === undefined ? own : undefined;
  const forProxies = (): tls.SecureContext | undefined => proxyContext ??= secureContext({ ca: options.ca }, options.extraRoots);
  const lookup = lookupWith(options.connectPolicy);
  const proxyLookup = lookupWith(undefined);
  const established = new WeakSet<Duplex>();
  const idleMs = new WeakMap<net.Socket, number>();
  const agents = new Map<string, http.Agent>();
  const opening = new Set<{ destroy(): void }>();

  const watch = (socket: net.Socket, target: Dial, startedAt: number, proxy: Proxy | undefined): net.Socket => {
    socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', () => {
      established.add(socket);
      options.onConnection?.({
        host: `${target.host}:${target.port}`, address: socket.remoteAddress, elapsedMs: now() - startedAt, proxy: proxy?.shown,
        tls: socket instanceof tls.TLSSocket ? tlsFacts(socket) : undefined,
      });
    });
    return socket;
  };

  const createAgent = (target: Target, proxy: Proxy | undefined): http.Agent => {
    const tunnel = proxy !== undefined && target.secure;
    const secure = tunnel || (proxy === undefined ? target.secure : proxy.secure);
    const settings = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: limits.httpSockets };
    const agent = secure ? new https.Agent(settings) : new http.Agent(settings);
    const opened = openly(agent);
    const connect = opened.createConnection.bind(agent);
    const dialing = { ...DIALING, lookup: proxy === undefined ? lookup : proxyLookup };
    const context = secure ? { secureContext: proxy === undefined || tunnel ? own : forProxies() } : {};
    opened.createConnection = (dial, callback) => {
      const startedAt = now();
      if (!tunnel) return watch(connect({ ...dial, ...dialing, ...context }, callback) as net.Socket, dial, startedAt, proxy);
      const handshake: Connected = (error, socket) => {
        opening.delete(request);
        if (socket === undefined) { callback(error); return; }
        const through: Dial & { readonly socket: Duplex } = { ...dial, ...context, socket };
        callback(null, watch(connect(through, callback) as net.Socket, dial, startedAt, proxy));
      };
      const request = openTunnel(proxy, dial, { ...dialing, secureContext: proxy.secure ? forProxies() : undefined }, handshake);
      opening.add(request);
      return undefined;
    };
    // Node's own version forgets the idle limit and asks the kernel to set keep-alive again after every response.
    opened.keepSocketAlive = (socket) => {
      const ms = idleMs.get(socket) ?? limits.httpIdleMs;
      socket.unref();
      if (socket.timeout !== ms) socket.setTimeout(ms);
      return ms > 0;
    };
    return agent;
  };

  let lastText = '', lastMs = 0;
  return {
    agentFor(target, proxy) {
      const route = proxy === undefined ? (target.secure ? 'tls' : 'tcp') : `${target.secure ? 'tunnel' : 'forward'} ${proxy.shown}`;
      let agent = agents.get(route);
      if (agent === undefined) agents.set(route, agent = createAgent(target, proxy));
      return agent;
    },
    isEstablished: (socket) => established.has(socket),
    announced(socket, keepAlive) {
      if (keepAlive !== lastText) {
        const seconds = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(keepAlive)?.[1];
        lastText = keepAlive;
        lastMs = seconds === undefined ? limits.httpIdleMs : Math.max(0, Math.min(limits.httpIdleMs, (Number(seconds) - 1) * 1000));
      }
      if (idleMs.get(socket) !== lastMs) idleMs.set(socket, lastMs);
    },
    dropIdle() {
      for (const agent of agents.values()) for (const sockets of Object.values(openly(agent).freeSockets)) for (const socket of [...sockets ?? []]) socket.destroy();
    },
    destroy() {
      for (const agent of agents.values()) agent.destroy();
      for (const request of opening) request.destroy();
    },
  };
}

function openly(agent: http.Agent): OpenAgent {
  return agent as unknown as OpenAgent;
}

const DIALING = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: limits.httpAddressMs, noDelay: true } as const;

function tlsFacts(socket: tls.TLSSocket): { protocol: string; issuer: string; validTo: string } {
  const certificate = socket.getPeerCertificate();
  const issuer = certificate.issuer?.O ?? certificate.issuer?.CN ?? '';
  return { protocol: socket.getProtocol() ?? '', issuer: String(issuer), validTo: certificate.valid_to ?? '' };
}

type Lookup = (hostname: string, options: dns.LookupOptions, callback: (error: NodeJS.ErrnoException | null, address: string | dns.LookupAddress[], family?: number) => void) => void;

/**
 * Names to addresses. `localhost` is loopback in both families without asking anyone (RFC 6761), so that it does not matter where a server
 * listens. The addresses handed back are the very ones that get connected to.
 */
function lookupWith(policy: ((address: string) => boolean) | undefined): Lookup {
  return (hostname, options, callback) => {
    const answer = (all: readonly dns.LookupAddress[]): void => {
      const usable = policy === undefined ? [...all] : all.filter(({ address }) => policy(address));
      const first = usable[0];
      if (first === undefined) callback(addressRefused(all.map(({ address }) => address).join(', ')), '');
      else if (options.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    };
    if (/(?:^|\.)localhost\.?$/i.test(hostname)) {
      process.nextTick(answer, [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }]);
      return;
    }
    dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) callback(error, '');
      else answer(addresses);
    });
  };
}

export function addressRefused(address: string): Error {
  return Object.assign(new Error('The address policy refuses this address'), { code: 'ADDRESS_REFUSED', address });
}

/** The default roots and what is added to them. Undefined when nothing is. Throws `CONFIG_INVALID` for PEM text that is none. */
function secureContext({ ca, cert, key }: Pick<HttpOptions, 'ca' | 'cert' | 'key'>, extraRoots: () => string | undefined): tls.SecureContext | undefined {
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  if (ca !== undefined) checked('/caFile', 'a certificate in PEM form', () => new X509Certificate(ca));
  return checked('/certFile', 'a certificate chain and its private key in PEM form, without a passphrase', () => {
    const pair = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
    if (ca === undefined) return tls.createSecureContext(pair);
    const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
    return tls.createSecureContext({ ...pair, ca: [...getCACertificates?.('default') ?? [...tls.rootCertificates, extraRoots() ?? ''], ca] });
  });
}

function checked<T>(pointer: string, wanted: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code ?? 'unreadable');
    throw new Failure('CONFIG_INVALID', `Cannot use "${pointer.slice(1)}": it does not hold ${wanted} (${code})`, {
      stage: 'config', details: { problems: [{ pointer, message: `does not hold ${wanted}` }] }, hint: 'Check the file with: openssl x509 -in FILE -noout -text',
    });
  }
}

/** Asks an HTTP proxy to connect us through (RFC 9110 section 9.3.6); the callback gets the bare connection. */
function openTunnel(proxy: Proxy, dial: Dial, dialing: object, callback: Connected): http.ClientRequest {
  const host = dial.host ?? '';
  const authority = `${host.includes(':') ? `[${host}]` : host}:${dial.port}`;
  const connectTo = { ...dialing, host: proxy.host, port: proxy.port };
  const headers = ['Host', authority, 'Connection', 'keep-alive', 'Proxy-Connection', 'keep-alive'];
  if (proxy.authorization !== undefined) headers.push('Proxy-Authorization', proxy.authorization);
  const request = http.request({
    method: 'CONNECT', path: authority, headers: headers as never, maxHeaderSize: limits.httpHeaderBytes,
    createConnection: () => proxy.secure ? tls.connect({ ...connectTo, servername: net.isIP(proxy.host) === 0 ? proxy.host : '' }) : net.connect(connectTo),
  });
  let settled = false;
  const settle = (error: Error | null, socket?: Duplex): void => {
    if (settled) { socket?.destroy(); return; }
    settled = true;
    clearTimeout(timer);
    callback(error, socket);
  };
  const broken = (cause: unknown): void => settle(Object.assign(new Error('The proxy cannot be used', { cause }), { code: 'PROXY_FAILED' }));
  const timer = setTimeout(() => {
    broken(Object.assign(new Error('The proxy does not answer'), { code: 'ETIMEDOUT' }));
    request.destroy();
  }, limits.httpTunnelMs);
  request.once('connect', (response, socket, head) => {
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300 && head.length === 0) { settle(null, socket); return; }
    socket.destroy();
    settle(Object.assign(new Error('The proxy refuses the tunnel'), { code: 'PROXY_STATUS', status }));
  });
  request.on('error', broken);
  request.on('close', () => broken(Object.assign(new Error('The proxy ended the connection'), { code: 'ECONNRESET' })));
  request.end();
  return request;
}
