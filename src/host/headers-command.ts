/**
 * `headersCommand`: a program of the configuration that prints headers, for tokens that another tool hands out. It is run without a shell,
 * when a connection first needs it, when what it printed has expired, and once after the server answered 401.
 */
import { startDeadline } from '../base/deadline.ts';
import { Failure, isFailure, toFailure, type AnyFailure, type Origin } from '../base/failure.ts';
import { isFile } from '../base/files.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Redact } from '../base/redact.ts';
import { oneLine, shorten } from '../base/text.ts';
import type { RequestHeaders, SendRequest } from '../http/types.ts';
import { isHeader, withHeaders } from '../oauth/credential-headers.ts';
import { childEnvironment } from '../transports/child-environment.ts';
import { withoutOurHeaders } from '../transports/handover.ts';
import type { Exit, ProcessTrees, ServerProcess } from '../transports/process-tree.ts';
import { createStderrTail, type StderrTail } from '../transports/stderr.ts';

export interface HeadersCommand {
  /** Name and URL of the server: for messages, and for the program (`ZUNO_MCP_SERVER`, `ZUNO_MCP_URL`). */
  readonly name: string;
  readonly url: string;
  /** Program and arguments, references filled in. */
  readonly words: readonly string[];
  readonly directory: string;
  readonly origin: Origin;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly trees: ProcessTrees;
  readonly log: Log;
  readonly redact: Redact;
  /** Told every value that was printed. */
  readonly secret: (value: string) => void;
}

interface Printed { readonly headers: RequestHeaders; /** Milliseconds since the epoch from which it is run again. */ readonly until: number }

/** Requests with the headers that the program prints. They replace configured ones of the same name, never the protocol's. */
export function withHeadersCommand(send: SendRequest, command: HeadersCommand): SendRequest {
  const { name, origin } = command;
  let printed: Printed | undefined;
  let running: Promise<RequestHeaders> | undefined;
  /** However many requests wait, one run serves them; it goes on when one of them is given up. */
  const run = (): Promise<RequestHeaders> => (running ??= printedBy(command).then((fresh) => { printed = fresh; return fresh.headers; }).finally(() => { running = undefined; }));
  return withHeaders(send, {
    name,
    // The run has a deadline of its own, which knows more.
    patienceMs: limits.headersCommandMs + limits.killVerifyMs,
    headers(_signal, refused) {
      if (refused !== undefined && printed?.headers === refused) printed = undefined;
      return printed !== undefined && printed.until > Date.now() ? printed.headers : run();
    },
    late: () => tooLate(command),
    judge({ status }, { repeated }) {
      if (status !== 401) return 'deliver';
      if (!repeated) return 'again';
      return new Failure('TOKEN_REFUSED', `Cannot use server "${name}": it refuses the headers that "${command.words[0]}" prints, also fresh ones`, {
        stage: 'auth', details: { error: 'headers_refused' }, origin, hint: `Run the command of ${origin.key ?? 'headersCommand'} in a terminal to see what it prints`,
      }) as AnyFailure;
    },
  });
}

async function printedBy(command: HeadersCommand): Promise<Printed> {
  const { log, name, redact, secret } = command;
  const stderr = createStderrTail(redact, () => {});
  let read: ReturnType<typeof readHeaders>;
  try {
    read = readHeaders(await outputOf(command, stderr), Date.now());
    if ('headers' in read) for (const value of Object.values(read.headers)) secret(value);
  } finally {
    // Not before the values are known that it must not show.
    for (const line of stderr.text().split('\n')) if (line !== '') log({ level: 'debug', event: 'headers.stderr', message: redact(line), fields: { server: name } });
  }
  if ('problem' in read) throw unusable(command, read.problem);
  log({ level: 'debug', event: 'headers.command', message: `"${command.words[0]}" printed headers for the server "${name}": ${Object.keys(read.headers).join(', ') || 'none'}` });
  return { ...read, headers: withoutOurHeaders(read.headers) };
}

/** Of what was printed, its kind alone: it may hold a secret. */
function described(text: string): string {
  if (text.trim() === '') return 'nothing at all';
  const value = parseJson(text);
  return value === undefined ? 'text that is no JSON' : Array.isArray(value.value) ? 'a list' : 'a single value';
}

/** Runs it once. The last line of its stderr is told where it fails. */
async function outputOf(command: HeadersCommand, stderr: StderrTail): Promise<string> {
  const { name, url, words, directory, environment, trees } = command;
  const deadline = startDeadline(limits.headersCommandMs);
  let child: ServerProcess | undefined;
  try {
    child = await trees.start({
      command: words[0]!, args: words.slice(1), cwd: directory,
      environment: childEnvironment({ environment, entryEnvironment: { ZUNO_MCP_SERVER: name, ZUNO_MCP_URL: url }, platform: process.platform, execPath: process.execPath, isFile }),
    });
    child.stdin.on('error', () => {}).end();
    child.stderr.on('data', (chunk: Uint8Array) => stderr.feed(chunk));
    const text = await stdoutOf(child, command, deadline.signal);
    stderr.end();
    const exit = await child.exited;
    if (exit.code !== 0) throw exited(command, exit, stderr.text());
    return text;
  } catch (error) {
    throw isFailure(error) && error.code === 'SPAWN_FAILED' ? notStarted(command, error) : toFailure(error, 'auth');
  } finally {
    deadline.dispose();
    void child?.end(0);
  }
}

