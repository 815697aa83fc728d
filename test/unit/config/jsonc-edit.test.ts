import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import { parseJsonc, valueOf } from '../../../src/config/jsonc.ts';
import { nodeAt, removeJsonc, setItemJsonc, setJsonc } from '../../../src/config/jsonc-edit.ts';
import { commentsOf, createRandom, generateJsonc } from './generate.ts';

const source = { file: '/x/zuno.jsonc', layer: 'global' };
const set = (text: string, keys: readonly string[], value: unknown): string => setJsonc(text, keys, value, source);
const removed = (text: string, keys: readonly string[]): string => removeJsonc(text, keys, source);
const parse = (text: string): unknown => valueOf(parseJsonc(text, source).root);

test('setJsonc() adds behind the last member, in the indentation of the file (row 6)', () => {
  assert.equal(set('{\n    "a": 1,\n    "b": {}\n}\n', ['mcp', 'x'], { t: [1] }),
    '{\n    "a": 1,\n    "b": {},\n    "mcp": {\n        "x": {\n            "t": [\n                1\n            ]\n        }\n    }\n}\n');
  assert.equal(set('{\r\n\t"a": 1\r\n}', ['b'], { c: 2 }), '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}');
});

test('setJsonc() keeps comments, also those behind and below the last member (row 7)', () => {
  assert.equal(set('// top\n{\n  // first\n  "a": 1 // of a\n  // below\n}\n// end', ['b'], 2), '// top\n{\n  // first\n  "a": 1, // of a\n  "b": 2\n  // below\n}\n// end');
  assert.equal(set('{\n  "a": 1, /* x */ // y\r\n}', ['b'], 2), '{\n  "a": 1, /* x */ // y\n  "b": 2,\r\n}');
  assert.equal(set('{\n  "a": 1 /* x\n y */ }', ['b'], 2), '{\n  "a": 1, /* x\n y */ \n  "b": 2\n}');
});

test('setJsonc() keeps the habit of trailing commas', () => {
  assert.equal(set('{\n  "a": 1,\n}', ['b'], 2), '{\n  "a": 1,\n  "b": 2,\n}');
  assert.equal(set('{"a":1,}', ['b'], [2]), '{"a":1, "b": [2],}');
});

test('setJsonc() stays on one line where the object does', () => {
  assert.equal(set('{"a":1}', ['b'], { c: 2 }), '{"a":1, "b": {"c":2}}');
  assert.equal(set('{ "mcp": { "x": { "a": 1 } } }', ['mcp', 'x', 'b'], true), '{ "mcp": { "x": { "a": 1, "b": true } } }');
});

test('setJsonc() fills an empty object, and an empty text', () => {
  assert.equal(set('{}', ['a'], 1), '{\n  "a": 1\n}');
  assert.equal(set('{\n  "mcp": { /* none */ }\n}', ['mcp', 'x'], 1), '{\n  "mcp": { /* none */\n    "x": 1\n  }\n}');
  assert.equal(set('{ // none\n}', ['x'], 1), '{ // none\n  "x": 1\n}');
  for (const text of ['', ' \n', '\ufeff']) assert.deepEqual(parse(set(text, ['mcp', 'x'], {})), { mcp: { x: {} } });
  assert.equal(set('', ['a'], 1), '{\n  "a": 1\n}\n');
  assert.equal(set('\ufeff', ['a'], 1), '\ufeff{\n  "a": 1\n}\n');
  assert.equal(set('// mine', ['a'], 1), '// mine\n{\n  "a": 1\n}\n');
  assert.equal(set('/* mine */\n', ['a'], 1), '/* mine */\n{\n  "a": 1\n}\n');
});

test('setJsonc() replaces a value where it stands, of repeated keys the one that counts', () => {
  assert.equal(set('{\n  "a": [1, 2], // keep\n  "b": 3\n}', ['a'], { x: 1 }), '{\n  "a": {\n    "x": 1\n  }, // keep\n  "b": 3\n}');
  assert.equal(set('{"a":1,"a":2}', ['a'], 3), '{"a":1,"a":3}');
  assert.equal(set('{"a":null}', ['a', 'b'], 3), '{"a":{\n  "b": 3\n}}');
});

