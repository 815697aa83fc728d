import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { isFailure, type FailureCode } from '../../../src/base/failure.ts';
import { appendText, exists, isDirectory, isFile, makeDirectory, readBytes, readDirectory, readText, realPath, remove, withLock, writeFileAtomic } from '../../../src/base/files.ts';

const posix = process.platform !== 'win32';
const filesModule = new URL('../../../src/base/files.ts', import.meta.url).href;

function directory(context: TestContext): string {
  const made = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-files-')));
  context.after(() => { rmSync(made, { recursive: true, force: true }); });
  return made;
}

const fails = (code: FailureCode, words: RegExp) => (error: unknown): boolean => {
  assert.ok(isFailure(error), String(error));
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

test('readText() reads UTF-8, drops a byte order mark on request only', (context) => {
  const file = path.join(directory(context), 'x');
  writeFileSync(file, '\ufeffä€\ufffd');
  assert.equal(readText(file, 100), 'ä€\ufffd');
  assert.equal(readText(file, 100, { keepBom: true }), '\ufeffä€\ufffd');
  writeFileSync(file, '');
  assert.equal(readText(file, 0), '');
});

test('readText() gives undefined for what is not there', (context) => {
  const root = directory(context);
  writeFileSync(path.join(root, 'file'), '');
  assert.equal(readText(path.join(root, 'none'), 10), undefined);
  assert.equal(readText(path.join(root, 'file', 'below'), 10), undefined);
  assert.equal(readBytes(path.join(root, 'none'), 10), undefined);
});

test('readText() refuses more than the limit, what is no regular file, and what is not UTF-8', (context) => {
  const root = directory(context);
  const file = path.join(root, 'x');
  writeFileSync(file, 'x'.repeat(11));
  assert.throws(() => readText(file, 10), fails('CONFIG_UNREADABLE', /^Cannot read ".*x": it is larger than 10 B$/));
  assert.equal(readText(file, 11)?.length, 11);
  assert.throws(() => readText(root, 10), fails('CONFIG_UNREADABLE', /not a regular file|directory|permi/));
  writeFileSync(file, Buffer.from([0x61, 0xff, 0x62]));
  assert.throws(() => readText(file, 10), fails('CONFIG_UNREADABLE', /not UTF-8/));
  assert.equal(readBytes(file, 10)?.length, 3);
});

test('readText() does not wait for the writer of a pipe, nor trust the size of a /proc file', { skip: process.platform !== 'linux' }, (context) => {
  const pipe = path.join(directory(context), 'pipe');
  execFileSync('mkfifo', [pipe]);
  assert.throws(() => readText(pipe, 10), fails('CONFIG_UNREADABLE', /not a regular file/));
  assert.match(readText('/proc/self/status', 1 << 20) ?? '', /^Name:/);
  assert.throws(() => readText('/proc/self/status', 10), fails('CONFIG_UNREADABLE', /larger than/));
  assert.throws(() => readText('/dev/null', 10), fails('CONFIG_UNREADABLE', /not a regular file/));
});

test('readText() says why the system refuses', { skip: !posix || process.getuid?.() === 0 }, (context) => {
  const file = path.join(directory(context), 'x');
  writeFileSync(file, 'x');
  chmodSync(file, 0);
  assert.throws(() => readText(file, 10), fails('CONFIG_UNREADABLE', /permission denied \(EACCES\)/));
});

test('readText() names a loop of links', { skip: !posix }, (context) => {
  const root = directory(context);
  symlinkSync(path.join(root, 'b'), path.join(root, 'a'));
  symlinkSync(path.join(root, 'a'), path.join(root, 'b'));
  assert.throws(() => readText(path.join(root, 'a'), 10), fails('CONFIG_UNREADABLE', /too many symbolic links \(ELOOP\)/));
  assert.equal(isFile(path.join(root, 'a')), false);
  assert.equal(realPath(path.join(root, 'a')), undefined);
});

test('exists(), isFile(), isDirectory(), realPath() look without failing', (context) => {
  const root = directory(context);
  const file = path.join(root, 'f');
  writeFileSync(file, '');
  assert.deepEqual([exists(file), isFile(file), isDirectory(file), realPath(file)], [true, true, false, file]);
  assert.deepEqual([exists(root), isFile(root), isDirectory(root)], [true, false, true]);
  const none = path.join(root, 'none');
  assert.deepEqual([exists(none), isFile(none), isDirectory(none), realPath(none)], [false, false, false, undefined]);
});

test('readDirectory(), makeDirectory(), remove() do and say', (context) => {
  const root = directory(context);
  const deep = path.join(root, 'a', 'b');
  makeDirectory(deep);
  makeDirectory(deep);
  if (posix) assert.equal(statSync(deep).mode & 0o777, 0o700);
  writeFileSync(path.join(root, 'z'), '');
  assert.deepEqual(readDirectory(root), ['a', 'z']);
  assert.deepEqual(readDirectory(path.join(root, 'none')), []);
  assert.throws(() => readDirectory(path.join(root, 'z')), fails('CONFIG_UNREADABLE', /^Cannot list /));
  assert.throws(() => makeDirectory(path.join(root, 'z', 'x')), fails('CONFIG_UNREADABLE', /^Cannot create /));
  remove(path.join(root, 'a'));
  remove(path.join(root, 'a'));
  assert.deepEqual(readDirectory(root), ['z']);
  assert.throws(() => remove(path.join(root, 'z', 'x\0')), fails('CONFIG_UNREADABLE', /^Cannot remove /));
});

test('appendText() adds to the end and keeps a new file private', async (context) => {
  const file = path.join(directory(context), 'log');
  await appendText(file, 'a\n');
  await appendText(file, 'b\n');
  assert.equal(readFileSync(file, 'utf8'), 'a\nb\n');
  if (posix) assert.equal(statSync(file).mode & 0o777, 0o600);
  await assert.rejects(appendText(path.join(file, 'x'), ''), fails('CONFIG_UNREADABLE', /^Cannot write /));
});

test('writeFileAtomic() is private when new, keeps the mode when not, obeys when told', async (context) => {
  const file = path.join(directory(context), 'x');
  const mode = (): number => statSync(file).mode & 0o777;
  await writeFileAtomic(file, 'a');
  if (posix) assert.equal(mode(), 0o600);
  chmodSync(file, 0o640);
  await writeFileAtomic(file, Buffer.from('b'));
  if (posix) assert.equal(mode(), 0o640);
  await writeFileAtomic(file, 'c', { mode: 0o600 });
  if (posix) assert.equal(mode(), 0o600);
  await writeFileAtomic(`${file}2`, 'd', { newMode: 0o644 });
  if (posix) assert.equal(statSync(`${file}2`).mode & 0o777, 0o644);
  assert.equal(readFileSync(file, 'utf8'), 'c');
});

test('writeFileAtomic() replaces the target of a link, also one that does not exist yet', { skip: !posix }, async (context) => {
  const root = directory(context);
  mkdirSync(path.join(root, 'real'));
  symlinkSync('real/file', path.join(root, 'link'));
  symlinkSync('link', path.join(root, 'second'));
  for (const text of ['one', 'two']) {
    await writeFileAtomic(path.join(root, 'second'), text);
    assert.ok(lstatSync(path.join(root, 'second')).isSymbolicLink() && lstatSync(path.join(root, 'link')).isSymbolicLink());
    assert.equal(readFileSync(path.join(root, 'real', 'file'), 'utf8'), text);
  }
  assert.deepEqual(readdirSync(path.join(root, 'real')), ['file']);
});

test('writeFileAtomic() leaves a file to its owner when an administrator edits it', { skip: process.getuid?.() !== 0 }, async (context) => {
  const file = path.join(directory(context), 'x');
  writeFileSync(file, 'a');
  chownSync(file, 12_345, 12_345);
  await writeFileAtomic(file, 'b');
  assert.deepEqual([statSync(file).uid, statSync(file).gid, readFileSync(file, 'utf8')], [12_345, 12_345, 'b']);
});

test('writeFileAtomic() leaves nothing behind when it fails', async (context) => {
  const root = directory(context);
  mkdirSync(path.join(root, 'taken', 'x'), { recursive: true });
  await assert.rejects(writeFileAtomic(path.join(root, 'taken'), 'a'), fails('CONFIG_UNREADABLE', /^Cannot write ".*taken": /));
  await assert.rejects(writeFileAtomic(path.join(root, 'none', 'x'), 'a'), fails('CONFIG_UNREADABLE', /no such file or directory \(ENOENT\)/));
  assert.deepEqual(readdirSync(root), ['taken']);
});

test('writeFileAtomic() shows the old text or the new one, also to a kill in the middle (row 6)', async (context) => {
  const root = directory(context);
  const file = path.join(root, 'x.json');
  writeFileSync(file, JSON.stringify({ text: 'a'.repeat(200_000) }));
  const script = `import { writeFileAtomic } from ${JSON.stringify(filesModule)};
    console.log('ready');
    for (let n = 0; ; n++) await writeFileAtomic(${JSON.stringify(file)}, JSON.stringify({ text: String(n % 10).repeat(200_000) }));`;
  for (let round = 0; round < 2; round++) {
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'], cwd: path.resolve(import.meta.dirname ?? '.') });
    const ended = new Promise((resolve) => { child.once('exit', resolve); });
    await new Promise((resolve) => { child.stdout.once('data', resolve); });
    for (let look = 0; look < 20; look++) assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { text: string }).text.length, 200_000);
    child.kill('SIGKILL');
    await ended;
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { text: string }).text.length, 200_000);
  }
});

