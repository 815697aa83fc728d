/** What the faces (CLI, library, gateway, ACP) hold. */
import type { AnyFailure, Origin, Stage } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Paths } from '../base/paths.ts';
import type { Redact } from '../base/redact.ts';
import type { AgentDefinition, Config, ServerEntry, Timeouts } from '../config/types.ts';
import type { ConnectionFacts } from '../http/types.ts';
import type { CloseReport, Transport } from '../jsonrpc/transport.ts';
import type { Answers, Client, Completion, Dropped, Elicitation, ElicitationAnswer, GetPromptResult, Listing, ListKind, PromptArgument, Root, Tool } from '../mcp/types.ts';
import type { Part } from '../registry/results.ts';
import type { Approval, ApprovalAnswer, CallOptions, Decision, ExposurePolicy, OfferedTool, Outcome, Rule, Standing, ToolEntry } from '../registry/types.ts';
import type { TextWindow } from '../registry/window.ts';
import type { ResourceToolId } from '../registry/native-tools.ts';
import type { IdentityProvider } from '../oauth/identity.ts';
import type { Visit } from '../oauth/types.ts';
import type { Retry, RetryClock } from './recovery.ts';
import type { Timers } from './timers.ts';

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
  /** Refuses tools whose definition differs from `zuno.lock.json`. Default: what the configuration says. */
  readonly locked?: boolean;
  /** Whose list, role, mode and rules hold for `decide` and `call` too. Default: none, only those of the configuration. Sessions choose their own. */
  readonly agent?: string | undefined;
  /** `one-shot` shortens the patience with a server that does not leave by itself. Default: `session`. */
  readonly life?: 'one-shot' | 'session';
  /** Told before each wait between two tries of something that changes nothing: connecting, listing, reading. */
  readonly onRetry?: (retry: ServerRetry) => void;
  /** Time and chance of these waits, in place of the real ones. */
  readonly retryClock?: RetryClock;
  /** Looks at what passes between us and a server, for instance to record it: gives back the transport to use. `redact` masks what the server was given. */
  readonly tap?: ((server: string, transport: Transport, redact: Redact) => Transport) | undefined;
  /** Time of what happens in the background, in place of the real one. */
  readonly timers?: Timers;
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
  /** The stage under way, with when it began (`now()`); absent between two and at the end. */
  readonly running?: { readonly stage: Stage; readonly since: number } | undefined;
  /** The program of a local server, as soon as it is there. */
  readonly process?: (() => OpenServer['process']) | undefined;
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
  /** Effective ones, milliseconds. */
  readonly timeouts: Timeouts;
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

// --- Live servers ----------------------------------------------------------------------------------------------------

/** What happens to servers, in order, for whoever listens. */
export type HostEvent =
  /** An attempt to connect begins. */
  | { readonly kind: 'started'; readonly server: string }
  | { readonly kind: 'connected'; readonly server: string; readonly era: 'legacy' | 'modern'; readonly revision: string; readonly ms: number }
  /** `retryInMs`: the background tries again after so long; absent: not by itself. */
  | { readonly kind: 'failed'; readonly server: string; readonly failure: AnyFailure; readonly failureKind: string; readonly retryInMs?: number }
  /** It was connected and ended by itself. */
  | { readonly kind: 'lost'; readonly server: string; readonly failure: AnyFailure }
  /** Connected again after it was lost or had failed; follows `connected`. */
  | { readonly kind: 'restarted'; readonly server: string }
  | { readonly kind: 'closed'; readonly server: string; readonly by: 'person' | 'replacement' | 'host' }
  | { readonly kind: 'list_changed'; readonly server: string; readonly list: ListKind }
  /** Of a resource that somebody subscribed to. */
  | { readonly kind: 'resource_updated'; readonly server: string; readonly uri: string }
  /** The catalogue as steps see it has news. */
  | { readonly kind: 'catalogue'; readonly revision: number };

