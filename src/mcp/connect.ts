/** From an unopened transport to a client: open, probe or shake hands, fall back where the specification has it. */
import { now, startDeadline } from '../base/deadline.ts';
import { Failure, isFailure, toFailure, type AnyFailure, type Stage } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { createClient } from './client.ts';
import { initialize } from './legacy.ts';
import { createModern, makeStamp } from './modern.ts';
import { judge, modernAfterAll, noCommonRevision, type Observation } from './negotiate.ts';
import { openPeer, type Peer, type Settled } from './peer.ts';
import { eraOf, legacyRevisions, newestModern } from './revisions.ts';
import type { Client, ConnectOptions } from './types.ts';

/** Starts or reaches the server and agrees on a revision. Rejects with a `Failure`; then nothing is left running. */
export async function connectClient(options: ConnectOptions): Promise<Client> {
  const deadline = startDeadline(options.connectMs ?? limits.connectMs, options.signal);
  let peer: Peer | undefined;
  const fresh = async (make = options.transport): Promise<Peer> => {
    await peer?.connection.close();
    peer = undefined;
    const transport = make();
    const open = (): Promise<Peer> => openPeer(transport, options, deadline.signal);
    // Streamable HTTP opens nothing: its first request is what connects.
    return (peer = transport.kind === 'streamable-http' ? await open() : await timed(options, transport.kind === 'sse' ? 'connect' : 'spawn', open));
  };
  const older = async (first: unknown): Promise<Settled> => {
    const { fallback } = options;
    if (fallback === undefined || !pointsToOlderTransport(first)) throw first;
    const because = toFailure(first, 'handshake');
    try {
      return await handshake(await fresh(() => fallback(because)), options, deadline.remaining);
    } catch (second) {
      throw bothFailed(because, toFailure(second, 'handshake'));
    }
  };
  try {
    const settled = await negotiate(await fresh(), fresh, options, deadline.remaining).catch(older);
    options.memory?.remember(settled.lifecycle.era);
    return createClient(settled, options);
  } catch (error) {
    // The cause is known before the cleaning up; closing can only add to it.
    const failure = deadline.expired ? connectTimeout(deadline.budgetMs, error) : toFailure(error, 'connect');
    await peer?.connection.close();
    throw failure;
  } finally {
    deadline.dispose();
  }
}

function pointsToOlderTransport(error: unknown): boolean {
  return isFailure(error) && error.code === 'HTTP_STATUS' && error.stage === 'handshake' && [400, 404, 405].includes(error.details.status);
}

/** Every attempt is told; the first one is what was configured, so it gives code and cause. */
function bothFailed(first: AnyFailure, second: AnyFailure): AnyFailure {
  const told = second.message === first.message ? 'it answers the same' : second.message;
  return new Failure(first.code, `${first.message}; nor is it a server of the older HTTP+SSE kind: ${told}`, {
    stage: first.stage, details: first.details as never, recovery: first.recovery, hint: first.hint, cause: new AggregateError([first, second]),
  }) as AnyFailure;
}

async function timed<T>(options: ConnectOptions, stage: Stage, work: () => Promise<T>): Promise<T> {
  const startedAt = now();
  options.onBegin?.(stage);
  try {
    return await work();
  } finally {
    options.onStage?.(stage, now() - startedAt);
  }
}

function connectTimeout(budgetMs: number, cause: unknown): AnyFailure {
  if (isFailure(cause) && cause.code === 'TIMEOUT') return cause;
  return new Failure('TIMEOUT', `Cannot connect to the server: it was not ready within ${budgetMs} ms`, { stage: isFailure(cause) ? cause.stage : 'connect', details: { afterMs: budgetMs }, recovery: 'retryable', cause }) as AnyFailure;
}

// ---- negotiation

async function negotiate(first: Peer, fresh: () => Promise<Peer>, options: ConnectOptions, remaining: () => number): Promise<Settled> {
  // HTTP+SSE belongs to the legacy era: nothing to probe, and a modern pin cannot be met.
  const onlyLegacy = first.connection.transport.kind === 'sse';
  const wanted = onlyLegacy && (options.protocol ?? 'auto') === 'auto' ? 'legacy' : options.protocol ?? 'auto';
  if (onlyLegacy && wanted !== 'legacy' && eraOf(wanted) === 'modern') throw noCommonRevision([wanted], legacyRevisions);
  if (wanted === 'legacy' || pinnedLegacy(options) !== undefined) return handshake(first, options, remaining);
  if (wanted === 'auto' && options.memory?.recall() === 'legacy') return handshakeOrModern(first, options, remaining);
  return probe(first, fresh, options, remaining, wanted);
}

/** A legacy revision that is pinned is offered and nothing else accepted. */
function pinnedLegacy({ protocol }: ConnectOptions): string | undefined {
  return protocol === undefined || protocol === 'auto' || protocol === 'legacy' || eraOf(protocol) === 'modern' ? undefined : protocol;
}

