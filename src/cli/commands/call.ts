import { withContext } from '../../base/failure.ts';
import type { AnyFailure } from '../../base/failure.ts';
import type { Host } from '../../host/types.ts';
import type { CallToolResult } from '../../mcp/types.ts';
import type { Outcome, ToolEntry } from '../../registry/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK, EXIT_TOOL_ERROR } from '../exit.ts';
import { openConfig } from '../open.ts';
import { elicitOption, withPerson } from '../person.ts';
import { policyOf, policyOptions, yesOption } from '../policy.ts';
import { dim, red, yellow } from '../span.ts';

async function present(context: Context, entry: ToolEntry, result: CallToolResult, warnings: readonly string[]): Promise<number> {
  const { terminal, json, parsed } = context;
  const { createKeep, rawResult, saveResult, showResult } = await import('../render.ts');
  const directory = parsed.value('output');
  const keep = directory === undefined ? undefined : await createKeep(directory, entry.id);
  const status = result.isError ? EXIT_TOOL_ERROR : EXIT_OK;
  if (json) {
    const saved = keep === undefined ? [] : saveResult(result, keep);
    terminal.document({ ok: true, outcome: result.isError ? 'tool_error' : 'ok', id: entry.id, server: entry.server, tool: entry.tool, result: rawResult(result), warnings, saved });
    return status;
  }
  showResult(terminal, result, keep);
  if (keep === undefined && result.content.some(({ type }) => type === 'image' || type === 'audio')) terminal.note(dim('--output DIR saves what is not text'));
  for (const warning of warnings) terminal.note(yellow('warning: '), warning);
  if (result.isError) terminal.alert(red('error: '), `the tool "${entry.id}" reported an error (it ran; what it said is above)`);
  return status;
}

/** Arguments: with the signature and a call to copy. Anything of the server: with the entry it comes from. */
async function better(failure: AnyFailure, entry: ToolEntry): Promise<AnyFailure> {
  if (failure.stage === 'permission') return failure;
  if (failure.code !== 'ARGUMENTS_INVALID') return withContext(failure, { origin: entry.origin });
  const { argumentsFailure } = await import('../arguments.ts');
  return argumentsFailure(entry.id, entry.definition.inputSchema, failure.details.problems) as AnyFailure;
}

/** Shows what became of a call and resolves to the exit status. */
export async function settle(context: Context, entry: ToolEntry, outcome: Outcome): Promise<number> {
  if (outcome.kind === 'ok' || outcome.kind === 'tool_error') return present(context, entry, outcome.result, outcome.warnings);
  return context.fail(await better(outcome.failure, entry));
}

async function call(context: Context, host: Host): Promise<number> {
  const { parsed, terminal, signal } = context;
  const [words, ...typed] = parsed.operands;
  const finding = host.findTool(words!, signal);
  // Loaded while the server starts, which takes longer.
  const [entry, { typeArguments }, { textSources }, { showProgress }] = await Promise.all([finding, import('../arguments.ts'), import('../text-sources.ts'), import('../progress.ts'), import('../render.ts')]);
  const args = await typeArguments({ tool: entry.id, schema: entry.definition.inputSchema, words: typed, base: parsed.value('args') }, textSources(terminal));
  const progress = showProgress(terminal, entry.id);
  const outcome = await host.call(entry, args, { signal, onProgress: (step) => progress.update(step) }).finally(() => progress.end());
  return settle(context, entry, outcome);
}

async function run(context: Context): Promise<number> {
  const { parsed } = context;
  const config = await openConfig(context);
  return withPerson(context, { config, ...policyOf(parsed) }, (host) => call(context, host));
}

export const command: Command = {
  usage: ['call TOOL [key=value | key:=json | key=@file]... [OPTIONS]'],
  operands: ['TOOL', '[key=value]...'],
  options: [
    { name: 'args', value: 'JSON', summary: 'arguments as one JSON object; @FILE reads a file, - standard input; key=value words are laid over it' },
    yesOption, ...policyOptions,
    { name: 'output', short: 'o', value: 'DIR', summary: 'saves images, audio and other bytes of the result there, and text that is too long to read' },
    elicitOption,
  ],
  examples: [
    { line: 'call docs_search query=install limit=5', about: 'the schema says which words are numbers; strings stay strings:' },
    { line: "call docs.search query=install tags=a tags=b filter.lang=en", about: 'a repeated key is a list, a dot reaches into an object:' },
    { line: 'call notes_add title=@@home body=@draft.md meta:=\'{"public":true}\'', about: 'text from a file, JSON as it stands, and @@ for a literal @:' },
    { line: 'call mail_send to=ann --elicit confirm=yes', about: 'an answer beforehand, for a tool that asks back:' },
    { line: 'call shapes_draw --args - --output pictures < shape.json', about: 'all arguments from standard input, images into a directory:' },
  ],
  notes: [
    'TOOL is a wire id (docs_search), server.tool, server/tool or mcp__server__tool.',
    'Where the policy says "ask" you are asked; without a terminal the call is refused (exit 7) unless --yes or --allow settles it.',
    'Exit status 1 means that the tool ran and reported an error; its words are the result. Status 8: it may have happened, look first.',
  ],
  run,
};
