import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { HostOptions, Session, SessionOptions, Step } from '../../src/host/types.ts';
import type { ApprovalAnswer } from '../../src/registry/types.ts';
import { home } from '../support/hosts.ts';
import { waitFor } from '../support/process.ts';
import { idsOf, listed, tools, type Listed } from '../support/sessions.ts';

const allowAll = { permission: { mode: 'allow_all' } };
async function open(t: TestContext, config: Record<string, unknown>, options: SessionOptions = {}, host: Partial<HostOptions> = {}): Promise<Session> {
  const session = await home(t, config).host(host).session(options);
  t.after(() => session.close());
  return session;
}
const calls = (server: Listed): string[] => server.received().filter(({ method }) => method === 'tools/call').map(({ params }) => String(params!['name']));

test('a call of a tool that no step showed gets a complete result, with the nearest name (row 157)', async (t) => {
  const docs = listed(t, { tools: tools('search') });
  const step = await (await open(t, { ...allowAll, mcp: { docs: docs.entry } })).step();
  const result = await step.call('docs_serach', { text: 'a' }, { callId: 'c9' });
  assert.deepEqual({ callId: result.callId, id: result.id, outcome: result.outcome, isError: result.isError }, { callId: 'c9', id: 'docs_serach', outcome: 'blocked', isError: true });
  assert.match(result.text, /did you mean docs_search\?\nNothing was done\.$/);
  assert.deepEqual(result.parts, [{ kind: 'text', text: result.text }]);
  assert.match((await step.call('docs_serach', {})).callId, /^call_/);
});

test('call() takes null for no arguments and refuses what is no object, before the server hears of it', async (t) => {
  const docs = listed(t, { tools: [{ name: 'search', inputSchema: { type: 'object', properties: { q: { type: 'integer' } } } }] });
  const step = await (await open(t, { ...allowAll, mcp: { docs: docs.entry } })).step();
  assert.equal((await step.call('docs_search', null)).text, 'search {}');
  for (const args of ['text', [1], 7, { q: 'no' }]) assert.equal((await step.call('docs_search', args)).failure?.code, 'ARGUMENTS_INVALID');
  assert.deepEqual(calls(docs), ['search']);
});

test('a tool that its server changed or took back since it was shown is unavailable', async (t) => {
  const docs = listed(t, { tools: tools('read', 'gone', 'reload') });
  const session = await open(t, { ...allowAll, mcp: { docs: docs.entry } }), step = await session.step();
  docs.write({ tools: [...tools('reload'), { name: 'read', description: 'Does something else', inputSchema: { type: 'object' } }] });
  await step.call('docs_reload', {});
  const revision = step.revision;
  let changed = await step.call('docs_read', {});
  for (let tries = 0; tries < 100 && changed.outcome === 'ok'; tries++) { await new Promise((resolve) => { setTimeout(resolve, 20); }); changed = await step.call('docs_read', {}); }
  assert.equal(changed.failure?.code, 'TOOL_UNKNOWN');
  assert.match(changed.text, /changed it since it was shown/);
  assert.match((await step.call('docs_gone', {})).text, /no longer has it/);
  const next = await session.step();
  assert.deepEqual(idsOf(next), ['docs_reload', 'docs_read']);
  assert.equal(next.revision, revision, 'nothing new came');
  assert.equal((await next.call('docs_read', {})).outcome, 'ok');
});

test('callAll() runs the tools of servers one after the other and gives results in the order of the calls', async (t) => {
  const docs = listed(t, { tools: tools('slow', 'quick') });
  const step = await (await open(t, { ...allowAll, mcp: { docs: docs.entry } })).step();
  const results = await step.callAll([{ callId: 'a', id: 'docs_slow', args: { ms: 80 } }, { callId: 'b', id: 'docs_quick', args: {} }, { callId: 'c', id: 'docs_nothing', args: {} }, { callId: 'd', id: 'docs_slow', args: { ms: 1 } }]);
  assert.deepEqual(results.map(({ callId, outcome }) => `${callId} ${outcome}`), ['a ok', 'b ok', 'c blocked', 'd ok']);
  assert.deepEqual(calls(docs), ['slow', 'quick', 'slow']);
});

test('callAll() runs what its user declared parallel beside each other, up to concurrency.tool_calls', async (t) => {
  const docs = listed(t, { tools: tools('slow', 'quick') });
  const step = await (await open(t, { ...allowAll, concurrency: { tool_calls: 2, parallel_tools: ['docs.s*'] }, mcp: { docs: docs.entry } })).step();
  const startedAt = performance.now();
  const one = step.callAll([400, 400, 400, 400].map((ms) => ({ id: 'docs_slow', args: { ms } })));
  assert.deepEqual((await one).map(({ outcome }) => outcome), ['ok', 'ok', 'ok', 'ok']);
  const ms = performance.now() - startedAt;
  assert.ok(ms >= 750 && ms < 1_550, `two at a time: ${ms}`);
});

