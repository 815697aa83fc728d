/**
 * The gates of a session without its conversation: what an agent may see of the servers of a lease and call through them, results as they
 * came. For whoever serves the registry to other programs.
 */
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import type { JsonObject } from '../base/json.ts';
import type { ResourceToolId } from '../registry/native-tools.ts';
import { createSearchIndex } from '../registry/search.ts';
import { resolveAgent } from './agents.ts';
import { createArtifactStore } from './artifact-store.ts';
import { callNative } from './native-calls.ts';
import { isNativeOffered, planOffer, refusalAtGates } from './offer.ts';
import { createCore } from './session-core.ts';
import type { SessionContext } from './session-context.ts';
import { loadToolLock } from './tool-lock.ts';
import type { Gated, GatedOptions, GatedTools, Lease } from './types.ts';

/** Fails with USAGE or CONFIG_INVALID when the agent or the lock file is not what it has to be. */
export function createGated(context: SessionContext, lease: Lease, { agent: name, rules, approve, exposure }: GatedOptions): Gated {
  const agent = resolveAgent(context.config, name, 'root');
  const held: Lease = exposure === undefined ? lease : { ...lease, config: { ...lease.config, exposure } };
  const core = createCore({
    id: randomUUID(), agent, options: { rules }, context, lease: held, approve, pins: context.locked ? loadToolLock(lease.config.workspace) : undefined,
    // Results are given on as they came: nothing is ever put there.
    artifacts: createArtifactStore(path.join(context.paths.data, 'artifacts', 'gateway')),
    journal: undefined, ownServers: [], depth: 0, batches: new WeakMap(),
  });
  let planned: GatedTools | undefined;
  return {
    lease,
    async tools() {
      const view = await lease.catalogue.view();
      if (planned?.view.entries !== view.entries) {
        const { plan: { eager, deferred } } = planOffer(core, view);
        planned = { view, shown: eager, deferred };
      }
      return { ...planned!, view };
    },
    refusal: (entry) => refusalAtGates(core, entry),
    call: (entry, args, options) => core.gate.call(entry, args, options),
    refused(entry, args, failure) {
      core.audit?.({ id: entry.id, server: entry.server, tool: entry.tool, fingerprint: entry.fingerprint, argumentNames: Object.keys(args), outcome: 'blocked', code: failure.code, elapsedMs: 0 });
    },
    mayRead: (id) => isNativeOffered(core, id),
    async read<T>(id: ResourceToolId, args: JsonObject, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal) {
      const done: { value?: T } = {};
      const { outcome } = await callNative(core, id, args, () => async (running) => {
        done.value = await work(running);
        return { content: [], metadata: {} };
      }, signal);
      return { outcome, ...done };
    },
    search({ view, shown, deferred }, query, limit) {
      const sources = new Map([...view.servers.values()].map(({ server, title, instructions }) => [server, { title, description: instructions }]));
      return createSearchIndex([...shown, ...deferred], sources).search(query, limit);
    },
  };
}
