/**
 * Agents of the configuration: an allow list of tools, rules, a role. Whoever writes one wants less than everything, so what cannot be
 * understood denies: an agent with a part that is not readable gets an empty list of tools and a word about it, never a wider one.
 */
import { nearest } from '../base/text.ts';
import { oneSpelling } from './commands.ts';
import { isNull, kindName, originOf, settingAt, type At, type ObjectSetting, type Setting } from './layers.ts';
import { canonicalPermission, readPermissionBlock } from './permissions.ts';
import { roleOf } from './roles.ts';
import type { AgentDefinition, Diagnostic } from './types.ts';

/** Keys that mean something here; the others belong to the full Zuno and its kin. */
const KEYS: readonly string[] = ['description', 'mode', 'tools', 'permission', 'read_only', 'requires', 'prompt', 'disable'];
const OTHER_SPELLINGS: readonly (readonly [string, string])[] = [['readOnly', 'read_only'], ['disabled', 'disable']];
/** Close to one of ours and meant as they stand. */
const FOREIGN: ReadonlySet<string> = new Set(['model', 'models', 'name', 'color', 'hidden', 'options', 'steps', 'maxSteps', 'temperature', 'top_p', 'variant', 'skills', 'title', 'require']);

/** `agent` and `agents` as one map, each agent in one spelling: `tools` is a list, `permission` has its canonical form. */
export function canonicalAgents(root: ObjectSetting): ObjectSetting {
  const joined = oneSpelling(root, 'agent', 'agents');
  const agents = joined.members.get('agents');
  if (agents?.kind !== 'object') return joined;
  const members = new Map([...agents.members].map(([name, agent]): [string, Setting] => [name, agent.kind === 'object' ? canonicalAgent(agent) : agent]));
  return { ...joined, members: new Map(joined.members).set('agents', { ...agents, members }) };
}

function canonicalAgent(agent: ObjectSetting): ObjectSetting {
  let result = canonicalPermission(agent);
  for (const [older, key] of OTHER_SPELLINGS) result = oneSpelling(result, older, key);
  return listedTools(result);
}

/** The older form of `tools`, name -> boolean: what is true is listed, what is false becomes a rule that denies. */
function listedTools(agent: ObjectSetting): ObjectSetting {
  const tools = agent.members.get('tools');
  const switches = tools?.kind === 'object' ? [...tools.members].filter(([, setting]) => !isNull(setting)) : [];
  const word = (setting: Setting): unknown => (setting.kind === 'scalar' ? setting.value : undefined);
  if (tools?.kind !== 'object' || switches.some(([, setting]) => typeof word(setting) !== 'boolean')) return agent;
  const on = switches.filter(([, setting]) => word(setting) === true), off = switches.filter(([key, setting]) => word(setting) === false && key !== '*');
  const every = settingAt(tools, '*'), all = every !== undefined && word(every) === true, none = every !== undefined && word(every) === false;
  const members = new Map(agent.members);
  if (all) members.set('tools', { kind: 'scalar', value: null, at: tools.at });
  else if (on.length === 0 && !none) members.delete('tools');
  else members.set('tools', { kind: 'array', at: tools.at, items: on.map(([key, { at }]) => ({ kind: 'scalar', value: key, at })) });
  if (off.length === 0) return { ...agent, members };
  const permission = members.get('permission');
  // Of a block that is not understood nothing is left anyway.
  if (permission !== undefined && permission.kind !== 'object') return agent;
  const denied = settingAt(permission, 'disallowedTools');
  if (denied !== undefined && denied.kind !== 'array') return agent;
  const items: Setting[] = [...denied?.items ?? [], ...off.map(([key, { at }]): Setting => ({ kind: 'scalar', value: key, at }))];
  members.set('permission', { kind: 'object', at: permission?.at ?? tools.at, members: new Map(permission?.members).set('disallowedTools', { kind: 'array', at: denied?.at ?? tools.at, items }) });
  return { ...agent, members };
}

/** A definition that could not be read at all: what other layers say of the agent cannot stand without it. */
export interface BrokenAgent { readonly name: string; readonly at: At; readonly problem: string }

/** `setting`: the merged `agents`. Every agent comes out; what is wrong with one is a diagnostic. */
export function readAgents(setting: Setting | undefined, broken: readonly BrokenAgent[], diagnostics: Diagnostic[]): Map<string, AgentDefinition> {
  const agents = new Map<string, AgentDefinition>();
  if (setting !== undefined && setting.kind !== 'object') {
    diagnostics.push({ code: 'config_agent_invalid', severity: 'error', pointer: setting.at.key, message: `Cannot read agents from "${setting.at.key}": an object is due, not ${kindName(setting)}`, origin: originOf(setting.at) });
  }
  for (const [name, agent] of setting?.kind === 'object' ? setting.members : []) agents.set(name, readAgent(name, agent, diagnostics));
  for (const { name, at, problem } of broken) {
    diagnostics.push(complaint(name, 'error', at, `${problem}; it gets no tools`));
    agents.set(name, { ...agents.get(name) ?? readAgent(name, { kind: 'object', members: new Map(), at }, diagnostics), tools: [] });
  }
  return agents;
}

