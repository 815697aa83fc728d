import assert from 'node:assert/strict';
import { mock, test, type TestContext } from 'node:test';
import { Failure, type AnyFailure } from '../../src/base/failure.ts';
import { limits } from '../../src/base/limits.ts';
import { createStandingStream, streamPause, type StandingStream, type StreamCallbacks } from '../../src/transports/standing-stream.ts';

interface Bench {
  readonly stream: StandingStream;
  /** What each GET carried. */
  readonly gets: (string | undefined)[];
  readonly received: string[];
  readonly troubles: string[];
  readonly aborted: () => number;
  /** Answers the GET that is under way. */
  head(status: number, type?: string): void;
  data(text: string): void;
  end(): void;
  fail(): void;
  /** Lets so much time pass. */
  pass(ms: number): Promise<void>;
}

/** A stream whose server and clock are in the test's hands. */
function bench(t: TestContext): Bench {
  const gets: (string | undefined)[] = [], received: string[] = [], troubles: string[] = [];
  let callbacks: StreamCallbacks | undefined, aborted = 0, time = 1000;
  mock.timers.enable({ apis: ['setTimeout'] });
  const clock = mock.method(performance, 'now', () => time);
  t.after(() => { mock.timers.reset(); clock.mock.restore(); });
  const stream = createStandingStream({
    get(lastEventId, given) { gets.push(lastEventId); callbacks = given; return { abort() { aborted += 1; return 'yes'; }, pause() {}, resume() {} }; },
    receive: (text) => { received.push(text); },
    trouble: (message) => { troubles.push(message); },
  });
  return {
    stream, gets, received, troubles, aborted: () => aborted,
    head: (status, type = 'text/event-stream') => callbacks!.onHead({ status, headers: { 'content-type': type }, url: '' }),
    data: (text) => callbacks!.onData(Buffer.from(text)),
    end: () => callbacks!.onEnd(false),
    fail: () => callbacks!.onFail(new Failure('CONNECTION_CLOSED', 'Cannot', { stage: 'call', details: {} }) as AnyFailure),
    async pass(ms) {
      time += ms;
      mock.timers.tick(ms);
      for (let i = 0; i < 5; i++) await Promise.resolve();
    },
  };
}

test('createStandingStream() gives up a stream that ends again and again at once, and says so', async (t) => {
  const it = bench(t);
  it.stream.start();
  for (let n = 0; n <= limits.streamRetries; n++) {
    it.head(200);
    if (n % 2 === 0) it.end(); else it.fail();
    await it.pass(limits.retryCapMs);
  }
  assert.equal(it.gets.length, limits.streamRetries + 1);
  assert.match(it.troubles.join(), /given up/);
});

test('createStandingStream() keeps one that brings nothing but stands for a while, as behind a proxy that cuts what is silent', async (t) => {
  const it = bench(t);
  it.stream.start();
  for (let n = 0; n < 20; n++) {
    it.head(200);
    it.data(': keep-alive\n\n');
    await it.pass(limits.streamStoodMs);
    it.end();
    await it.pass(limits.streamRetryMs);
  }
  assert.equal(it.gets.length, 21);
  assert.deepEqual(it.troubles, []);
});

test('createStandingStream() is silent about a server that never had one', async (t) => {
  const it = bench(t);
  it.stream.start();
  for (let n = 0; n <= limits.streamRetries; n++) { it.head(503, 'text/plain'); await it.pass(limits.retryCapMs); }
  assert.deepEqual([it.gets.length, it.troubles], [limits.streamRetries + 1, []]);
  it.stream.start();
  it.head(409, 'text/plain');
  await it.pass(limits.retryCapMs);
  assert.equal(it.gets.length, limits.streamRetries + 2, 'a conflict with nobody of ours is final');
});

test('createStandingStream() carries the last event id over, keeps it through a stream without any, and starts without one', async (t) => {
  const it = bench(t);
  it.stream.start();
  it.head(200);
  it.data('id: 7\ndata: {}\n\n');
  it.end();
  await it.pass(limits.streamRetryMs);
  it.head(200);
  it.fail();
  await it.pass(limits.retryCapMs);
  it.stream.start();
  assert.deepEqual([it.gets, it.received], [[undefined, '7', '7', undefined], ['{}']]);
});

test('createStandingStream() hears nothing of an earlier start', async (t) => {
  const it = bench(t);
  it.stream.start();
  it.head(200);
  const late = { data: it.data, end: it.end };
  it.stream.stop();
  assert.equal(it.aborted(), 1);
  late.data('data: late\n\n');
  late.end();
  await it.pass(limits.retryCapMs);
  assert.deepEqual([it.gets.length, it.received], [1, []]);
  it.stream.start();
  it.fail();
  it.stream.stop();
  await it.pass(limits.retryCapMs);
  assert.equal(it.gets.length, 2, 'stopping ends the wait too');
});

test('createStandingStream() gives up an event without end, and comes back', async (t) => {
  const it = bench(t);
  it.stream.start();
  it.head(200);
  it.data('data: ');
  const block = 'x'.repeat(33 << 20);
  it.data(block);
  it.data(block);
  assert.match(it.troubles[0] ?? '', /larger than 64 MiB/);
  assert.equal(it.aborted(), 1);
  await it.pass(limits.retryCapMs);
  assert.equal(it.gets.length, 2);
});

test('streamPause() takes the server at its word, but never less than the least, and grows up to the cap without one', () => {
  assert.deepEqual([0, 1, 49, 50, 700].map((ms) => streamPause(0, ms)), [50, 50, 50, 50, 700]);
  assert.deepEqual([0, 1, 2].map((attempt) => streamPause(attempt, undefined)), [1000, 1500, 2250]);
  assert.equal(streamPause(50, undefined), limits.retryCapMs);
});
