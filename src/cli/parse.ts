/**
 * From argv to a command, its options and its operands. Options are never variadic, may stand anywhere before `--`, and
 * nothing unknown is guessed: a near miss is suggested, never executed.
 */
import { Failure } from '../base/failure.ts';
import { nearest } from '../base/text.ts';
import { globalOptions, optionsOf } from './command.ts';
import type { Command, CommandRow, OptionRow, Parsed } from './command.ts';

export type Found =
  | { readonly kind: 'command'; readonly row: CommandRow; readonly argv: readonly string[] }
  /** No complete command: the words so far (`mcp`, or nothing) lead to these rows. */
  | { readonly kind: 'group'; readonly words: readonly string[]; readonly help: boolean };

/** A wrong use of the command line; `argument` is the word at fault. */
export function usageFailure(message: string, argument: string | undefined, hint: string, near: readonly string[] = []): Failure<'USAGE'> {
  return new Failure('USAGE', near.length === 0 ? message : `${message}; did you mean ${near.map((word) => `"${word}"`).join(' or ')}?`, {
    stage: 'usage', hint, origin: { file: 'command line', layer: 'arguments' }, details: { ...(argument === undefined ? {} : { argument }), ...(near.length === 0 ? {} : { nearest: near }) },
  });
}

const beforeDashes = (argv: readonly string[]): readonly string[] => argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;

/** What is known of the output before (and even if never) the command line makes sense. */
export function outputSettings(argv: readonly string[]): { readonly json: boolean; readonly quiet: boolean; readonly color: boolean } {
  const words = beforeDashes(argv);
  return { json: words.includes('--json'), quiet: words.includes('--quiet') || words.includes('-q'), color: !words.includes('--no-color') };
}

function rowOf(token: string, options: readonly OptionRow[]): OptionRow | undefined {
  const name = token.startsWith('--') ? token.slice(2).split('=', 1)[0]! : undefined;
  return options.find((row) => (name === undefined ? row.short === token.slice(1, 2) : row.name === name));
}

const isOption = (token: string): boolean => token.length > 1 && token.startsWith('-');
const spellings = (row: CommandRow): readonly (readonly string[])[] => [row.words, ...(row.aliases ?? [])];
const startsWith = (words: readonly string[], start: readonly string[]): boolean => start.every((word, index) => words[index] === word);

/** Words of the longest name of a command. */
const LONGEST_NAME = 3;

/** Indexes of the leading operands of argv: the words that can name a command. Global options among them are stepped over. */
function leadingOperands(argv: readonly string[]): number[] {
  const found: number[] = [];
  for (let index = 0; index < argv.length && argv[index] !== '--' && found.length < LONGEST_NAME; index++) {
    const token = argv[index]!;
    if (!isOption(token)) { found.push(index); continue; }
    // Whether an unknown option takes a value is known only once the command is.
    const row = rowOf(token, globalOptions);
    if (row === undefined && found.length > 0) break;
    if (row?.value !== undefined && !token.includes('=')) index += 1;
  }
  return found;
}

/** Finds the command that the first words name. Throws USAGE for words that name none. */
export function findCommand(argv: readonly string[], rows: readonly CommandRow[]): Found {
  const at = leadingOperands(argv);
  const words = at.map((index) => argv[index]!);
  for (let length = words.length; length > 0; length--) {
    const row = rows.find((one) => spellings(one).some((spelling) => spelling.length === length && startsWith(words, spelling)));
    if (row !== undefined) return { kind: 'command', row, argv: argv.filter((_, index) => !at.slice(0, length).includes(index)) };
  }
  const group = words.length > 0 && rows.some((row) => row.words.length > 1 && row.words[0] === words[0]) ? [words[0]!] : [];
  const help = beforeDashes(argv).some((token) => token === '--help' || token === '-h');
  const unknown = words[group.length];
  if (unknown === undefined) {
    const strange = argv.find((token) => isOption(token) && rowOf(token, globalOptions) === undefined);
    if (strange !== undefined && strange !== '--') throw unknownOption(strange, globalOptions, 'zuno-lite --help');
    return { kind: 'group', words: group, help };
  }
  // Within a group only its own words are compared, or the shared first word would make everything look alike.
  const known = rows.flatMap((row) => spellings(row)).filter((spelling) => startsWith(spelling, group)).map((spelling) => spelling.slice(group.length).join(' '));
  const near = nearest(unknown, known, 2).map((words) => [...group, words].join(' '));
  throw usageFailure(`Cannot run "${[...group, unknown].join(' ')}": there is no such command`, unknown, `zuno-lite ${[...group, '--help'].join(' ')}`, near);
}

