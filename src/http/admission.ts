/** Who may talk to a server of ours at all: the Host and Origin that a browser cannot forge, and the bearer token. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Names by which a machine reaches itself, as Host and Origin spell them. */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.has(host) || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

export interface AdmissionOptions {
  /** What the server listens on. */
  readonly host: string;
  /** Further names in `Host`, without port. On loopback: beside its own. Elsewhere: the only ones; without any, every name passes. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Further origins (`https://app.example`) from which pages may call. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/**
 * What is wrong with a request's `Host` and `Origin`; `undefined` when nothing is. A page of some web site whose name was rebound to
 * this machine still says its own name in both (MCP, Streamable HTTP, security warning).
 */
export function createAdmission({ host, allowedHosts, allowedOrigins = [] }: AdmissionOptions): (host: string | undefined, origin: string | undefined) => string | undefined {
  const loopback = isLoopbackHost(host);
  const named = new Set([...(loopback ? LOOPBACK : []), ...(loopback ? [bracketed(host)] : []), ...(allowedHosts ?? [])].map((name) => name.toLowerCase()));
  const open = !loopback && allowedHosts === undefined;
  const origins = new Set(allowedOrigins);
  return (hostHeader, origin) => {
    const name = hostHeader === undefined ? undefined : hostName(hostHeader);
    if (name === undefined) return 'the Host header is missing or unreadable';
    if (!open && !named.has(name)) return 'the Host header names another machine';
    if (origin === undefined || origins.has(origin)) return undefined;
    const from = /^https?:\/\//i.test(origin) && URL.canParse(origin) ? new URL(origin).hostname : undefined;
    return from !== undefined && (open ? from === name : named.has(from)) ? undefined : 'pages of this Origin may not call';
  };
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** `host[:port]` without its port, in lower case. */
function hostName(header: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase();
}

/** Finds out whose token a request brought. Takes the same time whether it is nearly right or not right at all. */
export function createTokenCheck(tokens: ReadonlyMap<string, string>): (authorization: string | undefined) => string | undefined {
  const known = [...tokens].map(([token, principal]) => ({ digest: digestOf(token), principal }));
  return (authorization) => {
    const given = /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1];
    if (given === undefined) return undefined;
    const digest = digestOf(given);
    let found: string | undefined;
    for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.principal;
    return found;
  };
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
