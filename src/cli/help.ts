/** Help texts, made from the table of commands: plain text of at most 110 columns, broken between words where a terminal is narrower. */
import { exitRows } from './exit.ts';
import { globalOptions } from './command.ts';
import type { Command, CommandRow, OptionRow } from './command.ts';
import { wrapText } from './wrap.ts';

const columns = (rows: readonly (readonly [string, string])[], width: number): string[] => {
  const widest = rows.reduce((most, [left]) => Math.max(most, left.length), 0);
  // Too little room beside the names: what is said of them stands below.
  const below = Number.isFinite(width) && width - widest - 4 < 24;
  return rows.flatMap(([left, right]) => {
    if (below) return [`  ${left}`, ...wrapText(right, width - 6).split('\n').map((line) => `      ${line.trimStart()}`)];
    const [first = '', ...rest] = wrapText(right, width - widest - 4).split('\n');
    return [`  ${left.padEnd(widest)}  ${first}`.trimEnd(), ...rest.map((line) => `${' '.repeat(widest + 4)}${line.trimStart()}`)];
  });
};

const optionCell = (row: OptionRow): string => `${row.short === undefined ? '' : `-${row.short}, `}--${row.name}${row.value === undefined ? '' : ` ${row.value}`}${row.repeat === undefined ? '' : '  (repeatable)'}`;
const section = (title: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', title, ...lines]);
const optionLines = (rows: readonly OptionRow[], width: number): string[] => columns(rows.map((row) => [optionCell(row), row.summary] as const), width);
const commandLines = (rows: readonly CommandRow[], width: number): string[] => columns(rows.map((row) => [row.words.join(' '), row.summary] as const), width);

/** `zuno-lite --help`, or of one group of words (`zuno-lite mcp --help`). */
export function overview(rows: readonly CommandRow[], words: readonly string[], width = Infinity): string {
  const shown = rows.filter((row) => words.every((word, index) => row.words[index] === word));
  const groups = [...new Set(shown.map((row) => row.group))];
  return wrapText([
    words.length === 0 ? 'zuno-lite: a host for MCP servers. Their tools are listed, checked against your policy and called.' : `zuno-lite ${words.join(' ')}: its commands.`,
    '',
    `Usage: zuno-lite ${words.length === 0 ? 'COMMAND' : `${words.join(' ')} COMMAND`} [NAME] [OPTIONS]`,
    ...groups.flatMap((group) => section(group, commandLines(shown.filter((row) => row.group === group), width))),
    ...section('Options of every command', optionLines(globalOptions, width)),
    ...(words.length === 0 ? section('Exit status', columns(exitRows, width)) : []),
    '',
    words.length === 0 ? 'New here? "zuno-lite demo" shows all of it in a minute; "zuno-lite COMMAND --help" has examples.' : `"zuno-lite ${words.join(' ')} COMMAND --help" has examples.`,
  ].join('\n'), width);
}

const FIRST_STEPS: readonly (readonly [string, string])[] = [
  ['zuno-lite demo', 'see all of it work, without any configuration'],
  ['zuno-lite mcp add NAME -- COMMAND', 'register a server of yours; then "zuno-lite tools"'],
];

/** `mcp (add, list), tools, call` */
function namesOf(rows: readonly CommandRow[]): string {
  const byFirst = new Map<string, string[]>();
  for (const { words: [first = '', ...rest] } of rows) byFirst.set(first, [...byFirst.get(first) ?? [], ...(rest.length > 0 ? [rest.join(' ')] : [])]);
  return [...byFirst].map(([first, rest]) => (rest.length === 0 ? first : `${first} (${rest.join(', ')})`)).join(', ');
}

/** `zuno-lite` without a word: the names of the commands and where to begin. */
export function glance(rows: readonly CommandRow[], width = Infinity): string {
  const groups = [...new Set(rows.map((row) => row.group))];
  const names = columns(groups.map((group) => [group, namesOf(rows.filter((row) => row.group === group))] as const), Math.min(width, 100));
  return wrapText(['zuno-lite: a host for MCP servers.', '', ...names, ...section('First steps', columns(FIRST_STEPS, width)), '', '"zuno-lite --help" says what each command does, "zuno-lite COMMAND --help" how.'].join('\n'), width);
}

/** A command to copy: where it is broken, a backslash says so, and never inside quotes. */
function commandLine(text: string, width: number): string[] {
  const whole = text.replace(/(["'])[^"']*\1/g, (quoted) => quoted.replaceAll(' ', '\u0001'));
  const lines = wrapText(whole, width - 4).replaceAll('\u0001', ' ').split('\n');
  return lines.map((line, index) => `${index === 0 ? '' : '  '}${line}${index < lines.length - 1 ? ' \\' : ''}`);
}

/** `zuno-lite COMMAND --help`. */
export function commandHelp(row: CommandRow, command: Command, width = Infinity): string {
  const own = new Set(command.options.map((option) => option.name));
  const aliases = (row.aliases ?? []).map((words) => `"${words.join(' ')}"`).join(', ');
  return wrapText([
    `zuno-lite ${row.words.join(' ')}: ${row.summary}.${aliases === '' ? '' : ` Also spelled ${aliases}.`}`,
    '',
    ...command.usage.map((line, index) => `${index === 0 ? 'Usage:' : '      '} zuno-lite ${line}`),
    ...section('Options', optionLines(command.options, width)),
    ...section('Options of every command', optionLines(globalOptions.filter((option) => !own.has(option.name)), width)),
    ...section('Examples', command.examples.flatMap(({ line, about }) => [`  ${about}`, ...commandLine(`    $ zuno-lite ${line}`, width)])),
    ...section('Notes', (command.notes ?? []).map((note) => `  ${note}`)),
  ].join('\n'), width);
}

/** The same facts for `--help --json`. */
export function helpDocument(rows: readonly CommandRow[], entry?: { readonly row: CommandRow; readonly command: Command }): object {
  if (entry === undefined) return { ok: true, commands: rows.map(({ words, aliases, group, summary }) => ({ name: words.join(' '), aliases: (aliases ?? []).map((one) => one.join(' ')), group, summary })), options: globalOptions, exitStatus: Object.fromEntries(exitRows) };
  const { row, command } = entry;
  return { ok: true, name: row.words.join(' '), summary: row.summary, usage: command.usage, operands: command.operands, options: command.options, globalOptions, examples: command.examples, notes: command.notes ?? [] };
}
