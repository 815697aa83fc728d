/** What went wrong on the way to a server and back, told with address, reason and remedy. Secrets cannot get in: URLs come in their shown form. */
import { Failure, isFailure } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { byteSize } from '../base/text.ts';
import type { AnyFailure, Recovery, Sent, Stage } from '../base/failure.ts';
import type { Target } from './types.ts';

export interface RequestFacts {
  readonly target: Target;
  readonly stage: Stage;
  readonly sent: Sent;
  /** Running it twice does no harm. */
  readonly replaySafe: boolean;
  readonly elapsedMs: number;
  /** Shown form of the proxy in between. */
  readonly proxy: string | undefined;
}

/** The system's word for what happened: of the error itself, or of what it wraps (the platform's fetch hides it in `cause`). */
export function systemCode(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; isObject(at) && depth < 4; at = at['cause'], depth += 1) {
    if (typeof at['code'] === 'string') return at['code'];
  }
  return undefined;
}

/** True when a connection went away under a request: the one case in which sending again can help at once. */
export function isConnectionLoss(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'].includes(systemCode(error) ?? '');
}

/** True when the error belongs to the time before there was a connection to send anything on. */
export function isConnectError(error: unknown): boolean {
  const code = systemCode(error) ?? '';
  return code in UNREACHABLE || code in CERTIFICATE || code in OWN || code.startsWith('ERR_TLS_') || isTlsNoise(code);
}

type Words = readonly [reason: string, hint: string | undefined, recovery: Recovery];

const UNREACHABLE: Readonly<Record<string, Words>> = {
  ECONNREFUSED: ['nothing listens there', 'Start the server, or correct host and port of the url', 'retryable'],
  ENOTFOUND: ['no such host name', 'Check the spelling of the host; in a network that only a proxy leaves, set HTTPS_PROXY', 'blocked'],
  EAI_AGAIN: ['the name service does not answer', 'Check the network; in a network that only a proxy leaves, set HTTPS_PROXY', 'retryable'],
  ETIMEDOUT: ['it does not answer', 'Check host and port; a firewall may drop the packets', 'retryable'],
  UND_ERR_CONNECT_TIMEOUT: ['it does not answer', 'Check host and port; a firewall may drop the packets', 'retryable'],
  EHOSTUNREACH: ['no way leads to that host', 'Check the network, or a VPN that should be up', 'retryable'],
  ENETUNREACH: ['no way leads to that network', 'Check the network, or a VPN that should be up', 'retryable'],
  EADDRNOTAVAIL: ['no way leads to that address', 'Check the network', 'retryable'],
  EACCES: ['this machine forbids it', 'Check the firewall or sandbox of this machine', 'blocked'],
  EPERM: ['this machine forbids it', 'Check the firewall or sandbox of this machine', 'blocked'],
};

const TRUST = 'Trust its certificate authority: name a PEM file as "caFile" in the server\'s entry, or in the environment variable NODE_EXTRA_CA_CERTS';
const CERTIFICATE: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed', TRUST],
  SELF_SIGNED_CERT_IN_CHAIN: ['its certificate comes from an authority that is not trusted here', TRUST],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate comes from an authority that is not trusted here', TRUST],
  UNABLE_TO_GET_ISSUER_CERT: ['its certificate comes from an authority that is not known here', TRUST],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['its certificate comes from an authority that is not known here', TRUST],
  CERT_UNTRUSTED: ['its certificate is not trusted here', TRUST],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'Renew the certificate of the server; check the clock of this machine'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'Check the clock of this machine and the certificate of the server'],
  CERT_REVOKED: ['its certificate has been revoked', 'Renew the certificate of the server'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another name', 'Use the name that the certificate was issued for'],
};

/** Errors that this folder raises itself, by `code`. */
const OWN = { ADDRESS_REFUSED: true, PROXY_FAILED: true, PROXY_STATUS: true } as const;

function isTlsNoise(code: string): boolean {
  return code === 'EPROTO' || code.startsWith('ERR_SSL_');
}

