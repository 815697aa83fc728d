import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { allowAll, demoServer, fixture, sandbox } from './support.ts';

const demo = { type: 'local', command: [process.execPath, demoServer] };

test('call prints the result alone on stdout', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  for (const words of ['fs_add', 'fs.add', 'fs/add', 'mcp__fs__add']) {
    const { status, stdout, stderr } = await run(['call', words, 'a=1', 'b=2.5']);
    assert.deepEqual([status, stdout, stderr], [0, '3.5\n', ''], words);
  }
});

test('call --json has the result as the server sent it', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  assert.deepEqual((await run(['call', 'fs_echo', 'text=123', '--json'])).json(), {
    ok: true, outcome: 'ok', id: 'fs_echo', server: 'fs', tool: 'echo', result: { content: [{ type: 'text', text: '{"text":"123"}' }], isError: false }, warnings: [], saved: [],
  });
});

test('call takes arguments from --args, a file and standard input, words laid over them', async (t) => {
  const { run, config, file } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  file('args.json', '{"text":"file","more":1}');
  file('text.txt', 'from a file\n');
  const echo = async (args: readonly string[], input?: string): Promise<unknown> => JSON.parse((await run(['call', 'fs_echo', ...args], input === undefined ? {} : { input })).stdout);
  assert.deepEqual(await echo(['--args', '{"text":"a","more":1}', 'text=b']), { text: 'b', more: 1 });
  assert.deepEqual(await echo(['--args', '@args.json']), { text: 'file', more: 1 });
  assert.deepEqual(await echo(['--args', '-'], '{"text":"stdin"}'), { text: 'stdin' });
  assert.deepEqual(await echo(['text=@text.txt']), { text: 'from a file\n' });
  assert.deepEqual(await echo(['text=@@home', 'n:=[1,2]', '--', 'deep.er=--x']), { text: '@home', n: [1, 2], deep: { er: '--x' } });
});

for (const [why, args, names] of [
  ['a word that is no argument', ['fs_echo', 'hello'], /Cannot read "hello" as an argument/], ['--args that is no object', ['fs_echo', '--args', '[1]'], /--args: it is not a JSON object/],
  ['a file that is missing', ['fs_echo', 'text=@nowhere'], /Cannot read "nowhere": there is no such file/], ['an unknown tool', ['fs_ecko'], /Cannot find the tool "fs_ecko".*did you mean fs_echo/],
  ['a tool of no server', ['nothing_here'], /no configured server/], ['a missing argument', ['fs_add', 'a=1'], /argument \/b is missing/], ['a mistyped argument', ['fs_add', 'a=one', 'b=2'], /argument \/a "one" is not a number/],
  ['JSON that is none', ['fs_add', 'a:=x', 'b=2'], /argument \/a what follows := is not valid JSON/], ['an argument of the wrong JSON type', ['fs_add', 'a:="1"', 'b=2'], /argument \/a /],
] as const) {
  test(`call refuses ${why} with exit 2 before anything is sent`, async (t) => {
    const { run, config, directory } = sandbox(t);
    const log = path.join(directory, 'log');
    config({ mcp: { fs: fixture(`--log=${log}`) }, ...allowAll });
    const { status, stdout, stderr } = await run(['call', ...args]);
    assert.deepEqual([status, stdout], [2, ''], stderr);
    assert.match(stderr, names);
    assert.match(stderr, /^ {2}next /m);
    if (existsSync(log)) assert.doesNotMatch(readFileSync(log, 'utf8'), /tools\/call/);
  });
}

test('a missing argument is answered with the signature and a call to copy', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const { stderr } = await run(['call', 'fs_add', 'a=1']);
  assert.match(stderr, /next {4}fs_add\(a: number, b: number\), for instance: zuno-lite call fs_add a=1 b=1$/m);
  const { error } = (await run(['call', 'fs_add', 'a=x', '--json'])).json();
  assert.deepEqual(error.details.problems.map((one: any) => one.pointer), ['/a', '/b']);
});

test('with nobody to ask a call is refused with exit 7 and the rule to add (row 129)', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') } });
  const { status, stdout, stderr } = await run(['call', 'fs_echo']);
  assert.deepEqual([status, stdout], [7, '']);
  assert.match(stderr, /^ {2}stage {3}permission$/m);
  assert.ok(stderr.includes(`"permission": { "rules": { "fs_echo": "allow" } }`), stderr);
  assert.equal((await run(['call', 'fs_echo', '--json'])).json().error.details.why, 'nobody');
  for (const yes of [['--yes'], ['-y'], ['--allow', 'fs_*'], ['--allow=fs_echo']]) assert.equal((await run(['call', 'fs_echo', ...yes])).status, 0, yes.join(' '));
  assert.equal((await run(['call', 'fs_echo', '--allow', 'other_*'])).status, 7);
  assert.ok(existsSync(globalFile));
});

