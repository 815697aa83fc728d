/** Whatever is run, at the most verbose log level: no secret that a server gave out or was given shows anywhere but in the store. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../support/http-server.ts';
import { addressIn, browse, guarded, landingOf, onAddress, type Guarded } from './signing-in.ts';
import type { Ran } from './support.ts';

const CONFIGURED = 'configured-s3cret-value';
const env = { APP_SECRET: CONFIGURED, WORKLOAD: `${CONFIGURED}.assertion.text` };
const DEBUG = ['--log-level', 'debug'];

interface Scene { readonly box: Guarded; run(...words: string[]): Promise<Ran>; signIn(...words: string[]): Promise<Ran> }

const application = { clientId: 'configured', clientSecret: '{env:APP_SECRET}' };
const scenes: readonly (readonly [name: string, behaviour: Record<string, unknown>, entry: object, play: (scene: Scene) => Promise<unknown>])[] = [
  ['sign in, use, renew, look, sign out', { resourceScopes: ['read'] }, {}, async ({ box, run, signIn }) => {
    await signIn();
    await run('call', 'docs.read');
    box.server.expireAll();
    await run('call', 'docs.read');
    for (const words of [['mcp', 'auth', 'list'], ['mcp', 'list'], ['mcp', 'debug', 'docs'], ['mcp', 'get', 'docs'], ['debug', 'config'], ['doctor']]) { await run(...words); await run(...words, '--json'); }
    await run('mcp', 'logout', 'docs');
    await signIn('--json');
    await run('mcp', 'logout', 'docs', '--client', '--json');
  }],
  ['confidential client, Basic', { methods: ['client_secret_basic'] }, { oauth: { ...application, callbackPort: await freePort() } }, async ({ run, signIn }) => { await signIn(); await run('tools', 'docs'); await run('mcp', 'get', 'docs', '--json'); await run('mcp', 'logout', 'docs'); }],
  ['confidential client, post', { methods: ['client_secret_post'] }, { oauth: { ...application, callbackPort: await freePort() } }, async ({ box, run, signIn }) => { await signIn(); box.server.expireAll(); await run('tools', 'docs'); await run('debug', 'config', '--json'); }],
  ['registered with a secret', { methods: ['client_secret_basic'] }, {}, async ({ run, signIn }) => { await signIn(); await run('tools', 'docs'); await run('mcp', 'logout', 'docs'); }],
  ['an address that is handed over', {}, {}, async ({ box, run }) => {
    let second: Promise<unknown> | undefined;
    await box.run(['mcp', 'auth', 'docs', ...DEBUG], { onStderr: onAddress((address) => { second = landingOf(address).then(async (landing) => { await run('mcp', 'auth', 'docs', '--callback-url', landing.replace(/state=.{5}/, 'state=wrong')); await run('mcp', 'auth', 'docs', '--callback-url', landing); }); }) });
    await second;
  }],
  ['looked at while it waits', {}, {}, async ({ box, run }) => {
    await box.run(['mcp', 'auth', 'docs', ...DEBUG], { onStderr: onAddress(async (address) => { await run('mcp', 'list'); await run('mcp', 'debug', 'docs'); await browse(address); }) });
  }],
  ['refused by the service', { authorizeError: 'access_denied', errorDescription: 'no' }, {}, ({ signIn }) => signIn()],
  ['refused code', { tokenError: 'invalid_grant' }, {}, ({ signIn }) => signIn('--json')],
  ['answer of another issuer', { iss: 'https://evil.example' }, {}, ({ signIn }) => signIn()],
  ['renewal ends', { refreshAnswer: 'invalid_grant' }, {}, async ({ box, run, signIn }) => { await signIn(); box.server.expireAll(); await run('call', 'docs.read'); await run('call', 'docs.read', '--json'); }],
  ['renewal fails', { refreshAnswer: 'html403' }, {}, async ({ box, run, signIn }) => { await signIn(); box.server.expireAll(); await run('call', 'docs.read', '--timeout', '700'); await run('mcp', 'debug', 'docs', '--json', '--timeout', '700'); }],
  ['renewal is cut off', { refreshAnswer: 'drop' }, {}, async ({ box, run, signIn }) => { await signIn(); box.server.expireAll(); await run('mcp', 'debug', 'docs', '--timeout', '700'); }],
  ['sign-out is not confirmed', { revocation: 503 }, {}, async ({ run, signIn }) => { await signIn(); await run('mcp', 'logout', 'docs'); }],
  ['token refused', { refuse: true }, {}, async ({ run, signIn }) => { await signIn(); await run('call', 'docs.read'); await run('mcp', 'debug', 'docs'); }],
  ['more rights', { requiredScope: { read: 'write' } }, {}, async ({ run, signIn }) => { await signIn(); await run('call', 'docs.read'); await signIn('--scope', 'write'); await run('call', 'docs.read'); }],
  ['device', { deviceAnswers: ['authorization_pending', 'slow_down'], metadata: {} }, {}, async ({ box, run }) => { box.server.behaviour['deviceAnswers'] = ['authorization_pending']; await run('mcp', 'auth', 'docs', '--device'); await run('tools', 'docs'); }],
  ['device, refused', { deviceAnswers: ['access_denied'] }, {}, ({ run }) => run('mcp', 'auth', 'docs', '--device')],
  ['client credentials', { methods: ['client_secret_basic'] }, { oauth: { type: 'client_credentials', ...application } }, async ({ run }) => { await run('mcp', 'auth', 'docs'); await run('call', 'docs.read'); await run('mcp', 'debug', 'docs', '--json'); }],
  ['refused client credentials', { methods: ['client_secret_post'], tokenError: 'invalid_client' }, { oauth: { type: 'client_credentials', ...application } }, async ({ run }) => { await run('mcp', 'auth', 'docs'); await run('call', 'docs.read', '--json'); }],
  ['workload assertion, refused', { tokenError: 'invalid_grant' }, { oauth: { type: 'workload_jwt', assertion: '{env:WORKLOAD}' } }, async ({ run }) => { await run('mcp', 'auth', 'docs'); await run('tools', 'docs'); }],
  ['DPoP', { dpop: true, dpopNonce: 'n' }, {}, async ({ run, signIn }) => { await signIn(); await run('call', 'docs.read'); }],
  ['fixed header', { refuse: true }, { headers: { Authorization: 'Bearer {env:APP_SECRET}' } }, async ({ run }) => { await run('tools', 'docs'); await run('mcp', 'auth', 'docs'); await run('mcp', 'auth', 'list', '--json'); await run('mcp', 'debug', 'docs'); }],
  ['a service that repeats what it was sent', {}, {}, async ({ box, signIn }) => {
    box.server.behaviour.routes['/token'] = (_request, response, q) => {
      for (const name of ['code', 'code_verifier']) box.server.secrets.add(q.get(name)!);
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'invalid_request', error_description: `bad request ${q}` }));
    };
    await signIn();
  }],
];

for (const [name, behaviour, entry, play] of scenes) {
  test(`no secret shows anywhere but in the store: ${name}`, async (t) => {
    const box = await guarded(t, behaviour, entry);
    const shown: Ran[] = [];
    const watched = { ...box, run: async (...[args, options]: Parameters<Guarded['run']>) => { const ran = await box.run(args, { env, ...options }); shown.push(ran); return ran; } };
    await play({
      box: watched,
      run: (...words) => watched.run([...words, ...DEBUG]),
      signIn: (...words) => watched.run(['mcp', 'auth', 'docs', ...words, ...DEBUG], { onStderr: onAddress((address) => void browse(address)) }),
    });
    const output = shown.map(({ stdout, stderr }) => stdout + withoutAddress(stderr)).join('\n');
    const textOf = (files: readonly string[]): string => files.map((file) => readFileSync(file, 'utf8')).join('\n');
    const inStore = (file: string): boolean => file.startsWith(path.join(box.store, 'credentials'));
    const everything = `${output}\n${textOf(filesOf(box.directory).filter((file) => !inStore(file)))}`;
    const secrets = [...box.server.secrets, ...Object.values(env)];
    // That the search finds what is there: the store holds them.
    const stored = textOf(filesOf(box.directory).filter(inStore));
    if (stored.includes('"accessToken"')) assert.ok(secrets.some((secret) => stored.includes(secret)));
    if (box.server.paths().some((one) => one !== '/mcp')) assert.match(output, /^debug: /m, 'it was as verbose as it can be');
    for (const secret of secrets) for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) assert.ok(!everything.includes(form), `${form.slice(0, 14)}… shows: ${around(everything, form)}`);
  });
}

/** The address is shown to be opened; all else that has its state in it is a leak. */
function withoutAddress(stderr: string): string {
  const address = addressIn(stderr);
  return address === undefined ? stderr : stderr.split('\n').filter((line) => line !== address).join('\n');
}

function around(text: string, part: string): string {
  const at = text.indexOf(part);
  return text.slice(Math.max(0, at - 120), at + 20);
}

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) => file.isFile()).map((file) => path.join(file.parentPath ?? file.path, file.name));
}
