/** What the gate and its neighbours speak of. */
import type { AnyFailure, Origin, Problem } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { CallToolResult, InputRelay, Progress, Tool } from '../mcp/types.ts';

/** A tool of one server under the name a model sees. */
export interface ToolEntry {
  /** Wire id, at most 64 characters of `A-Za-z0-9_-`, unique in the registry. */
  readonly id: string;
  readonly server: string;
  /** The server's own name of the tool: what goes on the wire. */
  readonly tool: string;
  readonly definition: Tool;
  /** SHA-256 of the definition (name, description, schemas, annotations). */
  readonly fingerprint: string;
  /** Where the server was configured. */
  readonly origin: Origin;
}

export type Effect = 'allow' | 'ask' | 'deny';
export type PermissionMode = 'standard' | 'strict' | 'allow_all';
export interface Rule { readonly key: string; readonly pattern: string; readonly effect: Effect; readonly origin: Origin }
export interface Permissions { readonly mode: PermissionMode; readonly rules: readonly Rule[] }

export type ExposureMode = 'auto' | 'eager' | 'deferred';
export interface ExposurePolicy {
  readonly mode: ExposureMode;
  readonly autoToolLimit: number;
  readonly autoSchemaBytes: number;
  readonly smallServerToolLimit: number;
  readonly servers: Readonly<Record<string, ExposureMode>>;
}

/** A tool as a provider is told of it, whoever runs it. */
export interface OfferedTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** SHA-256 over id, description and input schema: what a model decided by. */
  readonly schemaId: string;
  readonly source: { readonly kind: 'server'; readonly server: string; readonly tool: string; readonly title?: string } | { readonly kind: 'native' };
}

/**
 * Why a tool is or is not offered. `gate`: the first one that keeps it out, in the order of the walk: its server is neither connected nor
 * known from the cache, the exact list or role of the agent, a rule that hides it, the lock file, the ceiling of a delegation.
 */
export interface Standing {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly offered: boolean;
  readonly gate?: 'server' | 'agent' | 'permission' | 'lock' | 'ceiling';
  /** One sentence for a person. */
  readonly why: string;
  readonly decision: Decision;
  /** Of an offered tool: how it came to be shown, or that it waits for a search. */
  readonly exposure?: 'pinned' | 'eager' | 'auto' | 'found' | 'deferred';
}

/** What the policy says of one call. `rule` is absent when no rule matched. */
export interface Decision {
  readonly effect: Effect;
  readonly rule?: Rule;
  /** One sentence for a person. */
  readonly why: string;
}

/** A question to the person who may allow a call. Arguments are shown with secrets masked. */
export interface Approval { readonly entry: ToolEntry; readonly args: JsonObject; readonly decision: Decision }
export type ApprovalAnswer = 'once' | 'always' | 'no' | 'nobody';

/** What became of a call. Everything above the gate switches on `kind`. */
export type Outcome =
  | { readonly kind: 'ok'; readonly result: CallToolResult; readonly warnings: readonly string[] }
  /** The tool ran and says that it failed (`isError`). */
  | { readonly kind: 'tool_error'; readonly result: CallToolResult; readonly warnings: readonly string[] }
  /** Nothing happened: denied, unavailable or invalid arguments. */
  | { readonly kind: 'blocked'; readonly failure: AnyFailure; readonly problems?: readonly Problem[] }
  /** Definitely failed. */
  | { readonly kind: 'failed'; readonly failure: AnyFailure }
  /** May have taken effect: not to be repeated before someone looked. */
  | { readonly kind: 'unknown'; readonly failure: AnyFailure };

export interface CallOptions { readonly signal?: AbortSignal; readonly onProgress?: (progress: Progress) => void; readonly input?: InputRelay | undefined }
