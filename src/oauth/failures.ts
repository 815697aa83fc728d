/** What can go wrong while signing in, said once. `error` is the word of OAUTH.md section 5; nothing here can hold a secret. */
import { Failure, isFailure } from '../base/failure.ts';
import { MASK, redactPatterns } from '../base/redact.ts';
import { oneLine, shorten } from '../base/text.ts';
import type { AnyFailure } from '../base/failure.ts';

/** Text of an authorization server inside a message: one line, no controls, no invisible characters, short, nothing that looks secret. */
export function cleaned(text: string): string {
  return shorten(redactPatterns(oneLine(text).replace(/[\u200b-\u200d\u2060\ufeff]/g, '')), 300);
}

/** Text of others without what we sent them: some servers repeat the request in their refusal. */
export function withoutSent(text: string, sent: Iterable<string | undefined>): string {
  let out = text;
  for (const value of sent) {
    if (value === undefined || value.length < 4) continue;
    for (const form of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]) out = out.replaceAll(form, MASK);
  }
  return out;
}

export function signInCommand(name: string): string {
  return `Run: zuno-lite mcp auth ${name}`;
}

/** A person has to sign in before this can work. */
export function loginRequired(name: string, why: string, more: { error?: string; url?: string; scope?: readonly string[]; hint?: string } = {}): AnyFailure {
  const { error = 'needs_auth', url, scope } = more;
  return new Failure('LOGIN_REQUIRED', `Cannot use server "${name}": ${why}`, {
    stage: 'auth', details: { error, ...(url !== undefined && { url }), ...(scope !== undefined && { scope }) }, hint: more.hint ?? signInCommand(name),
  }) as AnyFailure;
}

/** Signing in did not work, and will not until someone changes something. */
export function loginRefused(name: string, error: string, why: string, hint?: string, cause?: unknown): AnyFailure {
  return new Failure('LOGIN_REFUSED', `Cannot sign in to "${name}": ${why}`, { stage: 'auth', details: { error }, hint, cause }) as AnyFailure;
}

/** Something claims to be what it is not; nothing was sent to it. */
export function untrusted(name: string, error: string, issuer: string, why: string, hint?: string): AnyFailure {
  return new Failure('ISSUER_UNTRUSTED', `Cannot sign in to "${name}": ${why}`, { stage: 'auth', details: { issuer: cleaned(issuer), error }, hint }) as AnyFailure;
}

export function tokenRefused(name: string, error: string, why: string, hint?: string): AnyFailure {
  return new Failure('TOKEN_REFUSED', `Cannot use server "${name}": ${why}`, { stage: 'auth', details: { error }, hint }) as AnyFailure;
}

export function canceled(what: string): AnyFailure {
  return new Failure('CANCELED', `Cannot ${what}: canceled`, { stage: 'auth', details: {}, recovery: 'retryable' }) as AnyFailure;
}

/** The network or the other side is out of order for now: the same facts, but surely nothing was lost and it may be tried again. */
export function temporary(what: string, failure: AnyFailure): AnyFailure {
  const why = failure.message.replace(/^Cannot [^"]*/, '');
  return new Failure(failure.code, `Cannot ${what}: ${why}`, {
    stage: 'auth', details: failure.details as never, recovery: failure.code === 'CANCELED' ? failure.recovery : 'retryable', hint: failure.hint, cause: failure,
  }) as AnyFailure;
}

/** Failures of the network, of time and of overload: nothing that was stored may be deleted for them. */
export function isTemporary(error: AnyFailure): boolean {
  switch (error.code) {
    case 'TIMEOUT': case 'CONNECTION_CLOSED': case 'CONNECT_FAILED': return true;
    case 'HTTP_STATUS': return error.recovery === 'retryable';
    default: return false;
  }
}

/** The word of the catalogue that a failure of this floor carries. */
export function errorWord(error: unknown): string | undefined {
  if (!isFailure(error)) return undefined;
  switch (error.code) {
    case 'LOGIN_REQUIRED': case 'LOGIN_REFUSED': case 'ISSUER_UNTRUSTED': case 'TOKEN_REFUSED': return error.details.error;
    default: return undefined;
  }
}
