/** Commands of a session: the prompts of its servers as `server:prompt`, and the texts of the configuration. */
import { Failure, toFailure } from '../base/failure.ts';
import type { Log } from '../base/log.ts';
import { nearest } from '../base/text.ts';
import type { CommandDefinition } from '../config/types.ts';
import type { GetPromptResult, Prompt, PromptMessage } from '../mcp/types.ts';
import { expandTogether, mergePrompts, promptPlaceholders, type PromptCommand } from '../registry/prompts.ts';
import type { Lease, SessionCommand } from './types.ts';

export interface Commands {
  list(signal?: AbortSignal): Promise<readonly SessionCommand[]>;
  expand(key: string, input: string, signal?: AbortSignal): Promise<GetPromptResult>;
}

interface Found { readonly prompts: ReadonlyMap<string, PromptCommand>; readonly texts: ReadonlyMap<string, CommandDefinition> }

/** Where a server's prompt and a command of the configuration have one key, the prompt counts, and the log says so once. */
export function createCommands({ config, catalogue, ask }: Pick<Lease, 'config' | 'catalogue' | 'ask'>, log: Log): Commands {
  const told = new Set<string>();

  const promptsOf = async (server: string, signal: AbortSignal | undefined): Promise<readonly Prompt[]> => {
    try {
      return (await ask(server, ({ client }) => client.listPrompts({ signal }), signal)).items;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      log({ level: 'warning', event: 'session.prompts', message: `The prompts of "${server}" are missing: ${toFailure(error).message}`, fields: { server } });
      return [];
    }
  };

  async function find(signal: AbortSignal | undefined): Promise<Found> {
    const servers = [...(await catalogue.view()).servers.values()].filter(({ prompts }) => prompts).map(({ server }) => server);
    const lists = await Promise.all(servers.map(async (server) => ({ server, items: await promptsOf(server, signal) })));
    const prompts = new Map(mergePrompts(lists).map((command) => [command.key, command]));
    const texts = new Map([...config.commands].filter(([key]) => !prompts.has(key)));
    for (const { key, origin } of config.commands.values()) {
      if (!prompts.has(key) || told.has(key)) continue;
      told.add(key);
      log({ level: 'warning', event: 'session.command', message: `The command "${key}" of ${origin.file} is not used: a prompt of the server "${prompts.get(key)!.server}" has its name`, fields: { key } });
    }
    return { prompts, texts };
  }

  return {
    async list(signal) {
      const { prompts, texts } = await find(signal);
      const all: SessionCommand[] = [
        ...[...prompts.values()].map(({ key, server, prompt }): SessionCommand => ({ key, from: 'prompt', server, arguments: prompt.arguments ?? [], ...(prompt.description === undefined ? {} : { description: prompt.description }) })),
        ...[...texts.values()].map(({ key, description, origin }): SessionCommand => ({ key, from: 'config', arguments: [], origin, ...(description === undefined ? {} : { description }) })),
      ];
      return all.sort((a, b) => (a.key < b.key ? -1 : 1));
    },
    async expand(key, input, signal) {
      const { prompts, texts } = await find(signal);
      const prompt = prompts.get(key), text = texts.get(key);
      if (prompt !== undefined) return fillPrompt(await ask(prompt.server, ({ client }) => client.getPrompt(prompt.prompt.name, promptPlaceholders(prompt.prompt), { signal }), signal), input);
      if (text !== undefined) return fillPrompt({ messages: [{ role: 'user', content: { type: 'text', text: text.template } }], ...(text.description === undefined ? {} : { description: text.description }) }, input);
      const close = nearest(key, [...prompts.keys(), ...texts.keys()]);
      throw new Failure('USAGE', `Cannot run the command "${key}": there is none${close.length > 0 ? `; did you mean ${close.map((one) => `"${one}"`).join(' or ')}?` : ''}`, {
        stage: 'usage', details: { argument: key, nearest: close }, hint: 'Prompts are there while their server is connected',
      });
    },
  };
}

/** All texts of the answer are one template: the server may have spread the arguments over several messages. */
export function fillPrompt(result: GetPromptResult, input: string): GetPromptResult {
  const filled = [...expandTogether(result.messages.map(textOf).filter((text) => text !== undefined), input)];
  return { ...result, messages: result.messages.map((message) => (textOf(message) === undefined ? message : withText(message, filled.shift()!))) };
}

function textOf({ content }: PromptMessage): string | undefined {
  if (content.type === 'text') return content.text;
  return content.type === 'resource' ? content.resource.text : undefined;
}

function withText(message: PromptMessage, text: string): PromptMessage {
  const { content } = message;
  if (content.type === 'resource') return { ...message, content: { ...content, resource: { ...content.resource, text } } };
  return content.type === 'text' ? { ...message, content: { ...content, text } } : message;
}
