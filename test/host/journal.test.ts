import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limits } from '../../src/base/limits.ts';
import { silentLog, type LogEntry } from '../../src/base/log.ts';
import { readJournal, remember, type CallMark } from '../../src/host/journal-records.ts';
import { openJournal } from '../../src/host/journal.ts';
import { refusal } from '../support/http-fixture.ts';
import { tempDir, waitFor } from '../support/process.ts';

const header = { session: 's1', workspace: '/work/räume', agent: 'build' };

/** What a session leaves: every kind of record, letters of several bytes among them. */
async function sample(file: string): Promise<Buffer> {
  const journal = await openJournal(file, header, silentLog);
  journal.append({ kind: 'step', number: 1, revision: 1, tools: [['docs_search', 'aa'], ['docs_read', 'bb']] });
  journal.append({ kind: 'exposed', revision: 2, ids: ['wiki_find', 'wiki_get'] });
  journal.append({ kind: 'call', callId: 'c-ä1', id: 'docs_search', schemaId: 'aa', outcome: 'ok' });
  journal.append({ kind: 'step', number: 2, revision: 2, tools: [['docs_search', 'aa'], ['wiki_find', 'cc']] });
  journal.append({ kind: 'step', number: 3, revision: 2 });
  journal.append({ kind: 'call', callId: 'c2', id: 'wiki_find', schemaId: 'cc', outcome: 'unknown' });
  await journal.close();
  return readFileSync(file);
}

test('openJournal() keeps what was shown and called, in a file of mode 0600, and the session keeps its id', async (t) => {
  const file = path.join(tempDir(t), 'deep', 'journal.jsonl');
  const bytes = await sample(file);
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(bytes.toString().split('\n')[0]!).version, 1);
  const again = await openJournal(file, { ...header, session: 'another' }, silentLog);
  t.after(() => again.close());
  assert.equal(again.session, 's1');
  const { revision, steps, exposed, shown, calls } = again.restored;
  assert.deepEqual({ revision, steps, exposed }, { revision: 2, steps: 3, exposed: ['wiki_find', 'wiki_get'] });
  assert.deepEqual([...shown], [['docs_search', 'aa'], ['wiki_find', 'cc']]);
  assert.deepEqual(calls.get('c-ä1'), { id: 'docs_search', schemaId: 'aa' });
  assert.deepEqual(calls.get('c2'), { id: 'wiki_find', schemaId: 'cc' });
});

test('openJournal() restores a valid state from every beginning of a journal, and what is appended to it can be read', async (t) => {
  const directory = tempDir(t), whole = await sample(path.join(directory, 'whole'));
  const file = path.join(directory, 'cut');
  for (let end = 0; end <= whole.length; end++) {
    writeFileSync(file, whole.subarray(0, end));
    const journal = await openJournal(file, { ...header, session: 's1' }, silentLog);
    const { exposed, revision, steps, shown, calls } = journal.restored;
    assert.ok(exposed.every((id) => ['wiki_find', 'wiki_get'].includes(id)), `cut at ${end}`);
    assert.ok(revision <= 2 && steps <= 3 && shown.size <= 2 && calls.size <= 2, `cut at ${end}`);
    journal.append({ kind: 'exposed', revision: revision + 1, ids: ['late_one'] });
    await journal.close();
    const after = readJournal(readFileSync(file, 'utf8'));
    assert.ok(after !== 'foreign', `cut at ${end}`);
    assert.deepEqual(after.header?.session, 's1', `cut at ${end}`);
    assert.deepEqual(after.exposed, [...exposed, 'late_one'], `cut at ${end}`);
    assert.equal(after.revision, revision + 1);
    assert.deepEqual(after.calls, calls, `cut at ${end}`);
  }
});

