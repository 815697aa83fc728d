import { Failure } from '../../base/failure.ts';
import { switchServer } from '../../config/edit.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, projectOption, reportEdit } from '../edit-report.ts';
import { exitStatus } from '../exit.ts';
import { entryOf, openConfig } from '../open.ts';

async function run(context: Context): Promise<number> {
  const name = context.parsed.operands[0]!;
  entryOf(await openConfig(context), name);
  const made = await switchServer(name, true, await editOptions(context));
  const words = ['Enabled', 'Would enable'] as const;
  // Read again without a word: everything was told the first time.
  const entry = context.parsed.has('dry-run') ? undefined : (await openConfig({ ...context, log: () => {} })).servers.get(name);
  if (entry === undefined || entry.enabled) return reportEdit(context, name, made, `zuno-lite mcp debug ${name}`, words);
  const origin = entry.switchedBy ?? entry.origin;
  const place = `${origin.file}${origin.line === undefined ? '' : `:${origin.line}`} (${origin.layer})`;
  if (context.json) {
    throw new Failure('CONFIG_INVALID', `Cannot enable the server "${name}": it is still disabled by ${place}`, {
      stage: 'config', details: { file: origin.file, problems: [{ pointer: origin.key ?? '', message: 'is disabled' }] }, origin, hint: 'Switch it on in that file, or take the switch out there',
    });
  }
  reportEdit(context, name, made, undefined, words);
  context.terminal.alert(`Still disabled by ${place}`);
  return exitStatus.CONFIG_INVALID;
}

export const command: Command = {
  usage: ['mcp enable NAME'],
  operands: ['NAME'],
  options: [projectOption, globalOption, dryRunOption],
  examples: [{ line: 'mcp enable docs', about: 'switches it on in the file that switched it off:' }],
  run,
};
