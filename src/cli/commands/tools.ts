import { Failure } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import type { Config } from '../../config/types.ts';
import type { Host, ToolListing } from '../../host/types.ts';
import { compileWildcard } from '../../registry/wildcard.ts';
import type { Command, Context } from '../command.ts';
import { exampleCall } from '../example.ts';
import { EXIT_OK } from '../exit.ts';
import { failureDocument } from '../explain.ts';
import { openConfig, settledFailures, tellFailures, withHost } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { onlooker } from '../person.ts';
import { policyOf, policyOptions } from '../policy.ts';
import { bold, dim } from '../span.ts';
import { admissionFor, assess, effectCell, lineOf, showTools, tellListing, toolDocument, whyText } from '../tool-view.ts';
import type { Shown } from '../tool-view.ts';

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

/** One tool as a page: the signature, all of its description, its schemas, a call to copy. */
function showFull({ terminal }: Context, tool: Shown): void {
  const { entry } = tool, { definition } = entry;
  terminal.print(bold(lineOf(entry)), '  ', effectCell(tool), dim(`  ${whyText(tool)}`));
  if (definition.description !== undefined) terminal.print(definition.description.split('\n').map((line) => `  ${line}`.trimEnd()).join('\n'));
  terminal.print(dim('  input schema'));
  terminal.print(JSON.stringify(definition.inputSchema, null, 2).replace(/^/gm, '  '));
  if (definition.outputSchema !== undefined) {
    terminal.print(dim('  output schema'));
    terminal.print(JSON.stringify(definition.outputSchema, null, 2).replace(/^/gm, '  '));
  }
  terminal.print(dim('  example  '), exampleCall(entry.id, definition.inputSchema));
}

const shapes = ['chat', 'messages'] as const;
type Shape = (typeof shapes)[number];

function shapeOf({ parsed }: Context): Shape | undefined {
  const text = parsed.value('provider');
  const shape = shapes.find((one) => one === text);
  if (text !== undefined && shape === undefined) throw usageFailure(`Cannot take --provider "${text}": it is neither ${shapes.join(' nor ')}`, text, 'zuno-lite tools --help');
  return shape;
}

/** The definitions as a request to a model provider takes them: those that may be used, and nothing else. */
async function definitions(tools: readonly Shown[], shape: Shape): Promise<readonly object[]> {
  const [{ createOffers }, { toChatTools, toMessageTools }] = await Promise.all([import('../../registry/native-tools.ts'), import('../../registry/provider-shapes.ts')]);
  const offered = tools.filter(({ out }) => out === undefined).map(({ entry }) => entry).map(createOffers());
  return shape === 'chat' ? toChatTools(offered) : toMessageTools(offered);
}

function nothingLeft(listing: ToolListing): AnyFailure | undefined {
  return listing.entries.length === 0 ? listing.failures[0]?.failure : undefined;
}

async function list(context: Context, config: Config, host: Host): Promise<number> {
  const { parsed, terminal, json } = context;
  const word = parsed.operands[0], shape = shapeOf(context), admission = admissionFor(context, config);
  const found = await listingFor(host, config, word, context.signal);
  const listing = { ...found, failures: settledFailures(context, found.failures) };
  const all = listing.entries.map((entry) => assess(host, admission, entry));
  const tools = parsed.has('all') || (word !== undefined && all.length === 1 && shape === undefined) ? all : all.filter(({ out }) => out === undefined);
  const lost = nothingLeft(listing), full = parsed.has('schema'), denied = all.length - tools.length;
  if (lost !== undefined && (!json || listing.failures.length === 1)) {
    if (!json) tellFailures(context, listing.failures.slice(1));
    throw lost;
  }
  const shaped = shape === undefined ? undefined : await definitions(tools, shape);
  if (json) {
    const failures = listing.failures.map(({ server, failure }) => ({ server, error: failureDocument(failure) }));
    terminal.document({ ok: true, ...(shape === undefined ? { tools: tools.map((one) => toolDocument(one, full)) } : { provider: shape, tools: shaped }), denied, dropped: listing.dropped, renamed: listing.renamed, failures });
    return EXIT_OK;
  }
  if (shaped !== undefined) terminal.print(JSON.stringify(shaped, null, 2));
  else if (full) for (const tool of tools) showFull(context, tool);
  else if (tools.length > 0) showTools(context, tools, parsed.has('all'));
  else if (denied === 0) terminal.note(dim(word === undefined ? 'No tools: add a server with "zuno-lite mcp add", or try "zuno-lite demo"' : `No tool fits "${word}"`));
  tellListing(context, listing);
  if (denied > 0) terminal.note(dim(`${denied} more kept out by the policy; --all shows them and why`));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const word = context.parsed.operands[0];
  if (word === '') throw new Failure('USAGE', 'Cannot list tools of "": give a server, a tool or a pattern', { stage: 'usage', details: { argument: '' }, hint: 'zuno-lite tools --help' });
  return withHost(context, { config, ...policyOf(context.parsed), ...onlooker(context) }, (host) => list(context, config, host));
}

export const command: Command = {
  usage: ['tools [SERVER | TOOL | PATTERN] [--all] [--schema | --provider chat|messages] [--agent NAME] [--locked]'],
  operands: ['[SERVER|TOOL|PATTERN]'],
  options: [
    { name: 'all', summary: 'also the ones that are kept out: by which gate, which rule, of which file and line' },
    { name: 'schema', summary: 'the whole description and the schemas' },
    { name: 'provider', value: 'SHAPE', summary: 'the definitions as JSON for a model provider: chat (functions with parameters) or messages (input_schema)' },
    ...policyOptions,
  ],
  examples: [
    { line: 'tools', about: 'everything that may be used, on all enabled servers:' },
    { line: 'tools docs', about: 'the tools of one server:' },
    { line: "tools 'docs_*' --all", about: 'by pattern, with the ones that are kept out and why:' },
    { line: 'tools docs_search --schema', about: 'all there is to know about one tool:' },
    { line: 'tools --agent plan --provider chat', about: 'what an agent has, as a request to a provider takes it:' },
  ],
  notes: ['In a pipe each tool is one line with a tab between the columns: zuno-lite tools | cut -f1'],
  run,
};
