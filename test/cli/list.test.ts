import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { fixture, sandbox } from './support.ts';

test('mcp list shows names, kinds and how the servers are (row 8)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { good: fixture('--tools=echo,add'), off: { ...fixture(), enabled: false }, bad: { type: 'local', command: ['no-such-program-zl'] } } });
  const { status, stdout, stderr } = await run(['mcp', 'list']);
  assert.equal(status, 0);
  assert.match(stdout, /^NAME +STATUS +TRANSPORT +TOOLS +ERA +RUNS \/ REACHES +ORIGIN$/m);
  assert.match(stdout, /^good +connected +stdio +2 +legacy +.*zuno\.json:3:5 \(global\)$/m);
  assert.match(stdout, /^off +disabled +stdio /m);
  assert.match(stdout, /^bad +process_start_failed +stdio /m);
  assert.match(stderr, /^bad: Cannot start "no-such-program-zl": no program of that name is on the PATH .*\n {2}next: /m);
});

test('mcp list without servers says how to add one and is no failure (row 9)', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr } = await run(['mcp', 'ls']);
  assert.deepEqual([status, stdout], [0, 'No MCP servers are configured.\n']);
  assert.match(stderr, /zuno-lite mcp add NAME -- COMMAND/);
  assert.deepEqual((await run(['mcp', 'list', '--json'])).json(), { ok: true, servers: [] });
});

test('mcp list --json has every fact of the table (row 11)', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config({ mcp: { modern: { ...fixture('--era=modern', '--tools=echo'), timeout: 900 }, bad: { type: 'local', command: ['no-such-program-zl'] } } });
  const { servers } = (await run(['mcp', 'list', '--json'])).json();
  const [bad, modern] = servers;
  assert.deepEqual({ ...modern, target: '' }, {
    name: 'modern', status: 'connected', transport: 'stdio', target: '', layer: 'global', file: globalFile, line: 3, timeouts: { requestMs: 900, connectMs: 30_000 },
    toolCount: 1, era: 'modern', protocolVersion: '2026-07-28', signInUrl: null, renamed: [], dropped: [], failureKind: null, error: null,
  });
  assert.equal(bad.failureKind, 'process_start_failed');
  assert.equal(bad.error.code, 'SPAWN_FAILED');
  assert.equal(bad.error.origin.file, globalFile);
});

test('mcp list --check exits with the status of the first failure', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { bad: { type: 'local', command: ['no-such-program-zl'] } } });
  assert.equal((await run(['mcp', 'list', '--check'])).status, 4);
  assert.equal((await run(['mcp', 'list', '--check', '--no-probe'])).status, 0);
  config({ mcp: { bad: { type: 'local' } } });
  assert.equal((await run(['mcp', 'list', '--check', '--no-probe'])).status, 3);
});

test('an entry without command or url is shown as invalid, names its key and costs nothing else (rows 13, 14)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { x: { type: 'local' }, y: { type: 'remote' }, good: { type: 'local', command: ['node'] } } });
  const { status, stdout, stderr } = await run(['mcp', 'list', '--no-probe']);
  assert.equal(status, 0);
  assert.match(stdout, /^x +invalid/m);
  assert.match(stdout, /^good +not probed/m);
  const { servers } = (await run(['mcp', 'list', '--no-probe', '--json'])).json();
  assert.match(servers.find((one: any) => one.name === 'x').error.message + stderr, /command/);
  assert.match(servers.find((one: any) => one.name === 'y').error.message, /url/);
  const lost = await run(['mcp', 'get', 'x']);
  assert.equal(lost.status, 3);
  assert.match(lost.stderr, /Cannot use the server "x"/);
});

test('a disabled server is never started; --no-probe starts nothing (row 16)', async (t) => {
  const { run, config, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { off: { ...fixture(`--log=${log}`), enabled: false } } });
  assert.equal((await run(['mcp', 'list', '--json'])).json().servers[0].status, 'disabled');
  config({ mcp: { on: fixture(`--log=${log}`) } });
  assert.equal((await run(['mcp', 'list', '--json', '--no-probe'])).json().servers[0].status, 'not probed');
  assert.equal(existsSync(log), false);
});

