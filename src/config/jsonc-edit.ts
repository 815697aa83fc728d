/**
 * Edits of JSONC text in place: comments, order, indentation, line ends and trailing commas of everything else stay as they
 * are. Each edit is one splice, found by the parser's offsets, and its result is parsed again before it is believed.
 */
import { Failure } from '../base/failure.ts';
import { memberOf, parseJsonc, valueOf, type JsoncDocument, type JsoncMember, type JsoncNode, type JsoncSource } from './jsonc.ts';

type ObjectNode = JsoncNode & { readonly kind: 'object' };

/** The text with `value` at the path of keys. Missing objects on the way are made; null on the way counts as missing. Fails with CONFIG_INVALID when something else is in the way. */
export function setJsonc(text: string, keys: readonly string[], value: unknown, source: JsoncSource): string {
  const document = parseJsonc(text, source);
  return checked(splice(document, source, keys, value), source);
}

/** The text without the member at the path of keys; the same text when there is none. Comments stay. */
export function removeJsonc(text: string, keys: readonly string[], source: JsoncSource): string {
  let edited = text;
  // A key that stands twice is removed twice, or the earlier one would come back to life.
  for (;;) {
    const document = parseJsonc(edited, source);
    const parent = nodeAt(document.root, keys.slice(0, -1));
    const index = parent?.kind === 'object' ? parent.members.findLastIndex((member) => member.key === keys.at(-1)) : -1;
    if (index === -1) return edited;
    edited = checked(cutMember(edited, parent as ObjectNode, index), source);
  }
}

/** The text with an item of the list at the path of keys replaced or, without an index, added at its end. Fails with CONFIG_INVALID when no list is there. */
export function setItemJsonc(text: string, keys: readonly string[], index: number | undefined, value: unknown, source: JsoncSource): string {
  const document = parseJsonc(text, source);
  const list = nodeAt(document.root, keys);
  if (list === undefined) throw blocked(source, keys.join('.'), { kind: 'scalar', start: 0, end: 0, value: null });
  if (list.kind !== 'array') throw blocked(source, keys.join('.'), list, 'a list');
  const style = styleOf(document);
  const last = list.items.at(-1);
  const old = index === undefined ? undefined : list.items[index];
  if (old !== undefined) return checked(text.slice(0, old.start) + format(value, indentOfLine(text, old.start), style) + text.slice(old.end), source);
  if (last === undefined) {
    const inner = text.slice(list.start + 1, list.end - 1).trimEnd(), base = indentOfLine(text, list.start), indent = base + style.unit;
    return checked(`${text.slice(0, list.start + 1)}${inner}${style.eol}${indent}${format(value, indent, style)}${style.eol}${base}${text.slice(list.end - 1)}`, source);
  }
  // A trailing comma stays one; comments between the last item and the bracket stay where they are.
  const comma = commaBehind(text, last.end, list.end);
  const ownLine = ownIndent(text, last.start);
  const item = ownLine === undefined ? ` ${JSON.stringify(value)}` : `${style.eol}${ownLine}${format(value, ownLine, style)}`;
  const at = comma === undefined ? last.end : comma + 1;
  return checked(`${text.slice(0, at)}${comma === undefined ? ',' : ''}${item}${comma === undefined ? '' : ','}${text.slice(at)}`, source);
}

/** The comma that follows an item, comments stepped over. */
function commaBehind(text: string, from: number, end: number): number | undefined {
  for (let at = from; at < end - 1; at += 1) {
    if (text[at] === ',') return at;
    if (text.startsWith('//', at)) at = Math.max(at, text.indexOf('\n', at));
    else if (text.startsWith('/*', at)) at = text.indexOf('*/', at) + 1;
  }
  return undefined;
}

/** The node at a path of keys. */
export function nodeAt(root: JsoncNode, keys: readonly string[]): JsoncNode | undefined {
  let node: JsoncNode | undefined = root;
  for (const key of keys) node = node === undefined ? undefined : memberOf(node, key)?.node;
  return node;
}

function checked(text: string, source: JsoncSource): string {
  try {
    parseJsonc(text, source);
    return text;
  } catch (error) {
    throw new Failure('INTERNAL', `Cannot edit "${source.file}": the edited text would not be readable; nothing was written`, { stage: 'config', details: { where: 'jsonc-edit' }, cause: error });
  }
}

function splice(document: JsoncDocument, source: JsoncSource, keys: readonly string[], value: unknown): string {
  const { text } = document;
  const style = styleOf(document);
  let node: JsoncNode = document.root;
  if (node.kind !== 'object') throw blocked(source, '', node);
  for (const [depth, key] of keys.entries()) {
    const member: JsoncMember | undefined = memberOf(node, key);
    const rest = keys.slice(depth + 1);
    if (member === undefined) return insertMember(text, node as ObjectNode, key, nested(rest, value), style);
    const isNull = member.node.kind === 'scalar' && member.node.value === null;
    if (rest.length === 0 || isNull) {
      const indent = indentOfLine(text, member.keyStart);
      return text.slice(0, member.node.start) + format(nested(rest, value), indent, style) + text.slice(member.node.end);
    }
    if (member.node.kind !== 'object') throw blocked(source, keys.slice(0, depth + 1).join('.'), member.node);
    node = member.node;
  }
  return text;
}

