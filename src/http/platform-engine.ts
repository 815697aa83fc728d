/** The engine on the platform's `fetch`, or on one that an embedder hands in. It decodes bodies itself and keeps its own connections. */
import { codingFor, ENGINE_HEADERS } from './node-engine.ts';
import { codingsOf } from './decoding.ts';
import { isConnectError } from './failures.ts';
import type { Sent } from '../base/failure.ts';
import type { Engine, EngineSink, FetchLike, Order, ResponseHeaders, ResponseLike, Running } from './types.ts';

export function createPlatformEngine(fetch: FetchLike): Engine {
  return { name: 'fetch', send: (order, sink) => start(order, sink, fetch), proxyFor: () => undefined, dropIdle() {}, close() {} };
}

function start(order: Order, sink: EngineSink, fetch: FetchLike): Running {
  const controller = new AbortController();
  let done = false, answered = false;
  let gate: { readonly open: Promise<void>; unlock(): void } | undefined;

  const read = async (response: ResponseLike): Promise<void> => {
    answered = true;
    const headers = headersOf(response);
    // The platform passes on what it cannot take off without saying so.
    if (response.status !== 204) codingsOf(headers['content-encoding']);
    if (!done) sink.head(response.status, headers);
    if (!done && response.body !== null) {
      for await (const chunk of response.body) {
        if (gate !== undefined) await gate.open;
        if (done) return;
        sink.data(chunk);
      }
    }
    if (done) return;
    done = true;
    sink.end();
  };
  // The microtask keeps the promise that nothing is called before `send` returned, whatever the fetch at hand does.
  Promise.resolve().then(() => done ? undefined : fetch(order.target.href, initOf(order, controller.signal)).then(read)).catch((error: unknown) => {
    if (done) return;
    done = true;
    controller.abort();
    const sent: Sent = answered ? 'yes' : isConnectError(error) ? 'no' : 'unknown';
    sink.fail({ error: asHeaderError(error), sent, reused: undefined });
  });
  return {
    cancel() {
      done = true;
      controller.abort();
      gate?.unlock();
      return answered ? 'yes' : 'unknown';
    },
    pause() {
      if (gate !== undefined) return;
      let unlock = (): void => {};
      gate = { open: new Promise((resolve) => { unlock = resolve; }), unlock: () => unlock() };
    },
    resume() { gate?.unlock(); gate = undefined; },
  };
}

function initOf(order: Order, signal: AbortSignal): Parameters<FetchLike>[1] & object {
  const headers: Record<string, string> = {};
  let coding: string | undefined;
  for (const [name, value] of Object.entries(order.headers)) {
    const lower = name.toLowerCase();
    if (lower === 'accept') coding = codingFor(value);
    if (!ENGINE_HEADERS.has(lower)) headers[lower] = value;
  }
  if (coding !== undefined) headers['accept-encoding'] ??= coding;
  const init = { method: order.method, headers, signal, redirect: 'manual' as const };
  return order.body === undefined ? init : { ...init, body: order.body as string | Uint8Array<ArrayBuffer> };
}

function headersOf(response: ResponseLike): ResponseHeaders {
  const headers: Record<string, string | undefined> = Object.create(null) as Record<string, string | undefined>;
  response.headers.forEach((value, name) => { headers[name.toLowerCase()] = value; });
  return headers;
}

/** The platform's fetch quotes the value of a header that it refuses; only the name may go on. */
function asHeaderError(error: unknown): unknown {
  if (!(error instanceof TypeError) || !/header/i.test(error.message) || error.cause !== undefined) return error;
  return Object.assign(new Error('A header cannot be sent'), { code: 'HEADER_INVALID' });
}
