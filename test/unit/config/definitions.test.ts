import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { explainConfig } from '../../../src/config/inspect.ts';
import { GLOBAL, PROJECT, sandbox } from './sandbox.ts';

const OWN = 'home/.config/zuno';
const ZUNO = 'work/checkout/.zuno';

test('loadConfig() reads agents and commands of Markdown files: name, frontmatter, body, line', (context) => {
  const box = sandbox(context);
  const file = box.write(`${OWN}/agents/review/security.md`, `---
description: Looks for holes
mode: subagent
tools:
  - docs_search
permission:
  mode: strict
  rules:
    "docs_*": allow
    docs_write: { "x*": deny }
readOnly: true
model: big
---

You look for holes.

---
Be brief.
`);
  box.write(`${OWN}/agent/plain.md`, 'Only a prompt.\n');
  box.write(`${OWN}/command/fix/it.md`, '---\ndescription: Fixes\nagent: build\n---\nFix $1\n');
  box.write(`${OWN}/commands/hi.md`, 'Say hi to $ARGUMENTS\r\n');
  box.write(`${OWN}/agents/notes.txt`, 'no agent');
  box.write(`${OWN}/agents/.hidden.md`, 'no agent');
  const config = box.load();
  assert.deepEqual(config.diagnostics, []);
  assert.deepEqual([...config.agents.keys()], ['plain', 'review/security']);
  const agent = config.agents.get('review/security')!;
  assert.deepEqual([agent.description, agent.mode, agent.tools, agent.permissionMode, agent.readOnly, agent.prompt], ['Looks for holes', 'subagent', ['docs_search'], 'strict', true, 'You look for holes.\n\n---\nBe brief.']);
  assert.deepEqual(agent.rules.map(({ key, pattern, effect, origin }) => [key, pattern, effect, origin.file, origin.key, origin.line]), [['docs_*', '*', 'allow', file, 'permission.rules.docs_*', 9], ['docs_write', 'x*', 'deny', file, 'permission.rules.docs_write.x*', 10]]);
  assert.deepEqual(agent.origin, { file, layer: 'global', line: 1, column: 1 });
  assert.equal(config.agents.get('plain')?.prompt, 'Only a prompt.');
  assert.deepEqual([...config.commands.values()].map(({ key, template, description }) => [key, template, description]), [['fix/it', 'Fix $1', 'Fixes'], ['hi', 'Say hi to $ARGUMENTS', undefined]]);
  assert.ok(config.layers.some(({ source, state, trusted }) => source === file && state === 'loaded' && trusted));
  const shown = explainConfig(box.read()).find(({ path: steps }) => steps.join('|') === 'agents|review/security|permission|rules|docs_*')!;
  assert.deepEqual([shown.value, shown.origin.file, shown.origin.line], ['allow', file, 9]);
});

test('of one name the nearer directory counts, and beside each other the JSON file', (context) => {
  const box = sandbox(context);
  box.write(`${OWN}/agents/a.md`, '---\ndescription: md\nmode: primary\ntools: [x]\n---\nmd');
  box.write(GLOBAL, { agents: { a: { description: 'json', tools: ['y'] } } });
  box.write(`${OWN}/agent/a.md`, '---\nmode: all\nrequires: [docs]\n---\nolder');
  const shown = (): unknown[] => { const { description, mode, tools, prompt, requires, origin } = box.load().agents.get('a')!; return [description, mode, tools, prompt, requires, path.basename(origin.file)]; };
  assert.deepEqual(shown(), ['json', 'primary', ['y'], 'md', ['docs'], 'zuno.json']);
  box.write('home/.zuno/agents/a.md', '---\ndescription: home\n---\n');
  assert.deepEqual(shown(), ['home', 'primary', ['y'], 'md', ['docs'], 'a.md']);
  box.write('dir/agents/a.md', '---\ndescription: dir\n---\n');
  assert.equal(box.load({ environment: { ZUNO_CONFIG_DIR: path.join(box.root, 'dir') } }).agents.get('a')?.description, 'dir');
});

test('files of a checkout are read with the rules of a project layer: own agents, narrowed ones, no wider ones', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { agents: { mine: { tools: ['a', 'b'], prompt: 'mine' } }, commands: { go: 'mine $1' } });
  box.write(`${ZUNO}/agents/theirs.md`, '---\npermission:\n  "*": allow\n---\nTheirs');
  box.write(`${ZUNO}/agents/mine.md`, '---\ntools: [b, fs_write]\npermission: { docs_write: deny, docs_read: allow }\n---\nEvil');
  box.write(`${ZUNO}/agents/plan.md`, '---\nread_only: false\ntools: [fs_write]\n---\nEvil');
  const go = box.write(`${ZUNO}/commands/go.md`, 'theirs');
  box.write(`${ZUNO}/commands/own.md`, 'own');
  const config = box.load();
  const { agents, commands } = config;
  assert.deepEqual([agents.get('theirs')?.rules, agents.get('theirs')?.prompt], [[], 'Theirs']);
  assert.deepEqual([agents.get('mine')?.tools, agents.get('mine')?.prompt, agents.get('mine')?.rules.map(({ key, effect }) => `${key} ${effect}`)], [['b'], 'mine', ['docs_write deny']]);
  assert.deepEqual([agents.get('plan')?.tools, agents.get('plan')?.readOnly], [[], true]);
  assert.deepEqual([commands.get('go')?.template, commands.get('own')?.template], ['mine $1', 'own']);
  assert.ok(config.diagnostics.some(({ code, origin }) => code === 'config_project_loosens' && origin.file === go));
  assert.equal(box.load({ environment: { ZUNO_DISABLE_PROJECT_CONFIG: '1' } }).agents.has('theirs'), false);
  box.write(GLOBAL, { trust: { project_host_commands: [box.checkout] } });
  assert.equal(box.load().agents.get('theirs')?.rules[0]?.effect, 'allow');
});

