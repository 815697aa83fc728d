/**
 * Delegation: a child session inside the bounds of what a step of its parent showed, schema by schema. It borrows the parent's servers and
 * may not change them, its rules stand under those above it, and it sees all of its tools at once.
 */
import { randomUUID } from 'node:crypto';
import { Failure, toFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { mayDelegate, resolveAgent } from './agents.ts';
import type { Batch } from './asking-person.ts';
import { openJournal } from './journal.ts';
import { requireConnected } from './required-servers.ts';
import { createCore, type SessionCore } from './session-core.ts';
import type { LiveStep } from './step.ts';
import type { Session, Step } from './types.ts';

type OpenSession = (core: SessionCore, batches: WeakMap<AbortSignal, Batch>, release: () => Promise<CloseReport>) => Session;

export interface Delegation {
  delegate: Session['delegate'];
  /** Closes the children. Never rejects. */
  close(): Promise<void>;
}

export function createDelegation(core: SessionCore, isOwn: (step: Step) => step is LiveStep, open: OpenSession): Delegation {
  const { config, agent: own, depth } = core, most = config.concurrency.delegations;
  const children = new Set<Session>();
  let places = 0, closed = false;

  function refuse(why: string, hint?: string): never {
    throw new Failure('PERMISSION_DENIED', `Cannot delegate from the agent "${own.name}": ${why}`, { stage: 'permission', details: { tool: 'delegate', why: 'child' }, hint });
  }

  async function make(step: LiveStep, { agent: name, tools, rules, journal: file }: Omit<Parameters<Session['delegate']>[0], 'step'>): Promise<Session> {
    // Without a name the work stays with the same role.
    const agent = name === undefined ? own : resolveAgent(config, name, 'child');
    await requireConnected(agent, core.lease, core.stopped);
    const id = randomUUID();
    const journal = file === undefined ? undefined : await openJournal(file, { session: id, workspace: config.workspace, agent: agent.name }, core.log);
    const batches = new WeakMap<AbortSignal, Batch>(), { person, inspect } = core.options;
    const child = createCore({
      id: journal?.session ?? id, agent, options: { tools, rules, person, inspect }, context: core.context, lease: core.lease, pins: core.pins, artifacts: core.artifacts, journal, ownServers: core.ownServers, depth: depth + 1, batches,
      parent: {
        session: core.id, rules: core.rules, policies: [...(core.parent?.policies ?? []), core.policy],
        ceiling: new Map(step.tools.map((tool) => [tool.id, tool.schemaId])), fingerprints: new Map([...step.offer.entries].map(([toolId, { fingerprint }]) => [toolId, fingerprint])),
      },
    });
    // The parent waited for the servers.
    child.memory.settled = true;
    for (const server of core.stopped) child.stopped.add(server);
    const session: Session = open(child, batches, async () => {
      if (children.delete(session)) places -= 1;
      return { forced: [] };
    });
    children.add(session);
    return session;
  }

  return {
    async delegate({ step, ...options }) {
      if (closed) throw new Failure('CANCELED', 'Cannot delegate: the session is closed', { stage: 'close', details: {} });
      if (!isOwn(step)) throw new TypeError('A session delegates from a step of its own');
      if (depth >= limits.delegationDepth) refuse(`it was delegated to itself, and delegation goes ${limits.delegationDepth} deep`);
      if (!mayDelegate(own)) refuse('a subagent does not delegate');
      if (places >= most) refuse(`${most} are at work already`, 'Close one, or raise "concurrency.delegations"');
      places += 1;
      try {
        return await make(step, options);
      } catch (error) {
        places -= 1;
        throw toFailure(error);
      }
    },
    async close() {
      closed = true;
      await Promise.all([...children].map((child) => child.close()));
    },
  };
}
