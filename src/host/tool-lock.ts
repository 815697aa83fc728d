/** The lock file of a workspace, enforced: a tool whose definition is not the one that somebody looked at and locked is not offered. */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { diffText } from '../registry/pin-diff.ts';
import { checkPin, type Lock } from '../registry/pins.ts';
import { refusedByLock } from '../registry/refusals.ts';
import type { ToolEntry } from '../registry/types.ts';
import { LOCK_FILE, lockFileOf, readLockFile } from './lock-file.ts';

export interface ToolLock {
  /** Why a tool is not the locked one; nothing when it is. */
  drift(entry: ToolEntry): { readonly why: string; readonly failure: AnyFailure } | undefined;
}

/** Fails with CONFIG_INVALID when there is no lock file or it is none, with CONFIG_UNREADABLE when it cannot be read. */
export function loadToolLock(workspace: string): ToolLock {
  const file = lockFileOf(workspace), lock = readLockFile(file);
  if (lock === undefined) {
    throw new Failure('CONFIG_INVALID', `Cannot use only locked tools: there is no ${file}`, { stage: 'config', details: { file, problems: [{ pointer: '', message: 'is missing' }] }, hint: 'zuno-lite mcp lock' });
  }
  const known = new WeakMap<ToolEntry, ReturnType<ToolLock['drift']>>();
  return {
    drift(entry) {
      if (!known.has(entry)) known.set(entry, driftOf(lock, entry));
      return known.get(entry);
    },
  };
}

function driftOf(lock: Lock, entry: ToolEntry): ReturnType<ToolLock['drift']> {
  const check = checkPin(lock, entry);
  if (check.kind === 'same') return undefined;
  const told = refusedByLock(entry, check), changes = 'changes' in check ? check.changes : undefined;
  const why = changes === undefined ? `"${entry.id}" is not in ${LOCK_FILE}` : `"${entry.id}" is not what ${LOCK_FILE} has: its ${changes.map(({ field }) => field).join(', ')} changed`;
  if (changes === undefined || told.code !== 'PERMISSION_DENIED') return { why, failure: told };
  // What a server wrote anew is the very thing that nobody looked at: a model reads which parts changed, a person the difference.
  return { why, failure: new Failure('PERMISSION_DENIED', told.message, { stage: told.stage, origin: told.origin, hint: told.hint, details: { ...told.details, diff: diffText(changes) } }) as AnyFailure };
}
