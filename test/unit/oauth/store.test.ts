import assert from 'node:assert/strict';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { createStore, listRecords, recordId } from '../../../src/oauth/store.ts';
import { recordFrom, registrationAt, withRegistration } from '../../../src/oauth/record.ts';
import { tempDir } from '../../support/process.ts';
import type { LogEntry } from '../../../src/base/log.ts';
import type { CredentialStore } from '../../../src/oauth/store.ts';
import type { Registration, Tokens } from '../../../src/oauth/types.ts';

const tokens: Tokens = { issuer: 'https://as.example', clientId: 'c', tokenEndpoint: 'https://as.example/token', accessToken: 'a', tokenType: 'bearer', scopeRequested: [], scopeGranted: [], obtainedAt: 1 };
const registration: Registration = { clientId: 'c', method: 'none', redirectUri: 'http://127.0.0.1:1/', grantTypes: ['authorization_code'], registeredAt: 1 };
const posix = process.platform !== 'win32';

function open(directory: string | undefined, more: Partial<{ name: string; serverUrl: string }> = {}): { readonly store: CredentialStore; readonly logs: LogEntry[]; readonly file: string } {
  const logs: LogEntry[] = [];
  const options = { name: 'docs', serverUrl: 'https://rs.example/mcp', ...more };
  return { logs, store: createStore({ directory, log: (entry) => logs.push(entry), ...options }), file: path.join(directory ?? '/', 'credentials', `${recordId(options.name, options.serverUrl)}.json`) };
}
const save = (store: CredentialStore, changed: Partial<Tokens> = {}): Promise<unknown> => store.locked((inside) => inside.write({ ...(inside.read() ?? store.empty), tokens: { ...tokens, ...changed } }));

test('createStore() keeps a record per name and URL, and changes its generation with each write', async (t) => {
  const directory = path.join(tempDir(t), 'auth');
  const { store, file } = open(directory);
  assert.equal(store.read(), undefined);
  assert.ok(!existsSync(directory), 'looking makes nothing');
  await save(store);
  const first = store.read()!;
  await save(store);
  assert.notEqual(store.read()!.generation, first.generation);
  assert.deepEqual(store.read()!.tokens, tokens);
  assert.equal(open(directory, { serverUrl: 'https://rs.example/mcp#fragment' }).store.read()?.name, 'docs');
  for (const other of [{ name: 'other' }, { serverUrl: 'https://rs.example/mcp2' }]) assert.equal(open(directory, other).store.read(), undefined);
  assert.ok(existsSync(file));
  assert.deepEqual(listRecords(directory).map(({ name }) => name), ['docs']);
  await store.locked(async (inside) => { inside.clear(); });
  assert.equal(store.read(), undefined);
});

