/**
 * JSON with comments and trailing commas, parsed into a tree in which every value knows where it stands. One pass, no
 * backtracking; nesting and size are bounded. In-place editing of the same text is in `jsonc-edit.ts`.
 */
import { Failure, type Origin } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { redactPatterns } from '../base/redact.ts';
import { byteSize, oneLine } from '../base/text.ts';

/** Offsets are UTF-16 units into the original text; `end` is exclusive. */
export type JsoncNode =
  | { readonly kind: 'object'; readonly start: number; readonly end: number; readonly members: readonly JsoncMember[] }
  | { readonly kind: 'array'; readonly start: number; readonly end: number; readonly items: readonly JsoncNode[] }
  | { readonly kind: 'scalar'; readonly start: number; readonly end: number; readonly value: string | number | boolean | null };

export interface JsoncMember {
  readonly key: string;
  readonly keyStart: number;
  readonly node: JsoncNode;
  /** Offset of the comma that follows, if one does. */
  readonly comma: number | undefined;
}

export interface JsoncDocument {
  readonly text: string;
  /** An empty text (or one of comments only) is an empty object that stands at its end. */
  readonly root: JsoncNode;
  /** Members whose key stood in the same object before; the last one counts. */
  readonly repeated: readonly JsoncMember[];
}

/** Where a text came from, for messages. */
export interface JsoncSource { readonly file: string; readonly layer: string }

/** Parses a whole text, 1 MiB of it at most unless `maxBytes` says so. Fails with CONFIG_UNREADABLE, which knows line and column. */
export function parseJsonc(text: string, source: JsoncSource, maxBytes: number = limits.configFileBytes): JsoncDocument {
  if (Buffer.byteLength(text) > maxBytes) {
    throw new Failure('CONFIG_UNREADABLE', `Cannot read "${source.file}": it is larger than ${byteSize(maxBytes)}`, { stage: 'config', details: { file: source.file }, origin: source });
  }
  const cursor: Cursor = { text, source, at: text.startsWith('\ufeff') ? 1 : 0, repeated: [] };
  skipSpace(cursor);
  if (cursor.at === text.length) return { text, root: { kind: 'object', start: text.length, end: text.length, members: [] }, repeated: [] };
  const root = readValue(cursor, 0);
  skipSpace(cursor);
  if (cursor.at < text.length) throw syntaxFailure(cursor, cursor.at, 'text after the end of the value');
  return { text, root, repeated: cursor.repeated };
}

/** The plain value. Keys such as `__proto__` become own members and reach no prototype. */
export function valueOf(node: JsoncNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'array') return node.items.map(valueOf);
  const object: Record<string, unknown> = {};
  for (const member of node.members) Object.defineProperty(object, member.key, { value: valueOf(member.node), enumerable: true, configurable: true, writable: true });
  return object;
}

/** The member that counts: the last with this key. */
export function memberOf(node: JsoncNode, key: string): JsoncMember | undefined {
  return node.kind === 'object' ? node.members.findLast((member) => member.key === key) : undefined;
}

/** Line and column, from 1; a column counts UTF-16 units. */
export function positionAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1, lineStart = text.startsWith('\ufeff') ? 1 : 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) { line += 1; lineStart = at + 1; }
  return { line, column: Math.max(1, offset - lineStart + 1) };
}

// --- The one pass ----------------------------------------------------------------------------------------------------

interface Cursor { readonly text: string; readonly source: JsoncSource; at: number; readonly repeated: JsoncMember[] }

/**
 * The line up to the mistake and the word that stands there. Keys are shown and texts are not: configuration lines carry secrets.
 * Masking starts at the line's start, where no text can be open.
 */
function excerpt(text: string, offset: number): string {
  let open = false;
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).replace(/"(?:[^"\\]|\\.)*("|$)(\s*:)?/g, (whole, end: string, colon: string | undefined) => {
    open = end === '';
    return colon !== undefined && !open ? whole : open ? '"…' : '"…"';
  });
  const word = open ? '' : /^[^\s"]{0,20}/.exec(text.slice(offset, offset + 20))![0];
  return redactPatterns(oneLine(before.slice(-80) + word));
}

function syntaxFailure(cursor: Cursor, offset: number, problem: string): Failure {
  const { file, layer } = cursor.source;
  const { line, column } = positionAt(cursor.text, offset);
  const shown = excerpt(cursor.text, offset);
  const near = shown === '' ? '' : ` (near: ${shown})`;
  return new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": line ${line}, column ${column}: ${problem}${near}`, {
    stage: 'config', details: { file, line, column }, origin: { file, layer, line, column } satisfies Origin, hint: `Correct line ${line} of ${file}`,
  });
}

