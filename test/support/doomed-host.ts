/**
 * A host that meets its end in the way the first argument names; the others are flags of the fixture server it starts.
 * Prints `{"pid","server","watchdog"}` once the server runs. Not a test: started by process-tree.test.ts.
 */
import { redactPatterns } from '../../src/base/redact.ts';
import { createProcessTrees } from '../../src/transports/process-tree.ts';
import { createStdioTransport } from '../../src/transports/stdio.ts';
import { connectPeer } from './peer.ts';
import { definedEnvironment, everything } from './process.ts';

const [ending, ...flags] = process.argv.slice(2);
const trees = createProcessTrees({ environment: process.env });
const transport = createStdioTransport({ name: 'fx', command: process.execPath, args: [everything, ...flags], cwd: process.cwd(), environment: definedEnvironment(), redact: redactPatterns, trees });

if (ending === 'graceful') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => { process.exitCode = 130; void transport.close().then(() => trees.close()); });
  }
}
if (ending === 'throw') process.on('exit', () => trees.killAllSync());

const peer = await connectPeer(transport);
await peer.initialize();
// The watchdog starts one turn after the server.
await new Promise((resolve) => setTimeout(resolve, 20));
process.stdout.write(`${JSON.stringify({ pid: process.pid, server: transport.pid, watchdog: trees.watchdogPid })}\n`);

if (ending === 'throw') setImmediate(() => { throw new Error('nobody catches this'); });
if (ending === 'end') await peer.connection.close();
if (ending === 'forget') setImmediate(() => process.exit(0));
