/**
 * A trace: what two peers said to each other, as JSON lines. The first line is the header, then one line for each message with when it
 * passed, where, and which way. A crash tears the last line at most; whatever stands before it can be read.
 */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { readBytes, readWindow } from '../base/files.ts';
import { isObject, parseJson, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { MASK, redactPatterns, type Redact } from '../base/redact.ts';
import { shorten } from '../base/text.ts';
import { classify, type Id, type Message } from '../jsonrpc/message.ts';
import type { Implementation } from '../mcp/types.ts';

export const TRACE_VERSION = 1;
const HEAD = '{"trace":"zuno-lite"';

/** Whose wire it was: that of whoever asks us, or that of a server which we ask. */
export type Side = 'downstream' | 'upstream';
/** As we see it: `in` came to us, `out` left us. */
export type Direction = 'in' | 'out';

/** What is known of the server when recording begins; a trace also holds its handshake. */
export interface TracedServer { readonly serverInfo: Implementation; readonly revision: string; readonly capabilities: JsonObject; readonly instructions?: string | undefined }

export interface TraceHeader { readonly version: number; /** Time zero of the entries, ISO 8601. */ readonly startedAt: string; readonly server?: TracedServer | undefined }

/** A message that is not in the trace, and why: too large by itself, too much in all, or the disk was too slow for it. */
export interface LeftOut { readonly why: 'message' | 'trace' | 'disk'; readonly bytes: number; readonly id?: Id; readonly method?: string }

export interface TraceEntry {
  /** Milliseconds since `startedAt`. */
  readonly at: number;
  readonly side: Side;
  readonly dir: Direction;
  /** Which of several connections of that side. */
  readonly on?: string | undefined;
  readonly message?: unknown;
  readonly left?: LeftOut | undefined;
}

export type ReadEntry = Omit<TraceEntry, 'message'> & { readonly line: number; readonly message?: Message | undefined };

export interface Trace {
  readonly file: string;
  readonly header: TraceHeader;
  readonly entries: readonly ReadEntry[];
  /** The last line was cut off, as a crash leaves it. */
  readonly torn: boolean;
}

export function encodeHeader({ startedAt, server }: Pick<TraceHeader, 'startedAt' | 'server'>): string {
  return `${JSON.stringify({ trace: 'zuno-lite', version: TRACE_VERSION, startedAt, server })}\n`;
}

export function encodeEntry(entry: TraceEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

/**
 * The message with its secrets masked: members whose names say that they are one lose their text, and each other text what `redact` knows.
 * `redact` finds what looks like a secret too, as that of `createRedactor` does.
 */
export function maskMessage(value: unknown, redact: Redact): unknown {
  const known = new Map<string, { readonly name: string; readonly secret: boolean }>();
  const keyOf = (key: string): { readonly name: string; readonly secret: boolean } => {
    // It ties notices to their request, and is no secret.
    const found = known.get(key) ?? { name: redact(key), secret: key !== 'progressToken' && redactPatterns(`${key}=x`) === `${key}=${MASK}` };
    if (known.size < limits.schemaVisits) known.set(key, found);
    return found;
  };
  const mask = (one: unknown): unknown => {
    if (typeof one === 'string') return redact(one);
    if (Array.isArray(one)) return one.map(mask);
    if (!isObject(one)) return one;
    return Object.fromEntries(Object.entries(one).map(([key, member]) => {
      const { name, secret } = keyOf(key);
      return [name, secret && typeof member === 'string' && member !== '' ? MASK : mask(member)];
    }));
  };
  return mask(value);
}

/** Reads a trace. Fails with CONFIG_UNREADABLE, naming the line: no trace, one of a newer version, a line that is none of its entries. */
export function readTrace(file: string): Trace {
  // The header and the last remarks stand outside the bound.
  const bytes = readBytes(file, limits.traceBytes + limits.configFileBytes);
  if (bytes === undefined) throw refused(file, undefined, 'there is no such file', 'Name a file that "zuno-lite guard --record FILE" wrote');
  let header: TraceHeader | undefined;
  const entries: ReadEntry[] = [];
  let line = 0, from = 0;
  while (from < bytes.length) {
    const end = bytes.indexOf(0x0a, from), torn = end < 0;
    const text = bytes.toString('utf8', from, torn ? bytes.length : end);
    from = torn ? bytes.length : end + 1;
    line += 1;
    const value = parseJson(text)?.value;
    if (header === undefined) { header = readHeader(file, value); continue; }
    const entry = readEntry(value, line);
    if (entry !== undefined) entries.push(entry);
    else if (torn) return { file, header, entries, torn };
    else throw refused(file, line, `line ${line} is no entry of a trace: ${JSON.stringify(shorten(text, limits.excerptBytes))}`, 'Record it again, or take that line out');
  }
  if (header === undefined) throw refused(file, 1, 'it is empty', 'Record it again');
  return { file, header, entries, torn: false };
}

/** Whether it begins as a trace does, of whatever version, or is empty. */
export function looksLikeTrace(file: string): boolean {
  const { bytes, size } = readWindow(file, 0, HEAD.length);
  return size === 0 || bytes.toString('utf8') === HEAD;
}

function readHeader(file: string, value: unknown): TraceHeader {
  if (!isObject(value) || value['trace'] !== 'zuno-lite') throw refused(file, 1, 'it is no trace: line 1 is not the header of one', 'Name a file that "zuno-lite guard --record FILE" wrote');
  const { version, startedAt, server } = value;
  if (version !== TRACE_VERSION) throw refused(file, 1, `line 1 says version ${JSON.stringify(version)}, and this program reads version ${TRACE_VERSION}`, 'Use the program that wrote it');
  return { version, startedAt: typeof startedAt === 'string' ? startedAt : '', server: readServer(server) };
}

function readServer(value: unknown): TracedServer | undefined {
  if (!isObject(value) || !isObject(value['serverInfo'])) return undefined;
  const { serverInfo, revision, capabilities, instructions } = value;
  return { serverInfo: implementationOf(serverInfo), revision: String(revision), capabilities: isObject(capabilities) ? capabilities : {}, ...(typeof instructions === 'string' ? { instructions } : {}) };
}

export function implementationOf(value: unknown): Implementation {
  const info = isObject(value) ? value : {};
  return { ...info, name: typeof info['name'] === 'string' ? info['name'] : 'replay', version: typeof info['version'] === 'string' ? info['version'] : '0' };
}

function readEntry(value: unknown, line: number): ReadEntry | undefined {
  if (!isObject(value)) return undefined;
  const { at, side, dir, on, left } = value;
  if (typeof at !== 'number' || !(at >= 0) || (side !== 'downstream' && side !== 'upstream') || (dir !== 'in' && dir !== 'out')) return undefined;
  const entry = { at, side, dir, line, ...(typeof on === 'string' ? { on } : {}) } as const;
  if (isObject(left)) return { ...entry, left: left as unknown as LeftOut };
  const message = classify(value['message']);
  return message === undefined ? undefined : { ...entry, message };
}

function refused(file: string, line: number | undefined, why: string, hint: string): AnyFailure {
  const origin = { file, layer: 'argument', ...(line === undefined ? {} : { line }) };
  return new Failure('CONFIG_UNREADABLE', `Cannot read the trace "${file}": ${why}`, { stage: 'config', details: { file, ...(line === undefined ? {} : { line }) }, origin, hint }) as AnyFailure;
}
