/**
 * Streamable HTTP in both eras (MCP 2026-07-28 and 2025-03-26 to 2025-11-25). One POST per message; its answer is JSON or a stream
 * of events that belongs to that request alone.
 *
 *            modern                                      legacy
 *   headers  version, method, name, parameters           version after the handshake, session id
 *   session  none, ever                                  from the answer to `initialize`; 404 ends it
 *   GET      never                                       one stream for what belongs to no request, if offered
 *   cut      the request is lost                         resumed by GET with the last event id, if events had ids
 *   cancel   close the stream                            a notification (the connection sends it), then close
 *
 * The headers of a request come from the very object its body was encoded from, so they cannot disagree with it.
 */
import { delay } from '../base/deadline.ts';
import { Failure, toFailure, type AnyFailure, type Stage } from '../base/failure.ts';
import { encodeHeaderValue } from '../base/header-value.ts';
import { parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { contentFailure, mediaType, statusFailure } from '../http/answers.ts';
import { collectText, type BodyText } from '../http/body.ts';
import { createEventDecoder, type EventDecoder } from '../http/event-stream.ts';
import type { Exchange, HttpRequest, ResponseHead, SendRequest } from '../http/types.ts';
import { classify, type Id, type Message } from '../jsonrpc/message.ts';
import type { CloseReport, Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';

export interface StreamableHttpOptions {
  /** The server's, for messages. */
  readonly name: string;
  readonly url: string;
  /** Of the configuration; they never override the protocol's own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly send: SendRequest;
  /** Ends the connections that this transport alone uses. */
  readonly dispose?: () => void;
  /** Milliseconds to wait for the head of an answer. Default: none, the request's own deadline counts. */
  readonly headMs?: number;
}

type Request = Extract<Outgoing, { kind: 'request' }>;

/** What one POST (or the GETs that resume it) still owes. */
interface Flight {
  readonly request: Request;
  /** The session it was sent in: a late refusal must not end the one that replaced it. */
  readonly session: string | undefined;
  exchange: Exchange | undefined;
  over: boolean;
  /** Its answer comes as events. */
  streaming: boolean;
  lastEventId: string | undefined;
  retryMs: number | undefined;
  readonly settle: (failure?: AnyFailure) => void;
}

const ACCEPT = 'application/json, text/event-stream';
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id', 'last-event-id']);

export function createStreamableHttpTransport(options: StreamableHttpOptions): Transport {
  const { name, url } = options;
  const configured = Object.fromEntries(Object.entries(options.headers).filter(([key]) => !OWN_HEADERS.has(key.toLowerCase()) && !key.toLowerCase().startsWith('mcp-param-')));
  const flights = new Map<Id, Flight>();
  const others = new Set<Exchange>(), lingering = new Set<Exchange>();
  const stopping = new AbortController();
  let sink: Sink | undefined;
  let revision: string | undefined, era: 'legacy' | 'modern' | undefined;
  let sessionId: string | undefined;
  let standing: Exchange | undefined, standingWanted = false;
  let closing: Promise<CloseReport> | undefined;

  // ---- headers
  function headersOf(message: Outgoing): Record<string, string> {
    const headers: Record<string, string> = { ...configured, 'content-type': 'application/json', accept: ACCEPT };
    if (message.kind === 'request' && message.stamp !== undefined) {
      headers['mcp-protocol-version'] = message.stamp.revision;
      headers['mcp-method'] = message.method;
      const target = nameOf(message);
      if (target !== undefined) headers['mcp-name'] = encodeHeaderValue(target);
      return message.headers === undefined ? headers : { ...headers, ...message.headers };
    }
    return { ...headers, ...legacyHeaders() };
  }
  function legacyHeaders(): Record<string, string> {
    return {
      ...(era === 'legacy' && revision !== undefined ? { 'mcp-protocol-version': revision } : {}),
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    };
  }

  // ---- out
  function send(message: Outgoing): Promise<void> {
    if (closing !== undefined) return Promise.reject(closedHere());
    if (message.kind === 'request') return post(message);
    if (era === 'modern') return Promise.resolve();      // the modern era has no notifications or answers over HTTP
    return tell(message);
  }

  function post(request: Request): Promise<void> {
    // A handshake starts from nothing: no session and no version of an earlier attempt may cling to it.
    if (request.method === 'initialize') { sessionId = undefined; revision = undefined; era = undefined; endStanding(); }
    return new Promise((resolve, reject) => {
      const flight: Flight = {
        request, session: sessionId, exchange: undefined, over: false, streaming: false, lastEventId: undefined, retryMs: undefined,
        settle(failure) {
          if (flight.over) return;
          flight.over = true;
          if (flights.get(request.id) === flight) flights.delete(request.id);
          if (failure === undefined) resolve(); else reject(failure);
        },
      };
      flights.set(request.id, flight);
      flight.exchange = options.send({ ...answerOf(flight, false), method: 'POST', url, headers: headersOf(request), body: request.text, replaySafe: request.replaySafe, stage: stageOf(request), ...(options.headMs === undefined ? {} : { headMs: options.headMs }) });
    });
  }

  /** Receives the answer to a POST, or to a GET that resumes its stream. */
  function answerOf(flight: Flight, resumed: boolean): Pick<HttpRequest, 'onHead' | 'onData' | 'onEnd' | 'onFail'> {
    let head: ResponseHead, body: BodyText | undefined, events: EventDecoder | undefined;
    return {
      onHead(received) {
        head = received;
        if (flight.request.method === 'initialize' && head.status < 300) takeSession(head);
        flight.streaming = head.status === 200 && mediaType(head.headers) === 'text/event-stream';
        if (flight.streaming) events = eventsOf(flight); else body = collectText();
      },
      onData(chunk) {
        if (events === undefined) { body!.add(chunk); return; }
        try { events.feed(chunk); } catch (error) { broken(flight, toFailure(error, 'call')); }
      },
      onEnd() {
        lingering.delete(flight.exchange!);
        if (flight.over) return;
        if (events !== undefined) { events.end(); flight.lastEventId = events.lastEventId === '' ? flight.lastEventId : events.lastEventId; streamEnded(flight); return; }
        if (resumed && head.status !== 200) { flight.settle(lost(flight, `its answer cannot be fetched again (status ${head.status})`)); return; }
        whole(flight, head, body!.take());
      },
      onFail(failure) {
        lingering.delete(flight.exchange!);
        if (flight.over) return;
        if (canResume(flight)) { resume(flight); return; }
        flight.settle(events !== undefined || head !== undefined ? unknown(failure) : failure);
      },
    };
  }

  function eventsOf(flight: Flight): EventDecoder {
    return createEventDecoder({
      onEvent: ({ data, type, id }) => {
        if (id !== '') flight.lastEventId = id;
        if (data !== '' && type === 'message') receive(data, flight);
      },
      onRetry: (ms) => { flight.retryMs = ms; },
    });
  }

  function receive(text: string, flight: Flight | undefined): void {
    const parsed = parseJson(text);
    const list: readonly unknown[] = parsed === undefined ? [undefined] : Array.isArray(parsed.value) ? parsed.value : [parsed.value];
    for (const value of list) {
      const message = value === undefined ? undefined : classify(value);
      if (message === undefined) {
        sink!.notice({ kind: 'noise', excerpt: text.slice(0, limits.excerptBytes), total: 1, run: 1 });
        // On the stream of one request there is nothing else this can have been but its answer.
        if (flight !== undefined) broken(flight, unreadable(flight, 'an event of its stream is no JSON-RPC message', text));
        return;
      }
      deliver(message, flight);
    }
  }

  function deliver(message: Message, flight: Flight | undefined): void {
    const answer = flight !== undefined && !flight.over && (message.kind === 'result' || message.kind === 'error') && answers(message.message.id, flight.request.id);
    if (!answer) { sink!.message(message); return; }
    flight.settle();
    if (flight.streaming) linger(flight);
    sink!.message(message.kind === 'error' && message.message.id === null ? { kind: 'error', message: { ...message.message, id: flight.request.id } } : message);
  }

  /** The server should end the stream now, and then its connection serves again; aborting it would cost a new one per call. */
  function linger({ exchange }: Flight): void {
    if (exchange === undefined) return;
    lingering.add(exchange);
    if (lingering.size <= limits.lingeringStreams) return;
    const [oldest] = lingering;
    lingering.delete(oldest!);
    oldest!.abort();
  }

  /** A complete body that is no event stream. */
  function whole(flight: Flight, head: ResponseHead, text: string): void {
    const { status } = head;
    const parsed = text === '' ? undefined : parseJson(text);
    const message = parsed === undefined ? undefined : classify(parsed.value);
    if (status >= 200 && status < 300) {
      if (Array.isArray(parsed?.value) && parsed.value.length > 0) { receive(text, flight); if (!flight.over) flight.settle(unreadable(flight, 'the batch has no answer to it', text)); return; }
      if (message?.kind === 'result' || message?.kind === 'error') {
        if (answers(message.message.id, flight.request.id)) deliver(message, flight);
        else flight.settle(unreadable(flight, `the answer has the id ${JSON.stringify(message.message.id)} instead of ${JSON.stringify(flight.request.id)}`, text));
        return;
      }
      flight.settle(notAnAnswer(flight, head, text));
      return;
    }
    if (flight.session !== undefined && flight.request.stamp === undefined && isSessionLoss(status, text)) {
      if (sessionId === flight.session) { sessionId = undefined; endStanding(); }
      flight.settle(new Failure('SESSION_LOST', `Cannot reach server "${name}": it no longer knows the session (status ${status})`, { stage: 'call', details: { status }, recovery: 'retryable' }) as AnyFailure);
      return;
    }
    // The body says more than the status. Authorization, overload and outages are no answers of the protocol.
    if (message?.kind === 'error' && status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status) && answers(message.message.id, flight.request.id)) { deliver(message, flight); return; }
    flight.settle(overload(statusFailure({ url: head.url, status, headers: head.headers, body: text, stage: stageOf(flight.request) })));
  }

  function notAnAnswer(flight: Flight, head: ResponseHead, text: string): AnyFailure {
    return unknown(contentFailure({ url: head.url, status: head.status, headers: head.headers, body: text, stage: stageOf(flight.request) }, 'an answer'));
  }

  // ---- a stream that ends before its answer
  function canResume(flight: Flight): boolean {
    return flight.lastEventId !== undefined && flight.request.stamp === undefined && closing === undefined;
  }
  function streamEnded(flight: Flight): void {
    if (canResume(flight)) resume(flight); else flight.settle(lost(flight, 'its stream ended before the answer'));
  }
  function resume(flight: Flight, attempt = 0): void {
    flight.exchange = undefined;
    const waitMs = flight.retryMs ?? Math.min(limits.streamRetryMs * limits.streamRetryFactor ** attempt, limits.retryCapMs);
    void delay(waitMs, stopping.signal).then(() => {
      if (flight.over || closing !== undefined) return;
      const before = flight.lastEventId;
      const answer = answerOf(flight, true);
      flight.exchange = options.send({
        ...answer, method: 'GET', url, headers: { ...configured, accept: 'text/event-stream', ...legacyHeaders(), 'last-event-id': before! }, stage: 'call', replaySafe: true,
        onFail(failure) {
          if (flight.over) return;
          if (flight.lastEventId === before && attempt + 1 >= limits.retryTries) flight.settle(unknown(failure)); else resume(flight, flight.lastEventId === before ? attempt + 1 : 0);
        },
      });
    });
  }
  function broken(flight: Flight, failure: AnyFailure): void {
    const { exchange } = flight;
    flight.settle(unknown(failure));
    exchange?.abort();
  }

  // ---- notifications and answers of ours (legacy)
  function tell(message: Outgoing): Promise<void> {
    return new Promise((resolve, reject) => {
      let head: ResponseHead | undefined;
      const body = collectText();
      const exchange = options.send({
        method: 'POST', url, headers: headersOf(message), body: message.text, stage: 'call', replaySafe: message.kind === 'notification', deadlineMs: limits.requestMsLong,
        onHead: (received) => { head = received; },
        // Whatever body comes with it: none is due, and none may break the session.
        onData: (chunk) => body.add(chunk),
        onEnd() {
          others.delete(exchange);
          if (head!.status >= 400) { reject(statusFailure({ url: head!.url, status: head!.status, headers: head!.headers, body: body.take(), stage: 'call' })); return; }
          if (message.kind === 'notification' && message.method === 'notifications/initialized') { standingWanted = true; stand(0, undefined); }
          resolve();
        },
        onFail(failure) { others.delete(exchange); reject(failure); },
      });
      others.add(exchange);
    });
  }

  // ---- the standing stream of the legacy era: optional, and never a reason to fail
  function stand(attempt: number, lastEventId: string | undefined): void {
    if (!standingWanted || closing !== undefined || era === 'modern') return;
    let status = 0, last = lastEventId, retryMs: number | undefined, lived = false;
    const events = createEventDecoder({
      onEvent({ data, type, id }) {
        lived = true;
        if (id !== '') last = id;
        if (data !== '' && type === 'message') receive(data, undefined);
      },
      onRetry: (ms) => { retryMs = ms; },
    });
    const again = (): void => {
      if (standing !== exchange) return;
      standing = undefined;
      const next = lived ? 0 : attempt + 1;
      if (next > limits.streamRetries) return;
      void delay(retryMs ?? Math.min(limits.streamRetryMs * limits.streamRetryFactor ** next, limits.retryCapMs), stopping.signal).then(() => { if (standing === undefined) stand(next, last); });
    };
    const exchange = options.send({
      method: 'GET', url, headers: { ...configured, accept: 'text/event-stream', ...legacyHeaders(), ...(last === undefined ? {} : { 'last-event-id': last }) }, stage: 'call', replaySafe: true,
      onHead(head) {
        status = head.status;
        // 405 says that there is none; other refusals, and answers that are no stream, mean the same to us.
        if (status !== 200 || mediaType(head.headers) !== 'text/event-stream') { standingWanted = status >= 500 || status === 429; exchange.abort(); if (standingWanted) again(); else standing = undefined; }
      },
      onData(chunk) {
        try { events.feed(chunk); } catch (error) { sink!.notice({ kind: 'stream', message: toFailure(error).message }); exchange.abort(); again(); }
      },
      onEnd: again,
      onFail: again,
    });
    standing = exchange;
  }
  function endStanding(): void {
    const running = standing;
    standing = undefined;
    standingWanted = false;
    running?.abort();
  }

  function takeSession(head: ResponseHead): void {
    const id = head.headers['mcp-session-id'];
    if (id !== undefined && /^[\x21-\x7e]+$/.test(id)) sessionId = id;
  }

  // ---- the end
  async function shut(): Promise<CloseReport> {
    stopping.abort();
    endStanding();
    for (const flight of [...flights.values()]) { flight.exchange?.abort(); flight.settle(closedHere()); }
    for (const exchange of [...others, ...lingering]) exchange.abort();
    if (sessionId !== undefined && era === 'legacy') await endSession();
    options.dispose?.();
    sink?.closed(closedHere());
    return { forced: [] };
  }
  /** A courtesy with a short budget: a silent server must not hold the way out. */
  function endSession(): Promise<void> {
    return new Promise((resolve) => {
      options.send({ method: 'DELETE', url, headers: { ...configured, ...legacyHeaders() }, deadlineMs: limits.sessionEndMs, stage: 'close', onHead: () => {}, onData: () => {}, onEnd: () => resolve(), onFail: () => resolve() });
    });
  }

  function closedHere(): AnyFailure {
    return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": the connection was closed by this side`, { stage: 'close', details: {}, recovery: 'retryable' }) as AnyFailure;
  }
  function lost(flight: Flight, what: string): AnyFailure {
    return new Failure('CONNECTION_CLOSED', `Cannot get an answer to ${flight.request.method} from server "${name}": ${what}`, { stage: 'call', details: {}, recovery: 'unknown' }) as AnyFailure;
  }
  function unreadable(flight: Flight, what: string, text: string): AnyFailure {
    return new Failure('PROTOCOL_VIOLATION', `Cannot read the answer of server "${name}" to ${flight.request.method}: ${what}`, { stage: 'call', details: { excerpt: text.slice(0, limits.excerptBytes) }, recovery: 'unknown' }) as AnyFailure;
  }

  return {
    kind: 'streamable-http',
    perRequest: true,
    open(to) {
      sink = to;
      return Promise.resolve();
    },
    send,
    cancel(id) {
      const flight = flights.get(id);
      if (flight === undefined) return;
      flight.settle();
      flight.exchange?.abort();
    },
    negotiated(peer) {
      era = peer.era;
      revision = peer.revision;
      // A session id that a modern server sends anyway means nothing.
      if (era === 'modern') sessionId = undefined;
    },
    close: () => (closing ??= shut()),
  };
}

/** An error without an id (or with null) on the answer to one POST can only belong to that POST. */
function answers(id: Id | null, expected: Id): boolean {
  return id === null || id === expected;
}

function nameOf({ method, params }: Request): string | undefined {
  const value = method === 'tools/call' || method === 'prompts/get' ? params?.['name'] : method === 'resources/read' ? params?.['uri'] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function stageOf({ method }: Request): Stage {
  return method === 'server/discover' ? 'probe' : method === 'initialize' ? 'handshake' : method.endsWith('/list') ? 'list' : 'call';
}

/** A gateway that gave up, or a server that broke, may have done what was asked; one that is busy or slow to start did not. */
function overload(failure: AnyFailure): AnyFailure {
  return failure.code === 'HTTP_STATUS' && failure.details.status >= 500 && failure.details.status !== 501 && failure.details.status !== 503 ? unknown(failure) : failure;
}

/** 404 by the specification; many servers say 400 and speak of the session. */
function isSessionLoss(status: number, text: string): boolean {
  return status === 404 || (status === 400 && /session/i.test(text));
}

/** The request may have arrived and run: whoever waits for it must know. */
function unknown(failure: AnyFailure): AnyFailure {
  if (failure.recovery === 'unknown') return failure;
  return new Failure(failure.code, failure.message, { stage: failure.stage, details: failure.details as never, recovery: 'unknown', hint: failure.hint, origin: failure.origin, cause: failure.cause }) as AnyFailure;
}