// --- withLock --------------------------------------------------------------------------------------------------------

test('withLock() lets one in at a time, passes results and failures on, and leaves nothing behind', async (context) => {
  const root = directory(context);
  const lock = path.join(root, 'x.lock');
  let inside = 0, most = 0;
  const results = await Promise.all(Array.from({ length: 8 }, (_, index) => withLock(lock, async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => { setImmediate(resolve); });
    inside -= 1;
    return index;
  }, { waitMs: 10_000 })));
  assert.deepEqual(results, [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(most, 1);
  await assert.rejects(withLock(lock, () => { throw new TypeError('mine'); }, { waitMs: 100 }), TypeError);
  assert.deepEqual(readdirSync(root), []);
});

test('withLock() gives up after its time and names the holder; canceling ends the wait', async (context) => {
  const root = directory(context);
  const lock = path.join(root, 'x.lock');
  await withLock(lock, async () => {
    await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), (error: unknown) => fails('TIMEOUT', new RegExp(`^Cannot lock ".*x\\.lock": process ${process.pid} holds it$`))(error) && (error as { recovery: string }).recovery === 'retryable');
    const controller = new AbortController();
    const waiting = withLock(lock, () => {}, { waitMs: 10_000, signal: controller.signal });
    controller.abort();
    await assert.rejects(waiting, fails('CANCELED', /canceled/));
  }, { waitMs: 100 });
  assert.deepEqual(readdirSync(root), []);
});

