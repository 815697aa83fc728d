import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Notice } from '../../../src/jsonrpc/transport.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import { headerParameters, parameterHeaders } from '../../../src/mcp/header-parameters.ts';
import { clientInfo, createModernPeer, type ScriptedPeer } from '../../support/scripted-peer.ts';

const header = (name: unknown, type: unknown = 'string'): object => ({ type, 'x-mcp-header': name });
const schema = (properties: object, rest: object = {}): Record<string, unknown> => ({ type: 'object', properties, ...rest });
const reasonOf = (input: Record<string, unknown>): string | undefined => { const found = headerParameters(input); return found.kind === 'illegal' ? found.reason : undefined; };

test('headerParameters() finds annotations wherever properties lead, and only there (MCP 2026-07-28, x-mcp-header)', () => {
  assert.deepEqual(headerParameters(schema({ a: header('Zone'), n: header('Method', 'integer'), o: schema({ deep: header("!#$%&'*+-.^_`|~9z", 'boolean') }), plain: { type: 'number' } })), { kind: 'legal', parameters: [
    { path: ['a'], type: 'string', header: 'Mcp-Param-Zone' }, { path: ['n'], type: 'integer', header: 'Mcp-Param-Method' }, { path: ['o', 'deep'], type: 'boolean', header: "Mcp-Param-!#$%&'*+-.^_`|~9z" },
  ] });
  assert.deepEqual(headerParameters({}), { kind: 'legal', parameters: [] });
});

test('headerParameters() calls every annotation illegal that is not exactly right', () => {
  const rows: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    ...['', 7, null, undefined, {}].map((name) => [schema({ a: { type: 'string', 'x-mcp-header': name } }), /not a non-empty string/] as const),
    ...['a b', 'a:b', 'é', 'a\tb', 'a/b', '(a)', 'a\n'].map((name) => [schema({ a: header(name) }), /characters/] as const),
    [schema({ a: header('Zone'), b: header('zONE') }), /used twice/],
    ...['number', 'object', 'array', 'null', undefined, ['string']].map((type) => [schema({ a: { 'x-mcp-header': 'A', ...(type === undefined ? {} : { type }) } }), /no string, integer or boolean/] as const),
    [schema({}, { 'x-mcp-header': 'A' }), /no single argument/],
    ...['items', 'additionalProperties', 'not', 'if', 'then', 'else'].map((key) => [schema({ a: { [key]: header('A') } }), /no single argument/] as const),
    ...['prefixItems', 'oneOf', 'anyOf', 'allOf'].map((key) => [schema({ a: { [key]: [header('A')] } }), /no single argument/] as const),
    ...['$defs', 'definitions', 'patternProperties', 'dependentSchemas'].map((key) => [schema({}, { [key]: { x: header('A') } }), /no single argument/] as const),
    [schema({}, { $defs: { x: schema({ a: header('A') }) } }), /no single argument/],
  ];
  for (const [input, reason] of rows) assert.match(reasonOf(input) ?? '', reason, JSON.stringify(input));
});

test('headerParameters() takes data for data, and bounds how deep it looks', () => {
  for (const key of ['default', 'const', 'examples', 'enum']) assert.equal(reasonOf(schema({ a: { [key]: [header('A')] } })), undefined, key);
  let deep: Record<string, unknown> = schema({});
  for (let i = 0; i < 100; i++) deep = schema({ a: deep });
  assert.match(reasonOf(deep) ?? '', /too deep/);
});

test('headerParameters() takes a property or definition for what it is, though it is called like a keyword', () => {
  assert.deepEqual(headerParameters(schema({ 'x-mcp-header': header('A'), properties: schema({ default: header('B') }), __proto__: { type: 'string' } })), { kind: 'legal', parameters: [
    { path: ['x-mcp-header'], type: 'string', header: 'Mcp-Param-A' }, { path: ['properties', 'default'], type: 'string', header: 'Mcp-Param-B' },
  ] });
  assert.deepEqual(headerParameters(schema({ a: { type: 'string' } }, { $defs: { 'x-mcp-header': { type: 'string' } }, patternProperties: { 'x-mcp-header': {} } })), { kind: 'legal', parameters: [] });
  assert.match(reasonOf(schema({}, { properties: [header('A')] })) ?? '', /no single argument/);
});

