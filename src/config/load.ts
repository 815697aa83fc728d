/**
 * The walk of a configuration: places, texts, declarations, trust, entries. Synchronous, because a command line starts with it and a
 * handful of small files is read faster so. Values of variables are not looked at, but for working directories.
 */
import * as path from 'node:path';
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import { readDeclarations, type Declaration } from './dialects.ts';
import { buildEntries } from './entries.ts';
import { merge, readLayer, type Layer, type Setting } from './layers.ts';
import { positionAt } from './jsonc.ts';
import { locateLayers, type Place } from './locate.ts';
import { canonicalPermission, invalidConfig, readSettings, unknownKeys, type Complaint } from './settings.ts';
import type { Environment } from './substitute.ts';
import { admitHostKeys, restricted, settleTrust } from './trust.ts';
import type { Config, Diagnostic, LoadedLayer } from './types.ts';

export interface LoadOptions {
  readonly cwd: string;
  readonly environment: Environment;
  readonly paths: Paths;
  /** `--config FILE`; must exist. */
  readonly configFile?: string | undefined;
  readonly log?: Log | undefined;
}

/**
 * Reads and merges every layer. Fails with CONFIG_UNREADABLE (no JSON, or not to be read), CONFIG_INVALID (top level, permissions, trust
 * grants, bounds) and TRUST_REFUSED (stage `trust`). A broken server entry is a diagnostic and costs that server only.
 */
export function loadConfig(options: LoadOptions): Config {
  const workspace = path.resolve(options.cwd);
  const { layers, states } = readLayers(locateLayers({ ...options, cwd: workspace }));
  const diagnostics: Diagnostic[] = layers.flatMap(repeatedKeys);
  const trust = settleTrust(layers);
  const { declarations, all } = declare(layers, options.paths.home, diagnostics);
  const admissions = admitHostKeys(all, trust, { globalFile: path.join(options.paths.config, 'zuno.json'), log: options.log });

  const complaints: Complaint[] = unknownKeys(layers);
  let merged: Setting | undefined;
  for (const layer of layers) {
    const settings = layer.kind === 'env-permission' ? asRules(layer) : { ...layer, root: canonicalPermission(layer.root) };
    const { root, notices } = restricted(settings, trust, merged);
    diagnostics.push(...notices);
    merged = merge(merged, root);
  }
  const settings = readSettings(merged, complaints);
  if (complaints.length > 0) throw invalidConfig(complaints);

  const entries = buildEntries(declarations, { trust, environment: options.environment, home: options.paths.home, workspace });
  diagnostics.push(...entries.diagnostics);
  for (const { severity, code, message, origin } of diagnostics) options.log?.({ level: severity, event: code.replace('_', '.'), message, fields: { file: origin.file, line: origin.line, key: origin.key } });
  return {
    servers: entries.servers, permissions: settings.permissions, concurrency: { connections: settings.connections }, mcpEnabled: settings.mcpEnabled,
    naming: settings.naming, diagnostics, layers: states, admissions, workspace,
  };
}

function readLayers(places: readonly Place[]): { readonly layers: Layer[]; readonly states: LoadedLayer[] } {
  const layers: Layer[] = [];
  const states = places.map((place): LoadedLayer => {
    const layer = readLayer(place);
    if (layer !== undefined) layers.push(layer);
    return { kind: place.kind, source: place.source, trusted: place.trusted, state: layer === undefined ? 'absent' : 'loaded' };
  });
  return { layers, states };
}

/** `all` is what the trust rule looks at: also what a higher layer took back. */
function declare(layers: readonly Layer[], home: string, diagnostics: Diagnostic[]): { readonly declarations: Declaration[]; readonly all: Declaration[] } {
  let declarations: Declaration[] = [];
  const all: Declaration[] = [];
  for (const layer of layers) {
    if (layer.kind === 'env-permission') continue;
    const found = readDeclarations(layer, home);
    diagnostics.push(...found.notices);
    // A switch that a trusted layer turned off outlives the removal, or a project could remove and declare anew.
    if (found.cleared.length > 0) declarations = declarations.filter(({ dialect, shape, layer: from }) => !found.cleared.includes(dialect) || (shape === 'toggle' && from.trusted && !layer.trusted));
    declarations.push(...found.declarations);
    all.push(...found.declarations);
  }
  return { declarations, all };
}

/** `ZUNO_PERMISSION` holds what would stand under `permission.rules`. */
function asRules(layer: Layer): Layer {
  const permission: Setting = { kind: 'object', members: new Map([['rules', layer.root]]), at: layer.root.at };
  return { ...layer, root: { ...layer.root, members: new Map([['permission', permission]]) } };
}

function repeatedKeys(layer: Layer): Diagnostic[] {
  return layer.document.repeated.map(({ key, keyStart }) => ({
    code: 'config_duplicate_key', severity: 'warning', pointer: key, message: `Cannot use every "${key}" of ${layer.source}: the key stands twice in one object, and the last one counts`,
    origin: { file: layer.source, layer: layer.kind, key, ...positionAt(layer.document.text, keyStart) },
  }));
}

