import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeHeaderValue } from '../../../src/base/header-value.ts';
import { checkParameterHeaders, checkStandardHeaders, checkVersionHeader, decodeHeaderValue } from '../../../src/mcp/server-headers.ts';

const lookup = (headers: Readonly<Record<string, string>>) => (name: string): string | undefined => headers[name];
const refused = (check: () => void): boolean => {
  try { check(); } catch (error) { assert.equal((error as { code: number }).code, -32020); return true; }
  return false;
};

test('decodeHeaderValue() undoes encodeHeaderValue() and refuses what only looks like Base64', () => {
  for (const value of ['us-west1', 'us west 1', ' x', 'café', 'a\tb', 'line\r\n', '=?base64?aGk=?=', '漢🦊', '']) assert.equal(decodeHeaderValue(encodeHeaderValue(value)), value);
  for (const literal of ['SGVsbG8=', '=?base64?SGVsbG8=', 'SGVsbG8=?=', '=?base64?=', '=?BASE64?SGVsbG8=?=']) assert.equal(decodeHeaderValue(literal), literal);
  assert.equal(decodeHeaderValue('  us \t'), 'us');
  for (const wrong of ['=?base64?SGVsbG8?=', '=?base64?SGVs!!!bG8=?=', '=?base64?SGVsbG9=?=', '=?base64?_-__?=', '=?base64?/w==?=']) assert.equal(decodeHeaderValue(wrong), undefined, wrong);
});

test('checkVersionHeader() and checkStandardHeaders() want what the body says, to the letter', () => {
  assert.ok(refused(() => checkVersionHeader(lookup({}), 'v')));
  assert.ok(refused(() => checkVersionHeader(lookup({ 'mcp-protocol-version': 'w' }), 'v')));
  assert.ok(!refused(() => checkVersionHeader(lookup({ 'mcp-protocol-version': 'v' }), 'v')));
  const standard = (headers: Readonly<Record<string, string>>, method: string, params: Readonly<Record<string, unknown>>): boolean => refused(() => checkStandardHeaders(lookup(headers), method, params));
  assert.ok(standard({}, 'tools/list', {}));
  assert.ok(standard({ 'mcp-method': 'TOOLS/LIST' }, 'tools/list', {}));
  assert.ok(!standard({ 'mcp-method': 'tools/list' }, 'tools/list', { name: 'not named by this method' }));
  for (const [method, key] of [['tools/call', 'name'], ['prompts/get', 'name'], ['resources/read', 'uri'], ['tasks/get', 'taskId']] as const) {
    assert.ok(standard({ 'mcp-method': method }, method, { [key]: 'a' }));
    assert.ok(standard({ 'mcp-method': method, 'mcp-name': 'A' }, method, { [key]: 'a' }));
    assert.ok(standard({ 'mcp-method': method, 'mcp-name': '=?base64?_?=' }, method, { [key]: '_' }));
    assert.ok(!standard({ 'mcp-method': method, 'mcp-name': encodeHeaderValue('é') }, method, { [key]: 'é' }));
    assert.ok(!standard({ 'mcp-method': method }, method, {}), 'a body without a name is wrong for another reason');
  }
});

test('checkParameterHeaders() compares each mirrored argument as its type', () => {
  const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } }, dry: { type: 'boolean', 'x-mcp-header': 'Dry' } } };
  const wrong = (headers: Readonly<Record<string, string>>, args: Readonly<Record<string, unknown>>): boolean => refused(() => checkParameterHeaders(lookup(headers), schema, args));
  assert.ok(!wrong({}, {}));
  assert.ok(!wrong({}, { region: null, deep: 4 }));
  assert.ok(!wrong({ 'mcp-param-region': 'eu', 'mcp-param-count': '42.0', 'mcp-param-dry': 'false' }, { region: 'eu', deep: { count: 42 }, dry: false }));
  assert.ok(wrong({}, { region: '' }));
  assert.ok(wrong({ 'mcp-param-region': 'us' }, { region: 'eu' }));
  assert.ok(wrong({ 'mcp-param-region': 'eu' }, {}));
  assert.ok(wrong({ 'mcp-param-count': '43' }, { deep: { count: 42 } }));
  assert.ok(wrong({ 'mcp-param-count': ' 0x2a' }, { deep: { count: 42 } }));
  assert.ok(wrong({ 'mcp-param-dry': 'FALSE' }, { dry: false }));
  assert.ok(!wrong({}, { region: 5 }), 'the schema refuses it');
  assert.ok(!refused(() => checkParameterHeaders(lookup({}), { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }, { a: 1 })), 'no client mirrors an illegal annotation');
});
