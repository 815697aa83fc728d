/**
 * Where answers of servers are believed or refused. Strict about shape, lenient about what real servers leave out: one bad
 * item of a list costs that item, by name; hints that are missing get the value the specification gives them.
 */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { isObject, isStringArray, type JsonObject } from '../base/json.ts';
import { shorten } from '../base/text.ts';
import type {
  CallToolResult, Completion, ContentBlock, Dropped, GetPromptResult, Implementation, Prompt, PromptArgument, ReadResourceResult,
  Resource, ResourceContents, ResourceTemplate, ServerCapabilities, Tool,
} from './types.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly dropped: readonly Dropped[];
  readonly nextCursor: string | undefined;
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

export function refuse(method: string, what: string, value?: unknown): AnyFailure {
  const excerpt = value === undefined ? undefined : shorten(JSON.stringify(value) ?? String(value), 256);
  return new Failure('PROTOCOL_VIOLATION', `Cannot use the answer to ${method}: ${what}`, {
    stage: 'call', details: excerpt === undefined ? {} : { excerpt }, hint: 'This is a fault of the server; its author can fix it',
  }) as AnyFailure;
}

export function expectObject(method: string, value: unknown): JsonObject {
  if (!isObject(value)) throw refuse(method, 'the result is not an object', value);
  return value;
}

/** Where what was read keeps the answer it came from. Nothing that copies, compares or prints it sees this. */
const RAW = Symbol('raw');

/** The answer as the server sent it, of what `readCallResult`, `readReadResult`, `readPromptResult` and `readCompletion` made of it. */
export const rawOf = (read: object): JsonObject | undefined => (read as { readonly [RAW]?: JsonObject })[RAW];

function madeFrom<T extends object>(raw: JsonObject, read: T): T {
  return Object.defineProperty(read, RAW, { value: raw });
}

/** In place of a result: the server asks for input first. */
export const questionInstead = {
  call: (raw: JsonObject): CallToolResult => madeFrom(raw, { content: [], isError: false }),
  read: (raw: JsonObject): ReadResourceResult => madeFrom(raw, { contents: [] }),
  prompt: (raw: JsonObject): GetPromptResult => madeFrom(raw, { messages: [] }),
};

// ---- lists

type Reader<T> = (item: JsonObject) => T | string;

/** One page of any list. `read` believes an item or says what is wrong with it. */
export function readPage<T>(method: string, key: string, result: JsonObject, read: Reader<T>): Page<T> {
  const list = result[key];
  if (!Array.isArray(list)) throw refuse(method, `"${key}" is not an array`, list ?? null);
  const items: T[] = [], dropped: Dropped[] = [];
  for (let i = 0; i < list.length; i++) {
    const item: unknown = list[i];
    const made = isObject(item) ? read(item) : 'it is not an object';
    if (typeof made === 'string') dropped.push({ name: nameOf(item, i), reason: made }); else items.push(made);
  }
  const cursor = result['nextCursor'];
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') throw refuse(method, '"nextCursor" is not a string', cursor);
  const ttl = result['ttlMs'];
  return {
    items, dropped, nextCursor: cursor ?? undefined,
    ttlMs: typeof ttl === 'number' && ttl > 0 ? Math.min(ttl, 86_400_000) : 0,
    cacheScope: result['cacheScope'] === 'public' ? 'public' : 'private',
  };
}

function nameOf(item: unknown, index: number): string {
  const name = isObject(item) ? item['name'] ?? item['uri'] : undefined;
  return typeof name === 'string' && name !== '' ? shorten(name, 128) : `#${index + 1}`;
}

const EMPTY_SCHEMA: JsonObject = Object.freeze({ type: 'object', properties: Object.freeze({}) });

