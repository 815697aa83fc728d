import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { isFailure } from '../../../src/base/failure.ts';
import { emptyConfig } from '../../../src/config/defaults.ts';
import { createAdmission } from '../../../src/host/admission.ts';
import { createWitness } from '../../../src/host/attempts.ts';
import { LOCK_FILE, lockFileOf, readLockFile, writeLockFile } from '../../../src/host/lock-file.ts';
import type { Attempt } from '../../../src/host/types.ts';
import { buildCatalogue } from '../../../src/registry/catalog.ts';
import { createLock } from '../../../src/registry/pins.ts';

function directory(t: TestContext): string {
  const made = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-lite-lock-')));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
const origin = { file: 'zuno.json', layer: 'global' };
const [entry] = buildCatalogue([{ server: 'docs', origin, listing: { items: [{ name: 'search', inputSchema: { type: 'object' } }], dropped: [] } }]).entries;

test('lockFileOf() is the nearest one upward to the Git root, else one there; outside Git only the directory itself counts', (t) => {
  const root = directory(t), inner = path.join(root, 'a', 'b');
  mkdirSync(inner, { recursive: true });
  writeFileSync(path.join(root, LOCK_FILE), '{}');
  assert.equal(lockFileOf(inner), path.join(inner, LOCK_FILE));
  mkdirSync(path.join(root, 'a', '.git'));
  assert.equal(lockFileOf(inner), path.join(root, 'a', LOCK_FILE));
  writeFileSync(path.join(inner, LOCK_FILE), '{}');
  assert.equal(lockFileOf(inner), path.join(inner, LOCK_FILE));
});

test('writeLockFile() makes what readLockFile() reads, for everybody to see', async (t) => {
  const file = path.join(directory(t), 'x', LOCK_FILE);
  assert.equal(readLockFile(file), undefined);
  await writeLockFile(file, createLock(new Map([['docs', [entry!]]])));
  assert.equal(readLockFile(file)?.servers.get('docs')?.get('search')?.fingerprint, entry!.fingerprint);
  assert.ok(existsSync(file));
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o644);
});

test('createAdmission() asks the agent first, then the lock; without either nothing is kept out', async (t) => {
  const workspace = directory(t), config = { ...emptyConfig, workspace };
  assert.equal(createAdmission(config, {}).refusal(entry!), undefined);
  const agent = createAdmission(config, { agent: 'plan' });
  assert.deepEqual([agent.agent?.name, agent.refusal(entry!)?.gate, agent.refusal(entry!)?.failure.code], ['plan', 'agent', 'PERMISSION_DENIED']);
  assert.throws(() => createAdmission(config, { locked: true }), (error) => isFailure(error) && error.code === 'CONFIG_INVALID');
  assert.throws(() => createAdmission({ ...config, lock: 'enforce' }, {}), (error) => isFailure(error) && error.hint === 'zuno-lite mcp lock');
  await writeLockFile(path.join(workspace, LOCK_FILE), createLock(new Map([['docs', []]])));
  const locked = createAdmission({ ...config, lock: 'enforce' }, {});
  assert.deepEqual([locked.refusal(entry!)?.gate, locked.refusal(entry!)?.why], ['lock', '"docs_search" is not in zuno.lock.json']);
  assert.equal(createAdmission({ ...config, lock: 'enforce' }, { locked: false }).refusal(entry!), undefined);
});

test('createWitness() knows the stage under way and the process of each try', () => {
  const seen: Attempt[] = [];
  const witness = createWitness((attempt) => seen.push(attempt));
  witness.running('spawn');
  const child = { command: 'node', args: [], cwd: '/', pid: 7, stderrTail: () => 'said' };
  witness.begin('stdio', { process: () => child });
  const running = (): string | undefined => seen[0]!.running?.stage;
  assert.equal(running(), undefined);
  witness.running('handshake');
  assert.deepEqual([running(), seen[0]!.process?.()?.pid], ['handshake', 7]);
  witness.stage('handshake', 3);
  assert.deepEqual([running(), seen[0]!.timings], [undefined, [{ stage: 'handshake', ms: 3 }]]);
  witness.end();
  witness.running('list');
  assert.equal(running(), undefined);
});
