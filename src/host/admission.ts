/** What keeps a tool from the commands of one run whatever the rules say: the list and role of the agent that was named, and the lock file. */
import { Failure, type AnyFailure } from '../base/failure.ts';
import type { AgentDefinition, Config } from '../config/types.ts';
import { createAgentFilter } from '../registry/agent-filter.ts';
import type { ToolEntry } from '../registry/types.ts';
import { resolveAgent } from './agents.ts';
import { loadToolLock } from './tool-lock.ts';

export interface Admission {
  /** Absent: no agent was named, so there is none whose rules hold. */
  readonly agent: AgentDefinition | undefined;
  /** The first of the two that keeps the tool out; `failure` is what a call of it comes to. */
  refusal(entry: ToolEntry): { readonly gate: 'agent' | 'lock'; readonly why: string; readonly failure: AnyFailure } | undefined;
}

/**
 * `locked`: default as the configuration says. Fails with USAGE or CONFIG_INVALID when there is no such agent, or it is disabled, or the lock
 * file is missing or none.
 */
export function createAdmission(config: Config, { agent: name, locked = config.lock === 'enforce' }: { readonly agent?: string | undefined; readonly locked?: boolean | undefined }): Admission {
  const agent = name === undefined ? undefined : resolveAgent(config, name, 'any');
  // Looked at it may be; nothing is called for it.
  if (agent?.disabled === true) resolveAgent(config, name, 'root');
  const filter = agent === undefined ? undefined : createAgentFilter(agent, [...config.servers.keys()]);
  const lock = locked ? loadToolLock(config.workspace) : undefined;
  return {
    agent,
    refusal(entry) {
      const has = filter?.inheritable(entry);
      if (has?.inherits === false) return { gate: 'agent', why: has.why, failure: refusedByAgent(entry, agent!, has.why) };
      const drift = lock?.drift(entry);
      return drift === undefined ? undefined : { gate: 'lock', ...drift };
    },
  };
}

function refusedByAgent(entry: ToolEntry, { name, origin }: AgentDefinition, why: string): AnyFailure {
  return new Failure('PERMISSION_DENIED', `Cannot call "${entry.id}" as "${name}": ${why}`, {
    stage: 'permission', origin, details: { tool: entry.id, why: 'agent' }, hint: `zuno-lite debug agent ${name}`,
  }) as AnyFailure;
}
