/**
 * Where tokens and registrations rest: one file per entry name and server URL, 0600 in a 0700 directory, replaced as a whole. A changed URL
 * finds nothing, so tokens never travel to a new place. All changes happen under a lock that holds across processes.
 */
import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { isFailure, toFailure } from '../base/failure.ts';
import { makePrivateDirectory, readDirectory, readPrivateText, remove, rename, withLock, writeFileAtomic } from '../base/files.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { randomToken } from './pkce.ts';
import { recordFrom } from './record.ts';
import type { Log } from '../base/log.ts';
import type { CredentialRecord } from './record.ts';

export type { CredentialRecord } from './record.ts';

/** A sign-in that is under way, for other processes to show or to deliver its answer to. Holds no verifier and no secret but the state in the URL. */
export interface PendingSignIn {
  readonly url: string;
  readonly redirectUri?: string | undefined;
  readonly userCode?: string | undefined;
  readonly startedAt: number;
  readonly expiresAt: number;
  readonly pid: number;
}

/** Read and write inside the lock. */
export interface LockedStore {
  read(): CredentialRecord | undefined;
  /** `generation` and `updatedAt` are set here. */
  write(record: CredentialRecord): Promise<CredentialRecord>;
  /** Forgets the whole record. */
  clear(): void;
}

