/** Requests of the stateless era (MCP 2026-07-28): each proves by itself what it speaks and may, in the order of the gateway rules. */
import { isObject, type JsonObject } from '../base/json.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Request } from '../jsonrpc/message.ts';
import { encodeError, type Exchange } from '../jsonrpc/serving.ts';
import { createSeal, type Binding } from './request-state.ts';
import { modernRevisions } from './revisions.ts';
import { readResponses } from './server-asks.ts';
import { faultFor, invalidParams, isRpcError, MalformedRequest, methodNotFound, statusOf, type RpcFault } from './server-fault.ts';
import { checkParameterHeaders, checkStandardHeaders, checkVersionHeader } from './server-headers.ts';
import { listen, type Subscriptions } from './server-listen.ts';
import { isServed, runMethod } from './server-methods.ts';
import { checkAnswers, startModernCall, type Envelope, type ModernCall } from './server-modern-call.ts';
import { isLogLevel } from './server-notes.ts';
import { META, modernCapabilities } from './server-shape.ts';
import { createSuspended } from './server-suspended.ts';
import type { GivenInput, Served, ServedPeer } from './server-types.ts';

export interface ModernOptions {
  /** Finds what is served, and says how to let go of it. */
  open(peer: ServedPeer, connection: object | undefined): Promise<{ readonly served: Served; release(): void | Promise<void> }>;
  onFault(method: string, error: unknown): void;
  readonly askMs: number;
  readonly suspendedCalls: number;
}

export interface ModernServing {
  serve(request: Request, exchange: Exchange, connection?: object): void;
  readonly suspended: number;
  /** Gives up the suspended calls of a connection that has ended. */
  release(connection: object): void;
  close(): void;
}

export function createModernServing(options: ModernOptions): ModernServing {
  const seal = createSeal(options.askMs);
  const suspended = createSuspended<ModernCall>(options.suspendedCalls, options.askMs, (call) => call.expire());
  const subscriptions: Subscriptions = new Set();

  async function handle(request: Request, exchange: Exchange, connection: object | undefined): Promise<void> {
    const envelope = readEnvelope(request, exchange);
    const { method, params, revision, clientInfo, clientCapabilities } = envelope;
    if (exchange.header !== undefined) checkStandardHeaders(exchange.header, method, params);
    if (resumes(envelope, exchange)) return;
    const { served, release } = await options.open({ era: 'modern', revision, principal: exchange.principal, clientInfo, clientCapabilities }, connection);
    try {
      if (exchange.signal.aborted) { exchange.answer(undefined, 200); return; }
      await answer(served, envelope, exchange, connection);
    } finally {
      await release();
    }
  }

  async function answer(served: Served, envelope: Envelope, exchange: Exchange, connection: object | undefined): Promise<void> {
    const { method, params } = envelope;
    if (method === 'subscriptions/listen') { await listen(served, envelope, exchange, subscriptions); return; }
    const discovers = method === 'server/discover';
    if (!discovers && !isServed(served, method)) throw methodNotFound(method);
    if (method === 'tools/call' && exchange.header !== undefined) await checkArguments(served, params, exchange);
    const binding = bindingOf(envelope, exchange);
    const call = startModernCall({
      served, envelope, exchange, input: discovers ? undefined : givenInput(envelope, binding),
      run: (context) => (discovers ? Promise.resolve(discovered(served)) : runMethod(served, method, params, context)),
      suspend: (waiting) => {
        const id = suspended.hold(waiting, connection);
        return id === undefined ? undefined : seal.seal({ call: id }, binding);
      },
      seal: (state) => seal.seal({ state }, binding),
      onFault: options.onFault,
    });
    await call.over;
  }

  /** Goes on with a suspended call when the state that came back names one; the state is used up only if the answers can be used. */
  function resumes(envelope: Envelope, exchange: Exchange): boolean {
    const opened = openState(envelope, bindingOf(envelope, exchange));
    const id = opened?.content['call'];
    if (opened === undefined || typeof id !== 'string') return false;
    const responses = readResponses(envelope.params) ?? {};
    const call = suspended.find(id);
    if (call === undefined) throw badState();
    // Answers that cannot be used leave the state good: the client may correct itself.
    checkAnswers(call.open, responses);
    if (!opened.spend()) throw badState();
    suspended.remove(id);
    call.resume(envelope, exchange, responses);
    return true;
  }

  function givenInput(envelope: Envelope, binding: Binding): GivenInput | undefined {
    const responses = readResponses(envelope.params);
    const opened = openState(envelope, binding);
    if (opened === undefined) return responses === undefined ? undefined : { responses, state: undefined };
    if (!opened.spend()) throw badState();
    return { responses: responses ?? {}, state: String(opened.content['state']) };
  }

  function openState({ params }: Envelope, binding: Binding): ReturnType<typeof seal.open> {
    const { requestState } = params;
    if (requestState === undefined) return undefined;
    const opened = typeof requestState === 'string' ? seal.open(requestState, binding) : undefined;
    if (opened === undefined) throw badState();
    return opened;
  }

  return {
    serve(request, exchange, connection) {
      void handle(request, exchange, connection).catch((error: unknown) => {
        if (!isRpcError(error)) options.onFault(request.method, error);
        const fault = faultFor('modern', request.method, isRpcError(error) ? error : { code: codes.internalError, message: 'Internal error' });
        // What a handler throws of this kind speaks of another hop; before any handler ran it is our own.
        const told = error instanceof MalformedRequest ? error : fault;
        exchange.answer(encodeError(request.id, told), error instanceof MalformedRequest ? 400 : statusOf(told.code));
      });
    },
    get suspended() { return suspended.size; },
    release: suspended.drop,
    close() {
      for (const end of [...subscriptions]) end();
      suspended.close();
    },
  };
}

