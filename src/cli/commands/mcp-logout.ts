import { nearest } from '../../base/text.ts';
import type { Config, RemoteEntry } from '../../config/types.ts';
import type { CredentialRecord } from '../../oauth/record.ts';
import type { SignOutReport } from '../../oauth/sign-out.ts';
import type { Command, Context } from '../command.ts';
import { recordsOf, remoteEntryOf, withAccount, withLeftOver } from '../credentials.ts';
import { maskedUrl } from '../entry-view.ts';
import { EXIT_OK } from '../exit.ts';
import { momentText } from '../moments.ts';
import { openConfig } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { bold, dim, green, yellow } from '../span.ts';

interface Done { readonly url: string; readonly issuer: string | undefined; readonly report: SignOutReport }

const issuerOf = (record: CredentialRecord | undefined): string | undefined => record?.tokens?.issuer;

/** What is kept under this name: of the address it has now, and of those that it had before. */
async function signOutAll(context: Context, config: Config, name: string): Promise<Done[]> {
  const { parsed } = context;
  const wanted = { client: parsed.has('client'), local: parsed.has('local') };
  const entry = config.servers.get(name);
  const records = recordsOf(context).filter((record) => record.name === name);
  const done: Done[] = [];
  let current: string | undefined;
  if (entry?.kind === 'remote') {
    const first = await signOutOf(context, entry, records, wanted).catch((thrown: unknown) => {
      // An entry that cannot be expanded must not keep anybody signed in.
      context.log({ level: 'info', event: 'oauth.entry', message: `The entry of "${name}" cannot be used, what is kept of it is removed all the same: ${thrown instanceof Error ? thrown.message : ''}` });
      return undefined;
    });
    current = first?.url;
    if (first?.report.found === true) done.push(first);
  }
  for (const record of records) {
    if (record.serverUrl === current) continue;
    const report = await withLeftOver(context, record, (oauth) => oauth.logout(wanted));
    if (report.found) done.push({ url: record.serverUrl, issuer: issuerOf(record), report });
  }
  return done;
}

async function signOutOf(context: Context, entry: RemoteEntry, records: readonly CredentialRecord[], wanted: { readonly client: boolean; readonly local: boolean }): Promise<Done> {
  return withAccount(context, entry, { interaction: { mode: 'none' } }, async ({ oauth, url }) => {
    const plain = url.replace(/#.*$/s, '');
    return { url: plain, issuer: issuerOf(records.find((record) => record.serverUrl === plain)), report: await oauth.logout(wanted) };
  });
}

/** What became of the tokens at the server that issued them. */
function revocationText({ issuer, report }: Done): string {
  const who = issuer ?? 'The sign-in service', { expiresAt } = report;
  const life = expiresAt === undefined ? 'the access token works until it expires' : expiresAt <= Date.now() ? 'the access token has expired' : `the access token works until ${momentText(expiresAt)}`;
  switch (report.revoked) {
    case 'yes': return `${who} has revoked the tokens`;
    case 'not-offered': return `${who} revokes no tokens: ${life}`;
    case 'failed': return `${who} did not confirm that the tokens are revoked (${report.reason ?? 'no reason given'}): ${life}`;
    case 'skipped': return issuer === undefined ? 'There were no tokens' : `${who} was not told: ${life}`;
  }
}

function present({ terminal, json, parsed }: Context, name: string, done: readonly Done[], others: readonly string[], configured: boolean): number {
  if (json) {
    terminal.document({
      ok: true, name, found: done.length > 0, kept: others,
      removed: done.map(({ url, issuer, report }) => ({ url: maskedUrl(url), issuer: issuer ?? null, revoked: report.revoked, reason: report.reason ?? null, registration: parsed.has('client') ? 'removed' : 'kept', expiresAt: report.expiresAt === undefined ? null : new Date(report.expiresAt).toISOString() })),
    });
    return EXIT_OK;
  }
  if (done.length === 0) {
    const near = nearest(name, others);
    terminal.print(yellow('Nobody is signed in'), ` to ${configured ? '' : 'the unknown name '}`, bold(`"${name}"`), near.length === 0 ? '' : `; did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`);
    if (others.length > 0) terminal.note(dim(`Sign-ins are kept for: ${others.join(', ')}`));
    return EXIT_OK;
  }
  for (const one of done) {
    terminal.print(green('Signed out'), ' of ', bold(`"${name}"`), dim(`  ${maskedUrl(one.url)}`));
    terminal.print(dim('  '), one.report.revoked === 'failed' ? yellow(revocationText(one)) : revocationText(one));
    terminal.print(dim('  '), `Removed from this machine: the tokens${parsed.has('client') ? ' and the registration of this program there' : ''}`);
  }
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const [name] = context.parsed.operands;
  const config = await openConfig(context);
  const stored = [...new Set(recordsOf(context).map((record) => record.name))];
  if (name === undefined) throw usageFailure(`Cannot sign out: no name is given${stored.length === 0 ? ', and no sign-in is kept' : `; sign-ins are kept for ${stored.join(', ')}`}`, undefined, 'zuno-lite mcp auth list');
  if (config.servers.get(name)?.kind === 'local') remoteEntryOf(config, name, 'sign out of');
  const done = await signOutAll(context, config, name);
  return present(context, name, done, stored.filter((one) => one !== name), config.servers.has(name));
}

export const command: Command = {
  usage: ['mcp logout NAME [--client] [--local]'],
  operands: ['[NAME]'],
  options: [
    { name: 'client', summary: 'forget the registration of this program at the server, too' },
    { name: 'local', summary: 'remove it here and tell nobody' },
  ],
  examples: [
    { line: 'mcp logout docs', about: 'has the tokens revoked where the server offers that, and removes them here:' },
    { line: 'mcp logout docs --client', about: 'with the registration, so that the next sign-in begins from nothing:' },
  ],
  notes: ['It works for servers that are not configured any more, too; "zuno-lite mcp auth list" shows them.'],
  run,
};
