/**
 * The only way out of this house: every HTTP request of every floor goes through a client made here. What is allowed, followed, capped
 * and repeated is the same on both engines; `node-engine` and `sockets` hold the sockets, `platform-engine` the platform's fetch.
 */
import { createNodeEngine } from './node-engine.ts';
import { createPlatformEngine } from './platform-engine.ts';
import { proxyFromEnvironment } from './proxy.ts';
import { fetchOver } from './response.ts';
import { startExchange, watchSignals } from './exchange.ts';
import { canceledFailure } from './failures.ts';
import { targetOf } from './url.ts';
import { toFailure } from '../base/failure.ts';
import { readText } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Shared } from './exchange.ts';
import type { Engine, Exchange, FetchLike, Http, HttpOptions, HttpRequest, Target } from './types.ts';

/**
 * A client with connections of its own: make one per server, so that certificates and connections of one never serve another.
 * Throws `CONFIG_INVALID` for PEM texts that cannot be used and a `TypeError` for options that the chosen engine cannot honour.
 */
export function createHttp(options: HttpOptions = {}): Http {
  const engine = engineFor(options);
  const shared: Shared = { engine, open: new Set(), signals: watchSignals() };
  let closed = false;
  let lastUrl: string | undefined, lastTarget: Target | undefined;

  // A client talks to very few URLs, mostly to one.
  const resolve = (url: string | URL, stage: HttpRequest['stage']): Target => {
    if (url === lastUrl && lastTarget !== undefined) return lastTarget;
    const target = targetOf(url, stage);
    if (typeof url === 'string') { lastUrl = url; lastTarget = target; }
    return target;
  };

  const request = (wanted: HttpRequest): Exchange => {
    let target: Target;
    try {
      target = resolve(wanted.url, wanted.stage);
      if (closed) return failSoon(wanted, canceledFailure({ target, sent: 'no', stage: wanted.stage ?? 'call', replaySafe: true, elapsedMs: 0, proxy: undefined }, 'the client was closed'));
    } catch (error) {
      return failSoon(wanted, toFailure(error));
    }
    return startExchange(shared, wanted, target);
  };

  return {
    request,
    fetch: fetchOver(request),
    proxyFor: (url) => engine.proxyFor(targetOf(url)),
    close() {
      closed = true;
      for (const exchange of [...shared.open]) exchange.close();
      engine.close();
    },
  };
}

function engineFor(options: HttpOptions): Engine {
  if (options.engine !== 'fetch') {
    if (options.fetch !== undefined) throw new TypeError('The option "fetch" needs engine: "fetch"');
    return createNodeEngine({ ...options, extraRoots }, proxyFromEnvironment(options.environment ?? process.env));
  }
  const nodeOnly = (['ca', 'cert', 'key', 'connectPolicy', 'onConnection', 'environment'] as const).filter((name) => options[name] !== undefined);
  if (nodeOnly.length > 0) throw new TypeError(`The engine "fetch" cannot honour: ${nodeOnly.join(', ')}`);
  const platform: FetchLike = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return createPlatformEngine(platform);
}

/** Naming authorities replaces Node's own, and before Node 22.15 nothing tells what NODE_EXTRA_CA_CERTS had added to those: it is read again. */
function extraRoots(): string | undefined {
  const file = process.env['NODE_EXTRA_CA_CERTS'];
  try {
    return file === undefined || file === '' ? undefined : readText(file, limits.configFileBytes);
  } catch {
    // Node goes on without a file that it cannot read, and says so itself.
    return undefined;
  }
}

function failSoon(request: HttpRequest, failure: AnyFailure): Exchange {
  let aborted = false;
  queueMicrotask(() => { if (!aborted) request.onFail(failure); });
  return { abort: () => { aborted = true; return 'no'; }, pause() {}, resume() {} };
}
