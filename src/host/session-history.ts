/** Calls of earlier turns in front of the tools of a step. What is recorded of them stays as it is. */
import { assembleHistory, historyWarning } from '../registry/history.ts';
import type { SessionCore } from './session-core.ts';
import type { HistoryItem, PastCall, Step } from './types.ts';

/** See `Session.history`. What becomes text is told in the log. */
export function pastCalls({ memory, log, id }: Pick<SessionCore, 'memory' | 'log' | 'id'>, calls: readonly PastCall[], step: Pick<Step, 'tools'>): readonly HistoryItem[] {
  const tools = new Map(calls.map(({ callId, id: tool }) => [callId, tool]));
  const recorded = (callId: string): string | undefined => {
    const mark = memory.calls.get(callId);
    return mark?.id === tools.get(callId) ? mark?.schemaId : undefined;
  };
  const items = assembleHistory(calls, recorded, step.tools), warning = historyWarning(items);
  if (warning !== undefined) log({ level: 'warning', event: 'session.history', message: warning, fields: { session: id } });
  return items;
}
