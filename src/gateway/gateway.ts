/**
 * The registry served as one MCP server. Each client of the legacy era has servers of its own; stateless requests find those of their
 * principal running. What a server sent arrives as it was but for names, what the policy does not let through arrives as a tool error.
 */
import { toFailure } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { silentLog, type Log } from '../base/log.ts';
import { version } from '../base/version.ts';
import type { Rule } from '../config/types.ts';
import type { Connections, Gated, Host, Lease } from '../host/types.ts';
import { invalidParams } from '../mcp/server-fault.ts';
import type { Change, Served, ServedPeer, ServerOptions } from '../mcp/server-types.ts';
import type { Client, Implementation } from '../mcp/types.ts';
import type { ExposureMode, ExposurePolicy } from '../registry/types.ts';
import { faultFrom } from './faults.ts';
import { createLists, type Lists } from './lists.ts';
import { askable, createQuestions, type Questions } from './questions.ts';
import { createRelay, type Relay } from './relay.ts';

export interface GatewayOptions {
  /** As `SessionOptions.agent`. */
  readonly agent?: string | undefined;
  readonly rules?: readonly Rule[] | undefined;
  /** Serves the one server of the configuration under its own names and as itself. */
  readonly rawNames?: boolean | undefined;
  /** Default `eager`: whoever lists sees everything. */
  readonly exposure?: ExposureMode | undefined;
  /** Clients of all gateways of this host that name the same thing share servers. */
  readonly share?: string | undefined;
  /** How long the first list waits for servers. Default `limits.connectMs`. */
  readonly waitMs?: number | undefined;
  readonly log?: Log | undefined;
}

/** Everything that hangs on live servers, so that requests which share them share it too. */
interface Desk { readonly gated: Gated; readonly lists: Lists; readonly relay: Relay }

