/** Lines broken between words where a terminal would break them anywhere. Pure: spans in, lines out. */
import { displayWidth } from './table.ts';
import type { Line, Span, Style } from './span.ts';

/** Below that many columns nothing is gained by breaking. */
const NARROWEST = 20;

/** Where text goes on below itself: after the label of a row (`  cause   …`), else a little further in than it began. */
function hangingIndent(text: string): number {
  const label = /^ {2}\S+ {2,}(?=\S)/.exec(text);
  if (label !== null) return label[0].length;
  const lead = /^ */.exec(text)![0].length;
  return lead === 0 ? 2 : lead;
}

/** Offsets at which a new line begins, and where the one before ended: spaces in between are dropped. */
function breaks(text: string, width: number, hanging: number): (readonly [end: number, next: number])[] {
  const found: (readonly [number, number])[] = [];
  let used = 0, space = '';
  for (const { 0: token, index } of text.matchAll(/\s+|\S+/g)) {
    if (/^\s/.test(token)) { space = token; continue; }
    const cells = displayWidth(token);
    // A word that is longer than any line stays where it stands: a line of its own would not hold it either.
    if (used > 0 && used + space.length + cells > width && hanging + cells <= width) {
      found.push([index - space.length, index]);
      used = hanging + cells;
    } else used = (used + space.length + cells - 1) % width + 1;
    space = '';
  }
  return found;
}

function slice(spans: readonly { readonly text: string; readonly style: Style | undefined }[], from: number, to: number): Span[] {
  const out: Span[] = [];
  let at = 0;
  for (const { text, style } of spans) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += text.length;
    if (part !== '') out.push(style === undefined ? part : { text: part, style });
  }
  return out;
}

/** One line (or several, at its line breaks) as lines of at most `width` cells. A word that is longer stays whole. */
export function wrapLine(line: Line, width: number): Line[] {
  if (!Number.isFinite(width) || width < NARROWEST) return [line];
  const spans = line.map((span) => (typeof span === 'string' ? { text: span, style: undefined } : span));
  const text = spans.map((span) => span.text).join('');
  if (!text.includes('\n') && text.length <= width && displayWidth(text) <= width) return [line];
  const out: Line[] = [];
  let start = 0;
  for (const part of text.split('\n')) {
    const hanging = Math.min(hangingIndent(part), Math.floor(width / 2));
    let from = 0;
    for (const [end, next] of [...breaks(part, width, hanging), [part.length, part.length] as const]) {
      out.push([...(from === 0 ? [] : [' '.repeat(hanging)]), ...slice(spans, start + from, start + end)]);
      from = next;
    }
    start += part.length + 1;
  }
  return out;
}

/** Plain text, broken in the same way. */
export function wrapText(text: string, width: number): string {
  return text.split('\n').flatMap((line) => wrapLine([line], width)).map((line) => line.join('')).join('\n');
}
