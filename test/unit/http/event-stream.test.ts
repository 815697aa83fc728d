import { test } from 'node:test';
import assert from 'node:assert/strict';
import { collectText } from '../../../src/http/body.ts';
import { createEventDecoder, encodeComment, encodeEvent } from '../../../src/http/event-stream.ts';
import { Failure } from '../../../src/base/failure.ts';
import type { EventDecoderOptions } from '../../../src/http/event-stream.ts';

interface Log { readonly events: string[]; readonly retries: number[]; readonly comments: string[]; dropped: boolean; lastEventId: string }

/** Events as `type|id|data`. */
function decode(chunks: Iterable<Uint8Array | string>, options: Partial<EventDecoderOptions> = {}): Log {
  const log: Log = { events: [], retries: [], comments: [], dropped: false, lastEventId: '' };
  const decoder = createEventDecoder({
    onEvent: ({ type, id, data }) => log.events.push(`${type}|${id}|${data}`),
    onRetry: (ms) => log.retries.push(ms),
    onComment: (text) => log.comments.push(text),
    ...options,
  });
  for (const chunk of chunks) decoder.feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  log.dropped = decoder.end();
  log.lastEventId = decoder.lastEventId();
  return log;
}

const vectors: readonly (readonly [name: string, stream: string, events: readonly string[], more?: Partial<Log>])[] = [
  ['a plain event', 'data: a\n\n', ['message||a']],
  ['several data lines', 'data: a\ndata: b\ndata:\ndata: c\n\n', ['message||a\nb\n\nc']],
  ['only one blank after the colon is taken', 'data:  a\n\n', ['message|| a']],
  ['no blank after the colon', 'data:a\n\n', ['message||a']],
  ['a tab is no blank', 'data:\ta\n\n', ['message||\ta']],
  ['a colon in the value', 'data: a: b\n\n', ['message||a: b']],
  ['a field name alone', 'data\n\n', ['message||']],
  ['two field names alone', 'data\ndata\n\n', ['message||\n']],
  ['empty data is an event', 'id: 1\ndata:\n\n', ['message|1|']],
  ['empty data with a blank is an event', 'id: 1\ndata: \n\n', ['message|1|']],
  ['a type', 'event: endpoint\ndata: /x\n\n', ['endpoint||/x']],
  ['a type lasts for one event', 'event: a\ndata: 1\n\ndata: 2\n\n', ['a||1', 'message||2']],
  ['the last type counts', 'event: a\nevent: b\ndata: 1\n\n', ['b||1']],
  ['an empty type is message', 'event: a\nevent:\ndata: 1\n\n', ['message||1']],
  ['a type without data is dropped with its type', 'event: a\n\ndata: 1\n\n', ['message||1']],
  ['an id stays', 'id: 7\ndata: a\n\ndata: b\n\n', ['message|7|a', 'message|7|b'], { lastEventId: '7' }],
  ['an empty id resets', 'id: 7\ndata: a\n\nid\ndata: b\n\n', ['message|7|a', 'message||b'], { lastEventId: '' }],
  ['an id with NUL is ignored', 'id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n', ['message|7|a', 'message|7|b'], { lastEventId: '7' }],
  ['an id without data moves the last event id', 'id: 9\n\n', [], { lastEventId: '9' }],
  ['an id counts only from the blank line on', 'id: 1\ndata: a\n\nid: 2\n', ['message|1|a'], { lastEventId: '1' }],
  ['retry in digits', 'retry: 1500\n\n', [], { retries: [1500] }],
  ['retry counts at once', 'retry: 10\n', [], { retries: [10] }],
  ['retry that is no number', 'retry: 1.5\nretry: -1\nretry: 1e3\nretry:\nretry\nretry: ٣\nretry: 12 \n\n', [], { retries: [] }],
  ['retry beyond a timer', `retry: ${'9'.repeat(400)}\n\n`, [], { retries: [2 ** 31 - 1] }],
  ['comments', ': keepalive\n\n:x\ndata: a\n:y\ndata: b\n\n', ['message||a\nb'], { comments: [' keepalive', 'x', 'y'] }],
  ['unknown fields', 'foo: 1\ndataX: 1\ndat: 1\nDATA: 1\n data: 1\nidx: 1\neventual: 1\nretryable: 1\ne: 1\ni: 1\nr: 1\nx\ndata: a\n\n', ['message||a']],
  ['an incomplete last event is dropped', 'data: a\n\ndata: b\n', ['message||a'], { dropped: true }],
  ['an incomplete last line is dropped', 'data: a\n\ndata: b', ['message||a'], { dropped: true }],
  ['an unfinished type is dropped', 'event: b\n', [], { dropped: true }],
  ['nothing to drop', 'data: a\n\n', ['message||a'], { dropped: false }],
  ['blank lines only', '\n\n\n', []],
  ['CR ends lines', 'data: a\rdata: b\r\r', ['message||a\nb']],
  ['CRLF ends lines', 'data: a\r\ndata: b\r\n\r\n', ['message||a\nb']],
  ['all ends mixed', 'data: a\r\n\ndata: b\r\rdata: c\n\r\ndata: d\n\n', ['message||a', 'message||b', 'message||c', 'message||d']],
  ['LF CR is two ends', 'data: a\n\rdata: b\n\n', ['message||a', 'message||b']],
  ['a byte order mark', '\ufeffdata: a\n\n', ['message||a']],
  ['only the first byte order mark', '\ufeff\ufeffdata: a\n\ndata: b\n\n', ['message||b']],
  ['a byte order mark later is data', 'data: \ufeffa\n\n\ufeffdata: b\n\n', ['message||\ufeffa']],
  ['characters of every width', 'data: aé漢😀\nid: é\n\n', ['message|é|aé漢😀']],
  ['broken UTF-8 becomes U+FFFD', 'data: \x00a\n\n', ['message||\0a']],
];

