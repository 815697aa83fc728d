/**
 * Which era a server speaks: a pure table from what the probe (`server/discover`) met to a verdict (MCP 2026-07-28, version
 * negotiation). Only positive proof counts as modern; whatever else comes from a stdio server, silence and death included,
 * means legacy. Trouble on the way (authorization, outage) is no evidence of anything.
 */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { isObject, isStringArray, type JsonObject } from '../base/json.ts';
import { codes, isModernError } from '../jsonrpc/codes.ts';
import { eraOf, legacyRevisions, modernRevisions, mutual } from './revisions.ts';

export type Observation =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'error'; readonly code: number; readonly data: unknown; readonly failure: AnyFailure }
  /** No answer within the probe's budget. */
  | { readonly kind: 'silence'; readonly failure: AnyFailure }
  /** The process ended instead of answering, or the connection did. */
  | { readonly kind: 'gone'; readonly failure: AnyFailure }
  /** An HTTP answer that is no JSON-RPC message and speaks for a legacy server. */
  | { readonly kind: 'foreign'; readonly failure: AnyFailure }
  /** Says nothing about the era. */
  | { readonly kind: 'trouble'; readonly failure: AnyFailure };

export interface Circumstances {
  /** `auto`, or the revision that is pinned. */
  readonly wanted: 'auto' | (string & {});
  readonly carrier: 'process' | 'network';
  /** True when this answered a second, corrected probe. */
  readonly corrected: boolean;
}

export type Verdict =
  | { readonly kind: 'modern'; readonly revision: string; readonly discovered: JsonObject }
  /** Probe once more, with this revision. */
  | { readonly kind: 'again'; readonly revision: string }
  /** Send `initialize`; on a fresh process when the probe ended the first one. */
  | { readonly kind: 'legacy'; readonly fresh: boolean; readonly revision?: string }
  | { readonly kind: 'fail'; readonly failure: AnyFailure };

export function judge(seen: Observation, at: Circumstances): Verdict {
  if (seen.kind === 'trouble') return { kind: 'fail', failure: seen.failure };
  if (seen.kind === 'silence' && at.carrier === 'network') return { kind: 'fail', failure: seen.failure };
  if (seen.kind === 'gone' && at.carrier === 'network') return { kind: 'fail', failure: seen.failure };
  const verdict = judgeEvidence(seen, at);
  return verdict.kind === 'legacy' && at.wanted !== 'auto' ? { kind: 'fail', failure: pinRefused(at.wanted, seen) } : verdict;
}

function judgeEvidence(seen: Exclude<Observation, { kind: 'trouble' }>, at: Circumstances): Verdict {
  switch (seen.kind) {
    case 'result': {
      const theirs = discoveredVersions(seen.value);
      if (theirs === undefined) return { kind: 'legacy', fresh: false };
      return choose(theirs, at, (revision) => ({ kind: 'modern', revision, discovered: seen.value as JsonObject }));
    }
    case 'error': {
      if (seen.code === codes.unsupportedVersion) {
        const theirs = isObject(seen.data) && isStringArray(seen.data['supported']) && seen.data['supported'].length > 0 ? seen.data['supported'] : undefined;
        if (theirs === undefined) return { kind: 'legacy', fresh: false };
        // The version just refused may be the very one that is offered: asked again once, as the specification has it.
        return choose(theirs, at, (revision) => (at.corrected ? { kind: 'fail', failure: seen.failure } : { kind: 'again', revision }));
      }
      return isModernError(seen.code) ? { kind: 'fail', failure: seen.failure } : { kind: 'legacy', fresh: false };
    }
    case 'silence': case 'foreign': return { kind: 'legacy', fresh: false };
    case 'gone': return { kind: 'legacy', fresh: true };
  }
}

function choose(theirs: readonly string[], at: Circumstances, modern: (revision: string) => Verdict): Verdict {
  const ours = at.wanted === 'auto' ? modernRevisions : [at.wanted];
  const revision = mutual(ours, theirs);
  if (revision !== undefined) return modern(revision);
  const legacy = mutual(legacyRevisions, theirs);
  if (legacy !== undefined && at.wanted === 'auto') return { kind: 'legacy', fresh: false, revision: legacy };
  return { kind: 'fail', failure: noCommonRevision(at.wanted === 'auto' ? [...modernRevisions, ...legacyRevisions] : [at.wanted], theirs) };
}

/** The versions of a DiscoverResult; `undefined` when the value is none (an empty object or anything else is no discovery). */
function discoveredVersions(value: unknown): readonly string[] | undefined {
  return isObject(value) && isStringArray(value['supportedVersions']) && isObject(value['capabilities']) ? value['supportedVersions'] : undefined;
}

export function noCommonRevision(ours: readonly string[], theirs: readonly string[]): AnyFailure {
  return new Failure('REVISION_UNSUPPORTED', `Cannot agree on a protocol revision: the server speaks ${theirs.join(', ') || 'none'}, this client ${ours.join(', ')}`, {
    stage: 'handshake', details: { ours, theirs }, hint: 'Update the side that is older',
  }) as AnyFailure;
}

function pinRefused(wanted: string, seen: Observation): AnyFailure {
  const cause = 'failure' in seen ? seen.failure : undefined;
  return new Failure('REVISION_UNSUPPORTED', `Cannot speak the pinned revision ${wanted} with the server: it does not answer server/discover as a server of that revision does`, {
    stage: 'probe', details: { ours: [wanted], theirs: [] }, hint: 'Set "protocol" to "auto" or "legacy" for this server', cause,
  }) as AnyFailure;
}

/** What an error answer to `initialize` proves: a modern revision we share, when the first verdict was wrong (a slow start). */
export function modernAfterAll(code: number, data: unknown): string | undefined {
  if (code !== codes.unsupportedVersion || !isObject(data) || !isStringArray(data['supported'])) return undefined;
  return mutual(modernRevisions, data['supported'].filter((revision) => eraOf(revision) === 'modern'));
}
