import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../support/process.ts';
import { sandbox } from './support.ts';

test('demo walks through all of it, needs no configuration and leaves nothing', async (t) => {
  const { run, config, directory } = sandbox(t);
  config('this is no configuration');
  const { status, stdout, stderr } = await run(['demo']);
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  for (const part of [/^1\. A server is a program/m, /pid \d+, protocol 2026-07-28 \(modern\)/, /demo_add\(a: number, b: number\) +allow/, /\$ zuno-lite call demo_add a=2 b=3\n {3}\{"sum":5\}/, /would ask: may "demo_note" be called\?/,
    /the demo answers "once" by itself\n {3}Kept note 1: hello/, /error: Cannot call "demo_erase"/, /\(5 progress notices/, /\[image image\/png, \d+ B\]/, /pid \d+ is gone/]) assert.match(stdout, part);
  assert.equal(isAlive(Number(/pid (\d+) is gone/.exec(stdout)![1])), false);
  assert.equal(existsSync(path.join(directory, 'state')), false);
});

test('demo --json tells the steps as one document', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr, json } = await run(['demo', '--json']);
  assert.deepEqual([status, stderr], [0, '']);
  assert.equal(stdout.trim().split('\n').length, 1);
  const { ok, steps } = json();
  assert.equal(ok, true);
  assert.deepEqual(steps.map((one: any) => [one.step, one.outcome]), [['start', undefined], ['tools', undefined], ['add', 'ok'], ['note', 'ok'], ['erase', 'blocked'], ['count', 'ok'], ['picture', 'ok'], ['clean-up', undefined]]);
  assert.equal(steps[4].error.code, 'PERMISSION_DENIED');
  assert.equal(steps[5].progressNotices, 5);
  assert.equal(steps[7].gone, true);
});

test('demo on a terminal asks the person, who may say no', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr } = await run(['demo'], { terminal: { columns: 100, answers: [['[n]o: ', 'n']] } });
  assert.equal(status, 0);
  assert.match(stderr, /May this call be made\?/);
  assert.match(stdout, /the person who was asked said no/);
  assert.match(stderr, /demo_count · \d\/5 · \[#+-*\] · step \d/);
});
