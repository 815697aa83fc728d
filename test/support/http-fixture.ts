/** The HTTP fixtures of test/fixtures/servers, and clients that talk to them as the host would. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { isFailure, type Failure, type FailureCode } from '../../src/base/failure.ts';
import { createHttp } from '../../src/http/fetch.ts';
import type { Http } from '../../src/http/types.ts';
import type { Notice, Transport } from '../../src/jsonrpc/transport.ts';
import { connectClient } from '../../src/mcp/connect.ts';
import type { Client, ConnectOptions } from '../../src/mcp/types.ts';
import { createSseTransport } from '../../src/transports/sse.ts';
import { createStreamableHttpTransport } from '../../src/transports/streamable-http.ts';
import { startServer, type SeenRequest, type TestServer } from './http-server.ts';
import { waitFor } from './process.ts';

export interface SeenMessage { readonly id?: number | string; readonly method?: string; readonly params?: Readonly<Record<string, any>>; readonly result?: any; readonly error?: any }
export interface FixtureRequest { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string | undefined>>; readonly message?: SeenMessage }
export interface Fixture {
  readonly port: number;
  readonly origin: string;
  readonly requests: readonly FixtureRequest[];
  readonly events: readonly { readonly kind: string; readonly id?: number; readonly method?: string }[];
  url(path: string): string;
  sockets(): number;
  forget(): void;
  cut(): void;
  say(message: object): void;
  close(): Promise<void>;
}
type Start = (options?: { readonly port?: number }) => Promise<Fixture>;

async function starter(name: string): Promise<Start> {
  return ((await import(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url).href)) as { readonly start: Start }).start;
}
export const startStreamable: Start = async (options) => (await starter('http-streamable'))(options);
export const startSse: Start = async (options) => (await starter('http-sse'))(options);

/** Ends what the test leaves, the server last. */
export function owned<T extends { close(): unknown }>(t: TestContext, thing: T): T {
  t.after(() => thing.close());
  return thing;
}

export function directHttp(t: TestContext): Http {
  return owned(t, createHttp({ environment: {} }));
}

/** For the contract: closing the transport proves that no connection of its is left, then ends the server too. */
export function withServer(server: Fixture, make: (url: Http) => Transport): Transport {
  const http = createHttp({ environment: {} });
  const inner = make(http);
  return {
    ...inner,
    async close() {
      const report = await inner.close();
      http.close();
      await waitFor(() => server.sockets() === 0, 'the end of all connections', 2000);
      await server.close();
      return report;
    },
  };
}

export interface Reached { readonly client: Client; readonly notices: Notice[]; readonly http: Http }
export type ReachOptions = Partial<Omit<ConnectOptions, 'transport'>> & { readonly kind?: 'http' | 'sse' | 'auto'; readonly headers?: Readonly<Record<string, string>> };

/** Connects as the host does: one set of sockets per server, closed after the client. */
export async function reach(t: TestContext, url: string, { kind = 'http', headers = {}, ...rest }: ReachOptions = {}): Promise<Reached> {
  const http = directHttp(t), notices: Notice[] = [];
  const common = { name: 'fixture', url, headers, send: http.request };
  const newer = (): Transport => createStreamableHttpTransport(common), older = (): Transport => createSseTransport(common);
  const client = await connectClient({
    clientInfo: { name: 'zuno-lite', version: '0' }, connectMs: 5_000, onNotice: (notice) => notices.push(notice), ...rest,
    transport: kind === 'sse' ? older : newer, ...(kind === 'auto' ? { fallback: older } : {}),
    // As the host does: a connection that was given up while it came about may be kept for the next request, and there is none.
  }).catch((error: unknown) => { http.close(); throw error; });
  t.after(() => client.close());
  return { client, notices, http };
}

export async function refusal<C extends FailureCode>(promise: Promise<unknown>, code: C): Promise<Failure<C>> {
  const outcome = await promise.then((value) => assert.fail(`it succeeded: ${JSON.stringify(value)}`), (error: unknown) => error);
  assert.ok(isFailure(outcome), String(outcome));
  assert.equal(outcome.code, code, outcome.message);
  return outcome as unknown as Failure<C>;
}

