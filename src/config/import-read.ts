/**
 * Reading what another program configured: its file becomes entries of the `mcpServers` dialect, and what has no meaning here is
 * told. Files of a checkout are as untrusted as everything else in it.
 */
import * as path from 'node:path';
import { Failure, toFailure } from '../base/failure.ts';
import { exists, readText, realPath } from '../base/files.ts';
import { readFrontmatter } from '../base/frontmatter.ts';
import { limits } from '../base/limits.ts';
import { nearest } from '../base/text.ts';
import { dialects, readDeclaration, type Declaration, type Dialect } from './dialects.ts';
import type { Converted } from './import-rules.ts';
import { importNames, importSources, type ImportPlaces, type ImportSource } from './imports.ts';
import { parseJsonc } from './jsonc.ts';
import { kindName, originOf, settingFrom, settingOf, type At, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import { parseToml } from './toml.ts';
import type { Diagnostic, LoadedLayer } from './types.ts';

export interface ImportFile {
  readonly source: ImportSource;
  readonly file: string;
  /** The person's, or one that the person named. */
  readonly own: boolean;
  /** Its content, when it was read already. */
  readonly text?: string;
}

export interface Imported {
  readonly declarations: readonly Declaration[];
  readonly notices: readonly Diagnostic[];
}

export function importSource(name: string): ImportSource | undefined {
  return importSources.find((source) => source.name === name);
}

/** Where a source has its files, low to high; those of a checkout rank below those of the person. Nothing is read. */
export function importFiles(source: ImportSource, places: ImportPlaces, options: { readonly project: boolean }): ImportFile[] {
  const own = source.own(places).map((file): ImportFile => ({ source, file, own: true }));
  const project = options.project ? source.project.map((name): ImportFile => ({ source, file: path.join(places.workspace, name), own: false })) : [];
  // Where home itself is the checkout, both are one file: the person's.
  const mine = new Set(own.map(({ file }) => realPath(file) ?? file));
  return [...project.filter(({ file }) => !mine.has(realPath(file) ?? file)), ...own];
}

/** The entries of one file; `undefined` when there is none. Fails with CONFIG_UNREADABLE or CONFIG_INVALID. */
export function readImport({ source, file, own, text }: ImportFile, places: ImportPlaces): Imported | undefined {
  const layer = readForeign(source, file, own, text);
  if (layer === undefined) return undefined;
  const notices: Diagnostic[] = [];
  const found = new Map<string, Declaration>();
  for (const container of source.containers(layer.root, places)) {
    if (container === undefined) continue;
    if (container.kind !== 'object') {
      notices.push(notice(container.at, `an object is due, not ${kindName(container)}`, `Cannot read servers from "${container.at.key}" of ${file}`));
      continue;
    }
    for (const [name, setting] of container.members) {
      if (source.skip?.(setting) === true || isSwitchOnly(source, setting)) continue;
      found.delete(name);
      found.set(name, declared(name, setting, source, layer, places, notices));
    }
  }
  return { declarations: [...found.values()], notices };
}

/** `.mcp.json` without its wrapper may hold other things than servers. */
function isSwitchOnly(source: ImportSource, setting: Setting): boolean {
  return source.name === 'mcp-json' && setting.kind !== 'object';
}

function readForeign(source: ImportSource, file: string, own: boolean, known: string | undefined): Layer | undefined {
  const text = known ?? readText(file, limits.importFileBytes, { keepBom: true });
  if (text === undefined) return undefined;
  const base = { kind: 'import', source: file, trusted: own, directory: path.dirname(file) } as const;
  const origin = { file, layer: 'import' };
  const made = (root: Setting, layer: Omit<Layer, 'root'>): Layer => {
    if (root.kind === 'object') return { ...layer, root };
    throw new Failure('CONFIG_INVALID', `Cannot use "${file}": an object was expected`, { stage: 'config', details: { file, problems: [{ pointer: '', message: 'an object was expected' }] }, origin });
  };
  if (source.format === 'yaml') {
    const read = readFrontmatter(`---\n${text.replace(/^\ufeff?(?:---[^\n]*\n)?/, '')}\n---\n`);
    if ('problem' in read) throw new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": ${read.problem.replace(' of its frontmatter', '')}`, { stage: 'config', details: { file }, origin, hint: `Correct ${file}` });
    const layer = { ...base, unplaced: true, document: { text, root: { kind: 'object', start: 0, end: 0, members: [] }, repeated: [] } } as const;
    return made(settingFrom(read.value, { layer, key: '', offset: 0 }), layer);
  }
  const root = source.format === 'toml' ? parseToml(text, origin) : parseJsonc(text, origin, limits.importFileBytes).root;
  const layer = { ...base, document: { text, root, repeated: [] } };
  return made(settingOf(root, layer, '', root.start), layer);
}

/** The row of the table that the entry is read by, with the references its own program knows. */
function dialectOf(source: ImportSource): Dialect {
  const row = dialects.find(({ name }) => name === 'mcpServers')!;
  return { ...row, syntax: source.references === 'dollar' || source.references === 'shell' ? 'dollar' : 'zuno' };
}

function declared(name: string, setting: Setting, source: ImportSource, layer: Layer, places: ImportPlaces, notices: Diagnostic[]): Declaration {
  const dialect = dialectOf(source);
  if (setting.kind !== 'object') return readDeclaration(name, setting, dialect, layer, places.home, notices);
  const into: Converted = {
    members: new Map(),
    note: (at, message) => { notices.push(notice(at, message, `Cannot take over all of the server "${name}"`)); },
  };
  for (const [key, value] of setting.members) {
    const rule = Object.hasOwn(source.keys, key) ? source.keys[key] : undefined;
    if (rule === undefined) into.note(value.at, `"${key}" is left out: it has no meaning here`);
    else rule(value, { ...into, note: (at, message) => into.note(at, `"${at.key.slice(setting.at.key.length + 1)}" is left out: ${message}`) });
  }
  if (source.off?.(layer.root, name) === true) into.members.set('enabled', { kind: 'scalar', value: false, at: setting.at });
  const filled = filledIn({ ...setting, members: into.members }, source, places);
  return readDeclaration(name, filled, dialect, layer, places.home, notices);
}

/** Words that stand for places become those places; `$NAME` becomes `${NAME}`. */
function filledIn(entry: ObjectSetting, source: ImportSource, places: ImportPlaces): ObjectSetting {
  const words = source.words?.(places) ?? {};
  const fill = (text: string): string => {
    const named = text.replace(/\$\{([A-Za-z_/]+)\}/g, (whole, word: string) => (Object.hasOwn(words, word) && isPlain(words[word]!) ? words[word]! : whole));
    return source.references === 'shell' ? named.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, '${$1}') : named;
  };
  return mapTexts(entry, fill) as ObjectSetting;
}

