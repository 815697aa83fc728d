import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fixture, sandbox } from './support.ts';

test('mcp add NAME -- COMMAND ARGS writes a local server (row 1)', async (t) => {
  const { run, read, globalFile } = sandbox(t);
  const { status, stdout } = await run(['mcp', 'add', 'fs', '--', 'node', 'FS.js', '/srv/data']);
  assert.equal(status, 0);
  assert.deepEqual(read().mcp.fs, { type: 'local', command: ['node', 'FS.js', '/srv/data'] });
  assert.match(stdout, new RegExp(`^Added server "fs" in ${globalFile} \\(global\\)$`, 'm'));
});

test('mcp add --env passes variables, split at the first = (row 2)', async (t) => {
  const { run, read, workspace } = sandbox(t);
  assert.equal((await run(['mcp', 'add', 'fs', '--env', 'LOG_LEVEL=warn', '--env', 'A=b=c', '--cwd', 'data', '--timeout', '700', '--protocol', 'legacy', '--disabled', '--', 'node', 'FS.js'])).status, 0);
  assert.deepEqual(read().mcp.fs, { type: 'local', command: ['node', 'FS.js'], cwd: path.join(workspace, 'data'), environment: { LOG_LEVEL: 'warn', A: 'b=c' }, timeout: 700, protocol: 'legacy', enabled: false });
});

