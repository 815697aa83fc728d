/** From body bytes to text, with one copy and one decoding. */
import { isAscii } from 'node:buffer';
import { limits } from '../base/limits.ts';

/** Methods that Node has and its types of our version leave out. */
interface Slices { latin1Slice(start: number, end: number): string; utf8Slice(start: number, end: number): string }

/** UTF-8 bytes as text. Pure ASCII, the usual case, takes the road that is a quarter cheaper. */
export function decodeUtf8(bytes: Uint8Array, end = bytes.length): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const slices = buffer as unknown as Slices;
  return isAscii(end === buffer.length ? buffer : buffer.subarray(0, end)) ? slices.latin1Slice(0, end) : slices.utf8Slice(0, end);
}

export interface BodyText {
  add(chunk: Uint8Array): void;
  bytes(): number;
  /** The whole as text, without a byte order mark. Lets go of the chunks. */
  take(): string;
}

/** Collects the chunks of a response. Who bounds them is the sender of the request (`maxBytes`). */
export function collectText(): BodyText {
  let chunks: Uint8Array[] = [];
  let bytes = 0, small = 0;
  return {
    add(chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      small = chunk.length < limits.smallChunkBytes ? small + 1 : 0;
      if (small < limits.smallChunks) return;
      chunks.push(Buffer.concat(chunks.splice(-limits.smallChunks)));
      small = 0;
    },
    bytes: () => bytes,
    take() {
      const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes);
      chunks = [];
      bytes = 0;
      small = 0;
      const text = decodeUtf8(all);
      return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    },
  };
}
