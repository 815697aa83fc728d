/**
 * The only writer to stdout and stderr, the only reader of the keyboard and of what the terminal is. Every text passes
 * `stripControls` here, so nothing a server sent can move the cursor, recolour or hide what a person sees; the only escape
 * codes that leave are the ones made from `Style`.
 */
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { oneLine, stripControls } from '../base/text.ts';
import type { Line, Span, Style } from './span.ts';
import { displayWidth, fit, layOut, tabbed } from './table.ts';
import type { Column } from './table.ts';
import { wrapLine } from './wrap.ts';

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** What the process hands over; tests hand over their own. */
export interface System {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export interface TerminalSettings { readonly color?: boolean; readonly quiet?: boolean }

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Someone can be asked: keyboard and stderr are a terminal. */
  readonly interactive: boolean;
  /** Aborted when the reader of stdout went away (`| head`). */
  readonly readerGone: AbortSignal;
  /** Aborted when stdout cannot be written for another reason (disk full); the reason is the error. */
  readonly writeFailed: AbortSignal;
  /** Results: one line (or several) to stdout. */
  print(...line: Span[]): void;
  /** Side remarks to stderr, broken between words; `--quiet` drops them. */
  note(...line: Span[]): void;
  /** What must be seen: to stderr, broken between words, also with `--quiet`. */
  alert(...line: Span[]): void;
  /** Columns of stdout; `Infinity` in a pipe. */
  readonly width: number;
  /** Aligned columns to stdout, cut to the terminal's width; in a pipe nothing is cut. `piped`: there a tab between columns, all of them. */
  table(columns: readonly Column[], rows: readonly (readonly Span[])[], how?: { readonly indent?: number; readonly piped?: 'tabs' }): void;
  /** The one JSON document of `--json`. */
  document(value: unknown): void;
  /** A line on stderr that the next one replaces; only on a terminal. Empty text takes it away. */
  live(text: string): void;
  /** Several such lines, made for the columns at hand, cut to the rows at hand. */
  liveLines(make: (width: number) => readonly Line[]): void;
  /**
   * Asks on stderr, reads one line; `undefined` at the end of input or when the signal aborts. With `pasted` the lines that come in one
   * burst are one answer: a terminal wraps what is copied from it.
   */
  question(prompt: readonly Span[], signal?: AbortSignal, pasted?: boolean): Promise<string | undefined>;
  /** All of stdin as text. Throws USAGE on a terminal, LIMIT_EXCEEDED over 64 MiB. */
  readInput(): Promise<string>;
}

/** A line of a block must not wrap, or going back up would miss its start. */
function clipped(line: Line, cells: number): Line {
  let left = cells;
  return line.map((span) => {
    const whole = stripControls(typeof span === 'string' ? span : span.text).replaceAll('\n', ' ');
    const text = left <= 0 ? '' : fit(whole, left);
    left -= displayWidth(text);
    return typeof span === 'string' ? text : { ...span, text };
  });
}

const READER_GONE: readonly unknown[] = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'];
const CODES: Readonly<Record<Style, readonly [number, number]>> = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] };

export function processSystem(): System {
  return {
    get stdout() { return process.stdout; },
    get stderr() { return process.stderr; },
    get stdin() { return process.stdin; },
    environment: process.env,
    cwd: process.cwd(),
  };
}

const paint = (line: readonly Span[], color: boolean): string => line.map((span) => {
  if (typeof span === 'string') return stripControls(span);
  const text = stripControls(span.text);
  const [on, off] = CODES[span.style];
  return color && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text;
}).join('');

// JSON escapes C0 by itself; C1 and the bidirectional controls would still reach the terminal raw. As \u escapes the value is the same.
const armored = (json: string): string => json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

async function readAll(stdin: Input): Promise<string> {
  if (stdin.isTTY) throw new Failure('USAGE', 'Cannot read standard input: it is the keyboard', { stage: 'usage', details: { argument: '-' }, hint: 'pipe a file or another command into it' });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk as Buffer;
    size += bytes.length;
    if (size > limits.frameBytes) throw new Failure('LIMIT_EXCEEDED', 'Cannot read standard input: it is too long', { stage: 'usage', details: { limit: 'frameBytes', maximum: limits.frameBytes } });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const BURST_MS = 150;

async function ask(system: System, prompt: string, signal: AbortSignal | undefined, pasted: boolean): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  return new Promise((resolve) => {
    const reader = createInterface({ input: system.stdin, output: system.stderr, terminal: true, ...(pasted && { historySize: 0 }) });
    let answer: string | undefined, burst: NodeJS.Timeout | undefined;
    const end = (): void => { clearTimeout(burst); reader.close(); };
    reader.on('line', (line) => {
      answer = `${answer ?? ''}${line}`;
      if (!pasted) { end(); return; }
      clearTimeout(burst);
      burst = setTimeout(end, BURST_MS);
    });
    // Raw mode keeps Ctrl-C from becoming a signal: it is handed on as one, so that the walk out is the same everywhere.
    reader.on('SIGINT', () => { end(); process.emit('SIGINT', 'SIGINT'); });
    reader.on('close', () => {
      clearTimeout(burst);
      signal?.removeEventListener('abort', end);
      // Where nothing was entered the cursor still stands behind the question.
      if (answer === undefined) system.stderr.write('\n');
      resolve(answer);
    });
    if (signal?.aborted) { end(); return; }
    signal?.addEventListener('abort', end, { once: true });
    reader.setPrompt(prompt);
    reader.prompt();
  });
}

