/**
 * The only holder of the disk. Reads are bounded and take regular files only; writes replace a file as a whole or not at
 * all; a lock holds across processes and outlives nobody. Trouble of the system becomes a `Failure` that names the path.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { delay, now } from './deadline.ts';
import { Failure } from './failure.ts';
import { isObject, parseJson } from './json.ts';
import { byteSize } from './text.ts';

const BOM = '\ufeff';

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied', EPERM: 'the system does not permit it', ENOENT: 'no such file or directory', ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only', EISDIR: 'it is a directory', ENOTDIR: 'part of the path is not a directory', ELOOP: 'too many symbolic links',
};

function refusal(action: string, file: string, error: unknown): Failure {
  const code = systemCode(error);
  const reason = REASONS[code];
  return new Failure('CONFIG_UNREADABLE', `Cannot ${action} "${file}": ${reason === undefined ? code : `${reason} (${code})`}`, { stage: 'config', details: { file }, cause: error });
}

function unsuitable(file: string, what: string): Failure {
  return new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": ${what}`, { stage: 'config', details: { file } });
}

/**
 * The bytes of a regular file, `undefined` when there is none. Directories, pipes and devices are refused, and so is
 * more than `maxBytes`. Fails with CONFIG_UNREADABLE.
 */
export function readBytes(file: string, maxBytes: number): Buffer | undefined {
  let descriptor: number;
  try {
    // A pipe opened without O_NONBLOCK would wait for its writer for ever.
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw refusal('read', file, error);
  }
  try {
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile()) throw unsuitable(file, 'it is not a regular file');
    const tooBig = (): Failure => unsuitable(file, `it is larger than ${byteSize(maxBytes)}`);
    if (stat.size > maxBytes) throw tooBig();
    // Files of /proc say they are empty, and a file may grow while it is read: the size is a guess, the end is the end.
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(Math.max(4096, stat.size - total + 1));
      const length = fs.readSync(descriptor, chunk, 0, chunk.length, null);
      if (length === 0) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      total += length;
      if (total > maxBytes) throw tooBig();
      chunks.push(chunk.subarray(0, length));
    }
  } catch (error) {
    throw error instanceof Failure ? error : refusal('read', file, error);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * The text of a UTF-8 file, `undefined` when there is none. A byte order mark is dropped unless `keepBom`. Text that is not UTF-8 is
 * refused, because writing it back would destroy it. Fails with CONFIG_UNREADABLE.
 */
export function readText(file: string, maxBytes: number, options: { readonly keepBom?: boolean } = {}): string | undefined {
  const bytes = readBytes(file, maxBytes);
  if (bytes === undefined) return undefined;
  const text = bytes.toString('utf8');
  // U+FFFD may also stand in the file itself; only then are the bytes compared.
  if (text.includes('\ufffd') && !Buffer.from(text, 'utf8').equals(bytes)) throw unsuitable(file, 'it is not UTF-8 text');
  return text.startsWith(BOM) && options.keepBom !== true ? text.slice(1) : text;
}

export function exists(file: string): boolean {
  return fs.existsSync(file);
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Permission bits, and whether the file is this user's (always so where the system does not tell); `undefined` when it is not there. */
export function accessOf(file: string): { readonly mode: number; readonly own: boolean } | undefined {
  const stat = statOf(file);
  return stat === undefined ? undefined : { mode: stat.mode & 0o777, own: process.getuid === undefined || stat.uid === process.getuid() };
}

export function isFile(file: string): boolean {
  return statOf(file)?.isFile() === true;
}

export function isDirectory(file: string): boolean {
  return statOf(file)?.isDirectory() === true;
}

/** Bytes of a regular file; `undefined` when there is none. */
export function sizeOf(file: string): number | undefined {
  const stat = statOf(file);
  return stat?.isFile() === true ? stat.size : undefined;
}

/** `length` bytes of a regular file from `start` on, fewer at its end, and the size of the whole. Fails with CONFIG_UNREADABLE, also when it is not there. */
export function readWindow(file: string, start: number, length: number): { readonly bytes: Buffer; readonly size: number } {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile()) throw unsuitable(file, 'it is not a regular file');
    const window = Buffer.alloc(Math.max(0, Math.min(length, stat.size - start)));
    let filled = 0;
    while (filled < window.length) {
      const got = fs.readSync(descriptor, window, filled, window.length - filled, start + filled);
      if (got === 0) break;
      filled += got;
    }
    return { bytes: window.subarray(0, filled), size: stat.size };
  } catch (error) {
    throw error instanceof Failure ? error : refusal('read', file, error);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/** The canonical path (all links followed, case as on the disk); `undefined` when it does not exist or may not be looked at. */
export function realPath(file: string): string | undefined {
  try {
    return fs.realpathSync.native(file);
  } catch {
    return undefined;
  }
}

/** Names in a directory, sorted; empty when there is no such directory. */
export function readDirectory(directory: string): string[] {
  try {
    return fs.readdirSync(directory).sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw refusal('list', directory, error);
  }
}

/** Makes a directory and its parents; those that exist keep their mode. */
export function makeDirectory(directory: string, mode = 0o700): void {
  try {
    fs.mkdirSync(directory, { recursive: true, mode });
  } catch (error) {
    throw refusal('create', directory, error);
  }
}

/** Removes a file or a whole directory; nothing there is fine. */
export function remove(file: string): void {
  try {
    fs.rmSync(file, { recursive: true, force: true });
  } catch (error) {
    throw refusal('remove', file, error);
  }
}

/** Owner and links matter where secrets rest: whoever can swap a file or its directory can read or replace what is in it. */
function strangersHand(stat: fs.Stats): boolean {
  const uid = process.getuid?.();
  return uid !== undefined && stat.uid !== uid;
}

/**
 * A directory for secrets: made 0700, or checked to be a real directory of ours and closed to everybody else. True when it had to be
 * closed. Fails with CONFIG_UNREADABLE when it is a link, no directory, or another user's. Windows has only the access list of its parent.
 */
export function makePrivateDirectory(directory: string): boolean {
  makeDirectory(directory);
  try {
    const stat = fs.lstatSync(directory);
    if (!stat.isDirectory()) throw unsuitable(directory, 'it is not a real directory');
    if (strangersHand(stat)) throw unsuitable(directory, 'it belongs to another user');
    if (process.platform === 'win32' || (stat.mode & 0o077) === 0) return false;
    fs.chmodSync(directory, 0o700);
    return true;
  } catch (error) {
    throw error instanceof Failure ? error : refusal('use', directory, error);
  }
}

/** `readText` for a file with secrets: no link is followed, another user's file is refused, and one that others may read is closed first. */
export function readPrivateText(file: string, maxBytes: number): string | undefined {
  try {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    if (!stat.isFile()) throw unsuitable(file, 'it is not a regular file');
    if (strangersHand(stat)) throw unsuitable(file, 'it belongs to another user');
    if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) fs.chmodSync(file, 0o600);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return undefined;
    throw error instanceof Failure ? error : refusal('read', file, error);
  }
  return readText(file, maxBytes);
}

/** Writes a file that is not there yet; false, and nothing done, where something has its name (a link to nowhere too). Fails with CONFIG_UNREADABLE. */
export function writeNewFile(file: string, content: string | Uint8Array, mode = 0o666): boolean {
  try {
    fs.writeFileSync(file, content, { flag: 'wx', mode });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw refusal('write', file, error);
  }
}

/** Gives a file another name. Fails with CONFIG_UNREADABLE. */
export function rename(from: string, to: string): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    throw refusal('move', from, error);
  }
}

