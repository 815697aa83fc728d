/** Readers of single fields of a server entry: a value of the right shape goes into the draft, a wrong one becomes a complaint. */
import { isNull, kindName, type At, type Setting } from './layers.ts';
import { parseTemplate, references, type TemplateContext } from './substitute.ts';
import type { ProtocolChoice, Template } from './types.ts';

/** A value and its place; `undefined` as value means that null took away what lower layers said. */
export interface Cell<T> { readonly value: T | undefined; readonly at: At }

/** What one entry says, in the words of no dialect. */
export interface Fields {
  kind?: Cell<'local' | 'remote'>;
  transport?: Cell<'auto' | 'http' | 'sse'>;
  command?: Cell<Template>;
  args?: Cell<readonly Template[]>;
  cwd?: Cell<Template>;
  environment?: Cell<ReadonlyMap<string, Cell<Template>>>;
  url?: Cell<Template>;
  headers?: Cell<ReadonlyMap<string, Cell<Template>>>;
  /** `texts`: what the references inside it are relative to. */
  oauth?: Cell<false | Setting> & { readonly texts?: TemplateContext };
  headersCommand?: Cell<readonly Template[]>;
  caFile?: Cell<Template>;
  certFile?: Cell<Template>;
  keyFile?: Cell<Template>;
  enabled?: Cell<boolean>;
  timeoutMs?: Cell<number>;
  protocol?: Cell<ProtocolChoice>;
}

export interface ReadContext {
  readonly template: TemplateContext;
  /** The value has the wrong shape: `message` says what is the case. The entry is lost. */
  readonly invalid: (at: At, message: string) => void;
  /** Worth saying, but the entry lives. */
  readonly notice: (at: At, message: string) => void;
}

/** Reads one key of an entry into the draft. */
export type FieldReader = (draft: Fields, setting: Setting, context: ReadContext) => void;

/** A reader whose value is made by `read`; null removes; `undefined` from `read` means it complained. */
function reader<K extends keyof Fields>(field: K, read: (setting: Setting, context: ReadContext) => NonNullable<Fields[K]>['value']): FieldReader {
  return (draft, setting, context) => {
    const value = isNull(setting) ? undefined : read(setting, context);
    draft[field] = { value, at: setting.at } as Fields[K];
  };
}

function text(setting: Setting, context: ReadContext): string | undefined {
  if (setting.kind === 'scalar' && typeof setting.value === 'string') {
    if (setting.value.includes('\0')) context.invalid(setting.at, 'it contains a NUL character');
    else if (setting.value.trim() === '') context.invalid(setting.at, 'it is empty');
    else return setting.value;
  } else {
    context.invalid(setting.at, `text is due, not ${kindName(setting)}`);
  }
  return undefined;
}

function template(setting: Setting, context: ReadContext): Template | undefined {
  const value = text(setting, context);
  return value === undefined ? undefined : readTemplate(value, setting.at, context);
}

/** What nobody can fill in here costs the entry when it is read, not when it is needed. */
function readTemplate(value: string, at: At, context: ReadContext): Template {
  const read = parseTemplate(value, context.template);
  for (const reference of references(read)) {
    if (reference.kind === 'foreign') context.invalid(at, `${reference.token} cannot be filled in: ${reference.advice}`);
  }
  return read;
}

/** A list of texts; later ones may be empty (an empty argument is one). */
function templates(setting: Setting, context: ReadContext): Template[] | undefined {
  if (setting.kind !== 'array') {
    context.invalid(setting.at, `a list of texts is due, not ${kindName(setting)}`);
    return undefined;
  }
  const found: Template[] = [];
  for (const item of setting.items) {
    if (item.kind === 'scalar' && item.value === '') found.push(parseTemplate('', context.template));
    else { const value = text(item, context); if (value !== undefined) found.push(readTemplate(value, item.at, context)); }
  }
  return found;
}

function templateMap(setting: Setting, context: ReadContext, check: (key: string, value: Setting) => string | undefined): Map<string, Cell<Template>> | undefined {
  if (setting.kind !== 'object') {
    context.invalid(setting.at, `an object of texts is due, not ${kindName(setting)}`);
    return undefined;
  }
  const found = new Map<string, Cell<Template>>();
  for (const [key, value] of setting.members) {
    const problem = check(key, value);
    if (problem !== undefined) context.invalid(value.at, problem);
    else if (isNull(value)) found.set(key, { value: undefined, at: value.at });
    else if (value.kind === 'scalar' && typeof value.value === 'string') found.set(key, { value: readTemplate(value.value, value.at, context), at: value.at });
    else context.invalid(value.at, `text is due, not ${kindName(value)}`);
  }
  return found;
}

export const enabled = reader('enabled', (setting, context) => {
  if (setting.kind === 'scalar' && typeof setting.value === 'boolean') return setting.value;
  context.invalid(setting.at, `true or false is due, not ${kindName(setting)}`);
  return undefined;
});

/** Another spelling of the switch (`enable`, or turned round `disabled`): where the two disagree, off wins. */
export function otherSwitch(name: string, onMeans: boolean): FieldReader {
  return (draft, setting, context) => {
    const before = draft.enabled;
    enabled(draft, setting, context);
    const read = draft.enabled;
    if (read?.value !== undefined && !onMeans) draft.enabled = { value: !read.value, at: read.at };
    if (before?.value === undefined || draft.enabled?.value === undefined || before.value === draft.enabled.value) return;
    context.notice(setting.at, `"${name}" and "enabled" disagree: the server stays off`);
    if (!before.value) draft.enabled = before;
  };
}

