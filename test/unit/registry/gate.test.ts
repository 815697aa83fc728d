import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import type { CallToolResult } from '../../../src/mcp/types.ts';
import { createGate } from '../../../src/registry/gate.ts';
import type { AuditRecord, Gate, GateOptions, Permit } from '../../../src/registry/gate.ts';
import type { Approval, ApprovalAnswer, Outcome, Rule } from '../../../src/registry/types.ts';
import { entry, permissions, result, rule, schema, words } from './entries.ts';

interface Setting extends Partial<GateOptions> { readonly rules?: readonly Rule[]; readonly answer?: () => Promise<ApprovalAnswer> | ApprovalAnswer; readonly result?: CallToolResult }

function setUp(setting: Setting = {}): { gate: Gate; calls: { tool: string; args: JsonObject }[]; asked: Approval[] } {
  const calls: { tool: string; args: JsonObject }[] = [], asked: Approval[] = [];
  const { answer } = setting;
  const gate = createGate({
    permissions: permissions(setting.rules ?? [rule('*', 'allow')]),
    async invoke(permit, take) {
      const { entry: called, args } = take(permit);
      calls.push({ tool: called.tool, args });
      return setting.result ?? result([words('done')]);
    },
    ...(answer === undefined ? {} : { approve: async (approval: Approval) => { asked.push(approval); return answer(); } }),
    ...setting,
  });
  return { gate, calls, asked };
}

const search = entry('docs', 'search', { inputSchema: schema({ query: { type: 'string' }, limit: { type: 'integer', default: 10 } }, { required: ['query'] }) });
const failureOf = (outcome: Outcome) => { assert.ok('failure' in outcome, outcome.kind); return outcome.failure; };

