/** Wildcards of the permission language: `*` any run (separators too), `?` exactly one UTF-16 unit, the rest literal, the whole string. */

export interface WildcardOptions {
  /** Windows only. */
  readonly caseInsensitive?: boolean | undefined;
  /** A backslash counts as a slash, in the pattern and in the text. */
  readonly slashes?: boolean | undefined;
}

export type Matches = (text: string) => boolean;

/** Where `part` (which may hold `?`) stands in `text` at or after `from`; -1 when nowhere. */
function find(text: string, part: string, from: number): number {
  if (!part.includes('?')) return text.indexOf(part, from);
  for (let at = from; at + part.length <= text.length; at++) if (fits(text, part, at)) return at;
  return -1;
}

function fits(text: string, part: string, at: number): boolean {
  if (at < 0 || at + part.length > text.length) return false;
  for (let i = 0; i < part.length; i++) if (part[i] !== '?' && part[i] !== text[at + i]) return false;
  return true;
}

/** Between two stars each literal part is taken at its first place; that never rules out a match further right. */
function whole(text: string, parts: readonly string[]): boolean {
  const first = parts[0]!, last = parts.at(-1)!;
  if (parts.length === 1) return text.length === first.length && fits(text, first, 0);
  if (text.length < first.length + last.length || !fits(text, first, 0) || !fits(text, last, text.length - last.length)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = find(text, part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

/** A pattern that ends in space and star also matches the bare word before it. */
export function compileWildcard(pattern: string, { caseInsensitive = false, slashes = false }: WildcardOptions = {}): Matches {
  const normal = (text: string): string => {
    const slashed = slashes ? text.replaceAll('\\', '/') : text;
    return caseInsensitive ? slashed.toLowerCase() : slashed;
  };
  const wanted = normal(pattern);
  if (/^\*+$/.test(wanted)) return () => true;
  const parts = wanted.split('*');
  const bare = wanted.endsWith(' *') ? wanted.slice(0, -2).split('*') : undefined;
  return (text) => {
    const given = normal(text);
    return whole(given, parts) || (bare !== undefined && whole(given, bare));
  };
}