/** The life of every configured server. */
export interface Connections {
  /** The table that holds now. */
  config(): Config;
  /** The open client, connecting first where that is due. Refuses a server that was disconnected by hand. */
  open(server: string, signal?: AbortSignal): Promise<OpenServer>;
  /** By hand: takes back a `disconnect`, tries a failed one at once. */
  connect(server: string, signal?: AbortSignal): Promise<OpenServer>;
  /** By hand, and sticky: no call brings it back, only `connect`. False when it was not connected. */
  disconnect(server: string): Promise<boolean>;
  /** A new table: what is not in it or differs is closed before anything starts, what is unchanged keeps its connection. */
  replace(config: Config): Promise<void>;
  /** Pings what is connected and marks what does not answer. Starts nothing. */
  revalidate(servers?: readonly string[], signal?: AbortSignal): Promise<void>;
  status(): readonly ServerStatus[];
  /** The open one, without connecting. */
  peek(server: string): OpenServer | undefined;
  /** What listing found belongs to a server's status too. */
  noteTools(server: string, count: number, ms: number): void;
  noteFailure(server: string, failure: AnyFailure): void;
  on(listener: (event: HostEvent) => void): () => void;
  close(): Promise<CloseReport>;
}

/** What one server offers, live or as it was last time. */
export interface ServerLists {
  readonly server: string;
  readonly origin: Origin;
  readonly from: 'live' | 'cache';
  readonly tools: Listing<Tool>;
  /** Live servers only: it declared resources, prompts. */
  readonly resources: boolean;
  readonly prompts: boolean;
  readonly title?: string;
  readonly instructions?: string;
}

/** The tools of all servers as they are known at one moment. Frozen: later news make a new one with a higher revision. */
export interface CatalogueView {
  /** Rises with every change of what is known. */
  readonly revision: number;
  readonly entries: readonly ToolEntry[];
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly dropped: ToolListing['dropped'];
  readonly renamed: ToolListing['renamed'];
  /** Servers whose tools are not known, each with the reason. */
  readonly failures: ToolListing['failures'];
}

/** The lists of all servers: asked once per connection, again when a server says that they changed, kept on disk between runs. */
export interface Catalogue {
  /** What is known now; waits for nothing but the disk. */
  view(): Promise<CatalogueView>;
  /**
   * Begins to connect every enabled server whose tools are not known from the cache, and resolves when each is known or has failed.
   * The signal ends the wait, not the work.
   */
  settle(signal?: AbortSignal): Promise<void>;
  /** The list of one server, connecting if need be. */
  listing(server: string, signal?: AbortSignal): Promise<Listing<Tool>>;
}

/** Live servers that belong to one session, or to several that share them. */
export interface Lease {
  readonly config: Config;
  readonly connections: Connections;
  readonly catalogue: Catalogue;
  /**
   * Asks a server something that changes nothing; repeated as `Host.ask` says.
   */
  ask: Host['ask'];
  /** Servers that nobody holds any more are closed, shared ones after `limits.poolGraceMs`. Idempotent, never rejects. */
  release(): Promise<CloseReport>;
}

export interface LeaseOptions {
  /** Sessions that name the same thing share connections. Absent: connections of one's own. */
  readonly share?: string | undefined;
  /** In place of the host's, for instance with the servers that an ACP client brought. */
  readonly config?: Config | undefined;
  readonly person?: Person | undefined;
  /** What its servers may ask, in place of what person and roots answer. */
  readonly answers?: ((entry: ServerEntry) => Answers) | undefined;
}

// --- Sessions --------------------------------------------------------------------------------------------------------

export interface SessionOptions {
  /** Name of the agent whose list and rules hold. Default: `default_agent` of the configuration, else `build`. */
  readonly agent?: string | undefined;
  /** Exact list of tools in any spelling, on top of the agent's: only these, and shown at once. */
  readonly tools?: readonly string[] | undefined;
  /** After those of the agent. */
  readonly rules?: readonly Rule[] | undefined;
  readonly share?: string | undefined;
  /** Who is asked, in place of the host's. */
  readonly person?: Person | undefined;
  /**
   * Servers of this session alone, in the words of `mcp.<name>`: all connect or the session fails, and all of their tools are in the
   * first step. They are written nowhere.
   */
  readonly servers?: Readonly<Record<string, JsonObject>> | undefined;
  /** File of the journal: created, or restored from. Absent: nothing outlives the process. */
  readonly journal?: string | undefined;
  /** Where complete outputs and pictures rest. Default: a directory of the session under `Paths.data`. */
  readonly artifacts?: string | undefined;
  /** To look only (`standings`, `commands`): a subagent and a disabled agent are taken too, and calls are refused. */
  readonly inspect?: boolean | undefined;
  /** Ends the wait for `servers`. */
  readonly signal?: AbortSignal | undefined;
}

