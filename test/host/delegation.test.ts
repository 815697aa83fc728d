import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { HostOptions, Session, SessionOptions } from '../../src/host/types.ts';
import { refusal } from '../support/http-fixture.ts';
import { home } from '../support/hosts.ts';
import { idsOf, listed, many, search, stepWith, tools } from '../support/sessions.ts';

const allowAll = { permission: { mode: 'allow_all' } };
async function open(t: TestContext, config: Record<string, unknown>, options: SessionOptions = {}, host: Partial<HostOptions> = {}): Promise<Session> {
  const session = await home(t, config).host(host).session(options);
  t.after(() => session.close());
  return session;
}

test('a child sees only what its parent\'s step showed; neither a rule nor a search brings the rest back (row 126)', async (t) => {
  const docs = listed(t, { tools: tools('search', 'write') }), big = listed(t, { tools: many(12) });
  const session = await open(t, { ...allowAll, mcp: { docs: docs.entry, big: big.entry } });
  const step = await session.step();
  await search(step, 'big_tool5');
  const child = await session.delegate({ step, agent: 'general', rules: [{ key: 'big_tool3', pattern: '*', effect: 'allow', origin: { file: 'test', layer: 'built-in' } }] });
  assert.equal(child.parent, session.id);
  const inner = await child.step();
  assert.deepEqual(idsOf(inner), ['docs_search', 'docs_write']);
  for (const id of ['big_tool3', 'big_tool5', 'tool_search', 'nothing']) assert.equal((await inner.call(id, { query: 'x' })).outcome, 'blocked', id);
  assert.equal((await inner.call('docs_search', { text: 'a' })).text, 'search {"text":"a"}');
  const standing = (await child.standings()).find(({ id }) => id === 'big_tool3');
  assert.equal(standing?.gate, 'ceiling');
  const later = await (await session.delegate({ step: await session.step(), agent: 'general' })).step();
  assert.deepEqual(idsOf(later), ['big_tool5', 'docs_search', 'docs_write'], 'what a search found for the parent is shown to a later child, and searching is not');
});

test('a child is refused a tool whose definition changed after its parent was shown it (row 127)', async (t) => {
  const docs = listed(t, { tools: tools('search', 'reload') });
  const session = await open(t, { ...allowAll, mcp: { docs: docs.entry } });
  const step = await session.step(), child = await session.delegate({ step, agent: 'general' });
  docs.write({ tools: [...tools('reload'), { name: 'search', description: 'Searches elsewhere', inputSchema: { type: 'object' } }] });
  await step.call('docs_reload', {});
  const inner = await stepWith(child, 'docs_search', false);
  const result = await inner.call('docs_search', {});
  assert.equal(result.outcome, 'blocked');
  assert.match(result.text, /another one by now/);
  assert.equal(docs.received().some(({ method, params }) => method === 'tools/call' && params!['name'] === 'search'), false);
});

test('a child may not change connections, its close() closes no server, and an agent that requires an unconnected server fails with its name (row 199)', async (t) => {
  const docs = listed(t, { tools: tools('search') }), wiki = listed(t, { tools: tools('find') });
  const session = await open(t, { ...allowAll, agents: { needy: { mode: 'subagent', requires: ['WIK'] } }, mcp: { docs: docs.entry, wiki: wiki.entry } });
  await session.step();
  await session.disconnect('wiki');
  const step = await session.step();
  const child = await session.delegate({ step, agent: 'general' });
  for (const change of [child.connect('wiki'), child.disconnect('docs')]) {
    const failure = await refusal(change, 'PERMISSION_DENIED');
    assert.equal(failure.details.why, 'child');
  }
  assert.deepEqual(idsOf(await child.step()), ['docs_search']);
  assert.equal((await (await child.step()).call('docs_search', {})).outcome, 'ok');
  assert.match((await refusal(session.delegate({ step, agent: 'needy' }), 'SERVER_UNKNOWN')).message, /"needy": it requires the server "WIK", which is not connected/);
  await child.close();
  assert.equal((await step.call('docs_search', {})).outcome, 'ok');
  await session.connect('wiki');
  const again = await session.delegate({ step: await session.step(), agent: 'needy' });
  assert.equal((await again.step()).tools.length, 2);
});

