/**
 * References inside configured text. Parsing happens when a file is read; the value comes in only at connect time, so that a
 * listing can show no secret. Zuno: `{env:NAME}`, `{file:PATH}`. Other clients' files also: `${NAME}`, `${NAME:-default}`, `${env:NAME}`.
 * What an editor would ask its user for (`${input:key}`) cannot be filled in here and is refused with advice.
 */
import * as path from 'node:path';
import { Failure, type Origin } from '../base/failure.ts';
import { readText } from '../base/files.ts';
import { isObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Reference, Template } from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface TemplateContext {
  /** Directory of the file that holds the text: relative `{file:}` paths start there. */
  readonly directory: string;
  readonly home: string;
  /** `zuno` knows the braces only; `dollar` knows both forms. */
  readonly syntax: 'zuno' | 'dollar';
}

// No repeated group can match a brace, so that each form is found or given up in one step forward.
const BRACES = /\{(env|file):([^{}]+)\}/g;
const BOTH = /\{(env|file):([^{}]+)\}|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|\$\{(input|command|config):([^{}]*)\}/g;

/** Splits text into literal parts and references. Never fails: what is no reference is text. */
export function parseTemplate(source: string, context: TemplateContext): Template {
  const parts: (string | Reference)[] = [];
  let end = 0;
  for (const match of source.matchAll(context.syntax === 'zuno' ? BRACES : BOTH)) {
    const [token, form, argument, name, fallback, asked, what] = match;
    if (match.index > end) parts.push(source.slice(end, match.index));
    end = match.index + token.length;
    if (form === 'file') parts.push({ kind: 'file', path: resolveFile(argument!.trim(), context), token });
    else if (form === 'env') parts.push({ kind: 'env', name: argument!.trim(), token });
    else if (asked !== undefined) parts.push({ kind: 'foreign', token, advice: adviceFor(asked, what!) });
    else parts.push({ kind: 'env', name: name!, token, ...(fallback === undefined ? {} : { default: fallback }) });
  }
  if (end < source.length) parts.push(source.slice(end));
  return { parts, source };
}

/** What to write in place of something that only an editor knows. */
function adviceFor(asked: string, what: string): string {
  const variable = what.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '').toUpperCase() || 'NAME';
  return `${asked === 'input' ? 'an editor asks its user for it' : 'only an editor can fill it in'}; set a variable and write {env:${variable}} in its place`;
}

function resolveFile(written: string, { directory, home }: TemplateContext): string {
  if (written === '~') return home;
  if (/^~[/\\]/.test(written)) return path.resolve(home, written.slice(2));
  return path.resolve(directory, written);
}

/** Text that needs no substitution. */
export function literal(text: string): Template {
  return { parts: text === '' ? [] : [text], source: text };
}

export function references(template: Template): readonly Reference[] {
  return template.parts.filter((part) => typeof part !== 'string');
}

export interface ExpandContext {
  readonly environment: Environment;
  /** Dotted path of the configured key, for messages: `mcp.docs.headers.Authorization`. */
  readonly key: string;
  readonly origin?: Origin | undefined;
}

/**
 * The text with every reference replaced, once (what comes in is not searched again). A variable that is unset or empty and has no
 * default, and a file that is missing or empty, fail with VARIABLE_UNSET: an empty credential is never sent.
 */
export function expand(template: Template, context: ExpandContext): string {
  return template.parts.map((part) => (typeof part === 'string' ? part : resolve(part, context))).join('');
}

function resolve(reference: Reference, context: ExpandContext): string {
  switch (reference.kind) {
    case 'env': return fromEnvironment(reference, context);
    case 'file': return fromFile(reference, context);
    case 'foreign': throw unset(reference.token, reference.advice, `Change ${context.key}`, context);
  }
}

function fromEnvironment(reference: Reference & { kind: 'env' }, context: ExpandContext): string {
  const value = Object.hasOwn(context.environment, reference.name) ? context.environment[reference.name] : undefined;
  if (value !== undefined && value !== '') return value;
  if (reference.default !== undefined) return reference.default;
  const state = value === undefined ? 'is not set' : 'is empty';
  throw unset(reference.token, `the environment variable ${reference.name} ${state}`, `Set ${reference.name}, or change ${context.key}`, context);
}

function fromFile(reference: Reference & { kind: 'file' }, context: ExpandContext): string {
  let text: string | undefined;
  try {
    text = readText(reference.path, limits.configFileBytes)?.trim();
  } catch (error) {
    throw unset(reference.token, error instanceof Error ? error.message : String(error), `Make ${reference.path} readable, or change ${context.key}`, context, error);
  }
  if (text !== undefined && text !== '') return text;
  throw unset(reference.token, `the file ${reference.path} ${text === undefined ? 'does not exist' : 'is empty'}`, `Write the value to ${reference.path}, or change ${context.key}`, context);
}

function unset(token: string, problem: string, hint: string, { key, origin }: ExpandContext, cause?: unknown): Failure {
  return new Failure('VARIABLE_UNSET', `Cannot expand "${token}" in ${key}: ${problem}`, { stage: 'config', details: { token, key }, origin, hint, cause });
}

/** Every text inside a value, expanded: for settings objects such as `oauth`, which stay as written until they are needed. */
export function expandTexts(value: unknown, template: TemplateContext, context: ExpandContext): unknown {
  if (typeof value === 'string') return expand(parseTemplate(value, template), context);
  if (Array.isArray(value)) return value.map((item) => expandTexts(item, template, context));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expandTexts(item, template, { ...context, key: `${context.key}.${key}` })]));
}
