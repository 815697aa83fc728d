/** Opens the system's browser: no shell, the URL as one argument, and nothing that is not http(s). Not being able to is no failure. */
import { spawn } from 'node:child_process';
import { urlProblem } from './endpoints.ts';

export interface BrowserSources {
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The program and the arguments before the URL. */
export type Opener = readonly [file: string, ...args: string[]];

/** Undefined where a browser would open in front of nobody: SSH, CI, no display, `BROWSER=none`. `why` says which. */
export function openerFor({ platform, environment }: BrowserSources): Opener | { readonly why: string } {
  if (environment['BROWSER'] === 'none') return { why: 'BROWSER is set to none' };
  if (environment['SSH_CONNECTION'] !== undefined || environment['SSH_TTY'] !== undefined) return { why: 'this is an SSH session' };
  if (environment['CI'] !== undefined && environment['CI'] !== '' && environment['CI'] !== 'false') return { why: 'this is a build machine' };
  switch (platform) {
    case 'darwin': return ['/usr/bin/open'];
    case 'win32': return [`${environment['SystemRoot'] ?? 'C:\\Windows'}\\System32\\rundll32.exe`, 'url.dll,FileProtocolHandler'];
    default:
      if (environment['WSL_DISTRO_NAME'] !== undefined) return ['/mnt/c/Windows/System32/rundll32.exe', 'url.dll,FileProtocolHandler'];
      if (environment['DISPLAY'] === undefined && environment['WAYLAND_DISPLAY'] === undefined) return { why: 'there is no display' };
      return ['xdg-open'];
  }
}

const PATIENCE_MS = 3_000;

/** Resolves with what stood in the way, undefined when the opener started and did not fail within three seconds. Never rejects. */
export function openBrowser(url: string, opener: Opener): Promise<string | undefined> {
  if (urlProblem(url) !== undefined) return Promise.resolve('the address is not one for a browser');
  const [file, ...args] = opener;
  return new Promise((resolve) => {
    const child = spawn(file, [...args, new URL(url).href], { shell: false, detached: true, stdio: 'ignore', windowsHide: true });
    // Some openers stay as long as the browser does; that is nothing to wait for.
    const timer = setTimeout(() => { child.unref(); resolve(undefined); }, PATIENCE_MS);
    const settle = (problem: string | undefined): void => { clearTimeout(timer); resolve(problem); };
    child.on('error', (error) => settle(`${file} cannot be started (${'code' in error ? String(error.code) : error.message})`));
    child.on('exit', (code) => settle(code === 0 || code === null ? undefined : `${file} failed with status ${code}`));
  });
}
