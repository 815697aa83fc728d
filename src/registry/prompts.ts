/** Server prompts as commands `server:prompt`, with arguments that are filled in after the server has answered. */
import type { Prompt } from '../mcp/types.ts';
import type { ServerItems } from './resources.ts';

export interface PromptCommand { readonly key: string; readonly server: string; readonly prompt: Prompt }

export function promptKey(server: string, prompt: string): string {
  return `${server}:${prompt}`;
}

/** By key. */
export function mergePrompts(lists: readonly ServerItems<Prompt>[]): readonly PromptCommand[] {
  return lists.flatMap(({ server, items }) => items.map((prompt) => ({ key: promptKey(server, prompt.name), server, prompt })))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** Server and prompt of a key. Both may hold colons (`plugin:tools:server:review`): the longest known server counts. */
export function splitPromptKey(key: string, servers: Iterable<string>): { readonly server: string; readonly prompt: string } | undefined {
  const server = [...servers].filter((name) => key.startsWith(`${name}:`)).sort((a, b) => b.length - a.length)[0];
  return server === undefined ? undefined : { server, prompt: key.slice(server.length + 1) };
}

/** What `prompts/get` is asked with: every declared argument stands for its place, `$1`, `$2`, ... */
export function promptPlaceholders(prompt: Prompt): Readonly<Record<string, string>> {
  return Object.fromEntries((prompt.arguments ?? []).map(({ name }, index) => [name, `$${index + 1}`]));
}

/** Words of a command line: separated by blanks, quotes hold words together and go. */
export function splitWords(input: string): readonly string[] {
  return [...input.matchAll(/"([^"]*)"|'([^']*)'|[^\s"']+/g)].map((match) => match[1] ?? match[2] ?? match[0]);
}

/**
 * Puts words into a text: `$1`, `$2` one each, the highest number all that are left (joined by one space), a number past the end
 * nothing; `$ARGUMENTS` is the input as typed. Words are put in once and not looked at again.
 */
export function expandPlaceholders(template: string, input: string): string {
  return expandTogether([template], input)[0]!;
}

/** The same for several texts of one command: the highest number is that of all of them. Input without a place goes to the end of the last. */
export function expandTogether(templates: readonly string[], input: string): readonly string[] {
  const words = splitWords(input);
  const highest = templates.reduce((most, template) => Math.max(most, ...[...template.matchAll(/\$([1-9]\d{0,2})/g)].map((match) => Number(match[1]))), 0);
  if (highest === 0 && !templates.some((template) => template.includes('$ARGUMENTS'))) {
    return input.trim() === '' ? templates : templates.map((template, index) => (index === templates.length - 1 ? `${template}\n\n${input}` : template));
  }
  return templates.map((template) => template.replace(/\$(?:ARGUMENTS|([1-9]\d{0,2}))/g, (_whole, digits: string | undefined) => {
    if (digits === undefined) return input;
    const number = Number(digits);
    return number === highest ? words.slice(number - 1).join(' ') : (words[number - 1] ?? '');
  }));
}