/** Steps over white space and comments. */
function skipSpace(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code === 32 || code === 10 || code === 13 || code === 9) { cursor.at += 1; continue; }
    if (code !== 47 /* / */) return;
    const next = text.charCodeAt(cursor.at + 1);
    if (next === 47) {
      const end = text.indexOf('\n', cursor.at);
      cursor.at = end === -1 ? text.length : end + 1;
    } else if (next === 42 /* * */) {
      const end = text.indexOf('*/', cursor.at + 2);
      if (end === -1) throw syntaxFailure(cursor, cursor.at, 'a comment that does not end');
      cursor.at = end + 2;
    } else {
      return;
    }
  }
}

function readValue(cursor: Cursor, depth: number): JsoncNode {
  if (depth > limits.jsonDepth) throw syntaxFailure(cursor, cursor.at, `nested deeper than ${limits.jsonDepth} levels`);
  switch (cursor.text[cursor.at]) {
    case '{': return readObject(cursor, depth);
    case '[': return readArray(cursor, depth);
    case '"': { const start = cursor.at; const value = readString(cursor); return { kind: 'scalar', start, end: cursor.at, value }; }
    case undefined: throw syntaxFailure(cursor, cursor.at, 'a value is missing at the end');
    default: return readWord(cursor);
  }
}

function readObject(cursor: Cursor, depth: number): JsoncNode {
  const start = cursor.at++;
  const members: JsoncMember[] = [];
  const keys = new Set<string>();
  for (;;) {
    skipSpace(cursor);
    const sign = cursor.text[cursor.at];
    if (sign === '}') { cursor.at += 1; return { kind: 'object', start, end: cursor.at, members }; }
    if (sign === undefined) throw syntaxFailure(cursor, start, 'an object that does not end');
    if (sign !== '"') throw syntaxFailure(cursor, cursor.at, 'a key in double quotes or } is due here');
    const keyStart = cursor.at;
    const key = readString(cursor);
    skipSpace(cursor);
    if (cursor.text[cursor.at] !== ':') throw syntaxFailure(cursor, cursor.at, 'a colon is due here');
    cursor.at += 1;
    skipSpace(cursor);
    const node = readValue(cursor, depth + 1);
    const comma = readComma(cursor, '}', start);
    const member: JsoncMember = { key, keyStart, node, comma };
    if (keys.has(key)) cursor.repeated.push(member);
    keys.add(key);
    members.push(member);
  }
}

function readArray(cursor: Cursor, depth: number): JsoncNode {
  const start = cursor.at++;
  const items: JsoncNode[] = [];
  for (;;) {
    skipSpace(cursor);
    const sign = cursor.text[cursor.at];
    if (sign === ']') { cursor.at += 1; return { kind: 'array', start, end: cursor.at, items }; }
    if (sign === undefined) throw syntaxFailure(cursor, start, 'an array that does not end');
    items.push(readValue(cursor, depth + 1));
    readComma(cursor, ']', start);
  }
}

/** The offset of the comma, or `undefined` when the container ends here. */
function readComma(cursor: Cursor, close: string, start: number): number | undefined {
  skipSpace(cursor);
  const sign = cursor.text[cursor.at];
  if (sign === ',') return cursor.at++;
  if (sign === close) return undefined;
  if (sign === undefined) throw syntaxFailure(cursor, start, close === '}' ? 'an object that does not end' : 'an array that does not end');
  throw syntaxFailure(cursor, cursor.at, `a comma or ${close} is due here`);
}

function readString(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.at;
  let plain = true;
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34 /* " */) {
      cursor.at = at + 1;
      if (plain) return text.slice(start + 1, at);
      try {
        return JSON.parse(text.slice(start, at + 1)) as string;
      } catch {
        throw syntaxFailure(cursor, start, 'text with an escape that JSON does not know');
      }
    }
    if (code === 92 /* \ */) { plain = false; at += 1; continue; }
    if (code < 32) throw syntaxFailure(cursor, at, code === 10 || code === 13 ? 'text that does not end on its line' : 'a control character inside text');
  }
  throw syntaxFailure(cursor, start, 'text that does not end');
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readWord(cursor: Cursor): JsoncNode {
  const start = cursor.at;
  let end = start;
  while (end < cursor.text.length && !/[\s,:{}[\]"/]/.test(cursor.text[end]!)) end += 1;
  const word = cursor.text.slice(start, end);
  cursor.at = end;
  const node = (value: number | boolean | null): JsoncNode => ({ kind: 'scalar', start, end, value });
  if (word === 'true') return node(true);
  if (word === 'false') return node(false);
  if (word === 'null') return node(null);
  if (word.length < 400 && NUMBER.test(word)) return node(Number(word));
  throw syntaxFailure(cursor, start, 'a value is due here (text needs double quotes)');
}
