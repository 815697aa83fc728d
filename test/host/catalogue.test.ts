import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { HostEvent } from '../../src/host/types.ts';
import { fixture, home, type Home } from '../support/hosts.ts';
import { processFiles, waitFor, waitUntilGone } from '../support/process.ts';
import { listed, tools } from '../support/sessions.ts';
import { fakeTimers } from '../support/timers.ts';

const cacheFiles = ({ directory }: Home): string[] => {
  const folder = path.join(directory, '.cache', 'zuno', 'catalogues');
  return existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
};
const ids = (view: { readonly entries: readonly { readonly id: string }[] }): string[] => view.entries.map(({ id }) => id);

/** A first run that knows the servers, and is over. */
async function firstRun(house: Home): Promise<void> {
  const host = house.host();
  await host.lease().catalogue.settle();
  await host.close();
}

test('view() is frozen; a change that a server tells is in a later one with a higher revision, read once for several notices (row 78)', async (t) => {
  const server = listed(t, { tools: tools('one', 'reload') });
  const timers = fakeTimers();
  const lease = home(t, { mcp: { docs: server.entry } }).host({ timers }).lease();
  const heard: HostEvent[] = [];
  lease.connections.on((event) => heard.push(event));
  await lease.catalogue.settle();
  const before = await lease.catalogue.view();
  assert.deepEqual(ids(before), ['docs_one', 'docs_reload']);
  server.write({ tools: tools('one', 'two', 'reload') });
  const { client } = await lease.connections.open('docs');
  await client.callTool('reload', {});
  await client.callTool('reload', {});
  assert.deepEqual(ids(await lease.catalogue.view()), ['docs_one', 'docs_reload'], 'not yet');
  assert.equal(timers.waits().filter((ms) => ms === 50).length, 1, 'one reading is due');
  const asked = server.received().filter(({ method }) => method === 'tools/list').length;
  timers.fire();
  await waitFor(() => heard.at(-1)?.kind === 'catalogue' && heard.filter(({ kind }) => kind === 'catalogue').length === 2, 'the news');
  const after = await lease.catalogue.view();
  assert.deepEqual([ids(before), ids(after)], [['docs_one', 'docs_reload'], ['docs_one', 'docs_two', 'docs_reload']]);
  assert.ok(after.revision > before.revision);
  assert.equal(server.received().filter(({ method }) => method === 'tools/list').length, asked + 1);
  assert.ok(heard.some((event) => event.kind === 'list_changed' && event.list === 'tools'));
});

test('a list that cannot be read again stays as it was, with a warning (row 80)', async (t) => {
  const server = listed(t, { tools: tools('one', 'reload') });
  const timers = fakeTimers(), house = home(t, { mcp: { docs: server.entry } });
  const lease = house.host({ timers }).lease();
  await lease.catalogue.settle();
  server.write({ tools: tools('one', 'reload', 'two'), fails: ['tools/list'] });
  await (await lease.connections.open('docs')).client.callTool('reload', {});
  timers.fire();
  await waitFor(() => house.logged.find(({ event }) => event === 'catalogue.stale'), 'the warning');
  assert.deepEqual(ids(await lease.catalogue.view()), ['docs_one', 'docs_reload']);
});

test('a server that failed and comes later is in a later view (row 84), one that is down and unknown is in none (row 120)', async (t) => {
  const server = listed(t, { tools: tools('one'), fails: ['initialize'] });
  const lease = home(t, { mcp: { docs: server.entry } }).host({ timers: fakeTimers() }).lease();
  await lease.catalogue.settle();
  const without = await lease.catalogue.view();
  assert.deepEqual([ids(without), without.failures.length], [[], 1]);
  server.write({ tools: tools('one') });
  await lease.connections.connect('docs');
  await lease.catalogue.listing('docs');
  const withIt = await lease.catalogue.view();
  assert.deepEqual([ids(withIt), withIt.failures], [['docs_one'], []]);
});

test('what was known when the last run ended is offered without starting anything, and two first calls start one process (row 121)', async (t) => {
  const files = processFiles(t);
  const house = home(t, { permission: { mode: 'allow_all' }, mcp: { docs: fixture(`--pids=${files.pidsFile}`, '--tools=echo,add') } });
  await firstRun(house);
  await waitUntilGone(files.pids());
  assert.equal(files.pids().length, 1);
  const session = await house.host().session();
  const step = await session.step();
  assert.ok(step.tools.some(({ id }) => id === 'docs_echo'));
  assert.equal(files.pids().length, 1, 'not started');
  const results = await Promise.all([step.call('docs_echo', { text: 'a' }), step.call('docs_echo', { text: 'b' })]);
  assert.deepEqual(results.map(({ outcome }) => outcome), ['ok', 'ok']);
  assert.equal(files.pids().length, 2, 'started once');
});

