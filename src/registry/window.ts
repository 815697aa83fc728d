/** A long text in pieces of a bounded size, by absolute position in bytes; never half of a character. */
import { limits } from '../base/limits.ts';

export interface TextWindow {
  readonly text: string;
  /** Where the window begins: the one asked for, or the beginning of the character that it stood in. */
  readonly cursor: number;
  /** Where the next window starts. */
  readonly nextCursor: number;
  readonly totalBytes: number;
  readonly hasMore: boolean;
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
const lengthOf = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

/** The first byte of the character at `at`; `at` itself where the bytes are no UTF-8. */
function startOf(bytes: Uint8Array, at: number): number {
  for (let start = at; start >= 0 && at - start < 4; start--) if (!continues(bytes[start])) return at - start < lengthOf(bytes[start] ?? 0) ? start : at;
  return at;
}

/**
 * @param source the complete text, or its UTF-8 bytes
 * @param cursor 0 or more; past the end there is nothing
 * @param maxBytes default 16,384, at most 51,200; a window holds at least one character
 * @throws {TypeError} for a cursor or size that is no whole number in range
 */
export function readWindow(source: string | Uint8Array, cursor = 0, maxBytes: number = limits.artifactWindowBytes): TextWindow {
  if (!Number.isSafeInteger(cursor) || cursor < 0) throw new TypeError('The cursor is a number of bytes, 0 or more');
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) throw new TypeError('The size of a window is a number of bytes, 1 or more');
  const bytes = typeof source === 'string' ? Buffer.from(source) : source, totalBytes = bytes.length;
  if (cursor >= totalBytes) return { text: '', cursor, nextCursor: cursor, totalBytes, hasMore: false };
  const start = startOf(bytes, cursor), most = start + Math.min(maxBytes, limits.artifactWindowBytesMax);
  let end = most >= totalBytes ? totalBytes : startOf(bytes, most);
  if (end <= start) end = Math.min(totalBytes, start + lengthOf(bytes[start]!));
  return { text: Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'), cursor: start, nextCursor: end, totalBytes, hasMore: end < totalBytes };
}
