/** What `doctor` looks at, one function for each thing. Nothing is started, nothing is reached, nothing is changed. */
import * as path from 'node:path';
import { toFailure } from '../base/failure.ts';
import type { Origin } from '../base/failure.ts';
import { accessOf, exists, isDirectory, isFile, readDirectory } from '../base/files.ts';
import type { Paths } from '../base/paths.ts';
import { count } from '../base/text.ts';
import { importSources } from '../config/imports.ts';
import type { LoadedConfig, LoadOptions } from '../config/load.ts';
import { readConfig } from '../config/load.ts';
import { gitRoot } from '../config/locate.ts';
import { maskUrl } from '../config/mask.ts';
import { expand, parseTemplate, references } from '../config/substitute.ts';
import type { Reference, ServerEntry, Template } from '../config/types.ts';
import { proxyFromEnvironment } from '../http/proxy.ts';
import { targetOf } from '../http/url.ts';
import { childEnvironment, variableName } from '../transports/child-environment.ts';
import { TREE_VARIABLE } from '../transports/process.ts';
import { orphanedProcesses } from '../transports/process-table.ts';

export interface Finding {
  readonly check: 'config' | 'trust' | 'commands' | 'variables' | 'network' | 'node' | 'stores' | 'processes';
  readonly level: 'ok' | 'note' | 'warning' | 'error';
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
  readonly origin?: Origin | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface CheckupOptions extends LoadOptions { readonly platform: NodeJS.Platform; readonly execPath: string; readonly nodeVersion: string }

/** All findings, check by check. Never fails: what is broken is a finding. */
export function checkup(options: CheckupOptions): Finding[] {
  const { loaded, findings } = configFindings(options);
  return [
    ...findings, ...trustFindings(loaded, options), ...(loaded === undefined ? [] : [...commandFindings(loaded, options), ...variableFindings(loaded, options.environment), ...certificateFindings(loaded)]),
    ...networkFindings(options.environment), ...nodeFindings(options), ...storeFindings(options.paths, options.platform), ...processFindings(options.platform),
  ];
}

/** Where the checkout makes the whole unusable, the rest is looked at without it. */
function configFindings(options: CheckupOptions): { readonly loaded: LoadedConfig | undefined; readonly findings: Finding[] } {
  const findings: Finding[] = [];
  const load = (environment: Environment): LoadedConfig | undefined => {
    try {
      return readConfig({ ...options, environment, log: undefined });
    } catch (thrown) {
      const failure = toFailure(thrown, 'config');
      if (findings.length === 0) findings.push({ check: failure.code === 'TRUST_REFUSED' ? 'trust' : 'config', level: 'error', message: failure.message, fix: failure.hint, origin: failure.origin });
      return undefined;
    }
  };
  const loaded = load(options.environment) ?? load({ ...options.environment, ZUNO_DISABLE_PROJECT_CONFIG: '1' });
  for (const { code, severity, message, origin } of loaded?.config.diagnostics ?? []) findings.push(code === 'config_import_partial' ? { check: 'config', level: 'note', message, origin } : { check: 'config', level: severity, message, origin, fix: origin.line === undefined ? `Correct ${origin.file}` : `Correct line ${origin.line} of ${origin.file}` });
  if (loaded !== undefined && findings.length === 0) {
    const files = loaded.config.layers.filter(({ state }) => state === 'loaded').length;
    findings.push({ check: 'config', level: 'ok', message: `${count(files, 'configuration file')} read, ${count(loaded.config.servers.size, 'server')} configured` });
  }
  if (loaded?.config.mcpEnabled === false) findings.push({ check: 'config', level: 'warning', message: 'MCP is off: no server is started or reached', fix: 'Remove "features": {"mcp": false}' });
  return { loaded, findings };
}

/** Project files: those that are read with less power, and those of other programs that are not read at all. */
function trustFindings(loaded: LoadedConfig | undefined, { cwd }: CheckupOptions): Finding[] {
  const findings: Finding[] = [];
  for (const layer of loaded?.layers ?? []) {
    // A definition in Markdown stands under the same rules as the file beside it: agents and commands have no power to tell of.
    if (layer.trusted || layer.source.endsWith('.md')) continue;
    const admitted = loaded!.trust.admitted(layer);
    findings.push({ check: 'trust', level: admitted ? 'ok' : 'note', message: `${layer.source} is read ${admitted ? 'and admitted' : 'without power over this machine: it may name remote servers and switch servers off'}`, fix: admitted ? undefined : `To admit it: zuno-lite trust ${layer.source}` });
  }
  const root = gitRoot(cwd) ?? cwd;
  const read = new Set(loaded?.config.layers.map(({ source }) => source));
  const told = new Set<string>();
  for (const source of importSources) {
    for (const name of source.project) {
      const file = path.join(root, name);
      if (told.has(file) || read.has(file) || !exists(file)) continue;
      told.add(file);
      findings.push({ check: 'trust', level: 'note', message: `${file} (${source.title}) was found and is not read`, fix: `To take servers over: zuno-lite mcp import ${source.name} --dry-run` });
    }
  }
  return findings;
}

const enabled = ({ config }: LoadedConfig): ServerEntry[] => [...config.servers.values()].filter((entry) => entry.enabled);

function commandFindings(loaded: LoadedConfig, options: CheckupOptions): Finding[] {
  const findings: Finding[] = [];
  let found = 0;
  for (const entry of enabled(loaded)) {
    if (entry.kind !== 'local') continue;
    const { origin } = entry;
    const command = expanded(entry.command, options.environment);
    if (command === undefined) continue;
    const own = Object.fromEntries(Object.entries(entry.environment).flatMap(([name, template]) => { const value = expanded(template, options.environment); return value === undefined ? [] : [[name, value] as const]; }));
    const environment = childEnvironment({ environment: options.environment, entryEnvironment: own, platform: options.platform, execPath: options.execPath, isFile });
    if (!isDirectory(entry.cwd)) findings.push({ check: 'commands', level: 'error', message: `"${entry.name}" runs in ${entry.cwd}, which is no directory`, fix: `Create it, or zuno-lite mcp set ${entry.name} cwd=DIR`, origin });
    else if (programOf(command, entry.cwd, environment, options.platform) === undefined) {
      findings.push({ check: 'commands', level: 'error', message: `"${entry.name}" starts "${command}", which ${/[\\/]/.test(command) ? 'is no file' : 'is not on the PATH'}`, fix: `Install it, or write its full path: zuno-lite mcp set ${entry.name} command='[...]'`, origin });
    } else found += 1;
  }
  if (found > 0) findings.push({ check: 'commands', level: 'ok', message: `${count(found, 'command')} found` });
  return findings;
}

function expanded(template: Template, environment: Environment): string | undefined {
  try { return expand(template, { environment, key: '' }); } catch { return undefined; }
}

function programOf(command: string, cwd: string, environment: Environment, platform: NodeJS.Platform): string | undefined {
  const windows = platform === 'win32';
  const endings = windows ? ['', ...(environment[variableName(environment, 'PATHEXT') ?? ''] ?? '.COM;.EXE;.BAT;.CMD').split(';')] : [''];
  const directories = /[\\/]/.test(command) ? [cwd] : (environment[variableName(environment, 'PATH') ?? ''] ?? '').split(windows ? ';' : ':').filter((one) => one !== '');
  return directories.flatMap((directory) => endings.map((ending) => path.resolve(directory, command + ending.toLowerCase()))).find(isFile);
}

function variableFindings(loaded: LoadedConfig, environment: Environment): Finding[] {
  const findings: Finding[] = [];
  let set = 0;
  for (const entry of enabled(loaded)) {
    const told = new Set<string>();
    for (const { key, reference } of referencesOf(entry)) {
      if (told.has(reference.token)) continue;
      told.add(reference.token);
      const trouble = troubleWith(reference, environment);
      if (trouble === undefined) set += 1;
      else findings.push({ check: 'variables', level: 'error', message: `"${entry.name}" needs ${reference.token}${key === undefined ? '' : ` for "${key}"`}: ${trouble.what}`, fix: trouble.fix, origin: entry.origin });
    }
  }
  if (set > 0) findings.push({ check: 'variables', level: 'ok', message: `${count(set, 'reference')} can be filled in` });
  return findings;
}

/** What an entry is waiting for; `key` where it does not stand in the entry itself but in how one signs in. */
function referencesOf(entry: ServerEntry): { readonly key?: string; readonly reference: Reference }[] {
  const maps = entry.kind === 'local' ? entry.environment : entry.headers;
  const texts = [...(entry.kind === 'local' ? [entry.command, ...entry.args] : [entry.url, ...entry.headersCommand?.words ?? []]), ...Object.values(maps)];
  const signIn = entry.kind === 'remote' && entry.oauth !== false && entry.oauth !== undefined && entry.oauthTexts !== undefined ? entry : undefined;
  return [...texts.flatMap(references).map((reference) => ({ reference })), ...(signIn === undefined ? [] : textsIn(signIn.oauth, 'oauth').flatMap(({ key, text }) => references(parseTemplate(text, signIn.oauthTexts!)).map((reference) => ({ key, reference }))))];
}

function textsIn(value: unknown, key: string): { readonly key: string; readonly text: string }[] {
  if (typeof value === 'string') return [{ key, text: value }];
  return typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([step, item]) => textsIn(item, `${key}.${step}`)) : [];
}