test('withLock() says when something else stands in the way, or the directory is missing', async (context) => {
  const root = directory(context);
  const lock = path.join(root, 'x.lock');
  writeFileSync(lock, '');
  await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /something else is there/));
  await assert.rejects(withLock(path.join(root, 'none', 'x.lock'), () => {}, { waitMs: 60 }), fails('CONFIG_UNREADABLE', /^Cannot lock .*ENOENT/));
  assert.deepEqual(readdirSync(root), ['x.lock']);
});

test('withLock() survives that its directory is removed by hand', async (context) => {
  const lock = path.join(directory(context), 'x.lock');
  assert.equal(await withLock(lock, () => { rmSync(lock, { recursive: true }); return 1; }, { waitMs: 100 }), 1);
});

function holderProcess(context: TestContext, lock: string): { readonly held: Promise<void>; kill(): Promise<void> } {
  const script = `import { withLock } from ${JSON.stringify(filesModule)};
    await withLock(${JSON.stringify(lock)}, () => new Promise(() => { console.log('held'); setInterval(() => {}, 1000); }), { waitMs: 20000 });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => { child.once('exit', () => { resolve(); }); });
  context.after(() => child.kill('SIGKILL'));
  return { held: new Promise((resolve) => { child.stdout.once('data', () => { resolve(); }); }), kill: () => { child.kill('SIGKILL'); return ended; } };
}

test('withLock() succeeds a holder that was killed, one successor at a time, twice over', async (context) => {
  const root = directory(context);
  const lock = path.join(root, 'x.lock');
  const first = holderProcess(context, lock);
  await first.held;
  await assert.rejects(withLock(lock, () => {}, { waitMs: 100 }), fails('TIMEOUT', /holds it/));
  const second = holderProcess(context, lock);
  await first.kill();
  await second.held;
  await assert.rejects(withLock(lock, () => {}, { waitMs: 100 }), fails('TIMEOUT', /holds it/));
  await second.kill();
  let inside = 0;
  await Promise.all(Array.from({ length: 5 }, () => withLock(lock, async () => {
    assert.equal(inside += 1, 1);
    await new Promise((resolve) => { setImmediate(resolve); });
    inside -= 1;
  }, { waitMs: 5_000 })));
  assert.deepEqual(readdirSync(root), []);
});

test('withLock() does not take a reused pid for the holder', { skip: process.platform !== 'linux' }, async (context) => {
  const lock = path.join(directory(context), 'x.lock');
  const forge = async (changes: object): Promise<void> => {
    let owner: object = {};
    await withLock(lock, () => { owner = JSON.parse(readFileSync(path.join(lock, 'owner'), 'utf8')) as object; }, { waitMs: 100 });
    mkdirSync(lock);
    writeFileSync(path.join(lock, 'owner'), JSON.stringify({ ...owner, mark: 'old', ...changes }));
  };
  await forge({ started: '1' });
  assert.equal(await withLock(lock, () => 'in', { waitMs: 1_000 }), 'in');
  await forge({});
  await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /holds it/));
  rmSync(lock, { recursive: true });
});

test('withLock() believes a holder whose start time is unknown as long as its process exists', async (context) => {
  const root = directory(context);
  const lock = path.join(root, 'x.lock');
  const forge = (changes: object): void => {
    rmSync(lock, { recursive: true, force: true });
    mkdirSync(lock);
    writeFileSync(path.join(lock, 'owner'), JSON.stringify({ mark: 'old', ...changes }));
  };
  let machine: unknown;
  await withLock(lock, () => { machine = (JSON.parse(readFileSync(path.join(lock, 'owner'), 'utf8')) as { machine: unknown }).machine; }, { waitMs: 100 });
  for (const pid of [process.pid, process.ppid]) {
    forge({ pid, machine });
    await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /holds it/));
  }
  forge({ pid: process.pid });
  await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /holds it/));
  forge({ pid: 'x' });
  await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /something else/));
});

test('withLock() beats while it holds, so that others can see that it lives', async (context) => {
  const lock = path.join(directory(context), 'x.lock');
  const beats: (() => void)[] = [];
  context.mock.method(globalThis, 'setInterval', (beat: () => void) => { beats.push(beat); return { unref() {} }; });
  await withLock(lock, async () => {
    const owner = path.join(lock, 'owner');
    utimesSync(owner, new Date(1e12), new Date(1e12));
    assert.equal(beats.length, 1);
    beats[0]!();
    while (statSync(owner).mtimeMs === 1e12) await new Promise((resolve) => { setImmediate(resolve); });
  }, { waitMs: 100 });
});

test('withLock() waits for a holder on another machine as long as it beats, and succeeds it when it is still', async (context) => {
  const lock = path.join(directory(context), 'x.lock');
  mkdirSync(lock);
  const owner = path.join(lock, 'owner');
  writeFileSync(owner, JSON.stringify({ mark: 'far', pid: 1, started: '1', machine: `${hostname()}-other` }));
  await assert.rejects(withLock(lock, () => {}, { waitMs: 60 }), fails('TIMEOUT', /process 1 holds it/));
  // The clock that counts is ours: time is moved, not waited for.
  let shift = 0;
  const real = performance.now.bind(performance);
  context.mock.method(performance, 'now', () => real() + shift);
  const waiting = withLock(lock, () => 'in', { waitMs: 120_000 });
  await new Promise((resolve) => setTimeout(resolve, 80));
  shift = 19_000;
  utimesSync(owner, new Date(1e12), new Date(1e12));
  await new Promise((resolve) => setTimeout(resolve, 80));
  shift = 25_000;
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.ok(existsSync(owner) && !readdirSync(lock).some((name) => name.startsWith('next-')));
  shift = 60_000;
  assert.equal(await waiting, 'in');
  assert.equal(existsSync(lock), false);
});
