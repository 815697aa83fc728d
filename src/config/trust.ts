/**
 * What a checkout may decide about this machine: nothing, unless a trusted layer admits it. A project file may name remote
 * servers, switch servers off and deny tools. It may not choose a program, grant itself anything, read variables, send a trusted layer's
 * headers to a URL of its own, loosen permissions, or switch on what a trusted layer switched off.
 */
import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { Failure, type Origin } from '../base/failure.ts';
import { isDirectory, realPath } from '../base/files.ts';
import type { Log } from '../base/log.ts';
import { count } from '../base/text.ts';
import type { Declaration } from './dialects.ts';
import { kindName, merge, originOf, settled, type At, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import type { Admission } from './types.ts';

/** One file as it was when it was admitted: another byte in it, and it is not. */
export interface Pin { readonly path: string; readonly sha256: string }

/** What trusted layers say under `trust.project_host_commands`: all, none, or directories and pinned files. */
export interface Grant { readonly admits: boolean | readonly (string | Pin)[]; readonly origin: Origin }

/** The digest of a configuration file that a pin holds. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Decides, file by file, who may do what a trusted layer may. */
export interface Trust {
  /** Trusted layers, and project files that a grant covers. */
  admitted(layer: At['layer']): boolean;
  /** A pin names this file, but not what it says now. */
  outdated(layer: At['layer']): boolean;
  readonly grant: Grant | undefined;
}

/**
 * Settled after all layers are read, so that a trusted layer of any rank can admit. Fails with TRUST_REFUSED when a project file
 * sets `trust`, with CONFIG_INVALID when the grant is not one.
 */
export function settleTrust(layers: readonly Layer[]): Trust {
  for (const layer of layers) {
    const foreign = layer.trusted ? undefined : layer.root.members.get('trust');
    if (foreign === undefined) continue;
    throw new Failure('TRUST_REFUSED', `Cannot use "${layer.source}": a project file may not set "trust"`, {
      stage: 'trust', details: { file: layer.source, keys: ['trust'] }, origin: originOf(foreign.at), hint: `Remove "trust" from ${layer.source}; grants stand in the global zuno.json`,
    });
  }
  let setting: Setting | undefined;
  for (const layer of layers) {
    const own = layer.trusted ? layer.root.members.get('trust') : undefined;
    if (own !== undefined) setting = merge(setting, own);
  }
  const given = settled(setting), grant = given === undefined ? undefined : readGrant(given);
  const verdicts = new Map<string, Verdict>();
  const verdictOn = (layer: At['layer']): Verdict => {
    const known = verdicts.get(layer.source);
    if (known !== undefined) return known;
    const verdict = grant === undefined ? 'unknown' : judge(grant, layer);
    verdicts.set(layer.source, verdict);
    return verdict;
  };
  return { grant, admitted: (layer) => layer.trusted || verdictOn(layer) === 'admitted', outdated: (layer) => !layer.trusted && verdictOn(layer) === 'outdated' };
}

type Verdict = 'admitted' | 'outdated' | 'unknown';

function readGrant(trust: Setting): Grant | undefined {
  if (trust.kind !== 'object') throw invalid(trust, `an object is due, not ${kindName(trust)}`);
  for (const [key, value] of trust.members) {
    if (key !== 'project_host_commands') throw invalid(value, 'this is no key of "trust"; the one key is "project_host_commands"');
  }
  const setting = trust.members.get('project_host_commands');
  if (setting === undefined) return undefined;
  if (setting.kind === 'scalar' && typeof setting.value === 'boolean') return { admits: setting.value, origin: originOf(setting.at) };
  if (setting.kind !== 'array') throw invalid(setting, `true, false or a list of absolute directories is due, not ${kindName(setting)}`);
  const roots = setting.items.map((item): string | Pin => {
    if (item.kind === 'object') return readPin(item);
    const root = item.kind === 'scalar' && typeof item.value === 'string' ? item.value : undefined;
    if (root === undefined || root.trim() === '') throw invalid(item, 'an absolute directory is due, not an empty one');
    if (!path.isAbsolute(root)) throw invalid(item, `an absolute directory is due, not "${root}"`);
    return root;
  });
  return { admits: roots, origin: originOf(setting.at) };
}

function readPin(item: ObjectSetting): Pin {
  const text = (key: string): string | undefined => { const value = item.members.get(key); return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined; };
  const file = text('path'), sha256 = text('sha256')?.toLowerCase();
  const stray = [...item.members.values()].find(({ at }) => !/\.(?:path|sha256)$/.test(at.key));
  if (stray !== undefined) throw invalid(stray, 'this is no key of a pinned file; its keys are "path" and "sha256"');
  if (file === undefined || !path.isAbsolute(file)) throw invalid(item, '"path" of a pinned file is due: an absolute path');
  if (sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256)) throw invalid(item, '"sha256" of a pinned file is due: 64 hexadecimal digits');
  return { path: file, sha256 };
}

