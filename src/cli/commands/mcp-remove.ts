import { removeServer } from '../../config/edit.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, projectOption, reportEdit } from '../edit-report.ts';

async function run(context: Context): Promise<number> {
  const name = context.parsed.operands[0]!;
  return reportEdit(context, name, await removeServer(name, await editOptions(context)), undefined);
}

export const command: Command = {
  usage: ['mcp remove NAME'],
  operands: ['NAME'],
  options: [projectOption, globalOption, dryRunOption],
  examples: [
    { line: 'mcp remove docs', about: 'takes the entry out of the file that has it:' },
    { line: 'mcp remove docs --dry-run', about: 'only shows what would go:' },
  ],
  notes: ['Only a name that is spelled exactly is removed. To keep the entry, use "zuno-lite mcp disable".'],
  run,
};
