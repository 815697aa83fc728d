/**
 * What is too big for a message rests as a file: pictures over the inline limit, audio, blobs, and the complete text behind a preview.
 * Nothing is written here; whoever holds the disk hands in how.
 */
import { createHash } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { byteSize, count, shorten } from '../base/text.ts';
import { extensionOf } from './images.ts';
import { sanitize } from './names.ts';
import { textOf } from './results.ts';
import type { Part, Rendered } from './results.ts';

/** Stores bytes under a name and returns where they are. */
export type WriteArtifact = (name: string, content: Uint8Array | string) => Promise<string>;

/** `docs_search-3f1c9a0b2d4e.png`: the same content of the same tool has the same name. */
export function artifactName(id: string, content: Uint8Array | string, extension: string): string {
  return `${sanitize(id).slice(0, limits.toolIdChars)}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}.${extension}`;
}

const SOUND: Readonly<Record<string, string>> = { 'audio/wav': 'wav', 'audio/x-wav': 'wav', 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3', 'audio/ogg': 'ogg', 'audio/flac': 'flac', 'audio/mp4': 'm4a', 'audio/webm': 'weba' };

export interface Preview {
  readonly text: string;
  readonly cut: boolean;
  /** Of the complete text: UTF-8 bytes and lines. */
  readonly bytes: number;
  readonly lines: number;
}

/** The head of a text within both bounds; never half of a character. */
export function previewText(text: string, maxBytes: number = limits.modelTextBytes, maxLines: number = limits.modelTextLines): Preview {
  const bytes = Buffer.byteLength(text);
  let lines = 1, end = text.length;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (lines === maxLines && end === text.length) end = at;
    lines += 1;
  }
  let head = lines > maxLines ? text.slice(0, end) : text;
  if (Buffer.byteLength(head) > maxBytes) {
    // A UTF-16 unit takes at least one byte, so the head cannot be longer than this.
    const encoded = Buffer.from(head.slice(0, maxBytes));
    let cut = Math.min(maxBytes, encoded.length);
    while (cut > 0 && cut < encoded.length && (encoded[cut]! & 0xc0) === 0x80) cut -= 1;
    head = encoded.subarray(0, cut).toString('utf8');
  }
  return { text: head, cut: head.length < text.length, bytes, lines };
}

export interface Fitted {
  readonly parts: readonly Part[];
  /** Present when text was cut: all of it, as `textOf` joins it. */
  readonly complete?: { readonly text: string; readonly bytes: number; readonly lines: number };
}

/** Room kept for the note that tells where the rest is. */
const NOTE_BYTES = 1_024;

/** Cuts the text of all parts together to the bounds, in order. Pictures stay, and notes about other parts stay whole and count. */
export function fitText(parts: readonly Part[], maxBytes: number = limits.modelTextBytes, maxLines: number = limits.modelTextLines): Fitted {
  const notes = parts.filter((part) => part.kind !== 'text').map((part) => previewText(part.text));
  let leftBytes = maxBytes - notes.reduce((sum, note) => sum + note.bytes + 2, 0), leftLines = maxLines - notes.reduce((sum, note) => sum + note.lines + 1, 0);
  const all = textOf(parts.filter((part) => part.kind === 'text'));
  const { cut, bytes, lines } = previewText(all, Math.max(0, leftBytes), Math.max(1, leftLines));
  if (!cut) return { parts };
  leftBytes = Math.max(0, leftBytes - NOTE_BYTES);
  leftLines = Math.max(1, leftLines - 2);
  const kept: Part[] = [];
  for (const part of parts) {
    if (part.kind !== 'text') { kept.push(part); continue; }
    if (leftBytes <= 0 || leftLines <= 0) continue;
    const head = previewText(part.text, leftBytes, leftLines);
    leftBytes -= head.cut ? leftBytes : head.bytes + 2;
    leftLines -= head.cut ? leftLines : head.lines + 1;
    if (head.text !== '') kept.push({ kind: 'text', text: head.text });
  }
  return { parts: kept, complete: { text: all, bytes, lines } };
}

/**
 * The parts as a model gets them: text within the bounds, small pictures inline, everything else as a note with the path of the file.
 * A file that cannot be written costs the file and is said in the note.
 * @param write absent: nowhere to put files; the notes say so
 */
export async function keepArtifacts(rendered: Rendered, id: string, write?: WriteArtifact): Promise<Rendered> {
  const told: Part[] = [], surplus: Attachment[] = [];
  let attachments = 0;
  for (const part of rendered.parts) {
    if (part.kind === 'text') { told.push(part); continue; }
    attachments += 1;
    if (attachments > limits.resultAttachments) surplus.push(part);
    else told.push(part.kind === 'image' && part.inline ? part : { ...part, kind: 'binary', text: await noteOf(part, id, write) });
  }
  if (surplus.length > 0) told.push({ kind: 'binary', text: await surplusNote(surplus, id, write), mediaType: 'application/json', data: '', bytes: 0 });
  const { parts, complete } = fitText(told);
  const kept = parts.map((part): Part => (part.kind === 'binary' ? { kind: 'text', text: part.text } : part));
  if (complete !== undefined) {
    const where = await store(artifactName(id, complete.text, 'txt'), complete.text, write);
    kept.push({ kind: 'text', text: `[shortened to ${limits.modelTextBytes} bytes and ${limits.modelTextLines} lines: the complete text has ${byteSize(complete.bytes)} (${complete.bytes} bytes) in ${count(complete.lines, 'line')}; ${where}]` });
  }
  return { parts: kept, isError: rendered.isError };
}

type Attachment = Exclude<Part, { kind: 'text' }>;

async function noteOf(part: Attachment, id: string, write: WriteArtifact | undefined): Promise<string> {
  const bytes = Buffer.from(part.data, 'base64');
  const extension = part.kind === 'image' ? extensionOf(part.mediaType) : (Object.hasOwn(SOUND, part.mediaType) ? SOUND[part.mediaType]! : 'bin');
  const where = await store(artifactName(id, bytes, extension), bytes, write);
  if (part.kind === 'binary') return `${shorten(part.text, limits.attachmentNoteChars)}\n[${where}]`;
  return `[image: ${part.mediaType} (${byteSize(part.bytes)}), more than ${byteSize(limits.inlineImageBase64Bytes)} of base64; ${where}]`;
}

/** More attachments than anybody looks at one by one: all in one file, one JSON object a line. */
async function surplusNote(surplus: readonly Attachment[], id: string, write: WriteArtifact | undefined): Promise<string> {
  const lines = surplus.map(({ text, mediaType, data }) => `${JSON.stringify({ mediaType, text, data })}\n`).join('');
  return `[${count(surplus.length, 'more attachment')} (${byteSize(surplus.reduce((sum, { bytes }) => sum + bytes, 0))}), one JSON object a line; ${await store(artifactName(id, lines, 'jsonl'), lines, write)}]`;
}

async function store(name: string, content: Uint8Array | string, write: WriteArtifact | undefined): Promise<string> {
  if (write === undefined) return 'it was not kept: there is no place for files here';
  try {
    return `kept as ${await write(name, content)}`;
  } catch (error) {
    return `it could not be kept: ${error instanceof Error ? error.message : 'writing failed'}`;
  }
}
