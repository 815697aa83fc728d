/** What a session is handed of its host: everything it needs, and no way around gate and lease. */
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import type { Config } from '../config/types.ts';
import type { GateOptions } from '../registry/gate.ts';
import type { Rule } from '../registry/types.ts';
import type { Audit } from './audit.ts';
import type { HostOptions, Lease, LeaseOptions, Person } from './types.ts';

/** The registry, loaded once per host and on need. */
export type Registry = Pick<typeof import('../registry/catalog.ts'), 'buildCatalogue' | 'findTool' | 'fingerprint'> & Pick<typeof import('../registry/gate.ts'), 'createGate'>;

/** What a gate of a session has of its own. */
export interface GateWishes {
  /** In place of the lease's configuration. */
  readonly permissions?: Config['permissions'] | undefined;
  /** After those of the host (`--allow` and the like). */
  readonly rules?: readonly Rule[] | undefined;
  /** In place of the host's. */
  readonly person?: Person | undefined;
}

export interface SessionContext {
  /** The host's; a lease may have another. */
  readonly config: Config;
  readonly paths: Paths;
  readonly log: Log;
  readonly environment: HostOptions['environment'];
  readonly life: 'one-shot' | 'session';
  readonly person?: Person | undefined;
  /** Of the host: on top of the configuration's, never beating its deny. */
  readonly rules: readonly Rule[];
  readonly assumeYes: boolean;
  /** `HostOptions.locked`, else what the configuration says. */
  readonly locked: boolean;
  /** The file in which a person adds a rule. */
  readonly ruleFile: string;
  /** Where calls are recorded: `createAudit` of `audit.ts`, made once from `config.audit` and closed with the host. Absent: nowhere. */
  readonly audit?: Audit | undefined;
  /** Live servers; the session releases what it leased. */
  lease(options?: LeaseOptions): Lease;
  loadRegistry(): Promise<Registry>;
  /** Options of a gate whose calls go through this lease; spread them to change more. */
  gateOptions(lease: Lease, wishes?: GateWishes): GateOptions;
}
