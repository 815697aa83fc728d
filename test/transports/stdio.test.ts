import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { createRedactor, redactPatterns } from '../../src/base/redact.ts';
import { isFile } from '../../src/base/files.ts';
import { childEnvironment } from '../../src/transports/child-environment.ts';
import { createProcessTrees } from '../../src/transports/process-tree.ts';
import { createStdioTransport, type StdioOptions, type StdioTransport } from '../../src/transports/stdio.ts';
import { connectPeer, failureOf, type Peer } from '../support/peer.ts';
import { definedEnvironment, everything, isAlive, processFiles, tempDir, waitFor, waitUntilGone } from '../support/process.ts';
import { transportContract } from './contract.ts';

const trees = createProcessTrees({ environment: process.env });
after(() => trees.close());

function stdio(flags: readonly string[] = [], options: Partial<StdioOptions> = {}): StdioTransport {
  return createStdioTransport({ name: 'fx', command: process.execPath, args: [everything, ...flags], cwd: process.cwd(), environment: definedEnvironment(), redact: redactPatterns, trees, ...options });
}
async function connected(t: TestContext, flags: readonly string[] = [], options: Partial<StdioOptions> = {}): Promise<Peer & { readonly transport: StdioTransport }> {
  const transport = stdio(flags, options);
  const peer = await connectPeer(transport);
  t.after(() => peer.connection.close());
  return { ...peer, transport };
}

transportContract({ name: 'stdio', start: () => stdio() });

// ---- starting

test('createStdioTransport() tells a missing command from a missing directory and a missing permission', async (t) => {
  const directory = tempDir(t);
  const plain = path.join(directory, 'plain.txt'), orphan = path.join(directory, 'orphan');
  writeFileSync(plain, 'no program');
  writeFileSync(orphan, '#!/no/such/interpreter\n');
  chmodSync(orphan, 0o755);
  const cases: readonly [Partial<StdioOptions>, RegExp, RegExp][] = [
    [{ command: 'no-such-program-xyz' }, /no program of that name is on the PATH/, /full path/],
    [{ command: '/no/such/program' }, /there is no such file/, /Correct the path/],
    [{ cwd: path.join(directory, 'missing') }, /working directory ".*missing" is missing/, /"cwd"/],
    [{ cwd: plain }, /working directory/, /"cwd"/],
    [{ command: plain }, /may not be executed/, /chmod \+x/],
    [{ command: orphan }, /interpreter named in its first line/, /interpreter/],
    [{ command: '' }, /must|empty|invalid/i, /terminal/],
    [{ args: ['nul\0byte'] }, /null bytes/, /terminal/],
    [{ args: ['x'.repeat(8 << 20)] }, /too long/, /file/],
  ];
  for (const [options, why, remedy] of cases) {
    const failure = await failureOf(connectPeer(stdio([], options)));
    assert.equal(failure.code, 'SPAWN_FAILED', why.source);
    assert.equal(failure.stage, 'spawn');
    assert.match(failure.message, why);
    assert.match(failure.hint!, remedy);
  }
  assert.equal(trees.size, 0);
});

test('createStdioTransport() does not start what is canceled, and not twice', async () => {
  assert.equal((await failureOf(stdio().open({ message() {}, notice() {}, closed() {} }, AbortSignal.abort()))).code, 'CANCELED');
  const failure = await failureOf(connectPeer(stdio([], { command: 'no-such-program-xyz' })));
  const wanted = stdio();
  assert.equal(await failureOf(wanted.open({ message() {}, notice() {}, closed() {} }, AbortSignal.abort(failure))), failure);
  await assert.rejects(wanted.open({ message() {}, notice() {}, closed() {} }, new AbortController().signal), TypeError);
  const controller = new AbortController();
  const late = stdio().open({ message() {}, notice() {}, closed() {} }, controller.signal);
  controller.abort();
  assert.equal((await failureOf(late)).code, 'CANCELED');
  const closing = stdio();
  const opened = closing.open({ message() {}, notice() {}, closed() {} }, new AbortController().signal);
  await closing.close();
  assert.equal((await failureOf(opened)).code, 'CONNECTION_CLOSED');
  await waitFor(() => trees.size === 0, 'no tree to be left');
});

