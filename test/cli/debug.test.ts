import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAlive } from '../support/process.ts';
import { fixture, sandbox } from './support.ts';

test('mcp debug of a local server shows command, pid, stderr, version, capabilities, counts and timings (row 160)', async (t) => {
  const { run, config, workspace } = sandbox(t);
  config({ mcp: { fs: { ...fixture('--resources', '--prompts', '--stderr-secrets', '--tools=echo,add'), enabled: false } } });
  const { status, stdout } = await run(['mcp', 'debug', 'fs']);
  assert.equal(status, 0);
  for (const row of [/^fs {2}connected$/m, /command +.*everything\.mjs/, new RegExp(`cwd +${workspace}$`, 'm'), /origin +.*zuno\.json:3:5 \(global\)/, /disabled; this probe starts it/, /pid +\d+$/m, /protocol +2025-11-25 \(legacy\)$/m,
    /server +fixture 1\.2\.3$/m, /capabilities +tools, resources, prompts/, /instructions +Be kind$/m, /tools +2 {2}[\d.]+ ms$/m, /resources +2 /, /templates +1 /, /prompts +1 /, /timings +spawn [\d.]+ ms/, /stderr +\S/]) assert.match(stdout, row);
  assert.doesNotMatch(stdout, /hunter2|s3cr3t/);
  const pid = Number(/pid +(\d+)$/m.exec(stdout)![1]);
  assert.equal(isAlive(pid), false);
});

test('mcp debug --json has the same facts', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--era=modern', '--tools=echo') } });
  const document = (await run(['mcp', 'debug', 'fs', '--json'])).json();
  assert.deepEqual([document.ok, document.era, document.protocolVersion, document.lists[0].list, document.lists[0].count], [true, 'modern', '2026-07-28', 'tools', 1]);
  assert.equal(typeof document.process.pid, 'number');
  assert.ok(document.timings.some((one: any) => one.stage === 'spawn'));
  assert.equal(document.server.timeouts.requestMs, 5000);
});

test('mcp debug of a server that does not start shows all that was learned and how it failed', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--exits-at-once=9') } });
  const { status, stdout, stderr } = await run(['mcp', 'debug', 'fs']);
  assert.equal(status, 4);
  assert.match(stdout, /^fs {2}not connected {2}process_start_failed$/m);
  assert.match(stdout, /timings +spawn /);
  assert.match(stderr, /cause {3}exit code 9; its stderr: /);
  const document = await run(['mcp', 'debug', 'fs', '--json']);
  assert.deepEqual([document.status, document.json().ok, document.json().error.code, document.json().failureKind], [4, false, 'SERVER_EXITED', 'process_start_failed']);
});

test('mcp debug tells which list of a connected server is broken', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--list-fails-after=0', '--prompts') } });
  const { status, stdout } = await run(['mcp', 'debug', 'fs']);
  assert.equal(status, 5);
  assert.match(stdout, /^fs {2}connected, with faults/m);
  assert.match(stdout, /tools +.*the list is broken/);
  assert.match(stdout, /prompts +1 /);
});

test('--log-level debug shows the stderr of the server as it comes', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--stderr-secrets', '--tools=echo') } });
  const { stderr } = await run(['mcp', 'debug', 'fs', '--log-level', 'debug']);
  assert.match(stderr, /^debug: /m);
});
