/** The person at the terminal: approves calls and answers what servers ask. One question at a time, however many wait. */
import { isObject, isStringArray, member } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { redactPatterns } from '../base/redact.ts';
import { oneLine } from '../base/text.ts';
import type { Person } from '../host/types.ts';
import type { Elicitation, ElicitationAnswer } from '../mcp/types.ts';
import { allowLine } from '../registry/refusals.ts';
import type { Approval, ApprovalAnswer } from '../registry/types.ts';
import { typeText } from './arguments.ts';
import { fixedValues, kindsOf, propertiesOf, requiredOf, resolveShape } from './shape.ts';
import { bold, dim, red, yellow } from './span.ts';
import type { Terminal } from './terminal.ts';

const approvals: Readonly<Record<string, ApprovalAnswer>> = { o: 'once', once: 'once', y: 'once', yes: 'once', n: 'no', no: 'no', '': 'no' };
const lasting: Readonly<Record<string, ApprovalAnswer>> = { ...approvals, a: 'always', always: 'always' };

/** Arguments as a person may see them: secrets masked, line by line. */
export function shownArguments(args: JsonObject): string[] {
  return redactPatterns(JSON.stringify(args, null, 2)).split('\n');
}

async function approve(terminal: Terminal, { entry, args, decision }: Approval, remembers: boolean, signal: AbortSignal): Promise<ApprovalAnswer> {
  const title = entry.definition.title ?? entry.definition.annotations?.title;
  terminal.alert(yellow('May this call be made? '), dim(decision.why));
  terminal.alert(dim('  server     '), bold(entry.server));
  terminal.alert(dim('  tool       '), bold(entry.tool), title === undefined ? '' : `  ${oneLine(title)}`);
  shownArguments(args).forEach((line, index) => terminal.alert(dim(index === 0 ? '  arguments  ' : '             '), line));
  // For one call "always" would end with it: the rule that lasts is shown instead.
  terminal.alert(dim(remembers ? '  to keep it  ' : '  for always  '), dim(`add ${allowLine(entry.id)} to your zuno.json`));
  for (;;) {
    const line = await terminal.question([remembers ? '[o]nce  [a]lways  [n]o: ' : '[o]nce  [n]o: '], signal);
    const answer = line === undefined ? 'no' : (remembers ? lasting : approvals)[line.trim().toLowerCase()];
    if (answer !== undefined) return answer;
    terminal.alert(dim(`  Please answer ${remembers ? 'o, a or n' : 'o or n'}; enter alone means no.`));
  }
}

/** The choices of a field with what is shown for each: `enum` (with `enumNames`), or `oneOf`/`anyOf` of `const` and `title`. */
function choicesOf(shape: JsonObject): readonly { readonly value: unknown; readonly title: string }[] {
  const titled = member(shape, 'oneOf') ?? member(shape, 'anyOf');
  if (Array.isArray(titled)) return titled.filter(isObject).map((one) => ({ value: one['const'], title: typeof one['title'] === 'string' ? one['title'] : String(one['const']) }));
  const names = member(shape, 'enumNames');
  return (fixedValues(shape) ?? []).map((value, index) => ({ value, title: isStringArray(names) ? names[index] ?? String(value) : String(value) }));
}

function bounds(shape: JsonObject, value: unknown): string | undefined {
  const at = (key: string): number | undefined => (typeof shape[key] === 'number' ? shape[key] : undefined);
  const size = typeof value === 'string' ? [...value].length : Array.isArray(value) ? value.length : undefined;
  const least = at('minLength') ?? at('minItems'), most = at('maxLength') ?? at('maxItems');
  if (size !== undefined && least !== undefined && size < least) return `at least ${least} ${Array.isArray(value) ? 'choices' : 'characters'}, please`;
  if (size !== undefined && most !== undefined && size > most) return `at most ${most} ${Array.isArray(value) ? 'choices' : 'characters'}, please`;
  const minimum = at('minimum'), maximum = at('maximum');
  if (typeof value === 'number' && minimum !== undefined && value < minimum) return `at least ${minimum}, please`;
  if (typeof value === 'number' && maximum !== undefined && value > maximum) return `at most ${maximum}, please`;
  return undefined;
}

type Read = { readonly value: unknown } | { readonly problem: string };

function readChoice(text: string, choices: readonly { readonly value: unknown; readonly title: string }[]): Read {
  const found = choices[Number(text) - 1] ?? choices.find((one) => one.title.toLowerCase() === text.toLowerCase() || String(one.value) === text);
  return found === undefined ? { problem: `"${text}" is none of the choices` } : { value: found.value };
}

const shortWords: Readonly<Record<string, string>> = { y: 'yes', n: 'no' };

