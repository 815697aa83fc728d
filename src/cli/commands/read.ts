import type { Host } from '../../host/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { entryOf, openConfig } from '../open.ts';
import { elicitOption, withPerson } from '../person.ts';
import { yesOption } from '../policy.ts';
import { admitReading } from '../reading.ts';
import { createKeep, saveContents, showContents } from '../render.ts';
import { dim } from '../span.ts';

async function read(context: Context, host: Host): Promise<number> {
  const { parsed, terminal, signal, json } = context;
  const [server, uri] = parsed.operands as [string, string];
  const result = await host.ask(server, ({ client }) => client.readResource(uri, { signal }), signal);
  const directory = parsed.value('output');
  const keep = directory === undefined ? undefined : await createKeep(directory, uri.split(/[/?#]/).filter((part) => part !== '').at(-1) ?? server);
  if (json) {
    const saved = keep === undefined ? [] : saveContents(result.contents, keep);
    terminal.document({ ok: true, server, uri, contents: result.contents, saved });
    return EXIT_OK;
  }
  for (const contents of result.contents) showContents(terminal, contents, keep);
  if (result.contents.length === 0) terminal.note(dim('(the server sent no contents)'));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const [server, uri] = context.parsed.operands as [string, string];
  entryOf(config, server);
  await admitReading(context, config, 'read_mcp_resource', { server, uri });
  return withPerson(context, { config }, (host) => read(context, host));
}

export const command: Command = {
  usage: ['read SERVER URI [--output DIR]'],
  operands: ['SERVER', 'URI'],
  options: [{ name: 'output', short: 'o', value: 'DIR', summary: 'saves what is not text there' }, yesOption, elicitOption],
  examples: [
    { line: 'read docs file:///guide.md', about: 'prints the text of a resource:' },
    { line: 'read docs image://logo --output pictures', about: 'saves bytes into a directory:' },
  ],
  notes: ['The permission key "read" decides: a rule "read": "deny" refuses, "ask" asks.'],
  run,
};