export interface CredentialStore {
  readonly name: string;
  readonly serverUrl: string;
  /** A record without tokens or registrations, to be filled. */
  readonly empty: CredentialRecord;
  read(): CredentialRecord | undefined;
  /** Short critical section. Fails with TIMEOUT (retryable) after 45 s, CANCELED, or with what `work` throws. */
  locked<T>(work: (store: LockedStore) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Runs the sign-in if no other process does; `undefined` when one does. */
  leading<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined>;
  pending(): PendingSignIn | undefined;
  publish(pending: PendingSignIn | undefined): Promise<void>;
}

export interface StoreOptions {
  /** Absent: everything stays in memory. */
  readonly directory?: string | undefined;
  readonly name: string;
  readonly serverUrl: string;
  readonly log: Log;
}

/** First 32 hex digits of SHA-256 over name and URL: text of others never becomes a file name. */
export function recordId(name: string, serverUrl: string): string {
  return createHash('sha256').update(`v1\n${name}\n${serverUrl.replace(/#.*$/s, '')}`).digest('hex').slice(0, 32);
}

export function createStore(options: StoreOptions): CredentialStore {
  const { name, log } = options;
  const serverUrl = options.serverUrl.replace(/#.*$/s, '');
  const empty: CredentialRecord = { version: 1, name, serverUrl, generation: '', updatedAt: 0, registrations: {}, tokens: undefined };
  return options.directory === undefined ? memoryStore(name, serverUrl, empty) : fileStore(options.directory, name, serverUrl, empty, log);
}

function stamped(record: CredentialRecord): CredentialRecord {
  return { ...record, generation: randomToken().slice(0, 22), updatedAt: Date.now() };
}

function memoryStore(name: string, serverUrl: string, empty: CredentialRecord): CredentialStore {
  let held: CredentialRecord | undefined, waiting: PendingSignIn | undefined;
  let tail: Promise<unknown> = Promise.resolve();
  const inside: LockedStore = { read: () => held, async write(record) { return (held = stamped(record)); }, clear() { held = undefined; } };
  return {
    name, serverUrl, empty, read: () => held,
    locked(work) {
      const run = tail.then(() => work(inside));
      tail = run.catch(() => {});
      return run;
    },
    async leading(work) { return { value: await work() }; },
    pending: () => waiting,
    async publish(pending) { waiting = pending; },
  };
}

function fileStore(directory: string, name: string, serverUrl: string, empty: CredentialRecord, log: Log): CredentialStore {
  const id = recordId(name, serverUrl);
  const places = placesIn(directory);
  const file = path.join(places.credentials, `${id}.json`), pendingFile = path.join(places.pending, `${id}.json`);
  const lockFile = (kind: string): string => path.join(places.locks, `${id}.${kind}.lock`);
  /** Takes over when the disk cannot be used: signing in then lasts as long as this process. */
  let memory: CredentialStore | undefined;
  let prepared = false;
  let newer = false;

  const prepare = (): void => {
    if (prepared || memory !== undefined) return;
    try {
      for (const place of [directory, ...Object.values(places)]) {
        if (makePrivateDirectory(place)) log({ level: 'warning', event: 'oauth.store', message: `Closed "${place}" to other users: it holds credentials` });
      }
      prepared = true;
    } catch (error) {
      giveUp(error);
    }
  };
  const giveUp = (error: unknown): void => {
    log({ level: 'warning', event: 'oauth.store', message: `Signing in is kept for this run only. ${toFailure(error, 'auth').message}` });
    memory = memoryStore(name, serverUrl, empty);
  };

  const read = (): CredentialRecord | undefined => {
    const text = readPrivateText(file, limits.oauthDocumentBytes);
    if (text === undefined) return undefined;
    const value = parseJson(text)?.value;
    newer = isObject(value) && typeof value['version'] === 'number' && value['version'] > 1;
    const record = recordFrom(value, name, serverUrl);
    if (record === undefined) setAside(text, newer);
    return record;
  };
  const setAside = (text: string, fromNewer: boolean): void => {
    if (fromNewer) {
      log({ level: 'warning', event: 'oauth.store', message: `The saved sign-in of "${name}" was written by a newer version and is left alone` });
      return;
    }
    // Another process may have put a good one there meanwhile.
    if (readPrivateText(file, limits.oauthDocumentBytes) !== text) return;
    try {
      makePrivateDirectory(places.quarantine);
      rename(file, path.join(places.quarantine, `${id}.${Date.now()}.json`));
    } catch {
      // It stays where it is and is overwritten by the next sign-in.
    }
    log({ level: 'warning', event: 'oauth.store', message: `The saved sign-in of "${name}" was unreadable and has been set aside. Sign in again` });
  };
  const write = async (record: CredentialRecord): Promise<CredentialRecord> => {
    const next = stamped(record);
    try {
      if (newer) throw new Error('a newer version wrote the file');
      await writeFileAtomic(file, `${JSON.stringify(next)}\n`, { mode: 0o600 });
    } catch (error) {
      giveUp(error);
      return memory!.locked((inside) => inside.write(record));
    }
    return next;
  };
  const inside: LockedStore = { read, write, clear: () => remove(file) };

  return {
    name, serverUrl, empty,
    read: () => (memory === undefined ? read() : memory.read()),
    async locked(work, signal) {
      prepare();
      if (memory !== undefined) return memory.locked(work, signal);
      return withLock(lockFile('refresh'), () => work(inside), { waitMs: limits.lockWaitMs, signal });
    },
    async leading(work) {
      prepare();
      if (memory !== undefined) return memory.leading(work);
      let entered = false;
      try {
        return { value: await withLock(lockFile('login'), () => { entered = true; return work(); }, { waitMs: 0 }) };
      } catch (error) {
        if (!entered && isFailure(error) && error.code === 'TIMEOUT') return undefined;
        throw error;
      }
    },
    pending() {
      if (memory !== undefined) return memory.pending();
      const text = readPrivateText(pendingFile, limits.oauthDocumentBytes);
      return text === undefined ? undefined : pendingFrom(parseJson(text)?.value);
    },
    async publish(pending) {
      if (memory !== undefined) return memory.publish(pending);
      if (pending === undefined) { remove(pendingFile); return; }
      prepare();
      await writeFileAtomic(pendingFile, `${JSON.stringify(pending)}\n`, { mode: 0o600 });
    },
  };
}

function placesIn(directory: string): Readonly<Record<'credentials' | 'locks' | 'pending' | 'quarantine', string>> {
  return { credentials: path.join(directory, 'credentials'), locks: path.join(directory, 'locks'), pending: path.join(directory, 'pending'), quarantine: path.join(directory, 'quarantine') };
}

function pendingFrom(value: unknown): PendingSignIn | undefined {
  if (!isObject(value)) return undefined;
  const { url, redirectUri, userCode, startedAt, expiresAt, pid } = value as Partial<PendingSignIn>;
  if (typeof url !== 'string' || typeof startedAt !== 'number' || typeof expiresAt !== 'number' || typeof pid !== 'number' || expiresAt < Date.now()) return undefined;
  return { url, startedAt, expiresAt, pid, ...(typeof redirectUri === 'string' && { redirectUri }), ...(typeof userCode === 'string' && { userCode }) };
}

/** Every readable record in a directory, for listing and for signing out of entries that are no longer configured. */
export function listRecords(directory: string): CredentialRecord[] {
  const { credentials } = placesIn(directory);
  return readDirectory(credentials).filter((file) => file.endsWith('.json') && !file.startsWith('.')).flatMap((file) => {
    try {
      const text = readPrivateText(path.join(credentials, file), limits.oauthDocumentBytes);
      const record = text === undefined ? undefined : recordFrom(parseJson(text)?.value);
      return record === undefined ? [] : [record];
    } catch {
      return [];
    }
  });
}
