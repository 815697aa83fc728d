/** A server that is started here, as a child process. */
import { isFile } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { LocalEntry } from '../config/types.ts';
import { childEnvironment } from '../transports/child-environment.ts';
import { createStdioTransport } from '../transports/stdio.ts';
import type { Carrier, ConnectContext, Secrets } from './carrier.ts';

export function localCarrier(entry: LocalEntry, context: ConnectContext, secrets: Secrets): Carrier {
  const command = secrets.take(entry.command, 'command');
  const args = entry.args.map((arg, index) => secrets.take(arg, `command[${index + 1}]`));
  const environment = childEnvironment({
    environment: context.environment, platform: process.platform, execPath: process.execPath, isFile,
    entryEnvironment: Object.fromEntries(Object.entries(entry.environment).map(([name, template]) => [name, secrets.take(template, `environment.${name}`)])),
  });
  let current: ReturnType<typeof createStdioTransport> | undefined;
  return {
    transport: () => (current = createStdioTransport({
      name: entry.name, command, args, cwd: entry.cwd, environment, redact: secrets.redact, trees: context.trees,
      patienceMs: context.life === 'one-shot' ? limits.killEofOneShotMs : limits.killEofMs,
    })),
    process: () => ({ command: entry.command.source, args: entry.args.map((arg) => arg.source), cwd: entry.cwd, pid: current?.pid, stderrTail: () => current?.stderrTail() ?? '' }),
  };
}
