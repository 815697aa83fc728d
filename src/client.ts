/**
 * `zuno-lite/client`: one MCP server, directly. No configuration is read, no permission asked, no gate stands between caller
 * and tool: whoever uses this entry decides by itself what may be called. For the gated host use `zuno-lite`.
 */
import { Failure } from './base/failure.ts';
import { isFile } from './base/files.ts';
import type { Log } from './base/log.ts';
import { redactPatterns } from './base/redact.ts';
import { version } from './base/version.ts';
import { createHttp } from './http/fetch.ts';
import type { SendRequest } from './http/types.ts';
import type { Notice, Transport } from './jsonrpc/transport.ts';
import { connectClient } from './mcp/connect.ts';
import type { Answers, Client } from './mcp/types.ts';
import type { IdentityProvider } from './oauth/identity.ts';
import type { Interaction, OAuthConfig } from './oauth/types.ts';
import { childEnvironment } from './transports/child-environment.ts';
import { hostEnvironment } from './transports/process.ts';
import { createProcessTrees } from './transports/process-tree.ts';
import { withoutOurHeaders } from './transports/handover.ts';
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
  /** PEM texts: authorities trusted in addition to the usual ones; our certificate (chain) and its private key. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Signs in when the server asks for it. Default: nobody does, and its 401 is the failure. An `Authorization` header wins over it. */
  readonly oauth?: SignIn | undefined;
  /** Headers that say who this program's user is, for one origin and nowhere else. Excludes `oauth`. */
  readonly identity?: IdentityProvider | undefined;
}

export interface SignIn {
  /** The `oauth` object of a configuration. Default `{}`: whatever the server's metadata says, as a client that is registered on the way. */
  readonly config?: OAuthConfig | undefined;
  /**
   * How a person takes part. Default: mode `none`, which serves grants that need nobody, and tokens that are kept. Connecting waits for
   * the person, so `connectMs` must be longer than its `waitMs`.
   */
  readonly interaction?: Interaction | undefined;
  /** Where tokens and registrations are kept, 0600 in a directory of 0700. Default: in memory, for this connection. */
  readonly storeDirectory?: string | undefined;
  /** Told what happens. Holds no secret. */
  readonly log?: Log | undefined;
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
  const { transport, dispose } = await carrierOf(target, options);
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

async function carrierOf(target: Target, options: ClientOptions): Promise<Carrier> {
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

async function httpCarrier(target: HttpTarget, options: ClientOptions): Promise<Carrier> {
  const { url, headers = {}, ca, cert, key } = target;
  const name = options.name ?? new URL(url).host;
  const http = createHttp({ ca, cert, key });
  const make = target.type === 'http' ? createStreamableHttpTransport : createSseTransport;
  try {
    const { send, close } = await authorized(http.request, target, name);
    return { transport: () => make({ name, url, headers, send }), dispose: () => { close(); http.close(); } };
  } catch (error) {
    http.close();
    throw error;
  }
}

/** Requests with credentials, where the target says how to come by them. Loaded on need. */
async function authorized(send: SendRequest, { url, headers = {}, ca, oauth, identity }: HttpTarget, name: string): Promise<{ readonly send: SendRequest; close(): void }> {
  if (identity !== undefined) {
    if (oauth !== undefined) throw new TypeError('A target has either "identity" or "oauth"');
    const { withIdentity } = await import('./oauth/identity.ts');
    return { send: withIdentity(send, { name, provider: identity, without: withoutOurHeaders }), close() {} };
  }
  if (oauth === undefined) return { send, close() {} };
  const { config, interaction = { mode: 'none' }, storeDirectory, log } = oauth;
  const { createOAuth } = await import('./oauth/oauth.ts');
  const made = createOAuth({
    name, serverUrl: url, config, interaction, storeDirectory, http: { ca }, environment: hostEnvironment(), ...(log !== undefined && { log }),
    staticAuthorization: Object.keys(headers).some((one) => one.toLowerCase() === 'authorization'),
  });
  return { send: made.authorize(send), close: made.close };
}

export { Failure, version };
export type { Client, Answers, Notice };
export type { AnyFailure, FailureCode, FailureDetails, FailureOptions, Origin, Problem, Recovery, Sent, Stage } from './base/failure.ts';
export type { JsonObject } from './base/json.ts';
export type { Log, LogEntry, LogLevel } from './base/log.ts';
export type { Id } from './jsonrpc/message.ts';
export type { CloseReport } from './jsonrpc/transport.ts';
export type { IdentityProvider } from './oauth/identity.ts';
export type { ClientAuthMethod, GrantType, Interaction, OAuthConfig, OAuthSettings, Visit } from './oauth/types.ts';
export type {
  CallSettings, CallToolResult, ClientEvent, Completion, ContentBlock, Dropped, Elicitation, ElicitationAnswer, Era, GetPromptResult, Implementation, InputRelay, Listing, ListKind, Progress, Prompt, PromptArgument, PromptMessage,
  ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Root, ServerCapabilities, Skill, SkillFile, Tool, ToolAnnotations,
} from './mcp/types.ts';
