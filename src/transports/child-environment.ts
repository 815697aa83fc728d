/**
 * What a server's process finds in its environment: everything the host has, minus what is the host's own business, then the
 * entry's variables, which always win. Proxy and certificate variables stay: servers behind a proxy need them.
 */
import * as path from 'node:path';

/** The host's credentials and settings, and what steers the Node or Electron runtime the host itself runs on. */
const HOST_ONLY: ReadonlySet<string> = new Set([
  'ZUNO_AUTH_CONTENT', 'ZUNO_SERVER_PASSWORD', 'ZUNO_SERVER_USERNAME', 'ZUNO_CONFIG_CONTENT', 'ZUNO_PERMISSION',
  'NODE_ENV', 'NODE_OPTIONS', 'NODE_NO_WARNINGS', 'NODE_V8_COVERAGE', 'NODE_CHANNEL_FD', 'NODE_UNIQUE_ID', 'ELECTRON_RUN_AS_NODE',
]);
const HOST_ONLY_PREFIX = 'OTEL_';

export interface ChildEnvironmentOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of the configured entry, expanded. May set again whatever was left out. */
  readonly entryEnvironment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  /** The running executable; when it is a `node`, its directory makes `node` and `npx` findable. */
  readonly execPath: string;
  readonly isFile: (path: string) => boolean;
}

/** The complete environment of a child. On Windows a name of the entry replaces the inherited one whatever its case. */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const windows = options.platform === 'win32';
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.environment)) {
    const upper = name.toUpperCase();
    if (value !== undefined && !HOST_ONLY.has(upper) && !upper.startsWith(HOST_ONLY_PREFIX)) result[name] = value;
  }
  for (const [name, value] of Object.entries(options.entryEnvironment)) {
    const inherited = windows ? variableName(result, name) : undefined;
    if (inherited !== undefined) delete result[inherited];
    result[name] = value;
  }
  const directory = nodeDirectory(options);
  if (directory !== undefined) {
    const name = (windows ? variableName(result, 'PATH') : undefined) ?? 'PATH';
    const delimiter = windows ? ';' : ':';
    const entries = (result[name] ?? '').split(delimiter).filter((entry) => entry !== '');
    const executable = windows ? 'node.exe' : 'node';
    const join = windows ? path.win32.join : path.posix.join;
    if (!entries.some((entry) => options.isFile(join(entry, executable)))) result[name] = [...entries, directory].join(delimiter);
  }
  return result;
}

/** The key under which `name` stands, whatever its case (Windows variables have none). */
export function variableName(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  if (name in environment) return name;
  const upper = name.toUpperCase();
  return Object.keys(environment).find((key) => key.toUpperCase() === upper);
}

function nodeDirectory({ platform, execPath }: ChildEnvironmentOptions): string | undefined {
  const flavour = platform === 'win32' ? path.win32 : path.posix;
  return /^node(?:\.exe)?$/i.test(flavour.basename(execPath)) ? flavour.dirname(execPath) : undefined;
}