/** Adds to the end of a file and creates it (0600 unless `mode` says otherwise). One call is one write. */
export async function appendText(file: string, text: string, mode = 0o600): Promise<void> {
  try {
    await fs.promises.appendFile(file, text, { mode });
  } catch (error) {
    throw refusal('write', file, error);
  }
}

export interface WriteOptions {
  /** Forced on the file. Default: the mode of the file that is replaced. */
  readonly mode?: number;
  /** Mode of a file that is new, when `mode` is absent. Default: 0600, since most of what is written may hold secrets. */
  readonly newMode?: number;
}

/** Where a path leads: through links, also through one whose target does not exist yet. */
function finalTarget(file: string): string {
  let at = path.resolve(file);
  for (let hop = 0; hop < 40; hop++) {
    const real = realPath(at);
    if (real !== undefined) return real;
    let next: string;
    try { next = fs.readlinkSync(at); } catch { return at; }
    at = path.resolve(path.dirname(at), next);
  }
  return at;
}

/** Windows refuses a rename while a scanner looks at the target. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (error) {
      if (process.platform !== 'win32' || attempt >= 10 || !['EPERM', 'EACCES', 'EBUSY'].includes(systemCode(error))) throw error;
      await delay(20 * (attempt + 1));
    }
  }
}

/**
 * Replaces a file as a whole: written beside it, synced, renamed. Whoever reads sees the old text or the new one, also after
 * a crash. A symbolic link stays one and its target is replaced. The directory must exist. Fails with CONFIG_UNREADABLE.
 */
