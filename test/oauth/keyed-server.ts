/** A small MCP server that looks at the headers of each request before it answers. */
import { startServer, type SeenRequest, type ServerOptions, type TestServer } from '../support/http-server.ts';
import type { TestContext } from 'node:test';

export interface KeyedServer extends TestServer { readonly url: string; /** What a header said, request by request. */ sent(name: string): (string | undefined)[] }

/** `judge`: a status of its own in place of an answer, with a location for a redirect. */
export async function keyedServer(t: TestContext, judge: (request: SeenRequest) => number | { readonly status: number; readonly location: string } | undefined, options: ServerOptions = {}): Promise<KeyedServer> {
  const server = await startServer((request, response) => {
    const verdict = judge(request);
    if (verdict !== undefined) {
      const { status, location } = typeof verdict === 'number' ? { status: verdict, location: undefined } : verdict;
      response.writeHead(status, location === undefined ? {} : { location }).end();
      return;
    }
    if (request.method !== 'POST') { response.writeHead(405).end(); return; }
    const message = JSON.parse(request.body) as { id?: number; method: string; params?: { protocolVersion?: string } };
    if (message.id === undefined) { response.writeHead(202).end(); return; }
    const results: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'keyed', version: '1' } },
      'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] }, 'tools/call': { content: [] },
    };
    const result = results[message.method];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result }) }));
  }, options);
  t.after(() => server.close());
  return Object.assign(server, { url: `${server.origin}/mcp`, sent: (name: string) => server.requests.map(({ headers }) => headers[name]?.toString()) });
}
