/** What the HTTP headers of a stateless request say must be what its body says (MCP 2026-07-28, Streamable HTTP). */
import { isObject, member, type JsonObject } from '../base/json.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { HeaderLookup } from '../jsonrpc/serving.ts';
import { headerParameters, type HeaderParameter } from './header-parameters.ts';
import { MalformedRequest } from './server-fault.ts';

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri', 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId',
};

const mismatch = (words: string): MalformedRequest => new MalformedRequest(codes.headerMismatch, `Header mismatch: ${words}`);

export function checkVersionHeader(header: HeaderLookup, revision: string): void {
  const value = header('mcp-protocol-version');
  if (value === undefined) throw mismatch('MCP-Protocol-Version is missing');
  if (value !== revision) throw mismatch('MCP-Protocol-Version is not the version of the body');
}

export function checkStandardHeaders(header: HeaderLookup, method: string, params: JsonObject): void {
  const said = header('mcp-method');
  if (said === undefined) throw mismatch('Mcp-Method is missing');
  if (said !== method) throw mismatch('Mcp-Method is not the method of the body');
  const key = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined;
  const value = key === undefined ? undefined : params[key];
  if (typeof value !== 'string') return;
  const name = header('mcp-name');
  if (name === undefined) throw mismatch(`Mcp-Name is missing, though the body has ${key}`);
  if (decodeHeaderValue(name) !== value) throw mismatch(`Mcp-Name is not the ${key} of the body`);
}

/** `Mcp-Param-*` of a tool call. A schema whose annotations are not legal is one that no client mirrors. */
export function checkParameterHeaders(header: HeaderLookup, schema: JsonObject, args: JsonObject): void {
  const found = headerParameters(schema);
  if (found.kind === 'illegal') return;
  for (const parameter of found.parameters) checkParameter(header, parameter, args);
}

function checkParameter(header: HeaderLookup, { path, type, header: name }: HeaderParameter, args: JsonObject): void {
  let value: unknown = args;
  for (const key of path) value = isObject(value) ? member(value, key) : undefined;
  const raw = header(name.toLowerCase());
  if (value === undefined || value === null) {
    if (raw !== undefined) throw mismatch(`${name} is there, but its argument is not`);
    return;
  }
  // A value of another type has no header form; the tool's schema refuses it.
  if (typeof value !== (type === 'integer' ? 'number' : type)) return;
  if (raw === undefined) throw mismatch(`${name} is missing, though its argument is there`);
  const text = decodeHeaderValue(raw);
  const same = text !== undefined && (typeof value === 'number' ? /^-?\d+(?:\.\d+)?$/.test(text) && Number(text) === value : text === String(value));
  if (!same) throw mismatch(`${name} is not its argument`);
}

/** Base64 only in its canonical form and of valid UTF-8; `undefined` for what pretends to be. Without both marks a value is literal. */
export function decodeHeaderValue(raw: string): string | undefined {
  const value = raw.replace(/^[ \t]+|[ \t]+$/g, '');
  if (!(value.length >= 11 && value.startsWith('=?base64?') && value.endsWith('?='))) return value;
  const payload = value.slice(9, -2);
  const bytes = Buffer.from(payload, 'base64');
  if (bytes.toString('base64') !== payload) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
