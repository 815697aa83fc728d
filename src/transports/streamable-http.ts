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
 *
 * A request is a flight from its POST to its answer: in the air (one exchange), or on the ground between a cut stream and the GET
 * that takes it up again. Every flight ends once, in `settle`; the answer itself goes to the sink, which knows who waits.
 */
import { delay, settlesWithin } from '../base/deadline.ts';
import { Failure, toFailure, type AnyFailure, type Recovery, type Stage } from '../base/failure.ts';
import { encodeHeaderValue } from '../base/header-value.ts';
import { limits } from '../base/limits.ts';
import { contentFailure, statusFailure } from '../http/answers.ts';
import { collectText, type BodyText } from '../http/body.ts';
import { createEventDecoder, type EventDecoder } from '../http/event-stream.ts';
import type { Exchange, RequestHeaders, ResponseHead, SendRequest } from '../http/types.ts';
import { codes, isModernError } from '../jsonrpc/codes.ts';
import { classify, parseFrame, type Id, type Message } from '../jsonrpc/message.ts';
import { createNoise } from '../jsonrpc/noise.ts';
import type { CloseReport, Outgoing, Sink, Transport } from '../jsonrpc/transport.ts';
import { crowdedOut, handOver, serverFault, uncertain, withoutOurHeaders, type Handover } from './handover.ts';
import { createStandingStream, isEventStream, lastEventHeader, mayComeBack, streamPause } from './standing-stream.ts';

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
  /** The session it belongs to: a late refusal must not end the one that replaced it, nor may a GET ask the new one for it. */
  session: string | undefined;
  exchange: Exchange | undefined;
  over: boolean;
  /** Its answer comes as events. */
  streaming: boolean;
  lastEventId: string | undefined;
  retryMs: number | undefined;
  /** Resumptions in a row that brought nothing. */
  barren: number;
  /** Set while it waits to be resumed. */
  pause: AbortController | undefined;
  readonly settle: (failure?: AnyFailure) => void;
}

const JSON_TYPE = 'application/json', ACCEPT = 'application/json, text/event-stream';
/** Means this only together with the words: the specification gives the number no meaning. */
const SESSION_NOT_FOUND = -32001;

