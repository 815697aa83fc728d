/**
 * Who answers during a command: the person at the terminal, and what the command line says beforehand (`--elicit key=value`).
 * Where neither is there, nothing that needs a person is declared to the server.
 */
import { limits } from '../base/limits.ts';
import { oneLine } from '../base/text.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { Host, Person } from '../host/types.ts';
import type { Elicitation, ElicitationAnswer } from '../mcp/types.ts';
import type { Context, OptionRow } from './command.ts';
import { withHost, type Household } from './open.ts';
import { usageFailure } from './parse.ts';
import { bold, dim, red, yellow } from './span.ts';
import type { Terminal } from './terminal.ts';

export const elicitOption: OptionRow = { name: 'elicit', value: 'KEY=VALUE', repeat: true, summary: 'answers a form of the server, typed by its fields; on a terminal you are asked for the rest' };

/** `withHost` with whoever can answer. Answers that nobody asked for are told at the end. */
export async function withPerson(context: Context, household: Omit<Household, 'person'>, use: (host: Host) => Promise<number>): Promise<number> {
  const { terminal, parsed, signal } = context;
  const given = givenAnswers(parsed.all('elicit'));
  const asked = terminal.interactive ? { ...(await import('./ask.ts')).personAt(terminal, signal), visit: visitAt(terminal) } : {};
  if (given.size === 0) return withHost(context, { ...household, person: asked }, use);
  const used = new Set<string>();
  const { readField } = await import('./ask.ts');
  const { propertiesOf, requiredOf, resolveShape } = await import('./shape.ts');
  const person = answering({ given, used, readField, propertiesOf, requiredOf, resolveShape }, asked, terminal);
  const status = await withHost(context, { ...household, person }, use);
  for (const key of given.keys()) if (!used.has(key)) terminal.note(yellow('warning: '), `--elicit ${key} was not asked for`);
  return status;
}

/**
 * For commands that only look: what `call` would declare here is declared, so that servers offer the same tools; a question is
 * called off, for nobody is being served.
 */
export function onlooker({ terminal }: Pick<Context, 'terminal'>): { readonly person?: Person } {
  return terminal.interactive ? { person: { answer: () => Promise.resolve({ action: 'cancel' }) } } : {};
}

/** Where to sign in: at once, and the address whole on a line of its own. Only `mcp auth` opens a browser. */
function visitAt(terminal: Terminal): NonNullable<Person['visit']> {
  return ({ server, host, url, userCode }) => {
    terminal.alert(yellow('Sign in to '), bold(`"${server}"`), ' at ', bold(host), ...(userCode === undefined ? [] : [' with the code ', bold(userCode)]), dim(`  (this waits ${limits.oauthStartMs / 1000} s; zuno-lite mcp auth ${server} waits longer)`));
    terminal.alert(url);
  };
}

type Given = ReadonlyMap<string, readonly string[]>;

/** Throws USAGE for a word that is no answer; its value is not repeated, it may be a secret. */
function givenAnswers(words: readonly string[]): Given {
  const given = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw usageFailure('Cannot take --elicit: its value is not KEY=VALUE', '--elicit', 'for instance --elicit name=Ann');
    const key = word.slice(0, at);
    given.set(key, [...given.get(key) ?? [], word.slice(at + 1)]);
  }
  return given;
}

interface Answering extends Pick<typeof import('./ask.ts'), 'readField'>, Pick<typeof import('./shape.ts'), 'propertiesOf' | 'requiredOf' | 'resolveShape'> { readonly given: Given; readonly used: Set<string> }

function answering(known: Answering, asked: Person, terminal: Terminal): Person {
  return {
    ...asked,
    // A page to open needs someone who sees it.
    ...(asked.answer === undefined ? { modes: ['form'] as const } : {}),
    async answer(server, elicitation, signal) {
      if (elicitation.mode === 'url') return asked.answer?.(server, elicitation, signal) ?? { action: 'cancel' };
      const { content, missing, problems } = fill(known, elicitation.requestedSchema);
      if (content.size > 0 && missing.length === 0 && problems.length === 0) {
        terminal.note(dim(`Server "${server}" asks: ${oneLine(elicitation.message)} (answered by --elicit ${[...content.keys()].join(', ')})`));
        return { action: 'accept', content: Object.fromEntries(content) };
      }
      for (const problem of problems) terminal.alert(red(problem));
      if (asked.answer !== undefined) return asked.answer(server, withDefaults(elicitation, content), signal);
      return unanswered(terminal, server, elicitation, missing, problems);
    },
  };
}

/** What the given answers make of a form: values of its fields, required ones that stay open, and what does not fit. */
function fill({ given, used, readField, propertiesOf, requiredOf, resolveShape }: Answering, schema: JsonObject): { readonly content: ReadonlyMap<string, unknown>; readonly missing: readonly string[]; readonly problems: readonly string[] } {
  const content = new Map<string, unknown>();
  const problems: string[] = [], open = new Set(requiredOf(schema));
  for (const [name, raw] of Object.entries(propertiesOf(schema, schema))) {
    const shape = resolveShape(raw, schema), texts = given.get(name);
    if (shape['default'] !== undefined) open.delete(name);
    if (texts === undefined) continue;
    used.add(name);
    open.delete(name);
    const read = texts.length > 1 && shape['type'] !== 'array' ? { problem: 'is given twice and is not a list' } : readField(texts.join(','), shape);
    if ('problem' in read) problems.push(`--elicit ${name}: ${read.problem}`); else content.set(name, read.value);
  }
  return { content, missing: [...open], problems };
}

/** The form with the answers at hand as what enter takes. */
function withDefaults(elicitation: Elicitation & { readonly mode: 'form' }, content: ReadonlyMap<string, unknown>): Elicitation {
  const { properties } = elicitation.requestedSchema;
  if (!isObject(properties)) return elicitation;
  const filled = Object.entries(properties).map(([name, shape]) => [name, content.has(name) && isObject(shape) ? { ...shape, default: content.get(name) } : shape]);
  return { ...elicitation, requestedSchema: { ...elicitation.requestedSchema, properties: Object.fromEntries(filled) } };
}

/** Nobody is there, so the question is called off; whoever reads stderr learns how to answer it next time. */
function unanswered(terminal: Terminal, server: string, { message }: Elicitation, missing: readonly string[], problems: readonly string[]): ElicitationAnswer {
  const why = missing.length > 0 ? `it needs ${missing.map((name) => `--elicit ${name}=VALUE`).join(' ')}` : problems.length > 0 ? 'an answer of the command line does not fit' : 'no --elicit fits a field of it';
  terminal.alert(yellow(`Server "${server}" asks: `), oneLine(message), dim(`  (canceled: ${why})`));
  return { action: 'cancel' };
}
