import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { processFiles, waitFor, waitUntilGone } from '../support/process.ts';
import { allowAll, fixture, sandbox } from './support.ts';

const windows = process.platform === 'win32';

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const out = { stdout: '', stderr: '' };
  child.stdout!.setEncoding('utf8').on('data', (text: string) => { out.stdout += text; });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => { out.stderr += text; });
  return out;
}

for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) {
  test(`${signal} in the middle of a call: canceled, cleaned up, exit ${status}`, { skip: windows }, async (t) => {
    const { start, config, file } = sandbox(t);
    const { pidsFile, pids } = processFiles(t);
    const log = file('log', '');
    config({ mcp: { fs: { ...fixture(`--pids=${pidsFile}`, `--log=${log}`, '--helpers=plain', '--tools=hang'), timeout: 30_000 } }, ...allowAll });
    const child = start(['call', 'fs_hang', '--json']);
    const out = collect(child);
    const { readFileSync } = await import('node:fs');
    await waitFor(() => readFileSync(log, 'utf8').includes('tools/call'), 'the call', 8000);
    child.kill(signal);
    const [code] = await once(child, 'close') as [number | null];
    assert.equal(code, status, out.stderr);
    await waitUntilGone(pids());
    assert.equal(pids().length, 2);
    assert.equal(out.stdout.trim().split('\n').length, 1);
    assert.deepEqual([JSON.parse(out.stdout).ok, JSON.parse(out.stdout).error.code], [false, 'CANCELED']);
    assert.match(readFileSync(log, 'utf8'), /notifications\/cancelled/);
  });
}

test('Ctrl-C while a server starts leaves nothing running', { skip: windows }, async (t) => {
  const { start, config } = sandbox(t);
  const { pidsFile, pids } = processFiles(t);
  config({ mcp: { fs: fixture(`--pids=${pidsFile}`, '--initialize-ms=60000') }, ...allowAll });
  const child = start(['tools']);
  const out = collect(child);
  await waitFor(() => pids().length > 0, 'the server', 8000);
  child.kill('SIGINT');
  const [code] = await once(child, 'close') as [number | null];
  assert.equal(code, 130, out.stderr);
  await waitUntilGone(pids());
});

test('a reader that goes away (| head) ends the command quietly and cleanly', { skip: windows }, async (t) => {
  const { start, config } = sandbox(t);
  const { pidsFile, pids } = processFiles(t);
  config({ mcp: { fs: fixture(`--pids=${pidsFile}`, '--tools=big') }, ...allowAll });
  const child = start(['call', 'fs_big', 'bytes=5000000']);
  child.stdout!.once('data', () => child.stdout!.destroy());
  let stderr = '';
  child.stderr!.on('data', (text) => { stderr += String(text); });
  const [code] = await once(child, 'exit') as [number | null];
  assert.deepEqual([code, stderr], [0, '']);
  await waitUntilGone(pids());
});

test('the result is printed before the server is ended', async (t) => {
  const { start, config } = sandbox(t);
  const { pidsFile, pids } = processFiles(t);
  config({ mcp: { fs: fixture(`--pids=${pidsFile}`, '--tools=add', '--ignores-eof', '--ignores-signals') }, ...allowAll });
  const child = start(['call', 'fs_add', 'a=1', 'b=2']);
  const exited = once(child, 'exit');
  let printedAt = 0;
  child.stdout!.once('data', () => { printedAt = performance.now(); });
  await exited;
  assert.ok(performance.now() - printedAt > 300, 'a stubborn server takes longer than printing');
  await waitUntilGone(pids());
});

test('piped output holds no escape code and nothing but the result', async (t) => {
  const { start, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=progress') }, ...allowAll });
  const child = start(['call', 'fs_progress', 'steps=3', 'ms=150']);
  const out = collect(child);
  const [code] = await once(child, 'close') as [number | null];
  assert.deepEqual([code, out.stdout, out.stderr], [0, 'done\n', '']);
});

for (const [args, called] of [[['call', 'fs_add', 'a=1', 'b=2'], true], [['call', 'fs_add', 'a=1', 'b=2', '--json'], true], [['tools'], false]] as const) {
  test(`a full disk is no reader that went away: ${args.join(' ')}`, { skip: process.platform !== 'linux' }, async (t) => {
    const { env, workspace, config } = sandbox(t);
    config({ mcp: { fs: fixture('--tools=add') }, ...allowAll });
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), fileURLToPath(new URL('./entry.ts', import.meta.url)), ...args], { cwd: workspace, env, stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    let stderr = '';
    child.stderr!.on('data', (text) => { stderr += String(text); });
    const [code] = await once(child, 'close') as [number | null];
    assert.equal(code, 4, stderr);
    assert.match(stderr, /^Cannot write the result: no space is left \(ENOSPC\)$/m);
    assert.equal(/^The tool call was made/m.test(stderr), called, stderr);
  });
}
