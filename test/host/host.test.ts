import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { isFailure, type AnyFailure } from '../../src/base/failure.ts';
import type { Host } from '../../src/host/types.ts';
import type { Outcome } from '../../src/registry/types.ts';
import { fixture, home } from '../support/hosts.ts';
import { isAlive, processFiles, waitFor, waitUntilGone } from '../support/process.ts';

const allowAll = { permission: { mode: 'allow_all' } };
const failureOf = async (work: Promise<unknown>): Promise<AnyFailure> => {
  const caught: unknown = await work.then(() => undefined, (error: unknown) => error);
  assert.ok(isFailure(caught), `a Failure is due, not ${String(caught)}`);
  return caught;
};
const textOf = (outcome: Outcome): string => {
  assert.ok(outcome.kind === 'ok' || outcome.kind === 'tool_error', outcome.kind === 'ok' ? '' : JSON.stringify(outcome));
  const [block] = outcome.result.content;
  assert.equal(block?.type, 'text');
  return (block as { text: string }).text;
};
const call = async (host: Host, words: string, args = {}): Promise<Outcome> => host.call(await host.findTool(words), args);

test('a call walks from configuration to server and back, and close() leaves no process', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { ...allowAll, mcp: { docs: fixture(`--pids=${files.pidsFile}`) } });
  const house = host();
  assert.equal(textOf(await call(house, 'docs_add', { a: 2, b: 3 })), '5');
  const [status] = house.status();
  assert.equal(status?.state, 'connected');
  assert.equal(status?.era, 'legacy');
  assert.ok(files.pids().every(isAlive));
  await house.close();
  await waitUntilGone(files.pids());
  assert.equal((await failureOf(house.open('docs'))).code, 'CONNECTION_CLOSED');
});

test('findTool() takes every spelling, opens only servers the words can mean, and suggests without executing', async (t) => {
  const docs = processFiles(t), wiki = processFiles(t);
  const { host } = home(t, { mcp: { docs: fixture(`--pids=${docs.pidsFile}`), wiki: fixture(`--pids=${wiki.pidsFile}`) } });
  const house = host();
  for (const words of ['docs_echo', 'docs.echo', 'docs/echo', 'mcp__docs__echo']) assert.equal((await house.findTool(words)).id, 'docs_echo');
  assert.equal(docs.pids().length, 1);
  assert.equal(wiki.pids().length, 0, 'the other server was not started');
  const failure = await failureOf(house.findTool('docs.ecko'));
  assert.equal(failure.code, 'TOOL_UNKNOWN');
  assert.equal((failure.details as { nearest: readonly string[] }).nearest[0], 'docs_echo');
  const nowhere = await failureOf(house.findTool('nothing_here'));
  assert.equal(nowhere.code, 'TOOL_UNKNOWN');
});

test('findTool() tells why the server that would have the tool could not be asked', async (t) => {
  const { host } = home(t, { mcp: { docs: { type: 'local', command: ['no-such-program-here'] } } });
  const failure = await failureOf(host().findTool('docs.echo'));
  assert.equal(failure.code, 'SPAWN_FAILED');
  assert.equal(failure.origin?.key, 'mcp.docs');
  assert.equal(failure.hint !== undefined, true);
});

test('open() of an unknown, a disabled and a faulty server names what to do, with nearest names and origin', async (t) => {
  const { host } = home(t, { mcp: { docs: { ...fixture(), enabled: false }, bad: { type: 'local' } } });
  const house = host();
  const unknown = await failureOf(house.open('doc'));
  assert.equal(unknown.code, 'SERVER_UNKNOWN');
  assert.deepEqual((unknown.details as { nearest: readonly string[] }).nearest, ['docs']);
  const disabled = await failureOf(house.open('docs'));
  assert.match(disabled.hint ?? '', /mcp enable docs/);
  const faulty = await failureOf(house.open('bad'));
  assert.equal(faulty.code, 'CONFIG_INVALID');
  assert.match(faulty.message, /command/);
});