for (const [name, stream, events, more] of vectors) {
  test(`createEventDecoder() reads ${name}, however it is cut`, () => {
    const bytes = Buffer.from(stream);
    const cuts: Iterable<Uint8Array>[] = [[bytes], bytes.subarray(0).reduce<Uint8Array[]>((all, byte) => [...all, Uint8Array.of(byte)], [])];
    for (let at = 1; at < Math.min(bytes.length, 120); at++) cuts.push([bytes.subarray(0, at), new Uint8Array(0), bytes.subarray(at)]);
    for (const chunks of cuts) {
      const log = decode(chunks);
      assert.deepEqual(log.events, events);
      for (const key of Object.keys(more ?? {}) as (keyof Log)[]) assert.deepEqual(log[key], more![key], key);
    }
  });
}

test('createEventDecoder() replaces bytes that are not UTF-8 as the standard says', () => {
  const log = decode([Buffer.concat([Buffer.from('data: '), Buffer.of(0xff, 0x61, 0xe2, 0x82), Buffer.from('\n\n')])]);
  assert.deepEqual(log.events, [`message||${new TextDecoder().decode(Buffer.of(0xff, 0x61, 0xe2, 0x82))}`]);
});

test('createEventDecoder() lets a CR at the end of a chunk take effect at once', () => {
  const seen: string[] = [];
  const decoder = createEventDecoder({ onEvent: ({ data }) => seen.push(data) });
  decoder.feed(Buffer.from('data: a\r\r'));
  assert.deepEqual(seen, ['a']);
  decoder.feed(Buffer.from('\ndata: b\r\n\r'));
  assert.deepEqual(seen, ['a', 'b']);
  decoder.feed(Buffer.from('\ndata: c\n\n'));
  assert.deepEqual(seen, ['a', 'b', 'c']);
});

test('createEventDecoder() agrees with a slow decoder on random streams cut at random', () => {
  let seed = 7;
  const random = (n: number): number => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 2147483648 * n); };
  const parts = ['data', 'data:', 'data: x', 'id: 1', 'id', 'event: e', 'retry: 5', ':c', 'é', 'dat', ' ', '', '', '', '\ufeff'];
  const ends = ['\n', '\r', '\r\n'];
  for (let round = 0; round < 400; round++) {
    let stream = '';
    for (let i = random(20); i >= 0; i--) stream += parts[random(parts.length)]! + ends[random(3)]!;
    const bytes = Buffer.from(stream);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length;) { const size = 1 + random(6); chunks.push(bytes.subarray(at, at + size)); at += size; }
    assert.deepEqual(decode(chunks).events, slowDecode(stream), JSON.stringify(stream));
  }
});

/** The algorithm of the standard, word by word, over the whole text. */
function slowDecode(stream: string): string[] {
  const events: string[] = [];
  let data = '', type = '', id = '';
  const lines = stream.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  lines.pop();
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push(`${type === '' ? 'message' : type}|${id}|${data.slice(0, -1)}`);
      data = type = '';
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data += `${value}\n`;
    else if (field === 'event') type = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}

