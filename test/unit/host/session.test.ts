import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { emptyConfig } from '../../../src/config/defaults.ts';
import type { Config } from '../../../src/config/types.ts';
import { createSession } from '../../../src/host/session.ts';
import type { SessionContext } from '../../../src/host/session-context.ts';
import type { HostEvent, Lease } from '../../../src/host/types.ts';
import { buildCatalogue } from '../../../src/registry/catalog.ts';
import { refusal } from '../../support/http-fixture.ts';
import { tempDir } from '../../support/process.ts';

/** A context whose one server `docs` lives in the test. */
function pretend(t: TestContext, { invoke = () => Promise.resolve('done'), settle = () => Promise.resolve() }: { invoke?: (tool: string, signal: AbortSignal | undefined) => Promise<string>; settle?: (signal?: AbortSignal) => Promise<void> } = {}) {
  const listeners = new Set<(event: HostEvent) => void>(), origin = { file: 'test', layer: 'built-in' };
  const config: Config = { ...emptyConfig, workspace: tempDir(t), permissions: { mode: 'allow_all', rules: [] } };
  const { entries } = buildCatalogue([{ server: 'docs', origin, listing: { items: ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' } })), dropped: [] } }]);
  const servers = new Map([['docs', { server: 'docs', origin, from: 'live', resources: false, prompts: false, tools: { items: [], dropped: [], ttlMs: 0, cacheScope: 'private' } }]]) as never;
  let releases = 0;
  const lease = {
    config,
    connections: { on(listener: (event: HostEvent) => void) { listeners.add(listener); return () => { listeners.delete(listener); }; }, status: () => [] },
    catalogue: { view: () => Promise.resolve({ revision: 1, entries, servers, dropped: [], renamed: [], failures: [] }), settle },
    release: () => { releases += 1; return Promise.resolve({ forced: [] }); },
  } as unknown as Lease;
  const context = {
    config, log: () => {}, paths: { data: tempDir(t), config: '/c' }, rules: [], assumeYes: false, locked: false, ruleFile: '/c', lease: () => lease,
    gateOptions: () => ({ permissions: config.permissions, async invoke(permit: never, take: (permit: never) => { entry: { tool: string }; options: { signal?: AbortSignal } }) { const { entry, options } = take(permit); return { content: [{ type: 'text', text: await invoke(entry.tool, options.signal) }], isError: false }; } }),
  } as unknown as SessionContext;
  return { context, listeners, released: () => releases };
}

test('createSession() leaves no listener behind: not of calls, not of children, not of itself', async (t) => {
  const warnings: Error[] = [], hear = (warning: Error): void => { warnings.push(warning); };
  process.on('warning', hear);
  t.after(() => process.off('warning', hear));
  const { context, listeners, released } = pretend(t), session = await createSession(context), { signal } = new AbortController();
  session.on(() => {});
  const step = await session.step({ signal });
  const results = await step.callAll(Array.from({ length: 40 }, (_, n) => ({ id: n % 2 === 0 ? 'docs_read' : 'docs_write', args: {} })), { signal });
  assert.ok(results.every(({ text }) => text === 'done'));
  const before = listeners.size;
  for (let n = 0; n < 20; n++) {
    const child = await session.delegate({ step });
    child.on(() => {});
    assert.equal((await (await child.step()).call('docs_read', {}, { signal })).outcome, 'ok');
    await child.close();
  }
  assert.equal(listeners.size, before);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.equal(released(), 0);
  await Promise.all([session.close(), session.close()]);
  assert.equal(listeners.size, 0);
  assert.equal(released(), 1);
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepEqual(warnings, []);
});

test('createSession() gives the lease back when it fails', async (t) => {
  const { context, released } = pretend(t);
  await refusal(createSession(context, { journal: `${context.config.workspace}` }), 'CONFIG_UNREADABLE');
  assert.equal(released(), 1);
  await refusal(createSession(context, { agent: 'nobody' }), 'USAGE');
  assert.equal(released(), 1, 'nothing was leased');
});

test('step() hands on what settling fails with, and waits again the next time', async (t) => {
  let tries = 0;
  const { context } = pretend(t, { settle: () => { tries += 1; return tries === 1 ? Promise.reject(new Failure('INTERNAL', 'Cannot settle', { stage: 'list', details: {} })) : Promise.resolve(); } });
  const session = await createSession(context);
  await refusal(session.step(), 'INTERNAL');
  assert.equal((await session.step()).number, 1);
  await session.step();
  assert.equal(tries, 2);
  await session.close();
});

test('steps that are asked for at once come one after the other, and the last one counts', async (t) => {
  const { context } = pretend(t), session = await createSession(context);
  const [one, two] = await Promise.all([session.step(), session.step()]);
  assert.deepEqual([one!.number, two!.number], [1, 2]);
  assert.equal((await one!.call('docs_read', {})).outcome, 'blocked');
  assert.equal((await two!.call('docs_read', {})).outcome, 'ok');
  await session.close();
  assert.equal((await two!.call('docs_read', {})).outcome, 'blocked');
});

test('close() ends what runs and rejects nothing', async (t) => {
  const { context } = pretend(t, { invoke: (_tool, signal) => new Promise((_resolve, reject) => { signal?.addEventListener('abort', () => reject(new Failure('CANCELED', 'Cannot call', { stage: 'call', details: {} }))); }) });
  const session = await createSession(context), step = await session.step(), child = await session.delegate({ step }), inner = await child.step();
  const running = [step.call('docs_read', {}), inner.call('docs_read', {})];
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepEqual(await session.close(), { forced: [] });
  for (const result of await Promise.all(running)) assert.notEqual(result.outcome, 'ok');
});
