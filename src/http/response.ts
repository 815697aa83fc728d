/** The web-standard face: `fetch` made of `request`. A body that nobody reads makes the peer wait instead of filling memory. */
import { limits } from '../base/limits.ts';
import { decodeUtf8 } from './body.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { BodyLike, Exchange, FetchExtras, FetchInit, Http, ResponseHead, ResponseLike, SendRequest } from './types.ts';

export function fetchOver(request: SendRequest): Http['fetch'] {
  return (input, init = {}) => new Promise((resolve, reject) => {
    const queue = createQueue();
    const exchange = request({
      url: input, ...requestOf(init),
      onHead(head) { resolve(responseOf(head, queue)); },
      onData: queue.push,
      onEnd: () => queue.finish(undefined),
      onFail(failure) { queue.finish(failure); reject(failure); },
    });
    queue.attach(exchange);
  });
}

function requestOf({ method, headers, body, signal, redirect, ...extras }: FetchInit & FetchExtras): Omit<Parameters<SendRequest>[0], 'url' | 'onHead' | 'onData' | 'onEnd' | 'onFail'> {
  return {
    ...extras, body, signal: signal ?? undefined,
    ...(method !== undefined && { method: method.toUpperCase() }), ...(headers !== undefined && { headers }),
    redirect: redirect === 'follow' || redirect === undefined ? 'same-origin' : redirect,
  };
}

interface Queue {
  push(chunk: Uint8Array): void;
  finish(failure: AnyFailure | undefined): void;
  attach(exchange: Exchange): void;
  /** The next chunk; undefined at the end. Rejects with the failure that ended it. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): void;
}

function createQueue(): Queue {
  const chunks: Uint8Array[] = [];
  let waitingBytes = 0, paused = false, finished = false;
  let failure: AnyFailure | undefined;
  let exchange: Exchange | undefined;
  let wake: (() => void) | undefined;
  const rouse = (): void => { wake?.(); wake = undefined; };
  return {
    attach(it) { exchange = it; },
    push(chunk) {
      chunks.push(chunk);
      waitingBytes += chunk.length;
      if (!paused && waitingBytes > limits.httpReadAheadBytes) { paused = true; exchange?.pause(); }
      rouse();
    },
    finish(reason) { finished = true; failure = reason; rouse(); },
    async next() {
      while (chunks.length === 0 && !finished) await new Promise<void>((resolve) => { wake = resolve; });
      const chunk = chunks.shift();
      if (chunk === undefined) {
        if (failure !== undefined) throw failure;
        return undefined;
      }
      waitingBytes -= chunk.length;
      if (paused && waitingBytes <= limits.httpReadAheadBytes / 2) { paused = false; exchange?.resume(); }
      return chunk;
    },
    cancel() { finished = true; chunks.length = 0; exchange?.abort(); rouse(); },
  };
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(head: ResponseHead, queue: Queue): ResponseLike {
  let used = false;
  const claim = (): void => {
    if (used) throw new TypeError('The body of this response was read already');
    used = true;
  };
  const body: BodyLike = {
    async *[Symbol.asyncIterator]() {
      claim();
      let whole = false;
      try {
        for (let chunk = await queue.next(); chunk !== undefined; chunk = await queue.next()) yield chunk;
        whole = true;
      } finally {
        if (!whole) queue.cancel();
      }
    },
    async cancel() { used = true; queue.cancel(); },
  };
  const text = async (): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const all = decodeUtf8(Buffer.concat(chunks));
    return all.charCodeAt(0) === 0xfeff ? all.slice(1) : all;
  };
  return {
    status: head.status, url: head.url, ok: head.status >= 200 && head.status < 300,
    headers: {
      get: (name) => plain(head.headers[name.toLowerCase()]) ?? null,
      forEach(callback) {
        for (const [name, value] of Object.entries(head.headers)) callback(plain(value) ?? '', name);
      },
    },
    body: WITHOUT_BODY.has(head.status) ? null : body,
    text,
    json: async () => JSON.parse(await text()) as unknown,
  };
}

/** Node hands `set-cookie` over as a list. */
function plain(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}
