import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { demoServer, fixture, sandbox } from './support.ts';

const demo = { type: 'local', command: [process.execPath, demoServer] };

test('resources lists all servers sorted, each with its server, templates too; an unknown server is refused (row 163)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { z: fixture('--resources'), demo, plain: fixture() } });
  const { status, stdout } = await run(['resources']);
  assert.equal(status, 0);
  assert.deepEqual(stdout.split('\n').slice(1, -1).map((line) => line.split(/ +/).slice(0, 2).join(' ')), ['demo demo://guide', 'demo demo://notes/{number}', 'demo demo://picture', 'z file:///a.txt', 'z file:///{name}', 'z file:///b.bin']);
  assert.deepEqual((await run(['resources', '--templates', '--json'])).json().resources, []);
  assert.doesNotMatch((await run(['resources', '--templates'])).stdout, /a\.txt/);
  const document = (await run(['resources', 'z', '--json'])).json();
  assert.deepEqual(document.resources.map((one: any) => [one.server, one.uri]), [['z', 'file:///a.txt'], ['z', 'file:///b.bin']]);
  assert.deepEqual(document.templates.map((one: any) => one.uriTemplate), ['file:///{name}']);
  const unknown = await run(['resources', 'nothing']);
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /configured are z, demo, plain/);
  assert.match((await run(['resources', 'plain'])).stderr, /No resources/);
});

test('read prints text, tells of bytes and saves them (row 164)', async (t) => {
  const { run, config, workspace } = sandbox(t);
  config({ mcp: { z: fixture('--resources') } });
  assert.deepEqual((({ status, stdout, stderr }) => ({ status, stdout, stderr }))(await run(['read', 'z', 'file:///a.txt'])), { status: 0, stdout: 'alpha\n', stderr: '' });
  assert.equal((await run(['read', 'z', 'file:///b.bin'])).stdout, '[bytes application/octet-stream, 3 B]\n');
  const directory = path.join(workspace, 'out');
  assert.match((await run(['read', 'z', 'file:///b.bin', '-o', directory])).stdout, /saved to .*b\.bin-1\.bin$/m);
  assert.deepEqual([...readFileSync(path.join(directory, 'b.bin-1.bin'))], [0, 1, 2]);
  const document = (await run(['read', 'z', 'file:///b.bin', '--json', '--output', directory])).json();
  assert.deepEqual([document.contents[0].blob, document.saved.length], ['AAEC', 1]);
  const missing = await run(['read', 'z', 'file:///nothing']);
  assert.equal(missing.status, 5);
  assert.match(missing.stderr, /not found/i);
  assert.equal((await run(['read', 'y', 'file:///a.txt'])).status, 2);
});

test('prompts lists server:prompt with the arguments; prompt fills them in by name or in order (rows 165, 166)', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { z: fixture('--prompts'), plain: fixture() } });
  assert.match((await run(['prompts'])).stdout, /^z:greet +who=… \[how=…\] +Greets$/m);
  assert.deepEqual((await run(['prompts', 'z', '--json'])).json().prompts.map((one: any) => one.key), ['z:greet']);
  assert.match((await run(['prompts', 'plain'])).stderr, /No prompts/);
  assert.equal((await run(['prompt', 'z:greet', 'how=kindly', 'who=Ann'])).stdout, 'Hello Ann kindly\n');
  assert.equal((await run(['prompt', 'z', 'greet', 'Ann', 'with', 'a', 'song'])).stdout, 'Hello Ann with a song\n');
  assert.match((await run(['prompt', 'z:greet', "it's Ann", 'a  b'])).stdout, /^Hello it's Ann a {2}b$/m);
  const document = (await run(['prompt', 'z:greet', 'Ann', '--json'])).json();
  assert.deepEqual([document.arguments, document.messages[0].content.text], [{ who: 'Ann' }, 'Hello Ann ']);
});

