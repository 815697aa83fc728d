import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Failure } from '../../../src/base/failure.ts';
import { canceledFailure, isConnectError, isConnectionLoss, networkFailure, systemCode, timeoutFailure } from '../../../src/http/failures.ts';
import { targetOf } from '../../../src/http/url.ts';
import type { RequestFacts } from '../../../src/http/failures.ts';

const facts = (more: Partial<RequestFacts> = {}): RequestFacts => ({
  target: targetOf('https://mcp.example:8443/mcp?key=hunter2'), stage: 'call', sent: 'no', replaySafe: false, elapsedMs: 12.4, proxy: undefined, ...more,
});
const system = (code: string, more: object = {}): Error => Object.assign(new Error(`${code} happened`), { code, ...more });
const inFetch = (cause: Error): Error => Object.assign(new TypeError('fetch failed'), { cause });

test('systemCode() looks through wrappers', () => {
  assert.equal(systemCode(inFetch(system('ECONNRESET'))), 'ECONNRESET');
  assert.equal(systemCode(new Error('x')), undefined);
  assert.equal(systemCode('x'), undefined);
});

for (const [code, reason, recovery] of [
  ['ECONNREFUSED', /nothing listens there/, 'retryable'], ['ENOTFOUND', /no such host name/, 'blocked'], ['EAI_AGAIN', /name service/, 'retryable'],
  ['ETIMEDOUT', /does not answer/, 'retryable'], ['UND_ERR_CONNECT_TIMEOUT', /does not answer/, 'retryable'], ['EHOSTUNREACH', /no way leads to that host/, 'retryable'],
  ['ENETUNREACH', /no way leads/, 'retryable'], ['EADDRNOTAVAIL', /no way leads/, 'retryable'], ['EACCES', /forbids/, 'blocked'], ['EPERM', /forbids/, 'blocked'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /self-signed/, 'blocked'], ['SELF_SIGNED_CERT_IN_CHAIN', /not trusted/, 'blocked'], ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /not trusted/, 'blocked'],
  ['UNABLE_TO_GET_ISSUER_CERT', /not known/, 'blocked'], ['CERT_UNTRUSTED', /not trusted/, 'blocked'], ['CERT_HAS_EXPIRED', /has expired/, 'blocked'],
  ['CERT_NOT_YET_VALID', /not valid yet/, 'blocked'], ['CERT_REVOKED', /revoked/, 'blocked'], ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/, 'blocked'],
  ['CERT_SIGNATURE_FAILURE', /not accepted/, 'blocked'], ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS/, 'blocked'], ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', /does not accept us/, 'blocked'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /does not accept us/, 'blocked'], ['EPROTO', /TLS handshake fails/, 'blocked'], ['ECONNRESET', /during the TLS handshake/, 'retryable'],
] as const) {
  test(`networkFailure() tells ${code}, bare and inside the platform's fetch`, () => {
    for (const error of [system(code), inFetch(system(code))]) {
      const failure = networkFailure(error, facts());
      assert.equal(failure.code, 'CONNECT_FAILED');
      assert.equal(failure.stage, 'connect');
      assert.match(failure.message, reason);
      assert.ok(failure.message.startsWith('Cannot connect to "https://mcp.example:8443/mcp?key=***": '), failure.message);
      assert.equal(failure.recovery, recovery);
      assert.deepEqual(failure.details, { address: 'mcp.example:8443', system: code });
      assert.ok(code === 'ECONNRESET' || isConnectError(error) || code.startsWith('CERT_'));
    }
  });
}

test('networkFailure() names every address that was tried', () => {
  const failure = networkFailure(Object.assign(system('ECONNREFUSED'), { errors: [system('ECONNREFUSED', { address: '127.0.0.1', port: 1 }), system('ECONNREFUSED', { address: '::1', port: 1 })] }), facts());
  assert.equal((failure.details as { address: string }).address, '127.0.0.1:1, [::1]:1');
  const ipv6 = networkFailure(system('ETIMEDOUT'), facts({ target: targetOf('http://[::1]/') }));
  assert.equal((ipv6.details as { address: string }).address, '[::1]:80');
});