test('the cache is private, holds no secret, and knows only the very connection it is of (row 122)', async (t) => {
  const secret = 'a-value-that-nobody-may-see';
  const entry = (more: object = {}): object => ({ ...fixture(), environment: { TOKEN: '{env:DOCS_TOKEN}' }, ...more });
  const house = home(t, { mcp: { docs: entry() } }, { DOCS_TOKEN: secret });
  await firstRun(house);
  const [file] = cacheFiles(house);
  assert.ok(file !== undefined);
  if (process.platform !== 'win32') assert.deepEqual([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777], [0o600, 0o700]);
  assert.equal(readFileSync(file, 'utf8').includes(secret), false);
  const knows = async (one: Home, options = {}): Promise<boolean> => { const host = one.host(options); try { return (await host.lease().catalogue.view()).servers.has('docs'); } finally { await host.close(); } };
  assert.equal(await knows(house), true);
  assert.equal(await knows(house, { environment: { DOCS_TOKEN: 'another value' } }), false, 'the value of a variable');
  assert.equal(await knows(house, { environment: {} }), false, 'a variable that is gone');
  for (const [what, changed] of [['argument', { command: [...(entry() as { command: string[] }).command, '--name=other'] }], ['cwd', { cwd: '..' }], ['environment', { environment: { TOKEN: '{env:DOCS_TOKEN}', MORE: 'x' } }]] as const) {
    house.write({ mcp: { docs: entry(changed) } });
    assert.equal(await knows(house), false, what);
  }
  // How tools are shown is not how they are reached (row 123).
  house.write({ mcp_tool_exposure: { mode: 'deferred' }, mcp: { docs: entry() } });
  assert.equal(await knows(house), true);
});

async function damaged(t: TestContext, text: (before: string) => string): Promise<{ readonly warned: boolean; readonly known: boolean; readonly again: boolean }> {
  const house = home(t, { mcp: { docs: fixture() } });
  await firstRun(house);
  const [file] = cacheFiles(house);
  writeFileSync(file!, text(readFileSync(file!, 'utf8')));
  const host = house.host(), lease = host.lease();
  const known = (await lease.catalogue.view()).servers.has('docs');
  const warned = house.logged.some(({ event, level }) => event === 'catalogue.cache' && level === 'warning');
  await lease.catalogue.settle();
  const again = (await lease.catalogue.view()).servers.get('docs')?.from === 'live';
  return { warned, known, again };
}

test('a cache that is damaged, of a later version or of somebody else is ignored and made anew (row 122)', async (t) => {
  assert.deepEqual(await damaged(t, () => '{"version": 1, "ident'), { warned: true, known: false, again: true });
  assert.deepEqual(await damaged(t, () => '{"version": 1, "identity": 5, "tools": []}'), { warned: true, known: false, again: true });
  assert.deepEqual(await damaged(t, (before) => before.replace('"version":1', '"version":2')), { warned: true, known: false, again: true });
  assert.deepEqual(await damaged(t, (before) => before.replace(/"identity":"[^"]+"/, '"identity":"foreign"')), { warned: false, known: false, again: true });
});

test('a list in which a secret of the server shows is not kept', async (t) => {
  const server = listed(t, { tools: [{ name: 'one', description: 'uses a-value-that-nobody-may-see' }] });
  const house = home(t, { mcp: { docs: { ...server.entry, environment: { TOKEN: '{env:DOCS_TOKEN}' } } } }, { DOCS_TOKEN: 'a-value-that-nobody-may-see' });
  await firstRun(house);
  assert.deepEqual(cacheFiles(house), []);
  assert.ok(house.logged.some(({ message }) => message.includes('something secret')));
});

test('findTool() suggests no tool that a server which was just asked no longer has', async (t) => {
  const server = listed(t, { tools: tools('search', 'other') });
  const house = home(t, { mcp: { docs: server.entry } });
  await firstRun(house);
  server.write({ tools: tools('other') });
  const failure = await house.host().findTool('docs_search').catch((error: unknown) => error as Error);
  assert.equal('message' in failure && /did you mean docs_search/.test(failure.message), false);
});
