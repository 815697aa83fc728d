import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion, declaredCapabilities } from '../../../src/mcp/answers.ts';
import type { Answers, Elicitation } from '../../../src/mcp/types.ts';

const { signal } = new AbortController();
const ask = (answers: Answers, method: string, params: Record<string, unknown> = {}): Promise<object> => answerQuestion(answers, method, params, signal);
const codeOf = async (answer: Promise<object>): Promise<unknown> => ((await answer) as { error?: { code: number } }).error?.code;
const accepting = (content?: Record<string, unknown>, seen: Elicitation[] = []): Answers => ({ elicit: (request) => { seen.push(request); return Promise.resolve({ action: 'accept', ...(content === undefined ? {} : { content }) }); } });
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'x' }, age: { type: 'integer' } }, required: ['age'] } };

test('declaredCapabilities() declares exactly what has a handler', () => {
  assert.deepEqual(declaredCapabilities({}), {});
  assert.deepEqual(declaredCapabilities({ ...accepting(), roots: () => [], sample: () => Promise.resolve({}) }), { elicitation: { form: {} }, roots: {}, sampling: {} });
  assert.deepEqual(declaredCapabilities({ ...accepting(), elicitModes: ['form', 'url'] }), { elicitation: { form: {}, url: {} } });
  assert.deepEqual(declaredCapabilities({ ...accepting(), elicitModes: [] }), {});
});

test('answerQuestion() finds nothing that was not declared (row 76)', async () => {
  for (const method of ['sampling/createMessage', 'roots/list', 'elicitation/create', 'ping', 'x']) assert.equal(await codeOf(ask({}, method)), -32601, method);
});

test('answerQuestion() gives roots and samples', async () => {
  assert.deepEqual(await ask({ roots: () => [{ uri: 'file:///a', name: 'a' }] }, 'roots/list'), { result: { roots: [{ uri: 'file:///a', name: 'a' }] } });
  assert.deepEqual(await ask({ sample: (params) => Promise.resolve({ role: 'assistant', echoed: params }) }, 'sampling/createMessage', { maxTokens: 1 }), { result: { role: 'assistant', echoed: { maxTokens: 1 } } });
});

test('answerQuestion() turns a handler that fails into an internal error', async () => {
  assert.deepEqual(await ask({ roots: () => { throw new Error('disk gone'); } }, 'roots/list'), { error: { code: -32603, message: 'Cannot go on: disk gone' } });
  assert.equal(await codeOf(ask({ sample: () => Promise.reject(new Error('x')) }, 'sampling/createMessage')), -32603);
});

test('answerQuestion() fills in a form\'s defaults; a missing mode means form', async () => {
  const seen: Elicitation[] = [];
  assert.deepEqual(await ask(accepting({ age: 3 }, seen), 'elicitation/create', form), { result: { action: 'accept', content: { name: 'x', age: 3 } } });
  assert.deepEqual(await ask(accepting({ age: 3 }), 'elicitation/create', { ...form, mode: 'form' }), { result: { action: 'accept', content: { name: 'x', age: 3 } } });
  assert.deepEqual(seen, [{ mode: 'form', ...form }]);
});

test('answerQuestion() sends no answer that does not fit the form', async () => {
  const answer = await ask(accepting({ age: 1.5 }), 'elicitation/create', form) as { error: { code: number; message: string } };
  assert.equal(answer.error.code, -32603);
  assert.match(answer.error.message, /\/age must be an integer/);
  assert.equal(await codeOf(ask(accepting(), 'elicitation/create', form)), -32603);
});

test('answerQuestion() passes on a no, with no content', async () => {
  for (const action of ['decline', 'cancel'] as const) {
    assert.deepEqual(await ask({ elicit: () => Promise.resolve({ action, content: { age: 3 } }) }, 'elicitation/create', form), { result: { action } });
  }
});

test('answerQuestion() shows a URL only where that mode was declared, and sends no content for it', async () => {
  const seen: Elicitation[] = [];
  const params = { mode: 'url', message: 'Sign in', url: 'https://example.com/x', elicitationId: 'e1' };
  assert.equal(await codeOf(ask(accepting(), 'elicitation/create', params)), -32602);
  assert.deepEqual(await ask({ ...accepting({ x: 1 }, seen), elicitModes: ['url'] }, 'elicitation/create', params), { result: { action: 'accept' } });
  assert.deepEqual(seen, [params]);
  assert.equal(await codeOf(ask({ ...accepting(), elicitModes: ['url'] }, 'elicitation/create', form)), -32602);
  await ask({ ...accepting({}, seen), elicitModes: ['url'] }, 'elicitation/create', { ...params, elicitationId: 7 });
  assert.equal('elicitationId' in seen[1]!, false);
});

test('answerQuestion() refuses questions without their parts', async () => {
  for (const params of [{}, { ...form, message: 7 }, { message: 'x' }, { message: 'x', requestedSchema: [] }, { ...form, mode: 'voice' }, { mode: 'url', message: 'x' }, { mode: 'url', message: 'x', url: 'nowhere' }]) {
    assert.equal(await codeOf(ask({ ...accepting({}), elicitModes: ['form', 'url'] }, 'elicitation/create', params)), -32602, JSON.stringify(params));
  }
});
