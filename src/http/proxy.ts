/**
 * Which proxy a request takes, from the variables that curl made common: `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`, each also
 * in capitals, lower case first. As with curl only NO_PROXY exempts hosts: loopback addresses are not special.
 */
import { BlockList, isIP } from 'node:net';
import { Failure } from '../base/failure.ts';
import { parseUrl, shownUrl } from './url.ts';
import type { Target } from './types.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Proxy {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** `scheme://host:port`, for messages: no credentials. */
  readonly shown: string;
  /** Value of `Proxy-Authorization`; a secret. */
  readonly authorization: string | undefined;
}

export interface ProxyChoice {
  /** The proxy for this target, or none. Throws `URL_REFUSED` when the variable that applies holds nothing usable. */
  choose(target: Target): Proxy | undefined;
}

export function proxyFromEnvironment(environment: Environment): ProxyChoice {
  const exempt = parseNoProxy(variable(environment, 'no_proxy') ?? '');
  const chosen = (secure: boolean): Proxy | undefined => {
    const name = secure ? 'https_proxy' : 'http_proxy';
    for (const candidate of [name, 'all_proxy']) {
      const value = variable(environment, candidate);
      // An empty variable switches the proxy of its scheme off, whatever ALL_PROXY says.
      if (value !== undefined) return value === '' ? undefined : parseProxy(value, candidate.toUpperCase());
    }
    return undefined;
  };
  let last: Target | undefined, its: Proxy | undefined;
  const known: { http?: Proxy | undefined; https?: Proxy | undefined } = {};
  return {
    choose(target) {
      if (target === last) return its;
      const key = target.secure ? 'https' : 'http';
      if (!exempt(target) && !(key in known)) known[key] = chosen(target.secure);
      its = exempt(target) ? undefined : known[key];
      last = target;
      return its;
    },
  };
}

function variable(environment: Environment, name: string): string | undefined {
  const capitals = name.toUpperCase();
  // In a CGI program HTTP_PROXY is the client's `Proxy:` header ("httpoxy"), not the administrator's wish.
  const upper = capitals === 'HTTP_PROXY' && environment['REQUEST_METHOD'] !== undefined ? undefined : environment[capitals];
  return (environment[name] ?? upper)?.trim();
}

function parseProxy(value: string, variableName: string): Proxy {
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    const shown = url === undefined ? variableName : shownUrl(url);
    throw new Failure('URL_REFUSED', `Cannot use the proxy of ${variableName}: only http:// and https:// proxies are supported`, {
      stage: 'connect', details: { url: shown }, hint: `Set ${variableName} to http://host:port, or list the host in NO_PROXY`,
    });
  }
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const credentials = url.username === '' && url.password === '' ? undefined : `${decode(url.username)}:${decode(url.password)}`;
  return {
    secure, port,
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    shown: `${url.protocol}//${url.hostname}:${port}`,
    authorization: credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** A stray `%` in a password is meant literally. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * `*`; host names, which also cover their subdomains (a leading `.` or `*.` changes nothing); IP literals, compared as addresses; networks
 * (`10.0.0.0/8`, `fd00::/8`), which cover IP literals only: no name is looked up for this. `:port` narrows an entry.
 */
export function parseNoProxy(text: string): (target: Pick<Target, 'host' | 'port'>) => boolean {
  const tests: ((host: string, port: number) => boolean)[] = [];
  for (const entry of text.toLowerCase().split(/[\s,]+/)) {
    if (entry === '*') return () => true;
    const { host, port } = splitPort(entry);
    if (host === '') continue;
    const covers = networkTest(host) ?? nameTest(host);
    tests.push(port === undefined ? covers : (name, its) => its === port && covers(name));
  }
  return ({ host, port }) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    return tests.some((test) => test(name, port));
  };
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { host: bracketed[1] ?? '', port: bracketed[2] === undefined ? undefined : Number(bracketed[2]) };
  const named = /^([^:]*):(\d+)$/.exec(entry);
  return named === null ? { host: entry, port: undefined } : { host: named[1] ?? '', port: Number(named[2]) };
}

function networkTest(text: string): ((host: string) => boolean) | undefined {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const version = isIP(address);
  if (version === 0) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const widest = version === 4 ? 32 : 128;
  const prefix = slash < 0 ? widest : Number(text.slice(slash + 1) || NaN);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > widest) return () => false;
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return (host) => {
    const kind = isIP(host);
    return kind !== 0 && list.check(host, kind === 4 ? 'ipv4' : 'ipv6');
  };
}

function nameTest(text: string): (host: string) => boolean {
  const name = text.replace(/^\*?\.+/, '').replace(/\.$/, '');
  const suffix = `.${name}`;
  return (host) => name !== '' && (host === name || host.endsWith(suffix));
}
