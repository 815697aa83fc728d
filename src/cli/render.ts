/** Results for people: text as it is, everything else as one line that says what it is, saved where `--output` says. */
import { limits } from '../base/limits.ts';
import { byteSize, count } from '../base/text.ts';
import type { CallToolResult, ResourceContents } from '../mcp/types.ts';
import { previewText } from '../registry/artifacts.ts';
import { renderResult } from '../registry/results.ts';
import type { Part } from '../registry/results.ts';
import { cyan, dim } from './span.ts';
import type { Terminal } from './terminal.ts';

/** Keeps bytes and says where. */
export type Keep = (content: Buffer, mediaType: string) => string;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp', 'audio/mpeg': 'mp3', 'audio/wav': 'wav', 'audio/x-wav': 'wav',
  'audio/ogg': 'ogg', 'application/pdf': 'pdf', 'application/json': 'json', 'application/zip': 'zip', 'text/plain': 'txt', 'text/html': 'html', 'text/csv': 'csv',
};

/** A saver into `directory`: `<name>-1.png`, the next free number. Nothing is overwritten, no link is followed. */
export async function createKeep(directory: string, name: string): Promise<Keep> {
  const [files, path] = await Promise.all([import('../base/files.ts'), import('node:path')]);
  const stem = name.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^\.+/, '') || 'result';
  let number = 0;
  return (content, mediaType) => {
    files.makeDirectory(directory, 0o777);
    const extension = EXTENSIONS[mediaType.toLowerCase().split(';', 1)[0]!.trim()] ?? 'bin';
    let file: string;
    do file = path.resolve(directory, `${stem}-${number += 1}.${extension}`); while (!files.writeNewFile(file, content));
    return file;
  };
}

/** Text without the one line break at its end that printing adds by itself. */
const trimmed = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);

function showBinary(terminal: Terminal, what: string, mediaType: string, bytes: number, file: string | undefined): void {
  terminal.print(cyan(`[${what}${mediaType === 'unknown' ? '' : ` ${mediaType}`}, ${byteSize(bytes)}]`), file === undefined ? '' : ` saved to ${file}`);
}

/** Text that nobody reads on a screen is kept whole, where there is a place for it, and shown by its beginning. */
function showText(terminal: Terminal, text: string, keep: Keep | undefined, saved: string[]): void {
  const { cut, bytes, lines } = previewText(text);
  if (!cut || keep === undefined) { terminal.print(trimmed(text)); return; }
  const file = keep(Buffer.from(text), 'text/plain');
  saved.push(file);
  terminal.print(previewText(text, limits.shownTextBytes, limits.shownTextLines).text);
  terminal.print(cyan(`[text, ${byteSize(bytes)} in ${count(lines, 'line')}]`), ` saved to ${file}`);
}

function showPart(terminal: Terminal, part: Part, keep: Keep | undefined, saved: string[]): void {
  if (part.kind === 'text') { showText(terminal, part.text, keep, saved); return; }
  // The last line of the words is the note for a model; what stands before it says whose bytes they are.
  const header = part.text.slice(0, Math.max(0, part.text.lastIndexOf('\n')));
  if (header !== '') terminal.print(header);
  const file = keep?.(Buffer.from(part.data, 'base64'), part.mediaType);
  if (file !== undefined) saved.push(file);
  const what = part.kind === 'image' ? 'image' : part.mediaType.startsWith('audio/') ? 'audio' : 'bytes';
  showBinary(terminal, what, part.mediaType, part.bytes, file);
}

/** The whole result in the server's order, structured content last. Resolves to the files that were written. */
export function showResult(terminal: Terminal, result: CallToolResult, keep?: Keep): readonly string[] {
  const saved: string[] = [];
  const { parts } = renderResult(result);
  for (const part of parts) {
    if (part.kind !== 'text' || part.text !== '') showPart(terminal, part, keep, saved);
    else terminal.note(dim('(the result is empty)'));
  }
  return saved;
}

/** Writes the same files without showing anything: what `--json --output` does. */
export function saveResult(result: CallToolResult, keep: Keep): readonly string[] {
  return renderResult(result).parts.flatMap((part) => {
    if (part.kind === 'text') return previewText(part.text).cut ? [keep(Buffer.from(part.text), 'text/plain')] : [];
    return [keep(Buffer.from(part.data, 'base64'), part.mediaType)];
  });
}

/** One content of a resource: its text and nothing else, or a line about its bytes. */
export function showContents(terminal: Terminal, contents: ResourceContents, keep?: Keep): readonly string[] {
  if (contents.blob === undefined) {
    if (contents.text) terminal.print(trimmed(contents.text)); else terminal.note(dim(`(${contents.uri} is empty)`));
    return [];
  }
  const mediaType = contents.mimeType ?? 'application/octet-stream';
  const bytes = Buffer.from(contents.blob, 'base64'), file = keep?.(bytes, mediaType);
  showBinary(terminal, 'bytes', mediaType, bytes.length, file);
  return file === undefined ? [] : [file];
}

/** Writes the bytes among the contents of a resource without showing anything. */
export function saveContents(contents: readonly ResourceContents[], keep: Keep): readonly string[] {
  return contents.flatMap(({ blob, mimeType }) => (blob === undefined ? [] : [keep(Buffer.from(blob, 'base64'), mimeType ?? 'application/octet-stream')]));
}

/** The result as the server sent it: what we wrapped because we did not know it stands there bare again. */
export function rawResult(result: CallToolResult): object {
  return { ...result, content: result.content.map((block) => (block.type === 'unknown' ? block.block : block)) };
}
