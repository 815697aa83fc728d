/** Questions of a server, answered on the command line: by `--elicit`, by a person, by nobody. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { owned, startStreamable } from '../support/http-fixture.ts';
import { startServer } from '../support/http-server.ts';
import { allowAll, fixture, sandbox, type Sandbox } from './support.ts';

const carriers: readonly (readonly [name: string, entry: (t: TestContext) => Promise<object>])[] = [
  ['stdio, legacy', async () => fixture('--era=legacy', '--tools=ask,seen')],
  ['stdio, modern', async () => fixture('--era=modern', '--tools=ask,seen')],
  ['HTTP, legacy', async (t) => ({ type: 'remote', url: owned(t, await startStreamable()).url('/legacy/sse/session') })],
  ['HTTP, modern', async (t) => ({ type: 'remote', url: owned(t, await startStreamable()).url('/modern/json') })],
];

async function boxFor(t: TestContext, entry: object): Promise<Sandbox> {
  const box = sandbox(t);
  box.config({ mcp: { fs: entry }, ...allowAll });
  return box;
}

for (const [name, entry] of carriers) {
  test(`--elicit answers a form, typed by its fields, defaults filled in (${name})`, async (t) => {
    const { run } = await boxFor(t, await entry(t));
    const words = ['--elicit', 'size=3', '--elicit', 'sure=yes', '--elicit', 'color=blue', '--elicit', 'extras=a', '--elicit', 'extras=c'];
    const { status, stdout, stderr } = await run(['call', 'fs_ask', 'what=form', ...words]);
    assert.equal(status, 0, stderr);
    const answer = JSON.parse(stdout);
    const { action, content } = answer.q ?? answer;
    assert.deepEqual([action, content], ['accept', { size: 3, sure: true, color: 'blue', extras: ['a', 'c'], note: 'none' }]);
    assert.match(stderr, /Server "fs" asks: Order\? \(answered by --elicit size, sure, color, extras\)/);
  });

  test(`a person at the terminal is asked, and nothing is declared when nobody is there (${name})`, async (t) => {
    const { run } = await boxFor(t, await entry(t));
    const { status, stdout, stderr } = await run(['call', 'fs_ask', 'what=elicitation'], { terminal: { columns: 100, answers: [['> ', 'Ann'], ['[c]ancel: ', 'y']] } });
    assert.equal(status, 0, stderr);
    assert.match(stripControls(stdout), /"action":"accept".*"name":"Ann"/);
    const alone = await run(['call', 'fs_ask', 'what=elicitation']);
    assert.doesNotMatch(alone.stdout, /"action"/);
    assert.match(alone.stdout + alone.stderr, /[Mm]ethod not found: elicitation\/create/);
  });

  test(`a page to open is shown to a person and never fetched (${name})`, async (t) => {
    const page = await startServer((_seen, response) => { response.end('signed in'); });
    t.after(() => page.close());
    const { run } = await boxFor(t, await entry(t));
    const url = `${page.origin}/sign-in?x=1`;
    const { status, stdout, stderr } = await run(['call', 'fs_ask', 'what=url', `url=${url}`], { terminal: { columns: 120, answers: [['[c]ancel: ', 'y']] } });
    assert.equal(status, 0, stderr);
    assert.ok(stripControls(stderr).includes(`It wants you to open this page: ${url}`));
    assert.match(stripControls(stdout), /"action":"accept"/);
    const script = await run(['call', 'fs_ask', 'what=url', `url=${url}`, '--elicit', 'name=Ann']);
    assert.match(script.stdout + script.stderr, /mode not declared: url/);
    assert.equal(page.requests.length, 0);
  });
}

const declared = (stdout: string): unknown => JSON.parse(stdout).find((one: any) => one.method === 'initialize').params.capabilities;

test('--elicit declares forms and nothing else; a terminal declares pages too', async (t) => {
  const { run } = await boxFor(t, fixture('--tools=seen'));
  assert.deepEqual(declared((await run(['call', 'fs_seen', '--elicit', 'a=1'])).stdout), { elicitation: { form: {} } });
  assert.deepEqual(declared((await run(['call', 'fs_seen', '--elicit', 'a=1'], { terminal: { columns: 80 } })).stdout), { elicitation: { form: {}, url: {} } });
  assert.deepEqual(declared((await run(['call', 'fs_seen'])).stdout), {});
});

for (const [words, said] of [
  [['--elicit', 'size=3'], /it needs --elicit sure=VALUE/], [['--elicit', 'size=12', '--elicit', 'sure=yes'], /--elicit size: at most 9, please/],
  [['--elicit', 'size=big', '--elicit', 'sure=yes'], /--elicit size: "big" is not a whole number/], [['--elicit', 'size=1', '--elicit', 'size=2', '--elicit', 'sure=no'], /size: is given twice and is not a list/],
  [['--elicit', 'name=Ann'], /it needs --elicit size=VALUE --elicit sure=VALUE/],
] as const) {
  test(`answers that do not make a whole form are not sent: ${words.filter((word) => word !== '--elicit').join(' ')}`, async (t) => {
    const { run } = await boxFor(t, fixture('--tools=ask'));
    const { stdout, stderr } = await run(['call', 'fs_ask', 'what=form', ...words, '--quiet']);
    assert.match(stdout, /"action":"cancel"/);
    assert.match(stderr, said);
  });
}

test('on a terminal the given answers stand ready and only enter is left to press', async (t) => {
  const { run } = await boxFor(t, fixture('--tools=ask'));
  const answers = [['> [3] ', ''], ['> ', 'no'], ['> ', ''], ['> ', ''], ['> [none] ', 'x'], ['[c]ancel: ', 'y']] as const;
  const { stdout, stderr } = await run(['call', 'fs_ask', 'what=form', '--elicit', 'size=3'], { terminal: { columns: 100, answers } });
  assert.match(stripControls(stdout), /"content":\{"size":3,"sure":false,"note":"x"\}/, stderr);
});

test('on a terminal an answer that does not fit is told, and its field asked', async (t) => {
  const { run } = await boxFor(t, fixture('--tools=ask'));
  const answers = [['> ', '4'], ['> [yes] ', ''], ['> ', ''], ['> ', ''], ['> [none] ', ''], ['[c]ancel: ', 'y']] as const;
  const { stdout, stderr } = await run(['call', 'fs_ask', 'what=form', '--elicit', 'size=77', '--elicit', 'sure=true'], { terminal: { columns: 100, answers } });
  assert.match(stripControls(stderr), /--elicit size: at most 9, please/);
  assert.match(stripControls(stdout), /"content":\{"size":4,"sure":true,"note":"none"\}/, stderr);
});

test('an answer that nobody asked for is told, and a word that is no answer is refused without its value', async (t) => {
  const { run } = await boxFor(t, fixture('--tools=echo'));
  const unused = await run(['call', 'fs_echo', '--elicit', 'pin=s3cret']);
  assert.equal(unused.status, 0);
  assert.match(unused.stderr, /warning: --elicit pin was not asked for/);
  for (const word of ['s3cret', '=s3cret']) {
    const wrong = await run(['call', 'fs_echo', '--elicit', word]);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /its value is not KEY=VALUE/);
    assert.doesNotMatch(unused.stderr + wrong.stderr, /s3cret/);
  }
});

test('a tool that is refused by the policy asks nothing, whatever --elicit says', async (t) => {
  const box = sandbox(t);
  box.config({ mcp: { fs: fixture('--tools=ask') } });
  assert.equal((await box.run(['call', 'fs_ask', 'what=form', '--elicit', 'size=1', '--elicit', 'sure=yes'])).status, 7);
});
