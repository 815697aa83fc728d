/** What becomes of each key of an entry that another program wrote: a key of ours, or a word about why it is left out. */
import { isNull, kindName, settingFrom, type At, type Setting } from './layers.ts';

/** An entry on its way into the `mcpServers` dialect; every value keeps the place where it was written. */
export interface Converted {
  readonly members: Map<string, Setting>;
  /** Worth telling: something was left out, or means less here. */
  note(at: At, message: string): void;
}

export type Rule = (value: Setting, into: Converted) => void;
export type Rules = Readonly<Record<string, Rule>>;

/** Under this name, as it is. */
export const as = (name: string): Rule => (value, { members }) => { members.set(name, value); };

/** It has no meaning here. `why` completes `"key" is left out: ...`. */
export const without = (why: string): Rule => (value, { note }) => note(value.at, why);

/** It has no meaning here and costs nothing. */
export const silently: Rule = () => {};

const scalarText = (value: Setting | undefined): string | undefined => (value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined);

/** Program and arguments in one list. */
export const commandList: Rule = (value, into) => {
  if (value.kind !== 'array') { into.members.set('command', value); return; }
  const [command, ...items] = value.items;
  if (command !== undefined) into.members.set('command', command);
  const more = into.members.get('args');
  if (items.length > 0 || more !== undefined) into.members.set('args', { kind: 'array', at: value.at, items: [...items, ...more?.kind === 'array' ? more.items : []] });
};

/** Numbers and switches among variables become their text, as every program writes them into an environment. */
export const variables: Rule = (value, into) => {
  if (value.kind !== 'object') { into.members.set('env', value); return; }
  const members = new Map<string, Setting>(into.members.get('env')?.kind === 'object' ? (into.members.get('env') as typeof value).members : []);
  for (const [name, item] of value.members) {
    if (isNull(item)) into.note(item.at, `the variable ${name} is taken out of the environment there; here it stays what it is`);
    else members.set(name, item.kind === 'scalar' && typeof item.value !== 'string' ? { ...item, value: String(item.value) } : item);
  }
  into.members.set('env', { ...value, members });
};

/** Names of variables that are handed to the server: here it has them anyway, unless `asValues` says that they come from a keyring. */
export const variableNames = (asValues: boolean): Rule => (value, into) => {
  const names = value.kind === 'array' ? value.items.map(scalarText).filter((name) => name !== undefined) : [];
  if (!asValues || names.length === 0) return;
  into.note(value.at, `${names.join(', ')} came from a keyring; set ${names.length === 1 ? 'it' : 'them'} as ${names.length === 1 ? 'a variable' : 'variables'}`);
  variables(settingFrom(Object.fromEntries(names.map((name) => [name, `{env:${name}}`])), value.at), into);
};

const WORDS: Readonly<Record<string, string>> = { streamableHttp: 'http', streamable_http: 'http', 'streamable-http': 'http', 'http-stream': 'http', local: 'stdio', remote: 'http' };

/** Other words for the same transports. */
export const transportWord: Rule = (value, { members }) => {
  const word = scalarText(value);
  members.set('type', word !== undefined && Object.hasOwn(WORDS, word) ? { kind: 'scalar', value: WORDS[word]!, at: value.at } : value);
};

/** A URL whose key tells its transport. */
export const urlOf = (type: 'http' | 'sse' | undefined): Rule => (value, { members }) => {
  members.set('url', value);
  if (type !== undefined && !members.has('type')) members.set('type', { kind: 'scalar', value: type, at: value.at });
};

/** Patience with a request, in this unit. */
export const patience = (unitMs: number): Rule => (value, into) => {
  if (value.kind === 'scalar' && typeof value.value === 'number' && value.value > 0) into.members.set('timeoutMs', { ...value, value: value.value * unitMs });
  else into.note(value.at, `a number above 0 is due, not ${kindName(value)}`);
};

function header(into: Converted, name: string, value: string, at: At): void {
  const headers = into.members.get('headers');
  const members = new Map(headers?.kind === 'object' ? headers.members : []).set(name, { kind: 'scalar', value, at });
  into.members.set('headers', { kind: 'object', members, at: headers?.at ?? at });
}

/** The name of a variable that holds a token. */
export const bearerVariable: Rule = (value, into) => {
  const name = scalarText(value);
  if (name === undefined || name === '') into.note(value.at, 'the name of a variable is due');
  else header(into, 'Authorization', `Bearer {env:${name}}`, value.at);
};

/** Headers whose values are names of variables. */
export const headerVariables: Rule = (value, into) => {
  if (value.kind !== 'object') { into.note(value.at, `an object is due, not ${kindName(value)}`); return; }
  for (const [name, item] of value.members) {
    const variable = scalarText(item);
    if (variable === undefined || variable === '') into.note(item.at, 'the name of a variable is due');
    else header(into, name, `{env:${variable}}`, item.at);
  }
};

/** Headers beside those that are there already. */
export const headers: Rule = (value, into) => {
  const before = into.members.get('headers');
  into.members.set('headers', value.kind === 'object' && before?.kind === 'object' ? { ...value, members: new Map([...value.members, ...before.members]) } : value);
};

/** Settings of signing in, member by member; what has no meaning here is told. */
export const signIn = (names: Readonly<Record<string, string>>): Rule => (value, into) => {
  if (value.kind !== 'object') { into.members.set('oauth', value); return; }
  const known = into.members.get('oauth');
  const members = new Map<string, Setting>(known?.kind === 'object' ? known.members : []);
  for (const [key, item] of value.members) {
    if (key === 'enabled' && item.kind === 'scalar') { if (item.value === false) { into.members.set('oauth', item); return; } continue; }
    const name = Object.hasOwn(names, key) ? names[key] : undefined;
    if (name === undefined) into.note(item.at, 'it has no meaning here');
    else members.set(name, item);
  }
  if (members.size > 0) into.members.set('oauth', { ...value, members });
};

/** Scopes beside the settings of signing in. */
export const scopes: Rule = (value, into) => signIn({ scopes: 'scope' })({ kind: 'object', members: new Map([['scopes', value]]), at: value.at }, into);
