/** A new server entry from words of the command line or from the JSON snippets that other clients' documents show. */
import { isObject, isStringArray, isStringMap, parseJson } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import type { NewEntry } from '../config/edit.ts';
import { legacyRevisions, modernRevisions } from '../mcp/revisions.ts';
import { millisecondsOf, usageFailure } from './parse.ts';
import type { Parsed } from './command.ts';

const HELP = 'zuno-lite mcp add --help';

/** An http or https URL; `{env:NAME}` and `{file:PATH}` may stand for parts of it. Throws USAGE that quotes the value. */
export function checkUrl(url: string): string {
  const refuse = (why: string): Error => usageFailure(`Cannot use "${url}" as the URL of a server: ${why}`, url, 'for instance --url https://example.com/mcp');
  const probe = url.replace(/\{(?:env|file):[^{}]+\}/g, 'x');
  if (probe === 'x') return url;
  if (!URL.canParse(probe)) throw refuse('it is no URL');
  if (!/^https?:$/.test(new URL(probe).protocol)) throw refuse('it must begin with https:// or http://');
  return url;
}

/** `NAME=value` pairs; a name given twice is refused. */
function assignments(words: readonly string[], option: string, split: (word: string) => readonly [string, string] | undefined, shape: string): Record<string, string> | undefined {
  if (words.length === 0) return undefined;
  const pairs = words.map((word) => {
    const pair = split(word);
    // The word itself may be a secret: only the part before a separator is ever shown.
    if (pair === undefined) throw usageFailure(`Cannot take --${option}: its value is not ${shape}`, `--${option}`, HELP);
    return pair;
  });
  const names = pairs.map(([name]) => (option === 'header' ? name.toLowerCase() : name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usageFailure(`Cannot take --${option} "${twice}" twice`, `--${option}`, HELP);
  return Object.fromEntries(pairs);
}

function splitVariable(word: string): readonly [string, string] | undefined {
  const at = word.indexOf('=');
  return at < 1 ? undefined : [word.slice(0, at), word.slice(at + 1)];
}

/** `Name: value` as in HTTP, or `Name=value`. */
function splitHeader(word: string): readonly [string, string] | undefined {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?::[ \t]*|=)(.*)$/s.exec(word);
  return match === null ? undefined : [match[1]!, match[2]!.trim()];
}

export function protocolOf(text: string | undefined): string | undefined {
  const known = ['auto', 'legacy', ...modernRevisions, ...legacyRevisions];
  if (text === undefined || known.includes(text)) return text;
  throw usageFailure(`Cannot take --protocol "${text}": it is not ${known.join(', ')}`, text, 'for instance --protocol auto', nearest(text, known));
}

function common(parsed: Parsed): { readonly timeout: number | undefined; readonly protocol: string | undefined; readonly enabled: false | undefined } {
  return { timeout: millisecondsOf(parsed.value('timeout'), 'timeout'), protocol: protocolOf(parsed.value('protocol')), enabled: parsed.has('disabled') ? false : undefined };
}

function refuseOptions(parsed: Parsed, names: readonly string[], kind: string): void {
  const stray = names.find((name) => parsed.has(name));
  if (stray !== undefined) throw usageFailure(`Cannot take --${stray} for ${kind}`, `--${stray}`, HELP);
}

function oauthOf(parsed: Parsed): false | Readonly<Record<string, string>> | undefined {
  const clientId = parsed.value('client-id'), scope = parsed.value('scope');
  if (scope !== undefined && ['user', 'project', 'local', 'global'].includes(scope)) throw usageFailure(`Cannot take --scope "${scope}": here it is the scope of OAuth; --project writes into the project's file, the default is yours`, scope, HELP);
  if (parsed.has('no-oauth')) {
    if (clientId !== undefined || scope !== undefined) throw usageFailure('Cannot take --no-oauth together with --client-id or --scope', '--no-oauth', HELP);
    return false;
  }
  return clientId === undefined && scope === undefined ? undefined : { ...(clientId === undefined ? {} : { clientId }), ...(scope === undefined ? {} : { scope }) };
}

function transportOf(parsed: Parsed): 'stdio' | 'http' | 'sse' | undefined {
  const text = parsed.value('transport');
  if (text === undefined || text === 'stdio' || text === 'http' || text === 'sse') return text;
  if (text === 'streamable-http') return 'http';
  throw usageFailure(`Cannot take --transport "${text}": it is not http, sse or stdio`, text, HELP);
}

const shellWords = (words: readonly string[]): string => words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');

/** The URL, from `--url` or from the second word; other words are a command that lacks its `--`. */
function urlOf(parsed: Parsed): string | undefined {
  const [name, ...words] = parsed.operands;
  const option = parsed.value('url');
  if (words.length === 0) return option;
  if (words.length > 1 || !/^[a-z][a-z0-9+.-]*:\/\//i.test(words[0]!)) throw usageFailure(`Cannot take "${words[0]!}": a command stands after "--"`, words[0], `zuno-lite mcp add ${name!} -- ${shellWords([...words, ...(parsed.commandLine ?? [])])}`);
  if (option !== undefined) throw usageFailure('Cannot take two URLs', words[0], HELP);
  return words[0];
}

/** Files are kept by their full name. A project file would not be allowed to name them. */
function certificatesOf(parsed: Parsed, resolvePath: (file: string) => string): { readonly caFile: string | undefined; readonly certFile: string | undefined; readonly keyFile: string | undefined } {
  const [ca, cert, key] = CERTIFICATES.map((option) => parsed.value(option));
  const given = CERTIFICATES.find((option) => parsed.has(option));
  if (given !== undefined && parsed.has('project')) throw usageFailure(`Cannot take --${given} together with --project: a project file may not choose certificates`, `--${given}`, HELP);
  if ((cert === undefined) !== (key === undefined)) throw usageFailure(`Cannot take --${cert === undefined ? 'key' : 'cert'}-file without --${cert === undefined ? 'cert' : 'key'}-file`, `--${cert === undefined ? 'key' : 'cert'}-file`, HELP);
  const placed = (file: string | undefined): string | undefined => (file === undefined || /^(?:~|\{)/.test(file) ? file : resolvePath(file));
  return { caFile: placed(ca), certFile: placed(cert), keyFile: placed(key) };
}

const CERTIFICATES = ['ca-file', 'cert-file', 'key-file'] as const;

/** Throws USAGE unless the words say exactly one server: a command after `--`, or a URL. */
export function entryFromWords(parsed: Parsed, resolveCwd: (cwd: string) => string, resolvePath: (file: string) => string = (file) => file): NewEntry {
  const url = urlOf(parsed), transport = transportOf(parsed);
  const command = parsed.commandLine;
  if (url !== undefined && command !== undefined) throw usageFailure('Cannot add a server with a URL and a command: it is one or the other', '--', HELP);
  if (url !== undefined) {
    refuseOptions(parsed, ['env', 'cwd'], 'a server that is reached by URL: variables and directories are for commands, headers for URLs');
    if (transport === 'stdio') throw usageFailure('Cannot take --transport stdio with a URL', '--transport', HELP);
    return { type: 'remote', url: checkUrl(url), transport, headers: assignments(parsed.all('header'), 'header', splitHeader, '"Name: value" or Name=value'), oauth: oauthOf(parsed), ...certificatesOf(parsed, resolvePath), ...common(parsed) };
  }
  if (command === undefined || command.length === 0) throw usageFailure('Cannot add a server without a command or a URL', undefined, `zuno-lite mcp add ${parsed.operands[0]!} -- COMMAND ARGS...   or   --url URL`);
  refuseOptions(parsed, ['header', 'client-id', 'scope', 'no-oauth', ...CERTIFICATES], 'a server that is started by a command: headers, certificates and signing in are for URLs, --env for commands');
  if (transport !== undefined && transport !== 'stdio') throw usageFailure(`Cannot take --transport ${transport} with a command`, '--transport', HELP);
  if (/^https?:\/\//i.test(command[0]!)) throw usageFailure(`Cannot start "${command[0]!}": it is a URL, not a program`, command[0], `zuno-lite mcp add ${parsed.operands[0]!} --url ${command[0]!}`);
  const cwd = parsed.value('cwd');
  return { type: 'local', command, cwd: cwd === undefined ? undefined : resolveCwd(cwd), environment: assignments(parsed.all('env'), 'env', splitVariable, 'NAME=value'), ...common(parsed) };
}

/** `${NAME}` and `${env:NAME}` of other clients, in the spelling that is written here. */
function ownReferences(text: string): string {
  if (/\$\{(?:env:)?[A-Za-z_]\w*:-[^{}]*\}/.test(text)) throw usageFailure('Cannot take a reference with a default (${NAME:-default}) over: set the variable and write ${NAME}', undefined, 'zuno-lite mcp add-json --help');
  return text.replace(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g, '{env:$1}');
}

const texts = (map: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined => (map === undefined ? undefined : Object.fromEntries(Object.entries(map).map(([key, value]) => [key, ownReferences(value)])));

/** Reads members and remembers which; what nobody read is unknown and is named. */
function reader(json: JsonObject): { take<T>(keys: readonly string[], check: (value: unknown) => value is T, what: string): T | undefined; rest(): string[] } {
  const read = new Set<string>();
  return {
    take(keys, check, what) {
      const key = keys.find((one) => json[one] !== undefined);
      keys.forEach((one) => read.add(one));
      if (key === undefined) return undefined;
      const value = json[key];
      if (!check(value)) throw usageFailure(`Cannot take "${key}" of the snippet: it must be ${what}`, key, 'zuno-lite mcp add-json --help');
      return value;
    },
    rest: () => Object.keys(json).filter((key) => !read.has(key)),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isCommand = (value: unknown): value is string | readonly string[] => isText(value) || isStringArray(value);
const isOauth = (value: unknown): value is false | JsonObject => value === false || isObject(value);

/** The entry inside wrappers such as `{"mcpServers": {"name": {...}}}`, with its name if it has one. */
function unwrap(json: JsonObject): { readonly name?: string; readonly entry: JsonObject } {
  for (const key of ['mcpServers', 'servers', 'mcp']) {
    const inner = json[key];
    if (!isObject(inner)) continue;
    const [name, ...others] = Object.keys(inner);
    if (key === 'mcp' && name === 'servers') return unwrap(inner);
    const entry = name === undefined ? undefined : inner[name];
    if (others.length > 0 || !isObject(entry)) throw usageFailure(`Cannot take the snippet: "${key}" must hold exactly one server`, key, 'zuno-lite mcp add-json --help');
    return { name: name!, entry };
  }
  return { entry: json };
}

/** Throws USAGE for what is no JSON, no server, or holds keys that mean nothing here. */
export function entryFromJson(text: string): { readonly name?: string; readonly entry: NewEntry } {
  const parsed = parseJson(text);
  if (parsed === undefined || !isObject(parsed.value)) throw usageFailure('Cannot read the snippet: it is not a JSON object', undefined, 'zuno-lite mcp add-json --help');
  const { name, entry: json } = unwrap(parsed.value);
  const { take, rest } = reader(json);
  const type = take(['type'], isText, 'a text');
  const command = take(['command'], isCommand, 'a text or a list of texts');
  const args = take(['args'], isStringArray, 'a list of texts') ?? [];
  const url = take(['url', 'serverUrl', 'httpUrl'], isText, 'a text');
  const transport = take(['transport'], isText, 'a text') ?? type;
  const shared = { timeout: take(['timeout', 'timeoutMs'], isNumber, 'a number'), protocol: take(['protocol', 'protocolVersion'], isText, 'a text'), enabled: take(['enabled'], isFlag, 'true or false') ?? (take(['disabled'], isFlag, 'true or false') === true ? false : undefined) };
  const environment = texts(take(['environment', 'env'], isStringMap, 'an object of texts')), headers = texts(take(['headers', 'http_headers'], isStringMap, 'an object of texts'));
  const cwd = take(['cwd'], isText, 'a text'), oauth = take(['oauth'], isOauth, 'false or an object');
  const unknown = rest();
  if (unknown.length > 0) throw usageFailure(`Cannot take the snippet: ${unknown.map((key) => `"${key}"`).join(', ')} ${unknown.length === 1 ? 'means' : 'mean'} nothing here`, unknown[0], 'zuno-lite mcp add-json --help');
  if ((command === undefined) === (url === undefined)) throw usageFailure(`Cannot take the snippet: it has ${command === undefined ? 'neither "command" nor "url"' : 'both "command" and "url"'}`, undefined, 'zuno-lite mcp add-json --help');
  const entry: NewEntry = url === undefined
    ? { type: 'local', command: [...(isText(command) ? [command] : command!), ...args].map(ownReferences), cwd, environment, ...shared }
    : { type: 'remote', url: checkUrl(ownReferences(url)), transport: transport === 'sse' ? 'sse' : transport === 'http' || transport === 'streamable-http' ? 'http' : undefined, headers, oauth, ...shared };
  return name === undefined ? { entry } : { name, entry };
}
