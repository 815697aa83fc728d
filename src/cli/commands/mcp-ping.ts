import { now } from '../../base/deadline.ts';
import type { ServerEntry } from '../../config/types.ts';
import type { Host } from '../../host/types.ts';
import { rounded } from '../attempt-view.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { alone, entryOf, openConfig, withHost } from '../open.ts';
import { showWaiting } from '../progress.ts';
import { bold, dim, green } from '../span.ts';

async function ping(context: Context, host: Host, { name }: ServerEntry): Promise<number> {
  const { terminal, json, signal } = context;
  let doing = 'connecting';
  const done = showWaiting(terminal, () => `${name}: ${doing}`);
  const startedAt = now();
  try {
    const { client } = await host.open(name, signal);
    const connectedAt = now();
    doing = 'waiting for the answer';
    await client.ping({ signal });
    const connectMs = rounded(connectedAt - startedAt), pingMs = rounded(now() - connectedAt);
    done();
    if (json) terminal.document({ ok: true, server: name, era: client.era, protocolVersion: client.revision, connectMs, pingMs });
    else terminal.print(bold(name), '  ', green('answers'), `  in ${pingMs} ms`, dim(`  connected in ${connectMs} ms, ${client.revision} (${client.era})`));
    return EXIT_OK;
  } finally {
    done();
  }
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context), entry = entryOf(config, context.parsed.operands[0]!);
  return withHost(context, { config: alone(config, entry) }, (host) => ping(context, host, entry));
}

export const command: Command = {
  usage: ['mcp ping NAME'],
  operands: ['NAME'],
  options: [],
  examples: [{ line: 'mcp ping docs', about: 'connects and waits for one answer:' }],
  notes: ['The exit status says how it went; "mcp debug NAME" says why. A disabled server is pinged too. Revisions from 2026-07-28 on have no ping: there the server is asked what it speaks.'],
  run,
};