function blocked(source: JsoncSource, key: string, node: JsoncNode, due = 'an object'): Failure {
  const message = `${due} is due, not ${node.kind === 'array' ? 'a list' : typeof valueOf(node)}`;
  return new Failure('CONFIG_INVALID', `Cannot edit "${key}" of ${source.file}: ${message}`, { stage: 'config', details: { file: source.file, problems: [{ pointer: key, message }] }, hint: `Edit ${source.file} by hand` });
}

function nested(keys: readonly string[], value: unknown): unknown {
  return keys.reduceRight((inner, key) => ({ [key]: inner }), value);
}

// --- Style -----------------------------------------------------------------------------------------------------------

interface Style { readonly unit: string; readonly eol: string; readonly bom: boolean }

function styleOf({ text, root }: JsoncDocument): Style {
  const newline = text.indexOf('\n');
  const first = root.kind === 'object' ? root.members[0] : undefined;
  const indent = first === undefined ? '' : ownIndent(text, first.keyStart) ?? '';
  return { unit: indent === '' ? '  ' : indent, eol: newline > 0 && text[newline - 1] === '\r' ? '\r\n' : '\n', bom: text.startsWith('\ufeff') };
}

/** White space in front of the line that holds `offset`. */
export function indentOfLine(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, offset))![0];
}

/** The indent of something that is the first on its line; `undefined` when it is not. */
function ownIndent(text: string, offset: number): string | undefined {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  const before = text.slice(lineStart, offset);
  return lineStart > 0 && /^[ \t]*$/.test(before) ? before : undefined;
}

function format(value: unknown, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

// --- Insert ----------------------------------------------------------------------------------------------------------

function insertMember(text: string, parent: ObjectNode, key: string, value: unknown, style: Style): string {
  const last = parent.members.at(-1);
  if (parent.start === parent.end) return wholeObject(text, key, value, style);
  if (last === undefined) return insertFirst(text, parent, key, value, style);
  const head = text.slice(parent.start, parent.end);
  if (!head.includes('\n')) {
    const at = last.comma ?? last.node.end;
    const member = `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    return last.comma === undefined ? `${text.slice(0, at)}, ${member}${text.slice(at)}` : `${text.slice(0, at + 1)} ${member},${text.slice(at + 1)}`;
  }
  const indent = ownIndent(text, last.keyStart) ?? indentOfLine(text, parent.start) + style.unit;
  const member = `${style.eol}${indent}${JSON.stringify(key)}: ${format(value, indent, style)}`;
  const after = (last.comma ?? last.node.end - 1) + 1;
  const place = endOfRemarks(text, after);
  // Where the brace follows on the line of the last member, it goes to a line of its own.
  const closing = text[place] === '}' ? style.eol + indentOfLine(text, parent.start) : '';
  if (last.comma !== undefined) return `${text.slice(0, place)}${member},${closing}${text.slice(place)}`;
  return `${text.slice(0, after)},${text.slice(after, place)}${member}${closing}${text.slice(place)}`;
}

/** A text that holds no value yet, perhaps comments. */
function wholeObject(text: string, key: string, value: unknown, style: Style): string {
  const kept = text.trim() === '' || text === '\ufeff' ? (style.bom ? '\ufeff' : '') : text.endsWith('\n') ? text : text + style.eol;
  return `${kept}${format({ [key]: value }, '', style)}${style.eol}`;
}

/** Into `{}`, behind the comments it may hold. */
function insertFirst(text: string, parent: ObjectNode, key: string, value: unknown, style: Style): string {
  const base = indentOfLine(text, parent.start);
  const indent = base + style.unit;
  const inner = text.slice(parent.start + 1, parent.end - 1).trimEnd();
  return `${text.slice(0, parent.start + 1)}${inner}${style.eol}${indent}${JSON.stringify(key)}: ${format(value, indent, style)}${style.eol}${base}${text.slice(parent.end - 1)}`;
}

/** Steps over what is said on the same line behind a member: spaces and comments, but not into the next line. */
function endOfRemarks(text: string, offset: number): number {
  let at = offset, end = offset;
  for (;;) {
    while (text[at] === ' ' || text[at] === '\t') at += 1;
    if (text.startsWith('//', at)) {
      const newline = text.indexOf('\n', at);
      const stop = newline === -1 ? text.length : newline;
      return text[stop - 1] === '\r' ? stop - 1 : stop;
    }
    if (!text.startsWith('/*', at)) return text[at] === '}' ? at : end;
    end = text.indexOf('*/', at + 2) + 2;
    at = end;
  }
}

// --- Remove ----------------------------------------------------------------------------------------------------------

function cutMember(text: string, parent: ObjectNode, index: number): string {
  const member = parent.members[index]!;
  const previous = parent.members[index - 1];
  // The comma behind it goes with it; the last one of a list without a trailing comma takes the comma in front.
  const comma = member.comma ?? previous?.comma;
  let { keyStart: from } = member, to = member.node.end;
  let tail = text.slice(to);
  let front = text.slice(0, from);
  if (comma !== undefined && comma >= to) tail = text.slice(to, comma) + text.slice(comma + 1);
  else if (comma !== undefined) front = text.slice(0, comma) + text.slice(comma + 1, from);
  // Alone on its lines: they go whole. Otherwise one run of spaces is enough.
  const before = /(^|\n)[ \t]*$/.exec(front);
  const behind = /^[ \t]*(?:\r?\n|$)/.exec(tail);
  if (before !== null && behind !== null) return front.slice(0, front.length - before[0].length + before[1]!.length) + tail.slice(behind[0].length);
  if (/[ \t{]$/.test(front)) tail = tail.replace(/^[ \t]+/, '');
  return front + tail;
}
