/** Agents: the built-in roles, what the configuration makes of them, and which one a session may have. */
import { Failure, type AnyFailure, type Origin } from '../base/failure.ts';
import { nearest } from '../base/text.ts';
import { builtInRoles } from '../config/roles.ts';
import type { AgentDefinition, Config } from '../config/types.ts';

const origin: Origin = { file: 'built-in', layer: 'built-in' };

/** Primary ones lead a session, subagents are delegated to, `all` may do both. Read-only ones inherit no server's tools. */
export const builtInAgents: readonly AgentDefinition[] = Object.entries(builtInRoles).map(([name, role]) => ({ name, ...role, rules: [], requires: [], disabled: false, origin }));

export const DEFAULT_AGENT = 'build';

/** By name: the built-in ones with what the configuration says of them, then its own. */
export function knownAgents({ agents }: Pick<Config, 'agents'>): ReadonlyMap<string, AgentDefinition> {
  const known = new Map(builtInAgents.map((agent) => [agent.name, agent]));
  for (const own of agents.values()) {
    const base = known.get(own.name);
    known.set(own.name, base === undefined ? own : refine(base, own));
  }
  return known;
}

/** A built-in role can be narrowed and described anew; what it may not do it still may not. */
function refine(base: AgentDefinition, own: AgentDefinition): AgentDefinition {
  return {
    ...base, ...own,
    readOnly: base.readOnly || own.readOnly,
    rules: [...base.rules, ...own.rules], requires: [...base.requires, ...own.requires],
  };
}

/** Whether an agent may hand work to others: those who may lead a session do; a subagent is handed work. */
export function mayDelegate(agent: AgentDefinition): boolean {
  return agent.mode !== 'subagent';
}

/**
 * The agent of a session. `as`: what it is to be; `any` to look at it only. Default name: `default_agent`, else `build`.
 * @throws {Failure} USAGE: no such agent, or its mode does not allow it. CONFIG_INVALID: it is disabled, or `default_agent` names none
 */
export function resolveAgent(config: Pick<Config, 'agents' | 'defaultAgent'>, name: string | undefined, as: 'root' | 'child' | 'any'): AgentDefinition {
  const known = knownAgents(config), wanted = name ?? config.defaultAgent ?? DEFAULT_AGENT;
  const agent = known.get(wanted);
  if (agent === undefined) throw unknown(wanted, [...known.keys()], name === undefined);
  if (agent.disabled && as !== 'any') {
    throw new Failure('CONFIG_INVALID', `Cannot use the agent "${wanted}": it is disabled`, {
      stage: 'config', origin: agent.origin, hint: `Remove "disable" of the agent "${wanted}" in ${agent.origin.file}`,
      details: { file: agent.origin.file, problems: [{ pointer: agent.origin.key ?? `agents.${wanted}`, message: 'is disabled' }] },
    });
  }
  if (as === 'root' && agent.mode === 'subagent') throw wrongMode(agent, 'it is a subagent and leads no session', 'Delegate to it, or give it "mode": "primary"');
  if (as === 'child' && agent.mode === 'primary') throw wrongMode(agent, 'it is a primary agent and is not delegated to', 'Choose a subagent, or give it "mode": "subagent"');
  return agent;
}

function wrongMode(agent: AgentDefinition, why: string, hint: string): AnyFailure {
  return new Failure('USAGE', `Cannot use the agent "${agent.name}": ${why}`, { stage: 'usage', origin: agent.origin, details: { argument: agent.name }, hint }) as AnyFailure;
}

function unknown(name: string, known: readonly string[], configured: boolean): AnyFailure {
  const close = nearest(name, known);
  const message = `Cannot use the agent "${name}": there is no such agent${close.length > 0 ? `; did you mean ${close.map((one) => `"${one}"`).join(' or ')}?` : ''}`;
  const hint = `Known agents: ${known.join(', ')}`;
  if (configured) return new Failure('CONFIG_INVALID', message, { stage: 'config', details: { problems: [{ pointer: 'default_agent', message: `names no agent: ${name}` }] }, hint }) as AnyFailure;
  return new Failure('USAGE', message, { stage: 'usage', details: { argument: name, nearest: close }, hint }) as AnyFailure;
}
