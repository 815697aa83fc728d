/**
 * What a step offers: the four gates in the order of the walk (FACTS Z26), then what of it is shown at once and what waits for a search,
 * then the host's own tools.
 */
import type { AnyFailure } from '../base/failure.ts';
import { oneLine } from '../base/text.ts';
import { rivalOfSearch, type ExposurePlan } from '../registry/exposure.ts';
import { nativeTraits, offeredNative, resourceToolIds, type NativeToolId } from '../registry/native-tools.ts';
import { deniedByRule } from '../registry/refusals.ts';
import { searchDescription } from '../registry/search.ts';
import type { OfferedTool, Standing, ToolEntry } from '../registry/types.ts';
import type { Barred, SessionCore } from './session-core.ts';
import { unavailable } from './step-result.ts';
import type { CatalogueView, SchemaExposure } from './types.ts';

export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** Of servers, by id, as they were when the step began. */
  readonly entries: ReadonlyMap<string, ToolEntry>;
  readonly plan: ExposurePlan;
  /** Whether there is a search, and why not. */
  readonly discovery: SchemaExposure['discovery'];
  readonly view: CatalogueView;
  readonly notes: readonly string[];
  /** The one of them that somebody has to hear of: a server took the name of the search. */
  readonly warning?: string | undefined;
  /** Those that can be read from. */
  readonly resourceServers: readonly string[];
}

function barred(core: SessionCore, entry: ToolEntry): Barred | undefined {
  if (core.stopped.has(entry.server)) return { gate: 'server', why: `the server "${entry.server}" was disconnected by hand` };
  let lasting = core.verdicts.get(entry);
  if (lasting === undefined) core.verdicts.set(entry, (lasting = barredForGood(core, entry) ?? 'admitted'));
  return lasting === 'admitted' ? undefined : lasting;
}

/** What does not change while the session lives. */
function barredForGood(core: SessionCore, entry: ToolEntry): Barred | undefined {
  for (const filter of core.filters) {
    const has = filter.inheritable(entry);
    if (!has.inherits) return { gate: 'agent', why: has.why };
  }
  if (core.gate.hidden(entry)) {
    const decision = core.policy.decide(entry);
    return { gate: 'permission', why: lowerFirst(decision.why), failure: deniedByRule(entry, decision), decision };
  }
  const drift = core.pins?.drift(entry);
  if (drift !== undefined) return { gate: 'lock', why: drift.why, failure: drift.failure };
  const { parent } = core;
  if (parent === undefined) return undefined;
  if (!parent.ceiling.has(entry.id)) return { gate: 'ceiling', why: 'the session that delegated was not shown it' };
  return parent.fingerprints.get(entry.id) === entry.fingerprint ? undefined : { gate: 'ceiling', why: 'it is another one by now than the session that delegated was shown' };
}

/** Why a call of a tool that is not offered is refused; nothing when no gate keeps it out. */
export function refusalAtGates(core: SessionCore, entry: ToolEntry): AnyFailure | undefined {
  const bar = barred(core, entry);
  return bar === undefined ? undefined : bar.failure ?? unavailable(entry.id, bar.why);
}

export function planOffer(core: SessionCore, view: CatalogueView): Offer {
  const admitted: ToolEntry[] = [], locked: Barred[] = [];
  for (const entry of view.entries) {
    const bar = barred(core, entry);
    if (bar === undefined) admitted.push(entry); else if (bar.gate === 'lock') locked.push(bar);
  }
  const rival = rivalOfSearch(admitted), warning = rival === undefined ? undefined : rivalNote(rival), discovery = discoveryOf(core, warning);
  const plan = core.exposure.plan({
    entries: admitted, policy: core.config.exposure, discovery: discovery.available, found: core.memory.found, forcedEager: new Set(core.ownServers),
    // An exact list is a choice of schemas: what is left of it was picked by name. A child sees all it may call.
    pinned: new Set(admitted.filter((entry) => core.parent !== undefined || isListed(core, entry)).map(({ id }) => id)),
  });
  const resourceServers = [...view.servers.values()].filter(({ server, resources }) => resources && !core.stopped.has(server)).map(({ server }) => server).sort();
  const natives = [
    ...(plan.searchable.length > 0 ? [offeredNative('tool_search', searchDescription(plan.searchable))] : []),
    ...(resourceServers.length > 0 ? resourceToolIds.filter((id) => isNativeOffered(core, id)).map((id) => offeredNative(id)) : []),
  ];
  return {
    tools: [...plan.eager.map(core.offered), ...natives], entries: new Map(plan.eager.map((entry) => [entry.id, entry])), plan, discovery, view, resourceServers,
    notes: [...viewNotes(view), ...locked.map(({ why }) => sentence(why)), ...(warning === undefined ? [] : [warning])], warning,
  };
}

