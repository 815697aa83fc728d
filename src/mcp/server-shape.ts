/** The members that one era has and the other does not: added or taken away at the edge, everything else passes as it is (MCP.md, gateway rules). */
import { isObject, type JsonObject } from '../base/json.ts';
import type { Implementation } from './types.ts';

export const META = 'io.modelcontextprotocol/';

/** Results of these carry caching hints (MCP 2026-07-28, caching). */
const cacheable: ReadonlySet<string> = new Set(['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read']);

/** Adds what every modern result has; what the handler already said of it stands. */
export function modernResult(method: string, result: JsonObject, serverInfo: Implementation): JsonObject {
  const type = typeof result['resultType'] === 'string' ? result['resultType'] : 'complete';
  const meta = isObject(result['_meta']) ? result['_meta'] : {};
  const hinted = type === 'complete' && cacheable.has(method);
  const { ttlMs, cacheScope } = result;
  return {
    ...(method === 'tools/list' ? withTools(result, withoutExecution) : result), resultType: type,
    ...(hinted ? { ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? Math.floor(ttlMs) : 0, cacheScope: cacheScope === 'public' ? 'public' : 'private' } : {}),
    _meta: Object.hasOwn(meta, `${META}serverInfo`) ? meta : { ...meta, [`${META}serverInfo`]: serverInfo },
  };
}

/** Takes away what older clients do not know, or know otherwise. */
export function legacyResult(method: string, result: JsonObject): JsonObject {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, requestState: _state, inputRequests: _requests, ...rest } = result;
  if (method === 'tools/list') return withTools(rest, withObjectOutput);
  if (method !== 'tools/call' || !Object.hasOwn(rest, 'structuredContent') || isObject(rest['structuredContent'])) return rest;
  const { structuredContent, ...call } = rest;
  const { content } = call;
  return { ...call, content: Array.isArray(content) && content.length > 0 ? content : [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

/** The tasks of 2025-11-25 are no capability of the modern era. */
export function modernCapabilities({ tasks: _tasks, ...rest }: JsonObject): JsonObject {
  return rest;
}

function withTools(result: JsonObject, change: (tool: JsonObject) => JsonObject): JsonObject {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  return { ...result, tools: tools.map((tool: unknown) => (isObject(tool) ? change(tool) : tool)) };
}

function withoutExecution(tool: JsonObject): JsonObject {
  if (!Object.hasOwn(tool, 'execution')) return tool;
  const { execution: _execution, ...rest } = tool;
  return rest;
}

function withObjectOutput(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || (isObject(outputSchema) && outputSchema['type'] === 'object') ? tool : rest;
}
