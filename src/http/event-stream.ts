/**
 * Event streams (WHATWG HTML, section 9.2 "Server-sent events"): bytes in, events out, and back. Exact about line ends, the byte order
 * mark, field names and what counts as an event; linear in the bytes, however they are cut.
 */
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { byteSize } from '../base/text.ts';
import { decodeUtf8 } from './body.ts';
import type { Stage } from '../base/failure.ts';

export interface ServerEvent {
  /** May be empty: `data:` with nothing behind it is an event too (MCP calls it a priming event). */
  readonly data: string;
  /** `message` when the server named none. */
  readonly type: string;
  /** The last event id as of this event; empty when there is none. Ids stay until the server sets another. */
  readonly id: string;
}

export interface EventDecoderOptions {
  /** Must not throw. */
  onEvent(event: ServerEvent): void;
  /** Reconnection time in milliseconds, as the server wishes it. */
  onRetry?(ms: number): void;
  /** A comment line, without its colon. Keep-alives are made of these. */
  onComment?(text: string): void;
  /** Default `limits.eventBytes`: what one event may hold, or one line. */
  readonly maxBytes?: number;
  readonly stage?: Stage;
}

export interface EventDecoder {
  /** Takes the next bytes. Throws `LIMIT_EXCEEDED` for an event that is too long, and again on every later call. */
  feed(chunk: Uint8Array): void;
  /** The stream is over. What was not ended by a blank line is dropped; `true` when there was something to drop. */
  end(): boolean;
  /** What `Last-Event-ID` would say now: also moved by a block that has an id and no data. */
  lastEventId(): string;
}

const LF = 10, CR = 13, SPACE = 32, COLON = 58;

