import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { freePort, startServer } from '../support/http-server.ts';
import { guarded } from './support.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Guarded } from './support.ts';

const PATHED = '/.well-known/oauth-protected-resource/mcp', ROOT = '/.well-known/oauth-protected-resource', SERVER = '/.well-known/oauth-authorization-server';
const MIB = 1024 * 1024;
const words = (error: string) => (failure: AnyFailure): boolean => { assert.equal((failure.details as { error?: string }).error, error, failure.message); return true; };
const json = (value: unknown) => (_request: IncomingMessage, response: ServerResponse): void => { response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)); };
const status = (code: number, headers: Record<string, string> = {}) => (_request: IncomingMessage, response: ServerResponse): void => { response.writeHead(code, headers).end(); };
const resourceOf = ({ server }: Guarded): Record<string, unknown> => ({ resource: server.url, authorization_servers: [server.issuer] });
const padded = (value: Record<string, unknown>, bytes: number): string => { const empty = JSON.stringify({ ...value, pad: '' }).length; return JSON.stringify({ ...value, pad: 'x'.repeat(bytes - empty) }); };
const wellKnown = (one: Guarded): string[] => one.server.paths().filter((path) => path.includes('.well-known'));
const signedIn = async (one: Guarded): Promise<void> => { assert.equal((await one.call()).status, 200); };

test('a named document of exactly 1 MiB is read, one more byte ends the sign-in (row 181)', async (t) => {
  for (const [bytes, ok] of [[MIB, true], [MIB + 1, false]] as const) {
    const one = await guarded(t);
    one.server.behaviour.routes[PATHED] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }); response.write(padded(resourceOf(one), bytes)); response.end(); };
    if (ok) await signedIn(one);
    else await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'LOGIN_REFUSED' && words('prm_too_large')(failure));
    assert.equal(one.server.stats.authorizes, ok ? 1 : 0);
  }
});

test('the cap counts what a compressed body unpacks to', async (t) => {
  const one = await guarded(t);
  one.server.behaviour.routes[PATHED] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync(padded(resourceOf(one), 50 * MIB))); };
  await assert.rejects(one.call(), words('prm_too_large'));
});

test('a guessed document that is too large is passed over with a warning (row 182)', async (t) => {
  const one = await guarded(t, { challenge: 'bare' });
  one.server.behaviour.routes[PATHED] = (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(padded(resourceOf(one), MIB + 1)); };
  one.server.behaviour.routes[ROOT] = json({ ...resourceOf(one), resource: one.server.origin });
  one.server.behaviour.routes[SERVER] = (_request, response) => { response.writeHead(200).end('x'.repeat(MIB + 1)); };
  one.server.behaviour.routes['/.well-known/openid-configuration'] = json({ issuer: one.server.issuer, authorization_endpoint: `${one.server.issuer}/authorize`, token_endpoint: `${one.server.issuer}/token`, registration_endpoint: `${one.server.issuer}/register`, code_challenge_methods_supported: ['S256'] });
  await signedIn(one);
  assert.equal(one.logs.filter(({ level, message }) => level === 'warning' && /larger than/.test(message)).length, 2);
  assert.equal(one.server.seen('/token')[0]!.parameters['resource'], one.server.origin);
});

test('without metadata of an authorization server nothing is guessed (row 183)', async (t) => {
  const one = await guarded(t, { challenge: 'none' });
  for (const path of [PATHED, ROOT, SERVER]) one.server.behaviour.routes[path] = status(404);
  await assert.rejects(one.call(), (failure: AnyFailure) => words('no_as_metadata')(failure) && /oauth-authorization-server \(status 404\)/.test(failure.message));
  assert.deepEqual(one.server.paths(), ['/mcp', PATHED, ROOT, SERVER, '/.well-known/openid-configuration']);
  const asked = one.another({ config: { legacyDefaultEndpoints: true } });
  await signedIn(asked);
});

test('the root is not asked when an earlier place has answered', async (t) => {
  for (const challenge of ['named', 'bare']) {
    const one = await guarded(t, { challenge });
    await signedIn(one);
    assert.deepEqual(wellKnown(one), [PATHED, SERVER]);
  }
});

test('a named document that is absent leads on to the well-known places, one that is wrong does not', async (t) => {
  const absent = await guarded(t, { challenge: 'Bearer resource_metadata="ORIGIN/gone", resource_metadata="ORIGIN/gone2"' });
  await signedIn(absent);
  for (const body of ['<!doctype html><title>hello</title>', '[]', '{"resource":null}', '{"resource":"x","authorization_servers":[]}', '{']) {
    const one = await guarded(t, { challenge: 'Bearer resource_metadata="ORIGIN/odd"' });
    one.server.behaviour.routes['/odd'] = (_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end(body); };
    await assert.rejects(one.call(), words('prm_invalid'));
  }
});