test('a deny rule holds against --yes and --allow, and is shown with its origin', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') }, permission: { rules: { fs_echo: 'deny' } } });
  const { status, stderr } = await run(['call', 'fs_echo', '--yes', '--allow', '*']);
  assert.equal(status, 7);
  assert.match(stderr, /origin {2}.*zuno\.json:\d+:\d+ \(global\)/);
});

test('the text of a tool that failed is the result; the exit status is 1 (row 169)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const { status, stdout, stderr } = await run(['call', 'fs_fail', 'reason=disk full']);
  assert.equal(status, 1);
  assert.equal(stdout, 'MCP tool returned an error:\ndisk full\n');
  assert.match(stderr, /the tool "fs_fail" reported an error/);
  const document = await run(['call', 'fs_fail', '--json']);
  assert.deepEqual([document.status, document.json().ok, document.json().outcome, document.json().result.isError], [1, true, 'tool_error', true]);
});

test('every kind of content block is shown, in order; --output saves what is not text (row 167)', async (t) => {
  const { run, config, workspace } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const shown = await run(['call', 'fs_blocks']);
  const order = ['words', '[image image/png, 70 B]', '[audio audio/wav, 3 B]', 'file:///a.txt', 'alpha', 'file:///b.bin', '"hologram"'];
  let at = -1;
  for (const part of order) {
    const next = shown.stdout.indexOf(part, at + 1);
    assert.ok(next > at, `${part} in ${shown.stdout}`);
    at = next;
  }
  assert.match(shown.stderr, /--output DIR saves/);
  const directory = path.join(workspace, 'out');
  const saved = await run(['call', 'fs_blocks', '--output', directory]);
  assert.match(saved.stdout, /\[image image\/png, 70 B\] saved to .*fs_blocks-1\.png/);
  assert.deepEqual(readdirSync(directory).sort(), ['fs_blocks-1.png', 'fs_blocks-2.wav', 'fs_blocks-3.bin']);
  assert.equal(readFileSync(path.join(directory, 'fs_blocks-1.png')).subarray(1, 4).toString(), 'PNG');
  const document = (await run(['call', 'fs_blocks', '--output', directory, '--json'])).json();
  assert.deepEqual(document.saved.map((file: string) => path.basename(file)), ['fs_blocks-2.png', 'fs_blocks-3.wav', 'fs_blocks-4.bin']);
  assert.deepEqual(document.result.content.at(-1), { type: 'hologram', shape: 'cube' });
});

test('structured content is shown last, and not twice when the text is the same (row 168)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  assert.equal((await run(['call', 'fs_structured'])).stdout, '{"sum":3}\n');
  assert.deepEqual((await run(['call', 'fs_structured', '--json'])).json().result.structuredContent, { sum: 3 });
});

test('control characters of a server do not reach the terminal; JSON keeps them escaped', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const nasty = 'a\u001b]0;title\u0007\u001b[31mred\u009b31m\u202eb';
  const { stdout } = await run(['call', 'fs_fail', `reason=${nasty}`]);
  assert.doesNotMatch(stdout, /[\u001b\u009b\u0007\u202e]/);
  const document = await run(['call', 'fs_fail', `reason=${nasty}`, '--json']);
  assert.doesNotMatch(document.stdout, /[\u001b\u009b\u202e]/);
  assert.equal(document.json().result.content[0].text, nasty);
});

const failures: readonly (readonly [why: string, entry: object, status: number, code: string, says: RegExp])[] = [
  ['a program that is missing', { type: 'local', command: ['no-such-program-zl'] }, 4, 'SPAWN_FAILED', /ENOENT for command "no-such-program-zl"/],
  ['a directory that is missing', { ...fixture(), cwd: '/no/such/directory' }, 4, 'SPAWN_FAILED', /\/no\/such\/directory/],
  ['a server that exits at once', fixture('--exits-at-once=5'), 4, 'SERVER_EXITED', /exit code 5; its stderr: /],
  ['a server that exits in the handshake', fixture('--exits-mid-initialize'), 4, 'SERVER_EXITED', /exit code 4/],
  ['a server that prints anything but messages', fixture('--junk-at-start=40'), 5, 'PROTOCOL_VIOLATION', /32/],
  ['a server that speaks no revision of ours', fixture('--revision=1999-01-01'), 5, 'REVISION_UNSUPPORTED', /1999-01-01/],
];
for (const [why, entry, expected, code, says] of failures) {
  test(`call tells the five things of ${why}`, async (t) => {
    const { run, config, globalFile } = sandbox(t);
    config({ mcp: { fs: entry }, ...allowAll });
    const { status, stdout, stderr } = await run(['call', 'fs_echo']);
    assert.deepEqual([status, stdout], [expected, ''], stderr);
    for (const row of ['stage', 'cause', 'repeat', 'origin', 'next']) assert.match(stderr, new RegExp(`^  ${row} +\\S`, 'm'));
    assert.match(stderr, says);
    assert.ok(stderr.includes(`${globalFile}:3:5 (global), mcp.fs`), stderr);
    const { error } = (await run(['call', 'fs_echo', '--json'])).json();
    assert.equal(error.code, code);
    assert.equal(error.origin.key, 'mcp.fs');
  });
}