test('mcp add --url takes headers with a colon and with = (row 3)', async (t) => {
  const { run, read } = sandbox(t);
  assert.equal((await run(['mcp', 'add', 'wiki', '--url', 'http://127.0.0.1:9/mcp', '--header', 'Authorization: Bearer x', '--header', 'X-Tenant=a'])).status, 0);
  assert.deepEqual(read().mcp.wiki, { type: 'remote', url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer x', 'X-Tenant': 'a' } });
});

test('mcp add takes the spellings of other clients', async (t) => {
  const { run, read } = sandbox(t);
  assert.equal((await run(['mcp', 'add', '--transport', 'http', 'one', 'https://example.com/mcp'])).status, 0);
  assert.equal((await run(['mcp', 'add', 'two', 'https://example.com/sse', '-t', 'sse', '-H', 'X-A: 1', '--client-id', 'me', '--scope', 'read'])).status, 0);
  assert.equal((await run(['mcp', 'add', '-e', 'A=1', 'three', '--', 'npx', '-y', 'pkg', '--flag'])).status, 0);
  assert.equal((await run(['mcp', 'add', 'four', '--no-oauth', '--url=https://example.com/{env:PATH_PART}'])).status, 0);
  assert.deepEqual(read().mcp, {
    one: { type: 'remote', transport: 'http', url: 'https://example.com/mcp' },
    two: { type: 'remote', transport: 'sse', url: 'https://example.com/sse', headers: { 'X-A': '1' }, oauth: { clientId: 'me', scope: 'read' } },
    three: { type: 'local', command: ['npx', '-y', 'pkg', '--flag'], environment: { A: '1' } },
    four: { type: 'remote', url: 'https://example.com/{env:PATH_PART}', oauth: false },
  });
});

const misuse: readonly (readonly [why: string, args: readonly string[], names: RegExp])[] = [
  ['a URL and a command', ['x', '--url', 'http://127.0.0.1/', '--', 'node'], /URL and a command/],
  ['neither', ['x'], /without a command or a URL/],
  ['an empty command', ['x', '--'], /without a command or a URL/],
  ['--env with a URL', ['x', '--url', 'http://127.0.0.1/', '--env', 'A=b'], /--env for a server that is reached by URL/],
  ['--header with a command', ['x', '--header', 'A: b', '--', 'node'], /--header for a server that is started by a command/],
  ['--env without =', ['x', '--env', 'SECRET', '--', 'node'], /--env: its value is not NAME=value/],
  ['a header without a separator', ['x', '--url', 'http://127.0.0.1/', '--header', 'nothing'], /--header: its value is not "Name: value"/],
  ['a header twice', ['x', '--url', 'http://127.0.0.1/', '--header', 'A: 1', '--header', 'a: 2'], /--header "a" twice/],
  ['a command without --', ['x', 'npx', 'pkg'], /a command stands after "--"/],
  ['two URLs', ['x', 'http://127.0.0.1/', '--url', 'http://127.0.0.1/b'], /two URLs/],
  ['a URL as a command', ['x', '--', 'https://example.com'], /it is a URL, not a program/],
  ['stdio with a URL', ['x', '--transport', 'stdio', '--url', 'http://127.0.0.1/'], /--transport stdio with a URL/],
  ['http with a command', ['x', '--transport', 'http', '--', 'node'], /--transport http with a command/],
  ['an unknown transport', ['x', '--transport', 'carrier', '--', 'node'], /it is not http, sse or stdio/],
  ['an unknown protocol', ['x', '--protocol', '2025-11-26', '--', 'node'], /did you mean "2025-11-25"/],
  ['the scope of another client', ['x', '--scope', 'user', '--url', 'http://127.0.0.1/'], /the scope of OAuth/],
  ['--no-oauth with a client', ['x', '--no-oauth', '--client-id', 'a', '--url', 'http://127.0.0.1/'], /--no-oauth together/],
  ['a reserved name', ['list', '--', 'node'], /the word is reserved/],
  ['a name that is none', ['--', 'node'], /NAME is missing/],
  ['--from-json and a command', ['x', '--from-json', '{}', '--', 'node'], /--from-json together with a command/],
];
for (const [why, args, names] of misuse) {
  test(`mcp add refuses ${why} and leaves the file alone (row 4)`, async (t) => {
    const { run, config, globalFile } = sandbox(t);
    config({ mcp: { old: fixture() } });
    const before = readFileSync(globalFile, 'utf8');
    const { status, stderr } = await run(['mcp', 'add', ...args]);
    assert.equal(status, 2);
    assert.match(stderr, names);
    assert.doesNotMatch(stderr, /SECRET/);
    assert.equal(readFileSync(globalFile, 'utf8'), before);
  });
}

test('mcp add hands back the command line with its -- in place', async (t) => {
  const { stderr } = await sandbox(t).run(['mcp', 'add', 'x', 'npx', '--', 'a b']);
  assert.match(stderr, /next {4}zuno-lite mcp add x -- npx 'a b'$/m);
});

test('mcp add quotes a URL that is none (row 5)', async (t) => {
  const { run, globalFile } = sandbox(t);
  const { status, stderr } = await run(['mcp', 'add', 'x', '--url', 'not a url']);
  assert.equal(status, 2);
  assert.match(stderr, /"not a url"/);
  assert.match((await run(['mcp', 'add', 'x', '--url', 'ftp://example.com/'])).stderr, /must begin with https/);
  assert.equal(existsSync(globalFile), false);
});

test('mcp add keeps other keys and their order (row 6)', async (t) => {
  const { run, config, read } = sandbox(t);
  config({ theme: 'dark', mcp: { z: fixture() }, permission: { mode: 'strict' } });
  await run(['mcp', 'add', 'a', '--', 'node']);
  assert.deepEqual(Object.keys(read()), ['theme', 'mcp', 'permission']);
  assert.deepEqual(Object.keys(read().mcp), ['z', 'a']);
});

test('mcp add keeps the comments of zuno.jsonc and makes no second file (row 7)', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config('{\n  // mine\n  "mcp": {}\n}\n', 'zuno.jsonc');
  assert.equal((await run(['mcp', 'add', 'a', '--', 'node'])).status, 0);
  const text = readFileSync(path.join(path.dirname(globalFile), 'zuno.jsonc'), 'utf8');
  assert.match(text, /\/\/ mine/);
  assert.match(text, /"a"/);
  assert.deepEqual(readdirSync(path.dirname(globalFile)), ['zuno.jsonc']);
});

test('mcp add refuses a name that is taken unless --replace; --dry-run writes nothing', async (t) => {
  const { run, config, read } = sandbox(t);
  config({ mcp: { a: { type: 'local', command: ['one'] } } });
  const taken = await run(['mcp', 'add', 'a', '--', 'two']);
  assert.equal(taken.status, 2);
  assert.match(taken.stderr, /exists already in .*line 3/);
  const planned = await run(['mcp', 'add', 'a', '--replace', '--dry-run', '--', 'two']);
  assert.equal(planned.status, 0);
  assert.match(planned.stdout, /^Would replace server "a"/);
  assert.match(planned.stdout, /^ {2}- .*\n[^]*^ {2}\+ /m);
  assert.deepEqual(read().mcp.a.command, ['one']);
  const done = (await run(['mcp', 'add', 'a', '--replace', '--json', '--', 'two'])).json();
  assert.deepEqual([done.ok, done.change, done.written, done.layer], [true, 'replaced', true, 'global']);
  assert.deepEqual(read().mcp.a.command, ['two']);
});

test('mcp add warns of a secret in the file and never shows it', async (t) => {
  const { run } = sandbox(t);
  const { stdout, stderr } = await run(['mcp', 'add', 'w', '--url', 'https://example.com/mcp?key=hunter22', '--header', 'Authorization: Bearer hunter22x', '--literal']);
  assert.match(stderr, /warning: "headers.Authorization" holds what looks like a secret/);
  assert.doesNotMatch(stdout + stderr, /hunter22/);
});

test('mcp add --project and --config FILE choose the file', async (t) => {
  const { run, workspace, globalFile, file } = sandbox(t);
  const project = await run(['mcp', 'add', 'r', '--url', 'https://example.com/mcp', '--project']);
  assert.match(project.stdout, /zuno\.json \(project\)/);
  assert.ok(existsSync(path.join(workspace, 'zuno.json')));
  const own = file('own.json', '{}');
  assert.match((await run(['mcp', 'add', 'o', '--config', 'own.json', '--', 'node'])).stdout, /own\.json \(cli\)/);
  assert.match(readFileSync(own, 'utf8'), /"o"/);
  assert.equal(existsSync(globalFile), false);
});

test('mcp add-json takes snippets as documents show them', async (t) => {
  const { run, read, file } = sandbox(t);
  assert.equal((await run(['mcp', 'add-json', 'a', '{"command":"npx","args":["-y","pkg"],"env":{"TOKEN":"${TOKEN}"}}'])).status, 0);
  assert.equal((await run(['mcp', 'add-json', 'b', '-'], { input: '{"type":"sse","url":"https://example.com/sse","headers":{"A":"${env:B}"}}' })).status, 0);
  assert.equal((await run(['mcp', 'add-json', '{"mcpServers":{"c":{"type":"http","url":"https://example.com/mcp","disabled":true}}}'])).status, 0);
  file('snippet.json', '{"type":"local","command":["node","x.js"],"timeout":900}');
  assert.equal((await run(['mcp', 'add-json', 'd', '@snippet.json', '--disabled'])).status, 0);
  assert.equal((await run(['mcp', 'add', 'e', '--from-json', '{"mcp":{"servers":{"x":{"command":"node","cwd":"/srv"}}}}'])).status, 0);
  assert.deepEqual(read().mcp, {
    a: { type: 'local', command: ['npx', '-y', 'pkg'], environment: { TOKEN: '{env:TOKEN}' } },
    b: { type: 'remote', transport: 'sse', url: 'https://example.com/sse', headers: { A: '{env:B}' } },
    c: { type: 'remote', transport: 'http', url: 'https://example.com/mcp', enabled: false },
    d: { type: 'local', command: ['node', 'x.js'], timeout: 900, enabled: false },
    e: { type: 'local', command: ['node'], cwd: '/srv' },
  });
});

for (const [why, args, names] of [
  ['what is no JSON', ['a', '{'], /not a JSON object/], ['unknown keys', ['a', '{"command":"x","colour":1}'], /"colour" means nothing here/],
  ['both kinds', ['a', '{"command":"x","url":"https://a"}'], /both "command" and "url"/], ['neither kind', ['a', '{"env":{}}'], /neither "command" nor "url"/],
  ['wrong types', ['a', '{"command":"x","args":"y"}'], /"args" of the snippet: it must be a list of texts/], ['several servers', ['{"mcpServers":{"a":{},"b":{}}}'], /exactly one server/],
  ['a snippet without a name', ['{"command":"x"}'], /does not name its server/], ['references with a default', ['a', '{"command":"${A:-b}"}'], /with a default/],
] as const) {
  test(`mcp add-json refuses ${why}`, async (t) => {
    const { run, globalFile } = sandbox(t);
    const { status, stderr } = await run(['mcp', 'add-json', ...args]);
    assert.equal(status, 2);
    assert.match(stderr, names);
    assert.equal(existsSync(globalFile), false);
  });
}

test('mcp remove, enable and disable change the file that has the server and say which', async (t) => {
  const { run, config, read, globalFile } = sandbox(t);
  config({ mcp: { a: { type: 'local', command: ['node'] }, b: { type: 'local', command: ['node'] } } });
  assert.match((await run(['mcp', 'disable', 'a'])).stdout, new RegExp(`^Disabled server "a" in ${globalFile} \\(global\\)`));
  assert.equal(read().mcp.a.enabled, false);
  assert.match((await run(['mcp', 'enable', 'a', '--dry-run'])).stdout, /^Would enable server "a"/);
  assert.equal(read().mcp.a.enabled, false);
  assert.equal((await run(['mcp', 'enable', 'a', '--json'])).json().written, true);
  assert.equal(read().mcp.a.enabled, true);
  assert.match((await run(['mcp', 'enable', 'a'])).stdout, /^Nothing to change for server "a"/);
  assert.match((await run(['mcp', 'rm', 'a'])).stdout, /^Removed server "a" from /);
  assert.deepEqual(Object.keys(read().mcp), ['b']);
});

test('a near miss is suggested and never removed, enabled or shown', async (t) => {
  const { run, config, read } = sandbox(t);
  config({ mcp: { docs: { type: 'local', command: ['node'] } } });
  for (const verb of ['remove', 'enable', 'disable', 'get', 'debug']) {
    const { status, stderr } = await run(['mcp', verb, 'dcs']);
    assert.equal(status, 2, verb);
    assert.match(stderr, /Cannot find the server "dcs"/);
    assert.match(stderr, /[Dd]id you mean "docs"/);
  }
  assert.deepEqual(Object.keys(read().mcp), ['docs']);
});

test('mcp get shows the entry with its references readable and all other values masked (row 36)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: {
    wiki: { type: 'remote', url: 'https://user:pw12345@example.com/mcp?key=hunter22', headers: { Authorization: 'Bearer {env:TOK}', 'X-Plain': 'hunter22' }, oauth: false },
    fs: { type: 'local', command: ['node', 'a b.js', '--token=hunter22'], environment: { A: 'hunter22', B: '{env:TOK}' }, enabled: false },
  } });
  const wiki = await run(['mcp', 'get', 'wiki'], { env: { TOK: 'hunter22' } });
  assert.match(wiki.stdout, /Authorization: Bearer \{env:TOK\}$/m);
  assert.match(wiki.stdout, /X-Plain: \*\*\*$/m);
  assert.match(wiki.stdout, /oauth +off$/m);
  const fs = await run(['mcp', 'get', 'fs']);
  assert.match(fs.stdout, /^fs {2}\(disabled\)$/m);
  assert.match(fs.stdout, /command +node 'a b.js' /m);
  assert.match(fs.stdout, /A=\*\*\*\n +B=\{env:TOK\}$/m);
  const document = (await run(['mcp', 'get', 'fs', '--json'])).json();
  assert.deepEqual(document.server.environment, { A: '***', B: '{env:TOK}' });
  for (const text of [wiki.stdout, fs.stdout, JSON.stringify(document), (await run(['mcp', 'get', 'wiki', '--json'])).stdout]) assert.doesNotMatch(text, /hunter22|pw12345/);
});
