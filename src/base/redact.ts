/**
 * The one place that takes secrets out of text before it is shown, logged or kept: known values (what `substitute`
 * expanded, configured environment and header values) and the shapes that secrets usually have.
 */

export type Redact = (text: string) => string;

export const MASK = '***';

const KEYS = '(?:[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|password|passwd|mysql_pass)|pass|pwd|authorization|cookie|set-cookie)';
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Scheme and credentials of an Authorization value, wherever it stands.
  [/\b(bearer|basic|dpop)(\s+)[a-z0-9._~+/=-]{6,}/gi, `$1$2${MASK}`],
  // user:password@ in URLs.
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]+@/gi, `$1${MASK}@`],
  // JSON members and assignments: "password": "x", token=x, api_key: x
  [new RegExp(`(["']?\\b${KEYS}["']?\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')`, 'gi'), `$1"${MASK}"`],
  [new RegExp(`(["']?\\b${KEYS}["']?\\s*[:=]\\s*)(?!["'])(?:(?:bearer|basic)\\s+)?[^\\s,;&"'}\\]]+`, 'gi'), `$1${MASK}`],
  // Well-known token shapes.
  [/\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)/g, MASK],
];

/** Masks what looks like a secret. */
export function redactPatterns(text: string): string {
  let out = text;
  for (const [pattern, replacement] of PATTERNS) out = out.replace(pattern, replacement);
  return out;
}

/**
 * A redactor that also masks exact values. Values under 4 characters are not masked by value (they would blank ordinary
 * words); longer values are replaced first, so that one secret inside another leaves nothing behind.
 */
export function createRedactor(values: Iterable<string> = []): { readonly redact: Redact; add(value: string): void } {
  const known = new Set<string>();
  let ordered: string[] = [];
  const add = (value: string): void => {
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]) {
      if (form.length >= 4) known.add(form);
    }
    ordered = [...known].sort((a, b) => b.length - a.length);
  };
  for (const value of values) add(value);
  return {
    add,
    redact: (text) => {
      let out = text;
      for (const value of ordered) if (out.includes(value)) out = out.replaceAll(value, MASK);
      return redactPatterns(out);
    },
  };
}
