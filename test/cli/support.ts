/** A machine of its own for each test (home, XDG directories, workspace), the command line run in this process or as a real one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripControls } from '../../src/base/text.ts';
import { main } from '../../src/cli/main.ts';
import type { System } from '../../src/cli/terminal.ts';

const packageDirectory = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const everything = fileURLToPath(new URL('../fixtures/servers/everything.mjs', import.meta.url));
export const demoServer = fileURLToPath(new URL('../../demo/server.mjs', import.meta.url));
const entryPoint = fileURLToPath(new URL('./entry.ts', import.meta.url));

export interface Ran { readonly status: number; readonly stdout: string; readonly stderr: string; json(): any }
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stands on standard input. */
  readonly input?: string;
  /** Stdout, stderr and stdin are a terminal of so many columns; answers are typed when their question shows up. `raw` is told each change of the mode. */
  readonly terminal?: { readonly columns: number; readonly answers?: readonly (readonly [question: string, answer: Typed])[]; readonly raw?: (on: boolean) => void };
  /** Told all of stderr whenever more of it is there. */
  readonly onStderr?: (text: string) => void;
}

/** What is typed, or what makes it from the screen. */
export type Typed = string | ((screen: string) => string | Promise<string>);

/** Keeps what is written; types the next answer once its question is on the screen. */
class Screen extends Writable {
  text = '';
  isTTY?: true;
  columns?: number;
  onText: () => void = () => {};
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
    this.onText();
  }
}

function screens(terminal: RunOptions['terminal'], input: string | undefined): { stdout: Screen; stderr: Screen; stdin: Readable } {
  const stdout = new Screen(), stderr = new Screen();
  if (terminal === undefined) return { stdout, stderr, stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]) };
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode(on: boolean) { terminal.raw?.(on); return this; } });
  for (const screen of [stdout, stderr]) Object.assign(screen, { isTTY: true, columns: terminal.columns });
  let next = 0, seen = 0;
  stderr.onText = () => {
    const expected = terminal.answers?.[next];
    const at = expected === undefined ? -1 : stderr.text.indexOf(expected[0], seen);
    if (at < 0) return;
    seen = at + expected![0].length;
    next += 1;
    const [, typed] = expected!;
    setImmediate(async () => stdin.write(`${typeof typed === 'string' ? typed : await typed(stderr.text)}\n`));
  };
  return { stdout, stderr, stdin };
}

export interface Sandbox {
  readonly directory: string;
  readonly workspace: string;
  readonly globalFile: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writes the global configuration. */
  config(content: object | string, name?: string): void;
  /** Writes a file of the workspace and returns its path. */
  file(name: string, content: string): string;
  read(): any;
  /** In this process: fast, and with every stream in hand. */
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** As a process of its own. */
  start(args: readonly string[], options?: { readonly env?: Readonly<Record<string, string>> }): ChildProcess;
}

/** Messages as they were before the terminal's width broke them, without codes. */
export function unwrapped(screen: string): string {
  return stripControls(screen).replace(/\n {2,}(?=\S)/g, ' ');
}

/** A local server entry for the fixture. */
export function fixture(...flags: readonly string[]): { readonly type: 'local'; readonly command: readonly string[] } {
  return { type: 'local', command: [process.execPath, everything, ...flags] };
}

export const allowAll = { permission: { mode: 'allow_all' } };

export function sandbox(t: TestContext): Sandbox {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-lite-cli-')));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const workspace = path.join(directory, 'work');
  const globalFile = path.join(directory, 'config', 'zuno', 'zuno.json');
  mkdirSync(path.join(workspace, '.git'), { recursive: true });
  mkdirSync(path.dirname(globalFile), { recursive: true });
  const env = {
    PATH: process.env['PATH'] ?? '', HOME: directory, USERPROFILE: directory, XDG_CONFIG_HOME: path.join(directory, 'config'), XDG_STATE_HOME: path.join(directory, 'state'),
    XDG_CACHE_HOME: path.join(directory, 'cache'), XDG_DATA_HOME: path.join(directory, 'data'), ...(process.env['NODE_V8_COVERAGE'] === undefined ? {} : { NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'] }),
  };
  return {
    directory, workspace, globalFile, env,
    config(content, name = 'zuno.json') { writeFileSync(path.join(path.dirname(globalFile), name), typeof content === 'string' ? content : JSON.stringify(content, null, 2)); },
    file(name, content) {
      const file = path.join(workspace, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    read: () => JSON.parse(readFileSync(globalFile, 'utf8')),
    async run(args, options = {}) {
      const streams = screens(options.terminal, options.input);
      const { onText } = streams.stderr;
      if (options.onStderr !== undefined) streams.stderr.onText = () => { onText(); options.onStderr!(streams.stderr.text); };
      const system: System = { ...streams, environment: { ...env, ...options.env }, cwd: options.cwd ?? workspace } as System;
      const status = await main(args, packageDirectory, system);
      streams.stdin.destroy();
      const { stdout, stderr } = streams;
      return { status, stdout: stdout.text, stderr: stderr.text, json: () => JSON.parse(stdout.text) };
    },
    start: (args, options = {}) => spawn(process.execPath, ['--import', 'tsx', entryPoint, ...args], { env: { ...env, ...options.env }, cwd: path.resolve(import.meta.dirname ?? '.', '../..'), stdio: 'pipe' }),
  };
}
