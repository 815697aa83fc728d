/** What a tool returned, as an ordered list of parts for a model or a terminal. Nothing a server sends vanishes without a word. */
import { canonicalJson, isObject, parseJson } from '../base/json.ts';
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

/** Content blocks in the server's order, then the structured content unless a text block already is that JSON. */
export function renderResult(result: CallToolResult): Rendered {
  const parts: Part[] = result.content.flatMap(renderBlock);
  const structured = structuredText(result);
  if (structured !== undefined) parts.push({ kind: 'text', text: structured });
  if (parts.length === 0) parts.push({ kind: 'text', text: '' });
  return { parts: result.isError && result._meta?.[PRESENTATION] !== 'message-only' ? withPrefix(parts) : parts, isError: result.isError };
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
    case 'unknown': return text(JSON.stringify(block.block) ?? 'null');
  }
}

function renderImage(data: string, mimeType: string): Part[] {
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
  return rows.filter(([, value]) => typeof value === 'string' && value !== '').map(([label, value]) => `${label}: ${String(value)}`).join('\n');
}

/** A resource as text under its header; a blob of an allowed image type as that image, any other blob as a note. */
export function renderResource(resource: ResourceContents): Part[] {
  const header = `Resource: ${resource.uri}${resource.mimeType === undefined ? '' : `\nMIME: ${resource.mimeType}`}`;
  if (typeof resource.text === 'string') return text(`${header}\n\n${resource.text}`);
  if (typeof resource.blob !== 'string') return text(header);
  const image = examineImage(resource.blob, resource.mimeType);
  if (image.ok) return [...text(header), ...renderImage(resource.blob, image.mediaType)];
  const note = binary('resource blob', resource.blob, resource.mimeType);
  return [{ ...note, text: `${header}\n${note.text}` }];
}

/** Empty structured content (null, `[]`, `{}`) says nothing; any scalar does. */
function structuredText(result: CallToolResult): string | undefined {
  const value = result.structuredContent;
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0)) return undefined;
  const canonical = canonicalJson(value);
  for (const block of result.content) {
    if (block.type !== 'text') continue;
    const same = parseJson(block.text);
    if (same !== undefined && canonicalJson(same.value) === canonical) return undefined;
  }
  return `Structured content:\n${JSON.stringify(value, null, 2)}`;
}

/** All words of the parts, one blank line between them. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => part.text).join('\n\n');
}
