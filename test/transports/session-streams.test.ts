/** Streams of a session without any socket: what is kept, for how long, and who carries what. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import type { Carrier } from '../../src/transports/event-carriers.ts';
import { createSessionStreams } from '../../src/transports/session-streams.ts';

function carrier(): Carrier & { readonly ids: string[]; ended: number; gone: () => void } {
  const made = { ids: [] as string[], ended: 0, backlog: 0, gone: (): void => {}, write(text: string) { made.ids.push(/^id: (\S+)/.exec(text)![1]!); }, end() { made.ended += 1; }, onGone(listener: () => void) { made.gone = listener; } };
  return made;
}

test('publish() keeps a bounded number of events, and a stream whose last event is forgotten is forgotten too', () => {
  const streams = createSessionStreams(() => false);
  const done = streams.open(), other = streams.open();
  streams.publish(done, 'answer');
  streams.finish(done);
  assert.deepEqual(streams.find('1-0'), { stream: done, after: 0 });
  for (let n = 0; n < limits.replayEvents; n++) streams.publish(other, 'x');
  assert.equal(streams.find('1-0'), undefined);
  const late = carrier();
  streams.attach(other, late, 0);
  assert.deepEqual([late.ids.length, late.ids[0]], [limits.replayEvents, '2-1']);
});

test('publish() keeps a bounded number of bytes: an event that is larger is carried and not kept', () => {
  const streams = createSessionStreams(() => false);
  const stream = streams.open(), first = carrier();
  streams.attach(stream, first);
  streams.publish(stream, 'small');
  streams.publish(stream, 'x'.repeat(limits.replayBytes + 1));
  assert.deepEqual(first.ids, ['1-1', '1-2']);
  streams.finish(stream);
  assert.deepEqual([first.ended, streams.find('1-1')], [1, undefined]);
});

test('attach() lets the newest connection carry a stream, primes where that is understood, and ends one that is over', () => {
  const streams = createSessionStreams(() => true);
  const [first, second, third] = [carrier(), carrier(), carrier()];
  streams.attach(streams.standing, first);
  streams.publish(streams.standing, 'a');
  streams.attach(streams.standing, second);
  first.gone();
  streams.publish(streams.standing, 'b');
  assert.deepEqual([first.ids, first.ended, second.ids], [['0-0', '0-1'], 1, ['0-1', '0-2']]);
  second.gone();
  streams.publish(streams.standing, 'c');
  streams.close();
  streams.attach(streams.standing, third);
  assert.equal(third.ended, 1);
});