test('features.mcp: false starts nothing', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { features: { mcp: false }, mcp: { docs: fixture(`--pids=${files.pidsFile}`) } });
  const house = host();
  assert.deepEqual((await house.listTools()).entries, []);
  assert.match((await failureOf(house.open('docs'))).message, /switched off/);
  assert.equal(files.pids().length, 0);
});

test('listTools() asks the servers side by side and loses only those that fail', async (t) => {
  const { host } = home(t, { mcp: { good: fixture('--tools=echo'), late: fixture('--tools=echo', '--initialize-ms=300'), dead: fixture('--exits-at-once=7'), list: fixture('--list-fails-after=0') } });
  const house = host();
  const { entries, failures } = await house.listTools();
  assert.deepEqual(entries.map((entry) => entry.id), ['good_echo', 'late_echo']);
  assert.deepEqual(failures.map(({ server, failure }) => [server, failure.code]), [['dead', 'SERVER_EXITED'], ['list', 'REMOTE_ERROR']]);
  const byName = Object.fromEntries(house.status().map((status) => [status.name, status]));
  assert.equal(byName['dead']?.failureKind, 'process_start_failed');
  assert.equal(byName['list']?.failureKind, 'tool_list_failed');
  const dead = failures[0]!.failure;
  assert.equal((dead.details as { exitCode: number }).exitCode, 7);
  assert.equal(dead.origin?.key, 'mcp.dead');
});

test('one bad tool among good ones costs that tool, by name', async (t) => {
  const { host } = home(t, { mcp: { docs: fixture('--tools=echo,add', '--bad-tool') } });
  const { entries, dropped } = await host().listTools();
  assert.deepEqual(entries.map((entry) => entry.tool).filter((tool) => tool !== 'no_schema'), ['echo', 'add']);
  assert.ok(dropped.length >= 2);
  assert.ok(dropped.every((drop) => drop.server === 'docs' && drop.reason !== ''));
});

test('a server that takes longer than a request may is still connected by default (row 55)', { timeout: 30_000 }, async (t) => {
  const { host } = home(t, { mcp: { slow: fixture(`--initialize-ms=${limits.requestMs + 700}`) } });
  const house = host();
  const opened = await house.open('slow');
  assert.equal(opened.client.era, 'legacy');
  assert.ok(opened.timings.some(({ stage, ms }) => stage === 'handshake' && ms > limits.requestMs));
});

test('a list that never comes is told as a timeout while listing (row 56)', async (t) => {
  const { host } = home(t, { mcp: { stuck: { type: 'local', command: [process.execPath, '-e', `
    let buffer = ''; process.stdin.on('data', (d) => { buffer += d; for (let i; (i = buffer.indexOf('\\n')) >= 0; buffer = buffer.slice(i + 1)) {
      const m = JSON.parse(buffer.slice(0, i));
      if (m.method === 'initialize') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } }) + '\\n');
      else if (m.method === 'server/discover') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no' } }) + '\\n');
    } });`], timeout: 300 } } });
  const house = host();
  const controller = new AbortController();
  const listing = house.listTools(['stuck'], controller.signal);
  await waitFor(() => house.status()[0]?.state === 'connected', 'the connection');
  controller.abort();
  assert.equal((await listing).failures[0]?.failure.code, 'CANCELED');
  // The budget of connecting and listing is one; what is left of it bounds the list.
  const { failureKind } = await import('../../src/host/failure-kinds.ts');
  const { Failure } = await import('../../src/base/failure.ts');
  const timeout = new Failure('TIMEOUT', 'x', { stage: 'list', details: { afterMs: 1, method: 'tools/list' } }) as AnyFailure;
  assert.equal(failureKind(timeout, true), 'connection_timeout');
});

