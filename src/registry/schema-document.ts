/**
 * One JSON Schema made ready: dialect known, every reference that can be reached resolved within the schema itself (never over the network),
 * every keyword of the shape it must have. What does not pass is unusable as a whole: a schema half understood would let
 * things through that its author refuses.
 */
import { isObject, isStringArray, pointerStep } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { compilePattern } from './schema-pattern.ts';
import type { PatternTest } from './schema-pattern.ts';

/** A part of the document with its own base URI (`$id`); the whole document is one too. */
export interface Resource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
  readonly dynamicAnchors: Map<string, JsonObject>;
}

export interface Target { readonly schema: unknown; readonly resource: Resource; /** Name by which the dynamic scope may replace it. */ readonly dynamic?: string }

export interface SchemaDocument {
  readonly root: unknown;
  readonly resource: Resource;
  /** Up to draft-07 a `$ref` hides the keywords beside it. */
  readonly refAlone: boolean;
  readonly tracksUnevaluated: boolean;
  readonly targets: ReadonlyMap<JsonObject, Target>;
  readonly dynamicTargets: ReadonlyMap<JsonObject, Target>;
  readonly resources: ReadonlyMap<JsonObject, Resource>;
  readonly patterns: ReadonlyMap<string, PatternTest>;
}

const DIALECTS: Readonly<Record<string, { readonly refAlone: boolean }>> = {
  'json-schema.org/draft/2020-12/schema': { refAlone: false },
  'json-schema.org/draft/2019-09/schema': { refAlone: false },
  'json-schema.org/draft-07/schema': { refAlone: true },
  'json-schema.org/draft-06/schema': { refAlone: true },
  'json-schema.org/draft-04/schema': { refAlone: true },
};

const SINGLE = ['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'items', 'additionalItems', 'unevaluatedItems', 'contains', 'not', 'if', 'then', 'else'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies'];
const DEFINITIONS = ['$defs', 'definitions'];
const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']);
const BASE = 'local:///schema';

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value);
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.every(isSchema);
// Some languages write an empty map as an empty array.
const isEmptyArray = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const isMapOf = (test: (value: unknown) => boolean) => (value: unknown): boolean => isEmptyArray(value) || (isObject(value) && Object.values(value).every(test));

/** What each keyword has to look like, in words and as a test. */
const SHAPES: readonly (readonly [keywords: readonly string[], words: string, test: (value: unknown) => boolean])[] = [
  [['type'], 'a JSON type or a list of them', (value) => TYPES.has(value) || (Array.isArray(value) && value.every((name) => TYPES.has(name)))],
  [['enum'], 'a list of values', Array.isArray],
  [['minimum', 'maximum'], 'a number', isNumber],
  [['exclusiveMinimum', 'exclusiveMaximum'], 'a number', (value) => isNumber(value) || typeof value === 'boolean'],
  [['multipleOf'], 'a number above 0', (value) => typeof value === 'number' && value > 0],
  [['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'], 'a whole number, 0 or more', isCount],
  [['uniqueItems', '$recursiveAnchor'], 'true or false', (value) => typeof value === 'boolean'],
  [['pattern', '$ref', '$dynamicRef', '$recursiveRef', '$id', '$anchor', '$dynamicAnchor', 'format'], 'a string', (value) => typeof value === 'string'],
  [['required'], 'a list of names', isStringArray],
  [['dependentRequired'], 'a map of lists of names', isMapOf(isStringArray)],
  [['dependencies'], 'a map of schemas or lists of names', isMapOf((value) => isSchema(value) || isStringArray(value))],
  [['properties', 'patternProperties', 'dependentSchemas', ...DEFINITIONS], 'a map of schemas', isMapOf(isSchema)],
  [['allOf', 'anyOf', 'oneOf', 'prefixItems'], 'a list of schemas', isSchemaList],
  [['items'], 'a schema', (value) => isSchema(value) || isSchemaList(value)],
  [SINGLE.filter((keyword) => keyword !== 'items'), 'a schema', isSchema],
];

