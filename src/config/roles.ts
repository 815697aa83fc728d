/** The agents that are always there, as far as files need to know them: what a file leaves out of one is as it stands here. */
import type { AgentDefinition } from './types.ts';

export interface Role { readonly mode: AgentDefinition['mode']; readonly readOnly: boolean; readonly description: string }

/** By name. Read-only ones inherit no server's tools. */
export const builtInRoles: Readonly<Record<string, Role>> = {
  orchestrator: { mode: 'primary', readOnly: false, description: 'Plans the work and hands parts of it to others' },
  build: { mode: 'primary', readOnly: false, description: 'Does the work itself' },
  plan: { mode: 'primary', readOnly: true, description: 'Reads and plans, changes nothing' },
  deep: { mode: 'subagent', readOnly: false, description: 'Works on one hard task for long' },
  fixer: { mode: 'subagent', readOnly: false, description: 'Makes one small change' },
  general: { mode: 'subagent', readOnly: false, description: 'Any task that needs several steps' },
  explorer: { mode: 'subagent', readOnly: true, description: 'Finds its way through what is there' },
  librarian: { mode: 'subagent', readOnly: false, description: 'Looks things up in documents and sources' },
  oracle: { mode: 'subagent', readOnly: true, description: 'Advises on a question' },
  looker: { mode: 'subagent', readOnly: false, description: 'Looks at pictures and files' },
};

export function roleOf(name: string): Role | undefined {
  return Object.hasOwn(builtInRoles, name) ? builtInRoles[name] : undefined;
}
