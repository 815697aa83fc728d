/**
 * Words of the command line become arguments of a tool, typed by its schema: `count=3` is a number only where the schema
 * says so, strings stay strings. `key:=json` is JSON as it stands, `key=@file` the text of a file, `key=@@x` the text `@x`,
 * `a.b=1` a member of an object, a repeated key the next element of an array.
 */
import { Failure, toFailure } from '../base/failure.ts';
import type { Problem } from '../base/failure.ts';
import { isObject, member, parseJson, pointerStep } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import { signature } from '../registry/input-schema.ts';
import { exampleCall } from './example.ts';
import { usageFailure } from './parse.ts';
import { alternatives, fixedValues, kindsOf, propertiesOf, requiredOf, resolveShape, shapeOfMember } from './shape.ts';

/** Where text comes from that is not on the command line. */
export interface TextSources {
  readFile(path: string): Promise<string>;
  readInput(): Promise<string>;
}

export interface WordsToType {
  /** How the tool is called in messages: its wire id. */
  readonly tool: string;
  readonly schema: JsonObject;
  readonly words: readonly string[];
  /** `--args`: JSON text, `@file` or `-`. The words are laid over it. */
  readonly base?: string | undefined;
}

export type Typed = { readonly value: unknown } | { readonly problem: string };
interface Word { readonly key: string; readonly text: string; readonly json: boolean }

const TRUE = ['true', 'yes'];
const FALSE = ['false', 'no'];

function numberFrom(text: string, whole: boolean): Typed {
  const value = Number(text);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) || !Number.isFinite(value)) return { problem: `"${text}" is not ${whole ? 'a whole number' : 'a number'}` };
  if (whole && !Number.isInteger(value)) return { problem: `"${text}" is not a whole number` };
  if (whole && !Number.isSafeInteger(value)) return { problem: `"${text}" is larger than a number can hold exactly` };
  return { value };
}

function structureFrom(text: string, kind: 'array' | 'object'): Typed | undefined {
  if (!text.trimStart().startsWith(kind === 'array' ? '[' : '{')) return undefined;
  const parsed = parseJson(text);
  return parsed === undefined ? { problem: `it looks like JSON and is not valid JSON` } : parsed;
}

/** One text by one shape. Where the schema accepts a string, a string it stays. */
export function typeText(text: string, shape: JsonObject, root: JsonObject): Typed {
  const fixed = alternatives(shape, root).flatMap((choice) => fixedValues(choice) ?? []);
  if (fixed.includes(text)) return { value: text };
  const same = fixed.find((value) => typeof value !== 'string' && !isObject(value) && String(value) === text);
  if (same !== undefined) return { value: same };
  const kinds = kindsOf(shape, root);
  const structure = (kinds.has('array') ? structureFrom(text, 'array') : undefined) ?? (kinds.has('object') ? structureFrom(text, 'object') : undefined);
  if (kinds.size === 0 || kinds.has('string')) return { value: text };
  if (structure !== undefined) return structure;
  if (kinds.has('boolean') && [...TRUE, ...FALSE].includes(text.toLowerCase())) return { value: TRUE.includes(text.toLowerCase()) };
  if (kinds.has('null') && (text === 'null' || text === '')) return { value: null };
  if (kinds.has('number') || kinds.has('integer')) return numberFrom(text, !kinds.has('number'));
  if (kinds.has('boolean')) return { problem: `"${text}" is neither yes, no, true nor false` };
  if (kinds.has('object')) return { problem: 'it must be an object: write key:={"member":1} or key.member=1' };
  return { problem: `"${text}" is not ${[...kinds].join(' or ')}` };
}

