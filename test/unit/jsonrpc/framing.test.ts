import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import type { AnyFailure } from '../../../src/base/failure.ts';
import { createFraming, type Framing } from '../../../src/jsonrpc/framing.ts';
import type { Message } from '../../../src/jsonrpc/message.ts';
import type { Notice } from '../../../src/jsonrpc/transport.ts';

interface Feed extends Framing { readonly messages: Message[]; readonly notices: Notice[]; text(text: string): AnyFailure | undefined }

function framing(maxBytes?: number): Feed {
  const messages: Message[] = [], notices: Notice[] = [];
  const made = createFraming({ onMessage: (message) => messages.push(message), onNotice: (notice) => notices.push(notice), ...(maxBytes === undefined ? {} : { maxBytes }) });
  return Object.assign(made, { messages, notices, text: (text: string) => made.feed(Buffer.from(text)) });
}

const answer = (id: number, result: unknown = {}): string => JSON.stringify({ jsonrpc: '2.0', id, result });
const ids = (feed: Feed): unknown[] => feed.messages.map(({ message }) => ('id' in message ? message.id : null));
const texts = (feed: Feed): unknown[] => feed.messages.map(({ message }) => ('result' in message ? message.result : undefined));

test('feed() cuts the same messages out of any chunking (row 64)', () => {
  const stream = Buffer.from(`${answer(1, 'é日🙂')}\r\n\n${answer(2, 'a\u2028b\u2029c')}\n${answer(3)}\n`);
  for (const size of [1, 2, 3, 5, 7, 16, 64, stream.length]) {
    const feed = framing();
    for (let at = 0; at < stream.length; at += size) assert.equal(feed.feed(stream.subarray(at, at + size)), undefined);
    assert.deepEqual(ids(feed), [1, 2, 3], `chunks of ${size}`);
    assert.deepEqual(texts(feed).slice(0, 2), ['é日🙂', 'a\u2028b\u2029c']);
    assert.equal(feed.noiseLines, 1);
  }
});

test('feed() keeps a character split across chunks, at every place it can be split', () => {
  const line = Buffer.from(`${answer(1, '🙂')}\n`);
  for (let at = 1; at < line.length; at++) {
    const feed = framing();
    feed.feed(line.subarray(0, at));
    feed.feed(line.subarray(at));
    assert.deepEqual(texts(feed), ['🙂']);
  }
});

test('feed() delivers two messages in one chunk in order, before it returns', () => {
  const feed = framing();
  feed.text(`${answer(1)}\n${answer(2)}\n`);
  assert.deepEqual(ids(feed), [1, 2]);
});

test('feed() takes any Uint8Array, whatever buffer it is a view of', () => {
  const feed = framing();
  const bytes = new TextEncoder().encode(`xx${answer(4)}\nyy`);
  feed.feed(bytes.subarray(2, bytes.length - 2));
  assert.deepEqual(ids(feed), [4]);
});

test('feed() accepts a byte order mark, leading space and CRLF', () => {
  const feed = framing();
  feed.text(`\ufeff${answer(1)}\r\n`);
  feed.text(`  ${answer(2)}\r\n`);
  assert.deepEqual(ids(feed), [1, 2]);
  assert.equal(feed.noiseLines, 0);
});

test('feed() loses one line to bytes that are no UTF-8, not its neighbours', () => {
  const feed = framing();
  feed.feed(Buffer.concat([Buffer.from(`${answer(1)}\n{"broken":`), Buffer.from([0xc3, 0x28, 0xff, 0xe2, 0x82]), Buffer.from(`\n${answer(2)}\n`)]));
  assert.deepEqual(ids(feed), [1, 2]);
  assert.equal(feed.noiseLines, 1);
});

test('feed() decodes long lines the same whether they are ASCII or not', () => {
  const feed = framing();
  const ascii = 'x'.repeat(20_000), other = 'é🙂'.repeat(5_000);
  feed.text(`${answer(1, ascii)}\n${answer(2, other)}\n`);
  feed.text(`${answer(3, ascii)}\n`);
  assert.deepEqual(texts(feed), [ascii, other, ascii]);
});

test('feed() takes apart an array of messages and drops what is none in it', () => {
  const feed = framing();
  feed.text(`[${answer(1)},${answer(2)},7]\n`);
  assert.deepEqual(ids(feed), [1, 2]);
  assert.equal(feed.noiseLines, 0);
  feed.text('[]\n[7]\n');
  assert.equal(feed.noiseLines, 2);
});

test('feed() counts JSON that is no message as noise', () => {
  const feed = framing();
  for (const line of ['42', '"text"', 'null', '{"level":"info","msg":"starting"}', '{"jsonrpc":"2.0"}', '{']) feed.text(`${line}\n`);
  assert.equal(feed.noiseLines, 6);
  assert.equal(feed.framedOnce, false);
});

test('end() delivers a last line that has no line end', () => {
  const feed = framing();
  feed.text(answer(1));
  assert.deepEqual(ids(feed), []);
  feed.end();
  feed.end();
  assert.deepEqual(ids(feed), [1]);
});

