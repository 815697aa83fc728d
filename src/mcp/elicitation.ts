/**
 * Form elicitation: a flat schema of strings, numbers, booleans and choices (MCP 2025-06-18 and later). An answer gets the
 * schema's defaults for what the person left out and is checked before it is sent.
 */
import type { Problem } from '../base/failure.ts';
import { isObject, isStringArray, pointerStep, type JsonObject } from '../base/json.ts';

/** `content` with defaults filled in, and what is wrong with it. */
export function completeForm(schema: JsonObject, content: JsonObject): { readonly content: JsonObject; readonly problems: readonly Problem[] } {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  // A map, because a field may be called `constructor` or `__proto__`.
  const filled = new Map<string, unknown>(Object.entries(content));
  const problems: Problem[] = [];
  for (const [key, property] of Object.entries(properties)) {
    if (!isObject(property)) continue;
    if (filled.get(key) === undefined && property['default'] !== undefined) filled.set(key, property['default']);
    const value = filled.get(key);
    const fault = value === undefined ? undefined : faultOf(property, value);
    if (fault !== undefined) problems.push({ pointer: pointerStep(key), message: fault });
  }
  for (const key of isStringArray(schema['required']) ? schema['required'] : []) {
    if (filled.get(key) === undefined) problems.push({ pointer: pointerStep(key), message: 'is required' });
  }
  return { content: Object.fromEntries(filled), problems };
}

function faultOf(property: JsonObject, value: unknown): string | undefined {
  switch (property['type']) {
    case 'string': return typeof value === 'string' ? stringFault(property, value) : 'must be a string';
    case 'number': case 'integer': return typeof value === 'number' && Number.isFinite(value) ? numberFault(property, value) : `must be a${property['type'] === 'integer' ? 'n integer' : ' number'}`;
    case 'boolean': return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'array': return isStringArray(value) ? listFault(property, value) : 'must be a list of strings';
    default: return undefined;
  }
}

function stringFault(property: JsonObject, value: string): string | undefined {
  const allowed = choicesOf(property);
  if (allowed !== undefined && !allowed.includes(value)) return `must be one of ${allowed.join(', ')}`;
  const length = [...value].length;
  if (typeof property['minLength'] === 'number' && length < property['minLength']) return `must have at least ${property['minLength']} characters`;
  if (typeof property['maxLength'] === 'number' && length > property['maxLength']) return `must have at most ${property['maxLength']} characters`;
  const format = property['format'];
  const legal = format === 'email' ? /^[^\s@]+@[^\s@]+$/.test(value)
    : format === 'uri' ? URL.canParse(value)
    : format === 'date' ? /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value))
    : format === 'date-time' ? /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value))
    : true;
  return legal ? undefined : `must be a ${String(format)}`;
}

function numberFault(property: JsonObject, value: number): string | undefined {
  if (property['type'] === 'integer' && !Number.isInteger(value)) return 'must be an integer';
  if (typeof property['minimum'] === 'number' && value < property['minimum']) return `must be at least ${property['minimum']}`;
  if (typeof property['maximum'] === 'number' && value > property['maximum']) return `must be at most ${property['maximum']}`;
  return undefined;
}

function listFault(property: JsonObject, value: readonly string[]): string | undefined {
  const allowed = isObject(property['items']) ? choicesOf(property['items']) : undefined;
  if (allowed !== undefined && value.some((item) => !allowed.includes(item))) return `must only hold ${allowed.join(', ')}`;
  if (typeof property['minItems'] === 'number' && value.length < property['minItems']) return `must have at least ${property['minItems']} entries`;
  if (typeof property['maxItems'] === 'number' && value.length > property['maxItems']) return `must have at most ${property['maxItems']} entries`;
  return undefined;
}

/** The allowed strings of an enumeration in any of its spellings: `enum`, `oneOf`, `anyOf` of constants. */
export function choicesOf(property: JsonObject): readonly string[] | undefined {
  if (isStringArray(property['enum'])) return property['enum'];
  const list = property['oneOf'] ?? property['anyOf'];
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((item: unknown) => (isObject(item) && typeof item['const'] === 'string' ? [item['const']] : []));
}
