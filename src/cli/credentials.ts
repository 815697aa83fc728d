/** The credentials of every server that is or was configured: how they stand, and the `OAuth` to change that. Shows no secret. */
import { toFailure, type AnyFailure } from '../base/failure.ts';
import type { Log } from '../base/log.ts';
import { createRedactor } from '../base/redact.ts';
import { expand } from '../config/substitute.ts';
import type { Config, RemoteEntry, Template } from '../config/types.ts';
import { httpFor, pemsOf } from '../host/remote.ts';
import { credentialDirectory, oauthOptions } from '../host/sign-in.ts';
import type { SendRequest } from '../http/types.ts';
import { isExpired } from '../oauth/freshness.ts';
import { createOAuth, type OAuth, type OAuthStatus } from '../oauth/oauth.ts';
import type { CredentialRecord } from '../oauth/record.ts';
import { listRecords } from '../oauth/store.ts';
import type { Interaction } from '../oauth/types.ts';
import type { Context } from './command.ts';
import { maskedUrl, targetOf } from './entry-view.ts';
import { entryOf, pathsOf } from './open.ts';
import { usageFailure } from './parse.ts';

/** How one server stands. */
export type SignInState = 'authenticated' | 'expired' | 'needs_login' | 'signing_in' | 'automatic' | 'static_header' | 'off' | 'unusable';

export interface Standing {
  readonly name: string;
  /** Without what may be secret. */
  readonly url: string;
  readonly state: SignInState;
  /** `other-url`: the entry reaches another address now. */
  readonly configured: 'yes' | 'no' | 'other-url';
  readonly status: OAuthStatus | undefined;
  /** Why nothing can be said (`unusable`). */
  readonly failure: AnyFailure | undefined;
  /** A client registration is kept. */
  readonly registered: boolean;
}

const nobody: Interaction = { mode: 'none' };

const STATES: Readonly<Record<OAuthStatus['state'], SignInState>> = {
  off: 'off', 'static-header': 'static_header', authenticated: 'authenticated', expired: 'expired', 'not-authenticated': 'needs_login', 'signing-in': 'signing_in',
};

/** A program gives the headers, or the grant needs nobody: there is nothing to sign in to. */
function isAutomatic({ oauth, headersCommand }: RemoteEntry): boolean {
  if (headersCommand !== undefined) return true;
  const type = typeof oauth === 'object' ? oauth['type'] : undefined;
  return type !== undefined && type !== 'authorization_code' && type !== 'device_code';
}

export function remoteEntries(config: Config): RemoteEntry[] {
  return [...config.servers.values()].filter((entry): entry is RemoteEntry => entry.kind === 'remote');
}

/** Fails with SERVER_UNKNOWN, or USAGE for a server without an address. */
export function remoteEntryOf(config: Config, name: string, what = 'sign in to'): RemoteEntry {
  const entry = entryOf(config, name);
  if (entry.kind === 'remote') return entry;
  throw usageFailure(`Cannot ${what} "${name}": it is started by a command, which gets its credentials from its environment`, name, `zuno-lite mcp get ${name}`);
}

/** How a configured server stands. */
export async function standingOf(context: Context, entry: RemoteEntry): Promise<Standing> {
  return (await look(context, entry, recordsOf(context))).standing;
}

/** Every configured remote server in the order of the configuration, then what is kept of others. */
export async function standings(context: Context, config: Config): Promise<Standing[]> {
  const records = recordsOf(context);
  const looks = [];
  for (const entry of remoteEntries(config)) looks.push(await look(context, entry, records));
  const seen = new Set(looks.map(({ record }) => record));
  return [...looks.map(({ standing }) => standing), ...records.filter((record) => !seen.has(record)).map((record) => leftOver(config, record))];
}