async function handshake(peer: Peer, options: ConnectOptions, remaining: () => number, revision?: string): Promise<Settled> {
  const pinned = pinnedLegacy(options);
  const lifecycle = await timed(options, 'handshake', () => initialize(peer.connection, {
    clientInfo: options.clientInfo, answers: options.answers ?? {}, revision: pinned ?? revision, accepted: pinned === undefined ? undefined : [pinned],
    timeoutMs: remaining(), signal: options.signal,
  }));
  peer.bind(lifecycle);
  return { ...peer, lifecycle };
}

/** `initialize`, unless its refusal proves a modern server that was only slow to answer the probe, or has been updated since. */
async function handshakeOrModern(peer: Peer, options: ConnectOptions, remaining: () => number, revision?: string): Promise<Settled> {
  try {
    return await handshake(peer, options, remaining, revision);
  } catch (error) {
    const modern = isFailure(error) && error.code === 'REMOTE_ERROR' ? modernAfterAll(error.details.rpcCode, error.details.data) : undefined;
    if (modern === undefined) throw error;
    const seen = await observe(peer, options, modern, remaining());
    const verdict = judge(seen, { wanted: 'auto', carrier: carrierOf(peer), corrected: true });
    if (verdict.kind !== 'modern') throw error;
    return adopt(peer, options, verdict.revision, verdict.discovered);
  }
}

async function probe(first: Peer, fresh: () => Promise<Peer>, options: ConnectOptions, remaining: () => number, wanted: string): Promise<Settled> {
  // A silent old server must not eat the budget. Pinned, or over a network, silence leads nowhere: the probe may take all there is.
  const budget = (): number => (wanted === 'auto' && carrierOf(first) === 'process' ? Math.max(1, Math.min(limits.probeMs, Math.floor((options.connectMs ?? limits.connectMs) / 2), remaining())) : remaining());
  let revision = wanted === 'auto' ? newestModern : wanted;
  for (let corrected = false; ; corrected = true) {
    const asked = revision;
    const seen = await timed(options, 'probe', () => observe(first, options, asked, budget()));
    const verdict = judge(seen, { wanted, carrier: carrierOf(first), corrected });
    switch (verdict.kind) {
      case 'modern': return adopt(first, options, verdict.revision, verdict.discovered);
      case 'again': revision = verdict.revision; break;
      case 'legacy': return handshakeOrModern(verdict.fresh ? await fresh() : first, options, remaining, verdict.revision);
      case 'fail': throw verdict.failure;
    }
  }
}

function carrierOf(peer: Peer): 'process' | 'network' {
  return peer.connection.transport.kind === 'stdio' || peer.connection.transport.kind === 'memory' ? 'process' : 'network';
}

async function observe(peer: Peer, options: ConnectOptions, revision: string, timeoutMs: number): Promise<Observation> {
  try {
    const value = await peer.connection.request('server/discover', {
      stamp: makeStamp(revision, options.clientInfo, options.answers ?? {}), action: 'ask the server what it speaks', stage: 'probe',
      timeoutMs, ceilingMs: timeoutMs, signal: options.signal, cancel: 'none', mutating: false, accept: (result) => result,
    });
    return { kind: 'result', value };
  } catch (error) {
    const failure = toFailure(error, 'probe');
    switch (failure.code) {
      case 'REMOTE_ERROR': return { kind: 'error', code: failure.details.rpcCode, data: failure.details.data, failure };
      case 'TIMEOUT': return { kind: 'silence', failure };
      case 'SERVER_EXITED': case 'CONNECTION_CLOSED': return { kind: 'gone', failure };
      case 'HTTP_STATUS': return { kind: speaksForLegacy(failure.details.status) ? 'foreign' : 'trouble', failure };
      // An HTTP answer that is no message at all; on a pipe this is noise, and the reason to give up.
      case 'PROTOCOL_VIOLATION': return { kind: carrierOf(peer) === 'network' ? 'foreign' : 'trouble', failure };
      default: return { kind: 'trouble', failure };
    }
  }
}

/** Authorization, overload and outages say nothing of the era; every other refusal is what old servers answer to the unknown. */
function speaksForLegacy(status: number): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 408 && status !== 429;
}

function adopt(peer: Peer, options: ConnectOptions, revision: string, discovered: JsonObject): Settled {
  const lifecycle = createModern({
    revision, discovered, clientInfo: options.clientInfo, answers: options.answers ?? {}, perRequest: peer.connection.transport.perRequest,
    onNotice: (message) => options.onNotice?.({ kind: 'violation', message }), emit: peer.emit,
  });
  peer.connection.transport.negotiated?.({ era: 'modern', revision });
  peer.bind(lifecycle);
  return { ...peer, lifecycle };
}
