/**
 * A server as a child process that speaks one JSON-RPC message a line (MCP, stdio transport).
 *
 * Out: the messages of one tick leave in one write; `send` returns a promise only while the pipe is full. In: every chunk goes
 * straight to the framing, unless the server asks and asks and does not read our answers: then it has to wait for itself. stderr is always read, else a talkative server would block on it. The end is told once, after the
 * last message, with the most certain reason there is: an exit wins over a closed stream for a moment, because a stream closes
 * a little before its process is gone.
 */
import { Failure, isFailure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Redact } from '../base/redact.ts';
import { createFraming } from '../jsonrpc/framing.ts';
import type { CloseReport, Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';
import type { ProcessRequest } from './process.ts';
import type { Exit, ProcessTrees, ServerProcess } from './process-tree.ts';
import { createStderrTail } from './stderr.ts';

export interface StdioOptions extends ProcessRequest {
  /** The server's, for messages. */
  readonly name: string;
  readonly redact: Redact;
  readonly trees: ProcessTrees;
  /** How long a server may take to leave after the end of its stdin. Default `limits.killEofMs`. */
  readonly patienceMs?: number | undefined;
}

export type StdioTransport = Transport & {
  readonly pid: number | undefined;
  /** The last 64 KiB of stderr, redacted. */
  stderrTail(): string;
  exit(): Exit | undefined;
};

interface Waiter { readonly promise: Promise<void>; resolve(): void; reject(failure: AnyFailure): void }

export function createStdioTransport(options: StdioOptions): StdioTransport {
  const { name } = options;
  const patienceMs = options.patienceMs ?? limits.killEofMs;
  let sink: Sink | undefined, server: ServerProcess | undefined;
  let over: AnyFailure | undefined, closing: Promise<CloseReport> | undefined;
  let queue = '', queuedAnswers = 0, scheduled = false, full = false, waiter: Waiter | undefined;
  let grace: NodeJS.Timeout | undefined;

  const framing = createFraming({ onMessage: (message) => { if (over === undefined) sink!.message(message); }, onNotice: (notice) => { if (over === undefined) sink!.notice(notice); } });
  const stderr = createStderrTail(options.redact, (line) => sink?.notice({ kind: 'stderr', line }));

  let starting: Promise<ServerProcess> | undefined;

  function prepare(signal: AbortSignal): void {
    if (signal.aborted || starting !== undefined) return;
    starting = options.trees.start(options);
    starting.catch(() => {});                              // `open` tells it
  }

  async function open(to: Sink, signal: AbortSignal): Promise<void> {
    if (sink !== undefined) throw new TypeError('This transport was opened before; make a new one');
    sink = to;
    if (signal.aborted && starting === undefined) throw canceled(signal);
    const started = await (starting ?? options.trees.start(options));
    if (signal.aborted || closing !== undefined) {
      await started.end(0);
      throw signal.aborted ? canceled(signal) : closedHere();
    }
    server = started;
    listen(started);
  }

  function listen({ stdin, stdout, stderr: errors, exited, drained }: ServerProcess): void {
    stdout.on('data', (chunk: Buffer) => {
      if (over !== undefined) return;
      const failure = framing.feed(chunk);
      if (failure === undefined) return;
      finish(failure);
      // Whatever else it has to say is not read: that is the only way to stop a flood.
      stdout.destroy();
    });
    errors.on('data', (chunk: Buffer) => stderr.feed(chunk));
    stdin.on('drain', onDrain);
    stdin.on('error', () => streamEnded('it no longer reads its input'));
    stdout.on('end', () => streamEnded('it closed its output but did not exit'));
    for (const stream of [stdout, errors]) stream.on('error', () => {});
    void exited.then(async (exit) => {
      stdout.resume();
      clearTimeout(grace);
      grace = undefined;
      // What it wrote last is still in the pipes; they end with it unless someone else holds them.
      await settled(drained, stdout);
      framing.end();
      stderr.end();
      finish(exitFailure(exit));
    });
  }

  /** Waits for the end of the output, or until nothing came for a while from pipes that a survivor holds open. */
  async function settled(drained: Promise<void>, stdout: ServerProcess['stdout']): Promise<void> {
    let quiet = false, ended = false;
    const onChunk = (): void => { quiet = false; };
    stdout.on('data', onChunk);
    void drained.then(() => { ended = true; });
    while (!ended && !quiet) {
      quiet = true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => setImmediate(resolve), limits.drainMs);
        void drained.then(() => { clearTimeout(timer); resolve(); });
      });
    }
    stdout.off('data', onChunk);
  }

  function streamEnded(what: string): void {
    if (over !== undefined || grace !== undefined || server?.exit() !== undefined) return;
    grace = setTimeout(() => {
      framing.end();
      finish(new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": ${what}`, {
        stage: framing.framedOnce ? 'call' : 'spawn', details: { stderrTail: stderr.text() }, recovery: 'retryable',
        hint: 'Look at what the server wrote to stderr; it is ended and started again with the next call',
      }) as AnyFailure);
    }, limits.drainMs);
  }

  function exitFailure({ code, signal }: Exit): AnyFailure {
    const how = signal === null ? `its process exited with code ${code}` : `its process was ended by ${signal}`;
    const early = !framing.framedOnce;
    return new Failure('SERVER_EXITED', `Cannot reach server "${name}": ${how}${early ? ' before it sent any message' : ''}`, {
      stage: early ? 'spawn' : 'call', details: { exitCode: code, signal, stderrTail: stderr.text() }, recovery: early ? 'blocked' : 'retryable',
      hint: early ? 'Run the command in a terminal to see why it does not stay' : 'It is started again with the next call; its stderr may say why it ended',
    }) as AnyFailure;
  }

  /** The first reason wins. From here on nothing is delivered and the tree goes down, wanted or not. */
  function finish(reason: AnyFailure): void {
    if (over !== undefined) return;
    over = reason;
    clearTimeout(grace);
    queue = '';
    // What is not wanted any more must not keep it from noticing the end of its input.
    server?.stdout.resume();
    waiter?.reject(reason);
    waiter = undefined;
    sink!.closed(reason);
    void close();
  }

  // ---- out
  function send(message: Outgoing): void | Promise<void> {
    if (over !== undefined || server === undefined) return Promise.reject(over ?? closedHere());
    queue += message.text + '\n';
    if (message.kind === 'response' && (queuedAnswers += message.text.length) > limits.waitingAnswerBytes && full) server.stdout.pause();
    if (full) return (waiter ??= createWaiter()).promise;
    if (!scheduled) { scheduled = true; process.nextTick(flush); }
    return undefined;
  }
  function flush(): void {
    scheduled = false;
    if (queue === '' || over !== undefined) return;
    const text = queue;
    queue = '';
    queuedAnswers = 0;
    full = !server!.stdin.write(text);
  }
  function onDrain(): void {
    full = false;
    flush();
    if (over === undefined) server!.stdout.resume();
    if (full) return;
    waiter?.resolve();
    waiter = undefined;
  }

  // ---- the end
  async function shut(): Promise<CloseReport> {
    if (server === undefined) return { forced: [] };
    flush();
    finish(closedHere());
    const { stdin, stdout, stderr: errors } = server;
    const report = await server.end(patienceMs);
    // Pipes that something unkillable still holds must not hold us.
    for (const stream of [stdin, stdout, errors]) stream.destroy();
    return report;
  }
  function close(): Promise<CloseReport> {
    return (closing ??= shut());
  }
  function closedHere(): AnyFailure {
    return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": the connection was closed by this side`, { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
  }
  function canceled(signal: AbortSignal): AnyFailure {
    if (isFailure(signal.reason)) return signal.reason;
    return new Failure('CANCELED', `Cannot start server "${name}": it was canceled`, { stage: 'spawn', details: {}, recovery: 'retryable', cause: signal.reason }) as AnyFailure;
  }

  return {
    kind: 'stdio',
    perRequest: false,
    prepare,
    open,
    send,
    close,
    noiseBeforeFirst: () => (framing.framedOnce ? 0 : framing.noiseLines),
    get pid() { return server?.pid; },
    stderrTail: () => stderr.text(),
    exit: () => server?.exit(),
  };
}

function createWaiter(): Waiter {
  let resolve: () => void = () => {}, reject: (failure: AnyFailure) => void = () => {};
  const promise = new Promise<void>((yes, no) => { resolve = yes; reject = no; });
  // Whoever sent may not be listening any more when the peer breaks; that is no reason to end the host.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