test('createStdioTransport() runs the server in its directory with its environment', async (t) => {
  const directory = tempDir(t);
  mkdirSync(path.join(directory, 'deep'));
  const peer = await connected(t, [], { cwd: path.join(directory, 'deep'), environment: { ...definedEnvironment(), ENTRY: 'value' } });
  await peer.initialize();
  assert.deepEqual(JSON.parse(await peer.call('where')), { pid: peer.transport.pid, cwd: path.join(directory, 'deep') });
  const environment = JSON.parse(await peer.call('environment')) as Record<string, string>;
  assert.equal(environment['ENTRY'], 'value');
  assert.match(environment['ZUNO_TREE']!, /^[0-9a-z]+\.\d+\.$/);
});

test('a server sees what childEnvironment() leaves: no secret of the host, PATH, and the entry wins (row 92)', async (t) => {
  const host = { ...definedEnvironment(), ZUNO_SERVER_PASSWORD: 'secret', OTEL_EXPORTER_OTLP_HEADERS: 'secret', NODE_ENV: 'production', HTTPS_PROXY: 'http://127.0.0.1:9', LEVEL: 'host' };
  const peer = await connected(t, [], { environment: childEnvironment({ environment: host, entryEnvironment: { LEVEL: 'entry' }, platform: process.platform, execPath: process.execPath, isFile }) });
  const environment = JSON.parse(await peer.call('environment')) as Record<string, string>;
  for (const name of ['ZUNO_SERVER_PASSWORD', 'OTEL_EXPORTER_OTLP_HEADERS', 'NODE_ENV']) assert.equal(environment[name], undefined);
  assert.equal(environment['HTTPS_PROXY'], 'http://127.0.0.1:9');
  assert.equal(environment['LEVEL'], 'entry');
  assert.ok(environment['PATH']);
});

test('createStdioTransport() adds its marker behind that of an outer host', async (t) => {
  const peer = await connected(t, [], { environment: { ...definedEnvironment(), ZUNO_TREE: 'outer.1.' } });
  assert.match((JSON.parse(await peer.call('environment')) as Record<string, string>)['ZUNO_TREE']!, /^outer\.1\.,[0-9a-z]+\.\d+\.$/);
});

// ---- the end, as the server makes it

test('an exit before any message is a failed start with code and stderr tail', async (t) => {
  const peer = await connected(t, ['--exits-at-once=7']);
  const failure = await failureOf(peer.initialize());
  const reason = await peer.connection.closed;
  assert.ok(failure.code === 'SERVER_EXITED' && reason.code === 'SERVER_EXITED');
  assert.equal(reason.stage, 'spawn');
  assert.deepEqual(reason.details, { exitCode: 7, signal: null, stderrTail: 'FATAL: DATABASE_URL is not set' });
  assert.match(reason.message, /server "fx".* code 7 before it sent any message/);
  assert.deepEqual(peer.transport.exit(), { code: 7, signal: null });
});

test('a crash in a call reaches every waiter at once with code and stderr tail (row 81)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  const startedAt = performance.now();
  const failures = await Promise.all([failureOf(peer.call('hang')), failureOf(peer.call('hang')), failureOf(peer.call('crash', { code: 9 }))]);
  assert.ok(performance.now() - startedAt < 1000);
  for (const failure of failures) {
    assert.ok(failure.code === 'SERVER_EXITED');
    assert.equal(failure.details.exitCode, 9);
    assert.match(failure.details.stderrTail, /disk on fire/);
    assert.equal(failure.recovery, 'retryable');
  }
});

test('a server ended by a signal is reported with the signal (row 81)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  process.kill(peer.transport.pid!, 'SIGKILL');
  const reason = await peer.connection.closed;
  assert.ok(reason.code === 'SERVER_EXITED');
  assert.equal(reason.details.signal, 'SIGKILL');
  assert.match(reason.message, /ended by SIGKILL/);
});

test('a reply written just before the exit arrives, without a line end too', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  assert.equal(await peer.call('reply_and_exit'), 'last words');
  assert.equal((await peer.connection.closed).code, 'SERVER_EXITED');
});

test('half a reply before the exit is an exit, not a message', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  assert.equal((await failureOf(peer.call('crash_half'))).code, 'SERVER_EXITED');
});

