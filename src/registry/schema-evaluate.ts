/** A value against a prepared schema, keyword by keyword (JSON Schema 2020-12 core and validation; spellings of earlier drafts beside them). */
import { canonicalJson, isObject } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import type { Problem } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { count, nearest } from '../base/text.ts';
import type { SchemaDocument, Target } from './schema-document.ts';
import { complain, complainForms, giveUp, mergeMarks, newMarks, pointerOf } from './schema-frame.ts';
import type { Complaint, Frame, Marks, Place, Run, Scope } from './schema-frame.ts';
import { checkFixed, checkNumber, checkString, checkType } from './schema-scalars.ts';

export type Verdict = { readonly problems: readonly Problem[] } | { readonly unusable: string };

export function evaluate(document: SchemaDocument, value: unknown, assertFormats: boolean): Verdict {
  const run: Run = { document, assertFormats, visits: 0, nesting: 0, unusable: undefined };
  const complaints: Complaint[] = [];
  const start: Scope = { resource: document.resource, outer: undefined };
  const fits = apply(run, document.root, value, undefined, start, 0, complaints, undefined);
  if (run.unusable !== undefined) return { unusable: run.unusable };
  if (!fits && complaints.length === 0) return { problems: [{ pointer: '', message: 'does not fit the schema' }] };
  return { problems: complaints.slice(0, limits.schemaProblems).map(({ pointer, message }) => ({ pointer, message })) };
}

/** Applies a schema; true when the value fits. Complaints are added, and marks only when it fits. */
function apply(run: Run, schema: unknown, value: unknown, place: Place | undefined, outer: Scope, depth: number, complaints: Complaint[], marksOut: Marks | undefined): boolean {
  if (run.unusable !== undefined) return false;
  if (++run.visits > limits.schemaVisits) return giveUp(run, `checking this value takes more than ${limits.schemaVisits} steps`);
  if (depth > limits.schemaDepth || run.nesting > limits.jsonDepth) return giveUp(run, 'its references lead too deep');
  if (!isObject(schema)) {
    if (schema !== false) return true;
    complaints.push({ pointer: pointerOf(place), message: 'is not allowed' });
    return false;
  }
  const resource = run.document.resources.get(schema);
  const scope = resource !== undefined && resource !== outer.resource ? { resource, outer } : outer;
  const frame: Frame = { run, schema, place, scope, depth, complaints, marks: newMarks(run) };
  run.nesting += 1;
  const fits = keywords(frame, value);
  run.nesting -= 1;
  if (fits) mergeMarks(marksOut, frame.marks);
  return fits;
}

/** The same place, another schema. */
const here = (frame: Frame, schema: unknown, value: unknown, complaints = frame.complaints, marks = frame.marks): boolean =>
  apply(frame.run, schema, value, frame.place, frame.scope, frame.depth + 1, complaints, marks);

/** A place below. */
const below = (frame: Frame, schema: unknown, value: unknown, step: string | number, complaints = frame.complaints): boolean =>
  apply(frame.run, schema, value, { parent: frame.place, step }, frame.scope, 0, complaints, undefined);

function keywords(frame: Frame, value: unknown): boolean {
  const { schema, run } = frame;
  let fits = references(frame, value);
  if (run.document.refAlone && typeof schema['$ref'] === 'string') return fits;
  // A value of the wrong type is one complaint, not one for each keyword.
  if (!checkType(frame, value)) return false;
  fits = checkFixed(frame, value) && fits;
  if (typeof value === 'number') fits = checkNumber(frame, value) && fits;
  else if (typeof value === 'string') fits = checkString(frame, value) && fits;
  else if (Array.isArray(value)) fits = checkArray(frame, value) && fits;
  else if (isObject(value)) fits = checkObject(frame, value) && fits;
  fits = combine(frame, value) && fits;
  if (frame.marks !== undefined && fits) fits = unevaluated(frame, value);
  return fits && run.unusable === undefined;
}

function references(frame: Frame, value: unknown): boolean {
  const { targets, dynamicTargets } = frame.run.document;
  const target = targets.get(frame.schema), dynamic = dynamicTargets.get(frame.schema);
  let fits = target === undefined || follow(frame, target, value);
  if (dynamic !== undefined) fits = follow(frame, rebind(dynamic, frame.scope), value) && fits;
  return fits;
}

