/**
 * Servers that plugins bring along. A trusted layer names the directory; the plugin says what it would start. Its texts may name
 * places of its own everywhere, but variables of this environment only where secrets go to the server it starts or reaches: in its
 * variables, its headers and its client secret, never in a command line or an address that others see.
 */
import * as path from 'node:path';
import { Failure, toFailure } from '../base/failure.ts';
import { isDirectory, isFile, realPath } from '../base/files.ts';
import type { Paths } from '../base/paths.ts';
import { dialects, readDeclaration, type Declaration } from './dialects.ts';
import { isPlain, mapTexts } from './import-read.ts';
import { kindName, originOf, plain, readLayer, settingAt, type At, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import type { Environment } from './substitute.ts';
import type { Diagnostic, LoadedLayer } from './types.ts';

export interface PluginContext {
  readonly environment: Environment;
  readonly paths: Paths;
  readonly workspace: string;
}

export interface PluginServers {
  readonly declarations: readonly Declaration[];
  readonly notices: readonly Diagnostic[];
  readonly states: readonly LoadedLayer[];
}

/** Where a plugin says who it is, in the order in which they are looked for. */
const MANIFESTS = ['.zuno-plugin/plugin.json', '.zcode-plugin/plugin.json', '.claude-plugin/plugin.json', 'plugin.json'] as const;

/** `plugins`: a list of directories, or of `{ "path": ..., "config": { ... } }`. What is wrong with one plugin costs that plugin. */
export function readPlugins(setting: Setting | undefined, context: PluginContext): PluginServers {
  const declarations: Declaration[] = [], notices: Diagnostic[] = [], states: LoadedLayer[] = [];
  const complain = (at: At, message: string): void => { notices.push({ code: 'config_plugin_invalid', severity: 'warning', pointer: at.key, message: `Cannot use the plugin "${at.key}": ${message}`, origin: originOf(at) }); };
  if (setting === undefined) return { declarations, notices, states };
  if (setting.kind !== 'array') complain(setting.at, `a list of directories is due, not ${kindName(setting)}`);
  else for (const item of setting.items) {
    const directory = directoryOf(item, context);
    if (directory === undefined) { complain(item.at, 'a directory is due, or an object with "path"'); continue; }
    if (!isDirectory(directory)) { complain(item.at, `there is no directory ${directory}`); continue; }
    const config = settingAt(item, 'config');
    try {
      declarations.push(...pluginServers(directory, config === undefined ? {} : plain(config), context, notices, states));
    } catch (error) {
      complain(item.at, toFailure(error, 'config').message);
    }
  }
  return { declarations, notices, states };
}

function directoryOf(item: Setting, { paths }: PluginContext): string | undefined {
  const named = item.kind === 'object' ? item.members.get('path') : item;
  if (named?.kind !== 'scalar' || typeof named.value !== 'string' || named.value.trim() === '') return undefined;
  return /^~(?=$|[/\\])/.test(named.value) ? path.join(paths.home, named.value.slice(1)) : path.resolve(named.at.layer.directory, named.value);
}

function pluginServers(directory: string, config: unknown, context: PluginContext, notices: Diagnostic[], states: LoadedLayer[]): Declaration[] {
  const open = (file: string): Layer | undefined => {
    const layer = readLayer({ kind: 'plugin', source: file, trusted: true, directory, required: false });
    if (layer !== undefined) states.push({ kind: 'plugin', source: file, trusted: true, state: 'loaded' });
    return layer;
  };
  const manifest = MANIFESTS.map((name) => path.join(directory, name)).find(isFile);
  const told = manifest === undefined ? undefined : open(manifest);
  const named = settingAt(told?.root, 'name');
  const name = named?.kind === 'scalar' && typeof named.value === 'string' ? named.value : path.basename(directory);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) throw fault(`"${name}" is no name of a plugin`, directory);
  const places: Places = { root: directory, data: path.join(context.paths.data, 'plugins', name), project: context.workspace };

  const entries = new Map<string, { readonly setting: Setting; readonly layer: Layer }>();
  const take = (container: Setting | undefined, layer: Layer): void => {
    if (container?.kind === 'object') for (const [key, setting] of container.members) entries.set(key, { setting, layer });
  };
  const wrapped = (layer: Layer | undefined): void => { if (layer !== undefined) take(settingAt(layer.root, 'mcpServers') ?? layer.root, layer); };
  wrapped(open(path.join(directory, '.mcp.json')));
  const listed = settingAt(told?.root, 'mcpServers');
  for (const item of listed === undefined ? [] : listed.kind === 'array' ? listed.items : [listed]) {
    if (item.kind === 'object') take(item, told!);
    else wrapped(open(insideOf(directory, item)));
  }
  return [...entries].map(([key, { setting, layer }]) => declared(`plugin:${name}:${key}`, setting, layer, { places, config, context, notices }));
}

