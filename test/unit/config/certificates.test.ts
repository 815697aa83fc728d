import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Config, RemoteEntry } from '../../../src/config/types.ts';
import { connectionIdentity } from '../../../src/host/identity.ts';
import { GLOBAL, PROJECT, sandbox } from './sandbox.ts';

const remote = { type: 'remote', url: 'https://docs.test/mcp' };
const files = { caFile: 'ca.pem', certFile: 'me.pem', keyFile: 'me.key' };
const docs = (config: Config): RemoteEntry => config.servers.get('docs') as RemoteEntry;
const placed = ({ caFile, certFile, keyFile }: RemoteEntry): (string | undefined)[] => [caFile?.value, certFile?.value, keyFile?.value];
const said = (config: Config): string[] => config.diagnostics.map(({ message }) => message);

test('certificate files resolve from the file that names them, with ~ and variables, and know their place', (context) => {
  const box = sandbox(context);
  const file = box.write(GLOBAL, { mcp: { docs: { ...remote, caFile: '../ca.pem', certFile: '~/me.pem', keyFile: '{env:KEYS}/me.key' } } });
  const entry = docs(box.load({ environment: { KEYS: '/srv/keys' } }));
  assert.deepEqual(placed(entry), [path.join(path.dirname(file), '..', 'ca.pem'), path.join(box.home, 'me.pem'), path.resolve('/srv/keys', 'me.key')]);
  assert.deepEqual([entry.caFile?.origin.key, entry.caFile?.origin.line], ['mcp.docs.caFile', 6]);
});

test('an unset variable in a certificate file costs the entry, and so does half of a pair or a wrong type', (context) => {
  const box = sandbox(context);
  for (const [fields, message] of [
    [{ caFile: '{env:NOWHERE}/ca.pem' }, /NOWHERE is not set/], [{ certFile: 'me.pem' }, /"certFile" and "keyFile" belong together/], [{ keyFile: 'me.key' }, /belong together/],
    [{ caFile: 7 }, /text is due/], [{ caFile: '' }, /it is empty/],
  ] as const) {
    box.write(GLOBAL, { mcp: { docs: { ...remote, ...fields } } });
    const config = box.load();
    assert.equal(config.servers.size, 0);
    assert.match(said(config).join('\n'), message);
  }
});

test('certificates do not belong to a local server', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { fs: { type: 'local', command: ['node'], caFile: 'ca.pem' } } });
  assert.match(said(box.load()).join('\n'), /"caFile" does not belong to a local server/);
});

test('a project file cannot choose certificates: they are left out with a warning, those of trusted layers stay', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { docs: { ...remote, caFile: '/etc/ca.pem' } } });
  box.write(PROJECT, { mcp: { docs: { ...remote, ...files } } });
  const config = box.load();
  assert.deepEqual(placed(docs(config)), [path.resolve('/etc/ca.pem'), undefined, undefined]);
  assert.deepEqual(said(config), ['caFile', 'certFile', 'keyFile'].map((key) => `Cannot use all of the server "docs": "${key}": a project file cannot choose certificates; it is left out`));
  box.write(PROJECT, { mcp: { docs: { ...remote, caFile: null } } });
  assert.deepEqual(placed(docs(box.load()))[0], path.resolve('/etc/ca.pem'));
});

test('an admitted project file may choose them for its own server', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { trust: { project_host_commands: [box.checkout] } });
  box.write(PROJECT, { mcp: { docs: { ...remote, ...files } } });
  assert.deepEqual(placed(docs(box.load())), ['ca.pem', 'me.pem', 'me.key'].map((name) => path.join(box.checkout, name)));
});

test('a URL that a project chose gets no certificate of a trusted layer', (context) => {
  const box = sandbox(context);
  box.write(GLOBAL, { mcp: { docs: { ...remote, caFile: '/etc/ca.pem', certFile: '/etc/me.pem', keyFile: '/etc/me.key' } } });
  box.write(PROJECT, { mcp: { docs: { type: 'remote', url: 'https://evil.test/mcp' } } });
  const config = box.load();
  assert.deepEqual(placed(docs(config)), [undefined, undefined, undefined]);
  assert.match(said(config).join('\n'), /the certificates of trusted layers are left out/);
});

test('connectionIdentity() changes with the certificate files, and only with them', (context) => {
  const box = sandbox(context);
  const identityWith = (fields: object): string => { box.write(GLOBAL, { mcp: { docs: { ...remote, ...fields } } }); return connectionIdentity(docs(box.load()), box.checkout); };
  const identities = [{}, { caFile: '/a' }, { caFile: '/b' }, { certFile: '/a', keyFile: '/b' }].map(identityWith);
  assert.equal(new Set(identities).size, 4);
  assert.equal(identityWith({}), identities[0]);
});
