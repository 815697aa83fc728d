import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addServer, changeServer, type NewEntry } from '../../../src/config/edit.ts';
import { literalSecrets } from '../../../src/config/literals.ts';
import { maskDeep, maskText, maskUrl } from '../../../src/config/mask.ts';
import { typedValue } from '../../../src/config/set-values.ts';
import type { LocalEntry, RemoteEntry } from '../../../src/config/types.ts';
import { createRandom, type Random } from './generate.ts';
import { failureOf, sandbox } from './sandbox.ts';

test('typedValue() reads each key as what it takes', () => {
  for (const [key, text, value] of [
    ['timeout', '500', 500], ['timeoutMs', '1.5', 1.5], ['enabled', 'off', false], ['disabled', 'YES', true], ['url', '42', '42'], ['command', '["a b"]', ['a b']], ['args', ' x  y ', ['x', 'y']], ['headers.X', '42', '42'], ['headers.X.Y', 'a=b', 'a=b'],
    ['environment', '{"A":"1"}', { A: '1' }], ['oauth', 'false', false], ['oauth', '{"clientId":"x"}', { clientId: 'x' }], ['oauth.dpop', 'on', true], ['oauth.callbackPort', '80', 80], ['oauth.authorizationParams', '{"a":"b"}', { a: 'b' }], ['oauth.scope', 'true', 'true'], ['cwd', 'null', null], ['caFile', './x', './x'],
  ] as const) assert.deepEqual(typedValue(key, text), value, key);
  for (const [key, text] of [['timeout', ''], ['timeout', 'x'], ['enabled', '1'], ['command', ''], ['command', '"x"'], ['headers', '5'], ['oauth', 'x'], ['url.x', 'y'], ['nope', '1'], ['', '1'], ['oauth.callbackPort', 'x']] as const) failureOf('USAGE', () => typedValue(key, text));
});

test('literalSecrets() finds what looks like a secret, whatever the form, and knows references from values', () => {
  const keys = (entry: Record<string, unknown>): string[] => literalSecrets('my docs', entry).map(({ key, strong }) => `${strong ? '' : '?'}${key}`);
  assert.deepEqual(keys({ headers: { Authorization: 'Bearer abcdefgh', 'X-Team': 'core', 'X-Api-Key': 'abcdefgh' }, url: 'https://u:abcdefgh@a.test/' }), ['headers.Authorization', 'headers.X-Api-Key', 'url']);
  assert.deepEqual(keys({ 'headers.Authorization': 'Bearer x', 'environment.DB_PASSWORD': 'abcdefgh', command: ['x', '--token=abcdefgh'], oauth: { clientSecret: 's', clientId: 'x' } }), ['?headers.Authorization', 'environment.DB_PASSWORD', 'command.1', 'oauth.clientSecret']);
  assert.deepEqual(keys({ headers: { Authorization: 'Bearer {env:T}' }, environment: { API_KEY: '{file:~/k}' }, oauth: { clientSecret: '{env:S}' } }), []);
  assert.match(literalSecrets('my docs', { headers: { Authorization: 'Basic abcdefgh' } })[0]!.advice, /"Basic \{env:MY_DOCS_TOKEN\}"/);
});

test('maskText(), maskUrl() and maskDeep() keep references and schemes and nothing else', () => {
  assert.deepEqual(['Bearer abc', 'a {env:X} b', '', '${X}', 'DPoP x{file:~/y}'].map(maskText), ['Bearer ***', '***{env:X}***', '', '${X}', 'DPoP ***{file:~/y}']);
  assert.equal(maskUrl('https://u:p1234@a.test/x?k=v&t={env:T}#f'), 'https://***@a.test/x?k=***&t={env:T}#f');
  assert.deepEqual(maskDeep({ a: ['x', 1, null, { b: true }] }, () => '-'), { a: ['-', 1, null, { b: true }] });
});

const WORDS = ['a', 'b c', 'ä', '{env:X}', 'x/y', '--flag', '', '"q"', '\\', '$HOME', '${X}', '//', '1', 'true'];

function randomEntry(random: Random): NewEntry {
  const word = (): string => random.pick(WORDS.filter((one) => one !== ''));
  const maybe = <T>(make: () => T): T | undefined => (random.below(2) === 0 ? undefined : make());
  const map = (name: string): Record<string, string> => Object.fromEntries(Array.from({ length: random.below(4) }, (_, index) => [`${name}${index}`, random.pick(WORDS)]));
  const common = { enabled: maybe(() => random.below(2) === 0), timeout: maybe(() => 1 + random.below(100_000)), protocol: maybe(() => random.pick(['auto', 'legacy', '2026-07-28'])) };
  if (random.below(2) === 0) return { type: 'local', command: [word(), ...Array.from({ length: random.below(4) }, () => random.pick(WORDS))], cwd: maybe(() => random.pick(['sub', '/abs', '~/x'])), environment: maybe(() => map('V')), ...common };
  return {
    type: 'remote', url: `https://host${random.below(9)}.test/${encodeURIComponent(word())}`, transport: maybe(() => random.pick(['auto', 'http', 'sse'])), headers: maybe(() => map('X-H')),
    oauth: maybe(() => random.pick<false | Record<string, unknown>>([false, { clientId: 'c', scope: ['a', 'b'], callbackPort: 80, strictIssuer: false }])),
    caFile: maybe(() => '/ca.pem'), ...(random.below(2) === 0 ? {} : { certFile: '/c.pem', keyFile: '/k.pem' }), ...common,
  };
}

test('whatever is written, added or changed is read again as it was (row 48)', async (context) => {
  const box = sandbox(context);
  const options = { paths: box.paths, cwd: box.checkout };
  const random = createRandom(99);
  for (let round = 0; round < 60; round++) {
    const entry = randomEntry(random);
    await addServer('x', entry, { ...options, replace: true });
    const config = box.load();
    assert.deepEqual(config.diagnostics, [], JSON.stringify(entry));
    const read = config.servers.get('x')!;
    assert.deepEqual([read.kind, read.enabled, read.timeouts.requestMs, read.protocol], [entry.type, entry.enabled ?? true, entry.timeout ?? 5000, entry.protocol ?? 'auto']);
    const sources = (templates: LocalEntry['environment']): Record<string, string> => Object.fromEntries(Object.entries(templates).map(([key, { source }]) => [key, source]));
    if (entry.type === 'local') {
      const local = read as LocalEntry;
      assert.deepEqual([[local.command, ...local.args].map(({ source }) => source), sources(local.environment)], [entry.command, entry.environment ?? {}]);
    } else {
      const remote = read as RemoteEntry;
      assert.deepEqual([remote.url.source, remote.transport, sources(remote.headers), remote.oauth, remote.caFile?.value, remote.certFile?.value], [entry.url, entry.transport ?? 'auto', entry.headers ?? {}, entry.oauth, entry.caFile, entry.certFile]);
    }
    const changed = random.pick<Record<string, unknown>>([{ timeout: 77 }, { enabled: null }, entry.type === 'local' ? { 'environment.NEW': 'y' } : { 'headers.X-New': 'y' }, { protocol: 'legacy' }]);
    await changeServer('x', changed, options);
    assert.deepEqual(box.load().diagnostics, []);
  }
});