/** Why a reference cannot be filled in. Files are read to find out, and not shown. */
function troubleWith(reference: Reference, environment: Environment): { readonly what: string; readonly fix: string | undefined } | undefined {
  if (reference.kind === 'env') return environment[reference.name] || reference.default !== undefined ? undefined : { what: `the variable ${reference.name} is not set`, fix: `export ${reference.name}=...` };
  if (reference.kind === 'foreign') return { what: reference.advice, fix: 'Write a reference to a variable in its place' };
  if (!exists(reference.path)) return { what: `the file of ${reference.token} is missing`, fix: `Write the value to ${reference.path}` };
  try {
    expand({ parts: [reference], source: reference.token }, { environment, key: '' });
    return undefined;
  } catch (thrown) {
    const { message } = toFailure(thrown);
    return { what: message.slice(message.indexOf(': ') + 2), fix: isFile(reference.path) ? `Make ${reference.path} readable for you and put the value into it` : `Write the value to ${reference.path}` };
  }
}

/** Files of authorities and certificates that single servers name. */
function certificateFindings(loaded: LoadedConfig): Finding[] {
  return enabled(loaded).flatMap((entry) => (entry.kind === 'local' ? [] : (['caFile', 'certFile', 'keyFile'] as const).flatMap((key): Finding[] => {
    const named = entry[key];
    if (named === undefined) return [];
    if (!isFile(named.value)) return [{ check: 'network', level: 'error', message: `"${key}" of "${entry.name}" names ${named.value}, which is no file`, fix: `zuno-lite mcp set ${entry.name} ${key}=FILE`, origin: named.origin }];
    return key === 'caFile' ? [{ check: 'network', level: 'ok', message: `"${entry.name}" also trusts the authorities of ${named.value}` }] : [];
  })));
}