test('a tool that is added while connected is there at the next look, not in the one that runs (row 78)', async (t) => {
  const { host } = home(t, { ...allowAll, mcp: { docs: fixture('--tools=echo,add_tool') } });
  const house = host();
  const before = await house.listTools();
  assert.equal(textOf(await call(house, 'docs_add_tool', { name: 'fresh' })).length > 0, true);
  // The notification comes right behind the answer; each look asks again only after it.
  let after = before;
  for (const until = performance.now() + 5000; after.entries.length === before.entries.length && performance.now() < until;) after = await house.listTools();
  assert.deepEqual(before.entries.map((entry) => entry.tool), ['echo', 'add_tool'], 'the list at hand did not move');
  assert.ok(after.entries.some((entry) => entry.tool === 'fresh'));
  assert.equal((await call(house, 'docs_fresh')).kind, 'ok');
});

test('a modern server is asked to tell of changes, and what it adds is found (row 79 on stdio)', async (t) => {
  const { host } = home(t, { ...allowAll, mcp: { docs: fixture('--era=modern', '--tools=echo,add_tool') } });
  const house = host();
  const before = await house.listTools();
  assert.equal(house.status()[0]?.era, 'modern');
  await call(house, 'docs_add_tool', { name: 'fresh' });
  let after = before;
  for (const until = performance.now() + 5000; after.entries.length === before.entries.length && performance.now() < until;) after = await house.listTools();
  assert.ok(after.entries.some((entry) => entry.tool === 'fresh'));
});

test('a server that died is started again by the next call (rows 81, 82)', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { ...allowAll, mcp: { docs: fixture(`--pids=${files.pidsFile}`) } });
  const house = host();
  const crashed = await call(house, 'docs_crash', { code: 9 });
  assert.equal(crashed.kind, 'unknown', 'whether a call that died under way took effect is not known');
  const status = await waitFor(() => { const [one] = house.status(); return one?.state === 'disconnected' ? one : undefined; }, 'the end of the server');
  assert.equal(status.failureKind, 'unexpected_disconnect');
  assert.equal((status.failure?.details as { exitCode: number }).exitCode, 9);
  assert.match((status.failure?.details as { stderrTail: string }).stderrTail, /\S/);
  assert.equal(textOf(await call(house, 'docs_add', { a: 1, b: 1 })), '2');
  assert.equal(files.pids().length, 2);
});

test('callers of one server share one start; callers of many are bounded by concurrency (rows 93, 94)', async (t) => {
  const one = processFiles(t);
  const names = Array.from({ length: 6 }, (_, i) => `s${i}`);
  const logs = processFiles(t);
  const { host } = home(t, { concurrency: { mcp_connections: 2 }, mcp: { shared: fixture(`--pids=${one.pidsFile}`), ...Object.fromEntries(names.map((name) => [name, fixture('--initialize-ms=60', `--pids=${logs.pidsFile}`)])) } });
  const house = host();
  const opened = await Promise.all([house.open('shared'), house.open('shared'), house.open('shared')]);
  assert.equal(new Set(opened).size, 1);
  assert.equal(one.pids().length, 1);
  let most = 0;
  const watching = setInterval(() => { most = Math.max(most, house.status().filter((status) => status.state === 'connecting').length); }, 2);
  t.after(() => clearInterval(watching));
  await Promise.all(names.map((name) => house.open(name)));
  clearInterval(watching);
  assert.ok(most <= 2 && most >= 1, `${most} at once`);
});

test('a caller who gives up stops waiting; the start goes on for the others', async (t) => {
  const { host } = home(t, { mcp: { slow: fixture('--initialize-ms=250') } });
  const house = host();
  const impatient = new AbortController();
  const given = house.open('slow', impatient.signal);
  const patient = house.open('slow');
  impatient.abort();
  assert.equal((await failureOf(given)).code, 'CANCELED');
  assert.equal((await patient).client.revision, '2025-11-25');
});

test('close() while a server is starting waits for its end and leaves nothing', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { mcp: { slow: fixture('--initialize-ms=60000', `--pids=${files.pidsFile}`) } });
  const house = host();
  const opening = failureOf(house.open('slow'));
  await waitFor(() => files.pids().length === 1, 'the start');
  await house.close();
  assert.equal((await opening).code, 'CANCELED');
  await waitUntilGone(files.pids());
  assert.deepEqual(await house.close(), { forced: [] }, 'idempotent');
});

