import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { sandbox } from './support.ts';

const url = 'https://docs.test/mcp';

test('debug config shows layers, values with their lines, what they stand over, and no secret (row 32)', async (t) => {
  const { run, config, file, globalFile, workspace } = sandbox(t);
  config({ mcp: { docs: { type: 'remote', url, headers: { Authorization: 'Bearer hunter22x' }, timeout: 100 } } });
  file('zuno.json', JSON.stringify({ mcp: { docs: { timeout: 200 } } }));
  const env = { ZUNO_CONFIG_CONTENT: '{"mcp":{"docs":{"timeout":300}}}' };
  const text = await run(['debug', 'config'], { env });
  assert.equal(text.status, 0);
  assert.match(text.stdout, /project +untrusted +loaded +.*work\/zuno\.json/);
  assert.match(text.stdout, /mcp\.docs\.timeout +300 +ZUNO_CONFIG_CONTENT:1:17 \(env-content\)\n +over +200 .*zuno\.json:1:17 \(project\)\n +over +100 .*zuno\.json:9:7 \(global\)/);
  assert.doesNotMatch(text.stdout + text.stderr, /hunter22x/);
  const json = (await run(['debug', 'config', '--json'], { env })).json();
  assert.equal(json.config.mcp.docs.timeout, 300);
  assert.deepEqual(json.values.find((one: any) => one.key === 'mcp.docs.timeout').shadowed.map((one: any) => one.origin.file), [path.join(workspace, 'zuno.json'), globalFile]);
  assert.deepEqual(json.layers.filter((one: any) => one.state === 'loaded').map((one: any) => [one.layer, one.standing]), [['global', 'trusted'], ['project', 'untrusted'], ['env-content', 'trusted']]);
  assert.ok(json.layers.some((one: any) => one.layer === 'managed' && one.state === 'absent'));
  assert.equal(json.config.mcp.docs.headers.Authorization, 'Bearer ***');
  assert.match((await run(['debug', 'config', '--all'])).stdout, /managed +trusted +absent/);
});

test('debug config tells remarks, lost servers and that MCP is off', async (t) => {
  const { run, config } = sandbox(t);
  assert.match((await run(['debug', 'config'])).stdout, /nothing is set/);
  config({ mcp: { bad: { type: 'remote' }, old: { type: 'remote', url, colour: 1 } }, features: { mcp: false } });
  const { stdout, stderr } = await run(['debug', 'config']);
  assert.match(stdout, /error: .*"bad": "url" is missing/);
  assert.match(stderr, /MCP is off/);
  assert.deepEqual((await run(['debug', 'config', '--json'])).json().lost, ['bad', 'old']);
  config('{');
  const broken = await run(['debug', 'config', '--json']);
  assert.deepEqual([broken.status, broken.json().error.code, broken.json().error.details.line], [3, 'CONFIG_UNREADABLE', 1]);
});

test('debug paths names every place and whether it is here', async (t) => {
  const { run, workspace, globalFile } = sandbox(t);
  const json = (await run(['debug', 'paths', '--json'], { env: { ZUNO_CONFIG: 'x.json' } })).json();
  const place = (name: string): any => json.paths.find((one: any) => one.name === name);
  assert.deepEqual([place('config').path, place('config').exists, place('workspace').path, place('ZUNO_CONFIG').path, place('project').path], [path.dirname(globalFile), true, workspace, path.join(workspace, 'x.json'), workspace]);
  const off = await run(['debug', 'paths'], { env: { ZUNO_DISABLE_PROJECT_CONFIG: '1' } });
  assert.match(off.stderr, /Project files are not read/);
  assert.doesNotMatch(off.stdout, /untrusted/);
});

test('mcp set types each value by its key and keeps the rest of the file', async (t) => {
  const { run, config, globalFile, read } = sandbox(t);
  config(`{\n  // mine\n  "mcp": {\n    "docs": {\n      "type": "remote", // kind\n      "url": "${url}",\n    },\n  },\n}\n`);
  const { status, stdout } = await run(['mcp', 'set', 'docs', 'timeout=500', 'enabled=no', 'headers.X-Team=core', 'headers.Authorization=Bearer {env:DOCS}', 'oauth.callbackPort=8080', 'oauth.clientId=42', 'protocol=legacy']);
  assert.equal(status, 0);
  assert.match(stdout, /Changed server "docs"/);
  const text = readFileSync(globalFile, 'utf8');
  assert.match(text, /\/\/ mine/);
  assert.match(text, /\/\/ kind/);
  const docs = (await run(['mcp', 'get', 'docs', '--json'])).json().server;
  assert.deepEqual([docs.timeouts.requestMs, docs.enabled, docs.headers['Authorization'], docs.protocol], [500, false, 'Bearer {env:DOCS}', 'legacy']);
  assert.match(text, /"clientId": "42"/);
  assert.match(text, /"callbackPort": 8080/);
  config({ mcp: { fs: { type: 'local', command: ['a'], environment: { A: '1' }, timeout: 5 } } });
  await run(['mcp', 'set', 'fs', 'command=["node","a b.js"]', '--unset', 'timeout', 'environment.A=null', 'environment.B=x=y']);
  assert.deepEqual(read().mcp.fs, { type: 'local', command: ['node', 'a b.js'], environment: { B: 'x=y' } });
  await run(['mcp', 'set', 'fs', 'command=node server.js', 'oauth=null', 'environment={"C":"1"}']);
  assert.deepEqual(read().mcp.fs, { type: 'local', command: ['node', 'server.js'], environment: { C: '1' } });
  assert.match((await run(['mcp', 'set', 'fs', 'timeout=9', '--dry-run'])).stdout, /Would change/);
  assert.equal(read().mcp.fs.timeout, undefined);
});

