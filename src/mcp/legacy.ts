/** The era of `initialize` (2024-11-05 to 2025-11-25): negotiated once, servers may send requests and unasked notifications. */
import { isObject, type JsonObject } from '../base/json.ts';
import { settlesWithin } from '../base/deadline.ts';
import { isFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Connection } from '../jsonrpc/connection.ts';
import { answerQuestion, declaredCapabilities } from './answers.ts';
import type { Lifecycle } from './lifecycle.ts';
import { noCommonRevision } from './negotiate.ts';
import { expectObject, readCapabilities, readImplementation } from './results.ts';
import { legacyRevisions, newestLegacy } from './revisions.ts';
import type { Answers, Implementation } from './types.ts';

export interface InitializeOptions {
  readonly clientInfo: Implementation;
  readonly answers: Answers;
  /** Revision to offer. Default: our newest legacy one. */
  readonly revision?: string | undefined;
  /** Revisions the server may choose. Default: all legacy ones we speak. */
  readonly accepted?: readonly string[] | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Runs the handshake (MCP 2025-11-25, lifecycle). `initialize` is never canceled on the wire: the specification forbids it. */
export async function initialize(connection: Connection, options: InitializeOptions): Promise<Lifecycle> {
  const lifecycle = await connection.request('initialize', {
    params: { protocolVersion: options.revision ?? newestLegacy, capabilities: declaredCapabilities(options.answers), clientInfo: options.clientInfo },
    action: 'initialize the connection', stage: 'handshake', timeoutMs: options.timeoutMs, ceilingMs: options.timeoutMs,
    signal: options.signal, cancel: 'none', mutating: false,
    accept: (result) => readInitialize(expectObject('initialize', result), options.answers, options.accepted ?? legacyRevisions),
  });
  connection.transport.negotiated?.({ era: 'legacy', revision: lifecycle.revision });
  // Over HTTP nothing keeps the next request from overtaking it; a server that does not answer it must not hold us either.
  const told = connection.notify('notifications/initialized');
  if (told !== undefined) await settlesWithin(told, limits.sessionEndMs);
  return lifecycle;
}

function readInitialize(result: JsonObject, answers: Answers, accepted: readonly string[]): Lifecycle {
  const revision = result['protocolVersion'];
  if (typeof revision !== 'string' || !accepted.includes(revision)) throw noCommonRevision(accepted, typeof revision === 'string' ? [revision] : []);
  const instructions = result['instructions'];
  return createLegacy(revision, readImplementation(result['serverInfo']), readCapabilities(result['capabilities']), typeof instructions === 'string' ? instructions : undefined, answers);
}

function createLegacy(revision: string, serverInfo: Implementation | undefined, capabilities: Lifecycle['capabilities'], instructions: string | undefined, answers: Answers): Lifecycle {
  const simple = (connection: Connection, method: string, params: JsonObject | undefined, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> =>
    connection.request(method, { params, action: `send ${method}`, stage: 'call', timeoutMs, signal, cancel: 'notify', mutating: false, accept: (result) => result });
  /** What a session remembers for us: subscriptions by URI with how many watch it, and the log level. */
  const subscribed = new Map<string, number>();
  let logLevel: string | undefined;
  return {
    era: 'legacy', revision, serverInfo, capabilities, instructions, cancel: 'notify',
    stamp: () => undefined,
    // Some servers answer with an empty array where an empty object is due; a method's reader decides what it needs.
    unwrap: (method, result) => ({ kind: 'complete', result: Array.isArray(result) && result.length === 0 ? {} : expectObject(method, result) }),
    answer: (method, params, signal) => (method === 'ping' ? { result: {} } : answerQuestion(answers, method, params, signal)),
    admits: () => true,
    async ping(connection, settings) {
      try {
        await simple(connection, 'ping', undefined, settings.timeoutMs, settings.signal);
      } catch (error) {
        if (!isFailure(error) || error.code !== 'REMOTE_ERROR') throw error;   // an error answer is proof of life too
      }
    },
    async setLogLevel(connection, level, settings) {
      await simple(connection, 'logging/setLevel', { level }, settings.timeoutMs, settings.signal);
      logLevel = level;
    },
    async watch(connection, filter, settings) {
      const uris = isObject(capabilities.resources) && capabilities.resources.subscribe === true ? filter.uris ?? [] : [];
      await Promise.all(uris.map((uri) => simple(connection, 'resources/subscribe', { uri }, settings.timeoutMs, settings.signal)));
      for (const uri of uris) subscribed.set(uri, (subscribed.get(uri) ?? 0) + 1);
      let open = true;
      return {
        async close() {
          if (!open) return;
          open = false;
          const unwatched = uris.filter((uri) => {
            const left = (subscribed.get(uri) ?? 1) - 1;
            if (left > 0) subscribed.set(uri, left); else subscribed.delete(uri);
            return left <= 0;
          });
          await Promise.allSettled(unwatched.map((uri) => simple(connection, 'resources/unsubscribe', { uri }, settings.timeoutMs, undefined)));
        },
      };
    },
    async restore(connection, emit, timeoutMs) {
      const level = logLevel === undefined ? [] : [simple(connection, 'logging/setLevel', { level: logLevel }, timeoutMs, undefined)];
      await Promise.allSettled([...level, ...[...subscribed.keys()].map((uri) => simple(connection, 'resources/subscribe', { uri }, timeoutMs, undefined))]);
      for (const uri of subscribed.keys()) emit('notifications/resources/updated', { uri });
    },
  };
}
