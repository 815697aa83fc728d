import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { createRedactor } from '../../src/base/redact.ts';
import { browsing, guarded, signingIn } from './support.ts';
import type { Guarded } from './support.ts';

/** Everything that anybody could see: logs, failures with all their causes, statuses, and every file but the credentials themselves. */
async function everythingShown(one: Guarded, run: (one: Guarded) => Promise<void>): Promise<string> {
  const shown: unknown[] = [];
  await run(one).catch((error: unknown) => { shown.push(error); });
  shown.push(one.logs, one.oauth.status());
  const files = readdirSync(one.store, { recursive: true, withFileTypes: true }).filter((file) => file.isFile() && !(file.parentPath ?? file.path).endsWith('credentials'));
  return inspect(shown, { depth: 12, maxStringLength: null, maxArrayLength: null, showHidden: true }) + files.map((file) => readFileSync(path.join(file.parentPath ?? file.path, file.name), 'utf8')).join('\n');
}

const scenarios: readonly [name: string, behaviour: Record<string, unknown>, options: Record<string, unknown>, run: (one: Guarded) => Promise<void>][] = [
  ['sign in, refresh, sign out', { methods: ['client_secret_basic'], resourceScopes: ['read'] }, { interaction: browsing }, async (one) => { await one.call(); one.server.expireAll(); await one.call(); await one.oauth.logout({ client: true }); }],
  ['secret in the body', { methods: ['client_secret_post'] }, {}, async (one) => { await one.call(); }],
  ['refused code', { tokenError: 'invalid_grant' }, {}, async (one) => { await one.call(); }],
  ['refresh ends', { refreshAnswer: 'invalid_grant' }, {}, async (one) => { await one.call(); one.server.expireAll(); await one.another({ interaction: { mode: 'none' } }).call(); }],
  ['refresh fails', { refreshAnswer: 503 }, {}, async (one) => { await one.call(); one.server.expireAll(); await one.call(); }],
  ['token refused', { refuse: true }, {}, async (one) => { await one.call(); }],
  ['wrong issuer', { iss: 'https://evil.example' }, {}, async (one) => { await one.call(); }],
  ['step up', { resourceScopes: ['read'], requiredScope: { write: 'write' } }, {}, async (one) => { await one.call('write'); }],
  ['client credentials', { methods: ['client_secret_basic'] }, { config: { type: 'client_credentials', clientId: 'robot', clientSecret: 'configured-secret-1' } }, async (one) => { await one.call(); one.server.secrets.add('configured-secret-1'); }],
  ['refused client credentials', { methods: ['client_secret_basic'], tokenError: 'invalid_client' }, { config: { type: 'client_credentials', clientId: 'robot', clientSecret: 'configured-secret-2' } }, async (one) => { one.server.secrets.add('configured-secret-2'); await one.call(); }],
  ['workload', { tokenError: 'invalid_grant' }, { config: { type: 'workload_jwt', assertion: 'workload.assertion.text' } }, async (one) => { await one.call(); }],
  ['device', { deviceAnswers: ['authorization_pending'] }, { config: { type: 'device_code' } }, async (one) => { await one.oauth.login(); }],
  ['DPoP', { dpop: true, dpopNonce: 'n' }, {}, async (one) => { await one.call(); }],
  ['text that repeats what was sent', {}, {}, async (one) => {
    one.server.behaviour.routes['/token'] = (_request, response, q) => { one.server.secrets.add(q.get('code')!).add(q.get('code_verifier')!); response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'invalid_request', error_description: `bad code_verifier=${q.get('code_verifier')}; access_token: ${'a'.repeat(40)}` })); };
    await one.call();
  }],
];

for (const [name, behaviour, options, run] of scenarios) {
  test(`no secret shows anywhere but in the store: ${name}`, async (t) => {
    const redactor = createRedactor();
    const one = await guarded(t, behaviour, { interaction: signingIn, secret: redactor.add, ...options });
    const shown = await everythingShown(one, run);
    assert.ok(one.server.secrets.size > 0);
    for (const secret of one.server.secrets) assert.ok(!shown.includes(secret), `${secret.slice(0, 12)}… shows in ${shown.slice(Math.max(0, shown.indexOf(secret) - 200), shown.indexOf(secret) + 40)}`);
  });
}
