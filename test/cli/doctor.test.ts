import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { resolvePaths } from '../../src/base/paths.ts';
import { checkup } from '../../src/cli/checkup.ts';
import { orphanedProcesses } from '../../src/transports/process-table.ts';
import { fixture, sandbox, type Ran } from './support.ts';

const found = (ran: Ran, check: string, level: string): string[] => ran.json().findings.filter((one: any) => one.check === check && one.level === level).map((one: any) => one.message);

test('doctor on a healthy machine ends with 0 and says so for each thing', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture(), docs: { type: 'remote', url: 'https://docs.test/', headers: { A: 'Bearer {env:TOK}' } } } });
  const { status, stdout } = await run(['doctor'], { env: { TOK: 'x' } });
  assert.equal(status, 0);
  for (const expected of [/1 configuration file read, 2 servers configured/, /1 command found/, /1 reference can be filled in/, /no proxy/, /Node v/, /no credentials are stored/, /Nothing is wrong|warning/]) assert.match(stdout, expected);
  const json = (await run(['doctor', '--json'], { env: { TOK: 'x' } })).json();
  assert.deepEqual([json.healthy, json.errors], [true, 0]);
});

test('doctor names what is broken, each with its fix, and ends with 3', async (t) => {
  const { run, config, directory, globalFile } = sandbox(t);
  config({ mcp: {
    gone: { type: 'local', command: ['no-such-program-here'] }, away: { type: 'local', command: ['./none.sh'] }, place: { ...fixture(), cwd: '/no/such/place' }, off: { type: 'local', command: ['nothing'], enabled: false },
    docs: { type: 'remote', url: 'https://docs.test/', headers: { A: '{env:UNSET_TOKEN}', B: '{file:./none}' } }, bad: { type: 'remote' },
  } });
  chmodSync(globalFile, 0o666);
  const credentials = path.join(directory, 'data', 'zuno', 'credentials');
  mkdirSync(credentials, { recursive: true });
  writeFileSync(path.join(credentials, 'a.json'), '{}');
  chmodSync(credentials, 0o755);
  chmodSync(path.join(credentials, 'a.json'), 0o644);
  const env = { HTTPS_PROXY: 'ftp://proxy.test', NODE_EXTRA_CA_CERTS: '/no/such.pem', NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_OPTIONS: '--no-warnings' };
  const ran = await run(['doctor', '--json'], { env });
  assert.equal(ran.status, 3);
  assert.equal(found(ran, 'commands', 'error').length, 3);
  assert.match(found(ran, 'commands', 'error').join('\n'), /"gone" starts "no-such-program-here", which is not on the PATH\n"away" starts "\.\/none\.sh", which is no file\n"place" runs in \/no\/such\/place/);
  assert.match(found(ran, 'variables', 'error').join('\n'), /UNSET_TOKEN is not set\n.*\{file:\.\/none\} is missing/);
  assert.match(found(ran, 'network', 'error').join('\n'), /proxy.*\nNODE_EXTRA_CA_CERTS names \/no\/such\.pem.*\nNODE_TLS_REJECT_UNAUTHORIZED=0/);
  assert.match(found(ran, 'config', 'error').join('\n'), /"bad": "url" is missing/);
  assert.equal(found(ran, 'node', 'note').length, 1);
  if (process.platform !== 'win32') assert.match(found(ran, 'stores', 'error').join('\n'), /credentials can be read by others \(755\)\n.*a\.json can be read by others \(644\)\n.*zuno\.json can be changed by others \(666\)/);
  for (const one of ran.json().findings) if (one.level === 'error') assert.ok(one.fix, one.message);
  const text = await run(['doctor'], { env });
  assert.match(text.stdout, /fix: export UNSET_TOKEN=\.\.\./);
  assert.match(text.stdout, /fix: chmod 700 .*credentials/);
});

