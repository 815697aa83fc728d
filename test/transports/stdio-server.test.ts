/** The server's end of stdio: over pipes inside this process, and as a child of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Message } from '../../src/jsonrpc/message.ts';
import type { Notice, Outgoing, Transport } from '../../src/jsonrpc/transport.ts';
import { createServer } from '../../src/mcp/server.ts';
import { servePeer } from '../../src/mcp/server-peer.ts';
import { createStdioServerTransport } from '../../src/transports/stdio-server.ts';
import { createFixtureProgram } from '../fixtures/served.ts';
import { failureOf } from '../support/peer.ts';
import { waitFor } from '../support/process.ts';
import { servedStories } from '../support/served-stories.ts';

servedStories({
  name: 'stdio',
  async start(_t, engine) {
    const up = new PassThrough(), down = new PassThrough();
    await servePeer(engine, createStdioServerTransport({ input: up, output: down }));
    const client = createStdioServerTransport({ input: down, output: up });
    // Ending its output is how a client leaves.
    return () => ({ ...client, async close() { const report = await client.close(); up.end(); return report; } });
  },
});

const out = (text: string): Outgoing => ({ kind: 'notification', method: '', params: undefined, text });
interface Open { readonly transport: Transport; readonly input: PassThrough; readonly messages: Message[]; readonly notices: Notice[]; readonly closed: AnyFailure[] }
async function opened(output: Writable): Promise<Open> {
  const input = new PassThrough(), messages: Message[] = [], notices: Notice[] = [], closed: AnyFailure[] = [];
  const transport = createStdioServerTransport({ input, output });
  await transport.open({ message: (message) => { messages.push(message); }, notice: (notice) => { notices.push(notice); }, closed: (reason) => { closed.push(reason); } }, new AbortController().signal);
  return { transport, input, messages, notices, closed };
}

test('createStdioServerTransport() reads a message cut in pieces, delivers the last without a line end, and can write after the end of its input', async () => {
  const output = new PassThrough();
  const { transport, input, messages, closed } = await opened(output);
  const bytes = Buffer.from('{"jsonrpc":"2.0","method":"a","params":{"x":"é"}}\r\nnoise\n{"jsonrpc":"2.0","method":"b"}');
  for (const byte of bytes) input.write(Buffer.from([byte]));
  input.end();
  await waitFor(() => closed.length === 1, 'the end of the input');
  assert.deepEqual(messages.map(({ message }) => (message as { method?: string }).method), ['a', 'b']);
  assert.equal(closed[0]!.stage, 'close');
  await transport.send(out('{"last":1}'));
  await transport.close();
  assert.equal(String(output.read()), '{"last":1}\n');
  assert.equal((await failureOf(Promise.resolve(transport.send(out('{}'))))).code, 'CONNECTION_CLOSED');
  assert.deepEqual(await transport.close(), { forced: [] });
});

test('createStdioServerTransport() does not read a client that leaves much unread, and goes on when it reads', async () => {
  const taken: (() => void)[] = [];
  let text = '';
  const output = new Writable({ highWaterMark: 16, write(chunk, _encoding, done) { text += String(chunk); taken.push(done); } });
  const { transport, input, messages } = await opened(output);
  await transport.send(out('x'.repeat(2 << 20)));
  await waitFor(() => taken.length === 1, 'the first write');
  let settled = false;
  const waiting = Promise.resolve(transport.send(out('y'))).then(() => { settled = true; });
  input.write('{"jsonrpc":"2.0","method":"while full"}\n');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([settled, messages.length, input.isPaused()], [false, 0, true]);
  while (!settled) { taken.shift()?.(); await new Promise((resolve) => setImmediate(resolve)); }
  await waiting;
  await waitFor(() => messages.length === 1, 'what waited to be read');
  const closing = transport.close();
  const pump = setInterval(() => taken.shift()?.(), 1);
  await closing;
  clearInterval(pump);
  assert.equal(text, `${'x'.repeat(2 << 20)}\ny\n`);
});

test('createStdioServerTransport() takes broken pipes for the end, once, and a frame beyond the limit too', async () => {
  for (const break_ of [
    ({ input }: Open) => { input.emit('error', new Error('EIO')); },
    (_open: Open, output: Writable) => { output.emit('error', new Error('EPIPE')); },
    ({ input }: Open) => { for (let n = 0; n < 40; n++) input.write('no message\n'); },
  ]) {
    const output = new PassThrough();
    const open = await opened(output);
    break_(open, output);
    await waitFor(() => open.closed.length > 0, 'the end');
    open.input.end();
    await open.transport.close();
    assert.equal(open.closed.length, 1);
    assert.notEqual(open.closed[0]!.stage, 'close');
  }
});

test('createStdioServerTransport() refuses to open twice, or when canceled; closing it unopened does nothing', async () => {
  const { transport } = await opened(new PassThrough());
  const sink = { message: () => {}, notice: () => {}, closed: () => {} };
  await assert.rejects(transport.open(sink, new AbortController().signal), TypeError);
  const fresh = createStdioServerTransport({ input: new PassThrough(), output: new PassThrough() });
  assert.equal((await failureOf(fresh.open(sink, AbortSignal.abort()))).code, 'CANCELED');
  assert.deepEqual(await fresh.close(), { forced: [] });
  await transport.close();
});

const program = fileURLToPath(new URL('../support/serve-fixture.ts', import.meta.url));
test('a served program as a child answers what was asked before the end of its input, and then ends by itself', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => { text += String(chunk); });
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 'two', method: 'tools/call', params: { name: 'sleep', arguments: { ms: 200 } } },
  ];
  child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const [code] = await once(child, 'exit') as [number];
  const said = text.trim().split('\n').map((line) => JSON.parse(line) as { id: unknown; result: { protocolVersion?: string; content?: unknown } });
  assert.deepEqual([code, said.length, said[0]!.result.protocolVersion, said[1]!.id], [0, 2, '2025-06-18', 'two']);
});

test('servePeer() closes at once when nothing runs, and lets go of what was opened', async () => {
  const program = createFixtureProgram();
  const engine = createServer({ serve: () => program });
  const input = new PassThrough(), output = new PassThrough();
  const peer = await servePeer(engine, createStdioServerTransport({ input, output }));
  const said = once(output, 'data');
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } })}\n`);
  await said;
  await Promise.all([peer.close(), peer.close()]);
  assert.equal((await peer.closed).code, 'CONNECTION_CLOSED');
  assert.deepEqual(program.happened, ['close']);
});
