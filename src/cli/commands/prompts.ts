import { oneLine } from '../../base/text.ts';
import type { Host } from '../../host/types.ts';
import type { Prompt } from '../../mcp/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { eachServer, enabledServers, entryOf, openConfig, tellFailures, settledFailures, withHost } from '../open.ts';
import { bold, dim } from '../span.ts';

interface Found { readonly server: string; readonly prompt: Prompt }

const argumentsOf = ({ prompt }: Found): string => (prompt.arguments ?? []).map(({ name, required }) => (required === true ? `${name}=…` : `[${name}=…]`)).join(' ');

/** Texts of the configuration stand among the prompts; where both have one key, the prompt of the server counts. */
async function list(context: Context, host: Host, names: readonly string[], named: boolean): Promise<number> {
  const { signal, terminal } = context;
  const { items, failures: found } = await eachServer<Found>(host, names, signal, async ({ entry, client }) => {
    if (client.capabilities.prompts === undefined) return [];
    const listing = await client.listPrompts({ signal });
    return listing.items.map((prompt) => ({ server: entry.name, prompt }));
  });
  const failures = settledFailures(context, found);
  const keys = new Set(items.map(({ server, prompt }) => `${server}:${prompt.name}`));
  const commands = named ? [] : [...host.config.commands.values()].filter(({ key }) => !keys.has(key));
  if (items.length === 0 && commands.length === 0 && failures[0] !== undefined && (named || failures.length === names.length)) throw failures[0].failure;
  if (context.json) {
    terminal.document({ ok: true, prompts: items.map(({ server, prompt }) => ({ server, key: `${server}:${prompt.name}`, ...prompt })), commands: commands.map(({ key, description, origin }) => ({ key, description: description ?? null, origin })), failures: failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) })) });
    return EXIT_OK;
  }
  const rows = [...items.map((one) => [bold(`${one.server}:${one.prompt.name}`), argumentsOf(one), oneLine(one.prompt.description ?? one.prompt.title ?? '')]), ...commands.map(({ key, description }) => [bold(key), '', oneLine(description ?? '')])];
  if (rows.length > 0) terminal.table([{ title: 'PROMPT' }, { title: 'ARGUMENTS', shrink: 1 }, { title: 'DESCRIPTION', shrink: 2 }], rows);
  else terminal.note(dim('No prompts: none of the servers offers any'));
  tellFailures(context, failures);
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const name = context.parsed.operands[0];
  const names = name === undefined ? enabledServers(config) : [entryOf(config, name).name];
  return withHost(context, { config }, (host) => list(context, host, names, name !== undefined));
}

export const command: Command = {
  usage: ['prompts [SERVER]'],
  operands: ['[SERVER]'],
  options: [],
  examples: [{ line: 'prompts', about: 'of all enabled servers, each with its arguments, and the commands of the configuration:' }],
  run,
};
