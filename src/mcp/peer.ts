/** The other end of one opened transport: its connection, and who listens to what it tells. */
import { toFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { codes } from '../jsonrpc/codes.ts';
import { openConnection, type Connection, type Inbound } from '../jsonrpc/connection.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ClientEvent, ConnectOptions } from './types.ts';

export interface Peer { readonly connection: Connection; readonly emit: (method: string, params: JsonObject) => void; readonly bind: (lifecycle: Lifecycle) => void; readonly listeners: Set<(event: ClientEvent) => void> }

/** A peer whose era is known. */
export type Settled = Peer & { readonly lifecycle: Lifecycle };

/** Opens the transport. Until `bind`, only `ping` is answered. */
export async function openPeer(transport: Transport, options: ConnectOptions, signal: AbortSignal): Promise<Peer> {
  let lifecycle: Lifecycle | undefined;
  const listeners = new Set<(event: ClientEvent) => void>();
  const notice = options.onNotice ?? ((): void => {});
  // A listener that throws must cost neither the other listeners nor the messages behind this one.
  const tell = (event: ClientEvent): void => {
    for (const listener of [...listeners]) {
      try {
        listener(event);
      } catch (error) {
        notice({ kind: 'violation', message: `a listener for ${event.kind} threw: ${toFailure(error).message}` });
      }
    }
  };
  const emit = (method: string, params: JsonObject): void => {
    const event = eventOf(method, params);
    if (event !== undefined) tell(event);
  };
  const inbound: Inbound = {
    request: (method, params, abort) => {
      if (lifecycle !== undefined) return lifecycle.answer(method, params, abort);
      return method === 'ping' ? { result: {} } : { error: { code: codes.methodNotFound, message: `Method not found: ${method}` } };
    },
    notification: (method, params) => {
      if (lifecycle !== undefined && !lifecycle.admits(method, params)) {
        if (!method.startsWith('notifications/subscriptions/') && method !== 'notifications/cancelled') notice({ kind: 'violation', message: `${method} was sent without a subscription to it` });
        return;
      }
      emit(method, params);
    },
  };
  const connection = await openConnection(transport, { inbound, onNotice: notice, signal });
  void connection.closed.then((reason) => tell({ kind: 'closed', reason }));
  return { connection, listeners, emit, bind: (made) => { lifecycle = made; } };
}

function eventOf(method: string, params: JsonObject): ClientEvent | undefined {
  switch (method) {
    case 'notifications/tools/list_changed': return { kind: 'list_changed', list: 'tools' };
    case 'notifications/resources/list_changed': return { kind: 'list_changed', list: 'resources' };
    case 'notifications/prompts/list_changed': return { kind: 'list_changed', list: 'prompts' };
    case 'notifications/resources/updated': return typeof params['uri'] === 'string' ? { kind: 'resource_updated', uri: params['uri'] } : undefined;
    case 'notifications/message': {
      const { level, logger, data } = params;
      return { kind: 'log', level: typeof level === 'string' ? level : 'info', ...(typeof logger === 'string' ? { logger } : {}), data };
    }
    default: return undefined;
  }
}
