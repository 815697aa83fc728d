/**
 * Changes of server entries in configuration files: the one way in which this program writes them. Everything else in the file
 * stays as it is, the file is replaced as a whole under a lock, and the outcome says which file and layer it was.
 */
import * as path from 'node:path';
import { Failure, type Origin, type Problem } from '../base/failure.ts';
import { exists, makeDirectory, readText, realPath, withLock, writeFileAtomic } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Paths } from '../base/paths.ts';
import { redactPatterns } from '../base/redact.ts';
import { nearest } from '../base/text.ts';
import { readDeclarations, type Declaration } from './dialects.ts';
import { memberOf, parseJsonc, type JsoncNode } from './jsonc.ts';
import { indentOfLine, nodeAt, removeJsonc, setJsonc } from './jsonc-edit.ts';
import { layerOf, originOf } from './layers.ts';
import { configNames, gitRoot } from './locate.ts';
import { literalSecrets, type LiteralSecret } from './literals.ts';
import { maskText } from './mask.ts';
import { inDialect } from './set-values.ts';
import type { LayerKind } from './types.ts';

/** An entry as it is written: the Zuno dialect. */
export type NewEntry = {
  readonly enabled?: boolean | undefined;
  /** Request timeout, milliseconds. */
  readonly timeout?: number | undefined;
  readonly protocol?: string | undefined;
} & (
  | { readonly type: 'local'; readonly command: readonly string[]; readonly cwd?: string | undefined; readonly environment?: Readonly<Record<string, string>> | undefined }
  | { readonly type: 'remote'; readonly url: string; readonly transport?: 'auto' | 'http' | 'sse' | undefined; readonly headers?: Readonly<Record<string, string>> | undefined; readonly oauth?: false | Readonly<Record<string, unknown>> | undefined; readonly caFile?: string | undefined; readonly certFile?: string | undefined; readonly keyFile?: string | undefined }
);

export type Scope = 'global' | 'project';

export interface EditOptions {
  readonly paths: Paths;
  readonly cwd: string;
  /** Which file. Default: `global` to add; to change, the global file that has the server, else the project's. */
  readonly scope?: Scope | undefined;
  /** A file by name (for instance of an entry's origin) instead of a scope. */
  readonly file?: { readonly path: string; readonly layer: LayerKind } | undefined;
  /** Says what would happen and writes nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface Edit {
  readonly file: string;
  readonly layer: LayerKind;
  readonly change: 'added' | 'replaced' | 'changed' | 'removed' | 'none';
  /** False after a dry run and where nothing had to change. */
  readonly written: boolean;
  /** The entry as text, secrets masked. */
  readonly before?: string;
  readonly after?: string;
  readonly warnings: readonly string[];
}

export const reservedNames: readonly string[] = ['list', 'ls', 'all', 'servers', 'lock'];

/** Fails with USAGE unless the name may be given to a new server. */
export function checkName(name: string): void {
  const refuse = (problem: string): Failure => new Failure('USAGE', `Cannot name a server "${name}": ${problem}`, { stage: 'usage', details: { argument: name }, hint: 'Choose another name' });
  if (reservedNames.includes(name)) throw refuse('the word is reserved');
  if (name.length > limits.toolIdChars) throw refuse(`it is longer than ${limits.toolIdChars} characters`);
  if (!/^[A-Za-z0-9_](?:[A-Za-z0-9_. -]*[A-Za-z0-9_-])?$/.test(name)) throw refuse('letters, digits, "_", "-", "." and inner spaces make a name, and it begins with a letter, a digit or "_"');
}

/** What may be written although it should stand elsewhere. */
export interface SecretOptions {
  /** Writes a literal secret instead of refusing it. */
  readonly literal?: boolean | undefined;
}

/**
 * Writes a new entry. An existing name in the same place fails with USAGE unless `replace`, and so does a literal secret unless
 * `literal`: the hint shows the form with a variable.
 */
