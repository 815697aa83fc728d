import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { expand, expandTexts, literal, parseTemplate, references } from '../../../src/config/substitute.ts';
import { failureOf, sandbox } from './sandbox.ts';

const zuno = { directory: '/etc/x', home: '/home/ada', syntax: 'zuno' } as const;
const dollar = { ...zuno, syntax: 'dollar' } as const;
const key = 'mcp.docs.headers.Authorization';
const value = (text: string, environment: Record<string, string> = {}, context: typeof zuno | typeof dollar = zuno): string => expand(parseTemplate(text, context), { environment, key });

test('parseTemplate() finds {env:} and {file:} and keeps the text as it was written', () => {
  const template = parseTemplate('Bearer {env:TOK}-{file:~/t}', zuno);
  assert.deepEqual(template, {
    source: 'Bearer {env:TOK}-{file:~/t}',
    parts: ['Bearer ', { kind: 'env', name: 'TOK', token: '{env:TOK}' }, '-', { kind: 'file', path: path.resolve('/home/ada/t'), token: '{file:~/t}' }],
  });
  assert.equal(references(template).length, 2);
  assert.deepEqual(parseTemplate('', zuno).parts, []);
  assert.deepEqual(literal('{env:X}').parts, ['{env:X}']);
  assert.deepEqual(literal('').parts, []);
});

test('parseTemplate() resolves file paths against the configuration file, the home or nothing', () => {
  const file = (text: string): unknown => references(parseTemplate(text, zuno)).map((reference) => reference.kind === 'file' && reference.path);
  assert.deepEqual(file('{file:./t}{file:../t}{file:/a/t}{file:~}{file: ~/b }{file:~x}'), ['/etc/x/t', '/etc/t', '/a/t', '/home/ada', '/home/ada/b', '/etc/x/~x'].map((one) => (one === '/home/ada' ? one : path.resolve(one))));
});

test('parseTemplate() leaves text that is no reference alone', () => {
  for (const text of ['${HOME}', '{env:}', '{env', '{ENV:X}', '{env:{x', '$HOME', '{}', '{file:}']) assert.deepEqual(parseTemplate(text, zuno).parts, [text]);
  for (const text of ['$HOME', '${}', '${1X}', '${env:}', '$${']) assert.deepEqual(parseTemplate(text, dollar).parts, [text]);
});

test('expand() knows ${NAME}, ${env:NAME} and ${NAME:-default} in the dialects of others', () => {
  assert.equal(value('${A}/${env:B}/{env:A}', { A: 'a', B: 'b' }, dollar), 'a/b/a');
  assert.equal(value('${A:-x}${B:-}${C:-y}', { A: '', C: 'c' }, dollar), 'xc');
  assert.equal(value('sh -c ${A}', {}), 'sh -c ${A}');
});

test('expand() puts values in once and does not search what came in (row 36)', () => {
  assert.equal(value('Bearer {env:TOK}', { TOK: '{env:OTHER}' }), 'Bearer {env:OTHER}');
  assert.equal(value('{env:A}{env:A}', { A: '$&' }), '$&$&');
});

test('expand() fails for an unset or empty variable and names it and the key (row 37)', () => {
  const unset = failureOf('VARIABLE_UNSET', () => value('Bearer {env:TOK}'));
  assert.deepEqual(unset.details, { token: '{env:TOK}', key });
  assert.match(unset.message, /^Cannot expand "\{env:TOK\}" in mcp\.docs\.headers\.Authorization: the environment variable TOK is not set$/);
  assert.match(unset.hint ?? '', /Set TOK/);
  assert.match(failureOf('VARIABLE_UNSET', () => value('{env:TOK}', { TOK: '' })).message, /TOK is empty/);
  failureOf('VARIABLE_UNSET', () => value('{env:toString}'));
  failureOf('VARIABLE_UNSET', () => value('${A}', {}, dollar));
});

test('expand() reads {file:} trimmed and relative to its configuration (row 38)', (context) => {
  const box = sandbox(context);
  box.write('conf/t', '\ufeff  s3cret\n\n');
  assert.equal(expand(parseTemplate('Bearer {file:./t}', { ...zuno, directory: path.join(box.root, 'conf') }), { environment: {}, key }), 'Bearer s3cret');
});

test('expand() fails for a missing, empty, oversized or unsuitable file with token and path (row 38)', (context) => {
  const box = sandbox(context);
  box.write('empty', ' \n');
  box.write('big', 'x'.repeat(limits.configFileBytes + 1));
  const at = (name: string): ReturnType<typeof failureOf<'VARIABLE_UNSET'>> => failureOf('VARIABLE_UNSET', () => expand(parseTemplate(`{file:${name}}`, { ...zuno, directory: box.root }), { environment: {}, key, origin: { file: 'f', layer: 'global' } }));
  assert.match(at('none').message, new RegExp(`"\\{file:none\\}" in mcp\\.docs.*${path.join(box.root, 'none')} does not exist`));
  assert.equal(at('none').origin?.file, 'f');
  assert.match(at('empty').message, /is empty/);
  assert.match(at('big').message, /larger than/);
  assert.match(at('home').message, /not a regular file/);
});

test('parseTemplate() takes time in proportion to the text', () => {
  for (const text of ['{env:'.repeat(200_000), '${'.repeat(500_000), '{env:a'.repeat(150_000), `\${A:-${'x'.repeat(900_000)}`]) {
    const startedAt = performance.now();
    parseTemplate(text, dollar);
    assert.ok(performance.now() - startedAt < 2_000, text.slice(0, 8));
  }
});

test('expandTexts() expands the texts of a settings object and names the inner key', () => {
  const context = { environment: { S: 'secret' }, key: 'mcp.docs.oauth' };
  assert.deepEqual(expandTexts({ clientSecret: '{env:S}', port: 1, list: ['{env:S}', null] }, zuno, context), { clientSecret: 'secret', port: 1, list: ['secret', null] });
  assert.equal(failureOf('VARIABLE_UNSET', () => expandTexts({ a: '{env:X}' }, zuno, context)).details.key, 'mcp.docs.oauth.a');
});

test('expand() refuses what only an editor can fill in, in the dialects of others alone', () => {
  const failure = failureOf('VARIABLE_UNSET', () => value('Bearer ${input:wiki-key}', {}, dollar));
  assert.match(failure.message, /an editor asks its user for it; set a variable and write \{env:WIKI_KEY\}/);
  assert.deepEqual(failure.details, { token: '${input:wiki-key}', key });
  assert.equal(value('${input:x}', {}), '${input:x}');
});
