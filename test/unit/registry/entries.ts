/** Builders for the tests of this folder. */
import type { Origin } from '../../../src/base/failure.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import type { CallToolResult, ContentBlock, Tool } from '../../../src/mcp/types.ts';
import { assignNames } from '../../../src/registry/names.ts';
import type { Effect, Permissions, PermissionMode, Rule, ToolEntry } from '../../../src/registry/types.ts';

export const origin: Origin = { file: '/home/x/.config/zuno/zuno.json', layer: 'global', line: 7 };

export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, inputSchema: { type: 'object', properties: {} }, ...more };
}

export function entry(server: string, name: string, more: Partial<Tool> = {}, id = assignNames([{ server, tool: name }]).ids[0]!): ToolEntry {
  return { id, server, tool: name, definition: tool(name, more), fingerprint: `fp-${server}-${name}`, origin };
}

export function rule(key: string, effect: Effect, pattern = '*'): Rule {
  return { key, pattern, effect, origin };
}

export function permissions(rules: readonly Rule[], mode: PermissionMode = 'standard'): Permissions {
  return { mode, rules };
}

export function result(content: readonly ContentBlock[], more: Partial<CallToolResult> = {}): CallToolResult {
  return { content, isError: false, ...more };
}

export const words = (text: string): ContentBlock => ({ type: 'text', text });

export function schema(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties, ...more };
}

/** Small generator with a seed: the same run each time (mulberry32's recurrence). */
export function random(seed: number): { next(): number; below(n: number): number; pick<T>(items: readonly T[]): T } {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return { next, below, pick: (items) => items[below(items.length)]! };
}
