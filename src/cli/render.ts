/** Results for people: text as it is, everything else as one line that says what it is, saved where `--output` says. */
import { byteSize } from '../base/text.ts';
import type { CallToolResult, ResourceContents } from '../mcp/types.ts';
import { renderResult } from '../registry/results.ts';
import type { Part } from '../registry/results.ts';
import { cyan, dim } from './span.ts';
import type { Terminal } from './terminal.ts';

/** Keeps bytes and says where. */
export type Keep = (base64: string, mediaType: string) => Promise<string>;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp', 'audio/mpeg': 'mp3', 'audio/wav': 'wav', 'audio/x-wav': 'wav',
  'audio/ogg': 'ogg', 'application/pdf': 'pdf', 'application/json': 'json', 'application/zip': 'zip', 'text/plain': 'txt', 'text/html': 'html', 'text/csv': 'csv',
};

/** A saver into `directory`: `<name>-1.png`, the next free number. Nothing is overwritten. */
export async function createKeep(directory: string, name: string): Promise<Keep> {
  const [files, path] = await Promise.all([import('../base/files.ts'), import('node:path')]);
  const stem = name.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^\.+/, '') || 'result';
  let number = 0;
  return async (base64, mediaType) => {
    files.makeDirectory(directory, 0o777);
    const extension = EXTENSIONS[mediaType.toLowerCase().split(';', 1)[0]!.trim()] ?? 'bin';
    let file: string;
    do file = path.resolve(directory, `${stem}-${number += 1}.${extension}`); while (files.exists(file));
    await files.writeFileAtomic(file, Buffer.from(base64, 'base64'));
    return file;
  };
}

/** Text without the one line break at its end that printing adds by itself. */
const trimmed = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);

function showBinary(terminal: Terminal, what: string, mediaType: string, bytes: number, file: string | undefined): void {
  terminal.print(cyan(`[${what}${mediaType === 'unknown' ? '' : ` ${mediaType}`}, ${byteSize(bytes)}]`), file === undefined ? '' : ` saved to ${file}`);
}

async function showPart(terminal: Terminal, part: Part, keep: Keep | undefined, saved: string[]): Promise<void> {
  if (part.kind === 'text') { terminal.print(trimmed(part.text)); return; }
  // The last line of the words is the note for a model; what stands before it says whose bytes they are.
  const header = part.text.slice(0, Math.max(0, part.text.lastIndexOf('\n')));
  if (header !== '') terminal.print(header);
  const file = await keep?.(part.data, part.mediaType);
  if (file !== undefined) saved.push(file);
  const what = part.kind === 'image' ? 'image' : part.mediaType.startsWith('audio/') ? 'audio' : 'bytes';
  showBinary(terminal, what, part.mediaType, part.bytes, file);
}

/** The whole result in the server's order, structured content last. Resolves to the files that were written. */
export async function showResult(terminal: Terminal, result: CallToolResult, keep?: Keep): Promise<readonly string[]> {
  const saved: string[] = [];
  const { parts } = renderResult(result);
  for (const part of parts) {
    if (part.kind !== 'text' || part.text !== '') await showPart(terminal, part, keep, saved);
    else terminal.note(dim('(the result is empty)'));
  }
  return saved;
}

/** Writes the binary parts without showing anything: what `--json --output` does. */
export async function saveResult(result: CallToolResult, keep: Keep): Promise<readonly string[]> {
  const saved: string[] = [];
  for (const part of renderResult(result).parts) if (part.kind !== 'text') saved.push(await keep(part.data, part.mediaType));
  return saved;
}

/** One content of a resource: its text and nothing else, or a line about its bytes. */
export async function showContents(terminal: Terminal, contents: ResourceContents, keep?: Keep): Promise<readonly string[]> {
  if (contents.blob === undefined) {
    if (contents.text) terminal.print(trimmed(contents.text)); else terminal.note(dim(`(${contents.uri} is empty)`));
    return [];
  }
  const mediaType = contents.mimeType ?? 'application/octet-stream';
  const file = await keep?.(contents.blob, mediaType);
  showBinary(terminal, 'bytes', mediaType, Buffer.from(contents.blob, 'base64').length, file);
  return file === undefined ? [] : [file];
}

/** Writes the bytes among the contents of a resource without showing anything. */
export async function saveContents(contents: readonly ResourceContents[], keep: Keep): Promise<readonly string[]> {
  const saved: string[] = [];
  for (const one of contents) if (one.blob !== undefined) saved.push(await keep(one.blob, one.mimeType ?? 'application/octet-stream'));
  return saved;
}

/** The result as the server sent it: what we wrapped because we did not know it stands there bare again. */
export function rawResult(result: CallToolResult): object {
  return { ...result, content: result.content.map((block) => (block.type === 'unknown' ? block.block : block)) };
}
