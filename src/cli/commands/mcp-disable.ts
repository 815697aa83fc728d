import { switchServer } from '../../config/edit.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, projectOption, reportEdit } from '../edit-report.ts';
import { entryOf, openConfig } from '../open.ts';

async function run(context: Context): Promise<number> {
  const name = context.parsed.operands[0]!;
  entryOf(await openConfig(context), name);
  return reportEdit(context, name, await switchServer(name, false, await editOptions(context)), undefined, ['Disabled', 'Would disable']);
}

export const command: Command = {
  usage: ['mcp disable NAME'],
  operands: ['NAME'],
  options: [projectOption, globalOption, dryRunOption],
  examples: [
    { line: 'mcp disable docs', about: 'switches it off for you and keeps the entry:' },
    { line: 'mcp disable docs --project', about: "for everybody, in the project's file:" },
  ],
  notes: ['What you switch off, a project cannot switch on.'],
  run,
};
