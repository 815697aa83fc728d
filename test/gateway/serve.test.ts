/** `serve` and `guard` as real processes, with real servers behind them. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, type ClientOptions } from '../../src/client.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { rawOf } from '../../src/mcp/results.ts';
import type { Client } from '../../src/mcp/types.ts';
import { everything, processFiles, waitFor, waitUntilGone } from '../support/process.ts';
import { allowAll, fixture, sandbox, type Sandbox } from '../cli/support.ts';

const entryPoint = fileURLToPath(new URL('../cli/entry.ts', import.meta.url));
const serveFixture = fileURLToPath(new URL('../support/serve-fixture.ts', import.meta.url));
const tsx = import.meta.resolve === undefined ? 'tsx' : import.meta.resolve('tsx');

/** Our client, at the standard input and output of the command line. */
async function onStdio(t: TestContext, box: Sandbox, args: readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = await connect({ type: 'stdio', command: process.execPath, args: ['--import', tsx, entryPoint, ...args], cwd: box.workspace, env: box.env }, { requestMs: 15_000, ...options });
  t.after(() => client.close());
  return client;
}

async function direct(t: TestContext, args: readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = await connect({ type: 'stdio', command: process.execPath, args }, { requestMs: 15_000, ...options });
  t.after(() => client.close());
  return client;
}

interface Running { readonly child: ChildProcess; readonly url: string; stderr(): string; end(signal?: NodeJS.Signals): Promise<number | null> }

async function overHttp(t: TestContext, box: Sandbox, args: readonly string[]): Promise<Running> {
  const child = box.start(['serve', '--http', ...args]);
  let stderr = '', stdout = '';
  child.stderr!.on('data', (chunk: Buffer) => { stderr += String(chunk); });
  child.stdout!.on('data', (chunk: Buffer) => { stdout += String(chunk); });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => { child.kill(signal); return (await exited)[0]; };
  t.after(async () => { if (child.exitCode === null && child.signalCode === null) await end('SIGKILL'); assert.equal(stdout, ''); });
  const url = await waitFor(() => /serving (http\S+)/.exec(stderr)?.[1], `the address in ${stderr}`, 15_000);
  return { child, url, stderr: () => stderr, end };
}

for (const protocol of ['2026-07-28', '2025-11-25'] as const) {
  test(`serve is one server on stdio, to ${protocol}, and leaves nothing behind`, async (t) => {
    const box = sandbox(t), files = processFiles(t);
    box.config({ ...allowAll, mcp: { one: fixture('--tools=echo', `--pids=${files.pidsFile}`), two: fixture('--tools=add', `--pids=${files.pidsFile}`) } });
    const client = await onStdio(t, box, ['serve', '--deny', 'two_add'], { protocol });
    assert.deepEqual((await client.listTools()).items.map(({ name }) => name), ['one_echo']);
    assert.equal((await client.callTool('one_echo', { text: 'x' })).isError, false);
    assert.equal((await client.callTool('two_add', { a: 1, b: 2 })).isError, true);
    assert.deepEqual((await client.close()).forced, []);
    await waitUntilGone(files.pids());
  });

  test(`serve --http serves, logs each request and ends on SIGTERM, to ${protocol}`, async (t) => {
    const box = sandbox(t), files = processFiles(t);
    box.config({ ...allowAll, mcp: { one: fixture('--tools=echo', `--pids=${files.pidsFile}`) } });
    const server = await overHttp(t, box, ['--log-format', 'json']);
    const client = await connect({ type: 'http', url: server.url }, { protocol });
    assert.equal((await client.callTool('one_echo', { text: 'x' })).isError, false);
    const lines = await waitFor(() => { const found = server.stderr().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as { rpc?: string; status?: number }); return found.some(({ rpc }) => rpc === 'tools/call') && found; }, 'the access line');
    assert.equal(lines.find(({ rpc }) => rpc === 'tools/call')?.status, 200);
    await client.close();
    assert.equal(await server.end(), 143);
    await waitUntilGone(files.pids());
  });
}

/** Definitions, results and who it is: through `guard` as without it. */
async function sameAsDirect(t: TestContext, server: readonly string[], calls: readonly (readonly [string, Record<string, unknown>])[], protocol: string): Promise<void> {
  const box = sandbox(t);
  // What only one era has cannot cross into the other: both hops are of the same one.
  box.config({ ...allowAll, mcp: { one: { type: 'local', command: [process.execPath, ...server], protocol } } });
  const [guarded, plain] = await Promise.all([onStdio(t, box, ['guard', 'one'], { protocol }), direct(t, server, { protocol })]);
  assert.deepEqual(guarded.serverInfo, plain.serverInfo);
  assert.equal(guarded.instructions, plain.instructions);
  assert.deepEqual(await guarded.listTools(), await plain.listTools());
  assert.deepEqual(await guarded.listResources(), await plain.listResources());
  assert.deepEqual(await guarded.listResourceTemplates(), await plain.listResourceTemplates());
  assert.deepEqual(await guarded.listPrompts(), await plain.listPrompts());
  for (const [name, args] of calls) {
    const [through, without] = await Promise.all([guarded.callTool(name, args), plain.callTool(name, args)]);
    assert.deepEqual(signed(rawOf(through)), signed(rawOf(without)), name);
  }
  for (const { uri } of (await plain.listResources()).items) assert.deepEqual(signed(rawOf(await guarded.readResource(uri))), signed(rawOf(await plain.readResource(uri))), uri);
}

