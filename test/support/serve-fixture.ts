/** Serves the fixture program until its standard input ends: on stdio, or over HTTP with its address as one line. For judges of other processes. */
import { createServer } from '../../src/mcp/server.ts';
import { servePeer } from '../../src/mcp/server-peer.ts';
import { startHttpServer } from '../../src/transports/http-server.ts';
import { createStdioServerTransport } from '../../src/transports/stdio-server.ts';
import { createFixtureProgram } from '../fixtures/served.ts';

const engine = createServer({ serve: createFixtureProgram(), onFault: (method, error) => console.error(method, error) });
if (process.argv[2] === '--http') {
  const server = await startHttpServer({ engine, port: Number(process.argv[3] ?? 0) });
  console.log(server.url);
  process.stdin.resume();
  process.stdin.on('end', () => void server.close(100));
} else {
  await servePeer(engine, createStdioServerTransport());
}
