/**
 * Calls of earlier turns in front of today's tools. A provider is shown only calls whose declaration is still exactly the one under
 * which they were made: any other would be bound to a schema it never had, or be a call of something undeclared. Those become
 * inert text for this request; what is stored stays as it was.
 */
import { count } from '../base/text.ts';
import type { OfferedTool } from './types.ts';

/** A call of an earlier turn, as whoever keeps the conversation has it. */
export interface PastCall { readonly callId: string; readonly id: string; readonly args: unknown; readonly text: string; readonly isError?: boolean | undefined }

export type HistoryItem =
  | { readonly kind: 'call'; readonly call: PastCall }
  /** `text`: one JSON object, `{ "transcript": "earlier tool call", "tool", "callId", "arguments", "isError", "result", "why" }`. */
  | { readonly kind: 'text'; readonly callId: string; readonly text: string; readonly why: string };

/**
 * In the order of `calls`.
 * @param recorded the schema identity under which a call was admitted; `undefined`: no such call is known
 * @param tools what the request shows
 */
export function assembleHistory(calls: readonly PastCall[], recorded: (callId: string) => string | undefined, tools: readonly OfferedTool[]): readonly HistoryItem[] {
  const shown = new Map(tools.map((tool) => [tool.id, tool]));
  return calls.map((call) => {
    const why = obstacle(call, recorded(call.callId), shown.get(call.id));
    return why === undefined ? { kind: 'call', call } : { kind: 'text', callId: call.callId, text: transcript(call, why), why };
  });
}

function obstacle({ id }: PastCall, schemaId: string | undefined, tool: OfferedTool | undefined): string | undefined {
  if (tool === undefined) return `"${id}" is not shown any more`;
  if (schemaId === undefined) return `it is not known under which declaration of "${id}" it was made`;
  return tool.schemaId === schemaId ? undefined : `the declaration of "${id}" has changed since`;
}

function transcript({ callId, id, args, text, isError = false }: PastCall, why: string): string {
  return JSON.stringify({ transcript: 'earlier tool call', tool: id, callId, arguments: args ?? {}, isError, result: text, why });
}

/** One line for a log; `undefined` when every call kept its form. */
export function historyWarning(items: readonly HistoryItem[]): string | undefined {
  const inert = items.filter((item) => item.kind === 'text');
  return inert.length === 0 ? undefined : `${count(inert.length, 'earlier call')} became text: ${[...new Set(inert.map(({ why }) => why))].slice(0, 3).join('; ')}`;
}
