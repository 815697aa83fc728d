/** What changed in a locked definition, as lines for a person. */
import { limits } from '../base/limits.ts';
import { count } from '../base/text.ts';
import { prettyJson } from './pins.ts';
import type { Change } from './pins.ts';

type Line = readonly [mark: ' ' | '-' | '+', text: string];

/** Unchanged lines shown around a change. */
const CONTEXT = 2;

/** Every changed member under its name, with `-` and `+` before what went and what came; at most `limits.diffLinesShown` lines. */
export function diffText(changes: readonly Change[]): string {
  const lines = changes.flatMap(({ field, old, new: now }) => [`${field}:`, ...around(diffLines(linesOf(old), linesOf(now)))]);
  const shown = lines.slice(0, limits.diffLinesShown);
  return [...shown, ...(shown.length < lines.length ? [`  … and ${count(lines.length - shown.length, 'more line')}`] : [])].join('\n');
}

function linesOf(value: unknown): readonly string[] {
  return value === undefined ? [] : (typeof value === 'string' ? value : prettyJson(value)).split('\n');
}

/** The shortest way from one text to the other, line by line; with too many lines all of the old and all of the new. */
export function diffLines(old: readonly string[], now: readonly string[]): readonly Line[] {
  let start = 0, end = 0;
  const shorter = Math.min(old.length, now.length);
  while (start < shorter && old[start] === now[start]) start += 1;
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const a = old.slice(start, old.length - end), b = now.slice(start, now.length - end);
  const same = (lines: readonly string[]): readonly Line[] => lines.map((text) => [' ', text]);
  const middle: readonly Line[] = a.length > limits.diffLines || b.length > limits.diffLines ? [...a.map((text): Line => ['-', text]), ...b.map((text): Line => ['+', text])] : shortest(a, b);
  return [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))];
}

function shortest(a: readonly string[], b: readonly string[]): readonly Line[] {
  // common[i][j]: how many lines the rests from i and j have in common, in order.
  const width = b.length + 1, common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  }
  const lines: Line[] = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push([' ', a[i]!]); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) { lines.push(['-', a[i]!]); i += 1; }
    else { lines.push(['+', b[j]!]); j += 1; }
  }
  return lines;
}

/** Changes with the lines around them; an ellipsis for what is left out. */
function around(lines: readonly Line[]): readonly string[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(([mark], index) => { if (mark !== ' ') near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1); });
  const shown: string[] = [];
  for (const [index, [mark, text]] of lines.entries()) {
    if (near[index] === 1) shown.push(`${mark} ${text}`); else if (index === 0 || near[index - 1] === 1) shown.push('  …');
  }
  return shown;
}
