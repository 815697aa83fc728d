import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import { limits } from '../../../src/base/limits.ts';
import { valueOf, type JsoncNode } from '../../../src/config/jsonc.ts';
import { parseToml } from '../../../src/config/toml.ts';
import { createRandom } from './generate.ts';
import { failureOf } from './sandbox.ts';

const source = { file: '/x/config.toml', layer: 'import' };
const parse = (text: string): unknown => valueOf(parseToml(text, source));

test('parseToml() reads keys: bare, quoted, dotted, with spaces and in tables', () => {
  assert.deepEqual(parse('a = 1\n"b c" = 2\n\'d"e\' = 3\nf . "g" .h = 4\n1-2_x = 5\n'), { a: 1, 'b c': 2, 'd"e': 3, f: { g: { h: 4 } }, '1-2_x': 5 });
  assert.deepEqual(parse('top = 1\n[ a . b ]\nx = 1\n[a]\ny = 2 # said\n[a."c.d"]\nz.w = 3\nz.v = 4'), { top: 1, a: { b: { x: 1 }, y: 2, 'c.d': { z: { w: 3, v: 4 } } } });
  assert.deepEqual(parse('[[s]]\nn = 1\n[s.t]\nq = 1\n[[s]]\nn = 2\n[[s.list]]\n'), { s: [{ n: 1, t: { q: 1 } }, { n: 2, list: [{}] }] });
  assert.deepEqual(parse('\ufeff# only\r\n\r\na = true\r\n'), { a: true });
  assert.deepEqual(parse(''), {});
});

test('parseToml() reads numbers, switches and dates', () => {
  assert.deepEqual(parse('a = +99\nb = -1_000\nc = 0xDEAD_beef\nd = 0o17\ne = 0b101\nf = 6.5e-1\ng = 1e6\nh = -0.0\ni = false'), { a: 99, b: -1000, c: 0xdeadbeef, d: 15, e: 5, f: 0.65, g: 1e6, h: -0, i: false });
  assert.deepEqual(parse('a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.5\nc = 07:32:00\nd = 1979-05-27'), { a: '1979-05-27T07:32:00Z', b: '1979-05-27 07:32:00.5', c: '07:32:00', d: '1979-05-27' });
});

test('parseToml() reads texts on one line and on many', () => {
  assert.deepEqual(parse('a = "x\\t\\"\\u00e9\\U0001F600\\\\"\nb = \'C:\\path\'\nc = ""\nd = \'\''), { a: 'x\t"é😀\\', b: 'C:\\path', c: '', d: '' });
  assert.deepEqual(parse('a = """\nline\\\n    joined "quoted" ""\nend"""\nb = \'\'\'\nraw \\n\n\'\'\'\nc = """x"""""'), { a: 'linejoined "quoted" ""\nend', b: 'raw \\n\n', c: 'x""' });
});

test('parseToml() reads lists and inline tables over lines, with comments and trailing commas', () => {
  assert.deepEqual(parse('a = [ 1, [2, "x"], # said\n {b = 1, c.d = 2},\n]\ne = {}\nf = []\ng = { h = [1,], }'), { a: [1, [2, 'x'], { b: 1, c: { d: 2 } }], e: {}, f: [], g: { h: [1] } });
});

test('parseToml() knows where everything stands', () => {
  const text = 'x = 1\n[mcp_servers.docs]\nurl = "https://a.test/"\n';
  const root = parseToml(text, source) as Extract<JsoncNode, { kind: 'object' }>;
  const servers = root.members[1]!, docs = (servers.node as typeof root).members[0]!, url = (docs.node as typeof root).members[0]!;
  assert.equal(text.slice(docs.keyStart, docs.keyStart + 4), 'docs');
  assert.equal(text.slice(url.node.start, url.node.end), '"https://a.test/"');
});

