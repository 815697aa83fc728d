/**
 * The tools that a server listed last time, on disk, so that a session can offer them before the server runs (FACTS ZA28). A file counts only
 * for the very connection that it was written for: same entry, same workspace, same values of every variable. Those values change the
 * identity and are nowhere in it; a list in which a secret of the server shows is not kept.
 */
import * as path from 'node:path';
import { makePrivateDirectory, readPrivateText, writeFileAtomic } from '../base/files.ts';
import { sha256 } from '../base/hash.ts';
import { canonicalJson, isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { expand, expandTexts } from '../config/substitute.ts';
import type { ServerEntry, Template } from '../config/types.ts';
import { readTools } from '../mcp/results.ts';
import type { Listing, Tool } from '../mcp/types.ts';
import { connectionIdentity, workspaceKey } from './identity.ts';
import type { OpenServer, ServerLists } from './types.ts';

const VERSION = 1;

export interface CatalogueCache {
  /** What is known of this server; nothing when there is no file, or it is not for this connection. */
  read(entry: ServerEntry): ServerLists | undefined;
  /** Never rejects: a list that is not kept is read again next time. */
  write(entry: ServerEntry, tools: Listing<Tool>, opened: OpenServer): Promise<void>;
}

export interface CacheOptions {
  /** `Paths.cache`. */
  readonly directory: string;
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

export function createCatalogueCache({ directory: cache, workspace, environment, log }: CacheOptions): CatalogueCache {
  const directory = path.join(cache, 'catalogues'), key = workspaceKey(workspace);
  const fileOf = (entry: ServerEntry): string => path.join(directory, `${key}-${sha256(entry.name, 'hex').slice(0, 16)}.json`);
  const warn = (entry: ServerEntry, what: string): void => log({ level: 'warning', event: 'catalogue.cache', message: `The stored tools of "${entry.name}" ${what}`, fields: { server: entry.name } });
  /** What was read or written, so that the same list is not written again. */
  const stored = new Map<string, string>();

  return {
    read(entry) {
      const identity = cacheIdentity(entry, workspace, environment);
      if (identity === undefined) return undefined;
      let text: string | undefined;
      try {
        text = readPrivateText(fileOf(entry), limits.catalogueBytes);
      } catch (error) {
        warn(entry, `cannot be read, it is asked again: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
      if (text === undefined) return undefined;
      const found = parseStored(text);
      if (typeof found === 'string') { warn(entry, `are ${found}, it is asked again`); return undefined; }
      if (found.identity !== identity) return undefined;
      stored.set(entry.name, text);
      return { server: entry.name, origin: entry.origin, from: 'cache', tools: found.tools, resources: false, prompts: false, ...(found.title === undefined ? {} : { title: found.title }), ...(found.instructions === undefined ? {} : { instructions: found.instructions }) };
    },
    async write(entry, tools, { client, redact }) {
      const identity = cacheIdentity(entry, workspace, environment);
      if (identity === undefined) return;
      const text = `${JSON.stringify({ version: VERSION, identity, title: client.serverInfo?.title ?? client.serverInfo?.name, instructions: client.instructions, tools: tools.items, dropped: tools.dropped })}\n`;
      if (stored.get(entry.name) === text || Buffer.byteLength(text) > limits.catalogueBytes) return;
      if (redact(text) !== text) { warn(entry, 'are not kept: they hold something secret'); return; }
      try {
        makePrivateDirectory(directory);
        await writeFileAtomic(fileOf(entry), text, { mode: 0o600 });
        stored.set(entry.name, text);
      } catch (error) {
        warn(entry, `were not kept: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  };
}

interface Stored { readonly identity: string; readonly title: string | undefined; readonly instructions: string | undefined; readonly tools: Listing<Tool> }

/** Believes nothing: the tools pass the door that a server's answer passes. */
function parseStored(text: string): Stored | 'damaged' | 'of another version' {
  const value = parseJson(text)?.value;
  if (!isObject(value) || typeof value['version'] !== 'number') return 'damaged';
  if (value['version'] !== VERSION) return 'of another version';
  const { identity, title, instructions, tools, dropped } = value;
  if (typeof identity !== 'string' || !Array.isArray(tools)) return 'damaged';
  const page = readTools({ tools });
  const reasons = Array.isArray(dropped) ? dropped.filter(isObject).map((one) => ({ name: String(one['name']), reason: String(one['reason']) })) : [];
  return {
    identity, title: typeof title === 'string' ? title : undefined, instructions: typeof instructions === 'string' ? instructions : undefined,
    tools: { items: page.items, dropped: [...reasons, ...page.dropped], ttlMs: 0, cacheScope: 'private' },
  };
}

/** The connection with every value it would be opened with. `undefined` while one of them is missing: then nothing is known of it. */
export function cacheIdentity(entry: ServerEntry, workspace: string, environment: CacheOptions['environment']): string | undefined {
  const value = (template: Template): string => expand(template, { environment, key: entry.name });
  const values = (templates: Readonly<Record<string, Template>>): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(templates).map(([key, template]) => [key, value(template)]));
  try {
    const what = entry.kind === 'local'
      ? { command: value(entry.command), args: entry.args.map(value), environment: values(entry.environment) }
      : { url: value(entry.url), headers: values(entry.headers), oauth: entry.oauthTexts === undefined ? null : expandTexts(entry.oauth, entry.oauthTexts, { environment, key: entry.name }), headersCommand: entry.headersCommand?.words.map(value) ?? null };
    return sha256(canonicalJson({ label: 'zuno-lite catalogue 1', connection: connectionIdentity(entry, workspace), what }), 'base64url');
  } catch {
    return undefined;
  }
}