export async function addServer(name: string, entry: NewEntry, options: EditOptions & SecretOptions & { readonly replace?: boolean | undefined }): Promise<Edit> {
  checkName(name);
  refuseSecrets(name, literalSecrets(name, written(entry)), options);
  const scoped = { ...options, scope: options.scope ?? 'global' };
  const target = locate(name, scoped)[0] ?? newTarget(scoped);
  return change(target, name, options, (text, found, source) => {
    if (found.length > 0 && options.replace !== true) throw taken(name, found.at(-1)!);
    let edited = text;
    for (const { dialect } of found) if (dialect.name !== 'zuno') edited = removeJsonc(edited, [...dialect.path, name], source);
    return { text: setJsonc(edited, ['mcp', name], written(entry), source), change: found.length > 0 ? 'replaced' : 'added' };
  }, entryWarnings(name, entry, target, options));
}

/** Takes an entry out. Fails with SERVER_UNKNOWN when no file that may be edited has it. */
export async function removeServer(name: string, options: EditOptions): Promise<Edit> {
  const target = locate(name, options)[0];
  if (target === undefined) throw unknown(name, options);
  return change(target, name, options, (text, found, source) => ({
    text: found.reduce((edited, { dialect }) => removeJsonc(edited, [...dialect.path, name], source), text), change: found.length > 0 ? 'removed' : 'none',
  }), []);
}

/**
 * Switches a server. Where the chosen file does not have it, a toggle is written; without a choice, off goes to the global file (which
 * holds against a project), and on to the file that says off.
 */
export async function switchServer(name: string, on: boolean, options: EditOptions): Promise<Edit> {
  const [found] = locate(name, options);
  // `mcp.lock` is a setting unless a server is called so: a switch must not overwrite it.
  if (found === undefined && name === 'lock') throw unknown(name, options);
  const target = found === undefined || (options.scope === undefined && options.file === undefined && found.layer !== 'global' && !on) ? newTarget({ ...options, scope: options.scope ?? 'global' }) : found;
  return change(target, name, options, (text, present, source) => {
    let edited = text;
    for (const { dialect } of present) {
      const keys = [...dialect.path, name];
      edited = setJsonc(edited, [...keys, 'enabled'], on, source);
      for (const other of ['enable', 'disabled']) edited = removeJsonc(edited, [...keys, other], source);
    }
    if (present.length === 0) edited = setJsonc(edited, ['mcp', name], { enabled: on }, source);
    return { text: edited, change: present.length === 0 ? 'added' : 'changed' };
  }, []);
}

/**
 * Sets keys of an entry (`timeout`, `headers.X-Team`, in the words of the Zuno dialect or of the entry's own); null takes a key out. The
 * entry must be valid afterwards, else CONFIG_INVALID and nothing is written. Literal secrets are refused as in `addServer`.
 */
export async function changeServer(name: string, changes: Readonly<Record<string, unknown>>, options: EditOptions & SecretOptions): Promise<Edit> {
  const target = locate(name, options)[0];
  if (target === undefined) throw unknown(name, options);
  const secrets = literalSecrets(name, changes);
  refuseSecrets(name, secrets, options);
  return change(target, name, options, (text, found, source) => {
    const declaration = found.at(-1)!;
    const prefix = [...declaration.dialect.path, name];
    const present = nodeAt(parseJsonc(text, source).root, prefix);
    let edited = text;
    for (const [key, value] of inDialect(changes, declaration.dialect, (own) => present !== undefined && memberOf(present, own) !== undefined)) {
      const dot = key.indexOf('.');
      const keys = [...prefix, ...(dot === -1 ? [key] : [key.slice(0, dot), key.slice(dot + 1)])];
      edited = value === null ? removeJsonc(edited, keys, source) : setJsonc(edited, keys, value, source);
    }
    return { text: edited, change: 'changed' };
  }, secrets.map((secret) => secretWarning(secret, target.file)));
}

// --- Where -----------------------------------------------------------------------------------------------------------

interface Target { readonly file: string; readonly layer: LayerKind; readonly trusted: boolean }

function directoryOf(scope: Scope, { paths, cwd }: EditOptions): string {
  return scope === 'global' ? paths.config : gitRoot(cwd) ?? path.resolve(cwd);
}

function targetsOf(options: EditOptions): Target[] {
  if (options.file !== undefined) return [{ file: options.file.path, layer: options.file.layer, trusted: options.file.layer !== 'project' && options.file.layer !== 'project-dir' }];
  const scopes: readonly Scope[] = options.scope === undefined ? ['global', 'project'] : [options.scope];
  return scopes.flatMap((scope) => configNames.map((name): Target => ({ file: path.join(directoryOf(scope, options), name), layer: scope, trusted: scope === 'global' })));
}

