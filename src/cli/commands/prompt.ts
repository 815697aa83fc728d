import { Failure, isFailure } from '../../base/failure.ts';
import { nearest } from '../../base/text.ts';
import { fillPrompt } from '../../host/commands.ts';
import type { Host } from '../../host/types.ts';
import type { GetPromptResult, Prompt, PromptArgument } from '../../mcp/types.ts';
import { promptPlaceholders, splitPromptKey } from '../../registry/prompts.ts';
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

/**
 * Words in order are put into the text after the server has answered, as everywhere where its prompts are commands: it is asked with "$1",
 * "$2" in their places. A server that looks at its arguments refuses that, and is asked with the words themselves; so is one that was given names.
 */
async function messagesOf(host: Host, server: string, prompt: Prompt, words: readonly string[], signal: AbortSignal): Promise<{ readonly args: Readonly<Record<string, string>>; readonly result: GetPromptResult }> {
  const declared = prompt.arguments ?? [], args = promptArguments(`${server}:${prompt.name}`, declared, words);
  const get = (given: Readonly<Record<string, string>>): Promise<GetPromptResult> => host.ask(server, ({ client }) => client.getPrompt(prompt.name, given, { signal }), signal);
  const named = words.some((word) => declared.some(({ name }) => word.startsWith(`${name}=`))), input = words.map(quoted);
  if (named || declared.length === 0 || words.length === 0 || input.includes(undefined)) return { args, result: await get(args) };
  try {
    return { args, result: fillPrompt(await get(promptPlaceholders(prompt)), input.join(' ')) };
  } catch (error) {
    if (!isFailure(error) || error.code !== 'REMOTE_ERROR') throw error;
    return { args, result: await get(args) };
  }
}

/** So that a word stays one when they are taken apart again; `undefined` for one that no quotes can hold together. */
function quoted(word: string): string | undefined {
  if (word !== '' && !/[\s"']/.test(word)) return word;
  return !word.includes('"') ? `"${word}"` : word.includes("'") ? undefined : `'${word}'`;
}

function present({ terminal, json }: Context, { description, messages }: GetPromptResult, facts: object): number {
  if (json) {
    terminal.document({ ok: true, ...facts, description: description ?? null, messages: messages.map(({ role, content }) => ({ role, content: content.type === 'unknown' ? content.block : content })) });
    return EXIT_OK;
  }
  for (const { role, content } of messages) {
    if (messages.length > 1 || role !== 'user') terminal.print(dim(`${role}:`));
    showResult(terminal, { content: [content], isError: false });
  }
  return EXIT_OK;
}

async function fill(context: Context, host: Host, server: string, name: string, words: readonly string[]): Promise<number> {
  const { signal } = context;
  const listing = await host.ask(server, ({ client }) => client.listPrompts({ signal }), signal);
  const { args, result } = await messagesOf(host, server, promptOf(server, name, listing.items), words, signal);
  return present(context, result, { server, name, arguments: args });
}

async function run(context: Context): Promise<number> {
  const config = await openConfig(context);
  const [key, ...words] = context.parsed.operands as [string, ...string[]];
  const split = splitPromptKey(key, config.servers.keys()), command = config.commands.get(key);
  if (split === undefined && command !== undefined) return present(context, fillPrompt({ messages: [{ role: 'user', content: { type: 'text', text: command.template } }], ...(command.description === undefined ? {} : { description: command.description }) }, words.map((word) => quoted(word) ?? word).join(' ')), { command: key, origin: command.origin });
  const colon = key.indexOf(':'), server = split?.server ?? (colon > 0 ? key.slice(0, colon) : key);
  const name = key === server ? words.shift() : key.slice(server.length + 1);
  entryOf(config, server);
  if (name === undefined || name === '') throw usageFailure(`Cannot tell which prompt of "${server}" is meant: write SERVER:NAME`, key, `zuno-lite prompts ${server}`);
  return withPerson(context, { config }, (host) => fill(context, host, server, name, words));
}

export const command: Command = {
  usage: ['prompt SERVER:NAME [name=text | text]...', 'prompt COMMAND [text]...'],
  operands: ['SERVER:NAME', '[name=text]...'],
  options: [elicitOption],
  examples: [
    { line: 'prompt docs:summarize language=en', about: 'arguments by name:' },
    { line: 'prompt docs:summarize en the whole second chapter', about: 'or in order; the last one takes the rest:' },
    { line: 'prompt review src/main.ts', about: 'a command of the configuration; $1, $2 and $ARGUMENTS in its text are filled in:' },
  ],
  notes: ['Words in order are put in the place of $1, $2 after the server has answered; a server that looks at its arguments is given them, as name=text always is.'],
  run,
};
