/**
 * Who holds which live servers. A lease has its own unless it names what it shares; what is shared outlives its last holder by a grace, so
 * that one session after the other finds its servers running (FACTS C30, R44).
 */
import { limits } from '../base/limits.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import type { Living } from './lease.ts';
import type { Timers } from './timers.ts';
import type { Lease, LeaseOptions } from './types.ts';

export interface Pool {
  lease(options: LeaseOptions): Lease;
  /** Everything at once, whoever holds it. Idempotent, never rejects. */
  close(): Promise<CloseReport>;
}

interface Shared { readonly living: Living; readonly holders: LeaseOptions[]; cancelGrace: (() => void) | undefined }

/** `holders`: whoever holds it at the moment, in order; the first who can be asked is asked. */
export function createPool(start: (options: LeaseOptions, holders: () => readonly LeaseOptions[]) => Living, timers: Timers): Pool {
  const all = new Set<Living>();
  const shared = new Map<string, Shared>();
  let closing: Promise<CloseReport> | undefined;

  async function end(living: Living): Promise<CloseReport> {
    const report = await living.close();
    all.delete(living);
    return report;
  }

  function begin(options: LeaseOptions, holders: () => readonly LeaseOptions[]): Living {
    const living = start(options, holders);
    all.add(living);
    if (closing !== undefined) void living.close();
    return living;
  }

  function share(name: string, options: LeaseOptions): Lease {
    if (options.config !== undefined) throw new TypeError('A shared lease has the configuration of its host');
    let found = shared.get(name);
    if (found === undefined) {
      const holders: LeaseOptions[] = [];
      shared.set(name, (found = { living: begin(options, () => holders), holders, cancelGrace: undefined }));
    }
    const { living, holders } = found, mine = found;
    mine.cancelGrace?.();
    mine.cancelGrace = undefined;
    holders.push(options);
    return leaseOf(living, () => {
      holders.splice(holders.indexOf(options), 1);
      if (holders.length === 0) mine.cancelGrace = timers.after(limits.poolGraceMs, () => { if (shared.get(name) === mine) shared.delete(name); void end(living); });
      return Promise.resolve({ forced: [] });
    });
  }

  return {
    lease(options) {
      if (options.share !== undefined) return share(options.share, { ...options });
      const living = begin(options, () => [options]);
      return leaseOf(living, () => end(living));
    },
    close: () => (closing ??= closeAll()),
  };

  async function closeAll(): Promise<CloseReport> {
    for (const one of shared.values()) one.cancelGrace?.();
    shared.clear();
    const reports = await Promise.all([...all].map(end));
    return { forced: reports.flatMap(({ forced }) => forced) };
  }
}

function leaseOf({ config, connections, catalogue, ask }: Living, give: () => Promise<CloseReport>): Lease {
  let released: Promise<CloseReport> | undefined;
  return { config, connections, catalogue, ask, release: () => (released ??= give()) };
}