test('parseToml() names line, column and what is wrong, and shows no text of the file', () => {
  for (const [text, expected, line, column] of [
    ['a', /= is due/, 1, 2], ['a = ', /a value is due/, 1, 5], ['a = secret', /a value is due/, 1, 5], ['a = 1 b', /line should end/, 1, 7], ['= 1', /a key is due/, 1, 1], ['[a', /\] is due/, 1, 3],
    ['a = 1\na = 2', /second time/, 2, 1], ['[a]\n[a]', /second time/, 2, 2], ['a = 1\n[a]', /second time/, 2, 2], ['a = {b = 1}\n[a.c]', /no table/, 2, 2], ['a = [1]\n[[a]]', /no list of tables/, 2, 3],
    ['[a]\nb.c = 1\n[a.b]', /second time/, 3, 4], ['[a.b]\n[a]\nb.c = 1', /no table/, 3, 1], ['a = "x', /does not end on its line/, 1, 5], ["a = 'x", /does not end on its line/, 1, 5], ['a = """x', /does not end/, 1, 5],
    ['a = [1 2]', /a comma or \]/, 1, 8], ['a = {b = 1 c = 2}', /a comma or \}/, 1, 12], ['a = [1', /a comma or \]/, 1, 7], ['a = [', /does not end/, 1, 5], ['a = {b = 1', /a comma or \}/, 1, 11], ['a = {', /does not end/, 1, 5], ['a = "\\q"', /escape that TOML/, 1, 6],
    ['a = "\\ud800"', /no character/, 1, 6], ['a = inf', /no meaning/, 1, 5], ['a = 01', /a value is due/, 1, 5], ['a = 1__0', /a value is due/, 1, 5], ['[[a]]\n[a]', /second time/, 2, 2], ['a = """\\q"""', /escape/, 1, 8],
  ] as const) {
    const failure = failureOf('CONFIG_UNREADABLE', () => parse(text));
    assert.match(failure.message, expected, text);
    assert.deepEqual([failure.details.line, failure.details.column], [line, column], text);
    assert.doesNotMatch(failure.message, /secret/);
  }
});

test('parseToml() bounds depth and size, and keeps names of prototypes harmless', () => {
  assert.match(failureOf('CONFIG_UNREADABLE', () => parse(`a = ${'['.repeat(100)}`)).message, /nested deeper/);
  assert.match(failureOf('CONFIG_UNREADABLE', () => parse(`${'a.'.repeat(100)}a = 1`)).message, /more than 64 parts/);
  assert.match(failureOf('CONFIG_UNREADABLE', () => parse(`a = "${'x'.repeat(limits.configFileBytes)}"`)).message, /larger than/);
  const value = parse('__proto__.polluted = true\n[constructor.prototype]\npolluted = true') as object;
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
});

test('parseToml() takes time in proportion to the text', () => {
  for (const text of [`a = [${'1,'.repeat(300_000)}]`, `a = "${'\\\\'.repeat(300_000)}"`, `a = """${'"" '.repeat(200_000)}"""`, '#'.repeat(900_000), `a = '''${"''x".repeat(200_000)}'''`, '[a]\n'.repeat(1) + Array.from({ length: 40_000 }, (_, index) => `k${index} = ${index}`).join('\n')]) {
    const startedAt = performance.now();
    parse(text);
    assert.ok(performance.now() - startedAt < 2_000, text.slice(0, 10));
  }
});

test('parseToml() throws nothing but a Failure with a position inside the file on 20,000 mutated texts', () => {
  const random = createRandom(5);
  const whole = 'a = 1\n[mcp_servers."x y"]\ncommand = "npx" # said\nargs = ["-y", \'p\', """q\nr"""]\nenv = { A = "b", c.d = 1.5e3 }\nwhen = 2026-01-02 03:04:05\n[[list]]\nn = 0x1F\n';
  const signs = ['[', ']', '{', '}', '"', "'", '=', '.', ',', '#', '\\', '\n', '\u0000', '0', '_', '"""', "'''", '\ud800', 'inf', '[['];
  for (let round = 0; round < 20_000; round++) {
    let text = whole;
    for (let times = 1 + random.below(3); times > 0; times--) {
      const at = random.below(text.length + 1);
      text = text.slice(0, at) + (random.below(3) === 0 ? '' : random.pick(signs)) + text.slice(at + random.below(4));
    }
    try {
      parse(text);
    } catch (error) {
      assert.ok(isFailure(error) && error.code === 'CONFIG_UNREADABLE', `${String(error)} for ${JSON.stringify(text)}`);
      const { line = 0, column = 0 } = error.details, lines = text.split('\n');
      assert.ok(line >= 1 && line <= lines.length && column >= 1 && column <= lines[line - 1]!.length + 1, JSON.stringify([text, line, column]));
    }
  }
});
