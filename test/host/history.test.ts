import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { PastCall, Session, SessionOptions } from '../../src/host/types.ts';
import { refusal } from '../support/http-fixture.ts';
import { home, type Home } from '../support/hosts.ts';
import { idsOf, listed, many, search, tools } from '../support/sessions.ts';

const allowAll = { permission: { mode: 'allow_all' } };
const past = (callId: string, id: string): PastCall => ({ callId, id, args: { text: callId }, text: `result of ${callId}` });
const open = async (house: Home, options: SessionOptions): Promise<Session> => house.host().session(options);

test('a restarted session has what it had found, without what is gone or denied since, and one revision more (row 155)', async (t) => {
  const docs = listed(t, { tools: many(12) }), wiki = listed(t, { tools: many(12) });
  const house = home(t, { ...allowAll, mcp: { docs: docs.entry, wiki: wiki.entry } }), journal = path.join(house.directory, 'journal.jsonl');
  const first = await open(house, { journal }), step = await first.step();
  for (const id of ['docs_tool3', 'docs_tool4', 'wiki_tool5']) await step.call('tool_search', { query: id, limit: 1 });
  const shown = await first.step();
  assert.equal((await shown.call('docs_tool3', {})).outcome, 'ok');
  await first.close();
  house.write({ permission: { mode: 'allow_all', rules: { docs_tool4: 'deny' } }, mcp: { docs: docs.entry } });
  const second = await open(house, { journal });
  t.after(() => second.close());
  assert.equal(second.id, first.id);
  const again = await second.step();
  assert.deepEqual(idsOf(again), ['docs_tool3', 'tool_search']);
  assert.equal(again.revision, shown.revision + 1);
  assert.equal(again.number, shown.number + 1);
  assert.equal((await second.step()).revision, again.revision, 'once');
});

test('the journal holds no arguments, no results and no secrets', async (t) => {
  const docs = listed(t, { tools: tools('search') });
  const house = home(t, { ...allowAll, mcp: { docs: docs.entry } }), journal = path.join(house.directory, 'journal.jsonl');
  const session = await open(house, { journal });
  await (await session.step()).call('docs_search', { text: 'hunter2secret' }, { callId: 'c1' });
  await search(await session.step(), 'x');
  await session.close();
  const text = readFileSync(journal, 'utf8');
  assert.equal(text.includes('hunter2secret'), false);
  assert.deepEqual(text.trimEnd().split('\n').map((line) => (JSON.parse(line) as { kind: string }).kind), ['journal', 'step', 'call', 'step', 'call']);
  assert.equal('tools' in (JSON.parse(text.split('\n')[3]!) as object), false, 'the same tools are not written again');
});

test('a journal of another agent is refused, and nothing is left running', async (t) => {
  const house = home(t, { ...allowAll, mcp: {} }), journal = path.join(house.directory, 'journal.jsonl');
  const session = await open(house, { journal });
  await refusal(open(house, { journal }), 'TIMEOUT');
  await session.close();
  await refusal(open(house, { journal, agent: 'plan' }), 'USAGE');
  const again = await open(house, { journal });
  await again.close();
});

test('history() leaves a call whose declaration is the same, and turns the others into text that is no call (row 156)', async (t) => {
  const docs = listed(t, { tools: tools('same', 'changed', 'gone') });
  const house = home(t, { ...allowAll, mcp: { docs: docs.entry } }), journal = path.join(house.directory, 'journal.jsonl');
  const first = await open(house, { journal }), step = await first.step();
  for (const name of ['same', 'changed', 'gone']) await step.call(`docs_${name}`, { text: 'a' }, { callId: name });
  await step.call('docs_never', {}, { callId: 'never' });
  await first.close();
  const stored = readFileSync(journal, 'utf8');
  docs.write({ tools: [...tools('same'), { name: 'changed', description: 'Other', inputSchema: { type: 'object' } }] });
  const second = await open(house, { journal });
  t.after(() => second.close());
  // Else the step would show what the cache remembers.
  await second.connect('docs');
  const next = await second.step(), calls = [past('same', 'docs_same'), past('changed', 'docs_changed'), past('gone', 'docs_gone'), past('unknown', 'docs_same'), past('never', 'docs_never')];
  const items = second.history(calls, next);
  assert.deepEqual(items[0], { kind: 'call', call: calls[0] });
  for (const index of [1, 2, 4]) {
    const item = items[index]!;
    assert.ok(item.kind === 'text', String(index));
    assert.ok(item.text.includes(calls[index]!.text));
    assert.equal(item.callId, calls[index]!.callId);
    assert.doesNotThrow(() => JSON.stringify(item.text));
  }
  assert.equal(items.length, 5);
  assert.ok(house.logged.some(({ level, event }) => level === 'warning' && event === 'session.history'));
  assert.ok(readFileSync(journal, 'utf8').startsWith(stored), 'what was recorded stays as it was');
  const now = await next.call('docs_never', {}, { callId: 'now' });
  assert.equal(now.callId, 'now');
});

test('a child may have a journal of its own and goes on with its id', async (t) => {
  const docs = listed(t, { tools: tools('search') });
  const house = home(t, { ...allowAll, mcp: { docs: docs.entry } }), journal = path.join(house.directory, 'child.jsonl');
  const session = await open(house, {});
  t.after(() => session.close());
  const step = await session.step(), first = await session.delegate({ step, agent: 'general', journal });
  await (await first.step()).call('docs_search', {}, { callId: 'c1' });
  await first.close();
  await refusal(session.delegate({ step, agent: 'fixer', journal }), 'USAGE');
  const second = await session.delegate({ step, agent: 'general', journal }), next = await second.step();
  assert.equal(second.id, first.id);
  assert.equal(second.history([past('c1', 'docs_search')], next)[0]!.kind, 'call');
});
