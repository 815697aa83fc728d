/** What became of a relayed request, in the words of the protocol: a result, a tool error that a model can read, or a JSON-RPC error. */
import { isFailure, toFailure, type AnyFailure } from '../base/failure.ts';
import { redactPatterns } from '../base/redact.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { inWords } from '../host/step-result.ts';
import { codes } from '../jsonrpc/codes.ts';
import { rawOf } from '../mcp/results.ts';
import { missingCapability, RpcFault } from '../mcp/server-fault.ts';
import type { Outcome } from '../registry/types.ts';

/** What an upstream says of its own hop is not true of ours (MCP.md, gateway rules). */
const ofOneHop: ReadonlySet<number> = new Set([codes.headerMismatch, codes.unsupportedVersion, codes.missingClientCapability, codes.parseError, codes.invalidRequest]);

/**
 * An error of the server as it stands but for codes of its hop; any failure of ours is internal, with its facts as data. `declared`: what
 * the client declared. A server is told the same of it, so that what is missing there is what the client lacks.
 */
export function faultOf(failure: AnyFailure, declared?: JsonObject): RpcFault {
  const { code, message, details, hint, recovery } = redactFailure(failure, redactPatterns);
  if (code !== 'REMOTE_ERROR') return new RpcFault(codes.internalError, message, { code, recovery, ...(hint === undefined ? {} : { hint }) });
  const { rpcCode, data } = details as { readonly rpcCode: number; readonly data?: unknown };
  const said = /: the server answered error -?\d+: ([^]*)$/.exec(message)?.[1] ?? message;
  if (rpcCode === codes.missingClientCapability && declared !== undefined && isObject(data) && isObject(data['requiredCapabilities']) && Object.keys(data['requiredCapabilities']).every((name) => !Object.hasOwn(declared, name))) return missingCapability(data['requiredCapabilities']);
  return ofOneHop.has(rpcCode) ? new RpcFault(codes.internalError, said) : new RpcFault(rpcCode, said, data);
}

/** The same for whatever was thrown; an error that is JSON-RPC's already stays. */
export function faultFrom(thrown: unknown, declared?: JsonObject): unknown {
  return isFailure(thrown) || !(thrown instanceof RpcFault) ? faultOf(toFailure(thrown, 'call'), declared) : thrown;
}

/** The result of a tool call. Throws the server's own JSON-RPC error, where that is what came. */
export function toolResult(outcome: Outcome, declared: JsonObject): JsonObject {
  if ('result' in outcome) return rawOf(outcome.result) ?? { ...outcome.result };
  if (outcome.kind === 'failed' && outcome.failure.code === 'REMOTE_ERROR') throw faultOf(outcome.failure, declared);
  return refusal(outcome.failure, outcome.kind);
}

/** In the words that a session would tell a model. */
export function refusal(failure: AnyFailure, kind: 'blocked' | 'failed' | 'unknown' = 'blocked'): JsonObject {
  const { parts } = inWords(kind, redactFailure(failure, redactPatterns));
  return { content: parts.flatMap((part) => (part.kind === 'text' ? [{ type: 'text', text: part.text }] : [])), isError: true };
}