/** One line of input as the value of a field. */
export function readField(text: string, shape: JsonObject): Read {
  const isList = kindsOf(shape, shape).has('array');
  const items = isList ? resolveShape(member(shape, 'items'), shape) : shape;
  const choices = choicesOf(items);
  const parts = isList ? text.split(',').map((part) => part.trim()).filter((part) => part !== '') : [text];
  const switches = kindsOf(items, shape).has('boolean');
  const read = parts.map((part) => (choices.length > 0 ? readChoice(part, choices) : typeText(switches ? shortWords[part.toLowerCase()] ?? part : part, items, shape)));
  const failed = read.find((one) => 'problem' in one);
  if (failed !== undefined) return failed;
  const values = read.map((one) => (one as { readonly value: unknown }).value);
  const value = isList ? values : values[0];
  const problem = bounds(shape, value);
  return problem === undefined ? { value } : { problem };
}

const DECLINE = '/decline';
const CANCEL = '/cancel';
type Field = { readonly value: unknown } | 'skip' | 'decline' | 'cancel';

const kindNames: Readonly<Record<string, string>> = { string: 'text', boolean: 'yes or no', integer: 'whole number', array: 'list' };
const kindText = (shape: JsonObject): string => [...kindsOf(shape, shape)].map((kind) => kindNames[kind] ?? kind).join(' or ') || 'text';

async function askField(terminal: Terminal, name: string, shape: JsonObject, needed: boolean, signal: AbortSignal): Promise<Field> {
  const isList = kindsOf(shape, shape).has('array');
  const choices = choicesOf(isList ? resolveShape(member(shape, 'items'), shape) : shape);
  const title = typeof shape['title'] === 'string' ? shape['title'] : name;
  const standard = shape['default'];
  terminal.alert(bold(oneLine(title)), dim(`  ${kindText(shape)}${needed ? '' : ', optional'}${typeof shape['description'] === 'string' ? `  ${oneLine(shape['description'])}` : ''}`));
  choices.forEach((choice, index) => terminal.alert(dim(`  ${index + 1}  `), oneLine(choice.title)));
  const inWords = (value: unknown): string => choices.find((choice) => choice.value === value)?.title ?? (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));
  const shown = standard === undefined ? '' : ` [${(Array.isArray(standard) ? standard : [standard]).map(inWords).join(', ')}]`;
  for (;;) {
    const line = await terminal.question([`${isList ? '(separated by commas) ' : ''}>${shown} `], signal);
    if (line === undefined || line.trim() === CANCEL) return 'cancel';
    const text = line.trim();
    if (text === DECLINE) return 'decline';
    if (text === '' && standard !== undefined) return { value: standard };
    if (text === '' && !needed) return 'skip';
    const read = text === '' ? { problem: 'an answer is needed' } : readField(text, shape);
    if ('value' in read) return read;
    terminal.alert(red(`  ${read.problem}`));
  }
}

async function askForm(terminal: Terminal, schema: JsonObject, signal: AbortSignal): Promise<ElicitationAnswer> {
  const required = new Set(requiredOf(schema));
  for (;;) {
    const content: Record<string, unknown> = {};
    for (const [name, raw] of Object.entries(propertiesOf(schema, schema))) {
      const field = await askField(terminal, name, resolveShape(raw, schema), required.has(name), signal);
      if (field === 'decline' || field === 'cancel') return { action: field };
      if (field !== 'skip') Object.defineProperty(content, name, { value: field.value, enumerable: true });
    }
    for (const line of JSON.stringify(content, null, 2).split('\n')) terminal.alert(dim('  '), line);
    const sure = (await terminal.question(['Send this? [y]es  [e]dit  [d]ecline  [c]ancel: '], signal))?.trim().toLowerCase();
    if (sure === 'y' || sure === 'yes') return { action: 'accept', content };
    if (sure === 'd' || sure === 'decline' || sure === 'n' || sure === 'no') return { action: 'decline' };
    if (sure === undefined || sure === 'c' || sure === 'cancel') return { action: 'cancel' };
  }
}

async function answer(terminal: Terminal, server: string, elicitation: Elicitation, signal: AbortSignal): Promise<ElicitationAnswer> {
  terminal.alert(yellow(`Server "${server}" asks: `), oneLine(elicitation.message));
  if (elicitation.mode === 'form') {
    terminal.alert(dim(`  enter takes what stands in brackets; ${DECLINE} says no, ${CANCEL} gives up`));
    return askForm(terminal, elicitation.requestedSchema, signal);
  }
  terminal.alert(dim('  It wants you to open this page: '), bold(elicitation.url));
  const line = (await terminal.question(['Opened it and agree? [y]es  [d]ecline  [c]ancel: '], signal))?.trim().toLowerCase();
  return { action: line === 'y' || line === 'yes' ? 'accept' : line === undefined || line.startsWith('c') ? 'cancel' : 'decline' };
}

/** Someone to ask, if stdin and stderr are a terminal; otherwise a person without methods: nobody. `remembers`: further calls follow for which "always" is kept. */
export function personAt(terminal: Terminal, signal: AbortSignal, remembers = false): Person {
  if (!terminal.interactive) return {};
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const result = turn.then(ask, ask);
    turn = result.catch(() => undefined);
    return result;
  };
  return {
    approve: (approval) => inTurn(() => approve(terminal, approval, remembers, signal)),
    answer: (server, elicitation, own) => inTurn(() => answer(terminal, server, elicitation, own)),
  };
}