export function createEventDecoder({ onEvent, onRetry, onComment, maxBytes = limits.eventBytes, stage = 'call' }: EventDecoderOptions): EventDecoder {
  /** Bytes of the line that has not ended yet. A list: joining per chunk would be quadratic. */
  let held: Uint8Array[] = [], heldBytes = 0, heldSmall = 0;
  let atStart = true;
  /** The last byte was a CR, which ended its line at once; a LF that follows belongs to it. */
  let skipLf = false;
  let data: string | undefined;
  let type = '', id = '', lastEventId = '';
  /** Bytes that the event being built had in earlier feeds. */
  let eventBytes = 0;
  /** Where in the text at hand the event being built begins. */
  let eventStart = 0;
  let failure: Failure<'LIMIT_EXCEEDED'> | undefined;

  const overflow = (): never => {
    held = [];
    data = undefined;
    failure = new Failure('LIMIT_EXCEEDED', `Cannot read the event stream: one event is larger than ${byteSize(maxBytes)}`, {
      stage, details: { limit: 'event', maximum: maxBytes },
    });
    throw failure;
  };

  /** `at`: where the next event begins in the text at hand. */
  const dispatch = (at: number): void => {
    const text = data, name = type;
    if (text !== undefined && eventBytes + (at - eventStart) > maxBytes) overflow();
    lastEventId = id;
    eventStart = at;
    eventBytes = 0;
    data = undefined;
    type = '';
    if (text !== undefined) onEvent({ data: text, type: name === '' ? 'message' : name, id });
  };

  /** One line without its end. Names are compared letter by letter, cheapest first; the line end matches no letter. */
  const line = (text: string, start: number, end: number): void => {
    const first = text.charCodeAt(start);
    if (first === 100 /* d */ && text.charCodeAt(start + 1) === 97 && text.charCodeAt(start + 2) === 116 && text.charCodeAt(start + 3) === 97) {
      const from = valueAt(text, start + 4, end);
      if (from < 0) return;
      const value = text.slice(from, end);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (first === 105 /* i */ && text.charCodeAt(start + 1) === 100) {
      const from = valueAt(text, start + 2, end);
      if (from >= 0) id = idOf(text, from, end) ?? id;
    } else if (first === 101 /* e */ && text.startsWith('vent', start + 1)) {
      const from = valueAt(text, start + 5, end);
      if (from >= 0) type = text.slice(from, end);
    } else if (first === COLON) onComment?.(text.slice(start + 1, end));
    else if (first === 114 /* r */ && text.startsWith('etry', start + 1)) {
      const from = valueAt(text, start + 5, end);
      const value = from < 0 ? '' : text.slice(from, end);
      if (/^[0-9]+$/.test(value)) onRetry?.(Math.min(Number(value), 2 ** 31 - 1));
    }
  };

  /** Whole lines only. */
  const parse = (text: string, hasCr: boolean): void => {
    let start = 0;
    if (atStart) {
      atStart = false;
      if (text.charCodeAt(0) === 0xfeff) start = 1;
    }
    if (!hasCr) {
      for (let end: number; start < text.length; start = end + 1) {
        end = text.indexOf('\n', start);
        if (end === start) dispatch(end + 1);
        else line(text, start, end);
      }
      return;
    }
    const seek = (what: string, from: number): number => { const at = text.indexOf(what, from); return at < 0 ? text.length : at; };
    for (let cr = seek('\r', start), lf = seek('\n', start); start < text.length;) {
      const end = Math.min(cr, lf);
      if (end === start) dispatch(end + 1);
      else line(text, start, end);
      start = end + 1;
      if (end === cr) {
        if (text.charCodeAt(start) === LF) start += 1;
        cr = seek('\r', start);
      }
      if (lf < start) lf = seek('\n', start);
    }
  };

  return {
    feed(bytes) {
      if (failure !== undefined) throw failure;
      let chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (skipLf && chunk.length > 0) {
        skipLf = false;
        if (chunk[0] === LF) chunk = chunk.subarray(1);
      }
      const hasCr = chunk.indexOf(CR) >= 0;
      const end = Math.max(chunk.lastIndexOf(LF), hasCr ? chunk.lastIndexOf(CR) : -1) + 1;
      if (end === 0) {
        if (chunk.length === 0) return;
        held.push(chunk);
        heldBytes += chunk.length;
        heldSmall = chunk.length < limits.smallChunkBytes ? heldSmall + 1 : 0;
        if (heldSmall >= limits.smallChunks) { held.push(Buffer.concat(held.splice(-limits.smallChunks))); heldSmall = 0; }
        if (heldBytes + eventBytes > maxBytes) overflow();
        return;
      }
      let whole = chunk, size = end;
      if (heldBytes > 0) {
        size += heldBytes;
        held.push(end === chunk.length ? chunk : chunk.subarray(0, end));
        whole = Buffer.concat(held, size);
        held = [];
      }
      heldSmall = 0;
      heldBytes = chunk.length - end;
      if (heldBytes > 0) held.push(chunk.subarray(end));
      skipLf = heldBytes === 0 && chunk[end - 1] === CR;
      const text = decodeUtf8(whole, size);
      eventStart = 0;
      parse(text, hasCr);
      if (data === undefined) return;
      // Characters are bytes where the text has as many of one as of the other.
      eventBytes += text.length === size ? size - eventStart : Buffer.byteLength(text.slice(eventStart));
      if (eventBytes + heldBytes > maxBytes) overflow();
    },
    end() {
      const dropped = heldBytes > 0 || data !== undefined || type !== '';
      held = [];
      heldBytes = 0;
      data = undefined;
      type = '';
      return dropped;
    },
    // No getter: in V8 each object with one gets a shape of its own, which keeps all it can reach until a full collection.
    lastEventId: () => lastEventId,
  };
}

/** Where the value of the field begins whose name ends at `at`; -1 when the name goes on. */
function valueAt(text: string, at: number, end: number): number {
  if (at === end) return end;
  if (text.charCodeAt(at) !== COLON) return -1;
  return at + 1 < end && text.charCodeAt(at + 1) === SPACE ? at + 2 : at + 1;
}

/** An id with NUL is none. A slice would keep the whole text alive as long as the id lives: out of a long text it is copied. */
function idOf(text: string, from: number, end: number): string | undefined {
  const value = text.slice(from, end);
  if (value.includes('\0')) return undefined;
  return text.length > 0x20000 ? Buffer.from(value).toString() : value;
}

/** One event as text. Line breaks inside `data` become several lines; in the other fields they are a caller's mistake. */
export function encodeEvent({ data, event, id, retryMs }: { readonly data?: string; readonly event?: string; readonly id?: string; readonly retryMs?: number }): string {
  if (event !== undefined && /[\r\n]/.test(event)) throw new TypeError('An event type cannot hold a line break');
  if (id !== undefined && /[\r\n\0]/.test(id)) throw new TypeError('An event id cannot hold a line break or NUL');
  if (retryMs !== undefined && (!Number.isSafeInteger(retryMs) || retryMs < 0)) throw new TypeError('A reconnection time is a whole number of milliseconds');
  let text = '';
  if (event !== undefined) text += `event: ${event}\n`;
  if (id !== undefined) text += `id: ${id}\n`;
  if (retryMs !== undefined) text += `retry: ${retryMs}\n`;
  if (data !== undefined) text += /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).map((part) => `data: ${part}\n`).join('') : `data: ${data}\n`;
  return `${text}\n`;
}

/** A comment, for keep-alives. */
export function encodeComment(text = ''): string {
  return `:${text === '' ? '' : ` ${text.replace(/[\r\n]+/g, ' ')}`}\n\n`;
}
