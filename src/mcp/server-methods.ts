/** The methods both eras share: what each needs declared, how its parameters are believed, and whose handler answers it. */
import { isObject, type JsonObject } from '../base/json.ts';
import { invalidParams, methodNotFound } from './server-fault.ts';
import type { Handled, Served, ServedContext } from './server-types.ts';

interface Method {
  readonly capability: string;
  /** `undefined` when the program has no handler. */
  run(served: Served, params: JsonObject, context: ServedContext): Handled | undefined;
}

const methods: Readonly<Record<string, Method>> = {
  'tools/list': { capability: 'tools', run: (served, params, context) => served.listTools?.(cursorOf(params), context) },
  'tools/call': { capability: 'tools', run: (served, params, context) => served.callTool?.(text(params, 'name'), map(params, 'arguments'), context) },
  'resources/list': { capability: 'resources', run: (served, params, context) => served.listResources?.(cursorOf(params), context) },
  // Declared resources without templates are an empty list: a declared feature's lists must work.
  'resources/templates/list': { capability: 'resources', run: (served, params, context) => (served.listResourceTemplates === undefined ? { resourceTemplates: [] } : served.listResourceTemplates(cursorOf(params), context)) },
  'resources/read': { capability: 'resources', run: (served, params, context) => served.readResource?.(text(params, 'uri'), context) },
  'prompts/list': { capability: 'prompts', run: (served, params, context) => served.listPrompts?.(cursorOf(params), context) },
  'prompts/get': { capability: 'prompts', run: (served, params, context) => served.getPrompt?.(text(params, 'name'), map(params, 'arguments'), context) },
  'completion/complete': { capability: 'completions', run: (served, params, context) => { map(params, 'ref', true); map(params, 'argument', true); return served.complete?.(params, context); } },
};

/** Whether it can be asked of this program at all. */
export function isServed(served: Served, method: string): boolean {
  if (Object.hasOwn(methods, method)) return served.capabilities[methods[method]!.capability] !== undefined;
  return served.methods !== undefined && Object.hasOwn(served.methods, method);
}

/** Runs a method that is served. Throws what is wrong with its parameters. */
export async function runMethod(served: Served, method: string, params: JsonObject, context: ServedContext): Promise<JsonObject> {
  const result = await (Object.hasOwn(methods, method) ? methods[method]!.run(served, params, context) : served.methods?.[method]?.(params, context));
  if (result === undefined) throw methodNotFound(method);
  return result;
}

function text(params: JsonObject, key: string): string {
  const value = params[key];
  if (typeof value !== 'string') throw invalidParams(`Invalid params: ${key} is not a string`);
  return value;
}

function map(params: JsonObject, key: string, required = false): JsonObject {
  const value = params[key];
  if (value === undefined && !required) return {};
  if (!isObject(value)) throw invalidParams(`Invalid params: ${key} is not an object`);
  return value;
}

/** Presence decides: an empty cursor is one. */
function cursorOf(params: JsonObject): string | undefined {
  const { cursor } = params;
  if (cursor === undefined || typeof cursor === 'string') return cursor;
  throw invalidParams('Invalid params: cursor is not a string');
}
