/** What the faces (CLI, library, gateway, ACP) hold. */
import type { AnyFailure, Origin, Stage } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import type { Redact } from '../base/redact.ts';
import type { Config, ServerEntry } from '../config/types.ts';
import type { ConnectionFacts } from '../http/types.ts';
import type { CloseReport, Transport } from '../jsonrpc/transport.ts';
import type { Client, Dropped, Elicitation, ElicitationAnswer, Root } from '../mcp/types.ts';
import type { Approval, ApprovalAnswer, CallOptions, Decision, Outcome, Rule, ToolEntry } from '../registry/types.ts';
import type { IdentityProvider } from '../oauth/identity.ts';
import type { Visit } from '../oauth/types.ts';
import type { Retry, RetryClock } from './recovery.ts';

/** Whoever may be asked. A missing method means: nobody to ask, so it is not declared and refused. */
export interface Person {
  approve?(approval: Approval): Promise<ApprovalAnswer>;
  answer?(server: string, elicitation: Elicitation, signal: AbortSignal): Promise<ElicitationAnswer>;
  /** What `answer` can deal with. Default: forms, and pages to open. */
  readonly modes?: readonly ('form' | 'url')[];
  /**
   * Shows where to sign in to a server; nothing is opened. Whoever needs the server waits 15 seconds, the sign-in itself goes on for five
   * minutes. May give back the address that the browser ended on, where it can know it. Without this, or for a server that a project
   * file declares, a missing sign-in fails with LOGIN_REQUIRED at once.
   */
  visit?(visit: Visit, signal: AbortSignal): void | string | Promise<void | string>;
}

export interface HostOptions {
  readonly config: Config;
  /** Used to expand templates and to build the children's environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly paths: Paths;
  readonly person?: Person;
  readonly log?: Log;
  /** Rules on top of the configuration's, for instance of `--allow`; they settle an ask and never beat a deny of the configuration. */
  readonly rules?: readonly Rule[];
  /** Answers every ask with yes (`--yes`); deny rules hold. */
  readonly assumeYes?: boolean;
  readonly roots?: () => readonly Root[];
  /** Headers that say who this program's user is, for the servers that it asks about by name; they replace signing in there. Remote servers only. */
  readonly identityFor?: (server: string) => IdentityProvider | undefined;
  /** `one-shot` shortens the patience with a server that does not leave by itself. Default: `session`. */
  readonly life?: 'one-shot' | 'session';
  /** Told before each wait between two tries of something that changes nothing: connecting, listing, reading. */
  readonly onRetry?: (retry: ServerRetry) => void;
  /** Time and chance of these waits, in place of the real ones. */
  readonly retryClock?: RetryClock;
}

export interface ServerRetry extends Retry { readonly server: string }

export interface Timing { readonly stage: Stage; readonly ms: number }

/**
 * One try at connecting over one transport. A repeated try and the older HTTP transport are tries of their own; one without a failure that
 * is followed by another was given up for that one. Holds no secret.
 */
export interface Attempt {
  readonly transport: Transport['kind'];
  readonly timings: readonly Timing[];
  /** Network connections that were made, in order. */
  readonly connections: readonly ConnectionFacts[];
  /** What HTTP answered, in order. */
  readonly answers: readonly HttpAnswer[];
  /** The proxy that applies, without its credentials. */
  readonly proxy?: string | undefined;
  readonly failure?: AnyFailure | undefined;
}

/** `ms` until the head of the answer. */
export interface HttpAnswer { readonly method: string; readonly status: number; readonly ms: number }

/** `startedAt`: milliseconds since the epoch. */
export interface Waiting { readonly url: string; readonly startedAt: number }

export type ServerState = 'idle' | 'connecting' | 'connected' | 'disabled' | 'disconnected' | 'failed' | 'invalid';

/** FACTS table T8 with the facts of the process or endpoint. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly transport: 'stdio' | 'http' | 'sse' | 'unknown';
  readonly origin: Origin | undefined;
  readonly era?: 'legacy' | 'modern';
  readonly revision?: string;
  readonly toolCount?: number;
  readonly failure?: AnyFailure;
  readonly failureKind?: string;
  /** Where somebody can sign in to it at this moment, here or in another process. */
  readonly authorization?: Waiting;
  /** Of the last attempt to connect, the failed one included. */
  readonly timings: readonly Timing[];
  /** Every try that the last connecting took. */
  readonly attempts: readonly Attempt[];
  readonly updatedAt: number;
}

/** A connected server with what connecting found and cost. */
export interface OpenServer {
  readonly entry: ServerEntry;
  readonly client: Client;
  /** Masks the secrets that this server was given, in what it says. */
  readonly redact: Redact;
  readonly timings: readonly Timing[];
  readonly attempts: readonly Attempt[];
  readonly process?: { readonly command: string; readonly args: readonly string[]; readonly cwd: string; readonly pid: number | undefined; readonly stderrTail: () => string };
}

/** The requests of a client that change nothing, so that asking again does no harm. */
export type Reader = Omit<Client, 'callTool' | 'setLogLevel' | 'watch' | 'on' | 'closed' | 'close'>;

export interface ToolListing {
  readonly entries: readonly ToolEntry[];
  /** Tools left out, by server. */
  readonly dropped: readonly (Dropped & { readonly server: string })[];
  /** Servers that could not be asked. */
  readonly failures: readonly { readonly server: string; readonly failure: AnyFailure }[];
  /** Wire ids that had to be changed, with the reason. */
  readonly renamed: readonly { readonly id: string; readonly server: string; readonly tool: string; readonly reason: string }[];
}

export interface Host {
  readonly config: Config;
  status(): readonly ServerStatus[];
  /** Connects (or joins the attempt that runs). Rejects with a failure that names the entry's origin. */
  open(server: string, signal?: AbortSignal): Promise<OpenServer>;
  /**
   * Asks a server something that changes nothing. Overload, outage and a lost connection are waited out (`limits.retry*`) and the
   * question is put again; it has to be one that may be put twice.
   */
  ask<T>(server: string, question: (asked: { readonly entry: ServerEntry; readonly client: Reader }) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Tools of the named servers (default: all enabled ones), servers in parallel; one bad server costs itself only. */
  listTools(servers?: readonly string[], signal?: AbortSignal): Promise<ToolListing>;
  /** Wire id, `server.tool`, `server/tool` or `mcp__server__tool`; opens only servers the words can mean. */
  findTool(words: string, signal?: AbortSignal): Promise<ToolEntry>;
  /** What the policy says before arguments are known. */
  decide(entry: ToolEntry): Decision;
  /** The one road to a tool: schema, permission, person, call. Never rejects. */
  call(entry: ToolEntry, args: JsonObject, options?: CallOptions): Promise<Outcome>;
  /** Idempotent, never rejects. */
  close(): Promise<CloseReport>;
  /** Last resort of a process that must end at once (an uncaught exception): kills what was started, without waiting. */
  killSync(): void;
}