/** All of it, decoded, once the program has ended. */
function stdoutOf({ stdout, drained }: ServerProcess, command: HeadersCommand, late: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    stdout.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limits.headersCommandBytes) { chunks.push(chunk); return; }
      reject(new Failure('LIMIT_EXCEEDED', `Cannot get the headers of server "${command.name}": "${command.words[0]}" prints more than ${limits.headersCommandBytes} bytes`, {
        stage: 'auth', details: { limit: 'headersCommand output', maximum: limits.headersCommandBytes }, origin: command.origin,
      }));
    });
    stdout.on('error', () => {});
    void drained.then(() => resolve(Buffer.concat(chunks).toString('utf8')));
    late.addEventListener('abort', () => reject(tooLate(command)), { once: true });
  });
}

/** A number of seconds may be a date too, for scripts that reckon in them. */
const SECONDS_BELOW = 1e11;

/** `{ "headers": {...}, "expiresAt"?, "expiresIn"? }`, or the headers alone. `nowMs`: since the epoch. */
export function readHeaders(text: string, nowMs: number): Printed | { readonly problem: string } {
  const value = parseJson(text.trim())?.value;
  if (!isObject(value)) return { problem: `it printed ${described(text)} where a JSON object is due` };
  const wrapped = isObject(value['headers']);
  const headers = wrapped ? value['headers'] as Record<string, unknown> : value;
  const wrong = Object.entries(headers).find(([name, one]) => !isHeader(name, one));
  if (wrong !== undefined) return { problem: `the header ${JSON.stringify(shorten(oneLine(wrong[0]), 60))} that it printed cannot be sent: names are words, values texts without line breaks` };
  if (!wrapped) return { headers: headers as RequestHeaders, until: Infinity };
  const until = expiryOf(value['expiresAt'], value['expiresIn'], nowMs);
  return until === undefined ? { problem: 'the expiry that it printed cannot be read: "expiresAt" is a date (ISO 8601) or a number of seconds since 1970, "expiresIn" a number of seconds' } : { headers: headers as RequestHeaders, until };
}

/** A little before it: the request takes a while to get there. */
function expiryOf(at: unknown, seconds: unknown, nowMs: number): number | undefined {
  const date = typeof at === 'string' ? Date.parse(at) : typeof at === 'number' ? (at < SECONDS_BELOW ? at * 1000 : at) : at === undefined || at === null ? Infinity : NaN;
  const life = typeof seconds === 'number' ? nowMs + seconds * 1000 : seconds === undefined || seconds === null ? Infinity : NaN;
  const until = Math.min(date, life);
  return Number.isNaN(until) ? undefined : until - Math.min(limits.tokenSkewMs, Math.max(0, until - nowMs) / 10);
}

function unusable({ name, words, origin }: HeadersCommand, why: string): AnyFailure {
  return new Failure('LOGIN_REFUSED', `Cannot get the headers of server "${name}" from "${words[0]}": ${why}`, {
    stage: 'auth', details: { error: 'headers_command_failed' }, origin, hint: `Run the command of ${origin.key ?? 'headersCommand'} in a terminal to see what is wrong with it`,
  }) as AnyFailure;
}

function notStarted({ name, origin }: HeadersCommand, cause: Failure<'SPAWN_FAILED'>): AnyFailure {
  return new Failure('SPAWN_FAILED', `Cannot get the headers of server "${name}": ${cause.message.replace(/^Cannot/, 'cannot')}`, {
    stage: 'auth', details: cause.details, origin, hint: `Install the program, or correct ${origin.key ?? 'headersCommand'}`, cause,
  }) as AnyFailure;
}

function exited(command: HeadersCommand, { code, signal }: Exit, stderr: string): AnyFailure {
  const last = oneLine(stderr.trimEnd().split('\n').at(-1) ?? '');
  return unusable(command, `it ended with ${signal === null ? `exit code ${code}` : signal}${last === '' ? '' : `: ${shorten(last, 300)}`}`);
}

function tooLate({ name, words, origin }: HeadersCommand): AnyFailure {
  return new Failure('TIMEOUT', `Cannot get the headers of server "${name}": "${words[0]}" did not end within ${limits.headersCommandMs} ms`, {
    stage: 'auth', details: { afterMs: limits.headersCommandMs }, origin, recovery: 'retryable', hint: 'Nobody can answer it here: it must not ask for anything',
  }) as AnyFailure;
}
