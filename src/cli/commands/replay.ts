import { byteSize, count } from '../../base/text.ts';
import { sizeOf } from '../../base/files.ts';
import { readTrace } from '../../gateway/trace.ts';
import { replayServer } from '../../gateway/replay.ts';
import { servePeer } from '../../mcp/server-peer.ts';
import { createServer } from '../../mcp/server.ts';
import { createStdioServerTransport } from '../../transports/stdio-server.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { dim, yellow } from '../span.ts';

/** Serves until the client is gone or the command is ended. */
async function run(context: Context): Promise<number> {
  const { parsed, terminal, signal, log } = context;
  const file = parsed.operands[0]!;
  const trace = readTrace(file);
  if (trace.torn) terminal.alert(yellow('warning: '), 'the last line of the trace was cut off; what stands before it is served');
  terminal.note(dim(`serving ${file}: ${count(trace.entries.length, 'message')}, ${byteSize(sizeOf(file) ?? 0)}; it ends with its client`));
  const server = createServer({
    serve: replayServer(trace, { timing: parsed.has('timing') }),
    onFault: (method, error) => log({ level: 'error', event: 'replay', message: `${method} failed: ${error instanceof Error ? error.message : String(error)}` }),
  });
  const peer = await servePeer(server, createStdioServerTransport(), { signal });
  const onEnd = (): void => void peer.close();
  signal.addEventListener('abort', onEnd, { once: true });
  if (signal.aborted) onEnd();
  await peer.closed;
  signal.removeEventListener('abort', onEnd);
  server.close();
  return EXIT_OK;
}

export const command: Command = {
  usage: ['replay FILE [--timing]'],
  operands: ['FILE'],
  options: [{ name: 'timing', summary: 'waits between messages as long as it took when they were recorded' }],
  examples: [
    { line: 'replay session.jsonl', about: 'is a server on standard input and output that answers what the trace holds:' },
    { line: 'mcp add recorded -- zuno-lite replay session.jsonl', about: 'registers it like any other server:' },
  ],
  notes: ['The same request gets the answer that it got; repeated, the next one, and the last one from then on. What was never asked is an error that names the nearest request of the trace. Nothing is started and nothing is reached.'],
  run,
};
