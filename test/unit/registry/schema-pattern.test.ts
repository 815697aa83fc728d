import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compilePattern, longestText } from '../../../src/registry/schema-pattern.ts';

describe('longestText()', () => {
  test('is generous to what cannot run away', () => {
    for (const source of ['^abc$', '^\\d{4}-\\d{2}$', '^[a-z]?x$', '^(?:red|green|blue)$', '^\\(?x$']) assert.equal(longestText(source), Infinity, source);
    assert.ok(longestText('^[a-z]+$') > 1e6);
    assert.ok(longestText('x') > 1e6);
  });

  test('falls with each repetition that can trade characters', () => {
    assert.equal(longestText('^a*b*$'), 10_000);
    assert.equal(longestText('a*b'), 10_000);
    assert.equal(longestText('^a*b*c*$'), 464);
    assert.equal(longestText('^a{2,}b{0,5000}$'), 10_000);
    assert.ok(longestText('^a|b*') < 10_000);
    assert.ok(longestText('^a?'.padEnd(120, 'b?')) < 1);
    assert.equal(longestText('^a{x$'), Infinity);
  });

  test('is short where one repetition holds another', () => {
    for (const source of ['^(a+)+$', '(a|b)*', '((x?))+', '^(a?){9}$', '(?:\\d+)*?', '([a\\]]*)+', '((a+))+?']) assert.equal(longestText(source), 20, source);
    assert.notEqual(longestText('^(a+)?$'), 20);
    assert.notEqual(longestText('^(abc)+$'), 20);
  });
});

describe('compilePattern()', () => {
  test('reads unicode rules first, older ones where only they do', () => {
    assert.equal(compilePattern('^\\p{Lu}$')?.('Ä'), true);
    assert.equal(compilePattern('\\-')?.('-'), true);
    assert.equal(compilePattern('('), undefined);
    assert.equal(compilePattern('^(a+)+$')?.('a'.repeat(21)), undefined);
  });
});
