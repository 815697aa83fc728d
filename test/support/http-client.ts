/** Waiting for one exchange, for tests. */
import { Failure } from '../../src/base/failure.ts';
import { collectText } from '../../src/http/body.ts';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { Exchange, Http, HttpRequest, ResponseHead } from '../../src/http/types.ts';

export interface Received extends ResponseHead { readonly body: string; readonly truncated: boolean; readonly chunks: number }
export type Wanted = Omit<HttpRequest, 'onHead' | 'onData' | 'onEnd' | 'onFail'> & Partial<Pick<HttpRequest, 'onHead' | 'onData'>>;

export function receive(http: Http, wanted: Wanted, started?: (exchange: Exchange) => void): Promise<Received> {
  return new Promise((resolve, reject) => {
    const text = collectText();
    let head: ResponseHead | undefined, chunks = 0;
    const exchange = http.request({
      ...wanted,
      onHead(its) { head = its; wanted.onHead?.(its); },
      onData(chunk) { chunks += 1; text.add(chunk); wanted.onData?.(chunk); },
      onEnd: (truncated) => resolve({ ...head!, body: text.take(), truncated, chunks }),
      onFail: reject,
    });
    started?.(exchange);
  });
}

/** The failure that ends it; a test fails when there is none. */
export async function failureOf(outcome: Promise<unknown>): Promise<AnyFailure> {
  try {
    await outcome;
  } catch (error) {
    if (error instanceof Failure) return error as AnyFailure;
    throw error;
  }
  throw new Error('There was no failure');
}
