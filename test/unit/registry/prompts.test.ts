import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expandPlaceholders, mergePrompts, promptPlaceholders, splitPromptKey, splitWords } from '../../../src/registry/prompts.ts';

test('mergePrompts() lists prompts as server:prompt (row 165)', () => {
  assert.deepEqual(mergePrompts([{ server: 'b', items: [{ name: 'x' }] }, { server: 'a', items: [{ name: 'z' }, { name: 'y' }, { name: 'y' }] }]).map(({ key }) => key), ['a:y', 'a:y', 'a:z', 'b:x']);
});

test('promptPlaceholders() binds every declared argument to its place (row 165)', () => {
  assert.deepEqual(promptPlaceholders({ name: 'p', arguments: [{ name: 'topic', required: true }, { name: 'tone' }] }), { topic: '$1', tone: '$2' });
  assert.deepEqual(promptPlaceholders({ name: 'p' }), {});
});

test('splitPromptKey() lets the longest known server count', () => {
  assert.deepEqual(splitPromptKey('plugin:tools:x:review', ['plugin', 'plugin:tools:x']), { server: 'plugin:tools:x', prompt: 'review' });
  assert.equal(splitPromptKey('nobody:x', ['docs']), undefined);
});

describe('expandPlaceholders()', () => {
  test('puts the real words in (row 165)', () => {
    assert.equal(expandPlaceholders('Write on $1, $2.', 'cats kindly'), 'Write on cats, kindly.');
  });

  test('gives the highest number all that are left, and nothing past the end (row 166)', () => {
    assert.equal(expandPlaceholders('$1|$2', 'a b c d'), 'a|b c d');
    assert.equal(expandPlaceholders('$1|$2|$3', 'a'), 'a||');
    assert.equal(expandPlaceholders('$2 $1', ''), ' ');
    assert.equal(expandPlaceholders('$1 $1', 'a b'), 'a b a b');
  });

  test('does not look again at what was put in', () => {
    assert.equal(expandPlaceholders('$1|$2', '"$2" $ARGUMENTS'), '$2|$ARGUMENTS');
  });

  test('knows the whole input, and appends it where nothing stands for it', () => {
    assert.equal(expandPlaceholders('all: $ARGUMENTS', 'a  "b c"'), 'all: a  "b c"');
    assert.equal(expandPlaceholders('plain', 'a b'), 'plain\n\na b');
    assert.equal(expandPlaceholders('plain', '  '), 'plain');
    assert.equal(expandPlaceholders('costs $0', ''), 'costs $0');
  });
});

test('splitWords() keeps quoted words together', () => {
  assert.deepEqual(splitWords(`a "b c" 'd e' "" f`), ['a', 'b c', 'd e', '', 'f']);
});
