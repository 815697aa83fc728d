import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as path from 'node:path';
import { openRecorder, tapTransport } from '../../src/gateway/record.ts';
import { fixture, home } from '../support/hosts.ts';
test('HostOptions.tap', async (t) => {
  const house = home(t, { permission: { mode: 'allow_all' }, mcp: { docs: { ...fixture('--tools=environment'), environment: { KEY: '{env:MY_KEY}' } } } }, { MY_KEY: 'unguessable-key' });
  const to = await openRecorder({ file: path.join(house.directory, 't.jsonl'), redact: (x) => x, log() {} });
  const host = house.host({ tap: (_server, transport, redact) => { to.know(redact); return tapTransport(transport, to, 'upstream'); } });
  const outcome = await host.call(await host.findTool('docs.environment'), {});
  assert.equal(outcome.kind, 'ok');
  await host.close(); await to.close();
  const text = readFileSync(to.file, 'utf8');
  assert.match(text, /tools\/call/); assert.equal(text.includes('unguessable-key'), false);
});
