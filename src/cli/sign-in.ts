/** Signing in from the command line: the person at the terminal is shown where, may paste the address that the browser ended on, and sees it wait. */
import type { Log } from '../base/log.ts';
import { openerFor } from '../oauth/browser.ts';
import type { Interaction, Visit } from '../oauth/types.ts';
import type { Context } from './command.ts';
import { localTime, relativeTime } from './moments.ts';
import { showWaiting } from './progress.ts';
import { bold, dim, red, yellow } from './span.ts';

/** Why no browser is opened; undefined where one is. */
function whyNoBrowser({ terminal, parsed }: Context): string | undefined {
  if (parsed.has('no-browser')) return 'as --no-browser says';
  if (!terminal.interactive) return 'nobody sits at a terminal here';
  const opener = openerFor({ platform: process.platform, environment: terminal.environment });
  return 'why' in opener ? opener.why : undefined;
}

export interface Guidance {
  readonly interaction: Interaction;
  /** The log of the command, without what the person is told here already. */
  readonly log: Log;
  /** Takes away what shows that it waits. */
  end(): void;
}

/** `waitMs`: how long the whole may take. Nothing waits in it: it ends when the sign-in does. */
export function guide(context: Context, name: string, waitMs: number): Guidance {
  const { terminal, parsed, log } = context;
  const device = parsed.has('device');
  const why = device ? 'it is for another device' : whyNoBrowser(context);
  let doing = `asks "${name}" where to sign in`;
  const end = showWaiting(terminal, () => doing);
  const visit = (seen: Visit): void => {
    doing = seen.userCode === undefined ? `waits for the browser until ${localTime(seen.expiresAt).slice(-5)}` : 'waits for the code to be entered';
    if (seen.userCode === undefined) showAddress(context, seen, why); else showCode(context, seen, seen.userCode);
    if (!terminal.interactive) terminal.alert(dim(`Waiting until ${localTime(seen.expiresAt)} (${relativeTime(seen.expiresAt)}).`));
  };
  return {
    end,
    interaction: { mode: why === undefined ? 'open' : 'surface', waitMs, visit, ...(terminal.interactive && { paste: (problem, signal) => paste(context, problem, signal) }) },
    log(entry) {
      if (entry.event === 'oauth.browser') terminal.alert(yellow(entry.message), dim(' Open the address above yourself.'));
      else if (entry.event !== 'oauth.paste') log(entry);
    },
  };
}

/** The address stands alone on its line, whole: it is copied, or clicked. */
function showAddress({ terminal }: Context, { server, host, url, redirectUri, listening, scope, elsewhere }: Visit, why: string | undefined): void {
  const handOver = `zuno-lite mcp auth ${server} --callback-url -`;
  terminal.alert('Sign in to ', bold(`"${server}"`), ' at ', bold(host), scope.length === 0 ? ':' : `, which will be asked for ${scope.join(' ')}:`);
  terminal.alert(url);
  if (elsewhere === true) {
    terminal.alert(dim('Another process waits for this sign-in already: the address is the same, and whoever finishes first serves both.'));
    terminal.alert(dim('To hand it the address that the browser ends on: '), handOver);
    return;
  }
  if (redirectUri === undefined) return;
  if (!listening) {
    terminal.alert(dim(`The browser will end at ${redirectUri}, which is not on this machine. ${terminal.interactive ? 'Paste the whole address from its address bar here.' : 'Run the command on a terminal, where that address can be pasted.'}`));
    return;
  }
  if (why === undefined) terminal.alert(dim('A browser is being opened. If none appears, open the address yourself.'));
  else terminal.alert(dim(`No browser is opened: ${why}. Open the address in one.`));
  const port = new URL(redirectUri).port || '80';
  terminal.alert(dim('If that browser runs on another machine, it will end on a page that cannot load. Then copy the whole address from its address bar'));
  if (terminal.interactive) terminal.alert(dim('and paste it here, or forward the port before you open it:'));
  else terminal.alert(dim('and hand it over from another terminal: '), handOver, dim(' or forward the port before you open it:'));
  terminal.alert(`    ssh -L ${port}:127.0.0.1:${port} USER@THIS-MACHINE`);
}

function showCode({ terminal }: Context, { server, host, url, completeUrl, expiresAt }: Visit, code: string): void {
  terminal.alert('Sign in to ', bold(`"${server}"`), ' at ', bold(host), ' on any device. Open');
  terminal.alert(url);
  terminal.alert('and enter ', bold(code), dim(`   (expires ${relativeTime(expiresAt)})`));
  if (completeUrl === undefined) return;
  terminal.alert(dim('or open this, where the code is filled in:'));
  terminal.alert(completeUrl);
}

/** Ends without an answer when the browser was faster. */
function paste({ terminal }: Context, problem: string | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (problem !== undefined) terminal.alert(red('That address cannot be used: '), problem);
  return terminal.question([problem === undefined ? 'Waiting. Or paste the address that the browser ended on: ' : 'Paste the address again: '], signal, true);
}
