/** MCP shapes as the wire spells them (2026-07-28 with what older revisions lack left optional). Checked in `results.ts`. */
import type { AnyFailure, Stage } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { CloseReport, Notice, Transport } from '../jsonrpc/transport.ts';

export type Era = 'legacy' | 'modern';

export interface Implementation { readonly name: string; readonly version: string; readonly title?: string; readonly [key: string]: unknown }
export interface ToolAnnotations {
  readonly title?: string; readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean; readonly openWorldHint?: boolean;
}
export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Always an object with `type: "object"`; what the server sent otherwise untouched. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: JsonObject;
  readonly [key: string]: unknown;
}
export interface Resource { readonly uri: string; readonly name: string; readonly title?: string; readonly description?: string; readonly mimeType?: string; readonly size?: number; readonly [key: string]: unknown }
export interface ResourceTemplate { readonly uriTemplate: string; readonly name: string; readonly title?: string; readonly description?: string; readonly mimeType?: string; readonly [key: string]: unknown }
export interface PromptArgument { readonly name: string; readonly title?: string; readonly description?: string; readonly required?: boolean }
export interface Prompt { readonly name: string; readonly title?: string; readonly description?: string; readonly arguments?: readonly PromptArgument[]; readonly [key: string]: unknown }

export interface ResourceContents { readonly uri: string; readonly mimeType?: string; readonly text?: string; readonly blob?: string; readonly [key: string]: unknown }
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string; readonly [key: string]: unknown }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string; readonly [key: string]: unknown }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string; readonly [key: string]: unknown }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly [key: string]: unknown }
  | { readonly type: 'resource'; readonly resource: ResourceContents; readonly [key: string]: unknown }
  /** A block of a type we do not know, or of a known type with parts missing: kept as it came. */
  | { readonly type: 'unknown'; readonly block: unknown };

export interface CallToolResult {
  readonly content: readonly ContentBlock[];
  /** Present exactly when the server sent the member; any JSON value in 2026-07-28. */
  readonly structuredContent?: unknown;
  readonly isError: boolean;
  readonly _meta?: JsonObject;
}
export interface PromptMessage { readonly role: string; readonly content: ContentBlock }
export interface GetPromptResult { readonly description?: string; readonly messages: readonly PromptMessage[] }
export interface ReadResourceResult { readonly contents: readonly ResourceContents[] }
export interface Completion { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean }

/** One file of a skill (SEP-2640): `digest` is `sha256:` and 64 hex digits over its bytes, `size` their number. */
export interface SkillFile { readonly uri: string; readonly digest: string; readonly size: number }
/** A skill as the server describes it, before any of its files is read. `dynamic` content cannot be verified. */
export interface Skill {
  /** Of its SKILL.md. */
  readonly uri: string;
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  readonly resources: readonly SkillFile[] | 'dynamic';
}

export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean }; readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly listChanged?: boolean; readonly subscribe?: boolean };
  readonly completions?: JsonObject; readonly logging?: JsonObject; readonly extensions?: JsonObject;
  readonly [key: string]: unknown;
}

/** A thing of a list that was left out, by name and with the reason: one bad tool costs one tool. */
export interface Dropped { readonly name: string; readonly reason: string }
export interface Listing<T> { readonly items: readonly T[]; readonly dropped: readonly Dropped[]; /** Freshness hint of the server, milliseconds (2026-07-28). */ readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }

export interface Progress { readonly progress: number; readonly total?: number; readonly message?: string }

export type ListKind = 'tools' | 'resources' | 'prompts';
export type ClientEvent =
  | { readonly kind: 'list_changed'; readonly list: ListKind }
  | { readonly kind: 'resource_updated'; readonly uri: string }
  | { readonly kind: 'log'; readonly level: string; readonly logger?: string; readonly data: unknown }
  | { readonly kind: 'closed'; readonly reason: Error };

/** What a server may ask a person or the host. Absent handlers are not declared and are refused. */
export type Elicitation =
  | { readonly mode: 'form'; readonly message: string; readonly requestedSchema: JsonObject }
  | { readonly mode: 'url'; readonly message: string; readonly url: string; readonly elicitationId?: string };