export async function writeFileAtomic(file: string, content: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
  const target = finalTarget(file);
  const before = statOf(target);
  const mode = options.mode ?? (before === undefined ? options.newMode ?? 0o600 : before.mode & 0o7777);
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  try {
    const open = await fs.promises.open(temporary, 'wx', 0o600);
    try {
      await open.writeFile(content);
      // An administrator who edits another person's file leaves it theirs.
      if (before !== undefined && process.getuid?.() === 0 && before.uid !== 0) await open.chown(before.uid, before.gid).catch(() => {});
      await open.chmod(mode);
      await open.sync();
    } finally {
      await open.close();
    }
    await renameOver(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw refusal('write', file, error);
  }
  await syncDirectory(path.dirname(target));
}

/** Makes the rename itself durable. Not every system can; the text is safe either way. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    const open = await fs.promises.open(directory, 'r');
    try { await open.sync(); } finally { await open.close(); }
  } catch {
    // Windows cannot open directories.
  }
}

// --- Lock ------------------------------------------------------------------------------------------------------------
// A lock is a directory that holds a file `owner`. It appears complete, by renaming a prepared directory to its name, which fails
// when the name is taken. A holder that died is not removed (two who both think it dead would remove each other's lock) but
// succeeded: a directory `next-<its mark>` inside, which can appear only once. The last owner of that chain holds the lock;
// only it takes the whole away, again by one rename.

const LOCK_BEAT_MS = 5_000;
const LOCK_STILL_MS = 20_000;
const LOCK_POLL_MS = 25;

interface Owner { readonly mark: string; readonly pid: number; readonly started: string; readonly machine: string }

export interface LockOptions {
  /** How long to wait for another holder, milliseconds. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Start time of a process as the kernel counts it, so that a reused pid is not taken for its predecessor. Linux only; '' elsewhere. */
function startTime(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** Pids mean something only on one machine, in one boot, in one pid namespace (containers may share a host name and a disk). */
function thisMachine(): string {
  try {
    return [os.hostname(), fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), fs.readlinkSync('/proc/self/ns/pid')].join(' ');
  } catch {
    return os.hostname();
  }
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
    return true;
  } catch (error) {
    return systemCode(error) !== 'ESRCH';
  }
}

/** `dead` and `alive` are certain; `unsure` is settled by whether the holder still beats. */
function judge(owner: Owner, machine: string): 'alive' | 'dead' | 'unsure' {
  if (owner.machine !== machine) return 'unsure';
  if (!processExists(owner.pid)) return 'dead';
  const started = startTime(owner.pid);
  if (started === '' || owner.started === '') return owner.pid === process.pid ? 'alive' : 'unsure';
  return started === owner.started ? 'alive' : 'dead';
}

function readOwner(directory: string): Owner | undefined {
  let text: string;
  try { text = fs.readFileSync(path.join(directory, 'owner'), 'utf8'); } catch { return undefined; }
  const value = parseJson(text)?.value;
  if (!isObject(value) || typeof value['mark'] !== 'string' || typeof value['pid'] !== 'number') return undefined;
  return { mark: value['mark'], pid: value['pid'], started: String(value['started'] ?? ''), machine: String(value['machine'] ?? '') };
}