test('the era of a server is remembered per identity, so that a silent one costs its probe once', async (t) => {
  const place = home(t, { mcp: { old: { ...fixture('--silent-on-probe'), timeout: 1000 } } });
  const first = place.host();
  const cold = await first.open('old');
  await first.close();
  assert.ok(cold.timings.some(({ stage }) => stage === 'probe'));
  const file = path.join(place.directory, 'state', 'zuno', 'eras.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const warm = await place.host().open('old');
  assert.ok(!warm.timings.some(({ stage }) => stage === 'probe'), 'asked at once with initialize');
  // Another command line is another server.
  place.write({ mcp: { old: fixture('--era=modern') } });
  assert.equal((await place.host().open('old')).client.era, 'modern');
  writeFileSync(file, 'not json');
  assert.equal((await place.host().open('old')).client.era, 'modern');
});

test('a remembered legacy verdict of a server that was updated is corrected without a failure', async (t) => {
  const place = home(t, { mcp: { docs: fixture('--era=both') } });
  const file = path.join(place.directory, 'state', 'zuno', 'eras.json');
  const first = place.host();
  await first.open('docs');
  await first.close();
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"modern"', '"legacy"'));
  assert.equal((await place.host().open('docs')).client.era, 'legacy', 'a server of both eras still answers initialize');
  const strict = home(t, { mcp: { docs: fixture('--era=modern') } });
  const again = strict.host();
  await again.open('docs');
  await again.close();
  const stale = path.join(strict.directory, 'state', 'zuno', 'eras.json');
  writeFileSync(stale, readFileSync(stale, 'utf8').replaceAll('"modern"', '"legacy"'));
  assert.equal((await strict.host().open('docs')).client.era, 'modern');
});

test('a wire id once given stays with its tool over restarts (row 116)', async (t) => {
  const place = home(t, { mcp: { docs: fixture('--tools=x.y') } });
  const first = place.host();
  assert.deepEqual((await first.listTools()).entries.map((entry) => entry.id), ['docs_x_y']);
  await first.close();
  place.write({ mcp: { docs: fixture('--tools=x/y') } });
  const second = place.host();
  const [entry] = (await second.listTools()).entries;
  assert.notEqual(entry?.id, 'docs_x_y', 'a tool that would inherit the name gets another');
  assert.equal(entry?.tool, 'x/y');
});

test('templates are expanded at connect time, and their values appear in no log and no failure (rows 36, 37)', async (t) => {
  const secret = 'correct-horse-battery';
  const place = home(t, { ...allowAll, mcp: { docs: { ...fixture('--stderr-secrets'), environment: { TOKEN: '{env:DOCS_TOKEN}' } }, unset: { ...fixture(), environment: { TOKEN: '{env:NOT_SET_ANYWHERE}' } } } }, { DOCS_TOKEN: secret });
  const house = place.host();
  assert.match(textOf(await call(house, 'docs_environment')), new RegExp(secret));
  const outcome = await call(house, 'docs_stderr', { bytes: 0, text: `oops ${secret} password=hunter2` });
  assert.ok(outcome.kind === 'ok' || outcome.kind === 'blocked');
  const failure = await failureOf(house.open('unset'));
  assert.equal(failure.code, 'VARIABLE_UNSET');
  assert.match(failure.message, /NOT_SET_ANYWHERE/);
  assert.doesNotMatch(JSON.stringify(place.logged), new RegExp(secret));
});

test('what a server echoes of the secrets it was given is masked in failures, logs and status, not in results', async (t) => {
  const secret = 'sesame-open-4711-please';
  const place = home(t, { ...allowAll, mcp: { docs: { ...fixture(), environment: { TOKEN: '{env:DOCS_TOKEN}', OTHER_API_KEY: 'a-literal-secret-of-32-characters', PLAIN: 'a-plain-value-of-26-letters' } } } }, { DOCS_TOKEN: secret });
  const house = place.host();
  const refused = await call(house, 'docs_error', { code: -32000, message: `bad token ${secret} or a-literal-secret-of-32-characters` });
  assert.equal(refused.kind, 'failed');
  assert.equal(refused.kind === 'failed' && refused.failure.code, 'REMOTE_ERROR');
  assert.doesNotMatch(JSON.stringify(refused.kind === 'failed' && [refused.failure.message, refused.failure.details]), /sesame|a-literal-secret/);
  const plain = await call(house, 'docs_error', { code: -32000, message: 'not a-plain-value-of-26-letters' });
  assert.match(plain.kind === 'failed' ? plain.failure.message : '', /a-plain-value-of-26-letters/, 'what is no secret stays readable');
  assert.equal(textOf(await call(house, 'docs_echo', { text: secret })).includes(secret), true, 'a result is data and stays as it is');
  const crashed = await call(house, 'docs_crash', { code: 3 });
  assert.equal(crashed.kind, 'unknown');
  assert.equal(crashed.kind === 'unknown' && (crashed.failure.details as { exitCode?: number }).exitCode, 3);
  assert.doesNotMatch(JSON.stringify(place.logged), /sesame|a-literal-secret/);
});

test('words that begin with a server the configuration lost tell its fault', async (t) => {
  const { host } = home(t, { mcp: { broken: { type: 'local' } } });
  const failure = await failureOf(host().findTool('broken.go'));
  assert.equal(failure.code, 'CONFIG_INVALID');
  assert.match(failure.message, /command/);
});

test('the policy stands before every call: ask with nobody, deny, arguments (rows 125, 129)', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { permission: { rules: { docs_fail: 'deny' } }, mcp: { docs: fixture(`--log=${files.markFile}`) } });
  const house = host();
  const asked = await call(house, 'docs_echo', { text: 'x' });
  assert.equal(asked.kind, 'blocked');
  assert.equal(asked.kind === 'blocked' && asked.failure.code, 'PERMISSION_DENIED');
  const denied = await call(house, 'docs_fail');
  assert.equal(denied.kind === 'blocked' && (denied.failure.details as { why: string }).why, 'rule');
  const wrong = await call(house, 'docs_add', { a: 'two' });
  assert.equal(wrong.kind === 'blocked' && wrong.failure.code, 'ARGUMENTS_INVALID');
  assert.equal(house.decide(await house.findTool('docs_echo')).effect, 'ask');
  assert.ok(!files.marks().some((line) => line.includes('tools/call')), 'the server heard of none of them');
});