test('doctor tells what a sign-in is waiting for: references inside oauth, each with its fix', async (t) => {
  const { run, config, file, directory } = sandbox(t);
  const empty = file('empty', ' '), good = file('good', 'value'), dark = path.join(directory, 'dark');
  mkdirSync(dark);
  const oauth = { clientId: '{env:SET}', clientSecret: '{env:UNSET_SECRET}', scope: ['{env:SET}', '{file:/no/such}'], privateKey: `{file:${dark}}`, assertion: `{file:${empty}}`, identityProvider: { clientSecret: '{env:UNSET_INNER}', subjectToken: `{file:${good}}` } };
  config({
    mcp: { docs: { type: 'remote', url: 'https://docs.test/', oauth }, off: { type: 'remote', url: 'https://docs.test/', oauth: { clientSecret: '{env:NEVER}' }, enabled: false }, none: { type: 'remote', url: 'https://docs.test/', oauth: false, headersCommand: ['x', '{env:UNSET_WORD}'] } },
    mcpServers: { other: { url: 'https://docs.test/', oauth: { clientSecret: '${UNSET_DOLLAR}', clientId: '${UNSET_DEFAULT:-x}' } } },
  });
  const ran = await run(['doctor', '--json'], { env: { SET: 'hunter22x' } });
  const errors = ran.json().findings.filter((one: any) => one.check === 'variables' && one.level === 'error');
  const shown = errors.map(({ message, fix }: any) => [message, fix]);
  assert.deepEqual(shown, [
    ['"other" needs ${UNSET_DOLLAR} for "oauth.clientSecret": the variable UNSET_DOLLAR is not set', 'export UNSET_DOLLAR=...'],
    ['"docs" needs {env:UNSET_SECRET} for "oauth.clientSecret": the variable UNSET_SECRET is not set', 'export UNSET_SECRET=...'],
    ['"docs" needs {file:/no/such} for "oauth.scope.1": the file of {file:/no/such} is missing', 'Write the value to /no/such'],
    [`"docs" needs {file:${dark}} for "oauth.privateKey": Cannot read "${dark}": it is not a regular file`, `Write the value to ${dark}`],
    [`"docs" needs {file:${empty}} for "oauth.assertion": the file ${empty} is empty`, `Make ${empty} readable for you and put the value into it`],
    ['"docs" needs {env:UNSET_INNER} for "oauth.identityProvider.clientSecret": the variable UNSET_INNER is not set', 'export UNSET_INNER=...'],
    ['"none" needs {env:UNSET_WORD}: the variable UNSET_WORD is not set', 'export UNSET_WORD=...'],
  ]);
  assert.match(found(ran, 'variables', 'ok')[0]!, /3 references can be filled in/);
  assert.doesNotMatch(ran.stdout, /hunter22x|"value"/);
});

test('doctor shows proxies and authorities in effect, without credentials', async (t) => {
  const { run, file, config } = sandbox(t);
  const pem = file('ca.pem', 'x');
  config({ mcp: { docs: { type: 'remote', url: 'https://docs.test/', caFile: pem, certFile: '/no/cert.pem', keyFile: pem }, off: { type: 'remote', url: 'https://docs.test/', caFile: '/no/ca.pem', enabled: false } } });
  const { stdout } = await run(['doctor'], { env: { https_proxy: 'http://me:hunter22x@proxy.test:8080', NO_PROXY: 'intern.test', NODE_EXTRA_CA_CERTS: pem } });
  assert.match(stdout, /in effect: HTTPS_PROXY=http:\/\/\*\*\*@proxy\.test:8080 NO_PROXY=intern\.test/);
  assert.match(stdout, /certificates of .*ca\.pem are in effect/);
  assert.match(stdout, /"docs" also trusts the authorities of .*ca\.pem/);
  assert.match(stdout, /"certFile" of "docs" names \/no\/cert\.pem, which is no file/);
  assert.doesNotMatch(stdout, /\/no\/ca\.pem/);
  assert.doesNotMatch(stdout, /hunter22x/);
});

test('doctor goes on where a checkout or a file makes everything else fail', async (t) => {
  const { run, config, file } = sandbox(t);
  config({ mcp: { gone: { type: 'local', command: ['no-such-program-here'] } } });
  const name = file('zuno.json', JSON.stringify({ mcp: { fs: fixture() } }));
  file('.mcp.json', '{}');
  const refused = await run(['doctor', '--json']);
  assert.equal(refused.status, 3);
  assert.match(found(refused, 'trust', 'error')[0]!, /may not choose what runs.*mcp\.fs\.command/);
  assert.match(found(refused, 'trust', 'note')[0]!, /\.mcp\.json \(Claude Code\) was found and is not read/);
  assert.equal(found(refused, 'commands', 'error').length, 1);
  assert.equal((await run(['trust', name, '--yes'])).status, 0);
  assert.match(found(await run(['doctor', '--json']), 'trust', 'ok')[0]!, /is read and admitted/);
  file('zuno.json', JSON.stringify({ mcp: {} }));
  assert.match(found(await run(['doctor', '--json']), 'trust', 'note')[0]!, /is read without power over this machine/);
  config('{');
  const broken = await run(['doctor', '--json']);
  assert.deepEqual([broken.status, found(broken, 'config', 'error').length], [3, 1]);
  config({ features: { mcp: false } });
  assert.match(found(await run(['doctor', '--json']), 'config', 'warning')[0]!, /MCP is off/);
});