/** The schemas that stand directly in a schema. */
function* inside(schema: JsonObject, definitions: boolean): Generator<readonly [pointer: string, schema: unknown]> {
  for (const key of SINGLE) if (isSchema(schema[key])) yield [pointerStep(key), schema[key]];
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) for (const [index, item] of list.entries()) yield [pointerStep(key) + pointerStep(index), item];
  }
  for (const key of definitions ? [...MAPS, ...DEFINITIONS] : MAPS) {
    const map = schema[key];
    if (isObject(map)) for (const [name, item] of Object.entries(map)) if (isSchema(item)) yield [pointerStep(key) + pointerStep(name), item];
  }
}

/** A reason is one clause: "keyword ... must be ..." */
export function prepareSchema(root: unknown): { readonly document: SchemaDocument } | { readonly unusable: string } {
  if (typeof root !== 'boolean' && !isObject(root)) return { unusable: 'a schema must be an object or a boolean' };
  const top: JsonObject = isObject(root) ? root : {};
  const stated = top['$schema'];
  const dialect = stated === undefined || stated === null ? DIALECTS['json-schema.org/draft/2020-12/schema'] : typeof stated === 'string' ? DIALECTS[stated.replace(/^https?:\/\//, '').replace(/#$/, '')] : undefined;
  if (dialect === undefined) return { unusable: `its dialect ${JSON.stringify(stated)} is not known here` };
  const index = indexResources(top, dialect.refAlone);
  if ('unusable' in index) return index;
  const targets = new Map<JsonObject, Target>(), dynamicTargets = new Map<JsonObject, Target>(), patterns = new Map<string, PatternTest>();
  let tracksUnevaluated = false;

  const seen = new Set<unknown>();
  const queue: { schema: unknown; resource: Resource; pointer: string }[] = [{ schema: root, resource: index.main, pointer: '' }];
  // Everything that a value can be led to, references included; definitions nobody refers to may be broken.
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { schema, pointer } = next;
    if (!isObject(schema)) { if (typeof schema !== 'boolean') return { unusable: `${pointer || 'a reference'} must be a schema` }; continue; }
    if (seen.has(schema)) continue;
    seen.add(schema);
    const resource = index.resources.get(schema) ?? next.resource;
    const fault = shapeFault(schema, pointer) ?? compilePatterns(schema, pointer, patterns);
    if (fault !== undefined) return { unusable: fault };
    tracksUnevaluated ||= isSchema(schema['unevaluatedProperties']) || isSchema(schema['unevaluatedItems']);
    for (const [keyword, into] of [['$ref', targets], ['$dynamicRef', dynamicTargets], ['$recursiveRef', dynamicTargets]] as const) {
      const reference = schema[keyword];
      if (typeof reference !== 'string') continue;
      const target = resolve(reference, resource, index);
      if (target === undefined) return { unusable: `${pointer}/${keyword} refers to ${JSON.stringify(reference)}, which is not in the schema (nothing is fetched)` };
      into.set(schema, keyword === '$recursiveRef' ? { ...target, ...(isObject(target.schema) && target.schema['$recursiveAnchor'] === true ? { dynamic: '' } : {}) } : target);
      queue.push({ schema: target.schema, resource: target.resource, pointer: reference });
    }
    if (dialect.refAlone && typeof schema['$ref'] === 'string') continue;
    for (const [step, child] of inside(schema, false)) queue.push({ schema: child, resource, pointer: pointer + step });
  }
  return { document: { root, resource: index.main, refAlone: dialect.refAlone, tracksUnevaluated, targets, dynamicTargets, resources: index.resources, patterns } };
}

function shapeFault(schema: JsonObject, pointer: string): string | undefined {
  for (const [keywords, words, test] of SHAPES) {
    for (const keyword of keywords) {
      const value = schema[keyword];
      // Serializers write null for what is not set.
      if (value !== undefined && value !== null && !test(value)) return `${pointer}/${keyword} must be ${words}`;
    }
  }
  return undefined;
}

function compilePatterns(schema: JsonObject, pointer: string, into: Map<string, PatternTest>): string | undefined {
  const sources = isObject(schema['patternProperties']) ? Object.keys(schema['patternProperties']) : [];
  if (typeof schema['pattern'] === 'string') sources.push(schema['pattern']);
  for (const source of sources) {
    const test = into.get(source) ?? compilePattern(source);
    if (test === undefined) return `${pointer} has a pattern that is no regular expression`;
    into.set(source, test);
  }
  return undefined;
}

interface Index { readonly main: Resource; readonly resources: ReadonlyMap<JsonObject, Resource>; readonly byUri: ReadonlyMap<string, Resource> }

/** Base URIs and anchors of the whole document, definitions included. */
function indexResources(root: JsonObject, refAlone: boolean): Index | { readonly unusable: string } {
  const byUri = new Map<string, Resource>(), resources = new Map<JsonObject, Resource>();
  const create = (schema: JsonObject, uri: string): Resource => {
    const resource: Resource = { uri, root: schema, anchors: new Map(), dynamicAnchors: new Map() };
    byUri.set(uri, resource);
    resources.set(schema, resource);
    return resource;
  };
  const main = create(root, BASE);
  const queue: { schema: JsonObject; resource: Resource; depth: number }[] = [{ schema: root, resource: main, depth: 0 }];
  const seen = new Set<JsonObject>();
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { schema, depth } = next;
    if (seen.has(schema)) continue;
    seen.add(schema);
    if (depth > limits.schemaDepth) return { unusable: `it nests deeper than ${limits.schemaDepth} schemas` };
    let resource = next.resource;
    const id = schema['$id'];
    if (typeof id === 'string' && !(refAlone && typeof schema['$ref'] === 'string')) {
      const uri = join(id, resource.uri);
      if (id.startsWith('#')) resource.anchors.set(id.slice(1), schema);
      else if (uri !== undefined) {
        const base = uri.split('#', 1)[0]!;
        if (schema === root) byUri.set(base, main); else resource = create(schema, base);
        if (schema === root) resource = Object.assign(main, { uri: base });
      }
    }
    for (const [keyword, into] of [['$anchor', resource.anchors], ['$dynamicAnchor', resource.anchors], ['$dynamicAnchor', resource.dynamicAnchors]] as const) {
      const name = schema[keyword];
      if (typeof name === 'string') into.set(name, schema);
    }
    for (const [, child] of inside(schema, true)) if (isObject(child)) queue.push({ schema: child, resource, depth: depth + 1 });
  }
  return { main, resources, byUri };
}