test('mcp set refuses what a key cannot be, unknown keys, twice the same, and changes nothing', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config({ mcp: { docs: { type: 'remote', url } } });
  const before = readFileSync(globalFile, 'utf8');
  for (const [words, expected] of [
    [['timeout=soon'], /must be a number/], [['enabled=perhaps'], /must be true or false/], [['tiemout=5'], /did you mean "timeout"/], [['nonsense'], /key=value is due/], [[], /no key=value is given/], [['=5'], /key=value is due/],
    [['timeout=1', 'timeout=2'], /"timeout" twice/], [['command=node "a b"'], /quotes and brackets are read as JSON only/], [['headers=x'], /an object is due/], [['timeout.x=1'], /has no members/], [['oauth=true'], /an object is due, or false/], [['--unset', 'nope'], /no such key/],
  ] as const) {
    const { status, stderr } = await run(['mcp', 'set', 'docs', ...words]);
    assert.equal(status, 2, words.join(' '));
    assert.match(stderr, expected);
  }
  assert.deepEqual([(await run(['mcp', 'set', 'docs', 'command=x'])).status, (await run(['mcp', 'set', 'docs', 'url=nothing'])).status, (await run(['mcp', 'set', 'none', 'timeout=5'])).status], [3, 3, 2]);
  assert.match((await run(['mcp', 'set', 'docs', 'timeout=5', '--project', '--global'])).stderr, /one file or the other/);
  assert.equal(readFileSync(globalFile, 'utf8'), before);
});

test('a literal secret is refused by mcp set and mcp add without --literal, with the form that keeps it out', async (t) => {
  const { run, config, read, globalFile } = sandbox(t);
  config({ mcp: { docs: { type: 'remote', url } } });
  const before = readFileSync(globalFile, 'utf8');
  for (const args of [['mcp', 'set', 'docs', 'headers.Authorization=Bearer hunter22x'], ['mcp', 'add', 'docs', '--replace', '--url', url, '--header', 'Authorization: Bearer hunter22x']]) {
    const { status, stderr } = await run(args);
    assert.equal(status, 2);
    assert.match(stderr, /write "Bearer \{env:DOCS_TOKEN\}", and set that variable; or repeat with --literal/);
    assert.doesNotMatch(stderr, /hunter22x/);
    assert.equal(readFileSync(globalFile, 'utf8'), before);
    const forced = await run([...args, '--literal']);
    assert.equal(forced.status, 0);
    assert.match(forced.stderr, /warning: .*will keep it readable/);
    assert.doesNotMatch(forced.stdout + forced.stderr, /hunter22x/);
    assert.equal(read().mcp.docs.headers.Authorization, 'Bearer hunter22x');
    config(before);
  }
  assert.equal((await run(['mcp', 'add-json', 'x', JSON.stringify({ url, headers: { 'X-Api-Key': 'hunter22x' } })])).status, 2);
});

test('--global chooses the own file although the project has the server, and --project the other', async (t) => {
  const { run, config, file, read, workspace } = sandbox(t);
  config({});
  file('zuno.json', JSON.stringify({ mcp: { docs: { type: 'remote', url } } }));
  assert.equal((await run(['mcp', 'set', 'docs', 'timeout=5', '--global'])).status, 2);
  assert.equal((await run(['mcp', 'set', 'docs', 'timeout=5', '--project'])).status, 0);
  assert.match(readFileSync(path.join(workspace, 'zuno.json'), 'utf8'), /"timeout":\s*5/);
  await run(['mcp', 'disable', 'docs', '--global']);
  assert.deepEqual(read().mcp.docs, { enabled: false });
});

test('mcp list shows a server as it is now: connected while it runs, not reachable afterwards (row 10)', async (t) => {
  const { run, config } = sandbox(t);
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => { body += chunk; }).on('end', () => {
      const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
      if (request.method !== 'POST') { response.writeHead(405).end(); return; }
      if (id === undefined) { response.writeHead(202).end(); return; }
      const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } : method === 'tools/list' ? { tools: [{ name: 'a', inputSchema: { type: 'object' } }, { name: 'b', inputSchema: { type: 'object' } }] } : undefined;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }) }));
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  config({ mcp: { docs: { type: 'remote', transport: 'http', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` } } });
  const row = async (): Promise<any> => (await run(['mcp', 'list', '--json', '--timeout', '8000'])).json().servers[0];
  const up = await row();
  assert.deepEqual([up.status, up.toolCount], ['connected', 2]);
  server.closeAllConnections();
  await new Promise((resolve) => { server.close(resolve); });
  const down = await row();
  assert.notEqual(down.status, 'connected');
  assert.ok(down.error !== null && down.toolCount === null);
});

test('features.mcp false starts no server and says that MCP is off (row 49)', async (t) => {
  const { run, config, directory } = sandbox(t);
  const marker = path.join(directory, 'marker');
  config({ features: { mcp: false }, mcp: { a: { type: 'local', command: [process.execPath, '-e', `require('fs').writeFileSync(${JSON.stringify(marker)}, '')`] } } });
  assert.equal((await run(['mcp', 'list', '--json'])).json().servers[0].status, 'disabled');
  assert.equal((await run(['tools', '--json'])).status, 0);
  assert.notEqual((await run(['call', 'a_x', '--yes', '--json'])).status, 0);
  assert.equal(existsSync(marker), false);
  assert.match((await run(['debug', 'config'])).stderr, /MCP is off/);
});
