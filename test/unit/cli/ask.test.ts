import assert from 'node:assert/strict';
import { test } from 'node:test';
import { personAt, readField, shownArguments } from '../../../src/cli/ask.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import type { Elicitation } from '../../../src/mcp/types.ts';

/** A terminal whose person answers from a list; what is shown is kept. */
function scripted(answers: readonly (string | undefined)[]): { readonly terminal: Terminal; readonly shown: string[]; open(): number } {
  const shown: string[] = [];
  let next = 0, open = 0, most = 0;
  const keep = (...line: readonly (string | { readonly text: string })[]): void => { shown.push(line.map((span) => (typeof span === 'string' ? span : span.text)).join('')); };
  const terminal = {
    interactive: true, alert: keep, note: keep, print: keep,
    question: async (prompt: readonly (string | { readonly text: string })[]) => {
      keep(...prompt);
      most = Math.max(most, open += 1);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return answers[next++];
    },
  } as unknown as Terminal;
  return { terminal, shown, open: () => most };
}
const signal = new AbortController().signal;
const form = (properties: object, required: readonly string[] = []): Elicitation => ({ mode: 'form', message: 'm', requestedSchema: { type: 'object', properties, required } });

test('readField() types and bounds one line by its field', () => {
  const read = (text: string, shape: object): unknown => { const got = readField(text, shape as never); return 'value' in got ? got.value : got.problem; };
  assert.equal(read('x', { type: 'string' }), 'x');
  assert.equal(read('3', { type: 'integer', minimum: 1, maximum: 5 }), 3);
  assert.equal(read('9', { type: 'integer', maximum: 5 }), 'at most 5, please');
  assert.equal(read('0', { type: 'integer', minimum: 1 }), 'at least 1, please');
  assert.equal(read('a', { type: 'string', minLength: 2 }), 'at least 2 characters, please');
  assert.equal(read('abc', { type: 'string', maxLength: 2 }), 'at most 2 characters, please');
  assert.equal(read('yes', { type: 'boolean' }), true);
  assert.deepEqual([read('Y', { type: 'boolean' }), read('n', { type: 'boolean' }), read('y', { type: 'string' })], [true, false, 'y']);
  assert.equal(read('2', { enum: ['a', 'b'] }), 'b');
  assert.equal(read('Bee', { enum: ['a', 'b'], enumNames: ['Ay', 'Bee'] }), 'b');
  assert.equal(read('red', { oneOf: [{ const: '#f00', title: 'Red' }] }), '#f00');
  assert.equal(read('c', { enum: ['a', 'b'] }), '"c" is none of the choices');
  assert.deepEqual(read('a, 2', { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1, maxItems: 2 }), ['a', 'b']);
  assert.equal(read('', { type: 'array', items: { enum: ['a'] }, minItems: 1 }), 'at least 1 choices, please');
  assert.equal(read('a,b', { type: 'array', items: { anyOf: [{ const: 'a' }, { const: 'b' }] }, maxItems: 1 }), 'at most 1 choices, please');
});

test('personAt() without a terminal is nobody', () => {
  assert.deepEqual(personAt({ interactive: false } as Terminal, signal), {});
});

test('personAt() fills in defaults, skips optional fields and shows choices', async () => {
  const { terminal, shown } = scripted(['', '', '1', 'x', 'y']);
  const answer = await personAt(terminal, signal).answer!('srv', form({ name: { type: 'string', default: 'Ann', title: 'Name', description: 'who' }, note: { type: 'string' }, size: { enum: ['s', 'm'] }, tags: { type: 'array', items: { enum: ['x'] }, default: ['x'] } }, ['name', 'size']), signal);
  assert.deepEqual(answer, { action: 'accept', content: { name: 'Ann', size: 's', tags: ['x'] } });
  assert.ok(shown.some((line) => line.includes('Name') && line.includes('who')));
  assert.ok(shown.includes('  1  s'));
  assert.ok(shown.includes('> [Ann] '));
});

test('personAt() shows defaults and kinds in the words of a person', async () => {
  const { terminal, shown } = scripted(['', '', '', 'y']);
  const hero = { oneOf: [{ const: 'h-1', title: 'Superman' }, { const: 'h-2', title: 'Wonder Woman' }], default: 'h-2' };
  const answer = await personAt(terminal, signal).answer!('srv', form({ sure: { type: 'boolean', default: true }, hero, heroes: { type: 'array', items: { anyOf: hero.oneOf }, default: ['h-1', 'h-2'] } }), signal);
  assert.deepEqual(answer, { action: 'accept', content: { sure: true, hero: 'h-2', heroes: ['h-1', 'h-2'] } });
  for (const prompt of ['> [yes] ', '> [Wonder Woman] ', '(separated by commas) > [Superman, Wonder Woman] ']) assert.ok(shown.includes(prompt), prompt);
  assert.ok(shown.some((line) => line.includes('yes or no, optional')));
});

test('personAt() takes the end of input as cancel, at a field and at the review', async () => {
  assert.deepEqual(await personAt(scripted([undefined]).terminal, signal).answer!('s', form({ a: { type: 'string' } }), signal), { action: 'cancel' });
  assert.deepEqual(await personAt(scripted(['x', undefined]).terminal, signal).answer!('s', form({ a: { type: 'string' } }), signal), { action: 'cancel' });
  assert.deepEqual(await personAt(scripted(['what', 'n']).terminal, signal).answer!('s', form({}), signal), { action: 'decline' });
});

test('personAt() shows a URL and never opens it', async () => {
  const request: Elicitation = { mode: 'url', message: 'm', url: 'https://example.com/x' };
  for (const [line, action] of [['y', 'accept'], ['c', 'cancel'], ['d', 'decline'], [undefined, 'cancel'], ['', 'decline']] as const) {
    const { terminal, shown } = scripted([line]);
    assert.deepEqual(await personAt(terminal, signal).answer!('s', request, signal), { action });
    assert.ok(shown.some((text) => text.includes('https://example.com/x')));
  }
});

test('personAt() asks one question at a time', async () => {
  const { terminal, open } = scripted(['y', 'y', 'y']);
  const person = personAt(terminal, signal);
  await Promise.all([1, 2, 3].map(() => person.answer!('s', { mode: 'url', message: 'm', url: 'https://example.com/' }, signal)));
  assert.equal(open(), 1);
});

test('shownArguments() masks secrets', () => {
  assert.doesNotMatch(shownArguments({ api_key: 'hunter22', nested: { header: 'Bearer hunter22' } }).join('\n'), /hunter22/);
});