/** An error of the system, of TLS, of the HTTP parser or of the platform's fetch. */
export function networkFailure(error: unknown, facts: RequestFacts): AnyFailure {
  if (isFailure(error)) return error;
  const code = systemCode(error) ?? '';
  if (facts.sent !== 'yes') {
    const early = connectFailure(error, code, facts);
    if (early !== undefined) return early;
  }
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'UND_ERR_HEADERS_OVERFLOW') return limitFailure('HTTP response head', limits.httpHeaderBytes, facts);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return timeoutFailure(facts.elapsedMs, facts, error);
  if (code.startsWith('HPE_') || code === 'UND_ERR_INFO' || /Parser/.test(nameOf(error))) {
    return violation(`Cannot read the answer of "${facts.target.shown}": it is not HTTP (${code || 'unreadable'})`, 'Check host and port: another service may listen there', facts, error);
  }
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ERR_BROTLI') || code === 'CODING_UNKNOWN') {
    return violation(`Cannot read the answer of "${facts.target.shown}": ${code === 'CODING_UNKNOWN' && error instanceof Error ? error.message : `its compressed body is broken or cut (${code})`}`, undefined, facts, error);
  }
  const header = headerName(error, code);
  if (header !== undefined) {
    return new Failure('CONFIG_INVALID', `Cannot send the header ${header} to "${facts.target.shown}": HTTP does not allow a character in it`, {
      stage: 'config', details: { problems: [{ pointer: '/headers', message: `${header} holds a character that HTTP does not allow` }] },
      hint: 'Look for line breaks or non-Latin characters, often at the end of a pasted secret',
    }) as AnyFailure;
  }
  return closedFailure(error, code, facts);
}

function nameOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? error.cause.name : error instanceof Error ? error.name : '';
}

/** The quoted name of the header that Node or the platform's fetch refuses; never its value. */
function headerName(error: unknown, code: string): string | undefined {
  if (code !== 'ERR_INVALID_CHAR' && code !== 'ERR_INVALID_HTTP_TOKEN' && code !== 'HEADER_INVALID') return undefined;
  return /\["([!#$%&'*+.^_`|~0-9A-Za-z-]+)"\]$/.exec(error instanceof Error ? error.message : '')?.[1] ?? '(name unreadable)';
}

function connectFailure(error: unknown, code: string, facts: RequestFacts): AnyFailure | undefined {
  const { target } = facts;
  const own = code in OWN && isObject(error) ? error : undefined;
  if (code === 'ADDRESS_REFUSED') {
    return new Failure('URL_REFUSED', `Cannot connect to "${target.shown}": ${String(own?.['address'] ?? 'its address')} is an address that may not be reached from here`, {
      stage: 'connect', details: { url: target.shown }, cause: error,
    }) as AnyFailure;
  }
  const viaProxy = facts.proxy !== undefined && (own !== undefined || !target.secure);
  const address = addressOf(error, facts, viaProxy);
  const to = viaProxy ? `Cannot reach "${target.shown}" through the proxy ${facts.proxy}` : `Cannot connect to "${target.shown}"`;
  const fail = (reason: string, hint: string | undefined, recovery: Recovery): AnyFailure =>
    new Failure('CONNECT_FAILED', `${to}: ${reason}`, { stage: 'connect', details: { address, ...(code !== '' && { system: code }) }, recovery, hint, cause: error }) as AnyFailure;
  if (code === 'PROXY_STATUS') {
    const status = Number(own?.['status']);
    const [reason, hint] = status === 407 ? proxyLogin(target) : [`the proxy answers ${status}`, proxyHint(target)];
    return fail(reason, hint, status >= 500 ? 'retryable' : 'blocked');
  }
  if (code === 'PROXY_FAILED') {
    const inner = isObject(error) ? error['cause'] : undefined;
    const words = UNREACHABLE[systemCode(inner) ?? ''];
    return fail(`${words?.[0] ?? certificateReason(inner) ?? 'the connection ended'} (${systemCode(inner) ?? 'unknown'})`, proxyHint(target), words?.[2] ?? 'retryable');
  }
  const words = UNREACHABLE[code];
  if (words !== undefined) return fail(`${words[0]} (${code}${address === '' ? '' : ` ${address}`})`, viaProxy ? proxyHint(target) : words[1], words[2]);
  const certificate = certificateReason(error);
  if (certificate !== undefined) return fail(`${certificate} (${code})`, CERTIFICATE[code]?.[1] ?? TRUST, 'blocked');
  if (isTlsNoise(code)) return fail(...tlsWords(error, code));
  if (facts.sent === 'no' && isConnectionLoss(error)) {
    return fail(`the connection ended ${target.secure ? 'during the TLS handshake' : 'before anything was sent'} (${code})`, target.secure ? 'Check that this port speaks TLS; a client certificate may be required ("certFile", "keyFile")' : undefined, 'retryable');
  }
  return undefined;
}

function certificateReason(error: unknown): string | undefined {
  const code = systemCode(error) ?? '';
  const known = CERTIFICATE[code];
  return known?.[0] ?? (code.startsWith('CERT_') || code.startsWith('ERR_TLS_CERT') ? 'its certificate is not accepted' : undefined);
}

