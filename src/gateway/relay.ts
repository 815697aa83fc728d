/** Requests of a client on their way to the server that they mean, through the gates, and what comes back as it came. */
import { isObject, type JsonObject } from '../base/json.ts';
import { Failure, type AnyFailure } from '../base/failure.ts';
import type { Gated, GatedTools } from '../host/types.ts';
import { codes } from '../jsonrpc/codes.ts';
import { rawOf } from '../mcp/results.ts';
import { invalidParams, RpcFault } from '../mcp/server-fault.ts';
import { META } from '../mcp/server-shape.ts';
import type { ServedContext } from '../mcp/server-types.ts';
import type { Client, Progress } from '../mcp/types.ts';
import { isNativeTool, searchArguments } from '../registry/native-tools.ts';
import type { ToolEntry } from '../registry/types.ts';
import { faultFrom, faultOf, refusal, toolResult } from './faults.ts';
import { TOOL_CALL, type Lists } from './lists.ts';
import type { Questions } from './questions.ts';

export interface Relay {
  callTool(name: string, args: JsonObject, context: ServedContext): Promise<JsonObject>;
  inputSchemaOf(name: string): Promise<JsonObject | undefined>;
  readResource(uri: string, context: ServedContext): Promise<JsonObject>;
  getPrompt(name: string, args: JsonObject, context: ServedContext): Promise<JsonObject>;
  complete(params: JsonObject, context: ServedContext): Promise<JsonObject>;
}

export interface RelayOptions { readonly gated: Gated; readonly lists: Lists; readonly questions: Questions; readonly raw: string | undefined }