test('guessed places that answer with pages, lists or nonsense are passed over', async (t) => {
  for (const body of ['<!doctype html>', '[1]', '{"resource":1}', '']) {
    const one = await guarded(t, { challenge: 'none' });
    one.server.behaviour.routes[PATHED] = (_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end(body); };
    one.server.behaviour.routes[ROOT] = json({ ...resourceOf(one), resource: one.server.origin, scopes_supported: null });
    await signedIn(one);
  }
});

test('a named URL: relative, other scheme, another origin behind a redirect', async (t) => {
  for (const [text, error] of [['/relative', 'insecure_endpoint'], ['ftp://127.0.0.1/x', 'insecure_endpoint'], ['http://example.com/prm', 'insecure_endpoint']] as const) {
    const one = await guarded(t, { challenge: `Bearer resource_metadata="${text}"` });
    await assert.rejects(one.call(), words(error));
    assert.deepEqual(one.server.paths(), ['/mcp']);
  }
  const other = await startServer((_request, response) => response.end('{}'));
  t.after(() => other.close());
  const crossing = await guarded(t, { challenge: 'Bearer resource_metadata="ORIGIN/hop"' });
  crossing.server.behaviour.routes['/hop'] = status(302, { location: `${other.origin}/prm` });
  await assert.rejects(crossing.call(), words('prm_invalid'));
  assert.equal(other.requests.length, 0);
  const inside = await guarded(t, { challenge: 'Bearer resource_metadata="ORIGIN/hop"' });
  inside.server.behaviour.routes['/hop'] = status(302, { location: PATHED });
  await signedIn(inside);
  const circle = await guarded(t, { challenge: 'Bearer resource_metadata="ORIGIN/hop"' });
  circle.server.behaviour.routes['/hop'] = status(302, { location: '/hop' });
  await assert.rejects(circle.call(), words('prm_invalid'));
});

test('trouble is tried twice and then told as trouble', async (t) => {
  let nth = 0;
  const once = await guarded(t);
  once.server.behaviour.routes[PATHED] = (_request, response) => { nth += 1; if (nth === 1) response.destroy(); else json(resourceOf(once))(_request, response); };
  await signedIn(once);
  const down = await guarded(t, { challenge: 'bare' });
  down.server.behaviour.routes[PATHED] = status(503);
  await assert.rejects(down.call(), (failure: AnyFailure) => failure.code === 'HTTP_STATUS' && failure.recovery === 'retryable');
  const busy = await guarded(t);
  for (const path of [SERVER, '/.well-known/openid-configuration']) busy.server.behaviour.routes[path] = status(429);
  await assert.rejects(busy.call(), (failure: AnyFailure) => failure.recovery === 'retryable');
});

test('a foreign resource stops the sign-in before anybody is sent anywhere (row 184)', async (t) => {
  const one = await guarded(t, { resource: 'https://evil.example/mcp' });
  await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'ISSUER_UNTRUSTED' && words('resource_mismatch')(failure));
  assert.equal(one.server.stats.authorizes, 0);
  assert.deepEqual(wellKnown(one), [PATHED]);
});

test('metadata of another issuer is not used; only one slash may differ (row 184)', async (t) => {
  for (const change of [(issuer: string) => issuer.replace('127.0.0.1', 'localhost'), (issuer: string) => `${issuer}/tenant`, () => 'https://login.example/{tenantid}/v2.0']) {
    const one = await guarded(t);
    one.server.behaviour['issuer'] = change(one.server.issuer);
    await assert.rejects(one.call(), (failure: AnyFailure) => failure.code === 'ISSUER_UNTRUSTED' && words('issuer_mismatch')(failure));
    assert.equal(one.server.stats.registrations + one.server.stats.authorizes, 0);
  }
  const slash = await guarded(t);
  slash.server.behaviour['issuer'] = `${slash.server.issuer}/`;
  await signedIn(slash);
  assert.equal(slash.oauth.status().issuer, `${slash.server.issuer}/`);
  const strict = await guarded(t, {}, { config: { strictIssuer: true } });
  strict.server.behaviour['issuer'] = `${strict.server.issuer}/`;
  await assert.rejects(strict.call(), words('issuer_mismatch'));
});

for (const place of ['/.well-known/oauth-authorization-server/tenant', '/.well-known/openid-configuration/tenant', '/tenant/.well-known/openid-configuration']) {
  test(`an issuer with a path is found at ${place} alone`, async (t) => {
    const one = await guarded(t, { issuerPath: '/tenant' });
    one.server.behaviour.routes['/.well-known/oauth-authorization-server/tenant'] = status(404);
    const document = { issuer: one.server.issuer, authorization_endpoint: `${one.server.issuer}/authorize`, token_endpoint: `${one.server.issuer}/token`, registration_endpoint: `${one.server.issuer}/register`, code_challenge_methods_supported: ['S256'] };
    one.server.behaviour.routes[place] = json(document);
    await signedIn(one);
    assert.ok(!one.server.paths().includes(SERVER));
  });
}