function tlsWords(error: unknown, code: string): Words {
  const text = `${code} ${error instanceof Error ? error.message : ''} ${error instanceof Error && error.cause instanceof Error ? error.cause.message : ''}`;
  if (/wrong.version.number|packet.length.too.long|http.request/i.test(text)) return [`that port does not speak TLS (${code})`, 'Use http:// in the url if the server has no TLS', 'blocked'];
  if (/certificate.required|bad.certificate|alert.unknown.ca|handshake.failure/i.test(text)) {
    return [`the server does not accept us (${code})`, 'It may ask for a client certificate: name PEM files as "certFile" and "keyFile" in the server\'s entry', 'blocked'];
  }
  return [`the TLS handshake fails (${code})`, 'Check the TLS settings of the server', 'blocked'];
}

export function proxyLogin(target: Target): readonly [reason: string, hint: string] {
  return ['the proxy asks for a user name and password', `Set ${target.secure ? 'HTTPS_PROXY' : 'HTTP_PROXY'} to http://USER:PASSWORD@host:port`];
}

function proxyHint(target: Target): string {
  return `Check ${target.secure ? 'HTTPS_PROXY' : 'HTTP_PROXY'}; to reach the server without a proxy add ${target.host} to NO_PROXY`;
}

/** `host:port` of what was tried; all of them when a name has several addresses. */
function addressOf(error: unknown, facts: RequestFacts, viaProxy: boolean): string {
  const found = new Set<string>();
  const visit = (at: unknown, depth: number): void => {
    if (!isObject(at) || depth > 4) return;
    if (typeof at['address'] === 'string' && typeof at['port'] === 'number') found.add(at['address'].includes(':') ? `[${at['address']}]:${at['port']}` : `${at['address']}:${at['port']}`);
    if (Array.isArray(at['errors'])) for (const inner of at['errors']) visit(inner, depth + 1);
    visit(at['cause'], depth + 1);
  };
  visit(error, 0);
  if (found.size > 0) return [...found].join(', ');
  return viaProxy ? facts.proxy ?? '' : `${facts.target.host.includes(':') ? `[${facts.target.host}]` : facts.target.host}:${facts.target.port}`;
}

/** May it be repeated: surely when nothing left, or when repeating does no harm. */
export function recoveryOf(facts: Pick<RequestFacts, 'sent' | 'replaySafe'>): Recovery {
  return facts.sent === 'no' || facts.replaySafe ? 'retryable' : 'unknown';
}

function closedFailure(error: unknown, code: string, facts: RequestFacts): AnyFailure {
  const what = facts.sent === 'yes' ? 'the connection ended in the middle of the answer' : 'the connection ended without an answer';
  return new Failure('CONNECTION_CLOSED', `Cannot finish the request to "${facts.target.shown}": ${what}${code === '' ? '' : ` (${code})`}`, {
    stage: facts.stage, details: { sent: facts.sent }, recovery: recoveryOf(facts), cause: error,
    hint: facts.proxy === undefined ? undefined : `The proxy ${facts.proxy} is in between and may have cut it`,
  }) as AnyFailure;
}

export function timeoutFailure(afterMs: number, facts: RequestFacts, cause?: unknown): AnyFailure {
  const what = facts.sent === 'no' ? 'no connection' : facts.sent === 'yes' ? 'no complete answer' : 'no answer';
  return new Failure('TIMEOUT', `Cannot finish the request to "${facts.target.shown}": ${what} within ${Math.round(afterMs)} ms`, {
    stage: facts.sent === 'no' ? 'connect' : facts.stage, details: { afterMs: Math.round(afterMs), sent: facts.sent }, recovery: recoveryOf(facts), cause,
  }) as AnyFailure;
}

export function canceledFailure(facts: RequestFacts, why = 'it was canceled'): AnyFailure {
  return new Failure('CANCELED', `Cannot finish the request to "${facts.target.shown}": ${why}`, {
    stage: facts.stage, details: { sent: facts.sent }, recovery: recoveryOf(facts),
  }) as AnyFailure;
}

export function limitFailure(limit: string, maximum: number, facts: Pick<RequestFacts, 'target' | 'stage'>): AnyFailure {
  return new Failure('LIMIT_EXCEEDED', `Cannot read the answer of "${facts.target.shown}": the ${limit} is larger than ${byteSize(maximum)}`, {
    stage: facts.stage, details: { limit, maximum },
  }) as AnyFailure;
}

function violation(message: string, hint: string | undefined, facts: RequestFacts, cause: unknown): AnyFailure {
  return new Failure('PROTOCOL_VIOLATION', message, { stage: facts.stage, details: { sent: facts.sent }, hint, cause }) as AnyFailure;
}
