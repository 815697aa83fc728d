// Real servers behind a port: both eras, both HTTP transports, and what happens when they are not there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cli, createHousehold, textOf } from './household.mjs';
import { freePort, startServer, stopServers } from './servers.mjs';

// A proxy of the machine is not meant for servers on it.
for (const name of Object.keys(process.env)) if (/^(?:https?|all|no)_proxy$/i.test(name)) delete process.env[name];

const house = createHousehold();
const { zuno, json, call, failing, failure, toolError, addUrl, base } = house;
const SECRET = 'gate-0123456789-s3cret';
const everythingIn = (mode) => startServer('@modelcontextprotocol/server-everything', { home: base, args: () => [mode], env: (port) => ({ PORT: String(port) }), listening: /(?:listening|running) on port \d+/ });
let everything, old, browser, context7, notion;

before(async () => {
  [everything, old, browser, context7, notion] = await Promise.all([
    everythingIn('streamableHttp'),
    everythingIn('sse'),
    // It needs no browser to start, and must not find one.
    startServer('@playwright/mcp', { home: base, args: (port) => ['--port', String(port), '--executable-path', path.join(base, 'no-browser')], listening: /Listening on http/ }),
    // Without this its metrics would take a fixed port.
    startServer('@upstash/context7-mcp', { home: base, args: (port) => ['--transport', 'http', '--port', String(port)], env: () => ({ OTEL_SDK_DISABLED: 'true' }), listening: /running on HTTP at/ }),
    startServer('@notionhq/notion-mcp-server', { home: base, args: (port) => ['--transport', 'http', '--port', String(port), '--disable-auth'], listening: /listening on .*\d+/i }),
  ]);
  await addUrl('everything', at(everything));
  await addUrl('old', at(old, '/sse'));
  // It answers to the name that it listens on, and to no other.
  await addUrl('browser', at(browser).replace('127.0.0.1', 'localhost'));
  await addUrl('context7', at(context7));
  await addUrl('notion', at(notion));
});
after(async () => {
  try { await stopServers(); } finally { house.remove(); }
});

const at = ({ port }, place = '/mcp') => `http://127.0.0.1:${port}${place}`;
const stagesOf = (attempt) => attempt.timings.map(({ stage }) => stage);
const answersOf = (attempt) => attempt.answers.map(({ method, status }) => `${method} ${status}`);
const countsOf = ({ lists }) => Object.fromEntries(lists.map(({ list, count, error }) => [list, error ?? count]));
const serverIn = ({ servers }, name) => servers.find((server) => server.name === name);

