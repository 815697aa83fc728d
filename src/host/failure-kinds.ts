/** FACTS table T7: the kind of failure a status record shows, derived from code and stage by one table. */
import type { AnyFailure, FailureCode, Stage } from '../base/failure.ts';

export type FailureKind =
  | 'config_invalid' | 'runtime_unavailable' | 'process_start_failed' | 'network_unreachable' | 'connection_timeout'
  | 'protocol_negotiation_failed' | 'tool_list_failed' | 'unexpected_disconnect' | 'oauth_authorization_failed'
  | 'official_origin_untrusted' | 'not_authenticated' | 'coding_plan_required' | 'server_not_found' | 'server_unavailable'
  | 'rate_limited' | 'server_internal_error' | 'protocol_error' | 'status_unavailable' | 'connection_failed';

const byCode: Partial<Record<FailureCode, FailureKind>> = {
  CONFIG_UNREADABLE: 'config_invalid', CONFIG_INVALID: 'config_invalid', VARIABLE_UNSET: 'config_invalid', URL_REFUSED: 'config_invalid', USAGE: 'config_invalid',
  TRUST_REFUSED: 'status_unavailable', SERVER_UNKNOWN: 'server_not_found', SPAWN_FAILED: 'process_start_failed', CONNECT_FAILED: 'network_unreachable',
  REVISION_UNSUPPORTED: 'protocol_negotiation_failed', PROTOCOL_VIOLATION: 'protocol_error', LIMIT_EXCEEDED: 'protocol_error', REMOTE_ERROR: 'protocol_error',
  LOGIN_REQUIRED: 'not_authenticated', LOGIN_REFUSED: 'oauth_authorization_failed', TOKEN_REFUSED: 'oauth_authorization_failed', ISSUER_UNTRUSTED: 'official_origin_untrusted',
  INTERNAL: 'runtime_unavailable', SESSION_LOST: 'unexpected_disconnect',
};

/** Stages in which a server is not yet ready for use. */
const connecting: ReadonlySet<Stage> = new Set(['spawn', 'connect', 'probe', 'handshake']);

/**
 * `wasConnected` tells a connection that was lost from one that never came up. A timeout keeps its own kind in every stage,
 * also while listing: a slow list is not a bad list.
 */
export function failureKind(failure: AnyFailure, wasConnected: boolean): FailureKind {
  if (failure.code === 'TIMEOUT') return 'connection_timeout';
  if (failure.code === 'HTTP_STATUS') return httpKind(failure.details.status);
  if (failure.code === 'SERVER_EXITED' || failure.code === 'CONNECTION_CLOSED') {
    return wasConnected ? 'unexpected_disconnect' : connecting.has(failure.stage) && failure.code === 'SERVER_EXITED' ? 'process_start_failed' : 'connection_failed';
  }
  if (failure.stage === 'list' && (failure.code === 'PROTOCOL_VIOLATION' || failure.code === 'REMOTE_ERROR' || failure.code === 'LIMIT_EXCEEDED')) return 'tool_list_failed';
  if ((failure.stage === 'probe' || failure.stage === 'handshake') && failure.code === 'REMOTE_ERROR') return 'protocol_negotiation_failed';
  return byCode[failure.code] ?? 'connection_failed';
}

function httpKind(status: number): FailureKind {
  if (status === 401) return 'not_authenticated';
  // Payment required: the account has no plan for it.
  if (status === 402) return 'coding_plan_required';
  if (status === 404) return 'server_not_found';
  if (status === 429) return 'rate_limited';
  if (status === 503) return 'server_unavailable';
  return status >= 500 ? 'server_internal_error' : 'connection_failed';
}
