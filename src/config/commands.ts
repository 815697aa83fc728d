/** `command.<key>`, `commands.<key>`: texts with places for arguments, which a person calls by a word. */
import { kindName, merge, originOf, type ObjectSetting, type Setting } from './layers.ts';
import type { CommandDefinition, Diagnostic } from './types.ts';

/** Two spellings of one key become the second; where both say something, the second wins. */
export function oneSpelling(root: ObjectSetting, older: string, key: string): ObjectSetting {
  const before = root.members.get(older), own = root.members.get(key);
  if (before === undefined) return root;
  const members = new Map(root.members);
  members.delete(older);
  members.set(key, own === undefined ? before : merge(before, own));
  return { ...root, members };
}

/** A text alone is a template; two forms of one command in two layers then merge. */
export function canonicalCommands(root: ObjectSetting): ObjectSetting {
  const joined = oneSpelling(root, 'command', 'commands');
  const commands = joined.members.get('commands');
  if (commands?.kind !== 'object') return joined;
  const members = new Map([...commands.members].map(([key, setting]): [string, Setting] => [key, setting.kind === 'scalar' && typeof setting.value === 'string' ? { kind: 'object', at: setting.at, members: new Map([['template', setting]]) } : setting]));
  return { ...joined, members: new Map(joined.members).set('commands', { ...commands, members }) };
}

/** What cannot be used is a diagnostic and costs that command. */
export function readCommands(setting: Setting | undefined, diagnostics: Diagnostic[]): Map<string, CommandDefinition> {
  const found = new Map<string, CommandDefinition>();
  const complain = (at: Setting['at'], which: string, message: string): void => { diagnostics.push({ code: 'config_command_invalid', severity: 'warning', pointer: at.key, message: `Cannot use the command "${which}": ${message}`, origin: originOf(at) }); };
  if (setting === undefined) return found;
  if (setting.kind !== 'object') { complain(setting.at, setting.at.key, `an object is due, not ${kindName(setting)}`); return found; }
  for (const [key, value] of setting.members) {
    const template = value.kind === 'object' ? value.members.get('template') : undefined, description = value.kind === 'object' ? value.members.get('description') : undefined;
    if (key.trim() === '') complain(value.at, key, 'its name is empty');
    else if (value.kind !== 'object') complain(value.at, key, `a text or an object is due, not ${kindName(value)}`);
    else if (template === undefined) complain(value.at, key, '"template" is missing');
    else if (template.kind !== 'scalar' || typeof template.value !== 'string' || template.value.trim() === '') complain(template.at, key, `"template" has to be a text, not ${template.kind === 'scalar' && typeof template.value === 'string' ? 'an empty one' : kindName(template)}`);
    else {
      const about = description?.kind === 'scalar' && typeof description.value === 'string' ? description.value : undefined;
      if (description !== undefined && about === undefined) complain(description.at, key, `"description" has to be a text, not ${kindName(description)}; it is left out`);
      found.set(key, { key, template: template.value, ...(about === undefined ? {} : { description: about }), origin: originOf(value.at) });
    }
  }
  return found;
}