test('setJsonc() refuses to step through what is no object, and keeps the root', () => {
  for (const [text, keys, word] of [['{"mcp":[]}', ['mcp', 'x'], /"mcp" of .*not a list/], ['{"mcp":5}', ['mcp', 'x'], /not number/], ['[]', ['x'], /not a list/]] as const) {
    assert.throws(() => set(text, keys, 1), (error: unknown) => isFailure(error) && error.code === 'CONFIG_INVALID' && word.test(error.message));
  }
  assert.equal(set('{"a":1}', [], 5), '{"a":1}');
});

test('removeJsonc() takes the lines of a member and leaves all comments', () => {
  assert.equal(removed('{\n  // about a\n  "a": 1, // of a\n  // about b\n  "b": 2\n}', ['a']), '{\n  // about a\n  // of a\n  // about b\n  "b": 2\n}');
  assert.equal(removed('{\n  "a": 1, // of a\n  "b": {\n    "c": 1\n  }\n}', ['b']), '{\n  "a": 1 // of a\n}');
  assert.equal(removed('{\n  "a": 1,\n  "b": 2,\n}', ['b']), '{\n  "a": 1,\n}');
  assert.equal(removed('{\r\n  "a": 1,\r\n  "b": 2\r\n}', ['a']), '{\r\n  "b": 2\r\n}');
  assert.equal(removed('{"a":1, "b":2, "c":3}', ['b']), '{"a":1, "c":3}');
  assert.equal(removed('{"a":1, "b":2}', ['b']), '{"a":1 }');
  assert.equal(removed('{"a":1}', ['a']), '{}');
  assert.equal(removed('{"a":1 /* x */, "b":2}', ['a']), '{/* x */ "b":2}');
});

test('removeJsonc() removes a repeated key for good, and nothing where there is nothing', () => {
  assert.deepEqual(parse(removed('{"a":1,"b":2,"a":3}', ['a'])), { b: 2 });
  for (const keys of [['x'], ['a', 'x'], ['x', 'y']]) assert.equal(removed('{"a":1}', keys), '{"a":1}');
});

test('nodeAt() finds the node at a path', () => {
  const { root } = parseJsonc('{"a":{"b":1}}', source);
  assert.equal(nodeAt(root, [])?.kind, 'object');
  assert.equal(nodeAt(root, ['a', 'b'])?.start, 10);
  assert.equal(nodeAt(root, ['a', 'b', 'c']), undefined);
});

test('edits of 500 generated files parse to the expected value and keep every comment outside what they replace (rows 6, 7)', () => {
  const random = createRandom(42);
  for (let round = 0; round < 500; round++) {
    const { text, value } = generateJsonc(random);
    for (let edit = 0; edit < 4; edit++) {
      const model = structuredCloneOf(value);
      const keys = pathInto(model, random);
      const remove = random.below(2) === 0;
      const replacement = random.pick<unknown>([1, 'x // y', { type: 'local', command: ['a', 'b'] }, {}, [], null, false]);
      const old = nodeAt(parseJsonc(text, source).root, keys);
      const inside = old === undefined ? [] : commentsOf(text.slice(old.start, old.end));
      let edited: string;
      if (remove) { edited = removed(text, keys); removeIn(model, keys); } else { edited = set(text, keys, replacement); setIn(model, keys, replacement); }
      assert.deepEqual(parse(edited), model, `${JSON.stringify(text)} ${JSON.stringify(keys)} -> ${JSON.stringify(edited)}`);
      // Between a key and its value a comment belongs to the member, so removal may take it.
      const lost = commentsOf(text).filter((comment) => !commentsOf(edited).includes(comment));
      const allowed = remove ? [...inside, ...betweenKeyAndValue(text, keys)] : inside;
      assert.deepEqual(lost.filter((comment) => !allowed.includes(comment)), [], `${JSON.stringify(text)} ${JSON.stringify(keys)} -> ${JSON.stringify(edited)}`);
      assert.equal(edited.startsWith('\ufeff'), text.startsWith('\ufeff'));
      // Order: the keys that stay keep theirs.
      const before = Object.keys(value), after = Object.keys(parse(edited) as object);
      assert.deepEqual(after.filter((key) => before.includes(key)), before.filter((key) => after.includes(key)));
    }
  }
});

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (tree: Tree, key: string): unknown => (Object.hasOwn(tree, key) ? Object.getOwnPropertyDescriptor(tree, key)!.value : undefined);
const put = (tree: Tree, key: string, value: unknown): unknown => Object.defineProperty(tree, key, { value, enumerable: true, configurable: true, writable: true });

