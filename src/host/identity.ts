/** What a configured server is, as one digest: same entry, same workspace, same digest. Secrets change it and are not in it. */
import { sha256 } from '../base/hash.ts';
import { canonicalJson } from '../base/json.ts';
import type { ServerEntry, Template } from '../config/types.ts';

const sources = (templates: Readonly<Record<string, Template>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(templates).map(([key, template]) => [key, template.source]));

/** URL-safe base64 of SHA-256 over the name, the workspace and the complete entry as it was written. */
export function connectionIdentity(entry: ServerEntry, workspace: string): string {
  const what = entry.kind === 'local'
    ? { command: entry.command.source, args: entry.args.map((arg) => arg.source), cwd: entry.cwd, environment: sources(entry.environment) }
    : { transport: entry.transport, url: entry.url.source, headers: sources(entry.headers), headersCommand: entry.headersCommand?.words.map((word) => word.source), oauth: entry.oauth ?? null, caFile: entry.caFile?.value, certFile: entry.certFile?.value, keyFile: entry.keyFile?.value };
  return sha256(canonicalJson({ label: 'zuno-lite connection 1', name: entry.name, workspace, kind: entry.kind, protocol: entry.protocol, what }), 'base64url');
}

/** Names the files that belong to one workspace. */
export function workspaceKey(workspace: string): string {
  return sha256(workspace, 'hex').slice(0, 16);
}