/** For `createServer`. Throws a TypeError where raw names are wanted of several servers. */
export function createGateway(host: Host, options: GatewayOptions = {}): ServerOptions {
  const { log = silentLog, waitMs = limits.connectMs } = options;
  const [only, ...others] = [...host.config.servers.keys()];
  if (options.rawNames === true && (only === undefined || others.length > 0)) throw new TypeError('Raw names need a configuration with exactly one server');
  const raw = options.rawNames === true ? only : undefined;
  const shared = new Map<string, Questions>();
  const desks = new WeakMap<Connections, Promise<Desk>>();

  /** Servers are told once what may be asked of their client: clients that differ in it have servers of their own. */
  function shareOf(peer: ServedPeer): string | undefined {
    if (options.share !== undefined) return JSON.stringify(['gateway', options.share, askable(peer)]);
    return peer.era === 'modern' ? JSON.stringify(['gateway', peer.principal, 'stateless', askable(peer)]) : undefined;
  }

  function questionsOf(peer: ServedPeer, share: string | undefined): Questions {
    if (share === undefined) return createQuestions(peer, 'one');
    let found = shared.get(share);
    if (found === undefined) shared.set(share, (found = createQuestions(peer, options.share === undefined ? 'principal' : 'several')));
    return found;
  }

  function deskOf(lease: Lease, questions: Questions): Promise<Desk> {
    let desk = desks.get(lease.connections);
    if (desk === undefined) desks.set(lease.connections, (desk = openDesk(lease, questions)));
    return desk;
  }

  async function openDesk(lease: Lease, questions: Questions): Promise<Desk> {
    const gated = await host.gated(lease, { agent: options.agent, rules: options.rules, approve: questions.approve, exposure: exposureOf(host.config.exposure, options.exposure ?? 'eager') });
    const lists = createLists({ gated, raw, waitMs, log });
    return { gated, lists, relay: createRelay({ gated, lists, questions, raw }) };
  }

  async function serve(peer: ServedPeer): Promise<Served> {
    const share = shareOf(peer), questions = questionsOf(peer, share);
    const lease = host.lease({ share, answers: questions.answersFor });
    try {
      const desk = await deskOf(lease, questions);
      const client = raw === undefined ? undefined : (await lease.connections.open(raw)).client;
      return servedBy(desk, lease, questions, peer, client);
    } catch (error) {
      await lease.release();
      throw faultFrom(error);
    }
  }

  function servedBy({ lists, relay }: Desk, lease: Lease, questions: Questions, peer: ServedPeer, client: Client | undefined): Served {
    const subscriptions = new Map<string, Promise<{ close(): Promise<void> }>>();
    const ended = new AbortController();
    let level: string | undefined, listed = peer.era === 'modern';

    const setLevel = async (server: string): Promise<void> => {
      const asked = lease.connections.peek(server)?.client;
      if (level !== undefined && asked?.capabilities.logging !== undefined) await asked.setLogLevel(level).catch((error: unknown) => log({ level: 'info', event: 'gateway.log', message: toFailure(error).message, fields: { server } }));
    };

    function watch(listener: (change: Change) => void): () => void {
      const followed = new WeakSet<Client>(), stops: (() => void)[] = [];
      const follow = (server: string): void => {
        const upstream = lease.connections.peek(server)?.client;
        if (upstream === undefined || followed.has(upstream) || peer.era === 'modern') return;
        followed.add(upstream);
        stops.push(upstream.on((event) => {
          if (event.kind !== 'log') return;
          const params: JsonObject = { level: event.level, data: event.data, ...(event.logger === undefined ? {} : { logger: event.logger }) };
          const context = questions.only(server);
          if (context === undefined) listener({ kind: 'log', params }); else context.log(params);
        }));
        void setLevel(server);
      };
      stops.push(lease.connections.on((event) => {
        if (event.kind === 'connected') follow(event.server);
        else if (event.kind === 'catalogue') { if (listed) listener({ kind: 'list_changed', list: 'tools' }); }
        else if (event.kind === 'list_changed') { if (event.list !== 'tools') listener({ kind: 'list_changed', list: event.list }); }
        else if (event.kind === 'resource_updated') listener({ kind: 'resource_updated', uri: event.uri });
      }));
      for (const server of lease.config.servers.keys()) follow(server);
      // Servers tell of changes once they were asked for their lists.
      lists.offer(ended.signal).catch(() => {});
      return () => { for (const stop of stops) stop(); };
    }

    async function subscribe(uri: string): Promise<void> {
      if (subscriptions.has(uri)) return;
      const opening = (async () => {
        const [server] = await lists.owners(uri, ended.signal);
        if (server === undefined) throw invalidParams(`Resource not found: ${uri}`, { uri });
        await lease.catalogue.listing(server, ended.signal);
        return (await lease.connections.open(server, ended.signal)).client.watch({ uris: [uri] });
      })();
      subscriptions.set(uri, opening);
      try {
        await opening;
      } catch (error) {
        subscriptions.delete(uri);
        throw faultFrom(error);
      }
    }

    async function unsubscribe(uri: string): Promise<void> {
      const open = subscriptions.get(uri);
      subscriptions.delete(uri);
      await open?.then((one) => one.close()).catch(() => {});
    }

    /** Lists are one page: no cursor is ours. */
    const page = (list: (signal: AbortSignal) => Promise<JsonObject>) => async (cursor: string | undefined, { signal }: { readonly signal: AbortSignal }): Promise<JsonObject> => {
      if (cursor !== undefined) throw invalidParams('Unknown cursor');
      try {
        return await list(signal);
      } catch (error) {
        throw faultFrom(error);
      }
    };

    return {
      serverInfo: client?.serverInfo ?? SERVER_INFO,
      capabilities: client === undefined ? EVERYTHING : relayed(client),
      instructions: client?.instructions,
      listTools: page(async (signal) => { const tools = await lists.tools(signal); listed = true; return tools; }),
      listResources: page(lists.resources),
      listResourceTemplates: page(lists.templates),
      listPrompts: page(lists.prompts),
      callTool: relay.callTool, inputSchemaOf: relay.inputSchemaOf, readResource: relay.readResource, getPrompt: relay.getPrompt, complete: relay.complete,
      async setLogLevel(to) {
        level = to;
        await Promise.all([...lease.config.servers.keys()].map(setLevel));
      },
      subscribe, unsubscribe, watch,
      async close() {
        ended.abort();
        await Promise.all([...subscriptions.keys()].map(unsubscribe));
        await lease.release();
      },
    };
  }

  return { serve, onFault: (method, error) => log({ level: 'error', event: 'gateway', message: `${method} failed: ${error instanceof Error ? error.message : String(error)}` }) };
}

const SERVER_INFO: Implementation = { name: 'zuno-lite', version };
const CHANGES = { listChanged: true };
const EVERYTHING: JsonObject = { tools: CHANGES, resources: { ...CHANGES, subscribe: true }, prompts: CHANGES, completions: {}, logging: {} };

/** Of one server that is served as itself: what it offers and we relay. */
function relayed({ capabilities }: Client): JsonObject {
  return Object.fromEntries(Object.keys(EVERYTHING).flatMap((key) => (capabilities[key] === undefined ? [] : [[key, capabilities[key]]])));
}

/** A mode that was asked for holds for every server. */
function exposureOf(configured: ExposurePolicy, mode: ExposureMode): ExposurePolicy {
  return mode === 'auto' ? { ...configured, mode } : { ...configured, mode, servers: {} };
}
