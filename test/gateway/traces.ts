/** Recording real sessions, and clients of what is replayed. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import { createRedactor } from '../../src/base/redact.ts';
import { openRecorder, tapTransport, type Recorder, type RecorderOptions } from '../../src/gateway/record.ts';
import { encodeEntry, encodeHeader, readTrace, type Trace, type TraceEntry } from '../../src/gateway/trace.ts';
import { connectClient } from '../../src/mcp/connect.ts';
import { servePeer } from '../../src/mcp/server-peer.ts';
import { createServer } from '../../src/mcp/server.ts';
import type { Served } from '../../src/mcp/server-types.ts';
import type { Client, ConnectOptions } from '../../src/mcp/types.ts';
import { createMemoryTransportPair } from '../../src/transports/memory.ts';
import { createProcessTrees } from '../../src/transports/process-tree.ts';
import { createStdioTransport } from '../../src/transports/stdio.ts';
import { definedEnvironment, tempDir } from '../support/process.ts';

export const demo = fileURLToPath(new URL('../../demo/server.mjs', import.meta.url));
const clientInfo = { name: 'test', version: '0' };

export async function recorder(t: TestContext, options: Partial<RecorderOptions> & { readonly secrets?: readonly string[] } = {}): Promise<Recorder> {
  const made = await openRecorder({ file: path.join(tempDir(t), 'trace.jsonl'), redact: createRedactor(options.secrets ?? []).redact, log: silentLog, ...options });
  t.after(() => made.close());
  return made;
}

/** A client of a real child whose wire is recorded as upstream. */
export async function recorded(t: TestContext, to: Recorder, args: readonly string[], options: Partial<ConnectOptions> & { readonly environment?: Record<string, string> } = {}): Promise<Client> {
  const trees = createProcessTrees({ environment: process.env });
  const { environment, ...rest } = options;
  const client = await connectClient({
    transport: () => tapTransport(createStdioTransport({ name: 'fx', command: process.execPath, args, cwd: process.cwd(), environment: { ...definedEnvironment(), ...environment }, redact: (text) => text, trees }), to, 'upstream'),
    clientInfo, ...rest,
  });
  t.after(async () => { await client.close(); await trees.close(); });
  return client;
}

/** A client of what is served, joined in memory. */
export async function clientOf(t: TestContext, serve: Served, options: Partial<ConnectOptions> = {}): Promise<Client> {
  const [ours, theirs] = createMemoryTransportPair();
  const server = createServer({ serve });
  const peer = await servePeer(server, ours);
  const client = await connectClient({ transport: () => theirs, clientInfo, ...options });
  t.after(async () => { await client.close(); await peer.close(); server.close(); });
  return client;
}

/** A trace of these entries, read back from its file. */
export function traceOf(t: TestContext, entries: readonly TraceEntry[], server?: Parameters<typeof encodeHeader>[0]['server']): Trace {
  const file = path.join(tempDir(t), 'trace.jsonl');
  writeFileSync(file, encodeHeader({ startedAt: '2026-01-01T00:00:00.000Z', server }) + entries.map(encodeEntry).join(''));
  return readTrace(file);
}

export const linesOf = (file: string): any[] => readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as unknown);
