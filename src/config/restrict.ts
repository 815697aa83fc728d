/**
 * What a project file may say of everything that is no server: it takes away. It may deny, ask for more care, define agents and commands
 * of its own and narrow those of the person; it may not loosen a rule, widen an agent, or say anew what a trusted layer says.
 */
import { isNull, originOf, settingAt, settled, type Layer, type ObjectSetting, type Setting } from './layers.ts';
import { roleOf } from './roles.ts';
import type { Trust } from './trust.ts';
import type { Diagnostic } from './types.ts';

export interface Restricted { readonly root: ObjectSetting; readonly notices: readonly Diagnostic[] }

/** Tells that a value stays out. */
type Refuse = (setting: Setting, why?: string) => void;

/** Whatever is admitted: these reach beyond the checkout, or switch off what watches over it. */
const OUT_OF_REACH: readonly (readonly string[])[] = [['audit'], ['concurrency', 'parallel_tools']];

/**
 * The settings of a layer as far as it may decide them. `lower`: what the layers below add up to. `trusted`: what all trusted and admitted layers
 * add up to, whichever rank they have, so that it makes no difference which of the two stands higher. All in canonical form.
 */
export function restricted(layer: Layer, trust: Trust, lower: () => Setting | undefined, trusted: () => Setting | undefined): Restricted {
  if (layer.trusted) return { root: layer.root, notices: [] };
  const notices: Diagnostic[] = [];
  const refuse: Refuse = (setting, why = 'a project file may only take permissions away') => {
    notices.push({ code: 'config_project_loosens', severity: 'warning', pointer: setting.at.key, message: `Cannot use "${setting.at.key}" of ${layer.source}: ${why}`, origin: originOf(setting.at) });
  };
  let root = layer.root;
  for (const keys of OUT_OF_REACH) {
    const setting = settingAt(root, ...keys);
    if (setting === undefined) continue;
    refuse(setting, 'a project file may not set it');
    root = without(root, keys);
  }
  root = withLock(root, refuse);
  if (trust.admitted(layer)) return { root, notices };

  const below = lower(), own = trusted();
  const members = new Map(root.members);
  const put = (key: string, kept: Setting | undefined): void => { if (kept === undefined) members.delete(key); else members.set(key, kept); };
  const { permission, tools, features, agents, commands } = Object.fromEntries(members) as Partial<Record<string, Setting>>;
  if (permission !== undefined) put('permission', permissionOf(permission, settingAt(below, 'permission'), CAREFUL, refuse));
  if (tools !== undefined) put('tools', takeAway(tools, settingAt(below, 'tools'), 'tools', (setting) => is(setting, false), refuse));
  const mcp = settingAt(features, 'mcp');
  if (features !== undefined && (features.kind !== 'object' || (mcp !== undefined && !(mcp.kind === 'scalar' && mcp.value === false)))) {
    refuse(mcp ?? features);
    members.delete('features');
  }
  if (agents !== undefined) put('agents', eachOwn(agents, settingAt(own, 'agents'), refuse, (name, agent) => agentOf(name, agent, { below: settingAt(below, 'agents', name), own: settingAt(own, 'agents', name) }, refuse)));
  if (commands !== undefined) {
    put('commands', eachOwn(commands, settingAt(own, 'commands'), refuse, (name, command) => {
      if (settingAt(own, 'commands', name) === undefined) return command;
      refuse(command, 'a project file cannot change a command of a trusted layer');
      return undefined;
    }));
  }
  const chosen = members.get('default_agent'), name = chosen?.kind === 'scalar' && typeof chosen.value === 'string' ? chosen.value : '';
  if (chosen !== undefined && (settingAt(own, 'default_agent') !== undefined || settingAt(own, 'agents', name) !== undefined || isNull(chosen))) {
    refuse(chosen, 'a project file cannot choose among the agents of a trusted layer');
    members.delete('default_agent');
  }
  return { root: { ...root, members }, notices };
}

/** The object without what stands at a path of keys. */
function without(object: ObjectSetting, [key, ...rest]: readonly string[]): ObjectSetting {
  const members = new Map(object.members), inner = members.get(key!);
  if (rest.length > 0 && inner?.kind === 'object') members.set(key!, without(inner, rest)); else members.delete(key!);
  return { ...object, members };
}

/** Of `mcp` only the lock is a setting: on is for everyone, off is not for a project. */
function withLock(root: ObjectSetting, refuse: Refuse): ObjectSetting {
  const mcp = root.members.get('mcp');
  if (mcp === undefined) return root;
  const lock = settingAt(mcp, 'lock');
  const on = lock?.kind === 'scalar' && lock.value === 'enforce';
  if (lock?.kind === 'scalar' && !on && !isNull(lock)) refuse(lock, 'a project file may only turn the lock on ("enforce")');
  return on ? { ...root, members: new Map(root.members).set('mcp', { kind: 'object', at: mcp.at, members: new Map([['lock', lock]]) }) } : without(root, ['mcp']);
}

function eachOwn(map: Setting, own: Setting | undefined, refuse: Refuse, keep: (name: string, setting: Setting) => Setting | undefined): Setting | undefined {
  if (map.kind !== 'object') {
    if (own === undefined && !isNull(map)) return map;
    refuse(map, 'a project file cannot take back what a trusted layer says');
    return undefined;
  }
  const members = new Map<string, Setting>();
  for (const [name, setting] of map.members) {
    if (isNull(setting)) { refuse(setting, 'a project file cannot take back what a trusted layer says'); continue; }
    const kept = keep(name, setting);
    if (kept !== undefined) members.set(name, kept);
  }
  return { ...map, members };
}

