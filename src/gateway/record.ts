/**
 * Records what passes between peers into a trace. One write at a time; what comes meanwhile is joined to the next one, and beyond a bound
 * it is left out. A disk that fails costs the trace and never the session: one warning, then silence.
 */
import { now } from '../base/deadline.ts';
import { Failure, toFailure } from '../base/failure.ts';
import { appendText, exists, writeFileAtomic } from '../base/files.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Redact } from '../base/redact.ts';
import type { Id, Message } from '../jsonrpc/message.ts';
import type { Exchange, ServerEngine, SessionCarrier } from '../jsonrpc/serving.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import { encodeEntry, encodeHeader, looksLikeTrace, maskMessage, type Direction, type LeftOut, type Side, type TracedServer } from './trace.ts';

export interface Recorder {
  readonly file: string;
  /** A message as JSON text or as a value; `on` tells connections of one side apart. Returns at once, never fails. */
  record(direction: Direction, side: Side, message: unknown, on?: string): void;
  /** A name for one more connection, for `record`. */
  connection(): string;
  /** One more redactor, of a server that came later: its secrets are masked from now on, whoever repeats them. */
  know(redact: Redact): void;
  /** Resolves when everything is on the disk, or was given up. Idempotent, never rejects. */
  close(): Promise<void>;
}

export interface RecorderOptions {
  readonly file: string;
  /** Of a redactor that knows the secrets of the servers (`createRedactor`). */
  readonly redact: Redact;
  readonly log: Log;
  readonly server?: TracedServer | undefined;
  /** In place of `limits.trace*`. */
  readonly bounds?: { readonly traceBytes?: number; readonly messageBytes?: number; readonly backlogBytes?: number } | undefined;
}

/** Begins a trace, mode 0600, in place of an older one. Fails with USAGE when the file is something else, with CONFIG_UNREADABLE when it cannot be written. */
export async function openRecorder({ file, redact, log, server, bounds = {} }: RecorderOptions): Promise<Recorder> {
  if (exists(file) && !looksLikeTrace(file)) throw new Failure('USAGE', `Cannot record to "${file}": it is there already and is no trace`, { stage: 'usage', details: { argument: file }, hint: 'Name another file' });
  const { traceBytes = limits.traceBytes, messageBytes = limits.traceMessageBytes, backlogBytes = limits.traceBacklogBytes } = bounds;
  const header = encodeHeader({ startedAt: new Date().toISOString(), server: server === undefined ? undefined : maskMessage(server, redact) as TracedServer });
  await writeFileAtomic(file, header, { mode: 0o600 });
  const startedAt = now(), redactors = new Set([redact]);
  const mask = (text: string): string => { let masked = text; for (const one of redactors) masked = one(masked); return masked; };
  let written = Buffer.byteLength(header), waiting: string[] = [], waitingBytes = 0, connections = 0;
  let writing: Promise<void> | undefined, closed = false, failed = false, full = false, lost = 0;

  async function write(): Promise<void> {
    while (waiting.length > 0 && !failed) {
      const text = waiting.join('');
      waiting = [];
      waitingBytes = 0;
      try {
        await appendText(file, text);
      } catch (error) {
        failed = true;
        waiting = [];
        log({ level: 'warning', event: 'trace', message: `Nothing more is being recorded, and the session goes on: ${toFailure(error).message}`, fields: { file } });
      }
    }
    writing = undefined;
  }

  function append(line: string): void {
    const bytes = Buffer.byteLength(line);
    written += bytes;
    waiting.push(line);
    waitingBytes += bytes;
    writing ??= Promise.resolve().then(write);
  }

  function whyNot(bytes: number): LeftOut['why'] | undefined {
    if (bytes > messageBytes) return 'message';
    if (written + bytes > traceBytes) return 'trace';
    return waitingBytes + bytes > backlogBytes ? 'disk' : undefined;
  }

  function record(direction: Direction, side: Side, message: unknown, on?: string): void {
    if (closed || failed) return;
    if (full) { lost += 1; return; }
    const place = { at: Math.round(now() - startedAt), side, dir: direction, on };
    try {
      const text = typeof message === 'string' ? message : JSON.stringify(message) ?? '';
      const bytes = Buffer.byteLength(text), value = typeof message === 'string' ? parseJson(text)?.value : message;
      const refuse = (why: LeftOut['why'], size: number): void => {
        full = why === 'trace';
        append(encodeEntry({ ...place, left: leftOut(why, size, value) }));
      };
      const early = whyNot(bytes);
      if (early !== undefined) { refuse(early, bytes); return; }
      if (!isObject(value)) { refuse('message', bytes); return; }
      // Masking may make it longer.
      const line = encodeEntry({ ...place, message: maskMessage(value, mask) }), late = whyNot(Buffer.byteLength(line));
      if (late === undefined) append(line); else refuse(late, bytes);
    } catch (error) {
      log({ level: 'debug', event: 'trace', message: `A message was not recorded: ${toFailure(error).message}`, fields: { file } });
    }
  }

  return {
    file, record,
    connection: () => String(++connections),
    know: (one) => { redactors.add(one); },
    async close() {
      if (!closed && lost > 0) log({ level: 'warning', event: 'trace', message: `The trace is full: ${lost + 1} messages are not in it`, fields: { file } });
      closed = true;
      await writing;
    },
  };
}

