/** Where the lock file of a workspace is: the nearest one upward to the Git root, so that all of a checkout share it. */
import * as path from 'node:path';
import { isFile, makeDirectory, readText, writeFileAtomic } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { gitRoot, projectWalk } from '../config/locate.ts';
import { readLock, stringifyLock, type Lock } from '../registry/pins.ts';

export const LOCK_FILE = 'zuno.lock.json';

/** The nearest that exists; else where one would be written: the Git root, outside Git the workspace itself. Outside Git nothing above it is looked at. */
export function lockFileOf(workspace: string): string {
  const root = gitRoot(workspace), start = path.resolve(workspace);
  const directories = root === undefined ? [start] : projectWalk(start).reverse();
  return directories.map((directory) => path.join(directory, LOCK_FILE)).find(isFile) ?? path.join(root ?? start, LOCK_FILE);
}

/** `undefined` when there is no lock file. Fails with CONFIG_INVALID or CONFIG_UNREADABLE. */
export function readLockFile(file: string): Lock | undefined {
  const text = readText(file, limits.lockFileBytes);
  return text === undefined ? undefined : readLock(text, file);
}

/** As a whole, or not at all. It holds no secret: it is made to be shared. */
export async function writeLockFile(file: string, lock: Lock): Promise<void> {
  makeDirectory(path.dirname(file), 0o777);
  await writeFileAtomic(file, stringifyLock(lock), { newMode: 0o644 });
}