/** An older spelling of a key: it counts only where the newer one is absent. */
export function older(name: string, newer: string, field: keyof Fields, read: FieldReader): FieldReader {
  return (draft, setting, context) => {
    if (draft[field] === undefined) read(draft, setting, context);
    else context.notice(setting.at, `"${name}" is left out: "${newer}" says the same`);
  };
}

/** A key that only the program itself may set: an entry that has it is lost. */
export function reserved(name: string): FieldReader {
  return (_draft, setting, context) => context.invalid(setting.at, `"${name}" is not for configuration files: only a program that embeds this one may say so`);
}

/** `command` as one list: program and arguments. */
export const commandLine: FieldReader = (draft, setting, context) => {
  if (isNull(setting)) { draft.command = { value: undefined, at: setting.at }; draft.args = { value: undefined, at: setting.at }; return; }
  const words = templates(setting, context);
  if (words === undefined) return;
  const [command, ...args] = words;
  if (command === undefined || command.source === '') { if (setting.kind === 'array' && setting.items.length === 0 || command?.source === '') context.invalid(setting.at, 'the program is missing'); return; }
  draft.command = { value: command, at: setting.at };
  draft.args = { value: args, at: setting.at };
};

export const command = reader('command', template);
export const args = reader('args', templates);
export const cwd = reader('cwd', template);
export const caFile = reader('caFile', template);
export const certFile = reader('certFile', template);
export const keyFile = reader('keyFile', template);
export const environment = reader('environment', (setting, context) => templateMap(setting, context, (key, value) =>
  key === '' || /[=\0]/.test(key) ? 'this is no name of a variable' : value.kind === 'scalar' && String(value.value).includes('\0') ? 'it contains a NUL character' : undefined));

export const headers = reader('headers', (setting, context) => templateMap(setting, context, (key, value) =>
  !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(key) ? 'this is no name of a header' : value.kind === 'scalar' && /[\r\n\0]/.test(String(value.value)) ? 'a header may not contain line breaks' : undefined));

export const url = reader('url', (setting, context) => {
  const value = template(setting, context);
  if (value === undefined || references(value).length > 0) return value;
  let protocol: string;
  try { protocol = new URL(value.source).protocol; } catch { context.invalid(setting.at, 'this is no URL'); return undefined; }
  if (protocol === 'http:' || protocol === 'https:') return value;
  context.invalid(setting.at, `an http or https URL is due, not ${protocol}`);
  return undefined;
});

const oauthValue = reader('oauth', (setting, context) => {
  if (setting.kind === 'object') return setting;
  if (setting.kind === 'scalar' && setting.value === false) return false;
  context.invalid(setting.at, `an object or false is due, not ${kindName(setting)}`);
  return undefined;
});

export const oauth: FieldReader = (draft, setting, context) => {
  oauthValue(draft, setting, context);
  draft.oauth = { ...draft.oauth!, texts: context.template };
};

/** A program that prints headers: a list, never a shell line. */
export const headersCommand = reader('headersCommand', (setting, context) => {
  const words = templates(setting, context);
  if (words === undefined || words[0]?.source.trim()) return words;
  context.invalid(setting.at, 'the program is missing');
  return undefined;
});

/** Milliseconds, above 0 and within what a timer can hold. */
export const timeout = reader('timeoutMs', (setting, context) => {
  const value = setting.kind === 'scalar' ? setting.value : undefined;
  if (typeof value === 'number' && value > 0 && value <= 2 ** 31 - 1) return value;
  context.invalid(setting.at, `milliseconds above 0 are due, not ${kindName(setting)}`);
  return undefined;
});

export const protocol = reader('protocol', (setting, context) => {
  const value = setting.kind === 'scalar' ? setting.value : undefined;
  if (typeof value === 'string' && (value === 'auto' || value === 'legacy' || /^\d{4}-\d{2}-\d{2}$/.test(value))) return value;
  context.invalid(setting.at, `"auto", "legacy" or a revision such as "2026-07-28" is due${typeof value === 'string' ? '' : `, not ${kindName(setting)}`}`);
  return undefined;
});

const TRANSPORTS: Readonly<Record<string, 'auto' | 'http' | 'sse'>> = { auto: 'auto', http: 'http', 'streamable-http': 'http', streamableHttp: 'http', sse: 'sse' };

export const transport = reader('transport', (setting, context) => {
  const value = setting.kind === 'scalar' && typeof setting.value === 'string' && Object.hasOwn(TRANSPORTS, setting.value) ? TRANSPORTS[setting.value] : undefined;
  if (value === undefined) context.invalid(setting.at, '"http", "sse" or "auto" is due');
  return value;
});

/** `type`, whose words differ by dialect: each stands for a kind and, where it says so, a transport. */
export function typeWords(words: Readonly<Record<string, { readonly kind: 'local' | 'remote'; readonly transport?: 'http' | 'sse' }>>, elsewhere: string): FieldReader {
  const due = Object.keys(words).map((word) => `"${word}"`).join(' or ');
  return (draft, setting, context) => {
    const word = setting.kind === 'scalar' && typeof setting.value === 'string' ? setting.value : undefined;
    const meaning = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined;
    if (meaning === undefined) { context.invalid(setting.at, `${due} is due${elsewhere}`); return; }
    draft.kind = { value: meaning.kind, at: setting.at };
    if (meaning.transport !== undefined && draft.transport === undefined) draft.transport = { value: meaning.transport, at: setting.at };
  };
}

/** A key of other programs that means nothing here. */
export function dropped(why: string): FieldReader {
  return (_draft, setting, context) => context.notice(setting.at, why);
}

