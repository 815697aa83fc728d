/**
 * TOML 1.0 as another program's configuration file holds it, read into the same tree as JSONC, so that every value knows where it
 * stands. One pass. Dates and times become their text; infinities and "not a number" have no place in a configuration and are refused.
 */
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { byteSize } from '../base/text.ts';
import { positionAt, type JsoncNode, type JsoncSource } from './jsonc.ts';

type Scalar = Extract<JsoncNode, { kind: 'scalar' }>;
type Value = Scalar | List | Table;

/** `open` lists are those of `[[name]]`, which grow; the others are closed with their bracket. */
interface List { readonly kind: 'list'; readonly items: Value[]; readonly start: number; end: number; readonly open: boolean }

/** How a table came to be decides who may still add to it. */
interface Table { readonly kind: 'table'; readonly members: Map<string, { readonly keyStart: number; readonly value: Value }>; readonly start: number; end: number; by: 'path' | 'header' | 'dotted' | 'inline' }

interface Key { readonly name: string; readonly start: number }

/** Parses a whole text into a tree of objects, arrays and scalars. Fails with CONFIG_UNREADABLE, which knows line and column. */
export function parseToml(text: string, source: JsoncSource): JsoncNode {
  if (Buffer.byteLength(text) > limits.configFileBytes) {
    throw new Failure('CONFIG_UNREADABLE', `Cannot read "${source.file}": it is larger than ${byteSize(limits.configFileBytes)}`, { stage: 'config', details: { file: source.file }, origin: source });
  }
  return frozen(readDocument(text, source));
}

function frozen(value: Value): JsoncNode {
  const { start, end } = value;
  if (value.kind === 'scalar') return value;
  if (value.kind === 'list') return { kind: 'array', start, end, items: value.items.map(frozen) };
  return { kind: 'object', start, end, members: [...value.members].map(([key, { keyStart, value: inner }]) => ({ key, keyStart, node: frozen(inner), comma: undefined })) };
}

