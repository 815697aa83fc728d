/** From a running command to configuration and host, and back: whatever happens, the host is closed. */
import * as os from 'node:os';
import { Failure, toFailure } from '../base/failure.ts';
import type { AnyFailure } from '../base/failure.ts';
import { resolvePaths } from '../base/paths.ts';
import type { Paths } from '../base/paths.ts';
import { redactPatterns } from '../base/redact.ts';
import { nearest } from '../base/text.ts';
import type { Config, Rule, ServerEntry } from '../config/types.ts';
import type { Host, HostOptions, Person, Reader, ServerRetry } from '../host/types.ts';
import type { Context } from './command.ts';
import { addressed } from './hint.ts';
import { inLightOf } from './interrupt.ts';
import { dim, yellow } from './span.ts';

export function pathsOf({ terminal }: Context): Paths {
  const { environment } = terminal;
  const { platform } = process;
  // Not from a variable: whoever sets one must not choose whose managed preferences count.
  const user = platform === 'darwin' ? os.userInfo().username : undefined;
  return resolvePaths({ platform, home: environment[platform === 'win32' ? 'USERPROFILE' : 'HOME'] || os.homedir(), environment, user });
}

/** The merged configuration. What cost an entry is told on stderr, once for each. */
export async function openConfig(context: Context): Promise<Config> {
  const { loadConfig } = await import('../config/load.ts');
  const { terminal, parsed } = context;
  const config = loadConfig({ cwd: terminal.cwd, environment: terminal.environment, paths: pathsOf(context), configFile: parsed.value('config'), log: context.log });
  return config;
}

export interface Household {
  readonly config: Config;
  readonly person?: Person;
  readonly rules?: readonly Rule[];
  readonly assumeYes?: boolean;
  readonly agent?: string | undefined;
  readonly locked?: boolean;
  /** Default: the user's. */
  readonly paths?: Paths;
  /** Default: a live line while it waits. */
  readonly onRetry?: NonNullable<HostOptions['onRetry']>;
  /** Default: `one-shot`. */
  readonly life?: NonNullable<HostOptions['life']>;
  readonly tap?: HostOptions['tap'];
}

/** What a server is tried again for, in two words. */
export function troubleText({ failure }: ServerRetry): string {
  return failure.code === 'HTTP_STATUS' ? `answers ${failure.details.status}` : 'was cut off';
}

/** `docs answers 503: try 2 of 3 in 2.0 s` */
export function retryText(retry: ServerRetry): string {
  return `${retry.server} ${troubleText(retry)}: try ${retry.attempt + 1} of ${retry.tries} in ${(retry.waitMs / 1000).toFixed(1)} s`;
}

/** Runs `use` with a host of its own. Failures are reported before the host is torn down, so that nobody waits for the clean-up to see them. */
export async function withHost(context: Context, household: Household, use: (host: Host) => Promise<number>): Promise<number> {
  const { createHost } = await import('../host/host.ts');
  const host = createHost({ paths: pathsOf(context), onRetry: (retry) => context.terminal.live(retryText(retry)), life: 'one-shot', ...household, environment: context.terminal.environment, log: context.log });
  // An exception nobody catches ends the process without passing `finally`.
  const lastResort = (): void => host.killSync();
  process.once('exit', lastResort);
  try {
    return await use(host);
  } catch (thrown) {
    return await context.fail(toFailure(thrown));
  } finally {
    const { forced } = await host.close();
    process.off('exit', lastResort);
    for (const what of forced) context.log({ level: 'info', event: 'close.forced', message: `Ended by force: ${what}` });
  }
}

/** The configuration with this server alone, switched on: it was asked for by name. */
export function alone(config: Config, entry: ServerEntry): Config {
  return { ...config, mcpEnabled: true, servers: new Map([[entry.name, { ...entry, enabled: true }]]) };
}

/** The configured entry. Fails with SERVER_UNKNOWN, or with what made the configuration lose it. */
export function entryOf(config: Config, name: string): ServerEntry {
  const entry = config.servers.get(name);
  if (entry !== undefined) return entry;
  const lost = config.diagnostics.find((diagnostic) => diagnostic.server === name && diagnostic.severity === 'error');
  if (lost !== undefined) {
    throw new Failure('CONFIG_INVALID', lost.message, { stage: 'config', details: { file: lost.origin.file, problems: [{ pointer: lost.pointer, message: lost.message }] }, origin: lost.origin });
  }
  const known = [...config.servers.keys()];
  const near = nearest(name, known);
  throw new Failure('SERVER_UNKNOWN', `Cannot find the server "${name}": it is not configured${near.length === 0 ? '' : `; did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`}`, {
    stage: 'config', details: { server: name, known, nearest: near }, hint: known.length === 0 ? 'zuno-lite mcp add NAME -- COMMAND ARGS...' : 'zuno-lite mcp list',
  });
}

interface ServerFailure { readonly server: string; readonly failure: AnyFailure }

/**
 * Failures as they are to be told once a list is complete, or as complete as `--timeout` let it become: the servers that were not
 * ready by then are told as such. A list that a signal cut short is not shown at all. Fails with CANCELED.
 */
export function settledFailures({ signal, interrupt }: Context, failures: readonly ServerFailure[]): readonly ServerFailure[] {
  if (signal.aborted && interrupt.by !== 'timeout') throw new Failure('CANCELED', 'Cannot finish the list: it was canceled', { stage: 'list', details: {}, recovery: 'retryable' });
  return failures.map(({ server, failure }) => ({ server, failure: inLightOf(failure, interrupt) }));
}

/** Asks several servers at once; one that fails costs only itself. */
export async function eachServer<T>(host: Host, names: readonly string[], signal: AbortSignal, ask: (asked: { readonly entry: ServerEntry; readonly client: Reader }) => Promise<readonly T[]>): Promise<{ readonly items: readonly T[]; readonly failures: readonly ServerFailure[] }> {
  const failures: ServerFailure[] = [];
  const found = await Promise.all(names.map(async (server) => {
    try {
      return await host.ask(server, ask, signal);
    } catch (thrown) {
      failures.push({ server, failure: toFailure(thrown) });
      return [];
    }
  }));
  return { items: found.flat(), failures };
}

export const enabledServers = (config: Config): string[] => (config.mcpEnabled ? [...config.servers.values()].filter((entry) => entry.enabled).map((entry) => entry.name) : []);

/** Servers that could not be asked: what, why, and what to do, on stderr. */
export function tellFailures({ terminal }: Context, failures: readonly ServerFailure[]): void {
  for (const { server, failure } of failures) {
    terminal.alert(yellow(`${server}: `), failure.message);
    const said = failure.code === 'SERVER_EXITED' || failure.code === 'CONNECTION_CLOSED' ? (failure.details.stderrTail ?? '').trimEnd().split('\n').at(-1) : '';
    if (said) terminal.alert(dim('  its stderr: '), redactPatterns(said));
    terminal.alert(dim('  next: '), addressed(failure.hint ?? 'zuno-lite mcp debug NAME', server));
  }
}
