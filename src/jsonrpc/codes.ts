/** JSON-RPC and MCP error codes (MCP 2026-07-28, base protocol). Local failures never use this number space. */
export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Header and body of an HTTP request disagree (2026-07-28). */
  headerMismatch: -32020,
  /** `data.requiredCapabilities` names what the client did not declare (2026-07-28). */
  missingClientCapability: -32021,
  /** `data.supported` and `data.requested` (2026-07-28). */
  unsupportedVersion: -32022,
  /** Up to 2025-11-25. */
  resourceNotFound: -32002,
  /** 2025-11-25 only. */
  urlElicitationRequired: -32042,
  /** Convention up to 2025-11-25: the person said no to sampling. */
  userRejected: -1,
} as const;

/** A positive proof that the peer speaks 2026-07-28 or later. */
export function isModernError(code: number): boolean {
  return code === codes.headerMismatch || code === codes.missingClientCapability || code === codes.unsupportedVersion;
}