/** Well-formed tools are kept as the very object that came: 10,000 of them cost no copies. */
function readTool(item: JsonObject): Tool | string {
  const name = item['name'], schema = item['inputSchema'];
  if (typeof name !== 'string' || name === '') return 'its name is not a non-empty string';
  const typed = isObject(schema) ? typedSchema(schema) : schema === undefined || schema === null ? EMPTY_SCHEMA : undefined;
  if (typed === undefined) return isObject(schema) ? `its inputSchema is for ${shorten(JSON.stringify(schema['type']), 64)}, not for an object` : 'its inputSchema is not an object';
  const bad = optionalStrings(item, ['title', 'description']) ?? (badObject(item['outputSchema']) ? 'outputSchema' : badObject(item['annotations']) ? 'annotations' : undefined);
  if (typed === schema && bad === undefined) return item as unknown as Tool;
  const copy: Record<string, unknown> = { ...item, inputSchema: typed };
  for (const key of ['title', 'description']) if (typeof copy[key] !== 'string') delete copy[key];
  for (const key of ['outputSchema', 'annotations']) if (!isObject(copy[key])) delete copy[key];
  return copy as unknown as Tool;
}

/** A root without `type` means an object, since arguments are one; a root of another type fits no call at all. */
function typedSchema(schema: JsonObject): JsonObject | undefined {
  const type = schema['type'];
  if (type === 'object') return schema;
  return type === undefined || type === null || (Array.isArray(type) && type.includes('object')) ? { ...schema, type: 'object' } : undefined;
}

function badObject(value: unknown): boolean {
  return value !== undefined && !isObject(value);
}
function optionalStrings(item: JsonObject, keys: readonly string[]): string | undefined {
  for (const key of keys) if (item[key] !== undefined && typeof item[key] !== 'string') return key;
  return undefined;
}
/** Drops optional members of a wrong type instead of the whole item. */
function cleaned<T>(item: JsonObject, strings: readonly string[]): T {
  if (optionalStrings(item, strings) === undefined) return item as unknown as T;
  const copy: Record<string, unknown> = { ...item };
  for (const key of strings) if (typeof copy[key] !== 'string') delete copy[key];
  return copy as unknown as T;
}

function readResourceItem(item: JsonObject): Resource | string {
  if (typeof item['uri'] !== 'string' || item['uri'] === '') return 'its uri is not a non-empty string';
  const named = typeof item['name'] === 'string' ? item : { ...item, name: item['uri'] };
  return cleaned<Resource>(named, ['title', 'description', 'mimeType']);
}
function readTemplateItem(item: JsonObject): ResourceTemplate | string {
  if (typeof item['uriTemplate'] !== 'string' || item['uriTemplate'] === '') return 'its uriTemplate is not a non-empty string';
  const named = typeof item['name'] === 'string' ? item : { ...item, name: item['uriTemplate'] };
  return cleaned<ResourceTemplate>(named, ['title', 'description', 'mimeType']);
}
function readPromptItem(item: JsonObject): Prompt | string {
  if (typeof item['name'] !== 'string' || item['name'] === '') return 'its name is not a non-empty string';
  const list = item['arguments'];
  if (list === undefined) return cleaned<Prompt>(item, ['title', 'description']);
  const args = Array.isArray(list) ? list.filter((arg): arg is PromptArgument => isObject(arg) && typeof arg['name'] === 'string') : [];
  return { ...cleaned<Prompt>(item, ['title', 'description']), arguments: args };
}

export const readTools = (result: JsonObject): Page<Tool> => readPage('tools/list', 'tools', result, readTool);
export const readResources = (result: JsonObject): Page<Resource> => readPage('resources/list', 'resources', result, readResourceItem);
export const readTemplates = (result: JsonObject): Page<ResourceTemplate> => readPage('resources/templates/list', 'resourceTemplates', result, readTemplateItem);
export const readPrompts = (result: JsonObject): Page<Prompt> => readPage('prompts/list', 'prompts', result, readPromptItem);

// ---- content

