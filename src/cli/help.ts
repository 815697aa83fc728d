/** Help texts, made from the table of commands: plain text of at most 100 columns, tested as output. */
import { exitRows } from './exit.ts';
import { globalOptions } from './command.ts';
import type { Command, CommandRow, OptionRow } from './command.ts';

const columns = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = rows.reduce((most, [left]) => Math.max(most, left.length), 0);
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd());
};

const optionCell = (row: OptionRow): string => `${row.short === undefined ? '' : `-${row.short}, `}--${row.name}${row.value === undefined ? '' : ` ${row.value}`}${row.repeat === undefined ? '' : '  (repeatable)'}`;
const section = (title: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', title, ...lines]);
const optionLines = (rows: readonly OptionRow[]): string[] => columns(rows.map((row) => [optionCell(row), row.summary] as const));

/** `zuno-lite --help`, or of one group of words (`zuno-lite mcp --help`). */
export function overview(rows: readonly CommandRow[], words: readonly string[]): string {
  const shown = rows.filter((row) => words.every((word, index) => row.words[index] === word));
  const groups = [...new Set(shown.map((row) => row.group))];
  return [
    words.length === 0 ? 'zuno-lite: a host for MCP servers. Their tools are listed, checked against your policy and called.' : `zuno-lite ${words.join(' ')}: its commands.`,
    '',
    `Usage: zuno-lite ${words.length === 0 ? 'COMMAND' : `${words.join(' ')} COMMAND`} [NAME] [OPTIONS]`,
    ...groups.flatMap((group) => section(group, columns(shown.filter((row) => row.group === group).map((row) => [row.words.join(' '), row.summary] as const)))),
    ...section('Options of every command', optionLines(globalOptions)),
    ...(words.length === 0 ? section('Exit status', columns(exitRows)) : []),
    '',
    words.length === 0 ? 'New here? "zuno-lite demo" shows all of it in a minute; "zuno-lite COMMAND --help" has examples.' : `"zuno-lite ${words.join(' ')} COMMAND --help" has examples.`,
  ].join('\n');
}

/** `zuno-lite COMMAND --help`. */
export function commandHelp(row: CommandRow, command: Command): string {
  const own = new Set(command.options.map((option) => option.name));
  const aliases = (row.aliases ?? []).map((words) => `"${words.join(' ')}"`).join(', ');
  return [
    `zuno-lite ${row.words.join(' ')}: ${row.summary}.${aliases === '' ? '' : ` Also spelled ${aliases}.`}`,
    '',
    ...command.usage.map((line, index) => `${index === 0 ? 'Usage:' : '      '} zuno-lite ${line}`),
    ...section('Options', optionLines(command.options)),
    ...section('Options of every command', optionLines(globalOptions.filter((option) => !own.has(option.name)))),
    ...section('Examples', command.examples.flatMap(({ line, about }) => [`  ${about}`, `    $ zuno-lite ${line}`])),
    ...section('Notes', (command.notes ?? []).map((note) => `  ${note}`)),
  ].join('\n');
}

/** The same facts for `--help --json`. */
export function helpDocument(rows: readonly CommandRow[], entry?: { readonly row: CommandRow; readonly command: Command }): object {
  if (entry === undefined) return { ok: true, commands: rows.map(({ words, aliases, group, summary }) => ({ name: words.join(' '), aliases: (aliases ?? []).map((one) => one.join(' ')), group, summary })), options: globalOptions, exitStatus: Object.fromEntries(exitRows) };
  const { row, command } = entry;
  return { ok: true, name: row.words.join(' '), summary: row.summary, usage: command.usage, operands: command.operands, options: command.options, globalOptions, examples: command.examples, notes: command.notes ?? [] };
}
