import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOAuthRequest } from '../../../src/oauth/request.ts';
import { startServer } from '../../support/http-server.ts';
import type { TestContext } from 'node:test';
import type { AnyFailure } from '../../../src/base/failure.ts';
import type { LogEntry } from '../../../src/base/log.ts';
import type { OAuthRequest } from '../../../src/oauth/types.ts';

function requestFrom(t: TestContext, serverUrl: string, trustedUrls: string[] = []): { readonly request: OAuthRequest; readonly logs: LogEntry[] } {
  const logs: LogEntry[] = [];
  const { request, close } = createOAuthRequest({ serverUrl, trustedUrls, http: { environment: {} }, log: (entry) => logs.push(entry) });
  t.after(close);
  return { request, logs };
}
const refused = (failure: AnyFailure): boolean => { assert.equal(failure.code, 'URL_REFUSED', failure.message); return true; };

for (const url of ['https://127.0.0.1/', 'http://127.0.0.1/', 'https://localhost/', 'https://169.254.169.254/latest', 'https://[::ffff:10.0.0.1]/', 'https://2130706433/', 'https://0x7f.1/', 'https://10.1.2.3/', 'https://[fd00:ec2::254]/', 'https://100.64.0.1/', 'https://0.0.0.0/']) {
  test(`a public server cannot lead to ${url}`, async (t) => {
    const { request } = requestFrom(t, 'https://203.0.114.1/mcp');
    await assert.rejects(request('metadata', url), refused);
  });
}

test('a private server may lead to private places, the configuration too, and nobody to link-local ones', async (t) => {
  const server = await startServer((_seen, response) => response.end('{}'));
  t.after(() => server.close());
  assert.equal((await requestFrom(t, 'http://127.0.0.1:9/mcp').request('metadata', `${server.origin}/x`)).status, 200);
  assert.equal((await requestFrom(t, 'http://localhost:9/mcp').request('metadata', `${server.origin}/x`)).status, 200);
  assert.equal((await requestFrom(t, 'https://203.0.114.1/mcp', [server.origin]).request('metadata', `${server.origin}/x`)).status, 200);
  await assert.rejects(requestFrom(t, 'http://127.0.0.1:9/mcp').request('metadata', 'https://169.254.169.254/'), refused);
  await assert.rejects(requestFrom(t, 'https://203.0.114.1/mcp').request('metadata', `${server.origin}/x`), (failure: AnyFailure) => refused(failure) && /oauth\.issuer/.test(failure.hint ?? ''));
});

test('plain http is for this machine, and for what a server says of itself', async (t) => {
  const { request } = requestFrom(t, 'http://10.255.255.1/mcp');
  await assert.rejects(request('token', 'http://10.255.255.1/token'), refused);
  await assert.rejects(request('metadata', 'http://10.255.255.2/x'), refused);
  // Whether anything answers there is the network's affair.
  await request('metadata', 'http://10.255.255.1/x', { deadlineMs: 50 }).catch((failure: AnyFailure) => assert.notEqual(failure.code, 'URL_REFUSED'));
});

test('requests follow nothing, are bounded, and leave a trace without secrets', async (t) => {
  const server = await startServer(({ url }, response) => {
    if (url === '/hop') response.writeHead(307, { location: '/elsewhere' }).end();
    else if (url.startsWith('/slow')) response.write('{');
    else if (url === '/big') response.end('x'.repeat(1024 * 1024 + 1));
    else response.writeHead(400, { 'x-one': 'a' }).end('no');
  });
  t.after(() => server.close());
  const { request, logs } = requestFrom(t, `${server.origin}/mcp`);
  assert.equal((await request('token', `${server.origin}/hop`, { method: 'POST', body: 'code=SECRET' })).status, 307);
  await assert.rejects(request('metadata', `${server.origin}/slow?token=SECRET`, { deadlineMs: 100 }), (failure: AnyFailure) => failure.code === 'TIMEOUT');
  await assert.rejects(request('metadata', `${server.origin}/big`), (failure: AnyFailure) => failure.code === 'LIMIT_EXCEEDED');
  const answer = await request('token', `${server.origin}/other`, { headers: { authorization: 'Basic SECRET' } });
  assert.deepEqual([answer.status, answer.body, answer.headers['x-one']], [400, 'no', 'a']);
  assert.equal(logs.length, 4);
  assert.ok(!JSON.stringify(logs).includes('SECRET'));
  assert.ok(JSON.stringify(logs).includes('authorization'));
});
