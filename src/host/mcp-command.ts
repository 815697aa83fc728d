/** The text command `/mcp` of a conversation (FACTS table T2): the servers of the running session, to look at and to switch. */
import { toFailure } from '../base/failure.ts';
import { count, oneLine } from '../base/text.ts';
import type { ServerStatus, Session } from './types.ts';

const USAGE = 'Usage: /mcp [list | status | connect <server> | disconnect <server>]';

/** `words`: what follows `/mcp`. Lines for a person; never rejects. */
export async function runMcpCommand(session: Pick<Session, 'status' | 'revalidate' | 'connect' | 'disconnect'>, words: string, signal?: AbortSignal): Promise<readonly string[]> {
  const [verb = 'list', ...rest] = words.trim().split(/\s+/).filter((word) => word !== '');
  const server = rest.join(' ');
  if ((verb === 'list' || verb === 'status') && server === '') {
    // What died silently shows (FACTS R38).
    await session.revalidate(signal).catch(() => {});
    return lines(session.status());
  }
  if (server === '' || (verb !== 'connect' && verb !== 'disconnect')) return [USAGE];
  try {
    if (verb === 'connect') await session.connect(server, signal);
    else if (!(await session.disconnect(server))) return [`MCP server "${oneLine(server)}" is not connected.`];
  } catch (error) {
    const { message, hint } = toFailure(error);
    return [`Unable to ${verb} MCP server "${oneLine(server)}": ${oneLine(message)}`, ...(hint === undefined ? [] : [oneLine(hint)])];
  }
  return lines(session.status().filter(({ name }) => name === server));
}

function lines(statuses: readonly ServerStatus[]): readonly string[] {
  if (statuses.length === 0) return ['No MCP servers configured.'];
  return [...statuses].sort((a, b) => (a.name < b.name ? -1 : 1)).map(statusLine);
}

/** `name: status via transport; N tools (error)`, and where somebody can sign in. */
export function statusLine({ name, state, transport, toolCount, failure, authorization }: ServerStatus): string {
  const error = failure === undefined ? '' : ` (${oneLine(failure.message)})`;
  const visit = authorization === undefined ? '' : `; sign in at ${authorization.url}`;
  return `${oneLine(name)}: ${state} via ${transport}; ${count(toolCount ?? 0, 'tool')}${error}${visit}`;
}
