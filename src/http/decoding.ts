/** Content codings of response bodies: gzip, deflate (both of its forms), br, and several of them one inside the other. */
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import type { Duplex, Readable } from 'node:stream';

/** What we ask for where nothing speaks against it. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br';

/** A body wrapped more often than this is no honest body. */
const MOST_CODINGS = 4;
const KNOWN = new Set(['gzip', 'x-gzip', 'deflate', 'br']);

/** The codings of a body, outermost last; without `identity`. Throws an error with code `CODING_UNKNOWN` for one we cannot take off. */
export function codingsOf(contentEncoding: string | undefined): readonly string[] {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding.toLowerCase().split(',').map((coding) => coding.trim()).filter((coding) => coding !== '' && coding !== 'identity');
  const odd = codings.find((coding) => !KNOWN.has(coding));
  if (odd !== undefined || codings.length > MOST_CODINGS) {
    const what = odd === undefined ? `its body is encoded ${codings.length} times` : `its body is encoded as "${odd.slice(0, 32)}", which is not supported`;
    throw Object.assign(new Error(what), { code: 'CODING_UNKNOWN' });
  }
  return codings;
}

export interface BodySink {
  data(chunk: Uint8Array): void;
  end(): void;
  fail(error: unknown): void;
}

/**
 * Reads `source` to its end and hands on what is inside. Each piece is flushed as it comes, so that events arrive when they are sent;
 * what one piece swells to arrives in small chunks, so that the receiver can stop at any size. Returns the stream to pause or destroy.
 */
export function readDecoded(source: Readable, codings: readonly string[], sink: BodySink): { pause(): void; resume(): void; destroy(): void } {
  let last: Readable = source;
  const stages: Duplex[] = [];
  let paused = false;
  source.on('error', sink.fail);
  // The chain is built on the first byte: an empty body is no broken gzip, and the form of deflate shows only there.
  source.once('end', () => { if (stages.length === 0) sink.end(); });
  source.once('data', (first: Buffer) => {
    source.pause();
    for (const coding of [...codings].reverse()) stages.push(stageOf(coding, first, stages.length === 0));
    last = stages.reduce<Readable>((from, stage) => from.pipe(stage), source);
    for (const stage of stages) stage.on('error', sink.fail);
    last.on('data', sink.data).on('end', sink.end);
    if (paused) last.pause();
    stages[0]!.write(first);
    source.resume();
  });
  return {
    pause() { paused = true; if (stages.length > 0) last.pause(); },
    resume() { paused = false; if (stages.length > 0) last.resume(); },
    destroy() { source.unpipe(); for (const stage of stages) stage.destroy(); },
  };
}

function stageOf(coding: string, first: Buffer, outermost: boolean): Duplex {
  const flush = constants.Z_SYNC_FLUSH;
  if (coding === 'br') return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
  if (coding !== 'deflate') return createGunzip({ flush });
  // RFC 9110 means the zlib wrapper; some servers send the bare stream. The low half of the first byte tells. Inside another coding it cannot be seen: the rule holds.
  return outermost && (first[0]! & 0x0f) !== 8 ? createInflateRaw({ flush }) : createInflate({ flush });
}
