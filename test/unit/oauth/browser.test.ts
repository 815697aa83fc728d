import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { openBrowser, openerFor } from '../../../src/oauth/browser.ts';
import { tempDir, waitFor } from '../../support/process.ts';

test('openerFor() opens only where somebody would see it', () => {
  const opener = (platform: NodeJS.Platform, environment: Record<string, string>): string => { const found = openerFor({ platform, environment }); return 'why' in found ? found.why : found.join(' '); };
  assert.equal(opener('darwin', {}), '/usr/bin/open');
  assert.equal(opener('win32', { SystemRoot: 'D:\\Win' }), 'D:\\Win\\System32\\rundll32.exe url.dll,FileProtocolHandler');
  assert.match(opener('win32', {}), /^C:\\Windows/);
  assert.equal(opener('linux', { DISPLAY: ':0' }), 'xdg-open');
  assert.equal(opener('linux', { WAYLAND_DISPLAY: 'w' }), 'xdg-open');
  assert.match(opener('linux', { WSL_DISTRO_NAME: 'Debian' }), /rundll32/);
  assert.match(opener('linux', {}), /no display/);
  for (const environment of [{ SSH_CONNECTION: 'x' }, { SSH_TTY: 'x' }] as Record<string, string>[]) assert.match(opener('darwin', environment), /SSH/);
  assert.match(opener('darwin', { CI: 'true' }), /build machine/);
  assert.equal(opener('darwin', { CI: 'false' }), '/usr/bin/open');
  assert.match(opener('darwin', { BROWSER: 'none' }), /BROWSER/);
});

test('openBrowser() hands over the URL as one argument, with nothing for a shell to read', { skip: process.platform === 'win32' }, async (t) => {
  const directory = tempDir(t);
  const program = path.join(directory, 'opener'), seen = path.join(directory, 'seen');
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}'\n`);
  chmodSync(program, 0o755);
  const url = 'https://as.example/authorize?a=$(calc)&b=`x`;c&d=%20';
  assert.equal(await openBrowser(url, [program, '--first']), undefined);
  await waitFor(() => existsSync(seen), 'the opener');
  assert.deepEqual(readFileSync(seen, 'utf8').split('\n'), ['--first', url, '']);
});

test('openBrowser() refuses what is no web address, and tells what failed', async () => {
  for (const url of ['javascript:alert(1)', 'file:///etc/passwd', '-flag', 'https://as.example/a b', 'http://as.example/']) assert.match((await openBrowser(url, ['/bin/false'])) ?? '', /not one for a browser/);
  assert.match((await openBrowser('https://as.example/', ['/nowhere/opener'])) ?? '', /ENOENT/);
  if (process.platform !== 'win32') assert.match((await openBrowser('https://as.example/', ['false'])) ?? '', /status 1/);
});
