/**
 * Arguments that a tool wants mirrored into HTTP headers: `x-mcp-header` in its input schema (MCP 2026-07-28, Streamable HTTP).
 * A tool with an annotation that is not legal must not be offered over HTTP; the others are not its hostages.
 */
import { encodeHeaderValue } from '../base/header-value.ts';
import { isObject, member, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';

/** One mirrored argument: where it stands, of what type it is, and the header it goes to. */
export interface HeaderParameter { readonly path: readonly string[]; readonly type: 'string' | 'integer' | 'boolean'; readonly header: string }

export type HeaderParameters = { readonly kind: 'legal'; readonly parameters: readonly HeaderParameter[] } | { readonly kind: 'illegal'; readonly reason: string };

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const KEY = 'x-mcp-header';

/** Finds the annotations. Legal ones are on string, integer or boolean properties reached through `properties` alone. */
export function headerParameters(schema: JsonObject): HeaderParameters {
  const parameters: HeaderParameter[] = [];
  const names = new Set<string>();
  let reason: string | undefined, visits = 0;

  function walk(node: unknown, path: readonly string[] | undefined, depth: number): void {
    if (reason !== undefined) return;
    if (++visits > limits.schemaVisits || depth > limits.schemaDepth) { reason = 'its input schema is too deep to look through'; return; }
    if (Array.isArray(node)) { for (const item of node) walk(item, undefined, depth + 1); return; }
    if (!isObject(node)) return;
    if (Object.hasOwn(node, KEY)) {
      reason = fault(node, path, names);
      if (reason !== undefined) return;
      const name = node[KEY] as string;
      names.add(name.toLowerCase());
      parameters.push({ path: path!, type: node['type'] as HeaderParameter['type'], header: `Mcp-Param-${name}` });
    }
    for (const [key, value] of Object.entries(node)) {
      if (BY_NAME.has(key) && isObject(value)) {
        const reachable = key === 'properties' ? path : undefined;
        for (const [property, inner] of Object.entries(value)) walk(inner, reachable === undefined ? undefined : [...reachable, property], depth + 1);
      } else if (!DATA.has(key)) {
        walk(value, undefined, depth + 1);
      }
    }
  }
  walk(schema, [], 0);
  return reason === undefined ? { kind: 'legal', parameters } : { kind: 'illegal', reason };
}

/** Keywords whose value holds schemas by names of the server's choice: a property may well be called like a keyword. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose value is data and not a schema. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', KEY]);

function fault(node: JsonObject, path: readonly string[] | undefined, names: ReadonlySet<string>): string | undefined {
  const name = node[KEY];
  const shown = JSON.stringify(name);
  if (typeof name !== 'string' || name === '') return `${KEY} is not a non-empty string`;
  if (!TOKEN.test(name)) return `${KEY} ${shown} has characters that a header name cannot have`;
  if (names.has(name.toLowerCase())) return `${KEY} ${shown} is used twice`;
  if (path === undefined || path.length === 0) return `${KEY} ${shown} stands where no single argument is`;
  if (!['string', 'integer', 'boolean'].includes(node['type'] as string)) return `${KEY} ${shown} is on a property that is no string, integer or boolean`;
  return undefined;
}

/** The headers for one call. Absent and null arguments give none; values of another JSON type are left for the server to refuse. */
export function parameterHeaders(parameters: readonly HeaderParameter[], args: JsonObject): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const { path, type, header } of parameters) {
    let value: unknown = args;
    for (const key of path) value = isObject(value) ? member(value, key) : undefined;
    if (type === 'string' && typeof value === 'string') headers[header] = encodeHeaderValue(value);
    else if (type === 'boolean' ? typeof value === 'boolean' : type === 'integer' && Number.isSafeInteger(value)) headers[header] = String(value);
  }
  return Object.keys(headers).length === 0 ? undefined : headers;
}
