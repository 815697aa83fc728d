import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostEnvironment, launch } from '../../src/transports/process.ts';
import { failureOf } from '../support/peer.ts';
import { definedEnvironment, tempDir } from '../support/process.ts';

const request = { command: 'server', args: [], cwd: process.cwd(), environment: definedEnvironment() };

test('launch() uses the rules of Windows for names there, and says which PATH was searched', async () => {
  const failure = await failureOf(launch({ ...request, environment: { Path: 'C:\\tools' } }, 'm', 'win32'));
  assert.equal(failure.code, 'SPAWN_FAILED');
  assert.match(failure.message, /PATH \(C:\\tools\)/);
  assert.match((await failureOf(launch({ ...request, environment: {} }, 'm', 'win32'))).message, /PATH \(unset\)/);
});

test('launch() keeps what the system said beside its own words', async () => {
  const failure = await failureOf(launch(request, 'm', process.platform));
  assert.ok(failure.code === 'SPAWN_FAILED');
  assert.deepEqual(failure.details, { command: 'server', cwd: process.cwd(), system: 'ENOENT' });
  assert.equal((failure.cause as NodeJS.ErrnoException).code, 'ENOENT');
});

test('launch() takes a directory for no program', { skip: process.platform === 'win32' }, async (t) => {
  const failure = await failureOf(launch({ ...request, command: tempDir(t) }, 'm', process.platform));
  assert.match(failure.message, /may not be executed/);
});

test('hostEnvironment() is the environment of this process', () => {
  assert.equal(hostEnvironment()['PATH'], process.env['PATH']);
});
