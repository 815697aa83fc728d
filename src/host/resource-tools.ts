/** The three resource tools: what the servers of a session have to read. Listing and reading change nothing, so both are tried again. */
import { toFailure } from '../base/failure.ts';
import { redactPatterns } from '../base/redact.ts';
import type { Listing } from '../mcp/types.ts';
import { listArguments, readArguments, type ResourceToolId } from '../registry/native-tools.ts';
import { mergeResources, mergeResourceTemplates, resourceListing, resourceServers, type ServerItems } from '../registry/resources.ts';
import { textBlock, type NativeResult, type NativeWork } from './native-calls.ts';
import type { Lease, Reader } from './types.ts';

/** `servers`: those that declared resources, in the step that the call belongs to. */
export function resourceWork(id: ResourceToolId, { ask }: Pick<Lease, 'ask'>, servers: readonly string[]): NativeWork {
  if (id === 'read_mcp_resource') {
    return (args) => { const { server, uri } = readArguments(args); return async (signal) => read(ask, resourceServers(server, servers)[0]!, uri, signal); };
  }
  return (args) => {
    const { server } = listArguments(id, args);
    return async (signal) => {
      const asked = resourceServers(server, servers);
      if (id === 'list_mcp_resources') return listed('resources', await listAll(ask, asked, (client) => client.listResources({ signal }), signal), mergeResources);
      return listed('resourceTemplates', await listAll(ask, asked, (client) => client.listResourceTemplates({ signal }), signal), mergeResourceTemplates);
    };
  };
}

interface Lists<T> { readonly lists: readonly ServerItems<T>[]; readonly warnings: readonly string[] }

/** One server that fails costs its part of the list, unless it is the only one. */
async function listAll<T>(ask: Lease['ask'], servers: readonly string[], list: (client: Reader) => Promise<Listing<T>>, signal: AbortSignal): Promise<Lists<T>> {
  const warnings: string[] = [], lists: ServerItems<T>[] = [];
  await Promise.all(servers.map(async (server) => {
    try {
      lists.push({ server, items: (await ask(server, ({ client }) => list(client), signal)).items });
    } catch (error) {
      if (servers.length === 1 || signal.aborted) throw error;
      warnings.push(`The server "${server}" is missing here: ${redactPatterns(toFailure(error).message)}`);
    }
  }));
  return { lists, warnings };
}

function listed<T>(key: 'resources' | 'resourceTemplates', { lists, warnings }: Lists<T>, merge: (lists: readonly ServerItems<T>[]) => readonly { readonly server: string }[]): NativeResult {
  const { text, count, servers } = resourceListing(key, merge(lists));
  return { content: [textBlock(text), ...warnings.map(textBlock)], metadata: { count, servers }, warnings };
}

async function read(ask: Lease['ask'], server: string, uri: string, signal: AbortSignal): Promise<NativeResult> {
  const { contents } = await ask(server, ({ client }) => client.readResource(uri, { signal }), signal);
  const attachments = contents.filter(({ blob }) => typeof blob === 'string').length;
  const metadata = { server, uri, contents: contents.length, attachments };
  if (contents.length === 0) return { content: [textBlock(`The resource ${uri} of "${server}" returned no contents`)], metadata };
  return { content: contents.map((resource) => ({ type: 'resource', resource })), metadata };
}
