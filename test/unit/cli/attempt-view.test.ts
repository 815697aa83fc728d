import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import { attemptDocument, showAttempts } from '../../../src/cli/attempt-view.ts';
import type { Attempt } from '../../../src/host/types.ts';

const attempt = (more: Partial<Attempt> = {}): Attempt => ({ transport: 'streamable-http', timings: [], connections: [], answers: [], ...more });
const lost = new Failure('CONNECT_FAILED', 'Cannot connect to "x": token=hunter22x', { stage: 'connect', details: { address: 'x:1' } }) as AnyFailure;

function shown(...attempts: Attempt[]): string[] {
  const lines: string[] = [];
  showAttempts(attempts, (name, ...text) => lines.push(`${name}: ${text.map((span) => (typeof span === 'string' ? span : span.text)).join('')}`), true);
  return lines;
}

test('showAttempts() numbers tries only where there are several, and says how each ended', () => {
  assert.deepEqual(shown(attempt()), ['try: Streamable HTTP  worked', 'stages: none']);
  assert.deepEqual(shown(attempt({ failure: lost }), attempt({ transport: 'stdio' }), attempt({ transport: 'sse', timings: [{ stage: 'probe', ms: 1.26 }] })), [
    'try 1: Streamable HTTP  Cannot connect to "x": token=***', 'stages: none', 'try 2: stdio  given up for the next', 'stages: none', 'try 3: HTTP+SSE  worked', 'stages: probe 1.3 ms',
  ]);
});

test('showAttempts() does not say of a try that was cut short that it worked', () => {
  const lines: string[] = [];
  showAttempts([attempt()], (name, ...text) => lines.push(`${name}: ${text.map((span) => (typeof span === 'string' ? span : span.text)).join('')}`), false);
  assert.equal(lines[0], 'try: Streamable HTTP  did not get any further');
});

test('showAttempts() tells each connection: address, TLS, proxy; and the proxy alone where nothing was connected', () => {
  const tls = { protocol: 'TLSv1.3', issuer: '', validTo: '' };
  assert.deepEqual(shown(attempt({ proxy: 'http://p:1', connections: [
    { host: 'x.test:443', address: '10.0.0.1', elapsedMs: 2, proxy: 'http://p:1', tls: { ...tls, issuer: 'Us', validTo: 'May 1' } },
    { host: '[::1]:80', address: '::1', elapsedMs: 3 }, { host: '10.0.0.1:80', address: '10.0.0.1', elapsedMs: 3, tls }, { host: 'y.test:80', address: undefined, elapsedMs: 4 },
  ] })).slice(1, -1), [
    'connection: x.test:443 at 10.0.0.1 in 2 ms, TLSv1.3, certificate by Us, valid to May 1, through the proxy http://p:1', ': [::1]:80 in 3 ms, no TLS', ': 10.0.0.1:80 in 3 ms, TLSv1.3', ': y.test:80 in 4 ms, no TLS',
  ]);
  assert.deepEqual(shown(attempt({ proxy: 'http://p:1', answers: [{ method: 'POST', status: 405, ms: 1 }, { method: 'GET', status: 200, ms: 2.04 }] })).slice(1, -1), ['proxy: http://p:1', 'answers: POST 405 (1 ms), GET 200 (2 ms)']);
});

test('attemptDocument() has every member, null where nothing is known', () => {
  const all = [attempt(), attempt({ connections: [{ host: 'x:1', address: undefined, elapsedMs: 1 }], failure: lost })];
  const [first, second] = all.map((one, index) => attemptDocument(one, index === 1)) as [any, any];
  assert.deepEqual(first, { transport: 'streamable-http', ok: false, timings: [], proxy: null, connections: [], answers: [], error: null });
  assert.deepEqual([second.ok, second.error.code, second.connections], [false, 'CONNECT_FAILED', [{ host: 'x:1', address: null, ms: 1, proxy: null, tls: null }]]);
  assert.equal((attemptDocument(attempt(), true) as any).ok, true);
});
