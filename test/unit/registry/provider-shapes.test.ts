import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { offered } from '../../../src/registry/native-tools.ts';
import { toChatResult, toChatResults, toChatTools, toMessageResult, toMessageTools } from '../../../src/registry/provider-shapes.ts';
import type { Part } from '../../../src/registry/results.ts';
import { entry, schema } from './entries.ts';

const tools = [offered(entry('docs', 'find', { description: 'Finds', inputSchema: schema({ q: { type: 'string' } }) }))];
const words = (text: string): Part => ({ kind: 'text', text });
const picture: Part = { kind: 'image', text: '[image: image/png (12 B)]', mediaType: 'image/png', data: 'iVBO', bytes: 12, inline: true };
const paper: Part = { kind: 'image', text: '[image: application/pdf (3 B)]', mediaType: 'application/pdf', data: 'JVBE', bytes: 3, inline: true };
const result = (callId: string, parts: readonly Part[], isError = false) => ({ callId, parts, isError });

test('toChatTools() and toMessageTools() give id, description and schema their places', () => {
  assert.deepEqual(toChatTools(tools), [{ type: 'function', function: { name: 'docs_find', description: 'Finds', parameters: schema({ q: { type: 'string' } }) } }]);
  assert.deepEqual(toMessageTools(tools), [{ name: 'docs_find', description: 'Finds', input_schema: schema({ q: { type: 'string' } }) }]);
});

describe('toChatResults()', () => {
  test('answers every call before any picture', () => {
    assert.deepEqual(toChatResults([result('a', [words('one'), picture, words('two')]), result('b', [words('three')]), result('c', [picture])]), [
      { role: 'tool', tool_call_id: 'a', content: 'one\n\n[image: image/png (12 B)]\n\ntwo' },
      { role: 'tool', tool_call_id: 'b', content: 'three' },
      { role: 'tool', tool_call_id: 'c', content: '[image: image/png (12 B)]' },
      { role: 'user', content: [
        { type: 'text', text: 'Images returned by the tool call a:' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
        { type: 'text', text: 'Images returned by the tool call c:' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
      ] },
    ]);
  });

  test('never sends an empty text, nor a document as a picture', () => {
    for (const parts of [[], [words('')], [words(' \n')]]) assert.deepEqual(toChatResult(result('a', parts)), [{ role: 'tool', tool_call_id: 'a', content: '(no output)' }]);
    assert.deepEqual(toChatResult(result('a', [paper])), [{ role: 'tool', tool_call_id: 'a', content: '[image: application/pdf (3 B)] [not passed on: only pictures are]' }]);
    assert.deepEqual(toChatResults([]), []);
  });
});

describe('toMessageResult()', () => {
  test('keeps text, pictures and documents in order', () => {
    assert.deepEqual(toMessageResult(result('a', [words('one'), picture, paper, words(''), { kind: 'binary', text: '[audio]', mediaType: 'audio/wav', data: 'AAAA', bytes: 3 }])), {
      type: 'tool_result', tool_use_id: 'a',
      content: [
        { type: 'text', text: 'one' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } }, { type: 'text', text: '[audio]' },
      ],
    });
  });

  test('says of an error with pictures in words that it is one, because a marked one may hold text only', () => {
    const shown = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    assert.deepEqual(toMessageResult(result('a', [words('MCP tool returned an error:\nno'), picture], true)), { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'MCP tool returned an error:\nno' }, shown] });
    for (const first of [[], [words('no')]]) {
      assert.deepEqual(toMessageResult(result('a', [...first, picture], true)), { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'MCP tool returned an error:' }, ...first.map(() => ({ type: 'text', text: 'no' })), shown] });
    }
  });

  test('marks errors and never is empty', () => {
    for (const parts of [[], [words(' \t\n')]]) assert.deepEqual(toMessageResult(result('a', parts)), { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '(no output)' }] });
    assert.deepEqual(toMessageResult(result('a', [words('')], true)), { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '(no output)' }], is_error: true });
  });
});
