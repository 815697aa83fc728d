/** Protocol revisions we speak, newest first. A revision without new wire words is one string here. */
import type { Era } from './types.ts';

export const modernRevisions: readonly string[] = ['2026-07-28'];
export const legacyRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export const newestModern = '2026-07-28';
export const newestLegacy = '2025-11-25';

/** Revisions are ISO dates, so their order is the order of their text. */
export function eraOf(revision: string): Era {
  return revision >= newestModern ? 'modern' : 'legacy';
}

/** Our newest revision of that era that the peer has too. */
export function mutual(ours: readonly string[], theirs: readonly string[]): string | undefined {
  return ours.find((revision) => theirs.includes(revision));
}