/** A directory may be called anything, also like a reference: then it is not filled in. */
export function isPlain(text: string): boolean {
  return !/[{}$]/.test(text);
}

/** The setting with every text replaced; keys and places stay. */
export function mapTexts(setting: Setting, change: (text: string, at: At) => string): Setting {
  if (setting.kind === 'scalar') return typeof setting.value === 'string' ? { ...setting, value: change(setting.value, setting.at) } : setting;
  if (setting.kind === 'array') return { ...setting, items: setting.items.map((item) => mapTexts(item, change)) };
  return { ...setting, members: new Map([...setting.members].map(([key, value]) => [key, mapTexts(value, change)])) };
}

function notice(at: At, message: string, subject: string): Diagnostic {
  return { code: 'config_import_partial', severity: 'warning', pointer: at.key, message: `${subject}: ${message}`, origin: originOf(at) };
}

/** What `"imports": [...]` brings in, low to high. A file that cannot be read costs itself only; a name that nobody knows is a failure. */
export function readImports(setting: Setting | undefined, places: ImportPlaces, options: { readonly project: boolean }): Imported & { readonly all: readonly Declaration[]; readonly states: readonly LoadedLayer[] } {
  const all: Declaration[] = [], notices: Diagnostic[] = [], states: LoadedLayer[] = [];
  const winners = new Map<string, Declaration>();
  for (const source of namedSources(setting)) {
    for (const file of importFiles(source, places, options)) {
      let state: LoadedLayer['state'] = 'absent';
      try {
        const imported = exists(file.file) ? readImport(file, places) : undefined;
        if (imported !== undefined) state = 'loaded';
        notices.push(...imported?.notices ?? []);
        for (const declaration of imported?.declarations ?? []) {
          all.push(declaration);
          // As in those programs: the nearer entry replaces the other as a whole. A checkout's never replaces the person's.
          if (file.own || winners.get(declaration.name)?.layer.trusted !== true) winners.set(declaration.name, declaration);
        }
      } catch (error) {
        const failure = toFailure(error, 'config');
        notices.push({ code: 'config_import_unreadable', severity: 'warning', pointer: 'imports', message: failure.message, origin: failure.origin ?? { file: file.file, layer: 'import' } });
      }
      states.push({ kind: 'import', source: file.file, trusted: file.own, state });
    }
  }
  return { declarations: [...winners.values()], all, notices, states };
}

function namedSources(setting: Setting | undefined): ImportSource[] {
  if (setting === undefined) return [];
  const fail = (at: At, message: string): never => {
    const origin = originOf(at);
    throw new Failure('CONFIG_INVALID', `Cannot use "${at.key}" of ${origin.file}: ${message}`, { stage: 'config', details: { file: origin.file, problems: [{ pointer: at.key, message }] }, origin });
  };
  if (setting.kind !== 'array') return fail(setting.at, `a list of names is due, not ${kindName(setting)}`);
  return setting.items.map((item) => {
    const name = item.kind === 'scalar' ? String(item.value) : '';
    const near = nearest(name, importNames, 1)[0];
    return importSource(name) ?? fail(item.at, `"${name}" is none of ${importNames.join(', ')}${near === undefined ? '' : `; did you mean "${near}"?`}`);
  });
}
