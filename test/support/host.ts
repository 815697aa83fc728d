/** A host of its own for a test: configuration from an object, directories that go away, no waiting between tries. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { resolvePaths } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createHost } from '../../src/host/host.ts';
import type { Host, HostOptions, ServerRetry } from '../../src/host/types.ts';

export interface TestHost extends Host {
  /** Waits that were asked for, in order, milliseconds. */
  readonly waits: number[];
  readonly retries: ServerRetry[];
}

export function startHost(t: TestContext, content: object, options: Partial<HostOptions> = {}): TestHost {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-host-')));
  const paths = resolvePaths({ platform: 'linux', home: directory, environment: {} });
  const config = loadConfig({ cwd: directory, environment: { ZUNO_CONFIG_CONTENT: JSON.stringify(content) }, paths: { ...paths, managed: path.join(directory, 'managed') } });
  const waits: number[] = [], retries: ServerRetry[] = [];
  const host = createHost({
    config, environment: {}, paths, life: 'one-shot', onRetry: (retry) => retries.push(retry),
    retryClock: { random: () => 0.5, sleep: (ms) => { waits.push(ms); return Promise.resolve(); } }, ...options,
  });
  t.after(async () => {
    await host.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return Object.assign(host, { waits, retries });
}