test('prompt refuses what is missing, too much or unknown before it asks', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { z: fixture('--prompts') } });
  const missing = await run(['prompt', 'z:greet']);
  assert.equal(missing.status, 2);
  assert.match(missing.stderr, /argument \/who is missing/);
  assert.match(missing.stderr, /next {4}zuno-lite prompt z:greet who=TEXT \[how=TEXT\]$/m);
  assert.match((await run(['prompt', 'z:greet', 'who=a', 'how=b', 'c'])).stderr, /no argument left for "c"/);
  assert.match((await run(['prompt', 'z:gret'])).stderr, /did you mean "z:greet"/);
  assert.match((await run(['prompt', 'z'])).stderr, /write SERVER:NAME/);
  assert.match((await run(['prompt', 'y:greet'])).stderr, /Cannot find the server "y"/);
});

test('lists of several servers tell which one failed', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { z: fixture('--resources', '--prompts'), bad: { type: 'local', command: ['no-such-program-zl'] } } });
  for (const command of ['resources', 'prompts']) {
    const { status, stderr } = await run([command]);
    assert.equal(status, 0);
    assert.match(stderr, /^bad: Cannot start/m);
    assert.equal((await run([command, '--json'])).json().failures[0].server, 'bad');
    assert.equal((await run([command, 'bad'])).status, 4);
  }
});

test('words in order are asked for as "$1", "$2"; a server that refuses that is asked with the words (row 165)', async (t) => {
  const { run, config, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { z: fixture('--prompts', `--log=${log}`) } });
  await run(['prompt', 'z:greet', 'Ann', 'with', 'a', 'song']);
  const asked = () => readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ method }) => method === 'prompts/get').map(({ params }) => params.arguments);
  assert.deepEqual(asked(), [{ who: '$1', how: '$2' }]);
  await run(['prompt', 'z:greet', 'who=Ann']);
  assert.deepEqual(asked()[1], { who: 'Ann' });
  config({ mcp: { z: fixture('--prompts', '--prompts-checked', `--log=${log}`) } });
  assert.equal((await run(['prompt', 'z:greet', 'Ann', 'well'])).stdout, 'Hello Ann well\n');
  assert.deepEqual(asked().slice(2), [{ who: '$1', how: '$2' }, { who: 'Ann', how: 'well' }]);
});

test('commands of the configuration stand among the prompts and are filled in', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { z: fixture('--prompts') }, command: { review: { template: 'Review $1 for $2', description: 'Reviews' }, 'z:greet': { template: 'never' } } });
  const { stdout } = await run(['prompts']);
  assert.match(stdout, /^review +Reviews$/m);
  assert.deepEqual((await run(['prompts', '--json'])).json().commands.map((one: any) => one.key), ['review']);
  assert.equal((await run(['prompt', 'review', 'main.ts', 'speed', 'and', 'size'])).stdout, 'Review main.ts for speed and size\n');
  assert.deepEqual((await run(['prompt', 'review', 'x', '--json'])).json().messages, [{ role: 'user', content: { type: 'text', text: 'Review x for ' } }]);
  assert.equal((await run(['prompt', 'z:greet', 'Ann', 'x'])).stdout, 'Hello Ann x\n');
});

test('complete asks with what is known already; the last word is completed', async (t) => {
  const { run, config, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { z: fixture('--prompts', '--resources', `--log=${log}`), plain: fixture() } });
  assert.deepEqual((({ status, stdout }) => [status, stdout])(await run(['complete', 'z:greet', 'how=kindly', 'who=a'])), [0, 'anna\n']);
  const { ok, values, argument, context, hasMore } = (await run(['complete', 'z', 'file:///{name}', 'name=b', '--json'])).json();
  assert.deepEqual([ok, values, argument, context, hasMore], [true, ['bert'], { name: 'name', value: 'b' }, {}, false]);
  const sent = readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ method }) => method === 'completion/complete').map(({ params }) => params);
  assert.deepEqual(sent.map(({ ref, argument: one, context: known }: any) => [ref, one, known]), [
    [{ type: 'ref/prompt', name: 'greet' }, { name: 'who', value: 'a' }, { arguments: { how: 'kindly' } }], [{ type: 'ref/resource', uri: 'file:///{name}' }, { name: 'name', value: 'b' }, undefined],
  ]);
  assert.match((await run(['complete', 'z:greet', 'who=zz'])).stderr, /knows nothing that begins with "zz"/);
  for (const args of [['z:greet'], ['z:greet', 'who'], ['z', 'file:///a'], ['z'], ['y:greet', 'a=b']]) assert.equal((await run(['complete', ...args])).status, 2, args.join(' '));
});
