/** Real children of every awkward kind, and every way out of the host: afterwards none of the pids may live. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after, describe, it, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { redactPatterns } from '../../src/base/redact.ts';
import { createProcessTrees, type ProcessTrees } from '../../src/transports/process-tree.ts';
import { createStdioTransport, type StdioTransport } from '../../src/transports/stdio.ts';
import { connectPeer, failureOf, type Peer } from '../support/peer.ts';
import { definedEnvironment, everything, isAlive, processFiles, waitFor, waitUntilGone } from '../support/process.ts';

const posix = process.platform !== 'win32';
const trees = createProcessTrees({ environment: process.env });
after(() => trees.close());

type Files = ReturnType<typeof processFiles>;
async function start(t: TestContext, flags: readonly string[], helpers = 0, of: ProcessTrees = trees): Promise<{ readonly files: Files; readonly peer: Peer; readonly transport: StdioTransport }> {
  const files = processFiles(t);
  const transport = createStdioTransport({ name: 'fx', command: process.execPath, args: [everything, `--pids=${files.pidsFile}`, `--mark=${files.markFile}`, ...flags], cwd: process.cwd(), environment: definedEnvironment(), redact: redactPatterns, trees: of });
  const peer = await connectPeer(transport);
  t.after(() => peer.connection.close());
  await peer.initialize();
  await waitFor(() => files.pids().length === 1 + helpers, 'all processes of the tree');
  assert.ok(files.pids().every(isAlive));
  return { files, peer, transport };
}

describe('close() leaves nothing alive', { skip: !posix, concurrency: 3 }, () => {
  const shapes: readonly { readonly title: string; readonly flags: readonly string[]; readonly helpers: number; readonly atMostMs: number }[] = [
    { title: 'a polite server', flags: [], helpers: 0, atMostMs: 700 },
    { title: 'a polite server that leaves helpers of all kinds', flags: ['--helpers=plain,setsid,double-fork,bare'], helpers: 4, atMostMs: 900 },
    { title: 'a server behind a wrapper with a helper (row 89)', flags: ['--wrapper', '--ignores-eof', '--helpers=plain'], helpers: 2, atMostMs: 1500 },
    { title: 'a server that closes late', flags: ['--leaves-after=150'], helpers: 0, atMostMs: 900 },
    { title: 'a server that ignores the end of its stdin', flags: ['--ignores-eof'], helpers: 0, atMostMs: 900 },
    { title: 'a server that ignores INT and TERM too (row 90)', flags: ['--ignores-eof', '--ignores-signals'], helpers: 0, atMostMs: 1500 },
    { title: 'stubborn everything', flags: ['--wrapper', '--ignores-eof', '--ignores-signals', '--helpers=stubborn,stubborn-setsid,double-fork,bare'], helpers: 5, atMostMs: 1600 },
  ];
  for (const { title, flags, helpers, atMostMs } of shapes) {
    it(`of ${title}`, async (t) => {
      const { files, peer } = await start(t, flags, helpers);
      const startedAt = performance.now();
      const report = await peer.connection.close();
      const took = performance.now() - startedAt;
      t.diagnostic(`${Math.round(took)} ms, ${report.forced.join(', ') || 'nothing forced'}`);
      assert.deepEqual(files.pids().filter(isAlive), []);
      assert.ok(took < atMostMs, `${took} ms`);
    });
  }

  it('and a polite server sees the end of its stdin first and exits with 0 (row 91)', async (t) => {
    const { files, peer, transport } = await start(t, ['--leaves-after=150']);
    assert.deepEqual(await peer.connection.close(), { forced: [] });
    assert.deepEqual(files.marks(), ['stdin-end']);
    assert.deepEqual(transport.exit(), { code: 0, signal: null });
  });

  it('and interrupts before it terminates', async (t) => {
    const { files, peer } = await start(t, ['--ignores-eof', '--ignores-signals']);
    const { forced } = await peer.connection.close();
    assert.deepEqual(forced, ['SIGINT to 1 process', 'SIGTERM to 1 process', 'SIGKILL to 1 process']);
    assert.deepEqual(files.marks(), ['stdin-end', 'ignored SIGINT', 'ignored SIGTERM']);
  });
});

test('what a server leaves when it exits by itself is ended too', { skip: !posix }, async (t) => {
  const { files, peer } = await start(t, ['--helpers=plain,setsid,double-fork'], 3);
  assert.equal((await failureOf(peer.call('crash'))).code, 'SERVER_EXITED');
  await waitUntilGone(files.pids());
});

test('two servers of one host are told apart: ending one leaves the other and its helpers', { skip: !posix }, async (t) => {
  const first = await start(t, ['--helpers=double-fork'], 1);
  const second = await start(t, ['--helpers=double-fork'], 1);
  await first.peer.connection.close();
  assert.deepEqual(first.files.pids().filter(isAlive), []);
  assert.ok(second.files.pids().every(isAlive));
  assert.equal(await second.peer.call('echo'), '{}');
});

test('close() of the trees ends what still runs, and the watchdog with it', { skip: !posix }, async (t) => {
  const own = createProcessTrees({ environment: process.env });
  const { files } = await start(t, ['--helpers=setsid'], 1, own);
  const watchdog = await waitFor(() => own.watchdogPid, 'the watchdog');
  assert.ok(isAlive(watchdog));
  await own.close();
  assert.deepEqual(files.pids().filter(isAlive), []);
  assert.equal(own.size, 0);
  await waitUntilGone([watchdog]);
});

test('close() of the trees refuses what comes later and ends what was just being started', { skip: !posix }, async () => {
  const own = createProcessTrees();
  const request = { command: 'sleep', args: ['60'], cwd: '/', environment: definedEnvironment() };
  const late = failureOf(own.start(request));
  await own.close();
  assert.equal((await late).code, 'CONNECTION_CLOSED');
  assert.equal((await failureOf(own.start(request))).code, 'CONNECTION_CLOSED');
  assert.equal(own.size, 0);
});

test('a watchdog that was ended is started again with the next server', { skip: !posix }, async (t) => {
  const own = createProcessTrees({ environment: process.env });
  t.after(() => own.close());
  await start(t, [], 0, own);
  const first = await waitFor(() => own.watchdogPid, 'the watchdog');
  process.kill(first, 'SIGKILL');
  await waitFor(() => own.watchdogPid === undefined, 'the end to be noticed');
  await start(t, [], 0, own);
  assert.notEqual(await waitFor(() => own.watchdogPid, 'another watchdog'), first);
});

// ---- every way out of the host

interface DoomedHost { readonly child: ChildProcess; readonly files: Files; readonly watchdog: number; readonly server: number }

async function startHost(t: TestContext, ending: string, flags: readonly string[] = [], helpers = 0): Promise<DoomedHost> {
  const files = processFiles(t);
  const script = fileURLToPath(new URL('../support/doomed-host.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, ending, `--pids=${files.pidsFile}`, `--mark=${files.markFile}`, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => { child.kill('SIGKILL'); });
  child.stderr.resume();
  const [line] = await once(child.stdout, 'data') as [Buffer];
  const { watchdog, server } = JSON.parse(String(line)) as { watchdog: number; server: number };
  await waitFor(() => files.pids().length >= 1 + helpers, 'all processes of the tree');
  return { child, files, watchdog, server };
}

describe('the end of the host leaves nothing alive', { skip: !posix, concurrency: 2 }, () => {
  const everyKind = ['--ignores-eof', '--ignores-signals', '--helpers=stubborn,stubborn-setsid,double-fork'];

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`after ${signal}, and a polite server sees the end of its stdin first (row 91)`, async (t) => {
      const { child, files, watchdog } = await startHost(t, 'graceful', ['--leaves-after=100', '--helpers=setsid'], 1);
      child.kill(signal);
      const [code] = await once(child, 'exit') as [number];
      assert.equal(code, 130);
      assert.deepEqual(files.marks(), ['stdin-end']);
      assert.deepEqual(files.pids().filter(isAlive), []);
      await waitUntilGone([watchdog]);
    });
  }

  it('after an uncaught exception, and a polite server sees the end of its stdin first (row 91)', async (t) => {
    const { child, files, watchdog } = await startHost(t, 'throw', ['--leaves-after=100', '--helpers=setsid'], 1);
    const [code] = await once(child, 'exit') as [number];
    assert.notEqual(code, 0);
    assert.deepEqual(files.marks(), ['stdin-end']);
    assert.deepEqual(files.pids().filter(isAlive), []);
    await waitUntilGone([watchdog]);
  });

  it('after an uncaught exception with a stubborn tree', async (t) => {
    const { child, files } = await startHost(t, 'throw', everyKind, 3);
    await once(child, 'exit');
    assert.deepEqual(files.pids().filter(isAlive), []);
  });

  it('after SIGKILL with a stubborn tree, and the output of the host is not held open', async (t) => {
    const { child, files, watchdog } = await startHost(t, 'wait', everyKind, 3);
    assert.ok(isAlive(watchdog));
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const exitedAt = performance.now();
    await closed;
    assert.ok(performance.now() - exitedAt < 200);
    assert.ok(files.pids().some(isAlive));
    await waitUntilGone(files.pids(), 3000);
    t.diagnostic(`gone ${Math.round(performance.now() - exitedAt)} ms after the host`);
    await waitUntilGone([watchdog]);
  });

  it('after SIGKILL, and a polite server leaves by itself', async (t) => {
    const { child, files, watchdog } = await startHost(t, 'wait', ['--leaves-after=50']);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await waitUntilGone([...files.pids(), watchdog]);
    assert.deepEqual(files.marks(), ['stdin-end']);
  });

  it('after process.exit() without a close', async (t) => {
    const { child, files, watchdog } = await startHost(t, 'forget', ['--ignores-eof', '--helpers=setsid'], 1);
    await once(child, 'exit');
    await waitUntilGone([...files.pids(), watchdog], 2500);
  });

  it('after its ordinary end, at once, and the watchdog neither keeps it nor stays', async (t) => {
    const { child, files, watchdog } = await startHost(t, 'end');
    const [code] = await once(child, 'exit') as [number];
    assert.equal(code, 0);
    await waitUntilGone([...files.pids(), watchdog], 1000);
  });
});
