// The built library: dist/client.js of this repository, or the file that ZUNO names; ZUNO_CLI names another command line than bin/zuno-lite.js.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
export const name = 'zuno', kinds = ['stdio', 'http', 'sse'];
const file = process.env.ZUNO ?? fileURLToPath(new URL('../../dist/client.js', import.meta.url));
export const imports = [pathToFileURL(file).href];
const { connect: open, version } = await import(imports[0]);
export { version };
export async function connect(t) {
  // The bench's servers are slow on purpose in some cases; the limit adapter has no timeout at all.
  const target = t.kind === 'stdio' ? { type: 'stdio', command: t.command, args: t.args, env: t.env } : { type: t.kind, url: t.url };
  const client = await open(target, { requestMs: 600_000 });
  return {
    listTools: async () => (await client.listTools()).items,
    call: (tool, args, o) => client.callTool(tool, args, o?.onprogress ? { onProgress: o.onprogress } : undefined),
    close: () => client.close(),
  };
}
const { createEventDecoder } = await import(new URL('http/event-stream.js', pathToFileURL(file)).href);
export const sseParser = (onData) => createEventDecoder({ onEvent: ({ data, type }) => onData(data, type) });
/** The command line knows servers from its configuration only. */
export function cli(t) {
  const home = mkdtempSync(path.join(tmpdir(), 'zuno-bench-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  writeFileSync(path.join(home, 'zuno.json'), JSON.stringify({ mcp: { fake: { type: 'local', command: [t.command, ...t.args] } } }));
  return [process.execPath, process.env.ZUNO_CLI ?? fileURLToPath(new URL('../../bin/zuno-lite.js', import.meta.url)), 'tools', 'fake', '--config', path.join(home, 'zuno.json')];
}
