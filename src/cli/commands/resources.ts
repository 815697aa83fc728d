import { byteSize, oneLine } from '../../base/text.ts';
import type { Host } from '../../host/types.ts';
import type { Resource, ResourceTemplate } from '../../mcp/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { eachServer, enabledServers, entryOf, openConfig, tellFailures, settledFailures, withHost } from '../open.ts';
import { yesOption } from '../policy.ts';
import { admitReading } from '../reading.ts';
import { bold, dim } from '../span.ts';

type Found = { readonly server: string } & ({ readonly kind: 'resource'; readonly item: Resource } | { readonly kind: 'template'; readonly item: ResourceTemplate });

const keyOf = (found: Found): string => (found.kind === 'resource' ? found.item.uri : found.item.uriTemplate);

function show({ terminal }: Context, found: readonly Found[]): void {
  terminal.table([{ title: 'SERVER' }, { title: 'URI', shrink: 1 }, { title: 'NAME', shrink: 2 }, { title: 'TYPE', shrink: 2 }, { title: 'SIZE', align: 'right' }, { title: 'DESCRIPTION', shrink: 3 }], found.map((one) => [
    one.server, bold(keyOf(one)), one.item.title ?? one.item.name, one.item.mimeType ?? (one.kind === 'template' ? 'template' : ''),
    one.kind === 'resource' && typeof one.item.size === 'number' ? byteSize(one.item.size) : '', oneLine(one.item.description ?? ''),
  ]));
}

async function list(context: Context, host: Host, names: readonly string[], named: boolean): Promise<number> {
  const { signal } = context, onlyTemplates = context.parsed.has('templates');
  const { items, failures: found } = await eachServer<Found>(host, names, signal, async ({ entry, client }) => {
    if (client.capabilities.resources === undefined) return [];
    const [resources, templates] = await Promise.all([onlyTemplates ? { items: [] } : client.listResources({ signal }), client.listResourceTemplates({ signal })]);
    return [...resources.items.map((item) => ({ server: entry.name, kind: 'resource' as const, item })), ...templates.items.map((item) => ({ server: entry.name, kind: 'template' as const, item }))];
  });
  const failures = settledFailures(context, found);
  if (items.length === 0 && failures[0] !== undefined && (named || failures.length === names.length)) throw failures[0].failure;
  const rank = ({ server, item, ...rest }: Found): readonly string[] => [server, item.name, keyOf({ server, item, ...rest } as Found)];
  const sorted = [...items].sort((a, b) => { const [left, right] = [rank(a), rank(b)], at = left.findIndex((text, index) => text !== right[index]); return at < 0 ? 0 : left[at]! < right[at]! ? -1 : 1; });
  if (context.json) {
    const of = (kind: Found['kind']): object[] => sorted.filter((one) => one.kind === kind).map((one) => ({ ...one.item, server: one.server }));
    context.terminal.document({ ok: true, resources: of('resource'), templates: of('template'), failures: failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) })) });
    return EXIT_OK;
  }
  if (sorted.length > 0) show(context, sorted);
  else context.terminal.note(dim('No resources: none of the servers offers any'));
  tellFailures(context, failures);
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const name = context.parsed.operands[0];
  const names = name === undefined ? enabledServers(config) : [entryOf(config, name).name];
  await admitReading(context, config, context.parsed.has('templates') ? 'list_mcp_resource_templates' : 'list_mcp_resources', name === undefined ? {} : { server: name });
  return withHost(context, { config }, (host) => list(context, host, names, name !== undefined));
}

export const command: Command = {
  usage: ['resources [SERVER] [--templates]'],
  operands: ['[SERVER]'],
  options: [{ name: 'templates', summary: 'only the templates' }, yesOption],
  examples: [
    { line: 'resources', about: 'of all enabled servers:' },
    { line: 'resources docs --json', about: 'of one server, for a script:' },
  ],
  notes: ['A URI with {names} in it is a template: fill in the names and read the result with "zuno-lite read".'],
  run,
};
