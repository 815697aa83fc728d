import type { Host } from '../../host/types.ts';
import { splitPromptKey } from '../../registry/prompts.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { entryOf, openConfig, withHost } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { onlooker } from '../person.ts';
import { dim } from '../span.ts';

type Reference = Parameters<Parameters<Parameters<Host['ask']>[1]>[0]['client']['complete']>[0];
interface Asked { readonly server: string; readonly reference: Reference; readonly argument: { readonly name: string; readonly value: string }; readonly context: Readonly<Record<string, string>> }

const HELP = 'zuno-lite complete --help';

/** `SERVER:PROMPT words`, or `SERVER URI-TEMPLATE words`. */
function referenceOf(first: string, rest: readonly string[], servers: Iterable<string>): { readonly server: string; readonly reference: Reference; readonly words: readonly string[] } {
  const key = splitPromptKey(first, servers);
  if (key !== undefined && key.prompt !== '') return { server: key.server, reference: { type: 'ref/prompt', name: key.prompt }, words: rest };
  const [uri, ...words] = rest;
  if (uri === undefined || !uri.includes('{')) throw usageFailure(`Cannot tell what is to be completed: "${first}" is no SERVER:PROMPT, and ${uri === undefined ? 'no URI template follows' : `"${uri}" is no URI template`}`, first, HELP);
  return { server: first, reference: { type: 'ref/resource', uri }, words };
}

/** The last word is completed, those before it are what is known already. */
function askedFor(operands: readonly string[], servers: Iterable<string>): Asked {
  const { server, reference, words } = referenceOf(operands[0]!, operands.slice(1), servers);
  const pairs = words.map((word): readonly [string, string] => {
    const at = word.indexOf('=');
    if (at < 1) throw usageFailure(`Cannot complete "${word}": it is not NAME=PREFIX`, word, HELP);
    return [word.slice(0, at), word.slice(at + 1)];
  });
  const last = pairs.pop();
  if (last === undefined) throw usageFailure('Cannot complete anything: no NAME=PREFIX is given', undefined, HELP);
  return { server, reference, argument: { name: last[0], value: last[1] }, context: Object.fromEntries(pairs) };
}

async function complete(context: Context, host: Host, { server, reference, argument, context: known }: Asked): Promise<number> {
  const { terminal, signal, json } = context;
  const { values, total, hasMore } = await host.ask(server, ({ client }) => client.complete(reference, argument, Object.keys(known).length === 0 ? undefined : known, { signal }), signal);
  if (json) {
    terminal.document({ ok: true, server, argument, context: known, values, total: total ?? null, hasMore: hasMore ?? false });
    return EXIT_OK;
  }
  for (const value of values) terminal.print(value);
  if (values.length === 0) terminal.note(dim(`"${server}" knows nothing that begins with "${argument.value}"`));
  else if (hasMore === true || (total !== undefined && total > values.length)) terminal.note(dim(`there is more${total === undefined ? '' : `: ${total} in all`}`));
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context), asked = askedFor(context.parsed.operands, config.servers.keys());
  entryOf(config, asked.server);
  return withHost(context, { config, ...onlooker(context) }, (host) => complete(context, host, asked));
}

export const command: Command = {
  usage: ['complete SERVER:PROMPT [NAME=VALUE]... NAME=PREFIX', 'complete SERVER URI-TEMPLATE [NAME=VALUE]... NAME=PREFIX'],
  operands: ['SERVER:PROMPT', '[NAME=PREFIX]...'],
  options: [],
  examples: [
    { line: 'complete docs:summarize language=en chapter=in', about: 'what an argument of a prompt may be; the last word is completed, the ones before it are known:' },
    { line: "complete docs 'file:///{name}' name=re", about: 'what a part of a resource template may be:' },
  ],
  run,
};
