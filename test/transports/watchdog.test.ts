import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { describe, it, test, type TestContext } from 'node:test';
import { createWatchdog, WATCHDOG_SCRIPT, type StartWatchdog } from '../../src/transports/watchdog.ts';
import { isAlive } from '../support/process.ts';

const linux = process.platform === 'linux';
const startOf = (pid: number): string => (linux ? readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')[19]! : '-');

function sleeper(t: TestContext, environment: Record<string, string>, script = 'exec sleep 60'): number {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore', env: environment as NodeJS.ProcessEnv });
  t.after(() => { try { process.kill(-child.pid!, 'SIGKILL'); } catch { /* ended */ } });
  child.unref();
  return child.pid!;
}

async function runScript(script: string, id: string, lines: readonly string[]): Promise<number> {
  const shell: ChildProcess = spawn('/bin/sh', ['-c', script, 'watchdog', id], { stdio: ['pipe', 'ignore', 'ignore'] });
  const startedAt = performance.now();
  shell.stdin!.end(lines.map((line) => `${line}\n`).join(''));
  assert.deepEqual(await once(shell, 'exit'), [0, null]);
  return performance.now() - startedAt;
}

describe('the watchdog script', { skip: process.platform === 'win32', concurrency: true }, () => {
  for (const proc of linux ? [true, false] : [false]) {
    it(`ends the groups that are left, stubborn ones too, and no one else (${proc ? 'with' : 'without'} /proc)`, async (t) => {
      const script = proc ? WATCHDOG_SCRIPT : WATCHDOG_SCRIPT.replaceAll('/proc/', '/no/such/proc/');
      // The two cases run at once and must not see each other's processes.
      const id = proc ? 'abc123' : 'abc223';
      const wiped = sleeper(t, {}), stubborn = sleeper(t, { ZUNO_TREE: `${id}.1.` }, 'trap "" TERM; sleep 30; sleep 30');
      const escaped = sleeper(t, { ZUNO_TREE: `outer.4.,${id}.1.` });
      const done = sleeper(t, {}), recycled = sleeper(t, { ZUNO_TREE: 'abc124.1.' });
      const took = await runScript(script, id, [
        `+ ${wiped} ${startOf(wiped)}`, `+ ${stubborn} ${startOf(stubborn)}`, `+ ${done} ${startOf(done)}`, `- ${done}`,
        // With a start time to compare, a later owner of the pid is told apart.
        ...(proc ? [`+ ${recycled} 5`] : []),
      ]);
      t.diagnostic(`${Math.round(took)} ms`);
      assert.deepEqual([wiped, stubborn].filter(isAlive), []);
      assert.equal(isAlive(escaped), !proc);
      assert.deepEqual([done, recycled].filter(isAlive), [done, recycled]);
    });
  }

  it('ends at once when nothing is left', async () => {
    assert.ok(await runScript(WATCHDOG_SCRIPT, 'abc323', ['+ 999999 5', '- 999999']) < 200);
  });
});

test('createWatchdog() starts one shell with the first group, tells it the rest, and starts another when it is gone', () => {
  const started: { lines: string; ended: boolean; exit(): void }[] = [];
  const start: StartWatchdog = (file, args) => {
    assert.equal(file, '/bin/sh');
    assert.equal(args.at(-1), 'host');
    let listener = (): void => {};
    const record = { lines: '', ended: false, exit: () => listener() };
    started.push(record);
    const input = new Writable({ write(chunk, _encoding, done) { record.lines += String(chunk); done(); }, final(done) { record.ended = true; done(); } });
    return { pid: started.length, input, onExit: (added) => { listener = added; } };
  };
  const watchdog = createWatchdog('host', start);
  assert.equal(watchdog.pid, undefined);
  watchdog.remove(1);
  watchdog.add(10, '100');
  watchdog.add(11, undefined);
  watchdog.remove(10);
  assert.equal(started[0]!.lines, '+ 10 100\n+ 11 -\n- 10\n');
  started[0]!.exit();
  assert.equal(watchdog.pid, undefined);
  watchdog.add(12, '5');
  assert.equal(started[1]!.lines, '+ 11 -\n+ 12 5\n');
  watchdog.stop();
  assert.equal(started[1]!.ended, true);
});

test('createWatchdog() does without a shell that cannot be started', () => {
  const watchdog = createWatchdog('host', () => undefined);
  watchdog.add(10, '100');
  watchdog.remove(10);
  watchdog.stop();
  assert.equal(watchdog.pid, undefined);
});