test('an exit is told although a survivor holds the pipes, and the survivor is ended', async (t) => {
  const files = processFiles(t);
  const peer = await connected(t, [`--pids=${files.pidsFile}`, '--helpers=holds-pipes']);
  await peer.initialize();
  const startedAt = performance.now();
  assert.equal((await failureOf(peer.call('crash'))).code, 'SERVER_EXITED');
  assert.ok(performance.now() - startedAt < 1000);
  assert.deepEqual(files.kinds(), ['server', 'holds-pipes']);
  await waitUntilGone(files.pids());
});

test('a server that closes its output but lives is given up and ended', async (t) => {
  const files = processFiles(t);
  const peer = await connected(t, [`--pids=${files.pidsFile}`, '--ignores-eof', '--helpers=plain']);
  await peer.initialize();
  const failure = await failureOf(peer.call('close_output'));
  assert.equal(failure.code, 'CONNECTION_CLOSED');
  assert.match(failure.message, /closed its output but did not exit/);
  await waitUntilGone(files.pids(), 2000);
});

test('a server that no longer reads is given up when it is written to', async (t) => {
  const peer = await connected(t, [], { command: 'sh', args: ['-c', 'exec 0<&-; sleep 60'] });
  await waitFor(() => { peer.connection.notify('notifications/note'); return peer.connection.transport.send({ kind: 'notification', method: 'x', params: undefined, text: '{}' }) !== undefined; }, 'the broken pipe to be noticed');
  const reason = await peer.connection.closed;
  assert.equal(reason.code, 'CONNECTION_CLOSED');
  assert.match(reason.message, /no longer reads its input/);
});

// ---- framing and noise, as far as the transport carries them

test('messages split over chunks, joined in one chunk and with CRLF are all delivered (row 64)', async (t) => {
  const script = `
    const reply = (id, words) => JSON.stringify({ jsonrpc: '2.0', id, result: { words } });
    const [a, b, c] = [reply(1, 'é\\u2028漢🦊'), reply(2, 'two'), reply(3, 'three')];
    const bytes = Buffer.from(a + '\\r\\n' + b + '\\n' + c + '\\n');
    let at = 0;
    process.stdin.once('data', () => { const timer = setInterval(() => { process.stdout.write(bytes.subarray(at, at += 7)); if (at >= bytes.length) clearInterval(timer); }, 1); }).on('end', () => process.exit(0));`;
  const peer = await connected(t, [], { args: ['-e', script] });
  const answers = await Promise.all(['one', 'two', 'three'].map((method) => peer.request(method)));
  assert.deepEqual(answers, [{ words: 'é\u2028漢🦊' }, { words: 'two' }, { words: 'three' }]);
});

test('a reply of 63 MiB on one line is accepted (row 65)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  const bytes = 63 * 1024 * 1024;
  assert.equal((await peer.call('big', { bytes }, { timeoutMs: 30_000 })).length, bytes);
});

test('a line over 64 MiB fails all that is pending, names the sizes and ends the server (row 66)', async (t) => {
  const files = processFiles(t);
  const peer = await connected(t, [`--pids=${files.pidsFile}`]);
  await peer.initialize();
  const failures = await Promise.all([failureOf(peer.call('hang')), failureOf(peer.call('endless_line', { bytes: 66 * 1024 * 1024 }, { timeoutMs: 30_000 }))]);
  for (const failure of failures) {
    assert.equal(failure.code, 'LIMIT_EXCEEDED');
    assert.match(failure.message, /67108864 bytes/);
  }
  await waitUntilGone(files.pids());
});

test('31 lines of noise before the first reply are survived (row 69)', async (t) => {
  const peer = await connected(t, ['--noise-before=31']);
  assert.equal((await peer.initialize())['protocolVersion'], '2025-11-25');
  assert.equal(peer.transport.noiseBeforeFirst!(), 0);
});

for (const flags of [['--junk-at-start=32'], ['--junk-at-start=32', '--blank-noise']]) {
  test(`32 undecodable lines fail at once: ${flags.join(' ')} (row 70)`, async (t) => {
    const peer = await connected(t, flags);
    const failure = await failureOf(peer.initialize());
    assert.ok(failure.code === 'PROTOCOL_VIOLATION');
    assert.equal(failure.details.noiseLines, 32);
    assert.match(failure.message, /first 32 lines/);
  });
}

test('noise before the first message is counted for whoever times out', async (t) => {
  const peer = await connected(t, ['--junk-at-start=3', '--silent-on-probe']);
  const failure = await failureOf(peer.request('server/discover', {}, { timeoutMs: 300 }));
  assert.ok(failure.code === 'TIMEOUT');
  assert.equal(failure.details.noiseLines, 3);
});

