/** The gateway as a command runs it: on stdio or over HTTP, until its client is gone or the command is ended. */
import { redactPatterns } from '../base/redact.ts';
import type { Config } from '../config/types.ts';
import { createGateway, type GatewayOptions } from '../gateway/gateway.ts';
import { openRecorder, tapEngine, tapTransport, type Recorder } from '../gateway/record.ts';
import type { ServerEngine } from '../jsonrpc/serving.ts';
import { servePeer } from '../mcp/server-peer.ts';
import { createServer } from '../mcp/server.ts';
import { startHttpServer } from '../transports/http-server.ts';
import type { AccessEntry } from '../transports/http-server-types.ts';
import { createStdioServerTransport } from '../transports/stdio-server.ts';
import type { Context, OptionRow } from './command.ts';
import { EXIT_OK } from './exit.ts';
import { withHost } from './open.ts';
import { usageFailure } from './parse.ts';
import { policyOf } from './policy.ts';
import { dim } from './span.ts';

export const servingOptions: readonly OptionRow[] = [
  { name: 'record', value: 'FILE', summary: 'writes what passes on both sides to a trace, secrets masked; "replay" serves it' },
  { name: 'log-format', value: 'FORMAT', summary: 'of the line that each request leaves on stderr: text (default) or json' },
];

/** Where it listens. Absent: on stdio. */
export interface Listening { readonly host: string | undefined; readonly port: number | undefined; readonly tokens: ReadonlyMap<string, string> | undefined }

export interface Serving {
  readonly config: Config;
  readonly gateway: Omit<GatewayOptions, 'agent' | 'log'>;
  readonly http?: Listening | undefined;
}

export async function serveGateway(context: Context, { config, gateway, http }: Serving): Promise<number> {
  const { parsed, log } = context, file = parsed.value('record');
  const tell = accessLog(context);
  const recorder = file === undefined ? undefined : await openRecorder({ file, redact: redactPatterns, log });
  try {
    return await withHost(context, { config, ...policyOf(parsed), life: 'session', ...(recorder === undefined ? {} : { tap: tapOf(recorder) }) }, async (host) => {
      const server = createServer(createGateway(host, { ...gateway, agent: parsed.value('agent'), log }));
      const engine = recorder === undefined ? server : tapEngine(server, recorder);
      await (http === undefined ? onStdio(context, engine, tell) : overHttp(context, engine, http, tell));
      server.close();
      return EXIT_OK;
    });
  } finally {
    await recorder?.close();
  }
}

const tapOf = (recorder: Recorder): NonNullable<Parameters<typeof withHost>[1]['tap']> => (_server, transport, redact) => {
  recorder.know(redact);
  return tapTransport(transport, recorder, 'upstream');
};

async function onStdio({ signal }: Context, engine: ServerEngine, tell: (entry: AccessLine) => void): Promise<void> {
  const peer = await servePeer(engine, createStdioServerTransport(), { onRequest: ({ method, ms }) => tell({ rpc: method, ms }) });
  const onEnd = (): void => void peer.close();
  signal.addEventListener('abort', onEnd, { once: true });
  if (signal.aborted) onEnd();
  await peer.closed;
  signal.removeEventListener('abort', onEnd);
}

async function overHttp({ signal, terminal }: Context, engine: ServerEngine, { host, port, tokens }: Listening, tell: (entry: AccessLine) => void): Promise<void> {
  const server = await startHttpServer({ engine, host, port, tokens, onAccess: tell });
  terminal.alert(`serving ${server.url}`);
  if (!signal.aborted) await new Promise<void>((resolve) => { signal.addEventListener('abort', () => resolve(), { once: true }); });
  await server.close();
}

type AccessLine = Partial<AccessEntry> & Pick<AccessEntry, 'rpc' | 'ms'>;

/** One line a request. It holds no secret: no parameter, no header. */
function accessLog({ parsed, terminal }: Context): (line: AccessLine) => void {
  const format = parsed.value('log-format') ?? 'text';
  if (format !== 'text' && format !== 'json') throw usageFailure(`Cannot take --log-format "${format}": it is text or json`, format, 'for instance --log-format json');
  if (format === 'json') return (line) => terminal.note(JSON.stringify({ at: new Date().toISOString(), ...line, ms: Math.round(line.ms * 10) / 10 }));
  return ({ method, path, rpc, status, ms, principal, refused }) => {
    const words = [method, path, rpc ?? '-', status, `${ms.toFixed(1)} ms`, principal, refused].filter((word) => word !== undefined);
    terminal.note(dim(words.join(' ')));
  };
}
