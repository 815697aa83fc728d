/** Admitting one project file as it is: what it would run and reach is laid open first, then its digest goes into the global file. */
import * as path from 'node:path';
import { Failure } from '../base/failure.ts';
import { exists, makeDirectory, readText, realPath, withLock, writeFileAtomic } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Paths } from '../base/paths.ts';
import { redactPatterns } from '../base/redact.ts';
import { readDeclarations, type Declaration } from './dialects.ts';
import { readImport } from './import-read.ts';
import { importSources, type ImportPlaces } from './imports.ts';
import { setItemJsonc, setJsonc } from './jsonc-edit.ts';
import { layerOf, plain, settingAt, type Setting } from './layers.ts';
import { configNames } from './locate.ts';
import { maskUrl } from './mask.ts';
import { references } from './substitute.ts';
import { digestOf, type Pin } from './trust.ts';
import type { Template } from './types.ts';

/** One server of the file, as far as it concerns this machine. */
export interface ReviewedServer {
  readonly name: string;
  /** What would be started, word by word, or reached; secrets masked. */
  readonly runs?: readonly string[];
  readonly reaches?: string;
  readonly cwd?: string;
  /** Variables that it sets for the program: names only. */
  readonly sets: readonly string[];
  /** Variables and files of this machine that it would read. */
  readonly reads: readonly string[];
}

export interface Review {
  readonly pin: Pin;
  readonly servers: readonly ReviewedServer[];
  /** Other keys that count only once the file is admitted. */
  readonly loosens: readonly string[];
}

/** What a file would get by being admitted. Fails with CONFIG_UNREADABLE or CONFIG_INVALID. */
export function reviewFile(file: string, places: ImportPlaces): Review {
  const real = realPath(file);
  const text = real === undefined ? undefined : readText(real, limits.configFileBytes, { keepBom: true });
  if (real === undefined || text === undefined) throw new Failure('CONFIG_UNREADABLE', `Cannot read "${file}": no such file`, { stage: 'trust', details: { file }, hint: 'Name the file itself, for instance zuno.json' });
  const declarations = declarationsOf(real, text, places);
  const layer = foreignSource(real) === undefined ? layerOf({ kind: 'project', source: real, trusted: false, directory: path.dirname(real) }, text) : undefined;
  const loosens = ['permission', 'tools', 'features', 'agent', 'agents', 'default_agent', 'command', 'commands'].filter((key) => settingAt(layer?.root, key) !== undefined);
  return { pin: { path: real, sha256: digestOf(text) }, servers: declarations.filter(({ shape }) => shape === 'entry').map(reviewed), loosens };
}

/** Which other program's project file this is by its name. */
function foreignSource(file: string): (typeof importSources)[number] | undefined {
  const under = (name: string): boolean => file.endsWith(path.sep + path.normalize(name));
  return (configNames as readonly string[]).includes(path.basename(file)) ? undefined : importSources.find(({ project }) => project.some(under));
}

function declarationsOf(file: string, text: string, places: ImportPlaces): readonly Declaration[] {
  const source = foreignSource(file);
  if (source !== undefined) return readImport({ source, file, own: false, text }, places)?.declarations ?? [];
  return readDeclarations(layerOf({ kind: 'project', source: file, trusted: false, directory: path.dirname(file) }, text), places.home).declarations;
}

function reviewed({ name, fields }: Declaration): ReviewedServer {
  const { command, args, cwd, url, environment, headers, headersCommand } = fields;
  const runs = command?.value === undefined ? headersCommand?.value : [command.value, ...args?.value ?? []];
  const texts = [...runs ?? [], cwd?.value, url?.value, ...[environment, headers].flatMap((map) => [...map?.value?.values() ?? []].map((cell) => cell.value))];
  const reads = texts.filter((one): one is Template => one !== undefined).flatMap((one) => references(one).map(({ token }) => token));
  const settings = fields.oauth?.value === undefined || fields.oauth.value === false ? [] : JSON.stringify(plain(fields.oauth.value)).match(/\{(?:env|file):[^{}]+\}|\$\{[^{}]+\}/g) ?? [];
  return {
    name, sets: [...environment?.value?.keys() ?? []], reads: [...new Set([...reads, ...settings])],
    ...(runs === undefined ? {} : { runs: runs.map(({ source }) => redactPatterns(source)) }),
    ...(url?.value === undefined ? {} : { reaches: maskUrl(url.value.source) }),
    ...(cwd?.value === undefined ? {} : { cwd: cwd.value.source }),
  };
}

export interface Pinned { readonly file: string; readonly change: 'added' | 'replaced' | 'none'; readonly why?: string }

const KEYS = ['trust', 'project_host_commands'] as const;

/** Writes the pin into the global file, in place of an older one of the same file. Fails with CONFIG_UNREADABLE or CONFIG_INVALID. */
export async function pinFile(pin: Pin, paths: Paths): Promise<Pinned> {
  const files = configNames.map((name) => path.join(paths.config, name));
  // Of two files the later one counts: an older list there would hide a newer one.
  const file = files.findLast((one) => grantIn(one) !== undefined) ?? files.find(exists) ?? files[0]!;
  makeDirectory(path.dirname(file));
  return withLock(`${realPath(file) ?? file}.lock`, async (): Promise<Pinned> => {
    const source = { file, layer: 'global' };
    const before = readText(file, limits.configFileBytes, { keepBom: true }) ?? '';
    const grant = grantIn(file);
    if (grant?.kind === 'scalar' && grant.value === true) return { file, change: 'none', why: 'every checkout is admitted there already ("project_host_commands": true)' };
    const index = grant?.kind === 'array' ? grant.items.findIndex((item) => { const named = settingAt(item, 'path'); return named?.kind === 'scalar' && typeof named.value === 'string' && realPath(named.value) === pin.path; }) : -1;
    const after = grant?.kind === 'array' ? setItemJsonc(before, KEYS, index === -1 ? undefined : index, pin, source) : setJsonc(before, KEYS, [pin], source);
    if (after === before) return { file, change: 'none', why: 'this content is admitted there already' };
    await writeFileAtomic(file, after, { newMode: 0o600 });
    return { file, change: index === -1 ? 'added' : 'replaced' };
  }, { waitMs: limits.lockWaitMs });
}

function grantIn(file: string): Setting | undefined {
  const text = readText(file, limits.configFileBytes, { keepBom: true });
  return text === undefined ? undefined : settingAt(layerOf({ kind: 'global', source: file, trusted: true, directory: path.dirname(file) }, text).root, ...KEYS);
}
