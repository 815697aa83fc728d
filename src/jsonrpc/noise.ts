/** Counts what was no message where one was due, and says which of it is worth a notice: the first 32, then every 1,024th; blank text only then. */
import { limits } from '../base/limits.ts';
import type { Notice } from './transport.ts';

export interface Noise {
  /** One more that could not be decoded; the notice to give, if any. */
  heard(text: string): Notice | undefined;
  /** A message was decoded: the run is over. */
  message(): void;
}

export function createNoise(): Noise {
  let total = 0, run = 0;
  return {
    heard(text) {
      total += 1;
      run += 1;
      const loud = total % limits.noiseLogEvery === 0 || (total <= limits.noiseLogFirst && text.trim() !== '');
      return loud ? { kind: 'noise', excerpt: text.slice(0, limits.excerptBytes), total, run } : undefined;
    },
    message() { run = 0; },
  };
}
