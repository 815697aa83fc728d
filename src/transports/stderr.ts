/** A server's stderr: always read, cut into lines of bounded length, cleared of secrets, and its end kept for failures. */
import { limits } from '../base/limits.ts';
import type { Redact } from '../base/redact.ts';

export interface StderrTail {
  feed(chunk: Uint8Array): void;
  /** A last line without a line end counts too. */
  end(): void;
  /** The last 64 KiB, redacted, an unfinished line included. */
  text(): string;
}

const NEWLINE = 10;
/** More of a line is held than is shown, so that a secret across the cut is still recognized as one. */
const HELD_BYTES = 2 * limits.stderrLineBytes;

export function createStderrTail(redact: Redact, onLine: (line: string) => void): StderrTail {
  let held: Buffer[] = [], heldBytes = 0;
  let lines: string[] = [], oldest = 0, size = 0;

  function hold(part: Buffer): void {
    const room = HELD_BYTES - heldBytes;
    if (room <= 0 || part.length === 0) return;
    // Copied: a short line must not keep the whole chunk it came in.
    held.push(Buffer.from(part.length > room ? part.subarray(0, room) : part));
    heldBytes += Math.min(room, part.length);
  }

  function unfinished(): string {
    const text = redact(Buffer.concat(held, heldBytes).toString('utf8').replace(/\r$/, ''));
    const bytes = Buffer.from(text);
    return bytes.length <= limits.stderrLineBytes ? text : bytes.subarray(0, limits.stderrLineBytes).toString('utf8').replace(/\uFFFD+$/, '');
  }

  function finish(): void {
    const line = unfinished();
    held = [];
    heldBytes = 0;
    lines.push(line);
    size += Buffer.byteLength(line) + 1;
    while (size > limits.stderrTailBytes) size -= Buffer.byteLength(lines[oldest++]!) + 1;
    if (oldest > 1024 && oldest * 2 > lines.length) { lines = lines.slice(oldest); oldest = 0; }
    onLine(line);
  }

  return {
    feed(input) {
      const chunk = Buffer.isBuffer(input) ? input : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
      for (let start = 0; start < chunk.length;) {
        const end = chunk.indexOf(NEWLINE, start);
        hold(chunk.subarray(start, end < 0 ? chunk.length : end));
        if (end < 0) return;
        finish();
        start = end + 1;
      }
    },
    end() { if (heldBytes > 0) finish(); },
    text: () => [...lines.slice(oldest), ...(heldBytes > 0 ? [unfinished()] : [])].join('\n'),
  };
}
