/** `tool_search`: finds tools that wait for a search, and says what there is to find. Text of servers is folded to one line, otherwise as it is. */
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { count, shorten } from '../base/text.ts';
import { searchIntroduction } from './native-tools.ts';
import type { ToolEntry } from './types.ts';

/** What is known of a server beside its name. */
export interface SearchSource { readonly title?: string | undefined; readonly description?: string | undefined }

export interface SearchIndex {
  /** Best first; equals in catalogue order. At most `limit`. */
  search(query: string, limit?: number): readonly ToolEntry[];
}

const WEIGHTS = {
  /** The whole query against wire id and display name. */
  nameEqual: 1000, namePrefix: 500, nameContains: 250,
  /** Each token of the query, the first that applies. */
  idToken: 140, idContains: 100, nameToken: 70, descriptionToken: 35,
  /** Every token was found in the tool's own texts. */
  allTokens: 100,
  /** The server: the whole query, else each token in its name; each token in what it says of itself. */
  sourceEqual: 1000, sourceToken: 100, sourceDescriptionToken: 35,
} as const;

/** Texts as searches compare them. One character stays one: `İ` alone would become two, and then no position would be that of the original. */
const fold = (text: string): string => text.replaceAll('\u0130', 'i').toLowerCase();

/** Letters and digits of any script with `_`, `-` and `/`. */
const tokensOf = (text: string): readonly string[] => text.split(/[^\p{L}\p{N}_\-/]+/u).filter((token) => token !== '').slice(0, limits.searchTokens);

/** The name that people read: the title, else the server's own name of the tool. */
export function displayName({ tool, definition }: ToolEntry): string {
  return definition.title ?? definition.annotations?.title ?? tool;
}

interface Source { readonly name: string; readonly description: string }

/**
 * Tools of one server that follow each other. All of their texts are one, so that a word is looked for once in all of them and costs
 * next to nothing where it is not.
 */
interface Shelf {
  /** Place of the first tool among the entries. */
  readonly from: number;
  /** Of each tool id, display name and description, each with a `SEAM` behind it. */
  readonly text: string;
  /** Where in the text each of the three begins, tool after tool, and at last where the text ends. */
  readonly marks: readonly number[];
  readonly source: Source;
}
const SEAM = '\0';

/** @param entries what a search may find, in catalogue order */
export function createSearchIndex(entries: readonly ToolEntry[], sources: ReadonlyMap<string, SearchSource> = new Map()): SearchIndex {
  const shelves = shelve(entries, sources), last = entries.length - 1;
  return {
    search(query, limit = limits.searchResults) {
      const whole = fold(query.trim()), tokens = tokensOf(whole);
      if (whole === '') return [];
      // Score and place in one number: sorted backwards, the best is first and equals are in catalogue order.
      const found = new Float64Array(entries.length);
      let many = 0;
      for (const shelf of shelves) many = note(shelf, scoreSource(shelf.source, whole, tokens), scoreTools(shelf, whole, tokens), found, many);
      const best = found.subarray(0, many).sort().subarray(Math.max(0, many - limit)).reverse();
      return Array.from(best, (each) => entries[last - (each % entries.length)]!);
    },
  };
}

function shelve(entries: readonly ToolEntry[], sources: ReadonlyMap<string, SearchSource>): readonly Shelf[] {
  const shelves: Shelf[] = [];
  for (let from = 0; from < entries.length;) {
    const { server } = entries[from]!, { title = '', description = '' } = sources.get(server) ?? {}, texts: string[] = [], marks = [0];
    const to = fill(entries, from, server, texts, marks);
    shelves.push({ from, text: fold(texts.join(SEAM) + SEAM), marks, source: { name: fold(server), description: fold(`${title} ${description}`) } });
    from = to;
  }
  return shelves;
}

// A search is mostly the first one, and compiling costs more than running: what loops over tools are small functions without closures.

/** Puts the texts of one server's tools side by side; the place of the next server's first tool. */
function fill(entries: readonly ToolEntry[], from: number, server: string, texts: string[], marks: number[]): number {
  let to = from, end = 0;
  for (; to < entries.length && entries[to]!.server === server; to++) {
    const entry = entries[to]!, name = displayName(entry), description = entry.definition.description ?? '';
    texts.push(entry.id, name, description);
    marks.push(end += entry.id.length + 1, end += name.length + 1, end += description.length + 1);
  }
  return to;
}

