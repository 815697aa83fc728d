import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fixture, sandbox } from './support.ts';

const servers = { docs: fixture('--tools=echo,add'), notes: fixture('--tools=echo') };

test('--disallowed-tools and --deny: the tools are absent and cannot be called, --allow and --yes notwithstanding (row 200)', async (t) => {
  const { run, config, directory, file } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { docs: fixture('--tools=echo,add', `--log=${log}`), notes: fixture('--tools=echo') } });
  // A file of another client in the checkout is no configuration.
  file('.mcp.json', JSON.stringify({ mcpServers: { extra: { command: 'node' } } }));
  for (const option of [['--disallowed-tools', 'docs_*'], ['--deny', 'docs_*'], ['--disallowed-tools', 'other_x, docs_echo,docs_add']]) {
    const { tools, denied } = (await run(['tools', '--json', ...option])).json();
    assert.deepEqual([tools.map((one: any) => one.id), denied], [['notes_echo'], 2], option.join(' '));
    const { status, stderr } = await run(['call', 'docs_echo', 'text=x', ...option, '--allow', 'docs_*', '--yes']);
    assert.equal(status, 7);
    assert.match(stderr, new RegExp(`of ${option[0]} denies "docs_echo"`));
    assert.match((await run(['search', 'echo', ...option])).stdout, /^TOOL.*\nnotes_echo[^\n]*\n$/);
  }
  assert.doesNotMatch(readFileSync(log, 'utf8'), /tools\/call/);
  assert.deepEqual((await run(['mcp', 'list', '--json', '--no-probe'])).json().servers.map((one: any) => one.name), ['docs', 'notes']);
});

test('tools --all says of each tool that is kept out which gate it is, which rule, and where the rule stands', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config({ mcp: servers, permission: { rules: { docs_add: 'deny' } }, agent: { narrow: { mode: 'all', tools: ['docs_echo', 'docs_add'] } } });
  const all = async (...more: string[]) => Object.fromEntries((await run(['tools', '--all', '--json', ...more])).json().tools.map((one: any) => [one.id, [one.offered, one.gate]]));
  assert.deepEqual(await all(), { docs_echo: [true, null], docs_add: [false, 'permission'], notes_echo: [true, null] });
  assert.deepEqual(await all('--agent', 'narrow'), { docs_echo: [true, null], docs_add: [false, 'permission'], notes_echo: [false, 'agent'] });
  const { stdout } = await run(['tools', '--all', '--agent', 'narrow']);
  const line = readFileSync(globalFile, 'utf8').split('\n').findIndex((one) => one.includes('"docs_add": "deny"')) + 1;
  assert.ok(stdout.split('\n').find((one) => one.startsWith('docs_add('))!.includes(`permission: The rule "docs_add": "deny" of ${globalFile}:${line}`), stdout);
  assert.match(stdout, /^notes_echo\(.*\tno\tagent: the agent has a list of tools and this one is not on it\t/m);
  const [add] = (await run(['tools', 'docs_add', '--json'])).json().tools;
  assert.deepEqual([add.rule.key, add.rule.effect, add.rule.origin.line], ['docs_add', 'deny', line]);
});

test('call --agent holds to list, role and rules of the agent; an unknown or disabled one is refused', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: servers, permission: { mode: 'allow_all' }, agent: {
    narrow: { mode: 'all', tools: ['docs_echo'] }, careful: { permission: { rules: { docs_echo: 'deny' } } }, off: { disable: true },
  } });
  assert.equal((await run(['call', 'docs_echo', 'text=x', '--agent', 'narrow'])).status, 0);
  const listed = await run(['call', 'notes_echo', 'text=x', '--agent', 'narrow', '--json']);
  assert.deepEqual([listed.status, listed.json().error.details.why, listed.json().error.hint], [7, 'agent', 'zuno-lite debug agent narrow']);
  assert.match((await run(['call', 'docs_echo', '--agent', 'plan'])).stderr, /Cannot call "docs_echo" as "plan": the agent is read-only/);
  const ruled = await run(['call', 'docs_echo', '--agent', 'careful', '--json']);
  assert.deepEqual([ruled.status, ruled.json().error.details.why], [7, 'rule']);
  assert.match((await run(['call', 'docs_echo', '--agent', 'narow'])).stderr, /there is no such agent; did you mean "narrow"/);
  assert.match((await run(['tools', '--agent', 'off'])).stderr, /Cannot use the agent "off": it is disabled/);
});

