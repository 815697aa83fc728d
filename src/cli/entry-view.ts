/** A configured server as it may be shown: references by name, every other value of a header or variable masked. */
import { MASK, redactPatterns } from '../base/redact.ts';
import type { RemoteEntry, ServerEntry, Template } from '../config/types.ts';

const SCHEMES = /^(?:bearer|basic|dpop|token)\s+$/i;

/** The template with its references readable and its literal parts masked, schemes of credentials excepted. */
export function maskedTemplate(template: Template): string {
  return template.parts.map((part) => (typeof part !== 'string' ? part.token : part === '' || SCHEMES.test(part) ? part : MASK)).join('');
}

/** A URL without user information and without the values of its query. */
export function maskedUrl(url: string): string {
  return redactPatterns(url).replace(/([?&][^=&#]+=)(?!\{env:|\{file:|\$\{)[^&#]+/g, `$1${MASK}`);
}

const quoted = (word: string): string => (/^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command line as a shell would take it, secrets masked. */
export function commandLineOf(words: readonly string[]): string {
  return redactPatterns(words.map(quoted).join(' '));
}

const maskedMap = (templates: Readonly<Record<string, Template>>): Record<string, string> => Object.fromEntries(Object.entries(templates).map(([key, template]) => [key, maskedTemplate(template)]));

/** What the entry runs or reaches, on one line. */
export function targetOf(entry: ServerEntry): string {
  return entry.kind === 'local' ? commandLineOf([entry.command.source, ...entry.args.map((arg) => arg.source)]) : maskedUrl(entry.url.source);
}

export const transportOf = (entry: ServerEntry): 'stdio' | 'http' | 'sse' => (entry.kind === 'local' ? 'stdio' : entry.transport === 'sse' ? 'sse' : 'http');

/** Places of certificates and keys, never what is in them. */
export function certificatesOf(entry: RemoteEntry): Readonly<Record<string, string>> {
  const { caFile, certFile, keyFile } = entry;
  return Object.fromEntries(Object.entries({ caFile, certFile, keyFile }).flatMap(([key, place]) => (place === undefined ? [] : [[key, place.value]])));
}

/** The facts of an entry for JSON. */
export function entryDocument(entry: ServerEntry): object {
  const own = entry.kind === 'local'
    ? { command: redactPatterns(entry.command.source), args: entry.args.map((arg) => redactPatterns(arg.source)), cwd: entry.cwd, environment: maskedMap(entry.environment) }
    : { url: maskedUrl(entry.url.source), headers: maskedMap(entry.headers), oauth: entry.oauth === false ? false : entry.oauth === undefined ? null : 'configured', ...(entry.headersCommand !== undefined && { headersCommand: entry.headersCommand.words.map((word) => redactPatterns(word.source)) }), ...certificatesOf(entry) };
  return { name: entry.name, kind: entry.kind, transport: transportOf(entry), enabled: entry.enabled, ...own, protocol: entry.protocol, timeouts: entry.timeouts, origin: entry.origin, shadowed: entry.shadowed };
}
