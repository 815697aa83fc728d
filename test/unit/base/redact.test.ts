import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedactor, redactPatterns } from '../../../src/base/redact.ts';

test('redactPatterns() masks the shapes that secrets have (row 68)', () => {
  const rows: readonly (readonly [text: string, secret: string])[] = [
    ['Authorization: Bearer abc123def456', 'abc123def456'],
    ['got bearer abc123def456 from cache', 'abc123def456'],
    ['proxy said Basic dXNlcjpwYXNz==', 'dXNlcjpwYXNz'],
    ['DPoP abc.def.ghi', 'abc.def.ghi'],
    ['password=hunter2', 'hunter2'],
    ['password = "hunter2 with space"', 'hunter2'],
    ["passwd: 'hunter2'", 'hunter2'],
    ['{"api_key":"hunter2","a":1}', 'hunter2'],
    ['{"nested":{"clientSecret": "a\\"hunter2"}}', 'hunter2'],
    ['"{\\"access_token\\":\\"hunter2\\",\\"a\\":1}"', 'hunter2'],
    ['MYSQL_PASS=hunter2 ', 'hunter2'],
    ['DB_PWD: hunter2', 'hunter2'],
    ['X-Api-Key: hunter2', 'hunter2'],
    ['x-authorization: hunter2', 'hunter2'],
    ['Set-Cookie: sid=hunter2; Path=/', 'hunter2'],
    ['GET /cb?access_token=hunter2&state=1', 'hunter2'],
    ['private-key=hunter2', 'hunter2'],
    ['https://user:hunter2@host/path', 'hunter2'],
    ['postgres://user:p@hunter2@host/db', 'hunter2'],
    ['ghp_0123456789abcdefABCDEF', '0123456789abcdef'],
    ['github_pat_0123456789abcdefABCDEF', '0123456789abcdef'],
    ['sk-0123456789abcdefABCDEF', '0123456789abcdef'],
    ['xoxb-0123456789-abc', '0123456789'],
    ['AKIAABCDEFGHIJKLMNOP', 'ABCDEFGHIJKLMNOP'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  ];
  for (const [text, secret] of rows) {
    const shown = redactPatterns(text);
    assert.equal(shown.includes(secret), false, `${text} -> ${shown}`);
    assert.ok(shown.includes('***'), shown);
  }
});

test('redactPatterns() masks a value whose end was cut off', () => {
  for (const text of ['{"password":"hunter2', "token='hunter2", '{"password":"hunter2\\']) assert.equal(redactPatterns(text).includes('hunter2'), false, text);
});

test('redactPatterns() leaves ordinary text alone', () => {
  for (const text of ['max_tokens: 4096', 'bypass=true', 'compass: north', 'https://host/path?q=a@b', 'see https://host/@scope/name', '3 tokens left', 'a secret garden', 'basic use']) {
    assert.equal(redactPatterns(text), text);
  }
});

test('redactPatterns() keeps JSON readable around what it masks', () => {
  assert.deepEqual(JSON.parse(redactPatterns('{"a":1,"token":"x y","b":[2]}')), { a: 1, token: '***', b: [2] });
});

test('redactPatterns() is linear in what a server sends', () => {
  const hostile = ['a-', 'a.', 'token ', 'token=\\', 'token="', "token='", '-eyJ', 'eyJ.', 'a://', 'bearer ', '_pwd', '"pass":\\"'].map((piece) => piece.repeat(20_000));
  const startedAt = performance.now();
  for (const text of [...hostile, `token${' '.repeat(200_000)}x`]) redactPatterns(text);
  assert.ok(performance.now() - startedAt < 3_000);
});

test('createRedactor() masks known values as they are, in JSON and in URLs', () => {
  const { redact } = createRedactor(['pa ss"1']);
  assert.equal(redact('plain pa ss"1!'), 'plain ***!');
  assert.equal(redact('json pa ss\\"1!'), 'json ***!');
  assert.equal(redact('url pa%20ss%221!'), 'url ***!');
});

test('createRedactor() replaces the longer of two values first', () => {
  assert.equal(createRedactor(['abcd', 'abcdefgh']).redact('x abcdefgh abcd'), 'x *** ***');
});

test('createRedactor() masks the credentials of a header value without their scheme too', () => {
  assert.equal(createRedactor(['Bearer s3cr3t-value']).redact('the token s3cr3t-value was refused'), 'the token *** was refused');
});

test('createRedactor() does not blank words for a value under 4 characters', () => {
  assert.equal(createRedactor(['on', 'a']).redact('an option'), 'an option');
});

test('createRedactor() learns values later, also one that has no form in a URL', () => {
  const redactor = createRedactor();
  assert.equal(redactor.redact('later-value'), 'later-value');
  redactor.add('later-value');
  redactor.add('half \ud800 pair');
  assert.equal(redactor.redact('later-value and half \ud800 pair'), '*** and ***');
});
