/**
 * The decorator that the transports send through: adds the token, watches the head of the answer for a 401 or an `insufficient_scope`,
 * has the flow cure it, and repeats the request once for each of the two. Everything else streams through untouched.
 */
import { now } from '../base/deadline.ts';
import { toFailure } from '../base/failure.ts';
import { isObject, parseJson } from '../base/json.ts';
import { parseUrl } from '../http/url.ts';
import { readChallenge } from './challenges.ts';
import { tokenRefused } from './failures.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Exchange, HttpRequest, RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';
import type { Flow } from './flow.ts';
import type { AuthChallenge, Tokens } from './types.ts';

export interface AuthorizedOptions {
  readonly name: string;
  /** Only requests to its origin carry tokens. */
  readonly serverUrl: string;
  readonly flow: Flow;
}

/** What has been tried for one request: each cure once. */
interface Tried { recovered: boolean; steppedUp: boolean; nonce: boolean }

export function authorize(send: SendRequest, { name, serverUrl, flow }: AuthorizedOptions): SendRequest {
  const { origin } = new URL(serverUrl);
  let lastUrl: string | URL | undefined;
  /** Transports talk to one URL: the comparison of a string is enough for all but the first. */
  const isOurs = (url: string | URL): boolean => {
    if (url === lastUrl) return true;
    const ours = (url instanceof URL ? url : parseUrl(url))?.origin === origin;
    if (ours) lastUrl = url;
    return ours;
  };
  return (request) => (isOurs(request.url) ? start(send, request, name, flow) : send(request));
}

function start(send: SendRequest, request: HttpRequest, name: string, flow: Flow): Exchange {
  const tried: Tried = { recovered: false, steppedUp: false, nonce: false };
  /** While the flow works: ends its waiting. */
  let waiting: AbortController | undefined;
  let running: Exchange | undefined;
  let over = false, paused = false;

  const fail = (failure: AnyFailure): void => {
    if (over) return;
    over = true;
    request.onFail(failure);
  };

  /** Runs the flow, then the request again with what it brings. */
  const cure = (work: (signal: AbortSignal) => Promise<Tokens>): void => {
    const patience = waiting = new AbortController();
    const startedAt = now();
    request.onHold?.(flow.patienceMs);
    const onAbort = (): void => patience.abort(request.signal?.reason);
    if (request.signal?.aborted === true) onAbort(); else request.signal?.addEventListener('abort', onAbort, { once: true });
    work(patience.signal).then(
      (tokens) => { waiting = undefined; request.onHold?.(now() - startedAt - flow.patienceMs); if (!over) attempt(tokens); },
      (error: unknown) => { waiting = undefined; fail(toFailure(error, 'auth')); },
    ).finally(() => request.signal?.removeEventListener('abort', onAbort));
  };

  const attempt = (tokens: Tokens | undefined): void => {
    let swallowed = false;
    let exchange: Exchange | undefined;
    const before = running;
    running = exchange = send({
      ...request, headers: headersFor(request, tokens, flow),
      onHead(head) {
        const next = cureFor(head, tokens);
        if (next === undefined) { request.onHead(head); return; }
        swallowed = true;
        next();
      },
      // The body of a refusal is read to its end, so that its connection can serve again.
      onData(chunk) { if (!swallowed) request.onData(chunk); },
      onEnd(truncated) { if (swallowed || over) return; over = true; request.onEnd(truncated); },
      onFail(failure) { if (!swallowed) fail(failure); },
    });
    before?.abort();
    if (paused) exchange.pause();
  };

  /** What a head calls for; undefined: nothing, it is an answer like any other. */
  const cureFor = (head: ResponseHead, tokens: Tokens | undefined): (() => void) | undefined => {
    const proofs = tokens?.dpopKey === undefined ? undefined : flow.proofsFor(tokens.dpopKey);
    const newNonce = proofs?.nonce(head.url, head.headers) === true;
    if (tokens !== undefined && head.status !== 401) flow.accepted(tokens);
    if ((head.status !== 401 && head.status !== 403) || request.stage === 'close') return undefined;
    const challenge = readChallenge(head.headers);
    if (head.status === 403) return stepUpFor(challenge, tokens);
    if (newNonce && challenge.error === 'use_dpop_nonce' && !tried.nonce) {
      tried.nonce = true;
      return () => cure(() => Promise.resolve(tokens!));
    }
    if (tried.recovered) return () => fail(tokenRefused(name, 'token_rejected', 'it refuses a token that was issued for it just now', 'The server and its sign-in service disagree; ask the owner of the server'));
    tried.recovered = true;
    return () => cure((signal) => flow.recover(tokens, challenge, signal));
  };

  const stepUpFor = (challenge: AuthChallenge, tokens: Tokens | undefined): (() => void) | undefined => {
    if (challenge.error !== 'insufficient_scope' || tokens === undefined || tried.steppedUp) return undefined;
    tried.steppedUp = true;
    return () => cure((signal) => flow.stepUp(tokens, challenge, operationOf(request), signal));
  };

  try {
    const tokens = flow.current();
    if (tokens !== undefined && flow.isStale(tokens)) cure((signal) => flow.fresh(tokens, signal));
    else attempt(tokens);
  } catch (error) {
    queueMicrotask(() => fail(toFailure(error, 'auth')));
  }
  return {
    abort() {
      over = true;
      // Refused, or never sent: nothing of it has happened.
      if (waiting !== undefined || running === undefined) { waiting?.abort(); running?.abort(); return 'no'; }
      return running.abort();
    },
    pause() { paused = true; running?.pause(); },
    resume() { paused = false; running?.resume(); },
  };
}

function headersFor(request: HttpRequest, tokens: Tokens | undefined, flow: Flow): RequestHeaders {
  if (tokens === undefined) return request.headers ?? {};
  const { accessToken, tokenType, dpopKey } = tokens;
  const proofs = tokenType === 'dpop' && dpopKey !== undefined ? flow.proofsFor(dpopKey) : undefined;
  if (proofs === undefined) return { ...request.headers, authorization: `Bearer ${accessToken}` };
  const { method = 'GET', url, body } = request;
  return { ...request.headers, authorization: `DPoP ${accessToken}`, dpop: proofs.proof({ method, url: String(url), accessToken, ...(body !== undefined && { body }) }) };
}

/** What scope is counted for: the method, and the tool if it names one. */
function operationOf({ body }: HttpRequest): string {
  const message = typeof body === 'string' ? parseJson(body)?.value : undefined;
  if (!isObject(message)) return '';
  const params = isObject(message['params']) ? message['params'] : {};
  return `${String(message['method'])} ${String(params['name'] ?? '')}`;
}