test('a server that dies in the middle of a call: the outcome is unknown, exit 8', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const { status, stderr } = await run(['call', 'fs_crash']);
  assert.equal(status, 8);
  assert.match(stderr, /repeat {2}not before you have looked/);
});

test('an error of the server is told with its code, exit 5', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const { status, stderr } = await run(['call', 'fs_error', 'code=-32001', 'message=no luck']);
  assert.equal(status, 5);
  assert.match(stderr, /no luck/);
  assert.match(stderr, /JSON-RPC error -32001 to tools\/call/);
});

test('the timeout of a server bounds its calls (row 54)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: { ...fixture(), timeout: 300 } }, ...allowAll });
  const startedAt = performance.now();
  const { status, stderr } = await run(['call', 'fs_hang']);
  assert.equal(status, 8);
  assert.match(stderr, /within 3\d\d ms/);
  assert.match(stderr, /origin {2}.*zuno\.json:3:5 \(global\), mcp\.fs$/m);
  assert.ok(performance.now() - startedAt < 3000);
});

test('--timeout bounds the whole operation, the start of the server included', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { slow: fixture('--initialize-ms=20000') }, ...allowAll });
  const startedAt = performance.now();
  const { status, stderr } = await run(['call', 'slow_echo', '--timeout', '400']);
  assert.equal(status, 4, stderr);
  assert.match(stderr, /Cannot finish within 400 ms: the time of --timeout is used up/);
  assert.ok(performance.now() - startedAt < 3000);
});

test('a call whose time is up has an unknown outcome', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture() }, ...allowAll });
  const { status, stderr } = await run(['call', 'fs_hang', '--timeout', '1500']);
  assert.equal(status, 8, stderr);
});

test('warnings of a call go to stderr, --quiet drops remarks', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { demo }, ...allowAll });
  assert.match((await run(['call', 'demo_picture'])).stderr, /--output DIR/);
  assert.equal((await run(['call', 'demo_picture', '--quiet'])).stderr, '');
  assert.match((await run(['call', 'demo_add', 'a=1', 'b=2', '--log-level', 'debug'])).status === 0 ? 'ok' : 'no', /ok/);
});

test('--output keeps what is too long to read, byte for byte, and shows its beginning (row 174)', async (t) => {
  const { run, config, workspace } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=big,echo') }, ...allowAll });
  const directory = path.join(workspace, 'kept');
  const whole = (await run(['call', 'fs_big', 'bytes=1000000'])).stdout;
  const { status, stdout } = await run(['call', 'fs_big', 'bytes=1000000', '--output', directory]);
  assert.equal(status, 0);
  assert.ok(stdout.length < 10_000, String(stdout.length));
  assert.match(stdout, /\[text, 977 KiB in 1 line\] saved to .*fs_big-1\.txt$/m);
  assert.equal(`${readFileSync(path.join(directory, 'fs_big-1.txt'), 'utf8')}\n`, whole);
  const document = (await run(['call', 'fs_big', 'bytes=1000000', '--output', directory, '--json'])).json();
  assert.deepEqual(document.saved, [path.join(directory, 'fs_big-2.txt')]);
  assert.equal((await run(['call', 'fs_echo', 'text=x', '--output', directory])).stdout, '{"text":"x"}\n');
});

test('--output overwrites nothing and follows no link', { skip: process.platform === 'win32' }, async (t) => {
  const { run, config, workspace, directory } = sandbox(t);
  config({ mcp: { demo }, ...allowAll });
  const kept = path.join(workspace, 'kept'), elsewhere = path.join(directory, 'elsewhere');
  mkdirSync(kept);
  writeFileSync(path.join(kept, 'demo_picture-1.png'), 'mine');
  symlinkSync(elsewhere, path.join(kept, 'demo_picture-2.png'));
  const { saved } = (await run(['call', 'demo_picture', '--output', kept, '--json'])).json();
  assert.deepEqual(saved, [path.join(kept, 'demo_picture-3.png')]);
  assert.deepEqual([readFileSync(path.join(kept, 'demo_picture-1.png'), 'utf8'), existsSync(elsewhere)], ['mine', false]);
  writeFileSync(path.join(workspace, 'file'), '');
  assert.equal((await run(['call', 'demo_picture', '--output', path.join(workspace, 'file')])).status, 3);
});
