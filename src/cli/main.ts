/** argv in, exit status out. Loads the module of the one command that is run, and nothing for the others. */
import { toFailure } from '../base/failure.ts';
import type { AnyFailure } from '../base/failure.ts';
import { logLevels } from '../base/log.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { nearest } from '../base/text.ts';
import type { Command, CommandRow, Context, Parsed } from './command.ts';
import { commandRows } from './commands/index.ts';
import { EXIT_OK, EXIT_UNWRITTEN, exitStatus, signalStatus } from './exit.ts';
import { findCommand, millisecondsOf, outputSettings, parseCommand, usageFailure } from './parse.ts';
import { createTerminal, processSystem } from './terminal.ts';
import type { System, Terminal } from './terminal.ts';
import { version } from '../base/version.ts';

async function report(failure: AnyFailure, terminal: Terminal, json: boolean): Promise<number> {
  const { explain, failureDocument } = await import('./explain.ts');
  if (json) terminal.document({ ok: false, error: failureDocument(failure) });
  else for (const line of explain(failure)) terminal.alert(...line);
  return exitStatus[failure.code];
}

const writeFaults: Readonly<Record<string, string>> = { ENOSPC: 'no space is left', EDQUOT: 'the quota is used up', EIO: 'the device failed' };

/** After a run: a result that could not be written is told on stderr. `failure` is what the run itself failed with, which counts more. */
async function unwritten(terminal: Terminal, json: boolean, status: number, outcome: { readonly called?: boolean; readonly failure?: AnyFailure | undefined } = {}): Promise<number> {
  // The error of a file comes right after the write.
  await new Promise((resolve) => { setImmediate(resolve); });
  if (!terminal.writeFailed.aborted) return status;
  const { code, message } = terminal.writeFailed.reason as NodeJS.ErrnoException;
  terminal.alert(`Cannot write the result: ${code === undefined ? message : `${writeFaults[code] ?? 'standard output failed'} (${code})`}`);
  if (outcome.failure !== undefined) return json ? report(outcome.failure, terminal, false) : status;
  if (outcome.called) terminal.alert('The tool call was made: look at what it did before repeating it');
  return EXIT_UNWRITTEN;
}

/** `words`: of a group, or none for all; `undefined`: nothing was asked for. */
async function showHelp(terminal: Terminal, json: boolean, words: readonly string[] | undefined, entry?: { readonly row: CommandRow; readonly command: Command }): Promise<number> {
  const help = await import('./help.ts');
  if (json) terminal.document(help.helpDocument(commandRows, entry));
  else terminal.print(entry !== undefined ? help.commandHelp(entry.row, entry.command, terminal.width) : words === undefined ? help.glance(commandRows, terminal.width) : help.overview(commandRows, words, terminal.width));
  return EXIT_OK;
}

function logLevelOf(parsed: Parsed): LogLevel {
  const text = parsed.value('log-level')?.toLowerCase();
  if (text === undefined) return parsed.has('quiet') ? 'error' : 'warning';
  const level = logLevels.find((one) => one === text || (one === 'warning' && text === 'warn'));
  if (level === undefined) throw usageFailure(`Cannot take --log-level "${text}": it must be ${logLevels.join(', ')}`, text, 'for instance --log-level debug', nearest(text, logLevels));
  return level;
}

function createLog(terminal: Terminal, level: LogLevel): Log {
  const least = logLevels.indexOf(level);
  return (entry) => {
    if (logLevels.indexOf(entry.level) < least) return;
    const { file, line, key } = entry.fields ?? {};
    const where = typeof file === 'string' && level !== 'debug' ? ` (${file}${typeof line === 'number' ? `:${line}` : ''}${typeof key === 'string' ? `, ${key}` : ''})` : '';
    const fields = level === 'debug' && entry.fields !== undefined ? ` ${JSON.stringify(entry.fields)}` : '';
    const style = entry.level === 'error' ? 'red' : entry.level === 'warning' ? 'yellow' : 'dim';
    terminal.alert({ text: `${entry.level}: `, style }, `${entry.message}${where}${fields}`);
  };
}

async function runCommand(command: Command, parsed: Parsed, terminal: Terminal, json: boolean, packageDirectory: string, calls: boolean): Promise<number> {
  const log = createLog(terminal, logLevelOf(parsed));
  const ownTimeout = command.options.some((row) => row.name === 'timeout');
  const budgetMs = ownTimeout ? undefined : millisecondsOf(parsed.value('timeout'), 'timeout');
  const { inLightOf, watchInterrupts } = await import('./interrupt.ts');
  const interrupt = watchInterrupts(terminal, budgetMs);
  let failed: AnyFailure | undefined;
  const fail = async (failure: AnyFailure): Promise<number> => {
    if (interrupt.by === 'reader') return EXIT_OK;
    if (interrupt.by === 'write') return EXIT_UNWRITTEN;
    failed = inLightOf(failure, interrupt);
    return report(failed, terminal, json);
  };
  const context: Context = { packageDirectory, terminal, parsed, json, signal: interrupt.signal, interrupt, log, fail };
  try {
    const ran = await command.run(context).catch((thrown: unknown) => fail(toFailure(thrown)));
    const status = await unwritten(terminal, json, ran, { called: calls && failed === undefined, failure: failed });
    // Whoever was told to stop says so in its status, whatever came of it.
    return interrupt.by === undefined || interrupt.by === 'timeout' || interrupt.by === 'reader' || interrupt.by === 'write' ? status : signalStatus[interrupt.by];
  } finally {
    interrupt.dispose();
  }
}

/** Runs one command line and resolves to its exit status; never rejects, never ends the process. `packageDirectory` holds `demo/`. */
export async function main(argv: readonly string[], packageDirectory: string, system: System = processSystem()): Promise<number> {
  const settings = outputSettings(argv);
  const terminal = createTerminal(system, settings);
  try {
    if (argv.length > 0 && argv.every((token) => ['--version', '-V', '-v', '--json'].includes(token)) && argv.some((token) => token !== '--json')) {
      if (settings.json) terminal.document({ ok: true, name: 'zuno-lite', version }); else terminal.print(`zuno-lite ${version}`);
      return await unwritten(terminal, settings.json, EXIT_OK);
    }
    const found = findCommand(argv, commandRows);
    if (found.kind === 'group') {
      // No command is a question, not a mistake: what there is is shown, as by --help.
      return await unwritten(terminal, settings.json, await showHelp(terminal, settings.json, found.help || found.words.length > 0 ? found.words : undefined));
    }
    const { command } = await found.row.load();
    const parsed = parseCommand(found.argv, found.row, command);
    if (parsed.has('help')) return await unwritten(terminal, settings.json, await showHelp(terminal, settings.json, [], { row: found.row, command }));
    return await runCommand(command, parsed, terminal, settings.json, packageDirectory, found.row.words[0] === 'call');
  } catch (thrown) {
    return report(toFailure(thrown), terminal, settings.json);
  }
}
