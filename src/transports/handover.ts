/** What both HTTP transports share: whose headers win, posting where the status alone counts, and what a failure says of a request. */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { mediaType, statusFailure } from '../http/answers.ts';
import { collectText } from '../http/body.ts';
import type { HttpRequest, RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';
import type { Outgoing } from '../jsonrpc/transport.ts';

const OURS: ReadonlySet<string> = new Set(['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id', 'last-event-id']);

/** Configured headers without those that the protocol decides, however they are spelled (MCP 2026-07-28, request headers). */
export function withoutOurHeaders(configured: RequestHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(configured).filter(([name]) => {
    const lower = name.toLowerCase();
    return !OURS.has(lower) && !lower.startsWith('mcp-param-');
  }));
}

export interface Handover {
  /** Resolves when the server took the message, rejects with a `Failure` when it did not. */
  readonly taken: Promise<void>;
  /** Ends it; `taken` rejects with `reason` if it is still open. */
  abort(reason: AnyFailure): void;
}

export interface HandoverRequest extends Pick<HttpRequest, 'url' | 'body' | 'replaySafe' | 'onHold'> {
  readonly headers: RequestHeaders;
  readonly send: SendRequest;
  /** Looks at a refusal before it becomes a failure; true when it was dealt with. */
  readonly refused?: (head: ResponseHead, body: string) => boolean;
  /** Nothing of it is left on the wire. */
  readonly over: () => void;
}

/**
 * Posts a message that is not answered here. A success counts as soon as its status is there: servers send `null`, texts, pages
 * or nothing with it, and none of that may break a session. A short body is read away, so that the connection serves again.
 */
export function handOver({ send, refused, over, url, headers, body: text, replaySafe, onHold }: HandoverRequest): Handover {
  let reject: (reason: AnyFailure) => void = () => {};
  let end: () => void = () => {};
  const taken = new Promise<void>((resolve, fail) => {
    reject = fail;
    let head: ResponseHead | undefined;
    const body = collectText();
    const exchange = send({
      url, method: 'POST', headers, body: text, replaySafe, onHold, stage: 'call', deadlineMs: limits.requestMsLong, maxBytes: limits.httpErrorBodyBytes,
      onHead(received) {
        head = received;
        if (head.status >= 300) return;
        resolve();
        // A stream may have no end, and nobody waits for what it says.
        if (mediaType(head.headers) === 'text/event-stream') { exchange.abort(); over(); }
      },
      onData(chunk) { if (head!.status >= 300) body.add(chunk); },
      onEnd() {
        over();
        if (head!.status < 300) return;
        const words = body.take();
        if (refused?.(head!, words) === true) resolve(); else fail(serverFault(statusFailure({ ...head!, body: words, stage: 'call' })));
      },
      onFail(failure) { over(); fail(failure); },
    });
    end = () => exchange.abort();
  });
  return { taken, abort(reason) { end(); over(); reject(reason); } };
}

/** A server that asks and asks and does not take the answers must not fill our memory with them. */
export function crowdedOut({ kind }: Outgoing, waiting: number, name: string): AnyFailure | undefined {
  if (kind !== 'response' || waiting < limits.waitingAnswers) return undefined;
  return new Failure('LIMIT_EXCEEDED', `Cannot answer server "${name}": ${waiting} messages wait for it to take them`, { stage: 'call', details: { limit: 'waitingAnswers', maximum: limits.waitingAnswers } }) as AnyFailure;
}

/** The request may have arrived and run: whoever waits for it must know. */
export function uncertain(failure: AnyFailure): AnyFailure {
  if (failure.recovery === 'unknown') return failure;
  return new Failure(failure.code, failure.message, { stage: failure.stage, details: failure.details as never, recovery: 'unknown', hint: failure.hint, origin: failure.origin, cause: failure.cause }) as AnyFailure;
}

/** A server that broke, or a gateway that gave up on it, may have done what was asked; one that is busy or lacks the method did not. */
export function serverFault(failure: AnyFailure): AnyFailure {
  const broke = failure.code === 'HTTP_STATUS' && failure.details.status >= 500 && failure.details.status !== 501 && failure.details.status !== 503;
  return broke ? uncertain(failure) : failure;
}