/** The last of the chain: who holds the lock, and in which directory its owner file stands. */
function holder(lock: string): { readonly owner: Owner; readonly directory: string } | undefined {
  let owner = readOwner(lock), directory = lock;
  if (owner === undefined) return undefined;
  for (;;) {
    const next = path.join(lock, `next-${owner.mark}`);
    const successor = readOwner(next);
    if (successor === undefined) return { owner, directory };
    owner = successor;
    directory = next;
  }
}

/** Puts a complete directory with our owner file at `target`; false when something is there (or its parent is gone). */
function claim(lock: string, target: string, owner: Owner): boolean {
  const prepared = `${lock}.${owner.mark}`;
  try {
    fs.mkdirSync(prepared, { mode: 0o700 });
    fs.writeFileSync(path.join(prepared, 'owner'), JSON.stringify(owner), { mode: 0o600 });
  } catch (error) {
    fs.rmSync(prepared, { recursive: true, force: true });
    throw refusal('lock', lock, error);
  }
  try {
    fs.renameSync(prepared, target);
  } catch {
    fs.rmSync(prepared, { recursive: true, force: true });
    return false;
  }
  if (holder(lock)?.owner.mark === owner.mark) return true;
  // The lock changed hands between the look and the claim, which stands in a place where it means nothing.
  if (target !== lock) fs.rmSync(target, { recursive: true, force: true });
  return false;
}

function beatOf(directory: string): number {
  return fs.statSync(path.join(directory, 'owner'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * Runs `work` while holding the lock at `path` (a name of its own, conventionally `<file>.lock`; its directory must exist). Holds
 * across processes; a holder that was killed is succeeded at once. Not re-entrant. Fails with TIMEOUT (retryable), CANCELED, or
 * with what `work` throws.
 */
export async function withLock<T>(lock: string, work: () => T | Promise<T>, options: LockOptions): Promise<T> {
  const owner: Owner = { mark: crypto.randomUUID(), pid: process.pid, started: startTime(process.pid), machine: thisMachine() };
  const startedAt = now();
  let seen = { mark: '', beat: 0, since: startedAt };
  for (;;) {
    const current = holder(lock);
    if (current === undefined) {
      // Also true for the moment in which a directory without an owner stands in the way: claim says no, and we wait.
      if (claim(lock, lock, owner)) break;
    } else {
      const beat = beatOf(current.directory);
      if (seen.mark !== current.owner.mark || seen.beat !== beat) seen = { mark: current.owner.mark, beat, since: now() };
      const verdict = judge(current.owner, owner.machine);
      const gone = verdict === 'dead' || (verdict === 'unsure' && now() - seen.since > LOCK_STILL_MS);
      if (gone && claim(lock, path.join(lock, `next-${current.owner.mark}`), owner)) break;
    }
    const waited = now() - startedAt;
    if (options.signal?.aborted) throw new Failure('CANCELED', `Cannot lock "${lock}": canceled`, { stage: 'config', details: {} });
    if (waited >= options.waitMs) {
      const who = current === undefined ? 'something else is there' : `process ${current.owner.pid} holds it`;
      throw new Failure('TIMEOUT', `Cannot lock "${lock}": ${who}`, { stage: 'config', details: { afterMs: Math.round(waited) }, recovery: 'retryable', hint: 'Try again when the other process is done' });
    }
    await delay(Math.min(LOCK_POLL_MS * (1 + Math.random()), options.waitMs - waited), options.signal);
  }
  return holdLock(lock, owner, work);
}

async function holdLock<T>(lock: string, owner: Owner, work: () => T | Promise<T>): Promise<T> {
  const file = path.join(holder(lock)?.directory ?? lock, 'owner');
  const beat = setInterval(() => { const at = new Date(); fs.utimes(file, at, at, () => {}); }, LOCK_BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    const away = `${lock}.${owner.mark}`;
    try {
      // A holder that slept through its own succession must not take the successor's lock away.
      if (holder(lock)?.owner.mark === owner.mark) fs.renameSync(lock, away);
      fs.rmSync(away, { recursive: true, force: true });
    } catch {
      // Someone removed the lock by hand; there is nothing left to release.
    }
  }
}
