/** The example programs, run as they are written, against what `npm run build` made; and the habits that a program relies on which embeds us. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { owned, startStreamable } from '../support/http-fixture.ts';
import { tempDir, waitFor } from '../support/process.ts';
import { listed, tools } from '../support/sessions.ts';
import { root } from '../support/source-files.ts';

const demo = path.join(root, 'demo/server.mjs');

interface Program { readonly child: ChildProcessWithoutNullStreams; readonly stdout: () => string; readonly stderr: () => string; /** The exit status, once it has ended by itself. */ readonly ended: Promise<number | null> }

/** A program with a home of its own and nothing of ours in its environment. */
function start(t: TestContext, home: string, args: readonly string[], environment: Record<string, string> = {}): Program {
  const child = spawn(process.execPath, ['--unhandled-rejections=strict', ...args], {
    cwd: home, env: { PATH: process.env['PATH'] ?? '', HOME: home, USERPROFILE: home, ...(process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] }), XDG_CONFIG_HOME: path.join(home, 'config'), ...environment },
  });
  let stdout = '', stderr = '';
  child.stdout.on('data', (chunk) => { stdout += String(chunk); });
  child.stderr.on('data', (chunk) => { stderr += String(chunk); });
  const ended = new Promise<number | null>((resolve) => { child.once('close', resolve); });
  t.after(() => { child.kill('SIGKILL'); return ended; });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

function home(t: TestContext, config: object): string {
  const directory = tempDir(t);
  mkdirSync(path.join(directory, 'config', 'zuno'), { recursive: true });
  writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(directory, 'config', 'zuno', 'zuno.json'), JSON.stringify(config));
  return directory;
}

/** Processes whose command line names this; Linux only. */
function running(words: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => { try { return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words); } catch { return false; } });
}

interface Asked { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: any }

/** A chat-completions endpoint that says what it is told to, in order. */
async function endpoint(t: TestContext, answers: readonly (object | number)[]): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => { text += String(chunk); }).on('end', () => {
      asked.push({ url: request.url ?? '', headers: request.headers, body: JSON.parse(text) as unknown });
      const answer = answers[asked.length - 1] ?? 500;
      response.writeHead(typeof answer === 'number' ? answer : 200, { 'content-type': 'application/json', connection: 'close' });
      response.end(typeof answer === 'number' ? 'the model is asleep' : JSON.stringify({ choices: [{ message: { role: 'assistant', content: null, ...answer } }] }));
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => new Promise((resolve) => { server.close(resolve); }));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}
const wants = (...calls: readonly (readonly [id: string, name: string, args: object | string])[]): object => ({ tool_calls: calls.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } })) });

