import { changeServer } from '../../config/edit.ts';
import { typedValue } from '../../config/set-values.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, literalOption, projectOption, reportEdit } from '../edit-report.ts';
import { usageFailure } from '../parse.ts';

const HELP = 'zuno-lite mcp set --help';

/** `key=value` words and `--unset KEY`; a key that is named twice is refused. */
function changesOf(words: readonly string[], unset: readonly string[]): Record<string, unknown> {
  const pairs = words.map((word): readonly [string, unknown] => {
    const at = word.indexOf('=');
    // The word itself may be a secret: only what stands before the sign is shown.
    if (at < 1) throw usageFailure('Cannot set a value: a word of the form key=value is due', undefined, 'for instance zuno-lite mcp set NAME timeout=10000');
    const key = word.slice(0, at);
    return [key, typedValue(key, word.slice(at + 1))];
  });
  pairs.push(...unset.map((key) => [key, typedValue(key, 'null')] as const));
  if (pairs.length === 0) throw usageFailure('Cannot set anything: no key=value is given', undefined, HELP);
  const twice = pairs.find(([key], index) => pairs.findIndex(([other]) => other === key) !== index);
  if (twice !== undefined) throw usageFailure(`Cannot set "${twice[0]}" twice`, twice[0], HELP);
  return Object.fromEntries(pairs);
}

async function run(context: Context): Promise<number> {
  const { parsed } = context;
  const [name, ...words] = parsed.operands as [string, ...string[]];
  const changes = changesOf(words, parsed.all('unset'));
  const edit = await changeServer(name, changes, { ...await editOptions(context), literal: parsed.has('literal') });
  return reportEdit(context, name, edit, `zuno-lite mcp debug ${name}`);
}

export const command: Command = {
  usage: ['mcp set NAME KEY=VALUE... [--unset KEY]...'],
  operands: ['NAME', '[KEY=VALUE]...'],
  options: [{ name: 'unset', value: 'KEY', repeat: true, summary: 'take a key out; KEY=null does the same' }, literalOption, projectOption, globalOption, dryRunOption],
  examples: [
    { line: 'mcp set docs timeout=10000 headers.X-Team=core', about: 'a number and one header; everything else of the file stays as it is:' },
    { line: "mcp set files command='[\"node\",\"server.js\",\"/srv/my data\"]' environment.LOG_LEVEL=warn", about: 'a command line as JSON, because of its space, and one variable:' },
    { line: 'mcp set docs --unset oauth --unset headers.X-Old', about: 'takes keys out:' },
    { line: "mcp set docs 'headers.Authorization=Bearer {env:DOCS_TOKEN}'", about: 'the token stays in the environment:' },
  ],
  notes: [
    'Keys: type, command, cwd, environment.NAME, url, transport, headers.NAME, oauth.KEY, caFile, certFile, keyFile, enabled, timeout, protocol. Each takes what it must be.',
    'The entry has to be valid afterwards, or nothing is written. A literal secret is refused; the answer shows the form with a variable.',
  ],
  run,
};
