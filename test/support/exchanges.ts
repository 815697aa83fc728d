/** Requests put to an engine without any carrier, and what came back. */
import type { JsonObject } from '../../src/base/json.ts';
import type { HeaderLookup } from '../../src/jsonrpc/serving.ts';
import type { Server } from '../../src/mcp/server.ts';

export interface Heard { readonly status: number; readonly text: string | undefined; readonly result: any; readonly error: any; readonly before: readonly any[] }
export interface Put { readonly principal?: string; readonly header?: HeaderLookup; readonly signal?: AbortSignal; readonly connection?: object; readonly meta?: JsonObject; readonly capabilities?: JsonObject; readonly raw?: boolean; readonly id?: number | string; readonly onMessage?: (message: any) => void; readonly accepts?: boolean }

export const PREFIX = 'io.modelcontextprotocol/';
export const everything: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/** A stateless request; resolves with its answer. */
export function put(engine: Server, method: string, params: JsonObject = {}, options: Put = {}): Promise<Heard> {
  const before: unknown[] = [];
  const full = options.raw === true ? params : { ...params, _meta: { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientCapabilities`]: options.capabilities ?? everything, ...options.meta } };
  return new Promise((resolve) => {
    engine.serve({ jsonrpc: '2.0', id: options.id ?? 1, method, params: full }, {
      principal: options.principal ?? 'ann', header: options.header, signal: options.signal ?? new AbortController().signal,
      send(text) { const message: unknown = JSON.parse(text); before.push(message); options.onMessage?.(message); return options.accepts ?? true; },
      answer(text, status) {
        const parsed = text === undefined ? {} : JSON.parse(text) as { result?: unknown; error?: unknown };
        resolve({ status, text, result: parsed.result, error: parsed.error, before });
      },
    }, options.connection);
  });
}
