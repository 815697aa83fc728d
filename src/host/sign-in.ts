/** Signing in to configured servers: what an entry says of it, as options of an `OAuth`; and those that one host has, one for each server. */
import * as path from 'node:path';
import { isObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { expandTexts, type Environment, type TemplateContext } from '../config/substitute.ts';
import type { RemoteEntry } from '../config/types.ts';
import type { OAuth, OAuthOptions } from '../oauth/oauth.ts';
import type { Interaction } from '../oauth/types.ts';
import type { Waiting } from './types.ts';

export interface SignInContext {
  readonly environment: Environment;
  /** `Paths.data`: credentials rest below it. */
  readonly data: string;
  readonly log: Log;
  readonly interaction: Interaction;
  /** Told every secret that must not show. */
  readonly secret: (value: string) => void;
}

/** What an entry becomes at connect time: its URL expanded, the text of its `caFile`. */
export interface Reached { readonly url: string; readonly ca: string | undefined }

/** Where credentials rest. */
export function credentialDirectory(data: string): string {
  return path.join(data, 'mcp-auth');
}

/** An `Authorization` header of the entry's own, however it is spelled. */
export function hasAuthorization(entry: RemoteEntry): boolean {
  return Object.keys(entry.headers).some((name) => name.toLowerCase() === 'authorization');
}

/** The references inside `oauth` are filled in here. Fails with VARIABLE_UNSET. */
export function oauthOptions(entry: RemoteEntry, { url, ca }: Reached, { environment, data, log, interaction, secret }: SignInContext): OAuthOptions {
  const texts = entry.oauthTexts ?? { directory: path.dirname(entry.origin.file), home: '', syntax: 'zuno' };
  const config = typeof entry.oauth === 'object' && !hasAuthorization(entry)
    ? placed(expandTexts(entry.oauth, texts, { environment, key: `${entry.origin.key ?? entry.name}.oauth`, origin: entry.origin }), texts) : entry.oauth;
  return {
    name: entry.name, serverUrl: url, config, staticAuthorization: hasAuthorization(entry), storeDirectory: credentialDirectory(data),
    http: { environment, ca }, environment, interaction, log, secret,
  };
}

/** Files are relative to the one that names them. */
function placed(config: unknown, { directory, home }: Pick<TemplateContext, 'directory' | 'home'>): unknown {
  if (!isObject(config)) return config;
  const place = (file: unknown): unknown => (typeof file !== 'string' || file === '' ? file : /^~(?=$|[/\\])/.test(file) ? path.resolve(home, `.${file.slice(1)}`) : path.resolve(directory, file));
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, key === 'privateKeyFile' || key === 'assertionFile' ? place(value) : value]));
}

/** The sign-ins of one host. They outlive connections: one that waits for a person goes on while its server is given up for now. */
export interface SignIns {
  of(server: string, make: () => OAuth): OAuth;
  /** The sign-in to this server that waits for a person, here or in another process. */
  waitingAt(server: string): Waiting | undefined;
  /** Ends what waits. */
  close(): void;
}

export function createSignIns(): SignIns {
  const made = new Map<string, OAuth>();
  return {
    of(server, make) {
      const oauth = made.get(server) ?? make();
      made.set(server, oauth);
      return oauth;
    },
    waitingAt: (server) => made.get(server)?.pending(),
    close() { for (const oauth of made.values()) oauth.close(); },
  };
}
