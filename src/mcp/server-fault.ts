/** JSON-RPC errors that we answer, and what of them each era may see (MCP 2026-07-28, error codes). */
import { isObject, type JsonObject } from '../base/json.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { RpcError } from '../jsonrpc/message.ts';
import type { Era } from './types.ts';

/** An error answer, thrown. Its message and data go to the client as they stand. */
export class RpcFault extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcFault';
    this.code = code;
    this.data = data;
  }
}

/** A request that contradicts itself or does not say what it must: seen before any handler ran, so it goes out as it is, and over HTTP with 400. */
export class MalformedRequest extends RpcFault {}

export function isRpcError(value: unknown): value is RpcError {
  return typeof value === 'object' && value !== null && Number.isInteger((value as { code?: unknown }).code) && typeof (value as { message?: unknown }).message === 'string';
}

export const invalidParams = (message: string, data?: unknown): RpcFault => new RpcFault(codes.invalidParams, message, data);
export const methodNotFound = (method: string): RpcFault => new RpcFault(codes.methodNotFound, `Method not found: ${method}`);

/** What the client would have to declare (MCP 2026-07-28); in the legacy era, which has no code for it, an internal error. */
export function missingCapability(required: JsonObject): RpcFault {
  return new RpcFault(codes.missingClientCapability, `The client did not declare the capability ${Object.keys(required).join(', ')}`, { requiredCapabilities: required });
}

/**
 * The error as this era's client may get it. Codes that speak of one hop are no one else's; a resource that is not there has a code of
 * its own up to 2025-11-25, and is a bad parameter after it.
 */
export function faultFor(era: Era, method: string, { code, message, data }: RpcError): RpcError {
  const answer = (becomes: number): RpcError => ({ code: becomes, message, ...(data === undefined ? {} : { data }) });
  if (code === codes.headerMismatch || code === codes.unsupportedVersion) return { code: codes.internalError, message };
  if (era === 'modern') {
    if (code === codes.resourceNotFound) return answer(codes.invalidParams);
    return code === codes.urlElicitationRequired ? answer(codes.internalError) : answer(code);
  }
  if (code === codes.missingClientCapability) return answer(codes.internalError);
  const absent = method === 'resources/read' && code === codes.invalidParams && isObject(data) && typeof data['uri'] === 'string';
  return answer(absent ? codes.resourceNotFound : code);
}

/** HTTP status of an error of the stateless era, as far as the specification fixes one (MCP 2026-07-28, Streamable HTTP). */
export function statusOf(code: number): number {
  switch (code) {
    case codes.methodNotFound: return 404;
    case codes.headerMismatch: case codes.missingClientCapability: case codes.unsupportedVersion: case codes.parseError: case codes.invalidRequest: return 400;
    default: return 200;
  }
}
