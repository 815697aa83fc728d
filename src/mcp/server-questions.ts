/** Requests of a legacy session to its client that wait for an answer. */
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { Id, RpcError } from '../jsonrpc/message.ts';
import { encodeNotification } from '../jsonrpc/serving.ts';
import { faultOfAnswer } from './server-asks.ts';
import { RpcFault } from './server-fault.ts';

export interface Questions {
  /** Rejects with an `RpcFault`: the client's error, or what kept its answer away. */
  ask(method: string, params: JsonObject, send: (text: string) => boolean, signal?: AbortSignal): Promise<JsonObject>;
  settle(id: Id | null, answer: { readonly result: JsonObject } | { readonly error: RpcError }): void;
  close(): void;
}

type Settle = (answer: { readonly result: JsonObject } | { readonly error: RpcError }) => void;

export function createQuestions(askMs: number): Questions {
  const waiting = new Map<Id, Settle>();
  let nextId = 1, closed = false;
  const failed = (message: string): { readonly error: RpcError } => ({ error: { code: codes.internalError, message } });

  return {
    ask(method, params, send, signal) {
      if (closed || signal?.aborted) return Promise.reject(new RpcFault(codes.internalError, 'The request was canceled'));
      if (waiting.size >= limits.inboundRequests) return Promise.reject(new RpcFault(codes.internalError, 'Too many questions wait for an answer of the client'));
      const id = nextId++;
      return new Promise((resolve, reject) => {
        const giveUp = (why: string): void => {
          if (!waiting.has(id)) return;
          send(encodeNotification('notifications/cancelled', { requestId: id, reason: why }));
          settle(failed(`The client did not answer ${method}: ${why}`));
        };
        const onAbort = (): void => giveUp('the request was canceled');
        const timer = setTimeout(() => giveUp('it took too long'), askMs);
        const settle: Settle = (answer) => {
          waiting.delete(id);
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          if ('error' in answer) { reject(new RpcFault(answer.error.code, answer.error.message, answer.error.data)); return; }
          const fault = faultOfAnswer(method, answer.result);
          if (fault === undefined) resolve(answer.result); else reject(new RpcFault(codes.internalError, `The client's answer to ${method} cannot be used: ${fault}`));
        };
        waiting.set(id, settle);
        signal?.addEventListener('abort', onAbort, { once: true });
        const none = method === 'roots/list' && Object.keys(params).length === 0;
        if (!send(JSON.stringify({ jsonrpc: '2.0', id, method, ...(none ? {} : { params }) }))) settle(failed(`The client cannot be asked for ${method} here`));
      });
    },
    settle(id, answer) { if (id !== null) waiting.get(id)?.(answer); },
    close() {
      closed = true;
      for (const settle of [...waiting.values()]) settle(failed('The session was closed'));
    },
  };
}
