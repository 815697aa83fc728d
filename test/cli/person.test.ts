import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { onlooker } from '../../src/cli/person.ts';
import { allowAll, demoServer, fixture, sandbox, unwrapped } from './support.ts';

const demo = { type: 'local', command: [process.execPath, demoServer] };
const APPROVE = '[n]o: ';

test('on a terminal an ask shows server, tool and arguments with secrets masked, and takes the answer (row 138)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') } });
  const { status, stdout, stderr } = await run(['call', 'fs_echo', 'text=hi', 'password=hunter22'], { terminal: { columns: 100, answers: [[APPROVE, 'what'], [APPROVE, 'o']] } });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /hunter22/);
  const shown = stripControls(stderr);
  assert.match(shown, /May this call be made\? /);
  assert.match(shown, /server +fs$/m);
  assert.match(shown, /tool +echo/);
  assert.match(shown, /"text": "hi"/);
  assert.match(shown, /Please answer o or n/);
  assert.doesNotMatch(shown, /hunter22/);
});

test('no, enter alone and the end of input refuse with exit 7', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') } });
  for (const answer of ['n', '', '\u0004']) {
    const { status, stderr } = await run(['call', 'fs_echo'], { terminal: { columns: 100, answers: [[APPROVE, answer]] } });
    assert.equal(status, 7, JSON.stringify(answer));
    assert.match(stripControls(stderr), /cause +you were asked and said no/);
  }
});

test('for one call "always" is not offered: the rule to add is shown instead', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') } });
  const { status, stderr } = await run(['call', 'fs_echo'], { terminal: { columns: 100, answers: [[APPROVE, 'always'], [APPROVE, 'o']] } });
  assert.equal(status, 0);
  const shown = stripControls(stderr);
  assert.match(shown, /for always +add "permission": \{ "rules": \{ "fs_echo": "allow" \} \}/);
  assert.match(shown, /^\[o\]nce {2}\[n\]o: /m);
  assert.doesNotMatch(shown, /\[a\]lways/);
});

test('Ctrl-C and Ctrl-D at the prompt: what follows stands on a line of its own, and repeating is not both refused and advised', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') } });
  const canceled = await run(['call', 'fs_echo'], { terminal: { columns: 100, answers: [[APPROVE, '\u0003']] } });
  assert.equal(canceled.status, 130);
  const shown = stripControls(canceled.stderr);
  assert.match(shown, /\[n\]o: \nerror: Cannot call "fs_echo": it was canceled/);
  assert.match(shown, /repeat +yes/);
  assert.match(shown, /next +repeat the command when you want it/);
  const ended = await run(['call', 'fs_echo'], { terminal: { columns: 100, answers: [[APPROVE, '\u0004']] } });
  assert.equal(ended.status, 7);
  assert.match(stripControls(ended.stderr), /\[n\]o: \nerror: Cannot call "fs_echo"/);
});

test('errors are broken between words on a narrow terminal, under their labels; nothing is broken in a pipe', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { bad: { type: 'local', command: ['no-such-program-zl'] } } });
  const { stderr } = await run(['call', 'bad.x'], { terminal: { columns: 60 } });
  const lines = stripControls(stderr).split('\n');
  // A word that is longer than a line is the only thing that may be.
  for (const line of lines) assert.ok([...line].length <= 60 || /\S{40,}/.test(line), line);
  assert.ok(lines.some((line) => /^ {10}\S/.test(line)), stderr);
  assert.match(unwrapped(stderr), /error: Cannot start "no-such-program-zl": no program of that name is on the PATH/);
  assert.ok((await run(['call', 'bad.x'])).stderr.split('\n').every((line) => !/^ {10}\S/.test(line)));
});

test('a form of a server is filled in field by field, reviewed and sent', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--era=modern', '--tools=ask') }, ...allowAll });
  const { status, stdout, stderr } = await run(['call', 'fs_ask', 'what=elicitation'], { terminal: { columns: 100, answers: [['> ', ''], ['> ', 'Ann'], ['[c]ancel: ', 'e'], ['> ', 'Bea'], ['[c]ancel: ', 'y']] } });
  assert.equal(status, 0, stderr);
  assert.match(stripControls(stderr), /Server "fs" asks: Your name\?/);
  assert.match(stripControls(stderr), /an answer is needed/);
  assert.match(stdout, /"action":"accept".*"name":"Bea"/);
});