test('parameterHeaders() leaves out what is not of the announced type, for the server to refuse', () => {
  const found = headerParameters(schema({ s: header('S'), n: header('N', 'integer'), b: header('B', 'boolean') }));
  assert.ok(found.kind === 'legal');
  for (const args of [{ s: 1, n: '1', b: 'true' }, { s: true, n: false, b: 0 }, { s: ['x'], n: NaN, b: {} }]) assert.equal(parameterHeaders(found.parameters, args), undefined);
  const tricky = headerParameters(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string","x-mcp-header":"P"},"constructor":{"type":"string","x-mcp-header":"C"}}}') as Record<string, unknown>);
  assert.ok(tricky.kind === 'legal');
  assert.equal(parameterHeaders(tricky.parameters, {}), undefined);
  assert.deepEqual(parameterHeaders(tricky.parameters, JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, unknown>), { 'Mcp-Param-P': 'a', 'Mcp-Param-C': 'b' });
});

test('parameterHeaders() mirrors what is there, falsy values too, and nothing else', () => {
  const found = headerParameters(schema({ s: header('S'), n: header('N', 'integer'), b: header('B', 'boolean'), o: schema({ x: header('X') }) }));
  assert.ok(found.kind === 'legal');
  const of = (args: Record<string, unknown>): unknown => parameterHeaders(found.parameters, args);
  assert.deepEqual(of({ s: 'us west', n: -7, b: true, o: { x: 'é' } }), { 'Mcp-Param-S': 'us west', 'Mcp-Param-N': '-7', 'Mcp-Param-B': 'true', 'Mcp-Param-X': '=?base64?w6k=?=' });
  assert.deepEqual(of({ s: '', n: 0, b: false }), { 'Mcp-Param-S': '=?base64??=', 'Mcp-Param-N': '0', 'Mcp-Param-B': 'false' });
  for (const args of [{}, { s: null, n: 1.5, b: null, o: 'x' }, { n: 2 ** 53, s: {}, o: null }]) assert.equal(of(args), undefined);
});

// ---- the client over HTTP

const tools = [{ name: 'zoned', inputSchema: schema({ zone: header('Zone') }) }, { name: 'bad', inputSchema: schema({ zone: header('a b') }) }];

async function over(kind: 'streamable-http' | 'stdio', peer: ScriptedPeer): Promise<Awaited<ReturnType<typeof connectClient>>> {
  const notices: Notice[] = [];
  return connectClient({ clientInfo, transport: () => ({ ...peer.transport, kind, perRequest: kind !== 'stdio' }), onNotice: (notice) => notices.push(notice) });
}
const headersOf = (peer: ScriptedPeer): unknown[] => peer.outgoing.flatMap((message) => (message.kind === 'request' && message.method === 'tools/call' ? [message.headers] : []));

test('a client over HTTP leaves out the tool with an illegal annotation and mirrors the others\' arguments', async () => {
  const peer = createModernPeer({ answers: { 'tools/list': () => ({ result: { resultType: 'complete', tools } }), 'tools/call': () => ({ result: { resultType: 'complete', content: [] } }) } });
  const client = await over('streamable-http', peer);
  const { items, dropped } = await client.listTools();
  assert.deepEqual([items.map(({ name }) => name), dropped.map(({ name }) => name)], [['zoned'], ['bad']]);
  await client.callTool('zoned', { zone: 'eu-1' });
  await client.callTool('unlisted', { zone: 'eu-1' });
  assert.deepEqual(headersOf(peer), [{ 'Mcp-Param-Zone': 'eu-1' }, undefined]);
});

test('a client over a pipe knows nothing of headers', async () => {
  const peer = createModernPeer({ answers: { 'tools/list': () => ({ result: { resultType: 'complete', tools } }), 'tools/call': () => ({ result: { resultType: 'complete', content: [] } }) } });
  const client = await over('stdio', peer);
  assert.equal((await client.listTools()).items.length, 2);
  await client.callTool('zoned', { zone: 'eu-1' });
  assert.deepEqual(headersOf(peer), [undefined]);
});

test('a refusal of the headers lists the tools anew and calls once more, not twice', async () => {
  const peer = createModernPeer({ answers: { 'tools/list': () => ({ result: { resultType: 'complete', tools } }), 'tools/call': (_request, self) => {
    const last = headersOf(self).at(-1) as Record<string, string> | undefined;
    return last?.['Mcp-Param-Zone'] === 'eu-1' ? { result: { resultType: 'complete', content: [] } } : { error: { code: -32020, message: 'Mcp-Param-Zone is missing' } };
  } } });
  const client = await over('streamable-http', peer);
  assert.deepEqual((await client.callTool('zoned', { zone: 'eu-1' })).content, []);
  assert.deepEqual(headersOf(peer), [undefined, { 'Mcp-Param-Zone': 'eu-1' }]);
  await assert.rejects(client.callTool('zoned', { zone: 'us-1' }), /-32020/);
  assert.equal(headersOf(peer).length, 4);
});