export const textOf = (result: { readonly content: readonly { readonly [key: string]: unknown }[] }): string => String(result.content[0]?.['text']);

// ---- servers whose answers are written in the test

export type Reply = (message: SeenMessage, response: ServerResponse, request: SeenRequest) => void;
export interface ScriptedServer extends TestServer {
  url(path?: string): string;
  /** Methods of what was posted, in order; `GET` and `DELETE` as they are. */
  methods(): string[];
  posted(method: string): { readonly request: SeenRequest; readonly message: SeenMessage }[];
}
export interface ScriptedOptions {
  readonly era?: 'legacy' | 'modern';
  /** Session ids, one per handshake. Default: none. */
  readonly sessions?: readonly string[];
  readonly capabilities?: object;
  readonly revision?: string;
  readonly port?: number;
  /** By method of the message, or `GET`, `DELETE`, `response` (an answer of the client). What is missing is answered as a simple server would. */
  readonly on?: Readonly<Record<string, Reply>>;
}

export function json(response: ServerResponse, value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof value === 'string' ? value : JSON.stringify(value));
}
export const result = (message: SeenMessage, value: object): object => ({ jsonrpc: '2.0', id: message.id, result: value });
export const failed = (message: SeenMessage | undefined, code: number, words = 'no', data?: unknown): object => ({ jsonrpc: '2.0', ...(message === undefined ? {} : { id: message.id }), error: { code, message: words, ...(data === undefined ? {} : { data }) } });
/** An answer as text that nests further than anything can walk by recursion. */
export const deep = (message: SeenMessage, member = 'result'): string => `{"jsonrpc":"2.0","id":${message.id},"${member}":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
export const told = (words: string): object => ({ resultType: 'complete', content: [{ type: 'text', text: words }] });
/** Opens an event stream; each text is one event's lines. */
export function events(response: ServerResponse, ...blocks: readonly string[]): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const block of blocks) response.write(`${block}\n\n`);
  return response;
}
export const data = (value: unknown): string => `data: ${JSON.stringify(value)}`;

export async function scripted(t: TestContext, { era = 'legacy', sessions = [], capabilities = { tools: {} }, revision, port, on = {} }: ScriptedOptions = {}): Promise<ScriptedServer> {
  let handshakes = 0;
  const usual: Readonly<Record<string, Reply>> = {
    GET: (_message, response) => { response.writeHead(405).end(); },
    DELETE: (_message, response) => { response.writeHead(204).end(); },
    response: (_message, response) => { response.writeHead(202).end(); },
    'server/discover': (message, response) => {
      if (era === 'legacy') json(response, failed(message, -32601, 'Method not found')); else json(response, result(message, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities }));
    },
    initialize: (message, response) => {
      const id = sessions[handshakes++];
      json(response, result(message, { protocolVersion: revision ?? message.params?.['protocolVersion'], capabilities, serverInfo: { name: 'scripted', version: '1' } }), 200, id === undefined ? {} : { 'mcp-session-id': id });
    },
    'tools/list': (message, response) => json(response, result(message, { resultType: 'complete', tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })),
    'tools/call': (message, response) => json(response, result(message, told('echo'))),
    ping: (message, response) => json(response, result(message, {})),
  };
  const server = await startServer((request, response) => {
    const message = (request.body === '' ? {} : JSON.parse(request.body)) as SeenMessage;
    const kind = request.method !== 'POST' ? request.method : message.method ?? 'response';
    const reply = on[kind] ?? usual[kind] ?? ((_message, quiet) => { quiet.writeHead(202).end(); });
    reply(message, response, request);
  }, port === undefined ? {} : { port });
  t.after(() => server.close());
  const messageOf = (request: SeenRequest): SeenMessage => (request.body === '' ? {} : JSON.parse(request.body)) as SeenMessage;
  return Object.assign(server, {
    url: (path = '/mcp') => `${server.origin}${path}`,
    methods: () => server.requests.map((request) => (request.method === 'POST' ? messageOf(request).method ?? 'response' : request.method)),
    posted: (method: string) => server.requests.filter((request) => request.method === 'POST').map((request) => ({ request, message: messageOf(request) })).filter(({ message }) => (message.method ?? 'response') === method),
  });
}
