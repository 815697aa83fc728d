/** Tools as a provider is told of them: those of servers, and the host's own (search, resources) with what holds for each. */
import type { AnyFailure, Problem } from '../base/failure.ts';
import { sha256 } from '../base/hash.ts';
import { canonicalJson, isObject, member } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Tool } from '../mcp/types.ts';
import { signature } from './input-schema.ts';
import { invalidArguments } from './refusals.ts';
import type { NativeKey } from './rule-match.ts';
import { checkSchema } from './schema.ts';
import type { OfferedTool, ToolEntry } from './types.ts';

export type ResourceToolId = 'list_mcp_resources' | 'list_mcp_resource_templates' | 'read_mcp_resource';
export type NativeToolId = 'tool_search' | ResourceToolId;

/** Every tool of the host only reads and may be repeated. `exclusive`: nothing runs beside it. */
export interface NativeTraits { readonly permissionKey: NativeKey; readonly effect: 'read_only'; readonly replay: 'safe'; readonly concurrency: 'exclusive' | 'parallel' }

interface NativeTool extends NativeTraits { readonly title: string; readonly description: string; readonly inputSchema: JsonObject }

const SHARED = { effect: 'read_only', replay: 'safe' } as const;
const SERVER_OR_ALL = { type: ['string', 'null'], description: 'Name of one server; left out, null or empty: all of them' };
const closed = (properties: JsonObject, required: readonly string[]): JsonObject => ({ type: 'object', properties, required, additionalProperties: false });

const NATIVE: Readonly<Record<NativeToolId, NativeTool>> = {
  tool_search: {
    ...SHARED, permissionKey: 'tool_search', concurrency: 'exclusive', title: 'Search tools',
    description: 'Finds tools that are not shown yet, by words of the task at hand. What it finds can be called from the next step on, not in the message that searches.',
    inputSchema: closed({
      query: { type: 'string', minLength: 1, description: 'Words that say what is to be done, or the name of a tool or service' },
      limit: { type: 'integer', minimum: 1, maximum: limits.searchResultsMax, default: limits.searchResults, description: 'The most tools to find' },
    }, ['query']),
  },
  list_mcp_resources: {
    ...SHARED, permissionKey: 'read', concurrency: 'parallel', title: 'List resources',
    description: 'Lists the resources (documents, records, files) that servers offer to read, with the URI of each.',
    inputSchema: closed({ server: SERVER_OR_ALL }, []),
  },
  list_mcp_resource_templates: {
    ...SHARED, permissionKey: 'read', concurrency: 'parallel', title: 'List resource templates',
    description: 'Lists the URI templates of resources that servers offer; filled in, a template is a URI to read.',
    inputSchema: closed({ server: SERVER_OR_ALL }, []),
  },
  read_mcp_resource: {
    ...SHARED, permissionKey: 'read', concurrency: 'parallel', title: 'Read a resource',
    description: 'Reads one resource of a server by its URI.',
    inputSchema: closed({ server: { type: 'string', minLength: 1, description: 'Name of the server' }, uri: { type: 'string', minLength: 1, description: 'URI as the lists show it, or a template filled in' } }, ['server', 'uri']),
  },
};

export const resourceToolIds: readonly ResourceToolId[] = ['list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource'];

export function isNativeTool(id: string): id is NativeToolId {
  return Object.hasOwn(NATIVE, id);
}

export function nativeTraits(id: NativeToolId): NativeTraits {
  const { permissionKey, effect, replay, concurrency } = NATIVE[id];
  return { permissionKey, effect, replay, concurrency };
}

/**
 * A tool of the host. `description` replaces its own and is not part of its identity: the services that `tool_search` tells of come and
 * go, and what an earlier search was asked stays the same question.
 */
export function offeredNative(id: NativeToolId, description = NATIVE[id].description): OfferedTool {
  const own = NATIVE[id];
  return { id, description, inputSchema: own.inputSchema, schemaId: schemaIdOf(id, own.description, own.inputSchema), source: { kind: 'native' } };
}

