/** SHA-256 of text: what identities, fingerprints and shortened names are made of. */
import { createHash } from 'node:crypto';

export function sha256(text: string, encoding: 'hex' | 'base64url'): string {
  return createHash('sha256').update(text).digest(encoding);
}
