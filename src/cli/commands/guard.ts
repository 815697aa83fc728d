import * as path from 'node:path';
import { limits } from '../../base/limits.ts';
import type { Config } from '../../config/types.ts';
import { withSessionServers } from '../../host/session-servers.ts';
import type { Command, Context } from '../command.ts';
import { alone, entryOf, openConfig, pathsOf } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { policyOptions } from '../policy.ts';
import { serveGateway, servingOptions } from '../serving.ts';

const AD_HOC = 'guarded';

async function run(context: Context): Promise<number> {
  const { parsed } = context, [name] = parsed.operands, { commandLine } = parsed;
  if ((name === undefined) === (commandLine === undefined || commandLine.length === 0)) throw usageFailure(name === undefined ? 'Cannot guard nothing: name a server, or give a command after "--"' : `Cannot guard "${name}" and a command: it is one or the other`, name, 'zuno-lite guard NAME   or   zuno-lite guard -- COMMAND ARGS...');
  const configured = await openConfig(context);
  const config = name === undefined ? adHoc(context, configured, commandLine!) : alone(configured, entryOf(configured, name));
  return serveGateway(context, { config: audited(context, config), gateway: { rawNames: true } });
}

/** A command that nobody configured: it was typed, so it is not asked whether it may start; its tools pass the same rules as any. */
function adHoc(context: Context, config: Config, command: readonly string[]): Config {
  const { terminal } = context;
  const made = withSessionServers({ ...config, servers: new Map() }, { [AD_HOC]: { type: 'local', command, cwd: terminal.cwd } }, { paths: pathsOf(context), environment: terminal.environment });
  return { ...made, mcpEnabled: true };
}

function audited({ parsed, terminal }: Context, config: Config): Config {
  const file = parsed.value('audit');
  return file === undefined ? config : { ...config, audit: { file: path.resolve(terminal.cwd, file), maxBytes: limits.auditBytes, keep: limits.auditFiles, origin: { file: '--audit', layer: 'arguments' } } };
}

export const command: Command = {
  usage: ['guard NAME [--deny PATTERN]... [--audit FILE] [--record FILE]', 'guard [--deny PATTERN]... [--audit FILE] [--record FILE] -- COMMAND ARGS...'],
  operands: ['[NAME]'],
  rest: 'command-line',
  options: [{ name: 'audit', value: 'FILE', summary: 'one line for each call: what was asked for, decided and became of it' }, ...policyOptions, ...servingOptions],
  examples: [
    { line: 'guard github --deny "delete_*" --audit calls.jsonl', about: 'is the server "github" on standard input and output, without what the rules deny:' },
    { line: 'guard --record session.jsonl -- node server.js', about: 'puts the rules and a trace before any command:' },
  ],
  notes: ['The server appears as itself: its own name, instructions, tools and results, unchanged but for what the policy hides or refuses.'],
  run,
};
