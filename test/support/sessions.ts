/** Servers whose lists a test writes, for sessions that look at them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Session, Step, StepResult } from '../../src/host/types.ts';
import { tempDir } from './process.ts';

const program = fileURLToPath(new URL('../fixtures/servers/listed.mjs', import.meta.url));

export interface ListedContent {
  readonly tools?: readonly object[]; readonly prompts?: readonly object[]; readonly messages?: readonly object[]; readonly resources?: readonly object[];
  readonly templates?: readonly object[]; readonly contents?: Readonly<Record<string, readonly object[]>>; readonly fails?: readonly string[]; readonly instructions?: string;
}
export interface Listed {
  /** Of `mcp`. */
  readonly entry: Record<string, unknown>;
  readonly file: string;
  write(content: ListedContent): void;
  received(): { readonly method?: string; readonly params?: Readonly<Record<string, any>> }[];
}

export function listed(t: TestContext, content: ListedContent): Listed {
  const directory = tempDir(t), file = path.join(directory, 'lists.json'), log = path.join(directory, 'log');
  const write = (next: ListedContent): void => writeFileSync(file, JSON.stringify(next));
  write(content);
  return {
    entry: { type: 'local', command: [process.execPath, program, file, log] }, file, write,
    received: () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as object) : []),
  };
}

/** `count` tools with ordinary schemas. */
export const tools = (...names: readonly string[]): object[] => names.map((name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }));
export const many = (count: number, prefix = 'tool'): object[] => tools(...Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`));

export const idsOf = (step: Step): string[] => step.tools.map(({ id }) => id);
export const search = (step: Step, query: string): Promise<StepResult> => step.call('tool_search', { query });

/** The next step that shows `id`, or does not when `shown` is false: news arrive when the server has told them. */
export async function stepWith(session: Session, id: string, shown = true): Promise<Step> {
  for (const until = performance.now() + 5_000; ;) {
    const step = await session.step();
    if (idsOf(step).includes(id) === shown) return step;
    if (performance.now() > until) throw new Error(`no step ${shown ? 'with' : 'without'} ${id}: ${idsOf(step).join()}`);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}