function isListed({ filters }: SessionCore, entry: ToolEntry): boolean {
  return filters.some((filter) => { const has = filter.inheritable(entry); return has.inherits && has.listed; });
}

function discoveryOf(core: SessionCore, taken: string | undefined): Offer['discovery'] {
  if (core.parent !== undefined) return { available: false, why: 'A session that was delegated to sees at once all that it may call' };
  if (taken !== undefined) return { available: false, why: taken };
  const { effect, why } = core.policy.decideNative('tool_search');
  return effect === 'deny' || core.policy.hiddenNative('tool_search') ? { available: false, why } : { available: true, why: 'tool_search finds what waits' };
}

/** The session has it by its list and rules; a child besides only as its parent was shown it. */
export function isNativeOffered(core: SessionCore, id: NativeToolId): boolean {
  if (core.policy.hiddenNative(nativeTraits(id).permissionKey, id)) return false;
  if (core.parent !== undefined && core.parent.ceiling.get(id) !== offeredNative(id).schemaId) return false;
  return core.filters.every((filter) => filter.inheritableNative(id).inherits);
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function viewNotes({ failures, renamed, dropped }: CatalogueView): string[] {
  return [
    ...failures.map(({ server, failure }) => `The tools of "${server}" are missing: ${oneLine(failure.message)}`),
    ...renamed.map(({ id, server, tool, reason }) => `"${oneLine(tool)}" of "${server}" is called ${id}: ${reason}`),
    ...dropped.map(({ server, name, reason }) => `The tool "${oneLine(name)}" of "${server}" was left out: ${oneLine(reason)}`),
  ];
}

function rivalNote({ id, server, tool }: ToolEntry): string {
  return `The tool "${tool}" of "${server}" (${id}) has the name of the host's tool_search, which steps back for it: nothing waits for a search`;
}

/** Every known tool with what becomes of it, as if a step began now. */
export function standings(core: SessionCore, view: CatalogueView): readonly Standing[] {
  const { plan } = planOffer(core, view), exposures = new Map(plan.tools.map(({ id, exposure }) => [id, exposure]));
  return view.entries.map((entry): Standing => {
    const { id, server, tool } = entry, bar = barred(core, entry), decision = bar?.decision ?? core.gate.decide(entry);
    if (bar !== undefined) return { id, server, tool, offered: false, gate: bar.gate, why: sentence(bar.why), decision };
    const exposure = exposures.get(id) ?? 'eager';
    return { id, server, tool, offered: true, why: EXPOSED[exposure], decision, exposure };
  });
}

const EXPOSED: Readonly<Record<NonNullable<Standing['exposure']>, string>> = {
  pinned: 'Shown at once: it was picked by name', eager: 'Shown at once: its server is set to be, or there is no search', auto: 'Shown at once: its server is small enough',
  found: 'Shown: a search found it', deferred: 'Waits for a search',
};

/** See `Session.schemaExposure`. */
export function exposureOf(core: SessionCore, view: CatalogueView): SchemaExposure {
  const { plan, discovery, tools } = planOffer(core, view), listed = new Map<string, number>();
  for (const { server } of view.entries) listed.set(server, (listed.get(server) ?? 0) + 1);
  return {
    policy: core.config.exposure, discovery, revision: core.memory.revision,
    eager: tools.map(({ id }) => id), deferred: plan.deferred.map(({ id }) => id), tools: plan.tools.map(({ id, server, schemaBytes, exposure }) => ({ id, server, schemaBytes, exposure })),
    sources: [...view.servers.values()].sort((a, b) => (a.server < b.server ? -1 : 1)).map(({ server, from, title }) => ({ server, from, tools: listed.get(server) ?? 0, ...(title === undefined ? {} : { title }) })),
  };
}