test('orphanedProcesses() tells servers whose host is gone from those of a living one', { skip: process.platform !== 'linux' }, async (t) => {
  const variable = `ZUNO_TREE_TEST_${process.pid}`;
  const sleeper = 'setInterval(() => {}, 1000)';
  // A host that starts a server and ends at once leaves an orphan; a child of this process is held.
  const host = spawn(process.execPath, ['-e', `
    const child = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(sleeper)}], { detached: true, stdio: 'ignore', env: { ...process.env, ${variable}: 'outer.1.,gone.1.' } });
    child.unref(); console.log(child.pid);`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const held = spawn(process.execPath, ['-e', sleeper], { stdio: 'ignore', env: { ...process.env, [variable]: 'here.1.' } });
  let text = '';
  host.stdout.on('data', (chunk) => { text += String(chunk); });
  await new Promise((resolve) => { host.once('close', resolve); });
  const orphan = Number(text.trim());
  t.after(() => { held.kill('SIGKILL'); try { process.kill(orphan, 'SIGKILL'); } catch { /* gone */ } });
  const orphans = orphanedProcesses(variable) ?? [];
  assert.deepEqual(orphans.map(({ pid, mark, command }) => [pid, mark, command]), [[orphan, 'gone.1.', 'node']]);
  // A look-alike of /proc in which the first process is itself a host, as in a container.
  const { directory } = sandbox(t);
  const proc = (pid: number, parent: number, comm: string, environ: string): void => {
    mkdirSync(path.join(directory, 'proc', String(pid)), { recursive: true });
    for (const [name, text] of Object.entries({ stat: `${pid} (${comm}) S ${parent} 1 1 0`, comm: `${comm}\n`, environ })) writeFileSync(path.join(directory, 'proc', String(pid), name), text);
  };
  proc(1, 0, 'node', '');
  proc(7, 1, 'server', `A=b\0${variable}=h.1.\0`);
  proc(8, 7, 'worker', `${variable}=h.1.\0`);
  assert.deepEqual(orphanedProcesses(variable, path.join(directory, 'proc'), 1), []);
  proc(1, 0, 'init', '');
  assert.deepEqual(orphanedProcesses(variable, path.join(directory, 'proc'), 1)?.map(({ pid }) => pid), [7, 8]);
  proc(7, 3, 'server', `${variable}=h.1.\0`);
  proc(3, 1, 'systemd', '');
  assert.equal(orphanedProcesses(variable, path.join(directory, 'proc'), 1)?.length, 2);
  assert.deepEqual(orphanedProcesses(variable, path.join(directory, 'proc'), 8), [], 'whoever asks from inside of a tree is part of it');
  assert.equal(orphanedProcesses(variable, path.join(import.meta.dirname ?? '.', 'nothing')), undefined);
});

test('checkup() tells an old Node, programs of Windows and systems without modes or /proc', async (t) => {
  const { directory, workspace, config } = sandbox(t);
  config({ mcp: { run: { type: 'local', command: ['tool'] }, envd: { type: 'local', command: ['{env:UNSET}'], environment: { A: '{env:UNSET}' } } } });
  writeFileSync(path.join(directory, 'tool.cmd'), '');
  const base = { cwd: workspace, environment: { PATH: directory, PATHEXT: '.EXE;.CMD' }, paths: resolvePaths({ platform: 'linux', home: directory, environment: { XDG_CONFIG_HOME: path.join(directory, 'config') } }), execPath: '/x/node', nodeVersion: 'v18.0.0' };
  const windows = checkup({ ...base, platform: 'win32' });
  assert.deepEqual(windows.filter(({ check }) => check === 'node').map(({ level }) => level), ['error']);
  assert.match(windows.find(({ check }) => check === 'stores')!.message, /profile of this user/);
  assert.deepEqual(windows.filter(({ check }) => check === 'commands').map(({ level, message }) => [level, message]), [['ok', '1 command found']]);
  assert.equal(windows.some(({ check }) => check === 'processes'), false);
  const mac = checkup({ ...base, platform: 'darwin', environment: { PATH: '' }, nodeVersion: 'v24.1.0' });
  assert.match(mac.filter(({ check }) => check === 'commands').map(({ message }) => message).join('\n'), /"run" starts "tool", which is not on the PATH/);
});
