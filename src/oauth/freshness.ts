/** When tokens count as used up. The clock is this machine's, at receipt; no header and no JWT is asked (OAUTH.md 3.5). */
import { limits } from '../base/limits.ts';
import type { Tokens } from './types.ts';

const YOUNG_MS = 10_000;
const CLOCK_WENT_BACK_MS = 60_000;

/** Near its end, and not so young that a server with very short lives would be asked before every call. */
export function isNearExpiry({ expiresAt, obtainedAt }: Tokens, at = Date.now()): boolean {
  if (expiresAt === undefined || at < obtainedAt - CLOCK_WENT_BACK_MS) return false;
  const young = Math.min(YOUNG_MS, (expiresAt - obtainedAt) / 2);
  return expiresAt - at <= limits.tokenSkewMs && at - obtainedAt >= young;
}

export function isExpired({ expiresAt, obtainedAt }: Tokens, at = Date.now()): boolean {
  return expiresAt !== undefined && at >= obtainedAt - CLOCK_WENT_BACK_MS && at >= expiresAt;
}