function fault(message: string, directory: string): Failure {
  return new Failure('CONFIG_INVALID', message, { stage: 'config', details: { file: directory, problems: [{ pointer: 'plugins', message }] } });
}

/** A manifest names files of its own plugin only. */
function insideOf(directory: string, item: Setting): string {
  const written = item.kind === 'scalar' && typeof item.value === 'string' ? item.value.replace(/^\$\{(?:ZUNO|ZCODE|CLAUDE)_PLUGIN_ROOT\}[/\\]?/, '') : undefined;
  const file = written === undefined ? undefined : realPath(path.resolve(directory, written));
  const root = realPath(directory);
  if (file === undefined || root === undefined || !file.startsWith(root + path.sep)) throw fault(`"${item.at.key}" of its manifest names no file inside the plugin`, directory);
  return file;
}

interface Places { readonly root: string; readonly data: string; readonly project: string }
interface Filling { readonly places: Places; readonly config: unknown; readonly context: PluginContext; readonly notices: Diagnostic[] }

function declared(name: string, setting: Setting, layer: Layer, filling: Filling): Declaration {
  const row = dialects.find((one) => one.name === 'mcpServers')!;
  const problems: { readonly at: At; readonly message: string }[] = [];
  const filled = setting.kind === 'object' ? filledEntry(setting, filling, (at, message) => { problems.push({ at, message }); }) : setting;
  const read = readDeclaration(name, filled, { ...row, syntax: 'dollar' }, layer, filling.context.paths.home, filling.notices);
  const lost = problems.map(({ at, message }): Diagnostic => ({ code: 'config_mcp_server_invalid', severity: 'error', pointer: at.key, message: `Cannot use the server "${name}": ${message}`, origin: originOf(at), server: name }));
  return { ...read, problems: [...read.problems, ...lost] };
}

/** Names of members whose texts go to the server alone. */
const SINKS = /^(?:env|environment|headers|http_headers)$/;

function filledEntry(entry: ObjectSetting, filling: Filling, refuse: (at: At, message: string) => void): ObjectSetting {
  const members = [...entry.members].map(([key, value]): [string, Setting] => {
    const sensitive = (at: At): boolean => SINKS.test(key) || (key === 'oauth' && /\.clientSecret$/.test(at.key));
    return [key, mapTexts(value, (text, at) => filledText(text, sensitive(at), filling, (message) => refuse(at, message)))];
  });
  return { ...entry, members: new Map(members) };
}

const REFERENCE = /\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}/g;

function filledText(text: string, sensitive: boolean, { places, config, context }: Filling, refuse: (message: string) => void): string {
  return text.replace(REFERENCE, (token, inner: string | undefined, form: string | undefined, argument: string | undefined) => {
    const refused = (message: string): string => { refuse(message); return token; };
    if (form === 'file') return refused(`${token} reads a file, which a plugin may not`);
    const [, variable, fallback] = form === 'env' ? [token, argument!.trim(), undefined] : /^(?:env:)?([^:]+)(?::-(.*))?$/.exec(inner!.trim()) ?? [token, inner!.trim(), undefined];
    const own = ownWord(variable!, places, config);
    if (own !== undefined) return isPlain(own) ? own : refused(`${token} stands for a place whose name looks like a reference`);
    if (/^user_config\./.test(variable!)) return refused(`${token} is not set: give it under "config" of the plugin`);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable!)) return refused(`${token} cannot be filled in`);
    if (/_(?:SESSION|SKILL)_/.test(variable!) && /^(?:ZUNO|ZCODE|CLAUDE)_/.test(variable!)) return refused(`${token} belongs to a session or a skill, and there is none when a server starts`);
    if (!sensitive && !/^(?:ZUNO|ZCODE)_/.test(variable!)) return refused(`${token} may stand in variables, headers and the client secret only`);
    const value = Object.hasOwn(context.environment, variable!) ? context.environment[variable!] : undefined;
    if ((value === undefined || value === '') && fallback === undefined) return refused(`the variable ${variable} is not set`);
    return token;
  });
}

function ownWord(variable: string, places: Places, config: unknown): string | undefined {
  const [, place] = /^(?:ZUNO|ZCODE|CLAUDE)_(PLUGIN_ROOT|PLUGIN_DATA|PROJECT_DIR)$/.exec(variable) ?? [];
  if (place !== undefined) return place === 'PLUGIN_ROOT' ? places.root : place === 'PLUGIN_DATA' ? places.data : places.project;
  const [, key] = /^user_config\.(.+)$/.exec(variable) ?? [];
  const value = key !== undefined && typeof config === 'object' && config !== null && Object.hasOwn(config, key) ? (config as Readonly<Record<string, unknown>>)[key] : undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
