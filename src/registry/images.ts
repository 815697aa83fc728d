/** Which pictures and documents may be passed on, and how big they are: measured without decoding, after whitespace is gone. */
import { limits } from '../base/limits.ts';
import { byteSize, shorten } from '../base/text.ts';

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp', 'application/pdf': 'pdf',
};

/** The media types that may become attachments. */
export const allowedMediaTypes: readonly string[] = Object.keys(EXTENSIONS).sort();

/** File name extension of a media type; `bin` for one we do not pass on. */
export function extensionOf(mediaType: string): string {
  return Object.hasOwn(EXTENSIONS, mediaType) ? EXTENSIONS[mediaType]! : 'bin';
}

/** Lower case, without parameters, at most 100 characters; `unknown` when there is none. */
export function mediaTypeOf(mimeType: string | undefined): string {
  const type = shorten((mimeType ?? '').split(';', 1)[0]!.slice(0, 400).replace(/\s+/g, ' ').trim().toLowerCase(), 100);
  return type === '' ? 'unknown' : type === 'image/jpg' ? 'image/jpeg' : type;
}

/** ASCII whitespace counts neither in the measure nor in what is kept: padding cannot stretch a cap. */
export function stripWhitespace(base64: string): string {
  return /[\t\n\f\r ]/.test(base64) ? base64.replace(/[\t\n\f\r ]+/g, '') : base64;
}

/** Decoded size of base64 text without whitespace. */
export function decodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor(((base64.length - padding) * 3) / 4);
}

/** The media type that the first bytes speak of. */
export function sniff(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, 24), 'base64').toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp';
  if (head.startsWith('%PDF-')) return 'application/pdf';
  return undefined;
}

export type Examined =
  | { readonly ok: true; readonly mediaType: string; readonly data: string; readonly bytes: number; /** At most 200 KiB of base64. */ readonly inline: boolean }
  | { readonly ok: false; readonly mediaType: string; readonly bytes: number; readonly reason: string };

/** Believes neither the media type nor the size that a server states. A `data:` prefix is tolerated. */
export function examineImage(data: string, mimeType: string | undefined): Examined {
  const dense = stripWhitespace(data), prefix = /^data:([^,;]*)(?:;[^,;]*)*;base64,/i.exec(dense.slice(0, 256));
  const clean = prefix === null ? dense : dense.slice(prefix[0].length);
  const stated = mediaTypeOf(mimeType);
  const mediaType = stated === 'unknown' && prefix !== null ? mediaTypeOf(prefix[1]) : stated;
  const bytes = decodedBytes(clean);
  const refuse = (reason: string): Examined => ({ ok: false, mediaType, bytes, reason });
  if (!Object.hasOwn(EXTENSIONS, mediaType)) return refuse('this media type is not passed on');
  if (bytes > limits.attachmentBytes) return refuse(`more than ${byteSize(limits.attachmentBytes)}`);
  const digits = clean.replace(/={1,2}$/, ''), spare = digits.length % 4;
  if (spare === 1 || !/^[A-Za-z0-9+/_-]*$/.test(digits)) return refuse('the data is not base64');
  const seen = sniff(clean);
  if (seen !== mediaType) return refuse(seen === undefined ? 'the bytes are of another type' : `the bytes are ${seen}`);
  // The alphabet of URLs and missing padding are legal here and not where it goes.
  const plain = /[-_]/.test(digits) ? digits.replaceAll('-', '+').replaceAll('_', '/') : digits, base64 = spare === 0 ? plain : plain.padEnd(plain.length + 4 - spare, '=');
  return { ok: true, mediaType, data: base64, bytes, inline: base64.length <= limits.inlineImageBase64Bytes };
}
