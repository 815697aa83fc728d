import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { test } from 'node:test';
import { authenticateClient, chooseMethod } from '../../../src/oauth/client-auth.ts';
import { createProofs } from '../../../src/oauth/dpop.ts';
import { endpointProblem, sameButSlash, urlProblem, wellKnown } from '../../../src/oauth/endpoints.ts';
import { cleaned, errorWord, isTemporary, loginRefused, temporary, withoutSent } from '../../../src/oauth/failures.ts';
import { isExpired, isNearExpiry } from '../../../src/oauth/freshness.ts';
import { signingKey, signJwt } from '../../../src/oauth/jwt.ts';
import { challengeOf, randomToken } from '../../../src/oauth/pkce.ts';
import { resourceFits } from '../../../src/oauth/protected-resource.ts';
import { covers, parseScope, scopeTokens, unite } from '../../../src/oauth/scope.ts';
import { processTokenAnswer } from '../../../src/oauth/token.ts';
import { Failure, isFailure } from '../../../src/base/failure.ts';
import type { AnyFailure } from '../../../src/base/failure.ts';
import type { AuthorizationServer, ClientAuthMethod, ClientIdentity, OAuthSettings, Tokens } from '../../../src/oauth/types.ts';

test('challengeOf() is S256 of RFC 7636 appendix B, randomToken() is 43 unreserved characters', () => {
  assert.equal(challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'), 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  const made = new Set(Array.from({ length: 50 }, randomToken));
  assert.equal(made.size, 50);
  for (const token of made) assert.match(token, /^[A-Za-z0-9_-]{43}$/);
});

test('resourceFits() accepts the server, its origin and parent paths, and nothing else', () => {
  const server = 'https://rs.example/v1/mcp';
  for (const good of [server, `${server}/`, `${server}#x`.replace('#x', ''), 'https://rs.example', 'https://rs.example/', 'https://rs.example/v1', 'HTTPS://RS.EXAMPLE/v1', 'https://rs.example:443/v1/mcp']) assert.ok(resourceFits(good, server), good);
  for (const bad of ['https://evil.example/v1/mcp', 'http://rs.example/v1/mcp', 'https://rs.example:8443/v1/mcp', 'https://rs.example/v1/m', 'https://rs.example/v1/mcp/more', 'https://rs.example/v1?x=1', 'https://rs.example.evil.example/', 'data:text', 'x', '']) assert.ok(!resourceFits(bad, server), bad);
  assert.ok(resourceFits(`${server}/`, server, true));
  assert.ok(!resourceFits('https://rs.example', server, true));
});

test('urlProblem() lets https and loopback http through', () => {
  for (const good of ['https://as.example/token', 'http://127.0.0.1:1/', 'http://localhost/x', 'http://[::1]:5/']) assert.equal(urlProblem(good), undefined, good);
  for (const [bad, why] of [['http://as.example', 'not https'], ['javascript:alert(1)', 'not https'], ['data:text/html,x', 'not https'], ['file:///etc/passwd', 'not https'], ['https://u:p@as.example', 'user name'], ['/relative', 'no absolute'], ['https://as.example/\u0000', 'control'], ['https://as.example/a b', 'blanks'], [`https://as.example/${'x'.repeat(9000)}`, '8 KiB']] as const) assert.ok(urlProblem(bad)?.includes(why), bad.slice(0, 40));
  assert.equal(endpointProblem('https://as.example/#f'), 'has a fragment');
  assert.equal(wellKnown(new URL('https://rs.example/v1/mcp/?a=b'), 'x', true), 'https://rs.example/.well-known/x/v1/mcp?a=b');
  assert.ok(sameButSlash('https://a.example/', 'https://a.example') && !sameButSlash('https://a.example//', 'https://a.example'));
});

test('scopes are sets of legal tokens within limits', () => {
  assert.deepEqual(parseScope('a b  a c"d e\\f \u0001'), ['a', 'b']);
  assert.deepEqual(parseScope(undefined), []);
  assert.equal(scopeTokens(Array.from({ length: 500 }, (_, at) => `s${at}`)).length, 200);
  assert.ok(scopeTokens(Array.from({ length: 100 }, (_, at) => `${at}${'x'.repeat(1000)}`)).length < 10);
  assert.deepEqual(unite(['a'], ['b', 'a']), ['a', 'b']);
  assert.ok(covers(['a', 'b'], ['a']) && covers([], []) && !covers(['a'], ['a', 'b']));
});

test('isNearExpiry() looks 30 s ahead, spares the young, and distrusts a clock that went back', () => {
  const tokens = (livedMs: number, leftMs: number): Tokens => ({ obtainedAt: 1e12 - livedMs, expiresAt: 1e12 + leftMs }) as Tokens;
  const near = (livedMs: number, leftMs: number): boolean => isNearExpiry(tokens(livedMs, leftMs), 1e12);
  assert.deepEqual([near(60_000, 20_000), near(60_000, 30_000), near(60_000, 30_001), near(5_000, 15_000), near(10_000, 10_000), near(600, 400), near(400, 600)], [true, true, false, false, true, true, false]);
  assert.equal(isNearExpiry({ obtainedAt: 0 } as Tokens), false);
  assert.equal(near(-3_600_000, -1), false);
  assert.ok(isExpired(tokens(10, 0), 1e12) && !isExpired(tokens(10, 1), 1e12) && !isExpired(tokens(-3_600_000, -1), 1e12) && !isExpired({ obtainedAt: 0 } as Tokens));
});

const server: AuthorizationServer = { issuer: 'https://as.example', token_endpoint: 'https://as.example/token' };
const client = (method: ClientAuthMethod, more: Partial<ClientIdentity> = {}): ClientIdentity => ({ kind: 'configured', clientId: 'a b', clientSecret: 's*c+r-t', method, ...more });

test('authenticateClient() uses one method, form-encoded before Basic', () => {
  assert.deepEqual(authenticateClient(client('none'), server, 'docs'), { headers: {}, parameters: { client_id: 'a b' } });
  assert.deepEqual(authenticateClient(client('client_secret_post'), server, 'docs').parameters, { client_id: 'a b', client_secret: 's*c+r-t' });
  const { headers, parameters } = authenticateClient(client('client_secret_basic'), server, 'docs');
  assert.deepEqual(parameters, {});
  assert.equal(Buffer.from(headers['authorization']!.slice(6), 'base64').toString(), 'a+b:s*c%2Br-t');
  assert.throws(() => authenticateClient(client('private_key_jwt'), server, 'docs'), (error: unknown) => errorWord(error) === 'client_auth_failed');
});

test('chooseMethod() goes by the configuration, then by what there is and what is listed', () => {
  const choose = (settings: Partial<OAuthSettings>, listed?: string[]): string => chooseMethod({ type: 'authorization_code', ...settings }, { ...server, ...(listed && { token_endpoint_auth_methods_supported: listed }) });
  assert.equal(choose({}), 'none');
  assert.equal(choose({ clientSecret: 's' }), 'client_secret_basic');
  assert.equal(choose({ clientSecret: 's' }, ['client_secret_post']), 'client_secret_post');
  assert.equal(choose({ clientSecret: 's' }, ['client_secret_post', 'client_secret_basic']), 'client_secret_basic');
  assert.equal(choose({ clientSecret: 's' }, ['none']), 'client_secret_basic');
  assert.equal(choose({ privateKey: 'k', clientSecret: 's' }), 'private_key_jwt');
  assert.equal(choose({ privateKey: 'k', tokenEndpointAuthMethod: 'client_secret_post' }), 'client_secret_post');
});

test('signingKey() takes keys of the known kinds and refuses others', () => {
  const pem = (type: 'ec' | 'rsa' | 'ed25519' | 'x25519', options?: object): string => generateKeyPairSync(type as 'ec', options as { namedCurve: string }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.equal(signingKey(pem('ec', { namedCurve: 'P-256' }))?.alg, 'ES256');
  assert.equal(signingKey(pem('ec', { namedCurve: 'P-384' }))?.alg, 'ES384');
  assert.equal(signingKey(pem('ec', { namedCurve: 'secp256k1' })), undefined);
  assert.equal(signingKey(pem('x25519')), undefined);
  assert.equal(signingKey('no key'), undefined);
  const rsa = pem('rsa', { modulusLength: 2048 });
  const key = signingKey(rsa, 'PS256')!;
  const [head, claims, signature] = signJwt(key, {}, { sub: 'x' }).split('.') as [string, string, string];
  assert.ok(verify('sha256', Buffer.from(`${head}.${claims}`), { key: createPublicKey(rsa), padding: 6, saltLength: -1 }, Buffer.from(signature, 'base64url')));
});

test('createProofs() binds method, URL without query, token and body, and keeps nonces by origin', () => {
  const proofs = createProofs()!;
  const read = (jwt: string): Record<string, unknown>[] => jwt.split('.').slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);
  const [head, claims] = read(proofs.proof({ method: 'POST', url: 'https://rs.example/mcp?x=1#y', accessToken: 'tok', body: 'body' }));
  assert.deepEqual([head!['typ'], head!['alg'], Object.keys(head!['jwk'] as object).sort().join()], ['dpop+jwt', 'ES256', 'crv,kty,x,y']);
  assert.deepEqual([claims!['htm'], claims!['htu'], claims!['ath'], claims!['nonce']], ['POST', 'https://rs.example/mcp', createHash('sha256').update('tok').digest('base64url'), undefined]);
  assert.equal(proofs.nonce('https://rs.example/', { 'dpop-nonce': 'n1' }), true);
  assert.equal(proofs.nonce('https://rs.example/', { 'dpop-nonce': 'n1' }), false);
  for (const bad of ['', 'has blank', 'x'.repeat(600), undefined]) assert.equal(proofs.nonce('https://rs.example/', { 'dpop-nonce': bad }), false);
  assert.equal(read(proofs.proof({ method: 'GET', url: 'https://rs.example/' }))[1]!['nonce'], 'n1');
  assert.equal(read(proofs.proof({ method: 'GET', url: 'https://as.example/' }))[1]!['nonce'], undefined);
  assert.equal(createProofs('no key'), undefined);
  assert.equal(createProofs(proofs.key)!.key, proofs.key);
});

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => ({ url: 'https://as.example/token', status, headers: { 'content-type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) });

test('processTokenAnswer() believes only what is whole', () => {
  const granted = (body: unknown, dpop = false) => { const outcome = processTokenAnswer('docs', 'https://as.example', answer(200, body), dpop); assert.equal(outcome.kind, 'granted'); return outcome.kind === 'granted' ? outcome.granted : assert.fail(); };
  assert.deepEqual(granted({ access_token: 'a' }), { accessToken: 'a', tokenType: 'bearer' });
  assert.equal(granted({ access_token: 'a', token_type: 'BEARER', expires_in: '60', scope: 'x y', refresh_token: '' }).scope?.join(), 'x,y');
  for (const [seconds, known] of [['60', true], [60, true], [0, false], [-1, false], ['soon', false], [null, false], [1e12, true]] as const) assert.equal(granted({ access_token: 'a', expires_in: seconds }).expiresAt !== undefined, known, String(seconds));
  assert.ok(granted({ access_token: 'a', expires_in: 1e12 }).expiresAt! < Date.now() + 11 * 365 * 86_400_000);
  assert.equal(granted({ access_token: 'a', token_type: 'DPoP' }, true).tokenType, 'dpop');
  for (const body of [{}, { access_token: '' }, { access_token: 'a b' }, { access_token: 'a\nb' }, { access_token: 5 }, { access_token: 'a', token_type: 'mac' }, { access_token: 'a', token_type: 'dpop' }]) {
    assert.throws(() => processTokenAnswer('docs', 'https://as.example', answer(200, body), false), (error: unknown) => errorWord(error) === 'bad_token_response');
  }
});

test('processTokenAnswer() tells refusals from trouble', () => {
  const outcome = (status: number, body: unknown, headers: Record<string, string> = {}) => processTokenAnswer('docs', 'https://as.example', answer(status, body, headers), false);
  assert.deepEqual(outcome(200, { error: 'slow_down' }), { kind: 'refused', error: 'slow_down', description: '', status: 200 });
  assert.equal(outcome(400, { error: 'invalid_grant', error_description: 'x' }).kind, 'refused');
  for (const [status, body] of [[503, { error: 'invalid_grant' }], [429, {}], [403, '<html>'], [200, 'no json'], [302, '']] as const) assert.equal(outcome(status, body).kind, 'temporary', String(status));
  const busy = outcome(429, {}, { 'retry-after': '7' });
  assert.equal(busy.kind === 'temporary' && busy.retryAfterMs, 7000);
});

test('failures carry cleaned text and know what is temporary', () => {
  assert.equal(cleaned('a\u001b[31mb\u200b\nc\u202e'), 'ab c');
  assert.ok(cleaned('x'.repeat(1000)).length <= 300);
  assert.equal(withoutSent('a=SECRET+1 b=SECRET%2B1', ['SECRET+1', undefined, 'abc']), 'a=*** b=***');
  assert.equal(errorWord(loginRefused('docs', 'x', 'y')), 'x');
  assert.equal(errorWord(new Error('x')), undefined);
  const http = (status: number, recovery: 'retryable' | 'blocked'): AnyFailure => new Failure('HTTP_STATUS', 'Cannot use "x": y', { stage: 'auth', details: { status, url: 'x', excerpt: '' }, recovery }) as AnyFailure;
  assert.ok(isTemporary(http(503, 'retryable')) && !isTemporary(http(404, 'blocked')) && !isTemporary(loginRefused('docs', 'x', 'y')));
  assert.equal(errorWord(http(503, 'retryable')), undefined);
  const told = temporary('renew it', http(403, 'blocked'));
  assert.ok(isFailure(told) && told.recovery === 'retryable' && told.message === 'Cannot renew it: "x": y');
});
