/**
 * The walk of a configuration: places, texts, declarations, trust, entries. Synchronous, because a command line starts with it and a
 * handful of small files is read faster so. Values of variables are not looked at, but for working directories.
 */
import * as path from 'node:path';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import { canonicalAgents, readAgents, strayDefaultAgent, type BrokenAgent } from './agents.ts';
import { canonicalCommands, readCommands } from './commands.ts';
import { mayDefine, readDefinitions } from './definitions.ts';
import { readDeclarations, type Declaration } from './dialects.ts';
import { buildEntries, type Draft, type EntryContext } from './entries.ts';
import { strayExposure } from './exposure.ts';
import { readImports } from './import-read.ts';
import { isNull, merge, originOf, readLayer, settingAt, settled, unplacedLayer, type Layer, type Setting } from './layers.ts';
import { positionAt } from './jsonc.ts';
import { gitRoot, locateLayers, projectLayersOn, type Place } from './locate.ts';
import { readPlugins } from './plugins.ts';
import { canonicalPermission } from './permissions.ts';
import { restricted, settledOnce } from './restrict.ts';
import { invalidConfig, readSettings, unknownKeys, type Complaint } from './settings.ts';
import type { Environment } from './substitute.ts';
import { admitHostKeys, settleTrust, type Trust } from './trust.ts';
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
  const { layers, states, broken, notices } = readLayers(locateLayers({ ...options, cwd: workspace }));
  const diagnostics: Diagnostic[] = [...layers.flatMap(repeatedKeys), ...notices];
  const trust = settleTrust(layers);
  const foreign = readForeign(layers, { ...options, cwd: workspace }, diagnostics);
  const own = declare(layers, options.paths.home, diagnostics);
  const declarations = [...foreign.declarations, ...own.declarations];
  const admissions = admitHostKeys([...foreign.all, ...own.all], trust, { globalFile: path.join(options.paths.config, 'zuno.json'), log: options.log });

  const complaints: Complaint[] = unknownKeys(layers);
  const { decided, merged } = decide(layers, trust, diagnostics);
  const settings = readSettings(merged, options.paths.home, complaints);
  if (complaints.length > 0) throw invalidConfig(complaints);
  const agents = readAgents(settingAt(merged, 'agents'), broken, diagnostics), commands = readCommands(settingAt(merged, 'commands'), diagnostics);
  diagnostics.push(...strayDefaultAgent(settingAt(merged, 'default_agent'), agents));

  const context: EntryContext = { trust, environment: options.environment, home: options.paths.home, workspace };
  const entries = buildEntries(declarations, context);
  diagnostics.push(...entries.diagnostics);
  const servers = withBuiltIn(entries.servers, entries.drafts, options.builtIn, context, diagnostics);
  diagnostics.push(...strayExposure(merged, (name) => servers.has(name) || entries.drafts.has(name), [...servers.keys()]));
  for (const { severity, code, message, origin } of diagnostics) options.log?.({ level: code === 'config_import_partial' ? 'info' : severity, event: code.replace('_', '.'), message, fields: { file: origin.file, line: origin.line, key: origin.key } });
  const config: Config = { ...settings, servers, agents, commands, diagnostics, layers: [...foreign.states, ...states], admissions, workspace };
  return { config, layers: decided, merged, drafts: entries.drafts, declarations, trust };
}

/** What each layer says after the rules of trust, and what all of them add up to. */
function decide(layers: readonly Layer[], trust: Trust, diagnostics: Diagnostic[]): { readonly decided: readonly Layer[]; readonly merged: Setting | undefined } {
  const canonical = layers.map((layer) => (layer.kind === 'env-permission' ? asRules(layer) : { ...layer, root: canonicalCommands(canonicalAgents(canonicalPermission(lockOnly(layer.root)))) }));
  const trusted = settledOnce(() => canonical.reduce((sum: Setting | undefined, layer) => (trust.admitted(layer) ? merge(sum, layer.root) : sum), undefined));
  let merged: Setting | undefined;
  const decided = canonical.map((layer) => {
    const below = merged;
    const { root, notices } = restricted(layer, trust, settledOnce(() => below), trusted);
    diagnostics.push(...notices);
    const kept = { ...layer, root: layer.trusted ? root : withoutReaches(root) };
    merged = merge(merged, kept.root);
    return kept;
  });
  return { decided, merged: settled(merged) };
}

/** Of `mcp` the lock is a setting; the rest are servers, which are declarations. A server that is called so does not switch it off. */
function lockOnly(root: Layer['root']): Layer['root'] {
  const mcp = root.members.get('mcp');
  if (mcp === undefined || isNull(mcp)) return root;
  const lock = settingAt(mcp, 'lock'), members = new Map(root.members);
  if (lock?.kind === 'scalar') members.set('mcp', { kind: 'object', at: mcp.at, members: new Map([['lock', lock]]) }); else members.delete('mcp');
  return { ...root, members };
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
      if (layer.trusted) setting = settled(merge(setting, own));
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

interface ReadLayers { readonly layers: readonly Layer[]; readonly states: readonly LoadedLayer[]; readonly broken: readonly BrokenAgent[]; readonly notices: readonly Diagnostic[] }

/** Definitions in Markdown stand just below the first configuration file of their directory. */
function readLayers(places: readonly Place[]): ReadLayers {
  const layers: Layer[] = [], states: LoadedLayer[] = [], broken: BrokenAgent[] = [], notices: Diagnostic[] = [];
  const own = new Set(places.filter((place) => place.trusted && mayDefine(place)).map(({ directory }) => directory)), seen = new Set<string>();
  const take = (layer: Layer): void => { layers.push(layer); states.push({ kind: layer.kind, source: layer.source, trusted: layer.trusted, state: 'loaded' }); };
  for (const place of places) {
    // A directory that is named as one's own is no project's, though the walk comes by.
    if (mayDefine(place) && !seen.has(`${place.trusted} ${place.directory}`) && (place.trusted || !own.has(place.directory))) {
      seen.add(`${place.trusted} ${place.directory}`);
      const found = readDefinitions(place, path.dirname(place.directory));
      found.layers.forEach(take);
      broken.push(...found.broken);
      notices.push(...found.notices);
    }
    const layer = readLayer(place);
    if (layer === undefined) states.push({ kind: place.kind, source: place.source, trusted: place.trusted, state: 'absent' }); else take(layer);
  }
  return { layers, states, broken, notices };
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

