/**
 * One connected server, the same face for both eras: lists, calls, reads, prompts, completion. Retries live elsewhere; what
 * belongs to one call (pages, input rounds) lives in that call's frame.
 */
import { now } from '../base/deadline.ts';
import { Failure, isFailure, type AnyFailure, type Recovery, type Stage } from '../base/failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import { answerQuestion } from './answers.ts';
import { headerParameters, parameterHeaders, type HeaderParameter } from './header-parameters.ts';
import type { InputRequired } from './lifecycle.ts';
import { isReplaySafe } from './methods.ts';
import type { Settled } from './peer.ts';
import { requiredPages, visitPages } from './required-pages.ts';
import {
  questionInstead, readCallResult, readCompletion, readPromptResult, readPrompts, readReadResult, readResources, readTemplates, readTools, refuse, type Page,
} from './results.ts';
import { createSessions } from './sessions.ts';
import { listedFile, offersSkills, readSkills, skillReader, verifiedFile, SKILLS } from './skills.ts';
import type { CallSettings, CallToolResult, Client, ConnectOptions, InputRelay, Listing, ReadResourceResult, Tool } from './types.ts';

interface Ask<T> {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  readonly action: string;
  readonly stage: Stage;
  readonly progress?: boolean;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Makes `headers` anew: what they mirror may have changed. */
  readonly mirror?: (() => Record<string, string> | undefined) | undefined;
  read(result: JsonObject): T;
  /** What stands for a question of the server that its caller passes on. */
  readonly instead?: (question: JsonObject) => T;
}

