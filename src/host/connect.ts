/**
 * The composition root: a configured entry becomes a transport, the transport a client. Only this file knows which transports
 * exist. Secrets are expanded here, passed on and dropped; the redactor learns their values so that nothing shows them.
 */
import { isFile } from '../base/files.ts';
import type { Log } from '../base/log.ts';
import { createRedactor, type Redact } from '../base/redact.ts';
import { expand } from '../config/substitute.ts';
import type { LocalEntry, RemoteEntry, ServerEntry, Template } from '../config/types.ts';
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Notice, Transport } from '../jsonrpc/transport.ts';
import { connectClient } from '../mcp/connect.ts';
import type { Answers, EraMemory, Implementation } from '../mcp/types.ts';
import { childEnvironment } from '../transports/child-environment.ts';
import type { ProcessTrees } from '../transports/process-tree.ts';
import { createStdioTransport } from '../transports/stdio.ts';
import type { Connect } from './connections.ts';
import type { OpenServer } from './types.ts';

export interface ConnectContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workspace: string;
  readonly trees: ProcessTrees;
  readonly log: Log;
  readonly clientInfo: Implementation;
  readonly life: 'one-shot' | 'session';
  answersFor(entry: ServerEntry): Answers;
  memoryFor(entry: ServerEntry): EraMemory | undefined;
}

interface Carrier { readonly transport: () => Transport; readonly process?: () => OpenServer['process'] }

/** One row per kind of entry: a new transport is a row here. */
const carriers: { readonly [K in ServerEntry['kind']]: (entry: Extract<ServerEntry, { kind: K }>, context: ConnectContext, secrets: Secrets) => Carrier } = {
  local: localCarrier,
  remote: remoteCarrier,
};

interface Secrets { readonly redact: Redact; take(template: Template, key: string): string }

export function createConnect(context: ConnectContext): Connect {
  return async (entry, { signal, onStage }) => {
    const carrier = carrierFor(entry, context);
    const client = await connectClient({
      transport: carrier.transport, protocol: entry.protocol, clientInfo: context.clientInfo, answers: context.answersFor(entry),
      requestMs: entry.timeouts.requestMs, connectMs: entry.timeouts.connectMs, signal, memory: context.memoryFor(entry),
      onNotice: (notice) => logNotice(context.log, entry.name, notice), onStage,
    });
    const process = carrier.process?.();
    return process === undefined ? { client } : { client, process };
  };
}

function carrierFor(entry: ServerEntry, context: ConnectContext): Carrier {
  const redactor = createRedactor();
  const secrets: Secrets = {
    redact: redactor.redact,
    take(template, key) {
      const value = expand(template, { environment: context.environment, key: `${entry.origin.key ?? entry.name}.${key}`, origin: entry.origin });
      if (template.parts.some((part) => typeof part !== 'string')) redactor.add(value);
      return value;
    },
  };
  return entry.kind === 'local' ? carriers.local(entry, context, secrets) : carriers.remote(entry, context, secrets);
}

function localCarrier(entry: LocalEntry, context: ConnectContext, secrets: Secrets): Carrier {
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

function remoteCarrier(entry: RemoteEntry, _context: ConnectContext, _secrets: Secrets): Carrier {
  throw new Failure('CAPABILITY_MISSING', `Cannot connect to the server "${entry.name}": this version reaches local servers only`, {
    stage: 'connect', details: { capability: 'remote servers' }, origin: entry.origin,
  });
}

function logNotice(log: Log, server: string, notice: Notice): void {
  switch (notice.kind) {
    case 'stderr': return log({ level: 'debug', event: 'server.stderr', message: notice.line, fields: { server } });
    case 'noise': return log({ level: 'warning', event: 'stdio.noise', message: `The server "${server}" printed a line that is no message (${notice.total} so far): ${JSON.stringify(notice.excerpt)}`, fields: { server, total: notice.total, run: notice.run } });
    case 'unmatched': return log({ level: 'info', event: 'rpc.unmatched', message: `The server "${server}" sent an answer nobody waits for (id ${JSON.stringify(notice.id)}, ${notice.reason})`, fields: { server, reason: notice.reason } });
    case 'violation': return log({ level: 'warning', event: 'mcp.violation', message: `The server "${server}" broke a rule: ${notice.message}`, fields: { server } });
    case 'stream': return log({ level: 'info', event: 'transport.stream', message: `Connection to the server "${server}": ${notice.message}`, fields: { server } });
  }
}
