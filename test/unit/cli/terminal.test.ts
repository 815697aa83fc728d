import assert from 'node:assert/strict';
import { PassThrough, Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { progressText } from '../../../src/cli/progress.ts';
import { red } from '../../../src/cli/span.ts';
import { createTerminal, processSystem } from '../../../src/cli/terminal.ts';
import { version } from '../../../src/base/version.ts';
import { readFileSync } from 'node:fs';

function sink(extra: object = {}): Writable & { text: string } {
  const stream = Object.assign(new Writable({ write(chunk, _encoding, done) { (this as unknown as { text: string }).text += String(chunk); done(); } }), { text: '', ...extra });
  return stream;
}
const system = (more: object = {}) => ({ stdout: sink(), stderr: sink(), stdin: Readable.from([]), environment: {}, cwd: '/', ...more });

test('print() strips what others put in and keeps only its own styles', () => {
  const out = sink({ isTTY: true, columns: 80 });
  createTerminal(system({ stdout: out })).print(red('a\u001b[2Jb'), '\u001b]8;;http://x\u0007c', red(''));
  assert.equal(out.text, '\u001b[31mab\u001b[39mc\n');
});

test('liveLines() replaces a whole block, cut to the columns and rows at hand, and gives way to other lines', () => {
  const err = sink({ isTTY: true, columns: 12, rows: 4 });
  const terminal = createTerminal(system({ stderr: err }));
  terminal.liveLines((width) => [[`${width} wide and long`], ['a\nb', red('\u001b[2Jred that is too long'), 'gone']]);
  assert.equal(err.text, '\r\u001b[2K11 wide an…\na b\u001b[31mred tha…\u001b[39m');
  err.text = '';
  terminal.liveLines(() => [['1'], ['2'], ['3'], ['4'], ['5']]);
  assert.equal(err.text, '\r\u001b[2K\u001b[1A\r\u001b[2K1\n2\n3');
  err.text = '';
  terminal.alert('x');
  assert.equal(err.text, '\r\u001b[2K\u001b[1A\r\u001b[2K\u001b[1A\r\u001b[2Kx\n');
  const pipe = sink();
  createTerminal(system({ stderr: pipe })).liveLines(() => [['x']]);
  assert.equal(pipe.text, '');
});

test('alert() and note() are broken between words on a terminal only', () => {
  const err = sink({ isTTY: true, columns: 24 }), pipe = sink();
  createTerminal(system({ stderr: err })).alert('a sentence that is longer than the line');
  assert.equal(err.text, 'a sentence that is\n  longer than the line\n');
  createTerminal(system({ stderr: pipe })).note('a sentence that is longer than the line');
  assert.equal(pipe.text, 'a sentence that is longer than the line\n');
});

test('table() in a pipe has a tab between all columns where that is wished for, and the terminal its aligned ones', () => {
  const rows = [['a', '', 'x  y']], columns = [{ title: 'A' }, { title: 'B' }, { title: 'C' }];
  const pipe = sink(), tty = sink({ isTTY: true, columns: 80 });
  createTerminal(system({ stdout: pipe })).table(columns, rows, { piped: 'tabs' });
  createTerminal(system({ stdout: tty }), { color: false }).table(columns, rows, { piped: 'tabs' });
  assert.deepEqual([pipe.text, tty.text], ['A\tB\tC\na\t\tx  y\n', 'A  C\na  x  y\n']);
});

test('note() is dropped by quiet, alert() is not', () => {
  const err = sink();
  const terminal = createTerminal(system({ stderr: err }), { quiet: true });
  terminal.note('remark');
  terminal.alert('error');
  assert.equal(err.text, 'error\n');
});

test('live() replaces itself, gives way to other lines, and is silent in a pipe', () => {
  const err = sink({ isTTY: true, columns: 10 });
  const terminal = createTerminal(system({ stderr: err }));
  terminal.live('working hard on it');
  terminal.live('日本語日本語');
  terminal.alert('x');
  terminal.live('');
  assert.equal(err.text, '\r\u001b[2Kworking …\r\u001b[2K日本語日…\r\u001b[2Kx\n');
  const pipe = sink();
  createTerminal(system({ stderr: pipe })).live('x');
  assert.equal(pipe.text, '');
});

test('readerGone aborts when stdout breaks; nothing is written after', async () => {
  const out = sink();
  const terminal = createTerminal(system({ stdout: out }));
  terminal.print('one');
  out.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(terminal.readerGone.aborted, true);
  terminal.print('two');
  assert.equal(out.text, 'one\n');
});

test('readInput() joins what is piped in, text or bytes', async () => {
  assert.equal(await createTerminal(system({ stdin: Readable.from(['ä', Buffer.from('b')]) })).readInput(), 'äb');
});

test('question() ends with undefined at the end of input and at an abort', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true }), stderr = sink({ isTTY: true });
  const terminal = createTerminal(system({ stdin, stderr }));
  assert.equal(terminal.interactive, true);
  const controller = new AbortController();
  const waiting = terminal.question(['? '], controller.signal);
  setImmediate(() => controller.abort());
  assert.equal(await waiting, undefined);
  assert.equal(await terminal.question(['? '], controller.signal), undefined);
  const ended = terminal.question(['? ']);
  setImmediate(() => stdin.end());
  assert.equal(await ended, undefined);
});

test('Ctrl-C at a question is the signal it would be elsewhere', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true }), stderr = sink({ isTTY: true });
  let heard = 0;
  const listener = (): void => { heard += 1; };
  process.on('SIGINT', listener);
  const waiting = createTerminal(system({ stdin, stderr })).question(['? ']);
  setTimeout(() => stdin.write('\u0003'), 20);
  assert.equal(await waiting, undefined);
  process.off('SIGINT', listener);
  assert.equal(heard, 1);
});

test('processSystem() is the process itself', () => {
  const own = processSystem();
  assert.equal(own.stdout, process.stdout);
  assert.equal(own.stderr, process.stderr);
  assert.equal(own.stdin, process.stdin);
  assert.equal(own.environment, process.env);
});

test('progressText() shows what is known', () => {
  assert.equal(progressText('t', undefined, 1234), 't · 1.2 s');
  assert.equal(progressText('t', { progress: 3 }, 0), 't · 3 · 0.0 s');
  assert.equal(progressText('t', { progress: 5, total: 10, message: 'm' }, 61_000), `t · 5/10 · [${'#'.repeat(10)}${'-'.repeat(10)}] · m · 1 min 1 s`);
  assert.match(progressText('t', { progress: 20, total: 10 }, 0), /\[#{20}\]/);
});

test('version equals package.json', () => {
  assert.equal((JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version, version);
});
