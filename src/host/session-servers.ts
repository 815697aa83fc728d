/** Servers that belong to one session alone: read from its options, connected strictly (all or none), written nowhere. */
import { Failure, toFailure, withContext, type AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { readDeclarations } from '../config/dialects.ts';
import { buildEntries } from '../config/entries.ts';
import { unplacedLayer } from '../config/layers.ts';
import { settleTrust } from '../config/trust.ts';
import type { Config } from '../config/types.ts';
import type { HostOptions, Lease } from './types.ts';

/**
 * The host's configuration with the servers of a session after its own; one of the same name is replaced. Fails with CONFIG_INVALID when
 * one of them is not usable as it stands.
 */
export function withSessionServers(config: Config, servers: Readonly<Record<string, JsonObject>>, { paths, environment }: Pick<HostOptions, 'paths' | 'environment'>): Config {
  const layer = unplacedLayer({ kind: 'built-in', source: 'session', trusted: true, directory: config.workspace }, { mcp: servers });
  const declared = readDeclarations(layer, paths.home);
  const made = buildEntries(declared.declarations, { trust: settleTrust([]), environment, home: paths.home, workspace: config.workspace });
  const problems = [...declared.notices, ...made.diagnostics];
  const [wrong] = problems;
  if (wrong !== undefined) throw new Failure('CONFIG_INVALID', wrong.message, { stage: 'config', origin: wrong.origin, details: { file: 'session', problems } });
  const all = new Map(config.servers);
  for (const [name, entry] of made.servers) { all.delete(name); all.set(name, entry); }
  return { ...config, servers: all };
}

/** Connects them all and reads their lists. When one fails, those that run are stopped in reverse order and that failure is thrown. */
export async function connectAll({ connections, catalogue }: Pick<Lease, 'connections' | 'catalogue'>, names: readonly string[], signal?: AbortSignal): Promise<void> {
  const giveUp = new AbortController();
  const onAbort = (): void => giveUp.abort(signal?.reason);
  if (signal?.aborted === true) onAbort(); else signal?.addEventListener('abort', onAbort, { once: true });
  const failures: { readonly name: string; readonly failure: AnyFailure }[] = [];
  await Promise.all(names.map(async (name) => {
    try {
      await connections.connect(name, giveUp.signal);
      await catalogue.listing(name, giveUp.signal);
    } catch (error) {
      failures.push({ name, failure: toFailure(error, 'connect') });
      giveUp.abort();
    }
  }));
  signal?.removeEventListener('abort', onAbort);
  // The one that failed first is the reason; the others were given up for it.
  const [first] = failures;
  if (first === undefined) return;
  for (const name of [...names].reverse()) await connections.disconnect(name).catch(() => false);
  throw withContext(first.failure, { hint: `The session needs all of its servers (${names.join(', ')}); "${first.name}" did not connect` });
}
