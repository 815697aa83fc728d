/** A real HTTP proxy on loopback: CONNECT tunnels and absolute-form requests, optionally with a login. */
import * as http from 'node:http';
import * as https from 'node:https';
import * as net from 'node:net';
import { pem } from './http-server.ts';

export interface TestProxy {
  readonly port: number;
  readonly url: string;
  /** `CONNECT host:port` or `GET http://...`, in order. */
  readonly log: string[];
  /** Values of `Proxy-Authorization` seen. */
  readonly logins: (string | undefined)[];
  close(): Promise<void>;
}

export interface ProxySettings {
  /** `user:password` that is asked for. */
  readonly login?: string;
  readonly secure?: boolean;
  /** Status for every CONNECT instead of a tunnel; `hang up` closes without an answer, `silent` never answers. */
  readonly connect?: number | 'hang up' | 'silent';
}

export async function startProxy({ login, secure = false, connect }: ProxySettings = {}): Promise<TestProxy> {
  const log: string[] = [], logins: (string | undefined)[] = [];
  const sockets = new Set<net.Socket>();
  const track = (socket: net.Socket): void => { sockets.add(socket); socket.on('error', () => {}).on('close', () => sockets.delete(socket)); };
  const admitted = (headers: http.IncomingHttpHeaders): boolean => {
    logins.push(headers['proxy-authorization']);
    return login === undefined || headers['proxy-authorization'] === `Basic ${Buffer.from(login).toString('base64')}`;
  };
  const forward: http.RequestListener = (request, response) => {
    log.push(`${request.method} ${request.url}`);
    if (!admitted(request.headers)) { request.resume(); response.writeHead(407, { 'proxy-authenticate': 'Basic realm="proxy"' }).end(); return; }
    const { 'proxy-authorization': _login, ...headers } = request.headers;
    const target = new URL(request.url ?? '');
    const onward = http.request({ host: target.hostname, port: target.port, path: `${target.pathname}${target.search}`, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => { response.writeHead(502).end(); });
    request.pipe(onward);
  };
  const server = secure ? https.createServer({ cert: pem('server.pem'), key: pem('server.key') }, forward) : http.createServer(forward);
  server.on('connection', track).on('secureConnection', track);
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket, head: Buffer) => {
    log.push(`CONNECT ${request.url}`);
    track(socket);
    if (connect === 'silent') return;
    if (connect === 'hang up') { socket.destroy(); return; }
    if (connect !== undefined) { socket.end(`HTTP/1.1 ${connect} No\r\nContent-Length: 0\r\n\r\n`); return; }
    if (!admitted(request.headers)) { socket.end('HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm="proxy"\r\nContent-Length: 0\r\n\r\n'); return; }
    const { hostname, port } = new URL(`http://${request.url}`);
    const onward = net.connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    track(onward);
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as net.AddressInfo;
  return {
    port, log, logins,
    url: `${secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => { server.close(() => resolve()); for (const socket of sockets) socket.destroy(); }),
  };
}