test('5,000 lines of noise after the first message do not disconnect, and notices are few (row 71, row 72)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  assert.equal(await peer.call('junk', { lines: 5000 }), 'done');
  assert.ok(peer.notices.filter((notice) => notice.kind === 'noise').length <= 32 + 5);
});

test('a flood of blank lines costs few notices (row 73)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  const [text, other] = await Promise.all([peer.call('blank_flood', { ms: 200 }), peer.call('echo', { n: 1 })]);
  assert.deepEqual([text, other], ['done', '{"n":1}']);
  assert.ok(peer.notices.filter((notice) => notice.kind === 'noise').every((notice) => notice.kind === 'noise' && notice.total % 1024 === 0));
});

// ---- stderr

test('a server that floods stderr first still connects, and what is kept is bounded', async (t) => {
  const peer = await connected(t, ['--stderr-flood']);
  await peer.initialize();
  assert.ok(peer.transport.stderrTail().length <= 64 * 1024);
});

test('a 100 KiB stderr line is told as 8 KiB, and the server stays (row 67)', async (t) => {
  const peer = await connected(t);
  await peer.initialize();
  assert.equal(await peer.call('stderr', { bytes: 100 * 1024 }), 'done');
  const line = await waitFor(() => peer.notices.find((notice) => notice.kind === 'stderr'), 'the stderr line');
  assert.ok(line.kind === 'stderr' && line.line.length === 8 * 1024);
  assert.equal(await peer.call('echo'), '{}');
});

test('secrets on stderr are told and kept redacted (row 68)', async (t) => {
  const { redact } = createRedactor(['hunter2secret']);
  const peer = await connected(t, ['--stderr-secrets'], { redact });
  await peer.initialize();
  await waitFor(() => peer.notices.some((notice) => notice.kind === 'stderr'), 'the stderr line');
  const shown = JSON.stringify(peer.notices) + peer.transport.stderrTail();
  for (const secret of ['abcdef0123456789', 'hunter2secret', 's3cr3t']) assert.ok(!shown.includes(secret), secret);
  assert.match(shown, /example\.org/);
});

// ---- writing

test('all messages of one tick leave in one write', async (t) => {
  const script = `let n = 0; process.stdin.on('data', (chunk) => { n += 1; const lines = String(chunk).trim().split('\\n'); for (const line of lines) { const m = JSON.parse(line); process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { chunk: n, of: lines.length } }) + '\\n'); } }).on('end', () => process.exit(0));`;
  const peer = await connected(t, [], { args: ['-e', script] });
  const answers = await Promise.all(Array.from({ length: 20 }, () => peer.request('x')));
  assert.deepEqual(answers, Array.from({ length: 20 }, () => ({ chunk: 1, of: 20 })));
});

test('send() returns a promise only while the pipe is full, and it settles when the server reads again', async (t) => {
  const script = `setTimeout(() => { let n = 0; process.stdin.on('data', (chunk) => { n += chunk.length; }).on('end', () => { process.stderr.write(String(n)); process.exitCode = 0; }); }, 150);`;
  const peer = await connected(t, [], { args: ['-e', script], patienceMs: 2000 });
  const note = (text: string): void | Promise<void> => peer.transport.send({ kind: 'notification', method: 'x', params: undefined, text });
  assert.equal(note('a'.repeat(1 << 20)), undefined);
  await new Promise((resolve) => process.nextTick(resolve));
  const waits = note('b'.repeat(1 << 20));
  assert.ok(waits instanceof Promise);
  assert.equal(note('c'), waits);
  await waits;
  assert.equal(note('d'), undefined);
  await peer.transport.close();
  assert.equal(peer.transport.stderrTail(), String(2 * (1 << 20) + 2 + 4));
});

test('a full pipe of a server that ends rejects what waits', async (t) => {
  const peer = await connected(t, [], { args: ['-e', 'setTimeout(() => process.exit(5), 150)'] });
  const note = (text: string): void | Promise<void> => peer.transport.send({ kind: 'notification', method: 'x', params: undefined, text });
  void note('a'.repeat(1 << 20));
  await new Promise((resolve) => process.nextTick(resolve));
  assert.equal((await failureOf(Promise.resolve(note('b')))).code, 'SERVER_EXITED');
});

// ---- ending it