test('decide() needs an entry of this host', (t) => {
  const { host } = home(t, { mcp: {} });
  assert.throws(() => host().decide({} as never), TypeError);
});

test('a person is asked with the arguments, and answers what a server asks', async (t) => {
  const { host } = home(t, { mcp: { docs: fixture('--era=legacy') } });
  const questions: string[] = [];
  const house = host({
    person: {
      approve: async ({ entry, args }) => { questions.push(`${entry.id} ${JSON.stringify(args)}`); return 'once'; },
      answer: async (server, elicitation) => { questions.push(`${server} asks: ${elicitation.mode}`); return { action: 'decline' }; },
    },
    roots: () => [{ uri: 'file:///srv' }],
  });
  assert.match(textOf(await call(house, 'docs_ask', { what: 'elicitation' })), /decline/);
  assert.match(textOf(await call(house, 'docs_ask', { what: 'roots' })), /file:\/\/\/srv/);
  assert.deepEqual(questions, ['docs_ask {"what":"elicitation"}', 'docs asks: form', 'docs_ask {"what":"roots"}']);
});

test('killSync() ends what was started when nothing can be awaited', async (t) => {
  const files = processFiles(t);
  const { host } = home(t, { mcp: { docs: fixture(`--pids=${files.pidsFile}`) } });
  const house = host();
  await house.open('docs');
  house.killSync();
  await waitUntilGone(files.pids());
});
