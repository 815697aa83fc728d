/** Both eras of a served program over the plainest carrier there is. */
import { createMemoryTransportPair } from '../../../src/transports/memory.ts';
import { servePeer } from '../../../src/mcp/server-peer.ts';
import { servedStories } from '../../support/served-stories.ts';

servedStories({
  name: 'memory',
  async start(_t, engine) {
    const [near, far] = createMemoryTransportPair();
    await servePeer(engine, far);
    return () => near;
  },
});
