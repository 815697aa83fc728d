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

export interface Sessions { within<T>(request: () => Promise<T>): Promise<T> }

export function createSessions(connection: Connection, lifecycle: Lifecycle, options: Pick<ConnectOptions, 'clientInfo' | 'answers' | 'connectMs'>, emit: (method: string, params: JsonObject) => void): Sessions {
  let generation = 0;
  let renewing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    await initialize(connection, { clientInfo: options.clientInfo, answers: options.answers ?? {}, revision: lifecycle.revision, timeoutMs: options.connectMs ?? limits.connectMs });
    generation += 1;
    // Who watches must look again: what happened in between was told to nobody.
    for (const list of ['tools', 'resources', 'prompts']) emit(`notifications/${list}/list_changed`, {});
  }

  return {
    async within(request) {
      const before = generation;
      try {
        return await request();
      } catch (error) {
        if (!isFailure(error) || error.code !== 'SESSION_LOST') throw error;
        if (generation === before) await (renewing ??= renew().finally(() => { renewing = undefined; }));
        return request();
      }
    },
  };
}