function readEnvelope({ id, method, params = {} }: Request, { header }: Exchange): Envelope {
  const bad = (words: string): MalformedRequest => new MalformedRequest(codes.invalidParams, `Invalid params: ${words}`);
  const meta = params['_meta'];
  if (!isObject(meta)) throw bad('_meta is missing');
  const revision = meta[`${META}protocolVersion`], clientCapabilities = meta[`${META}clientCapabilities`], clientInfo = meta[`${META}clientInfo`], logLevel = meta[`${META}logLevel`];
  if (typeof revision !== 'string') throw bad(`_meta has no ${META}protocolVersion`);
  if (!isObject(clientCapabilities)) throw bad(`_meta has no ${META}clientCapabilities`);
  if (header !== undefined) checkVersionHeader(header, revision);
  if (!modernRevisions.includes(revision)) throw new MalformedRequest(codes.unsupportedVersion, 'Unsupported protocol version', { supported: modernRevisions, requested: revision });
  if (logLevel !== undefined && !isLogLevel(logLevel)) throw invalidParams(`Invalid params: ${META}logLevel is no log level`);
  return { id, method, params, meta, revision, clientInfo: isObject(clientInfo) ? clientInfo : undefined, clientCapabilities, logLevel };
}

function discovered(served: Served): JsonObject {
  return {
    supportedVersions: modernRevisions, capabilities: modernCapabilities(served.capabilities),
    ...(served.instructions === undefined ? {} : { instructions: served.instructions }), ...served.discovery,
  };
}

async function checkArguments(served: Served, { name, arguments: args }: JsonObject, { header, principal }: Exchange): Promise<void> {
  const schema = typeof name === 'string' ? await served.inputSchemaOf?.(name, principal) : undefined;
  if (schema !== undefined) checkParameterHeaders(header!, schema, isObject(args) ? args : {});
}

const badState = (): RpcFault => invalidParams('Invalid params: requestState is not valid, or not any more');

function bindingOf({ method, params }: Envelope, { principal }: Exchange): Binding {
  return { principal, method, params };
}
