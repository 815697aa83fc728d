/**
 * Questions on their way down: those of servers go to the client whose call runs there, those of the policy to the client whose call it is.
 * A server does not say which call it asks for, so that with several clients there has to be exactly one.
 */
import type { JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import { Failure } from '../base/failure.ts';
import type { ServerEntry } from '../config/types.ts';
import type { ServedContext, ServedPeer } from '../mcp/server-types.ts';
import type { Answers, ElicitationAnswer, InputRelay, Root } from '../mcp/types.ts';
import type { Approval, ApprovalAnswer } from '../registry/types.ts';

export interface Questions {
  /** While `work` runs, `server` may ask this client. */
  during<T>(server: string, context: ServedContext, work: () => Promise<T>): Promise<T>;
  /** The request that runs at this server, if it is the only one. */
  only(server: string): ServedContext | undefined;
  answersFor(entry: ServerEntry): Answers;
  approve(approval: Approval, signal?: AbortSignal): Promise<ApprovalAnswer>;
  /** For a request that may be answered with a question of its server. */
  inputOf(context: ServedContext): InputRelay | undefined;
  /** The result, or the question with a state that brings its answers back to the same place. */
  handOn(result: JsonObject, context: ServedContext): JsonObject;
}

/** What comes back with the answers, sealed by whoever serves. `approved`: the call was let through, once, and goes on. */
interface Place { readonly state?: string | undefined; readonly approved: boolean }

const placeOf = ({ input }: ServedContext): Place | undefined => (input?.state === undefined ? undefined : JSON.parse(input.state) as Place);

const MODES = ['form', 'url'] as const;

function modesOf({ elicitation }: JsonObject): readonly ('form' | 'url')[] {
  if (!isObject(elicitation)) return [];
  const named = MODES.filter((mode) => isObject(elicitation[mode]));
  return named.length === 0 ? ['form'] : named;
}

/** What of a client's capabilities a server is told; clients that differ in it cannot share one. */
export const askable = ({ clientCapabilities: can }: Pick<ServedPeer, 'clientCapabilities'>): string => [...modesOf(can), ...['sampling', 'roots'].filter((one) => isObject(can[one]))].join();

/**
 * `peer`: whose capabilities the servers are told. `holders`: who has these servers. `one` client: whatever they ask is for it. One
 * `principal`: a call that waits for an answer has asked already, so that a further question belongs to the one that does not.
 */
export function createQuestions(peer: ServedPeer, holders: 'one' | 'principal' | 'several'): Questions {
  const waiting = new WeakSet<ServedContext>(), own = holders === 'one';
  const running = new Map<string, Set<ServedContext>>();
  const callers = new WeakMap<AbortSignal, ServedContext>(), approved = new WeakSet<ServedContext>();
  const can = peer.clientCapabilities, modes = modesOf(can);

  async function ask(server: string, method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const contexts = [...running.get(server) ?? []], free = contexts.filter((context) => !waiting.has(context));
    const context = contexts.length === 1 || own ? contexts.at(-1) : holders === 'principal' && free.length === 1 ? free[0] : undefined;
    if (context !== undefined) {
      waiting.add(context);
      try { return await context.ask(method, params); } finally { waiting.delete(context); }
    }
    if (contexts.length === 0 && own && peer.ask !== undefined) return peer.ask(method, params, signal);
    const why = contexts.length === 0 ? 'no call of a client runs there' : 'calls of several clients run there, and it does not say for which it asks';
    throw new Failure('CAPABILITY_MISSING', `Cannot pass on ${method} of the server "${server}": ${why}`, { stage: 'call', details: { capability: method } });
  }

  return {
    async during(server, context, work) {
      const here = running.get(server) ?? new Set();
      running.set(server, here.add(context));
      callers.set(context.signal, context);
      try {
        return await work();
      } finally {
        here.delete(context);
      }
    },
    only(server) {
      const here = running.get(server);
      return here?.size === 1 ? [...here][0] : undefined;
    },
    answersFor: ({ name }) => ({
      ...(modes.length === 0 ? {} : {
        elicitModes: modes,
        elicit: async ({ mode, ...request }, signal) => (await ask(name, 'elicitation/create', mode === 'url' ? { mode, ...request } : request, signal)) as unknown as ElicitationAnswer,
      }),
      ...(isObject(can['sampling']) ? { sample: (params, signal) => ask(name, 'sampling/createMessage', params, signal) } : {}),
      ...(isObject(can['roots']) ? { roots: async () => (await ask(name, 'roots/list', {}))['roots'] as readonly Root[] } : {}),
    }),
    inputOf(context) {
      if (context.era !== 'modern') return undefined;
      const state = placeOf(context)?.state, responses = context.input?.responses;
      return { ...(responses === undefined || Object.keys(responses).length === 0 ? {} : { responses }), ...(state === undefined ? {} : { state }) };
    },
    handOn(result, context) {
      if (context.era !== 'modern' || result['resultType'] !== 'input_required') return result;
      const { requestState: state, ...rest } = result;
      if (typeof state !== 'string' && !approved.has(context)) return rest;
      return { ...rest, requestState: JSON.stringify({ ...(typeof state === 'string' ? { state } : {}), approved: approved.has(context) } satisfies Place) };
    },
    async approve(approval, signal) {
      const context = signal === undefined ? undefined : callers.get(signal), params = approvalForm(approval);
      if (context !== undefined && placeOf(context)?.approved === true) { approved.add(context); return 'once'; }
      if (context === undefined || !context.mayAsk('elicitation/create', params)) return 'nobody';
      const { action, content } = await context.ask('elicitation/create', params);
      if (action !== 'accept' || !isObject(content)) return 'no';
      if (content['answer'] === ONCE) approved.add(context);
      return content['answer'] === ONCE ? 'once' : content['answer'] === ALWAYS ? 'always' : 'no';
    },
  };
}

export const ONCE = 'allow once', ALWAYS = 'allow for this session', NO = 'no';

function approvalForm({ entry, args, decision }: Approval): JsonObject {
  const shown = JSON.stringify(args);
  return {
    message: `May the tool "${entry.tool}" of the server "${entry.server}" be called with ${shown.length > 2000 ? `${shown.slice(0, 2000)}…` : shown}? ${decision.why}`,
    requestedSchema: { type: 'object', properties: { answer: { type: 'string', title: 'Answer', enum: [ONCE, ALWAYS, NO], default: NO } }, required: ['answer'] },
  };
}
