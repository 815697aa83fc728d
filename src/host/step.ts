/** One step: the tools that one request to a model shows, frozen, and the calls that come back for them. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import { nativeTraits, type NativeToolId, type ResourceToolId } from '../registry/native-tools.ts';
import { deniedByRule } from '../registry/refusals.ts';
import type { OfferedTool, Outcome, ToolEntry } from '../registry/types.ts';
import { createBatch, type Batch } from './asking-person.ts';
import { remember } from './journal-records.ts';
import { callNative, type NativeOutcome } from './native-calls.ts';
import { refusalAtGates, type Offer } from './offer.ts';
import { resourceWork } from './resource-tools.ts';
import { searchWork } from './search-tool.ts';
import { heldBack, type SessionCore } from './session-core.ts';
import { changed, resultOf, unavailable } from './step-result.ts';
import type { Step, StepCall, StepCallOptions, StepResult } from './types.ts';

/** A step as its session holds it. */
export interface LiveStep extends Step {
  readonly offer: Offer;
  /** The next step has begun: no more calls. */
  retire(): void;
}

export function createStep(core: SessionCore, offer: Offer, numbers: { readonly number: number; readonly revision: number }, batches: WeakMap<AbortSignal, Batch>): LiveStep {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  let state: 'open' | 'canceled' | 'retired' = 'open';
  const shown = new Map(offer.tools.map((tool) => [tool.id, tool]));
  const search = searchWork(core, offer);

  async function call(id: string, args: unknown, { callId = `call_${randomUUID().slice(0, 8)}`, signal, onProgress }: StepCallOptions, batch: Batch): Promise<StepResult> {
    const tool = shown.get(id);
    if (tool !== undefined && core.options.inspect !== true) noteCall(callId, tool);
    const joined = join(ending.signal, signal);
    batches.set(joined.signal, batch);
    let done: NativeOutcome;
    try {
      done = await core.lanes.run(isExclusive(tool), () => settle(id, tool, args, joined.signal, onProgress), joined.signal);
    } catch (error) {
      done = { outcome: { kind: 'failed', failure: toFailure(error, 'call') } };
    } finally {
      joined.release();
    }
    core.journal?.append({ kind: 'call', callId, id, schemaId: tool?.schemaId ?? '', outcome: done.outcome.kind });
    return resultOf({ callId, id }, done.outcome, core.artifacts.write, done.metadata);
  }

  function noteCall(callId: string, { id, schemaId }: OfferedTool): void {
    remember(core.memory.calls, callId, { id, schemaId });
  }

  /** A server's tools run alone unless their user said otherwise; the host's own readers never mind company. */
  function isExclusive(tool: OfferedTool | undefined): boolean {
    if (tool === undefined) return false;
    const entry = offer.entries.get(tool.id);
    return entry === undefined ? nativeTraits(tool.id as NativeToolId).concurrency === 'exclusive' : !core.parallel(entry);
  }

  async function settle(id: string, tool: OfferedTool | undefined, args: unknown, signal: AbortSignal, onProgress: StepCallOptions['onProgress']): Promise<NativeOutcome> {
    if (state === 'canceled' || signal.aborted) return blocked(new Failure('CANCELED', `Cannot call "${id}": it was canceled before it started`, { stage: 'call', details: { method: 'tools/call' } }) as AnyFailure);
    if (state === 'retired') return blocked(unavailable(id, 'the step that showed it is over', { hint: 'Call it in the newest step' }));
    if (core.options.inspect === true) return blocked(unavailable(id, 'this session is for looking only'));
    if (tool === undefined) {
      const { failure, entry } = await refusalOf(id);
      return refuse(failure, entry, args);
    }
    const entry = offer.entries.get(id);
    if (entry === undefined) return callNative(core, id as NativeToolId, args, id === 'tool_search' ? search : resourceWork(id as ResourceToolId, core.lease, offer.resourceServers), signal);
    const drift = await driftOf(entry);
    if (drift !== undefined) return refuse(drift, entry, args);
    const denied = heldBack(core, entry, isObject(args) ? args : {});
    if (denied !== undefined) return refuse(deniedByRule(entry, denied), entry, args);
    return { outcome: await core.gate.call(entry, args, { signal, ...(onProgress === undefined ? {} : { onProgress }) }) };
  }

  /** What was asked for and does not reach the gate is recorded all the same. */
  function refuse(failure: AnyFailure, entry: ToolEntry | undefined, args: unknown): NativeOutcome {
    if (entry !== undefined) core.audit?.({ id: entry.id, server: entry.server, tool: entry.tool, fingerprint: entry.fingerprint, argumentNames: isObject(args) ? Object.keys(args) : [], outcome: 'blocked', code: failure.code, elapsedMs: 0 });
    return blocked(failure);
  }

  /** Why a tool that was not shown cannot be called. */
  async function refusalOf(id: string): Promise<{ readonly failure: AnyFailure; readonly entry?: ToolEntry }> {
    const isIt = (known: ToolEntry): boolean => known.id === id;
    const entry = offer.view.entries.find(isIt) ?? (await core.lease.catalogue.view()).entries.find(isIt);
    if (entry === undefined) return { failure: unavailable(id, 'this step shows no such tool', { nearest: nearest(id, shown.keys()) }) };
    const barred = refusalAtGates(core, entry);
    if (barred !== undefined) return { failure: barred, entry };
    if (!offer.plan.deferred.some(isIt)) return { failure: unavailable(id, 'it came after this step began', { hint: 'It can be called in the next step' }), entry };
    if (core.memory.found.has(id)) return { failure: unavailable(id, 'it was only just found and can be called from the next step on'), entry };
    return { failure: unavailable(id, 'it is not shown yet', { hint: 'Find it with tool_search, then call it in the next step' }), entry };
  }

  /** A model decided by what it was shown: a tool that is another one by now is not what it meant. */
  async function driftOf(entry: ToolEntry): Promise<AnyFailure | undefined> {
    const view = await core.lease.catalogue.view();
    if (!view.servers.has(entry.server)) return undefined;
    const now = view.entries.find(({ server, tool: name }) => server === entry.server && name === entry.tool);
    if (now === entry || (now !== undefined && now.id === entry.id && now.fingerprint === entry.fingerprint)) return undefined;
    return changed(entry, now);
  }

  return {
    ...numbers, offer, tools: offer.tools, notes: offer.notes,
    call: (id, args, options = {}) => call(id, args, options, createBatch()),
    async callAll(calls: readonly StepCall[], options = {}) {
      const batch = createBatch(), { signal, release } = join(ending.signal, options.signal);
      // One listener at the caller's signal, however many calls there are.
      setMaxListeners(0, signal);
      try {
        return await Promise.all(calls.map(({ id, args, callId }) => call(id, args, { ...options, signal, ...(callId === undefined ? {} : { callId }) }, batch)));
      } finally {
        release();
      }
    },
    cancel() {
      if (state === 'open') state = 'canceled';
      ending.abort(new DOMException('The step was canceled', 'AbortError'));
    },
    retire() { if (state === 'open') state = 'retired'; },
  };
}

const blocked = (failure: AnyFailure): { readonly outcome: Outcome } => ({ outcome: { kind: 'blocked', failure } });

/** One signal for two, without a listener that outlives the call. */
function join(own: AbortSignal, other: AbortSignal | undefined): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController(), signals = other === undefined ? [own] : [own, other];
  const onAbort = (event: { readonly target: unknown }): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) if (signal.aborted) controller.abort(signal.reason); else signal.addEventListener('abort', onAbort, { once: true });
  return { signal: controller.signal, release() { for (const signal of signals) signal.removeEventListener('abort', onAbort); } };
}