function note({ from }: Shelf, worth: number, scores: Uint16Array, found: Float64Array, many: number): number {
  let next = many;
  for (let tool = 0; tool < scores.length; tool++) {
    const score = worth + scores[tool]!;
    if (score > 0) found[next++] = score * found.length + found.length - 1 - from - tool;
  }
  return next;
}

/** What the texts of each tool are worth. */
function scoreTools({ text, marks }: Shelf, whole: string, tokens: readonly string[]): Uint16Array {
  const scores = new Uint16Array((marks.length - 1) / 3), matched = new Uint8Array(scores.length);
  for (const token of tokens) scoreToken(text, marks, token, scores, matched);
  // A tool that holds the whole query holds all of its words; a query without words is held or not.
  const first = matched.indexOf(tokens.length);
  if (first < 0) return scores;
  if (tokens.length > 0) for (let tool = first; tool >= 0; tool = matched.indexOf(tokens.length, tool + 1)) scores[tool]! += WEIGHTS.allTokens;
  if (!whole.includes(SEAM)) scoreWhole(text, marks, whole, scores);
  return scores;
}

/** Where a word is first in the texts of a tool decides: the id, then the name, then the description. */
function scoreToken(text: string, marks: readonly number[], token: string, scores: Uint16Array, matched: Uint8Array): void {
  for (let tool = 0, at = text.indexOf(token); at >= 0; at = text.indexOf(token, marks[3 * tool])) {
    while (marks[3 * tool + 3]! <= at) tool += 1;
    const id = marks[3 * tool]!, name = marks[3 * tool + 1]!;
    // A wire id holds nothing that tokens are split at: it is one token.
    scores[tool]! += at >= marks[3 * tool + 2]! ? WEIGHTS.descriptionToken : at >= name ? WEIGHTS.nameToken : name - id === token.length + 1 ? WEIGHTS.idToken : WEIGHTS.idContains;
    matched[tool]! += 1;
    tool += 1;
  }
}

function scoreWhole(text: string, marks: readonly number[], whole: string, scores: Uint16Array): void {
  for (let tool = 0, at = text.indexOf(whole); at >= 0; at = text.indexOf(whole, marks[3 * tool])) {
    while (marks[3 * tool + 3]! <= at) tool += 1;
    scores[tool]! += scoreName(text, whole, at, marks[3 * tool]!, marks[3 * tool + 1]!, marks[3 * tool + 2]!);
    tool += 1;
  }
}

/** `at`: where in the texts of one tool the whole query is first. */
function scoreName(text: string, whole: string, at: number, id: number, name: number, description: number): number {
  if (at >= description) return 0;
  const headsId = at === id, headsName = text.startsWith(whole, name), length = whole.length + 1;
  if ((headsId && name - id === length) || (headsName && description - name === length)) return WEIGHTS.nameEqual;
  return headsId || headsName ? WEIGHTS.namePrefix + WEIGHTS.nameContains : WEIGHTS.nameContains;
}

function scoreSource({ name, description }: Source, whole: string, tokens: readonly string[]): number {
  let score = name === whole ? WEIGHTS.sourceEqual : 0;
  for (const token of tokens) {
    if (name !== whole && name.includes(token)) score += WEIGHTS.sourceToken;
    if (description.includes(token)) score += WEIGHTS.sourceDescriptionToken;
  }
  return score;
}

// ---- what it says

/** One line of at most `max` characters. */
const preview = (text: string, max: number): string => shorten(shorten(text, 4 * max).replace(/\s+/g, ' ').trim(), max);

export interface SearchAnswer {
  readonly text: string;
  /** `query`, `matchedTools`, `newlyExposedTools`, `toolCatalogRevision`, `remainingDeferredTools`. */
  readonly metadata: JsonObject & { readonly newlyExposedTools: readonly string[]; readonly toolCatalogRevision: number; readonly remainingDeferredTools: number };
}

