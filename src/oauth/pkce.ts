/** Proof Key for Code Exchange (RFC 7636), method S256 only. */
import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits in 43 characters that need no escaping anywhere: verifier, state, generation. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** `code_challenge` of a verifier, RFC 7636 section 4.2. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier, 'ascii').digest('base64url');
}
