import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { isAlive } from '../support/process.ts';
import { fixture, sandbox } from './support.ts';

test('mcp debug of a local server shows command, pid, stderr, version, capabilities, counts and timings (row 160)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: { ...fixture('--resources', '--prompts', '--stderr-secrets', '--tools=echo,add'), enabled: false } } });
  const { status, stdout } = await run(['mcp', 'debug', 'fs']);
  assert.equal(status, 0);
  for (const row of [/^fs {2}connected$/m, /command +.*everything\.mjs/, /cwd +~\/work$/m, /origin +.*zuno\.json:3:5 \(global\)/, /disabled; this probe starts it/, /pid +\d+$/m, /protocol +2025-11-25 \(legacy\)$/m,
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

test('mcp debug of a server that hangs shows what it is at, its process and its stderr, live and when the time is up', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--initialize-ms=60000', '--stderr-secrets') } });
  const { status, stdout, stderr } = await run(['mcp', 'debug', 'fs', '--timeout', '1500'], { terminal: { columns: 200 } });
  assert.equal(status, 4);
  const live = stripControls(stderr);
  assert.match(live, /^fs {2}handshake, for \d\.\d s/m);
  assert.match(live, /pid +\d+$/m);
  assert.match(live, /stderr +Authorization: \*\*\*/);
  const shown = stripControls(stdout);
  assert.match(shown, /pid +\d+$/m);
  assert.match(shown, /unfinished +handshake, for 1\.\d s$/m);
  assert.match(shown, /stderr +Authorization: \*\*\*/);
  assert.match(live, /error: Cannot finish within 1500 ms/);
  const document = await run(['mcp', 'debug', 'fs', '--timeout', '900', '--json']);
  const { ok, error, process: child, unfinished } = document.json();
  assert.deepEqual([document.status, ok, error.code, unfinished.stage, typeof child.pid], [4, false, 'TIMEOUT', 'handshake', 'number']);
  assert.match(child.stderrTail, /Authorization: \*\*\*/);
  assert.doesNotMatch(document.stdout, /hunter2|s3cr3t/);
});

test('mcp debug ended by Ctrl-C shows what is known by then, as text and as one document', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: { ...fixture('--list-ms=60000', '--tools=echo'), timeout: 30_000 } } });
  const interrupted = async (...more: string[]) => {
    const running = run(['mcp', 'debug', 'fs', ...more]);
    setTimeout(() => process.emit('SIGINT'), 900);
    return running;
  };
  const { status, stdout, stderr } = await interrupted();
  assert.equal(status, 130, stderr);
  assert.match(stdout, /pid +\d+$/m);
  assert.match(stdout, /protocol +2025-11-25/);
  assert.match(stdout, /unfinished +list of tools, for /);
  assert.match(stderr, /error: Cannot finish probing "fs": it was canceled/);
  const document = await interrupted('--json');
  assert.deepEqual([document.status, document.json().ok, document.json().error.code, document.json().unfinished.stage], [130, false, 'CANCELED', 'list of tools']);
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
