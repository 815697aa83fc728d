/** A connection to a fixture, with the few calls that tests need. */
import type { AnyFailure } from '../../src/base/failure.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { openConnection, type Connection, type Inbound, type RequestOptions } from '../../src/jsonrpc/connection.ts';
import type { Notice, Transport } from '../../src/jsonrpc/transport.ts';

type Options = Partial<Omit<RequestOptions<JsonObject>, 'accept' | 'params'>>;

export interface Peer {
  readonly connection: Connection;
  readonly notices: Notice[];
  readonly told: { readonly method: string; readonly params: JsonObject }[];
  request(method: string, params?: JsonObject, options?: Options): Promise<JsonObject>;
  /** Text of the first block of a tool's result. */
  call(tool: string, args?: JsonObject, options?: Options): Promise<string>;
  /** Shakes hands, or asks a modern peer what it speaks. */
  initialize(): Promise<JsonObject>;
}

const modernMeta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '0' }, 'io.modelcontextprotocol/clientCapabilities': {} };

export async function connectPeer(transport: Transport, inbound: Partial<Inbound> = {}, modern = false): Promise<Peer> {
  const notices: Notice[] = [], told: Peer['told'] = [];
  const connection = await openConnection(transport, {
    inbound: {
      request: inbound.request ?? ((method) => (method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } })),
      notification: (method, params) => { told.push({ method, params }); },
    },
    onNotice: (notice) => { notices.push(notice); },
    signal: new AbortController().signal,
  });
  const request: Peer['request'] = (method, params, options) => connection.request<JsonObject>(method, {
    params, action: method, stage: 'call', timeoutMs: 10_000, cancel: modern ? 'close' : 'notify', mutating: false, accept: (result) => result as JsonObject,
    ...(modern ? { stamp: { revision: '2026-07-28', meta: modernMeta, metaText: JSON.stringify(modernMeta).slice(1, -1) } } : {}), ...options,
  });
  return {
    connection, notices, told, request,
    async call(tool, args = {}, options) {
      const result = await request('tools/call', { name: tool, arguments: args }, options);
      return (result['content'] as { text: string }[])[0]!.text;
    },
    async initialize() {
      if (modern) {
        const found = await request('server/discover', undefined, { cancel: 'none', stage: 'probe' });
        transport.negotiated?.({ era: 'modern', revision: '2026-07-28' });
        return found;
      }
      const result = await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '0' } }, { cancel: 'none', stage: 'handshake' });
      connection.notify('notifications/initialized');
      return result;
    },
  };
}

export async function failureOf(promise: Promise<unknown>): Promise<AnyFailure> {
  try {
    await promise;
  } catch (error) {
    return error as AnyFailure;
  }
  throw new Error('it did not fail');
}
