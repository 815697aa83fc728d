/** The plan of the house, enforced: who may import whom, who holds which power, and what nobody does (ARCHITECTURE.md). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { filesBelow, root, sourceFiles, targetOf, type SourceFile } from '../../support/source-files.ts';

const files = sourceFiles();
const entries = ['index', 'client'];
const folderOf = (name: string): string => (name.includes('/') ? name.slice(0, name.indexOf('/')) : name);

/** Every line of every file that matches, as `file:line`, unless the file may. */
function found(pattern: RegExp, allowed: readonly string[] = [], textOf: (file: SourceFile) => string = (file) => file.code): string[] {
  return files.filter(({ name }) => !allowed.includes(name)).flatMap((file) => textOf(file).split('\n').flatMap((line, i) => (pattern.test(line) ? [`${file.name}:${i + 1}: ${file.text.split('\n')[i]?.trim()}`] : [])));
}

// ---- layers

const below = ['base', 'jsonrpc', 'http', 'config', 'oauth', 'transports', 'mcp', 'registry'];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [], jsonrpc: ['base'], http: ['base'], config: ['base'], oauth: ['base', 'http'], transports: ['base', 'jsonrpc', 'http'],
  mcp: ['base', 'jsonrpc'], registry: ['base', 'jsonrpc', 'mcp'], host: below, gateway: [...below, 'host'], acp: [...below, 'host'],
  cli: [...below, 'host', 'gateway', 'acp'], index: [...below, 'host', 'gateway', 'acp'],
  // One server, no gate.
  client: ['base', 'jsonrpc', 'http', 'oauth', 'transports', 'mcp'],
};
/** Known by their types alone. */
const typesOnly: Readonly<Record<string, readonly string[]>> = { registry: ['jsonrpc', 'mcp'] };

test('src/ has only the folders of the plan', () => {
  assert.deepEqual([...new Set(files.map(({ name }) => folderOf(name)))].filter((folder) => mayImport[folder] === undefined), []);
});

test('src/ imports only downwards', () => {
  const wrong = files.flatMap((file) => file.imports.flatMap((one) => {
    const target = targetOf(file, one);
    const from = folderOf(file.name), to = folderOf(target);
    if (!one.from.startsWith('.') || (from === to && !entries.includes(to))) return [];
    if (!(mayImport[from] ?? []).includes(to)) return [`${file.name} imports ${target}`];
    return (typesOnly[from] ?? []).includes(to) && !one.typeOnly ? [`${file.name} imports ${target}, and not only types`] : [];
  }));
  assert.deepEqual(wrong, []);
});

test('src/ imports files that exist, by their name with .ts, and nothing but node: from outside', () => {
  const names = new Set(files.map(({ name }) => name));
  const wrong = files.flatMap((file) => file.imports.flatMap((one) => {
    if (!one.from.startsWith('.')) return one.from.startsWith('node:') ? [] : [`${file.name} imports ${one.from}`];
    return one.from.endsWith('.ts') && names.has(targetOf(file, one)) ? [] : [`${file.name} imports ${one.from}`];
  }));
  assert.deepEqual(wrong, []);
  assert.ok(files.reduce((sum, { imports }) => sum + imports.length, 0) > files.length, 'the imports were found at all');
});

test('src/ has no cycle, types and late imports included', () => {
  const edges = new Map(files.map((file) => [file.name, file.imports.filter(({ from }) => from.startsWith('.')).map((one) => targetOf(file, one))]));
  const done = new Set<string>(), cycles: string[] = [];
  const visit = (name: string, trail: readonly string[]): void => {
    const at = trail.indexOf(name);
    if (at >= 0) { cycles.push([...trail.slice(at), name].join(' -> ')); return; }
    if (done.has(name)) return;
    for (const next of edges.get(name) ?? []) visit(next, [...trail, name]);
    done.add(name);
  };
  for (const { name } of files) visit(name, []);
  assert.deepEqual(cycles, []);
});