function structuredCloneOf(value: Tree): Tree {
  return JSON.parse(JSON.stringify(value)) as Tree;
}

function pathInto(tree: Tree, random: ReturnType<typeof createRandom>): string[] {
  const keys: string[] = [];
  let at: unknown = tree;
  while (isTree(at)) {
    const known = Object.keys(at);
    const key = known.length > 0 && random.below(3) > 0 ? random.pick(known) : random.pick(['new', 'mcp', 'z"']);
    keys.push(key);
    at = own(at, key);
    if (random.below(3) === 0) break;
  }
  return keys;
}

function setIn(tree: Tree, keys: readonly string[], value: unknown): void {
  let at = tree;
  for (const key of keys.slice(0, -1)) {
    if (!isTree(own(at, key))) put(at, key, {});
    at = own(at, key) as Tree;
  }
  put(at, keys.at(-1)!, value);
}

function removeIn(tree: Tree, keys: readonly string[]): void {
  let at: unknown = tree;
  for (const key of keys.slice(0, -1)) at = isTree(at) ? own(at, key) : undefined;
  if (isTree(at)) delete at[keys.at(-1)!];
}

function betweenKeyAndValue(text: string, keys: readonly string[]): string[] {
  const parent = nodeAt(parseJsonc(text, source).root, keys.slice(0, -1));
  const member = parent?.kind === 'object' ? parent.members.find(({ key }) => key === keys.at(-1)) : undefined;
  return member === undefined ? [] : commentsOf(text.slice(member.keyStart, member.node.start));
}

test('setItemJsonc() adds to a list and replaces in it, and leaves comments, commas and line ends alone', () => {
  const item = (text: string, index: number | undefined, value: unknown): string => setItemJsonc(text, ['a'], index, value, source);
  assert.equal(item('{"a":[]}', undefined, 1), '{"a":[\n  1\n]}');
  assert.equal(item('{"a":[1, 2]}', undefined, 3), '{"a":[1, 2, 3]}');
  assert.equal(item('{"a":[1, 2,]}', undefined, 3), '{"a":[1, 2, 3,]}');
  assert.equal(item('{\n  "a": [\n    1, // one\n    2 // two, with a comma\n  ]\n}', undefined, 3), '{\n  "a": [\n    1, // one\n    2,\n    3 // two, with a comma\n  ]\n}');
  assert.equal(item('{\r\n  "a": [\r\n    1, /* x, */\r\n  ],\r\n}', undefined, { b: 1 }), '{\r\n  "a": [\r\n    1,\r\n    {\r\n      "b": 1\r\n    }, /* x, */\r\n  ],\r\n}');
  assert.equal(item('{"a":[ /* none yet */ ]}', undefined, 'x'), '{"a":[ /* none yet */\n  "x"\n]}');
  assert.equal(item('{\n  "a": [\n    // keep\n    {"p": 1},\n    2\n  ]\n}', 0, { p: 2 }), '{\n  "a": [\n    // keep\n    {\n      "p": 2\n    },\n    2\n  ]\n}');
  for (const text of ['{}', '{"a":5}', '{"a":{}}']) assert.throws(() => item(text, undefined, 1), (error: unknown) => isFailure(error) && error.code === 'CONFIG_INVALID');
});

test('setItemJsonc() on 500 generated files adds the item, keeps every comment and nothing else changes', () => {
  const random = createRandom(77);
  let lists = 0;
  for (let round = 0; round < 500; round++) {
    const { text, value } = generateJsonc(random);
    for (const [key, list] of Object.entries(value)) {
      if (!Array.isArray(list)) continue;
      lists += 1;
      const edited = setItemJsonc(text, [key], undefined, { path: 'x' }, source);
      assert.deepEqual(parse(edited), { ...value, [key]: [...list, { path: 'x' }] }, `${JSON.stringify(text)} -> ${JSON.stringify(edited)}`);
      assert.deepEqual(commentsOf(edited), commentsOf(text));
    }
  }
  assert.ok(lists > 50);
});
