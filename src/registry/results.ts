/** What a tool returned, as an ordered list of parts for a model or a terminal. Nothing a server sends vanishes without a word. */
import { isObject, parseJson } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { byteSize } from '../base/text.ts';
import type { CallToolResult, ContentBlock, ResourceContents } from '../mcp/types.ts';
import { decodedBytes, examineImage, mediaTypeOf, stripWhitespace } from './images.ts';

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** An attachment of an allowed type. `data` is base64 without whitespace; `inline` says that it is small enough to travel in a message. */
  | { readonly kind: 'image'; readonly text: string; readonly mediaType: string; readonly data: string; readonly bytes: number; readonly inline: boolean }
  /** Bytes that a model is only told of (audio, blobs of resources); `text` is the note. */
  | { readonly kind: 'binary'; readonly text: string; readonly mediaType: string; readonly data: string; readonly bytes: number };

export interface Rendered { readonly parts: readonly Part[]; readonly isError: boolean }

export const ERROR_PREFIX = 'MCP tool returned an error:';
/** A result whose `_meta` says so brings its own words of error: no prefix. */
const PRESENTATION = 'zcode/errorPresentation';

/**
 * Content blocks in the server's order (empty texts say nothing), then the structured content unless a text block already is that JSON.
 * A result without any content is shown as the JSON that it is, when there is more in it than emptiness.
 */
export function renderResult(result: CallToolResult): Rendered {
  const parts: Part[] = result.content.flatMap(renderBlock);
  const structured = structuredText(result);
  if (structured !== undefined) parts.push({ kind: 'text', text: structured });
  if (parts.length === 0) parts.push({ kind: 'text', text: bareText(result) });
  return { parts: result.isError && result._meta?.[PRESENTATION] !== 'message-only' ? withPrefix(parts) : parts, isError: result.isError };
}

/** A result of nothing but `_meta` or an empty structure still says that. */
function bareText({ content, structuredContent, _meta }: CallToolResult): string {
  if (structuredContent === undefined && (_meta === undefined || Object.keys(_meta).every((key) => key === PRESENTATION))) return '';
  return JSON.stringify({ content, structuredContent, _meta });
}

function withPrefix(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  if (first?.kind !== 'text') return [{ kind: 'text', text: ERROR_PREFIX }, ...parts];
  return [{ kind: 'text', text: first.text === '' ? ERROR_PREFIX : `${ERROR_PREFIX}\n${first.text}` }, ...rest];
}

const text = (value: string): Part[] => [{ kind: 'text', text: value }];

function renderBlock(block: ContentBlock): Part[] {
  switch (block.type) {
    case 'text': return block.text === '' ? [] : text(block.text);
    case 'image': return renderImage(block.data, block.mimeType);
    case 'audio': return [binary('audio content', block.data, block.mimeType)];
    case 'resource_link': return text(renderLink(block));
    case 'resource': return renderResource(block.resource);
    case 'unknown': return renderUnknown(block.block);
  }
}

/** A picture or sound that lacks its data or its type is told of like any other; the rest is shown as it came. */
function renderUnknown(block: unknown): Part[] {
  const type = isObject(block) ? block['type'] : undefined;
  if (!isObject(block) || (type !== 'image' && type !== 'audio')) return text(JSON.stringify(block) ?? 'null');
  const data = typeof block['data'] === 'string' ? block['data'] : '', mimeType = typeof block['mimeType'] === 'string' ? block['mimeType'] : undefined;
  if (data === '') return text(`[MCP ${type} content omitted: ${mediaTypeOf(mimeType)} (no data)]`);
  return type === 'image' ? renderImage(data, mimeType) : [binary('audio content', data, mimeType)];
}

function renderImage(data: string, mimeType: string | undefined): Part[] {
  const image = examineImage(data, mimeType);
  if (!image.ok) return text(`[MCP image content omitted: ${image.mediaType} (${byteSize(image.bytes)}): ${image.reason}]`);
  const { mediaType, bytes, inline } = image;
  return [{ kind: 'image', text: `[image: ${mediaType} (${byteSize(bytes)})]`, mediaType, data: image.data, bytes, inline }];
}

function binary(what: string, data: string, mimeType: string | undefined): Part {
  const clean = stripWhitespace(data), bytes = decodedBytes(clean), mediaType = mediaTypeOf(mimeType);
  return { kind: 'binary', text: `[MCP ${what} omitted: ${mediaType} (${byteSize(bytes)})]`, mediaType, data: clean, bytes };
}

function renderLink(link: JsonObject): string {
  const rows: (readonly [string, unknown])[] = [
    ['Resource link', link['name']], ['Title', link['title']], ['URI', link['uri']], ['MIME', link['mimeType']],
    ['Size', typeof link['size'] === 'number' ? byteSize(link['size']) : undefined], ['Description', link['description']],
  ];
  return rows.filter(([, value]) => typeof value === 'string' && value !== '').map(([label, value]) => `${label}: ${String(value)}`).join('\n') || JSON.stringify(link);
}

/** A resource as text under its header; a blob of an allowed image type as that image, any other blob as a note. */
export function renderResource(resource: ResourceContents): Part[] {
  const header = `Resource: ${resource.uri}${resource.mimeType === undefined ? '' : `\nMIME: ${resource.mimeType}`}`;
  const words = typeof resource.text === 'string' ? text(`${header}\n\n${resource.text}`) : [];
  if (typeof resource.blob !== 'string') return words.length > 0 ? words : text(header);
  const image = examineImage(resource.blob, resource.mimeType);
  if (image.ok) return [...(words.length > 0 ? words : text(header)), ...renderImage(resource.blob, image.mediaType)];
  const note = binary('resource blob', resource.blob, resource.mimeType);
  return [...words, words.length > 0 ? note : { ...note, text: `${header}\n${note.text}` }];
}

/** Empty structured content (null, `[]`, `{}`) says nothing; any scalar does. */
function structuredText(result: CallToolResult): string | undefined {
  const value = result.structuredContent;
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0)) return undefined;
  for (const block of result.content) {
    const said = block.type === 'text' ? parseJson(block.text) : undefined;
    if (said !== undefined && sameJson(said.value, value)) return undefined;
  }
  return `Structured content:\n${JSON.stringify(value, null, 2)}`;
}

/** Goes no deeper than the shallower of the two: a text may nest as deep as its server likes. */
function sameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}

/** All words of the parts, one blank line between them. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => part.text).join('\n\n');
}