function join(reference: string, base: string): string | undefined {
  try {
    return new URL(reference, base).href;
  } catch {
    return undefined;
  }
}

function resolve(reference: string, from: Resource, { byUri, resources }: Index): Target | undefined {
  const href = reference.startsWith('#') ? undefined : join(reference, from.uri);
  if (href === undefined && !reference.startsWith('#')) return undefined;
  const resource = href === undefined ? from : byUri.get(href.split('#', 1)[0]!);
  const hash = (href ?? reference).indexOf('#');
  const fragment = hash < 0 ? '' : decode((href ?? reference).slice(hash + 1));
  if (resource === undefined || fragment === undefined) return undefined;
  if (fragment === '') return { schema: resource.root, resource };
  if (fragment.startsWith('/')) return walkPointer(fragment, resource, resources);
  const schema = resource.anchors.get(fragment);
  return schema === undefined ? undefined : { schema, resource, ...(resource.dynamicAnchors.has(fragment) ? { dynamic: fragment } : {}) };
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function walkPointer(pointer: string, start: Resource, resources: ReadonlyMap<JsonObject, Resource>): Target | undefined {
  let at: unknown = start.root, resource = start;
  for (const raw of pointer.slice(1).split('/')) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = /^(?:0|[1-9]\d*)$/.test(step) ? at[Number(step)] : undefined;
    else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    if (at === undefined) return undefined;
    if (isObject(at)) resource = resources.get(at) ?? resource;
  }
  return isSchema(at) ? { schema: at, resource } : undefined;
}
