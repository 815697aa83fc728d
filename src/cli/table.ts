/** Aligned columns that shrink to the width at hand. Pure: cells in, lines out. */
import { oneLine } from '../base/text.ts';
import type { Line, Span, Style } from './span.ts';

export interface Column {
  readonly title: string;
  /** May be cut when the row is too wide; the highest number gives way first. Absent: never cut. */
  readonly shrink?: number;
  /** Cells it keeps as long as others can still give way. Default: 12, and 6 before it goes below. */
  readonly least?: number;
  readonly align?: 'right';
  /** Which end gives way. Default: `end`; paths tell more at their end. */
  readonly cut?: 'start' | 'end';
  /** Left out altogether where not all columns can keep their least: better than many that say nothing. */
  readonly spare?: true;
}

const GAP = 2;
/** What a column that gives way keeps at first, when that is not enough, and when nothing is. */
const LEAST = [12, 6, 1];
/** Where nothing limits the width, one long cell must not push all the others far to the right: it stands out instead. */
const ALIGNED = 60;

// Blocks of characters that take two cells on a terminal (Unicode East Asian Width W and F, emoji), first and last code point.
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f], [0x2e80, 0x303e], [0x3041, 0x33ff], [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xa000, 0xa4cf], [0xac00, 0xd7a3],
  [0xf900, 0xfaff], [0xfe30, 0xfe6f], [0xff00, 0xff60], [0xffe0, 0xffe6], [0x1f300, 0x1faff], [0x20000, 0x3fffd],
];

function cellsOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x300) return 1;
  if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(character)) return 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** How many terminal cells the text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += cellsOf(character);
  return width;
}

/** At most `cells` terminal cells, with an ellipsis in place of what was cut. */
export function fit(text: string, cells: number): string {
  if (text.length <= cells && displayWidth(text) <= cells) return text;
  let width = 0, out = '';
  for (const character of text) {
    const next = cellsOf(character);
    if (width + next > cells - 1) return `${out}…`;
    width += next;
    out += character;
  }
  return out;
}

/** The same with the start cut off. */
function fitEnd(text: string, cells: number): string {
  const mirrored = (one: string): string => [...one].reverse().join('');
  return mirrored(fit(mirrored(text), cells));
}

const textOf = (span: Span): string => oneLine(typeof span === 'string' ? span : span.text);
const styleOf = (span: Span): Style | undefined => (typeof span === 'string' ? undefined : span.style);
const painted = (text: string, style: Style | undefined): Span => (style === undefined ? text : { text, style });

/** Takes from the columns that may give way, most willing first, until the row fits or all are at their least. */
function shrinkTo(widths: number[], columns: readonly Column[], width: number): void {
  let excess = widths.reduce((sum, one) => sum + one + GAP, -GAP) - width;
  const willing = columns.map((column, index) => ({ index, shrink: column.shrink ?? 0 })).filter((one) => one.shrink > 0).sort((a, b) => b.shrink - a.shrink);
  for (const [pass, standard] of LEAST.entries()) {
    for (const { index } of willing) {
      if (excess <= 0) return;
      const least = pass < LEAST.length - 1 ? columns[index]!.least ?? standard : standard;
      const taken = Math.min(excess, Math.max(0, widths[index]! - least));
      widths[index] = widths[index]! - taken;
      excess -= taken;
    }
  }
}

/** The columns with anything in them, as many as have room. */
function columnsFor(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const used = natural.flatMap((cells, index) => (cells > 0 ? [index] : []));
  const least = (index: number): number => (columns[index]!.shrink === undefined ? natural[index]! : Math.min(natural[index]!, columns[index]!.least ?? LEAST[0]!));
  while (used.reduce((sum, index) => sum + least(index) + GAP, -GAP) > width) {
    const spare = used.findLastIndex((index) => columns[index]!.spare === true);
    if (spare < 0) break;
    used.splice(spare, 1);
  }
  return used;
}

/** Lines of the table, the titles first (dimmed). A column without any content is left out. `width` is `Infinity` where nothing limits it. */
export function layOut(columns: readonly Column[], rows: readonly (readonly Span[])[], width: number): Line[] {
  const natural = columns.map(({ title }, index) => {
    const most = rows.reduce((cells, row) => Math.max(cells, displayWidth(textOf(row[index] ?? ''))), 0);
    return most === 0 ? 0 : Math.max(most, displayWidth(title));
  });
  const used = columnsFor(columns, natural, width);
  const shown = used.map((index) => columns[index]!);
  const body = rows.map((row) => used.map((index) => { const cell = row[index] ?? ''; return { text: textOf(cell), style: styleOf(cell) }; }));
  const cells = [shown.map((column) => ({ text: column.title, style: 'dim' as Style | undefined })), ...body];
  const widths = used.map((index) => natural[index]!);
  shrinkTo(widths, shown, width);
  const limited = Number.isFinite(width);
  return cells.map((row) => {
    const line: Span[] = [];
    row.forEach(({ text, style }, index) => {
      const cut = (shown[index]!.cut === 'start' ? fitEnd : fit)(text, widths[index]!);
      const padding = ' '.repeat(Math.max(0, (limited ? widths[index]! : Math.min(widths[index]!, ALIGNED)) - displayWidth(cut)));
      const last = index === row.length - 1;
      if (shown[index]!.align === 'right') line.push(padding, painted(cut, style));
      else line.push(painted(cut, style), last ? '' : padding);
      if (!last) line.push(' '.repeat(GAP));
    });
    return line;
  });
}

/** For other programs: a tab between cells, every column in every line, nothing cut or padded. */
export function tabbed(columns: readonly Column[], rows: readonly (readonly Span[])[]): Line[] {
  return [columns.map(({ title }) => title), ...rows].map((row) => [columns.map((_, index) => textOf(row[index] ?? '')).join('\t')]);
}