test('feed() lets an exception of a listener through instead of calling it noise', () => {
  const made = createFraming({ onMessage: () => { throw new SyntaxError('a bug of ours'); }, onNotice: () => assert.fail('no noise') });
  assert.throws(() => made.feed(Buffer.from(`${answer(1)}\n`)), /a bug of ours/);
});

// ---- limits

test('feed() accepts a line of exactly the limit and refuses one byte more (row 66)', () => {
  const exact = answer(1, 'x'.repeat(100));
  for (const chunk of [1, 7, exact.length, exact.length + 1, 1_000]) {
    for (const [limit, ok] of [[exact.length, true], [exact.length - 1, false]] as const) {
      const feed = framing(limit);
      const stream = Buffer.from(`${exact}\n`);
      let failure: AnyFailure | undefined;
      for (let at = 0; at < stream.length && failure === undefined; at += chunk) failure = feed.feed(stream.subarray(at, at + chunk));
      assert.equal(failure === undefined, ok, `limit ${limit}, chunks of ${chunk}`);
      assert.deepEqual(ids(feed), ok ? [1] : []);
    }
  }
});

test('feed() accepts lines of exactly the limit anywhere in a chunk that is longer than the limit', () => {
  const line = answer(1, 'x'.repeat(50));
  const feed = framing(line.length);
  feed.text(line.slice(0, 10));
  assert.equal(feed.text(`${line.slice(10)}\n${line}\n\n${line}\n${line}`), undefined);
  feed.end();
  assert.deepEqual(ids(feed), [1, 1, 1, 1]);
});

test('feed() names the sizes of a line that is too long, and stays broken (row 66)', () => {
  const feed = framing(64);
  const failure = feed.text('x'.repeat(100));
  assert.equal(failure?.code, 'LIMIT_EXCEEDED');
  assert.deepEqual(failure.details, { limit: 'frameBytes', maximum: 64, seen: 100 });
  assert.match(failure.message, /64 bytes \(100 bytes so far\)/);
  assert.equal(feed.text(`${answer(1)}\n`), failure);
  feed.end();
  assert.deepEqual(ids(feed), []);
});

test('feed() delivers what is complete before the line that is too long', () => {
  const long = 'x'.repeat(200);
  for (const [first, second] of [[`${answer(1)}\n${answer(2)}\n${long}\n`, ''], [`${answer(1)}\n${answer(2)}\n${long}`, ''], [`${answer(1)}\n${answer(2)}\n${long.slice(0, 20)}`, long]] as const) {
    const feed = framing(100);
    const failure = feed.text(first) ?? feed.text(second);
    assert.equal(failure?.code, 'LIMIT_EXCEEDED');
    assert.deepEqual(ids(feed), [1, 2]);
  }
});

test('feed() accepts a frame of 63 MiB and refuses one of 65 (rows 65, 66)', () => {
  const mebibyte = Buffer.alloc(1024 * 1024, 'x');
  const feed = framing();
  feed.text('{"jsonrpc":"2.0","id":1,"result":"');
  for (let i = 0; i < 63; i++) assert.equal(feed.feed(mebibyte), undefined);
  feed.text('"}\n');
  assert.equal((texts(feed)[0] as string).length, 63 * 1024 * 1024);
  feed.messages.length = 0;
  let failure: AnyFailure | undefined, fed = 0;
  while (failure === undefined && fed < 70) { failure = feed.feed(mebibyte); fed += 1; }
  assert.equal(fed, 65);
  assert.deepEqual(failure?.details, { limit: 'frameBytes', maximum: 64 * 1024 * 1024, seen: 65 * 1024 * 1024 });
});

test('feed() holds a line that comes byte by byte in memory of its own size (row 66)', () => {
  const feed = framing();
  const byte = Buffer.from('x');
  feed.text('{"jsonrpc":"2.0","id":1,"result":"');
  for (let i = 0; i < 200_000; i++) feed.feed(byte);
  feed.text('"}\n');
  assert.equal((texts(feed)[0] as string).length, 200_000);
});

test('feed() takes time in proportion to the bytes, whatever the chunks', () => {
  const chunk = Buffer.alloc(1024, 'x');
  const timeOf = (mebibytes: number): number => {
    const feed = framing();
    feed.text('{"jsonrpc":"2.0","id":1,"result":"');
    const startedAt = performance.now();
    for (let i = 0; i < mebibytes * 1024; i++) feed.feed(chunk);
    feed.text('"}\n');
    const took = performance.now() - startedAt;
    assert.deepEqual(ids(feed), [1]);
    return took;
  };
  timeOf(4);
  const best = (mebibytes: number): number => Math.min(timeOf(mebibytes), timeOf(mebibytes), timeOf(mebibytes));
  const small = best(8), large = best(32);
  // Four times the bytes; quadratic work would take sixteen times as long. A busy machine gets room.
  assert.ok(large / small < 10, `${small} ms for 8 MiB, ${large} ms for 32 MiB`);
});

