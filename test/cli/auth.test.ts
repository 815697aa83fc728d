/** `mcp auth`: what a person sees and may do while it waits. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { stripControls } from '../../src/base/text.ts';
import { freePort } from '../support/http-server.ts';
import { addressIn, browse, guarded, landingOf, onAddress, type Guarded } from './signing-in.ts';
import { fixture, unwrapped } from './support.ts';

const PROMPT = 'Or paste the address that the browser ended on: ';
const AGAIN = 'Paste the address again: ';

test('mcp auth shows the address at once, whole and alone on its line, on stderr; the browser ends on a page; what was granted is told (row 180)', async (t) => {
  const box = await guarded(t, { challengeScope: 'read' });
  const { status, stdout, stderr, page } = await box.signIn(['--no-browser', '--quiet']);
  assert.equal(status, 0, stderr);
  const address = new URL(addressIn(stderr)!);
  assert.deepEqual([address.searchParams.get('code_challenge_method'), address.searchParams.get('scope'), address.searchParams.get('resource')], ['S256', 'read', box.server.url]);
  assert.match(stderr, /^Sign in to "docs" at 127\.0\.0\.1:\d+, which will be asked for read:$/m);
  assert.match(stderr, /^ {4}ssh -L (\d+):127\.0\.0\.1:\1 USER@THIS-MACHINE$/m);
  assert.equal(addressIn(stdout), undefined);
  const { status: shown, text } = await page;
  assert.equal(shown, 200);
  assert.match(text, /You are signed in[\s\S]*docs[\s\S]*go back to your terminal/);
  assert.match(stdout, new RegExp(`^Signed in to "docs"\\n {2}issuer +${box.server.issuer}\\n {2}scopes +read\\n {2}expires +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d \\(in (?:59 minutes|1 hour)\\), renewed by itself\\n`));
  assert.deepEqual(box.pending(), []);
  if (process.platform !== 'win32') assert.equal(statSync(path.join(box.store, 'credentials')).mode & 0o777, 0o700);
});

test('mcp auth --json gives one document on stdout; the address is on stderr all the same', async (t) => {
  const box = await guarded(t);
  const { status, stderr, json } = await box.signIn(['--json']);
  assert.equal(status, 0, stderr);
  assert.ok(addressIn(stderr));
  const { expiresAt, ...rest } = json();
  assert.deepEqual(rest, { ok: true, server: 'docs', state: 'authenticated', issuer: box.server.issuer, scope: [], refreshable: true, client: 'registered', signInUrl: null });
  assert.ok(Date.parse(expiresAt) > Date.now());
});

test('mcp auth registers with the redirect URL that is used; configured client, secret and scope are used as they are (row 176)', async (t) => {
  const box = await guarded(t);
  assert.equal((await box.signIn()).status, 0);
  const [registered] = box.server.seen('/register');
  assert.deepEqual(JSON.parse(registered!.body).redirect_uris, [box.server.seen('/authorize')[0]!.parameters['redirect_uri']]);
  const own = await guarded(t, { methods: ['client_secret_basic'] }, { oauth: { clientId: 'configured', clientSecret: '{env:APP_SECRET}', scope: 'read write', callbackPort: await freePort() } });
  const { status, stdout, stderr } = await own.signIn([], { env: { APP_SECRET: 'very-s3cret-thing' } });
  assert.equal(status, 0, stderr);
  assert.deepEqual([own.server.seen('/register').length, own.server.seen('/authorize')[0]!.parameters['scope']], [0, 'read write']);
  assert.match(stdout, /client +clientId of the configuration/);
  assert.equal(own.server.seen('/token')[0]!.headers.authorization, `Basic ${Buffer.from('configured:very-s3cret-thing').toString('base64')}`);
  assert.doesNotMatch(JSON.stringify(own.record()) + stdout + stderr, /very-s3cret/);
});

test('mcp auth: the verifier is nowhere on the disk while it waits, a wrong state changes nothing (row 177), and callbackPort and redirectUri are kept (row 178)', async (t) => {
  const port = await freePort();
  const box = await guarded(t, {}, { oauth: { callbackPort: port } });
  let stray: number | undefined, files = '';
  const { status, stderr } = await box.run(['mcp', 'auth', 'docs'], {
    onStderr: onAddress(async (address) => {
      files = readTree(box.directory);
      const landing = new URL(await landingOf(address)), wrong = new URL(landing);
      wrong.searchParams.set('state', 'x'.repeat(43));
      stray = (await fetch(wrong)).status;
      await fetch(landing);
    }),
  });
  assert.equal(status, 0, stderr);
  assert.equal(stray, 400);
  const verifier = box.server.seen('/token')[0]!.parameters['code_verifier']!;
  assert.ok(verifier.length >= 43 && files.includes('"pid"') && !files.includes(verifier));
  assert.equal(box.server.seen('/authorize')[0]!.parameters['redirect_uri'], `http://127.0.0.1:${port}/oauth/callback/mcp/docs`);
  const redirectUri = `http://localhost:${port}/elsewhere`;
  box.configure({ oauth: { redirectUri } });
  assert.equal((await box.signIn()).status, 0);
  assert.equal(box.server.seen('/authorize')[1]!.parameters['redirect_uri'], redirectUri);
});

test('mcp auth: a favicon does not end it, and what the service refuses is said (row 179)', async (t) => {
  const box = await guarded(t, { authorizeError: 'access_denied', errorDescription: 'not \u001b[31mtoday' });
  let favicon: number | undefined;
  let shown: (text: string) => void = () => {};
  const page = new Promise<string>((resolve) => { shown = resolve; });
  const { status, stderr } = await box.run(['mcp', 'auth', 'docs'], {
    onStderr: onAddress(async (address) => {
      const landing = await landingOf(address);
      favicon = (await fetch(new URL('/favicon.ico', landing))).status;
      shown(await (await fetch(landing)).text());
    }),
  });
  assert.deepEqual([status, favicon], [6, 404]);
  assert.match(await page, /Sign-in did not complete/);
  assert.match(stderr, /error: Cannot sign in to "docs": access was refused at http:\S+, by you or by its policy \(access_denied: not today\)/);
  assert.match(stderr, /next +Run the command again/);
  assert.match(stderr, /origin .*zuno\.json:\d+:\d+ \(global\), mcp\.docs/);
});

const refusals: readonly (readonly [what: string, behaviour: (box: Guarded) => void, expected: RegExp, asked: readonly string[]])[] = [
  ['metadata that the challenge names and that is too big (row 181)', ({ server }) => { server.behaviour.routes[prm] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(`{"x":"${'y'.repeat(1024 * 1024)}"}`); }; }, /larger than/, []],
  ['no metadata anywhere (row 183)', ({ server }) => { server.behaviour['challenge'] = 'none'; for (const place of [prm, '/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) server.behaviour.routes[place] = (_request, response) => { response.writeHead(404).end(); }; }, /nothing says how to sign in; tried http:/, []],
  ['the wrong issuer (row 184)', ({ server }) => { server.behaviour['issuer'] = 'https://elsewhere.example'; }, /elsewhere\.example/, []],
  ['a foreign resource (row 184)', ({ server }) => { server.behaviour['resource'] = 'https://elsewhere.example/mcp'; }, /elsewhere\.example/, []],
  ['the wrong issuer in the answer (row 184)', ({ server }) => { server.behaviour['iss'] = 'https://elsewhere.example'; }, /did not come from/, ['/register', '/authorize']],
];
const prm = '/.well-known/oauth-protected-resource/mcp';

for (const [what, behave, expected, asked] of refusals) {
  test(`mcp auth fails at ${what}, and asks nothing more`, async (t) => {
    const box = await guarded(t);
    behave(box);
    const { status, stderr } = await box.signIn();
    assert.equal(status, 6, stderr);
    assert.match(stderr, expected);
    assert.deepEqual(box.server.paths().filter((one) => ['/register', '/authorize', '/token'].includes(one)), asked);
    assert.equal(box.record()?.tokens, undefined);
  });
}

test('mcp auth takes guessed metadata that is too big for none, warns and goes on (row 182)', async (t) => {
  const box = await guarded(t, { challenge: 'none' });
  box.server.behaviour.routes[prm] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(`{"x":"${'y'.repeat(1024 * 1024)}"}`); };
  const { status, stderr } = await box.signIn();
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^warning: .*larger than 1048576 bytes/m);
});

// ---- a person at a terminal

test('an address that is pasted races with the browser: wrapped by the terminal, after a wrong one; the terminal is as before (row 180)', async (t) => {
  const box = await guarded(t);
  const modes: boolean[] = [];
  const wrapped = async (screen: string): Promise<string> => (await landingOf(addressIn(stripControls(screen))!)).replace(/.{40}/g, '$&\n');
  const { status, stdout, stderr } = await box.run(['mcp', 'auth', 'docs'], { terminal: { columns: 60, raw: (on) => modes.push(on), answers: [[PROMPT, 'just-a-code'], [AGAIN, wrapped]] } });
  assert.equal(status, 0, stripControls(stderr));
  assert.match(unwrapped(stderr), /That address cannot be used: it is no address\. Copy the whole address from the address bar, a code alone cannot be checked/);
  assert.match(unwrapped(stderr), /No browser is opened: there is no display\. Open the address in one\./);
  assert.match(stripControls(stdout), /Signed in to "docs"/);
  assert.deepEqual([modes.includes(true), modes.at(-1)], [true, false]);
});

test('the browser may be faster than whoever pastes: the question ends, the terminal is as before', async (t) => {
  const box = await guarded(t);
  const modes: boolean[] = [];
  let page: Promise<unknown> | undefined;
  const { status, stdout, stderr } = await box.run(['mcp', 'auth', 'docs'], {
    terminal: { columns: 60, raw: (on) => modes.push(on) }, onStderr: (screen) => { if (stripControls(screen).includes(PROMPT)) page ??= browse(addressIn(stripControls(screen))!); },
  });
  await page;
  assert.equal(status, 0, stripControls(stderr));
  assert.deepEqual([modes.includes(true), modes.at(-1)], [true, false]);
  assert.match(stripControls(stderr), /Or paste the address that the browser ended on: \n/);
  assert.match(stripControls(stdout), /^Signed in to "docs"$/m);
});

test('a redirect URL that is not on this machine can only be pasted: on a terminal, and nowhere else', async (t) => {
  const redirectUri = 'https://landing.example/done';
  const box = await guarded(t, {}, { oauth: { redirectUri } });
  const pasted = await box.run(['mcp', 'auth', 'docs'], { terminal: { columns: 60, answers: [[PROMPT, (screen) => landingOf(addressIn(stripControls(screen))!)]] } });
  assert.equal(pasted.status, 0, stripControls(pasted.stderr));
  assert.match(unwrapped(pasted.stderr), /The browser will end at https:\/\/landing\.example\/done, which is not on this machine\. Paste the whole address from its address bar here\./);
  const alone = await box.run(['mcp', 'auth', 'docs']);
  assert.deepEqual([alone.status, /Run the command on a terminal, where that address can be pasted/.test(alone.stderr), /next +Sign in on a terminal/.test(alone.stderr)], [6, true, true], alone.stderr);
});

test('five wrong addresses end it', async (t) => {
  const box = await guarded(t);
  const { status, stderr } = await box.run(['mcp', 'auth', 'docs'], { terminal: { columns: 60, answers: [[PROMPT, 'a'], [AGAIN, 'b'], [AGAIN, 'http://127.0.0.1:1/x'], [AGAIN, '?code=a&state=b'], [AGAIN, 'c']] } });
  assert.equal(status, 6);
  assert.match(unwrapped(stderr), /none of the addresses belongs to this sign-in/);
});

/** A stand-in for the system's opener, which writes down what it is given. */
function opener(t: TestContext, box: Guarded, script: string): { readonly calls: () => string[] } {
  const directory = path.join(box.directory, 'bin'), log = path.join(box.directory, 'opened');
  mkdirSync(directory);
  writeFileSync(path.join(directory, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >> '${log}'\n${script}\n`);
  chmodSync(path.join(directory, 'xdg-open'), 0o755);
  const before = process.env['PATH'];
  process.env['PATH'] = `${directory}:${before}`;
  t.after(() => { process.env['PATH'] = before; });
  return { calls: () => { try { return readFileSync(log, 'utf8').trimEnd().split('\n'); } catch { return []; } } };
}

const onLinux = { skip: process.platform !== 'linux' && 'the opener is another program there' };

test('mcp auth opens the browser on a terminal with a display: one argument, no shell', onLinux, async (t) => {
  const box = await guarded(t, { mcpPath: "/mcp/$(touch hacked);'x" });
  const { calls } = opener(t, box, 'exit 0');
  const { status, stderr } = await box.signIn([], { terminal: { columns: 80 }, env: { DISPLAY: ':9' } });
  assert.equal(status, 0, stripControls(stderr));
  assert.deepEqual(calls(), ['1', addressIn(stripControls(stderr))]);
  assert.match(stripControls(stderr), /A browser is being opened\. If none appears, open the address yourself\./);
});

test('mcp auth goes on when the opener fails, and says so', onLinux, async (t) => {
  const box = await guarded(t);
  opener(t, box, 'exit 4');
  let page: Promise<unknown> | undefined;
  const { status, stderr } = await box.run(['mcp', 'auth', 'docs'], {
    terminal: { columns: 80 }, env: { WAYLAND_DISPLAY: 'wayland-0' },
    onStderr: (screen) => { if (stripControls(screen).includes('No browser was opened: xdg-open failed with status 4')) page ??= browse(addressIn(stripControls(screen))!); },
  });
  assert.equal(status, 0, stripControls(stderr));
  await page;
});

const unattended: readonly (readonly [what: string, words: readonly string[], env: Record<string, string>, terminal: boolean, why: RegExp])[] = [
  ['with --no-browser', ['--no-browser'], { DISPLAY: ':9' }, true, /as --no-browser says/],
  ['over SSH', [], { DISPLAY: ':9', SSH_CONNECTION: '1 2 3 4' }, true, /this is an SSH session/],
  ['on a build machine', [], { DISPLAY: ':9', CI: 'true' }, true, /this is a build machine/],
  ['with BROWSER=none', [], { DISPLAY: ':9', BROWSER: 'none' }, true, /BROWSER is set to none/],
  ['without a display', [], {}, true, /there is no display/],
  ['without a terminal', [], { DISPLAY: ':9' }, false, /nobody sits at a terminal here/],
];
for (const [what, words, env, terminal, why] of unattended) {
  test(`mcp auth opens no browser ${what} (row 180)`, onLinux, async (t) => {
    const box = await guarded(t);
    const { calls } = opener(t, box, 'exit 0');
    const { status, stderr } = await box.signIn(words, { env, ...(terminal && { terminal: { columns: 80 } }) });
    assert.equal(status, 0, stripControls(stderr));
    assert.match(stripControls(stderr), why);
    assert.deepEqual(calls(), []);
  });
}

// ---- a second terminal

test('mcp auth --callback-url - hands the address to the process that waits, from stdin or as it is asked for', async (t) => {
  for (const how of ['pipe', 'terminal', 'word'] as const) {
    const box = await guarded(t);
    let second: Promise<Awaited<ReturnType<typeof box.run>>> | undefined;
    const first = await box.run(['mcp', 'auth', 'docs'], {
      onStderr: onAddress((address) => {
        second = landingOf(address).then((landing) => (how === 'pipe' ? box.run(['mcp', 'auth', 'docs', '--callback-url', '-', '--json'], { input: `${landing}\n` })
          : how === 'terminal' ? box.run(['mcp', 'login', 'docs', '--callback-url', '-'], { terminal: { columns: 70, answers: [['ended on: ', landing]] } })
            : box.run(['mcp', 'auth', 'docs', `--callback-url=${landing}`])));
      }),
    });
    const { status, stdout, stderr } = await second!;
    assert.deepEqual([first.status, status], [0, 0], first.stderr + stderr);
    if (how === 'pipe') assert.deepEqual([JSON.parse(stdout).delivered, JSON.parse(stdout).issuer], [true, box.server.issuer]);
    else assert.match(stripControls(stdout), /^Handed over: the process that waited is signed in to "docs"$/m);
  }
});

test('mcp auth --callback-url: nothing waits, a wrong address, a process that is gone, options that do not belong to it', async (t) => {
  const box = await guarded(t);
  const none = await box.run(['mcp', 'auth', 'docs', '--callback-url', '-'], { input: 'http://127.0.0.1:1/x?code=a&state=b' });
  assert.deepEqual([none.status, /no sign-in waits for an address/.test(none.stderr), /next +Start again: zuno-lite mcp auth /.test(none.stderr)], [6, true, true], none.stderr);
  let wrong: Awaited<ReturnType<typeof box.run>> | undefined;
  await box.run(['mcp', 'auth', 'docs'], {
    onStderr: onAddress(async (address) => {
      const landing = await landingOf(address);
      wrong = await box.run(['mcp', 'auth', 'docs', '--callback-url', landing.replace('/docs?', '/other?')]);
      await fetch(landing);
    }),
  });
  assert.deepEqual([wrong!.status, /it does not begin with http:\/\/127\.0\.0\.1:\d+\/oauth\/callback\/mcp\/docs/.test(wrong!.stderr)], [6, true], wrong!.stderr);
  const redirectUri = `http://127.0.0.1:${await freePort()}/oauth/callback/mcp/docs`;
  const { createStore } = await import('../../src/oauth/store.ts');
  const store = createStore({ directory: box.store, name: 'docs', serverUrl: box.server.url, log: () => {} });
  await store.publish({ url: `${box.server.issuer}/authorize`, redirectUri, startedAt: Date.now(), expiresAt: Date.now() + 60_000, pid: 1 });
  const gone = await box.run(['mcp', 'auth', 'docs', '--callback-url', `${redirectUri}?code=a&state=b`]);
  assert.deepEqual([gone.status, /the sign-in that this address belongs to is over/.test(gone.stderr), /Start again: zuno-lite mcp auth docs/.test(gone.stderr)], [6, true, true], gone.stderr);
  assert.equal((await box.run(['mcp', 'auth', 'docs', '--callback-url', '-', '--device'])).status, 2);
});

test('a second mcp auth shows the same address and ends with the first', async (t) => {
  const box = await guarded(t);
  let second: ReturnType<typeof box.run> | undefined;
  const addresses: string[] = [];
  const first = await box.run(['mcp', 'auth', 'docs'], {
    onStderr: onAddress((one) => {
      addresses.push(one);
      second = box.run(['mcp', 'auth', 'docs'], { onStderr: onAddress((two) => { addresses.push(two); void browse(two); }) });
    }),
  });
  const { status, stderr } = await second!;
  assert.deepEqual([first.status, status, addresses[0]], [0, 0, addresses[1]], stderr);
  assert.match(stderr, /Another process waits for this sign-in already/);
  assert.match(stderr, /To hand it the address that the browser ends on: zuno-lite mcp auth docs --callback-url -/);
  assert.equal(box.server.stats.codeGrants, 1);
});

// ---- other ways to sign in

test('mcp auth --device shows address and code; the code is entered elsewhere', async (t) => {
  const box = await guarded(t, { devicePending: 2, userCode: 'WD\u001b[2JJB-MJHT' });
  const { status, stdout, stderr } = await box.run(['mcp', 'auth', 'docs', '--device'], { terminal: { columns: 80 }, env: { DISPLAY: ':9' } });
  assert.equal(status, 0, stripControls(stderr));
  const shown = stripControls(stderr);
  assert.match(shown, new RegExp(`^${box.server.issuer}/activate$`, 'm'));
  assert.match(shown, /and enter WDJB-MJHT {3}\(expires in \d+ seconds\)/);
  assert.match(shown, new RegExp(`^${box.server.issuer}/activate\\?user_code=x$`, 'm'));
  assert.match(stripControls(stdout), /Signed in to "docs"/);
  assert.deepEqual([box.server.stats.deviceGrants, box.server.stats.authorizes], [1, 0]);
});

test('mcp auth --device says what is refused, and where it is not offered', async (t) => {
  const box = await guarded(t, { deviceAnswers: ['access_denied'] });
  const denied = await box.run(['mcp', 'auth', 'docs', '--device']);
  assert.deepEqual([denied.status, /access was refused/.test(denied.stderr)], [6, true], denied.stderr);
  box.server.behaviour['metadata'] = { device_authorization_endpoint: null };
  const without = await box.run(['mcp', 'auth', 'docs', '--device']);
  assert.deepEqual([without.status, /offers no device sign-in/.test(without.stderr)], [6, true], without.stderr);
});

test('mcp auth --scope asks for more, together with what was granted before, and registers anew where the registration is for less', async (t) => {
  const box = await guarded(t, { challengeScope: 'read' });
  assert.equal((await box.signIn()).status, 0);
  assert.equal((await box.signIn(['--scope', 'write admin', '--scope=more'])).status, 0);
  assert.equal(box.server.seen('/authorize')[1]!.parameters['scope'], 'read write admin more');
  assert.deepEqual(box.server.seen('/register').map(({ body }) => JSON.parse(body).scope), ['read', 'read write admin more']);
  assert.equal((await box.signIn(['--scope', 'write'])).status, 0);
  assert.equal(box.server.stats.registrations, 2);
});

test('mcp auth refuses where signing in would have no effect: a fixed header, oauth off, a headersCommand, a local server, an unknown name (row 191)', async (t) => {
  const box = await guarded(t);
  const cases: readonly (readonly [entry: object, status: number, expected: RegExp])[] = [
    [{ headers: { authorization: 'Bearer fixed-token' } }, 6, /a fixed Authorization header is configured[\s\S]*next +Remove the header first/],
    [{ oauth: false }, 6, /OAuth is turned off for it/],
    [{ headersCommand: ['true'] }, 6, /its headers come from a program \(headersCommand\)[\s\S]*next +Remove headersCommand first/],
    [{ oauth: { callbackPort: 'x' } }, 3, /oauth/],
    [{ oauth: { clientId: 'a', clientSecret: '{env:NOT_SET_ANYWHERE}' } }, 3, /NOT_SET_ANYWHERE/],
  ];
  for (const [entry, expectedStatus, expected] of cases) {
    box.configure(entry);
    const { status, stderr } = await box.run(['mcp', 'auth', 'docs']);
    assert.deepEqual([status, expected.test(stderr)], [expectedStatus, true], stderr);
    assert.doesNotMatch(stderr, /fixed-token/);
  }
  assert.deepEqual(box.server.paths(), []);
  box.configure({}, { files: fixture() });
  const local = await box.run(['mcp', 'auth', 'files']);
  assert.deepEqual([local.status, /it is started by a command, which gets its credentials from its environment/.test(local.stderr)], [2, true]);
  const unknown = await box.run(['mcp', 'auth', 'doc']);
  assert.deepEqual([unknown.status, /did you mean "docs"/.test(unknown.stderr)], [2, true]);
  assert.equal((await box.run(['mcp', 'auth'])).status, 2);
});

test('mcp auth with client credentials needs nobody and keeps nothing (row 191)', async (t) => {
  const box = await guarded(t, { methods: ['client_secret_basic'] }, { oauth: { type: 'client_credentials', clientId: 'configured', clientSecret: '{env:APP_SECRET}' } });
  const env = { APP_SECRET: 'very-s3cret-thing' };
  const { status, stdout, stderr } = await box.run(['mcp', 'auth', 'docs'], { env });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /each run gets a token of its own, and none is kept/);
  assert.equal(addressIn(stderr), undefined);
  assert.deepEqual([box.server.stats.clientCredentials, box.server.stats.authorizes, box.record()], [1, 0, undefined]);
});

