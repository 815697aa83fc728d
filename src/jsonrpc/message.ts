/** What a JSON-RPC 2.0 message is, decided once where text becomes a value. The union is closed. */
import { isObject, parseJson, pruneJson, textNestsDeeper, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from './codes.ts';

/** Strings and integers; `1` and `"1"` are different ids. */
export type Id = number | string;
export interface RpcError { readonly code: number; readonly message: string; readonly data?: unknown }

export interface Request { readonly jsonrpc: '2.0'; readonly id: Id; readonly method: string; readonly params?: JsonObject }
export interface Notification { readonly jsonrpc: '2.0'; readonly method: string; readonly params?: JsonObject }
export interface ResultResponse { readonly jsonrpc: '2.0'; readonly id: Id; readonly result: unknown }
/** `id` is null when the peer could not read the request's id (absent and null on the wire mean the same). */
export interface ErrorResponse { readonly jsonrpc: '2.0'; readonly id: Id | null; readonly error: RpcError }

export type Message =
  | { readonly kind: 'request'; readonly message: Request }
  | { readonly kind: 'notification'; readonly message: Notification }
  | { readonly kind: 'result'; readonly message: ResultResponse }
  | { readonly kind: 'error'; readonly message: ErrorResponse }
  /** Nested deeper than `limits.jsonDepth`: only what it is and whose it is was read. */
  | { readonly kind: 'refused'; readonly message: { readonly of: 'request' | 'notification' | 'answer'; readonly id: Id | null } };

/**
 * Parses what carries one message (in 2025-03-26 perhaps a list of them); `undefined` when it is no JSON. Whatever walks a value later
 * does so by recursion, which a few thousand levels would end: a text that nests too deep comes `pruned`, without what lies below the
 * members of its messages, and `classify` has to be told.
 */
export function parseFrame(text: string): { readonly value: unknown; readonly pruned?: true } | undefined {
  const parsed = parseJson(text);
  if (parsed !== undefined || !textNestsDeeper(text, limits.jsonDepth)) return parsed;
  const rest = parseJson(pruneJson(text, text.trimStart().startsWith('[') ? 2 : 1));
  return rest === undefined ? undefined : { value: rest.value, pruned: true };
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value));
}

/**
 * Classifies a parsed value by shape (JSON-RPC 2.0; ids as MCP narrows them). `undefined` when it is none of the four.
 * Lenient where servers differ: `error: null` beside a result and `result: null` beside an error, an absent or null id on an
 * error, an error without a usable code or message, any JSON as result. An error that is not believed would leave its request
 * waiting for an answer that has come. Of a `pruned` value nothing but kind and id is believed.
 */
export function classify(value: unknown, pruned?: true): Message | undefined {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const id = value['id'], method = value['method'];
  if (pruned) return { kind: 'refused', message: { of: typeof method !== 'string' ? 'answer' : isId(id) ? 'request' : 'notification', id: isId(id) ? id : null } };
  if (method !== undefined) {
    const params = value['params'];
    if (typeof method !== 'string' || (params !== undefined && params !== null && !isObject(params))) return undefined;
    if (params === null) return classify({ ...value, params: undefined });
    if (id === undefined) return { kind: 'notification', message: value as unknown as Notification };
    return isId(id) ? { kind: 'request', message: value as unknown as Request } : undefined;
  }
  const error = value['error'];
  if (error !== undefined && error !== null) {
    if ((value['result'] ?? null) !== null || (id !== undefined && id !== null && !isId(id))) return undefined;
    return { kind: 'error', message: { jsonrpc: '2.0', id: id ?? null, error: readError(error) } };
  }
  return isId(id) && 'result' in value ? { kind: 'result', message: value as unknown as ResultResponse } : undefined;
}

function readError(error: unknown): RpcError {
  if (!isObject(error)) return { code: codes.internalError, message: typeof error === 'string' ? error : '' };
  const { code, message } = error;
  return {
    code: Number.isInteger(code) ? code as number : codes.internalError, message: typeof message === 'string' ? message : '',
    ...('data' in error ? { data: error['data'] } : {}),
  };
}
