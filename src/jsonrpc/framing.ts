/**
 * Bytes -> lines -> messages, for stdio. One JSON-RPC message per line, cut at 0x0A on bytes.
 *
 * Linear whatever the chunk sizes: an unfinished line waits as a list of chunks, only a new chunk is searched for a line
 * end, and everything up to the last line end is joined and decoded once. 0x0A never occurs inside a UTF-8 sequence, so a
 * damaged sequence costs its own line only. Memory is bounded by one frame, also when it comes byte by byte: small chunks
 * are joined by the thousand, because each costs far more than what it holds.
 *
 * Noise (text where a message was due) is counted, never fatal once one message was framed: it is logged line by line for
 * the first 32, then every 1,024th; blank lines only on the 1,024th. A peer that sends 32 undecodable lines in a row before
 * its first message is not an MCP server, and waiting for a timeout would only hide that.
 */
import { isAscii } from 'node:buffer';
import { Failure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { classify, parseFrame, type Message } from './message.ts';
import type { Notice } from './transport.ts';

export interface FramingOptions {
  onMessage(message: Message): void;
  onNotice(notice: Notice): void;
  /** Longest frame in bytes, line end not counted. Default `limits.frameBytes`. */
  readonly maxBytes?: number;
}

export interface Framing {
  /** Takes the next bytes. A returned failure means that the stream cannot go on; everything complete before it was delivered. */
  feed(chunk: Uint8Array): AnyFailure | undefined;
  /** End of the stream: a last line without a line end still counts. */
  end(): void;
  /** True once a message was decoded. */
  readonly framedOnce: boolean;
  /** Undecodable lines so far. */
  readonly noiseLines: number;
}

const NEWLINE = 10, CARRIAGE_RETURN = 13, BYTE_ORDER_MARK = 0xfeff;
const { smallChunkBytes: SMALL_CHUNK_BYTES, smallChunks: SMALL_CHUNKS } = limits;

export function createFraming(options: FramingOptions): Framing {
  const maxBytes = options.maxBytes ?? limits.frameBytes;
  let held: Buffer[] = [], heldBytes = 0, heldSmall = 0;
  let framedOnce = false, noiseTotal = 0, noiseRun = 0;
  let broken: AnyFailure | undefined;

  function noise(line: string): void {
    noiseTotal += 1;
    noiseRun += 1;
    const blank = line.trim() === '';
    const loud = noiseTotal % limits.noiseLogEvery === 0 || (!blank && noiseTotal <= limits.noiseLogFirst);
    const last = !framedOnce && noiseRun >= limits.noiseLinesBeforeFirst;
    if (!loud && !last) return;
    const excerpt = excerptOf(line);
    if (loud) options.onNotice({ kind: 'noise', excerpt, total: noiseTotal, run: noiseRun });
    if (last) {
      broken = new Failure('PROTOCOL_VIOLATION', `Cannot read messages from the server: its first ${noiseRun} lines of output are no JSON-RPC messages, the last one is ${JSON.stringify(excerpt)}`, {
        stage: 'handshake', details: { excerpt, noiseLines: noiseRun },
        hint: 'Check that the command is an MCP server on stdio and writes its logs to stderr',
      }) as AnyFailure;
    }
  }

  function deliver(value: unknown, pruned: true | undefined): boolean {
    const message = classify(value, pruned);
    if (message === undefined) return false;
    framedOnce = true;
    noiseRun = 0;
    options.onMessage(message);
    return true;
  }

  function line(text: string): void {
    const first = text.charCodeAt(0);
    // Only an object (or, in 2025-03-26, an array of them) can be a message; a cheap look spares a throwing parse of log text.
    if (first === 123 || first === 91 || first <= 32 || first === BYTE_ORDER_MARK) {
      // Parsed apart from the delivery: a listener that throws is our own bug and must not look like noise of the server.
      const parsed = parseFrame(first === BYTE_ORDER_MARK ? text.slice(1) : text);
      if (parsed === undefined) { noise(text); return; }
      const { value, pruned } = parsed;
      if (Array.isArray(value) ? value.map((item) => deliver(item, pruned)).includes(true) : deliver(value, pruned)) return;
    }
    noise(text);
  }

  /** `bytes` up to `length` are whole lines; the line end of the last one is not among them. */
  function lines(bytes: Buffer, length: number): void {
    const text = decode(bytes, length);
    for (let start = 0; broken === undefined;) {
      const found = text.indexOf('\n', start);
      const end = found < 0 ? text.length : found;
      line(text.slice(start, end > start && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end));
      if (found < 0) return;
      start = found + 1;
    }
  }

  function hold(piece: Buffer): void {
    if (piece.length === 0) return;
    held.push(piece);
    heldBytes += piece.length;
    heldSmall = piece.length < SMALL_CHUNK_BYTES ? heldSmall + 1 : 0;
    if (heldSmall < SMALL_CHUNKS) return;
    held.push(Buffer.concat(held.splice(-SMALL_CHUNKS)));
    heldSmall = 0;
  }
  function release(): Buffer {
    const joined = Buffer.concat(held, heldBytes);
    held = [];
    heldBytes = 0;
    heldSmall = 0;
    return joined;
  }

  function tooLong(seen: number): AnyFailure {
    held = [];
    heldBytes = 0;
    broken = new Failure('LIMIT_EXCEEDED', `Cannot read a message from the server: one line is longer than ${maxBytes} bytes (${seen} bytes so far), so the stream cannot be followed any further`, {
      stage: 'call', details: { limit: 'frameBytes', maximum: maxBytes, seen }, hint: 'Ask the server for less at a time, or for a page or a file instead',
    }) as AnyFailure;
    return broken;
  }

  function feed(input: Uint8Array): AnyFailure | undefined {
    if (broken !== undefined) return broken;
    const chunk = Buffer.isBuffer(input) ? input : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
    const first = chunk.indexOf(NEWLINE);
    const seen = heldBytes + (first < 0 ? chunk.length : first);
    if (seen > maxBytes) return tooLong(seen);
    if (first < 0) { hold(chunk); return undefined; }
    const long = chunk.length > maxBytes ? longLine(chunk, first + 1) : undefined;
    const last = long === undefined ? chunk.lastIndexOf(NEWLINE) : long.start - 1;
    if (heldBytes === 0) {
      lines(chunk, last);
    } else {
      hold(chunk.subarray(0, last));
      const joined = release();
      lines(joined, joined.length);
    }
    if (broken !== undefined) return broken;
    if (long !== undefined) return tooLong(long.bytes);
    if (last + 1 < chunk.length) hold(chunk.subarray(last + 1));
    return undefined;
  }

  /** A chunk larger than a frame may be: each of its further lines has to be measured. */
  function longLine(chunk: Buffer, from: number): { readonly start: number; readonly bytes: number } | undefined {
    for (let start = from; start < chunk.length;) {
      const found = chunk.indexOf(NEWLINE, start);
      const end = found < 0 ? chunk.length : found;
      if (end - start > maxBytes) return { start, bytes: end - start };
      start = end + 1;
    }
    return undefined;
  }

  return {
    feed,
    end() {
      if (heldBytes === 0 || broken !== undefined) return;
      const rest = release();
      lines(rest, rest.length);
    },
    get framedOnce() { return framedOnce; },
    get noiseLines() { return noiseTotal; },
  };
}

/** ASCII text (most large results are base64) decodes faster as latin1, and stays one byte a character in memory. */
function decode(bytes: Buffer, length: number): string {
  const part = length === bytes.length ? bytes : bytes.subarray(0, length);
  return length > 4096 && isAscii(part) ? part.toString('latin1') : part.toString('utf8');
}

function excerptOf(line: string): string {
  const bytes = Buffer.from(line.length > limits.excerptBytes ? line.slice(0, limits.excerptBytes) : line);
  return bytes.length <= limits.excerptBytes ? bytes.toString() : `${bytes.subarray(0, limits.excerptBytes).toString().replace(/\uFFFD+$/, '')}`;
}
