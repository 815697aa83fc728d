import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../support/process.ts';
import { guarded } from './support.ts';
import type { ChildProcess } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { Guarded } from './support.ts';

const ROUNDS = Number(process.env['RACE_ROUNDS'] ?? 10);

async function children(t: TestContext, { server, store }: Guarded, count: number): Promise<{ readonly all: ChildProcess[]; ask(which?: ChildProcess[]): Promise<string[]> }> {
  const all = Array.from({ length: count }, () => fork(fileURLToPath(new URL('race-child.ts', import.meta.url)), [server.url, store], { execArgv: ['--import', 'tsx'], stdio: 'inherit' }));
  t.after(() => { for (const child of all) child.kill('SIGKILL'); });
  await Promise.all(all.map((child) => once(child, 'message')));
  return {
    all,
    ask: (which = all) => Promise.all(which.map(async (child) => { const answer = once(child, 'message'); child.send('go'); return String((await answer)[0]); })),
  };
}

test(`eight processes, expired token, rotating refresh tokens: one refresh, all succeed, ${ROUNDS} rounds (row 186)`, { timeout: 60_000 }, async (t) => {
  const one = await guarded(t, { refreshDelayMs: 20 });
  await one.oauth.login();
  const { ask } = await children(t, one, 8);
  for (let round = 1; round <= ROUNDS; round += 1) {
    one.server.expireAll();
    assert.deepEqual(await ask(), Array.from({ length: 8 }, () => '200'));
    assert.equal(one.server.stats.refreshes, round);
    assert.equal(one.server.stats.reuse, 0);
  }
  assert.equal(one.server.stats.authorizes, 1);
});

test('a process that is killed inside the lock holds nobody up', { timeout: 60_000 }, async (t) => {
  const one = await guarded(t);
  await one.oauth.login();
  const { all, ask } = await children(t, one, 4);
  const [victim, ...others] = all as [ChildProcess, ...ChildProcess[]];
  one.server.expireAll();
  one.server.behaviour['refreshDelayMs'] = 60_000;
  victim.send('go');
  await waitFor(() => one.server.seen('/token').length === 2, 'the refresh of the victim');
  const locks = path.join(one.store, 'locks');
  assert.ok(readdirSync(locks).some((name) => name.endsWith('.refresh.lock')));
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  one.server.behaviour['refreshDelayMs'] = 0;
  // The server never came to use the victim's refresh token, so it is still good.
  assert.deepEqual(await ask(others), ['200', '200', '200']);
  assert.equal(one.server.stats.refreshes, 1);
  assert.ok(existsSync(locks));
});
