/** A host on a configuration that the test writes, with fixture servers behind it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import type { LogEntry } from '../../src/base/log.ts';
import { resolvePaths } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createHost } from '../../src/host/host.ts';
import type { Host, HostOptions } from '../../src/host/types.ts';
import { everything, tempDir } from './process.ts';

/** An entry of `mcp` that starts the fixture server. */
export function fixture(...flags: string[]): Record<string, unknown> {
  return { type: 'local', command: [process.execPath, everything, ...flags] };
}

export interface Home {
  readonly directory: string;
  readonly logged: LogEntry[];
  /** A host on the files as they are now; closed at the end of the test. */
  host(options?: Partial<HostOptions>): Host;
  write(config: Record<string, unknown>): void;
}

export function home(t: TestContext, config: Record<string, unknown>, environment: Record<string, string> = {}): Home {
  const directory = tempDir(t);
  const workspace = path.join(directory, 'workspace');
  mkdirSync(path.join(directory, 'config', 'zuno'), { recursive: true });
  mkdirSync(path.join(workspace, '.git'), { recursive: true });
  const variables = { PATH: process.env['PATH'], HOME: directory, XDG_CONFIG_HOME: path.join(directory, 'config'), XDG_STATE_HOME: path.join(directory, 'state'), ...environment };
  const paths = { ...resolvePaths({ platform: process.platform, home: directory, environment: variables }), managed: path.join(directory, 'managed') };
  const logged: LogEntry[] = [];
  const write = (next: Record<string, unknown>): void => writeFileSync(path.join(directory, 'config', 'zuno', 'zuno.json'), JSON.stringify(next));
  write(config);
  return {
    directory, logged, write,
    host(options = {}) {
      const host = createHost({ config: loadConfig({ cwd: workspace, environment: variables, paths }), environment: variables, paths, log: (entry) => logged.push(entry), ...options });
      t.after(() => host.close());
      return host;
    },
  };
}