test('delegation goes as deep as limits say, to agents that may be delegated to, so many at once', async (t) => {
  const docs = listed(t, { tools: tools('search') });
  const session = await open(t, { ...allowAll, concurrency: { delegations: 2 }, mcp: { docs: docs.entry } });
  const step = await session.step();
  const one = await session.delegate({ step }), two = await session.delegate({ step, agent: 'explorer' });
  assert.equal(one.agent.name, 'build');
  assert.match((await refusal(session.delegate({ step }), 'PERMISSION_DENIED')).message, /2 are at work already/);
  await Promise.all([two.close(), two.close()]);
  const three = await session.delegate({ step, tools: [] });
  assert.deepEqual(idsOf(await three.step()), []);
  await three.close();
  assert.match((await refusal(one.delegate({ step: await one.step() }), 'PERMISSION_DENIED')).message, /1 deep/);
  await refusal(session.delegate({ step, agent: 'orchestrator' }), 'USAGE');
  await refusal(session.delegate({ step, agent: 'nobody' }), 'USAGE');
  const foreign = await open(t, { ...allowAll, mcp: {} });
  await assert.rejects(session.delegate({ step: await foreign.step() }), TypeError);
  await session.close();
  await refusal(one.step(), 'CANCELED');
  await refusal(session.delegate({ step }), 'CANCELED');
});

test('rules and denies of the parent hold for its child, whatever the child\'s own say', async (t) => {
  const docs = listed(t, { tools: tools('search', 'write') }), origin = { file: 'test', layer: 'built-in' };
  const rule = (key: string, pattern: string, effect: 'allow' | 'deny'): { key: string; pattern: string; effect: 'allow' | 'deny'; origin: typeof origin } => ({ key, pattern, effect, origin });
  const session = await open(t, { mcp: { docs: docs.entry } }, { rules: [rule('docs_*', '*', 'allow'), rule('docs_write', 'rm *', 'deny')] });
  const step = await session.step();
  const child = await session.delegate({ step, agent: 'general', rules: [rule('docs_write', '*', 'allow'), rule('docs_search', 'x*', 'deny')] });
  const inner = await child.step();
  assert.equal((await inner.call('docs_search', { text: 'a' })).outcome, 'ok', 'allowed by the parent');
  assert.equal((await inner.call('docs_search', { text: 'xa' })).failure?.code, 'PERMISSION_DENIED');
  assert.equal((await inner.call('docs_write', { text: 'rm -rf' })).failure?.code, 'PERMISSION_DENIED');
  assert.equal((await inner.call('docs_write', { text: 'echo' })).outcome, 'ok');
});

test('a child reads the resources that its parent was shown, under the parent\'s rules', async (t) => {
  const docs = listed(t, { resources: [], contents: { 'doc:a': [{ uri: 'doc:a', text: 'alpha' }], 'doc:b': [{ uri: 'doc:b', text: 'beta' }] } });
  const session = await open(t, { permission: { mode: 'allow_all' }, mcp: { docs: docs.entry } }, { rules: [{ key: 'read', pattern: 'doc:b', effect: 'deny', origin: { file: 'test', layer: 'built-in' } }] });
  const step = await session.step(), child = await session.delegate({ step, agent: 'general' }), inner = await child.step();
  assert.deepEqual(idsOf(inner), ['list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource']);
  assert.match((await inner.call('read_mcp_resource', { server: 'docs', uri: 'doc:a' })).text, /alpha/);
  assert.equal((await inner.call('read_mcp_resource', { server: 'docs', uri: 'doc:b' })).failure?.code, 'PERMISSION_DENIED');
  const narrow = await session.delegate({ step, tools: ['read_mcp_resource'] });
  assert.deepEqual(idsOf(await narrow.step()), ['read_mcp_resource']);
});
