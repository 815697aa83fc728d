import { switchServer } from '../../config/edit.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, projectOption, reportEdit } from '../edit-report.ts';
import { entryOf, openConfig } from '../open.ts';

async function run(context: Context): Promise<number> {
  const name = context.parsed.operands[0]!;
  entryOf(await openConfig(context), name);
  return reportEdit(context, name, await switchServer(name, true, await editOptions(context)), `zuno-lite mcp debug ${name}`, ['Enabled', 'Would enable']);
}

export const command: Command = {
  usage: ['mcp enable NAME'],
  operands: ['NAME'],
  options: [projectOption, globalOption, dryRunOption],
  examples: [{ line: 'mcp enable docs', about: 'switches it on in the file that switched it off:' }],
  run,
};
