/**
 * A recorded server, served again: the same question gets the answer that it got, with the notices on the way, and the same question put
 * again the next answer, the last one from then on. No process, no network, no clock: a test that passes today passes tomorrow.
 */
import { delay } from '../base/deadline.ts';
import { canonicalJson, isObject, type JsonObject } from '../base/json.ts';
import { redactPatterns } from '../base/redact.ts';
import { nearest, shorten } from '../base/text.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Id, Notification, Request, RpcError } from '../jsonrpc/message.ts';
import { RpcFault } from '../mcp/server-fault.ts';
import type { Change, Served, ServedContext } from '../mcp/server-types.ts';
import type { ListKind } from '../mcp/types.ts';
import { implementationOf, maskMessage, type LeftOut, type ReadEntry, type Trace, type TracedServer } from './trace.ts';

export interface ReplayOptions {
  /** Keeps the recorded delays. Default: as fast as it goes. */
  readonly timing?: boolean | undefined;
}

interface Happening { readonly at: number; readonly method: string; readonly params: JsonObject; readonly question: boolean }
type Answer = { readonly at: number } & ({ readonly result: JsonObject } | { readonly error: RpcError } | { readonly left: LeftOut });

/** One recorded request, what the server told while it ran, and what it told after that. */
interface Recording {
  readonly line: number;
  readonly at: number;
  readonly method: string;
  readonly params: JsonObject;
  readonly during: Happening[];
  readonly after: Happening[];
  answer: Answer | undefined;
}

/** Answered by whoever serves: they say something of one connection, not of the server. */
const ENGINE = new Set(['initialize', 'server/discover', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'subscriptions/listen']);
const SERVED = new Set(['tools/list', 'tools/call', 'resources/list', 'resources/templates/list', 'resources/read', 'prompts/list', 'prompts/get', 'completion/complete']);

/** Serves what the trace holds. Of both sides the downstream one counts, where it has requests: what a client of the gateway saw. */
export function replayServer(trace: Trace, { timing = false }: ReplayOptions = {}): Served {
  const { recordings, server } = readRecordings(trace);
  const byKey = new Map<string, { readonly turns: Recording[]; next: number }>();
  for (const recording of recordings) {
    const key = keyOf(recording.method, recording.params), known = byKey.get(key);
    if (known === undefined) byKey.set(key, { turns: [recording], next: 0 }); else known.turns.push(recording);
  }
  const listeners = new Set<(change: Change) => void>();
  const tell = (happening: Happening): void => { for (const listener of [...listeners]) listener(changeOf(happening)); };

  async function answer(method: string, params: JsonObject, context: ServedContext): Promise<JsonObject> {
    const { input } = context;
    const asked = input === undefined ? params : { ...params, inputResponses: input.responses, ...(input.state === undefined ? {} : { requestState: input.state }) };
    const place = byKey.get(keyOf(method, asked));
    if (place === undefined) throw unknownRequest(trace, method, asked, recordings);
    const recording = place.turns[place.next]!;
    if (place.next < place.turns.length - 1) place.next += 1;
    let at = recording.at;
    const reach = async (moment: number): Promise<void> => {
      if (timing && moment > at) await delay(moment - at, context.signal);
      at = Math.max(at, moment);
    };
    for (const happening of recording.during) {
      await reach(happening.at);
      if (happening.question) { if (context.mayAsk(happening.method, happening.params)) await context.ask(happening.method, happening.params); }
      else if (happening.method === 'notifications/progress') context.progress(happening.params);
      else if (happening.method === 'notifications/message') context.log(happening.params);
      else tell(happening);
    }
    await reach(recording.answer?.at ?? at);
    if (recording.after.length > 0) setImmediate(() => recording.after.forEach(tell));
    return resultOf(trace, recording);
  }

  const others = [...new Set(recordings.map(({ method }) => method))].filter((method) => !SERVED.has(method));
  const list = (method: string) => (cursor: string | undefined, context: ServedContext) => answer(method, cursor === undefined ? {} : { cursor }, context);
  return {
    serverInfo: server.serverInfo, capabilities: server.capabilities, instructions: server.instructions,
    listTools: list('tools/list'), listResources: list('resources/list'), listResourceTemplates: list('resources/templates/list'), listPrompts: list('prompts/list'),
    callTool: (name, args, context) => answer('tools/call', { name, arguments: args }, context),
    readResource: (uri, context) => answer('resources/read', { uri }, context),
    getPrompt: (name, args, context) => answer('prompts/get', { name, arguments: args }, context),
    complete: (params, context) => answer('completion/complete', params, context),
    methods: Object.fromEntries(others.map((method) => [method, (params: JsonObject, context: ServedContext) => answer(method, params, context)])),
    setLogLevel() {}, subscribe() {}, unsubscribe() {},
    watch(listener) { listeners.add(listener); return () => { listeners.delete(listener); }; },
  };
}

