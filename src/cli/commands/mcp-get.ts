import type { ServerEntry } from '../../config/types.ts';
import type { Command, Context } from '../command.ts';
import { certificatesOf, entryDocument, maskedTemplate, targetOf, transportOf } from '../entry-view.ts';
import { EXIT_OK } from '../exit.ts';
import { originText } from '../explain.ts';
import { abridged } from '../home.ts';
import { entryOf, openConfig, pathsOf } from '../open.ts';
import { bold, dim } from '../span.ts';

function show(context: Context, entry: ServerEntry): void {
  const { terminal } = context, { home } = pathsOf(context);
  const row = (name: string, text: string): void => terminal.print(dim(`  ${name.padEnd(11)} `), abridged(text, home));
  terminal.print(bold(entry.name), entry.enabled ? '' : dim('  (disabled)'));
  row('transport', transportOf(entry));
  row(entry.kind === 'local' ? 'command' : 'url', targetOf(entry));
  if (entry.kind === 'local') row('cwd', entry.cwd);
  const values = Object.entries(entry.kind === 'local' ? entry.environment : entry.headers);
  values.forEach(([key, template], index) => row(index > 0 ? '' : entry.kind === 'local' ? 'environment' : 'headers', `${key}${entry.kind === 'local' ? '=' : ': '}${maskedTemplate(template)}`));
  if (entry.kind === 'remote' && entry.oauth !== undefined) row('oauth', entry.oauth === false ? 'off' : 'configured');
  for (const [key, file] of Object.entries(entry.kind === 'remote' ? certificatesOf(entry) : {})) row(key, file);
  row('protocol', entry.protocol);
  row('timeouts', `${entry.timeouts.requestMs} ms a request, ${entry.timeouts.connectMs} ms to connect`);
  row('origin', originText(entry.origin));
  entry.shadowed.forEach((origin, index) => row(index === 0 ? 'over' : '', originText(origin)));
  terminal.note(dim(`Probe it: zuno-lite mcp debug ${entry.name}   Remove it: zuno-lite mcp remove ${entry.name}`));
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const entry = entryOf(config, context.parsed.operands[0]!);
  if (context.json) context.terminal.document({ ok: true, server: entryDocument(entry) });
  else show(context, entry);
  return EXIT_OK;
}

export const command: Command = {
  usage: ['mcp get NAME'],
  operands: ['NAME'],
  options: [],
  examples: [{ line: 'mcp get docs', about: 'shows the entry, where it comes from and what it overrides:' }],
  notes: ['Values of headers and environment variables are masked; references such as {env:NAME} are shown.'],
  run,
};
