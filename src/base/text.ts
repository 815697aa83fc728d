/** Text that others wrote, made harmless and short for a terminal. Never applied to what a model reads. */

// ESC sequences first (CSI, OSC/DCS/SOS/PM/APC up to their terminator, two-character ones), then what is left of C0, DEL, C1
// and the bidirectional controls that can reorder what a person sees. A string sequence counts only when it ends on its line:
// an opening alone must not hide what follows.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Removes escape sequences and control characters; keeps newline and tab. */
export function stripControls(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(SEQUENCES, '').replace(CONTROLS, '');
}

/** The same on one line: line breaks and tabs, with the space around them, become single spaces. */
export function oneLine(text: string): string {
  // One pass over runs of space: a pattern with space on both sides of the break is quadratic on long runs without one.
  return stripControls(text).replace(/\s+/g, (run) => (/[\n\t\u2028\u2029]/.test(run) ? ' ' : run)).trim();
}

/** At most `max` characters, with an ellipsis in place of what was cut; never half of a surrogate pair. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max < 1) return '';
  let end = Math.max(0, max - 1);
  const code = text.charCodeAt(end - 1);
  if (code >= 0xd800 && code <= 0xdbff) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** `1 tool`, `2 tools`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${n} ${n === 1 ? noun : plural}`;
}

/** Sizes for people: `812 B`, `1.4 KiB`, `12 MiB`. */
export function byteSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes, unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit === 0 ? value : value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Edit distance with transposition, bounded: gives up (returns `max + 1`) as soon as it must exceed `max`. */
function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let before: number[] = [], row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      next.push(cost);
    }
    if (Math.min(...next) > max) return max + 1;
    before = row;
    row = next;
  }
  return row[b.length]!;
}

/** The known words closest to `word`, best first: prefixes, substrings and small typing slips; at most `most`. */
export function nearest(word: string, known: Iterable<string>, most = 3): string[] {
  const wanted = word.toLowerCase();
  if (wanted === '' || wanted.length > 200) return [];
  const slack = Math.max(1, Math.min(3, Math.floor(wanted.length / 3)));
  const scored: { name: string; score: number }[] = [];
  for (const name of known) {
    const candidate = name.toLowerCase();
    const slip = distance(wanted, candidate, slack);
    const score = slip <= slack ? slip : candidate.startsWith(wanted) ? slack + 1 : wanted.length > 2 && candidate.includes(wanted) ? slack + 2 : Infinity;
    if (score < Infinity) scored.push({ name, score });
  }
  return scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1)).slice(0, most).map((entry) => entry.name);
}
