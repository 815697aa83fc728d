/** Looking at real processes, and waiting for what they do. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';

export const everything = fileURLToPath(new URL('../fixtures/servers/everything.mjs', import.meta.url));

/** False for a zombie too: it runs nothing any more. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux';
  }
}

/** Polls until `condition` gives something truthy. Fails with `what` after `ms`. */
export async function waitFor<T>(condition: () => T | undefined | false, what: string, ms = 5000): Promise<T> {
  for (const until = performance.now() + ms; ; await sleep(5)) {
    const value = condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > until) throw new Error(`waited ${ms} ms for ${what}`);
  }
}

export async function waitUntilGone(pids: readonly number[], ms = 1500): Promise<void> {
  await waitFor(() => !pids.some(isAlive), `the end of ${pids.filter(isAlive).join(', ')}`, ms);
}

export function tempDir(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-lite-')));
  // Hooks run in order, so a host of the test may still be writing its last file there.
  t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }));
  return directory;
}

/** Lines that fixtures append: `pids` and `mark` files. Whatever still lives at the end of the test is ended. */
export function processFiles(t: TestContext): { readonly pidsFile: string; readonly markFile: string; pids(): number[]; kinds(): string[]; marks(): string[] } {
  const directory = tempDir(t);
  const pidsFile = path.join(directory, 'pids'), markFile = path.join(directory, 'mark');
  const lines = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter((line) => line !== '') : []);
  const records = (): { kind: string; pid: number }[] => lines(pidsFile).map((line) => JSON.parse(line) as { kind: string; pid: number });
  const pids = (): number[] => records().map((record) => record.pid);
  appendFileSync(pidsFile, '');
  t.after(() => { for (const pid of pids()) if (isAlive(pid)) try { process.kill(pid, 'SIGKILL'); } catch { /* gone meanwhile */ } });
  return { pidsFile, markFile, pids, kinds: () => records().map((record) => record.kind), marks: () => lines(markFile) };
}

export function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