test('networkFailure() tells after the connection was made what became of the request', () => {
  const closed = (more: Partial<RequestFacts>): Failure => networkFailure(system('ECONNRESET'), facts(more)) as Failure;
  assert.deepEqual([closed({ sent: 'unknown' }).code, closed({ sent: 'unknown' }).recovery], ['CONNECTION_CLOSED', 'unknown']);
  assert.equal(closed({ sent: 'unknown', replaySafe: true }).recovery, 'retryable');
  assert.match(closed({ sent: 'yes' }).message, /in the middle of the answer/);
  assert.match(closed({ sent: 'yes', proxy: 'http://p:1' }).hint ?? '', /http:\/\/p:1/);
  assert.match(closed({ sent: 'no', target: targetOf('http://a/') }).message, /before anything was sent/);
  assert.equal(networkFailure(new Error('odd'), facts({ sent: 'unknown' })).code, 'CONNECTION_CLOSED');
  assert.equal(networkFailure('odd', facts({ sent: 'no' })).code, 'CONNECTION_CLOSED');
});

test('networkFailure() tells answers that cannot be read', () => {
  assert.equal(networkFailure(system('HPE_INVALID_CONSTANT'), facts({ sent: 'unknown' })).code, 'PROTOCOL_VIOLATION');
  assert.equal(networkFailure(inFetch(Object.assign(new Error('x'), { name: 'HTTPParserError' })), facts({ sent: 'unknown' })).code, 'PROTOCOL_VIOLATION');
  assert.equal(networkFailure(Object.assign(new Error('x'), { name: 'HTTPParserError' }), facts({ sent: 'unknown' })).code, 'PROTOCOL_VIOLATION');
  assert.equal(networkFailure(system('HPE_HEADER_OVERFLOW'), facts({ sent: 'unknown' })).code, 'LIMIT_EXCEEDED');
  assert.equal(networkFailure(system('Z_BUF_ERROR'), facts({ sent: 'yes' })).code, 'PROTOCOL_VIOLATION');
  assert.deepEqual(networkFailure(inFetch(system('UND_ERR_BODY_TIMEOUT')), facts({ sent: 'yes' })).details, { afterMs: 12, sent: 'yes' });
});

test('networkFailure() keeps a failure as it is and names only what it may of a header', () => {
  const own = new Failure('INTERNAL', 'x', { stage: 'call', details: {} });
  assert.equal(networkFailure(own, facts()), own);
  assert.match(networkFailure(system('ERR_INVALID_CHAR', { message: 'Invalid character in header content ["X-Key"]' }), facts()).message, /the header X-Key /);
  assert.match(networkFailure(system('ERR_INVALID_HTTP_TOKEN', { message: 'Header name must be a valid HTTP token ["a b"]' }), facts()).message, /name unreadable/);
});

test('networkFailure() separates the proxy from the server', () => {
  const proxied = { proxy: 'http://p:3128' };
  const plain = networkFailure(system('ECONNREFUSED', { address: '10.0.0.1', port: 3128 }), facts({ ...proxied, target: targetOf('http://a/') }));
  assert.match(plain.message, /through the proxy http:\/\/p:3128: nothing listens there/);
  const odd = networkFailure(Object.assign(system('PROXY_FAILED'), { cause: system('SELF_SIGNED_CERT_IN_CHAIN') }), facts(proxied));
  assert.match(odd.message, /not trusted here \(SELF_SIGNED_CERT_IN_CHAIN\)/);
  assert.match(networkFailure(system('PROXY_FAILED'), facts(proxied)).message, /the connection ended \(unknown\)/);
  const beyond = networkFailure(system('CERT_HAS_EXPIRED'), facts(proxied));
  assert.match(beyond.message, /^Cannot connect to "https:\/\/mcp.example/);
});

test('timeoutFailure() and canceledFailure() say how far it got', () => {
  assert.match(timeoutFailure(50, facts()).message, /no connection within 50 ms/);
  assert.match(timeoutFailure(50, facts({ sent: 'unknown' })).message, /no answer within/);
  assert.match(timeoutFailure(50, facts({ sent: 'yes' })).message, /no complete answer within/);
  assert.deepEqual(canceledFailure(facts({ sent: 'yes' })).details, { sent: 'yes' });
});

test('isConnectionLoss() is true only for a connection that went away', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET']) assert.ok(isConnectionLoss(system(code)));
  for (const code of ['ECONNREFUSED', 'HPE_INVALID_CONSTANT', 'ETIMEDOUT']) assert.ok(!isConnectionLoss(system(code)));
  assert.ok(!isConnectionLoss(undefined));
});