function put(target: Record<string, unknown>, key: string, value: unknown): void {
  // Defined, not assigned: a key called __proto__ is a member like any other.
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Splits `a.b.c` unless the schema knows a member of exactly that name. */
function pathOf(key: string, schema: JsonObject): readonly string[] {
  return Object.hasOwn(propertiesOf(schema, schema), key) || !key.includes('.') || key.split('.').includes('') ? [key] : key.split('.');
}

function splitWord(word: string, example: string): Word {
  const match = /^([^=]*?)(:?=)(.*)$/s.exec(word);
  if (match === null || match[1] === '') throw usageFailure(`Cannot read "${word}" as an argument: it is not key=value, key:=json or key=@file`, word, example);
  return { key: match[1]!, text: match[3]!, json: match[2] === ':=' };
}

async function textOf(word: Word, sources: TextSources): Promise<string> {
  if (word.text.startsWith('@@')) return word.text.slice(1);
  return word.text.startsWith('@') && word.text.length > 1 ? sources.readFile(word.text.slice(1)) : word.text;
}

/** `: line 2, column 7: a comma is due here (near: …)`. Loaded only for the one who has to look for it. */
async function whereBroken(text: string): Promise<string> {
  if (text.trim() === '') return ': it is empty';
  const { parseJsonc } = await import('../config/jsonc.ts');
  try {
    parseJsonc(text, { file: '--args', layer: 'arguments' }, Infinity);
    return ': comments and commas at an end are not JSON';
  } catch (error) {
    return `: ${toFailure(error).message.replace('Cannot read "--args": ', '')}`;
  }
}

async function baseOf(base: string | undefined, sources: TextSources, example: string): Promise<Record<string, unknown>> {
  if (base === undefined) return {};
  const text = base === '-' ? await sources.readInput() : base.startsWith('@') ? await sources.readFile(base.slice(1)) : base;
  const parsed = parseJson(text);
  if (parsed === undefined || !isObject(parsed.value)) {
    const what = base === '-' || base.startsWith('@') ? ` "${base}"` : '';
    throw usageFailure(`Cannot read --args${what}: ${parsed === undefined ? `it is not valid JSON${await whereBroken(text)}` : 'it is not a JSON object'}`, '--args', example);
  }
  return { ...parsed.value };
}

/** Lays one word into the arguments; returns what is wrong with it. */
function lay(args: Record<string, unknown>, word: Word, text: string, schema: JsonObject, given: Set<string>): Problem | undefined {
  const path = pathOf(word.key, schema);
  const pointer = path.map(pointerStep).join('');
  let target = args, shape = schema;
  for (const step of path.slice(0, -1)) {
    shape = shapeOfMember(shape, step, schema);
    const inner = member(target, step);
    if (inner !== undefined && !isObject(inner)) return { pointer, message: `"${step}" is not an object` };
    const copy = { ...inner };
    put(target, step, copy);
    target = copy;
  }
  const key = path.at(-1)!;
  const own = shapeOfMember(shape, key, schema);
  const again = given.has(pointer);
  given.add(pointer);
  if (word.json) {
    const parsed = parseJson(text);
    if (parsed === undefined) return { pointer, message: `what follows := is not valid JSON (for plain text write ${word.key}=…)` };
    put(target, key, parsed.value);
    return undefined;
  }
  const kinds = kindsOf(own, schema);
  const isList = kinds.has('array') && !kinds.has('string') && structureFrom(text, 'array') === undefined;
  if (again && !isList) return { pointer, message: 'is given twice and is not a list' };
  const items = alternatives(own, schema).find((choice) => kindsOf(choice, schema).has('array')) ?? own;
  const result = typeText(text, isList ? resolveShape(member(items, 'items'), schema) : own, schema);
  if ('problem' in result) return { pointer, message: result.problem };
  const before = member(target, key);
  put(target, key, isList ? [...(again && Array.isArray(before) ? before : []), result.value] : result.value);
  return undefined;
}

function missing(args: JsonObject, schema: JsonObject, words: readonly string[]): Problem[] {
  const known = Object.keys(propertiesOf(schema, schema));
  return requiredOf(schema).filter((name) => !Object.hasOwn(args, name)).map((name) => {
    const slip = Object.keys(args).find((key) => !known.includes(key) && nearest(key, known)[0] === name);
    return { pointer: pointerStep(name), message: `is missing${slip === undefined || words.length === 0 ? '' : ` (is "${slip}" meant for it?)`}` };
  });
}

/** ARGUMENTS_INVALID with the signature in reach: `problems` carry JSON pointers. Nothing has been sent. */
export function argumentsFailure(tool: string, schema: JsonObject, problems: readonly Problem[]): Failure<'ARGUMENTS_INVALID'> {
  const [first, ...others] = problems;
  const summary = first === undefined ? 'its arguments are not valid' : `argument ${first.pointer === '' ? '(all)' : first.pointer} ${first.message}${others.length === 0 ? '' : ` (and ${others.length} more)`}`;
  return new Failure('ARGUMENTS_INVALID', `Cannot call "${tool}": ${summary}`, { stage: 'usage', details: { tool, problems }, origin: { file: 'command line', layer: 'arguments' }, hint: `${signature({ name: tool, inputSchema: schema })}, for instance: ${exampleCall(tool, schema)}` });
}

/** Throws USAGE for words that are no arguments, ARGUMENTS_INVALID for values that do not fit or are missing. */
export async function typeArguments({ tool, schema, words, base }: WordsToType, sources: TextSources): Promise<JsonObject> {
  const example = exampleCall(tool, schema);
  const args = await baseOf(base, sources, example);
  const given = new Set<string>();
  const problems: Problem[] = [];
  for (const raw of words) {
    const word = splitWord(raw, example);
    const problem = lay(args, word, await textOf(word, sources), schema, given);
    if (problem !== undefined) problems.push(problem);
  }
  const lost = new Set(problems.map((problem) => problem.pointer));
  problems.push(...missing(args, schema, words).filter((problem) => !lost.has(problem.pointer)));
  if (problems.length > 0) throw argumentsFailure(tool, schema, problems);
  return args;
}
