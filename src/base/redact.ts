/**
 * The one place that takes secrets out of text before it is shown, logged or kept: known values (what `substitute`
 * expanded, configured environment and header values) and the shapes that secrets usually have.
 *
 * The text comes from others, so every pattern is linear: one that begins with a run of characters may only start where that
 * run starts (`(?<!...)`), or each of its positions would be tried anew.
 */

export type Redact = (text: string) => string;

export const MASK = '***';

/** Names of secrets: the long words anywhere in a name, the short ones only as its last part (`db_pass`, not `bypass`). */
const NAME = '(?<![a-z0-9_.-])(?:[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|password|passwd)|(?:[a-z0-9_.-]*[_.-])?(?:pass|pwd|authorization|cookie))';
/** A name and its colon or equals sign; the quotes around the name may themselves be escaped (JSON inside a JSON string). */
const ASSIGNED = `(${NAME}\\\\*["']?\\s*[:=]\\s*)`;
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Scheme and credentials of an Authorization value, wherever it stands.
  [/\b(bearer|basic|dpop)(\s+)[a-z0-9._~+/=-]{6,}/gi, `$1$2${MASK}`],
  // user:password@ in URLs, up to the last @ before the path.
  [/(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]+@/gi, `$1${MASK}@`],
  // JSON members and assignments: "password": "x", token=x, api_key: x. A value whose end was cut off counts too.
  [new RegExp(`${ASSIGNED}("(?:[^"\\\\]|\\\\.)*(?:"|\\\\?$)|'(?:[^'\\\\]|\\\\.)*(?:'|\\\\?$))`, 'gis'), `$1"${MASK}"`],
  [new RegExp(`${ASSIGNED}\\\\+["'][^"']*`, 'gi'), `$1${MASK}`],
  [new RegExp(`${ASSIGNED}(?!\\\\*["'])(?:(?:bearer|basic)\\s+)?[^\\s,;&"'}\\]]+`, 'gi'), `$1${MASK}`],
  // Well-known token shapes.
  [/\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)/g, MASK],
];

/** Masks what looks like a secret. */
export function redactPatterns(text: string): string {
  let out = text;
  for (const [pattern, replacement] of PATTERNS) out = out.replace(pattern, replacement);
  return out;
}

/**
 * A redactor that also masks exact values, as they are, in JSON, in a URL, and without their `Bearer ` or `Basic `. Values
 * under 4 characters are not masked by value (they would blank ordinary words); longer values are replaced first, so that
 * one secret inside another leaves nothing behind.
 */
export function createRedactor(values: Iterable<string> = []): { readonly redact: Redact; add(value: string): void } {
  const known = new Set<string>();
  let ordered: string[] | undefined;
  const add = (value: string): void => {
    for (const secret of [value, value.replace(/^(?:bearer|basic)\s+/i, '')]) {
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), inUrl(secret)]) {
        if (form.length >= 4) known.add(form);
      }
    }
    ordered = undefined;
  };
  for (const value of values) add(value);
  return {
    add,
    redact: (text) => {
      ordered ??= [...known].sort((a, b) => b.length - a.length);
      let out = text;
      for (const value of ordered) if (out.includes(value)) out = out.replaceAll(value, MASK);
      return redactPatterns(out);
    },
  };
}

/** Half of a surrogate pair has no form in a URL. */
function inUrl(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value;
  }
}
