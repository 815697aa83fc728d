// The reference server that has something of everything. Legacy era; asks for roots, sends list changes after its start.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createHousehold, textOf } from './household.mjs';

const house = createHousehold();
const { zuno, json, call, failure, toolError } = house;
before(() => house.add('everything', '@modelcontextprotocol/server-everything', { options: ['--env', 'GREETING=from the entry'] }));
after(house.remove);

test('everything: mcp list shows it connected, with its era and the number of its tools', async () => {
  const { servers } = await json('mcp', 'list');
  assert.equal(servers.length, 1);
  const [server] = servers;
  assert.deepEqual({ name: server.name, status: server.status, transport: server.transport, era: server.era, protocolVersion: server.protocolVersion, error: server.error }, { name: 'everything', status: 'connected', transport: 'stdio', era: 'legacy', protocolVersion: '2025-11-25', error: null });
  assert.ok(server.toolCount >= 13);
});

test('everything: tools are listed with wire id, signature and policy', async () => {
  const { tools, dropped, failures } = await json('tools', 'everything');
  assert.deepEqual([dropped, failures], [[], []]);
  const sum = tools.find((tool) => tool.tool === 'get-sum');
  assert.equal(sum.id, 'everything_get-sum');
  assert.match(sum.signature, /^everything_get-sum\(a: number, b: number\)$/);
  assert.equal(sum.effect, 'ask');
  const full = await json('tools', 'everything_get-sum', '--schema');
  assert.deepEqual(full.tools[0].inputSchema.required, ['a', 'b']);
});

test('everything: words become numbers by the schema, whichever way the tool is named', async () => {
  const results = await Promise.all(['everything.get-sum', 'mcp__everything__get-sum'].map((tool) => call(tool, 'a=2', 'b=3.5')));
  for (const result of results) assert.match(textOf(result), /\b5\.5\b/);
  assert.match(textOf(await call('everything/get-sum', '--args', '{"a":2}', 'b:=40')), /\b42\b/);
});

test('everything: text goes through unharmed', async () => {
  const message = 'first line\nsecond "line" = {x} ünïcödé 漢字 🙂 \\n';
  assert.equal(textOf(await call('everything_echo', `message=${message}`)), `Echo: ${message}`);
});

test('everything: results for people are plain text on stdout alone', async () => {
  const { status, stdout, stderr } = await zuno('call', 'everything_get-sum', 'a=2', 'b=3', '--yes');
  assert.deepEqual([status, stdout, stderr], [0, 'The sum of 2 and 3 is 5.\n', '']);
});

test('everything: the environment of the entry reaches the server, settings of the host do not', async () => {
  const environment = JSON.parse(textOf(await house.with({ ZUNO_CONFIG_CONTENT: '{}' }).call('everything_get-env')));
  assert.equal(environment.GREETING, 'from the entry');
  assert.equal(environment.ZUNO_CONFIG_CONTENT, undefined);
});

test('everything: an image is saved where --output says and stays in the JSON', async () => {
  const { result, saved } = await json('call', 'everything_get-tiny-image', '--yes', '--output', 'pictures');
  const image = result.content.find((block) => block.type === 'image');
  assert.equal(image.mimeType, 'image/png');
  assert.equal(saved.length, 1);
  assert.equal(path.extname(saved[0]), '.png');
  const bytes = readFileSync(saved[0]);
  assert.deepEqual(bytes, Buffer.from(image.data, 'base64'));
  assert.equal(bytes.subarray(1, 4).toString('latin1'), 'PNG');
  const shown = await zuno('call', 'everything_get-tiny-image', '--yes');
  assert.match(shown.stdout, /\[image image\/png, [^\]]+\]/);
  assert.doesNotMatch(shown.stdout, /iVBOR/);
});

test('everything: annotations, structured content, links and embedded resources are kept', async () => {
  const [annotated, structured, links, embedded] = await Promise.all([
    call('everything_get-annotated-message', 'messageType=error', 'includeImage=true'),
    call('everything_get-structured-content', 'location=New York'),
    call('everything_get-resource-links', 'count=2'),
    call('everything_get-resource-reference', 'resourceType=Blob', 'resourceId=3'),
  ]);
  assert.deepEqual(annotated.content[0].annotations, { priority: 1, audience: ['user', 'assistant'] });
  assert.equal(annotated.content[1].type, 'image');
  assert.equal(typeof structured.structuredContent.temperature, 'number');
  assert.deepEqual(JSON.parse(textOf(structured)), structured.structuredContent);
  assert.equal(links.content.filter((block) => block.type === 'resource_link').length, 2);
  const { resource } = embedded.content.find((block) => block.type === 'resource');
  assert.match(Buffer.from(resource.blob, 'base64').toString(), /^Resource 3:/);
});

test('everything: progress keeps a long call alive; without any the idle limit of the entry ends it, outcome unknown', async () => {
  await house.add('hasty', '@modelcontextprotocol/server-everything', { options: ['--timeout', '1500'] });
  const long = ['hasty_trigger-long-running-operation', 'duration=2'];
  const [lively, silent] = await Promise.all([call(...long, 'steps=8'), failure(8, 'call', ...long, 'steps=1', '--yes')]);
  assert.match(textOf(lively), /completed\. Duration: 2 seconds, Steps: 8/);
  assert.deepEqual([silent.code, silent.details.why], ['OUTCOME_UNKNOWN', 'timeout']);
  await json('mcp', 'remove', 'hasty');
});

