/** `tool_search` in a session: what it finds is shown from the next step on, and stays. */
import { searchArguments } from '../registry/native-tools.ts';
import { answerSearch, createSearchIndex, type SearchIndex } from '../registry/search.ts';
import type { ToolEntry } from '../registry/types.ts';
import { textBlock, type NativeWork } from './native-calls.ts';
import type { Offer } from './offer.ts';
import type { SessionCore } from './session-core.ts';
import type { CatalogueView } from './types.ts';

export function searchWork(core: Pick<SessionCore, 'memory' | 'journal' | 'searches'>, { plan, view }: Pick<Offer, 'plan' | 'view'>): NativeWork {
  const { memory, journal } = core, found = (id: string): boolean => memory.found.has(id);
  return (given) => {
    const { query, limit } = searchArguments(given);
    return async () => {
      const visible = new Set([...plan.eager.map(({ id }) => id), ...plan.deferred.map(({ id }) => id).filter(found)]);
      const matched = indexOf(core, plan.searchable, view).search(query, limit), deferred = plan.deferred.filter(({ id }) => !found(id)).length;
      const { text, metadata } = answerSearch({ query, matched, visible, revision: memory.revision, deferred });
      const { newlyExposedTools: ids, toolCatalogRevision: revision } = metadata;
      if (ids.length > 0) {
        for (const id of ids) { memory.found.add(id); memory.shown.add(id); }
        memory.revision = revision;
        journal?.append({ kind: 'exposed', revision, ids });
      }
      return { content: [textBlock(text)], metadata };
    };
  };
}

/** The same tools are looked through with the same index, step after step. */
function indexOf({ searches }: Pick<SessionCore, 'searches'>, entries: readonly ToolEntry[], view: CatalogueView): SearchIndex {
  const last = searches.index;
  if (last?.view === view && last.entries.length === entries.length && last.entries.every((entry, index) => entry === entries[index])) return last.index;
  const sources = new Map([...view.servers.values()].map(({ server, title, instructions }) => [server, { title, description: instructions }]));
  const index = createSearchIndex(entries, sources);
  searches.index = { entries, view, index };
  return index;
}