const follow = (frame: Frame, { schema, resource }: Target, value: unknown): boolean => {
  const scope = resource === frame.scope.resource ? frame.scope : { resource, outer: frame.scope };
  return apply(frame.run, schema, value, frame.place, scope, frame.depth + 1, frame.complaints, frame.marks);
};

/** The outermost resource on the way here that offers the same dynamic anchor takes the reference over (core 8.2.3.2). */
function rebind(target: Target, scope: Scope): Target {
  if (target.dynamic === undefined) return target;
  let found = target;
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const { resource } = at;
    const schema = target.dynamic === '' ? (resource.root['$recursiveAnchor'] === true ? resource.root : undefined) : resource.dynamicAnchors.get(target.dynamic);
    if (schema !== undefined) found = { schema, resource };
  }
  return found;
}

function checkArray(frame: Frame, value: readonly unknown[]): boolean {
  const { schema, marks } = frame;
  const { minItems, maxItems, items, additionalItems } = schema;
  let fits = true;
  if (typeof minItems === 'number' && value.length < minItems) fits = complain(frame, `must have at least ${count(minItems, 'item')}, but has ${value.length}`);
  if (typeof maxItems === 'number' && value.length > maxItems) fits = complain(frame, `must have at most ${count(maxItems, 'item')}, but has ${value.length}`);
  if (schema['uniqueItems'] === true && new Set(value.map(canonicalJson)).size < value.length) fits = complain(frame, 'must not hold the same item twice');
  // An array of schemas in `items` is the older spelling of `prefixItems`; the rest is then ruled by `additionalItems`.
  const tuple = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? additionalItems : items;
  const first = Math.min(tuple.length, value.length);
  for (let index = 0; index < first; index++) fits = below(frame, tuple[index], value[index], index) && fits;
  if (marks !== undefined) marks.firstItems = Math.max(marks.firstItems, first);
  if (typeof rest === 'boolean' || isObject(rest)) {
    for (let index = first; index < value.length && frame.run.unusable === undefined; index++) {
      if (rest === false) { fits = complain(frame, `must have at most ${count(first, 'item')}, but has ${value.length}`); break; }
      fits = below(frame, rest, value[index], index) && fits;
    }
    if (marks !== undefined) marks.firstItems = value.length;
  }
  return checkContains(frame, value) && fits;
}

function checkContains(frame: Frame, value: readonly unknown[]): boolean {
  const { contains, minContains, maxContains } = frame.schema;
  if (typeof contains !== 'boolean' && !isObject(contains)) return true;
  let found = 0;
  for (const [index, item] of value.entries()) {
    if (!below(frame, contains, item, index, [])) continue;
    found += 1;
    frame.marks?.items.add(index);
  }
  const least = typeof minContains === 'number' ? minContains : 1;
  if (found < least) return complain(frame, `must hold at least ${count(least, 'item')} of a certain kind, but holds ${found}`);
  return typeof maxContains !== 'number' || found <= maxContains || complain(frame, `must hold at most ${count(maxContains, 'item')} of a certain kind, but holds ${found}`);
}

const asMap = (value: unknown): JsonObject => (isObject(value) ? value : {});

function checkObject(frame: Frame, value: JsonObject): boolean {
  const { schema } = frame;
  const { minProperties, maxProperties, required, propertyNames } = schema;
  const names = Object.keys(value);
  let fits = true;
  if (typeof minProperties === 'number' && names.length < minProperties) fits = complain(frame, `must have at least ${count(minProperties, 'property', 'properties')}`);
  if (typeof maxProperties === 'number' && names.length > maxProperties) fits = complain(frame, `must have at most ${count(maxProperties, 'property', 'properties')}`);
  if (Array.isArray(required)) for (const name of required) if (!Object.hasOwn(value, name)) fits = complain(frame, `must have the property ${JSON.stringify(name)}`);
  fits = checkProperties(frame, value, names) && fits;
  if (isObject(propertyNames) || propertyNames === false) {
    for (const name of names) {
      const complaints: Complaint[] = [];
      if (!below(frame, propertyNames, name, name, complaints)) fits = complain(frame, `has a name that is not allowed${complaints[0] === undefined ? '' : `: it ${complaints[0].message}`}`, {}, name);
    }
  }
  return checkDependencies(frame, value) && fits;
}

