/** Wildcards of the permission language: `*` any run (separators too), `?` exactly one UTF-16 unit, the rest literal, the whole string. */

export interface WildcardOptions {
  /** Windows only. */
  readonly caseInsensitive?: boolean | undefined;
  /** A backslash counts as a slash, in the pattern and in the text. */
  readonly slashes?: boolean | undefined;
}

export type Matches = (text: string) => boolean;

/** A run of the pattern between two stars. */
interface Piece { readonly text: string; readonly length: number; /** Holds a `?`. */ readonly open: boolean }

function fits(text: string, piece: Piece, at: number): boolean {
  if (!piece.open) return text.startsWith(piece.text, at);
  if (at + piece.length > text.length) return false;
  for (let i = 0; i < piece.length; i++) if (piece.text[i] !== '?' && piece.text[i] !== text[at + i]) return false;
  return true;
}

/** Where the piece stands at or after `from`; -1 when nowhere. */
function find(text: string, piece: Piece, from: number): number {
  if (!piece.open) return text.indexOf(piece.text, from);
  for (let at = from; at + piece.length <= text.length; at++) if (fits(text, piece, at)) return at;
  return -1;
}

const piecesOf = (pattern: string): readonly Piece[] => pattern.split('*').map((text) => ({ text, length: text.length, open: text.includes('?') }));

/** Between two stars each piece is taken at its first place; that never rules out a match further right. */
function whole(text: string, pieces: readonly Piece[]): boolean {
  const first = pieces[0]!, last = pieces.at(-1)!;
  if (!fits(text, first, 0)) return false;
  if (pieces.length === 1) return text.length === first.length;
  const end = text.length - last.length;
  if (end < first.length || !fits(text, last, end)) return false;
  let at = first.length;
  for (let index = 1; index < pieces.length - 1; index++) {
    const found = find(text, pieces[index]!, at);
    if (found < 0) return false;
    at = found + pieces[index]!.length;
  }
  return at <= end;
}

/** The spelling in which pattern and text are compared. */
export function comparable(text: string, { caseInsensitive = false, slashes = false }: WildcardOptions): string {
  const slashed = slashes && text.includes('\\') ? text.replaceAll('\\', '/') : text;
  return caseInsensitive ? slashed.toLowerCase() : slashed;
}

/** Matches texts that are `comparable` already. A pattern that ends in space and star also matches the bare word before it. */
export function compileComparable(pattern: string, options: WildcardOptions = {}): Matches {
  const wanted = comparable(pattern, options);
  if (/^\*+$/.test(wanted)) return () => true;
  const pieces = piecesOf(wanted);
  const bare = wanted.endsWith(' *') ? piecesOf(wanted.slice(0, -2)) : undefined;
  return (text) => whole(text, pieces) || (bare !== undefined && whole(text, bare));
}

export function compileWildcard(pattern: string, options: WildcardOptions = {}): Matches {
  const matches = compileComparable(pattern, options);
  return (text) => matches(comparable(text, options));
}
