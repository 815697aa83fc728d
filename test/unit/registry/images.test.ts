import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../src/base/limits.ts';
import { allowedMediaTypes, decodedBytes, examineImage, extensionOf, mediaTypeOf, sniff } from '../../../src/registry/images.ts';
import { renderResult } from '../../../src/registry/results.ts';
import { result } from './entries.ts';

const HEADS: Readonly<Record<string, string>> = { 'image/png': '\x89PNG\r\n\x1a\n', 'image/jpeg': '\xff\xd8\xff\xe0', 'image/gif': 'GIF89a', 'image/webp': 'RIFF\x00\x00\x00\x00WEBP', 'application/pdf': '%PDF-1.7' };
const bytes = (type: string, length: number): Buffer => Buffer.concat([Buffer.from(HEADS[type]!, 'latin1'), Buffer.alloc(Math.max(0, length - HEADS[type]!.length))]);
const base64 = (type: string, length: number): string => bytes(type, length).toString('base64');

describe('examineImage()', () => {
  test('passes exactly five media types (row 170)', () => {
    assert.deepEqual(allowedMediaTypes, ['application/pdf', 'image/gif', 'image/jpeg', 'image/png', 'image/webp']);
    for (const type of allowedMediaTypes) assert.equal(examineImage(base64(type, 40), type).ok, true, type);
    const svg = examineImage('PHN2Zy8+', 'image/svg+xml');
    assert.deepEqual(svg, { ok: false, mediaType: 'image/svg+xml', bytes: 6, reason: 'this media type is not passed on' });
    assert.equal(examineImage(base64('image/png', 40), undefined).ok, false);
  });

  test('takes 10,485,760 decoded bytes and not one more (row 171)', () => {
    const most = examineImage(base64('image/png', limits.attachmentBytes), 'image/png');
    assert.ok(most.ok && most.bytes === 10_485_760 && !most.inline);
    const over = examineImage(base64('image/png', limits.attachmentBytes + 1), 'image/png');
    assert.deepEqual(over, { ok: false, mediaType: 'image/png', bytes: 10_485_761, reason: 'more than 10 MiB' });
  });

  test('drops whitespace before measuring and keeping (row 172)', () => {
    const tiny = base64('image/png', 30);
    const examined = examineImage('\n'.repeat(24 * 1024 * 1024) + tiny.slice(0, 8) + ' \t\r\n' + tiny.slice(8), 'image/png');
    assert.deepEqual(examined, { ok: true, mediaType: 'image/png', data: tiny, bytes: 30, inline: true });
  });

  test('is inline up to 204,800 base64 bytes (row 173)', () => {
    const inline = base64('image/png', 153_600), over = base64('image/png', 153_601);
    assert.equal(inline.length, 204_800);
    const first = examineImage(inline, 'image/png'), second = examineImage(over, 'image/png');
    assert.ok(first.ok && first.inline);
    assert.ok(second.ok && !second.inline);
  });

  test('normalizes the media type and tolerates a data: prefix', () => {
    const data = base64('image/jpeg', 40);
    assert.equal(mediaTypeOf(' Image/JPG; q=1'), 'image/jpeg');
    assert.equal(mediaTypeOf(''), 'unknown');
    for (const [given, type] of [[`data:image/jpeg;base64,${data}`, undefined], [`data:image/jpeg;charset=x;base64,${data}`, 'image/jpeg'], [data, 'IMAGE/JPEG']] as const) {
      const examined = examineImage(given, type);
      assert.ok(examined.ok && examined.data === data && examined.mediaType === 'image/jpeg', given.slice(0, 40));
    }
  });

  test('passes the alphabet of URLs on as plain base64, and a long type short', () => {
    const plain = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0xfb, 0xff, 0xfe])]).toString('base64');
    assert.match(plain, /[+/]/);
    const examined = examineImage(plain.replaceAll('+', '-').replaceAll('/', '_'), 'image/png');
    assert.ok(examined.ok && examined.data === plain);
    assert.equal(mediaTypeOf(`image/${'x'.repeat(10_000)}`).length, 100);
    assert.equal(mediaTypeOf('image/\n x'), 'image/ x');
  });

  test('measures a data: prefix no more than whitespace, wherever both stand (row 172)', () => {
    const data = base64('image/png', 30);
    for (const given of [`${' '.repeat(1_000)}data:image/png;base64,${data}`, `data:\nimage/png;\r\nbase64,\n${data}`]) assert.deepEqual(examineImage(given, undefined), { ok: true, mediaType: 'image/png', data, bytes: 30, inline: true });
    const long = examineImage(`data:image/png${';x=y'.repeat(100_000)};base64,${data}`, 'image/png');
    assert.ok(!long.ok && long.reason === 'the data is not base64');
  });

  test('puts missing padding back and refuses a digit too many', () => {
    for (const length of [30, 31, 32]) {
      const data = base64('image/png', length), examined = examineImage(data.replace(/=+$/, ''), 'image/png');
      assert.deepEqual(examined, { ok: true, mediaType: 'image/png', data, bytes: length, inline: true });
    }
    const more = examineImage(`${base64('image/png', 30)}A`, 'image/png');
    assert.ok(!more.ok && more.reason === 'the data is not base64');
  });

  test('believes the bytes, not the label', () => {
    const lie = examineImage(base64('image/gif', 40), 'image/png');
    assert.ok(!lie.ok && lie.reason === 'the bytes are image/gif');
    const noise = examineImage(Buffer.from('<html>').toString('base64'), 'image/png');
    assert.ok(!noise.ok && noise.reason === 'the bytes are of another type');
    const broken = examineImage('not base64!', 'image/png');
    assert.ok(!broken.ok && broken.reason === 'the data is not base64');
    assert.equal(sniff(''), undefined);
    assert.equal(sniff(Buffer.from('GIF87a..').toString('base64')), 'image/gif');
  });
});

test('decodedBytes() counts without decoding', () => {
  for (let length = 0; length < 10; length++) assert.equal(decodedBytes(Buffer.alloc(length).toString('base64')), length);
  assert.equal(decodedBytes('AAA'), 2);
});

test('extensionOf() knows the passed types only', () => {
  assert.deepEqual(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'image/svg+xml', 'constructor'].map(extensionOf), ['png', 'jpg', 'gif', 'webp', 'pdf', 'bin', 'bin']);
});

test('a stored attachment is exactly the measured bytes (row 172)', () => {
  const tiny = base64('image/png', 30);
  const [part] = renderResult(result([{ type: 'image', data: `${tiny}\n\n`, mimeType: 'image/png' }])).parts;
  assert.ok(part?.kind === 'image');
  assert.equal(Buffer.from(part.data, 'base64').length, part.bytes);
});