test('examples/agent-loop.mjs offers the tools, asks the person, gives results and refusals back, and keeps earlier calls as long as their tools are the same', { timeout: 30_000 }, async (t) => {
  const docs = listed(t, { tools: tools('note', 'erase', 'reload') });
  const model = await endpoint(t, [
    wants(['c1', 'docs_note', { text: 'buy milk' }], ['c2', 'docs_erase', { text: 'all' }]), { content: 'Noted, not erased.' },
    wants(['c3', 'docs_reload', '']), { content: 'Reloaded.' }, ...Array.from({ length: 50 }, () => ({ content: 'Bye.' })),
  ]);
  const directory = home(t, { mcp: { docs: docs.entry }, permission: { rules: { docs_reload: 'allow' } } });
  const program = start(t, directory, [path.join(root, 'examples/agent-loop.mjs'), 'Note', 'that'], { MODEL_URL: model.url, MODEL: 'small', MODEL_KEY: 'key-1' });
  const { child, stdout, stderr } = program;

  await waitFor(() => /docs_note \{"text":"buy milk"\}\nMay it run\?.*: $/.test(stderr()), 'the first question', 10_000);
  child.stdin.write('o\n');
  await waitFor(() => /docs_erase \{"text":"all"\}\nMay it run\?.*: $/.test(stderr()), 'the second question');
  child.stdin.write('n\n');
  await waitFor(() => stdout().includes('Noted, not erased.\n'), 'the answer');

  const [first, second] = model.asked.map(({ body }) => body);
  assert.equal(model.asked[0]!.url, '/v1/chat/completions');
  assert.equal(model.asked[0]!.headers.authorization, 'Bearer key-1');
  assert.deepEqual({ ...first, tools: undefined }, { model: 'small', messages: [{ role: 'user', content: 'Note that' }], tools: undefined });
  assert.deepEqual(first.tools.map((tool: any) => [tool.type, tool.function.name, tool.function.parameters.type]), ['note', 'erase', 'reload'].map((name) => ['function', `docs_${name}`, 'object']));
  assert.deepEqual(second.messages.map(({ role, tool_call_id: id }: any) => [role, id]), [['user', undefined], ['assistant', undefined], ['tool', 'c1'], ['tool', 'c2']]);
  assert.equal(second.messages[2].content, 'note {"text":"buy milk"}');
  assert.match(second.messages[3].content, /docs_erase.*\n?.*Nothing was done\./s);
  assert.deepEqual(docs.received().filter(({ method }) => method === 'tools/call').map(({ params }) => params?.['name']), ['note'], 'what was declined never left');

  // The tool of the first call becomes another one: from the turn on that knows it, that call is told in words.
  docs.write({ tools: [{ name: 'note', description: 'Writes', inputSchema: { type: 'object', properties: { words: { type: 'string' } } } }, ...tools('erase', 'reload')] });
  child.stdin.write('And reload\n');
  await waitFor(() => stdout().includes('Reloaded.\n'), 'the second answer', 10_000);
  const messages = (request: number): any[] => model.asked[request]!.body.messages as any[];
  // A list that changed is read again in the background: a later turn knows.
  let last = 3;
  do {
    last += 1;
    child.stdin.write('Goodbye\n');
    await waitFor(() => stdout().split('Bye.\n').length === last - 2, 'another answer');
  } while (messages(last)[1].tool_calls.length === 2 && last < 50);
  assert.deepEqual(messages(2).map(({ role }) => role), ['user', 'assistant', 'tool', 'tool', 'assistant', 'user']);
  assert.deepEqual(messages(last).slice(0, 7).map(({ role }) => role), ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'tool']);
  assert.deepEqual(messages(last)[1].tool_calls.map(({ id }: { readonly id: string }) => id), ['c2']);
  assert.match(messages(last)[1].content, /buy milk/);

  child.stdin.write('\n');
  assert.equal(await program.ended, 0, stderr());
  assert.match(stdout(), /^Noted, not erased\.\nReloaded\.\n(?:Bye\.\n)+$/);
  assert.deepEqual(running(docs.file), []);
});

test('examples/agent-loop.mjs takes no answer for a no, tells what a model got wrong, and fails in words', { timeout: 30_000 }, async (t) => {
  const docs = listed(t, { tools: tools('note') });
  const directory = home(t, { mcp: { docs: docs.entry } });
  const model = await endpoint(t, [wants(['c1', 'docs_note', { text: 'x' }], ['c2', 'docs_note', '{"text":'], ['c3', 'no_such', {}]), 503]);
  const program = start(t, directory, [path.join(root, 'examples/agent-loop.mjs'), 'Hello'], { MODEL_URL: model.url, MODEL: 'small' });
  program.child.stdin.end();
  assert.equal(await program.ended, 1);
  assert.match(program.stderr(), /The model answered 503: the model is asleep/);
  const results = model.asked[1]!.body.messages.slice(2).map(({ content }: any) => content);
  assert.match(results[0], /docs_note/);
  assert.match(results[1], /arguments|object/i);
  assert.match(results[2], /no_such/);
  assert.equal(docs.received().some(({ method }) => method === 'tools/call'), false);
  assert.equal(model.asked[0]!.headers.authorization, undefined);
  const usage = start(t, directory, [path.join(root, 'examples/agent-loop.mjs')]);
  assert.equal(await usage.ended, 2);
  assert.match(usage.stderr(), /^Usage: /);
});

