/** An MCP server over HTTP that works, after the troubles a test orders for its methods. */
import type { TestContext } from 'node:test';
// @ts-expect-error: plain JavaScript
import { createPeer as createUntyped } from '../fixtures/servers/behaviours.mjs';
import { startServer, type SeenRequest, type ServerOptions, type TestServer } from './http-server.ts';

interface PeerPorts { send(message: { readonly id?: unknown }): void; text(): void; stderr(): void; exit(): void; closeOutput(): void }
const createPeer = createUntyped as (flags: object, ports: PeerPorts) => { handle(message: object): void };

/** A status (with headers), the connection cut before or in the middle of the answer, no answer ever, or a body that is sent with 200. */
export type Trouble = number | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string } | 'cut' | 'half' | 'hang';

export interface TroubledServer extends TestServer {
  readonly url: string;
  /** JSON-RPC methods in order of arrival. */
  methods(): string[];
  count(method: string): number;
}

/** `troubles`: for each method what happens to its first requests; `*` for every method. `flags` as in fixtures/servers/README.md. */
export async function startTroubled(t: TestContext, troubles: Readonly<Record<string, readonly Trouble[]>> = {}, flags: Record<string, string | boolean> = { era: 'modern', tools: 'echo,add' }, options?: ServerOptions): Promise<TroubledServer> {
  const queues = new Map(Object.entries(troubles).map(([method, list]) => [method, [...list]]));
  const answers = new Map<unknown, (message: object) => void>();
  const peer = createPeer(flags, { send: (message) => answers.get(message.id)?.(message), text() {}, stderr() {}, exit() {}, closeOutput() {} });
  const methodOf = (seen: SeenRequest): string => (seen.body === '' ? seen.method : (JSON.parse(seen.body) as { method?: string }).method ?? 'response');

  const server = await startServer((seen, response, socket) => {
    const method = methodOf(seen);
    const trouble = queues.get(method)?.shift() ?? queues.get('*')?.shift();
    if (trouble === 'hang') return;
    if (trouble === 'cut') { socket.destroy(); return; }
    if (trouble === 'half') { response.writeHead(200, { 'content-type': 'application/json' }); response.write('{"jsonrpc":"2.0",', () => socket.destroy()); return; }
    if (trouble !== undefined) {
      const { status, headers = {}, body = '' } = typeof trouble === 'number' ? { status: trouble } : trouble;
      response.writeHead(status, { 'content-type': body === '' ? 'text/plain' : 'application/json', ...headers }).end(body === '' ? `no (${status})` : body);
      return;
    }
    if (seen.method !== 'POST') { response.writeHead(seen.method === 'DELETE' ? 204 : 405).end(); return; }
    const message = JSON.parse(seen.body) as { id?: unknown; method?: string };
    if (message.id === undefined) { peer.handle(message); response.writeHead(202).end(); return; }
    answers.set(message.id, (answer) => {
      answers.delete(message.id);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...answer }));
    });
    peer.handle(message);
  }, options);
  t.after(() => server.close());
  const methods = (): string[] => server.requests.map(methodOf);
  return Object.assign(server, { url: `${server.origin}/mcp`, methods, count: (method: string) => methods().filter((one) => one === method).length });
}
