/** Servers that an agent cannot do without (FACTS C56): named, or part of a name, in any case. */
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import type { AgentDefinition } from '../config/types.ts';
import type { Lease } from './types.ts';

/** At the root: connects them. Fails with SERVER_UNKNOWN naming the one that is not there, with why it did not connect as the cause. */
export async function requireServers(agent: AgentDefinition, { config, connections }: Pick<Lease, 'config' | 'connections'>, signal?: AbortSignal): Promise<void> {
  await Promise.all(agent.requires.map(async (wanted) => {
    let cause: AnyFailure | undefined;
    for (const server of fitting(wanted, config.servers.keys())) {
      try {
        await connections.open(server, signal);
        return;
      } catch (error) {
        cause ??= toFailure(error, 'connect');
      }
    }
    throw missing(agent, wanted, [...config.servers.keys()], cause);
  }));
}

/** For a child: looks whether the parent has them, connects nothing. */
export async function requireConnected(agent: AgentDefinition, { connections, catalogue }: Pick<Lease, 'connections' | 'catalogue'>, stopped: ReadonlySet<string>): Promise<void> {
  if (agent.requires.length === 0) return;
  const { servers } = await catalogue.view();
  // A server that is known from the cache is connected by its first call.
  const there = connections.status().filter(({ name, state }) => !stopped.has(name) && (state === 'connected' || (state === 'idle' && servers.has(name)))).map(({ name }) => name);
  for (const wanted of agent.requires) if (fitting(wanted, there).length === 0) throw missing(agent, wanted, there);
}

function fitting(wanted: string, names: Iterable<string>): string[] {
  const part = wanted.toLowerCase();
  return [...names].filter((name) => name.toLowerCase().includes(part));
}

function missing(agent: AgentDefinition, wanted: string, known: readonly string[], cause?: AnyFailure): AnyFailure {
  return new Failure('SERVER_UNKNOWN', `Cannot use the agent "${agent.name}": it requires the server "${wanted}", which is not connected${cause === undefined ? '' : `: ${cause.message}`}`, {
    stage: 'connect', origin: agent.origin, details: { server: wanted, known, nearest: [] }, hint: cause?.hint ?? 'zuno-lite mcp list', cause,
  }) as AnyFailure;
}
