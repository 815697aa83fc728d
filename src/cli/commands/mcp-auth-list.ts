import type { Command, Context } from '../command.ts';
import { standings, type Standing } from '../credentials.ts';
import { EXIT_OK } from '../exit.ts';
import { openConfig } from '../open.ts';
import { bold, dim, yellow } from '../span.ts';
import { expiryText, scopeText, standingDocument, stateCell, waitingLines } from '../standing-view.ts';

function nameNote({ configured }: Standing): string {
  return { yes: '', no: ' (not configured any more)', 'other-url': ' (of another URL)' }[configured];
}

function show({ terminal }: Context, rows: readonly Standing[]): void {
  terminal.table(
    [{ title: 'NAME' }, { title: 'STATE', shrink: 1, least: 13 }, { title: 'EXPIRES', shrink: 2, least: 16 }, { title: 'SCOPES', shrink: 4 }, { title: 'ISSUER', shrink: 3, least: 20 }, { title: 'URL', shrink: 5 }],
    rows.map((row) => [bold(`${row.name}${nameNote(row)}`), stateCell(row), expiryText(row.status), scopeText(row.status), row.status?.issuer ?? '', row.url]),
  );
  for (const { name, status, failure, configured } of rows) {
    if (status?.signInUrl !== undefined) for (const line of waitingLines(name, status.signInUrl)) terminal.alert(...line);
    if (failure !== undefined) terminal.alert(yellow(`${name}: `), failure.message);
    if (configured !== 'yes') terminal.note(dim(`Forget what is left of "${name}": zuno-lite mcp logout ${name}`));
  }
  const first = rows.find((row) => row.configured === 'yes' && (row.state === 'needs_login' || (row.state === 'expired' && row.status?.refreshable !== true)));
  if (first !== undefined) terminal.note(dim(`Sign in: zuno-lite mcp auth ${first.name}`));
}

async function run(context: Context): Promise<number> {
  const rows = await standings(context, await openConfig(context));
  if (context.json) context.terminal.document({ ok: true, servers: rows.map(standingDocument) });
  else if (rows.length === 0) context.terminal.print('No configured server can be signed in to, and nothing is kept.');
  else show(context, rows);
  return EXIT_OK;
}

export const command: Command = {
  usage: ['mcp auth list'],
  operands: [],
  options: [],
  examples: [
    { line: 'mcp auth list', about: 'every server on the network, and whether you are signed in to it:' },
    { line: 'mcp auth list --json', about: 'the same for scripts:' },
  ],
  notes: [
    'States: authenticated; expired (renewed when it is next used, where the server allows that); needs login, if the server asks for it at all; signing in, with the address; automatic, without a person; fixed header; off.',
    'Nobody is asked, and no token is shown. What is kept of servers that are not configured any more is listed too.',
  ],
  run,
};
