import * as path from 'node:path';
import { addServer, checkName } from '../../config/edit.ts';
import type { Command, Context, Parsed } from '../command.ts';
import { dryRunOption, editOptions, globalOption, literalOption, projectOption, reportEdit } from '../edit-report.ts';
import { entryFromJson, entryFromWords } from '../new-entry.ts';
import { usageFailure } from '../parse.ts';

/** `--from-json` is a server of its own: nothing else may describe it. */
function entryOf(parsed: Parsed, cwd: string) {
  const json = parsed.value('from-json');
  if (json === undefined) return entryFromWords(parsed, (directory) => (parsed.has('project') || directory.startsWith('{') ? directory : path.resolve(cwd, directory)), (file) => path.resolve(cwd, file));
  const stray = ['url', 'env', 'header', 'cwd', 'transport', 'timeout', 'protocol', 'client-id', 'scope', 'no-oauth', 'ca-file', 'cert-file', 'key-file'].find((option) => parsed.has(option)) ?? (parsed.commandLine !== undefined || parsed.operands.length > 1 ? '--' : undefined);
  if (stray !== undefined) throw usageFailure(`Cannot take --from-json together with ${stray === '--' ? 'a command' : `--${stray}`}: the snippet says it all`, '--from-json', 'zuno-lite mcp add --help');
  const { entry } = entryFromJson(json);
  return parsed.has('disabled') ? { ...entry, enabled: false } : entry;
}

async function run(context: Context): Promise<number> {
  const { parsed, terminal } = context;
  const name = parsed.operands[0]!;
  checkName(name);
  const entry = entryOf(parsed, terminal.cwd);
  const edit = await addServer(name, entry, { ...await editOptions(context), replace: parsed.has('replace'), literal: parsed.has('literal') });
  return reportEdit(context, name, edit, `zuno-lite mcp debug ${name}`);
}

export const command: Command = {
  usage: ['mcp add NAME [OPTIONS] -- COMMAND [ARGS]...', 'mcp add NAME --url URL [OPTIONS]', 'mcp add NAME --from-json JSON'],
  operands: ['NAME', '[URL]...'],
  rest: 'command-line',
  options: [
    { name: 'env', short: 'e', value: 'NAME=VALUE', repeat: true, summary: 'an environment variable of the command' },
    { name: 'cwd', value: 'DIR', summary: 'the directory in which the command runs' },
    { name: 'url', value: 'URL', summary: 'where a remote server is' },
    { name: 'transport', short: 't', value: 'KIND', summary: 'http, sse or stdio (default: by what is given)' },
    { name: 'header', short: 'H', value: '"NAME: VALUE"', repeat: true, summary: 'an HTTP header of every request; NAME=VALUE is accepted too' },
    { name: 'client-id', value: 'ID', summary: 'the OAuth client' },
    { name: 'scope', value: 'SCOPE', summary: 'the OAuth scope' },
    { name: 'no-oauth', summary: 'never sign in with OAuth' },
    { name: 'ca-file', value: 'FILE', summary: 'a certificate authority (PEM) to trust for this server, besides the usual ones' },
    { name: 'cert-file', value: 'FILE', summary: 'the certificate (PEM) to show to this server' },
    { name: 'key-file', value: 'FILE', summary: 'its private key (PEM)' },
    { name: 'timeout', value: 'MS', summary: 'how long the server may take for a request' },
    { name: 'protocol', value: 'REVISION', summary: 'auto (default), legacy, or one revision' },
    { name: 'from-json', value: 'JSON', summary: "the entry as JSON, as other clients' documents show it" },
    { name: 'disabled', summary: 'add it switched off' },
    { name: 'replace', summary: 'overwrite a server of that name' },
    literalOption,
    projectOption,
    globalOption,
    dryRunOption,
  ],
  examples: [
    { line: 'mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/data', about: 'a local command; everything after -- is the command:' },
    { line: "mcp add docs --env LOG_LEVEL=warn --cwd /srv/docs -- node server.js", about: 'with a variable and a directory:' },
    { line: 'mcp add wiki --url https://example.com/mcp --header "Authorization: Bearer {env:WIKI_TOKEN}"', about: 'a remote server; the token stays in the environment:' },
    { line: 'mcp add --transport http wiki https://example.com/mcp', about: 'the same in the spelling of other clients:' },
  ],
  notes: [
    'A name that is taken is refused unless --replace is given. Every change says which file it went to; --config FILE chooses another one.',
    '{env:NAME} and {file:PATH} are filled in when the server is started or reached, never in the file.',
  ],
  run,
};