for (const [name, chunks] of [
  ['one line', ['data: ', 'x'.repeat(60), 'x'.repeat(60)]],
  ['many lines', Array.from({ length: 12 }, () => 'data: 0123456789\n')],
  ['one chunk', [`data: ${'x'.repeat(200)}\n\n`]],
  ['wide characters', Array.from({ length: 6 }, () => `data: ${'漢'.repeat(6)}\n`)],
  ['a comment without an end', [':', 'x'.repeat(101)]],
] as const) {
  test(`createEventDecoder() refuses an event over its limit: ${name}`, () => {
    const decoder = createEventDecoder({ onEvent() {}, maxBytes: 100, stage: 'list' });
    const isLimit = (error: unknown): boolean => error instanceof Failure && error.code === 'LIMIT_EXCEEDED' && error.stage === 'list' && error.message.includes('100 B');
    assert.throws(() => { for (const chunk of chunks) decoder.feed(Buffer.from(chunk)); }, isLimit);
    assert.throws(() => decoder.feed(Buffer.from('\n\n')), isLimit, 'stays refused');
  });
}

test('createEventDecoder() bounds one event, not the stream', () => {
  const seen: number[] = [];
  const decoder = createEventDecoder({ onEvent: ({ data }) => seen.push(data.length), maxBytes: 100 });
  for (let i = 0; i < 50; i++) {
    decoder.feed(Buffer.from(`: keep-alive ${'-'.repeat(40)}\n`));
    decoder.feed(Buffer.from(`data: ${'x'.repeat(40)}\n`));
    decoder.feed(Buffer.from(`data: ${'é'.repeat(15)}\n\n`));
  }
  assert.deepEqual(seen, Array.from({ length: 50 }, () => 56));
});

test('createEventDecoder() is linear on one long line', () => {
  const piece = Buffer.alloc(1024, 'x');
  const pass = (kib: number): number => {
    let length = 0;
    const decoder = createEventDecoder({ onEvent: ({ data }) => { length = data.length; } });
    const startedAt = performance.now();
    decoder.feed(Buffer.from('data: '));
    for (let i = 0; i < kib; i++) decoder.feed(piece);
    decoder.feed(Buffer.from('\n\n'));
    assert.equal(length, kib * 1024);
    return performance.now() - startedAt;
  };
  pass(1024);
  const short = Math.max(1, Math.min(pass(1024), pass(1024), pass(1024)));
  const long = Math.min(pass(16 * 1024), pass(16 * 1024));
  assert.ok(long < 16 * short * 6, `1 MiB ${short.toFixed(1)} ms, 16 MiB ${long.toFixed(1)} ms`);
});

test('createEventDecoder() does not keep a long text alive through an id', () => {
  const decoder = createEventDecoder({ onEvent() {} });
  decoder.feed(Buffer.from(`id: 0123456789abcdef\ndata: ${'x'.repeat(200_000)}\n\n`));
  assert.equal(decoder.lastEventId(), '0123456789abcdef');
});

test('encodeEvent() gives what createEventDecoder() reads', () => {
  for (const event of [
    { data: 'a' }, { data: '' }, { data: 'a\nb\r\nc\rd' }, { data: ' x' }, { data: '{"a":1}', event: 'message', id: '3' }, { data: 'x', event: 'endpoint' }, { data: 'x', id: 'é' },
  ]) {
    const log = decode([encodeEvent(event)]);
    assert.deepEqual(log.events, [`${event.event ?? 'message'}|${event.id ?? ''}|${event.data.replace(/\r\n|\r/g, '\n')}`]);
  }
  assert.deepEqual(decode([encodeEvent({ retryMs: 500, id: '1' })]), { events: [], retries: [500], comments: [], dropped: false, lastEventId: '1' });
  assert.deepEqual(decode([encodeComment('a\nb'), encodeComment()]).comments, [' a b', '']);
});

test('encodeEvent() refuses fields that would break out of their line', () => {
  assert.throws(() => encodeEvent({ event: 'a\nb' }), TypeError);
  assert.throws(() => encodeEvent({ id: 'a\rb' }), TypeError);
  assert.throws(() => encodeEvent({ id: 'a\0' }), TypeError);
  assert.throws(() => encodeEvent({ retryMs: 1.5 }), TypeError);
  assert.throws(() => encodeEvent({ retryMs: -1 }), TypeError);
});

test('createEventDecoder() and collectText() make objects without accessors: those made per call would outlive it', () => {
  for (const made of [createEventDecoder({ onEvent() {} }), collectText()]) {
    assert.deepEqual(Object.entries(Object.getOwnPropertyDescriptors(made)).filter(([, { get }]) => get !== undefined), []);
  }
});