function resultOf({ file }: Trace, { answer, line, method }: Recording): JsonObject {
  if (answer === undefined) throw new RpcFault(codes.internalError, `The trace ${file} ends before the answer to ${method} (line ${line})`);
  if ('left' in answer) throw new RpcFault(codes.internalError, `The answer to ${method} (line ${line}) was left out of the trace ${file}: ${answer.left.bytes} bytes were too many`);
  if ('error' in answer) throw new RpcFault(answer.error.code, answer.error.message, answer.error.data);
  return answer.result;
}

// ---- matching

/** What makes two requests the same: the members that say what is asked. Secrets are masked as they were when it was recorded. */
function keyOf(method: string, params: JsonObject): string {
  return `${method} ${canonicalJson(maskMessage(essence(method, params), redactPatterns))}`;
}

function essence(method: string, params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  const { name, arguments: args = {}, uri, cursor, inputResponses, requestState } = rest;
  switch (method) {
    case 'tools/call': case 'prompts/get': return { name, arguments: args, inputResponses, requestState };
    case 'resources/read': return { uri, inputResponses, requestState };
    default: return method.endsWith('/list') && SERVED.has(method) ? { cursor } : rest;
  }
}

function unknownRequest({ file }: Trace, method: string, params: JsonObject, recordings: readonly Recording[]): RpcFault {
  const close = nearestOf(method, params, recordings);
  const words = (name: string, what: JsonObject): string => `${name} ${shorten(canonicalJson(essence(name, what)), 300)}`;
  return new RpcFault(codes.invalidParams, `The trace ${file} holds no answer to ${words(method, params)}${close === undefined ? '' : `; the nearest request in it is ${words(close.method, close.params)} (line ${close.line})`}`);
}

/** Of the same method the one with the most in common, else one of a method with a similar name. */
function nearestOf(method: string, params: JsonObject, recordings: readonly Recording[]): Recording | undefined {
  const same = recordings.filter((one) => one.method === method), wanted = leavesOf(essence(method, params));
  let best: Recording | undefined, most = -1;
  for (const one of same) {
    const has = leavesOf(essence(one.method, one.params));
    let common = 0;
    for (const leaf of wanted) if (has.has(leaf)) common += 1;
    const score = 2 * common - has.size;
    if (best === undefined || score > most) { best = one; most = score; }
  }
  if (best !== undefined) return best;
  const [close] = nearest(method, new Set(recordings.map((one) => one.method)));
  return recordings.find((one) => one.method === close);
}

/** Members of the request, and of its arguments one by one; the name counts as much as all of them. */
function leavesOf(params: JsonObject): ReadonlySet<string> {
  const { arguments: args, ...rest } = params;
  const leaves = [...Object.entries(rest), ...Object.entries(isObject(args) ? args : {}).flatMap(([key, value]) => [[`/${key}`, value], [`?${key}`, true]] as const)].filter(([, value]) => value !== undefined);
  return new Set(leaves.map(([key, value]) => `${key}=${canonicalJson(value)}`));
}

// ---- reading a conversation back

