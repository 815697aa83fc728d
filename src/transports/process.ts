/** Starting a program: what the system is told, and what it means when the system refuses. Nothing else here starts one. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../base/failure.ts';
import { isDirectory, isFile } from '../base/files.ts';
import { spawnPlan } from './spawn-plan.ts';
import type { StartWatchdog } from './watchdog.ts';

/** Inherited by all that a server starts: `<host id>.<number>.`, behind those of outer hosts. */
export const TREE_VARIABLE = 'ZUNO_TREE';

export interface ProcessRequest {
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Complete; the tree marker is added. */
  readonly environment: Readonly<Record<string, string>>;
}

export type PipedChild = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable };

/** Rejects with `SPAWN_FAILED`, which tells a missing command, a missing directory and a missing permission apart. */
export async function launch(request: ProcessRequest, marker: string, platform: NodeJS.Platform): Promise<PipedChild> {
  const { cwd, environment } = request;
  const plan = spawnPlan({ ...request, platform, isFile });
  const outer = environment[TREE_VARIABLE];
  try {
    const child = spawn(plan.file, plan.args, {
      cwd,
      // First, so that it is met early by whoever reads the block.
      env: { ...environment, [TREE_VARIABLE]: outer === undefined ? marker : `${outer},${marker}` },
      stdio: 'pipe',
      // A session of its own; on Windows the job object that ends children with their host holds only what is not detached.
      detached: platform !== 'win32',
      windowsHide: true,
      windowsVerbatimArguments: plan.verbatim,
    });
    await new Promise<void>((resolve, reject) => { child.once('spawn', resolve).once('error', reject); });
    // Failed signals are reported here too, and mean nothing: the ladder looks for itself.
    child.on('error', () => {});
    return child;
  } catch (error) {
    throw spawnFailure(request, error);
  }
}

/** The system says ENOENT or EACCES of the command and of the directory alike; a look tells which one it means. */
function spawnFailure({ command, cwd, environment }: ProcessRequest, error: unknown): Failure<'SPAWN_FAILED'> {
  const system = (error as NodeJS.ErrnoException).code;
  const make = (why: string, hint: string): Failure<'SPAWN_FAILED'> => new Failure('SPAWN_FAILED', `Cannot start "${command}": ${why}`, {
    stage: 'spawn', details: { command, cwd, ...(system === undefined ? {} : { system }) }, hint, cause: error,
  });
  const withPath = /[\\/]/.test(command);
  // The dot inside it is seen only by who may enter it.
  if (!isDirectory(`${cwd}/.`)) return make(`its working directory "${cwd}" is missing or cannot be entered`, 'Create the directory, or correct "cwd" of the server');
  switch (system) {
    case 'ENOENT':
      if (withPath && isFile(command)) return make('the interpreter named in its first line is missing', 'Install the interpreter, or name it as the command with the script as its first argument');
      return withPath ? make('there is no such file', 'Correct the path in "command" of the server')
        : make(`no program of that name is on the PATH (${environment['PATH'] ?? environment['Path'] ?? 'unset'})`, 'Install it, or write its full path in "command" of the server');
    case 'EACCES': case 'EPERM':
      return make('it is there but may not be executed', `Make it executable (chmod +x), or start it through its interpreter, for instance "node ${command}"`);
    case 'E2BIG':
      return make('its arguments and environment are too long', 'Pass large values in a file');
    case 'EMFILE': case 'ENFILE': case 'EAGAIN': case 'ENOMEM':
      return make(`the system is out of resources (${system})`, 'Close other programs or raise the limit (ulimit -n, ulimit -u)');
    default:
      return make(error instanceof Error ? error.message : String(error), 'Run the command in a terminal to see what is wrong with it');
  }
}

/** How the watchdog's shell is started: a session of its own that does not keep this process alive. */
export function startWatchdog(path: string | undefined): StartWatchdog {
  return (file, args) => {
    // No environment of the host's: an outer host's marker must not make this shell one of its victims.
    const shell = spawn(file, args, { cwd: '/', env: { PATH: path === undefined ? '/usr/bin:/bin' : `${path}:/usr/bin:/bin`, LC_ALL: 'C' }, stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    shell.on('error', () => {});
    shell.unref();
    // A pipe of a child is a socket and has `unref`; its type does not say so.
    (shell.stdin as Writable & { unref?(): void }).unref?.();
    return { pid: shell.pid, input: shell.stdin, onExit: (listener) => { shell.once('exit', listener).once('error', listener); } };
  };
}

/** The environment this host runs in: what children inherit from. */
export function hostEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
