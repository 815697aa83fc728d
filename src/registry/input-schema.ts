/** Input schemas as servers write them, made usable without changing what they say; and one line of them for people. */
import { isObject, member } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { shorten } from '../base/text.ts';

const OPEN: JsonObject = { type: 'object', properties: {} };
const DEFINITIONS = ['$schema', '$defs', 'definitions'] as const;

/**
 * An input schema with `type: "object"` and `properties` at its root. Missing: an open object. No `type`: object is added.
 * A root of another type goes into the property `value` (definitions stay at the root, so that its `$ref`s hold).
 * Everything else, `additionalProperties` too, stays as the server gave it; a schema that needs nothing is returned itself.
 */
export function normalizeInputSchema(schema: unknown): JsonObject {
  if (!isObject(schema)) return OPEN;
  const type = member(schema, 'type');
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  if (type === 'object' && isObject(member(schema, 'properties'))) return schema;
  const admitsObject = type === undefined || type === null || type === 'object' || (Array.isArray(type) && type.includes('object'));
  const fixed = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : undefined;
  if (admitsObject && (fixed === undefined || fixed.some(isObject))) return { ...schema, type: 'object', properties };
  const inner: Record<string, unknown> = { ...schema }, outer: Record<string, unknown> = {};
  for (const key of DEFINITIONS) if (key in inner) { outer[key] = inner[key]; delete inner[key]; }
  return { ...outer, type: 'object', properties: { value: inner } };
}

const plainName = (name: string): string => (/^[A-Za-z_$][\w$-]*$/.test(name) ? name : JSON.stringify(name));

/** The type of one parameter as TypeScript would spell it, roughly. */
function typeText(schema: unknown, root: JsonObject, depth = 0): string {
  if (!isObject(schema) || depth > 4) return 'any';
  const reference = member(schema, '$ref');
  if (typeof reference === 'string') return typeText(lookUp(root, reference), root, depth + 1);
  if (Array.isArray(schema['enum'])) return oneOf(schema['enum'].map((value) => JSON.stringify(value) ?? 'any'));
  if ('const' in schema) return JSON.stringify(schema['const']) ?? 'any';
  for (const key of ['anyOf', 'oneOf']) {
    const forms = member(schema, key);
    if (Array.isArray(forms)) return oneOf(forms.map((form) => typeText(form, root, depth + 1)));
  }
  const type = member(schema, 'type');
  if (Array.isArray(type)) return oneOf(type.map((name) => typeText({ ...schema, type: name }, root, depth + 1)));
  if (type === 'array') {
    const item = typeText(member(schema, 'items'), root, depth + 1);
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
  }
  return typeof type === 'string' ? type : isObject(schema['properties']) ? 'object' : 'any';
}

const oneOf = (parts: readonly string[]): string => {
  const distinct = [...new Set(parts)];
  return distinct.length > 6 ? `${distinct.slice(0, 6).join(' | ')} | …` : distinct.join(' | ') || 'any';
};

function lookUp(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split('/')) at = isObject(at) ? member(at, step.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
  return at;
}

/**
 * One line for a person: `search(query: string, limit?: integer = 10)`, required parameters first.
 * @param name what to show instead of the tool's own name, for instance its wire id
 * @param max longest line in characters; what does not fit becomes an ellipsis
 */
export function signature(tool: { readonly name: string; readonly inputSchema: JsonObject }, name = tool.name, max = 200): string {
  const schema = tool.inputSchema;
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const names = Object.keys(properties);
  const parts: string[] = [];
  let length = name.length + 2;
  for (const key of [...names.filter((key) => required.has(key)), ...names.filter((key) => !required.has(key))]) {
    const property = properties[key];
    const fallback = isObject(property) && 'default' in property ? ` = ${shorten(JSON.stringify(property['default']) ?? 'null', 40)}` : '';
    const part = `${plainName(key)}${required.has(key) ? '' : '?'}: ${shorten(typeText(property, schema), 80)}${fallback}`;
    length += part.length + 2;
    if (length > max && parts.length > 0) { parts.push('…'); break; }
    parts.push(part);
  }
  return `${name}(${parts.join(', ')})`;
}
