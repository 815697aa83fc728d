import { limits } from '../../base/limits.ts';
import { oneLine } from '../../base/text.ts';
import type { Config } from '../../config/types.ts';
import type { Host } from '../../host/types.ts';
import { createSearchIndex, type SearchSource } from '../../registry/search.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { openConfig, settledFailures, withHost } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { onlooker } from '../person.ts';
import { policyOf, policyOptions } from '../policy.ts';
import { dim } from '../span.ts';
import { admissionFor, assess, showTools, tellListing, toolDocument } from '../tool-view.ts';

function limitOf({ parsed }: Context): number {
  const text = parsed.value('limit'), limit = Number(text ?? limits.searchResults);
  if (!Number.isInteger(limit) || limit < 1) throw usageFailure(`Cannot take --limit "${text!}": it must be a whole number from 1`, text, 'for instance --limit 20');
  return limit;
}

/** What servers say of themselves counts too; they are connected, so this asks nothing. */
async function sourcesOf(host: Host, servers: Iterable<string>, signal: AbortSignal): Promise<ReadonlyMap<string, SearchSource>> {
  const sources = new Map<string, SearchSource>();
  for (const server of new Set(servers)) {
    const { client } = await host.open(server, signal);
    sources.set(server, { title: client.serverInfo?.title, description: client.instructions });
  }
  return sources;
}

async function search(context: Context, config: Config, host: Host): Promise<number> {
  const { parsed, terminal, signal, json } = context;
  const query = parsed.operands.join(' '), limit = limitOf(context), admission = admissionFor(context, config);
  const listing = await host.listTools(undefined, signal), failures = settledFailures(context, listing.failures);
  const usable = listing.entries.map((entry) => assess(host, admission, entry)).filter(({ out }) => out === undefined);
  if (listing.entries.length === 0 && failures[0] !== undefined) throw failures[0].failure;
  const entries = usable.map(({ entry }) => entry), byEntry = new Map(usable.map((one) => [one.entry, one]));
  const found = createSearchIndex(entries, await sourcesOf(host, entries.map(({ server }) => server), signal)).search(query, limit).map((entry) => byEntry.get(entry)!);
  if (json) {
    terminal.document({ ok: true, query, searched: usable.length, tools: found.map((one) => toolDocument(one, false)), failures: failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) })) });
    return EXIT_OK;
  }
  if (found.length > 0) showTools(context, found, false);
  else terminal.note(dim(`Nothing among ${usable.length} tools fits "${oneLine(query)}": try other words, or the name of a server`));
  tellListing(context, { dropped: [], renamed: [], failures });
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  if (context.parsed.operands.join(' ').trim() === '') throw usageFailure('Cannot search: no words are given', '', 'zuno-lite search --help');
  return withHost(context, { config, ...policyOf(context.parsed), ...onlooker(context) }, (host) => search(context, config, host));
}

export const command: Command = {
  usage: ['search QUERY... [--limit N] [--agent NAME]'],
  operands: ['QUERY', '[QUERY]...'],
  options: [{ name: 'limit', value: 'N', summary: `how many at most (default: ${limits.searchResults})` }, ...policyOptions],
  examples: [
    { line: 'search create an issue', about: 'the tools that fit best, of all enabled servers:' },
    { line: 'search github --limit 20 --json', about: 'by the name of a server, for a script:' },
  ],
  notes: ['Finds and orders tools as tool_search does for a model: by name, description, server. Only what may be used is searched.'],
  run,
};
