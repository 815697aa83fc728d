/**
 * `zuno-lite/client`: one MCP server, directly. No configuration is read, no permission asked, no gate stands between caller
 * and tool: whoever uses this entry decides by itself what may be called. For the gated host use `zuno-lite`.
 */
import { Failure } from './base/failure.ts';
import { isFile } from './base/files.ts';
import { redactPatterns } from './base/redact.ts';
import { version } from './base/version.ts';
import { createHttp } from './http/fetch.ts';
import type { Notice, Transport } from './jsonrpc/transport.ts';
import { connectClient } from './mcp/connect.ts';
import type { Answers, Client } from './mcp/types.ts';
import { childEnvironment } from './transports/child-environment.ts';
import { hostEnvironment } from './transports/process.ts';
import { createProcessTrees } from './transports/process-tree.ts';
import { createSseTransport } from './transports/sse.ts';
import { createStdioTransport } from './transports/stdio.ts';
import { createStreamableHttpTransport } from './transports/streamable-http.ts';

export interface StdioTarget {
  readonly type: 'stdio';
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Default: the working directory of this process. */
  readonly cwd?: string | undefined;
  /** Laid over the inherited environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Streamable HTTP (`http`), or the transport of 2024-11-05 (`sse`). */
export interface HttpTarget {
  readonly type: 'http' | 'sse';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type Target = StdioTarget | HttpTarget;

export interface ClientOptions {
  /** `auto` (default), `legacy`, or a revision that is used or refused. */
  readonly protocol?: string;
  /** Idle limit of one request, milliseconds; progress re-arms it. Default 5,000. */
  readonly requestMs?: number;
  /** Start, connect and negotiate together, milliseconds. Default 30,000. */
  readonly connectMs?: number;
  readonly signal?: AbortSignal;
  readonly answers?: Answers;
  readonly onNotice?: (notice: Notice) => void;
  readonly name?: string;
}

interface Carrier { readonly transport: () => Transport; readonly dispose: () => void | Promise<void> }

/** Connects to one server. Rejects with a `Failure`; then nothing is left running. `close()` of the client ends what was started. */
export async function connect(target: Target, options: ClientOptions = {}): Promise<Client> {
  const { transport, dispose } = carrierOf(target, options);
  try {
    const client = await connectClient({
      transport, clientInfo: { name: 'zuno-lite', version }, protocol: options.protocol ?? 'auto',
      ...(options.requestMs === undefined ? {} : { requestMs: options.requestMs }),
      ...(options.connectMs === undefined ? {} : { connectMs: options.connectMs }),
      ...(options.answers === undefined ? {} : { answers: options.answers }),
      signal: options.signal, onNotice: options.onNotice,
    });
    void client.closed.then(dispose);
    return client;
  } catch (error) {
    await dispose();
    throw error;
  }
}

function carrierOf(target: Target, options: ClientOptions): Carrier {
  switch (target.type) {
    case 'stdio': return stdioCarrier(target, options);
    case 'http': case 'sse': return httpCarrier(target, options);
    default: throw new TypeError(`Unknown kind of target: ${JSON.stringify((target as { type?: unknown }).type)}`);
  }
}

function stdioCarrier(target: StdioTarget, options: ClientOptions): Carrier {
  const trees = createProcessTrees({ environment: hostEnvironment() });
  const environment = childEnvironment({ environment: hostEnvironment(), entryEnvironment: target.env ?? {}, platform: process.platform, execPath: process.execPath, isFile });
  return {
    transport: () => createStdioTransport({ name: options.name ?? target.command, command: target.command, args: target.args ?? [], cwd: target.cwd ?? process.cwd(), environment, redact: redactPatterns, trees }),
    dispose: () => trees.close(),
  };
}

function httpCarrier(target: HttpTarget, options: ClientOptions): Carrier {
  const http = createHttp();
  const common = { name: options.name ?? new URL(target.url).host, url: target.url, headers: target.headers ?? {}, send: http.request };
  const make = target.type === 'http' ? createStreamableHttpTransport : createSseTransport;
  return { transport: () => make(common), dispose: () => http.close() };
}

export { Failure, version };
export type { Client, Answers, Notice };
export type { CallToolResult, ContentBlock, Listing, Progress, Tool, Resource, Prompt, Skill, SkillFile } from './mcp/types.ts';
