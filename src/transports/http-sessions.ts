/** The legacy sessions of an HTTP endpoint: made by `initialize`, bound to whoever made them, ended by DELETE, disuse or the end of the server. */
import { randomUUID } from 'node:crypto';
import { now } from '../base/deadline.ts';
import type { ServedSession, ServerEngine } from '../jsonrpc/serving.ts';
import { createSessionStreams, type SessionStreams } from './session-streams.ts';

export interface HttpSession {
  /** Random, visible ASCII. */
  readonly id: string;
  readonly principal: string;
  readonly served: ServedSession;
  readonly streams: SessionStreams;
  usedAt: number;
}

export interface HttpSessions {
  /** `undefined` when there are too many and none of the same principal is unused. */
  open(principal: string): HttpSession | undefined;
  /** Makes it findable, once `initialize` went well. */
  admit(session: HttpSession): void;
  /** Only for the principal whose it is: to others it does not exist. */
  find(id: string, principal: string): HttpSession | undefined;
  end(session: HttpSession): Promise<void>;
  /** Ends those that nobody used for long. */
  tick(): void;
  readonly size: number;
  close(): Promise<void>;
}

export function createHttpSessions(engine: ServerEngine, options: { readonly most: number; readonly idleMs: number }): HttpSessions {
  const sessions = new Map<string, HttpSession>();
  let opening = 0, closed = false;
  const unused = (session: HttpSession): boolean => session.served.running === 0 && session.streams.standing.carrier === undefined;

  async function end(session: HttpSession): Promise<void> {
    sessions.delete(session.id);
    await session.served.close();
    session.streams.close();
  }
  function makeRoom(principal: string): boolean {
    if (sessions.size + opening < options.most) return true;
    let oldest: HttpSession | undefined;
    for (const session of sessions.values()) if (session.principal === principal && unused(session) && session.usedAt < (oldest?.usedAt ?? Infinity)) oldest = session;
    if (oldest === undefined) return false;
    void end(oldest);
    return true;
  }

  return {
    open(principal) {
      if (!makeRoom(principal)) return undefined;
      const streams = createSessionStreams(() => (served.revision ?? '') >= '2025-11-25');
      const served = engine.openSession({ principal, send: (text) => { streams.publish(streams.standing, text); return true; } });
      opening += 1;
      return { id: randomUUID(), principal, served, streams, usedAt: now() };
    },
    admit(session) {
      opening -= 1;
      if (session.served.revision === undefined || closed) void end(session); else sessions.set(session.id, session);
    },
    find(id, principal) {
      const session = sessions.get(id);
      if (session === undefined || session.principal !== principal) return undefined;
      session.usedAt = now();
      return session;
    },
    end,
    tick() {
      const time = now();
      for (const session of [...sessions.values()]) {
        if (!unused(session)) session.usedAt = time; else if (time - session.usedAt > options.idleMs) void end(session);
      }
    },
    get size() { return sessions.size; },
    async close() {
      closed = true;
      await Promise.all([...sessions.values()].map(end));
    },
  };
}