export function createStreamableHttpTransport(options: StreamableHttpOptions): Transport {
  const { name, url } = options;
  const configured = withoutOurHeaders(options.headers), bare = Object.keys(configured).length === 0;
  /** Of the legacy era, where nothing but the session changes them. */
  let known: { readonly session: string | undefined; readonly revision: string | undefined; readonly era: string | undefined; readonly headers: RequestHeaders } | undefined;
  const flights = new Map<Id, Flight>();
  const handovers = new Set<Handover>(), lingering = new Set<Exchange>();
  let sink: Sink | undefined;
  let revision: string | undefined, era: 'legacy' | 'modern' | undefined;
  let sessionId: string | undefined;
  const noise = createNoise();
  let closing: Promise<CloseReport> | undefined;

  const standing = createStandingStream({
    get: (lastEventId, callbacks) => options.send({ ...callbacks, method: 'GET', url, stage: 'call', replaySafe: true, headers: streamHeaders(sessionId, lastEventId) }),
    receive: (text) => receive(text, undefined),
    trouble: (message) => sink!.notice({ kind: 'stream', message }),
  });

  // ---- headers
  // Literals where it can be: an object that grows or is spread member by member costs a call more than everything else here.
  function headersOf(message: Outgoing): RequestHeaders {
    if (message.kind !== 'request' || message.stamp === undefined) return legacyHeaders(sessionId);
    const target = nameOf(message), version = message.stamp.revision;
    const ours: Record<string, string> = target === undefined
      ? { 'content-type': JSON_TYPE, accept: ACCEPT, 'mcp-protocol-version': version, 'mcp-method': message.method }
      : { 'content-type': JSON_TYPE, accept: ACCEPT, 'mcp-protocol-version': version, 'mcp-method': message.method, 'mcp-name': encodeHeaderValue(target) };
    return bare && message.headers === undefined ? ours : { ...configured, ...ours, ...message.headers };
  }
  function legacyHeaders(session: string | undefined): RequestHeaders {
    if (known !== undefined && known.session === session && known.revision === revision && known.era === era) return known.headers;
    const headers = { ...configured, 'content-type': JSON_TYPE, accept: ACCEPT, ...sessionHeaders(session) };
    known = { session, revision, era, headers };
    return headers;
  }
  function sessionHeaders(session: string | undefined): Record<string, string> {
    return {
      ...(era === 'legacy' && revision !== undefined ? { 'mcp-protocol-version': revision } : {}),
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    };
  }
  function streamHeaders(session: string | undefined, lastEventId: string | undefined): RequestHeaders {
    return { ...configured, accept: 'text/event-stream', ...sessionHeaders(session), ...lastEventHeader(lastEventId) };
  }

  // ---- out
  function send(message: Outgoing): Promise<void> {
    if (closing !== undefined) return Promise.reject(closedHere('retryable'));
    if (message.kind === 'request') return post(message);
    if (era === 'modern') return Promise.resolve();      // the modern era has no notifications or answers over HTTP
    return tell(message);
  }

  function post(request: Request): Promise<void> {
    // A handshake starts from nothing: no session and no version of an earlier attempt may cling to it.
    if (request.method === 'initialize') { endSession(); revision = undefined; era = undefined; }
    return new Promise((resolve, reject) => {
      const flight: Flight = {
        request, session: sessionId, exchange: undefined, over: false, streaming: false, lastEventId: undefined, retryMs: undefined, barren: 0, pause: undefined,
        settle(failure) {
          if (flight.over) return;
          flight.over = true;
          flights.delete(request.id);
          flight.pause?.abort();
          if (failure === undefined) resolve(); else reject(failure);
        },
      };
      flights.set(request.id, flight);
      flight.exchange = launch(flight, false);
    });
  }

  /** Notifications and answers of ours (legacy). */
  function tell(message: Outgoing): Promise<void> {
    const crowded = crowdedOut(message, handovers.size, name);
    if (crowded !== undefined) return Promise.reject(crowded);
    const handover = handOver({
      send: options.send, url, headers: headersOf(message), body: message.text, replaySafe: message.kind === 'notification',
      over: () => { handovers.delete(handover); },
    });
    handovers.add(handover);
    if (message.kind !== 'notification' || message.method !== 'notifications/initialized') return handover.taken;
    const session = sessionId;
    return handover.taken.then(() => { if (closing === undefined && session === sessionId) standing.start(); });
  }

  // ---- in
  /** Sends the POST of a flight, or the GET that resumes its stream, and receives the answer. */
  function launch(flight: Flight, resumed: boolean): Exchange {
    const { request, lastEventId: before } = flight;
    let head: ResponseHead | undefined, body: BodyText | undefined, events: EventDecoder | undefined;
    /** An id counts also when its event had no data, or the stream was cut right behind it. */
    const noteId = (): boolean => {
      const id = events === undefined ? '' : events.lastEventId();
      if (id !== '') flight.lastEventId = id;
      return flight.lastEventId !== before;
    };
    return options.send({
      method: resumed ? 'GET' : 'POST', url, headers: resumed ? streamHeaders(flight.session, before) : headersOf(request), body: resumed ? undefined : request.text,
      replaySafe: resumed || request.replaySafe, stage: resumed ? 'call' : stageOf(request), headMs: resumed ? undefined : options.headMs,
      onHold: (ms) => { if (!resumed) sink!.postpone?.(request.id, ms); },
      onHead(received) {
        head = received;
        if (request.method === 'initialize' && !resumed && head.status < 300) takeSession(flight, head);
        flight.streaming = isEventStream(head);
        if (flight.streaming) events = eventsOf(flight); else body = collectText();
      },
      onData(chunk) {
        if (events === undefined) { body!.add(chunk); return; }
        try { events.feed(chunk); } catch (error) { broken(flight, toFailure(error, 'call')); }
      },
      onEnd() {
        lingering.delete(flight.exchange!);
        if (flight.over) return;
        if (events !== undefined) { interrupted(flight, noteId() || flight.retryMs !== undefined, lost(flight, 'its stream ended before the answer')); return; }
        if (!resumed || head!.status === 200) { whole(flight, head!, body!.take()); return; }
        const failure = lost(flight, `its stream was cut and cannot be taken up again (status ${head!.status})`);
        if (mayComeBack(head!.status, true)) interrupted(flight, false, failure); else flight.settle(failure);
      },
      onFail(failure) {
        lingering.delete(flight.exchange!);
        if (flight.over) return;
        if (events !== undefined || resumed) interrupted(flight, noteId(), uncertain(failure));
        else flight.settle(head === undefined ? failure : uncertain(failure));
      },
    });
  }

  function eventsOf(flight: Flight): EventDecoder {
    return createEventDecoder({
      onEvent: ({ data, type }) => { if (data !== '' && type === 'message') receive(data, flight); },
      onRetry: (ms) => { flight.retryMs = ms; },
    });
  }

  function receive(text: string, flight: Flight | undefined): void {
    const parsed = parseFrame(text);
    const list: readonly unknown[] = parsed === undefined ? [undefined] : Array.isArray(parsed.value) ? parsed.value : [parsed.value];
    for (const value of list) {
      const message = value === undefined ? undefined : classify(value, parsed?.pruned);
      if (message === undefined) {
        const notice = noise.heard(text);
        if (notice !== undefined) sink!.notice(notice);
        // On the stream of one request there is nothing else this can have been but its answer.
        if (flight !== undefined) broken(flight, unreadable(flight, 'an event of its stream is no JSON-RPC message', text));
        return;
      }
      noise.message();
      deliver(message, flight);
    }
  }

  function deliver(message: Message, flight: Flight | undefined): void {
    if (message.kind === 'notification' || (message.kind === 'refused' && message.message.of !== 'answer')) { sink!.message(message); return; }
    if (message.kind === 'request') {
      if (flight?.request.stamp === undefined) sink!.message(message);
      else sink!.notice({ kind: 'violation', message: `the server sent the request ${message.message.method} on the stream of ${flight.request.method}, which this revision forbids` });
      return;
    }
    // An error without an id (or with null) on the answer to one POST can only belong to that POST. An answer may also come on
    // another stream than its own: then nothing is left to come on its own.
    const { id } = message.message;
    const owner = id === null ? flight : flights.get(id);
    if (owner === undefined && flight !== undefined && !flight.over && id === String(flight.request.id)) { broken(flight, misaddressed(flight, id)); return; }
    if (owner === undefined || owner.over) { sink!.message(message); return; }
    owner.settle();
    if (owner.streaming || owner !== flight) linger(owner);
    sink!.message(id === null ? { ...message, message: { ...message.message, id: owner.request.id } } as Message : message);
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
    const { request } = flight, { status } = head;
    const parsed = text === '' ? undefined : parseFrame(text);
    const message = parsed === undefined ? undefined : classify(parsed.value, parsed.pruned);
    const error = message?.kind === 'error' ? message.message : undefined;
    if (flight.session !== undefined && request.stamp === undefined && isSessionLoss(status, error?.error.code, text)) { loseSession(flight, status); return; }
    if (status >= 200 && status < 300) {
      if (Array.isArray(parsed?.value) && parsed.value.length > 0) { receive(text, flight); flight.settle(unreadable(flight, 'the batch has no answer to it', text)); return; }
      if (message?.kind !== 'result' && message?.kind !== 'error' && !(message?.kind === 'refused' && message.message.of === 'answer')) { flight.settle(uncertain(contentFailure({ ...head, body: text, stage: stageOf(request) }, 'an answer'))); return; }
      const { id } = message.message;
      if (id === null || id === request.id) deliver(message, flight);
      else flight.settle(misaddressed(flight, id, text));
      return;
    }
    // The body says more than the status. Authorization, overload and outages are no answers of the protocol, and a handshake that
    // an endpoint of the older kind refuses has to show its status: it decides what is tried next.
    const answered = error !== undefined && speaksForItself(status) && (error.id === null || error.id === request.id);
    const foreign = request.method === 'initialize' && [400, 404, 405].includes(status) && error !== undefined && !isModernError(error.error.code) && !(status === 404 && error.error.code === codes.methodNotFound);
    if (answered && !foreign) { deliver(message!, flight); return; }
    const body = answered && error.error.message !== '' ? { body: error.error.message, headers: {} } : { body: text };
    flight.settle(serverFault(statusFailure({ ...head, ...body, stage: stageOf(request) })));
  }

  // ---- a stream that ends before its answer
  /** `useful`: the last attempt brought a further event, or the server says itself when to come again. */
  function interrupted(flight: Flight, useful: boolean, why: AnyFailure): void {
    flight.barren = useful ? 0 : flight.barren + 1;
    const resumable = flight.lastEventId !== undefined && flight.request.stamp === undefined && flight.session === sessionId;
    if (!resumable || flight.barren > limits.streamRetries) { flight.settle(uncertain(why)); return; }
    flight.exchange = undefined;
    const pause = flight.pause = new AbortController();
    void delay(streamPause(flight.barren, flight.retryMs), pause.signal).then(() => {
      if (!flight.over) flight.exchange = launch(flight, true);
    });
  }
  function broken(flight: Flight, failure: AnyFailure): void {
    const { exchange } = flight;
    flight.settle(uncertain(failure));
    exchange?.abort();
  }

  // ---- the session
  function takeSession(flight: Flight, head: ResponseHead): void {
    const id = head.headers['mcp-session-id'];
    if (id !== undefined && /^[\x21-\x7e]+$/.test(id)) flight.session = sessionId = id;
  }
  function endSession(): void {
    sessionId = undefined;
    standing.stop();
  }
  function loseSession(flight: Flight, status: number): void {
    if (sessionId === flight.session) endSession();
    flight.settle(new Failure('SESSION_LOST', `Cannot reach server "${name}": it no longer knows the session (status ${status})`, { stage: 'call', details: { status }, recovery: 'retryable' }) as AnyFailure);
  }

  // ---- the end
  async function shut(): Promise<CloseReport> {
    standing.stop();
    for (const flight of [...flights.values()]) {
      const sent = flight.exchange?.abort() ?? 'yes';
      flight.settle(closedHere(sent === 'no' ? 'retryable' : 'unknown'));
    }
    for (const exchange of lingering) exchange.abort();
    lingering.clear();
    // Cancellations and answers that were just sent get a moment to leave.
    if (handovers.size > 0) await settlesWithin(Promise.allSettled([...handovers].map(({ taken }) => taken)), limits.drainMs);
    for (const handover of [...handovers]) handover.abort(closedHere('unknown'));
    if (sessionId !== undefined) await forget(sessionId);
    options.dispose?.();
    sink?.closed(closedHere('retryable'));
    return { forced: [] };
  }
  /** A courtesy with a short budget: a silent server must not hold the way out. Whether it takes it (405 says that it does not) is its business. */
  function forget(session: string): Promise<void> {
    return new Promise((resolve) => {
      const exchange = options.send({
        method: 'DELETE', url, headers: { ...configured, ...sessionHeaders(session) }, deadlineMs: limits.sessionEndMs, stage: 'close',
        onHead() { exchange.abort(); resolve(); }, onData() {}, onEnd() {}, onFail: () => resolve(),
      });
    });
  }

  function closedHere(recovery: Recovery): AnyFailure {
    return new Failure('CONNECTION_CLOSED', `Cannot reach server "${name}": the connection was closed by this side`, { stage: 'close', details: {}, recovery }) as AnyFailure;
  }
  function lost({ request }: Flight, what: string): AnyFailure {
    return new Failure('CONNECTION_CLOSED', `Cannot get an answer to ${request.method} from server "${name}": ${what}`, { stage: 'call', details: {}, recovery: 'unknown' }) as AnyFailure;
  }
  function misaddressed(flight: Flight, id: Id, text = ''): AnyFailure {
    return unreadable(flight, `the answer has the id ${JSON.stringify(id)} instead of ${JSON.stringify(flight.request.id)}`, text);
  }
  function unreadable({ request }: Flight, what: string, text: string): AnyFailure {
    return new Failure('PROTOCOL_VIOLATION', `Cannot read the answer of server "${name}" to ${request.method}: ${what}`, { stage: 'call', details: text === '' ? {} : { excerpt: text.slice(0, limits.excerptBytes) }, recovery: 'unknown' }) as AnyFailure;
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
      if (era === 'modern') endSession();
    },
    close: () => (closing ??= shut()),
  };
}

function nameOf({ method, params }: Request): string | undefined {
  const value = method === 'tools/call' || method === 'prompts/get' ? params?.['name'] : method === 'resources/read' ? params?.['uri'] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function stageOf({ method }: Request): Stage {
  return method === 'server/discover' ? 'probe' : method === 'initialize' ? 'handshake' : method.endsWith('/list') ? 'list' : 'call';
}

function speaksForItself(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/**
 * 404 by the specification, unless its body says that the method is what was not found. Many servers say 400 and speak of the
 * session, some even 200 with the error that a well-known library gives.
 */
function isSessionLoss(status: number, code: number | undefined, text: string): boolean {
  if (status === 404) return code !== codes.methodNotFound;
  if (status === 400) return /session/i.test(text);
  return status === 200 && code === SESSION_NOT_FOUND && /\bsession not found\b/i.test(text.slice(0, 1024));
}