/** Waits for what a server writes a moment after it has answered. */
async function until(claim, what) {
  for (let tries = 0; !claim(); tries += 1) {
    assert.ok(tries < 100, what);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

// ---- who they are

test('everything over HTTP: the first contact learns from a refused probe that it is an old server, the second one knows', async () => {
  const first = await json('mcp', 'debug', 'everything');
  assert.deepEqual([first.era, first.protocolVersion, first.serverInfo.name, first.process], ['legacy', '2025-11-25', 'mcp-servers/everything', null]);
  assert.deepEqual(countsOf(first), { tools: 13, resources: 7, templates: 2, prompts: 4 });
  assert.equal(first.attempts.length, 1);
  const [attempt] = first.attempts;
  assert.deepEqual([attempt.transport, attempt.ok, attempt.error, attempt.proxy], ['streamable-http', true, null, null]);
  assert.deepEqual([stagesOf(attempt), answersOf(attempt)], [['probe', 'handshake'], ['POST 400', 'POST 200', 'POST 202']]);
  assert.deepEqual([attempt.connections[0].host, attempt.connections[0].tls], [`127.0.0.1:${everything.port}`, null]);
  assert.equal(first.timings.at(-1).stage, 'connect');
  const [second] = (await json('mcp', 'debug', 'everything')).attempts;
  assert.deepEqual([stagesOf(second), answersOf(second)], [['handshake'], ['POST 200', 'POST 202']]);
});

test('context7: modern without a handshake, one request and no session', async () => {
  const found = await json('mcp', 'debug', 'context7');
  assert.deepEqual([found.era, found.protocolVersion, found.serverInfo.name], ['modern', '2026-07-28', 'Context7']);
  assert.deepEqual(countsOf(found), { tools: 2, resources: 0, templates: 0, prompts: 0 });
  assert.deepEqual(found.attempts.map((attempt) => [attempt.transport, attempt.ok, stagesOf(attempt), answersOf(attempt)]), [['streamable-http', true, ['probe'], ['POST 200']]]);
});

test('a pinned revision is spoken or refused, never exchanged for another (row 61)', async () => {
  await addUrl('context7-old', at(context7), '--protocol', '2025-06-18');
  const found = await json('mcp', 'debug', 'context7-old');
  assert.deepEqual([found.era, found.protocolVersion, stagesOf(found.attempts[0])], ['legacy', '2025-06-18', ['handshake']]);
  await addUrl('everything-new', at(everything), '--protocol', '2026-07-28');
  const { error, failureKind, attempts } = await failing(5, 'mcp', 'debug', 'everything-new');
  assert.deepEqual([error.code, error.details.ours, failureKind, attempts.length], ['REVISION_UNSUPPORTED', ['2026-07-28'], 'protocol_negotiation_failed', 1]);
  await json('mcp', 'remove', 'context7-old');
  await json('mcp', 'remove', 'everything-new');
});

test('everything over HTTP+SSE: found after Streamable HTTP is refused, and both tries are told (R11)', async () => {
  const { attempts, era, protocolVersion, lists } = await json('mcp', 'debug', 'old');
  assert.deepEqual([era, protocolVersion, countsOf({ lists }).tools], ['legacy', '2025-11-25', 13]);
  assert.deepEqual(attempts.map(({ transport, ok, error }) => [transport, ok, error?.code ?? null]), [['streamable-http', false, 'HTTP_STATUS'], ['sse', true, null]]);
  assert.deepEqual([answersOf(attempts[0]), attempts[0].error.details.status], [['POST 404', 'POST 404'], 404]);
  assert.deepEqual([stagesOf(attempts[1]), answersOf(attempts[1])], [['connect', 'handshake'], ['GET 200', 'POST 202', 'POST 202']]);
});

test('an explicit transport is tried alone: sse finds the old server at once, http does not find it (R11)', async () => {
  await addUrl('older', at(old, '/sse'), '--transport', 'sse');
  const { attempts } = await json('mcp', 'debug', 'older');
  assert.deepEqual(attempts.map((attempt) => [attempt.transport, attempt.ok, stagesOf(attempt)]), [['sse', true, ['connect', 'handshake']]]);
  await addUrl('newer', at(old, '/sse'), '--transport', 'http');
  const wrong = await failing(4, 'mcp', 'debug', 'newer');
  assert.deepEqual(wrong.attempts.map(({ transport, ok }) => [transport, ok]), [['streamable-http', false]]);
  assert.deepEqual([wrong.error.code, wrong.error.details.status, wrong.error.recovery], ['HTTP_STATUS', 404, 'blocked']);
  assert.match(wrong.error.hint, /zuno-lite mcp set newer --unset transport$/);
  await addUrl('mixed', at(everything), '--transport', 'sse');
  const mixed = await failing(4, 'mcp', 'debug', 'mixed');
  assert.deepEqual(mixed.attempts.map((attempt) => [attempt.transport, attempt.ok, answersOf(attempt)]), [['sse', false, ['GET 400']]]);
  assert.match(mixed.error.message, /answers 400 with "Bad Request: No valid session ID provided"/);
  for (const name of ['older', 'newer', 'mixed']) await json('mcp', 'remove', name);
});

test('playwright: one port, both transports, by the name that it admits', async () => {
  const found = await json('mcp', 'debug', 'browser');
  assert.deepEqual([found.era, found.protocolVersion, found.serverInfo.name, countsOf(found)], ['legacy', '2025-11-25', 'Playwright', { tools: 25 }]);
  assert.match(found.attempts[0].connections[0].address, /^(?:127\.0\.0\.1|::1)$/);
  const url = at(browser, '/sse').replace('127.0.0.1', 'localhost');
  await addUrl('browser-auto', url);
  await addUrl('browser-sse', url, '--transport', 'sse');
  await addUrl('browser-stranger', at(browser));
  const [auto, sse, stranger] = await Promise.all([json('mcp', 'debug', 'browser-auto'), json('mcp', 'debug', 'browser-sse'), failing(4, 'mcp', 'debug', 'browser-stranger')]);
  assert.deepEqual(auto.attempts.map(({ transport, ok }) => [transport, ok]), [['streamable-http', false], ['sse', true]]);
  assert.deepEqual(sse.attempts.map(({ transport, ok }) => [transport, ok]), [['sse', true]]);
  assert.deepEqual([countsOf(auto).tools, countsOf(sse).tools], [25, 25]);
  assert.deepEqual([stranger.error.code, stranger.error.details.status, stranger.attempts.length], ['HTTP_STATUS', 403, 1]);
  assert.match(stranger.error.message, /only allowed at localhost/);
  for (const name of ['browser-auto', 'browser-sse', 'browser-stranger']) await json('mcp', 'remove', name);
});

test('mcp list shows all of them at once: transport in use, era and number of tools (row 10)', async () => {
  const { servers } = await json('mcp', 'list');
  const facts = servers.map(({ name, status, transport, era, protocolVersion, toolCount, error }) => [name, status, transport, era, protocolVersion, toolCount, error]);
  assert.deepEqual(facts, [
    ['browser', 'connected', 'http', 'legacy', '2025-11-25', 25, null],
    ['context7', 'connected', 'http', 'modern', '2026-07-28', 2, null],
    ['everything', 'connected', 'http', 'legacy', '2025-11-25', 13, null],
    ['notion', 'connected', 'http', 'legacy', '2025-11-25', 24, null],
    ['old', 'connected', 'sse', 'legacy', '2025-11-25', 13, null],
  ]);
  const shown = await zuno('mcp', 'list');
  assert.deepEqual([shown.status, shown.stderr], [0, '']);
  assert.match(shown.stdout, new RegExp(`^old +connected +sse +13 +legacy +http://127\\.0\\.0\\.1:${old.port}/sse +.*zuno\\.json:\\d+:\\d+ \\(global\\)$`, 'm'));
});

// ---- what they do

test('tools of all servers in one list, each with its own signature', async () => {
  const { tools, dropped, failures } = await json('tools');
  assert.deepEqual([dropped, failures, tools.length], [[], [], 77]);
  const signatures = new Map(tools.map(({ id, signature }) => [id, signature]));
  assert.equal(signatures.get('everything_get-sum'), 'everything_get-sum(a: number, b: number)');
  assert.equal(signatures.get('old_get-sum'), 'old_get-sum(a: number, b: number)');
  assert.equal(signatures.get('context7_resolve-library-id'), 'context7_resolve-library-id(query: string, libraryName: string)');
  assert.match(signatures.get('browser_browser_tabs'), /action: "list" \| "new" \| "close" \| "select"/);
  const full = await json('tools', 'notion.API-retrieve-a-page', '--schema');
  assert.equal(full.tools[0].inputSchema.type, 'object');
});

test('words become the types of the schema, text and structure come back unharmed, over both transports', async () => {
  const message = 'first line\nsecond "line" = {x} ünïcödé 漢字 🙂 \\n data: x\n\nevent: y';
  await Promise.all(['everything', 'old'].map(async (server) => {
    assert.equal(textOf(await call(`${server}.get-sum`, 'a=2', 'b=3.5')), 'The sum of 2 and 3.5 is 5.5.');
    assert.equal(textOf(await call(`${server}_echo`, `message=${message}`)), `Echo: ${message}`);
    const structured = await call(`mcp__${server}__get-structured-content`, 'location=Chicago');
    assert.equal(typeof structured.structuredContent.temperature, 'number');
    const linked = await call(`${server}/get-resource-links`, '--args', '{"count":2}');
    assert.equal(linked.content.filter(({ type }) => type === 'resource_link').length, 2);
  }));
});

test('wrong arguments are refused before anything is sent, in both eras', async () => {
  const errors = await Promise.all([failure(2, 'call', 'everything.get-sum', 'a=2', 'b=three', '--yes'), failure(2, 'call', 'context7.query-docs', 'query=x', '--yes'), failure(2, 'call', 'notion.API-retrieve-a-page', '--yes'), failure(2, 'call', 'browser.browser_tabs', 'action=open', '--yes')]);
  assert.deepEqual(errors.map(({ code }) => code), Array(4).fill('ARGUMENTS_INVALID'));
  assert.deepEqual(errors.map(({ details }) => details.problems.map(({ pointer }) => pointer)), [['/b'], ['/libraryId'], ['/page_id'], ['/action']]);
});

test('context7: a call in 2026-07-28 is answered; without its service the answer says so', async () => {
  const result = await call('context7.resolve-library-id', 'libraryName=react', 'query=hooks');
  assert.match(textOf(result), /\S/);
});

test('playwright: without a browser the tool reports an error (exit 1); notion: without its service the server does (exit 5)', async () => {
  const [result, shown, error] = await Promise.all([
    toolError('browser.browser_navigate', 'url=http://127.0.0.1:9/'),
    zuno('call', 'browser.browser_navigate', 'url=http://127.0.0.1:9/', '--yes'),
    failure(5, 'call', 'notion.API-get-self', '--yes'),
  ]);
  assert.match(textOf(result), /no-browser/);
  assert.deepEqual([shown.status, /no-browser/.test(shown.stdout), /reported an error/.test(shown.stderr)], [1, true, true]);
  assert.deepEqual([error.code, error.details.rpcCode, error.details.method], ['REMOTE_ERROR', -32603, 'tools/call']);
});

test('an image arrives whole over both transports and is saved where --output says', async () => {
  const saved = await Promise.all(['everything', 'old'].map(async (server) => {
    const { result, saved: [file] } = await json('call', `${server}_get-tiny-image`, '--yes', '--output', server);
    const image = result.content.find(({ type }) => type === 'image');
    const bytes = readFileSync(file);
    assert.deepEqual([image.mimeType, path.extname(file), bytes.equals(Buffer.from(image.data, 'base64'))], ['image/png', '.png', true]);
    return bytes;
  }));
  assert.ok(saved[0].equals(saved[1]) && saved[0].subarray(1, 4).toString('latin1') === 'PNG');
});

test('resources and prompts are listed and read over both transports', async () => {
  await Promise.all(['everything', 'old'].map(async (server) => {
    const { resources, templates } = await json('resources', server);
    assert.deepEqual([resources.length, templates.length], [7, 2]);
    const [page, text, blob, prompt, embedded] = await Promise.all([
      json('read', server, resources.find(({ mimeType }) => mimeType === 'text/markdown').uri),
      json('read', server, 'demo://resource/dynamic/text/7'),
      json('read', server, 'demo://resource/dynamic/blob/8', '--output', `${server}-blobs`),
      json('prompt', `${server}:args-prompt`, 'city=Oslo', 'state=North'),
      json('prompt', `${server}:resource-prompt`, 'resourceType=Text', 'resourceId=2'),
    ]);
    assert.match(page.contents[0].text, /^# /m);
    assert.match(text.contents[0].text, /^Resource 7:/);
    assert.match(readFileSync(blob.saved[0], 'utf8'), /^Resource 8:/);
    assert.match(prompt.messages[0].content.text, /Oslo, North/);
    assert.equal(embedded.messages[1].content.resource.uri, 'demo://resource/dynamic/text/2');
  }));
  const { prompts } = await json('prompts');
  assert.equal(prompts.length, 8);
  const missing = await failure(5, 'read', 'everything', 'demo://resource/nothing');
  assert.deepEqual([missing.code, missing.details.rpcCode], ['REMOTE_ERROR', -32602]);
});

test('progress keeps a long call alive; without any the idle limit of the entry ends it, outcome unknown', async () => {
  await addUrl('hasty', at(everything), '--timeout', '1200');
  await addUrl('hasty-old', at(old, '/sse'), '--timeout', '1200', '--transport', 'sse');
  const long = (server, steps) => [`${server}_trigger-long-running-operation`, 'duration=2', `steps=${steps}`];
  const [lively, livelyOld, silent] = await Promise.all([call(...long('hasty', 8)), call(...long('hasty-old', 8)), failure(8, 'call', ...long('hasty', 1), '--yes')]);
  for (const result of [lively, livelyOld]) assert.match(textOf(result), /completed\. Duration: 2 seconds, Steps: 8/);
  assert.deepEqual([silent.code, silent.details.why, silent.recovery], ['OUTCOME_UNKNOWN', 'timeout', 'unknown']);
  for (const name of ['hasty', 'hasty-old']) await json('mcp', 'remove', name);
});

test('a server that asks back: nothing is declared where nobody can answer, --elicit answers, typed by the form', async () => {
  const tool = 'trigger-elicitation-request';
  const nobody = await failure(2, 'call', `everything.${tool}`, '--yes');
  assert.equal(nobody.code, 'TOOL_UNKNOWN');
  const given = ['--elicit', 'name=Ann', '--elicit', 'integer=7', '--elicit', 'check=true', '--elicit', 'untitledMultipleSelectEnum=Guitar', '--elicit', 'untitledMultipleSelectEnum=Piano'];
  for (const result of await Promise.all(['everything', 'old'].map((server) => call(`${server}.${tool}`, ...given)))) {
    const { action, content } = JSON.parse(textOf(result).split('Raw result: ')[1]);
    assert.deepEqual([action, content.name, content.integer, content.check, content.untitledMultipleSelectEnum], ['accept', 'Ann', 7, true, ['Guitar', 'Piano']]);
    // What was not given has the default of the form.
    assert.deepEqual([content.number, content.untitledSingleSelectEnum], [3.14, 'Monica']);
  }
  const [short, wrong] = await Promise.all(['integer=7', 'integer=x'].map((answer) => zuno('call', `everything.${tool}`, '--yes', '--elicit', answer)));
  for (const { status, stdout } of [short, wrong]) assert.deepEqual([status, /"action": "cancel"/.test(stdout)], [0, true]);
  assert.match(short.stderr, /it needs --elicit name=VALUE/);
  assert.match(wrong.stderr, /--elicit integer: "x" is not a whole number/);
});

test('credentials come from the environment, reach the server, and are never shown', async () => {
  const gated = await startServer('@notionhq/notion-mcp-server', { home: base, args: (port) => ['--transport', 'http', '--port', String(port), '--auth-token', SECRET], listening: /listening on .*\d+/i });
  await addUrl('gated', at(gated), '--no-oauth', '--header', 'Authorization: Bearer {env:NOTION_GATE}');
  const unset = await failure(3, 'mcp', 'debug', 'gated');
  assert.deepEqual([unset.code, unset.details.token], ['VARIABLE_UNSET', '{env:NOTION_GATE}']);
  const known = house.with({ NOTION_GATE: SECRET });
  const [listed, debugged, shown, wrong] = await Promise.all([known.json('tools', 'gated'), known.json('mcp', 'debug', 'gated'), known.zuno('mcp', 'debug', 'gated'), house.with({ NOTION_GATE: 'another-s3cret' }).failure(4, 'mcp', 'debug', 'gated')]);
  assert.equal(listed.tools.length, 24);
  assert.deepEqual(answersOf(debugged.attempts[0]).slice(-2), ['POST 200', 'POST 202']);
  assert.deepEqual([wrong.code, wrong.details.status, wrong.recovery], ['HTTP_STATUS', 403, 'blocked']);
  for (const text of [listed, debugged, shown, wrong].map((one) => JSON.stringify(one))) assert.doesNotMatch(text, /s3cret/);
  await json('mcp', 'remove', 'gated');
  await gated.stop();
});

test('a foreign Origin is refused by the server: one try, not repeated', async () => {
  await addUrl('foreign', at(notion), '--header', 'Origin: http://evil.example');
  const { error, attempts } = await failing(4, 'mcp', 'debug', 'foreign');
  assert.deepEqual([error.code, error.details.status, error.recovery, attempts.length], ['HTTP_STATUS', 403, 'blocked', 1]);
  assert.match(error.message, /answers 403 with "Invalid Origin header: http:\/\/evil\.example"/);
  await json('mcp', 'remove', 'foreign');
});

// ---- sessions, and servers that are not there

test('every session that is begun is ended', async () => {
  const count = (text) => everything.output().split(text).length - 1;
  await Promise.all([call('everything.get-sum', 'a=1', 'b=1'), json('mcp', 'debug', 'everything')]);
  await until(() => count('Session initialized with ID') > 0 && count('Session initialized with ID') === count('Received session termination request'), 'a DELETE for each session');
});

test('a server that is killed and started again between two calls is found again, also in the middle of a session', async () => {
  const { connect } = await import(pathToFileURL(path.resolve(path.dirname(cli), '../dist/client.js')).href);
  const answers = [];
  const client = await connect({ type: 'http', url: at(everything) }, {
    requestMs: 600,
    // Slower than a request may be: while somebody thinks it is the server that waits.
    answers: { elicit: () => new Promise((resolve) => { setTimeout(() => { answers.push('Ann'); resolve({ action: 'accept', content: { name: 'Ann' } }); }, 1_000); }) },
  });
  const playwright = await connect({ type: 'http', url: at(browser).replace('127.0.0.1', 'localhost') });
  try {
    assert.match(textOf(await call('everything.get-sum', 'a=1', 'b=2')), /\b3\b/);
    assert.match(textOf(await client.callTool('get-sum', { a: 1, b: 2 })), /\b3\b/);
    assert.equal((await playwright.listTools()).items.length, 25);
    await Promise.all([everything.restart(), browser.restart()]);
    // One server answers 400 to a session that it does not know, the other 404.
    assert.match(textOf(await client.callTool('get-sum', { a: 3, b: 4 })), /\b7\b/);
    assert.equal((await playwright.listTools()).items.length, 25);
    assert.match(textOf(await call('everything.get-sum', 'a=3', 'b=4')), /\b7\b/);
    assert.match(textOf(await client.callTool('trigger-elicitation-request', {})), /Name: Ann/);
    assert.deepEqual(answers, ['Ann']);
  } finally {
    await Promise.all([client.close(), playwright.close()]);
  }
});

test('a wrong path: both transports are tried and told, in one message, with the place to correct', async () => {
  await addUrl('wrong', at(everything, '/nope'));
  const { error, attempts, failureKind } = await failing(4, 'mcp', 'debug', 'wrong');
  assert.deepEqual([error.code, error.stage, error.details.status, error.recovery, failureKind], ['HTTP_STATUS', 'handshake', 404, 'blocked', 'server_not_found']);
  assert.match(error.message, /^Cannot use "http:\/\/127\.0\.0\.1:\d+\/nope": the server answers 404 with an HTML page titled "Error"; nor is it a server of the older HTTP\+SSE kind: it answers the same$/);
  assert.match(error.hint, /path of the url/);
  assert.equal(error.origin.key, 'mcp.wrong');
  assert.deepEqual(attempts.map((attempt) => [attempt.transport, attempt.ok, answersOf(attempt)]), [['streamable-http', false, ['POST 404', 'POST 404']], ['sse', false, ['GET 404']]]);
  const shown = await zuno('call', 'wrong.echo', 'message=x', '--yes');
  assert.deepEqual([shown.status, shown.stdout], [4, '']);
  for (const row of [/^error: Cannot use "/, /^ {2}stage +handshake$/m, /^ {2}cause +HTTP 404 from http:/m, /^ {2}repeat +no: /m, /^ {2}origin +.*zuno\.json:\d+:\d+ \(global\), mcp\.wrong$/m, /^ {2}next +Check the path of the url/m]) assert.match(shown.stderr, row);
  await json('mcp', 'remove', 'wrong');
});

test('a port where nothing listens, and one that does not speak TLS: told at once, with what to do', async () => {
  const port = await freePort();
  await addUrl('refused', `http://127.0.0.1:${port}/mcp`);
  await addUrl('plain', at(everything).replace('http:', 'https:'));
  const startedAt = performance.now();
  const [refused, plain] = await Promise.all([failing(4, 'mcp', 'debug', 'refused'), failing(4, 'mcp', 'debug', 'plain')]);
  assert.ok(performance.now() - startedAt < 4_000);
  assert.deepEqual([refused.error.code, refused.error.details.system, refused.error.recovery, refused.failureKind, refused.attempts.length], ['CONNECT_FAILED', 'ECONNREFUSED', 'retryable', 'network_unreachable', 1]);
  assert.equal(refused.error.message, `Cannot connect to "http://127.0.0.1:${port}/mcp": nothing listens there (ECONNREFUSED 127.0.0.1:${port})`);
  assert.match(refused.error.hint, /^Start the server/);
  assert.deepEqual([plain.error.code, plain.error.recovery], ['CONNECT_FAILED', 'blocked']);
  assert.match(plain.error.hint, /http:\/\//);
  for (const name of ['refused', 'plain']) await json('mcp', 'remove', name);
});

test('a server that is stopped is shown as not reachable, the others as they are; started again it is back (row 10)', async () => {
  await Promise.all([everything.stop(), old.kill()]);
  const startedAt = performance.now();
  const found = await json('mcp', 'list');
  assert.ok(performance.now() - startedAt < 5_000);
  for (const name of ['everything', 'old']) {
    const { status, failureKind, toolCount, error } = serverIn(found, name);
    assert.deepEqual([status, failureKind, toolCount, error.code, error.details.system], ['failed', 'network_unreachable', null, 'CONNECT_FAILED', 'ECONNREFUSED']);
  }
  for (const name of ['browser', 'context7', 'notion']) assert.equal(serverIn(found, name).status, 'connected');
  const shown = await zuno('mcp', 'list', '--check');
  assert.equal(shown.status, 4);
  assert.match(shown.stdout, /^everything +network_unreachable +http /m);
  assert.match(shown.stderr, /^everything: Cannot connect to .*nothing listens there.*\n {2}next: Start the server/m);
  await Promise.all([everything.restart(), old.restart()]);
  const again = await json('mcp', 'list');
  assert.deepEqual(['everything', 'old'].map((name) => [serverIn(again, name).status, serverIn(again, name).toolCount]), [['connected', 13], ['connected', 13]]);
});

test('a server that hangs delays nobody: --timeout bounds list, debug and call (row 10)', { skip: process.platform === 'win32' }, async () => {
  everything.pause();
  try {
    const startedAt = performance.now();
    const [found, debugged, error] = await Promise.all([json('mcp', 'list', '--timeout', '1500'), failing(4, 'mcp', 'debug', 'everything', '--timeout', '1500'), failure(4, 'call', 'everything.get-sum', 'a=1', 'b=2', '--yes', '--timeout', '1500')]);
    assert.ok(performance.now() - startedAt < 6_000);
    const { status, error: late } = serverIn(found, 'everything');
    assert.deepEqual([status, late.code, late.origin.key], ['connecting', 'TIMEOUT', 'mcp.everything']);
    assert.match(late.hint, /^zuno-lite mcp debug everything/);
    for (const name of ['old', 'browser', 'context7', 'notion']) assert.equal(serverIn(found, name).status, 'connected');
    assert.deepEqual([debugged.error.code, debugged.attempts.map(({ ok }) => ok)], ['TIMEOUT', [false]]);
    // It never got as far as the call.
    assert.deepEqual([error.code, error.recovery], ['TIMEOUT', 'retryable']);
  } finally {
    everything.resume();
  }
});