export interface SearchState {
  readonly query: string;
  readonly matched: readonly ToolEntry[];
  /** Wire ids that a request shows already, or that an earlier search of this step found. */
  readonly visible: ReadonlySet<string>;
  /** Of the exposed set, before this search. */
  readonly revision: number;
  /** Tools that still wait, before this search. */
  readonly deferred: number;
}

/** The words for the model, and the facts to keep: the revision rises only when something new was found. */
export function answerSearch({ query, matched, visible, revision, deferred }: SearchState): SearchAnswer {
  const fresh = matched.filter(({ id }) => !visible.has(id)).map(({ id }) => id), remaining = Math.max(0, deferred - fresh.length);
  const metadata = { query, matchedTools: matched.map(({ id }) => id), newlyExposedTools: fresh, toolCatalogRevision: fresh.length > 0 ? revision + 1 : revision, remainingDeferredTools: remaining };
  const asked = JSON.stringify(shorten(query, limits.previewChars));
  if (matched.length === 0) return { text: `No tool matches ${asked}. ${count(remaining, 'tool')} can still be searched: try other words, or the name of a service.`, metadata };
  const isFresh = new Set(fresh);
  const lines = matched.map((entry) => {
    const description = preview(entry.definition.description ?? '', limits.previewChars);
    return `- ${entry.id} (${preview(displayName(entry), limits.previewChars)})${description === '' ? '' : `: ${description}`}${isFresh.has(entry.id) ? '' : ' [shown already]'}`;
  });
  const rule = fresh.length === 0 ? 'All of them are shown already.' : 'Do not call the newly exposed ones in this message: they can be called from the next step on.';
  return { text: `${count(matched.length, 'tool')} matched ${asked}; ${fresh.length} newly exposed for the next step.\n${lines.join('\n')}\n${rule}`, metadata };
}

/** Tools told of per service, and characters of each. */
const SUMMARIES = 3, SUMMARY_CHARS = 100, NAME_CHARS = 200;

/**
 * The description of `tool_search`: every service with its own name and the number of its tools, and as far as there is room up to
 * three tools of each. At most `limits.serviceSummaryBytes`.
 */
export function searchDescription(searchable: readonly ToolEntry[], maxBytes: number = limits.serviceSummaryBytes): string {
  const groups = new Map<string, ToolEntry[]>();
  for (const entry of searchable) {
    const group = groups.get(entry.server);
    if (group === undefined) groups.set(entry.server, [entry]); else group.push(entry);
  }
  if (groups.size === 0) return searchIntroduction;
  const services = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([server, tools]) => ({ line: `- ${preview(server, NAME_CHARS)} (${count(tools.length, 'tool')})`, tools }));
  const head = `${searchIntroduction}\n\nServices with tools to find:`;
  const rest = (left: number): string => `- and ${count(left, 'more service')}`;
  let room = maxBytes - Buffer.byteLength(head), named = 0;
  for (const { line } of services) {
    const left = services.length - named - 1, cost = Buffer.byteLength(line) + 1;
    if (cost > room - (left > 0 ? Buffer.byteLength(rest(left)) + 1 : 0)) break;
    room -= cost;
    named += 1;
  }
  const shown = services.slice(0, named).map(({ line, tools }) => ({ line, tools, told: [] as string[] }));
  if (named < services.length) room -= Buffer.byteLength(rest(services.length - named)) + 1;
  // One tool of each service, then a second one of each: no service uses up the room of the others.
  for (let turn = 0; turn < SUMMARIES; turn++) {
    for (const { tools, told } of shown) {
      const entry = tools[turn];
      if (entry === undefined) continue;
      const summary = summaryOf(entry), cost = Buffer.byteLength(summary) + 2;
      if (cost <= room) { told.push(summary); room -= cost; }
    }
  }
  const lines = shown.map(({ line, told }) => (told.length === 0 ? line : `${line}: ${told.join('; ')}`));
  return [head, ...lines, ...(named < services.length ? [rest(services.length - named)] : [])].join('\n');
}

function summaryOf({ tool, definition }: ToolEntry): string {
  const words = preview(definition.description ?? definition.title ?? '', SUMMARY_CHARS), name = preview(tool, SUMMARY_CHARS);
  return words === '' ? name : `${name} - ${words}`;
}