function leftOut(why: LeftOut['why'], bytes: number, value: unknown): LeftOut {
  const { id, method } = isObject(value) ? value : {} as { id?: unknown; method?: unknown };
  return { why, bytes, ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}), ...(typeof method === 'string' ? { method: method.slice(0, limits.excerptBytes) } : {}) };
}

/** The same transport, with everything that passes it recorded as that side. */
export function tapTransport(transport: Transport, recorder: Recorder, side: Side): Transport {
  const on = recorder.connection();
  return new Proxy(transport, {
    get(target, key) {
      if (key === 'open') {
        return (sink: Parameters<Transport['open']>[0], signal: AbortSignal) => target.open({
          ...sink, message: (message) => { recordMessage(recorder, 'in', side, message, on); sink.message(message); },
        }, signal);
      }
      if (key === 'send') return (message: Parameters<Transport['send']>[0]) => { recorder.record('out', side, message.text, on); return target.send(message); };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) as unknown : value;
    },
  });
}

/** The same engine for whatever carries its messages, stdio or HTTP, with everything that its clients say and hear recorded as downstream. */
export function tapEngine(engine: ServerEngine, recorder: Recorder): ServerEngine {
  const names = new WeakMap<object, string>();
  const nameOf = (connection: object | undefined): string => {
    const name = (connection === undefined ? undefined : names.get(connection)) ?? recorder.connection();
    if (connection !== undefined) names.set(connection, name);
    return name;
  };
  const out = (text: string, on: string): void => recorder.record('out', 'downstream', text, on);
  const tapExchange = (exchange: Exchange, on: string): Exchange => {
    const { send, answer, pause } = exchange;
    return {
      principal: exchange.principal, header: exchange.header, signal: exchange.signal,
      // What the peer does not get is no part of what was said.
      send(text, dispensable) { const sent = send.call(exchange, text, dispensable); if (sent) out(text, on); return sent; },
      answer(text, status) { if (text !== undefined) out(text, on); answer.call(exchange, text, status); },
      ...(pause === undefined ? {} : { pause: pause.bind(exchange) }),
    };
  };
  return {
    eraOf: (message, header) => engine.eraOf(message, header),
    servesLegacy: (revision) => engine.servesLegacy(revision),
    serve(request, exchange, connection) {
      const on = nameOf(connection);
      recorder.record('in', 'downstream', request, on);
      engine.serve(request, tapExchange(exchange, on), connection);
    },
    openSession(carrier: SessionCarrier) {
      const on = recorder.connection();
      const session = engine.openSession({ principal: carrier.principal, send: (text) => { const sent = carrier.send(text); if (sent) out(text, on); return sent; } });
      return {
        get revision() { return session.revision; },
        get running() { return session.running; },
        receive(message, exchange) {
          recordMessage(recorder, 'in', 'downstream', message, on);
          session.receive(message, exchange === undefined ? undefined : tapExchange(exchange, on));
        },
        close: () => session.close(),
      };
    },
    release: (connection) => engine.release(connection),
    close: () => engine.close(),
  };
}

/** What nests too deep was never read as a whole; who asked or answered is all that is known of it. */
function recordMessage(recorder: Recorder, direction: Direction, side: Side, { kind, message }: Message, on: string): void {
  if (kind !== 'refused') { recorder.record(direction, side, message, on); return; }
  const id: Id | undefined = message.id ?? undefined;
  if (message.of === 'answer' && id !== undefined) recorder.record(direction, side, { jsonrpc: '2.0', id, error: { code: -32603, message: `An answer that nests deeper than ${limits.jsonDepth} levels is not in the trace` } }, on);
}
