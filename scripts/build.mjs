/**
 * Builds `dist`: the library as modules with their types, and the command line as a few CommonJS files.
 *
 * Why the command line is packed: Node needs about a millisecond to find, read and link one ES module, and a command needs about ninety of
 * them; a run would spend more time on loading than on its work. Nothing is renamed or rewritten: each module stays a function of
 * its own, `require` between them becomes a look into a table, and what only some commands need lies in files that are read then.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');

/** What is read together: what every run needs, what starts a server, what is read while it starts. The rest comes on demand. */
const GROUPS = {
  cli: ['cli/main.js', 'cli/help.js'],
  'cli-start': ['cli/commands/call.js', 'cli/interrupt.js', 'config/load.js', 'cli/open.js', 'host/host.js', 'host/local.js', 'mcp/connect.js'],
  'cli-call': ['registry/catalog.js', 'registry/gate.js', 'cli/arguments.js', 'cli/text-sources.js', 'cli/progress.js', 'cli/render.js', 'cli/explain.js'],
  'cli-rest': [],
};
const ENTRY = GROUPS.cli[0];

function compile(project, ...options) {
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // What is wrong stands in the compiler's own output; a stack of this script would only hide it.
  const { status } = spawnSync(process.execPath, [tsc, '-p', path.join(root, project), ...options], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return;
  process.exitCode = 1;
  throw new Error(`${project} does not compile`);
}

// ---- reading the compiled modules

const REQUIRE = /(Promise\.resolve\(\)\.then\(\(\) => (?:__importStar\()?)?require\(["'](\.[^"']+)["']\)/g;

function readModules(from) {
  const files = readdirSync(from, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/')).filter((file) => file.endsWith('.js')).sort();
  return new Map(files.map((id) => {
    const text = readFileSync(path.join(from, id), 'utf8').replace(/^"use strict";\n/, '');
    const eager = [], lazy = [];
    for (const [, deferred, target] of text.matchAll(REQUIRE)) (deferred ? lazy : eager).push(path.posix.join(path.posix.dirname(id), target));
    return [id, { text, eager, lazy }];
  }));
}

/** The module and all that must be there with it; with `deferred` also what it may load later. */
function reach(modules, id, deferred, found = new Set()) {
  if (found.has(id)) return found;
  const module = modules.get(id);
  if (module === undefined) throw new Error(`No module ${id}: correct GROUPS in scripts/build.mjs`);
  found.add(id);
  for (const next of deferred ? [...module.eager, ...module.lazy] : module.eager) reach(modules, next, deferred, found);
  return found;
}

// ---- writing the packed files

const LOADER = `'use strict';
const made = Object.create(null), table = Object.create(null);
const interop = { __importStar: (m) => m, __importDefault: (m) => ({ default: m }) };
function load(id) {
  let module = made[id];
  if (module === undefined) {
    if (table[id] === undefined) Object.assign(table, require('./' + (started.has(id) ? 'cli-start.cjs' : called.has(id) ? 'cli-call.cjs' : 'cli-rest.cjs')));
    module = made[id] = { exports: {} };
    table[id].call(interop, module.exports, (to) => (to.charCodeAt(0) === 46 ? load(resolve(id, to)) : require(to)), module);
  }
  return module.exports;
}
function resolve(id, to) {
  const parts = id.split('/').slice(0, -1);
  for (const part of to.split('/')) if (part === '..') parts.pop(); else if (part !== '.') parts.push(part);
  return parts.join('/');
}
`;

function pack(from, to) {
  const modules = readModules(from);
  const homes = {};
  for (const [group, ids] of Object.entries(GROUPS)) for (const id of ids) for (const one of reach(modules, id, false)) homes[one] ??= `${group}.cjs`;
  const needed = [...reach(modules, ENTRY, true)].sort();
  for (const id of needed) homes[id] ??= 'cli-rest.cjs';
  const body = (file) => needed.filter((id) => homes[id] === file).map((id) => `${JSON.stringify(id)}(exports, require, module) {\n${modules.get(id).text}},\n`).join('');
  const members = (file) => JSON.stringify(needed.filter((id) => homes[id] === file));
  mkdirSync(to, { recursive: true });
  for (const group of Object.keys(GROUPS)) {
    const file = `${group}.cjs`;
    writeFileSync(path.join(to, file), homes[ENTRY] === file
      ? `${LOADER}const started = new Set(${members('cli-start.cjs')}), called = new Set(${members('cli-call.cjs')});\nObject.assign(table, {\n${body(file)}});\nmodule.exports = load(${JSON.stringify(ENTRY)});\n`
      : `'use strict';\nmodule.exports = {\n${body(file)}};\n`);
  }
}

// Built aside and moved into place when all went well: a failed build leaves the last good one.
const aside = mkdtempSync(path.join(root, 'node_modules', '.build-'));
try {
  const library = path.join(aside, 'library'), command = path.join(aside, 'command');
  compile('tsconfig.build.json', '--outDir', library);
  compile('tsconfig.command.json', '--outDir', command);
  pack(command, library);
  rmSync(dist, { recursive: true, force: true });
  renameSync(library, dist);
} finally {
  rmSync(aside, { recursive: true, force: true });
}