function unknownOption(token: string, options: readonly OptionRow[], help: string): Failure<'USAGE'> {
  const name = token.split('=', 1)[0]!;
  return usageFailure(`Cannot take option "${name}": it is unknown here`, name, help, nearest(name, options.map((row) => `--${row.name}`)));
}

interface Collected { readonly operands: string[]; readonly values: Map<string, string[]>; commandLine: readonly string[] | undefined }

function takeOption(argv: readonly string[], index: number, options: readonly OptionRow[], into: Collected, help: string): number {
  const token = argv[index]!;
  const row = rowOf(token, options);
  if (row === undefined) throw unknownOption(token, options, help);
  const name = `--${row.name}`;
  // --option=value, and for short ones -oVALUE or -o=VALUE.
  const attached = token.startsWith('--') ? (token.includes('=') ? token.slice(token.indexOf('=') + 1) : undefined) : token.length > 2 ? token.slice(2).replace(/^=/, '') : undefined;
  const given = into.values.get(row.name) ?? [];
  into.values.set(row.name, given);
  if (row.value === undefined) {
    if (attached !== undefined) throw usageFailure(`Cannot take "${token}": ${name} takes no value`, token, help);
    given.push('');
    return index;
  }
  const next = argv[index + 1];
  if (attached === undefined && (next === undefined || next.startsWith('--'))) throw usageFailure(`Cannot take "${name}": its value ${row.value} is missing`, name, help);
  if (given.length > 0 && row.repeat === undefined) throw usageFailure(`Cannot take "${name}" twice: it has one value`, name, help);
  given.push(attached ?? next!);
  return attached === undefined ? index + 1 : index;
}

function checkOperands(operands: readonly string[], expected: readonly string[], words: string, help: string): void {
  const missing = expected[operands.length];
  if (missing !== undefined && !missing.startsWith('[')) throw usageFailure(`Cannot run "${words}": ${missing} is missing`, undefined, help);
  const extra = operands[expected.length];
  if (extra !== undefined && expected.at(-1)?.endsWith('...') !== true) throw usageFailure(`Cannot run "${words}": "${extra}" is one word too many`, extra, help);
}

/** Options and operands of one command. Throws USAGE. */
export function parseCommand(argv: readonly string[], row: CommandRow, command: Command): Parsed {
  const words = row.words.join(' ');
  const help = `zuno-lite ${words} --help`;
  const options = optionsOf(command);
  const collected: Collected = { operands: [], values: new Map(), commandLine: undefined };
  for (let index = 0; index < argv.length; index++) {
    const token = argv[index]!;
    if (token === '--') {
      if (command.rest === 'command-line') collected.commandLine = argv.slice(index + 1);
      else collected.operands.push(...argv.slice(index + 1));
      break;
    }
    if (isOption(token)) index = takeOption(argv, index, options, collected, help);
    else collected.operands.push(token);
  }
  const { operands, values, commandLine } = collected;
  if (!values.has('help')) checkOperands(operands, command.operands, words, help);
  return {
    operands, commandLine,
    has: (option) => values.has(option),
    value: (option) => values.get(option)?.[0],
    all: (option) => values.get(option) ?? [],
  };
}

/** A whole number of milliseconds, at least 1. Throws USAGE. */
export function millisecondsOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const ms = Number(text);
  if (!/^\d+$/.test(text) || ms < 1 || ms > 2 ** 31 - 1) throw usageFailure(`Cannot take --${option} "${text}": it must be a whole number of milliseconds from 1 to 2147483647`, text, `for instance --${option} 5000`);
  return ms;
}
