import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isFailure } from '../../../src/base/failure.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { parsePlist, readManagedPreferences } from '../../../src/config/plist.ts';
import { createRandom } from './generate.ts';
import { failureOf, GLOBAL, PROJECT, sandbox } from './sandbox.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/plist/${name}.plist`, import.meta.url));
const bytes = (name: string): Buffer => readFileSync(fixture(name));
const xml = (body: string): Buffer => Buffer.from(`<?xml version="1.0"?>\n<plist version="1.0">${body}</plist>`);

test('readManagedPreferences() reads both forms alike and drops the bookkeeping of the payload', () => {
  const binary = readManagedPreferences(bytes('managed-binary'), 'x');
  assert.deepEqual(binary, readManagedPreferences(bytes('managed-xml'), 'x'));
  assert.deepEqual(Object.keys(binary), ['mcp', 'permission', 'features', 'tools', 'concurrency']);
  assert.deepEqual(Object.keys((binary['permission'] as { rules: object }).rules), ['*', 'wiki_*', 'tool_ü']);
});

test('parsePlist() reads numbers of every size, texts in both encodings, dates as text, and leaves bytes out', () => {
  for (const name of ['values-binary', 'values-xml']) {
    const value = parsePlist(bytes(name), 'x') as Record<string, unknown>;
    assert.deepEqual(value['a'], [1, -5, 2 ** 40, 1.5, true, false, 'x'.repeat(40), 'é', '漢字'.repeat(10), {}, []], name);
    assert.equal((value['big'] as unknown[]).length, 300);
    assert.equal(value['neg'], -(2 ** 33));
    assert.match(String(value['date']), /^2026-01-02T03:04:05/);
    assert.equal('data' in value, false);
  }
});

test('parsePlist() reads what XML allows: comments, entities, empty elements', () => {
  assert.deepEqual(parsePlist(xml('<dict><!-- <key>no</key> --><key>a &amp; &#x62;&#99;</key><string/><key>t</key><true></true><key>l</key><array/><key>d</key><dict/></dict>'), 'x'), { 'a & bc': '', t: true, l: [], d: {} });
});

test('parsePlist() says what is wrong with the file and nothing else fails', () => {
  for (const [content, expected] of [
    [xml('<dict><string>x</string></dict>'), /a <key> is due/], [xml('<dict><key>a</key></dict>'), /a value is due/], [xml('<integer>five</integer>'), /is no number/],
    [xml('<set/>'), /no meaning in a property list/], [xml('<string>&nope;</string>'), /entity &nope; is unknown/], [xml('<string>a<b/></string>'), /not closed/], [xml('<array><true/>'), /<array> is not closed/],
    [Buffer.from('<dict/>'), /<plist> is due/], [Buffer.from('bplist00'), /cut off/], [xml('<string>&#x110000;</string>'), /is no character/], [Buffer.from('<plist & x'), /not understood/],
    [xml('<array>'.repeat(100) + '</array>'.repeat(100)), /too deep/],
  ] as const) {
    const failure = failureOf('CONFIG_UNREADABLE', () => parsePlist(content, '/x.plist'));
    assert.match(failure.message, expected);
    assert.equal(failure.details.file, '/x.plist');
  }
  assert.match(failureOf('CONFIG_UNREADABLE', () => readManagedPreferences(xml('<array/>'), '/x.plist')).message, /a dictionary was expected/);
});

test('parsePlist() throws nothing but a Failure on 4,000 damaged files', () => {
  const random = createRandom(11);
  for (let round = 0; round < 4_000; round++) {
    const damaged = Buffer.from(bytes(random.pick(['managed-binary', 'managed-xml', 'managed-binary'])));
    for (let times = 1 + random.below(4); times > 0; times--) damaged[random.below(damaged.length)] = random.below(256);
    const cut = random.below(4) === 0 ? damaged.subarray(0, random.below(damaged.length)) : damaged;
    try {
      parsePlist(cut, 'x');
    } catch (error) {
      assert.ok(isFailure(error) && error.code === 'CONFIG_UNREADABLE', String(error));
    }
  }
});

test('loadConfig() puts managed preferences above everything but ZUNO_PERMISSION, the machine\'s above the person\'s (row 32)', (context) => {
  const box = sandbox(context);
  const directory = path.join(box.root, 'preferences');
  mkdirSync(path.join(directory, 'ada'), { recursive: true });
  const machine = path.join(directory, 'ai.zuno.managed.plist'), person = path.join(directory, 'ada', 'ai.zuno.managed.plist');
  cpSync(fixture('managed-binary'), machine);
  cpSync(fixture('managed-xml'), person);
  const load = (environment: Record<string, string> = {}) => loadConfig({ cwd: box.checkout, environment, paths: { ...box.paths, managedPreferences: [person, machine] } });
  box.write(GLOBAL, { mcp: { wiki: { timeout: 1 }, banned: { type: 'remote', url: 'https://banned.test/' } }, concurrency: { mcp_connections: 9 } });
  box.write('managed/zuno.json', { mcp: { wiki: { timeout: 2 } } });
  box.write(PROJECT, { mcp: { banned: { enabled: true } } });
  const config = load({ ZUNO_PERMISSION: '{"wiki_*":"deny"}' });
  assert.equal(config.servers.get('wiki')?.timeouts.requestMs, 7000);
  assert.deepEqual(config.servers.get('wiki')?.origin, { file: machine, layer: 'managed-preferences', key: 'mcp.wiki' });
  assert.equal(config.servers.get('banned')?.enabled, false);
  assert.deepEqual([config.concurrency.connections, config.permissions.mode], [3, 'strict']);
  assert.equal(config.permissions.rules.find(({ key }) => key === 'wiki_*')?.effect, 'deny');
  assert.deepEqual(config.layers.slice(-3).map(({ kind, state }) => [kind, state]), [['managed-preferences', 'loaded'], ['managed-preferences', 'loaded'], ['env-permission', 'loaded']]);
});

test('parsePlist() bounds how often objects are looked at, however few there are, and ends where one holds itself', () => {
  const list = (items: readonly number[]): Buffer => Buffer.from([0xaf, 0x10, items.length, ...items]);
  const binary = (objects: readonly Buffer[]): Buffer => {
    const offsets: number[] = [];
    let body = Buffer.from('bplist00');
    for (const object of objects) { offsets.push(body.length); body = Buffer.concat([body, object]); }
    const table = Buffer.alloc(offsets.length * 2);
    offsets.forEach((offset, index) => table.writeUInt16BE(offset, index * 2));
    const trailer = Buffer.alloc(32);
    trailer[6] = 2; trailer[7] = 1;
    trailer.writeBigUInt64BE(BigInt(objects.length), 8);
    trailer.writeBigUInt64BE(BigInt(body.length), 24);
    return Buffer.concat([body, table, trailer]);
  };
  const many = (item: number, length = 250): readonly number[] => Array.from({ length }, () => item);
  assert.equal((parsePlist(binary([list(many(1)), Buffer.from([0x09])]), 'x') as unknown[]).length, 250);
  for (const objects of [[list(many(1)), list(many(2)), Buffer.from([0x09])], [list([0])], [list([9])]]) failureOf('CONFIG_UNREADABLE', () => parsePlist(binary(objects), 'x'));
});