test('openJournal() survives a process that is killed while it writes, and takes its lock over', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'journal.jsonl');
  const child = spawn(process.execPath, ['--import', 'tsx', '-e', `
    const { openJournal } = await import('./src/host/journal.ts');
    const journal = await openJournal(${JSON.stringify(file)}, ${JSON.stringify(header)}, () => {});
    const tools = Array.from({ length: 200 }, (_, n) => ['tool_' + n, 'f'.repeat(64)]);
    for (let number = 1; ; number++) {
      journal.append({ kind: 'step', number, revision: number, tools });
      journal.append({ kind: 'exposed', revision: number, ids: ['found_' + number] });
      if (number % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }`, '--input-type=module'], { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await waitFor(() => existsSync(file) && statSync(file).size > 200_000, 'a journal that grows');
  const gone = new Promise((resolve) => { child.on('exit', resolve); });
  child.kill('SIGKILL');
  await gone;
  const journal = await openJournal(file, header, silentLog);
  t.after(() => journal.close());
  const { exposed, revision, steps } = journal.restored;
  assert.ok(steps > 1 && (revision === steps));
  assert.ok(exposed.length >= steps - 1 && exposed.length <= steps);
  assert.deepEqual(exposed, exposed.map((_, index) => `found_${index + 1}`));
});

test('openJournal() skips garbage at the end and in the middle', async (t) => {
  const file = path.join(tempDir(t), 'journal.jsonl');
  await sample(file);
  appendFileSync(file, '\u0000\u0000\u0000{"kind":"step","number":"no"}\n{"kind":"exposed","revision":9,"ids":[7]}\n[]\n{"kind":"call","callId":1}\n{"kind":"else"}\n{"kind":"exposed","revision":3,"ids":["more"]}\n');
  const journal = await openJournal(file, header, silentLog);
  t.after(() => journal.close());
  assert.equal(journal.restored.revision, 3);
  assert.deepEqual(journal.restored.exposed, ['wiki_find', 'wiki_get', 'more']);
});

test('openJournal() refuses a journal of another workspace, agent or version, and a file that is none, and leaves them alone', async (t) => {
  const directory = tempDir(t), file = path.join(directory, 'journal.jsonl');
  const before = await sample(file);
  assert.match((await refusal(openJournal(file, { ...header, workspace: '/elsewhere' }, silentLog), 'USAGE')).message, /workspace \/work\/räume/);
  assert.match((await refusal(openJournal(file, { ...header, agent: 'plan' }, silentLog), 'USAGE')).message, /agent "build", not to "plan"/);
  assert.deepEqual(readFileSync(file), before);
  const newer = path.join(directory, 'newer');
  writeFileSync(newer, '{"kind":"journal","version":2,"shape":"new"}\n');
  assert.match((await refusal(openJournal(newer, header, silentLog), 'USAGE')).message, /version 2/);
  const notes = path.join(directory, 'notes.txt');
  writeFileSync(notes, 'Dear diary\n');
  assert.match((await refusal(openJournal(notes, header, silentLog), 'USAGE')).message, /no journal/);
  assert.equal(readFileSync(notes, 'utf8'), 'Dear diary\n');
  mkdirSync(path.join(directory, 'folder'));
  await refusal(openJournal(path.join(directory, 'folder'), header, silentLog), 'CONFIG_UNREADABLE');
});

test('openJournal() lets one session at a time have a journal', async (t) => {
  const file = path.join(tempDir(t), 'journal.jsonl');
  const first = await openJournal(file, header, silentLog);
  const failure = await refusal(openJournal(file, header, silentLog), 'TIMEOUT');
  assert.match(failure.message, /another session has it open/);
  assert.equal(failure.recovery, 'retryable');
  await Promise.all([first.close(), first.close()]);
  const second = await openJournal(file, header, silentLog);
  await second.close();
  second.append({ kind: 'step', number: 1, revision: 1 });
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 2, 'a closed journal takes nothing');
});

test('append() goes on when the disk does not, and says so once', async (t) => {
  const file = path.join(tempDir(t), 'journal.jsonl'), logged: LogEntry[] = [];
  const journal = await openJournal(file, header, (entry) => logged.push(entry));
  // A directory in its place: root writes into read-only files too.
  const { renameSync } = await import('node:fs');
  renameSync(file, `${file}.away`);
  mkdirSync(file);
  for (const number of [1, 2]) journal.append({ kind: 'step', number, revision: 1 });
  await journal.close();
  assert.equal(logged.length, 1);
  assert.match(logged[0]!.message, /journal is not being kept, and the session goes on/);
});

test('remember() forgets the oldest calls beyond limits.journalCalls', () => {
  const calls = new Map<string, CallMark>();
  for (let n = 0; n <= limits.journalCalls; n++) remember(calls, `c${n}`, { id: 'a', schemaId: 's' });
  assert.equal(calls.size, limits.journalCalls);
  assert.equal(calls.has('c0'), false);
  assert.equal(calls.has('c1'), true);
});
