import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { artifactName, fitText, keepArtifacts, previewText } from '../../../src/registry/artifacts.ts';
import { renderResult } from '../../../src/registry/results.ts';
import { result, words } from './entries.ts';

const png = (length: number): string => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(length - 8)]).toString('base64');

function disk(): { files: Map<string, Buffer>; write: (name: string, content: Uint8Array | string) => Promise<string> } {
  const files = new Map<string, Buffer>();
  return { files, write: async (name, content) => { files.set(name, Buffer.from(content as string)); return `/artifacts/${name}`; } };
}

describe('previewText()', () => {
  test('leaves a text within both bounds alone', () => {
    assert.deepEqual(previewText('a\nb', 10, 2), { text: 'a\nb', cut: false, bytes: 3, lines: 2 });
  });

  test('cuts by lines and by bytes, never within a character', () => {
    assert.deepEqual(previewText('a\nb\nc', 100, 2), { text: 'a\nb', cut: true, bytes: 5, lines: 3 });
    assert.equal(previewText('äöü', 3).text, 'ä');
    for (let max = 0; max <= 12; max++) {
      const { text } = previewText('a\u{1f600}b\u{1f600}', max);
      assert.ok('a\u{1f600}b\u{1f600}'.startsWith(text), String(max));
      assert.ok(Buffer.byteLength(text) <= max);
    }
  });
});

describe('fitText()', () => {
  test('shares the bounds over all texts and leaves other parts', () => {
    const { parts } = renderResult(result([words('a'.repeat(3_000)), { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, words('b'.repeat(3_000)), words('c')]));
    assert.deepEqual(fitText(parts), { parts });
    const fitted = fitText(parts, 5_000);
    assert.equal(fitted.complete?.text, `${'a'.repeat(3_000)}\n\n${'b'.repeat(3_000)}\n\nc`);
    assert.deepEqual(fitted.parts.map(({ kind, text }) => [kind, text.length]), [['text', 3_000], ['binary', 44], ['text', 5_000 - 46 - 1_024 - 3_002]]);
    assert.deepEqual(fitText([{ kind: 'text', text: 'x\n'.repeat(10) }, { kind: 'text', text: 'y' }], 5_000, 4).parts, [{ kind: 'text', text: 'x\nx' }]);
    assert.deepEqual(fitText([{ kind: 'text', text: 'x'.repeat(600) }], 500).parts, []);
  });
});

describe('keepArtifacts()', () => {
  test('keeps a big text byte for byte behind a preview within the cap (row 174)', async () => {
    const { files, write } = disk();
    const big = 'line of words ä\n'.repeat(65_000);
    const kept = await keepArtifacts(renderResult(result([words(big)])), 'docs_search', write);
    const [name, stored] = [...files][0]!;
    assert.equal(stored.toString('utf8'), big);
    assert.match(name, /^docs_search-[0-9a-f]{12}\.txt$/);
    const text = kept.parts.map((part) => part.text).join('\n\n');
    assert.ok(Buffer.byteLength(text) <= 50_000 && text.split('\n').length <= 2_000);
    assert.ok(big.startsWith(kept.parts[0]!.text));
    assert.match(text, new RegExp(`\\[shortened to 50000 bytes and 2000 lines: .*${Buffer.byteLength(big)} bytes\\) in 65001 lines; kept as /artifacts/${name}\\]$`));
  });

  test('passes small pictures and puts bigger ones into files (row 173)', async () => {
    const { files, write } = disk();
    const small = png(153_600), large = png(153_601);
    const rendered = renderResult(result([{ type: 'image', data: small, mimeType: 'image/png' }, { type: 'image', data: large, mimeType: 'image/png' }]));
    const { parts } = await keepArtifacts(rendered, 'docs_draw', write);
    assert.equal(parts[0]?.kind, 'image');
    const [name, stored] = [...files][0]!;
    assert.equal(stored.toString('base64'), large);
    assert.deepEqual(parts[1], { kind: 'text', text: `[image: image/png (150 KiB), more than 200 KiB of base64; kept as /artifacts/${name}]` });
    assert.match(name, /\.png$/);
  });

  test('holds the bounds with notes about other parts beside the text (row 174)', async () => {
    const { files, write } = disk();
    const sounds = Array.from({ length: 300 }, (_, index) => ({ type: 'audio' as const, data: Buffer.from(`sound ${index}`).toString('base64'), mimeType: `audio/${'w'.repeat(5_000)}` }));
    const blob = { type: 'resource' as const, resource: { uri: `x:${'y'.repeat(100_000)}`, blob: 'AAAAAA==' } };
    const { parts } = await keepArtifacts(renderResult(result([blob, words('z'.repeat(60_000)), ...sounds])), 'x', write);
    const text = parts.map((part) => part.text).join('\n\n');
    assert.ok(Buffer.byteLength(text) <= 50_000, String(Buffer.byteLength(text)));
    assert.match(text, /\[269 more attachments \([\d.]+ KiB\), one JSON object a line; kept as \/artifacts\/x-[0-9a-f]{12}\.jsonl\]/);
    // Nothing is lost: 31 sounds and the blob by themselves, the rest together, the text.
    const [surplus] = [...files].filter(([name]) => name.endsWith('.jsonl')).map(([, content]) => content.toString().trim().split('\n').map((line) => JSON.parse(line) as { data: string }));
    assert.equal(Buffer.from(surplus!.at(-1)!.data, 'base64').toString(), 'sound 299');
    assert.equal(files.size, 32 + 1 + 1);
    assert.ok([...files.values()].some((content) => content.length === 60_000));
  });

  test('counts a great many pictures, small as they are', async () => {
    const { files, write } = disk();
    const { parts } = await keepArtifacts(renderResult(result(Array.from({ length: 40 }, () => ({ type: 'image' as const, data: png(100), mimeType: 'image/png' })))), 'x', write);
    assert.deepEqual([parts.filter(({ kind }) => kind === 'image').length, files.size, parts.length], [32, 1, 33]);
  });

  test('puts sound and blobs into files', async () => {
    const { files, write } = disk();
    const rendered = renderResult(result([{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, { type: 'resource', resource: { uri: 'x:y', blob: 'AAAAAA==' } }]));
    const { parts } = await keepArtifacts(rendered, 'x', write);
    assert.deepEqual([...files.keys()].map((name) => name.slice(-4)), ['.wav', '.bin']);
    assert.match(parts[0]!.text, /^\[MCP audio content omitted: audio\/wav \(3 B\)\]\n\[kept as \/artifacts\//);
  });

  test('says so when there is no place or writing fails, and loses nothing else', async () => {
    const rendered = renderResult(result([words('ok'), { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], { isError: true }));
    const without = await keepArtifacts(rendered, 'x');
    assert.equal(without.isError, true);
    assert.match(without.parts[1]!.text, /no place for files/);
    assert.match((await keepArtifacts(rendered, 'x', async () => { throw new Error('disk full'); })).parts[1]!.text, /could not be kept: disk full/);
    assert.match((await keepArtifacts(rendered, 'x', () => Promise.reject('odd'))).parts[1]!.text, /writing failed/);
  });
});

test('artifactName() depends on tool and content only and is a safe file name', () => {
  assert.equal(artifactName('a/../b', 'x', 'txt'), artifactName('a/../b', Buffer.from('x'), 'txt'));
  assert.match(artifactName('a/../b', 'x', 'txt'), /^a____b-[0-9a-f]{12}\.txt$/);
});