async function look(context: Context, entry: RemoteEntry, records: readonly CredentialRecord[]): Promise<{ readonly standing: Standing; readonly record: CredentialRecord | undefined }> {
  const base = { name: entry.name, url: targetOf(entry), configured: 'yes' } as const;
  try {
    return await withAccount(context, entry, { interaction: nobody }, async ({ oauth, url }) => {
      const status = oauth.status();
      const record = records.find((one) => one.name === entry.name && one.serverUrl === url.replace(/#.*$/s, ''));
      const state = (status.state === 'not-authenticated' || entry.headersCommand !== undefined) && isAutomatic(entry) ? 'automatic' : STATES[status.state];
      return { record, standing: { ...base, status, state, failure: undefined, registered: hasRegistration(record) } };
    });
  } catch (thrown) {
    return { record: undefined, standing: { ...base, state: 'unusable', status: undefined, failure: toFailure(thrown, 'config'), registered: false } };
  }
}

function hasRegistration(record: CredentialRecord | undefined): boolean {
  return record !== undefined && Object.keys(record.registrations).length > 0;
}

function leftOver(config: Config, record: CredentialRecord): Standing {
  const { tokens } = record;
  const status: OAuthStatus | undefined = tokens === undefined ? undefined : {
    state: isExpired(tokens) ? 'expired' : 'authenticated', issuer: tokens.issuer, scope: tokens.scopeGranted, refreshable: tokens.refreshToken !== undefined,
    ...(tokens.expiresAt !== undefined && { expiresAt: tokens.expiresAt }),
  };
  return {
    name: record.name, url: maskedUrl(record.serverUrl), configured: config.servers.has(record.name) ? 'other-url' : 'no', status,
    state: status === undefined ? 'needs_login' : STATES[status.state], failure: undefined, registered: hasRegistration(record),
  };
}

export interface Account {
  readonly oauth: OAuth;
  readonly url: string;
  /** To the server itself, with the headers and certificates of its entry. */
  readonly send: SendRequest;
}

/** Runs `use` with the account of a configured server. Fails with VARIABLE_UNSET, CONFIG_UNREADABLE or CONFIG_INVALID when the entry cannot be used. */
export async function withAccount<T>(context: Context, entry: RemoteEntry, { interaction, log = context.log }: { readonly interaction: Interaction; readonly log?: Log }, use: (account: Account) => Promise<T>): Promise<T> {
  const { environment } = context.terminal;
  const redactor = createRedactor();
  const take = (template: Template, key: string): string => {
    const value = expand(template, { environment, key: `${entry.origin.key ?? entry.name}.${key}`, origin: entry.origin });
    if (template.parts.some((part) => typeof part !== 'string')) redactor.add(value);
    return value;
  };
  const url = take(entry.url, 'url');
  const pems = pemsOf(entry);
  const http = httpFor(entry, pems, { environment }, { connection() {} });
  const oauth = createOAuth(oauthOptions(entry, { url, ca: pems.ca }, {
    environment, data: pathsOf(context).data, interaction, secret: redactor.add, log: (one) => log({ ...one, message: redactor.redact(one.message) }),
  }));
  const send: SendRequest = (request) => {
    const headers = Object.fromEntries(Object.entries(entry.headers).map(([name, template]) => [name, take(template, `headers.${name}`)]));
    return http.request({ ...request, headers: { ...headers, ...request.headers } });
  };
  try {
    return await use({ oauth, url, send });
  } finally {
    oauth.close();
    http.close();
  }
}

/** Signs out of what is kept for a server that is not configured, or was at another address. */
export async function withLeftOver<T>(context: Context, record: CredentialRecord, use: (oauth: OAuth) => Promise<T>): Promise<T> {
  const { environment } = context.terminal;
  const oauth = createOAuth({ name: record.name, serverUrl: record.serverUrl, storeDirectory: credentialDirectory(pathsOf(context).data), http: { environment }, interaction: nobody, log: context.log });
  try {
    return await use(oauth);
  } finally {
    oauth.close();
  }
}

/** Everything that is kept, whoever it belongs to. */
export function recordsOf(context: Context): CredentialRecord[] {
  return listRecords(credentialDirectory(pathsOf(context).data));
}
