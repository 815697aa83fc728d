import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { builtInRoles } from '../../../src/config/roles.ts';
import { ownKeys } from '../../../src/config/settings.ts';
import { GLOBAL, sandbox } from './sandbox.ts';

const text = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
const examples = (language: RegExp): string[] => [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, name]) => language.test(name!)).map(([, , body]) => body!);

test('every example of docs/configuration.md is a configuration without a fault', (context) => {
  const blocks = examples(/^jsonc?$/);
  assert.ok(blocks.length >= 10);
  for (const block of blocks) {
    const box = sandbox(context);
    // A few show one key of an entry, or what a program prints.
    const printed = /"expiresIn"|^\{"Authorization"/.test(block), fragment = !block.startsWith('{');
    if (printed) { JSON.parse(block); continue; }
    box.write('home/.config/zuno/zuno.jsonc', fragment ? `{"mcp": {"x": {"type": "remote", "url": "https://x.test/", ${block}}}}` : block);
    const config = box.load();
    const faults = config.diagnostics.filter(({ code }) => !['config_plugin_invalid', 'config_mcp_toggle_unmatched', 'config_exposure_unmatched'].includes(code));
    assert.deepEqual(faults, [], block);
    assert.ok(fragment || config.layers.some(({ state }) => state === 'loaded'));
  }
});

test('the Markdown agent of docs/configuration.md is read as the page says', (context) => {
  const [agent] = examples(/^markdown$/);
  const box = sandbox(context);
  box.write('home/.config/zuno/agents/review/security.md', agent);
  const read = box.load();
  const security = read.agents.get('review/security')!;
  assert.deepEqual([security.description, security.tools, security.rules.map(({ key, effect }) => `${key} ${effect}`), security.prompt, read.diagnostics], ['Looks for holes', ['docs_search', 'docs_read'], ['docs_delete deny'], 'You look for holes and change nothing.', []]);
});

test('docs/configuration.md explains the agents example truly', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, examples(/^jsonc$/).find((one) => one.includes('"agents"'))!);
  const { agents, defaultAgent } = box.load();
  assert.deepEqual([agents.get('reviewer')?.permissionMode, agents.get('reviewer')?.requires, agents.get('build')?.rules.map(({ key, effect }) => `${key} ${effect}`), defaultAgent], ['strict', ['docs'], ['files_* deny'], 'build']);
});

test('docs/configuration.md names every own key, every built-in agent and the bounds', () => {
  for (const key of ownKeys) if (key !== '$schema') assert.ok(text.includes(`\`${key}`) || text.includes(`"${key}"`), key);
  for (const name of Object.keys(builtInRoles)) assert.ok(text.includes(`\`${name}\``), name);
  for (const bound of [`up to ${limits.definitionFiles} files of ${limits.definitionBytes / 1024} KiB in folders ${limits.definitionDepth}`, `(at most ${limits.exposureToolsMax.toLocaleString('en')})`, `(at most ${limits.exposureBytesMax / 1024 ** 2} MiB)`, `(${limits.auditBytesMin / 1024} KiB to ${limits.auditBytesMax / 1024 ** 3} GiB, default ${limits.auditBytes / 1024 ** 2} MiB)`, `(0 to ${limits.auditFilesMax}, default ${limits.auditFiles})`]) assert.ok(text.includes(bound), bound);
});
