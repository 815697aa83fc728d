/** What our own client and our own server must tell each other, whatever carries it and whatever revision they agree on. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AnyFailure } from '../../src/base/failure.ts';
import { isObject } from '../../src/base/json.ts';
import type { Transport } from '../../src/jsonrpc/transport.ts';
import { connectClient } from '../../src/mcp/connect.ts';
import { createServer, type Server } from '../../src/mcp/server.ts';
import type { Answers, Client, ClientEvent } from '../../src/mcp/types.ts';
import { createFixtureProgram, type FixtureProgram } from '../fixtures/served.ts';
import { failureOf } from './peer.ts';
import { waitFor } from './process.ts';

export interface ServedCarrier {
  readonly name: string;
  /** Serves the engine and says how a client reaches it. What it needs is ended after the test. */
  start(t: TestContext, engine: Server): Promise<() => Transport>;
}

export const answers: Answers = {
  elicit: (question) => Promise.resolve(question.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: Object.fromEntries(Object.entries(isObject(question.requestedSchema['properties']) ? question.requestedSchema['properties'] : {}).map(([key, schema]) => [key, isObject(schema) && schema['type'] === 'boolean' ? true : `${key}@example.test`])) }),
  roots: () => [{ uri: 'file:///r' }],
  sample: () => Promise.resolve({ role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' }),
};

export interface Served { readonly client: Client; readonly program: FixtureProgram; readonly engine: Server; readonly faults: string[]; readonly events: ClientEvent[] }

export async function connectServed(t: TestContext, carrier: ServedCarrier, protocol: string, given: Answers = answers): Promise<Served> {
  const program = createFixtureProgram(), faults: string[] = [];
  const engine = createServer({ serve: () => program, onFault: (method, error) => { faults.push(`${method}: ${String(error)}`); } });
  const transport = await carrier.start(t, engine);
  const client = await connectClient({ transport, protocol, clientInfo: { name: 'story', version: '1' }, answers: given });
  t.after(async () => { await client.close(); engine.close(); });
  const events: ClientEvent[] = [];
  client.on((event) => { events.push(event); });
  return { client, program, engine, faults, events };
}

type Story = (served: Served) => Promise<void>;
const textOf = async (result: ReturnType<Client['callTool']>): Promise<string> => ((await result).content[0] as { text: string }).text;
const remote = (failure: AnyFailure): number => (failure.code === 'REMOTE_ERROR' ? failure.details.rpcCode : NaN);

const stories: Readonly<Record<string, Story>> = {
  'says what it is and lists everything, page by page': async ({ client }) => {
    assert.deepEqual(client.serverInfo, { name: 'fixture', version: '1.0.0' });
    assert.equal(client.instructions, 'Use the tools.');
    const { items, ttlMs, cacheScope } = await client.listTools();
    assert.ok(items.length > 30 && items.some(({ name }) => name === 'ask_twice'));
    assert.deepEqual([ttlMs, cacheScope], client.era === 'modern' ? [60_000, 'public'] : [0, 'private']);
    assert.equal((await client.listResources()).items.length, 3);
    assert.equal((await client.listResourceTemplates()).items.length, 1);
    assert.equal((await client.listPrompts()).items.length, 5);
  },
  'passes what it does not know, and keeps from each era what is foreign to it': async ({ client }) => {
    const tools = new Map((await client.listTools()).items.map((tool) => [tool.name, tool]));
    const echo = tools.get('echo')!;
    assert.deepEqual(echo['_meta'], { 'example.test/kept': [1, { a: null }] });
    assert.deepEqual(echo['icons'], [{ src: 'https://example.test/i.png' }]);
    assert.equal('execution' in echo, client.era === 'legacy');
    assert.deepEqual((await client.callTool('echo', { a: { b: [1, '漢', null] } })).structuredContent, { a: { b: [1, '漢', null] } });
    const list = await client.callTool('list', {});
    if (client.era === 'modern') assert.deepEqual(list.structuredContent, [1, 2]);
    else assert.deepEqual([tools.get('list')!.outputSchema, 'structuredContent' in list, list.content], [undefined, false, [{ type: 'text', text: '[1,2]' }]]);
  },
  'answers calls, reads, prompts and completion': async ({ client }) => {
    assert.match(await textOf(client.callTool('test_simple_text', {})), /simple text/);
    assert.equal((await client.callTool('test_error_handling', {})).isError, true);
    assert.match((await client.readResource('test://template/7/data')).contents[0]!.text!, /"id":"7"/);
    assert.match(JSON.stringify(await client.getPrompt('test_prompt_with_arguments', { arg1: 'x', arg2: 'y' })), /arg1='x'/);
    assert.deepEqual((await client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'a', value: 'par' })).values, ['paris', 'park', 'party']);
    await client.ping();
  },
  'gives errors the code of the era, and keeps its own troubles to itself': async ({ client, faults }) => {
    assert.equal(remote(await failureOf(client.readResource('test://nowhere'))), client.era === 'modern' ? -32602 : -32002);
    assert.equal(remote(await failureOf(client.callTool('nothing', {}))), -32602);
    const own = await failureOf(client.callTool('fail', { code: 4711, data: { why: [1] } }));
    assert.equal(remote(own), 4711);
    assert.deepEqual(own.code === 'REMOTE_ERROR' && own.details.data, { why: [1] });
    const hidden = await failureOf(client.callTool('fail', {}));
    assert.equal(remote(hidden), -32603);
    assert.doesNotMatch(hidden.message, /secret/);
    assert.deepEqual(faults, ['tools/call: Error: a secret detail']);
    assert.equal(remote(await failureOf(client.callTool('fail', { code: -32022 }))), -32603);
    assert.equal(remote(await failureOf(client.callTool('fail', { code: -32021 }))), client.era === 'modern' ? -32021 : -32603);
  },
  'tells progress to who asked for it': async ({ client }) => {
    const seen: number[] = [];
    await client.callTool('test_tool_with_progress', {}, { onProgress: ({ progress }) => seen.push(progress) });
    assert.deepEqual(seen, [0, 50, 100]);
  },
  'logs from the level on that was asked for': async ({ client, events }) => {
    const logged = (): unknown[] => events.flatMap((event) => (event.kind === 'log' ? [event.data] : []));
    await client.callTool('test_logging_tool', {});
    assert.deepEqual(logged(), client.era === 'modern' ? [] : ['logged', 'worse']);
    await client.setLogLevel('error');
    await client.callTool('test_logging_tool', {});
    await waitFor(() => logged().length === (client.era === 'modern' ? 1 : 3), 'the louder entry alone');
    assert.equal(logged().at(-1), 'worse');
  },
  'asks while it works: several questions at once, then another': async ({ client, engine }) => {
    const seen: number[] = [];
    assert.equal(await textOf(client.callTool('ask_twice', {}, { onProgress: ({ progress }) => seen.push(progress) })), '[{"name":"name@example.test"},{"color":"color@example.test"},[{"uri":"file:///r"}]]');
    assert.deepEqual(seen, [1]);
    assert.match(await textOf(client.callTool('test_sampling', { prompt: 'x' })), /Paris/);
    assert.equal(engine.suspended, 0);
  },
  'lets a handler ask by its result, with a state of its own, in rounds': async ({ client }) => {
    assert.equal(await textOf(client.callTool('test_input_required_result_elicitation', {})), 'Hello, name@example.test!');
    assert.equal(await textOf(client.callTool('test_input_required_result_request_state', {})), 'state-ok: confirming');
    assert.equal(await textOf(client.callTool('test_input_required_result_multiple_inputs', {})), 'client_roots greeting user_name');
    assert.equal(await textOf(client.callTool('test_input_required_result_multi_round', {})), 'done');
    assert.match(JSON.stringify(await client.getPrompt('test_input_required_result_prompt', {})), /context@example/);
  },
  'aborts what is canceled': async ({ client, program }) => {
    const controller = new AbortController();
    const failed = failureOf(client.callTool('wait', {}, { signal: controller.signal }));
    await waitFor(() => program.happened.includes('waiting'), 'the call to run');
    controller.abort();
    assert.equal((await failed).code, 'CANCELED');
    await waitFor(() => program.happened.includes('aborted'), 'the handler to be told');
    assert.match(await textOf(client.callTool('test_simple_text', {})), /simple/);
  },
  'tells what changes to who watches it': async ({ client, program, events }) => {
    const watching = await client.watch({ lists: ['tools'], uris: ['test://watched-resource'] });
    assert.ok(program.happened.includes('subscribe test://watched-resource'));
    await client.callTool('test_trigger_tool_change', {});
    await client.callTool('test_touch_resource', { uri: 'test://other' });
    await client.callTool('test_touch_resource', { uri: 'test://watched-resource/part' });
    await waitFor(() => events.length >= 2, 'both notices');
    assert.deepEqual(events.filter(({ kind }) => kind !== 'log'), [{ kind: 'list_changed', list: 'tools' }, { kind: 'resource_updated', uri: 'test://watched-resource/part' }]);
    await watching.close();
    await waitFor(() => program.happened.includes('unsubscribe test://watched-resource'), 'the end of the subscription');
  },
  'carries 100 calls at once and 1 MiB in both directions': async ({ client }) => {
    const sent = await Promise.all(Array.from({ length: 100 }, (_, n) => client.callTool('echo', { n })));
    assert.deepEqual(sent.map(({ structuredContent }) => (structuredContent as { n: number }).n), Array.from({ length: 100 }, (_, n) => n));
    const text = 'é'.repeat(512 * 1024);
    assert.deepEqual((await client.callTool('echo', { text })).structuredContent, { text });
  },
};

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** Registers every story for the newest revision of each era, and the shortest proof for the others. */
export function servedStories(carrier: ServedCarrier): void {
  for (const [nth, revision] of revisions.entries()) {
    for (const [title, story] of Object.entries(stories).slice(0, nth < 2 ? undefined : 1)) {
      test(`a served program over ${carrier.name} in ${revision} ${title}`, async (t) => {
        const served = await connectServed(t, carrier, revision);
        assert.equal(served.client.revision, revision);
        await story(served);
        await served.client.close();
        await waitFor(() => served.program.happened.includes('close') && served.engine.suspended === 0, 'the program to be let go of');
      });
    }
  }
}
