import { createStreamableHttpTransport } from '../../src/transports/streamable-http.ts';
import { startStreamable, withServer } from '../support/http-fixture.ts';
import { transportContract } from './contract.ts';

for (const path of ['/legacy/json/no-get', '/legacy/sse/session', '/legacy/sse/ids/session', '/modern/json', '/modern/sse']) {
  transportContract({
    name: `streamable-http ${path}`, ordered: false, modern: path.startsWith('/modern'),
    async start() {
      const server = await startStreamable();
      return withServer(server, (http) => createStreamableHttpTransport({ name: 'fixture', url: server.url(path), headers: {}, send: http.request, dispose: () => http.close() }));
    },
  });
}
