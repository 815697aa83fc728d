/** A command is a value: what it is called, what it takes, how it is explained and what runs. Help is made from it. */
import type { Log } from '../base/log.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Interrupt } from './interrupt.ts';
import type { Terminal } from './terminal.ts';

/** One `--option`. Without `value` it is a switch. */
export interface OptionRow {
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in the help, for instance `MS`. */
  readonly value?: string;
  readonly repeat?: true;
  readonly summary: string;
}

export interface Example { readonly line: string; readonly about: string }

/** A command line taken apart. */
export interface Parsed {
  readonly operands: readonly string[];
  /** What stood after `--`, for a command that takes a command line. */
  readonly commandLine: readonly string[] | undefined;
  has(option: string): boolean;
  value(option: string): string | undefined;
  all(option: string): readonly string[];
}

/** What a running command holds. */
export interface Context {
  /** Where this package is installed. */
  readonly packageDirectory: string;
  readonly terminal: Terminal;
  readonly parsed: Parsed;
  /** Results as one JSON document. */
  readonly json: boolean;
  /** Aborts on Ctrl-C, SIGTERM, SIGHUP, `--timeout` and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
  readonly interrupt: Interrupt;
  readonly log: Log;
  /** Reports the failure where it belongs (stderr, or the JSON document) and returns its exit status. */
  fail(failure: AnyFailure): Promise<number>;
}

export interface Command {
  /** Without the program's name; one line for each form. */
  readonly usage: readonly string[];
  /** Words after the command's own: `NAME` is needed, `[NAME]` may be left out, `[NAME]...` takes the rest. */
  readonly operands: readonly string[];
  /** What stands after `--`: a command line of its own, or (default) more operands. */
  readonly rest?: 'command-line';
  readonly options: readonly OptionRow[];
  readonly examples: readonly Example[];
  /** Further sentences of the help. */
  readonly notes?: readonly string[];
  /** Resolves to the exit status; rejects with a `Failure`. */
  run(context: Context): Promise<number>;
}

/** How the table in `commands/index.ts` names a command before its module is loaded. */
export interface CommandRow {
  readonly words: readonly string[];
  /** Other spellings, as people know them from other clients. */
  readonly aliases?: readonly (readonly string[])[];
  readonly group: 'Servers' | 'Using them' | 'More';
  readonly summary: string;
  load(): Promise<{ readonly command: Command }>;
}

/** Options that every command takes; a command's own row of the same name wins. */
export const globalOptions: readonly OptionRow[] = [
  { name: 'json', summary: 'one JSON document on stdout, also for failures' },
  { name: 'config', value: 'FILE', summary: 'one more configuration file, above the others' },
  { name: 'timeout', value: 'MS', summary: 'bounds the whole operation, from the start of the server to the result' },
  { name: 'quiet', short: 'q', summary: 'no remarks on stderr, only errors' },
  { name: 'log-level', value: 'LEVEL', summary: 'debug, info, warning (default) or error' },
  { name: 'no-color', summary: 'no colors (also: NO_COLOR)' },
  { name: 'help', short: 'h', summary: 'this text' },
];

/** The options of a command with the global ones it does not redefine. */
export function optionsOf(command: Pick<Command, 'options'>): readonly OptionRow[] {
  return [...command.options, ...globalOptions.filter((row) => !command.options.some((own) => own.name === row.name))];
}