/** What a project may say of one agent: of one that is its own everything but allow rules, of another what makes it less. */
function agentOf(name: string, agent: Setting, { below, own }: { readonly below: Setting | undefined; readonly own: Setting | undefined }, refuse: Refuse): Setting | undefined {
  if (agent.kind !== 'object' || (own !== undefined && own.kind !== 'object')) {
    if (own === undefined) return agent;
    refuse(agent, 'a project file cannot define an agent of a trusted layer anew');
    return undefined;
  }
  const role = roleOf(name), foreign = own ?? role;
  const says = (key: string): Setting | undefined => settingAt(own, key);
  const members = new Map<string, Setting>();
  for (const [key, value] of agent.members) {
    const kept = ((): Setting | undefined => {
      switch (key) {
        case 'permission': return permissionOf(value, settingAt(below, 'permission'), NOT_LOOSE, refuse);
        case 'tools': return toolsOf(value, own, role?.readOnly === true, refuse);
        case 'read_only':
        case 'disable': {
          const before = says(key), off = key === 'read_only' && role?.readOnly === true;
          if (is(value, true) || (before === undefined && !off && !isNull(value))) return value;
          break;
        }
        case 'mode':
          if (says(key) === undefined && role === undefined && !isNull(value)) return value;
          break;
        default: if (says(key) === undefined && !isNull(value)) return value;
      }
      refuse(value, foreign === undefined ? 'null takes nothing away here' : 'a project file can only narrow an agent that is not its own');
      return undefined;
    })();
    if (kept !== undefined) members.set(key, kept);
  }
  return { ...agent, members };
}

const is = (setting: Setting, value: unknown): boolean => setting.kind === 'scalar' && setting.value === value;

/** What both lists hold. Without a list a read-only agent has the tools that its own rules name. */
function toolsOf(tools: Setting, own: Setting | undefined, readOnlyRole: boolean, refuse: Refuse): Setting | undefined {
  const listed = settingAt(own, 'tools'), readOnly = settingAt(own, 'read_only');
  if (isNull(tools)) { refuse(tools, 'a project file can only narrow an agent that is not its own'); return undefined; }
  const limited = listed !== undefined || readOnlyRole || (readOnly !== undefined && !is(readOnly, false));
  // What is no list is for the reader to complain about: it leaves the agent without tools.
  if (!limited || tools.kind !== 'array') return tools;
  const allowed = listed === undefined ? namedIn(settingAt(own, 'permission')) : listed.kind === 'array' ? listed.items.flatMap(textOf) : [];
  const items = tools.items.filter((item) => textOf(item).some((text) => allowed.includes(text)));
  for (const item of tools.items) if (!items.includes(item)) refuse(item, 'a project file can only narrow an agent that is not its own');
  return { ...tools, items };
}

const textOf = (item: Setting): string[] => (item.kind === 'scalar' && typeof item.value === 'string' ? [item.value.trim()] : []);

function namedIn(permission: Setting | undefined): string[] {
  const rules = settingAt(permission, 'rules'), allowed = settingAt(permission, 'allowedTools');
  return [
    ...(rules?.kind === 'object' ? [...rules.members].filter(([, rule]) => !is(rule, 'deny')).map(([key]) => key) : []),
    ...(allowed?.kind === 'array' ? allowed.items.flatMap(textOf) : []),
  ];
}

/** Which values may stay. */
type May = (setting: Setting, key: string) => boolean;

const CAREFUL: May = (setting, key) => (key === 'mode' ? is(setting, 'strict') || is(setting, 'plan') : is(setting, 'deny'));
/** In an agent, what is no word of ours stays too: it leaves the agent without tools. */
const LOOSE: readonly unknown[] = ['allow', 'ask', 'standard', 'allow_all', 'yolo', 'build', 'edit', 'auto', null];
const NOT_LOOSE: May = (setting) => !(setting.kind === 'scalar' && LOOSE.includes(setting.value));

/** A canonical block as far as it takes away. A list of refusals grows the one below it. */
function permissionOf(permission: Setting, lower: Setting | undefined, may: May, refuse: Refuse): Setting | undefined {
  if (permission.kind !== 'object') return takeAway(permission, undefined, 'permission', may, refuse);
  const members = new Map<string, Setting>();
  for (const [key, value] of permission.members) {
    const under = settingAt(lower, key);
    if (key === 'disallowedTools' && value.kind === 'array') members.set(key, { ...value, items: [...(under?.kind === 'array' ? under.items : []), ...value.items] });
    else if (key === 'allowedTools' && value.kind === 'array') refuse(value);
    else {
      const kept = takeAway(value, key === 'rules' ? under : undefined, key, may, refuse);
      if (kept !== undefined) members.set(key, kept);
    }
  }
  return { ...permission, members };
}

/** What is left of a setting when only some values may stay; a narrower map does not push out the wider word it would replace. */
function takeAway(setting: Setting, under: Setting | undefined, key: string, may: May, refuse: Refuse): Setting | undefined {
  if (setting.kind !== 'object') {
    if (may(setting, key)) return setting;
    refuse(setting);
    return undefined;
  }
  const members = new Map<string, Setting>(under?.kind === 'scalar' ? [['*', under]] : []);
  for (const [step, value] of setting.members) {
    const kept = takeAway(value, settingAt(under, step), '', may, refuse);
    if (kept !== undefined) members.set(step, kept);
  }
  return { ...setting, members };
}

/** For `restricted`: worked out once, and only when a project layer asks. */
export function settledOnce(make: () => Setting | undefined): () => Setting | undefined {
  let made: { readonly value: Setting | undefined } | undefined;
  return () => (made ??= { value: settled(make()) }).value;
}
