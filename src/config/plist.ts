/**
 * Property lists as macOS keeps managed preferences: the binary form, and the XML form that administrators write. Only what a
 * configuration can be made of; a date becomes its text, bytes have no meaning here and are left out.
 */
import { Failure } from '../base/failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';

/** What the management itself writes into each payload: it says nothing about us. */
const BOOKKEEPING = /^(?:Payload[A-Z]\w*|_manualProfile|_\w+Profile)$/;

/** The settings of a managed preferences file, the bookkeeping of its payload left out. Fails with CONFIG_UNREADABLE. */
export function readManagedPreferences(bytes: Uint8Array, file: string): JsonObject {
  const value = parsePlist(bytes, file);
  if (!isObject(value)) throw unreadable(file, 'a dictionary was expected');
  return Object.fromEntries(Object.entries(value).filter(([key]) => !BOOKKEEPING.test(key)));
}

/** Either form. Fails with CONFIG_UNREADABLE. */
export function parsePlist(bytes: Uint8Array, file: string): unknown {
  const head = Buffer.from(bytes.subarray(0, 8)).toString('latin1');
  try {
    return head.startsWith('bplist') ? readBinary(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) : readXml(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    if (error instanceof PlistProblem || error instanceof RangeError) throw unreadable(file, error instanceof PlistProblem ? error.message : 'it is cut off', error);
    throw error;
  }
}

function unreadable(file: string, what: string, cause?: unknown): Failure {
  return new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": it is no property list: ${what}`, { stage: 'config', details: { file }, origin: { file, layer: 'managed-preferences' }, hint: `Let your administrator check ${file} (plutil -lint)`, cause });
}

/** Internal: ends the reading from anywhere. */
class PlistProblem extends Error {}

function fail(what: string): never {
  throw new PlistProblem(what);
}

// --- Binary ----------------------------------------------------------------------------------------------------------

/** Objects in any order, a table of their offsets, and a trailer of 32 bytes that says where the table is. */
function readBinary(bytes: Buffer): unknown {
  if (bytes.length < 40) fail('it is cut off');
  const trailer = bytes.length - 32;
  const offsetSize = bytes[trailer + 6]!, referenceSize = bytes[trailer + 7]!;
  const count = Number(bytes.readBigUInt64BE(trailer + 8)), top = Number(bytes.readBigUInt64BE(trailer + 16)), table = Number(bytes.readBigUInt64BE(trailer + 24));
  if (offsetSize < 1 || offsetSize > 6 || referenceSize < 1 || referenceSize > 6 || table + count * offsetSize > trailer) fail('its trailer does not fit');
  let visits = 0;

  const offsetOf = (index: number): number => (index < count ? bytes.readUIntBE(table + index * offsetSize, offsetSize) : fail('a reference leads nowhere'));

  function object(index: number, depth: number): unknown {
    // One object may be referred to from many places, even from inside itself.
    visits += 1;
    if (depth > limits.plistDepth || visits > limits.plistObjects) fail('it is nested too deep or refers to itself');
    const at = offsetOf(index);
    const kind = bytes[at]! >> 4, low = bytes[at]! & 15;
    switch (kind) {
      case 0x0: return low === 8 ? false : low === 9 ? true : null;
      case 0x1: return integer(at);
      case 0x2: return low === 2 ? bytes.readFloatBE(at + 1) : low === 3 ? bytes.readDoubleBE(at + 1) : fail('a number has an unknown size');
      case 0x3: return new Date(Date.UTC(2001, 0, 1) + bytes.readDoubleBE(at + 1) * 1000).toISOString();
      case 0x5: { const { length, from } = sized(at, low); return text(from, length, 'latin1'); }
      case 0x6: { const { length, from } = sized(at, low); return Buffer.from(text(from, length * 2, 'latin1'), 'latin1').swap16().toString('utf16le'); }
      case 0xa: case 0xc: { const { length, from } = sized(at, low); return Array.from({ length }, (_, item) => object(reference(from, item), depth + 1)).filter((item) => item !== undefined); }
      case 0xd: return dictionary(at, low, depth);
      // Data and UIDs.
      default: return undefined;
    }
  }

  function dictionary(at: number, low: number, depth: number): JsonObject {
    const { length, from } = sized(at, low);
    const members: [string, unknown][] = [];
    for (let item = 0; item < length; item++) {
      const key = object(reference(from, item), depth + 1), value = object(reference(from, length + item), depth + 1);
      if (typeof key !== 'string') fail('a key is no text');
      if (value !== undefined) members.push([key, value]);
    }
    return Object.fromEntries(members);
  }

  const reference = (from: number, item: number): number => bytes.readUIntBE(from + item * referenceSize, referenceSize);
  const integer = (at: number): number => {
    const size = 1 << (bytes[at]! & 15);
    return size <= 4 ? bytes.readUIntBE(at + 1, size) : size === 8 ? Number(bytes.readBigInt64BE(at + 1)) : fail('a number has an unknown size');
  };
  const sized = (at: number, low: number): { readonly length: number; readonly from: number } => {
    const length = low < 15 ? low : integer(at + 1), from = low < 15 ? at + 1 : at + 2 + (1 << (bytes[at + 1]! & 15));
    return length > bytes.length ? fail('it is cut off') : { length, from };
  };
  const text = (from: number, length: number, encoding: 'latin1'): string => (from + length > trailer ? fail('it is cut off') : bytes.toString(encoding, from, from + length));

  return object(top, 0);
}

// --- XML -------------------------------------------------------------------------------------------------------------

const TOKEN = /<!--[^]*?-->|<\?[^]*?\?>|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>|<(\/?)([A-Za-z]+)\s*(\/?)>|<plist[^>]*>|([^<]+)/gy;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

type Token = { readonly kind: 'open' | 'close' | 'empty'; readonly name: string } | { readonly kind: 'text'; readonly text: string };

function tokens(source: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let at = source.startsWith('\ufeff') ? 1 : 0; at < source.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source) ?? fail(`"${source.slice(at, at + 20).trim()}" is not understood`);
    const [whole, slash, name, empty, text] = match;
    if (name !== undefined) found.push({ kind: slash === '/' ? 'close' : empty === '/' ? 'empty' : 'open', name });
    else if (text !== undefined) found.push({ kind: 'text', text });
    else if (whole.startsWith('<plist')) found.push({ kind: 'open', name: 'plist' });
  }
  return found;
}