export function createRelay({ gated, lists, questions, raw }: RelayOptions): Relay {
  const { lease } = gated;
  const named = new WeakMap<readonly ToolEntry[], ReadonlyMap<string, ToolEntry>>();
  const levels = new WeakMap<Client, string>();

  function byName(entries: readonly ToolEntry[]): ReadonlyMap<string, ToolEntry> {
    let known = named.get(entries);
    if (known === undefined) named.set(entries, (known = new Map(entries.map((entry) => [lists.nameOf(entry), entry]))));
    return known;
  }
  const offeredAs = ({ shown, deferred }: GatedTools, name: string): ToolEntry | undefined => byName(shown).get(name) ?? byName(deferred).get(name);

  /** What is known first: only a name that is not waits for the servers. */
  async function find(name: string, signal: AbortSignal): Promise<{ readonly tools: GatedTools; readonly entry: ToolEntry | undefined }> {
    const known = await gated.tools(), entry = offeredAs(known, name);
    if (entry !== undefined) return { tools: known, entry };
    const tools = await lists.offer(signal);
    return { tools, entry: offeredAs(tools, name) };
  }

  /** While it runs, what the server asks and logs is this request's, as far as that can be told. */
  async function at<T>(server: string, context: ServedContext, work: () => Promise<T>): Promise<T> {
    const stop = context.era === 'modern' ? await followLog(server, context) : undefined;
    try {
      return await questions.during(server, context, work);
    } finally {
      stop?.();
    }
  }

  async function followLog(server: string, context: ServedContext): Promise<(() => void) | undefined> {
    const level = context.meta[`${META}logLevel`];
    if (typeof level !== 'string') return undefined;
    const client = await lease.connections.open(server, context.signal).then((opened) => opened.client, () => undefined);
    if (client?.capabilities.logging === undefined && client?.era !== 'modern') return undefined;
    if (levels.get(client) !== level) await client.setLogLevel(level, { signal: context.signal }).then(() => levels.set(client, level), () => {});
    return client.on((event) => { if (event.kind === 'log' && questions.only(server) === context) context.log({ level: event.level, data: event.data, ...(event.logger === undefined ? {} : { logger: event.logger }) }); });
  }

  const progressTo = (context: ServedContext): { onProgress?: (progress: Progress) => void } => (context.wantsProgress ? { onProgress: (progress) => context.progress({ ...progress }) } : {});

  async function callTool(name: string, args: JsonObject, context: ServedContext): Promise<JsonObject> {
    const { tools, entry } = await find(name, context.signal);
    if (entry === undefined) {
      if (tools.deferred.length > 0 && name === 'tool_search') return search(tools, args);
      if (tools.deferred.length > 0 && name === TOOL_CALL) return callFound(args, context);
      return refuse(tools, name, args);
    }
    const outcome = await at(entry.server, context, () => gated.call(entry, args, { signal: context.signal, input: questions.inputOf(context), ...progressTo(context) }));
    return questions.handOn(toolResult(outcome, context.clientCapabilities), context);
  }

  function refuse({ view }: GatedTools, name: string, args: JsonObject): JsonObject {
    const entry = view.entries.find((one) => lists.nameOf(one) === name), barred = entry === undefined ? undefined : gated.refusal(entry);
    if (entry !== undefined && barred !== undefined) {
      gated.refused(entry, args, barred);
      return refusal(barred);
    }
    const missing = view.failures.map(({ server }) => server);
    throw invalidParams(`Unknown tool: ${name}`, missing.length === 0 ? undefined : { serversNotAvailable: missing });
  }

  /** The same gates as if the tool had been called by its own name. */
  async function callFound(args: JsonObject, context: ServedContext): Promise<JsonObject> {
    const { id, arguments: given } = args;
    if (typeof id !== 'string' || id === TOOL_CALL || isNativeTool(id) || (given !== undefined && !isObject(given))) throw invalidParams(`${TOOL_CALL} needs the id of a tool, and its arguments as an object`);
    return callTool(id, isObject(given) ? given : {}, context);
  }

  function search(tools: GatedTools, args: JsonObject): JsonObject {
    try {
      const { query, limit } = searchArguments(args), found = gated.search(tools, query, limit);
      const definitions = found.map((entry) => lists.define(tools.view, entry));
      const text = found.length === 0 ? `No tool matches ${JSON.stringify(query)}. Try other words, or the name of a service.` : `Call one of these with ${TOOL_CALL}, its name as the id:\n${definitions.map((definition) => JSON.stringify(definition)).join('\n')}`;
      return { content: [{ type: 'text', text }], isError: false };
    } catch (error) {
      return refusal(error as AnyFailure);
    }
  }

  async function readResource(uri: string, context: ServedContext): Promise<JsonObject> {
    const { signal } = context;
    let first: AnyFailure | undefined;
    for (const server of await lists.owners(uri, signal)) {
      const { outcome, value } = await at(server, context, () => gated.read('read_mcp_resource', { server, uri },
        (running) => lease.ask(server, ({ client }) => client.readResource(uri, { signal: running, input: questions.inputOf(context), ...progressTo(context) }), running), signal));
      if (value !== undefined) return questions.handOn(rawOf(value) ?? { ...value }, context);
      if (!('failure' in outcome)) continue;
      // Who does not know it says so; the next one may.
      if (outcome.failure.code !== 'REMOTE_ERROR' && outcome.failure.code !== 'CAPABILITY_MISSING') throw faultOf(outcome.failure, context.clientCapabilities);
      first ??= outcome.failure;
    }
    throw first === undefined ? new RpcFault(codes.resourceNotFound, `Resource not found: ${uri}`, { uri }) : faultOf(first);
  }

  async function promptOf(name: string, signal: AbortSignal): Promise<{ readonly server: string; readonly name: string }> {
    if (raw !== undefined) return { server: raw, name };
    const owned = await lists.prompt(name, signal);
    if (owned === undefined) throw invalidParams(`Unknown prompt: ${name}`);
    return { server: owned.server, name: owned.prompt.name };
  }

  async function asked<T extends object>(server: string, context: ServedContext, question: (client: Pick<Client, 'getPrompt' | 'complete'>) => Promise<T>): Promise<JsonObject> {
    try {
      const read = await at(server, context, () => lease.ask(server, ({ client }) => question(client), context.signal));
      return questions.handOn(rawOf(read) ?? ({ ...read } as JsonObject), context);
    } catch (error) {
      throw faultFrom(error, context.clientCapabilities);
    }
  }

  return {
    callTool, readResource,
    async inputSchemaOf(name) {
      return offeredAs(await gated.tools(), name)?.definition.inputSchema;
    },
    async getPrompt(name, args, context) {
      const owned = await promptOf(name, context.signal);
      return asked(owned.server, context, (client) => client.getPrompt(owned.name, args as Readonly<Record<string, string>>, { signal: context.signal, input: questions.inputOf(context), ...progressTo(context) }));
    },
    async complete({ ref, argument, context: given }, context) {
      const known = isObject(given) && isObject(given['arguments']) ? given['arguments'] as Readonly<Record<string, string>> : undefined;
      const value = argument as { readonly name: string; readonly value: string };
      if (isObject(ref) && ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
        const owned = await promptOf(ref['name'], context.signal);
        return asked(owned.server, context, (client) => client.complete({ type: 'ref/prompt', name: owned.name }, value, known, { signal: context.signal }));
      }
      if (!isObject(ref) || ref['type'] !== 'ref/resource' || typeof ref['uri'] !== 'string') throw invalidParams('"ref" names neither a prompt nor a resource');
      const uri = ref['uri'], [server] = await lists.owners(uri, context.signal);
      if (server === undefined) throw faultOf(new Failure('CAPABILITY_MISSING', `Cannot complete an argument of "${uri}": no server has it`, { stage: 'call', details: { capability: 'completions' } }) as AnyFailure);
      return asked(server, context, (client) => client.complete({ type: 'ref/resource', uri }, value, known, { signal: context.signal }));
    },
  };
}
