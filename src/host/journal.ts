/**
 * The journal of a session: an append-only file of JSON lines, mode 0600. It holds which tools were shown and called under which declaration,
 * never arguments, results or secrets. One record is one write, so a crash tears the last line at most; a torn line is ended before the next
 * record and says nothing from then on. One process at a time.
 */
import * as path from 'node:path';
import { Failure, toFailure, type AnyFailure } from '../base/failure.ts';
import { accessOf, appendText, makeDirectory, readBytes, withLock } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { JOURNAL_VERSION, readJournal, type JournalHeader, type JournalRecord, type JournalState } from './journal-records.ts';

export interface Journal {
  /** What an earlier process left; an empty one for a new journal. */
  readonly restored: JournalState;
  /** Id of the session: that of the header, kept over restarts. */
  readonly session: string;
  /** Appends in the order of the calls. Never fails the caller: a disk that fails is told once in the log. */
  append(record: Exclude<JournalRecord, { kind: 'journal' }>): void;
  /** Resolves when everything is on the disk. Gives the journal free. Idempotent, never rejects. */
  close(): Promise<void>;
}

/**
 * Opens or creates a journal. Fails with USAGE when the file is no journal, or one of another workspace, agent or version; with
 * CONFIG_UNREADABLE when it cannot be read; with TIMEOUT (retryable) when another session has it open.
 */
export async function openJournal(file: string, header: JournalHeader, log: Log): Promise<Journal> {
  makeDirectory(path.dirname(file));
  const release = await hold(file);
  try {
    const { state, torn } = read(file);
    check(file, state, header);
    const session = state.header?.session ?? header.session;
    let queue: Promise<void> = torn ? appendText(file, '\n') : Promise.resolve();
    if (state.header === undefined) {
      const first: JournalRecord = { kind: 'journal', version: JOURNAL_VERSION, session, workspace: header.workspace, agent: header.agent, startedAt: new Date().toISOString() };
      queue = queue.then(() => appendText(file, `${JSON.stringify(first)}\n`));
    }
    await queue;
    let warned = false, closing: Promise<void> | undefined;
    const write = async (line: string): Promise<void> => {
      try {
        await appendText(file, line);
      } catch (error) {
        if (!warned) log({ level: 'warning', event: 'journal', message: `The journal is not being kept, and the session goes on: ${toFailure(error).message}`, fields: { file } });
        warned = true;
      }
    };
    return {
      restored: state, session,
      append(record) { if (closing === undefined) queue = queue.then(() => write(`${JSON.stringify(record)}\n`)); },
      close: () => (closing ??= queue.then(release)),
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Takes the lock for as long as the session lives. */
function hold(file: string): Promise<() => Promise<void>> {
  return new Promise((resolve, reject) => {
    const lock = withLock(`${file}.lock`, () => new Promise<void>((free) => { resolve(() => { free(); return lock; }); }), { waitMs: limits.killTermMs }).catch((error: unknown) => {
      const failure = toFailure(error);
      reject(failure.code !== 'TIMEOUT' ? failure : new Failure('TIMEOUT', `Cannot use the journal "${file}": another session has it open`, { stage: 'config', details: failure.details, recovery: 'retryable', cause: failure, hint: 'Close that session, or give this one a journal of its own' }));
    });
  });
}

function read(file: string): { readonly state: JournalState; readonly torn: boolean } {
  if (accessOf(file)?.own === false) throw new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": it belongs to another user`, { stage: 'config', details: { file } });
  const bytes = readBytes(file, limits.journalBytes) ?? Buffer.alloc(0);
  // A crash may tear a character too, which strict UTF-8 would refuse the file for.
  const state = readJournal(bytes.toString('utf8'));
  if (state === 'foreign') throw refused(file, 'it is no journal of a session', 'Name another file');
  return { state, torn: bytes.length > 0 && bytes.at(-1) !== 0x0a };
}

function check(file: string, { header, version }: JournalState, wanted: JournalHeader): void {
  if (version !== undefined) throw refused(file, `it has version ${version}, and this program writes version ${JOURNAL_VERSION}`, 'Use the program that wrote it, or name another file');
  if (header === undefined) return;
  if (header.workspace !== wanted.workspace) throw refused(file, `it belongs to the workspace ${header.workspace}`, `Start in ${header.workspace}, or name another file`);
  if (header.agent !== wanted.agent) throw refused(file, `it belongs to the agent "${header.agent}", not to "${wanted.agent}"`, `Use the agent "${header.agent}", or name another file`);
}

function refused(file: string, why: string, hint: string): AnyFailure {
  return new Failure('USAGE', `Cannot restore the journal "${file}": ${why}`, { stage: 'usage', details: { argument: file }, hint }) as AnyFailure;
}