/** Files that have the server, in the order in which they are looked at. */
function locate(name: string, options: EditOptions): Target[] {
  return targetsOf(options).filter((target) => {
    const text = readText(target.file, limits.configFileBytes, { keepBom: true });
    return text !== undefined && declared(text, name, target, options).length > 0;
  });
}

/** Where something new goes: an existing `zuno.json`, else an existing `zuno.jsonc`, else a new `zuno.json`. */
function newTarget(options: EditOptions): Target {
  const targets = targetsOf(options);
  return targets.find(({ file }) => exists(file)) ?? targets[0]!;
}

function declared(text: string, name: string, target: Target, { paths }: EditOptions): Declaration[] {
  const layer = layerOf({ kind: target.layer, source: target.file, trusted: target.trusted, directory: path.dirname(target.file) }, text);
  return readDeclarations(layer, paths.home).declarations.filter((declaration) => declaration.name === name);
}

// --- How -------------------------------------------------------------------------------------------------------------

type Rewrite = (text: string, found: readonly Declaration[], source: { readonly file: string; readonly layer: string }) => { readonly text: string; readonly change: Edit['change'] };

async function change(target: Target, name: string, options: EditOptions, rewrite: Rewrite, warnings: readonly string[]): Promise<Edit> {
  const { file, layer } = target;
  const source = { file, layer };
  const run = async (): Promise<Edit> => {
    const before = readText(file, limits.configFileBytes, { keepBom: true }) ?? '';
    const found = declared(before, name, target, options);
    const edited = rewrite(before, found, source);
    const after = declared(edited.text, name, target, options);
    const problems = after.flatMap(problemsOf);
    // What was broken before may stay so while something else of it changes; nothing gets broken here.
    if (problems.length > found.flatMap(problemsOf).length) {
      throw new Failure('CONFIG_INVALID', problems.at(-1)!.message, { stage: 'config', details: { file, problems: problems.map(({ pointer, message }) => ({ pointer, message })) } });
    }
    const same = edited.text === before;
    const write = !same && options.dryRun !== true;
    if (write) await writeFileAtomic(file, edited.text, { newMode: target.trusted ? 0o600 : 0o644 });
    const shown = { before: snippet(before, found, source), after: snippet(edited.text, after, source) };
    return {
      file, layer, change: same ? 'none' : edited.change, written: write, warnings,
      ...(shown.before === undefined ? {} : { before: shown.before }), ...(shown.after === undefined ? {} : { after: shown.after }),
    };
  };
  if (options.dryRun === true) return run();
  makeDirectory(path.dirname(file));
  return withLock(`${realPath(file) ?? file}.lock`, run, { waitMs: limits.lockWaitMs });
}

/** What is wrong with an entry by itself; what other layers add to it is not known here. */
function problemsOf({ name, fields, at, problems }: Declaration): Problem[] {
  const kind = fields.kind?.value ?? (fields.command?.value !== undefined ? 'local' : fields.url?.value !== undefined ? 'remote' : undefined);
  const strangers = kind === 'local' ? ['url', 'headers', 'oauth', 'transport'] as const : kind === 'remote' ? ['command', 'environment', 'cwd'] as const : [];
  const stray = strangers.filter((key) => fields[key] !== undefined && fields[key].value !== undefined);
  return [...problems, ...stray.map((key) => ({ pointer: `${at.key}.${key}`, message: `Cannot use the server "${name}": "${key}" does not belong to a ${kind} server` }))];
}

/** The entry as it stands in the text, moved to the left edge, with everything masked that may be a secret. */
function snippet(text: string, found: readonly Declaration[], source: { readonly file: string; readonly layer: string }): string | undefined {
  const declaration = found.at(-1);
  const parent = declaration === undefined ? undefined : nodeAt(parseJsonc(text, source).root, declaration.dialect.path);
  const member = parent === undefined ? undefined : memberOf(parent, declaration!.name);
  if (member === undefined) return undefined;
  let shown = '', at = member.keyStart;
  for (const { start, end, value } of secretTexts(member.node)) {
    // What stands between the values goes through the redactor by itself: seen as one text, it would take a masked template for a secret.
    shown += redactPatterns(text.slice(at, start)) + JSON.stringify(maskText(value));
    at = end;
  }
  shown += redactPatterns(text.slice(at, member.node.end));
  const indent = indentOfLine(text, member.keyStart);
  return shown.split(/\r?\n/).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join('\n');
}