test('a project may switch a server off with a toggle (row 17)', async (t) => {
  const { run, config, file, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { fs: fixture(`--log=${log}`) } });
  file('zuno.json', '{"mcp":{"fs":{"enabled":false}}}');
  assert.match((await run(['mcp', 'list'])).stdout, /^fs +disabled/m);
  assert.equal(existsSync(log), false);
  file('zuno.json', '{"mcp":{"fs":{"enabled":false,"colour":1}}}');
  assert.match((await run(['mcp', 'list'])).stderr, /"colour"/);
});

test('a command that a project declares is refused by every command (row 18)', async (t) => {
  const { run, file, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  const project = file('zuno.json', JSON.stringify({ mcp: { fs: fixture(`--log=${log}`) } }));
  for (const args of [['mcp', 'list'], ['tools'], ['call', 'fs_echo'], ['mcp', 'get', 'fs'], ['mcp', 'debug', 'fs'], ['resources']]) {
    const { status, stderr } = await run(args);
    assert.equal(status, 3, args.join(' '));
    assert.ok(stderr.includes(project) && stderr.includes('mcp.fs.command'), stderr);
    assert.match(stderr, /^ {2}stage {3}trust$/m);
    assert.match(stderr, /project_host_commands/);
  }
  const { error } = (await run(['tools', '--json'])).json();
  assert.equal(error.code, 'TRUST_REFUSED');
  assert.equal(existsSync(log), false);
});

test('unknown keys of the top level are all named (row 34)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: {}, colour: 1, shape: 2 });
  const { status, stderr } = await run(['mcp', 'list']);
  assert.equal(status, 3);
  assert.match(stderr, /colour/);
  assert.match(stderr, /shape/);
});

test('JSONC is read, and an error tells line and column (row 35)', async (t) => {
  const { run, config } = sandbox(t);
  config('{\n  // comment\n  "mcp": { "a": { "type": "local", "command": ["node"], }, },\n}\n', 'zuno.jsonc');
  assert.match((await run(['mcp', 'list', '--no-probe'])).stdout, /^a +not probed/m);
  config('{\n  "mcp": {\n    "a" 1\n  }\n}\n', 'zuno.jsonc');
  const { status, stderr } = await run(['mcp', 'list']);
  assert.equal(status, 3);
  assert.match(stderr, /zuno\.jsonc:3:\d+/);
});

test('a variable without a value is named, and its server is not started (row 37)', async (t) => {
  const { run, config, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { fs: { ...fixture(`--log=${log}`), environment: { TOKEN: '{env:ZL_NOT_SET}' } } } });
  const { stdout, stderr } = await run(['mcp', 'list']);
  assert.match(stdout, /^fs +config_invalid/m);
  assert.match(stderr, /ZL_NOT_SET/);
  assert.equal(existsSync(log), false);
  assert.equal((await run(['tools', 'fs'])).status, 3);
});

test('effective timeouts of both dialects are shown (row 53)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { zuno: { type: 'local', command: ['node'] } }, mcpServers: { other: { command: 'node' } } });
  const { servers } = (await run(['mcp', 'list', '--json', '--no-probe'])).json();
  assert.deepEqual(Object.fromEntries(servers.map((one: any) => [one.name, one.timeouts.requestMs])), { zuno: 5_000, other: 30_000 });
});

test('a file that is missing or unreadable is told with its name', async (t) => {
  const { run, directory } = sandbox(t);
  const missing = await run(['tools', '--config', 'nowhere.json']);
  assert.equal(missing.status, 3);
  assert.match(missing.stderr, /nowhere\.json/);
  writeFileSync(path.join(directory, 'binary.json'), Buffer.from([0xff, 0xfe, 0x00]));
  assert.equal((await run(['tools', '--config', path.join(directory, 'binary.json')])).status, 3);
});

