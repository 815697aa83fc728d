import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import type { LogEntry } from '../../src/base/log.ts';
import { createRedactor, redactPatterns } from '../../src/base/redact.ts';
import { createAudit } from '../../src/host/audit.ts';
import type { AuditRecord } from '../../src/registry/gate.ts';
import { tempDir } from '../support/process.ts';

const origin = { file: 'audit', layer: 'built-in' };
const record: AuditRecord = {
  id: 'docs_search', server: 'docs', tool: 'search', fingerprint: 'f'.repeat(64), argumentNames: ['query'], outcome: 'ok', elapsedMs: 12.6, answer: 'once',
  decision: { effect: 'ask', why: 'The rule "docs_*": "ask" of zuno.json:4 asks before "docs_search"', rule: { key: 'docs_*', pattern: '*', effect: 'ask', origin: { file: 'zuno.json', layer: 'global', line: 4 } } },
};
const linesOf = (file: string): Record<string, unknown>[] => readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);

test('createAudit() appends one line a call with time, session, agent, decision and rule, and no argument values', async (t) => {
  const file = path.join(tempDir(t), 'audit', 'calls.jsonl');
  const audit = createAudit({ file, maxBytes: 1e6, keep: 2, origin }, { redact: redactPatterns, log: () => {}, clock: () => 0 });
  const note = audit.recorder({ session: 's1', agent: 'build' });
  note(record);
  note({ id: 'docs_write', server: 'docs', tool: 'write', fingerprint: 'e', argumentNames: [], outcome: 'blocked', code: 'TOOL_UNKNOWN', elapsedMs: 0 });
  await audit.close();
  const [first, second] = linesOf(file);
  assert.deepEqual(first, {
    time: '1970-01-01T00:00:00.000Z', session: 's1', agent: 'build', id: 'docs_search', server: 'docs', tool: 'search', fingerprint: 'f'.repeat(64), argumentNames: ['query'], outcome: 'ok', answer: 'once',
    elapsedMs: 13, effect: 'ask', why: record.decision!.why, rule: '"docs_*": "ask"', ruleFile: 'zuno.json', ruleLine: 4,
  });
  assert.equal(second!['code'], 'TOOL_UNKNOWN');
  assert.equal('effect' in second!, false);
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('createAudit() masks secrets wherever they stand and bounds the names that a model chose', async (t) => {
  const file = path.join(tempDir(t), 'calls.jsonl'), { redact } = createRedactor(['hunter2secret']);
  const audit = createAudit({ file, maxBytes: 1e6, keep: 1, origin }, { redact, log: () => {} });
  audit.recorder({ session: 's1', agent: 'build' })({ ...record, argumentNames: ['hunter2secret', 'n'.repeat(10_000), ...Array.from({ length: limits.auditNames }, (_, n) => `a${n}`)], decision: { effect: 'allow', why: 'said hunter2secret' } });
  await audit.close();
  const text = readFileSync(file, 'utf8'), [line] = linesOf(file);
  assert.equal(text.includes('hunter2secret'), false);
  assert.equal((line!['argumentNames'] as string[]).length, limits.auditNames);
  assert.equal(line!['moreArguments'], 2);
  assert.ok(text.length < 2 * limits.auditNames * limits.excerptBytes);
});

test('createAudit() rotates by size, keeps so many full files and loses no line that it keeps', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'calls.jsonl');
  const audit = createAudit({ file, maxBytes: 2_000, keep: 2, origin }, { redact: redactPatterns, log: () => {} });
  const note = audit.recorder({ session: 's1', agent: 'build' });
  for (let n = 0; n < 20; n++) note({ ...record, tool: `tool${n}` });
  await audit.close();
  assert.deepEqual(readdirSync(directory).sort(), ['calls.jsonl', 'calls.jsonl.1', 'calls.jsonl.2']);
  const kept = ['calls.jsonl.2', 'calls.jsonl.1', 'calls.jsonl'].flatMap((name) => linesOf(path.join(directory, name))).map(({ tool }) => tool);
  assert.deepEqual(kept, Array.from({ length: kept.length }, (_, n) => `tool${20 - kept.length + n}`));
  for (const name of readdirSync(directory)) assert.ok(statSync(path.join(directory, name)).size <= 2_000);
});

test('createAudit() with keep 0 starts anew when the file is full', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'calls.jsonl');
  const audit = createAudit({ file, maxBytes: 900, keep: 0, origin }, { redact: redactPatterns, log: () => {} });
  const note = audit.recorder({ session: 's1', agent: 'build' });
  for (let n = 0; n < 6; n++) note(record);
  await audit.close();
  assert.deepEqual(readdirSync(directory), ['calls.jsonl']);
});

test('two audits of one file rotate it without losing each other\'s lines', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'calls.jsonl');
  const make = (): ReturnType<typeof createAudit> => createAudit({ file, maxBytes: 4_000, keep: 50, origin }, { redact: redactPatterns, log: () => {} });
  const both = [make(), make()];
  for (const [index, audit] of both.entries()) for (let n = 0; n < 30; n++) audit.recorder({ session: `s${index}`, agent: 'build' })(record);
  await Promise.all(both.map((audit) => audit.close()));
  const lines = readdirSync(directory).filter((name) => !name.endsWith('.lock')).flatMap((name) => linesOf(path.join(directory, name)));
  assert.equal(lines.length, 60);
});

test('createAudit() warns once when the disk fails, goes on, and warns again after it had recovered', async (t) => {
  const directory = path.join(tempDir(t), 'audit'), file = path.join(directory, 'calls.jsonl'), logged: LogEntry[] = [];
  mkdirSync(file, { recursive: true });
  const audit = createAudit({ file, maxBytes: 1e6, keep: 1, origin }, { redact: redactPatterns, log: (entry) => logged.push(entry) });
  const note = audit.recorder({ session: 's1', agent: 'build' });
  note(record); note(record);
  await audit.close();
  assert.equal(logged.length, 1);
  assert.match(logged[0]!.message, /not being recorded, and go on/);
  rmSync(file, { recursive: true });
  note(record);
  await audit.close();
  assert.equal(linesOf(file).length, 1);
  rmSync(directory, { recursive: true });
  writeFileSync(directory, 'in the way');
  note(record);
  await audit.close();
  assert.equal(logged.length, 2);
  chmodSync(directory, 0o600);
  assert.equal(existsSync(file), false);
});
