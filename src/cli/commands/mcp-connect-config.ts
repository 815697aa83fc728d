import { nearest } from '../../base/text.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { usageFailure } from '../parse.ts';
import { dim } from '../span.ts';

/** What one client is told, and where. */
interface Client {
  readonly name: string;
  readonly file: string;
  snippet(launch: { readonly command: string; readonly args: readonly string[] }): string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

export const clients: readonly Client[] = [
  { name: 'claude-code', file: '.mcp.json of the project', snippet: (launch) => json({ mcpServers: { zuno: { type: 'stdio', ...launch } } }) },
  { name: 'cursor', file: '~/.cursor/mcp.json, or .cursor/mcp.json of the project', snippet: (launch) => json({ mcpServers: { zuno: launch } }) },
  { name: 'vscode', file: '.vscode/mcp.json of the project', snippet: (launch) => json({ servers: { zuno: { type: 'stdio', ...launch } } }) },
  // A JSON text is a TOML basic string as well, and a list of them an array.
  { name: 'codex', file: '~/.codex/config.toml', snippet: ({ command, args }) => `[mcp_servers.zuno]\ncommand = ${JSON.stringify(command)}\nargs = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]` },
  { name: 'opencode', file: 'opencode.json of the project, or ~/.config/opencode/opencode.json', snippet: ({ command, args }) => json({ mcp: { zuno: { type: 'local', command: [command, ...args], enabled: true } } }) },
  { name: 'zcode', file: 'the MCP settings of ZCode', snippet: (launch) => json({ mcpServers: { zuno: { type: 'stdio', ...launch } } }) },
];

function run({ parsed, terminal, json: asJson }: Context): Promise<number> {
  const wanted = parsed.operands[0]!, names = clients.map(({ name }) => name);
  const client = clients.find(({ name }) => name === wanted.toLowerCase());
  if (client === undefined) throw usageFailure(`Cannot tell how "${wanted}" is configured: it is not ${names.join(', ')}`, wanted, 'zuno-lite mcp connect-config --help', nearest(wanted, names));
  const args = ['serve', ...parsed.all('server').flatMap((server) => ['--server', server]), ...(parsed.has('agent') ? ['--agent', parsed.value('agent')!] : [])];
  const snippet = client.snippet({ command: 'zuno-lite', args });
  if (asJson) terminal.document({ ok: true, client: client.name, file: client.file, snippet });
  else { terminal.note(dim(`into ${client.file}:`)); terminal.print(snippet); }
  return Promise.resolve(EXIT_OK);
}

export const command: Command = {
  usage: ['mcp connect-config CLIENT [--server NAME]... [--agent NAME]'],
  operands: ['CLIENT'],
  options: [
    { name: 'server', value: 'NAME', repeat: true, summary: 'serves this server only; may be repeated' },
    { name: 'agent', value: 'NAME', summary: 'with the tools and rules of this agent' },
  ],
  examples: [{ line: 'mcp connect-config cursor', about: 'what Cursor has to be told, and in which file:' }],
  notes: [`Clients: ${clients.map(({ name }) => name).join(', ')}. Nothing is written.`],
  run,
};
