#!/usr/bin/env node
// node registry.mjs [--rounds 7] [--servers 200] [--tools 50] [--json] [--check]: what many tools cost. CPU milliseconds, median of the rounds; each
// round is a fresh process, so that "first" is cold code on a cold heap, as in a session that has just begun. ZUNO_DIST names another built `dist`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import path from 'node:path';

const argument = (name, fallback) => { const i = process.argv.indexOf(`--${name}`); return i < 0 ? fallback : process.argv[i + 1]; };
const has = (name) => process.argv.includes(`--${name}`);
const self = fileURLToPath(import.meta.url), servers = Number(argument('servers', 200)), tools = Number(argument('tools', 50));
const TARGETS = { 'exposure plan, first': 50, 'tool_search, first': 20, 'tool_search, later': 10 };

if (has('sample')) console.log(JSON.stringify(await sample())); else report();

function report() {
  const samples = Array.from({ length: Number(argument('rounds', 7)) }, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [self, '--sample', '--servers', servers, '--tools', tools], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  });
  const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
  const rows = Object.keys(samples[0]).map((name) => { const values = samples.map((each) => each[name]); return { name, ms: median(values), best: Math.min(...values), target: TARGETS[name] }; });
  if (has('json')) console.log(JSON.stringify(rows));
  else {
    console.log(`${servers} servers x ${tools} tools\n\n${'CPU ms'.padEnd(34)}${'median'.padStart(8)}${'best'.padStart(8)}${'wanted'.padStart(8)}`);
    for (const { name, ms, best, target } of rows) console.log(name.padEnd(34) + ms.toFixed(2).padStart(8) + best.toFixed(2).padStart(8) + (target === undefined ? '' : `< ${target}`).padStart(8));
  }
  if (has('check') && rows.some(({ ms, target }) => ms >= target)) process.exitCode = 1;
}

/** One tool of five has a title too; one name of ten is outside ASCII. */
function listing(server) {
  const verbs = ['list', 'read', 'create', 'update', 'delete', 'search', 'export', 'import', 'watch', 'merge'], nouns = ['issue', 'invoice', 'page', 'channel', 'dataset', 'résumé', 'branch', 'ticket', 'table', 'event'];
  const items = Array.from({ length: tools }, (_, n) => {
    const verb = verbs[n % verbs.length], noun = nouns[(n + server) % nouns.length], name = `${verb}_${noun}_${n}`;
    return {
      name, ...(n % 5 === 0 ? { title: `${verb} the ${noun}s` } : {}),
      description: `Lets you ${verb} each ${noun} of the workspace that the query names; returns at most a hundred of them with their owner, state and the time of the last change.`,
      inputSchema: { type: 'object', properties: { query: { type: 'string', description: `Words that the ${noun} holds` }, limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, state: { enum: ['open', 'closed', 'all'] }, owner: { type: 'string' } }, required: ['query'], additionalProperties: false },
    };
  });
  // As texts come off the wire: joined ones would be put together within what is measured.
  return { server: `service-${String(server).padStart(3, '0')}`, origin: { file: '/zuno.json', layer: 'global' }, listing: { items: JSON.parse(JSON.stringify(items)), dropped: [] } };
}

async function sample() {
  const dist = path.resolve(process.env.ZUNO_DIST ?? path.join(path.dirname(self), '..', 'dist'));
  const load = (file) => import(pathToFileURL(path.join(dist, 'registry', file)).href);
  const [{ buildCatalogue }, { createRoster }, { createExposure, rivalOfSearch }, { answerSearch, createSearchIndex, searchDescription }, { createOffers }, { createPolicy }] =
    await Promise.all(['catalog.js', 'roster.js', 'exposure.js', 'search.js', 'native-tools.js', 'permission.js'].map(load));
  const times = {};
  const measure = (name, work, times_ = 1) => {
    const before = process.cpuUsage(), result = work(), { user, system } = process.cpuUsage(before);
    times[name] = (user + system) / 1000 / times_;
    return result;
  };

  const lists = Array.from({ length: servers }, (_, server) => listing(server)), names = lists.map(({ server }) => server);
  const { entries } = measure('catalogue: names and entries', () => buildCatalogue(lists, { servers: names, roster: createRoster() }));

  const origin = { file: '/zuno.json', layer: 'global' };
  const rules = Array.from({ length: 20 }, (_, n) => ({ key: n % 2 === 0 ? `service-${String(n).padStart(3, '0')}_*` : `*_${n}`, pattern: '*', effect: n % 5 === 0 ? 'deny' : 'allow', origin }));
  const policy = createPolicy({ permissions: { mode: 'standard', rules }, servers: names });
  const admitted = measure('policy: what 20 rules hide', () => entries.filter((entry) => !policy.hidden(entry)));

  const input = { entries: admitted, policy: { mode: 'auto', autoToolLimit: 32, autoSchemaBytes: 65_536, smallServerToolLimit: 8, servers: {} }, discovery: true, pinned: new Set(admitted.slice(0, 12).map(({ id }) => id)), found: new Set() };
  const { plan: planner } = createExposure();
  const plan = measure('exposure plan, first', () => { rivalOfSearch(admitted); return planner(input); });
  measure('exposure plan, later', () => { for (let n = 0; n < 10; n++) { rivalOfSearch(admitted); planner(input); } }, 10);
  measure('tool_search: its description', () => searchDescription(plan.searchable));

  const queries = ['invoice', 'export channel tickets', 'service-042', 'merge_branch_9', 'nothing_like_it'];
  const sources = new Map(names.map((server) => [server, { title: `The ${server}`, description: 'Issues, invoices, pages and channels of one workspace' }]));
  const search = (index, query) => answerSearch({ query, matched: index.search(query), visible: new Set(), revision: 0, deferred: plan.deferred.length });
  const index = measure('tool_search, first', () => { const made = createSearchIndex(plan.searchable, sources); search(made, queries[1]); return made; });
  measure('tool_search, later', () => { for (const query of queries) search(index, query); }, queries.length);
  // Words that every description holds: as many hits as there can be.
  measure('tool_search, later, a sentence', () => { search(index, 'list the open tickets of a channel'); });

  const offer = createOffers();
  measure('offered: what is shown at once', () => { for (const tool of plan.eager.map(offer)) void tool.schemaId; });
  const all = planner({ ...input, policy: { ...input.policy, mode: 'eager' } }).eager;
  measure('offered: all of it (mode eager)', () => all.map(offer));
  return times;
}