test('--timeout bounds a list: what was ready is shown, what was not is told', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { quick: fixture('--tools=echo'), slow: fixture('--initialize-ms=20000') } });
  const startedAt = performance.now();
  const { status, stdout, stderr } = await run(['mcp', 'list', '--timeout', '1500']);
  assert.ok(performance.now() - startedAt < 4000);
  assert.equal(status, 0);
  assert.match(stdout, /^quick +connected/m);
  assert.match(stdout, /^slow +still connecting/m);
  assert.match(stderr, /slow: Cannot tell how the server "slow" is: it was still connecting after 1500 ms\n {2}next: zuno-lite mcp debug slow, or wait longer/);
  const late = (await run(['mcp', 'list', '--timeout', '600', '--json'])).json().servers.find((one: any) => one.name === 'slow');
  assert.deepEqual([late.status, late.error.code], ['connecting', 'TIMEOUT']);
  assert.match((await run(['tools', '--timeout', '1500'])).stdout, /^quick_echo/m);
  assert.equal((await run(['tools', 'slow', '--timeout', '300'])).status, 4);
  const probed = await run(['mcp', 'debug', 'slow', '--timeout', '300', '--json']);
  assert.deepEqual([probed.status, probed.json().error.code, probed.json().server.name], [4, 'TIMEOUT', 'slow']);
});

test('mcp list --json tells what kind of failure each server has (row 88)', async (t) => {
  const { run, config } = sandbox(t);
  // The path is the status that it answers with.
  const http = createServer((request, response) => { response.writeHead(Number(request.url!.slice(1)), { 'retry-after': '0', 'content-type': 'text/plain' }).end('no'); });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  t.after(() => { http.close(); http.closeAllConnections(); });
  const { port } = http.address() as AddressInfo;
  const answers = (status: number): object => ({ type: 'remote', url: `http://127.0.0.1:${port}/${status}`, transport: 'http' });
  const kinds: Readonly<Record<string, object>> = {
    config_invalid: { ...fixture(), environment: { X: '{env:ZL_NOT_SET}' } }, process_start_failed: { type: 'local', command: ['no-such-program-zl'] }, network_unreachable: { type: 'remote', url: 'http://127.0.0.1:1/mcp', transport: 'http' },
    connection_timeout: fixture('--list-ms=60000'), protocol_negotiation_failed: { ...fixture('--era=modern'), protocol: '2025-06-18' }, tool_list_failed: fixture('--list-fails-after=0'),
    protocol_error: fixture('--junk-at-start=40'), not_authenticated: answers(401), server_not_found: answers(404), rate_limited: answers(429), server_unavailable: answers(503), server_internal_error: answers(500), connection_failed: answers(418),
  };
  config({ mcp: kinds });
  const { servers } = (await run(['mcp', 'list', '--json', '--timeout', '6000'])).json();
  assert.deepEqual(Object.fromEntries(servers.map((one: any) => [one.name, one.failureKind])), Object.fromEntries(Object.keys(kinds).map((kind) => [kind, kind])));
});

test('mcp list on a terminal shows quick servers while a slow one is waited for', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { slow: fixture('--initialize-ms=1500', '--tools=echo'), quick: fixture('--tools=echo') } });
  let early = false;
  const { status, stdout, stderr } = await run(['mcp', 'list'], { terminal: { columns: 120 }, onStderr: (text) => { early ||= /quick +connected.*\n.*slow +connecting/.test(stripControls(text)); } });
  assert.equal(status, 0);
  assert.ok(early, stderr);
  assert.match(stripControls(stdout), /^quick +connected[^]*^slow +connected/m);
  assert.doesNotMatch(stripControls(stdout), /connecting/);
});

