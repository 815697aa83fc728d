/**
 * The way back of one request over HTTP. It is answered in JSON unless something has to be said before, or it takes long: then by
 * events. In the stateless era the end of the connection gives the request up; a legacy session's request goes on without it.
 */
import { now } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { encodeEvent } from '../http/event-stream.ts';
import type { InboundRequest, ReplyHeaders } from '../http/serve.ts';
import type { Exchange } from '../jsonrpc/serving.ts';
import type { Carrier, Carriers } from './event-carriers.ts';
import type { SessionStream, SessionStreams } from './session-streams.ts';

export interface Accepted { readonly json: boolean; readonly events: boolean }

/** What the client takes. Nothing said, or `*`, is anything; `undefined` is neither of the two. */
export function readAccept(accept: string | undefined): Accepted | undefined {
  if (accept === undefined || accept.trim() === '') return { json: true, events: true };
  const types = accept.split(',').filter((part) => !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(part)).map((part) => part.split(';')[0]!.trim().toLowerCase());
  const json = types.some((type) => type === '*/*' || type === 'application/*' || type === 'application/json');
  const events = types.some((type) => type === '*/*' || type === 'text/*' || type === 'text/event-stream');
  return json || events ? { json, events } : undefined;
}

export interface HttpExchange extends Exchange {
  /** To be called now and then: what takes long becomes a stream. */
  tick(): void;
  /** Gives it up from this side. */
  abort(): void;
}

export interface HttpExchangeOptions {
  readonly request: InboundRequest;
  readonly principal: string;
  readonly accept: Accepted;
  readonly carriers: Carriers;
  /** The legacy session's, whose streams outlive their connections. */
  readonly session?: { readonly streams: SessionStreams; /** Its client may be sent away for a while (2025-11-25). */ polls(): boolean } | undefined;
  /** Asked when the head leaves: the session may have got its id only then. */
  headers?(): ReplyHeaders;
  onOver(): void;
}

export function createHttpExchange({ request, principal, accept, carriers, session, headers = () => ({}), onOver }: HttpExchangeOptions): HttpExchange {
  const abort = new AbortController();
  const startedAt = now();
  let carrier: Carrier | undefined, stream: SessionStream | undefined;
  let gone = false, over = false;

  request.onGone(() => {
    gone = true;
    if (session !== undefined || over) return;
    over = true;
    abort.abort();
    onOver();
  });

  function openStream(): void {
    if (carrier !== undefined) return;
    carrier = carriers.open(request, headers());
    if (session === undefined) return;
    stream = session.streams.open();
    session.streams.attach(stream, carrier);
  }
  function write(text: string): void {
    if (stream !== undefined) session!.streams.publish(stream, text); else carrier!.write(encodeEvent({ data: text }));
  }
  function finish(): void {
    if (stream !== undefined) session!.streams.finish(stream); else carrier!.end();
  }

  return {
    principal, header: request.header, signal: abort.signal,
    send(text, dispensable = false) {
      if (over || !accept.events || (gone && carrier === undefined)) return false;
      openStream();
      if (dispensable && (stream === undefined ? carrier!.backlog : stream.carrier?.backlog ?? 0) > limits.serverBacklogBytes) return false;
      write(text);
      return true;
    },
    answer(text, status) {
      if (over) return;
      over = true;
      if (carrier !== undefined) {
        if (text !== undefined) write(text);
        finish();
      } else if (text === undefined) request.reply(status === 200 ? 202 : status, headers());
      else if (accept.json || status !== 200) request.reply(status, { 'content-type': 'application/json', ...headers() }, text);
      else { openStream(); write(text); finish(); }
      onOver();
    },
    pause(retryMs) {
      if (over || gone || !accept.events || session === undefined || !session.polls()) return;
      openStream();
      const current = stream!.carrier;
      if (current === undefined) return;
      stream!.carrier = undefined;
      current.write(encodeEvent({ id: `${stream!.id}-${stream!.last}`, retryMs, data: '' }));
      current.end();
    },
    tick() {
      if (!over && !gone && carrier === undefined && accept.events && now() - startedAt >= limits.serverStreamAfterMs) openStream();
    },
    abort: () => abort.abort(),
  };
}
