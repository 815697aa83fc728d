/** From declarations of many layers to one entry per server. What a project file may not bring about is cut here (R7, R8). */
import * as path from 'node:path';
import { toFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { INVALID, type Declaration } from './dialects.ts';
import type { Cell, Fields } from './fields.ts';
import { originOf, plain, type At } from './layers.ts';
import { expand, references, type Environment } from './substitute.ts';
import type { Trust } from './trust.ts';
import type { Diagnostic, RemoteEntry, ServerEntry, Template } from './types.ts';

export interface EntryContext {
  readonly trust: Trust;
  readonly environment: Environment;
  readonly home: string;
  readonly workspace: string;
}

const tlsKeys = ['caFile', 'certFile', 'keyFile'] as const;
/** What a project file may say under `oauth`: nothing that moves credentials or lowers a check. */
export const projectOAuthKeys: readonly string[] = ['clientId', 'scope'];

type Complain = (severity: 'error' | 'warning', at: At, message: string) => void;

/** What the declarations of one name add up to. */
export interface Draft {
  fields: Fields;
  /** Declarations that count, lowest first; toggles are not among them. */
  sources: Declaration[];
  /** A trusted layer said no, and no trusted layer said yes since: a project cannot say yes. */
  heldOff: boolean;
  enabled: Cell<boolean> | undefined;
}

/** `declarations` in order of rank, low to high. A server with a complaint of severity `error` is missing from the map. */
export function buildEntries(declarations: readonly Declaration[], context: EntryContext): { readonly servers: Map<string, ServerEntry>; readonly diagnostics: Diagnostic[]; readonly drafts: ReadonlyMap<string, Draft> } {
  const byName = new Map<string, Declaration[]>();
  for (const declaration of declarations) {
    const list = byName.get(declaration.name);
    if (list === undefined) byName.set(declaration.name, [declaration]); else list.push(declaration);
  }
  const servers = new Map<string, ServerEntry>();
  const drafts = new Map<string, Draft>();
  const diagnostics: Diagnostic[] = [];
  for (const [name, list] of byName) {
    const found: Diagnostic[] = [];
    const complain: Complain = (severity, at, message) => {
      found.push({ code: INVALID, severity, pointer: at.key, message: `${severity === 'error' ? 'Cannot use' : 'Cannot use all of'} the server "${name}": ${message}`, origin: originOf(at), ...(severity === 'error' ? { server: name } : {}) });
    };
    const draft = fold(list, context.trust, found, complain);
    const entry = buildEntry(name, draft, context, complain);
    if (draft.sources.length > 0) drafts.set(name, draft);
    if (entry !== undefined && !found.some((diagnostic) => diagnostic.severity === 'error')) servers.set(name, entry);
    else if (draft.sources.length === 0 && list.at(-1)!.shape === 'toggle') found.push(unmatched(list.at(-1)!));
    diagnostics.push(...found);
  }
  return { servers, diagnostics, drafts };
}

function unmatched({ name, at }: Declaration): Diagnostic {
  return { code: 'config_mcp_toggle_unmatched', severity: 'warning', pointer: at.key, message: `Cannot switch the server "${name}": no layer declares it`, origin: originOf(at) };
}

function fold(declarations: readonly Declaration[], trust: Trust, problems: Diagnostic[], complain: Complain): Draft {
  const draft: Draft = { fields: {}, sources: [], heldOff: false, enabled: undefined };
  for (const declaration of declarations) {
    problems.push(...declaration.problems);
    applySwitch(draft, declaration, complain);
    if (declaration.shape === 'removed') {
      draft.fields = {};
      draft.sources = [];
      problems.length = 0;
    } else if (declaration.shape === 'entry') {
      mergeFields(draft, { ...declaration, fields: withoutForeignTls(declaration, trust, complain) }, complain);
      draft.sources.push(declaration);
    }
  }
  cutForeignSecrets(draft.fields, complain);
  return draft;
}

function applySwitch(draft: Draft, { fields, layer }: Declaration, complain: Complain): void {
  const next = fields.enabled;
  if (next === undefined) return;
  if (layer.trusted) draft.heldOff = next.value === false;
  else if (draft.heldOff && next.value !== false) {
    if (next.value === true) complain('warning', next.at, '"enabled": a project file cannot switch on what a trusted layer switched off');
    return;
  }
  draft.enabled = next;
}

function kindOf(fields: Fields): 'local' | 'remote' | undefined {
  return fields.kind?.value ?? (fields.command?.value !== undefined ? 'local' : fields.url?.value !== undefined ? 'remote' : undefined);
}

/** Whom to trust on the network, and as whom to go there, is not a checkout's to say. */
function withoutForeignTls({ fields, layer }: Declaration, trust: Trust, complain: Complain): Fields {
  const foreign = trust.admitted(layer) ? [] : tlsKeys.filter((key) => fields[key] !== undefined);
  const kept = { ...fields };
  for (const key of foreign) {
    complain('warning', fields[key]!.at, `"${key}": a project file cannot choose certificates; it is left out`);
    delete kept[key];
  }
  return kept;
}

function mergeFields(draft: Draft, { fields: upper, layer }: Pick<Declaration, 'fields' | 'layer'>, complain: Complain): void {
  const before = kindOf(draft.fields), after = kindOf(upper);
  if (before !== undefined && after !== undefined && before !== after) draft.fields = {};
  const lower = draft.fields;
  const merged: Fields = { ...lower, ...upper };
  if (after !== undefined) merged.kind = { value: after, at: (upper.kind ?? upper.command ?? upper.url)!.at };
  if (lower.url?.value !== undefined && upper.url?.value !== undefined && sameText(lower.url.value, upper.url.value)) merged.url = lower.url;
  if (!layer.trusted && lower.url?.at.layer.trusted === true && merged.url === lower.url) keepTrusted(lower, upper, merged, complain);
  if (upper.environment !== undefined) merged.environment = mergeMaps(lower.environment, upper.environment, (key) => key);
  if (merged.headers !== undefined && upper.headers !== undefined && merged.headers === upper.headers) merged.headers = mergeMaps(lower.headers, upper.headers, (key) => key.toLowerCase());
  draft.fields = merged;
}

function sameText(one: Template, other: Template): boolean {
  return one.source === other.source && references(one).length === 0;
}

/** A project may add plain headers to a trusted server, but not act there as someone else. */
function keepTrusted(lower: Fields, upper: Fields, merged: Fields, complain: Complain): void {
  if (upper.oauth !== undefined && upper.oauth.value !== false) {
    complain('warning', upper.oauth.at, '"oauth": a project file cannot change how a trusted layer signs in');
    if (lower.oauth === undefined) delete merged.oauth; else merged.oauth = lower.oauth;
  }
  if (upper.headers === undefined) return;
  const held = new Set([...lower.headers?.value?.keys() ?? []].map((key) => key.toLowerCase()));
  const added = new Map<string, Cell<Template>>();
  for (const [key, cell] of upper.headers.value ?? []) {
    const word = key.toLowerCase();
    if (!held.has(word) && !['authorization', 'cookie', 'proxy-authorization'].includes(word)) added.set(key, cell);
    else complain('warning', cell.at, `"headers.${key}": a project file cannot change the credentials of a trusted layer`);
  }
  merged.headers = { value: new Map([...lower.headers?.value ?? [], ...added]), at: lower.headers?.at ?? upper.headers.at };
}

function mergeMaps(lower: Fields['headers'], upper: NonNullable<Fields['headers']>, same: (key: string) => string): NonNullable<Fields['headers']> {
  if (upper.value === undefined) return upper;
  const merged = new Map(lower?.value ?? []);
  for (const [key, cell] of upper.value) {
    const old = merged.has(key) ? key : [...merged.keys()].find((other) => same(other) === same(key));
    if (old !== undefined && (old !== key || cell.value === undefined)) merged.delete(old);
    if (cell.value !== undefined) merged.set(key, cell);
  }
  return { value: merged, at: upper.at };
}

/** A URL that a project chose gets nothing that a trusted layer wrote, whichever of the two ranks higher. */
function cutForeignSecrets(fields: Fields, complain: Complain): void {
  const { url, headers, oauth } = fields;
  if (url?.value === undefined || url.at.layer.trusted) return;
  const own = new Map([...headers?.value ?? []].filter(([, cell]) => !cell.at.layer.trusted));
  if (headers !== undefined && own.size < (headers.value?.size ?? 0)) {
    complain('warning', url.at, '"url": a project file chose it, so the headers of trusted layers are left out');
    fields.headers = { value: own, at: headers.at };
  }
  if (oauth?.at.layer.trusted === true && oauth.value !== false) delete fields.oauth;
  if (fields.headersCommand?.at.layer.trusted === true) {
    complain('warning', url.at, '"url": a project file chose it, so the headersCommand of trusted layers is left out');
    delete fields.headersCommand;
  }
  const certificates = tlsKeys.filter((key) => fields[key]?.at.layer.trusted === true);
  if (certificates.length > 0) complain('warning', url.at, '"url": a project file chose it, so the certificates of trusted layers are left out');
  for (const key of certificates) delete fields[key];
}

function buildEntry(name: string, draft: Draft, context: EntryContext, complain: Complain): ServerEntry | undefined {
  const top = draft.sources.at(-1);
  if (top === undefined) return undefined;
  const { fields } = draft;
  const kind = kindOf(fields);
  const key = (step: string): At => ({ ...top.at, key: `${top.at.key}.${step}` });
  if (kind === undefined) { complain('error', key('type'), '"type" is missing, and so are "command" and "url"'); return undefined; }
  const invalidBefore = draft.sources.some((source) => source.problems.length > 0);
  refuseForeignReferences(fields, context, complain);
  const stray = kind === 'local' ? [fields.url, fields.headers, fields.headersCommand, fields.oauth, fields.transport, ...tlsKeys.map((one) => fields[one])] : [fields.command, fields.args, fields.environment, fields.cwd];
  for (const cell of stray) {
    if (cell !== undefined && cell.value !== undefined) complain('error', cell.at, `"${cell.at.key.split('.').at(-1)}" does not belong to a ${kind} server`);
  }
  const base = {
    name, origin: originOf(top.at), enabled: draft.enabled?.value ?? true, protocol: fields.protocol?.value ?? 'auto', timeouts: timeoutsOf(draft),
    shadowed: draft.sources.slice(0, -1).reverse().map((source) => originOf(source.at)),
    ...(draft.enabled === undefined || (draft.enabled.at.layer.source === top.layer.source && draft.enabled.at.key.startsWith(`${top.at.key}.`)) ? {} : { switchedBy: originOf(draft.enabled.at) }),
  } as const;
  if (kind === 'local') {
    const command = fields.command?.value;
    if (command === undefined) { if (!invalidBefore) complain('error', key('command'), '"command" is missing'); return undefined; }
    const cwd = workingDirectory(fields.cwd, context, complain);
    return { ...base, kind, command, args: fields.args?.value ?? [], cwd, environment: templatesOf(fields.environment) };
  }
  const url = fields.url?.value;
  if (url === undefined) { if (!invalidBefore) complain('error', key('url'), '"url" is missing'); return undefined; }
  return { ...base, kind, transport: fields.transport?.value ?? 'auto', url, headers: templatesOf(fields.headers), ...signInOf(fields, context, complain), ...certificatesOf(fields, context, complain) };
}

/** How credentials are come by. Of an object that a project wrote, what concerns this machine's safety is left out. */
function signInOf({ oauth, headersCommand }: Fields, { trust }: EntryContext, complain: Complain): Pick<RemoteEntry, 'oauth' | 'oauthTexts' | 'headersCommand'> {
  const command = headersCommand?.value === undefined ? {} : { headersCommand: { words: headersCommand.value, directory: headersCommand.at.layer.directory, origin: originOf(headersCommand.at) } };
  if (oauth?.value === undefined || oauth.value === false) return { ...command, oauth: oauth?.value };
  const members = oauth.value.kind === 'object' ? [...oauth.value.members] : [];
  const kept = members.filter(([key, setting]) => {
    const may = projectOAuthKeys.includes(key) || trust.admitted(oauth.at.layer);
    if (!may) complain('warning', setting.at, `"oauth.${key}": a project file may set ${projectOAuthKeys.join(' and ')} alone; it is left out`);
    return may;
  });
  return { ...command, oauth: Object.fromEntries(kept.map(([key, setting]) => [key, plain(setting)])), ...(oauth.texts !== undefined && { oauthTexts: oauth.texts }) };
}

/** Relative to the file that names them. */
function certificatesOf(fields: Fields, context: EntryContext, complain: Complain): Pick<RemoteEntry, (typeof tlsKeys)[number]> {
  const { certFile, keyFile } = fields;
  const half = certFile?.value !== undefined && keyFile?.value === undefined ? certFile : certFile?.value === undefined && keyFile?.value !== undefined ? keyFile : undefined;
  if (half !== undefined) complain('error', half.at, '"certFile" and "keyFile" belong together; one file that holds both is named twice');
  return Object.fromEntries(tlsKeys.flatMap((key) => {
    const cell = fields[key];
    return cell?.value === undefined ? [] : [[key, { value: placeOf(cell.value, cell.at, cell.at.layer.directory, context, complain), origin: originOf(cell.at) }]];
  }));
}

/** The dialect that tells the kind tells the default. A long request timeout lengthens the patience with the start, a short one does not shorten it. */
function timeoutsOf({ fields, sources }: Draft): ServerEntry['timeouts'] {
  const decider = sources.findLast((source) => kindOf(source.fields) !== undefined) ?? sources.at(-1)!;
  const requestMs = fields.timeoutMs?.value ?? decider.dialect.requestMs;
  return { requestMs, connectMs: Math.max(limits.connectMs, requestMs) };
}

function templatesOf(cell: Fields['headers']): Readonly<Record<string, Template>> {
  return Object.fromEntries([...cell?.value ?? []].flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value] as const])));
}

