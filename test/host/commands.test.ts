import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { runMcpCommand } from '../../src/host/mcp-command.ts';
import type { Session } from '../../src/host/types.ts';
import { refusal } from '../support/http-fixture.ts';
import { fixture, home, type Home } from '../support/hosts.ts';
import { waitFor } from '../support/process.ts';
import { listed, tools } from '../support/sessions.ts';

async function open(t: TestContext, config: Record<string, unknown>): Promise<{ session: Session; house: Home }> {
  const house = home(t, config), session = await house.host().session();
  t.after(() => session.close());
  await session.step();
  return { session, house };
}
const textOf = ({ messages }: { readonly messages: readonly { readonly content: { readonly type: string } }[] }): string[] => messages.map(({ content }) => (content as unknown as { text: string }).text);
const message = (text: string, role = 'user'): object => ({ role, content: { type: 'text', text } });
const review = { name: 'review', description: 'Reviews', arguments: [{ name: 'what', required: true }, { name: 'how' }] };

test('prompts are commands server:prompt, asked for with placeholders that the words replace (row 165)', async (t) => {
  const docs = listed(t, { prompts: [review], messages: [message('Look at {what}.'), message('Be {how}, about {what}', 'assistant'), { role: 'user', content: { type: 'resource', resource: { uri: 'doc:a', text: 'Of {what}' } } }, { role: 'user', content: { type: 'image', data: 'AAEC', mimeType: 'image/png' } }] });
  const { session, house } = await open(t, { mcp: { docs: docs.entry }, command: { 'docs:review': 'Of the file', note: { template: 'Note $1: $ARGUMENTS', description: 'Notes' } } });
  const commands = await session.commands();
  assert.deepEqual(commands.map(({ key, from }) => `${key} ${from}`), ['docs:review prompt', 'note config']);
  assert.deepEqual(commands[0]!.arguments, review.arguments);
  assert.equal(commands[0]!.server, 'docs');
  assert.match(commands[1]!.origin!.file, /zuno\.json$/);
  const result = await session.expand('docs:review', 'main.ts very kind');
  assert.deepEqual(docs.received().find(({ method }) => method === 'prompts/get')!.params!['arguments'], { what: '$1', how: '$2' });
  assert.deepEqual(textOf(result).slice(0, 2), ['Look at main.ts.', 'Be very kind, about main.ts']);
  assert.equal((result.messages[2]!.content as unknown as { resource: { text: string } }).resource.text, 'Of main.ts');
  assert.equal(result.messages[3]!.content.type, 'image');
  await session.commands();
  assert.equal(house.logged.filter(({ event }) => event === 'session.command').length, 1, 'that the prompt wins is said once');
  assert.deepEqual(textOf(await session.expand('note', 'a "b c"')), ['Note a "b c": a "b c"'].map(() => 'Note a b c: a "b c"'));
});

test('the highest placeholder takes all words that are left, one past the end is empty, input without a place is appended (row 166)', async (t) => {
  const docs = listed(t, { prompts: [review, { name: 'plain' }], messages: [message('{what}'), message('[{how}]')] });
  const { session } = await open(t, { mcp: { docs: docs.entry }, command: { say: 'Say it', two: '$1|$2', late: '$1-$3' } });
  assert.deepEqual(textOf(await session.expand('docs:review', 'one two three four')), ['one', '[two three four]']);
  assert.deepEqual(textOf(await session.expand('docs:review', 'one')), ['one', '[]']);
  assert.deepEqual(textOf(await session.expand('docs:plain', 'more')), ['{what}', '[{how}]\n\nmore']);
  assert.deepEqual(textOf(await session.expand('say', ' ')), ['Say it']);
  assert.deepEqual(textOf(await session.expand('say', 'now')), ['Say it\n\nnow']);
  assert.deepEqual(textOf(await session.expand('two', 'a $1 c')), ['a|$1 c'], 'words are put in once');
  assert.deepEqual(textOf(await session.expand('late', 'a b')), ['a-']);
});

test('expand() of a key that is none suggests the nearest; a server whose prompts fail costs only them', async (t) => {
  const docs = listed(t, { prompts: [review] }), bad = listed(t, { prompts: [review], fails: ['prompts/list'] });
  const { session, house } = await open(t, { mcp: { docs: docs.entry, bad: bad.entry } });
  assert.deepEqual((await session.commands()).map(({ key }) => key), ['docs:review']);
  assert.ok(house.logged.some(({ event }) => event === 'session.prompts'));
  const failure = await refusal(session.expand('docs:reveiw', ''), 'USAGE');
  assert.deepEqual(failure.details.nearest, ['docs:review']);
  await refusal(session.expand('zzz', ''), 'USAGE');
  await assert.rejects(session.commands(AbortSignal.abort()));
});

test('/mcp lists, disconnects and connects the servers of a live session (row 159)', async (t) => {
  const docs = listed(t, { tools: tools('search') });
  const { session } = await open(t, { mcp: { docs: docs.entry, bad: { type: 'local', command: ['no-such-program-here'] } } });
  const lines = await runMcpCommand(session, 'list');
  assert.equal(lines[1], 'docs: connected via stdio; 1 tool');
  assert.match(lines[0]!, /^bad: failed via stdio; 0 tools \(.+\)$/);
  assert.match((await runMcpCommand(session, 'disconnect docs'))[0]!, /^docs: disconnected via stdio/);
  assert.deepEqual(await runMcpCommand(session, 'disconnect docs'), ['MCP server "docs" is not connected.']);
  assert.deepEqual(await runMcpCommand(session, 'connect docs'), ['docs: connected via stdio; 1 tool']);
  assert.match((await runMcpCommand(session, 'connect nowhere'))[0]!, /^Unable to connect MCP server "nowhere"/);
  assert.match((await runMcpCommand(session, 'connect bad'))[0]!, /^Unable to connect MCP server "bad"/);
});

test('subscribe() brings what changes as events, complete() what an argument may be; both only where reading is allowed and known', async (t) => {
  const entry = fixture('--resources', '--prompts');
  const { session } = await open(t, { mcp: { docs: entry } });
  await session.step();
  const heard: string[] = [];
  session.on((event) => { if (event.kind === 'resource_updated') heard.push(`${event.server} ${event.uri}`); });
  const subscription = await session.subscribe('docs', ['file:///a.txt']);
  await waitFor(() => heard.length > 0, 'the update');
  assert.deepEqual(heard, ['docs file:///a.txt']);
  await subscription.close();
  assert.deepEqual((await session.complete('docs', { type: 'ref/prompt', name: 'greet' }, { name: 'who', value: 'a' })).values, ['anna']);
  await session.revalidate();
  assert.equal(session.status()[0]?.state, 'connected');
  const denied = await open(t, { permission: { rules: { read: 'deny' } }, mcp: { docs: entry } });
  await refusal(denied.session.subscribe('docs', ['file:///a.txt']), 'PERMISSION_DENIED');
});
