/**
 * The other end of stdio: this process is the server, one JSON-RPC message a line. A peer that leaves a lot unread is not read either, so
 * that nothing piles up; when its input ends, what was asked before may still be answered until `close`.
 */
import type { Readable, Writable } from 'node:stream';
import { Failure, type AnyFailure } from '../base/failure.ts';
import { settlesWithin } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { createFraming } from '../jsonrpc/framing.ts';
import type { Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';

export interface StdioServerOptions {
  /** Default: this process's own. */
  readonly input?: Readable;
  readonly output?: Writable;
}

export function createStdioServerTransport({ input = process.stdin, output = process.stdout }: StdioServerOptions = {}): Transport {
  let sink: Sink | undefined, over: AnyFailure | undefined, closing: Promise<void> | undefined;
  let queue = '', scheduled = false, full = false;
  let drained: Promise<void> | undefined, onDrained: () => void = () => {};

  const framing = createFraming({
    onMessage: (message) => { if (over === undefined) sink!.message(message); },
    onNotice: (notice) => { if (over === undefined) sink!.notice(notice); },
  });

  function finish(reason: AnyFailure): void {
    if (over !== undefined) return;
    over = reason;
    input.off('data', onData);
    input.pause();
    sink!.closed(reason);
  }
  const ended = (words: string, stage: 'close' | 'call'): AnyFailure => new Failure('CONNECTION_CLOSED', `Cannot reach the client: ${words}`, { stage, details: {}, recovery: 'retryable' }) as AnyFailure;

  function onData(chunk: Buffer): void {
    const failure = framing.feed(chunk);
    if (failure !== undefined) finish(failure);
  }
  const onEnd = (): void => { framing.end(); finish(ended('it ended its side of the pipe', 'close')); };
  const onInputError = (): void => finish(ended('its side of the pipe broke', 'call'));
  const onOutputError = (): void => {
    queue = '';
    full = false;
    onDrained();
    finish(ended('it does not read any more', 'call'));
  };
  function onDrain(): void {
    full = false;
    flush();
    if (full) return;
    onDrained();
    drained = undefined;
    if (over === undefined) input.resume();
  }

  function flush(): void {
    scheduled = false;
    if (queue === '') return;
    const text = queue;
    queue = '';
    if (output.write(text)) return;
    full = true;
    holdBack();
  }
  /** A little is left to wait: a client may write all it has before it reads. */
  function holdBack(): void {
    if (output.writableLength + queue.length > limits.serverBacklogBytes) input.pause();
  }

  function send({ text }: Outgoing): void | Promise<void> {
    if (closing !== undefined || output.destroyed || output.writableEnded) return Promise.reject(over ?? ended('the connection was closed by this side', 'close'));
    queue += `${text}\n`;
    if (full) {
      holdBack();
      return (drained ??= new Promise((resolve) => { onDrained = resolve; }));
    }
    if (!scheduled) { scheduled = true; process.nextTick(() => { if (!full) flush(); }); }
    return undefined;
  }

  async function shut(): Promise<void> {
    if (sink === undefined) return;
    // The last words: all of them if the client reads, and no longer than it takes to be sure that it does not.
    const written = new Promise<void>((resolve) => {
      if (output.destroyed) { resolve(); return; }
      output.write(queue, () => resolve());
      queue = '';
    });
    await settlesWithin(written, limits.serverDrainMs);
    for (const [event, listener] of [['data', onData], ['end', onEnd], ['error', onInputError]] as const) input.off(event, listener as () => void);
    output.off('drain', onDrain);
    // A broken pipe may say so late, to nobody: that must not end the program.
    input.on('error', () => {});
    input.pause();
    finish(ended('the connection was closed by this side', 'close'));
  }

  return {
    kind: 'stdio',
    perRequest: false,
    async open(to, signal) {
      if (sink !== undefined) throw new TypeError('This transport was opened before; make a new one');
      if (signal.aborted) throw new Failure('CANCELED', 'Cannot serve on stdio: it was canceled', { stage: 'connect', details: {}, recovery: 'retryable' });
      sink = to;
      output.on('error', onOutputError);
      output.on('drain', onDrain);
      input.on('error', onInputError);
      input.on('end', onEnd);
      input.on('data', onData);
    },
    send,
    async close() {
      await (closing ??= shut());
      return { forced: [] };
    },
  };
}
