import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type FailureCode } from '../../../src/base/failure.ts';
import type { AgentDefinition } from '../../../src/config/types.ts';
import { builtInAgents, knownAgents, mayDelegate, resolveAgent } from '../../../src/host/agents.ts';

const origin = { file: 'zuno.json', layer: 'global', key: 'agents.x' };
const agent = (name: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({ name, mode: 'all', readOnly: false, rules: [], requires: [], disabled: false, origin, ...more });
const config = (...agents: AgentDefinition[]): { agents: Map<string, AgentDefinition> } => ({ agents: new Map(agents.map((one) => [one.name, one])) });
function refused(work: () => unknown, code: FailureCode): Failure {
  try { work(); } catch (error) { assert.ok(error instanceof Failure); assert.equal(error.code, code); return error; }
  throw new Error('it was not refused');
}

test('builtInAgents are the ten roles; plan, explorer and oracle are read-only, those that may lead may delegate', () => {
  assert.deepEqual(builtInAgents.map(({ name }) => name).sort(), ['build', 'deep', 'explorer', 'fixer', 'general', 'librarian', 'looker', 'oracle', 'orchestrator', 'plan']);
  assert.deepEqual(builtInAgents.filter(({ readOnly }) => readOnly).map(({ name }) => name).sort(), ['explorer', 'oracle', 'plan']);
  assert.equal(mayDelegate(knownAgents(config()).get('orchestrator')!), true);
  assert.equal(mayDelegate(knownAgents(config()).get('fixer')!), false);
});

test('resolveAgent() takes the named one, else default_agent, else build', () => {
  assert.equal(resolveAgent(config(), undefined, 'root').name, 'build');
  assert.equal(resolveAgent({ ...config(agent('mine')), defaultAgent: 'mine' }, undefined, 'root').name, 'mine');
  assert.equal(resolveAgent({ ...config(), defaultAgent: 'plan' }, 'orchestrator', 'root').name, 'orchestrator');
});

test('resolveAgent() refuses an unknown name with the nearest ones, and blames the file for a wrong default_agent', () => {
  const typed = refused(() => resolveAgent(config(), 'biuld', 'root'), 'USAGE');
  assert.match(typed.message, /did you mean "build"/);
  assert.match(typed.hint ?? '', /orchestrator/);
  refused(() => resolveAgent({ ...config(), defaultAgent: 'zzz' }, undefined, 'root'), 'CONFIG_INVALID');
});

test('resolveAgent() enforces modes: no subagent at the root, no primary as a child; to look at, any', () => {
  assert.match(refused(() => resolveAgent(config(), 'explorer', 'root'), 'USAGE').message, /is a subagent/);
  assert.match(refused(() => resolveAgent(config(), 'build', 'child'), 'USAGE').message, /primary/);
  assert.equal(resolveAgent(config(), 'explorer', 'child').name, 'explorer');
  assert.equal(resolveAgent(config(agent('both')), 'both', 'child').name, resolveAgent(config(agent('both')), 'both', 'root').name);
  assert.equal(resolveAgent(config(), 'explorer', 'any').name, 'explorer');
});

test('resolveAgent() refuses a disabled agent with the file that says so, unless it is only looked at', () => {
  const disabled = config(agent('build', { disabled: true, mode: 'primary' }));
  const failure = refused(() => resolveAgent(disabled, 'build', 'root'), 'CONFIG_INVALID');
  assert.equal(failure.origin, origin);
  assert.match(failure.hint ?? '', /zuno\.json/);
  assert.equal(resolveAgent(disabled, 'build', 'any').disabled, true);
  refused(() => resolveAgent(config(agent('off', { disabled: true, origin: { file: 'x', layer: 'global' } })), 'off', 'root'), 'CONFIG_INVALID');
});

test('knownAgents() refines a built-in role: what it may not do it still may not', () => {
  const rule = { key: 'docs_*', pattern: '*', effect: 'deny', origin } as const;
  const plan = knownAgents(config(agent('plan', { mode: 'primary', description: 'Ours', readOnly: false, tools: ['docs_search'], rules: [rule], requires: ['docs'] }))).get('plan')!;
  assert.equal(plan.readOnly, true);
  assert.deepEqual({ description: plan.description, tools: plan.tools, rules: plan.rules, requires: plan.requires }, { description: 'Ours', tools: ['docs_search'], rules: [rule], requires: ['docs'] });
  assert.equal(knownAgents(config(agent('build', { readOnly: true }))).get('build')!.readOnly, true);
});