/** Only the five entities of XML and numbers: a document type declares none here. */
function decoded(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]{1,6}|\w{1,8});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? fail(`the entity ${whole} is unknown`);
    const code = Number.parseInt(name.slice(name[1] === 'x' ? 2 : 1), name[1] === 'x' ? 16 : 10);
    return code <= 0x10ffff ? String.fromCodePoint(code) : fail(`${whole} is no character`);
  });
}

function readXml(source: string): unknown {
  const list = tokens(source);
  let at = 0;
  const skipBlank = (): void => { for (let next = list[at]; next?.kind === 'text' && next.text.trim() === ''; next = list[at]) at += 1; };
  const next = (): Token => { skipBlank(); return list[at++] ?? fail('it is cut off'); };
  /** Whether the element that is open ends here; what ends must be what is open. */
  const ends = (name: string): boolean => {
    skipBlank();
    const token = list[at];
    if (token?.kind !== 'close') return false;
    if (token.name !== name) fail(`<${name}> is not closed`);
    at += 1;
    return true;
  };

  /** The text up to the closing tag of the element that was just opened. */
  function content(name: string): string {
    let text = '';
    while (!(list[at]?.kind === 'close' && ends(name))) {
      const token = list[at++];
      if (token?.kind !== 'text') fail(`<${name}> is not closed`);
      text += token.text;
    }
    return decoded(text);
  }

  function element(depth: number): unknown {
    if (depth > limits.plistDepth) fail('it is nested too deep');
    const token = next();
    if (token.kind === 'text' || token.kind === 'close') return fail('a value is due');
    const { name } = token, empty = token.kind === 'empty';
    switch (name) {
      case 'true': case 'false': if (!empty) content(name); return name === 'true';
      case 'dict': return empty ? {} : dictionary(depth);
      case 'array': { const items: unknown[] = []; if (!empty) while (!ends('array')) items.push(element(depth + 1)); return items.filter((item) => item !== undefined); }
      case 'string': case 'date': return empty ? '' : content(name);
      case 'integer': case 'real': { const text = empty ? '' : content(name).trim(); return text !== '' && Number.isFinite(Number(text)) ? Number(text) : fail(`"${text.slice(0, 20)}" is no number`); }
      case 'data': if (!empty) content(name); return undefined;
      default: return fail(`<${name.slice(0, 20)}> has no meaning in a property list`);
    }
  }

  function dictionary(depth: number): JsonObject {
    const members: [string, unknown][] = [];
    while (!ends('dict')) {
      const token = next();
      if (token.kind !== 'open' || token.name !== 'key') fail('a <key> is due');
      const key = content('key'), value = element(depth + 1);
      if (value !== undefined) members.push([key, value]);
    }
    return Object.fromEntries(members);
  }

  const root = next();
  if (root.kind !== 'open' || root.name !== 'plist') fail('<plist> is due');
  return element(0);
}
