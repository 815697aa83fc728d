/** The resources of all servers as one list. */
import { Failure } from '../base/failure.ts';
import { count, nearest } from '../base/text.ts';
import type { Resource, ResourceTemplate } from '../mcp/types.ts';

export interface ServerItems<T> { readonly server: string; readonly items: readonly T[] }
export type Owned<T> = T & { readonly server: string };

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** Owner first: a member `server` that the server itself sent does not count. */
const merge = <T extends { readonly name: string }>(lists: readonly ServerItems<T>[], address: (item: T) => string): Owned<T>[] =>
  lists.flatMap(({ server, items }) => items.map((item) => ({ ...item, server })))
    .sort((a, b) => compare(a.server, b.server) || compare(a.name, b.name) || compare(address(a), address(b)));

/** By server, name, URI; each with its `server`. */
export function mergeResources(lists: readonly ServerItems<Resource>[]): readonly Owned<Resource>[] {
  return merge(lists, (item) => item.uri);
}

/** By server, name, URI template; each with its `server`. */
export function mergeResourceTemplates(lists: readonly ServerItems<ResourceTemplate>[]): readonly Owned<ResourceTemplate>[] {
  return merge(lists, (item) => item.uriTemplate);
}

/** What a listing tool returns: pretty JSON with one key, and the facts beside it. */
export function resourceListing(key: 'resources' | 'resourceTemplates', items: readonly { readonly server: string }[]): { readonly text: string; readonly count: number; readonly servers: readonly string[] } {
  return { text: JSON.stringify({ [key]: items }, null, 2), count: items.length, servers: [...new Set(items.map((item) => item.server))].sort() };
}

/**
 * The servers that a listing is about: the wanted one, or all that have resources when none is named (empty counts as none).
 * @throws {Failure} SERVER_UNKNOWN naming the servers that have resources
 */
export function resourceServers(wanted: string | null | undefined, available: readonly string[]): readonly string[] {
  const known = [...available].sort();
  if (wanted === undefined || wanted === null || wanted === '') return known;
  if (known.includes(wanted)) return [wanted];
  const list = known.length === 0 ? 'no server has resources' : `it has no resources; ${count(known.length, 'server has', 'servers have')} some: ${known.join(', ')}`;
  throw new Failure('SERVER_UNKNOWN', `Cannot list the resources of "${wanted}": ${list}`, {
    stage: 'list', details: { server: wanted, known, nearest: nearest(wanted, known) },
  });
}
