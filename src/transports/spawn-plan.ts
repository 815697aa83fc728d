/**
 * How a configured command becomes a program that can be started. On POSIX it already is one. Windows starts only real
 * executables; `npx` and its like are batch files there, and a batch file means `cmd.exe`, which reads its command line a
 * second time. So a batch file's line is quoted for both readers, and what cannot be quoted is refused instead of risked.
 */
import * as path from 'node:path';
import { Failure } from '../base/failure.ts';
import { variableName } from './child-environment.ts';

export interface SpawnRequest {
  readonly platform: NodeJS.Platform;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The child's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly isFile: (path: string) => boolean;
}

export interface SpawnPlan {
  readonly file: string;
  readonly args: readonly string[];
  /** True when `args` are already quoted for Windows. */
  readonly verbatim: boolean;
}

/** Throws `SPAWN_FAILED` when a batch file would get an argument that `cmd.exe` cannot be kept from interpreting. */
export function spawnPlan(request: SpawnRequest): SpawnPlan {
  const { command, args, platform } = request;
  if (platform !== 'win32') return { file: command, args, verbatim: false };
  const file = findOnWindows(request) ?? command;
  if (!/\.(?:cmd|bat)$/i.test(file)) return { file, args, verbatim: false };
  const words = [file, ...args];
  const line = words.join(' ');
  if (/[\r\n\0]/.test(line)) throw refused(command, 'an argument holds a line break, and a batch file cannot be given one safely');
  // `%NAME:...%` is expanded even behind carets, with whatever that variable holds.
  if (/%[^%]*:[^%]*%/.test(line)) throw refused(command, 'its arguments hold "%...:...%", which a batch file would expand');
  const quoted = words.map((word) => escapeForCmd(quoteForProgram(word))).join(' ');
  return { file: cmdPath(request.environment), args: ['/d', '/v:off', '/s', '/c', `"${quoted}"`], verbatim: true };
}

/**
 * Quotes for the program at the end (Microsoft C runtime rules). An inner quote is doubled, not put behind a backslash:
 * `cmd.exe` knows no backslash and would take what follows for a command when the batch file passes it on.
 */
function quoteForProgram(word: string): string {
  return `"${word.replace(/(\\*)("|$)/g, (_, slashes: string, quote: string) => slashes + slashes + quote + quote)}"`;
}

/** Takes its meaning from everything `cmd.exe` would act upon at its first reading; the quotes hold at the second. */
function escapeForCmd(text: string): string {
  return text.replace(/[()[\]{}%!^"`<>&|;,=+'~ \t*?]/g, '^$&');
}

function cmdPath(environment: SpawnRequest['environment']): string {
  const root = environment[variableName(environment, 'SystemRoot') ?? ''];
  return root === undefined ? 'cmd.exe' : path.win32.join(root, 'System32', 'cmd.exe');
}

/** PATH and PATHEXT, as `cmd.exe` has it but for one thing: the current directory is not searched. */
function findOnWindows({ command, cwd, environment, isFile }: SpawnRequest): string | undefined {
  const read = (name: string): string | undefined => environment[variableName(environment, name) ?? ''];
  const extensions = (read('PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((extension) => extension !== '');
  const own = path.win32.extname(command).toLowerCase();
  const endings = extensions.some((extension) => extension.toLowerCase() === own) ? ['', ...extensions] : extensions;
  const directories = /[\\/:]/.test(command) ? [cwd] : (read('PATH') ?? '').split(';').filter((directory) => directory !== '');
  for (const directory of directories) {
    for (const ending of endings) {
      const candidate = path.win32.resolve(directory.replace(/^"(.*)"$/, '$1'), command + ending.toLowerCase());
      if (isFile(candidate)) return candidate;
    }
  }
  return undefined;
}

function refused(command: string, why: string): Failure<'SPAWN_FAILED'> {
  return new Failure('SPAWN_FAILED', `Cannot start "${command}": ${why}`, {
    stage: 'spawn', details: { command }, hint: 'Start the program behind the batch file directly, for instance "node" with the script as its first argument',
  });
}