test('createStore() closes directory and files to others, whatever umask and mode say', { skip: !posix }, async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const directory = path.join(tempDir(t), 'auth');
  mkdirSync(path.join(directory, 'credentials'), { recursive: true, mode: 0o777 });
  const { store, file, logs } = open(directory);
  writeFileSync(file, '{}', { mode: 0o644 });
  await save(store);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(logs.some(({ message }) => message.includes('Closed')));
  chmodSync(file, 0o644);
  assert.ok(store.read());
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('createStore() keeps to memory where the place is a link or cannot be written', { skip: !posix }, async (t) => {
  const home = tempDir(t);
  mkdirSync(path.join(home, 'real'));
  symlinkSync(path.join(home, 'real'), path.join(home, 'link'));
  writeFileSync(path.join(home, 'file'), '');
  for (const place of ['link', 'file/below']) {
    const { store, logs } = open(path.join(home, place));
    await save(store);
    assert.equal(store.read()!.tokens?.accessToken, 'a');
    assert.equal((await store.leading(async () => 1))?.value, 1);
    await store.publish({ url: 'x', startedAt: 1, expiresAt: Date.now() + 1000, pid: 1 });
    assert.equal(store.pending()?.url, 'x');
    assert.ok(logs.some(({ level, message }) => level === 'warning' && message.includes('this run only')));
  }
  assert.deepEqual(readdirSync(path.join(home, 'real')), []);
});

test('createStore() follows no link to a record and leaves its target alone', { skip: !posix }, async (t) => {
  const directory = tempDir(t);
  const { store, file } = open(directory);
  await save(store);
  const elsewhere = path.join(directory, 'elsewhere');
  writeFileSync(elsewhere, readFileSync(file));
  await store.locked(async (inside) => { inside.clear(); });
  symlinkSync(elsewhere, file);
  assert.throws(() => store.read(), /not a regular file/);
  assert.ok(lstatSync(file).isSymbolicLink());
});

test('createStore() sets unreadable records aside, and leaves those of newer versions', async (t) => {
  const directory = tempDir(t);
  const { store, file, logs } = open(directory);
  await save(store);
  const whole = readFileSync(file, 'utf8');
  for (const text of [whole.slice(0, 40), '[]', '{"version":1}', whole.replace('"tokens":{', '"tokens":{"expiresAt":"soon",')]) {
    writeFileSync(file, text, { mode: 0o600 });
    assert.equal(store.read(), undefined);
    assert.ok(!existsSync(file));
  }
  assert.ok(readdirSync(path.join(directory, 'quarantine')).length >= 1);
  assert.equal(logs.filter(({ message }) => message.includes('set aside')).length, 4);
  const newer = whole.replace('"version":1', '"version":2');
  writeFileSync(file, newer, { mode: 0o600 });
  assert.equal(store.read(), undefined);
  await save(store);
  assert.equal(readFileSync(file, 'utf8'), newer);
  assert.equal(store.read()!.tokens?.accessToken, 'a');
  assert.deepEqual(listRecords(directory), []);
});

test('createStore() lets one lead and tells the others', async (t) => {
  const directory = tempDir(t);
  const first = open(directory).store, second = open(directory).store;
  let inner: unknown = 'not asked';
  assert.equal((await first.leading(async () => { inner = await second.leading(async () => 2); return 1; }))?.value, 1);
  assert.equal(inner, undefined);
  await assert.rejects(first.leading(async () => { throw new RangeError('mine'); }), RangeError);
  assert.equal((await second.leading(async () => 2))?.value, 2);
  await first.publish({ url: 'https://as.example/authorize', redirectUri: 'http://127.0.0.1:1/', startedAt: 1, expiresAt: Date.now() + 1000, pid: 1 });
  assert.equal(second.pending()?.redirectUri, 'http://127.0.0.1:1/');
  await first.publish({ url: 'https://as.example/authorize', startedAt: 1, expiresAt: Date.now() - 1, pid: 1 });
  assert.equal(second.pending(), undefined, 'over');
  await first.publish(undefined);
  assert.equal(second.pending(), undefined);
});

test('createStore() without a directory holds one at a time, failures included', async () => {
  const { store } = open(undefined);
  const order: number[] = [];
  await Promise.allSettled([
    store.locked(async () => { await new Promise((resolve) => setImmediate(resolve)); order.push(1); throw new Error('x'); }),
    store.locked(async () => { order.push(2); }),
  ]);
  assert.deepEqual(order, [1, 2]);
  await save(store);
  assert.ok(store.read());
  await store.locked(async (inside) => { inside.clear(); });
  assert.equal(store.read(), undefined);
});

test('records: issuers are plain keys, whatever they are called', () => {
  const { store } = open(undefined);
  const record = withRegistration(store.empty, '__proto__', registration);
  assert.equal(registrationAt(record, '__proto__')?.clientId, 'c');
  assert.equal(registrationAt(record, 'constructor'), undefined);
  assert.equal(registrationAt(undefined, 'x'), undefined);
  const read = recordFrom(JSON.parse(JSON.stringify({ ...record, generation: 'g', updatedAt: 1, tokens: null })));
  assert.equal(registrationAt(read, '__proto__')?.clientId, 'c');
  assert.deepEqual(withRegistration(record, '__proto__', undefined).registrations, {});
  assert.equal(recordFrom({ ...record, registrations: { x: { ...registration, method: 'magic' } } }), undefined);
  assert.equal(recordFrom({ ...record, name: 'other' }, 'docs'), undefined);
});
