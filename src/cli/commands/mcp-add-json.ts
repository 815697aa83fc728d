import { addServer, checkName } from '../../config/edit.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, literalOption, projectOption, reportEdit } from '../edit-report.ts';
import { entryFromJson } from '../new-entry.ts';
import { usageFailure } from '../parse.ts';
import { textSources } from '../text-sources.ts';

async function textOf(word: string, context: Context): Promise<string> {
  const sources = textSources(context.terminal);
  return word === '-' ? sources.readInput() : word.startsWith('@') ? sources.readFile(word.slice(1)) : word;
}

/** With one word it is the snippet, and the name has to stand in it. */
async function run(context: Context): Promise<number> {
  const { parsed } = context;
  const [first, second] = parsed.operands as [string, string?];
  const snippet = entryFromJson(await textOf(second ?? first, context));
  const name = second === undefined ? snippet.name : first;
  if (name === undefined) throw usageFailure('Cannot add the snippet: it does not name its server', undefined, 'zuno-lite mcp add-json NAME JSON');
  checkName(name);
  const entry = parsed.has('disabled') ? { ...snippet.entry, enabled: false } : snippet.entry;
  return reportEdit(context, name, await addServer(name, entry, { ...await editOptions(context), replace: parsed.has('replace'), literal: parsed.has('literal') }), `zuno-lite mcp debug ${name}`);
}

export const command: Command = {
  usage: ['mcp add-json NAME JSON', 'mcp add-json NAME -', 'mcp add-json JSON'],
  operands: ['JSON', '[JSON]'],
  options: [{ name: 'disabled', summary: 'add it switched off' }, { name: 'replace', summary: 'overwrite a server of that name' }, literalOption, projectOption, globalOption, dryRunOption],
  examples: [
    { line: `mcp add-json files '{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/srv/data"]}'`, about: 'a snippet as the documents of servers show it:' },
    { line: 'mcp add-json files - < snippet.json', about: 'from standard input (or @snippet.json for a file):' },
    { line: `mcp add-json '{"mcpServers":{"wiki":{"type":"http","url":"https://example.com/mcp"}}}'`, about: 'with the name in the snippet:' },
  ],
  notes: ['${NAME} in a snippet is written as {env:NAME}. Keys that mean nothing here are named, and nothing is written.'],
  run,
};
