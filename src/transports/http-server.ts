/**
 * One Streamable HTTP endpoint for both eras: stateless POSTs (MCP 2026-07-28) and legacy sessions with POST, GET and DELETE (2025-03-26
 * to 2025-11-25). What HTTP has to say is said here; what a message means is the engine's business.
 */
import { Failure } from '../base/failure.ts';
import { now, settlesWithin } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { createAdmission, createTokenCheck, isLoopbackHost } from '../http/admission.ts';
import { serveHttp, type InboundRequest } from '../http/serve.ts';
import { codes } from '../jsonrpc/codes.ts';
import { classify, parseFrame, type Id, type Message } from '../jsonrpc/message.ts';
import { encodeError } from '../jsonrpc/serving.ts';
import { createCarriers } from './event-carriers.ts';
import { createHttpExchange, readAccept, type Accepted, type HttpExchange } from './http-exchange.ts';
import type { HttpServer, HttpServerOptions } from './http-server-types.ts';
import { createHttpSessions, type HttpSession } from './http-sessions.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Rejects with a `Failure` when the port cannot be had, or must not be opened like that. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { engine, host = '127.0.0.1', path = '/mcp', tokens, onAccess } = options;
  if (!isLoopbackHost(host) && (tokens === undefined || tokens.size === 0)) {
    throw new Failure('USAGE', `Cannot serve on "${host}": other machines could reach it, and no token is set`, { stage: 'connect', details: { argument: host }, hint: 'Set a token, or serve on 127.0.0.1' });
  }
  const maxBodyBytes = Math.min(options.maxBodyBytes ?? limits.serverBodyBytes, limits.serverBodyBytesMax);
  const admit = createAdmission({ host, allowedHosts: options.allowedHosts, allowedOrigins: options.allowedOrigins });
  const whose = tokens === undefined || tokens.size === 0 ? undefined : createTokenCheck(tokens);
  const sessions = createHttpSessions(engine, { most: options.maxSessions ?? limits.serverSessions, idleMs: options.sessionIdleMs ?? limits.serverSessionIdleMs });
  const carriers = createCarriers();
  const running = new Set<HttpExchange>();
  let closing: Promise<void> | undefined, idle: () => void = () => {};

  interface Visit { readonly request: InboundRequest; principal: string | undefined; rpc: string | undefined; refused: string | undefined }

  function refuse(visit: Visit, status: number, code: number, message: string, id: Id | null = null, headers: Record<string, string> = {}): void {
    visit.refused = message;
    visit.request.reply(status, { ...JSON_TYPE, ...headers }, encodeError(id, { code, message }));
  }

  function onRequest(request: InboundRequest): void {
    const startedAt = now();
    const visit: Visit = { request, principal: undefined, rpc: undefined, refused: undefined };
    request.onOver((status) => onAccess?.({ method: request.method, path: request.path, rpc: visit.rpc, status, ms: now() - startedAt, principal: visit.principal, refused: visit.refused }));
    const forbidden = admit(request.header('host'), request.header('origin'));
    if (forbidden !== undefined) { refuse(visit, 403, codes.invalidRequest, `Forbidden: ${forbidden}`); return; }
    if (closing !== undefined) { refuse(visit, 503, codes.internalError, 'The server is closing', null, { 'retry-after': '1' }); return; }
    if (request.path !== path) { refuse(visit, 404, codes.invalidRequest, 'Not found'); return; }
    const authorization = request.header('authorization');
    const principal = whose === undefined ? 'local' : whose(authorization);
    if (principal === undefined) {
      refuse(visit, 401, codes.invalidRequest, 'Unauthorized', null, { 'www-authenticate': authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"' });
      return;
    }
    visit.principal = principal;
    switch (request.method) {
      case 'POST': void post(visit, principal); return;
      case 'GET': get(visit, principal); return;
      case 'DELETE': void remove(visit, principal); return;
      default: refuse(visit, 405, codes.invalidRequest, 'Method not allowed', null, { allow: 'POST, GET, DELETE' });
    }
  }

  // ---- POST
  async function post(visit: Visit, principal: string): Promise<void> {
    const { request } = visit;
    if (!/^application\/json\s*(?:;|$)/i.test(request.header('content-type') ?? '')) { refuse(visit, 415, codes.invalidRequest, 'The Content-Type is not application/json'); return; }
    const accept = readAccept(request.header('accept'));
    if (accept === undefined) { refuse(visit, 406, codes.invalidRequest, 'The client accepts neither application/json nor text/event-stream'); return; }
    const body = await request.body(maxBodyBytes);
    if (body === 'gone') return;
    if (body === 'too-large') { refuse(visit, 413, codes.invalidRequest, `The body is larger than ${maxBodyBytes} bytes`); return; }
    const parsed = parseFrame(body.text);
    if (parsed === undefined) { refuse(visit, 400, codes.parseError, 'The body is not JSON'); return; }
    if (Array.isArray(parsed.value)) { batch(visit, principal, accept, parsed.pruned ? [] : parsed.value); return; }
    const message = classify(parsed.value, parsed.pruned);
    if (message === undefined) { refuse(visit, 400, codes.invalidRequest, 'The body is not a JSON-RPC message', idOf(parsed.value)); return; }
    receive(visit, principal, accept, message);
  }

  function receive(visit: Visit, principal: string, accept: Accepted, message: Message): void {
    const { request } = visit;
    if (message.kind === 'request' || message.kind === 'notification') visit.rpc = message.message.method;
    if (message.kind === 'refused') { refuse(visit, 400, codes.invalidRequest, `The message nests deeper than ${limits.jsonDepth} levels`, message.message.id); return; }
    switch (engine.eraOf(message, request.header('mcp-protocol-version'))) {
      case 'modern':
        if (message.kind === 'request') engine.serve(message.message, exchangeFor(visit, principal, accept));
        // The era has no notifications of clients over HTTP, and no responses.
        else if (message.kind === 'notification') request.reply(202);
        else refuse(visit, 400, codes.invalidRequest, 'This revision has no responses of clients', message.message.id);
        return;
      case 'opening': initialize(visit, principal, accept, message); return;
      case 'legacy': {
        const session = sessionFor(visit, principal, idOf(message.message));
        if (session === undefined) return;
        if (message.kind === 'request') session.served.receive(message, exchangeFor(visit, principal, accept, session));
        else { session.served.receive(message); request.reply(202); }
      }
    }
  }

  function exchangeFor({ request }: Visit, principal: string, accept: Accepted, session?: HttpSession, opened?: () => void): HttpExchange {
    const exchange = createHttpExchange({
      request, principal, accept, carriers,
      session: session === undefined ? undefined : { streams: session.streams, polls: () => (session.served.revision ?? '') >= '2025-11-25' },
      headers: () => (opened === undefined || session?.served.revision === undefined ? {} : { 'mcp-session-id': session.id }),
      onOver() {
        running.delete(exchange);
        opened?.();
        if (running.size === 0) idle();
      },
    });
    running.add(exchange);
    return exchange;
  }

  function initialize(visit: Visit, principal: string, accept: Accepted, message: Message): void {
    if (visit.request.header('mcp-session-id') !== undefined) { refuse(visit, 400, codes.invalidRequest, 'A session cannot be initialized again', idOf(message.message)); return; }
    const session = sessions.open(principal);
    if (session === undefined) { refuse(visit, 503, codes.internalError, 'Too many sessions are open', idOf(message.message), { 'retry-after': '60' }); return; }
    // The head names the session, and can only do so when it is agreed on: nothing is said before.
    session.served.receive(message, exchangeFor(visit, principal, { ...accept, events: false }, session, () => sessions.admit(session)));
  }

  /** The session that the request names, or the refusal that is due. */
  function sessionFor(visit: Visit, principal: string, id: Id | null): HttpSession | undefined {
    const { request } = visit;
    const version = request.header('mcp-protocol-version'), name = request.header('mcp-session-id');
    if (version !== undefined && !engine.servesLegacy(version)) { refuse(visit, 400, codes.invalidRequest, 'Unsupported MCP-Protocol-Version', id); return undefined; }
    if (name === undefined) { refuse(visit, 400, codes.invalidRequest, 'Mcp-Session-Id is missing: send initialize first, or name the protocol version in _meta', id); return undefined; }
    const session = sessions.find(name, principal);
    if (session === undefined) refuse(visit, 404, codes.invalidRequest, 'There is no such session', id);
    return session;
  }

  /** Lists of messages exist in 2025-03-26 alone. Their answers come one by one, as events. */
  function batch(visit: Visit, principal: string, accept: Accepted, values: readonly unknown[]): void {
    const messages = values.map((value) => classify(value));
    const version = visit.request.header('mcp-protocol-version');
    const named = visit.request.header('mcp-session-id');
    const session = named === undefined || (version ?? '') >= '2026' ? undefined : sessions.find(named, principal);
    if (session?.served.revision !== '2025-03-26' || values.length === 0 || values.length > limits.serverRequests || messages.some((message) => message === undefined || message.kind === 'refused' || (message.kind === 'request' && message.message.method === 'initialize'))) {
      refuse(visit, 400, codes.invalidRequest, 'A list of messages is not served here');
      return;
    }
    visit.rpc = `batch of ${values.length}`;
    let waiting = messages.filter((message) => message?.kind === 'request').length;
    const whole = waiting === 0 ? undefined : exchangeFor(visit, principal, { ...accept, events: true }, session);
    for (const message of messages as Message[]) {
      if (message.kind !== 'request' || whole === undefined) { session.served.receive(message); continue; }
      session.served.receive(message, {
        principal, header: whole.header, signal: whole.signal, send: whole.send,
        answer(text) {
          if (text !== undefined) whole.send(text);
          if (--waiting === 0) whole.answer(undefined, 200);
        },
      });
    }
    if (whole === undefined) visit.request.reply(202);
  }

  // ---- GET and DELETE
  function get(visit: Visit, principal: string): void {
    const { request } = visit;
    if (request.header('mcp-session-id') === undefined && request.header('mcp-protocol-version') === undefined) { refuse(visit, 405, codes.invalidRequest, 'Method not allowed', null, { allow: 'POST' }); return; }
    if (readAccept(request.header('accept'))?.events !== true) { refuse(visit, 406, codes.invalidRequest, 'The client does not accept text/event-stream'); return; }
    const session = statefulSession(visit, principal);
    if (session === undefined) return;
    const last = request.header('last-event-id');
    if (last === undefined || last === '') { session.streams.attach(session.streams.standing, carriers.open(request)); return; }
    const found = session.streams.find(last);
    // Nothing to come back for: a plain refusal, so that the client does not try for ever.
    if (found === undefined) { refuse(visit, 400, codes.invalidRequest, 'The events behind this Last-Event-ID are gone'); return; }
    session.streams.attach(found.stream, carriers.open(request), found.after);
  }

  async function remove(visit: Visit, principal: string): Promise<void> {
    const session = statefulSession(visit, principal);
    if (session === undefined) return;
    await sessions.end(session);
    visit.request.reply(200);
  }

  /** Of the stateless era these methods are no part. */
  function statefulSession(visit: Visit, principal: string): HttpSession | undefined {
    const version = visit.request.header('mcp-protocol-version');
    if (version === undefined || engine.servesLegacy(version) || !/^\d{4}-\d\d-\d\d$/.test(version)) return sessionFor(visit, principal, null);
    refuse(visit, 405, codes.invalidRequest, 'Method not allowed', null, { allow: 'POST' });
    return undefined;
  }

  // ---- life
  const serving = await serveHttp({ host, port: options.port ?? 0, onRequest }).catch((error: unknown) => {
    const system = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    throw new Failure('CONNECT_FAILED', `Cannot serve on "${host}:${options.port ?? 0}": ${system === 'EADDRINUSE' ? 'another program has that port' : error instanceof Error ? error.message : String(error)}`, {
      stage: 'connect', details: { address: `${host}:${options.port ?? 0}`, ...(system === undefined ? {} : { system }) }, hint: 'Choose another port, or 0 for any free one', cause: error,
    });
  });
  const ticker = setInterval(() => {
    for (const exchange of running) exchange.tick();
    carriers.tick();
    sessions.tick();
  }, limits.serverTickMs);
  ticker.unref();

  async function shut(drainMs: number): Promise<void> {
    const until = now() + drainMs;
    const left = (): number => Math.max(0, until - now());
    // Subscriptions would never end by themselves, and suspended calls have no request that waits for them.
    engine.close();
    if (running.size > 0) await settlesWithin(new Promise<void>((resolve) => { idle = resolve; }), left());
    for (const exchange of [...running]) exchange.abort();
    await sessions.close();
    await serving.close(Math.min(left(), limits.drainMs));
    clearInterval(ticker);
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${serving.port}${path}`, port: serving.port,
    get sessions() { return sessions.size; },
    close: (drainMs = limits.serverDrainMs) => (closing ??= shut(drainMs)),
  };
}

function idOf(value: unknown): Id | null {
  const id = typeof value === 'object' && value !== null ? (value as { readonly id?: unknown }).id : undefined;
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
}
