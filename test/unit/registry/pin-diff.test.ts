import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { diffLines, diffText } from '../../../src/registry/pin-diff.ts';
import { random } from './entries.ts';

describe('diffText()', () => {
  test('shows every changed member with the lines around a change', () => {
    const schema = (type: string) => ({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' }, path: { type }, z: { type: 'string' } } });
    assert.equal(diffText([{ field: 'description', old: 'one\ntwo', new: 'one\nthree' }, { field: 'inputSchema', old: schema('string'), new: schema('integer') }, { field: 'title', old: undefined, new: 'T' }]), [
      'description:', '  one', '- two', '+ three',
      'inputSchema:', '  …', '      },', '      "path": {', '-       "type": "string"', '+       "type": "integer"', '      },', '      "z": {', '  …',
      'title:', '+ T',
    ].join('\n'));
  });

  test('is bounded', () => {
    const lines = (word: string): string => Array.from({ length: 3_000 }, (_, index) => `${word}${index}`).join('\n');
    const shown = diffText([{ field: 'description', old: lines('a'), new: lines('b') }]).split('\n');
    assert.equal(shown.length, limits.diffLinesShown + 1);
    assert.match(shown.at(-1)!, /and 5601 more lines$/);
  });
});

describe('diffLines()', () => {
  test('leads from the old lines to the new ones and back, the shortest way', () => {
    const { below, pick } = random(5);
    const words = (): string[] => Array.from({ length: below(12) }, () => pick(['a', 'b', 'c', 'd']));
    const longest = (a: readonly string[], b: readonly string[]): number => (a.length === 0 || b.length === 0 ? 0 : a[0] === b[0] ? 1 + longest(a.slice(1), b.slice(1)) : Math.max(longest(a.slice(1), b), longest(a, b.slice(1))));
    for (let round = 0; round < 200; round++) {
      const old = words().slice(0, 7), now = words().slice(0, 7), lines = diffLines(old, now);
      assert.deepEqual(lines.filter(([mark]) => mark !== '+').map(([, text]) => text), old);
      assert.deepEqual(lines.filter(([mark]) => mark !== '-').map(([, text]) => text), now);
      assert.equal(lines.filter(([mark]) => mark === ' ').length, longest(old, now));
    }
  });
});
