import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type AnyFailure } from '../../../src/base/failure.ts';
import { runMcpCommand, statusLine } from '../../../src/host/mcp-command.ts';
import type { ServerStatus } from '../../../src/host/types.ts';

const status = (name: string, more: Partial<ServerStatus> = {}): ServerStatus => ({ name, state: 'connected', transport: 'stdio', origin: undefined, timings: [], attempts: [], timeouts: { requestMs: 5000, connectMs: 30_000 }, updatedAt: 0, ...more });
const failure = new Failure('CONNECT_FAILED', 'Cannot reach "docs": refused\u001b[31m', { stage: 'connect', details: { address: 'x' }, hint: 'zuno-lite mcp debug docs' }) as AnyFailure;

test('statusLine() says state, transport, number of tools, error and where to sign in', () => {
  assert.equal(statusLine(status('docs', { toolCount: 1 })), 'docs: connected via stdio; 1 tool');
  assert.equal(statusLine(status('docs', { state: 'failed', transport: 'http', failure })), 'docs: failed via http; 0 tools (Cannot reach "docs": refused)');
  assert.match(statusLine(status('docs', { authorization: { url: 'https://as.example/x', startedAt: 0 } })), /; sign in at https:\/\/as\.example\/x$/);
});

test('runMcpCommand() lists sorted, switches one server, and explains itself otherwise (row 159)', async () => {
  const done: string[] = [], statuses = [status('wiki'), status('docs', { toolCount: 2 })];
  const session = {
    revalidate: () => Promise.resolve(),
    status: () => statuses,
    connect: async (name: string) => { done.push(`+${name}`); if (name === 'bad') throw failure; },
    disconnect: async (name: string) => { done.push(`-${name}`); if (name === 'bad') throw failure; return name === 'docs'; },
  };
  const run = (words: string): Promise<readonly string[]> => runMcpCommand(session, words);
  const list = ['docs: connected via stdio; 2 tools', 'wiki: connected via stdio; 0 tools'];
  for (const words of ['', ' list ', 'status']) assert.deepEqual(await run(words), list);
  assert.deepEqual(await run('connect docs'), [list[0]]);
  assert.deepEqual(await run('disconnect docs'), [list[0]]);
  assert.deepEqual(await run('disconnect wiki'), ['MCP server "wiki" is not connected.']);
  assert.deepEqual(await run('connect bad'), ['Unable to connect MCP server "bad": Cannot reach "docs": refused', 'zuno-lite mcp debug docs']);
  assert.match((await run('disconnect bad'))[0]!, /^Unable to disconnect MCP server "bad"/);
  assert.deepEqual(done, ['+docs', '-docs', '-wiki', '+bad', '-bad']);
  for (const words of ['connect', 'disconnect', 'restart docs', 'list docs', 'help']) assert.match((await run(words))[0]!, /^Usage: \/mcp/);
  assert.deepEqual(await runMcpCommand({ ...session, status: () => [] }, 'list'), ['No MCP servers configured.']);
});