function complaint(name: string, severity: 'error' | 'warning', at: At, message: string): Diagnostic {
  return { code: 'config_agent_invalid', severity, pointer: at.key, message: `Cannot use ${severity === 'error' ? '' : 'all of '}the agent "${name}": ${message}`, origin: originOf(at) };
}

function readAgent(name: string, setting: Setting, diagnostics: Diagnostic[]): AgentDefinition {
  const role = roleOf(name);
  let unclear = false;
  /** Nobody knows how much less was wanted. */
  const deny = (at: Setting, message: string): void => { unclear = true; diagnostics.push(complaint(name, 'error', at.at, `"${at.at.key}": ${message}; the agent gets no tools`)); };
  const warn = (at: Setting, message: string): void => { diagnostics.push(complaint(name, 'warning', at.at, message)); };
  const member = (key: string): Setting | undefined => settingAt(setting, key);
  if (setting.kind !== 'object') deny(setting, `an object is due, not ${kindName(setting)}`);
  else warnOfNearMisses(setting, warn);
  const text = (key: string): string | undefined => {
    const value = member(key);
    if (value === undefined || (value.kind === 'scalar' && typeof value.value === 'string')) return value === undefined ? undefined : String(value.value);
    warn(value, `"${value.at.key}": text is due, not ${kindName(value)}; it is left out`);
    return undefined;
  };
  const flag = (key: string): boolean | undefined => {
    const value = member(key);
    if (value === undefined || (value.kind === 'scalar' && typeof value.value === 'boolean')) return value === undefined ? undefined : value.value === true;
    deny(value, `true or false is due, not ${kindName(value)}`);
    return undefined;
  };
  const names = (key: string): string[] | undefined => {
    const value = member(key);
    if (value === undefined) return undefined;
    const found = value.kind === 'array' ? value.items.map((item) => (item.kind === 'scalar' && typeof item.value === 'string' ? item.value.trim() : '')) : [];
    if (value.kind === 'array' && !found.includes('')) return found;
    deny(value, `a list of names is due${value.kind === 'array' ? '' : `, not ${kindName(value)}`}`);
    return undefined;
  };
  const tools = names('tools'), requires = names('requires'), description = text('description'), prompt = text('prompt');
  for (const tool of tools ?? []) if (/[*?]/.test(tool)) warn(member('tools')!, `"tools" takes exact names, and "${tool}" is none: it matches nothing`);
  const { mode: permissionMode, rules } = readPermissionBlock(member('permission'), deny);
  const definition = {
    name, mode: readMode(member('mode'), warn) ?? role?.mode ?? 'all', readOnly: (flag('read_only') ?? false) || role?.readOnly === true, disabled: flag('disable') ?? false,
    rules, requires: requires ?? [], origin: originOf(setting.at),
    ...(description === undefined ? {} : { description }), ...(prompt === undefined ? {} : { prompt }), ...(permissionMode === undefined ? {} : { permissionMode }),
  };
  const list = unclear ? [] : tools;
  return list === undefined ? definition : { ...definition, tools: list };
}

/** A mode that is none is the least of them. */
function readMode(setting: Setting | undefined, warn: (at: Setting, message: string) => void): AgentDefinition['mode'] | undefined {
  const mode = setting?.kind === 'scalar' ? setting.value : undefined;
  if (setting === undefined || mode === 'primary' || mode === 'subagent' || mode === 'all') return mode as AgentDefinition['mode'] | undefined;
  warn(setting, `"${setting.at.key}": "primary", "subagent" or "all" is due; it counts as "subagent"`);
  return 'subagent';
}

function warnOfNearMisses(agent: ObjectSetting, warn: (at: Setting, message: string) => void): void {
  for (const [key, value] of agent.members) {
    if (KEYS.includes(key) || FOREIGN.has(key)) continue;
    const near = nearest(key, [...KEYS, ...OTHER_SPELLINGS.map(([other]) => other)], 1)[0];
    if (near !== undefined) warn(value, `"${key}" means nothing here; did you mean "${near}"?`);
  }
}

/** `default_agent` names one that is not there, or that leads no session. */
export function strayDefaultAgent(setting: Setting | undefined, agents: ReadonlyMap<string, AgentDefinition>): Diagnostic[] {
  const name = setting?.kind === 'scalar' && typeof setting.value === 'string' ? setting.value : undefined;
  if (setting === undefined || name === undefined) return [];
  const agent = agents.get(name), mode = agent?.mode ?? roleOf(name)?.mode;
  const problem = mode === undefined ? `there is no agent "${name}"` : agent?.disabled === true ? `the agent "${name}" is disabled` : mode === 'subagent' ? `"${name}" is a subagent and leads no session` : undefined;
  return problem === undefined ? [] : [{ code: 'config_default_agent', severity: 'warning', pointer: setting.at.key, message: `Cannot use "default_agent": ${problem}`, origin: originOf(setting.at) }];
}
