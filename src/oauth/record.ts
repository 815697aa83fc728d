/** The stored record: what it holds, and the check that everything read from the disk passes. */
import { isObject, isStringArray } from '../base/json.ts';
import type { ClientAuthMethod, Registration, Tokens } from './types.ts';

/** One atomic unit, so that client and tokens can never be of different generations. Times are milliseconds. */
export interface CredentialRecord {
  readonly version: 1;
  readonly name: string;
  readonly serverUrl: string;
  /** Changes with each write. */
  readonly generation: string;
  readonly updatedAt: number;
  /** By issuer. */
  readonly registrations: Readonly<Record<string, Registration>>;
  readonly tokens: Tokens | undefined;
}

/** Undefined for anything that is not a record of this version (and of this name and URL, when given). */
export function recordFrom(value: unknown, name?: string, serverUrl?: string): CredentialRecord | undefined {
  if (!isObject(value) || value['version'] !== 1) return undefined;
  const { name: itsName, serverUrl: itsUrl, generation, updatedAt, registrations } = value;
  if (typeof itsName !== 'string' || typeof itsUrl !== 'string' || typeof generation !== 'string' || typeof updatedAt !== 'number' || !isObject(registrations)) return undefined;
  if ((name !== undefined && itsName !== name) || (serverUrl !== undefined && itsUrl !== serverUrl)) return undefined;
  const kept: [string, Registration][] = [];
  for (const [issuer, one] of Object.entries(registrations)) {
    if (!isRegistration(one)) return undefined;
    kept.push([issuer, one]);
  }
  const tokens = value['tokens'];
  if (tokens !== undefined && tokens !== null && !isTokens(tokens)) return undefined;
  return { version: 1, name: itsName, serverUrl: itsUrl, generation, updatedAt, registrations: Object.fromEntries(kept), tokens: tokens ?? undefined };
}

const METHODS: readonly ClientAuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];

function isRegistration(value: unknown): value is Registration {
  return isObject(value) && typeof value['clientId'] === 'string' && METHODS.includes(value['method'] as ClientAuthMethod) && typeof value['redirectUri'] === 'string'
    && isStringArray(value['grantTypes']) && (value['scope'] === undefined || isStringArray(value['scope'])) && typeof value['registeredAt'] === 'number' && optional(value['clientSecret'], 'string') && optional(value['clientSecretExpiresAt'], 'number');
}

function isTokens(value: unknown): value is Tokens {
  return isObject(value) && ['issuer', 'clientId', 'tokenEndpoint', 'accessToken'].every((key) => typeof value[key] === 'string')
    && (value['tokenType'] === 'bearer' || value['tokenType'] === 'dpop') && isStringArray(value['scopeRequested']) && isStringArray(value['scopeGranted'])
    && typeof value['obtainedAt'] === 'number' && optional(value['expiresAt'], 'number')
    && ['resource', 'refreshToken', 'dpopKey'].every((key) => optional(value[key], 'string'));
}

function optional(value: unknown, type: 'string' | 'number'): boolean {
  return value === undefined || typeof value === type;
}

/** The record with one registration set or, for undefined, removed. */
export function withRegistration(record: CredentialRecord, issuer: string, registration: Registration | undefined): CredentialRecord {
  const others = Object.entries(record.registrations).filter(([key]) => key !== issuer);
  return { ...record, registrations: Object.fromEntries(registration === undefined ? others : [...others, [issuer, registration]]) };
}

/** An own member only: an issuer is a text of others. */
export function registrationAt(record: CredentialRecord | undefined, issuer: string): Registration | undefined {
  return record !== undefined && Object.hasOwn(record.registrations, issuer) ? record.registrations[issuer] : undefined;
}