export function createTerminal(system: System, settings: TerminalSettings = {}): Terminal {
  const { environment } = system;
  const colorful = settings.color !== false && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const gone = new AbortController(), failed = new AbortController();
  const watched = new Set<Output>();
  /** `live`: lines of a block that is to be replaced. */
  let live = 0, asking = false;

  const broken = (output: Output, error: unknown): void => {
    if (output !== system.stdout) return;
    if (READER_GONE.includes((error as NodeJS.ErrnoException).code)) gone.abort(new Error('the reader of standard output is gone')); else failed.abort(error);
  };
  const write = (output: Output, text: string): void => {
    if (!watched.has(output)) {
      watched.add(output);
      output.on('error', (error) => broken(output, error));
    }
    if (output === system.stdout && (gone.signal.aborted || failed.signal.aborted)) return;
    // Files are written at once, and some versions of Node throw from there.
    try { output.write(text); } catch (error) { broken(output, error); }
  };
  const clear = (): void => {
    if (live > 0) write(system.stderr, erased());
    live = 0;
  };
  const erased = (): string => `${'\r\u001b[2K\u001b[1A'.repeat(Math.max(0, live - 1))}\r\u001b[2K`;
  const line = (output: Output, spans: readonly Span[]): void => {
    clear();
    write(output, `${paint(spans, colorful && output.isTTY === true)}\n`);
  };
  const prose = (spans: readonly Span[]): void => {
    const stripped = spans.map((span) => (typeof span === 'string' ? stripControls(span) : { ...span, text: stripControls(span.text) }));
    for (const one of wrapLine(stripped, system.stderr.isTTY === true ? system.stderr.columns || 80 : Infinity)) line(system.stderr, one);
  };
  const width = (): number => (system.stdout.isTTY === true ? system.stdout.columns || 80 : Infinity);
  /** Under an open question a live line would run over what is being typed. */
  const maySee = (): boolean => system.stderr.isTTY === true && settings.quiet !== true && !asking;

  return {
    environment,
    cwd: system.cwd,
    get interactive() { return system.stderr.isTTY === true && system.stdin.isTTY === true; },
    readerGone: gone.signal,
    writeFailed: failed.signal,
    print: (...spans) => line(system.stdout, spans),
    note: (...spans) => { if (settings.quiet !== true) prose(spans); },
    alert: (...spans) => prose(spans),
    get width() { return width(); },
    table: (columns, rows, { indent = 0, piped } = {}) => {
      const lines = piped === 'tabs' && width() === Infinity ? tabbed(columns, rows) : layOut(columns, rows, width() - indent);
      for (const one of lines) line(system.stdout, [' '.repeat(indent), ...one]);
    },
    document: (value) => {
      clear();
      write(system.stdout, `${armored(JSON.stringify(value, null, system.stdout.isTTY === true ? 2 : undefined))}\n`);
    },
    live: (text) => {
      if (!maySee()) return;
      if (text === '') { clear(); return; }
      const before = erased();
      live = 1;
      write(system.stderr, `${before}${fit(oneLine(text), (system.stderr.columns || 80) - 1)}`);
    },
    liveLines: (make) => {
      if (!maySee()) return;
      const columns = (system.stderr.columns || 80) - 1, lines = make(columns).slice(0, Math.max(1, (system.stderr.rows || 24) - 1));
      const before = erased();
      live = lines.length;
      write(system.stderr, `${before}${lines.map((one) => paint(clipped(one, columns), colorful)).join('\n')}`);
    },
    question: async (prompt, signal, pasted = false) => {
      clear();
      asking = true;
      try {
        return await ask(system, paint(prompt, colorful), signal, pasted);
      } finally {
        asking = false;
      }
    },
    readInput: () => readAll(system.stdin),
  };
}
