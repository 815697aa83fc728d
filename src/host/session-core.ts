/** What the parts of one session share: what it was given, the gate that is its own, and the little that changes while it lives. */
import type { AnyFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { AgentDefinition, Config, Rule } from '../config/types.ts';
import { createAgentFilter, type AgentFilter } from '../registry/agent-filter.ts';
import { createAsking, type Asking } from '../registry/asking.ts';
import { createExposure, type ExposurePlanner } from '../registry/exposure.ts';
import { createGate, type AuditRecord, type Gate, type GateOptions } from '../registry/gate.ts';
import { createOffers } from '../registry/native-tools.ts';
import { createPolicy, type Policy } from '../registry/permission.ts';
import { compileRule, namesOf, type MatchOptions } from '../registry/rule-match.ts';
import type { SearchIndex } from '../registry/search.ts';
import type { Decision, OfferedTool, Standing, ToolEntry } from '../registry/types.ts';
import type { ArtifactStore } from './artifact-store.ts';
import { askInBatches, type Approve, type Batch } from './asking-person.ts';
import { createCallLanes, type CallLanes } from './call-lanes.ts';
import type { CallMark } from './journal-records.ts';
import type { Journal } from './journal.ts';
import type { SessionContext } from './session-context.ts';
import { changed } from './step-result.ts';
import type { ToolLock } from './tool-lock.ts';
import type { CatalogueView, Lease, SessionOptions } from './types.ts';

/** What a session is made of. */
export interface SessionParts {
  readonly id: string;
  readonly agent: AgentDefinition;
  readonly options: SessionOptions;
  readonly context: SessionContext;
  readonly lease: Lease;
  /** Absent: definitions are not pinned. */
  readonly pins: ToolLock | undefined;
  readonly artifacts: ArtifactStore;
  readonly journal: Journal | undefined;
  /** Servers of the session alone: all of their tools are shown at once. */
  readonly ownServers: readonly string[];
  readonly parent?: ParentBounds | undefined;
  /** 0 at the root. */
  readonly depth: number;
  readonly batches: WeakMap<AbortSignal, Batch>;
  /** Who is asked, in place of the person: whoever it is that called, known by the call's signal. */
  readonly approve?: Approve | undefined;
}

export interface SessionCore extends Omit<SessionParts, 'batches' | 'approve'> {
  readonly config: Config;
  readonly log: Log;
  readonly gate: Gate;
  /** The same as the gate's: also for the host's own tools. */
  readonly policy: Policy;
  /** Of the agents and sessions from the top down to this one. */
  readonly rules: readonly Rule[];
  /** For the host's own tools. */
  readonly asking: Asking;
  readonly audit: ((record: AuditRecord) => void) | undefined;
  /** What the agent has, and what of it the session picked. */
  readonly filters: readonly AgentFilter[];
  readonly lanes: CallLanes;
  readonly exposure: ExposurePlanner;
  readonly offered: (entry: ToolEntry) => OfferedTool;
  /** Which of a server's tools their user declared safe to run beside others. */
  readonly parallel: (entry: ToolEntry) => boolean;
  /** Servers that were disconnected by hand: their tools are not offered. */
  readonly stopped: Set<string>;
  /** What keeps a tool out for as long as the session lives. */
  readonly verdicts: WeakMap<ToolEntry, Barred | 'admitted'>;
  /** Of the last search. */
  readonly searches: { index?: { readonly entries: readonly ToolEntry[]; readonly view: CatalogueView; readonly index: SearchIndex } };
  readonly memory: SessionMemory;
}

/** The first gate that keeps a tool out; `failure` is what a call of it comes to. */
export interface Barred { readonly gate: NonNullable<Standing['gate']>; readonly why: string; readonly failure?: AnyFailure; readonly decision?: Decision }

/** What a child is held to. */
export interface ParentBounds {
  readonly session: string;
  /** Schema identities of the parent's step, by id. */
  readonly ceiling: ReadonlyMap<string, string>;
  /** Fingerprints of the servers' tools among them. */
  readonly fingerprints: ReadonlyMap<string, string>;
  /** From the top down. */
  readonly rules: readonly Rule[];
  /** A deny of any of them is final for the child. */
  readonly policies: readonly Policy[];
}

export interface SessionMemory {
  revision: number;
  steps: number;
  /** Found by searches. */
  readonly found: Set<string>;
  /** Everything that was shown once. */
  readonly shown: Set<string>;
  /** Tools of the last step: id and schema identity. */
  lastShown: ReadonlyMap<string, string>;
  /** Under which declaration calls were made. */
  readonly calls: Map<string, CallMark>;
  /** What an earlier process found has not been shown by this one yet. */
  restored: boolean;
  settled: boolean;
}

export function createCore({ batches, approve: asked, ...parts }: SessionParts): SessionCore {
  const { agent, options, context, lease, journal, parent } = parts, { config } = lease;
  const person = options.person ?? context.person, approve = asked ?? askInBatches(person?.approve?.bind(person), batches);
  const agentRules = [...(parent?.rules ?? []), ...agent.rules], sessionRules = options.rules ?? [];
  const audit = context.audit?.recorder({ session: parts.id, agent: agent.name });
  const given = context.gateOptions(lease, { person });
  const gateOptions: GateOptions = { ...given, agentRules, agentMode: agent.permissionMode, sessionRules, approve, audit, admit: undefined, invoke: invokeOnceKnown(lease, given.invoke) };
  return {
    ...parts, config, log: context.log, audit, rules: [...agentRules, ...sessionRules], policy: createPolicy(gateOptions), gate: createGate(gateOptions), asking: createAsking({ approve, redact: given.redact }),
    lanes: createCallLanes(config.concurrency.toolCalls), exposure: createExposure(), offered: createOffers(), stopped: new Set(), verdicts: new WeakMap(), searches: {}, memory: memoryOf(journal),
    filters: [agent, ...(options.tools === undefined ? [] : [{ tools: options.tools, readOnly: false, rules: [] }])].map((scope) => createAgentFilter(scope, [...config.servers.keys()])),
    parallel: declaredParallel(config.parallelTools, gateOptions),
  };
}

/** Like a rule that allows: it has to be sure whom it means. */
function declaredParallel(patterns: readonly string[], options: MatchOptions): (entry: ToolEntry) => boolean {
  const rules = patterns.map((key) => compileRule({ key, pattern: '*', effect: 'allow', origin: { file: 'concurrency.parallel_tools', layer: 'built-in' } }, options));
  return (entry) => rules.length > 0 && rules.some((rule) => rule.key(namesOf(entry, options)) === 'sure');
}

function memoryOf(journal: Journal | undefined): SessionMemory {
  const { revision = 0, steps = 0, exposed = [], shown = new Map<string, string>(), calls = new Map<string, CallMark>() } = journal?.restored ?? {};
  return { revision, steps, found: new Set(exposed), shown: new Set([...exposed, ...shown.keys()]), lastShown: shown, calls: new Map(calls), restored: exposed.length > 0, settled: false };
}

/**
 * A directory that came from the cache was a memory until now: a call that was admitted under it must not reach another tool of the same
 * name, so the server is asked for its list first.
 */
function invokeOnceKnown({ catalogue }: Pick<Lease, 'catalogue'>, invoke: GateOptions['invoke']): GateOptions['invoke'] {
  return async (permit, take) => {
    const admitted = take(permit), { entry, options: { signal } } = admitted;
    if ((await catalogue.view()).servers.get(entry.server)?.from === 'cache') {
      await catalogue.listing(entry.server, signal);
      const now = (await catalogue.view()).entries.find(({ server, tool }) => server === entry.server && tool === entry.tool);
      if (now?.fingerprint !== entry.fingerprint) throw changed(entry, now);
    }
    return invoke(permit, () => admitted);
  };
}

/** The first deny of the sessions above. */
export function heldBack({ parent }: Pick<SessionCore, 'parent'>, entry: ToolEntry, args: JsonObject): Decision | undefined {
  for (const policy of parent?.policies ?? []) {
    const decision = policy.decide(entry, args);
    if (decision.effect === 'deny') return decision;
  }
  return undefined;
}
