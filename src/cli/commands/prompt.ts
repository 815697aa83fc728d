import { Failure } from '../../base/failure.ts';
import { nearest } from '../../base/text.ts';
import type { Host } from '../../host/types.ts';
import type { Prompt, PromptArgument } from '../../mcp/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { entryOf, openConfig } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { elicitOption, withPerson } from '../person.ts';
import { showResult } from '../render.ts';
import { dim } from '../span.ts';

const signatureOf = (key: string, declared: readonly PromptArgument[]): string => ['zuno-lite prompt', key, ...declared.map(({ name, required }) => (required === true ? `${name}=TEXT` : `[${name}=TEXT]`))].join(' ');

/**
 * Words as arguments: `name=text` by name, the others in the declared order; the last declared argument takes all words that
 * are left, so that a sentence needs no quotes.
 */
export function promptArguments(key: string, declared: readonly PromptArgument[], words: readonly string[]): Record<string, string> {
  const given = new Map<string, string>();
  const loose: string[] = [];
  for (const word of words) {
    const at = word.indexOf('=');
    const name = at > 0 ? word.slice(0, at) : undefined;
    if (name !== undefined && declared.some((one) => one.name === name)) given.set(name, word.slice(at + 1)); else loose.push(word);
  }
  const open = declared.filter((one) => !given.has(one.name));
  if (loose.length > 0 && open.length === 0) throw usageFailure(`Cannot fill in prompt "${key}": there is no argument left for "${loose[0]!}"`, loose[0], signatureOf(key, declared));
  open.forEach(({ name }, index) => {
    const words = index === open.length - 1 ? loose.slice(index) : loose.slice(index, index + 1);
    if (words.length > 0) given.set(name, words.join(' '));
  });
  const problems = declared.filter((one) => one.required === true && !given.has(one.name)).map(({ name }) => ({ pointer: `/${name}`, message: 'is missing' }));
  if (problems.length > 0) {
    throw new Failure('ARGUMENTS_INVALID', `Cannot fill in prompt "${key}": argument ${problems.map((one) => one.pointer).join(', ')} is missing`, { stage: 'usage', details: { tool: key, problems }, origin: { file: 'command line', layer: 'arguments' }, hint: signatureOf(key, declared) });
  }
  return Object.fromEntries(given);
}

function promptOf(server: string, name: string, prompts: readonly Prompt[]): Prompt {
  const found = prompts.find((one) => one.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, prompts.map((one) => one.name)).map((one) => `${server}:${one}`);
  throw usageFailure(`Cannot find prompt "${name}" on the server "${server}"`, name, `zuno-lite prompts ${server}`, near);
}

async function fill(context: Context, host: Host, server: string, name: string, words: readonly string[]): Promise<number> {
  const { signal, terminal, json } = context;
  const listing = await host.ask(server, ({ client }) => client.listPrompts({ signal }), signal);
  const prompt = promptOf(server, name, listing.items);
  const args = promptArguments(`${server}:${name}`, prompt.arguments ?? [], words);
  const result = await host.ask(server, ({ client }) => client.getPrompt(name, args, { signal }), signal);
  if (json) {
    const messages = result.messages.map(({ role, content }) => ({ role, content: content.type === 'unknown' ? content.block : content }));
    terminal.document({ ok: true, server, name, arguments: args, description: result.description ?? null, messages });
    return EXIT_OK;
  }
  for (const { role, content } of result.messages) {
    if (result.messages.length > 1 || role !== 'user') terminal.print(dim(`${role}:`));
    await showResult(terminal, { content: [content], isError: false });
  }
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const [key, ...words] = context.parsed.operands as [string, ...string[]];
  const colon = key.indexOf(':');
  // A server's name may hold a colon of its own: the longest configured one wins.
  const server = [...config.servers.keys()].filter((one) => key.startsWith(`${one}:`)).sort((a, b) => b.length - a.length)[0] ?? (colon > 0 ? key.slice(0, colon) : key);
  const name = key === server ? words.shift() : key.slice(server.length + 1);
  entryOf(config, server);
  if (name === undefined || name === '') throw usageFailure(`Cannot tell which prompt of "${server}" is meant: write SERVER:NAME`, key, `zuno-lite prompts ${server}`);
  return withPerson(context, { config }, (host) => fill(context, host, server, name, words));
}

export const command: Command = {
  usage: ['prompt SERVER:NAME [name=text | text]...'],
  operands: ['SERVER:NAME', '[name=text]...'],
  options: [elicitOption],
  examples: [
    { line: 'prompt docs:summarize language=en', about: 'arguments by name:' },
    { line: 'prompt docs:summarize en the whole second chapter', about: 'or in order; the last one takes the rest:' },
  ],
  run,
};