describe('call()', () => {
  test('calls an allowed tool by its own name and returns the result (row 118)', async () => {
    const { gate, calls } = setUp();
    const outcome = await gate.call(entry('my server', 'read:file'), { path: 'x' });
    assert.equal(outcome.kind, 'ok');
    assert.deepEqual(calls, [{ tool: 'read:file', args: { path: 'x' } }]);
  });

  test('takes null and nothing for an empty object and refuses other arguments', async () => {
    const { gate, calls } = setUp();
    const plain = entry('docs', 'list');
    for (const args of [null, undefined, {}]) assert.equal((await gate.call(plain, args)).kind, 'ok');
    assert.deepEqual(calls.map(({ args }) => args), [{}, {}, {}]);
    for (const args of [[], 'x', 3]) {
      const outcome = await gate.call(plain, args);
      assert.equal(outcome.kind, 'blocked');
      assert.equal(failureOf(outcome).code, 'ARGUMENTS_INVALID');
    }
  });

  test('refuses arguments that break the schema, with pointers and the signature', async () => {
    const { gate, calls, asked } = setUp({ rules: [], answer: () => 'once' });
    const outcome = await gate.call(search, { limit: 'many' });
    assert.ok(outcome.kind === 'blocked');
    assert.equal(outcome.failure.code, 'ARGUMENTS_INVALID');
    assert.deepEqual(outcome.problems, [{ pointer: '', message: 'must have the property "query"' }, { pointer: '/limit', message: 'must be an integer, but is a string' }]);
    assert.equal(outcome.failure.message, 'Cannot call "docs_search": the arguments must have the property "query"; /limit must be an integer, but is a string');
    assert.equal(outcome.failure.hint, 'docs_search(query: string, limit?: integer = 10)');
    assert.equal(calls.length + asked.length, 0);
  });

  test('counts the problems that it does not spell out', async () => {
    const strict = entry('docs', 'x', { inputSchema: schema({}, { additionalProperties: false }) });
    assert.match(failureOf(await setUp().gate.call(strict, { a: 1, b: 1, c: 1, d: 1, e: 1 })).message, /and 2 more problems$/);
  });

  test('leaves the arguments to the server when the schema cannot be used, and says so', async () => {
    const { gate, calls } = setUp();
    const outcome = await gate.call(entry('docs', 'x', { inputSchema: { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:9/x.json' } } } }), { a: 1 });
    assert.ok(outcome.kind === 'ok');
    assert.match(outcome.warnings[0]!, /cannot be checked .*the server decides/);
    assert.equal(calls.length, 1);
  });

  test('a denied call is refused with its rule and origin (row 125)', async () => {
    const { gate, calls } = setUp({ rules: [rule('docs_*', 'deny')], assumeYes: true, answer: () => 'once' });
    const failure = failureOf(await gate.call(entry('docs', 'write'), {}));
    assert.ok(failure.code === 'PERMISSION_DENIED');
    assert.deepEqual(failure.details, { tool: 'docs_write', why: 'rule', rule: '"docs_*": "deny"' });
    assert.equal(failure.origin?.line, 7);
    assert.match(failure.hint ?? '', /"docs_write": "allow" after it/);
    assert.match(failure.message, /^Cannot call "docs_write": the rule "docs_\*": "deny" of .* denies "docs_write"$/);
    assert.equal(calls.length, 0);
  });

  test('nobody to ask means refused, with the rule line to add (row 129)', async () => {
    const failure = failureOf(await setUp({ rules: [], ruleFile: '/home/x/.config/zuno/zuno.json' }).gate.call(search, { query: 'x' }));
    assert.ok(failure.code === 'PERMISSION_DENIED');
    assert.deepEqual(failure.details, { tool: 'docs_search', why: 'nobody' });
    assert.equal(failure.hint, 'Add "permission": { "rules": { "docs_search": "allow" } } to /home/x/.config/zuno/zuno.json, or run it once with --allow docs_search or --yes');
    assert.equal(failure.message, 'Cannot call "docs_search": no rule matches "docs_search", so it needs a yes, and nobody can be asked here');
    for (const answer of ['nobody', 'maybe' as ApprovalAnswer] as const) {
      const other = failureOf(await setUp({ rules: [], answer: () => answer }).gate.call(search, { query: 'x' }));
      assert.ok(other.code === 'PERMISSION_DENIED' && other.details.why === 'nobody');
    }
  });

  test('a no is told as a no', async () => {
    const failure = failureOf(await setUp({ rules: [rule('docs_*', 'ask')], answer: () => 'no' }).gate.call(search, { query: 'x' }));
    assert.ok(failure.code === 'PERMISSION_DENIED');
    assert.deepEqual(failure.details, { tool: 'docs_search', why: 'declined', rule: '"docs_*": "ask"' });
    assert.match(failure.hint ?? '', /^To allow it always, add "permission"/);
  });

  test('once asks again, always does not for the same definition (row 131)', async () => {
    let answer: ApprovalAnswer = 'once';
    const { gate, asked } = setUp({ rules: [], answer: () => answer });
    await gate.call(search, { query: 'x' });
    await gate.call(search, { query: 'x' });
    assert.equal(asked.length, 2);
    answer = 'always';
    await gate.call(search, { query: 'x' });
    assert.equal((await gate.call(search, { query: 'y' })).kind, 'ok');
    assert.equal(asked.length, 3);
    assert.equal(gate.decide(search).effect, 'allow');
    assert.equal(gate.decide(entry('docs', 'write')).effect, 'ask');
    await gate.call({ ...search, fingerprint: 'changed' }, { query: 'x' });
    assert.equal(asked.length, 4);
  });

  test('always is not remembered in strict mode (row 128)', async () => {
    const { gate, asked } = setUp({ permissions: permissions([], 'strict'), answer: () => 'always' });
    await gate.call(search, { query: 'x' });
    await gate.call(search, { query: 'x' });
    assert.equal(asked.length, 2);
    assert.equal(gate.decide(search).effect, 'ask');
  });

  test('shows the person server, tool and arguments with secrets masked (row 138)', async () => {
    const { gate, asked, calls } = setUp({ rules: [], answer: () => 'once' });
    const args = { query: 'curl -H "Authorization: Bearer abcdef123456"', api_key: 'k-1', nested: { password: 'p', list: ['token=abc', 1, null] } };
    await gate.call({ ...search, definition: { ...search.definition, inputSchema: schema({}) } }, args);
    assert.equal(asked[0]!.entry.server, 'docs');
    assert.equal(asked[0]!.entry.tool, 'search');
    assert.deepEqual(asked[0]!.args, { query: 'curl -H "Authorization: ***"', api_key: '***', nested: { password: '***', list: ['token=***', 1, null] } });
    assert.deepEqual(calls[0]!.args, args);
  });

  test('asks one question at a time for one tool, and an always settles those who wait', async () => {
    const answers: ((answer: ApprovalAnswer) => void)[] = [];
    const { gate, asked } = setUp({ rules: [], answer: () => new Promise((resolve) => { answers.push(resolve); }) });
    const outcomes = [1, 2, 3].map((n) => gate.call(search, { query: String(n) }));
    const other = gate.call(entry('docs', 'other'), {});
    await turn();
    assert.equal(asked.length, 2);
    answers[1]!('once');
    assert.equal((await other).kind, 'ok');
    answers[0]!('once');
    await outcomes[0];
    await turn();
    assert.equal(asked.length, 3);
    answers[2]!('always');
    assert.deepEqual((await Promise.all(outcomes)).map(({ kind }) => kind), ['ok', 'ok', 'ok']);
    assert.equal(asked.length, 3);
  });

  test('a call given up while asking, or while waiting to be asked, is canceled and never made', async () => {
    const { gate, asked, calls } = setUp({ rules: [], answer: () => new Promise<ApprovalAnswer>(() => {}) });
    const first = new AbortController(), second = new AbortController();
    const asking = gate.call(search, { query: '1' }, { signal: first.signal });
    const waiting = gate.call(search, { query: '2' }, { signal: second.signal });
    const third = new AbortController();
    const last = gate.call(search, { query: '3' }, { signal: third.signal });
    await turn();
    second.abort();
    assert.equal(failureOf(await waiting).code, 'CANCELED');
    assert.equal(asked.length, 1);
    first.abort();
    const outcome = await asking;
    assert.equal(outcome.kind, 'blocked');
    assert.equal(failureOf(outcome).code, 'CANCELED');
    await turn();
    assert.equal(asked.length, 2);
    third.abort();
    assert.equal(failureOf(await last).code, 'CANCELED');
    assert.equal(failureOf(await gate.call(search, { query: '4' }, { signal: first.signal })).code, 'CANCELED');
    assert.equal(calls.length, 0);
  });

  test('an abort that comes with the yes keeps the call from being made', async () => {
    const controller = new AbortController();
    const { gate, calls } = setUp({ rules: [], approve: async () => { controller.abort(); return 'once'; } });
    assert.equal(failureOf(await gate.call(search, { query: '1' }, { signal: controller.signal })).code, 'CANCELED');
    const { gate: patient, calls: made } = setUp({ rules: [], answer: () => 'once' });
    assert.equal((await patient.call(search, { query: '1' }, { signal: new AbortController().signal })).kind, 'ok');
    assert.deepEqual([calls.length, made.length], [0, 1]);
  });

  test('whoever fails to ask counts as nobody; a failure of theirs is passed on', async () => {
    const broken = await setUp({ rules: [], approve: async () => { throw new Error('terminal gone'); } }).gate.call(search, { query: 'x' });
    const failure = failureOf(broken);
    assert.ok(failure.code === 'PERMISSION_DENIED' && failure.details.why === 'nobody');
    assert.equal((failure.cause as Error).message, 'terminal gone');
    const stop = new Failure('CANCELED', 'Cannot go on: stopped', { stage: 'permission', details: {} });
    assert.equal(failureOf(await setUp({ rules: [], approve: async () => { throw stop; } }).gate.call(search, { query: 'x' })), stop);
  });

  test('maps what the call became: tool_error, failed, unknown', async () => {
    const isError = await setUp({ result: result([words('boom')], { isError: true }) }).gate.call(search, { query: 'x' });
    assert.equal(isError.kind, 'tool_error');
    const rejecting = (failure: unknown) => setUp({ invoke: async (permit, take) => { take(permit); throw failure; } }).gate.call(search, { query: 'x' });
    const refused = new Failure('CONNECT_FAILED', 'Cannot reach', { stage: 'connect', recovery: 'retryable', details: { address: 'x' } });
    assert.deepEqual(await rejecting(refused), { kind: 'failed', failure: refused });
    const late = new Failure('TIMEOUT', 'Cannot wait', { stage: 'call', recovery: 'unknown', details: { afterMs: 5 } });
    assert.deepEqual(await rejecting(late), { kind: 'unknown', failure: late });
    const lost = new Failure('OUTCOME_UNKNOWN', 'Cannot tell', { stage: 'call', details: { why: 'closed', method: 'tools/call', elapsedMs: 1 } });
    assert.equal((await rejecting(lost)).kind, 'unknown');
    const bug = await rejecting(new RangeError('oops'));
    assert.equal(bug.kind, 'unknown');
    assert.equal(failureOf(bug).code, 'INTERNAL');
    const before = await setUp({ invoke: async () => { throw new RangeError('oops'); } }).gate.call(search, { query: 'x' });
    assert.equal(before.kind, 'failed');
  });

  test('keeps a result that breaks its output schema and tells; never checks an error', async () => {
    const typed = entry('docs', 'count', { outputSchema: schema({ n: { type: 'integer' } }, { required: ['n'] }) });
    const warningsOf = async (more: Partial<CallToolResult>): Promise<readonly string[]> => {
      const outcome = await setUp({ result: result([words('x')], more) }).gate.call(typed, {});
      assert.ok(outcome.kind === 'ok' || outcome.kind === 'tool_error');
      assert.deepEqual(outcome.result.content, [words('x')]);
      return outcome.warnings;
    };
    assert.deepEqual(await warningsOf({ structuredContent: { n: 1 } }), []);
    assert.match((await warningsOf({ structuredContent: { n: 'x' } }))[0]!, /breaks its output schema in 1 place: \/n must be an integer/);
    assert.match((await warningsOf({ structuredContent: {} }))[0]!, /the value must have the property "n"/);
    assert.match((await warningsOf({}))[0]!, /returned no structured content/);
    assert.deepEqual(await warningsOf({ isError: true }), []);
    const odd = entry('docs', 'odd', { outputSchema: { $ref: 'http://127.0.0.1:9/x' } });
    const outcome = await setUp({ result: result([], { structuredContent: 1 }) }).gate.call(odd, {});
    assert.ok(outcome.kind === 'ok');
    assert.deepEqual(outcome.warnings, []);
  });

  test('never rejects, whatever the entry does', async () => {
    const broken = { ...search, get definition(): never { throw new RangeError('broken entry'); } };
    const outcome = await setUp().gate.call(broken, {});
    assert.equal(outcome.kind, 'blocked');
    assert.equal(failureOf(outcome).code, 'INTERNAL');
  });
});

describe('permits', () => {
  test('a call without a fresh permit is impossible', async () => {
    let kept: Permit | undefined;
    const { gate } = setUp({ invoke: async (permit, take) => { kept = permit; assert.deepEqual(Object.keys(permit), []); take(permit); assert.throws(() => take(permit), TypeError); return result([]); } });
    assert.equal((await gate.call(search, { query: 'x' })).kind, 'ok');
    assert.throws(() => gate.takePermit(kept!), /fresh permit/);
    assert.throws(() => gate.takePermit(Object.freeze({}) as Permit), TypeError);
    const other = setUp().gate;
    const mixed = setUp({ invoke: async (permit) => { other.takePermit(permit); return result([]); } });
    assert.equal((await mixed.gate.call(search, { query: 'x' })).kind, 'failed');
  });

  test('a result without the permit being spent is not believed', async () => {
    const outcome = await setUp({ invoke: async () => result([words('forged')]) }).gate.call(search, { query: 'x' });
    assert.equal(outcome.kind, 'failed');
    assert.equal(failureOf(outcome).code, 'INTERNAL');
  });
});

describe('audit', () => {
  test('records every call by the names of its arguments', async () => {
    const records: AuditRecord[] = [];
    const audit = (record: AuditRecord): void => { records.push(record); };
    const { gate } = setUp({ rules: [], audit, answer: () => 'always' });
    await gate.call(search, { query: 'hush' });
    await gate.call(search, { query: 'hush' });
    await gate.call(search, {});
    assert.deepEqual(records.map(({ outcome, answer, code }) => [outcome, answer, code]), [['ok', 'always', undefined], ['ok', 'remembered', undefined], ['blocked', undefined, 'ARGUMENTS_INVALID']]);
    assert.deepEqual(records[0]!.argumentNames, ['query']);
    assert.equal(records[0]!.decision?.effect, 'ask');
    assert.ok(!JSON.stringify(records).includes('hush'));
  });

  test('a note that cannot be written does not change the outcome', async () => {
    assert.equal((await setUp({ audit: () => { throw new Error('disk full'); } }).gate.call(search, { query: 'x' })).kind, 'ok');
  });
});

test('hidden() follows the policy (row 125)', () => {
  assert.equal(setUp({ rules: [rule('docs_*', 'deny')] }).gate.hidden(search), true);
  assert.equal(setUp().gate.hidden(search), false);
});

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });
