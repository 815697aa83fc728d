/** What a change of a configuration file was, in words and as JSON: always which file and which layer. */
import { MASK } from '../base/redact.ts';
import type { Edit, EditOptions } from '../config/edit.ts';
import type { Context, OptionRow } from './command.ts';
import { EXIT_OK } from './exit.ts';
import { pathsOf } from './open.ts';
import { usageFailure } from './parse.ts';
import { bold, dim, green, red, yellow } from './span.ts';

export const projectOption: OptionRow = { name: 'project', summary: "in the project's zuno.json instead of yours" };
export const globalOption: OptionRow = { name: 'global', summary: 'in your own zuno.json, whatever other files have' };
export const literalOption: OptionRow = { name: 'literal', summary: 'write a literal secret into the file instead of refusing it' };
export const dryRunOption: OptionRow = { name: 'dry-run', summary: 'show the change and write nothing' };

/** Which file: `--config FILE`, `--project`, or what the edit chooses by itself. */
export async function editOptions(context: Context): Promise<EditOptions> {
  const { terminal, parsed } = context;
  const file = parsed.value('config');
  if (parsed.has('project') && parsed.has('global')) throw usageFailure('Cannot take --project together with --global: it is one file or the other', '--global', 'choose one of them');
  const { resolve } = await import('node:path');
  return {
    paths: pathsOf(context), cwd: terminal.cwd, dryRun: parsed.has('dry-run'), scope: parsed.has('project') ? 'project' : parsed.has('global') ? 'global' : undefined,
    file: file === undefined ? undefined : { path: resolve(terminal.cwd, file), layer: 'cli' },
  };
}

const verbs: Readonly<Record<Edit['change'], readonly [done: string, planned: string]>> = {
  added: ['Added', 'Would add'], replaced: ['Replaced', 'Would replace'], changed: ['Changed', 'Would change'], removed: ['Removed', 'Would remove'], none: ['Nothing to change for', 'Nothing to change for'],
};

/** A value in the query of a URL may be a secret whatever it is called. */
const maskQueries = (text: string | undefined): string | undefined => text?.replace(/([?&][^=&#"\s]+=)(?!\{(?:env|file):)[^&#"\s]+/g, `$1${MASK}`);

/** `words` may say it better than the kind of change does (`Enabled`). */
export function reportEdit({ terminal, json, parsed }: Context, name: string, made: Edit, next: string | undefined, words?: readonly [done: string, planned: string]): number {
  const planned = parsed.has('dry-run');
  const edit = { ...made, before: maskQueries(made.before), after: maskQueries(made.after) };
  if (json) {
    terminal.document({ ok: true, name, change: edit.change, written: edit.written, dryRun: planned, file: edit.file, layer: edit.layer, before: edit.before ?? null, after: edit.after ?? null, warnings: edit.warnings });
    return EXIT_OK;
  }
  const verb = (edit.change === 'none' ? verbs.none : words ?? verbs[edit.change])[planned ? 1 : 0];
  terminal.print(edit.change === 'none' ? verb : green(verb), ' server ', bold(`"${name}"`), ` ${edit.change === 'removed' ? 'from' : 'in'} ${edit.file} (${edit.layer})`);
  for (const line of edit.before !== undefined && edit.change !== 'none' ? edit.before.split('\n') : []) terminal.print(red(`  - ${line}`));
  for (const line of edit.after !== undefined && edit.change !== 'none' ? edit.after.split('\n') : []) terminal.print(edit.before === undefined ? dim(`  ${line}`) : green(`  + ${line}`));
  for (const warning of edit.warnings) terminal.alert(yellow('warning: '), warning);
  if (next !== undefined && !planned) terminal.note(dim(`Next: ${next}`));
  return EXIT_OK;
}