export interface ElicitationAnswer { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: JsonObject }
export interface Root { readonly uri: string; readonly name?: string }
export interface Answers {
  readonly elicit?: (request: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
  /** Which modes `elicit` can show. Default: `form` only. */
  readonly elicitModes?: readonly ('form' | 'url')[];
  readonly roots?: () => readonly Root[] | Promise<readonly Root[]>;
  readonly sample?: (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Extensions this client supports, by identifier with their settings: declared as they stand. Default: none. */
  readonly extensions?: Readonly<Record<string, JsonObject>>;
}

export interface CallSettings {
  readonly signal?: AbortSignal | undefined;
  /** Idle limit, milliseconds; progress for this very request re-arms it. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Somebody else answers what the server asks before it goes on. Modern servers, and only where a request may be answered with a question. */
  readonly input?: InputRelay | undefined;
}

/**
 * What was answered so far. With it, a result that asks for input is given back as an empty one whose `rawOf` is the question, and the
 * caller sends the request again with what came of it (MCP 2026-07-28, multi round-trip requests).
 */
export interface InputRelay { readonly responses?: JsonObject | undefined; readonly state?: string | undefined }

/** One connected server, whatever its era. Every method rejects with a `Failure`. */
export interface Client {
  readonly era: Era;
  readonly revision: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The whole list, pages joined. */
  listTools(settings?: CallSettings): Promise<Listing<Tool>>;
  listResources(settings?: CallSettings): Promise<Listing<Resource>>;
  listResourceTemplates(settings?: CallSettings): Promise<Listing<ResourceTemplate>>;
  listPrompts(settings?: CallSettings): Promise<Listing<Prompt>>;
  callTool(name: string, args: JsonObject, settings?: CallSettings): Promise<CallToolResult>;
  readResource(uri: string, settings?: CallSettings): Promise<ReadResourceResult>;
  getPrompt(name: string, args: Readonly<Record<string, string>>, settings?: CallSettings): Promise<GetPromptResult>;
  complete(ref: { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string }, argument: { readonly name: string; readonly value: string }, context?: Readonly<Record<string, string>>, settings?: CallSettings): Promise<Completion>;
  /** Skills of a server that offers the extension (SEP-2640), pages joined; reads no file. A partial list is legal: `getSkill` knows more. */
  listSkills(settings?: CallSettings): Promise<Listing<Skill>>;
  getSkill(uri: string, settings?: CallSettings): Promise<Skill>;
  /**
   * Reads one file of a skill and verifies it: it is listed, its size and digest are those of the entry, and the frontmatter of a
   * SKILL.md equals the entry's. Rejects with `PROTOCOL_VIOLATION`, and without the content, where a check fails.
   */
  readSkillFile(skill: Skill, uri: string, settings?: CallSettings): Promise<ResourceContents>;
  /** Proof of life: any answer counts, also a JSON-RPC error. */
  ping(settings?: CallSettings): Promise<void>;
  setLogLevel(level: string, settings?: CallSettings): Promise<void>;
  /** Asks for change notices: legacy servers send them unasked, modern ones on a `subscriptions/listen` stream. */
  watch(filter: { readonly lists?: readonly ListKind[]; readonly uris?: readonly string[] }, settings?: CallSettings): Promise<{ close(): Promise<void> }>;
  /** Adds a listener for events; returns how to remove it. */
  on(listener: (event: ClientEvent) => void): () => void;
  /** Resolves with the reason once the connection ended, wanted or not. */
  readonly closed: Promise<AnyFailure>;
  /** Idempotent, never rejects. */
  close(): Promise<CloseReport>;
}

/** What is known of a server's era from earlier connections, so that the probe is paid for once. */
export interface EraMemory {
  recall(): Era | undefined;
  remember(era: Era): void;
}

export interface ConnectOptions {
  /** Makes an unopened transport; called again when the server has to be started afresh. */
  readonly transport: () => Transport;
  /** Tried when the first transport's handshake meets 400, 404 or 405: an endpoint of the older HTTP+SSE kind (MCP 2025-03-26, backwards compatibility). Told why. */
  readonly fallback?: ((because: AnyFailure) => Transport) | undefined;
  /** `auto` probes and falls back; `legacy` never probes; a revision is used or refused. Default `auto`. */
  readonly protocol?: string;
  readonly clientInfo: Implementation;
  readonly answers?: Answers;
  /** Idle limit of one request, milliseconds. Default `limits.requestMs`. */
  readonly requestMs?: number;
  /** Start, connect and negotiate together, milliseconds. Default `limits.connectMs`. */
  readonly connectMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly memory?: EraMemory | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Told that a stage of connecting begins. */
  readonly onBegin?: ((stage: Stage) => void) | undefined;
  /** Told how long each stage of connecting took. */
  readonly onStage?: ((stage: Stage, ms: number) => void) | undefined;
}
