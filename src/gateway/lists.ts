/** What the servers behind the gateway offer, under the names that its clients know, and whose each name and URI is. */
import { startDeadline } from '../base/deadline.ts';
import { toFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { CatalogueView, Gated, GatedTools, Reader } from '../host/types.ts';
import type { Listing, Prompt, Resource, ResourceTemplate, Tool } from '../mcp/types.ts';
import { assignNames } from '../registry/names.ts';
import { offeredNative } from '../registry/native-tools.ts';
import { searchDescription } from '../registry/search.ts';
import type { ToolEntry } from '../registry/types.ts';
import { faultOf } from './faults.ts';

export interface OwnedPrompt { readonly server: string; readonly prompt: Prompt; readonly name: string }

export interface Lists {
  /** What there is, waiting for servers as long as that takes. */
  offer(signal: AbortSignal): Promise<GatedTools>;
  nameOf(entry: ToolEntry): string;
  /** As its server sent it, but for the name. */
  define(view: CatalogueView, entry: ToolEntry): Tool;
  tools(signal: AbortSignal): Promise<JsonObject>;
  resources(signal: AbortSignal): Promise<JsonObject>;
  templates(signal: AbortSignal): Promise<JsonObject>;
  prompts(signal: AbortSignal): Promise<JsonObject>;
  prompt(name: string, signal: AbortSignal): Promise<OwnedPrompt | undefined>;
  /** Servers that may have it, the likeliest first. */
  owners(uri: string, signal: AbortSignal): Promise<readonly string[]>;
}

export interface ListsOptions {
  readonly gated: Gated;
  /** The one server whose own names are kept. */
  readonly raw: string | undefined;
  readonly waitMs: number;
  readonly log: Log;
}

interface Offered<T> { readonly server: string; readonly item: T }
interface Gathered<T> { readonly all: readonly Offered<T>[]; readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }

/** Tools of ours that stand for those that wait. */
export const TOOL_CALL = 'tool_call';
const toolCall: Tool = {
  name: TOOL_CALL, title: 'Call a found tool', description: 'Calls a tool that tool_search found, by its id and with arguments that fit its input schema.',
  inputSchema: { type: 'object', properties: { id: { type: 'string', minLength: 1, description: 'As tool_search shows it' }, arguments: { type: 'object', description: 'Of the tool, by its own input schema' } }, required: ['id'], additionalProperties: false },
};

export function createLists({ gated, raw, waitMs, log }: ListsOptions): Lists {
  const { lease } = gated, { config } = lease;
  const servers = config.mcpEnabled ? [...config.servers.values()].filter(({ enabled }) => enabled).map(({ name }) => name) : [];
  const sent = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>();
  let settled = false;
  let owned: { readonly uris: ReadonlyMap<string, string>; readonly templates: readonly Offered<ResourceTemplate>[] } | undefined;

  async function offer(signal: AbortSignal): Promise<GatedTools> {
    if (raw !== undefined) await lease.catalogue.listing(raw, signal); else if (!settled) await settle(signal);
    return gated.tools();
  }
  /** Nobody waits a second time. */
  async function settle(signal: AbortSignal): Promise<void> {
    const deadline = startDeadline(waitMs, signal);
    try {
      await lease.catalogue.settle(deadline.signal);
    } finally {
      deadline.dispose();
    }
    settled = !signal.aborted;
  }
  const nameOf = ({ id, tool }: ToolEntry): string => (raw === undefined ? id : tool);

  /** An entry has its definition as a provider wants it; what goes on is what came. */
  function define({ servers: known }: CatalogueView, entry: ToolEntry): Tool {
    const items = known.get(entry.server)?.tools.items ?? [];
    let byName = sent.get(items);
    if (byName === undefined) sent.set(items, (byName = new Map([...items].reverse().map((item) => [item.name, item]))));
    return { ...byName.get(entry.tool) ?? entry.definition, name: nameOf(entry) };
  }

  /** One server that fails costs its part of the list, unless it is the only one. */
  async function gather<T>(what: string, list: (client: Reader) => Promise<Listing<T>>, signal: AbortSignal): Promise<Gathered<T>> {
    const lists = await Promise.all(servers.map(async (server) => {
      try {
        return { server, listing: await lease.ask(server, ({ client }) => list(client), signal) };
      } catch (error) {
        if (raw !== undefined || signal.aborted) throw faultOf(toFailure(error, 'list'));
        log({ level: 'warning', event: 'gateway.list', message: `The ${what} of "${server}" are missing: ${toFailure(error).message}`, fields: { server } });
        return undefined;
      }
    }));
    const found = lists.filter((one) => one !== undefined);
    return { all: found.flatMap(({ server, listing }) => listing.items.map((item) => ({ server, item }))), ...hints(found.map(({ listing }) => listing), found.length === servers.length) };
  }

  const listResources = async (signal: AbortSignal): Promise<Gathered<Resource>> => (gated.mayRead('list_mcp_resources') ? gather('resources', (client) => client.listResources({ signal }), signal) : NOTHING);
  const listTemplates = async (signal: AbortSignal): Promise<Gathered<ResourceTemplate>> => (gated.mayRead('list_mcp_resource_templates') ? gather('resource templates', (client) => client.listResourceTemplates({ signal }), signal) : NOTHING);

  async function listPrompts(signal: AbortSignal): Promise<{ readonly prompts: readonly OwnedPrompt[]; readonly from: Gathered<Prompt> }> {
    const from = await gather('prompts', (client) => client.listPrompts({ signal }), signal);
    const names = raw === undefined ? assignNames(from.all.map(({ server, item }) => ({ server, tool: item.name })), { naming: config.naming, servers: config.servers.keys(), native: [] }).ids : from.all.map(({ item }) => item.name);
    return { from, prompts: from.all.map(({ server, item }, at) => ({ server, prompt: item, name: names[at]! })) };
  }

  async function owners(uri: string, signal: AbortSignal): Promise<readonly string[]> {
    if (raw !== undefined) return [raw];
    const known = owned?.uris.get(uri);
    if (known !== undefined) return [known];
    const [resources, templates] = await Promise.all([listResources(signal), listTemplates(signal)]);
    const uris = new Map<string, string>();
    for (const { server, item } of resources.all) if (!uris.has(item.uri)) uris.set(item.uri, server);
    owned = { uris, templates: templates.all };
    const listed = uris.get(uri);
    if (listed !== undefined) return [listed];
    const fitting = owned.templates.filter(({ item }) => mayBe(uri, item.uriTemplate)).map(({ server }) => server);
    const others = servers.filter((server) => lease.connections.peek(server)?.client.capabilities.resources !== undefined);
    return [...new Set([...fitting, ...others])];
  }

  return {
    offer, nameOf, define, owners,
    async tools(signal) {
      const { shown, deferred, view } = await offer(signal);
      const { ttlMs, cacheScope } = hints([...view.servers.values()].map(({ tools }) => tools), view.failures.length === 0);
      const tools = (raw === undefined ? shown : asListed(shown, view.servers.get(raw)?.tools.items ?? [])).map((entry) => define(view, entry));
      const search = deferred.length === 0 ? [] : [searchTool([...shown, ...deferred]), toolCall];
      return { tools: [...tools, ...search], ttlMs, cacheScope };
    },
    async resources(signal) {
      const { all, ...cache } = await listResources(signal);
      return { resources: all.map(({ item }) => item), ...cache };
    },
    async templates(signal) {
      const { all, ...cache } = await listTemplates(signal);
      return { resourceTemplates: all.map(({ item }) => item), ...cache };
    },
    async prompts(signal) {
      const { prompts, from: { ttlMs, cacheScope } } = await listPrompts(signal);
      return { prompts: prompts.map(({ prompt, name }) => ({ ...prompt, name })), ttlMs, cacheScope };
    },
    async prompt(name, signal) {
      return (await listPrompts(signal)).prompts.find((one) => one.name === name);
    },
  };
}

const NOTHING = { all: [], ttlMs: 0, cacheScope: 'private' } as const;

/** In the order of the server. */
function asListed(entries: readonly ToolEntry[], items: readonly Tool[]): readonly ToolEntry[] {
  const places = new Map(items.map(({ name }, place) => [name, place]));
  return [...entries].sort((a, b) => (places.get(a.tool) ?? 0) - (places.get(b.tool) ?? 0));
}

function searchTool(searchable: readonly ToolEntry[]): Tool {
  const { id, inputSchema } = offeredNative('tool_search');
  const services = searchDescription(searchable).split('\n').slice(2).join('\n');
  return { name: id, title: 'Search tools', description: `Finds tools that are not listed, by words of the task at hand. Call what it finds with ${TOOL_CALL}.\n\n${services}`.trim(), inputSchema, annotations: { readOnlyHint: true } };
}

/** Of an aggregate: private if a part is, and no fresher than its parts (MCP.md, caching). */
function hints(lists: readonly Pick<Listing<unknown>, 'ttlMs' | 'cacheScope'>[], complete: boolean): { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' } {
  if (lists.length === 0 || !complete) return { ttlMs: 0, cacheScope: 'private' };
  return { ttlMs: Math.min(...lists.map(({ ttlMs }) => ttlMs)), cacheScope: lists.every(({ cacheScope }) => cacheScope === 'public') ? 'public' : 'private' };
}

/** Whether the fixed parts of a template stand in the URI in their order. One that fits too much costs a question more. */
function mayBe(uri: string, template: string): boolean {
  const [head = '', ...parts] = template.split(/\{[^{}]*\}/), tail = parts.pop();
  if (tail === undefined) return uri === head;
  if (!uri.startsWith(head)) return false;
  let at = head.length;
  for (const part of parts) {
    const found = uri.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return uri.length - tail.length >= at && uri.endsWith(tail);
}