/** What `tool_search` says of itself before it tells of services. */
export const searchIntroduction: string = NATIVE.tool_search.description;

/** The host's own tools as entries, for the one who is asked about a call and for the record of it. */
export function nativeEntry(id: NativeToolId, args: JsonObject = {}): ToolEntry {
  const { title, description, inputSchema } = NATIVE[id], server = member(args, 'server');
  return {
    id, tool: id, server: typeof server === 'string' && server !== '' ? server : 'zuno-lite', fingerprint: offeredNative(id).schemaId,
    definition: { name: id, title, description, inputSchema, annotations: { readOnlyHint: true } }, origin: { file: 'built-in', layer: 'built-in' },
  };
}

// ---- tools of servers

/** What a server says of its tool: the description, else the title. */
export function offeredDescription({ description, title, annotations }: Tool): string {
  return description ?? title ?? annotations?.title ?? '';
}

/** Identity of what a model decides by: SHA-256 over the canonical JSON of id, description and input schema. */
function schemaIdOf(id: string, description: string, inputSchema: JsonObject): string {
  return sha256(canonicalJson({ id, description, inputSchema }), 'hex');
}

/** A server's tool. Its schema identity is worked out when someone asks. */
export function offered({ id, server, tool, definition }: ToolEntry): OfferedTool {
  const { inputSchema } = definition, description = offeredDescription(definition), title = definition.title ?? definition.annotations?.title;
  let known: string | undefined;
  return {
    id, description, inputSchema, source: { kind: 'server', server, tool, ...(title === undefined ? {} : { title }) },
    get schemaId() { return (known ??= schemaIdOf(id, description, inputSchema)); },
  };
}

/** The same for entries that come again step after step: each is put together once. */
export function createOffers(): (entry: ToolEntry) => OfferedTool {
  const known = new WeakMap<ToolEntry, OfferedTool>();
  return (entry) => {
    let tool = known.get(entry);
    if (tool === undefined) known.set(entry, (tool = offered(entry)));
    return tool;
  };
}

// ---- arguments

/** `query` is trimmed. */
export interface SearchArguments { readonly query: string; readonly limit: number }
/** Without `server`: all of them. */
export interface ListArguments { readonly server?: string }
export interface ReadArguments { readonly server: string; readonly uri: string }

/** @throws {Failure} ARGUMENTS_INVALID */
export function searchArguments(args: unknown): SearchArguments {
  const { query, limit } = checked('tool_search', args) as unknown as { readonly query: string; readonly limit?: number };
  const trimmed = query.trim();
  if (trimmed === '') throw refuse('tool_search', [{ pointer: '/query', message: 'must not be empty' }]);
  return { query: trimmed, limit: limit ?? limits.searchResults };
}

/** @throws {Failure} ARGUMENTS_INVALID */
export function listArguments(id: 'list_mcp_resources' | 'list_mcp_resource_templates', args: unknown): ListArguments {
  const server = member(checked(id, args), 'server');
  return typeof server === 'string' && server !== '' ? { server } : {};
}

/** @throws {Failure} ARGUMENTS_INVALID */
export function readArguments(args: unknown): ReadArguments {
  const { server, uri } = checked('read_mcp_resource', args) as unknown as ReadArguments;
  return { server, uri };
}

/** Null and undefined stand for an empty object. */
function checked(id: NativeToolId, given: unknown): JsonObject {
  const args = given ?? {};
  if (!isObject(args)) throw refuse(id, [{ pointer: '', message: 'must be an object' }]);
  const check = checkSchema(NATIVE[id].inputSchema, args);
  if ('unusable' in check) throw new TypeError(`The input schema of ${id} cannot be used: ${check.unusable}`);
  if (!check.valid) throw refuse(id, check.problems);
  return args;
}

function refuse(id: NativeToolId, problems: readonly Problem[]): AnyFailure {
  return invalidArguments(nativeEntry(id), problems, signature({ name: id, inputSchema: NATIVE[id].inputSchema }));
}