/** The values of headers and variables, in the order of the text. */
function secretTexts(entry: JsoncNode): { readonly start: number; readonly end: number; readonly value: string }[] {
  if (entry.kind !== 'object') return [];
  const maps = entry.members.filter(({ key }) => ['headers', 'http_headers', 'environment', 'env', 'oauth'].includes(key));
  return maps.flatMap(({ node }) => (node.kind === 'object' ? node.members : [])).flatMap(({ key, node }) => {
    const open = key === 'clientId' || key === 'scope' || key === 'redirectUri';
    return node.kind === 'scalar' && typeof node.value === 'string' && !open ? [{ start: node.start, end: node.end, value: node.value }] : [];
  });
}

/** Keys in the order in which a person would write them; what is undefined is not there. */
function written(entry: NewEntry): Record<string, unknown> {
  const { type, enabled, timeout, protocol } = entry;
  const own = entry.type === 'local'
    ? { command: entry.command, cwd: entry.cwd, environment: entry.environment }
    : { transport: entry.transport, url: entry.url, headers: entry.headers, oauth: entry.oauth, caFile: entry.caFile, certFile: entry.certFile, keyFile: entry.keyFile };
  return Object.fromEntries(Object.entries({ type, ...own, timeout, protocol, enabled }).filter(([, value]) => value !== undefined));
}

// --- What to say -----------------------------------------------------------------------------------------------------

function taken(name: string, { at }: Declaration): Failure {
  const origin: Origin = originOf(at);
  return new Failure('USAGE', `Cannot add "${name}": the server exists already in ${origin.file}, line ${origin.line ?? '?'}`, { stage: 'usage', details: { argument: name }, origin, hint: 'Add --replace to overwrite it, or choose another name' });
}

function unknown(name: string, options: EditOptions): Failure {
  const known = new Set<string>();
  for (const target of targetsOf(options)) {
    const text = readText(target.file, limits.configFileBytes);
    if (text === undefined) continue;
    const layer = layerOf({ kind: target.layer, source: target.file, trusted: target.trusted, directory: path.dirname(target.file) }, text);
    for (const declaration of readDeclarations(layer, options.paths.home).declarations) known.add(declaration.name);
  }
  const close = nearest(name, known);
  return new Failure('SERVER_UNKNOWN', `Cannot find the server "${name}": ${targetsOf(options).map(({ file }) => file).join(', ')} do not declare it`, {
    stage: 'usage', details: { server: name, known: [...known], nearest: close }, hint: close.length > 0 ? `Did you mean "${close[0]}"?` : 'zuno-lite mcp list',
  });
}

function secretWarning({ key, advice }: LiteralSecret, file: string): string {
  return `"${key}" holds what looks like a secret, and ${file} will keep it readable; ${advice}`;
}

/** One or two characters are an example, not a secret: they are written with a warning. */
function refuseSecrets(name: string, secrets: readonly LiteralSecret[], { literal }: SecretOptions): void {
  const [first, ...others] = secrets.filter(({ strong }) => strong);
  if (first === undefined || literal === true) return;
  const more = others.length === 0 ? '' : ` (and ${others.map(({ key }) => `"${key}"`).join(', ')})`;
  throw new Failure('USAGE', `Cannot write "${first.key}" of the server "${name}"${more}: it looks like a secret, and the file would keep it readable`, {
    stage: 'usage', details: { argument: first.key }, hint: `${capital(first.advice)}, and set that variable; or repeat with --literal`,
  });
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function entryWarnings(name: string, entry: NewEntry, target: Target, { paths }: EditOptions): string[] {
  const warnings = literalSecrets(name, written(entry)).map((secret) => secretWarning(secret, target.file));
  if (entry.type === 'local' && !target.trusted) warnings.push(`A command in a project file is refused until a trusted file admits it: "trust": {"project_host_commands": [${JSON.stringify(path.dirname(target.file))}]} in ${path.join(paths.config, 'zuno.json')}`);
  return warnings;
}
