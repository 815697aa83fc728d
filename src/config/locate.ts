/** Where configuration may stand, in order, low to high. Nothing is read here; only the Git root is looked for. */
import * as path from 'node:path';
import { exists, realPath } from '../base/files.ts';
import type { Paths } from '../base/paths.ts';
import type { Environment } from './substitute.ts';
import type { LayerKind } from './types.ts';

/** One place. `text` is set for inline sources, which have no file; `required` ones fail when they are absent. */
export interface Place {
  readonly kind: LayerKind;
  /** File path, or the name of the environment variable. */
  readonly source: string;
  readonly trusted: boolean;
  /** Relative `{file:}` references start here. */
  readonly directory: string;
  readonly required: boolean;
  readonly text?: string;
}

export interface LocateOptions {
  readonly cwd: string;
  readonly environment: Environment;
  readonly paths: Paths;
  /** `--config FILE`. */
  readonly configFile?: string | undefined;
}

/** In one directory both names are read, as two layers. */
export const configNames = ['zuno.json', 'zuno.jsonc'] as const;

/** The nearest directory upward that holds `.git` (a directory, or the file of a worktree). */
export function gitRoot(cwd: string): string | undefined {
  return ancestors(cwd).find((directory) => exists(path.join(directory, '.git')));
}

function ancestors(cwd: string): string[] {
  const found: string[] = [];
  for (let at = path.resolve(cwd); ; at = path.dirname(at)) {
    found.push(at);
    if (path.dirname(at) === at) return found;
  }
}

/** Directories a project may configure from, outermost first: the Git root down to `cwd`; outside Git every parent. */
export function projectWalk(cwd: string): string[] {
  const up = ancestors(cwd);
  const root = up.findIndex((directory) => exists(path.join(directory, '.git')));
  return up.slice(0, root === -1 ? up.length : root + 1).reverse();
}

/** An empty variable is an unset one. */
function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  return value === undefined || value.trim() === '' ? undefined : value;
}

function switchedOn(environment: Environment, name: string): boolean {
  const value = variable(environment, name);
  return value !== undefined && !['0', 'false', 'no', 'off'].includes(value.trim().toLowerCase());
}

/** Whether files of a checkout are looked at. */
export function projectLayersOn(environment: Environment): boolean {
  return !switchedOn(environment, 'ZUNO_DISABLE_PROJECT_CONFIG');
}

export function locateLayers({ cwd, environment, paths, configFile }: LocateOptions): Place[] {
  const places: Place[] = [];
  const file = (kind: LayerKind, source: string, trusted: boolean, required = false): void => {
    places.push({ kind, source, trusted, required, directory: path.dirname(source) });
  };
  const both = (kind: LayerKind, directory: string, trusted: boolean): void => {
    for (const name of configNames) file(kind, path.join(directory, name), trusted);
  };
  const text = (kind: LayerKind, source: string): void => {
    const value = variable(environment, source);
    if (value !== undefined) places.push({ kind, source, trusted: true, required: true, directory: cwd, text: value });
  };

  both('global', paths.config, true);
  const walk = projectLayersOn(environment) ? projectWalk(cwd) : [];
  for (const directory of walk) both('project', directory, false);
  // `~/.zuno` is the person's own, wherever the walk starts; met on the walk it is not a project's.
  const home = realPath(paths.home) ?? paths.home;
  if (paths.home !== '') both('home-dir', path.join(paths.home, '.zuno'), true);
  for (const directory of walk) {
    if (directory !== paths.home && directory !== home) both('project-dir', path.join(directory, '.zuno'), false);
  }
  const named = variable(environment, 'ZUNO_CONFIG');
  if (named !== undefined) file('env-file', path.resolve(cwd, named), true, true);
  const directory = variable(environment, 'ZUNO_CONFIG_DIR');
  if (directory !== undefined) both('env-dir', path.resolve(cwd, directory), true);
  text('env-content', 'ZUNO_CONFIG_CONTENT');
  if (configFile !== undefined) file('cli', path.resolve(cwd, configFile), true, true);
  both('managed', paths.managed, true);
  for (const preferences of paths.managedPreferences ?? []) file('managed-preferences', preferences, true);
  text('env-permission', 'ZUNO_PERMISSION');
  return withoutTwins(places);
}

/** A file that is trusted in one place (named by `--config`, or the walk starts in `~/.config/zuno`) is not a project's in another. */
function withoutTwins(places: readonly Place[]): Place[] {
  const own = new Set(places.filter(({ trusted, text }) => trusted && text === undefined).flatMap(({ source }) => (exists(source) ? [realPath(source)] : [])));
  return places.filter(({ trusted, source }) => trusted || !exists(source) || !own.has(realPath(source)));
}