test('examples/build-host.mjs runs two tools, writes what they gave, shows no secret, and leaves nothing', { timeout: 30_000 }, async (t) => {
  const directory = home(t, { mcp: { broken: { type: 'local', command: ['no-such-program'] } } }), out = path.join(directory, 'out'), secret = 'tok-5f1c9a0b2d4e-unguessable';
  const program = start(t, directory, [path.join(root, 'examples/build-host.mjs'), out], { BUILD_TOKEN: secret });
  assert.equal(await program.ended, 0, program.stderr());
  assert.equal(program.stderr(), '');
  assert.match(program.stdout(), /^demo_add: ok, .*sum-1\.txt.*\ndemo_picture: ok, .*picture-1\.txt, .*picture-2\.png\n$/);
  assert.match(readFileSync(path.join(out, 'sum-1.txt'), 'utf8'), /42/);
  assert.deepEqual([...readFileSync(path.join(out, 'picture-2.png')).subarray(1, 4)], [...Buffer.from('PNG')]);
  const written = readdirSync(out).map((file) => readFileSync(path.join(out, file), 'latin1')).join('');
  assert.equal((program.stdout() + program.stderr() + written).includes(secret), false);
  assert.equal(existsSync(path.join(directory, '.local')), false, 'nothing is kept in the home of its user');

  // The same script with other jobs: its status is what became of the last call.
  const copy = path.join(directory, 'copy'), source = readFileSync(path.join(root, 'examples/build-host.mjs'), 'utf8');
  mkdirSync(path.join(copy, 'node_modules'), { recursive: true });
  mkdirSync(path.join(copy, 'examples'));
  symlinkSync(root.replace(/[\\/]$/, ''), path.join(copy, 'node_modules', 'zuno-lite'), 'junction');
  cpSync(path.dirname(demo), path.join(copy, 'demo'), { recursive: true });
  const cases: readonly [status: number, from: string, to: string, environment: Record<string, string>, said: RegExp][] = [
    [1, "{ id: 'demo_add', args: { a: 40, b: 2 }", "{ id: 'demo_fail', args: {}", { BUILD_TOKEN: secret }, /demo_fail: tool_error, /],
    [7, '{ a: 40, b: 2 }', `{ a: '${secret}' }`, { BUILD_TOKEN: secret }, /demo_add/],
    [7, "effect: 'allow'", "effect: 'ask'", { BUILD_TOKEN: secret }, /demo_add/],
    [3, '', '', {}, /BUILD_TOKEN/],
  ];
  await Promise.all(cases.map(async ([status, from, to, environment, said], n) => {
    const file = path.join(copy, 'examples', `case-${n}.mjs`);
    writeFileSync(file, from === '' ? source : source.replace(from, to));
    const other = start(t, directory, [file, path.join(directory, `out-${n}`)], environment);
    assert.equal(await other.ended, status, `${n}: ${other.stderr()}`);
    assert.match(other.stdout() + other.stderr(), said);
    assert.equal((other.stdout() + other.stderr()).includes(secret), false);
  }));
  assert.equal(await start(t, directory, [path.join(root, 'examples/build-host.mjs')]).ended, 2);
  assert.deepEqual(running(copy), []);
});