test('a file that cannot be read leaves its agent without tools, whatever other layers say', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { agents: { a: { tools: ['x'] }, b: { tools: ['x'] }, c: { tools: ['x'] } } });
  const file = box.write(`${OWN}/agents/a.md`, '---\ntools: &anchor [y]\n---\nx');
  box.write(`${OWN}/agents/b.md`, '---\ntools: [y]\nx');
  box.write(`${OWN}/agents/c.md`, `${'x'.repeat(limits.definitionBytes)}y`);
  box.write(`${OWN}/agents/d.md`, '---\n- list\n---\n');
  mkdirSync(path.join(box.root, OWN, 'agents', 'e.md'));
  const config = box.load();
  for (const name of ['a', 'b', 'c', 'd', 'e']) assert.deepEqual(config.agents.get(name)?.tools, [], name);
  assert.deepEqual(config.diagnostics.map(({ severity }) => severity), Array(5).fill('error'));
  const [first] = config.diagnostics;
  assert.equal(first?.origin.file, file);
  assert.match(first.message, /Cannot use the agent "a": line 2 of its frontmatter: anchors are not supported; it gets no tools/);
  assert.match(config.diagnostics[2]!.message, /larger than 256/);
});

test('a command that cannot be read costs that command', (context) => {
  const box = sandbox(context);
  box.write(`${OWN}/commands/a.md`, '---\ndescription: &x y\n---\nx');
  box.write(`${OWN}/commands/b.md`, '---\ndescription: only\n---\n');
  box.write(`${OWN}/commands/c.md`, 'works');
  const config = box.load();
  assert.deepEqual([...config.commands.keys()], ['c']);
  assert.deepEqual(config.diagnostics.map(({ code, severity }) => [code, severity]), [['config_definition_skipped', 'warning'], ['config_command_invalid', 'warning']]);
});

test('links of a checkout lead nowhere outside of it; one\'s own are followed', { skip: process.platform === 'win32' }, (context) => {
  const box = sandbox(context);
  const outside = path.dirname(box.write('outside/agents/secret.md', 'secret text'));
  box.write(`${ZUNO}/agents/real.md`, 'x');
  symlinkSync(path.join(outside, 'secret.md'), path.join(box.checkout, '.zuno/agents/link.md'));
  symlinkSync(outside, path.join(box.checkout, '.zuno/agents/folder'));
  symlinkSync(outside, path.join(box.checkout, '.zuno/agent'));
  symlinkSync('real.md', path.join(box.checkout, '.zuno/agents/alias.md'));
  symlinkSync('.', path.join(box.checkout, '.zuno/agents/loop'));
  symlinkSync('nowhere.md', path.join(box.checkout, '.zuno/agents/gone.md'));
  const config = box.load();
  assert.ok([...config.agents.keys()].every((name) => /(?:real|alias)$/.test(name)), [...config.agents.keys()].join());
  assert.ok([...config.agents.values()].every(({ prompt }) => prompt === 'x'));
  const said = config.diagnostics.map(({ message }) => message).join('\n');
  for (const name of ['agents/link\\.md', 'agents/folder', '\\.zuno/agent"']) assert.match(said, new RegExp(`${name}.*the link leads out of the project`));
  mkdirSync(path.join(box.root, OWN), { recursive: true });
  symlinkSync(outside, path.join(box.root, OWN, 'agents'));
  assert.equal(box.load().agents.get('secret')?.prompt, 'secret text');
});

test('a whole .zuno that is a link out of the checkout defines nothing', { skip: process.platform === 'win32' }, (context) => {
  const box = sandbox(context);
  box.write('outside/agents/secret.md', 'secret text');
  symlinkSync(path.join(box.root, 'outside'), path.join(box.checkout, '.zuno'));
  assert.equal(box.load().agents.size, 0);
});

test('more files or deeper folders than the bounds are left out with a word', (context) => {
  const box = sandbox(context);
  for (let index = 0; index <= limits.definitionFiles; index++) box.write(`${OWN}/commands/c${String(index).padStart(4, '0')}.md`, 'x');
  box.write(`${OWN}/agents/${'d/'.repeat(limits.definitionDepth)}deep.md`, 'x');
  box.write(`${OWN}/agents/${'d/'.repeat(limits.definitionDepth - 1)}just.md`, 'x');
  const config = box.load();
  assert.equal(config.commands.size, limits.definitionFiles);
  assert.deepEqual([...config.agents.keys()].map((name) => path.posix.basename(name)), ['just']);
  assert.deepEqual(config.diagnostics.map(({ message }) => message.replace(/^.*": /, '')), [`folders are nested deeper than ${limits.definitionDepth}`, `it holds more than ${limits.definitionFiles} files`]);
});

test('a directory that is trusted under another name is not read again as a project\'s', (context) => {
  const box = sandbox(context);
  box.write(`${ZUNO}/agents/a.md`, '---\npermission: allow\n---\n');
  const config = box.load({ environment: { ZUNO_CONFIG_DIR: path.join(box.checkout, '.zuno') } });
  assert.deepEqual([config.agents.get('a')?.rules.length, config.agents.get('a')?.origin.layer, config.diagnostics], [1, 'env-dir', []]);
});

test('a file where a directory is due, or no directory at all, is no definition', (context) => {
  const box = sandbox(context);
  box.write(ZUNO, 'a file');
  box.write(`${OWN}/agents`, 'a file');
  box.write(PROJECT, {});
  assert.equal(box.load().agents.size, 0);
});
