/** A server that is reached over HTTP: Streamable HTTP, the older HTTP+SSE, or whichever of the two it turns out to be. */
import type { RemoteEntry } from '../config/types.ts';
import { createHttp } from '../http/fetch.ts';
import type { Http } from '../http/types.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import { createSseTransport } from '../transports/sse.ts';
import { createStreamableHttpTransport } from '../transports/streamable-http.ts';
import type { Witness } from './attempts.ts';
import type { Carrier, ConnectContext, Secrets } from './carrier.ts';

export function remoteCarrier(entry: RemoteEntry, context: ConnectContext, secrets: Secrets, witness: Witness): Carrier {
  const url = secrets.take(entry.url, 'url');
  const headers = Object.fromEntries(Object.entries(entry.headers).map(([name, template]) => [name, secrets.take(template, `headers.${name}`)]));
  const http = createHttp({ environment: context.environment, onConnection: witness.connection });
  const options = { name: entry.name, url, headers, send: witness.over(http.request) };
  const streamable = (): Transport => createStreamableHttpTransport(options);
  const older = (): Transport => createSseTransport(options);
  const common = { dispose: () => http.close(), proxy: () => proxyOf(http, url) };
  switch (entry.transport) {
    case 'http': return { ...common, transport: streamable };
    case 'sse': return { ...common, transport: older };
    case 'auto': return { ...common, transport: streamable, fallback: older };
  }
}

/** Only for telling: an address or a variable that cannot be read fails the request itself. */
function proxyOf(http: Http, url: string): string | undefined {
  try {
    return http.proxyFor(url);
  } catch {
    return undefined;
  }
}
