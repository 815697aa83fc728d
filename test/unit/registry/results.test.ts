import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderResource, renderResult, textOf } from '../../../src/registry/results.ts';
import type { Part } from '../../../src/registry/results.ts';
import { result, words } from './entries.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64');
const texts = (parts: readonly Part[]): string[] => parts.map((part) => part.text);

describe('renderResult()', () => {
  test('makes every block type visible, in the server’s order (row 167)', () => {
    const { parts, isError } = renderResult(result([
      words('first'),
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///a.txt', name: 'a', title: 'A file', mimeType: 'text/plain', size: 2048, description: 'notes' },
      { type: 'resource_link', uri: 'file:///b', name: 'b' },
      { type: 'resource', resource: { uri: 'file:///c', mimeType: 'text/plain', text: 'body' } },
      { type: 'resource', resource: { uri: 'file:///d', mimeType: 'application/zip', blob: 'AAAAAAAA' } },
      { type: 'unknown', block: { type: 'hologram', z: 1 } },
      { type: 'unknown', block: undefined },
    ]));
    assert.equal(isError, false);
    assert.deepEqual(texts(parts), [
      'first', '[image: image/png (12 B)]', '[MCP audio content omitted: audio/wav (3 B)]',
      'Resource link: a\nTitle: A file\nURI: file:///a.txt\nMIME: text/plain\nSize: 2.0 KiB\nDescription: notes', 'Resource link: b\nURI: file:///b',
      'Resource: file:///c\nMIME: text/plain\n\nbody', 'Resource: file:///d\nMIME: application/zip\n[MCP resource blob omitted: application/zip (6 B)]',
      '{"type":"hologram","z":1}', 'null',
    ]);
    assert.deepEqual(parts[1], { kind: 'image', text: '[image: image/png (12 B)]', mediaType: 'image/png', data: PNG, bytes: 12, inline: true });
    assert.deepEqual(parts[2], { kind: 'binary', text: '[MCP audio content omitted: audio/wav (3 B)]', mediaType: 'audio/wav', data: 'AAAA', bytes: 3 });
  });

  test('refuses an svg image with reason and size (row 170)', () => {
    assert.deepEqual(texts(renderResult(result([{ type: 'image', data: 'PHN2Zy8+', mimeType: 'image/svg+xml' }])).parts), ['[MCP image content omitted: image/svg+xml (6 B): this media type is not passed on]']);
  });

  test('puts structured content last, and empty ones nowhere (row 168)', () => {
    assert.deepEqual(texts(renderResult(result([words('a'), words('b')], { structuredContent: { n: 1 } })).parts), ['a', 'b', 'Structured content:\n{\n  "n": 1\n}']);
    for (const structuredContent of [undefined, null, [], {}]) assert.deepEqual(texts(renderResult(result([words('a')], { structuredContent })).parts), ['a']);
    for (const structuredContent of [0, false, '']) assert.deepEqual(texts(renderResult(result([], { structuredContent })).parts), [`Structured content:\n${JSON.stringify(structuredContent)}`]);
  });

  test('leaves structured content out where a text block already is that JSON (row 168)', () => {
    assert.deepEqual(texts(renderResult(result([words('{ "b": 2, "a": 1 }')], { structuredContent: { a: 1, b: 2 } })).parts), ['{ "b": 2, "a": 1 }']);
    assert.equal(renderResult(result([words('{"a":2}')], { structuredContent: { a: 1 } })).parts.length, 2);
  });

  test('marks an error, unless the result brings its own words (row 169)', () => {
    const rendered = renderResult(result([words('boom')], { isError: true }));
    assert.equal(rendered.isError, true);
    assert.deepEqual(texts(rendered.parts), ['MCP tool returned an error:\nboom']);
    assert.deepEqual(texts(renderResult(result([], { isError: true })).parts), ['MCP tool returned an error:']);
    assert.deepEqual(texts(renderResult(result([{ type: 'audio', data: '', mimeType: '' }], { isError: true })).parts), ['MCP tool returned an error:', '[MCP audio content omitted: unknown (0 B)]']);
    const own = renderResult(result([words('boom')], { isError: true, _meta: { 'zcode/errorPresentation': 'message-only' } }));
    assert.deepEqual([own.isError, texts(own.parts)], [true, ['boom']]);
  });

  test('tells of pictures and sounds that lack their data or their type (row 167)', () => {
    const unknown = (block: unknown) => ({ type: 'unknown' as const, block });
    const { parts } = renderResult(result([unknown({ type: 'image', mimeType: 'image/png' }), unknown({ type: 'image', data: PNG }), unknown({ type: 'audio', data: 'AAAA' }), unknown({ type: 'audio' }), unknown({ type: 'text' })]));
    assert.deepEqual(texts(parts), [
      '[MCP image content omitted: image/png (no data)]', '[MCP image content omitted: unknown (12 B): this media type is not passed on]', '[MCP audio content omitted: unknown (3 B)]',
      '[MCP audio content omitted: unknown (no data)]', '{"type":"text"}',
    ]);
  });

  test('leaves control characters, escapes and directions as they came (row 167)', () => {
    const odd = '\u001b[31mred\u0007\r\n\u0000\u202eback\u2028';
    assert.deepEqual(texts(renderResult(result([words(odd), { type: 'resource', resource: { uri: `x:${odd}`, text: odd } }, { type: 'resource_link', uri: 'x:y', name: odd }])).parts), [odd, `Resource: x:${odd}\n\n${odd}`, `Resource link: ${odd}\nURI: x:y`]);
    assert.deepEqual(texts(renderResult(result([words(odd)], { isError: true })).parts), [`MCP tool returned an error:\n${odd}`]);
  });

  test('shows a link of nothing but emptiness as the JSON that it is (row 167)', () => {
    assert.deepEqual(texts(renderResult(result([{ type: 'resource_link', uri: '', name: '' }])).parts), ['{"type":"resource_link","uri":"","name":""}']);
  });

  test('compares structured content with a text that nests without end', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    assert.equal(renderResult(result([words(deep)], { structuredContent: [[1]] })).parts.length, 2);
    for (const [text, structuredContent, same] of [['[1,2]', [1, 2], true], ['[1]', [1, 2], false], ['{"a":1}', { b: 1 }, false], ['{"a":[{"b":null}]}', { a: [{ b: null }] }, true], ['{"a":1}', [1], false], ['[1]', { a: 1 }, false], ['7', 7, true]] as const) {
      assert.equal(renderResult(result([words(text)], { structuredContent })).parts.length, same ? 1 : 2, text);
    }
  });

  test('shows a result of nothing but extras as the JSON that it is', () => {
    assert.deepEqual(texts(renderResult(result([], { _meta: { job: 7 } })).parts), ['{"content":[],"_meta":{"job":7}}']);
    assert.deepEqual(texts(renderResult(result([], { structuredContent: {} })).parts), ['{"content":[],"structuredContent":{}}']);
    assert.deepEqual(texts(renderResult(result([], { isError: true, _meta: { 'zcode/errorPresentation': 'message-only' } })).parts), ['']);
  });

  test('is one empty text when there is nothing', () => {
    assert.deepEqual(renderResult(result([])).parts, [{ kind: 'text', text: '' }]);
    assert.deepEqual(renderResult(result([words('')])).parts, [{ kind: 'text', text: '' }]);
  });
});

describe('renderResource()', () => {
  test('shows a blob of an allowed type as the image it is', () => {
    const parts = renderResource({ uri: 'file:///x.png', mimeType: 'image/png', blob: PNG });
    assert.deepEqual(parts.map(({ kind }) => kind), ['text', 'image']);
  });

  test('shows the text and tells of the bytes of a resource that has both', () => {
    assert.deepEqual(texts(renderResource({ uri: 'x:y', text: 'words', blob: 'AAAA' })), ['Resource: x:y\n\nwords', '[MCP resource blob omitted: unknown (3 B)]']);
    assert.deepEqual(renderResource({ uri: 'x:y', mimeType: 'image/png', text: 'words', blob: PNG }).map(({ kind }) => kind), ['text', 'image']);
  });

  test('names a resource without contents', () => {
    assert.deepEqual(renderResource({ uri: 'file:///x' }), [{ kind: 'text', text: 'Resource: file:///x' }]);
    assert.deepEqual(texts(renderResource({ uri: 'file:///x', text: '' })), ['Resource: file:///x\n\n']);
  });
});

test('textOf() joins by a blank line', () => {
  assert.equal(textOf(renderResult(result([words('a'), words('b')])).parts), 'a\n\nb');
});
