/** The `permission` block, of a configuration and of an agent: its forms become `{ mode, rules, allowedTools, disallowedTools }`, and that becomes rules in order. */
import { nearest } from '../base/text.ts';
import { isNull, kindName, originOf, settingAt, type ObjectSetting, type Setting } from './layers.ts';
import type { Effect, PermissionMode, Permissions, Rule } from './types.ts';

export type Complain = (setting: Setting, message: string) => void;

/** Our words, and those of ZCode. `plan` has no agent to be read-only with here, so it is the strictest mode we have. */
const MODES: Readonly<Record<string, PermissionMode>> = {
  standard: 'standard', strict: 'strict', allow_all: 'allow_all', yolo: 'allow_all', build: 'standard', edit: 'standard', auto: 'standard', plan: 'strict',
};

const KEYS = ['mode', 'rules', 'allowedTools', 'disallowedTools'] as const;

function isEffect(value: unknown): value is Effect {
  return value === 'allow' || value === 'ask' || value === 'deny';
}

/** `tools` switches come first, so that every rule beats them; then the block in its order. The last match wins. */
export function readPermissions(root: Setting | undefined, complain: Complain): Permissions {
  const rules: Rule[] = [];
  const tools = settingAt(root, 'tools');
  if (tools !== undefined && tools.kind !== 'object') complain(tools, `an object is due, not ${kindName(tools)}`);
  else for (const [key, setting] of tools?.members ?? []) {
    if (setting.kind === 'scalar' && typeof setting.value === 'boolean') rules.push({ key, pattern: '*', effect: setting.value ? 'allow' : 'deny', origin: originOf(setting.at) });
    else complain(setting, `true or false is due, not ${kindName(setting)}`);
  }
  const block = readPermissionBlock(settingAt(root, 'permission'), complain);
  return { mode: block.mode ?? 'standard', rules: [...rules, ...block.rules] };
}

/** A canonical block: the list of what is allowed, then the rules, then the list of what is refused, which nothing comes after. */
export function readPermissionBlock(permission: Setting | undefined, complain: Complain): { readonly mode?: PermissionMode; readonly rules: readonly Rule[] } {
  if (permission === undefined) return { rules: [] };
  if (permission.kind !== 'object') {
    complain(permission, `an object is due, not ${kindName(permission)}`);
    return { rules: [] };
  }
  for (const [key, setting] of permission.members) {
    if (!(KEYS as readonly string[]).includes(key)) complain(setting, `unknown key${near(key)}`);
  }
  const { mode, rules, allowedTools, disallowedTools } = Object.fromEntries(permission.members) as Partial<Record<(typeof KEYS)[number], Setting>>;
  const read = mode === undefined ? undefined : readMode(mode, complain);
  return { ...(read === undefined ? {} : { mode: read }), rules: [...readList(allowedTools, 'allow', complain), ...readRules(rules, complain), ...readList(disallowedTools, 'deny', complain)] };
}

/** One word for everything, and the older form in which the rules stand directly under `permission`, become `{ mode, rules }`. */
export function canonicalPermission(root: ObjectSetting): ObjectSetting {
  const permission = root.members.get('permission');
  if (permission === undefined) return root;
  const under = (rules: ObjectSetting): ObjectSetting => ({ ...root, members: new Map(root.members).set('permission', { kind: 'object', at: permission.at, members: new Map([['rules', rules]]) }) });
  if (permission.kind === 'object') return KEYS.some((key) => permission.members.has(key)) ? root : under(permission);
  if (permission.kind === 'scalar' && isEffect(permission.value)) return under({ kind: 'object', at: permission.at, members: new Map([['*', permission]]) });
  return root;
}

function near(key: string): string {
  const found = nearest(key, KEYS, 1)[0];
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

function readMode(setting: Setting, complain: Complain): PermissionMode | undefined {
  const mode = setting.kind === 'scalar' && typeof setting.value === 'string' && Object.hasOwn(MODES, setting.value) ? MODES[setting.value] : undefined;
  if (mode === undefined) complain(setting, '"standard", "strict" or "allow_all" is due');
  return mode;
}

function readRules(setting: Setting | undefined, complain: Complain): Rule[] {
  if (setting === undefined) return [];
  if (setting.kind !== 'object') { complain(setting, `an object is due, not ${kindName(setting)}`); return []; }
  const rules: Rule[] = [];
  const add = (key: string, pattern: string, value: Setting): void => {
    if (value.kind === 'scalar' && isEffect(value.value)) rules.push({ key, pattern, effect: value.value, origin: originOf(value.at) });
    else complain(value, '"allow", "ask" or "deny" is due');
  };
  for (const [key, value] of setting.members) {
    if (value.kind === 'object') for (const [pattern, effect] of value.members) add(key, pattern, effect);
    else add(key, '*', value);
  }
  return rules;
}

/** A list of keys, each also as `key(pattern)`. */
function readList(setting: Setting | undefined, effect: Effect, complain: Complain): Rule[] {
  if (setting === undefined) return [];
  if (setting.kind !== 'array') { complain(setting, `a list of tools is due, not ${kindName(setting)}`); return []; }
  return setting.items.flatMap((item): Rule[] => {
    const text = item.kind === 'scalar' && typeof item.value === 'string' ? item.value.trim() : '';
    if (text === '') { complain(item, isNull(item) || item.kind !== 'scalar' ? `the name of a tool is due, not ${kindName(item)}` : 'the name of a tool is due'); return []; }
    const [, key = text, pattern = '*'] = /^([^()]+)\((.*)\)$/.exec(text) ?? [];
    return [{ key, pattern: pattern === '' ? '*' : pattern, effect, origin: originOf(item.at) }];
  });
}
