/**
 * The YAML at the head of a Markdown file, as JSON. A subset of YAML 1.2 with the core schema: mappings and sequences in block and
 * flow form, plain, quoted and block scalars. Everything else (anchors, aliases, tags, directives, complex and repeated keys,
 * tabs as indentation, infinities) is refused by name, because a value that is read differently from how its author's tools
 * read it would pass a comparison that it should fail.
 */
import { isObject, type JsonObject } from './json.ts';
import { limits } from './limits.ts';

export type Frontmatter = { readonly value: JsonObject } | { readonly problem: string };

/** The mapping between the `---` lines that a text begins with. `problem` says what is the case, with the line. */
export function readFrontmatter(text: string): Frontmatter {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  if (!/^---[ \t]*$/.test(lines[0] ?? '')) return { problem: 'it does not begin with a line "---"' };
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)[ \t]*$/.test(line));
  if (end < 0) return { problem: 'its frontmatter is not closed by a line "---"' };
  const head = lines.slice(1, end);
  if (head.reduce((size, line) => size + line.length + 1, 0) > limits.frontmatterChars) return { problem: `its frontmatter is longer than ${limits.frontmatterChars} characters` };
  try {
    const value = parseYaml(head);
    return isObject(value) ? { value } : { problem: 'its frontmatter is not a mapping' };
  } catch (error) {
    if (error instanceof YamlProblem) return { problem: error.message };
    throw error;
  }
}

/** Internal: ends parsing from anywhere; `readFrontmatter` makes it a value. */
class YamlProblem extends Error {}

type Value = unknown;