test('everything: --timeout bounds the whole command; what was sent may have happened', async () => {
  const startedAt = performance.now();
  const error = await failure(8, 'call', 'everything_trigger-long-running-operation', 'duration=20', 'steps=2', '--yes', '--timeout', '2000');
  assert.ok(performance.now() - startedAt < 6000);
  assert.equal(error.code, 'OUTCOME_UNKNOWN');
  assert.equal(error.recovery, 'unknown');
});

test('everything: resources and templates are listed and read', async () => {
  const { resources, templates } = await json('resources', 'everything');
  assert.ok(resources.length >= 5 && templates.length === 2);
  const document = resources.find((resource) => resource.mimeType === 'text/markdown');
  const [page, text, blob] = await Promise.all([
    json('read', 'everything', document.uri),
    json('read', 'everything', 'demo://resource/dynamic/text/7'),
    json('read', 'everything', 'demo://resource/dynamic/blob/8', '--output', 'blobs'),
  ]);
  assert.match(page.contents[0].text, /^# /m);
  assert.match(text.contents[0].text, /^Resource 7:/);
  assert.match(readFileSync(blob.saved[0], 'utf8'), /^Resource 8:/);
});

test('everything: prompts are listed and filled in, by name and in order', async () => {
  const { prompts } = await json('prompts', 'everything');
  assert.ok(prompts.some((prompt) => prompt.key === 'everything:args-prompt'));
  const [simple, named, ordered, embedded] = await Promise.all([
    json('prompt', 'everything:simple-prompt'),
    json('prompt', 'everything:args-prompt', 'city=Oslo', 'state=North'),
    zuno('prompt', 'everything:args-prompt', 'Oslo'),
    json('prompt', 'everything:resource-prompt', 'resourceType=Text', 'resourceId=2'),
  ]);
  assert.equal(simple.messages[0].role, 'user');
  assert.match(named.messages[0].content.text, /Oslo, North/);
  assert.deepEqual([ordered.status, /Oslo/.test(ordered.stdout)], [0, true]);
  assert.equal(embedded.messages[1].content.resource.uri, 'demo://resource/dynamic/text/2');
  const error = await failure(2, 'prompt', 'everything:args-prompt');
  assert.deepEqual(error.details.problems.map((problem) => problem.pointer), ['/city']);
});

test('everything: a tool that does not exist, near misses suggested and nothing called', async () => {
  const error = await failure(2, 'call', 'everything.get-sun', '--yes');
  assert.equal(error.code, 'TOOL_UNKNOWN');
  assert.ok(error.details.nearest.includes('everything_get-sum'));
});

test('everything: missing and mistyped arguments are refused by JSON pointer before the call', async () => {
  const wrong = [['everything_get-sum', 'a=2'], ['everything_get-sum', 'a=2', 'b=three'], ['everything_get-structured-content', 'location=Oslo']];
  const errors = await Promise.all(wrong.map((words) => failure(2, 'call', ...words, '--yes')));
  assert.deepEqual(errors.map((error) => error.code), Array(3).fill('ARGUMENTS_INVALID'));
  assert.deepEqual(errors.map((error) => error.details.problems.map((problem) => problem.pointer)), [['/b'], ['/b'], ['/location']]);
});

test('everything: with nobody to ask a call is refused, and the rule to add is shown', async () => {
  const error = await failure(7, 'call', 'everything_get-sum', 'a=2', 'b=3');
  assert.equal(error.code, 'PERMISSION_DENIED');
  assert.match(error.hint, /"everything_get-sum": "allow"/);
  const { result } = await json('call', 'everything_get-sum', 'a=2', 'b=3', '--allow', 'everything_get-*');
  assert.match(textOf(result), /\b5\b/);
});

test('everything: errors of the tool and of the server keep their own exit status', async () => {
  // It needs a task, which is not offered here.
  const result = await toolError('everything_simulate-research-query', 'topic=x');
  assert.match(textOf(result), /task/);
  const error = await failure(5, 'read', 'everything', 'demo://resource/nothing');
  assert.deepEqual([error.code, error.details.rpcCode], ['REMOTE_ERROR', -32602]);
});

test('everything: mcp debug tells process, era, capabilities, counts and timings', async () => {
  const found = await json('mcp', 'debug', 'everything');
  assert.ok(found.process.pid > 0);
  assert.match(found.process.stderrTail, /Starting default \(STDIO\) server/);
  assert.deepEqual([found.era, found.protocolVersion], ['legacy', '2025-11-25']);
  assert.equal(found.serverInfo.name, 'mcp-servers/everything');
  assert.ok(found.capabilities.tools && found.capabilities.prompts && found.capabilities.resources);
  assert.deepEqual(found.lists.map((one) => one.list), ['tools', 'resources', 'templates', 'prompts']);
  assert.ok(found.lists.every((one) => one.count > 0 && one.error === null));
  const stages = found.timings.map((timing) => timing.stage);
  assert.ok(stages.includes('spawn') && stages.includes('handshake'), stages.join());
  // An earlier command found out that it is an old server: the probe is paid for once.
  assert.ok(!stages.includes('probe'), stages.join());
  // The value of a variable is never shown.
  assert.doesNotMatch(JSON.stringify(found), /from the entry/);
});
