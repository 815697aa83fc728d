import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCallback, codeOf, readPasted } from '../../../src/oauth/callback.ts';
import { callbackPage, escapeHtml } from '../../../src/oauth/callback-page.ts';
import type { Attempt, CheckedCallback } from '../../../src/oauth/callback.ts';

const ISSUER = 'https://as.example';
const attempt = (issExpected: boolean): Attempt => ({ name: 'docs', state: 'S'.repeat(43), verifier: 'v'.repeat(43), issuer: ISSUER, issExpected, redirectUri: 'http://127.0.0.1:1/cb', resource: 'https://rs.example', scope: ['a'] });
const query = (more: Record<string, string>): URLSearchParams => new URLSearchParams({ state: 'S'.repeat(43), ...more });
const verdictOf = (issExpected: boolean, more: Record<string, string>): string => {
  const verdict = checkCallback(attempt(issExpected), query(more));
  return verdict.kind === 'refused' ? (verdict.failure.details as { error: string }).error : verdict.kind;
};

test('checkCallback() follows the iss table, for success and for errors', () => {
  for (const answer of [{ code: 'c' }, { error: 'access_denied' }] as Record<string, string>[]) {
    const good = 'code' in answer ? 'code' : 'access_denied';
    assert.equal(verdictOf(true, { ...answer, iss: ISSUER }), good);
    assert.equal(verdictOf(true, answer), 'iss_missing');
    assert.equal(verdictOf(false, { ...answer, iss: ISSUER }), good);
    assert.equal(verdictOf(false, answer), good);
    for (const iss of [`${ISSUER}/`, ISSUER.toUpperCase(), `${ISSUER}:443`, 'https%3A%2F%2Fas.example', '']) {
      for (const expected of [true, false]) assert.equal(verdictOf(expected, { ...answer, iss }), 'iss_mismatch', iss);
    }
  }
});

test('checkCallback() tells answers to something else from answers', () => {
  assert.equal(checkCallback(attempt(false), new URLSearchParams('code=x')).kind, 'stray');
  assert.equal(checkCallback(attempt(false), new URLSearchParams('code=x&state=short')).kind, 'stray');
  assert.equal(checkCallback(attempt(false), new URLSearchParams(`${query({ code: 'x' }).toString()}&code=y`)).kind, 'stray');
  for (const code of ['', 'x'.repeat(4097)]) assert.equal(verdictOf(false, { code }), 'bad_callback');
  assert.equal(verdictOf(false, {}), 'bad_callback');
});

test('checkCallback() maps what an authorization server can say', () => {
  for (const error of ['access_denied', 'invalid_scope', 'invalid_target', 'invalid_request', 'server_error', 'temporarily_unavailable', 'login_required']) assert.equal(verdictOf(false, { error, error_description: 'text' }), error);
  const echoed = checkCallback(attempt(false), query({ error: 'x', error_description: `state=${'S'.repeat(43)}` }));
  assert.ok(echoed.kind === 'refused' && !echoed.failure.message.includes('SSSS'));
});

test('codeOf() opens only what was checked', () => {
  const verdict = checkCallback(attempt(false), query({ code: 'the code' }));
  assert.equal(verdict.kind === 'code' && codeOf(verdict.callback), 'the code');
  assert.throws(() => codeOf({ attempt: attempt(false) } as CheckedCallback), TypeError);
});

const REDIRECT = 'http://127.0.0.1:19876/oauth/callback/mcp/docs';
for (const [text, code] of [
  [`${REDIRECT}?code=a%2Bb&state=s`, 'a+b'], [`"${REDIRECT}?code=x&state=s"`, 'x'], [`<${REDIRECT}?code=x&state=s>`, 'x'], [`${REDIRECT.slice(0, 20)}\n   ${REDIRECT.slice(20)}?co\nde=x&state=s`, 'x'],
  [REDIRECT.replace('127.0.0.1', 'localhost') + '?code=x&state=s', 'x'], [encodeURIComponent(`${REDIRECT}?code=x&state=s`), 'x'], ['code=x&state=s', 'x'], ['?code=x&state=s', 'x'],
] as const) {
  test(`readPasted() reads ${JSON.stringify(text)}`, () => {
    const read = readPasted(text, REDIRECT);
    assert.equal('query' in read && read.query.get('code'), code);
  });
}
for (const [text, problem] of [
  ['', 'is empty'], ['  ""  ', 'is empty'], ['abcdef', 'no address'], ['https%3A%zz', 'not complete'], [REDIRECT.replace('19876', '1') + '?code=x&state=s', 'does not begin'],
  [REDIRECT.replace('docs', 'other') + '?code=x', 'does not begin'], [REDIRECT.replace('http:', 'https:'), 'does not begin'], ['https://evil.example/oauth/callback/mcp/docs?code=x&state=s', 'does not begin'],
] as const) {
  test(`readPasted() refuses ${JSON.stringify(text)}`, () => {
    const read = readPasted(text, REDIRECT);
    assert.ok('problem' in read && read.problem.includes(problem), JSON.stringify(read));
  });
}

test('callbackPage() is complete in itself, has no script, escapes the name and knows the dark', () => {
  for (const kind of ['signed-in', 'not-signed-in', 'stray'] as const) {
    const page = callbackPage(kind, '<img src=x onerror=alert(1)>&"\'');
    assert.ok(!page.includes('<img') && !page.includes('<script') && !/(?:src|href)=/.test(page.replace('&lt;img src=x', '')));
    assert.match(page, /prefers-color-scheme: dark/);
    assert.match(page, /terminal/);
    assert.match(page, /<html lang="en">/);
  }
  assert.equal(escapeHtml(`<&>"'`), '&lt;&amp;&gt;&quot;&#39;');
});