export function createClient({ connection, lifecycle, listeners, emit }: Settled, options: ConnectOptions): Client {
  const answers = options.answers ?? {};
  const requestMs = options.requestMs ?? limits.requestMs;
  const { capabilities } = lifecycle;
  const legacy = lifecycle.era === 'legacy';

  const { perRequest } = connection.transport;
  const sessions = perRequest && legacy ? createSessions(connection, lifecycle, options, emit) : undefined;
  const mirrored = perRequest && !legacy ? new Map<string, readonly HeaderParameter[]>() : undefined;

  function ask<T>(what: Ask<T>, settings: CallSettings | undefined): Promise<T> {
    const timeoutMs = settings?.timeoutMs ?? requestMs;
    const ceilingMs = ceilingOf(timeoutMs);
    const params = answered(what.params, settings?.input);
    if (sessions === undefined) return send(what, params, settings, timeoutMs, ceilingMs, 1);
    return sessions.within(() => send(what, params, settings, timeoutMs, ceilingMs, 1), settings?.signal);
  }
  function inSession<T>(once: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return sessions === undefined ? once() : sessions.within(once, signal);
  }

  function send<T>(what: Ask<T>, params: JsonObject | undefined, settings: CallSettings | undefined, timeoutMs: number, ceilingMs: number, round: number, again = false): Promise<T> {
    return connection.request<T>(what.method, {
      params, stamp: lifecycle.stamp(), action: what.action, stage: what.stage, timeoutMs, ceilingMs,
      progress: what.progress, onProgress: settings?.onProgress, signal: settings?.signal,
      cancel: lifecycle.cancel, mutating: !isReplaySafe(what.method), headers: what.headers,
      refused: (failure) => (legacy ? afterPages(what, failure, settings, timeoutMs, again) : again ? undefined : afterRelisting(what, failure, settings, timeoutMs)),
      accept: (raw, startedAt) => {
        const step = lifecycle.unwrap(what.method, raw);
        if (step.kind === 'complete') return what.read(step.result);
        if (settings?.input !== undefined && what.instead !== undefined && isObject(raw)) return what.instead(raw);
        return nextRound(what, step.input, settings, timeoutMs, Math.max(1, ceilingMs - (now() - startedAt)), round);
      },
    });
  }

  /** A server that first wants a page visited has done nothing: it is asked once more after that. */
  function afterPages<T>(what: Ask<T>, failure: Failure<'REMOTE_ERROR'>, settings: CallSettings | undefined, timeoutMs: number, again: boolean): Promise<T> | undefined {
    const pages = requiredPages(failure), signal = settings?.signal;
    if (pages === undefined) return undefined;
    const visit = visitPages(pages, failure, answers, what.action, again, signal ?? new AbortController().signal);
    return (signal === undefined ? visit : untilAborted(visit, signal, what, 'retryable')).then(() => send(what, what.params, settings, timeoutMs, ceilingOf(timeoutMs), 1, true));
  }

  /** A refusal of the headers means that the tool's schema has changed since it was listed: it is listed again and called once more. */
  function afterRelisting<T>(what: Ask<T>, { details }: Failure<'REMOTE_ERROR'>, settings: CallSettings | undefined, timeoutMs: number): Promise<T> | undefined {
    const { mirror } = what;
    if (mirror === undefined || details.rpcCode !== codes.headerMismatch) return undefined;
    return listTools(settings).then(() => send({ ...what, headers: mirror() }, what.params, settings, timeoutMs, ceilingOf(timeoutMs), 1, true));
  }

  /**
   * Answers everything the server asked for, then sends the same request again as a new one (MCP 2026-07-28, MRTR). The time a
   * person takes is not the server's and does not count against the ceiling.
   */
  async function nextRound<T>(what: Ask<T>, input: InputRequired, settings: CallSettings | undefined, timeoutMs: number, ceilingMs: number, round: number): Promise<T> {
    if (round > limits.inputRounds) {
      throw new Failure('LIMIT_EXCEEDED', `Cannot ${what.action}: the server asked for input more than ${limits.inputRounds} times`, { stage: what.stage, details: { limit: 'inputRounds', maximum: limits.inputRounds, seen: round } });
    }
    const keys = Object.keys(input.requests);
    const responses = keys.length === 0 ? undefined : await fulfil(what, input, settings?.signal);
    return send(what, answered(what.params, { responses, state: input.state }), settings, timeoutMs, ceilingMs, round + 1);
  }

  async function fulfil<T>(what: Ask<T>, input: InputRequired, signal: AbortSignal | undefined): Promise<JsonObject> {
    const quiet = new AbortController();
    const responses: [key: string, result: JsonObject][] = [];
    for (const [key, request] of Object.entries(input.requests)) {
      const params = request['params'];
      const question = answerQuestion(answers, String(request['method']), isObject(params) ? params : {}, signal ?? quiet.signal);
      const answer = signal === undefined ? await question : await untilAborted(question, signal, what);
      if ('error' in answer) {
        throw new Failure('CAPABILITY_MISSING', `Cannot ${what.action}: the server asks for ${String(request['method'])}, and ${answer.error.message}`, {
          stage: what.stage, details: { capability: String(request['method']) }, hint: 'Run it where a person can answer, or give the answer beforehand',
        });
      }
      responses.push([key, answer.result]);
    }
    // Not assigned one by one: a server may call a key `__proto__`.
    return Object.fromEntries(responses);
  }

  async function list<T>(method: string, capability: 'tools' | 'resources' | 'prompts' | 'skills', read: (result: JsonObject) => Page<T>, settings: CallSettings | undefined): Promise<Listing<T>> {
    if (capability === 'skills' ? !offersSkills(capabilities) : capabilities[capability] === undefined) return { items: [], dropped: [], ttlMs: 0, cacheScope: 'private' };
    const what = (cursor: string | undefined): Ask<Page<T>> => ({ method, params: cursor === undefined ? undefined : { cursor }, action: `list ${capability}`, stage: 'list', read });
    return walk(what, settings, true);
  }

  /** All pages. A cursor that is refused means that the list changed under us: one more walk from its start, if `again`. */
  async function walk<T>(what: (cursor: string | undefined) => Ask<Page<T>>, settings: CallSettings | undefined, again: boolean): Promise<Listing<T>> {
    const { method, action } = what(undefined);
    const first = await ask(what(undefined), settings);
    if (first.nextCursor === undefined && first.items.length <= limits.toolsPerServer) return { items: first.items, dropped: first.dropped, ttlMs: first.ttlMs, cacheScope: first.cacheScope };
    const items = [...first.items], dropped = [...first.dropped];
    let { ttlMs, cacheScope } = first;
    const cursors = new Set<string>();
    // Presence decides, not content: an empty cursor means a further page. The walk ends by repeat, by page count or by size.
    for (let cursor = first.nextCursor, pages = 1; cursor !== undefined && items.length <= limits.toolsPerServer; pages++) {
      if (cursors.has(cursor)) throw refuse(method, `the cursor ${JSON.stringify(cursor)} came twice, so its pages have no end`);
      if (pages >= limits.listPages) throw new Failure('LIMIT_EXCEEDED', `Cannot ${action}: more than ${limits.listPages} pages`, { stage: 'list', details: { limit: 'listPages', maximum: limits.listPages, seen: pages } });
      cursors.add(cursor);
      let page: Page<T>;
      try {
        page = await ask(what(cursor), settings);
      } catch (error) {
        if (again && isFailure(error) && error.code === 'REMOTE_ERROR' && error.details.rpcCode === codes.invalidParams) return walk(what, settings, false);
        throw error;
      }
      for (const item of page.items) items.push(item);
      for (const item of page.dropped) dropped.push(item);
      ttlMs = Math.min(ttlMs, page.ttlMs);
      if (page.cacheScope === 'private') cacheScope = 'private';
      cursor = page.nextCursor;
    }
    if (items.length > limits.toolsPerServer) {
      items.length = limits.toolsPerServer;
      dropped.push({ name: '…', reason: `the list is longer than ${limits.toolsPerServer} entries; the rest was left out` });
    }
    return { items, dropped, ttlMs, cacheScope };
  }

  async function listTools(settings?: CallSettings): Promise<Listing<Tool>> {
    const listing = await list('tools/list', 'tools', readTools, settings);
    return mirrored === undefined ? listing : withoutIllegalHeaders(listing, mirrored);
  }

  function callTool(name: string, args: JsonObject, settings?: CallSettings): Promise<CallToolResult> {
    const mirror = mirrored === undefined ? undefined : (): Record<string, string> | undefined => parameterHeaders(mirrored.get(name) ?? [], args);
    return ask({ method: 'tools/call', params: { name, arguments: args }, action: `call the tool "${name}"`, stage: 'call', progress: true, headers: mirror?.(), mirror, read: readCallResult, instead: questionInstead.call }, settings);
  }

  function need(capability: 'resources' | 'prompts' | 'completions' | 'logging', action: string): AnyFailure | undefined {
    if (capabilities[capability] !== undefined) return undefined;
    if (capability === 'completions' && lifecycle.revision === '2024-11-05') return undefined;   // had no flag for it
    return new Failure('CAPABILITY_MISSING', `Cannot ${action}: the server does not offer ${capability}`, { stage: 'call', details: { capability } }) as AnyFailure;
  }

  function readResource(uri: string, settings?: CallSettings): Promise<ReadResourceResult> {
    const missing = need('resources', `read "${uri}"`);
    return missing !== undefined ? Promise.reject(missing) : ask({ method: 'resources/read', params: { uri }, action: `read "${uri}"`, stage: 'call', progress: true, read: readReadResult, instead: questionInstead.read }, settings);
  }

  const bounded = (settings: CallSettings | undefined, fallback = requestMs): CallSettings & { readonly timeoutMs: number } => ({ ...settings, timeoutMs: settings?.timeoutMs ?? fallback });
  return {
    era: lifecycle.era, revision: lifecycle.revision, serverInfo: lifecycle.serverInfo, capabilities, instructions: lifecycle.instructions,
    listTools,
    listResources: (settings) => list('resources/list', 'resources', readResources, settings),
    async listResourceTemplates(settings) {
      try {
        return await list('resources/templates/list', 'resources', readTemplates, settings);
      } catch (error) {
        // Many servers offer resources and know no templates; that is an empty list, not a fault.
        if (isFailure(error) && error.code === 'REMOTE_ERROR' && error.details.rpcCode === codes.methodNotFound) return { items: [], dropped: [], ttlMs: 0, cacheScope: 'private' };
        throw error;
      }
    },
    listPrompts: (settings) => list('prompts/list', 'prompts', readPrompts, settings),
    callTool,
    readResource,
    getPrompt(name, args, settings) {
      const missing = need('prompts', `get the prompt "${name}"`);
      return missing !== undefined ? Promise.reject(missing) : ask({ method: 'prompts/get', params: { name, arguments: args }, action: `get the prompt "${name}"`, stage: 'call', progress: true, read: readPromptResult, instead: questionInstead.prompt }, settings);
    },
    complete(ref, argument, context, settings) {
      const missing = need('completions', 'complete an argument');
      const params = { ref, argument, ...(context === undefined ? {} : { context: { arguments: context } }) };
      return missing !== undefined ? Promise.reject(missing) : ask({ method: 'completion/complete', params, action: 'complete an argument', stage: 'call', read: readCompletion }, settings);
    },
    listSkills: (settings) => list('skills/list', 'skills', readSkills, settings),
    getSkill(uri, settings) {
      if (!offersSkills(capabilities)) return Promise.reject(new Failure('CAPABILITY_MISSING', `Cannot get the skill "${uri}": the server does not offer skills`, { stage: 'call', details: { capability: SKILLS } }));
      return ask({ method: 'skills/get', params: { uri }, action: `get the skill "${uri}"`, stage: 'call', read: skillReader(uri) }, settings);
    },
    async readSkillFile(skill, uri, settings) {
      const file = listedFile(skill, uri);
      return verifiedFile(skill, uri, file, await readResource(uri, settings));
    },
    ping: (settings) => inSession(() => lifecycle.ping(connection, bounded(settings, Math.min(limits.pingMs, requestMs))), settings?.signal),
    async setLogLevel(level, settings) {
      const missing = need('logging', 'set the log level');
      if (missing !== undefined) throw missing;
      await inSession(() => lifecycle.setLogLevel(connection, level, bounded(settings)), settings?.signal);
    },
    watch: (filter, settings) => inSession(() => lifecycle.watch(connection, filter, bounded(settings)), settings?.signal),
    on(listener) {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
    closed: connection.closed,
    close: () => connection.close(),
  };
}

function answered(params: JsonObject | undefined, input: InputRelay | undefined): JsonObject | undefined {
  if (input?.responses === undefined && input?.state === undefined) return params;
  return { ...params, ...(input.responses === undefined ? {} : { inputResponses: input.responses }), ...(input.state === undefined ? {} : { requestState: input.state }) };
}

const ceilingOf = (timeoutMs: number): number => Math.max(limits.ceilingFactor * timeoutMs, limits.ceilingMs);

/** Whoever gives up a call does not wait for the person who was asked. */
function untilAborted<T>(question: Promise<T>, signal: AbortSignal, what: Pick<Ask<unknown>, 'action' | 'stage' | 'method'>, recovery: Recovery = isReplaySafe(what.method) ? 'retryable' : 'unknown'): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Failure('CANCELED', `Cannot ${what.action}: it was canceled while the server waited for input`, {
      stage: what.stage, details: { method: what.method }, recovery,
    }));
    if (signal.aborted) { onAbort(); return; }
    signal.addEventListener('abort', onAbort, { once: true });
    void question.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Over HTTP a tool whose annotations are not legal must not be used; the others stay (MCP 2026-07-28, `x-mcp-header`). */
function withoutIllegalHeaders(listing: Listing<Tool>, known: Map<string, readonly HeaderParameter[]>): Listing<Tool> {
  const items: Tool[] = [], dropped = [...listing.dropped];
  for (const tool of listing.items) {
    const found = headerParameters(tool.inputSchema);
    if (found.kind === 'illegal') { dropped.push({ name: tool.name, reason: found.reason }); known.delete(tool.name); continue; }
    known.set(tool.name, found.parameters);
    items.push(tool);
  }
  return { ...listing, items, dropped };
}
