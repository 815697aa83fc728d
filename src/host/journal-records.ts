/** What stands in a journal, line by line, and what can be made of any beginning of one. */
import { isObject, isStringArray, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';

export const JOURNAL_VERSION = 1;
/** How every header begins, whole or torn. */
const HEADER_START = '{"kind":"journal","version":';

export interface JournalHeader { readonly session: string; readonly workspace: string; readonly agent: string }
/** Which declaration a call was made under. */
export interface CallMark { readonly id: string; readonly schemaId: string }

export type JournalRecord =
  | { readonly kind: 'journal'; readonly version: number; readonly session: string; readonly workspace: string; readonly agent: string; readonly startedAt: string }
  /** `tools`: id and schema identity; absent when they are those of the step before. */
  | { readonly kind: 'step'; readonly number: number; readonly revision: number; readonly tools?: readonly (readonly [string, string])[] | undefined }
  /** Ids that a search newly exposed. */
  | { readonly kind: 'exposed'; readonly revision: number; readonly ids: readonly string[] }
  | { readonly kind: 'call'; readonly callId: string; readonly id: string; readonly schemaId: string; readonly outcome: string };

/** What a journal tells of a session that was. */
export interface JournalState {
  /** Absent: nothing but the torn beginning of a header, or nothing at all. */
  readonly header: JournalHeader | undefined;
  /** Of a header we cannot read because it is newer. */
  readonly version?: number;
  readonly revision: number;
  /** Steps taken. */
  readonly steps: number;
  /** Found by searches, in order. */
  readonly exposed: readonly string[];
  /** Shown by the last step. */
  readonly shown: ReadonlyMap<string, string>;
  /** By call id, the latest `limits.journalCalls`. */
  readonly calls: ReadonlyMap<string, CallMark>;
}

/**
 * Never throws, whatever the text: lines that are no records (torn by a crash) say nothing. `foreign` is a text that was never a journal
 * and must not be written to.
 */
export function readJournal(text: string): JournalState | 'foreign' {
  let header: JournalHeader | undefined, version: number | undefined, revision = 0, steps = 0;
  const exposed = new Set<string>(), calls = new Map<string, CallMark>();
  let shown = new Map<string, string>();
  for (const line of text.split('\n')) {
    const record = recordOf(line);
    if (header === undefined) {
      if (record?.kind === 'journal') { if (record.version === JOURNAL_VERSION) header = record; else version = record.version; }
      // A process that died over its first line left the beginning of a header; anything else is somebody's file.
      else if (line !== '' && !HEADER_START.startsWith(line) && !line.startsWith(HEADER_START)) return 'foreign';
      continue;
    }
    switch (record?.kind) {
      case 'step':
        steps = Math.max(steps, record.number);
        revision = Math.max(revision, record.revision);
        if (record.tools !== undefined) shown = new Map(record.tools);
        break;
      case 'exposed':
        revision = Math.max(revision, record.revision);
        for (const id of record.ids) exposed.add(id);
        break;
      case 'call': remember(calls, record.callId, record); break;
      default:
    }
  }
  return { header, ...(version === undefined ? {} : { version }), revision, steps, exposed: [...exposed], shown, calls };
}

/** The oldest goes when there are too many. */
export function remember(calls: Map<string, CallMark>, callId: string, { id, schemaId }: CallMark): void {
  calls.delete(callId);
  calls.set(callId, { id, schemaId });
  if (calls.size > limits.journalCalls) calls.delete(calls.keys().next().value!);
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isPair = (value: unknown): value is readonly [string, string] => isStringArray(value) && value.length === 2;

function recordOf(line: string): JournalRecord | undefined {
  const value = line === '' ? undefined : parseJson(line)?.value;
  if (!isObject(value)) return undefined;
  const text = (...keys: readonly string[]): boolean => keys.every((key) => typeof value[key] === 'string');
  switch (value['kind']) {
    case 'journal': return isCount(value['version']) && (value['version'] !== JOURNAL_VERSION || text('session', 'workspace', 'agent')) ? (value as unknown as JournalRecord) : undefined;
    case 'step': return isCount(value['number']) && isCount(value['revision']) && (value['tools'] === undefined || (Array.isArray(value['tools']) && value['tools'].every(isPair))) ? (value as unknown as JournalRecord) : undefined;
    case 'exposed': return isCount(value['revision']) && isStringArray(value['ids']) ? (value as unknown as JournalRecord) : undefined;
    case 'call': return text('callId', 'id', 'schemaId', 'outcome') ? (value as unknown as JournalRecord) : undefined;
    default: return undefined;
  }
}
