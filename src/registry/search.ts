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

/** Texts in lower case, as searches compare them. */
interface Fields { readonly id: string; readonly name: string; readonly description: string; readonly source: Source }
interface Source { readonly name: string; readonly description: string }

/** Letters and digits of any script with `_`, `-` and `/`. */
const tokensOf = (text: string): readonly string[] => text.split(/[^\p{L}\p{N}_\-/]+/u).filter((token) => token !== '').slice(0, limits.searchTokens);

/** The name that people read: the title, else the server's own name of the tool. */
function displayName({ tool, definition }: ToolEntry): string {
  return definition.title ?? definition.annotations?.title ?? tool;
}

/** @param entries what a search may find, in catalogue order */
export function createSearchIndex(entries: readonly ToolEntry[], sources: ReadonlyMap<string, SearchSource> = new Map()): SearchIndex {
  const known = new Map<string, Source>();
  const sourceOf = (server: string): Source => {
    let source = known.get(server);
    if (source === undefined) {
      const { title = '', description = '' } = sources.get(server) ?? {};
      known.set(server, (source = { name: server.toLowerCase(), description: `${title} ${description}`.toLowerCase() }));
    }
    return source;
  };
  const fields = entries.map((entry): Fields => ({
    id: entry.id.toLowerCase(), name: displayName(entry).toLowerCase(), description: (entry.definition.description ?? '').toLowerCase(), source: sourceOf(entry.server),
  }));
  return {
    search(query, limit = limits.searchResults) {
      const wanted = query.trim().toLowerCase(), tokens = tokensOf(wanted);
      // What a server's texts are worth is the same for all of its tools.
      const worth = new Map([...known.values()].map((source) => [source, scoreSource(source, wanted, tokens)]));
      const scored: { readonly index: number; readonly score: number }[] = [];
      for (const [index, field] of fields.entries()) {
        const score = scoreTool(field, wanted, tokens) + worth.get(field.source)!;
        if (score > 0) scored.push({ index, score });
      }
      return scored.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, limit).map(({ index }) => entries[index]!);
    },
  };
}

function scoreTool({ id, name, description }: Fields, wanted: string, tokens: readonly string[]): number {
  if (wanted === '') return 0;
  let score = 0, matched = 0;
  if (id === wanted || name === wanted) score += WEIGHTS.nameEqual;
  else {
    if (id.startsWith(wanted) || name.startsWith(wanted)) score += WEIGHTS.namePrefix;
    if (id.includes(wanted) || name.includes(wanted)) score += WEIGHTS.nameContains;
  }
  for (const token of tokens) {
    // A wire id holds nothing that tokens are split at: it is one token.
    const found = id === token ? WEIGHTS.idToken : id.includes(token) ? WEIGHTS.idContains : name.includes(token) ? WEIGHTS.nameToken : description.includes(token) ? WEIGHTS.descriptionToken : 0;
    if (found > 0) matched += 1;
    score += found;
  }
  return tokens.length > 0 && matched === tokens.length ? score + WEIGHTS.allTokens : score;
}

function scoreSource({ name, description }: Source, wanted: string, tokens: readonly string[]): number {
  if (wanted === '') return 0;
  let score = name === wanted ? WEIGHTS.sourceEqual : 0;
  for (const token of tokens) {
    if (name !== wanted && name.includes(token)) score += WEIGHTS.sourceToken;
    if (description.includes(token)) score += WEIGHTS.sourceDescriptionToken;
  }
  return score;
}

// ---- what it says

/** One line of at most `max` characters. */
const preview = (text: string, max: number): string => shorten(text.slice(0, 4 * max).replace(/\s+/g, ' ').trim(), max);

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
