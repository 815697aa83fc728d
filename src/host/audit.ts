/**
 * The audit: one JSON line for each call that reached a gate, appended to a file of mode 0600 that is rotated by size. What was asked for
 * and decided is kept, arguments by name only. A disk that fails costs the record, not the call: the host warns once and goes on, because
 * a full disk must not decide what a model may do.
 */
import { appendText, exists, makeDirectory, remove, rename, sizeOf, withLock } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Redact } from '../base/redact.ts';
import { shorten } from '../base/text.ts';
import type { AuditSettings } from '../config/types.ts';
import type { AuditRecord } from '../registry/gate.ts';
import { ruleText } from '../registry/permission.ts';
import * as path from 'node:path';

export interface Audit {
  /** What a gate of this session hands its records to. Returns at once. */
  recorder(who: { readonly session: string; readonly agent: string }): (record: AuditRecord) => void;
  /** Resolves when everything recorded so far is on the disk, or was given up. Idempotent, never rejects. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly redact: Redact;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock?: (() => number) | undefined;
}

export function createAudit({ file, maxBytes, keep }: AuditSettings, { redact, log, clock = Date.now }: AuditOptions): Audit {
  let queue: Promise<void> = Promise.resolve();
  let warned = false, prepared = false;

  async function write(line: string): Promise<void> {
    try {
      if (!prepared) makeDirectory(path.dirname(file));
      prepared = true;
      if ((sizeOf(file) ?? 0) + Buffer.byteLength(line) > maxBytes) await rotate(file, keep, maxBytes);
      await appendText(file, line);
      warned = false;
    } catch (error) {
      prepared = false;
      if (warned) return;
      warned = true;
      log({ level: 'warning', event: 'audit', message: `Calls are not being recorded, and go on: ${error instanceof Error ? error.message : String(error)}`, fields: { file } });
    }
  }

  return {
    recorder: ({ session, agent }) => (record) => {
      const line = `${JSON.stringify(masked({ time: new Date(clock()).toISOString(), session, agent, ...shown(record) }, redact))}\n`;
      queue = queue.then(() => write(line));
    },
    close: () => queue,
  };
}

/** `file` becomes `file.1`, `file.1` becomes `file.2`; the oldest goes. Another process may have done it while we waited. */
async function rotate(file: string, keep: number, maxBytes: number): Promise<void> {
  await withLock(`${file}.lock`, () => {
    const size = sizeOf(file) ?? 0;
    if (size === 0 || size < maxBytes / 2) return;
    if (keep === 0) { remove(file); return; }
    remove(`${file}.${keep}`);
    for (let number = keep - 1; number >= 1; number -= 1) if (exists(`${file}.${number}`)) rename(`${file}.${number}`, `${file}.${number + 1}`);
    rename(file, `${file}.1`);
  }, { waitMs: limits.killTermMs });
}

function shown({ decision, argumentNames, elapsedMs, ...record }: AuditRecord): Record<string, unknown> {
  const names = argumentNames.slice(0, limits.auditNames).map((name) => shorten(name, limits.excerptBytes));
  return {
    ...record, argumentNames: names, ...(argumentNames.length > names.length ? { moreArguments: argumentNames.length - names.length } : {}), elapsedMs: Math.round(elapsedMs),
    ...(decision === undefined ? {} : { effect: decision.effect, why: decision.why }),
    ...(decision?.rule === undefined ? {} : { rule: ruleText(decision.rule), ruleFile: decision.rule.origin.file, ...(decision.rule.origin.line === undefined ? {} : { ruleLine: decision.rule.origin.line }) }),
  };
}

/** Each text by itself, so that the line stays JSON whatever is masked. */
function masked(fields: Readonly<Record<string, unknown>>, redact: Redact): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : Array.isArray(value) ? value.map((item) => redact(String(item))) : value]));
}
