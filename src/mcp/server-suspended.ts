/** Calls that wait for a client to come back with answers: a bounded number of them, each for a bounded time, found by ids that only sealed states tell. */
import { now } from '../base/deadline.ts';

export interface Suspended<T> {
  /** Keeps a call for the connection that it came by, if it came by one; `undefined` when there are too many. */
  hold(call: T, connection?: object): string | undefined;
  find(id: string): T | undefined;
  remove(id: string): void;
  readonly size: number;
  /** Gives up what came by a connection that has ended. */
  drop(connection: object): void;
  /** Gives up all of them. */
  close(): void;
}

export function createSuspended<T>(most: number, lifeMs: number, expire: (call: T) => void): Suspended<T> {
  /** In the order in which they expire, since all live equally long. */
  const held = new Map<string, { readonly call: T; readonly until: number; readonly connection: object | undefined }>();
  let issued = 0, timer: NodeJS.Timeout | undefined, closed = false;

  function arm(): void {
    const first = held.values().next();
    if (timer !== undefined || first.done === true) return;
    timer = setTimeout(sweep, Math.max(1, Math.ceil(first.value.until - now())));
    // What is waited for comes from outside; a process that has nothing else to do may end.
    timer.unref();
  }
  function sweep(): void {
    timer = undefined;
    const time = now();
    for (const [id, { call, until }] of held) {
      if (until > time) break;
      held.delete(id);
      expire(call);
    }
    arm();
  }

  function remove(id: string): void {
    held.delete(id);
    if (held.size === 0) { clearTimeout(timer); timer = undefined; }
  }

  return {
    hold(call, connection) {
      if (closed || held.size >= most) return undefined;
      const id = String(++issued);
      held.set(id, { call, until: now() + lifeMs, connection });
      arm();
      return id;
    },
    find: (id) => held.get(id)?.call,
    remove,
    get size() { return held.size; },
    drop(connection) {
      for (const [id, entry] of [...held]) if (entry.connection === connection) { remove(id); expire(entry.call); }
    },
    close() {
      closed = true;
      clearTimeout(timer);
      const calls = [...held.values()];
      held.clear();
      for (const { call } of calls) expire(call);
    },
  };
}
