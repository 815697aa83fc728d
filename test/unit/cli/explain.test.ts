import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure, type FailureCode, type FailureDetails } from '../../../src/base/failure.ts';
import { exitRows, exitStatus } from '../../../src/cli/exit.ts';
import { explain, failureDocument, originText } from '../../../src/cli/explain.ts';

/** One set of details per code, and what the cause must say. */
const samples: { readonly [C in FailureCode]: readonly (readonly [FailureDetails[C], RegExp])[] } = {
  USAGE: [[{}, /the words of the command line/], [{ argument: 'x' }, /the word "x"/]],
  SERVER_UNKNOWN: [[{ server: 'x', known: [], nearest: [] }, /no server is configured/], [{ server: 'x', known: ['a', 'b'], nearest: [] }, /configured are a, b/]],
  TOOL_UNKNOWN: [[{ tool: 'x', nearest: [] }, /no tool has a name like it/], [{ tool: 'x', nearest: ['y'] }, /close to it: y/]],
  ARGUMENTS_INVALID: [[{ tool: 'x', problems: [{ pointer: '/a', message: 'is bad' }, { pointer: '', message: 'is odd' }] }, /\/a is bad; is odd/]],
  CONFIG_UNREADABLE: [[{ file: '/f', line: 3, column: 4 }, /\/f:3:4/], [{ file: '/f', line: 3 }, /\/f:3:1/], [{ file: '/f' }, /\/f$/]],
  CONFIG_INVALID: [[{ problems: [{ pointer: 'mcp.x', message: 'is bad' }] }, /mcp\.x is bad/]],
  TRUST_REFUSED: [[{ file: '/f', keys: ['mcp.x.command'] }, /mcp\.x\.command in \/f/]],
  VARIABLE_UNSET: [[{ token: '{env:A}', key: 'mcp.x.headers.B' }, /\{env:A\} in mcp\.x\.headers\.B has no value/]],
  URL_REFUSED: [[{ url: 'http://x' }, /URL http:\/\/x/]],
  SPAWN_FAILED: [[{ command: 'x', system: 'ENOENT', cwd: '/d' }, /ENOENT for command "x" in \/d/], [{ command: 'x' }, /the system refused for command "x"/]],
  SERVER_EXITED: [[{ exitCode: 3, signal: null, stderrTail: 'one\ntwo\n' }, /exit code 3; its stderr: /], [{ exitCode: null, signal: 'SIGKILL', stderrTail: '' }, /ended by SIGKILL; it wrote nothing/], [{ exitCode: null, signal: null, stderrTail: 'password=hunter22' }, /ended; its stderr: password=\*\*\*/]],
  CONNECT_FAILED: [[{ address: '127.0.0.1:9', system: 'ECONNREFUSED' }, /ECONNREFUSED at 127\.0\.0\.1:9/], [{ address: 'h' }, /no connection at h/]],
  HTTP_STATUS: [[{ status: 503, url: 'http://x', excerpt: 'busy\nnow' }, /HTTP 503 from http:\/\/x: busy now/], [{ status: 404, url: 'http://x', excerpt: '' }, /HTTP 404 from http:\/\/x$/]],
  CONNECTION_CLOSED: [[{}, /the server ended the connection$/], [{ stderrTail: 'bye' }, /its stderr: bye/]],
  SESSION_LOST: [[{}, /inner|see the first line/]],
  TIMEOUT: [[{ afterMs: 5, method: 'tools/list', noiseLines: 2 }, /no answer to tools\/list within 5 ms; 2 lines came/], [{ afterMs: 5 }, /no answer within 5 ms$/]],
  PROTOCOL_VIOLATION: [[{ excerpt: 'hello' }, /it sent: hello/], [{}, /broke the protocol|inner/]],
  LIMIT_EXCEEDED: [[{ limit: 'frameBytes', maximum: 10, seen: 11 }, /frameBytes is 10, seen 11/], [{ limit: 'x', maximum: 1 }, /x is 1$/]],
  REVISION_UNSUPPORTED: [[{ ours: ['a'], theirs: ['b'] }, /ours: a; the server's: b/], [{ ours: ['a'], theirs: [] }, /not told/]],
  CAPABILITY_MISSING: [[{ capability: 'prompts' }, /does not declare "prompts"/]],
  REMOTE_ERROR: [[{ rpcCode: -32602, method: 'tools/call', data: { token: 'abcdef' } }, /-32602 to tools\/call: .*\*\*\*/], [{ rpcCode: -1, method: 'm' }, /-1 to m$/]],
  LOGIN_REQUIRED: [[{}, /./]], LOGIN_REFUSED: [[{}, /./]], ISSUER_UNTRUSTED: [[{ issuer: 'x' }, /./]], TOKEN_REFUSED: [[{}, /./]],
  PERMISSION_DENIED: [[{ tool: 'x', why: 'rule', rule: '"x": "deny"' }, /rule "x": "deny"/], [{ tool: 'x', why: 'rule' }, /a rule/], [{ tool: 'x', why: 'declined' }, /said no/], [{ tool: 'x', why: 'nobody' }, /nobody is here/]],
  OUTCOME_UNKNOWN: [[{ why: 'closed', method: 'tools/call', elapsedMs: 12.4 }, /the connection ended before the answer \(tools\/call, 12 ms\)/]],
  INTERNAL: [[{}, /inner|see the first line/]],
  CANCELED: [[{}, /it was canceled/], [{ method: 'tools/call' }, /tools\/call was canceled/]],
};
const flat = (failure: AnyFailure): string => explain(failure).map((line) => line.map((span) => (typeof span === 'string' ? span : span.text)).join('')).join('\n');

for (const code of Object.keys(samples) as FailureCode[]) {
  test(`explain() and failureDocument() give the five things of ${code}`, () => {
    for (const [details, cause] of samples[code]) {
      for (const inner of [undefined, new Error('inner')]) {
        const failure = new Failure(code, 'Cannot do it', { stage: 'call', details: details as never, cause: inner, recovery: 'retryable' }) as AnyFailure;
        const text = flat(failure);
        const [, said = ''] = /^ {2}cause {3}(.*(?:\n {10}.*)*)$/m.exec(text) ?? [];
        assert.match(said, cause);
        for (const row of ['stage', 'cause', 'repeat', 'origin', 'next']) assert.match(text, new RegExp(`^  ${row} +\\S`, 'm'));
        const document = failureDocument(failure) as Record<string, unknown>;
        assert.deepEqual(Object.keys(document), ['code', 'stage', 'message', 'cause', 'recovery', 'details', 'origin', 'hint']);
        assert.equal(typeof document['hint'], 'string');
        assert.doesNotMatch(JSON.stringify(document), /hunter22|abcdef/);
      }
    }
    assert.ok(exitRows.some(([status]) => status === String(exitStatus[code])));
  });
}

test('explain() takes the server of the next command from the origin', () => {
  const of = (key: string): string => flat(new Failure('CONNECTION_CLOSED', 'x', { stage: 'call', details: {}, origin: { file: '/f', layer: 'global', key, line: 2 } }) as AnyFailure);
  assert.match(of('mcp.docs'), /next {4}zuno-lite mcp debug docs$/m);
  assert.match(of('mcp.servers.docs'), /debug docs$/m);
  assert.match(of('mcpServers.docs.env'), /debug docs$/m);
  assert.match(of('other'), /debug NAME$/m);
  assert.match(of('mcp.docs'), /origin {2}\/f:2 \(global\), mcp\.docs$/m);
});

test('explain() shows a stderr of several lines under each other, the last eight', () => {
  const text = flat(new Failure('SERVER_EXITED', 'x', { stage: 'spawn', details: { exitCode: 1, signal: null, stderrTail: Array.from({ length: 12 }, (_, n) => `line ${n}`).join('\n') } }) as AnyFailure);
  assert.match(text, /its stderr: \n {10}line 4\n/);
  assert.doesNotMatch(text, /line 3\b/);
});

test('originText() has file, line, column, layer and key', () => {
  assert.equal(originText({ file: 'f', layer: 'cli', line: 1, column: 2, key: 'k' }), 'f:1:2 (cli), k');
  assert.equal(originText({ file: 'f', layer: 'cli' }), 'f (cli)');
});

test('origin of a wrong use is the command line, of a plain ask the policy', () => {
  const of = (stage: 'usage' | 'permission'): string => flat(new Failure('USAGE', 'x', { stage, details: {} }) as AnyFailure);
  assert.match(of('usage'), /origin {2}the command line$/m);
  assert.match(of('permission'), /origin {2}no rule: /m);
});
