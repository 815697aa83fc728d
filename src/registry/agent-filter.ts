/**
 * The second gate: which tools an agent has at all. An exact list is taken at its word: the tools it names and no other. A read-only role
 * inherits no server's tools, because what a tool of a server does is unknown: it has those that its own rules name one by one.
 */
import { isWild, namesExactly } from './rule-match.ts';
import type { NativeToolId } from './native-tools.ts';
import type { Rule, ToolEntry } from './types.ts';

/** What of an agent's definition decides. */
export interface AgentScope {
  /** Exact allow list in any spelling. Absent: whatever the role inherits. */
  readonly tools?: readonly string[] | undefined;
  readonly readOnly: boolean;
  /** The agent's own. */
  readonly rules: readonly Rule[];
}

/** `listed`: somebody picked it by name, so it is shown at once. */
export type Inheritance = { readonly inherits: true; readonly listed: boolean; readonly why: string } | { readonly inherits: false; readonly why: string };

export interface AgentFilter {
  inheritable(entry: ToolEntry): Inheritance;
  inheritableNative(id: NativeToolId): Inheritance;
}

/** @param servers all configured servers: with them a spelling is known to mean one of them */
export function createAgentFilter({ tools, readOnly, rules }: AgentScope, servers: readonly string[] = []): AgentFilter {
  const listed = tools === undefined ? undefined : new Set(tools);
  const named = new Set(rules.filter(({ key, effect }) => !isWild(key) && (effect === 'allow' || effect === 'ask')).map(({ key }) => key));
  const refuse = (why: string): Inheritance => ({ inherits: false, why });
  return {
    inheritable(entry) {
      if (listed !== undefined) return namesExactly(listed, entry, servers) ? { inherits: true, listed: true, why: 'the agent lists it' } : refuse('the agent has a list of tools and this one is not on it');
      if (!readOnly) return { inherits: true, listed: false, why: 'the agent inherits the tools of servers' };
      return namesExactly(named, entry, servers) ? { inherits: true, listed: false, why: 'a rule of the read-only agent names it' } : refuse('the agent is read-only and no rule of its own names this tool');
    },
    // They only read, so a read-only role has them. An exact list speaks for servers' tools; it needs no search, and names the rest itself.
    inheritableNative(id) {
      if (listed === undefined) return { inherits: true, listed: false, why: 'it only reads' };
      return listed.has(id) || (id !== 'tool_search' && listed.has('read')) ? { inherits: true, listed: true, why: 'the agent lists it' } : refuse('the agent has a list of tools and this one is not on it');
    },
  };
}
