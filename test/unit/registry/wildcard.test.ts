import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileWildcard } from '../../../src/registry/wildcard.ts';
import { random } from './entries.ts';

const matches = (pattern: string, text: string): boolean => compileWildcard(pattern)(text);

describe('compileWildcard()', () => {
  test('star takes any run, separators too; the rest is literal and the whole string counts (row 132)', () => {
    assert.ok(matches('docs_*', 'docs_search'));
    assert.ok(matches('docs_*', 'docs_'));
    assert.ok(matches('/srv/*', '/srv/a/b'));
    assert.ok(matches('*_search', 'docs_search'));
    assert.ok(matches('*', ''));
    assert.ok(matches('a*b*c', 'a-b-b-c'));
    assert.ok(!matches('docs_*', 'xdocs_search'));
    assert.ok(!matches('docs', 'docs_search'));
    assert.ok(!matches('a.c', 'abc'));
    assert.ok(!matches('[a]', 'a'));
    assert.ok(!matches('ab*ba', 'aba'));
    assert.ok(!matches('a*bb*b', 'abb'));
  });

  test('question mark takes exactly one UTF-16 unit (row 132)', () => {
    assert.ok(matches('a?c', 'abc'));
    assert.ok(!matches('a?c', 'ac'));
    assert.ok(!matches('a?', 'abc'));
    assert.ok(matches('??', '\u{1f600}'));
    assert.ok(matches('*b?d*', 'aabbcd-bxd!'));
    assert.ok(!matches('*b?d*', 'bd'));
    assert.ok(!matches('?*', ''));
  });

  test('a pattern that ends in space and star also matches the bare word (row 132)', () => {
    assert.ok(matches('git *', 'git'));
    assert.ok(matches('git *', 'git push'));
    assert.ok(!matches('git *', 'gitpush'));
  });

  test('treats backslash as slash and ignores case only when told so (row 132)', () => {
    assert.ok(compileWildcard('C:/x/*', { slashes: true })('C:\\x\\y'));
    assert.ok(compileWildcard('C:\\x\\*', { slashes: true })('C:/x/y'));
    assert.ok(!matches('C:/x/*', 'C:\\x\\y'));
    assert.ok(compileWildcard('Docs_*', { caseInsensitive: true })('dOCS_x'));
    assert.ok(!matches('Docs_*', 'docs_x'));
  });

  test('agrees with a regular expression on 20,000 random pairs', () => {
    const { below, pick } = random(3);
    for (let i = 0; i < 20_000; i++) {
      const pattern = Array.from({ length: below(7) }, () => pick(['a', 'b', '*', '?', '.', ' '])).join('');
      const text = Array.from({ length: below(8) }, () => pick(['a', 'b', '.', ' '])).join('');
      const source = (part: string): RegExp => new RegExp(`^${[...part].map((char) => (char === '*' ? '[^]*' : char === '?' ? '[^]' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')}$`);
      const expected = source(pattern).test(text) || (pattern.endsWith(' *') && source(pattern.slice(0, -2)).test(text));
      assert.equal(matches(pattern, text), expected, `${JSON.stringify(pattern)} on ${JSON.stringify(text)}`);
    }
  });
});