// ---- noise

test('feed() lets 31 lines of noise pass before a first message (row 69)', () => {
  const feed = framing();
  for (let i = 0; i < 31; i++) assert.equal(feed.text(`junk ${i}\n`), undefined);
  assert.equal(feed.text(`${answer(1)}\n`), undefined);
  assert.deepEqual(ids(feed), [1]);
  assert.equal(feed.framedOnce, true);
  assert.equal(feed.noiseLines, 31);
});

test('feed() fails at the 32nd line of noise before a first message, with the count and an excerpt (row 70)', () => {
  for (const pieces of [['one chunk'], Array.from({ length: 32 }, (_, i) => String(i))]) {
    const feed = framing();
    const lines = Array.from({ length: 32 }, (_, i) => `Listening on port ${i}\n`);
    let failure: AnyFailure | undefined;
    if (pieces.length === 1) failure = feed.text(`${lines.join('')}${answer(1)}\n`);
    else for (const line of lines) { assert.equal(failure, undefined); failure = feed.text(line); }
    assert.equal(failure?.code, 'PROTOCOL_VIOLATION');
    assert.deepEqual(failure.details, { excerpt: 'Listening on port 31', noiseLines: 32 });
    assert.match(failure.message, /first 32 lines .*"Listening on port 31"/);
    assert.deepEqual(ids(feed), []);
  }
});

test('feed() counts blank lines as noise too: 32 of them fail in any chunking (row 70)', () => {
  for (const [lineEnd, size] of [['\n', 1], ['\n', 5], ['\n', 32], ['\r\n', 2], ['\r\n', 64], [' \n', 3]] as const) {
    const feed = framing();
    const bytes = Buffer.from(lineEnd.repeat(32));
    const most = bytes.length - lineEnd.length;
    for (let at = 0; at < most; at += size) assert.equal(feed.feed(bytes.subarray(at, Math.min(at + size, most))), undefined);
    assert.equal(feed.noiseLines, 31);
    assert.equal(feed.feed(bytes.subarray(most))?.code, 'PROTOCOL_VIOLATION', `${JSON.stringify(lineEnd)} by ${size}`);
    assert.deepEqual(feed.notices, []);
  }
});

test('feed() survives any noise after the first message and reports it sparingly (row 71)', () => {
  const feed = framing();
  feed.text(`${answer(1)}\n`);
  for (let i = 0; i < 5_000; i++) assert.equal(feed.text(`debug: step ${i}\n`), undefined);
  feed.text(`${answer(2)}\n`);
  assert.deepEqual(ids(feed), [1, 2]);
  assert.equal(feed.notices.length, 32 + 4);
  assert.deepEqual(feed.notices.at(-1), { kind: 'noise', excerpt: 'debug: step 4095', total: 4096, run: 4096 });
});

test('feed() starts a new run of noise after each message, but counts on (row 72)', () => {
  const feed = framing();
  feed.text(`a\n${answer(1)}\nb\n`);
  assert.deepEqual(feed.notices, [{ kind: 'noise', excerpt: 'a', total: 1, run: 1 }, { kind: 'noise', excerpt: 'b', total: 2, run: 1 }]);
});

test('feed() reports a flood of blank lines only now and then, and fast (row 73)', () => {
  const feed = framing();
  feed.text(`${answer(1)}\n`);
  const flood = Buffer.alloc(64 * 1024, '\n');
  const startedAt = performance.now();
  for (let i = 0; i < 8; i++) feed.feed(flood.subarray(0, 6_000));
  assert.ok(feed.notices.length < 50);
  assert.equal(feed.noiseLines, 48_000);
  for (let i = 0; i < 16; i++) feed.feed(flood);
  assert.ok(performance.now() - startedAt < 3_000);
});

test('feed() shows at most 256 bytes of a noisy line and no broken character', () => {
  const feed = framing();
  feed.text(`${'x'.repeat(255)}🙂 and more\n${'é'.repeat(300)}\nshort\n`);
  const excerpts = feed.notices.map((notice) => (notice.kind === 'noise' ? notice.excerpt : ''));
  assert.equal(excerpts[0], 'x'.repeat(255));
  assert.equal(excerpts[1], 'é'.repeat(128));
  assert.equal(excerpts[2], 'short');
});

test('feed() follows a real process that writes as processes do', async () => {
  const feed = framing();
  const script = `
    const line = (id, text) => JSON.stringify({ jsonrpc: '2.0', id, result: text });
    console.log('starting up');
    process.stdout.write(line(1, 'a') + '\\n' + line(2, 'é'.repeat(100000)));
    setImmediate(() => { process.stdout.write('\\r\\n\\n'); process.stdout.write(line(3, 'last')); });
  `;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of child.stdout) assert.equal(feed.feed(chunk as Buffer), undefined);
  feed.end();
  assert.deepEqual(ids(feed), [1, 2, 3]);
  assert.equal((texts(feed)[1] as string).length, 100_000);
  assert.equal(feed.noiseLines, 2);
});