for (const [words, answers, action] of [['/decline', [['> ', '/decline']], 'decline'], ['/cancel', [['> ', '/cancel']], 'cancel'], ['d at the end', [['> ', 'x'], ['[c]ancel: ', 'd']], 'decline'], ['c at the end', [['> ', 'x'], ['[c]ancel: ', 'c']], 'cancel']] as const) {
  test(`a form is answered with ${action} by ${words}`, async (t) => {
    const { run, config } = sandbox(t);
    config({ mcp: { fs: fixture('--tools=ask') }, ...allowAll });
    const { stdout } = await run(['call', 'fs_ask', 'what=elicitation'], { terminal: { columns: 100, answers } });
    assert.match(stdout, new RegExp(`"action":"${action}"`));
  });
}

test('without a terminal nothing that needs a person is declared', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=seen') }, ...allowAll });
  const seen = JSON.parse((await run(['call', 'fs_seen'])).stdout);
  assert.deepEqual(seen.find((one: any) => one.method === 'initialize').params.capabilities, {});
  const asked = JSON.parse((await run(['call', 'fs_seen'], { terminal: { columns: 100 } })).stdout);
  assert.ok(asked.find((one: any) => one.method === 'initialize').params.capabilities.elicitation);
});

test('a long call is one live line on stderr, taken away at its end', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=progress') }, ...allowAll });
  const { stdout, stderr } = await run(['call', 'fs_progress', 'steps=4', 'ms=120'], { terminal: { columns: 40 } });
  assert.equal(stripControls(stdout), 'done\n');
  assert.match(stderr, /\r\u001b\[2Kfs_progress · \d\/4 · \[#+/);
  assert.ok(stderr.endsWith('\r\u001b[2K'));
  for (const line of stderr.split('\r\u001b[2K')) assert.ok([...line].length < 40, line);
  assert.equal((await run(['call', 'fs_progress', 'steps=3', 'ms=60'])).stderr, '');
  assert.equal((await run(['call', 'fs_progress', 'steps=3', 'ms=60', '--quiet'], { terminal: { columns: 40 } })).stderr, '');
});

test('tables are cut to the terminal and colored there; NO_COLOR, --no-color and pipes stay plain', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { demo } });
  const terminal = { columns: 60 };
  const narrow = await run(['tools'], { terminal });
  assert.match(narrow.stdout, /\u001b\[33mask\u001b\[39m/);
  assert.ok(stripControls(narrow.stdout).split('\n').every((line) => [...line].length <= 60), narrow.stdout);
  assert.match(narrow.stdout, /…/);
  for (const plain of [await run(['tools']), await run(['tools'], { terminal, env: { NO_COLOR: '1' } }), await run(['tools', '--no-color'], { terminal }), await run(['tools'], { terminal, env: { TERM: 'dumb' } })]) {
    assert.doesNotMatch(plain.stdout.replaceAll('\r\u001b[2K', ''), /\u001b/);
  }
  assert.match((await run(['tools', 'demo_ad'], { terminal })).stderr, /\u001b\[31merror: /);
});

test('--json on a terminal is the same document, indented', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: {} });
  assert.equal((await run(['mcp', 'list', '--json'], { terminal: { columns: 80 } })).stdout, '{\n  "ok": true,\n  "servers": []\n}\n');
});

test('--args - on a keyboard is refused', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { fs: fixture('--tools=echo') }, ...allowAll });
  const { status, stderr } = await run(['call', 'fs_echo', '--args', '-'], { terminal: { columns: 80 } });
  assert.equal(status, 2);
  assert.match(stderr, /it is the keyboard/);
});

test('onlooker() declares on a terminal what a call would, and calls every question off', async () => {
  const terminal = (interactive: boolean): Parameters<typeof onlooker>[0] => ({ terminal: { interactive } as never });
  assert.deepEqual(onlooker(terminal(false)), {});
  const { person } = onlooker(terminal(true));
  assert.deepEqual(await person?.answer?.('fs', { mode: 'form', message: 'Name?', requestedSchema: {} }, new AbortController().signal), { action: 'cancel' });
  assert.equal(person?.approve, undefined);
});