function checkProperties(frame: Frame, value: JsonObject, names: readonly string[]): boolean {
  const { schema, marks, run } = frame;
  const properties = asMap(schema['properties']), patterns = Object.entries(asMap(schema['patternProperties'])), additional = schema['additionalProperties'];
  let fits = true;
  for (const name of names) {
    if (run.unusable !== undefined) return false;
    let known = Object.hasOwn(properties, name);
    if (known) fits = below(frame, properties[name], value[name], name) && fits;
    for (const [source, sub] of patterns) {
      const matched = run.document.patterns.get(source)?.(name);
      if (matched === undefined) return giveUp(run, 'a pattern is too costly to try on the name of a property');
      if (!matched) continue;
      known = true;
      fits = below(frame, sub, value[name], name) && fits;
    }
    if (!known && additional === false) fits = complain(frame, unknownProperty(name, Object.keys(properties)), {}, name);
    else if (!known && isObject(additional)) fits = below(frame, additional, value[name], name) && fits;
    if (known || typeof additional === 'boolean' || isObject(additional)) marks?.properties.add(name);
  }
  return fits;
}

function unknownProperty(name: string, known: readonly string[]): string {
  const [close] = nearest(name, known, 1);
  return `is not a known property${close === undefined ? '' : ` (did you mean ${JSON.stringify(close)}?)`}`;
}

function checkDependencies(frame: Frame, value: JsonObject): boolean {
  const { schema } = frame;
  let fits = true;
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    for (const [name, needs] of Object.entries(asMap(schema[keyword]))) {
      if (!Object.hasOwn(value, name)) continue;
      if (!Array.isArray(needs)) { fits = here(frame, needs, value) && fits; continue; }
      for (const other of needs) if (!Object.hasOwn(value, String(other))) fits = complain(frame, `must have the property ${JSON.stringify(other)} when it has ${JSON.stringify(name)}`);
    }
  }
  return fits;
}

const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value);

function combine(frame: Frame, value: unknown): boolean {
  const { schema } = frame;
  const { allOf, anyOf, oneOf } = schema;
  let fits = true;
  if (Array.isArray(allOf)) for (const sub of allOf) fits = here(frame, sub, value) && fits;
  if (Array.isArray(anyOf)) fits = checkForms(frame, anyOf, value, false) && fits;
  if (Array.isArray(oneOf)) fits = checkForms(frame, oneOf, value, true) && fits;
  if (isSchema(schema['not']) && here(frame, schema['not'], value, [], newMarks(frame.run))) fits = complain(frame, 'has a form that is excluded');
  if (isSchema(schema['if'])) {
    const branch = here(frame, schema['if'], value, []) ? schema['then'] : schema['else'];
    if (isSchema(branch)) fits = here(frame, branch, value) && fits;
  }
  return fits;
}

/** `anyOf`, and `oneOf` when exactly one may fit. All are tried when something asks what they looked at. */
function checkForms(frame: Frame, forms: readonly unknown[], value: unknown, exactlyOne: boolean): boolean {
  const failed: Complaint[][] = [];
  let fitting = 0;
  for (const form of forms) {
    const complaints: Complaint[] = [];
    if (here(frame, form, value, complaints)) {
      fitting += 1;
      if (!exactlyOne && frame.marks === undefined) return true;
    } else failed.push(complaints);
    if (frame.run.unusable !== undefined) return false;
  }
  if (fitting === 1 || (fitting > 1 && !exactlyOne)) return true;
  if (fitting > 1) return complain(frame, `fits ${fitting} of the ${forms.length} forms of which exactly one may fit`);
  return complainForms(frame, failed, value);
}

function unevaluated(frame: Frame, value: unknown): boolean {
  const { schema } = frame, marks = frame.marks!;
  let fits = true;
  const items = schema['unevaluatedItems'], properties = schema['unevaluatedProperties'];
  if (Array.isArray(value) && isSchema(items)) {
    for (let index = marks.firstItems; index < value.length; index++) if (!marks.items.has(index)) fits = below(frame, items, value[index], index) && fits;
    marks.firstItems = value.length;
  }
  if (isObject(value) && isSchema(properties) && !marks.everyProperty) {
    for (const name of Object.keys(value)) if (!marks.properties.has(name)) fits = below(frame, properties, value[name], name) && fits;
    marks.everyProperty = true;
  }
  return fits;
}
