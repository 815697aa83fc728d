/**
 * Agents and commands that stand in Markdown files: `{agent,agents}/**` and `{command,commands}/**` beside a configuration file, each
 * file a layer of its own just below that one. The path inside the folder is the name, the frontmatter its keys, the body its text.
 */
import * as path from 'node:path';
import { toFailure } from '../base/failure.ts';
import { isDirectory, readDirectory, readText, realPath } from '../base/files.ts';
import { readFrontmatter } from '../base/frontmatter.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { BrokenAgent } from './agents.ts';
import { join, originOf, type At, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import type { Place } from './locate.ts';
import type { Diagnostic } from './types.ts';

export interface Definitions {
  /** Low to high. */
  readonly layers: readonly Layer[];
  readonly broken: readonly BrokenAgent[];
  readonly notices: readonly Diagnostic[];
}

/** Folders from low to high. */
const FOLDERS = [['agent', 'agents'], ['agents', 'agents'], ['command', 'commands'], ['commands', 'commands']] as const;

/** Layers that have such folders beside their file. */
export function mayDefine(place: Pick<Place, 'kind'>): boolean {
  return place.kind === 'global' || place.kind === 'home-dir' || place.kind === 'project-dir' || place.kind === 'env-dir';
}

/** What stands beside the configuration file of a place. `root`: what links of a project may not lead out of. */
export function readDefinitions({ kind, trusted, directory }: Pick<Place, 'kind' | 'trusted' | 'directory'>, root: string): Definitions {
  const layers: Layer[] = [], broken: BrokenAgent[] = [], notices: Diagnostic[] = [];
  if (!isDirectory(directory)) return { layers, broken, notices };
  let present: readonly string[];
  // What is no directory, or may not be read, holds no file that counts; reading the configuration file beside it says so.
  try { present = readDirectory(directory); } catch { return { layers, broken, notices }; }
  const realRoot = trusted || !FOLDERS.some(([folder]) => present.includes(folder)) ? undefined : realPath(root);
  const inside = (file: string): boolean => {
    if (trusted) return true;
    const real = realPath(file);
    return real !== undefined && realRoot !== undefined && real.startsWith(realRoot.endsWith(path.sep) ? realRoot : realRoot + path.sep);
  };
  for (const [folder, key] of FOLDERS) {
    if (!present.includes(folder)) continue;
    const top = path.join(directory, folder);
    const layerAt = (file: string, text: string): Layer => fileLayer({ kind, source: file, trusted, directory: path.dirname(file) }, text);
    const tell = (file: string, message: string): void => { notices.push({ code: 'config_definition_skipped', severity: 'warning', pointer: '', message: `Cannot use "${file}": ${message}`, origin: originOf(layerAt(file, '').root.at) }); };
    const { files, cut } = walk(top, inside, tell);
    if (cut !== undefined) tell(top, cut);
    for (const file of files) {
      const name = path.relative(top, file).slice(0, -'.md'.length).split(path.sep).join('/');
      const fail = (problem: string): void => { if (key === 'agents') broken.push({ name, at: layerAt(file, '').root.at, problem }); else tell(file, problem); };
      try {
        const text = readText(file, limits.definitionBytes);
        if (text === undefined) continue;
        const { head, body, bodyAt, problem } = split(text);
        if (problem !== undefined) { fail(problem); continue; }
        const layer = layerAt(file, text), at = layer.root.at;
        const said = placed(head, at, text.slice(0, bodyAt)) as ObjectSetting;
        const members = new Map(key === 'agents' ? said.members : [...said.members].filter(([one]) => one === 'description'));
        if (body !== '' || key === 'commands') members.set(key === 'agents' ? 'prompt' : 'template', { kind: 'scalar', value: body, at: { ...at, offset: bodyAt } });
        layers.push({ ...layer, root: { ...layer.root, members: new Map([[key, objectOf(new Map([[name, objectOf(members, at)]]), at)]]) } });
      } catch (error) {
        fail(toFailure(error, 'config').message);
      }
    }
  }
  return { layers, broken, notices };
}

/** Markdown files below a folder, by name, folders after the files beside them. */
function walk(top: string, inside: (file: string) => boolean, tell: (file: string, message: string) => void): { readonly files: readonly string[]; readonly cut: string | undefined } {
  const files: string[] = [];
  let cut: string | undefined;
  const visit = (directory: string, depth: number): void => {
    if (depth > limits.definitionDepth) { cut ??= `folders are nested deeper than ${limits.definitionDepth}`; return; }
    let names: readonly string[];
    try { names = readDirectory(directory); } catch { return; }
    const folders: string[] = [];
    for (const name of names) {
      const file = path.join(directory, name);
      if (name.startsWith('.')) continue;
      if (!/\.md$/i.test(name)) { if (isDirectory(file)) folders.push(file); continue; }
      if (files.length >= limits.definitionFiles) { cut = `it holds more than ${limits.definitionFiles} files`; return; }
      if (inside(file)) files.push(file); else tell(file, 'the link leads out of the project');
    }
    for (const folder of folders) {
      if (inside(folder)) visit(folder, depth + 1); else tell(folder, 'the link leads out of the project');
    }
  };
  if (isDirectory(top)) { if (inside(top)) visit(top, 1); else tell(top, 'the link leads out of the project'); }
  return { files, cut };
}

/** A file without frontmatter is all body. */
function split(text: string): { readonly head: JsonObject; readonly body: string; readonly bodyAt: number; readonly problem?: string } {
  if (!/^---[ \t]*(?:\r?\n|$)/.test(text)) return { head: {}, body: text.trim(), bodyAt: 0 };
  const read = readFrontmatter(text);
  if ('problem' in read) return { head: {}, body: '', bodyAt: 0, problem: read.problem };
  const end = /\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(text)!, bodyAt = end.index + end[0].length;
  return { head: read.value, body: text.slice(bodyAt).trim(), bodyAt };
}

function fileLayer(base: Pick<Layer, 'kind' | 'source' | 'trusted' | 'directory'>, text: string): Layer {
  const document = { text, root: { kind: 'object', start: 0, end: 0, members: [] }, repeated: [] } as const;
  const layer = { ...base, document, ...(text === '' ? { unplaced: true } as const : {}) };
  return { ...layer, root: objectOf(new Map(), { layer, key: '', offset: 0 }) };
}

const objectOf = (members: ReadonlyMap<string, Setting>, at: At): ObjectSetting => ({ kind: 'object', members, at });

/** A value of the frontmatter with the line of each key. The text is searched forward only; where a key is not found (flow style), the line above has to do. */
function placed(value: unknown, at: At, text: string): Setting {
  if (Array.isArray(value)) return { kind: 'array', at, items: value.map((item, index) => placed(item, { ...at, key: join(at.key, String(index)) }, '')) };
  if (!isObject(value)) return { kind: 'scalar', at, value: typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null };
  let from = at.offset, lost = text === '';
  return { kind: 'object', at, members: new Map(Object.entries(value).map(([key, item]) => {
    const found = lost ? -1 : offsetOf(key, text, from);
    if (found === -1) lost = true; else from = found;
    const offset = found === -1 ? at.offset : found;
    return [key, placed(item, { ...at, key: join(at.key, key), offset }, found === -1 ? '' : text)];
  })) };
}

function offsetOf(key: string, text: string, from: number): number {
  const pattern = new RegExp(`^[ \\t]*(?:- +)?(["']?)${key.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}\\1[ \\t]*:`, 'gm');
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match === null ? -1 : match.index + match[0].search(/\S/);
}