const PROXIES = ['https_proxy', 'http_proxy', 'all_proxy', 'no_proxy'] as const;

function networkFindings(environment: Environment): Finding[] {
  const findings: Finding[] = [];
  const proxies = PROXIES.flatMap((name) => { const value = environment[name] ?? environment[name.toUpperCase()]; return value === undefined || value === '' ? [] : [`${name.toUpperCase()}=${maskUrl(value)}`]; });
  try {
    for (const url of ['https://example.com/', 'http://example.com/']) proxyFromEnvironment(environment).choose(targetOf(url));
    findings.push({ check: 'network', level: 'ok', message: proxies.length === 0 ? 'no proxy: servers are reached directly' : `in effect: ${proxies.join(' ')}` });
  } catch (thrown) {
    findings.push({ check: 'network', level: 'error', message: toFailure(thrown).message, fix: 'Correct or unset that variable' });
  }
  for (const name of ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']) {
    const file = environment[name];
    if (file === undefined || file === '') continue;
    findings.push(isFile(file) ? { check: 'network', level: 'ok', message: `${name}: certificates of ${file} are in effect` } : { check: 'network', level: 'error', message: `${name} names ${file}, which is no file`, fix: `Correct or unset ${name}` });
  }
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') findings.push({ check: 'network', level: 'error', message: 'NODE_TLS_REJECT_UNAUTHORIZED=0: other programs that Node runs check no certificate', fix: 'unset NODE_TLS_REJECT_UNAUTHORIZED, and name the authority with "caFile" of the server' });
  return findings;
}