test('close() lets a polite server leave on the end of its stdin and leaves nothing alive', async (t) => {
  const files = processFiles(t);
  const peer = await connected(t, [`--mark=${files.markFile}`, '--leaves-after=100']);
  await peer.initialize();
  const pid = peer.transport.pid!;
  assert.deepEqual(await peer.connection.close(), { forced: [] });
  assert.deepEqual(files.marks(), ['stdin-end']);
  assert.deepEqual(peer.transport.exit(), { code: 0, signal: null });
  assert.equal(isAlive(pid), false);
});

test('close() before open() has nothing to do', async () => {
  assert.deepEqual(await stdio().close(), { forced: [] });
});

test('an answer that nests 20,000 levels fails its request alone', async (t) => {
  const script = `
    const deep = '['.repeat(20000) + ']'.repeat(20000);
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + (method === 'ping' ? '{}' : '{"tools":' + deep + '}') + '}\\n');
    }).on('close', () => process.exit(0));`;
  const peer = await connected(t, [], { args: ['-e', script] });
  const [list, call, ping] = await Promise.all([failureOf(peer.request('tools/list')), failureOf(peer.request('tools/call', {}, { mutating: true })), peer.request('ping')]);
  assert.deepEqual([list.code, list.details], ['LIMIT_EXCEEDED', { limit: 'jsonDepth', maximum: 512 }]);
  assert.equal(call.code, 'OUTCOME_UNKNOWN');
  assert.deepEqual(ping, {});
});

// ---- a server that asks and asks

/** Asks as fast as it can. `reads`: `never` its input again, `late` after 300 ms, `always`. Says on stderr how many answers it has, or how much it wrote. */
const asking = (reads: 'never' | 'late' | 'always', total: number): string => `
  const total = ${total}, ask = (n) => '{"jsonrpc":"2.0","id":"p' + n + '","method":"ping"}\\n';
  let asked = 0, answers = 0, call, rest = '';
  const more = () => {
    for (;;) {
      if (asked >= total) return;
      let block = '';
      for (let k = 0; k < 500 && asked < total; k++) block += ask(asked++);
      if (!process.stdout.write(block)) { process.stdout.once('drain', more); return; }
    }
  };
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, method } = JSON.parse(line);
      if (method === undefined) answers += 1; else if (method === 'flood') { call = id; more(); }
    }
    if (call !== undefined && asked === 500 && ${JSON.stringify(reads)} !== 'always') process.stdin.pause();
    if (answers === total) process.stdout.write('{"jsonrpc":"2.0","id":' + call + ',"result":{"answers":' + answers + '}}\\n');
  }).on('end', () => process.exit(0));
  if (${JSON.stringify(reads)} === 'late') setTimeout(() => process.stdin.resume(), 300);
  if (${JSON.stringify(reads)} === 'never') setInterval(() => { process.stdin.pause(); process.stderr.write(asked + '\\n'); }, 100);`;

test('a server that asks without end and never reads is made to wait: nothing grows, its call times out, and it can be ended', async (t) => {
  const peer = await connected(t, [], { args: ['-e', asking('never', 1e9)] });
  global.gc?.();
  const before = process.memoryUsage().rss;
  const failure = await failureOf(peer.request('flood', undefined, { timeoutMs: 1_200, mutating: true }));
  assert.equal(failure.code, 'OUTCOME_UNKNOWN');
  const counts = (): number[] => peer.notices.flatMap((notice) => (notice.kind === 'stderr' ? [Number(notice.line)] : []));
  await waitFor(() => counts().length > 3 && counts().at(-1) === counts().at(-2), 'the server to be stuck');
  // An answer measures about 40 bytes: 1 MiB of them waits, as much was handed to the pipe.
  assert.ok(counts().at(-1)! < 150_000, `${counts().at(-1)} requests were read`);
  assert.ok(process.memoryUsage().rss - before < 96 * 1024 * 1024);
  const pid = peer.transport.pid!;
  await peer.connection.close();
  assert.equal(isAlive(pid), false);
});

for (const reads of ['always', 'late'] as const) {
  test(`a server that asks 60,000 times and reads its answers ${reads} gets them all, and the call goes on`, async (t) => {
    const peer = await connected(t, [], { args: ['-e', asking(reads, 60_000)] });
    assert.deepEqual(await peer.request('flood', undefined, { timeoutMs: 10_000 }), { answers: 60_000 });
  });
}
