/** Where files live on each platform (XDG on Linux and macOS, known folders on Windows). Reads nothing from the disk. */
import * as path from 'node:path';

export interface Paths {
  readonly home: string;
  /** Holds `zuno.json`. */
  readonly config: string;
  readonly data: string;
  readonly cache: string;
  readonly state: string;
  /** Directory of an administrator's settings. */
  readonly managed: string;
  /** Property lists of a device management (macOS), the person's first, then the machine's. */
  readonly managedPreferences?: readonly string[];
}

export interface PathSources {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Login name as the system knows it: whose managed preferences count. */
  readonly user?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const PREFERENCES = '/Library/Managed Preferences';
const DOMAIN = 'ai.zuno.managed';

/** An XDG variable counts only when it is absolute (XDG Base Directory Specification). */
export function resolvePaths({ platform, home, environment, user }: PathSources): Paths {
  const join = platform === 'win32' ? path.win32.join : path.posix.join;
  const absolute = platform === 'win32' ? path.win32.isAbsolute : path.posix.isAbsolute;
  const base = (name: string, fallback: string): string => {
    const value = environment[name];
    return join(value !== undefined && absolute(value) ? value : fallback, 'zuno');
  };
  const local = environment['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  const roaming = environment['APPDATA'] ?? join(home, 'AppData', 'Roaming');
  const windows = platform === 'win32';
  return {
    home,
    config: base('XDG_CONFIG_HOME', windows ? roaming : join(home, '.config')),
    data: base('XDG_DATA_HOME', windows ? local : join(home, '.local', 'share')),
    cache: base('XDG_CACHE_HOME', windows ? join(local, 'cache') : join(home, '.cache')),
    state: base('XDG_STATE_HOME', windows ? join(local, 'state') : join(home, '.local', 'state')),
    managed: windows ? join(environment['ProgramData'] ?? environment['PROGRAMDATA'] ?? 'C:\\ProgramData', 'zuno')
      : platform === 'darwin' ? '/Library/Application Support/zuno' : '/etc/zuno',
    ...(platform === 'darwin' ? { managedPreferences: [...(user === undefined ? [] : [`${PREFERENCES}/${user}/${DOMAIN}.plist`]), `${PREFERENCES}/${DOMAIN}.plist`] } : {}),
  };
}