test('src/ has no default export and no barrel but the two entries', () => {
  assert.deepEqual(found(/^\s*export default\b|\bas default\b/), []);
  assert.deepEqual(found(/^\s*export\s+(type\s+)?\*/, entries), []);
  // One name that is passed on is not a barrel; a list of them is.
  const passingOn = files.filter(({ name, code }) => !entries.includes(name) && [...code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}\s*from\b/gm)].flatMap((match) => match[1]!.split(',')).length > 1);
  assert.deepEqual(passingOn.map(({ name }) => name), []);
});

// ---- powers

/** A power, how it looks in code, and who holds it. */
const powers: readonly (readonly [power: string, pattern: RegExp, holders: readonly string[]])[] = [
  ['signal a process', /(?<!\.)\bprocess\.kill\b/, ['transports/process', 'transports/process-tree', 'transports/process-table', 'transports/watchdog', 'base/files']],
  ['read the environment', /(?<!\.)\bprocess\.env\b/, ['config/locate', 'config/substitute', 'transports/process', 'http/fetch', 'cli/terminal', 'base/paths']],
  ['write to stdout or stderr', /(?<!\.)\bprocess\.(stdout|stderr)\b|(?<![.\w])console\./, ['cli/terminal', 'transports/stdio-server']],
  ['read stdin', /(?<!\.)\bprocess\.stdin\b/, ['cli/terminal', 'transports/stdio-server']],
  ['call out by the platform\'s fetch', /\bglobalThis\.fetch\b|(?<![.\w])(?:await |return |\? |: |=> )fetch\(|(?<![.\w])new (WebSocket|EventSource)\b/, ['http/fetch', 'http/platform-engine']],
  ['end the process', /(?<!\.)\bprocess\.(exit|abort|reallyExit|exitCode)\b/, []],
  ['change what the process is', /(?<!\.)\bprocess\.(chdir|umask|setuid|setgid|setegid|seteuid|setgroups|dlopen|binding)\b/, []],
  ['turn text into code', /(?<![.\w])eval\(|\bnew Function\b|(?<![.\w])Function\(/, []],
  ['load code by a computed name', /\bimport\((?!\s*['"])|(?<![.\w])require\(|\bcreateRequire\b/, []],
];

/** Built-in modules that carry a power, and who may import them. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['transports/process', 'transports/process-tree', 'transports/process-table', 'transports/watchdog', 'oauth/browser'],
  'node:fs': ['base/files', 'transports/process-tree', 'transports/process-table'], 'node:fs/promises': ['base/files'],
  'node:readline': ['cli/terminal'], 'node:tty': ['cli/terminal'],
};
const network = ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'node:dgram', 'node:dns', 'node:dns/promises'];
const nobodys = ['node:vm', 'node:module', 'node:worker_threads', 'node:cluster', 'node:inspector', 'node:repl', 'node:wasi', 'node:sea', 'node:sqlite', 'node:v8', 'node:diagnostics_channel', 'node:test'];

test('each power has its holders (DESIGN, powers)', () => {
  for (const [power, pattern, holders] of powers) assert.deepEqual(found(pattern, holders), [], power);
});

test('modules that carry a power are imported by its holders alone', () => {
  const wrong = files.flatMap((file) => file.imports.filter((one) => {
    if (network.includes(one.from)) return folderOf(file.name) !== 'http';
    return nobodys.includes(one.from) || (modules[one.from] !== undefined && !modules[one.from]!.includes(file.name));
  }).map(({ from }) => `${file.name} imports ${from}`));
  assert.deepEqual(wrong, []);
});

test('only base/files changes files: the process table reads /proc', () => {
  for (const { name, text } of files.filter((file) => file.name !== 'base/files' && file.imports.some(({ from }) => from === 'node:fs'))) {
    const used = [...text.matchAll(/\bfs\.(\w+(?:\(\w+, '\w+'\))?)/g)].map((match) => match[1]!);
    assert.ok(used.length > 0, `${name} uses node:fs as fs`);
    assert.deepEqual(used.filter((call) => !/^(read|stat|lstat|exists|access|constants|closeSync|openSync\(\w+, 'r'\))/.test(call)), [], name);
  }
});

test('base/files only asks whether a process lives', () => {
  const calls = files.find(({ name }) => name === 'base/files')?.code.match(/process\.kill\([^)]*\)/g) ?? [];
  assert.deepEqual(calls.filter((call) => !/, 0\)$/.test(call)), []);
});

test('src/ keeps no state in its modules', () => {
  assert.deepEqual(found(/^(export )?(declare )?(let|var)\b/), []);
  for (const { name, code } of files) {
    for (const [, collection] of code.matchAll(/^(?:export )?const (\w+)[^=\n]*= new (?:Map|Set|WeakMap)\b/gm)) {
      assert.equal(new RegExp(`\\b${collection}\\.(add|set|delete|clear)\\(`).test(code), false, `${name} writes to its module's ${collection}`);
    }
  }
});

// ---- language

test('src/ has no any and silences no compiler', () => {
  assert.deepEqual(found(/(?<![.\w'])any\b(?!\s*\()/), []);
  assert.deepEqual(found(/@ts-(ignore|expect-error|nocheck)|eslint-disable/, [], (file) => file.text), []);
});

test('src/ throws failures and errors, never text', () => {
  assert.deepEqual(found(/\bthrow\s+['"`]/), []);
});

test('src/ names its files for what they are', () => {
  assert.deepEqual(files.map(({ name }) => name).filter((name) => /(^|[/-])(utils?|helpers?|manager|misc|common|data|info)$/.test(name)), []);
});

// ---- limits

/** Limits of parts that are still to come. */
const reserved: readonly (keyof typeof limits)[] = [
  'oauthInteractiveMs', 'oauthStartMs', 'tokenSkewMs', 'poolGraceMs', 'searchResults', 'searchResultsMax', 'previewChars', 'serviceSummaryBytes',
  'exposureTools', 'exposureBytes', 'exposureToolsPerServer', 'retryTries', 'retryFirstMs', 'retryFactor', 'retryCapMs', 'retryJitter', 'jsonDepth', 'connectionsMin', 'connectionsMax',
];

test('every limit is used, or waits for its part', () => {
  const code = files.filter(({ name }) => name !== 'base/limits').map((file) => file.code).join('\n');
  const unused = Object.keys(limits).filter((name) => !new RegExp(`\\blimits\\.${name}\\b`).test(code) && !(reserved as readonly string[]).includes(name));
  // OAuth is being built: what begins with its name or its callback's may still be waiting.
  assert.deepEqual(unused.filter((name) => !/^(oauth|callback)/.test(name)), []);
});

// ---- the package

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>;

test('the package depends on nothing, and is built with four tools', () => {
  for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies', 'bundledDependencies']) assert.equal(manifest[key], undefined, key);
  assert.deepEqual(Object.keys(manifest['devDependencies'] as object).sort(), ['@types/node', 'c8', 'tsx', 'typescript']);
  for (const script of ['preinstall', 'install', 'postinstall']) assert.equal((manifest['scripts'] as Record<string, unknown>)[script], undefined, script);
});

test('nothing in the tree knows the machine it was written on', () => {
  const here = root.replace(/[\\/]$/, '');
  const folders = ['src', 'bin', 'demo', 'docs', 'test', 'bench', '.ci'];
  const texts = [...folders.flatMap((folder) => { try { return filesBelow(folder); } catch { return []; } }), 'package.json', 'package-lock.json', 'tsconfig.json'];
  assert.deepEqual(texts.filter((file) => readFileSync(path.join(root, file), 'utf8').includes(here)), []);
  assert.equal(readFileSync(path.join(root, 'package-lock.json'), 'utf8').includes('"resolved"'), false, 'the lock names no registry');
});
