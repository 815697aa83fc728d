/** A home, a checkout and their files in a temporary directory. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import assert from 'node:assert/strict';
import { isFailure, type AnyFailure, type FailureCode } from '../../../src/base/failure.ts';
import type { LogEntry } from '../../../src/base/log.ts';
import { resolvePaths, type Paths } from '../../../src/base/paths.ts';
import { readConfig, type LoadedConfig, type LoadOptions } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/types.ts';

export interface Sandbox {
  readonly root: string;
  readonly home: string;
  /** A Git checkout. */
  readonly checkout: string;
  readonly paths: Paths;
  readonly log: LogEntry[];
  /** Writes a file under the root and returns its path; objects become JSON. */
  write(name: string, content: unknown): string;
  load(options?: { cwd?: string; environment?: Record<string, string>; configFile?: string; builtIn?: LoadOptions['builtIn'] }): Config;
  /** The same with all that it was made of. */
  read(options?: Parameters<Sandbox['load']>[0]): LoadedConfig;
  refused<C extends FailureCode>(code: C, options?: Parameters<Sandbox['load']>[0]): AnyFailure & { readonly code: C };
}

/** Names for `write`: the global file and the checkout's. */
export const GLOBAL = 'home/.config/zuno/zuno.json';
export const PROJECT = 'work/checkout/zuno.json';

export function sandbox(context: TestContext): Sandbox {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-config-')));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const home = path.join(root, 'home'), checkout = path.join(root, 'work', 'checkout');
  mkdirSync(path.join(checkout, '.git'), { recursive: true });
  mkdirSync(home);
  const paths: Paths = { ...resolvePaths({ platform: 'linux', home, environment: {} }), managed: path.join(root, 'managed') };
  const log: LogEntry[] = [];
  const read: Sandbox['read'] = ({ cwd = checkout, environment = {}, configFile, builtIn } = {}) => readConfig({ cwd, environment, paths, configFile, builtIn, log: (entry) => { log.push(entry); } });
  const load: Sandbox['load'] = (options) => read(options).config;
  return {
    root, home, checkout, paths, log, load, read,
    write: (name, content) => {
      const file = path.join(root, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      return file;
    },
    refused: (code, options) => failureOf(code, () => load(options)),
  };
}

export function failureOf<C extends FailureCode>(code: C, run: () => unknown): AnyFailure & { readonly code: C } {
  try {
    run();
  } catch (error) {
    assert.ok(isFailure(error), String(error));
    assert.equal(error.code, code, error.message);
    return error as AnyFailure & { readonly code: C };
  }
  assert.fail(`no ${code}`);
}

export async function rejection<C extends FailureCode>(code: C, promise: Promise<unknown>): Promise<AnyFailure & { readonly code: C }> {
  const outcome = await promise.then(() => undefined, (error: unknown) => error);
  return failureOf(code, () => { if (outcome !== undefined) throw outcome; });
}