const BLANK = /^[ \t]*(?:#.*)?$/;
/** Indicators that cannot begin a plain scalar. */
const RESERVED: Readonly<Record<string, string>> = { '&': 'anchors are', '*': 'aliases are', '!': 'tags are', '%': 'directives are', '@': '"@" at the start of a value is', '`': '"`" at the start of a value is', '?': 'complex keys are' };

/** Recursive descent over lines; `row` and `col` are the cursor. */
function parseYaml(source: readonly string[]): Value {
  const lines = [...source];
  let row = 0, col = 0, depth = 0;

  // The first line of the file is the "---" that was cut off.
  const fail = (what: string): never => { throw new YamlProblem(`line ${row + 2} of its frontmatter: ${what}`); };
  const line = (): string => lines[row] ?? '';
  const deeper = <T>(read: () => T): T => {
    depth += 1;
    if (depth > limits.frontmatterDepth) fail(`it is nested deeper than ${limits.frontmatterDepth} levels`);
    const value = read();
    depth -= 1;
    return value;
  };
  const skipBlank = (): void => { while (row < lines.length && BLANK.test(line())) row += 1; };
  /** Indentation of the current line; -1 at the end. */
  const indent = (): number => {
    if (row >= lines.length) return -1;
    const spaces = /^ */.exec(line())![0].length;
    if (line()[spaces] === '\t') fail('a tab is no indentation');
    return spaces;
  };
  const isItem = (at: number): boolean => /^-(?:[ \t]|$)/.test(line().slice(at));
  const restIsBlank = (): boolean => /^(?:[ \t]+#.*|[ \t]*)$/.test(line().slice(col));

  // ---- blocks
  /** What stands below `parent`, or null. */
  function node(parent: number, itemsAt: number = parent + 1): Value {
    skipBlank();
    const at = indent();
    if (at >= itemsAt && isItem(at)) return deeper(() => sequence(at));
    if (at <= parent) return null;
    if (keyAt(at) !== undefined) return deeper(() => mapping(at));
    col = at;
    return value(parent);
  }

  function mapping(at: number): JsonObject {
    const members = new Map<string, Value>();
    for (skipBlank(); indent() === at; skipBlank()) {
      if (isItem(at)) fail('a list item stands where a key is due');
      const key = keyAt(at) ?? fail(`"${line().trim().slice(0, 40)}" is no key with a value`);
      if (members.has(key.name)) fail(`the key "${key.name}" comes twice`);
      col = key.after;
      members.set(key.name, valueOf(at, at));
    }
    if (indent() > at) fail('its indentation fits nothing above it');
    return Object.fromEntries(members);
  }

  function sequence(at: number): Value[] {
    const items: Value[] = [];
    for (skipBlank(); indent() === at && isItem(at); skipBlank()) {
      // The item is a block of its own that begins behind the dash.
      lines[row] = `${' '.repeat(at + 1)}${line().slice(at + 1)}`;
      items.push(BLANK.test(line()) ? nextLine(() => node(at)) : node(at));
    }
    if (indent() > at) fail('its indentation fits nothing above it');
    return items;
  }

  const nextLine = <T>(read: () => T): T => { row += 1; return read(); };

  /** The value of a key: on its line, or below it; a list may stand as far left as the key. */
  function valueOf(parent: number, itemsAt: number): Value {
    while (line()[col] === ' ' || line()[col] === '\t') col += 1;
    return restIsBlank() || line()[col] === '#' ? nextLine(() => node(parent, itemsAt)) : value(parent);
  }

  /** A key of a block mapping that begins at `at`, with the column behind its colon. */
  function keyAt(at: number): { readonly name: string; readonly after: number } | undefined {
    const text = line().slice(at);
    const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text)?.[0];
    if (quoted !== undefined) {
      const colon = /^[ \t]*:(?=[ \t]|$)/.exec(text.slice(quoted.length))?.[0];
      if (colon === undefined) return undefined;
      col = at;
      const name = quotedScalar(-1);
      return { name, after: at + quoted.length + colon.length };
    }
    if (/^(?:[[\]{},#|>"'%@`&*!]|[-?:](?:[ \t]|$))/.test(text)) {
      if (text.startsWith('? ') || text === '?') fail(`${RESERVED['?']} not supported`);
      return undefined;
    }
    const plain = /^(?:[^:#]|:(?![ \t]|$)|(?<![ \t])#)*/.exec(text)![0];
    if (text[plain.length] !== ':') return undefined;
    const name = plain.trimEnd();
    if (name === '<<') fail('merge keys are not supported');
    return { name, after: at + plain.length + 1 };
  }

  /** A scalar or flow collection at the cursor; afterwards the cursor is at the next line. */
  function value(parent: number): Value {
    const first = line()[col]!;
    const reserved = RESERVED[first];
    if (reserved !== undefined && (first !== '?' || /^\?(?:[ \t]|$)/.test(line().slice(col)))) fail(`${reserved} not supported`);
    if (first === '|' || first === '>') return blockScalar(parent);
    if (first === '"' || first === "'") return closed(quotedScalar(parent));
    if (first === '[' || first === '{') return closed(flow(parent));
    if (first === ']' || first === '}' || first === ',' || isItem(col)) fail(`"${first}" stands where a value is due`);
    return resolve(plainScalar(parent));
  }

  function closed<T>(value: T): T {
    if (!restIsBlank()) fail(`"${line().slice(col).trim().slice(0, 40)}" stands behind a complete value`);
    row += 1;
    return value;
  }

  // ---- scalars
  /** A plain scalar, continued on deeper lines. */
  function plainScalar(parent: number): string {
    let text = plainPart(line().slice(col)), blank = 0;
    const ended = text.ended;
    let out = text.text;
    row += 1;
    if (ended) return out;
    for (; row < lines.length; row += 1) {
      if (line().trim() === '') { blank += 1; continue; }
      if (indent() <= parent || line().trimStart().startsWith('#')) break;
      text = plainPart(line().trim());
      out += blank > 0 ? '\n'.repeat(blank) : ' ';
      out += text.text;
      blank = 0;
      if (text.ended) { row += 1; break; }
    }
    return out;
  }

  /** One line of it, up to a comment, which also ends the whole. */
  function plainPart(text: string): { readonly text: string; readonly ended: boolean } {
    const comment = text.search(/[ \t]#/);
    const own = (comment < 0 ? text : text.slice(0, comment)).trim();
    if (/:(?:[ \t]|$)/.test(own)) fail('a value that holds ": " has to be quoted');
    return { text: own, ended: comment >= 0 };
  }

  function resolve(text: string): Value {
    if (/^(?:~|null|Null|NULL|)$/.test(text)) return null;
    if (/^(?:true|True|TRUE)$/.test(text)) return true;
    if (/^(?:false|False|FALSE)$/.test(text)) return false;
    if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
    if (/^0o[0-7]+$|^0x[0-9a-fA-F]+$/.test(text)) return Number(text);
    if (/^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/.test(text)) fail(`"${text}" has no form in JSON`);
    return text;
  }

  /** Leaves the cursor behind the closing quote. */
  function quotedScalar(parent: number): string {
    const quote = line()[col]!;
    let out = '';
    col += 1;
    for (;;) {
      const text = line();
      const from = col;
      while (col < text.length && text[col] !== quote && text[col] !== '\\') col += 1;
      out += text.slice(from, col);
      const at = text[col];
      if (at === undefined) { out = foldQuoted(out, parent, from, false); continue; }
      if (at === '\\' && quote === "'") { out += '\\'; col += 1; continue; }
      if (at === '\\') {
        if (col === text.length - 1) out = foldQuoted(out, parent, from, true); else out += escape();
        continue;
      }
      col += 1;
      if (quote === "'" && text[col] === "'") { out += "'"; col += 1; continue; }
      return out;
    }
  }

  /** A line end inside quotes: one becomes a space, more become the others; an escaped one nothing. */
  function foldQuoted(out: string, parent: number, from: number, escaped: boolean): string {
    let breaks = 0;
    do { row += 1; breaks += 1; } while (row < lines.length && line().trim() === '');
    if (row >= lines.length) { row = lines.length - 1; fail('a quoted value is not closed'); }
    if (indent() <= parent) fail('a quoted value is not closed');
    col = indent();
    // Space written before the line end goes; space that an escape made, or that came from an earlier line, stays.
    const kept = escaped ? out : out.slice(0, Math.max(0, out.length - trailing(lines[row - breaks]!, from)));
    return kept + (breaks > 1 ? '\n'.repeat(breaks - 1) : escaped ? '' : ' ');
  }

  const trailing = (text: string, from: number): number => /[ \t]*$/.exec(text.slice(from))![0].length;

  function escape(): string {
    const at = line()[col + 1]!;
    const simple = ESCAPES[at];
    if (simple !== undefined) { col += 2; return simple; }
    const digits = { x: 2, u: 4, U: 8 }[at] ?? fail(`"\\${at}" is no escape`);
    const hex = line().slice(col + 2, col + 2 + digits);
    const code = Number.parseInt(hex, 16);
    if (!new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(hex) || code > 0x10ffff) fail(`"\\${at}${hex}" is no character`);
    col += 2 + digits;
    return String.fromCodePoint(code);
  }

  function blockScalar(parent: number): string {
    const header = /^([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?(?:[ \t]+#.*|[ \t]*)$/.exec(line().slice(col)) ?? fail('the head of a block of text is not understood');
    const chomp = header[2] ?? header[5], given = header[3] ?? header[4];
    row += 1;
    const begin = row;
    while (row < lines.length && (line().trim() === '' || /^ */.exec(line())![0].length > parent)) row += 1;
    const raw = lines.slice(begin, row);
    const first = raw.find((text) => text.trim() !== '');
    const width = given !== undefined ? Math.max(parent, 0) + Number(given) : first === undefined ? 0 : /^ */.exec(first)![0].length;
    const body = raw.map((text) => {
      if (text.slice(0, width).trim() !== '') fail('a line of a block of text is indented too little');
      return text.slice(width);
    });
    let last = body.length;
    while (last > 0 && body[last - 1]!.trim() === '' ) last -= 1;
    const text = header[1] === '|' ? body.slice(0, last).join('\n') : folded(body.slice(0, last));
    if (chomp === '-') return text;
    if (chomp === '+') return text + '\n'.repeat(body.length - last + (last > 0 ? 1 : 0));
    return text === '' ? '' : `${text}\n`;
  }

  // ---- flow collections
  function flow(parent: number): Value {
    return deeper(() => (line()[col] === '[' ? flowList(parent) : flowMap(parent)));
  }

  /** To the next thing, over line ends and comments. */
  function flowSpace(parent: number): string {
    for (;;) {
      while (line()[col] === ' ' || line()[col] === '\t') col += 1;
      const at = line()[col];
      if (at !== undefined && !(at === '#' && (col === 0 || /[ \t]/.test(line()[col - 1]!)))) return at;
      row += 1;
      col = 0;
      skipBlank();
      if (row >= lines.length) { row = lines.length - 1; fail('a list or map in brackets is not closed'); }
      if (indent() <= parent) fail('a list or map in brackets is not closed');
    }
  }

  function flowList(parent: number): Value[] {
    const items: Value[] = [];
    col += 1;
    for (;;) {
      if (flowSpace(parent) === ']') { col += 1; return items; }
      items.push(flowValue(parent));
      const next = flowSpace(parent);
      if (next === ',') col += 1; else if (next !== ']') fail(`"${next}" stands where "," or "]" is due`);
    }
  }

  function flowMap(parent: number): JsonObject {
    const members = new Map<string, Value>();
    col += 1;
    for (;;) {
      if (flowSpace(parent) === '}') { col += 1; return Object.fromEntries(members); }
      const quoted = line()[col] === '"' || line()[col] === "'";
      const name = quoted ? quotedScalar(parent) : flowPlain();
      if (name === '' && !quoted) fail('a key is missing');
      if (flowSpace(parent) !== ':') fail(`the key "${name}" has no value`);
      if (members.has(name)) fail(`the key "${name}" comes twice`);
      col += 1;
      const next = flowSpace(parent);
      members.set(name, next === ',' || next === '}' ? null : flowValue(parent));
      const after = flowSpace(parent);
      if (after === ',') col += 1; else if (after !== '}') fail(`"${after}" stands where "," or "}" is due`);
    }
  }

  function flowValue(parent: number): Value {
    const first = line()[col]!;
    if (first === '[' || first === '{') return flow(parent);
    if (first === '"' || first === "'") return quotedScalar(parent);
    if (RESERVED[first] !== undefined && first !== '?') fail(`${RESERVED[first]} not supported`);
    const text = flowPlain();
    if (text === '') fail(`"${first}" stands where a value is due`);
    if (line()[col] === ':') fail('a pair outside of braces is not supported');
    return resolve(text);
  }

  /** Plain text inside brackets, on one line. */
  function flowPlain(): string {
    const text = /^(?:[^,[\]{}:#]|:(?![ \t,[\]{}]|$)|(?<![ \t])#)*/.exec(line().slice(col))![0];
    col += text.length;
    return text.trim();
  }

  skipBlank();
  if (row >= lines.length) return {};
  if (indent() > 0) fail('it begins indented');
  const result = node(-1);
  skipBlank();
  if (row < lines.length) fail('something stands behind the complete value');
  return result;
}

const ESCAPES: Readonly<Record<string, string>> = {
  0: '\0', a: '\x07', b: '\b', t: '\t', '\t': '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\x1b', ' ': ' ', '"': '"', '/': '/', '\\': '\\', N: '\x85', _: '\xa0', L: '\u2028', P: '\u2029',
};

/** Lines of a folded block: one line end becomes a space, unless a line beside it is indented further. */
function folded(lines: readonly string[]): string {
  let out = '', blank = 0, started = false, further = false;
  for (const line of lines) {
    if (line === '') { blank += 1; continue; }
    const own = line.startsWith(' ') || line.startsWith('\t');
    if (!started) out += '\n'.repeat(blank);
    else if (own || further) out += '\n'.repeat(blank + 1);
    else out += blank === 0 ? ' ' : '\n'.repeat(blank);
    out += line;
    blank = 0;
    started = true;
    further = own;
  }
  return out;
}