/** A model-facing conversation: which tools it sees, what they may do, what comes back. */
export interface Session {
  readonly id: string;
  readonly agent: AgentDefinition;
  /** Set on a child. */
  readonly parent?: string;
  /**
   * Freezes what one request to a model shows. The first step waits for the servers (those that are late join a later one); `waitMs`
   * bounds that wait. The step before it takes no more calls.
   */
  step(options?: { readonly signal?: AbortSignal | undefined; readonly waitMs?: number | undefined }): Promise<Step>;
  /** A child bounded by what `step` showed, schema by schema. It may call and not change connections. */
  delegate(options: { readonly step: Step; readonly agent?: string | undefined; readonly tools?: readonly string[] | undefined; readonly rules?: readonly Rule[] | undefined; readonly journal?: string | undefined }): Promise<Session>;
  /** Calls of earlier turns for the next request: those whose declaration is gone or changed become plain text. Changes nothing that is stored. */
  history(calls: readonly PastCall[], step: Step): readonly HistoryItem[];
  /** For every tool of every server: offered or not, by which gate, under which rule. */
  standings(): Promise<readonly Standing[]>;
  /** What a step that began now would show and hold back, and by which policy. Changes nothing. */
  schemaExposure(): Promise<SchemaExposure>;
  status(): readonly ServerStatus[];
  /** Pings what is connected, so that `status()` tells what died silently. Starts nothing. */
  revalidate(signal?: AbortSignal): Promise<void>;
  /** `resource_updated` follows when one of these changes, until `close()` or the end of the connection. Fails with PERMISSION_DENIED where reading is denied. */
  subscribe(server: string, uris: readonly string[], signal?: AbortSignal): Promise<{ close(): Promise<void> }>;
  /** What an argument of a prompt, or a variable of a resource template, may be; `context`: the others as far as they are known. */
  complete(server: string, reference: CompletionReference, argument: { readonly name: string; readonly value: string }, context?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Completion>;
  /** Fails with PERMISSION_DENIED in a child. */
  connect(server: string, signal?: AbortSignal): Promise<void>;
  disconnect(server: string): Promise<boolean>;
  /** Prompts of servers and commands of the configuration. */
  commands(signal?: AbortSignal): Promise<readonly SessionCommand[]>;
  /** The messages that a command stands for, with the words put in. */
  expand(key: string, input: string, signal?: AbortSignal): Promise<GetPromptResult>;
  /**
   * A window of a file that a result of this session names: bytes from `cursor` (0) on, at most `maxBytes` (16 KiB, at most 50 KiB), cut
   * between characters. Fails with USAGE for any other file.
   */
  readArtifact(path: string, cursor?: number, maxBytes?: number): TextWindow;
  on(listener: (event: HostEvent) => void): () => void;
  close(): Promise<CloseReport>;
}

export type CompletionReference = { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string };

export interface SchemaExposure {
  readonly policy: ExposurePolicy;
  readonly discovery: { readonly available: boolean; readonly why: string };
  readonly revision: number;
  /** Wire ids that would be shown, the host's own tools among them. */
  readonly eager: readonly string[];
  readonly deferred: readonly string[];
  readonly tools: readonly { readonly id: string; readonly server: string; readonly schemaBytes: number; readonly exposure: NonNullable<Standing['exposure']> }[];
  readonly sources: readonly { readonly server: string; readonly title?: string; readonly from: 'live' | 'cache'; readonly tools: number }[];
}

export interface SessionCommand { readonly key: string; readonly from: 'prompt' | 'config'; readonly description?: string; readonly arguments: readonly PromptArgument[]; readonly server?: string; readonly origin?: Origin }

export interface Step {
  /** From 1. */
  readonly number: number;
  /** Of the exposed set: rises when a search, a server or a restore brought something new. */
  readonly revision: number;
  readonly tools: readonly OfferedTool[];
  /** For a person or a log: servers that are missing, names that were changed, a search tool that a server took. */
  readonly notes: readonly string[];
  /** Never rejects. */
  call(id: string, args: unknown, options?: StepCallOptions): Promise<StepResult>;
  /** Runs them as their concurrency classes allow; results in the order of the calls. */
  callAll(calls: readonly StepCall[], options?: Omit<StepCallOptions, 'callId'>): Promise<readonly StepResult[]>;
  /** Ends what runs and refuses what comes. */
  cancel(): void;
}
export interface StepCall { readonly callId?: string | undefined; readonly id: string; readonly args: unknown }
export interface StepCallOptions extends CallOptions { /** The provider's id of the call. Default: one of our own. */ readonly callId?: string | undefined }

/** What goes back to the model, and what became of the call. */
export interface StepResult {
  readonly callId: string;
  readonly id: string;
  readonly outcome: Outcome['kind'];
  readonly isError: boolean;
  /** Within the bounds for a model; complete texts and big pictures are files. */
  readonly parts: readonly Part[];
  /** The text parts, joined by a blank line. */
  readonly text: string;
  readonly failure?: AnyFailure;
  readonly warnings: readonly string[];
  /** Of native tools, for instance `toolCatalogRevision`. */
  readonly metadata?: JsonObject;
}

/** A call of an earlier turn, as whoever keeps the conversation has it. */
export interface PastCall { readonly callId: string; readonly id: string; readonly args: unknown; readonly text: string; readonly isError?: boolean | undefined }
export type HistoryItem =
  | { readonly kind: 'call'; readonly call: PastCall }
  /** In place of a call whose declaration is gone or changed: JSON that no provider takes for a call. */
  | { readonly kind: 'text'; readonly callId: string; readonly text: string; readonly why: string };

// --- Servers served on --------------------------------------------------------------------------------------------------

export interface GatedOptions {
  /** As `SessionOptions.agent`. */
  readonly agent?: string | undefined;
  readonly rules?: readonly Rule[] | undefined;
  /** Who is asked about a call, known by the signal of the call. Absent: the host's person. */
  readonly approve?: ((approval: Approval, signal?: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
  /** In place of the configuration's. */
  readonly exposure?: ExposurePolicy | undefined;
}

/** What may be used at one moment. Nothing that was searched or called before changes it. */
export interface GatedTools { readonly view: CatalogueView; readonly shown: readonly ToolEntry[]; readonly deferred: readonly ToolEntry[] }

export interface Gated {
  readonly lease: Lease;
  tools(): Promise<GatedTools>;
  /** Why a tool that is not among them is refused; nothing when no gate keeps it out. */
  refusal(entry: ToolEntry): AnyFailure | undefined;
  /** Never rejects. */
  call(entry: ToolEntry, args: unknown, options?: CallOptions): Promise<Outcome>;
  /** What was refused before the gate is recorded all the same. */
  refused(entry: ToolEntry, args: JsonObject, failure: AnyFailure): void;
  mayRead(id: ResourceToolId): boolean;
  /** Reading under the rules for it. Never rejects; what `work` gave is `value`. */
  read<T>(id: ResourceToolId, args: JsonObject, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<{ readonly outcome: Outcome; readonly value?: T }>;
  search(tools: GatedTools, query: string, limit: number): readonly ToolEntry[];
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
  /** A conversation with a model: gates, exposure, search, results. Its servers are its own unless `share` says otherwise. */
  session(options?: SessionOptions): Promise<Session>;
  /** Live servers of one's own, or shared ones. */
  lease(options?: LeaseOptions): Lease;
  /** The gates of a session in front of these servers, for whoever serves them on; the lease stays the caller's. */
  gated(lease: Lease, options?: GatedOptions): Promise<Gated>;
  /** Hears of every lease of this host. */
  on(listener: (event: HostEvent) => void): () => void;
  /** Idempotent, never rejects. */
  close(): Promise<CloseReport>;
  /** Last resort of a process that must end at once (an uncaught exception): kills what was started, without waiting. */
  killSync(): void;
}
