import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { commandRows } from '../../src/cli/commands/index.ts';
import { version } from '../../src/base/version.ts';
import { sandbox } from './support.ts';

test('--version prints name and version, with --json as a document', async (t) => {
  const { run } = sandbox(t);
  assert.deepEqual(await run(['--version']).then(({ status, stdout, stderr }) => ({ status, stdout, stderr })), { status: 0, stdout: `zuno-lite ${version}\n`, stderr: '' });
  assert.deepEqual((await run(['--version', '--json'])).json(), { ok: true, name: 'zuno-lite', version });
});

test('--help lists every command, the options of all and the exit statuses', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr } = await run(['--help']);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  for (const row of commandRows) assert.match(stdout, new RegExp(`^  ${row.words.join(' ')} +\\S`, 'm'));
  for (const word of ['--json', '--config FILE', '--timeout MS', '--no-color', '130']) assert.ok(stdout.includes(word), word);
  assert.ok(stdout.split('\n').every((line) => line.length <= 110));
});

test('mcp --help lists the commands of the group only', async (t) => {
  const { stdout, status } = await sandbox(t).run(['mcp', '--help']);
  assert.equal(status, 0);
  assert.match(stdout, /mcp add /);
  assert.doesNotMatch(stdout, /^ {2}tools /m);
});

for (const row of commandRows) {
  test(`${row.words.join(' ')} --help shows usage, options and an example`, async (t) => {
    const { run } = sandbox(t);
    const { status, stdout, stderr } = await run([...row.words, '--help']);
    assert.equal(status, 0);
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^Usage: zuno-lite ${row.words.join(' ')}`, 'm'));
    assert.match(stdout, new RegExp(`^ {4}\\$ zuno-lite ${row.words.join(' ')}`, 'm'));
    assert.match(stdout, /--json/);
    const document = (await run([...row.words, '--help', '--json'])).json();
    assert.equal(document.ok, true);
    assert.equal(document.summary, row.summary);
    assert.ok(document.examples.length > 0);
  });
}

test('an alias shows the help of its command', async (t) => {
  const { stdout } = await sandbox(t).run(['mcp', 'ls', '-h']);
  assert.match(stdout, /^zuno-lite mcp list: .*Also spelled "mcp ls"\./);
});

test('--help --json is a document of all commands', async (t) => {
  const document = (await sandbox(t).run(['--help', '--json'])).json();
  assert.equal(document.commands.length, commandRows.length);
  assert.equal(document.exitStatus['7'].length > 0, true);
});

test('an unknown command is refused with the nearest one and never run', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr } = await run(['mcp', 'lst']);
  assert.equal(status, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: Cannot run "mcp lst": there is no such command; did you mean "mcp list"/);
  assert.match(stderr, /^ {2}stage {3}usage$/m);
  assert.match(stderr, /^ {2}cause {3}the word "lst"$/m);
  assert.match(stderr, /^ {2}repeat {2}no: /m);
  assert.match(stderr, /^ {2}origin {2}command line/m);
  assert.match(stderr, /^ {2}next {4}zuno-lite mcp --help$/m);
  assert.match((await run(['cal', 'x'])).stderr, /did you mean "call"/);
});

test('an unknown option is refused with the nearest one', async (t) => {
  const { run } = sandbox(t);
  assert.match((await run(['call', 'x', '--alow', 'y'])).stderr, /Cannot take option "--alow": it is unknown here; did you mean "--allow"/);
  const before = await run(['--jsn', 'mcp', 'list']);
  assert.equal(before.status, 2);
  assert.match(before.stderr, /did you mean "--json"/);
  assert.match((await run(['--colour'])).stderr, /--no-color|unknown here/);
});

test('no command at all shows what there is: in short for all, the group for a group, a document with --json', async (t) => {
  const { run } = sandbox(t);
  const { status, stdout, stderr } = await run([]);
  assert.deepEqual([status, stderr], [0, '']);
  assert.ok(stdout.split('\n').length < 20, stdout);
  for (const text of ['mcp (add, ', 'tools, ', 'zuno-lite demo', 'zuno-lite mcp add NAME -- COMMAND', 'zuno-lite --help']) assert.ok(stdout.includes(text), text);
  const group = await run(['mcp']);
  assert.deepEqual([group.status, group.stdout], [0, (await run(['mcp', '--help'])).stdout]);
  assert.equal((await run(['--json'])).json().commands.length, commandRows.length);
});

test('a failure with --json is one document and nothing else', async (t) => {
  const failed = await sandbox(t).run(['nothing', '--json']);
  assert.equal(failed.status, 2);
  assert.equal(failed.stderr, '');
  const { ok, error } = failed.json();
  assert.equal(ok, false);
  assert.deepEqual(Object.keys(error), ['code', 'stage', 'message', 'cause', 'recovery', 'details', 'origin', 'hint']);
  assert.equal(error.code, 'USAGE');
  assert.equal(error.hint, 'zuno-lite --help');
});

test('help is broken between words on a narrow terminal, commands with a backslash', async (t) => {
  const { run } = sandbox(t);
  for (const args of [[], ['--help'], ['mcp', 'add', '--help'], ['call', '--help']]) {
    const { stdout } = await run(args, { terminal: { columns: 60 } });
    for (const line of stripControls(stdout).split('\n')) assert.ok(line.length <= 60, line);
  }
  assert.match((await run(['mcp', 'add', '--help'], { terminal: { columns: 60 } })).stdout, /\$ zuno-lite mcp add files -- npx -y \\\n +@modelcontextprotocol/);
});

test('operands are counted before anything is read', async (t) => {
  const { run } = sandbox(t);
  assert.match((await run(['mcp', 'get'])).stderr, /Cannot run "mcp get": NAME is missing/);
  assert.match((await run(['mcp', 'get', 'a', 'b'])).stderr, /"b" is one word too many/);
  assert.match((await run(['mcp', 'list', '--check=yes'])).stderr, /--check takes no value/);
  assert.match((await run(['tools', '--config'])).stderr, /its value FILE is missing/);
  assert.match((await run(['tools', '--config', 'a', '--config', 'b'])).stderr, /"--config" twice/);
  assert.match((await run(['tools', '--timeout', 'soon'])).stderr, /whole number of milliseconds/);
  assert.match((await run(['tools', '--log-level', 'loud'])).stderr, /must be debug, info, warning, error/);
});
