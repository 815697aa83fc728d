import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { sandbox } from './support.ts';

const URL = 'https://docs.test/mcp';

test('mcp add writes certificate files by their full names, and mcp get shows where they are', async (t) => {
  const { run, read, workspace } = sandbox(t);
  const added = await run(['mcp', 'add', 'docs', '--url', URL, '--ca-file', 'ca.pem', '--cert-file', '~/me.pem', '--key-file', '{env:KEYS}/me.key']);
  assert.equal(added.status, 0, added.stderr);
  assert.deepEqual(read().mcp.docs, { type: 'remote', url: URL, caFile: path.join(workspace, 'ca.pem'), certFile: '~/me.pem', keyFile: '{env:KEYS}/me.key' });
  const got = await run(['mcp', 'get', 'docs', '--json'], { env: { KEYS: '/srv/keys' } });
  assert.equal(got.json().server?.caFile ?? got.json().caFile, path.join(workspace, 'ca.pem'));
});

test('mcp add refuses half of a pair, certificates for commands, in project files, and beside a snippet', async (t) => {
  const { run } = sandbox(t);
  for (const [args, message] of [
    [['--url', URL, '--cert-file', 'me.pem'], /--cert-file without --key-file/], [['--url', URL, '--key-file', 'me.key'], /--key-file without --cert-file/],
    [['--ca-file', 'ca.pem', '--', 'node'], /--ca-file for a server that is started by a command/], [['--url', URL, '--ca-file', 'ca.pem', '--project'], /a project file may not choose certificates/],
    [['--ca-file', 'ca.pem', '--from-json', `{"url":"${URL}"}`], /--from-json together with --ca-file/],
  ] as const) {
    const { status, stderr } = await run(['mcp', 'add', 'docs', ...args]);
    assert.equal(status, 2);
    assert.match(stderr, message);
  }
});
