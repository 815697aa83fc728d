/** What holds where a configuration says nothing. */
import { limits } from '../base/limits.ts';
import type { Config } from './types.ts';

/** A configuration without servers, rules or settings. Programs that make one by hand start from it. */
export const emptyConfig: Omit<Config, 'workspace'> = {
  servers: new Map(), permissions: { mode: 'standard', rules: [] }, mcpEnabled: true, naming: 'plain',
  concurrency: { connections: limits.connections, toolCalls: limits.toolCalls, delegations: limits.delegations }, parallelTools: [],
  exposure: { mode: 'auto', autoToolLimit: limits.exposureTools, autoSchemaBytes: limits.exposureBytes, smallServerToolLimit: limits.exposureToolsPerServer, servers: {} },
  agents: new Map(), commands: new Map(), lock: 'off', diagnostics: [], layers: [], admissions: [],
};