test('cancel() ends what runs, refuses what waits and what comes', async (t) => {
  const docs = listed(t, { tools: tools('hang', 'quick') });
  const session = await open(t, { ...allowAll, mcp: { docs: docs.entry } }), step = await session.step();
  const all = step.callAll([{ id: 'docs_hang', args: {} }, { id: 'docs_quick', args: {} }]);
  await waitFor(() => calls(docs).length === 1, 'the first call');
  step.cancel();
  step.cancel();
  const [hanging, waiting] = await all;
  assert.notEqual(hanging!.outcome, 'ok');
  assert.equal(waiting!.outcome, 'blocked');
  assert.equal(waiting!.failure?.code, 'CANCELED');
  assert.equal((await step.call('docs_quick', {})).failure?.code, 'CANCELED');
  assert.deepEqual(calls(docs), ['hang']);
  assert.equal((await (await session.step()).call('docs_quick', {})).outcome, 'ok');
});

test('call() is ended by its own signal alone', async (t) => {
  const docs = listed(t, { tools: tools('hang', 'quick') });
  const step = await (await open(t, { ...allowAll, mcp: { docs: docs.entry } })).step(), giveUp = new AbortController();
  const hanging = step.call('docs_hang', {}, { signal: giveUp.signal });
  await waitFor(() => calls(docs).length === 1, 'the call');
  giveUp.abort();
  assert.notEqual((await hanging).outcome, 'ok');
  assert.equal((await step.call('docs_quick', {}, { signal: giveUp.signal })).failure?.code, 'CANCELED');
  assert.equal((await step.call('docs_quick', {})).outcome, 'ok');
});

test('a "no" to one call is a "no" to the others of the same message, asked already or not', async (t) => {
  const docs = listed(t, { tools: tools('a', 'b', 'c') }), answers: ((answer: ApprovalAnswer) => void)[] = [];
  const person = { approve: () => new Promise<ApprovalAnswer>((resolve) => { answers.push(resolve); }) };
  const session = await open(t, { concurrency: { parallel_tools: ['docs_a', 'docs_b'] }, mcp: { docs: docs.entry } }, { person });
  const step = await session.step();
  const all = step.callAll(['docs_a', 'docs_b', 'docs_c'].map((id) => ({ id, args: {} })));
  await waitFor(() => answers.length === 2, 'two questions');
  answers[1]!('no');
  const results = await all;
  assert.deepEqual(results.map(({ failure }) => (failure?.details as { why?: string }).why), ['declined', 'declined', 'declined']);
  assert.equal(answers.length, 2, 'nobody was asked about the third');
  const later = step.call('docs_c', {});
  await waitFor(() => answers.length === 3, 'a new message asks again');
  answers[2]!('once');
  assert.equal((await later).outcome, 'ok');
  answers[0]!('once');
});

test('callAll() rejects nothing when the person\'s side fails', async (t) => {
  const docs = listed(t, { tools: tools('a') });
  const session = await open(t, { mcp: { docs: docs.entry } }, { person: { approve: () => Promise.reject(new Error('the window is gone')) } });
  const [result] = await (await session.step()).callAll([{ id: 'docs_a', args: {} }]);
  assert.equal(result!.outcome, 'blocked');
});

test('rules for the resource tools ask and deny by what is read', async (t) => {
  const docs = listed(t, { resources: [], contents: { 'doc:open': [{ uri: 'doc:open', text: 'words' }] } }), asked: string[] = [];
  const person = { approve: ({ entry }: { readonly entry: { readonly id: string } }): Promise<ApprovalAnswer> => { asked.push(entry.id); return Promise.resolve(asked.length === 1 ? 'once' : 'no'); } };
  const session = await open(t, { permission: { rules: { read: { '*': 'ask', 'doc:secret': 'deny' } } }, mcp: { docs: docs.entry } }, { person });
  const step: Step = await session.step(), read = (uri: string): ReturnType<Step['call']> => step.call('read_mcp_resource', { server: 'docs', uri });
  assert.equal((await read('doc:open')).outcome, 'ok');
  assert.equal((await read('doc:open')).outcome, 'blocked');
  assert.equal((await read('doc:secret')).failure?.code, 'PERMISSION_DENIED');
  assert.deepEqual(asked, ['read_mcp_resource', 'read_mcp_resource']);
});

test('a step that was retired while calls of it ran lets them end', async (t) => {
  const docs = listed(t, { tools: tools('slow') });
  const session = await open(t, { ...allowAll, mcp: { docs: docs.entry } }), step = await session.step();
  const running = step.call('docs_slow', { ms: 200 });
  await waitFor(() => calls(docs).length === 1, 'the call');
  const next = await session.step();
  assert.equal(next.number, 2);
  assert.equal((await running).outcome, 'ok');
});
