/** A server that is reached over HTTP: Streamable HTTP, the older HTTP+SSE, or whichever of the two it turns out to be. */
import type { RemoteEntry } from '../config/types.ts';
import { createHttp } from '../http/fetch.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import { createSseTransport } from '../transports/sse.ts';
import { createStreamableHttpTransport } from '../transports/streamable-http.ts';
import type { Carrier, ConnectContext, Secrets } from './carrier.ts';

export function remoteCarrier(entry: RemoteEntry, context: ConnectContext, secrets: Secrets): Carrier {
  const url = secrets.take(entry.url, 'url');
  const headers = Object.fromEntries(Object.entries(entry.headers).map(([name, template]) => [name, secrets.take(template, `headers.${name}`)]));
  const http = createHttp({ environment: context.environment });
  const options = { name: entry.name, url, headers, send: http.request };
  const streamable = (): Transport => createStreamableHttpTransport(options);
  const older = (): Transport => createSseTransport(options);
  const dispose = (): void => http.close();
  switch (entry.transport) {
    case 'http': return { transport: streamable, dispose };
    case 'sse': return { transport: older, dispose };
    case 'auto': return { transport: streamable, fallback: older, dispose };
  }
}