test('of several authorization servers the first usable one of five is taken', async (t) => {
  const one = await guarded(t);
  one.server.behaviour['authorizationServers'] = [`${one.server.origin}/dead`, 'javascript:alert(1)', one.server.issuer];
  await signedIn(one);
  const six = await guarded(t);
  six.server.behaviour['authorizationServers'] = [1, 2, 3, 4, 5].map((n) => `${six.server.origin}/dead${n}`).concat(six.server.issuer);
  await assert.rejects(six.call(), words('no_as_metadata'));
});

test('oauth.issuer picks from the list, and is refused when it is not on it', async (t) => {
  const one = await guarded(t);
  one.server.behaviour['authorizationServers'] = [`${one.server.origin}/dead`, one.server.issuer];
  const pinned = one.another({ config: { issuer: one.server.issuer } });
  await signedIn(pinned);
  assert.ok(!one.server.paths().some((path) => path.includes('dead')));
  await assert.rejects(one.another({ config: { issuer: 'https://other.example' } }).call(), words('issuer_not_listed'));
});

test('a server that moved to another authorization server gets a new registration there, a configured client stops', async (t) => {
  const one = await guarded(t), second = await guarded(t);
  await signedIn(one);
  const [client] = [...one.server.clients.keys()];
  one.server.expireAll();
  one.server.behaviour['authorizationServers'] = [second.server.issuer];
  second.server.behaviour['resource'] = one.server.url;
  await assert.rejects(one.call(), words('token_rejected'));
  assert.equal(second.server.stats.registrations, 1);
  assert.ok(!JSON.stringify(second.server.log).includes(client!));
  const fixed = await guarded(t, { methods: [] }, { config: { clientId: 'configured', callbackPort: await freePort() } });
  await signedIn(fixed);
  fixed.server.expireAll();
  fixed.server.behaviour['authorizationServers'] = [second.server.issuer];
  await assert.rejects(fixed.call(), words('as_changed'));
});

test('what the code flow needs is looked for in every document before it is refused', async (t) => {
  for (const [metadata, error] of [
    [{ code_challenge_methods_supported: null }, 'pkce_unsupported'], [{ code_challenge_methods_supported: ['plain'] }, 'pkce_unsupported'], [{ authorization_endpoint: null }, 'no_as_metadata'],
    [{ token_endpoint: null }, 'no_as_metadata'], [{ response_types_supported: ['token'] }, 'unsupported_response_type'], [{ response_modes_supported: ['form_post'] }, 'unsupported_response_type'],
    [{ authorization_endpoint: 'javascript:alert(1)' }, 'insecure_endpoint'], [{ token_endpoint: 'http://example.com/token' }, 'insecure_endpoint'], [{ token_endpoint: 'https://u:p@example.com/' }, 'insecure_endpoint'], [{ authorization_endpoint: 'https://example.com/#x' }, 'insecure_endpoint'],
    [{ issuer: null }, 'no_as_metadata'],
  ] as const) {
    const one = await guarded(t, { metadata });
    await assert.rejects(one.call(), words(error));
    assert.equal(one.server.stats.registrations, 0);
  }
  const hidden = await guarded(t, { metadata: { code_challenge_methods_supported: null } });
  hidden.server.behaviour.routes['/.well-known/openid-configuration'] = json({ issuer: hidden.server.issuer, authorization_endpoint: `${hidden.server.issuer}/authorize`, token_endpoint: `${hidden.server.issuer}/token`, registration_endpoint: `${hidden.server.issuer}/register`, code_challenge_methods_supported: ['S256'] });
  await signedIn(hidden);
  await signedIn(await guarded(t, { metadata: { code_challenge_methods_supported: null } }, { config: { allowMissingPkceMetadata: true } }));
});

test('resource is sent byte for byte as published, as configured, or not at all', async (t) => {
  const one = await guarded(t);
  const published = one.server.origin.toUpperCase().replace('HTTP', 'http');
  one.server.behaviour['resource'] = published;
  await signedIn(one);
  assert.equal(one.server.stats.badResource, 0);
  const set = await guarded(t, {}, { config: { resource: 'api://other' } });
  await signedIn(set);
  assert.equal(set.server.seen('/token')[0]!.parameters['resource'], 'api://other');
  const none = await guarded(t, {}, { config: { resource: false } });
  await signedIn(none);
  assert.ok(!('resource' in none.server.seen('/token')[0]!.parameters));
  assert.ok(!none.server.seen('/authorize')[0]!.query.includes('resource'));
});

test('no OAuth request carries what belongs to the server', async (t) => {
  const one = await guarded(t);
  await one.call('read', { headers: { 'x-api-key': 'for the server only', cookie: 'a=b' } });
  for (const { path, headers } of one.server.log) {
    if (path === '/mcp') continue;
    assert.equal(headers['x-api-key'], undefined, path);
    assert.equal(headers.cookie, undefined, path);
    assert.ok(!String(headers.authorization).startsWith('Bearer'), path);
  }
});
