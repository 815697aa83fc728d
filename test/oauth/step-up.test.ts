import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../support/http-server.ts';
import { guarded, nobody } from './support.ts';
import type { AnyFailure } from '../../src/base/failure.ts';

const scopes = (queries: readonly { readonly query: string }[]): (string | null)[] => queries.map(({ query }) => new URLSearchParams(query).get('scope'));

test('authorize() asks for the union of old and new scope after insufficient_scope (row 188)', async (t) => {
  const { server, call } = await guarded(t, { resourceScopes: ['read'], requiredScope: { write: 'write' } });
  assert.equal((await call()).status, 200);
  assert.match((await call('write')).body, /with read write/);
  assert.deepEqual(scopes(server.seen('/authorize')), ['read', 'read write']);
  assert.equal(server.stats.refreshes, 0);
});

test('authorize() starts no OAuth for a plain 403 (row 188)', async (t) => {
  const { server, call } = await guarded(t, { requiredScope: { closed: '403' } });
  await call();
  const before = server.paths().length;
  assert.equal((await call('closed')).status, 403);
  assert.equal(server.paths().length, before + 1);
});

test('authorize() gives up where the scope was not granted, or is there already', async (t) => {
  const mean = await guarded(t, { resourceScopes: ['read'], grantScope: 'read', requiredScope: { write: 'write' } });
  assert.equal((await mean.call('write')).status, 403);
  await assert.rejects(mean.call('write'), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED' && failure.details.error === 'insufficient_scope' && /--scope "read write"/.test(failure.hint ?? ''));
  assert.equal(mean.server.stats.authorizes, 2);
  const confused = await guarded(t, { resourceScopes: ['read'], grantScope: 'read', tokenScope: 'read write', requiredScope: { write: 'write' } });
  await assert.rejects(confused.call('write'), (failure: AnyFailure) => failure.code === 'TOKEN_REFUSED' && failure.details.error === 'scope_not_granted');
  assert.equal(confused.server.stats.authorizes, 1);
});

test('authorize() in mode none says which scope is missing and how to get it', async (t) => {
  const one = await guarded(t, { resourceScopes: ['read'], requiredScope: { write: 'write' } });
  await one.oauth.login();
  const quiet = one.another({ interaction: nobody });
  await assert.rejects(quiet.call('write'), (failure: AnyFailure) => failure.code === 'LOGIN_REQUIRED' && failure.details.scope?.join() === 'write');
});

test('authorize() sends a token to the origin of its server only, and follows no redirect with it', async (t) => {
  const elsewhere = await startServer((_request, response) => response.end('got it'));
  t.after(() => elsewhere.close());
  const one = await guarded(t);
  await one.call();
  assert.equal((await one.call('read', { url: `${elsewhere.origin}/mcp` })).body, 'got it');
  for (const status of [302, 307, 308]) {
    one.server.behaviour.routes['/mcp'] = (_request, response) => { response.writeHead(status, { location: `${elsewhere.origin}/mcp` }).end(); };
    await assert.rejects(one.call('read', { headers: { 'x-key': 'custom' } }), (failure: AnyFailure) => failure.code === 'URL_REFUSED' && failure.message.includes(elsewhere.origin));
  }
  assert.equal(elsewhere.requests.length, 1);
  assert.equal(elsewhere.requests[0]!.headers.authorization, undefined);
  one.server.behaviour.routes['/mcp'] = (_request, response) => { response.writeHead(307, { location: '/other' }).end(); };
  one.server.behaviour.routes['/other'] = (request, response) => { response.end(request.headers.authorization?.slice(0, 7)); };
  assert.equal((await one.call()).body, 'Bearer ');
});

test('authorize() streams what is no refusal, and passes pause, abort and failures through', async (t) => {
  const one = await guarded(t);
  await one.call();
  one.server.behaviour.routes['/mcp'] = (_request, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }); response.write('data: 1\n\n'); };
  let chunks = 0;
  const { createHttp } = await import('../../src/http/fetch.ts');
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  const send = one.oauth.authorize(http.request);
  const sent = await new Promise((resolve) => {
    const exchange = send({ url: one.server.url, onHead() {}, onData() { chunks += 1; exchange.pause(); exchange.resume(); resolve(exchange.abort()); }, onEnd() {}, onFail() {} });
  });
  assert.equal(sent, 'yes');
  assert.equal(chunks, 1);
  one.server.behaviour.routes['/mcp'] = (_request, response) => { response.destroy(); };
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'CONNECTION_CLOSED');
});

test('authorize() leaves a 401 at the end of a session alone', async (t) => {
  const { call, server } = await guarded(t);
  assert.equal((await call('read', { stage: 'close' })).status, 401);
  assert.deepEqual(server.paths(), ['/mcp']);
});

test('authorize() aborts what waits for a sign-in', async (t) => {
  const one = await guarded(t, {}, { interaction: { mode: 'surface' } });
  const { createHttp } = await import('../../src/http/fetch.ts');
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  const send = one.oauth.authorize(http.request);
  let failed = false;
  const exchange = send({ url: one.server.url, method: 'POST', body: '{}', onHead() {}, onData() {}, onEnd() {}, onFail() { failed = true; } });
  while (one.visits.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(exchange.abort(), 'no');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(failed, false);
});

test('fetch() is the same road with the other face', async (t) => {
  const one = await guarded(t);
  const { createHttp } = await import('../../src/http/fetch.ts');
  const http = createHttp({ environment: {} });
  t.after(() => http.close());
  const answer = await one.oauth.fetch(http.request)(one.server.url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /tools/);
  const off = one.another({ config: false });
  await assert.rejects(off.oauth.fetch(http.request)(one.server.url, { method: 'POST', body: '{}' }), (failure: AnyFailure) => failure.code === 'LOGIN_REFUSED');
});