function readRecordings({ header, entries }: Trace): { readonly recordings: readonly Recording[]; readonly server: TracedServer } {
  const toServer = ({ side, dir }: ReadEntry): boolean => (side === 'downstream') === (dir === 'in');
  const side = entries.some((entry) => entry.side === 'downstream' && toServer(entry) && entry.message?.kind === 'request') ? 'downstream' : 'upstream';
  const recordings: Recording[] = [];
  const open = new Map<string, Recording>(), progress = new Map<string, Recording>();
  let server = header.server, answered: Recording | undefined;

  for (const entry of entries) {
    if (entry.side !== side) continue;
    const { at, on = '', line, message, left } = entry;
    const keyed = (id: Id | null | undefined): string => `${on} ${JSON.stringify(id ?? null)}`;
    const running = (): Recording | undefined => [...open].filter(([key, { method }]) => key.startsWith(`${on} `) && !ENGINE.has(method)).at(-1)?.[1];
    const settle = (id: Id | null | undefined, answer: Answer): void => {
      const recording = open.get(keyed(id));
      if (recording === undefined) return;
      open.delete(keyed(id));
      recording.answer = answer;
      if (!ENGINE.has(recording.method)) answered = recording; else server ??= serverOf(recording);
    };
    if (toServer(entry)) {
      if (message?.kind === 'notification' && message.message.method === 'notifications/cancelled') open.delete(keyed(message.message.params?.['requestId'] as Id));
      if (message?.kind !== 'request') continue;
      const recording = recordingOf(message.message, at, line);
      open.set(keyed(message.message.id), recording);
      const meta = recording.params['_meta'];
      if (isObject(meta) && meta['progressToken'] !== undefined) progress.set(keyed(meta['progressToken'] as Id), recording);
      if (!ENGINE.has(recording.method)) recordings.push(recording);
      continue;
    }
    if (left !== undefined) { if (left.method === undefined) settle(left.id, { at, left }); continue; }
    switch (message?.kind) {
      case 'result': settle(message.message.id, { at, result: isObject(message.message.result) ? message.message.result : {} }); break;
      case 'error': settle(message.message.id, { at, error: message.message.error }); break;
      case 'request': running()?.during.push(happeningOf(message.message, at, true)); break;
      case 'notification': {
        const happening = happeningOf(message.message, at, false);
        if (happening.method === 'notifications/progress') progress.get(keyed(message.message.params?.['progressToken'] as Id))?.during.push(happening);
        else (running()?.during ?? answered?.after)?.push(happening);
      }
    }
  }
  return { recordings, server: server ?? { serverInfo: implementationOf(undefined), revision: '', capabilities: capabilitiesOf(recordings) } };
}

function recordingOf({ method, params = {} }: Request, at: number, line: number): Recording {
  return { line, at, method, params, during: [], after: [], answer: undefined };
}

function happeningOf({ method, params = {} }: Request | Notification, at: number, question: boolean): Happening {
  return { at, method, params, question };
}

/** What the handshake said of the server. */
function serverOf({ method, answer }: Recording): TracedServer | undefined {
  if (answer === undefined || !('result' in answer) || (method !== 'initialize' && method !== 'server/discover')) return undefined;
  const { serverInfo, protocolVersion, capabilities, instructions, _meta } = answer.result;
  const info = serverInfo ?? (isObject(_meta) ? _meta['io.modelcontextprotocol/serverInfo'] : undefined);
  return { serverInfo: implementationOf(info), revision: typeof protocolVersion === 'string' ? protocolVersion : '', capabilities: isObject(capabilities) ? capabilities : {}, ...(typeof instructions === 'string' ? { instructions } : {}) };
}

/** A trace that begins in the middle: what was asked must have been offered. */
function capabilitiesOf(recordings: readonly Recording[]): JsonObject {
  const families = new Set(recordings.map(({ method }) => (method === 'completion/complete' ? 'completions' : method.split('/', 1)[0]!)));
  return Object.fromEntries(['tools', 'resources', 'prompts', 'completions'].filter((family) => families.has(family)).map((family) => [family, {}]));
}

function changeOf({ method, params }: Happening): Change {
  const list = /^notifications\/(tools|resources|prompts)\/list_changed$/.exec(method)?.[1];
  if (list !== undefined) return { kind: 'list_changed', list: list as ListKind, params };
  if (method === 'notifications/resources/updated') return { kind: 'resource_updated', uri: String(params['uri']), params };
  return method === 'notifications/message' ? { kind: 'log', params } : { kind: 'other', method, params };
}
