import { Failure, toFailure, withContext } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import { limits } from '../../base/limits.ts';
import type { RemoteEntry } from '../../config/types.ts';
import type { OAuthStatus } from '../../oauth/oauth.ts';
import { parseScope } from '../../oauth/scope.ts';
import type { Command, Context } from '../command.ts';
import { remoteEntryOf, withAccount } from '../credentials.ts';
import { EXIT_OK } from '../exit.ts';
import { openConfig } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { guide } from '../sign-in.ts';
import { bold, dim, green } from '../span.ts';
import { statusDocument, statusLines } from '../standing-view.ts';

const HELP = 'zuno-lite mcp auth --help';

/** Another process waits for a person: it is handed the address that the browser ended on. */
async function handOver(context: Context, entry: RemoteEntry, given: string): Promise<number> {
  const { terminal, json, signal } = context;
  // Asking is the only way to read a keyboard; what is piped in is read to its end.
  const text = given !== '-' ? given : terminal.interactive ? await terminal.question(['Address that the browser ended on: '], signal, true) ?? '' : await terminal.readInput();
  return withAccount(context, entry, { interaction: { mode: 'none' } }, async ({ oauth }) => {
    await oauth.deliver(text).catch((thrown: unknown) => { throw over(entry.name, toFailure(thrown, 'auth')); });
    const status = oauth.status();
    if (json) terminal.document({ ok: true, server: entry.name, delivered: true, ...statusDocument(status) });
    else terminal.print(green('Handed over'), ': the process that waited is signed in to ', bold(`"${entry.name}"`));
    return EXIT_OK;
  });
}

/** Nobody listens there any more: what waited has ended without cleaning up. */
function over(name: string, failure: AnyFailure): AnyFailure {
  if (failure.code !== 'CONNECT_FAILED') return failure;
  return new Failure('LOGIN_REFUSED', `Cannot sign in to "${name}": the sign-in that this address belongs to is over`, { stage: 'auth', details: { error: 'callback_missing' }, hint: `Start again: zuno-lite mcp auth ${name}`, cause: failure }) as AnyFailure;
}

async function signIn(context: Context, entry: RemoteEntry): Promise<number> {
  const { parsed, signal } = context;
  const scope = parseScope(parsed.all('scope').join(' '));
  const guidance = guide(context, entry.name, parsed.has('device') ? limits.deviceCodeMs : limits.oauthDiscoveryMs + limits.oauthInteractiveMs + limits.callbackPageMs);
  try {
    return await withAccount(context, entry, guidance, async ({ oauth, send }) => {
      const status = await oauth.login({ scope, probe: send, method: parsed.has('device') ? 'device' : 'browser', signal });
      guidance.end();
      return present(context, entry, status);
    });
  } finally {
    guidance.end();
  }
}

function present({ terminal, json }: Context, { name }: RemoteEntry, status: OAuthStatus): number {
  if (json) {
    terminal.document({ ok: true, server: name, state: status.state === 'not-authenticated' ? 'needs_login' : status.state, ...statusDocument(status) });
    return EXIT_OK;
  }
  terminal.print(green('Signed in'), ' to ', bold(`"${name}"`));
  for (const [label, text] of statusLines(status)) terminal.print(dim(`  ${label.padEnd(8)} `), text);
  if (status.issuer === undefined) terminal.print(dim('  '), 'Nobody needs to do this: each run gets a token of its own, and none is kept');
  terminal.note(dim(`Next: zuno-lite tools ${name}`));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const { parsed } = context;
  const config = await openConfig(context);
  const entry = remoteEntryOf(config, parsed.operands[0]!);
  const address = parsed.value('callback-url');
  if (address !== undefined) {
    const stray = ['scope', 'device', 'no-browser'].find((option) => parsed.has(option));
    if (stray !== undefined) throw usageFailure(`Cannot take --callback-url together with --${stray}: it only hands over an address`, `--${stray}`, HELP);
  }
  if (entry.headersCommand !== undefined) {
    throw new Failure('LOGIN_REFUSED', `Cannot sign in to "${entry.name}": its headers come from a program (headersCommand), so signing in would have no effect`, { stage: 'auth', details: { error: 'auth_header_conflict' }, origin: entry.headersCommand.origin, hint: 'Remove headersCommand first' });
  }
  try {
    return address === undefined ? await signIn(context, entry) : await handOver(context, entry, address);
  } catch (thrown) {
    throw withContext(toFailure(thrown, 'auth'), { origin: entry.origin });
  }
}

export const command: Command = {
  usage: ['mcp auth NAME [--scope SCOPES] [--no-browser | --device]', 'mcp auth NAME --callback-url -'],
  operands: ['NAME'],
  options: [
    { name: 'scope', value: 'SCOPES', repeat: true, summary: 'ask for these rights too; several in quotes' },
    { name: 'no-browser', summary: 'open no browser: only show the address' },
    { name: 'device', summary: 'sign in on another device, with a code' },
    { name: 'callback-url', value: '-|URL', summary: 'hand the address that the browser ended on to the process that waits; "-" reads it from stdin' },
  ],
  examples: [
    { line: 'mcp auth docs', about: 'shows where to sign in, opens it in your browser and waits, five minutes at most:' },
    { line: 'mcp auth docs --no-browser', about: 'on another machine; what the browser ends on can be pasted:' },
    { line: 'mcp auth docs --callback-url -', about: 'hands it over from a second terminal instead:' },
    { line: 'mcp auth docs --device', about: 'shows a code to enter on your phone:' },
    { line: 'mcp auth docs --scope "files:read files:write"', about: 'asks for more rights:' },
  ],
  notes: [
    'The address is always shown on stderr, whole and on a line of its own. A browser is opened on a local terminal only: not over SSH, on build machines or without a display.',
    'A sign-in is kept for this server name and URL, readable by you alone. See all with "zuno-lite mcp auth list".',
  ],
  run,
};
