/** What `bin/zuno-lite.js` does, from source. */
import { fileURLToPath } from 'node:url';
import { main } from '../../src/cli/main.ts';

process.exitCode = await main(process.argv.slice(2), fileURLToPath(new URL('../..', import.meta.url)));
