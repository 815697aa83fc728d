import { createSseTransport } from '../../src/transports/sse.ts';
import { startSse, withServer } from '../support/http-fixture.ts';
import { transportContract } from './contract.ts';

transportContract({
  name: 'sse', ordered: false,
  async start() {
    const server = await startSse();
    return withServer(server, (http) => createSseTransport({ name: 'fixture', url: server.url('/any/sse'), headers: {}, send: http.request, dispose: () => http.close() }));
  },
});
