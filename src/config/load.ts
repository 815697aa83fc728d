/**
 * The walk of a configuration: places, texts, declarations, trust, entries. Synchronous, because a command line starts with it and a
 * handful of small files is read faster so. Values of variables are not looked at, but for working directories.
 */
import * as path from 'node:path';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import { emptyConfig } from './defaults.ts';
import { readDeclarations, type Declaration } from './dialects.ts';
import { buildEntries, type Draft, type EntryContext } from './entries.ts';
import { readImports } from './import-read.ts';
import { merge, originOf, readLayer, unplacedLayer, type Layer, type Setting } from './layers.ts';
import { positionAt } from './jsonc.ts';
import { gitRoot, locateLayers, projectLayersOn, type Place } from './locate.ts';
import { readPlugins } from './plugins.ts';
import { canonicalPermission, invalidConfig, readSettings, unknownKeys, type Complaint } from './settings.ts';
import type { Environment } from './substitute.ts';
import { admitHostKeys, restricted, settleTrust, type Trust } from './trust.ts';
import type { Config, Diagnostic, LoadedLayer, ServerEntry } from './types.ts';

export interface LoadOptions {
  readonly cwd: string;
  readonly environment: Environment;
  readonly paths: Paths;
  /** `--config FILE`; must exist. */
  readonly configFile?: string | undefined;
  /** Servers of an embedding program, by name, in the words of `mcp.<name>`: nothing in a file changes or replaces them. */
  readonly builtIn?: Readonly<Record<string, JsonObject>> | undefined;
  readonly log?: Log | undefined;
}

/** A configuration with all that it was made of: what `debug config` shows. */
export interface LoadedConfig {
  readonly config: Config;
  /** Layers that were read, low to high, with what each may decide. */
  readonly layers: readonly Layer[];
  /** What the layers add up to, servers aside. */
  readonly merged: Setting | undefined;
  readonly drafts: ReadonlyMap<string, Draft>;
  /** Every declaration that counts, low to high. */
  readonly declarations: readonly Declaration[];
  readonly trust: Trust;
}

/**
 * Reads and merges every layer. Fails with CONFIG_UNREADABLE (no JSON, or not to be read), CONFIG_INVALID (top level, permissions, trust
 * grants, bounds) and TRUST_REFUSED (stage `trust`). A broken server entry is a diagnostic and costs that server only.
 */
export function loadConfig(options: LoadOptions): Config {
  return readConfig(options).config;
}

/** The same, with what it was made of. */
export function readConfig(options: LoadOptions): LoadedConfig {
  const workspace = path.resolve(options.cwd);
  const { layers, states } = readLayers(locateLayers({ ...options, cwd: workspace }));
  const diagnostics: Diagnostic[] = layers.flatMap(repeatedKeys);
  const trust = settleTrust(layers);
  const foreign = readForeign(layers, { ...options, cwd: workspace }, diagnostics);
  const own = declare(layers, options.paths.home, diagnostics);
  const declarations = [...foreign.declarations, ...own.declarations];
  const admissions = admitHostKeys([...foreign.all, ...own.all], trust, { globalFile: path.join(options.paths.config, 'zuno.json'), log: options.log });

  const complaints: Complaint[] = unknownKeys(layers);
  const decided: Layer[] = [];
  let merged: Setting | undefined;
  for (const layer of layers) {
    const settings = layer.kind === 'env-permission' ? asRules(layer) : { ...layer, root: canonicalPermission(layer.root) };
    const { root, notices } = restricted(settings, trust, merged);
    diagnostics.push(...notices);
    decided.push({ ...layer, root: layer.trusted ? root : withoutReaches(root) });
    merged = merge(merged, decided.at(-1)!.root);
  }
  const settings = readSettings(merged, complaints);
  if (complaints.length > 0) throw invalidConfig(complaints);

  const context: EntryContext = { trust, environment: options.environment, home: options.paths.home, workspace };
  const entries = buildEntries(declarations, context);
  diagnostics.push(...entries.diagnostics);
  const servers = withBuiltIn(entries.servers, entries.drafts, options.builtIn, context, diagnostics);
  for (const { severity, code, message, origin } of diagnostics) options.log?.({ level: code === 'config_import_partial' ? 'info' : severity, event: code.replace('_', '.'), message, fields: { file: origin.file, line: origin.line, key: origin.key } });
  const config: Config = {
    ...emptyConfig, servers, permissions: settings.permissions, concurrency: { ...emptyConfig.concurrency, connections: settings.connections }, mcpEnabled: settings.mcpEnabled,
    naming: settings.naming, diagnostics, layers: [...foreign.states, ...states], admissions, workspace,
  };
  return { config, layers: decided, merged, drafts: entries.drafts, declarations, trust };
}

/** A project file that asks for other files was told no. */
function withoutReaches(root: Layer['root']): Layer['root'] {
  return { ...root, members: new Map([...root.members].filter(([key]) => key !== 'imports' && key !== 'plugins')) };
}

/** What trusted layers bring in from elsewhere: plugins, below them imports. A project file that asks for it is told no. */
function readForeign(layers: readonly Layer[], { paths, environment, cwd }: LoadOptions, diagnostics: Diagnostic[]): { readonly declarations: readonly Declaration[]; readonly all: readonly Declaration[]; readonly states: readonly LoadedLayer[] } {
  const asked = (key: 'imports' | 'plugins'): Setting | undefined => {
    let setting: Setting | undefined;
    for (const layer of layers) {
      const own = layer.kind === 'env-permission' ? undefined : layer.root.members.get(key);
      if (own === undefined) continue;
      if (layer.trusted) setting = merge(setting, own);
      else diagnostics.push({ code: 'config_project_reaches', severity: 'warning', pointer: key, message: `Cannot use "${key}" of ${layer.source}: a project file may not bring in other files`, origin: originOf(own.at) });
    }
    return setting;
  };
  const workspace = gitRoot(cwd) ?? cwd;
  const plugins = readPlugins(asked('plugins'), { environment, paths, workspace });
  const imports = readImports(asked('imports'), { home: paths.home, platform: process.platform, environment, workspace }, { project: projectLayersOn(environment) });
  diagnostics.push(...plugins.notices, ...imports.notices);
  return { declarations: [...plugins.declarations, ...imports.declarations], all: imports.all, states: [...plugins.states, ...imports.states] };
}

/** Whatever files say under the same name, an embedding program's own servers stay what they are. */
function withBuiltIn(servers: Map<string, ServerEntry>, drafts: ReadonlyMap<string, Draft>, builtIn: LoadOptions['builtIn'], context: EntryContext, diagnostics: Diagnostic[]): Map<string, ServerEntry> {
  if (builtIn === undefined) return servers;
  const layer = unplacedLayer({ kind: 'built-in', source: 'built-in', trusted: true, directory: context.workspace }, { mcp: builtIn });
  const found = readDeclarations(layer, context.home);
  const made = buildEntries(found.declarations, context);
  const wrong = [...found.notices, ...made.diagnostics][0];
  if (wrong !== undefined) throw new TypeError(wrong.message);
  for (const [name, entry] of made.servers) {
    const shadow = drafts.get(name)?.sources.at(-1);
    if (shadow !== undefined) diagnostics.push({ code: 'config_built_in', severity: 'warning', pointer: shadow.at.key, message: `Cannot use the server "${name}" of ${shadow.layer.source}: the name belongs to a server that is built in`, origin: originOf(shadow.at) });
    servers.delete(name);
    servers.set(name, entry);
  }
  return servers;
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

