import { Failure } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import { oneLine, shorten } from '../../base/text.ts';
import type { Config } from '../../config/types.ts';
import type { Host, ToolListing } from '../../host/types.ts';
import { signature } from '../../registry/input-schema.ts';
import type { Decision, ToolEntry } from '../../registry/types.ts';
import { compileWildcard } from '../../registry/wildcard.ts';
import type { Command, Context } from '../command.ts';
import { exampleCall } from '../example.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { openConfig, tellFailures, settledFailures, withHost } from '../open.ts';
import { onlooker } from '../person.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import type { Span } from '../span.ts';

interface Shown { readonly entry: ToolEntry; readonly decision: Decision }

const DESCRIPTION_CHARS = 200;

const effectCell = ({ effect }: Decision): Span => ({ allow: green('allow'), ask: yellow('ask'), deny: red('deny') })[effect];
const lineOf = (entry: ToolEntry): string => signature({ ...entry.definition, name: entry.tool }, entry.id, Infinity);

/** What the one operand means: a server, a pattern over wire ids, or the words of one tool. */
async function listingFor(host: Host, config: Config, word: string | undefined, signal: AbortSignal): Promise<ToolListing> {
  if (word === undefined) return host.listTools(undefined, signal);
  if (config.servers.has(word)) {
    const listing = await host.listTools([word], signal);
    if (listing.failures[0] !== undefined) throw listing.failures[0].failure;
    return listing;
  }
  if (/[*?]/.test(word)) {
    const matches = compileWildcard(word);
    const listing = await host.listTools(undefined, signal);
    return { ...listing, entries: listing.entries.filter((entry) => [entry.id, `${entry.server}.${entry.tool}`, `${entry.server}/${entry.tool}`].some(matches)) };
  }
  return { entries: [await host.findTool(word, signal)], dropped: [], failures: [], renamed: [] };
}

function document({ entry, decision }: Shown, full: boolean): object {
  const { definition } = entry;
  return {
    id: entry.id, server: entry.server, tool: entry.tool, signature: lineOf(entry), title: definition.title ?? definition.annotations?.title ?? null, description: definition.description ?? null,
    effect: decision.effect, why: decision.why, rule: decision.rule ?? null, annotations: definition.annotations ?? null,
    ...(full ? { inputSchema: definition.inputSchema, outputSchema: definition.outputSchema ?? null, fingerprint: entry.fingerprint, origin: entry.origin } : {}),
  };
}

/** One tool as a page: the signature, all of its description, its schemas, a call to copy. */
function showFull({ terminal }: Context, { entry, decision }: Shown): void {
  const { definition } = entry;
  terminal.print(bold(lineOf(entry)), '  ', effectCell(decision), dim(`  ${decision.why}`));
  if (definition.description !== undefined) terminal.print(definition.description.split('\n').map((line) => `  ${line}`.trimEnd()).join('\n'));
  terminal.print(dim('  input schema'));
  terminal.print(JSON.stringify(definition.inputSchema, null, 2).replace(/^/gm, '  '));
  if (definition.outputSchema !== undefined) {
    terminal.print(dim('  output schema'));
    terminal.print(JSON.stringify(definition.outputSchema, null, 2).replace(/^/gm, '  '));
  }
  terminal.print(dim('  example  '), exampleCall(entry.id, definition.inputSchema));
}

function showList({ terminal }: Context, tools: readonly Shown[], why: boolean): void {
  terminal.table(
    [{ title: 'TOOL', shrink: 2, least: 40 }, { title: 'MAY' }, ...(why ? [{ title: 'WHY', shrink: 1 }] : []), { title: 'DESCRIPTION', shrink: 3, least: 30 }],
    tools.map(({ entry, decision }) => [bold(lineOf(entry)), effectCell(decision), ...(why ? [dim(decision.why)] : []), shorten(oneLine(entry.definition.description ?? entry.definition.title ?? ''), DESCRIPTION_CHARS)]),
  );
}

function tellRest(context: Context, listing: ToolListing, hiddenCount: number): void {
  const { terminal } = context;
  for (const { server, name, reason } of listing.dropped) terminal.alert(yellow(`${server}: `), `tool "${name}" is left out: ${reason}`);
  for (const { id, server, tool, reason } of listing.renamed) terminal.note(dim(`${server}: tool "${tool}" is called ${id}: ${reason}`));
  tellFailures(context, listing.failures);
  if (hiddenCount > 0) terminal.note(dim(`${hiddenCount} more denied by the policy; --all shows them and why`));
}

function nothingLeft(listing: ToolListing): AnyFailure | undefined {
  return listing.entries.length === 0 ? listing.failures[0]?.failure : undefined;
}

async function list(context: Context, config: Config, host: Host): Promise<number> {
  const { parsed, terminal } = context;
  const word = parsed.operands[0];
  const found = await listingFor(host, config, word, context.signal);
  const listing = { ...found, failures: settledFailures(context, found.failures) };
  const all = listing.entries.map((entry) => ({ entry, decision: host.decide(entry) }));
  const tools = parsed.has('all') || (word !== undefined && all.length === 1) ? all : all.filter(({ decision }) => decision.effect !== 'deny');
  const lost = nothingLeft(listing);
  const full = parsed.has('schema');
  if (context.json) {
    if (lost !== undefined && listing.failures.length === 1) throw lost;
    terminal.document({ ok: true, tools: tools.map((one) => document(one, full)), denied: all.length - tools.length, dropped: listing.dropped, renamed: listing.renamed, failures: listing.failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) })) });
    return EXIT_OK;
  }
  if (lost !== undefined) {
    tellFailures(context, listing.failures.slice(1));
    throw lost;
  }
  if (full) for (const tool of tools) showFull(context, tool);
  else if (tools.length > 0) showList(context, tools, parsed.has('all'));
  else terminal.note(dim(word === undefined ? 'No tools: add a server with "zuno-lite mcp add", or try "zuno-lite demo"' : `No tool fits "${word}"`));
  tellRest(context, listing, all.length - tools.length);
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const word = context.parsed.operands[0];
  if (word === '') throw new Failure('USAGE', 'Cannot list tools of "": give a server, a tool or a pattern', { stage: 'usage', details: { argument: '' }, hint: 'zuno-lite tools --help' });
  return withHost(context, { config, ...onlooker(context) }, (host) => list(context, config, host));
}

export const command: Command = {
  usage: ['tools [SERVER | TOOL | PATTERN] [--all] [--schema]'],
  operands: ['[SERVER|TOOL|PATTERN]'],
  options: [
    { name: 'all', summary: 'also the denied ones, with the reason' },
    { name: 'schema', summary: 'the whole description and the schemas' },
  ],
  examples: [
    { line: 'tools', about: 'everything that may be used, on all enabled servers:' },
    { line: 'tools docs', about: 'the tools of one server:' },
    { line: "tools 'docs_*' --all", about: 'by pattern, with the ones the policy denies:' },
    { line: 'tools docs_search --schema', about: 'all there is to know about one tool:' },
  ],
  run,
};
