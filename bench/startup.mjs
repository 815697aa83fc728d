#!/usr/bin/env node
// node startup.mjs [--rounds 15] [--only help,call] [--json] [--check]: what one run of the command line costs, as wall time of the whole process.
// Every sample of a case is followed by one of `node -e 0`; the ratio is the median over these pairs, `best` is fastest over fastest.
// `floor` is a cold call by the least program there can be (floor.cjs): whatever `call` costs above it is ours.
// ZUNO_CLI names another entry file (default: bin/zuno-lite.js). `--check` exits 1 when a case misses its target.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const at = (...parts) => path.join(path.dirname(fileURLToPath(import.meta.url)), ...parts);
const argument = (name, fallback) => { const i = process.argv.indexOf(`--${name}`); return i < 0 ? fallback : process.argv[i + 1]; };
const has = (name) => process.argv.includes(`--${name}`);
const rounds = Number(argument('rounds', 15)), only = argument('only', '').split(',').filter(Boolean);
const cli = process.env.ZUNO_CLI ?? at('..', 'bin', 'zuno-lite.js'), tiny = at('servers', 'tiny.mjs');

// A configuration of its own, and nothing inherited that changes how fast Node itself starts.
const home = mkdtempSync(path.join(tmpdir(), 'zuno-startup-'));
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ZUNO|XDG_|NODE_)/.test(name)));
Object.assign(environment, { HOME: home, XDG_CONFIG_HOME: path.join(home, 'config'), XDG_STATE_HOME: path.join(home, 'state'), XDG_CACHE_HOME: path.join(home, 'cache'), XDG_DATA_HOME: path.join(home, 'data'), NO_COLOR: '1' });
const server = (...flags) => ({ type: 'local', command: [process.execPath, tiny, ...flags] });
mkdirSync(path.join(home, 'config', 'zuno'), { recursive: true });
writeFileSync(path.join(home, 'config', 'zuno', 'zuno.json'), JSON.stringify({ mcp: { tiny: server(), old: server('--legacy') } }));
mkdirSync(path.join(home, 'work'));

const zuno = (...words) => [cli, ...words];
const cases = {
  version: { argv: zuno('--version'), expect: /\d+\.\d+\.\d+/ },
  help: { argv: zuno('--help'), expect: /mcp add/, target: 1.3 },
  'help-call': { argv: zuno('call', '--help'), expect: /call TOOL/ },
  'list-no-probe': { argv: zuno('mcp', 'list', '--no-probe'), expect: /tiny/ },
  floor: { argv: [at('floor.cjs'), process.execPath, tiny], expect: /^hello$/m },
  call: { argv: zuno('call', 'tiny.echo', 'text=hello', '--yes'), expect: /^hello$/m, target: 2.6 },
  'call-legacy': { argv: zuno('call', 'old.echo', 'text=hello', '--yes'), expect: /^hello$/m, target: 2.6 },
  tools: { argv: zuno('tools', 'tiny'), expect: /echo/ },
};

function run(name, { argv, expect }) {
  const startedAt = performance.now();
  const done = spawnSync(process.execPath, argv, { cwd: path.join(home, 'work'), env: environment, encoding: 'utf8', timeout: 30_000, stdio: ['ignore', 'pipe', 'pipe'] });
  const ms = performance.now() - startedAt;
  if (done.status !== 0 || !expect.test(done.stdout)) throw new Error(`${name}: exit ${done.status ?? done.signal}\n${done.stdout}${done.stderr}`);
  return ms;
}
function empty() {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0'], { cwd: path.join(home, 'work'), env: environment });
  return performance.now() - startedAt;
}
const median = (list) => { const sorted = [...list].sort((a, b) => a - b), half = sorted.length >> 1; return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2; };

const report = {};
let missed = false;
try {
  for (const [name, one] of Object.entries(cases)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const take = () => run(name, one), times = [], bare = [];
    take();
    empty();
    for (let round = 0; round < rounds; round++) { times.push(take()); bare.push(empty()); }
    const ms = median(times), nodeMs = median(bare), ratio = median(times.map((time, round) => time / bare[round]));
    report[name] = { ms, nodeMs, ratio, best: Math.min(...times) / Math.min(...bare), target: one.target ?? null };
    if (one.target !== undefined && ratio > one.target) missed = true;
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
if (has('json')) console.log(JSON.stringify({ node: process.version, rounds, cases: report }, null, 2));
else {
  console.log(`Node ${process.version}, ${rounds} rounds\n\n| case | median ms | node -e 0, ms | ratio | best over best | target |\n|---|---:|---:|---:|---:|---:|`);
  for (const [name, r] of Object.entries(report)) console.log(`| ${name} | ${r.ms.toFixed(1)} | ${r.nodeMs.toFixed(1)} | **${r.ratio.toFixed(2)}** | ${r.best.toFixed(2)} | ${r.target ?? ''} |`);
}
if (has('check') && missed) process.exitCode = 1;