test('mcp auth signs in to a server that lets anybody in', async (t) => {
  const box = await guarded(t, { anonymous: true });
  assert.equal((await box.signIn()).status, 0);
  assert.equal(box.server.stats.codeGrants, 1);
});

// ---- ending early

test('Ctrl-C while it waits: 130, nothing waits any more, no listener stays', async (t) => {
  const box = await guarded(t, {}, { oauth: { callbackPort: await freePort() } });
  const child = box.start(['mcp', 'auth', 'docs']);
  let stderr = '', asked = false;
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    stderr += text;
    if (asked || addressIn(stderr) === undefined || !stderr.includes('Waiting until')) return;
    asked = true;
    child.kill('SIGINT');
  });
  const [status] = await once(child, 'close');
  assert.equal(status, 130, stderr);
  assert.match(stderr, /canceled\n[\s\S]*repeat +yes/);
  assert.deepEqual(box.pending(), []);
  const landing = new URL(new URL(addressIn(stderr)!).searchParams.get('redirect_uri')!);
  await assert.rejects(fetch(landing));
});

test('--timeout bounds it, and says so', async (t) => {
  const box = await guarded(t);
  const { status, stderr } = await box.run(['mcp', 'auth', 'docs', '--timeout', '400']);
  assert.deepEqual([status, /the time of --timeout is used up/.test(stderr)], [4, true], stderr);
  assert.deepEqual(box.pending(), []);
});