test('Ctrl-C during mcp list shows what is known, marks the rest and exits with 130; with --json one document', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { slow: fixture('--initialize-ms=60000'), quick: fixture('--tools=echo') } });
  const interrupted = (...more: string[]) => {
    const running = run(['mcp', 'list', ...more]);
    setTimeout(() => process.emit('SIGINT'), 900);
    return running;
  };
  const { status, stdout } = await interrupted();
  assert.equal(status, 130);
  assert.match(stdout, /^quick +connected/m);
  assert.match(stdout, /^slow +not probed \(canceled\)/m);
  const canceled = await interrupted('--json');
  const { ok, error, servers } = canceled.json();
  assert.deepEqual([canceled.status, ok, error.code, servers.map((one: any) => [one.name, one.status, one.toolCount])], [130, false, 'CANCELED', [['quick', 'connected', 1], ['slow', 'not probed', null]]]);
});

test('mcp list tells names that had to be changed, and tools that were left out', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { good: fixture('--tools=x.y,x/y', '--bad-tool') } });
  const { stderr } = await run(['mcp', 'list']);
  assert.match(stderr, /good: tool "x[./]y" is called good_/);
  assert.match(stderr, /good: tool ".*" is left out/);
  const [good] = (await run(['mcp', 'list', '--json'])).json().servers;
  assert.ok(good.renamed.length > 0 && good.dropped.length > 0);
});

test('what is wrong with an entry is told with its pointer, by every command', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { x: { type: 'local', command: 7 }, good: fixture('--tools=echo') }, ...{ permission: { mode: 'allow_all' } } });
  for (const args of [['mcp', 'list'], ['call', 'good_echo']]) assert.match((await run(args)).stderr, /zuno\.json:\d+, mcp\.x\.command\)/, args.join(' '));
});

test('the home directory is ~ for people, and whole in JSON', async (t) => {
  const { run, config, directory } = sandbox(t);
  config({ mcp: { fs: { type: 'local', command: [`${directory}/bin/server`, `--data=${directory}/data`] } } });
  for (const args of [['mcp', 'list', '--no-probe'], ['mcp', 'get', 'fs']]) {
    const { stdout } = await run(args);
    assert.match(stdout, /~\/bin\/server --data=~\/data/);
    assert.match(stdout, /~\/config\/zuno\/zuno\.json/);
    assert.ok(!stdout.includes(directory), stdout);
  }
  assert.ok((await run(['mcp', 'get', 'fs', '--json'])).json().server.command.startsWith(directory));
});

test('mcp ping waits for one answer, in both eras, and fails like everything else', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { old: { ...fixture(), enabled: false }, modern: fixture('--era=modern'), bad: { type: 'local', command: ['no-such-program-zl'] } } });
  for (const name of ['old', 'modern']) {
    const { status, stdout } = await run(['mcp', 'ping', name]);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^${name} {2}answers {2}in [\\d.]+ ms {2}connected in `));
  }
  const { ok, server, era, pingMs } = (await run(['mcp', 'ping', 'old', '--json'])).json();
  assert.deepEqual([ok, server, era, typeof pingMs], [true, 'old', 'legacy', 'number']);
  assert.equal((await run(['mcp', 'ping', 'bad'])).status, 4);
  assert.equal((await run(['mcp', 'ping', 'nobody'])).status, 2);
});

test('a switch in another file is named as what disables, also by mcp enable', async (t) => {
  const { run, config, file, read } = sandbox(t);
  config({ mcp: { fs: { ...fixture(), enabled: false } }, ...{ permission: { mode: 'allow_all' } } });
  const project = file('zuno.json', '{\n"mcp":{"fs":{"enabled":false}}}');
  const { error } = (await run(['call', 'fs_echo', '--json'])).json();
  assert.equal(error.origin?.file ?? error.code, project, JSON.stringify(error));
  const { status, stderr } = await run(['mcp', 'enable', 'fs', '--global']);
  assert.equal(status, 3);
  assert.ok(stderr.includes(`Still disabled by ${project}:2 (project)`), stderr);
  assert.equal(read().mcp.fs.enabled, true);
  const again = await run(['mcp', 'enable', 'fs', '--global', '--json']);
  assert.deepEqual([again.status, again.json().error.code, again.json().error.origin.file], [3, 'CONFIG_INVALID', project]);
  assert.equal((await run(['mcp', 'enable', 'fs', '--config', project])).status, 0);
});
