/** A program served to clients of both eras at once: which era a message belongs to, and what is opened for whom. */
import { isObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessageEra, ServerEngine } from '../jsonrpc/serving.ts';
import { eraOf, legacyRevisions, modernRevisions } from './revisions.ts';
import { createLegacySession } from './server-legacy.ts';
import { createModernServing } from './server-modern.ts';
import { META } from './server-shape.ts';
import type { Served, ServedPeer, ServerOptions } from './server-types.ts';

export interface Server extends ServerEngine {
  /** Calls that wait for their clients to come back. */
  readonly suspended: number;
}

interface Opened { readonly served: Served; release(): void | Promise<void> }

export function createServer({ serve, onFault = () => {}, askMs = limits.serverAskMs, suspendedCalls = limits.suspendedCalls }: ServerOptions): Server {
  const open = async (peer: ServedPeer): Promise<Served> => (typeof serve === 'function' ? serve(peer) : serve);
  /** What was opened for the stateless requests of a connection; it is let go of when the connection ends. */
  const connections = new Map<object, Promise<Served>>();

  async function openFor(peer: ServedPeer, connection: object | undefined): Promise<Opened> {
    if (connection === undefined) {
      const served = await open(peer);
      return { served, release: () => closeServed(served) };
    }
    let opening = connections.get(connection);
    if (opening === undefined) {
      opening = open(peer);
      connections.set(connection, opening);
      opening.catch(() => { connections.delete(connection); });
    }
    return { served: await opening, release: () => {} };
  }

  async function closeServed(served: Served): Promise<void> {
    try {
      // One program for everybody outlives them all.
      if (typeof serve === 'function') await served.close?.();
    } catch (error) {
      onFault('close', error);
    }
  }

  const modern = createModernServing({ open: openFor, onFault, askMs, suspendedCalls });
  return {
    eraOf: eraOfMessage,
    servesLegacy: (revision) => legacyRevisions.includes(revision),
    serve: modern.serve,
    openSession: (carrier) => createLegacySession({ carrier, open, close: closeServed, onFault, askMs }),
    async release(connection) {
      modern.release(connection);
      const opening = connections.get(connection);
      connections.delete(connection);
      const served = await opening?.catch(() => undefined);
      if (served !== undefined) await closeServed(served);
    },
    get suspended() { return modern.suspended; },
    close: () => modern.close(),
  };
}

/**
 * A message that names a version in its `_meta` is of the modern era. `initialize` is legacy unless the version it names there is one
 * that we serve statelessly. A message that names none is modern when the header does, or when its method exists in that era alone.
 */
function eraOfMessage(message: Message, versionHeader?: string): MessageEra {
  const headed = versionHeader !== undefined && /^\d{4}-\d\d-\d\d$/.test(versionHeader) && eraOf(versionHeader) === 'modern';
  if (message.kind !== 'request') return headed ? 'modern' : 'legacy';
  const { method, params } = message.message;
  const meta = isObject(params?.['_meta']) ? params['_meta'] : {};
  const claimed = meta[`${META}protocolVersion`];
  if (method === 'initialize') return typeof claimed === 'string' && modernRevisions.includes(claimed) ? 'modern' : 'opening';
  if (claimed !== undefined || headed || method === 'server/discover' || method === 'subscriptions/listen') return 'modern';
  return 'legacy';
}
