/** Live servers with their lists: what one holder, or several that share it, have of a configuration. */
import { toFailure, withContext } from '../base/failure.ts';
import { redactFailure } from '../base/redact-failure.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { createCatalogue, type CatalogueOptions } from './catalogue.ts';
import { createConnections, type ConnectionsOptions } from './connections.ts';
import { createEvents, type Events } from './events.ts';
import { isPassing, withRetries } from './recovery.ts';
import { contextOf } from './server-failures.ts';
import type { Catalogue, Connections, Lease, OpenServer, Reader } from './types.ts';

/** The parts that a lease is given of its host. */
export interface LivingOptions extends Omit<ConnectionsOptions, 'events'>, Pick<CatalogueOptions, 'names' | 'loadRegistry' | 'log' | 'background'> {
  readonly config: Config;
  /** Of the host: hears what every lease tells. */
  readonly events: Events;
}

/** What a lease is made of; the pool decides who holds it. */
export interface Living {
  readonly config: Config;
  readonly connections: Connections;
  readonly catalogue: Catalogue;
  readonly ask: Lease['ask'];
  close(): Promise<CloseReport>;
}

export function createLiving(options: LivingOptions): Living {
  const { config, log } = options;
  const events = createEvents(log);
  events.on(options.events.emit);
  const connections = createConnections(config, { ...options, events });
  const catalogue = createCatalogue({ ...options, connections, events, reading });
  let closing: Promise<CloseReport> | undefined;

  /** Asks again where the trouble passes; over a new connection if the old one is gone. Connecting has tries of its own. */
  function reading<T>(first: OpenServer, question: (opened: OpenServer) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (first.entry.kind === 'local') return question(first);
    const { name } = first.entry;
    let asking = false;
    return withRetries(async (attempt) => {
      asking = false;
      const opened = attempt === 1 ? first : await connections.open(name, signal);
      asking = true;
      return question(opened);
    }, { ...options.clock, signal, may: (failure) => asking && isPassing(failure), onRetry: (retry) => options.onRetry?.({ server: name, ...retry }) });
  }

  async function ask<T>(server: string, question: (asked: { readonly entry: ServerEntry; readonly client: Reader }) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const opened = await connections.open(server, signal);
    try {
      return await reading(opened, question, signal);
    } catch (error) {
      throw withContext(redactFailure(toFailure(error, 'call'), opened.redact), contextOf(opened.entry));
    }
  }

  return {
    config, connections, catalogue, ask,
    close() {
      return (closing ??= Promise.all([connections.close(), catalogue.close()]).then(([report]) => report));
    },
  };
}
