/** JSON values in the eyes of a schema: types, equality, exact multiples, lengths; and the words for them. */
import { canonicalJson, isObject } from '../base/json.ts';

export type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object' | 'undefined';

export function typeOf(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : 'undefined';
}

export function isOfType(value: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

const WORDS: Readonly<Record<string, string>> = { string: 'a string', number: 'a number', integer: 'an integer', boolean: 'a boolean', null: 'null', array: 'an array', object: 'an object', undefined: 'not JSON' };

/** `a string`, `a string or null`. Values themselves are never shown: they may be secrets. */
export function typeWords(types: readonly unknown[]): string {
  const words = types.map((type) => WORDS[String(type)] ?? String(type));
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  return canonicalJson(a) === canonicalJson(b);
}

/** Length in code points, as JSON Schema counts. */
export function codePoints(text: string): number {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) { const low = text.charCodeAt(i + 1); if (low >= 0xdc00 && low <= 0xdfff) i += 1; }
    length += 1;
  }
  return length;
}

/** Decimal digits and exponent of a finite number: 0.0075 is 75 and -4. */
function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', exponent = '0'] = value.toString().toLowerCase().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** Exact in decimal: 0.3 is a multiple of 0.1, whatever binary fractions say. */
export function isMultiple(value: number, of: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  if (!Number.isFinite(value) || !Number.isFinite(of)) return false;
  const a = decimal(value), b = decimal(of), low = Math.min(a.exponent, b.exponent);
  return (a.digits * 10n ** BigInt(a.exponent - low)) % (b.digits * 10n ** BigInt(b.exponent - low)) === 0n;
}

/** Without recursion: tells whether arrays and objects nest deeper than `most`. */
export function nestsDeeper(value: unknown, most: number): boolean {
  const queue: [unknown, number][] = [[value, 0]];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const [item, depth] = next;
    if (!Array.isArray(item) && !isObject(item)) continue;
    if (depth >= most) return true;
    for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) queue.push([child, depth + 1]);
  }
  return false;
}
