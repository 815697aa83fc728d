import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childEnvironment, variableName } from '../../src/transports/child-environment.ts';

const base = { entryEnvironment: {}, platform: 'linux' as NodeJS.Platform, execPath: '/opt/node/bin/node', isFile: () => true };

test('childEnvironment() leaves out what is the host\'s own, whatever its case, and keeps the rest (row 92)', () => {
  const environment = childEnvironment({ ...base, environment: {
    PATH: '/usr/bin', HOME: '/home/a', HTTPS_PROXY: 'http://proxy', no_proxy: 'x', NODE_EXTRA_CA_CERTS: '/ca.pem', SSL_CERT_FILE: '/ca.pem', ZUNO_CONFIG: '/kept', UNSET: undefined,
    ZUNO_AUTH_CONTENT: 's', ZUNO_SERVER_PASSWORD: 's', ZUNO_SERVER_USERNAME: 's', ZUNO_CONFIG_CONTENT: 's', Zuno_Permission: 's', OTEL_EXPORTER_OTLP_HEADERS: 's', otel_service_name: 's',
    NODE_ENV: 's', node_options: 's', NODE_NO_WARNINGS: 's', NODE_V8_COVERAGE: 's', NODE_CHANNEL_FD: '3', ELECTRON_RUN_AS_NODE: '1',
  } });
  assert.deepEqual(environment, { PATH: '/usr/bin', HOME: '/home/a', HTTPS_PROXY: 'http://proxy', no_proxy: 'x', NODE_EXTRA_CA_CERTS: '/ca.pem', SSL_CERT_FILE: '/ca.pem', ZUNO_CONFIG: '/kept' });
});

test('childEnvironment() lets the entry win, also with what was left out (row 92)', () => {
  const environment = childEnvironment({ ...base, environment: { PATH: '/usr/bin', NODE_ENV: 'production', A: '1' }, entryEnvironment: { NODE_ENV: 'test', A: '2', B: '' } });
  assert.deepEqual(environment, { PATH: '/usr/bin', A: '2', NODE_ENV: 'test', B: '' });
});

test('childEnvironment() appends the directory of the running node only where PATH has none', () => {
  const without = childEnvironment({ ...base, environment: { PATH: '/usr/bin::/bin' }, isFile: () => false });
  assert.equal(without['PATH'], '/usr/bin:/bin:/opt/node/bin');
  const asked: string[] = [];
  const withNode = childEnvironment({ ...base, environment: { PATH: '/usr/bin:/bin' }, isFile: (file) => { asked.push(file); return file === '/bin/node'; } });
  assert.equal(withNode['PATH'], '/usr/bin:/bin');
  assert.deepEqual(asked, ['/usr/bin/node', '/bin/node']);
  assert.equal(childEnvironment({ ...base, environment: {}, isFile: () => false })['PATH'], '/opt/node/bin');
});

test('childEnvironment() leaves PATH alone when the host runs on something else than node', () => {
  assert.deepEqual(childEnvironment({ ...base, environment: { PATH: '/usr/bin' }, execPath: '/opt/electron', isFile: () => false }), { PATH: '/usr/bin' });
});

test('childEnvironment() treats names as Windows does there', () => {
  const environment = childEnvironment({ platform: 'win32', execPath: 'C:\\node\\node.exe', isFile: () => false, environment: { Path: 'C:\\Windows', Temp: 'a' }, entryEnvironment: { TEMP: 'b' } });
  assert.deepEqual(environment, { Path: 'C:\\Windows;C:\\node', TEMP: 'b' });
  const added = childEnvironment({ platform: 'win32', execPath: 'C:\\node\\node.exe', isFile: () => false, environment: {}, entryEnvironment: {} });
  assert.deepEqual(added, { PATH: 'C:\\node' });
});

test('variableName() finds a name whatever its case', () => {
  assert.equal(variableName({ Path: 'x' }, 'PATH'), 'Path');
  assert.equal(variableName({ Path: 'x', PATH: 'y' }, 'PATH'), 'PATH');
  assert.equal(variableName({}, 'PATH'), undefined);
});
