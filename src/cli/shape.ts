/** What a tool's JSON Schema says of one value, as far as typing words and drawing a signature need it. Whether a value is valid is `registry/schema`'s to say. */
import { isObject, member } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';

const REFERENCES = 16;

/** Follows local `$ref`s; a foreign, missing or circular one gives `{}` (anything). */
export function resolveShape(schema: unknown, root: JsonObject): JsonObject {
  let at = schema;
  for (let step = 0; step < REFERENCES; step++) {
    if (!isObject(at)) return {};
    const reference = member(at, '$ref');
    if (typeof reference !== 'string') return at;
    if (reference !== '#' && !reference.startsWith('#/')) return {};
    at = reference.split('/').slice(1).reduce<unknown>((value, part) => (isObject(value) ? member(value, part.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined), root);
  }
  return {};
}

const list = (schema: JsonObject, key: string): readonly unknown[] => {
  const value = member(schema, key);
  return Array.isArray(value) ? value : [];
};

/** The alternatives of `anyOf` and `oneOf`, or the schema itself. */
export function alternatives(schema: JsonObject, root: JsonObject): readonly JsonObject[] {
  const choices = [...list(schema, 'anyOf'), ...list(schema, 'oneOf')];
  return choices.length === 0 ? [schema] : choices.map((choice) => resolveShape(choice, root));
}

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** The fixed values of `enum` or `const`, when the schema lists them. */
export function fixedValues(schema: JsonObject): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

/** JSON types the schema accepts (`integer` apart from `number`); empty when it does not say. */
export function kindsOf(schema: JsonObject, root: JsonObject, depth = 0): ReadonlySet<string> {
  const type = member(schema, 'type');
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((one): one is string => typeof one === 'string'));
  const fixed = fixedValues(schema);
  if (fixed !== undefined) return new Set(fixed.map(kindOf));
  if (depth > 4) return new Set();
  const choices = alternatives(schema, root);
  if (choices[0] !== schema) {
    const kinds = choices.map((choice) => kindsOf(choice, root, depth + 1));
    return kinds.some((one) => one.size === 0) ? new Set() : new Set(kinds.flatMap((one) => [...one]));
  }
  for (const part of list(schema, 'allOf')) {
    const kinds = kindsOf(resolveShape(part, root), root, depth + 1);
    if (kinds.size > 0) return kinds;
  }
  if (isObject(schema['properties'])) return new Set(['object']);
  return new Set();
}

/** All properties of an object shape: its own, then those of `allOf`, `anyOf` and `oneOf`. */
export function propertiesOf(schema: JsonObject, root: JsonObject, depth = 0): JsonObject {
  if (depth > 4) return {};
  const inherited = [...list(schema, 'allOf'), ...list(schema, 'anyOf'), ...list(schema, 'oneOf')].map((part) => propertiesOf(resolveShape(part, root), root, depth + 1));
  const own = member(schema, 'properties');
  return Object.assign({}, ...inherited, isObject(own) ? own : {}) as JsonObject;
}

/** The shape of one member of an object shape. */
export function shapeOfMember(schema: JsonObject, key: string, root: JsonObject): JsonObject {
  const named = member(propertiesOf(schema, root), key);
  return resolveShape(named ?? member(schema, 'additionalProperties'), root);
}

export function requiredOf(schema: JsonObject): readonly string[] {
  return list(schema, 'required').filter((name): name is string => typeof name === 'string');
}