function readBlock(block: unknown): ContentBlock {
  if (!isObject(block)) return { type: 'unknown', block };
  switch (block['type']) {
    case 'text': return typeof block['text'] === 'string' ? block as unknown as ContentBlock : { type: 'unknown', block };
    case 'image': case 'audio': return typeof block['data'] === 'string' && typeof block['mimeType'] === 'string' ? block as unknown as ContentBlock : { type: 'unknown', block };
    case 'resource_link': return typeof block['uri'] === 'string' ? (typeof block['name'] === 'string' ? block : { ...block, name: block['uri'] }) as unknown as ContentBlock : { type: 'unknown', block };
    case 'resource': {
      const resource = readContents(block['resource']);
      return resource === undefined ? { type: 'unknown', block } : (resource === block['resource'] ? block : { ...block, resource }) as unknown as ContentBlock;
    }
    default: return { type: 'unknown', block };
  }
}

function readContents(value: unknown): ResourceContents | undefined {
  if (!isObject(value) || typeof value['uri'] !== 'string') return undefined;
  return typeof value['text'] === 'string' || typeof value['blob'] === 'string' ? cleaned<ResourceContents>(value, ['mimeType']) : undefined;
}

/** The very array that came where every block is well-formed, which is nearly always. */
function readBlocks(blocks: readonly unknown[]): readonly ContentBlock[] {
  for (let i = 0; i < blocks.length; i++) if (readBlock(blocks[i]) !== blocks[i]) return blocks.map(readBlock);
  return blocks as readonly ContentBlock[];
}

/** `tools/call`. A missing content array counts as empty; blocks we do not know are kept, never dropped. */
export function readCallResult(result: JsonObject): CallToolResult {
  const content = result['content'];
  if (content !== undefined && content !== null && !Array.isArray(content)) throw refuse('tools/call', '"content" is not an array', content);
  const made: { content: readonly ContentBlock[]; isError: boolean; structuredContent?: unknown; _meta?: JsonObject } = { content: readBlocks((content ?? []) as readonly unknown[]), isError: result['isError'] === true };
  if ('structuredContent' in result) made.structuredContent = result['structuredContent'];
  const meta = result['_meta'];
  if (isObject(meta)) made._meta = meta;
  return madeFrom(result, made);
}

export function readReadResult(result: JsonObject): ReadResourceResult {
  const contents = result['contents'];
  if (!Array.isArray(contents)) throw refuse('resources/read', '"contents" is not an array', contents ?? null);
  return madeFrom(result, {
    contents: contents.map((item: unknown) => {
      const read = readContents(item);
      if (read === undefined) throw refuse('resources/read', 'an entry has no uri, or neither text nor blob', item);
      return read;
    }),
  });
}

export function readPromptResult(result: JsonObject): GetPromptResult {
  const messages = result['messages'], description = result['description'];
  if (!Array.isArray(messages)) throw refuse('prompts/get', '"messages" is not an array', messages ?? null);
  return madeFrom(result, {
    ...(typeof description === 'string' ? { description } : {}),
    messages: messages.map((item: unknown) => {
      const message = expectObject('prompts/get', item);
      return { role: typeof message['role'] === 'string' ? message['role'] : 'user', content: readBlock(message['content']) };
    }),
  });
}

export function readCompletion(result: JsonObject): Completion {
  const completion = result['completion'];
  if (!isObject(completion) || !isStringArray(completion['values'])) throw refuse('completion/complete', '"completion.values" is not a list of strings', completion ?? null);
  const { values, total, hasMore } = completion;
  return madeFrom(result, { values: values as readonly string[], ...(typeof total === 'number' ? { total } : {}), ...(typeof hasMore === 'boolean' ? { hasMore } : {}) });
}

// ---- who the server is

export function readImplementation(value: unknown): Implementation | undefined {
  if (!isObject(value) || typeof value['name'] !== 'string') return undefined;
  return (typeof value['version'] === 'string' ? value : { ...value, version: '' }) as unknown as Implementation;
}

/** Only members that are objects count as declared (`null` and `false` do not). */
export function readCapabilities(value: unknown): ServerCapabilities {
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, v]) => isObject(v))) : {};
}