/** Relative to the workspace. */
function workingDirectory(cell: Cell<Template> | undefined, context: EntryContext, complain: Complain): string {
  return cell?.value === undefined ? context.workspace : placeOf(cell.value, cell.at, context.workspace, context, complain);
}

/** Directories and files are the one kind of text that is expanded early: they are places, not secrets. */
function placeOf(template: Template, at: At, base: string, { environment, home }: EntryContext, complain: Complain): string {
  try {
    const written = expand(template, { environment, key: at.key, origin: originOf(at) });
    return /^~(?=$|[/\\])/.test(written) ? path.resolve(home, `.${written.slice(1)}`) : path.resolve(base, written);
  } catch (error) {
    complain('error', at, toFailure(error).message);
    return base;
  }
}

/** A reference in a project file would read variables and files of this machine: only an admitted file may. */
function refuseForeignReferences(fields: Fields, { trust }: EntryContext, complain: Complain): void {
  const look = (at: At, tokens: readonly string[]): void => {
    if (tokens.length === 0 || trust.admitted(at.layer)) return;
    complain('error', at, `${tokens.join(', ')} stands in a project file, which may not read variables or files of this machine; admit the file with "trust.project_host_commands" or declare the server in the global zuno.json`);
  };
  const tokens = (template: Template | undefined): string[] => (template === undefined ? [] : references(template).map((reference) => reference.token));
  for (const cell of [fields.command, fields.cwd, fields.url]) if (cell !== undefined) look(cell.at, tokens(cell.value));
  for (const map of [fields.environment, fields.headers]) for (const cell of map?.value?.values() ?? []) look(cell.at, tokens(cell.value));
  for (const list of [fields.args, fields.headersCommand]) if (list?.value !== undefined) look(list.at, list.value.flatMap(tokens));
  if (fields.oauth?.value !== undefined && fields.oauth.value !== false) look(fields.oauth.at, JSON.stringify(plain(fields.oauth.value)).match(/\{(?:env|file):[^{}]+\}|\$\{[^{}]+\}/g) ?? []);
}
