/**
 * HTTP sessions of the legacy era that end under us (a restarted server answers 404): the handshake runs again, once for all
 * who met the loss, and each request is sent once more. That is safe even for a mutating one, because a server that does not
 * know the session has not looked at it. A session that is lost again at once is not chased.
 */
import { isFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { JsonObject } from '../base/json.ts';
import type { Connection } from '../jsonrpc/connection.ts';
import { initialize } from './legacy.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ConnectOptions } from './types.ts';

export interface Sessions {
  /** Runs it, and once more in a new session if the one it ran in turns out to be lost. `signal` ends the waiting for that session. */
  within<T>(request: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createSessions(connection: Connection, lifecycle: Lifecycle, options: Pick<ConnectOptions, 'clientInfo' | 'answers' | 'connectMs'>, emit: (method: string, params: JsonObject) => void): Sessions {
  const timeoutMs = options.connectMs ?? limits.connectMs;
  let generation = 0;
  /** True from the loss until a new handshake went well: without a session no request has a chance. */
  let lost = false;
  let renewing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    await initialize(connection, { clientInfo: options.clientInfo, answers: options.answers ?? {}, revision: lifecycle.revision, timeoutMs });
    generation += 1;
    lost = false;
    await lifecycle.restore?.(connection, emit, timeoutMs);
    // Who watches must look again: what happened in between was told to nobody.
    for (const list of ['tools', 'resources', 'prompts']) emit(`notifications/${list}/list_changed`, {});
  }
  const renewed = (signal: AbortSignal | undefined): Promise<void> => untilAborted(renewing ??= renew().finally(() => { renewing = undefined; }), signal);

  return {
    async within(request, signal) {
      if (lost) await renewed(signal);
      const before = generation;
      try {
        return await request();
      } catch (error) {
        if (!isFailure(error) || error.code !== 'SESSION_LOST') throw error;
        if (generation === before) {
          lost = true;
          await renewed(signal);
        }
        return request();
      }
    },
  };
}

/** Returns early when the caller gives up: its request then says so itself. */
function untilAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) { resolve(); void work.catch(() => {}); return; }
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