test('tools --provider prints the definitions of what may be used in the shape of a provider', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: servers, permission: { rules: { docs_add: 'deny' } } });
  const chat = JSON.parse((await run(['tools', 'docs', '--provider', 'chat'])).stdout);
  assert.deepEqual(chat.map((one: any) => [one.type, one.function.name, one.function.parameters.type]), [['function', 'docs_echo', 'object']]);
  const { provider, tools } = (await run(['tools', '--provider', 'messages', '--json'])).json();
  assert.deepEqual([provider, tools.map((one: any) => [one.name, one.input_schema.type])], ['messages', [['docs_echo', 'object'], ['notes_echo', 'object']]]);
  assert.match((await run(['tools', '--provider', 'other'])).stderr, /Cannot take --provider "other": it is neither chat nor messages/);
});

test('search orders what may be used as tool_search does; nothing found, no words and a bad limit are told', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { ...servers, bad: { type: 'local', command: ['no-such-program-zl'] } }, permission: { rules: { notes_echo: 'deny' } } });
  const { ok, searched, tools, failures } = (await run(['search', 'add', '--json'])).json();
  assert.deepEqual([ok, searched, tools.map((one: any) => one.id), failures[0].server], [true, 2, ['docs_add'], 'bad']);
  const byServer = await run(['search', 'docs', '--limit', '1']);
  assert.deepEqual([byServer.status, byServer.stdout.split('\n').length], [0, 3]);
  assert.match(byServer.stderr, /^bad: Cannot start/m);
  assert.match((await run(['search', 'something', 'else'])).stderr, /Nothing among 2 tools fits "something else"/);
  assert.equal((await run(['search', ' '])).status, 2);
  assert.match((await run(['search', 'x', '--limit', '0'])).stderr, /Cannot take --limit "0"/);
  config({ mcp: { bad: { type: 'local', command: ['no-such-program-zl'] } } });
  assert.equal((await run(['search', 'x'])).status, 4);
});

test('debug permissions shows modes, rules in order with their places, and what allow_all still enforces (row 137)', async (t) => {
  const { run, config, globalFile, directory } = sandbox(t);
  const log = path.join(directory, 'log');
  config({ mcp: { docs: fixture('--tools=echo,add', `--log=${log}`) }, permission: { mode: 'allow_all', rules: { 'docs_*': 'ask', docs_add: { '1*': 'deny' }, 'other_*': 'allow' } }, agent: { strict: { mode: 'all', permission: { mode: 'strict', rules: { docs_echo: 'deny' } } } } });
  const document = (await run(['debug', 'permissions', '--json'])).json();
  assert.deepEqual([document.configuredMode, document.mode], ['allow_all', 'allow_all']);
  assert.deepEqual(document.rules.map((one: any) => [one.key, one.pattern, one.effect, one.origin.file]), [['docs_*', '*', 'ask', globalFile], ['docs_add', '1*', 'deny', globalFile], ['other_*', '*', 'allow', globalFile]]);
  assert.ok(document.allowAllStillEnforces.some((one: string) => one.startsWith('deny rules')));
  assert.match((await run(['debug', 'permissions'])).stdout, /^Mode {2}allow_all$[^]*still enforced: deny rules[^]*1 +"docs_\*": "ask" +.*zuno\.json:\d+:\d+ \(global\)/m);
  assert.equal(existsSync(log), false);
  const { tool } = (await run(['debug', 'permissions', 'docs_add', '--json'])).json();
  assert.deepEqual([tool.id, tool.server, tool.tool, tool.decision.effect, tool.hidden], ['docs_add', 'docs', 'add', 'allow', false]);
  assert.deepEqual(tool.matching.map((one: any) => [one.index, one.match]), [[0, 'sure'], [1, 'some']]);
  const agent = (await run(['debug', 'permissions', 'docs_echo', '--agent', 'strict', '--json'])).json();
  assert.deepEqual([agent.mode, agent.tool.decision.effect, agent.tool.hidden, agent.rules.length], ['strict', 'deny', true, 4]);
  assert.match((await run(['debug', 'permissions', 'docs_echo', '--agent', 'strict'])).stdout, /configured: allow_all; the agent "strict" is stricter[^]*docs_echo {2}deny {2}hidden from models/);
  assert.match((await run(['debug', 'permissions', 'tool_search'])).stdout, /^tool_search {2}allow .*no rule is against it\n {2}no rule fits it$/m);
  config({ mcp: servers });
  assert.match((await run(['debug', 'permissions'])).stdout, /none: every tool needs a yes/);
});