function invalid(setting: Setting, message: string): Failure {
  const origin = originOf(setting.at);
  return new Failure('CONFIG_INVALID', `Cannot use "${setting.at.key}" of ${origin.file}: ${message}`, {
    stage: 'config', details: { file: origin.file, problems: [{ pointer: setting.at.key, message }] }, origin,
  });
}

/** Paths are compared canonical on both sides: a checkout reached through a link is the same checkout, and a link out of a root is outside. */
function judge({ admits }: Grant, layer: At['layer']): Verdict {
  if (typeof admits === 'boolean') return admits ? 'admitted' : 'unknown';
  const real = realPath(layer.source);
  if (real === undefined) return 'unknown';
  const pins = admits.filter((item) => typeof item !== 'string').filter((pin) => realPath(pin.path) === real);
  const covered = covers(admits.filter((item) => typeof item === 'string'), real)
    // What was read is what counts: a file that changed since then is not looked at again.
    || pins.some((pin) => pin.sha256 === digestOf(layer.document.text));
  return covered ? 'admitted' : pins.length > 0 ? 'outdated' : 'unknown';
}

function covers(roots: readonly string[], real: string): boolean {
  return roots.some((root) => {
    const top = realPath(root);
    if (top === undefined || !isDirectory(top)) return false;
    // The separator keeps /a/src from covering /a/src-evil.
    return real.startsWith(top.endsWith(path.sep) ? top : top + path.sep);
  });
}

/**
 * Every key of a project file that chooses a program needs a grant, whatever its dialect and whether or not it is enabled. Fails with
 * TRUST_REFUSED, naming all keys of the first file at fault. What is admitted is logged, one entry per key.
 */
export function admitHostKeys(declarations: readonly Declaration[], trust: Trust, context: { readonly globalFile: string; readonly log?: Log | undefined }): Admission[] {
  const admissions: Admission[] = [];
  const refused = new Map<string, { readonly first: At; readonly outdated: boolean; readonly keys: string[] }>();
  for (const declaration of declarations) {
    const { layer, at, hostKeys } = declaration;
    if (layer.trusted) continue;
    for (const key of hostKeys) {
      if (trust.admitted(layer)) {
        const by = trust.grant!.origin;
        admissions.push({ key, file: layer.source, by });
        context.log?.({ level: 'info', event: 'config.admitted', message: `${layer.source} may set ${key}: ${by.file} admits it`, fields: { key, file: layer.source, by: by.file } });
      } else {
        const entry = refused.get(layer.source) ?? { first: at, outdated: trust.outdated(layer), keys: [] };
        entry.keys.push(key);
        refused.set(layer.source, entry);
      }
    }
  }
  const [worst] = refused;
  if (worst === undefined) return admissions;
  const [file, { first, outdated, keys }] = worst;
  const others = refused.size > 1 ? ` (and ${count(refused.size - 1, 'more file')})` : '';
  if (outdated) {
    throw new Failure('TRUST_REFUSED', `Cannot use "${file}"${others}: its content changed since it was admitted, and it chooses what runs on this machine: ${keys.join(', ')}`, {
      stage: 'trust', details: { file, keys }, origin: originOf(first), hint: `Read what it says now; zuno-lite trust ${quoted(file)} admits it again`,
    });
  }
  throw new Failure('TRUST_REFUSED', `Cannot use "${file}"${others}: a project file may not choose what runs on this machine: ${keys.join(', ')}`, {
    stage: 'trust', details: { file, keys }, origin: originOf(first),
    hint: `Read the file; zuno-lite trust ${quoted(file)} admits what it says now. If you trust this checkout whatever comes, put "trust": {"project_host_commands": [${JSON.stringify(checkoutOf(file))}]} into ${context.globalFile}`,
  });
}

/** A path as a shell takes it. */
function quoted(file: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
}

/** The directory to name in a grant: that of the file, or the one above `.zuno`; canonical, as grants are compared. */
function checkoutOf(file: string): string {
  const real = realPath(file) ?? file;
  const directory = path.dirname(real);
  return path.basename(directory) === '.zuno' ? path.dirname(directory) : directory;
}