/** Every modern result should say which server it is from; one that does not is signed on its way. */
function signed(result: JsonObject | undefined): unknown {
  const { _meta, ...rest } = result ?? {}, { 'io.modelcontextprotocol/serverInfo': _serverInfo, ...meta } = (_meta ?? {}) as JsonObject;
  return { ...rest, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
}

for (const protocol of ['2026-07-28', '2025-11-25'] as const) {
  test(`guard equals a direct connection to the fixture server, ${protocol}`, (t) => sameAsDirect(t, [everything, '--era=both', '--resources', '--prompts'], [['echo', { text: 'x', deep: { a: [1, null] } }], ['add', { a: 1, b: 2 }], ['fail', {}], ['blocks', {}], ['structured', {}]], protocol));
  test(`guard equals a direct connection to the served program, ${protocol}`, (t) => sameAsDirect(t, ['--import', tsx, serveFixture], [['echo', { a: [1, { b: null }] }], ['list', {}], ['test_multiple_content_types', {}], ['test_error_handling', {}], ['test_embedded_resource', {}]], protocol));
}

test('guard hides what is denied, keeps an audit and a trace without secrets', async (t) => {
  const box = sandbox(t), audit = path.join(box.directory, 'calls.jsonl'), trace = path.join(box.directory, 'trace.jsonl');
  box.config(allowAll);
  const client = await onStdio(t, box, ['guard', '--deny', 'add', '--deny', 'guarded_add', '--audit', audit, '--record', trace, '--', process.execPath, everything, '--tools=echo,add']);
  assert.deepEqual((await client.listTools()).items.map(({ name }) => name), ['echo']);
  await client.callTool('echo', { token: 'Bearer abcdefghijklmnopqrstuvwxyz0123456789' });
  assert.equal((await client.callTool('add', { a: 1, b: 1 })).isError, true);
  await client.close();
  await waitFor(() => existsSync(audit) && readFileSync(audit, 'utf8').trimEnd().split('\n').length >= 2, 'two lines of audit');
  const outcomes = readFileSync(audit, 'utf8').trimEnd().split('\n').map((line) => (JSON.parse(line) as { outcome: string }).outcome);
  assert.deepEqual(outcomes, ['ok', 'blocked']);
  const text = readFileSync(trace, 'utf8');
  assert.match(text, /upstream/);
  assert.match(text, /downstream/);
  assert.doesNotMatch(text, /abcdefghijklmnopqrstuvwxyz0123456789/);
});

test('guard NAME serves a configured server under its own names', async (t) => {
  const box = sandbox(t);
  box.config({ ...allowAll, mcp: { one: fixture('--tools=echo', '--name=the-one'), two: fixture() } });
  const client = await onStdio(t, box, ['guard', 'one']);
  assert.equal(client.serverInfo?.name, 'the-one');
  assert.deepEqual((await client.listTools()).items.map(({ name }) => name), ['echo']);
});

test('serve asks for a token where a token file says so, and refuses other machines without one', async (t) => {
  const box = sandbox(t), token = 'a-token-of-some-length-0123', file = path.join(box.directory, 'tokens');
  box.config({ ...allowAll, mcp: { one: fixture('--tools=echo') } });
  writeFileSync(file, `# of the team\n${token}\n`, { mode: 0o600 });
  const refused = await box.run(['serve', '--http', '--host', '0.0.0.0']);
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /other machines/);
  const server = await overHttp(t, box, ['--token-file', file]);
  await assert.rejects(connect({ type: 'http', url: server.url }));
  const client = await connect({ type: 'http', url: server.url, headers: { authorization: `Bearer ${token}` } });
  assert.equal((await client.callTool('one_echo', {})).isError, false);
  await client.close();
  assert.doesNotMatch(server.stderr(), new RegExp(token));
  assert.equal(await server.end('SIGINT'), 130);
});

test('serve and guard refuse words that contradict each other', async (t) => {
  const box = sandbox(t);
  box.config({ mcp: { one: fixture(), two: fixture() } });
  for (const [words, why] of [
    [['serve', '--raw-names'], /exactly one/], [['serve', '--port', '1'], /without --http/], [['serve', '--http', '--port', 'x'], /--port/], [['serve', '--exposure', 'all'], /--exposure/],
    [['serve', '--log-format', 'xml'], /--log-format/], [['guard'], /nothing/], [['guard', 'one', '--', 'node'], /one or the other/], [['serve', '--server', 'on'], /"on"/], [['serve', '--http', '--token-file', path.join(box.directory, 'none')], /no token/],
  ] as const) {
    const { status, stderr, stdout } = await box.run(words);
    assert.equal(status, 2, stderr);
    assert.match(stderr, why);
    assert.equal(stdout, '');
  }
});

test('mcp connect-config prints what each client is told', async (t) => {
  const box = sandbox(t);
  for (const client of ['claude-code', 'cursor', 'vscode', 'opencode', 'zcode']) assert.match(JSON.stringify(JSON.parse((await box.run(['mcp', 'connect-config', client, '--server', 'one'])).stdout)), /"serve","--server","one"/);
  assert.equal((await box.run(['mcp', 'connect-config', 'codex'])).stdout, '[mcp_servers.zuno]\ncommand = "zuno-lite"\nargs = ["serve"]\n');
  assert.equal((await box.run(['mcp', 'connect-config', 'cursr'])).status, 2);
});