test('Ctrl-C on a real terminal: 130, and the terminal is as before', onLinux, async (t) => {
  const box = await guarded(t);
  const { spawn } = await import('node:child_process');
  const entry = path.join(import.meta.dirname ?? '.', 'entry.ts'), root = path.resolve(import.meta.dirname ?? '.', '../..');
  // `script` gives the shell a terminal of its own; what it is set to is told before and after.
  const line = `stty -a; "${process.execPath}" --import tsx "${entry}" mcp auth docs; echo "status $?"; stty -a`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: root, env: { ...box.env, TERM: 'xterm', SHELL: '/bin/sh' }, stdio: 'pipe' });
  let screen = '', sent = false;
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text;
    if (sent || !stripControls(screen).includes(PROMPT)) return;
    sent = true;
    child.stdin.write('\u0003');
  });
  await once(child, 'close');
  const shown = stripControls(screen);
  assert.match(shown, /^status 130$/m, shown);
  const [before, after] = [...shown.matchAll(/^speed .*(?:\n(?!speed|Sign|status|\/).*)*/gm)].map((match) => match[0].match(/-?(?:icanon|echo|isig|icrnl)\b/g));
  assert.ok(before?.includes('icanon') === true && before.includes('echo'));
  assert.deepEqual(after, before);
});

function readTree(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => readFileSync(path.join(entry.parentPath ?? entry.path, entry.name), 'utf8')).join('\n');
}
