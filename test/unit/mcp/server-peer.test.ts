/** One pipe, both eras, and a peer that does not keep to the rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import { parseFrame, classify } from '../../../src/jsonrpc/message.ts';
import type { Outgoing, Sink, Transport } from '../../../src/jsonrpc/transport.ts';
import { createServer } from '../../../src/mcp/server.ts';
import { servePeer, type PeerOptions, type ServedPeerConnection } from '../../../src/mcp/server-peer.ts';
import { createFixtureProgram, type FixtureProgram } from '../../fixtures/served.ts';
import { PREFIX } from '../../support/exchanges.ts';
import { waitFor } from '../../support/process.ts';

interface Pipe { readonly peer: ServedPeerConnection; readonly program: FixtureProgram; readonly said: any[]; readonly sink: Sink; put(value: object | string): void; /** What `send` returns from now on. */ sending: (message: Outgoing) => void | Promise<void>; closedTransports: number }
async function pipe(options: PeerOptions = {}): Promise<Pipe> {
  const said: unknown[] = [];
  const program = createFixtureProgram();
  let sink: Sink | undefined, told = false;
  const made: { sending: Pipe['sending']; closedTransports: number } = { sending: () => {}, closedTransports: 0 };
  const transport: Transport = {
    kind: 'stdio', perRequest: false,
    open: (to) => { sink = { ...to, closed: (reason) => { told = true; to.closed(reason); } }; return Promise.resolve(); },
    send(message) { said.push(JSON.parse(message.text)); return made.sending(message); },
    close() { made.closedTransports += 1; if (!told) sink!.closed(ended()); return Promise.resolve({ forced: [] }); },
  };
  const peer = await servePeer(createServer({ serve: () => program }), transport, options);
  return Object.assign(made, { peer, program, said, sink: sink!, put(value: object | string) { const { value: parsed, pruned } = parseFrame(typeof value === 'string' ? value : JSON.stringify({ jsonrpc: '2.0', ...value }))!; sink!.message(classify(parsed, pruned)!); } });
}
const ended = (stage: 'close' | 'call' = 'close'): AnyFailure => new Failure('CONNECTION_CLOSED', 'x', { stage, details: {} }) as AnyFailure;
const meta = { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientCapabilities`]: { roots: {} } };
const modern = (id: unknown, name: string, args: object = {}): object => ({ id, method: 'tools/call', params: { name, arguments: args, _meta: meta } });

test('servePeer() serves both eras on one pipe, and refuses what has no era yet', async () => {
  const entries: string[] = [];
  const { put, said, peer, program } = await pipe({ onRequest: ({ method, era }) => { entries.push(`${era} ${method}`); } });
  put({ id: 1, method: 'tools/list' });
  assert.equal(said[0].error.code, -32600);
  put({ id: 2, method: 'server/discover' });
  put({ id: 3, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {} } });
  put({ id: 4, method: 'ping' });
  put(modern(5, 'echo', { a: 1 }));
  put({ id: 6, method: 'initialize', params: { protocolVersion: '2025-06-18', _meta: meta } });
  put({ method: 'notifications/roots/list_changed' });
  put({ id: 99, result: {} });
  await waitFor(() => said.length === 6, 'all answers');
  const by = new Map(said.map((message) => [message.id, message]));
  assert.deepEqual([by.get(2).error.code, by.get(3).result.protocolVersion, by.get(4).result, by.get(5).result.structuredContent, by.get(6).error.code], [-32602, '2025-06-18', {}, { a: 1 }, -32601]);
  assert.deepEqual(entries.sort(), ['legacy initialize', 'legacy ping', 'modern initialize', 'modern server/discover', 'modern tools/call']);
  await peer.close();
  assert.deepEqual(program.happened.filter((what) => what === 'close').length, 2, 'one program for the session, one for the stateless requests');
});

test('servePeer() refuses ids that run, more requests than a peer may have, and what nests without end', async () => {
  const { put, said, peer, program } = await pipe();
  for (let id = 0; id < limits.serverRequests; id++) put(modern(id, 'wait'));
  await waitFor(() => program.happened.filter((what) => what === 'waiting').length === limits.serverRequests, 'all of them');
  put(modern(3, 'echo'));
  put(modern('more', 'echo'));
  put(`{"jsonrpc":"2.0","id":"deep","method":"x","params":${'{"a":'.repeat(2000)}1${'}'.repeat(2001)}`);
  put(`{"jsonrpc":"2.0","method":"x","params":${'{"a":'.repeat(2000)}1${'}'.repeat(2001)}`);
  assert.deepEqual(said.map(({ id, error }) => [id, error.code]), [[3, -32600], ['more', -32603], ['deep', -32600]]);
  for (let id = 0; id < limits.serverRequests; id++) put({ method: 'notifications/cancelled', params: { requestId: id } });
  put({ method: 'notifications/cancelled' });
  await waitFor(() => program.happened.filter((what) => what === 'aborted').length === limits.serverRequests, 'all handlers to be told');
  put(modern(3, 'echo'));
  await waitFor(() => said.length === 4, 'the id to be free again');
  await peer.close();
});

test('servePeer() drops what can be left out while its peer does not read, and nothing else', async () => {
  const made = await pipe();
  let read: () => void = () => {};
  made.put({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {} } });
  await waitFor(() => made.said.length === 1, 'the session');
  made.sending = () => new Promise((resolve) => { read = resolve; });
  made.put({ id: 1, method: 'tools/call', params: { name: 'echo', arguments: { blob: 'x'.repeat(limits.serverBacklogBytes) } } });
  await waitFor(() => made.said.length === 2, 'the large answer');
  made.put({ id: 2, method: 'tools/call', params: { name: 'test_logging_tool' } });
  await waitFor(() => made.said.length === 3, 'the answer, without its log entries');
  read();
  await new Promise((resolve) => setImmediate(resolve));
  made.put({ id: 3, method: 'tools/call', params: { name: 'test_logging_tool' } });
  await waitFor(() => made.said.length === 6, 'log entries and answer');
  await made.peer.close();
});

test('servePeer() answers what was asked before the end of the input, and gives up where the pipe is broken', async () => {
  const made = await pipe();
  made.put(modern(1, 'sleep', { ms: 50 }));
  await new Promise((resolve) => setImmediate(resolve));
  made.sink.closed(ended());
  made.put(modern(2, 'echo'));
  assert.equal((await made.peer.closed).stage, 'close');
  assert.deepEqual(made.said.map(({ id }) => id), [1]);

  const broken = await pipe();
  broken.put(modern(1, 'wait'));
  await waitFor(() => broken.program.happened.includes('waiting'), 'the call');
  broken.sending = () => Promise.reject(ended('call'));
  broken.put(modern(2, 'echo'));
  await waitFor(() => broken.said.length === 1, 'the answer that goes nowhere');
  broken.sink.closed(ended('call'));
  assert.equal((await broken.peer.closed).stage, 'call');
  assert.deepEqual([broken.program.happened, broken.closedTransports], [['waiting', 'aborted', 'close'], 1]);
});
