import { test } from 'node:test';
import assert from 'node:assert/strict';
import { contentFailure, excerptOf, looksLikeHtml, mediaType, redirectFailure, retryAfterMs, statusFailure } from '../../../src/http/answers.ts';
import { targetOf } from '../../../src/http/url.ts';
import type { Answer } from '../../../src/http/answers.ts';

const page = `<!doctype html>\n<html><head><title lang="en">Sign in &amp; go &#8212; Corp</title></head><body>${'<p>login</p>'.repeat(500)}</body></html>`;
const html = { 'content-type': 'text/html; charset=utf-8' };
const answer = (more: Partial<Answer>): Answer => ({ url: 'https://a.example/mcp?key=hunter2', status: 200, headers: {}, body: '', stage: 'call', ...more });

test('mediaType() ignores case and parameters', () => {
  assert.equal(mediaType({ 'content-type': ' Application/JSON ; charset=utf-8' }), 'application/json');
  assert.equal(mediaType({ 'content-type': 'text/event-stream' }), 'text/event-stream');
  assert.equal(mediaType({}), '');
});

test('retryAfterMs() reads seconds and dates', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');
  for (const [value, ms] of [['1', 1000], [' 120 ', 120_000], ['Thu, 01 Jan 2026 00:00:10 GMT', 10_000], ['Wed, 31 Dec 2025 00:00:00 GMT', 0], ['soon', undefined], ['-5x', undefined], ['', undefined]] as const) {
    assert.equal(retryAfterMs({ 'retry-after': value }, nowMs), ms, value);
  }
  assert.equal(retryAfterMs({}), undefined);
});

test('excerptOf() gives the title of a page and the first words of text, short and without secrets', () => {
  assert.equal(excerptOf(page, html), 'Sign in & go — Corp');
  assert.equal(excerptOf('<html>no title</html>', html), '');
  assert.equal(excerptOf('<title>never ends', html), 'never ends');
  assert.equal(excerptOf('<title>&odd; &#99999999; &#1114112;</title>', html), '&odd; &#99999999; \u{10ffff}');
  assert.equal(excerptOf('a\n\tb\u001b[31m', {}), 'a b');
  assert.ok(!excerptOf('token=hunter2-hunter2', {}).includes('hunter2'));
  assert.ok(excerptOf('x'.repeat(10_000), {}).length <= 256);
});

test('looksLikeHtml() believes the content type, then the body', () => {
  assert.ok(looksLikeHtml('', html));
  assert.ok(looksLikeHtml('\n<HTML>', {}));
  assert.ok(looksLikeHtml('<!DOCTYPE html>', { 'content-type': 'text/plain' }));
  assert.ok(!looksLikeHtml('<html>', { 'content-type': 'application/json' }));
  assert.ok(!looksLikeHtml('{}', {}));
});

for (const [status, recovery, hint] of [
  [400, 'blocked', undefined], [401, 'blocked', /Sign in/], [403, 'blocked', /right/], [404, 'blocked', /path of the url/], [405, 'blocked', /sse/], [406, 'blocked', /path/], [408, 'retryable', undefined],
  [409, 'blocked', undefined], [413, 'blocked', /too large/], [415, 'blocked', /JSON/], [429, 'retryable', /slow down/], [431, 'blocked', /headers/], [500, 'retryable', /its log/], [502, 'retryable', /its log/], [503, 'retryable', /its log/],
] as const) {
  test(`statusFailure() of ${status} is ${recovery}`, () => {
    const failure = statusFailure(answer({ status, body: 'no such route' }));
    assert.equal(failure.code, 'HTTP_STATUS');
    assert.equal(failure.recovery, recovery);
    assert.equal(failure.message, `Cannot use "https://a.example/mcp?key=***": the server answers ${status} with "no such route"`);
    if (hint === undefined) assert.equal(failure.hint, undefined); else assert.match(failure.hint ?? '', hint);
    assert.deepEqual(failure.details, { status, url: 'https://a.example/mcp?key=***', excerpt: 'no such route' });
  });
}

test('statusFailure() shows the title of a page, not the page, and keeps Retry-After', () => {
  const failure = statusFailure(answer({ status: 502, headers: { ...html, 'retry-after': '2' }, body: page }));
  assert.match(failure.message, /502 with an HTML page titled "Sign in & go — Corp"$/);
  assert.deepEqual(failure.details, { status: 502, url: 'https://a.example/mcp?key=***', excerpt: 'Sign in & go — Corp', retryAfterMs: 2000 });
  assert.match(statusFailure(answer({ status: 404, headers: html, body: '<p>' })).message, /404 with an HTML page$/);
  assert.match(statusFailure(answer({ status: 404 })).message, /answers 404$/);
});

test('statusFailure() takes the words out of an error in JSON', () => {
  const told = (body: string, type = 'application/json'): string => {
    const failure = statusFailure(answer({ status: 400, headers: { 'content-type': type }, body }));
    return failure.code === 'HTTP_STATUS' ? failure.details.excerpt : '';
  };
  assert.equal(told('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No session"},"id":null}'), 'No session');
  assert.equal(told('{"error":"invalid_token","error_description":"it expired"}'), 'invalid_token, it expired');
  assert.equal(told('{"message":"Not here"}', 'application/problem+json; charset=utf-8'), 'Not here');
  assert.equal(told('{"detail":"token=hunter2-hunter2"}').includes('hunter2'), false);
  for (const [body, type] of [['{"error":{"code":1}}'], ['{"other":1}'], ['["x"]'], ['{"error":'], ['{"message":"x"}', 'text/plain']] as const) assert.equal(told(body, type), body);
});

test('contentFailure() says what came instead', () => {
  const message = (more: Partial<Answer>, wanted?: string): string => contentFailure(answer(more), wanted).message;
  assert.match(message({ headers: html, body: page }), /status 200 with an HTML page titled "Sign in & go — Corp" instead of JSON$/);
  assert.match(contentFailure(answer({ headers: html, body: page })).hint ?? '', /sign-in page/);
  assert.match(message({ headers: { 'content-type': 'application/json' } }), /with an empty body instead of JSON/);
  assert.match(message({ headers: { 'content-type': 'application/json' }, body: '{"a":' }), /application\/json that cannot be parsed: "{"a":" instead/);
  assert.match(message({ headers: { 'content-type': 'application/json' }, body: '{"a":1}' }, 'an answer'), /application\/json: "{"a":1}" instead of an answer/);
  assert.match(contentFailure(answer({ headers: { 'content-type': 'text/plain' }, body: 'hi' })).hint ?? '', /another service/);
  assert.equal(contentFailure(answer({ headers: { 'content-type': 'application/json' }, body: '{' })).hint, undefined);
  assert.match(message({ headers: { 'content-type': 'text/plain' }, body: 'hi' }, 'JSON or an event stream'), /text\/plain: "hi" instead of JSON or an event stream/);
  assert.match(message({ body: 'hi' }), /a body without content type: "hi"/);
});

test('redirectFailure() helps when TLS ends in front of the server', () => {
  const failure = redirectFailure(targetOf('https://a.example/mcp'), 307, new URL('http://a.example/mcp/'), 'connect');
  assert.equal(failure.code, 'URL_REFUSED');
  assert.match(failure.hint ?? '', /https:\/\/a\.example\/mcp\//);
});
