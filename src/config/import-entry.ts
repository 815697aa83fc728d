/** An entry of another program in the words in which this one writes it. */
import type { NewEntry } from './edit.ts';
import type { Declaration } from './dialects.ts';
import type { Cell } from './fields.ts';
import { plain } from './layers.ts';
import { maskDeep } from './mask.ts';
import { parseTemplate, type TemplateContext } from './substitute.ts';
import type { Template } from './types.ts';

export interface Taken {
  readonly entry: NewEntry;
  /** What is written differently from how it was meant. */
  readonly notes: readonly string[];
}

/** `undefined` when the declaration is no whole server: it only switches one, or something of it is wrong. */
export function newEntryOf({ fields, shape, problems, dialect, layer }: Declaration, home: string): Taken | undefined {
  if (shape !== 'entry' || problems.length > 0) return undefined;
  const notes: string[] = [];
  const text = (template: Template): string => written(template, notes);
  const cell = (one: Cell<Template> | undefined): string | undefined => (one?.value === undefined ? undefined : text(one.value));
  const texts = (map: typeof fields.headers): Record<string, string> | undefined => {
    const found = [...map?.value ?? []].flatMap(([key, { value }]) => (value === undefined ? [] : [[key, text(value)] as const]));
    return found.length === 0 ? undefined : Object.fromEntries(found);
  };
  const common = { enabled: fields.enabled?.value === false ? false : undefined, timeout: fields.timeoutMs?.value, protocol: fields.protocol?.value === 'auto' ? undefined : fields.protocol?.value };
  const command = fields.command?.value, url = fields.url?.value;
  const kind = fields.kind?.value ?? (command === undefined ? 'remote' : 'local');
  if (kind === 'local') return command === undefined ? undefined : { entry: { type: 'local', command: [command, ...fields.args?.value ?? []].map(text), cwd: cell(fields.cwd), environment: texts(fields.environment), ...common }, notes };
  if (url === undefined) return undefined;
  const context: TemplateContext = { directory: layer.directory, home, syntax: dialect.syntax };
  const settings = fields.oauth?.value;
  const oauth = settings === undefined || settings === false ? settings : maskDeep(plain(settings), (value) => text(parseTemplate(value, context))) as Readonly<Record<string, unknown>>;
  const transport = fields.transport?.value;
  return { entry: { type: 'remote', url: text(url), transport: transport === 'auto' ? undefined : transport, headers: texts(fields.headers), oauth, ...common }, notes };
}

/** References in our own spelling. A default has none: whoever relied on it is told. */
function written({ parts }: Template, notes: string[]): string {
  return parts.map((part) => {
    if (typeof part === 'string') return part;
    if (part.kind === 'foreign') return part.token;
    if (part.kind === 'file') return `{file:${part.path}}`;
    if (part.default !== undefined) notes.push(`${part.token} becomes {env:${part.name}}: set ${part.name}, there is no default here`);
    return `{env:${part.name}}`;
  }).join('');
}
