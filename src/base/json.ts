/** Narrowing of values that came from outside. */
import { limits } from './limits.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: unknown };

/** A plain object: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function isStringMap(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

/** Own member only: a key called `__proto__` or `constructor` never reaches a prototype. */
export function member(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Parses JSON text; `undefined` when it is not JSON, or nests deeper than `limits.jsonDepth`: what walks the value by recursion need not count. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  if (textNestsDeeper(text, limits.jsonDepth)) return undefined;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

const QUOTE = 34, BACKSLASH = 92, OPEN_LIST = 91, CLOSE_LIST = 93, OPEN_OBJECT = 123, CLOSE_OBJECT = 125;

/** Where the string that opens at `at` ends: its closing quote, or the end of the text. */
function endOfString(text: string, at: number): number {
  for (let from = at + 1; ;) {
    const end = text.indexOf('"', from);
    if (end < 0) return text.length;
    let slashes = end;
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1;
    if ((end - slashes) % 2 === 0) return end;
    from = end + 1;
  }
}

/** True when JSON text nests arrays and objects deeper than `most` levels. Linear; text that is too short for it is not looked at. */
export function textNestsDeeper(text: string, most: number): boolean {
  if (text.length <= 2 * most) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) { if (++depth > most) return true; } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1;
  }
  return false;
}

/** JSON text with `null` in place of each array and object that lies deeper than `most` levels. */
export function pruneJson(text: string, most: number): string {
  let depth = 0, from = 0, kept = '';
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) { if (++depth === most + 1) kept += `${text.slice(from, at)}null`; } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) { if (depth-- === most + 1) from = at + 1; }
  }
  return depth > most ? kept : kept + text.slice(from);
}

/** One step of a JSON Pointer (RFC 6901), escaped. */
export function pointerStep(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** JSON with sorted keys: equal values give equal text, so that it can be hashed. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item === undefined ? null : item)).join(',')}]`;
  if (isObject(value)) {
    const parts: string[] = [];
    for (const key of Object.keys(value).sort()) {
      if (value[key] !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    }
    return `{${parts.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