function nodeFindings({ nodeVersion, platform, execPath, environment }: CheckupOptions): Finding[] {
  const major = Number(/^v?(\d+)/.exec(nodeVersion)?.[1] ?? 0);
  const findings: Finding[] = [major >= 20
    ? { check: 'node', level: 'ok', message: `Node ${nodeVersion} on ${platform} (${execPath})` }
    : { check: 'node', level: 'error', message: `Node ${nodeVersion} is too old: 20 is the oldest that is supported`, fix: 'Install a newer Node' }];
  if (environment['NODE_OPTIONS']) findings.push({ check: 'node', level: 'note', message: 'NODE_OPTIONS is set; servers do not inherit it' });
  return findings;
}

function storeFindings(paths: Paths, platform: NodeJS.Platform): Finding[] {
  if (platform === 'win32') return [{ check: 'stores', level: 'ok', message: 'files are protected by the profile of this user' }];
  const credentials = path.join(paths.data, 'credentials');
  const secret = [credentials, ...(isDirectory(credentials) ? readDirectory(credentials).filter((name) => name.endsWith('.json')).map((name) => path.join(credentials, name)) : [])];
  const findings: Finding[] = [];
  for (const file of secret) {
    const access = accessOf(file);
    if (access === undefined) continue;
    if ((access.mode & 0o077) !== 0) findings.push({ check: 'stores', level: 'error', message: `${file} can be read by others (${access.mode.toString(8)})`, fix: `chmod ${isDirectory(file) ? '700' : '600'} ${file}` });
    else if (!access.own) findings.push({ check: 'stores', level: 'error', message: `${file} belongs to someone else`, fix: `chown "$USER" ${file}` });
  }
  for (const name of ['zuno.json', 'zuno.jsonc']) {
    const file = path.join(paths.config, name), access = accessOf(file);
    if (access === undefined) continue;
    if ((access.mode & 0o022) !== 0) findings.push({ check: 'stores', level: 'error', message: `${file} can be changed by others (${access.mode.toString(8)}), and it decides what runs`, fix: `chmod 600 ${file}` });
  }
  return findings.length > 0 ? findings : [{ check: 'stores', level: 'ok', message: exists(credentials) ? 'credentials are closed to others' : 'no credentials are stored' }];
}

function processFindings(platform: NodeJS.Platform): Finding[] {
  const orphans = platform === 'linux' || platform === 'android' ? orphanedProcesses(TREE_VARIABLE) : undefined;
  if (orphans === undefined) return [];
  if (orphans.length === 0) return [{ check: 'processes', level: 'ok', message: 'no server of an earlier run is left over' }];
  return [...new Set(orphans.map(({ mark }) => mark))].map((mark) => {
    const tree = orphans.filter((one) => one.mark === mark);
    return { check: 'processes', level: 'warning', message: `left over from an earlier run: ${tree.map(({ pid, command }) => `${command} (${pid})`).join(', ')}`, fix: `kill ${tree.map(({ pid }) => pid).join(' ')}` };
  });
}