test('two hosts in one process do not see each other, and the process ends by itself once they are closed', { timeout: 30_000 }, async (t) => {
  const directory = home(t, {}), first = listed(t, { tools: tools('one') }), second = listed(t, { tools: tools('two') }), file = path.join(directory, 'two.mjs');
  mkdirSync(path.join(directory, 'node_modules'));
  symlinkSync(root.replace(/[\\/]$/, ''), path.join(directory, 'node_modules', 'zuno-lite'), 'junction');
  writeFileSync(file, `
    import { createHost, loadConfig, resolvePaths } from 'zuno-lite';
    const open = (entry, name) => {
      const paths = resolvePaths({ platform: process.platform, home: process.cwd() + '/' + name, environment: {} });
      const config = loadConfig({ cwd: process.cwd(), environment: { ZUNO_CONFIG_CONTENT: JSON.stringify({ mcp: { docs: entry }, permission: { mode: 'allow_all' } }) }, paths });
      const host = createHost({ config, environment: process.env, paths }), events = [];
      host.on(({ kind }) => events.push(kind));
      return { host, events };
    };
    const a = open(${JSON.stringify(first.entry)}, 'a'), b = open(${JSON.stringify(second.entry)}, 'b');
    const [inA, inB] = await Promise.all([a.host.session(), b.host.session()]);
    const seen = [(await inA.step()).tools.map(({ id }) => id), (await inB.step()).tools.map(({ id }) => id)];
    const [again, never] = [a.host.close(), a.host.close()];
    await again; await never;
    const step = await inB.step();
    const result = await step.call('docs_two', {});
    const pending = step.call('docs_two', {});
    await b.host.close();
    const late = await inB.step().then(() => 'a step', ({ code }) => code);
    console.log(JSON.stringify({ seen, text: result.text, events: [a.events, b.events], late, pending: (await pending).outcome }));
  `);
  const program = start(t, directory, [file]);
  assert.equal(await program.ended, 0, program.stderr());
  const { seen, text, events, late, pending } = JSON.parse(program.stdout()) as { seen: string[][]; text: string; events: string[][]; late: string; pending: string };
  assert.deepEqual(seen, [['docs_one'], ['docs_two']]);
  assert.equal(text, 'two {}');
  for (const one of events) assert.deepEqual([one.filter((kind) => kind === 'connected').length, one.at(-1)], [1, 'closed']);
  assert.equal(late, 'CANCELED');
  assert.ok(['ok', 'blocked', 'failed', 'unknown'].includes(pending));
  assert.equal(program.stderr(), '');
  assert.deepEqual(running(first.file), []);
});

test('the program of docs/embedding.md does what its page says, and ends by itself', { timeout: 30_000 }, async (t) => {
  const directory = home(t, { permission: { rules: { 'notes_*': 'allow' } } });
  const server = owned(t, await startStreamable());
  const notes = listed(t, { tools: tools('add', 'list', 'delete'), resources: [{ uri: 'notes:1', name: 'one' }] });
  const [, program, ...args] = notes.entry['command'] as string[];
  writeFileSync(path.join(directory, 'notes.js'), `process.argv.push(...${JSON.stringify(args)}); import(${JSON.stringify(pathToFileURL(program!).href)});`);
  mkdirSync(path.join(directory, 'node_modules'));
  symlinkSync(root.replace(/[\\/]$/, ''), path.join(directory, 'node_modules', 'zuno-lite'), 'junction');
  symlinkSync(path.join(root, 'node_modules/tsx'), path.join(directory, 'node_modules', 'tsx'), 'junction');
  let page = [...readFileSync(path.join(root, 'docs/embedding.md'), 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code).join('\n');
  for (const [there, here] of [['/var/lib/my-agent/session-1.jsonl', path.join(directory, 'session-1.jsonl')], ['http://127.0.0.1:3000/mcp', server.url('/both?tools=search')]] as const) {
    assert.ok(page.includes(there), there);
    page = page.replace(there, here);
  }
  writeFileSync(path.join(directory, 'page.ts'), `${page}\nconsole.log(JSON.stringify({ ids: step.tools.map(({ id }) => id), one: one.text, several: several.map(({ text }) => text), chat: chat.tools.length, content: message.content.length, resources: resources.items.length, result }));\n`);
  const run = start(t, directory, ['--import', 'tsx', path.join(directory, 'page.ts')]);
  assert.equal(await run.ended, 0, run.stderr());
  assert.equal(run.stderr(), '');
  assert.deepEqual(JSON.parse(run.stdout().trimEnd().split('\n').at(-1)!), {
    ids: ['notes_add', 'notes_list', 'notes_delete', 'list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource'], one: 'add {"text":"buy milk"}', several: ['list {}', 'add {"text":"and bread"}'], chat: 6, content: 2, resources: 1,
    result: { content: [{ type: 'text', text: 'search was called' }], isError: false },
  });
  assert.deepEqual(running(notes.file), []);
});