const newTable = (start: number, by: Table['by']): Table => ({ kind: 'table', members: new Map(), start, end: start, by });
const BARE = /[A-Za-z0-9_-]+/y;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', e: '\u001b', '"': '"', '\\': '\\' };
const INTEGER = /^(?:[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*)$/;
const FLOAT = /^[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?$/;
const DATE = /^(?:\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?|\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)$/;

function readDocument(text: string, source: JsoncSource): Table {
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const root = newTable(at, 'header');
  let current = root;

  function fail(problem: string, offset = at): never {
    const { line, column } = positionAt(text, Math.min(offset, text.length));
    throw new Failure('CONFIG_UNREADABLE', `Cannot read "${source.file}": line ${line}, column ${column}: ${problem}`, {
      stage: 'config', details: { file: source.file, line, column }, origin: { file: source.file, layer: source.layer, line, column }, hint: `Correct line ${line} of ${source.file}`,
    });
  }

  const spaces = (): void => { while (text[at] === ' ' || text[at] === '\t') at += 1; };
  const comment = (): void => {
    if (text[at] !== '#') return;
    const end = text.indexOf('\n', at);
    at = end === -1 ? text.length : end;
  };
  /** Spaces, comments and line ends: between expressions, and inside lists. */
  const blank = (): void => {
    for (;;) {
      spaces();
      comment();
      if (text[at] === '\r' && text[at + 1] === '\n') at += 2;
      else if (text[at] === '\n') at += 1;
      else return;
    }
  };
  const lineEnd = (): void => {
    spaces();
    comment();
    if (at < text.length && text[at] !== '\n' && !text.startsWith('\r\n', at)) fail('the line should end here');
  };

  // ---- keys

  function keyPart(): Key {
    const start = at;
    if (text[at] === '"') return { name: basic(), start };
    if (text[at] === "'") return { name: literal(), start };
    BARE.lastIndex = at;
    const name = BARE.exec(text)?.[0] ?? fail('a key is due here');
    at += name.length;
    return { name, start };
  }

  function keyPath(): Key[] {
    const path = [keyPart()];
    for (spaces(); text[at] === '.'; spaces()) {
      at += 1;
      spaces();
      path.push(keyPart());
      if (path.length > limits.tomlDepth) fail(`a key has more than ${limits.tomlDepth} parts`);
    }
    return path;
  }

  /** The table at a step, made when it is missing; of `[[lists]]` the last. */
  function step(table: Table, { name, start }: Key, by: 'path' | 'dotted'): Table {
    const known = table.members.get(name)?.value;
    if (known === undefined) {
      const made = newTable(start, by);
      table.members.set(name, { keyStart: start, value: made });
      return made;
    }
    if (known.kind === 'list' && known.open && by === 'path') return known.items.at(-1) as Table;
    if (known.kind !== 'table' || known.by === 'inline' || (by === 'dotted' && known.by !== 'dotted')) fail(`"${name}" is no table that can be added to`, start);
    return known;
  }

  function header(): void {
    const start = at, many = text.startsWith('[[', at);
    at += many ? 2 : 1;
    spaces();
    const path = keyPath();
    if (!text.startsWith(many ? ']]' : ']', at)) fail(`${many ? ']]' : ']'} is due here`);
    at += many ? 2 : 1;
    const last = path.pop()!;
    const parent = path.reduce((table, key) => step(table, key, 'path'), root);
    const known = parent.members.get(last.name)?.value;
    if (many) {
      const list = known ?? { kind: 'list', items: [], start, end: start, open: true } satisfies List;
      if (list.kind !== 'list' || !list.open) fail(`"${last.name}" is no list of tables`, last.start);
      if (known === undefined) parent.members.set(last.name, { keyStart: last.start, value: list });
      current = newTable(start, 'header');
      list.items.push(current);
    } else if (known === undefined) {
      current = newTable(start, 'header');
      parent.members.set(last.name, { keyStart: last.start, value: current });
    } else {
      if (known.kind !== 'table' || known.by !== 'path') fail(`"${last.name}" stands here for the second time`, last.start);
      known.by = 'header';
      current = known;
    }
    lineEnd();
  }

  function pair(into: Table, depth: number): void {
    const path = keyPath();
    if (text[at] !== '=') fail('= is due here');
    at += 1;
    spaces();
    const last = path.pop()!;
    const table = path.reduce((inner, key) => step(inner, key, 'dotted'), into);
    if (table.members.has(last.name)) fail(`"${last.name}" stands here for the second time`, last.start);
    table.members.set(last.name, { keyStart: last.start, value: value(depth) });
  }

  // ---- values

  function value(depth: number): Value {
    if (depth > limits.tomlDepth) fail(`nested deeper than ${limits.tomlDepth} levels`);
    const start = at;
    switch (text[at]) {
      case '"': return { kind: 'scalar', value: text.startsWith('"""', at) ? longText('"""') : basic(), start, end: at };
      case "'": return { kind: 'scalar', value: text.startsWith("'''", at) ? longText("'''") : literal(), start, end: at };
      case '[': return list(depth);
      case '{': return inline(depth);
      default: return word();
    }
  }

  function list(depth: number): List {
    const made: List = { kind: 'list', items: [], start: at, end: at, open: false };
    at += 1;
    for (blank(); text[at] !== ']'; blank()) {
      if (at >= text.length) fail('a list that does not end', made.start);
      made.items.push(value(depth + 1));
      blank();
      if (text[at] === ',') at += 1;
      else if (text[at] !== ']') fail('a comma or ] is due here');
    }
    made.end = at += 1;
    return made;
  }

  function inline(depth: number): Table {
    const made = newTable(at, 'inline');
    at += 1;
    for (blank(); text[at] !== '}'; blank()) {
      if (at >= text.length) fail('a table that does not end', made.start);
      pair(made, depth + 1);
      blank();
      if (text[at] === ',') at += 1;
      else if (text[at] !== '}') fail('a comma or } is due here');
    }
    made.end = at += 1;
    return made;
  }

  function word(): Scalar {
    const start = at;
    while (at < text.length && !/[\s,\]}#=]/.test(text[at]!)) at += 1;
    // A date and its time may be parted by one space.
    if (/^\d{4}-\d{2}-\d{2}$/.test(text.slice(start, at)) && /^ \d{2}:/.test(text.slice(at, at + 4))) { at += 1; while (at < text.length && !/[\s,\]}#=]/.test(text[at]!)) at += 1; }
    const found = text.slice(start, at);
    const scalar = (read: Scalar['value']): Scalar => ({ kind: 'scalar', value: read, start, end: at });
    if (found === 'true' || found === 'false') return scalar(found === 'true');
    if (found.length < 400 && (INTEGER.test(found) || FLOAT.test(found))) return scalar(Number(found.replaceAll('_', '')));
    if (DATE.test(found)) return scalar(found);
    return fail(/^[+-]?(?:inf|nan)$/.test(found) ? 'this number has no meaning here' : 'a value is due here (text needs quotes)', start);
  }

  // ---- texts

  function literal(): string {
    const start = at, end = text.indexOf("'", at + 1), line = text.indexOf('\n', at);
    if (end === -1 || (line !== -1 && line < end)) fail('text that does not end on its line', start);
    at = end + 1;
    return text.slice(start + 1, end);
  }

  function basic(): string {
    const start = at;
    let out = '';
    for (at += 1; ;) {
      const sign = text[at];
      if (sign === undefined || sign === '\n') fail('text that does not end on its line', start);
      if (sign === '"') { at += 1; return out; }
      if (sign === '\\') { out += escape(); continue; }
      const from = at;
      while (at < text.length && text[at] !== '"' && text[at] !== '\\' && text[at] !== '\n') at += 1;
      out += text.slice(from, at);
    }
  }

  function longText(quotes: '"""' | "'''"): string {
    const start = at;
    at += 3;
    if (text.startsWith('\r\n', at)) at += 2; else if (text[at] === '\n') at += 1;
    let out = '';
    for (;;) {
      if (at >= text.length) fail('text that does not end', start);
      if (text.startsWith(quotes, at)) {
        at += 3;
        // Up to two quotes more belong to the text itself.
        for (let extra = 0; extra < 2 && text[at] === quotes[0]; extra++) { out += quotes[0]; at += 1; }
        return out;
      }
      if (quotes === '"""' && text[at] === '\\') {
        const fold = /\\[ \t]*\r?\n[ \t\r\n]*/y;
        fold.lastIndex = at;
        const skipped = fold.exec(text)?.[0];
        if (skipped === undefined) out += escape(); else at += skipped.length;
        continue;
      }
      const from = at;
      at += 1;
      while (at < text.length && text[at] !== quotes[0] && text[at] !== '\\') at += 1;
      out += text.slice(from, at);
    }
  }

  function escape(): string {
    const sign = text[at + 1] ?? '';
    const simple = Object.hasOwn(ESCAPES, sign) ? ESCAPES[sign] : undefined;
    if (simple !== undefined) { at += 2; return simple; }
    const digits = sign === 'u' ? 4 : sign === 'U' ? 8 : sign === 'x' ? 2 : fail('an escape that TOML does not know');
    const hex = text.slice(at + 2, at + 2 + digits), code = Number.parseInt(hex, 16);
    if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length !== digits || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) fail('an escape that is no character');
    at += 2 + digits;
    return String.fromCodePoint(code);
  }

  for (blank(); at < text.length; blank()) {
    if (text[at] === '[') header();
    else { pair(current, 0); lineEnd(); }
    current.end = at;
  }
  root.end = text.length;
  return root;
}
