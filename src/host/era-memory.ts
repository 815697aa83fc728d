/**
 * Which era a server spoke last time, per connection identity, so that a silent old server costs its probe once and not at
 * every command. A legacy verdict expires (an updated server still answers `initialize`, so a stale one would never show);
 * a modern one is only a hint, because the probe is its handshake anyway.
 */
import * as path from 'node:path';
import { makeDirectory, readText, writeFileAtomic } from '../base/files.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { EraMemory } from '../mcp/types.ts';
import type { Era } from '../mcp/types.ts';

interface Verdict { readonly era: Era; readonly at: number }

/** At most so many verdicts are kept; the oldest go first. */
const KEPT = 500;

export interface EraStore {
  /** The identity is worked out when it is first needed: by then the server is starting. */
  forIdentity(identity: () => string): EraMemory;
  /** Writes what is new. Losing it costs a probe, so a failure to write is none. */
  save(): Promise<void>;
}

export function createEraStore(stateDirectory: string, clock: () => number = Date.now): EraStore {
  const file = path.join(stateDirectory, 'eras.json');
  let verdicts: Map<string, Verdict> | undefined;
  let changed = false;
  const known = (): Map<string, Verdict> => (verdicts ??= readVerdicts(file));
  return {
    forIdentity(of) {
      let identity: string | undefined;
      const id = (): string => (identity ??= of());
      return {
        recall() {
          const verdict = known().get(id());
          if (verdict === undefined) return undefined;
          return verdict.era === 'legacy' && clock() - verdict.at > limits.legacyVerdictMs ? undefined : verdict.era;
        },
        remember(era) {
          const before = known().get(id());
          if (before?.era === era && clock() - before.at < limits.legacyVerdictMs / 2) return;
          known().delete(id());
          known().set(id(), { era, at: clock() });
          changed = true;
        },
      };
    },
    async save() {
      if (!changed || verdicts === undefined) return;
      changed = false;
      try {
        makeDirectory(stateDirectory);
        const mine = verdicts;
        const merged = new Map([...readVerdicts(file), ...mine]);
        await writeFileAtomic(file, JSON.stringify({ version: 1, verdicts: Object.fromEntries([...merged].slice(-KEPT)) }), { mode: 0o600 });
      } catch {
        // Not remembered: the next connection probes again.
      }
    },
  };
}

function readVerdicts(file: string): Map<string, Verdict> {
  let text: string | undefined;
  try {
    text = readText(file, limits.configFileBytes);
  } catch {
    return new Map();
  }
  const parsed = text === undefined ? undefined : parseJson(text)?.value;
  if (!isObject(parsed) || parsed['version'] !== 1 || !isObject(parsed['verdicts'])) return new Map();
  const entries = Object.entries(parsed['verdicts']).filter((pair): pair is [string, { era: Era; at: number }] => {
    const verdict = pair[1];
    return isObject(verdict) && (verdict['era'] === 'legacy' || verdict['era'] === 'modern') && typeof verdict['at'] === 'number';
  });
  return new Map(entries);
}