test('debug agent has the schema exposure, and of every absent tool its gate and rule (row 158)', async (t) => {
  const { run, config, globalFile } = sandbox(t);
  config({
    mcp: { docs: fixture('--tools=echo,add', '--many-tools=9'), notes: fixture('--tools=echo', '--resources'), bad: { type: 'local', command: ['no-such-program-zl'] } },
    permission: { rules: { docs_add: 'deny' } }, agent: { narrow: { mode: 'subagent', tools: ['notes_echo'], description: 'Narrow' }, off: { disable: true } },
  });
  const { status, stdout } = await run(['debug', 'agent', 'build', '--json']);
  assert.equal(status, 0);
  const { ok, agent, schemaExposure, offered, absent, failures } = JSON.parse(stdout);
  assert.deepEqual([ok, agent.name, agent.mode, failures.map((one: any) => one.server)], [true, 'build', 'primary', ['bad']]);
  const { eager, deferred, policy, sources, discovery } = schemaExposure;
  assert.deepEqual(eager, ['notes_echo', 'tool_search', 'list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource']);
  assert.equal(deferred.length, 10);
  assert.deepEqual([policy.mode, policy.autoToolLimit, discovery.available], ['auto', 32, true]);
  assert.deepEqual(sources.map((one: any) => [one.server, one.tools, one.from]), [['docs', 11, 'live'], ['notes', 1, 'live']]);
  assert.deepEqual(absent.map((one: any) => [one.id, one.gate, one.rule.key, one.rule.origin.file]), [['docs_add', 'permission', 'docs_add', globalFile]]);
  assert.equal(offered.length, 11);
  const narrow = await run(['debug', 'agent', 'narrow']);
  assert.equal(narrow.status, 0, narrow.stderr);
  assert.match(narrow.stdout, /^narrow {2}subagent {2}Narrow$[^]*an exact list: notes_echo$[^]*^Shown at once {2}1\n {2}notes_echo$[^]*^Absent {2}11 of 12$/m);
  assert.match(narrow.stdout, /^ +docs_echo +agent +The agent has a list of tools and this one is not on it$/m);
  assert.match((await run(['debug', 'agent', 'build'])).stdout, /^Found by a search only {2}10$/m);
  assert.match((await run(['debug', 'agent', 'narow'])).stderr, /there is no such agent; did you mean "narrow"[^]*next +Known agents: .*narrow/);
  assert.match((await run(['debug', 'agent'])).stdout, /^plan +primary, read-only +[^]*^off +.*disabled/m);
  assert.ok((await run(['debug', 'agent', '--json'])).json().agents.some((one: any) => one.name === 'narrow' && one.origin.file === globalFile));
});

test('the key "read" decides about resources for people too (row 134)', async (t) => {
  const { run, config } = sandbox(t);
  const mcp = { z: fixture('--resources') };
  config({ mcp, permission: { rules: { read: 'deny' } } });
  for (const args of [['read', 'z', 'file:///a.txt', '--yes'], ['resources'], ['resources', 'z', '--templates']]) assert.equal((await run(args)).status, 7, args.join(' '));
  config({ mcp, permission: { rules: { read: 'ask' } } });
  assert.equal((await run(['read', 'z', 'file:///a.txt'])).status, 7);
  assert.equal((await run(['read', 'z', 'file:///a.txt', '--yes'])).stdout, 'alpha\n');
  const terminal = (answer: string) => ({ terminal: { columns: 100, answers: [['[n]o: ', answer]] as const } });
  assert.equal((await run(['read', 'z', 'file:///a.txt'], terminal('o'))).status, 0);
  assert.equal((await run(['read', 'z', 'file:///a.txt'], terminal('n'))).status, 7);
});
