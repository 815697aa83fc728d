/** The one normalized form that every dialect becomes. Nothing here holds an expanded secret. */
import type { Origin, Problem } from '../base/failure.ts';

/**
 * Layers from low to high (`home-dir` is `~/.zuno`). `project` and `project-dir` are untrusted, and so is an `import` of a file that a
 * checkout brings along; all others are trusted. `built-in` is what an embedding program hands over.
 */
export type LayerKind =
  | 'plugin' | 'import' | 'global' | 'home-dir' | 'project' | 'project-dir' | 'env-file' | 'env-dir' | 'env-content' | 'cli' | 'managed' | 'managed-preferences' | 'env-permission' | 'built-in';

/** One reference inside a template. `default` is what an unset or empty variable becomes (`${NAME:-default}`). */
export type Reference =
  | { readonly kind: 'env'; readonly name: string; readonly token: string; readonly default?: string }
  /** `path` is absolute: resolved against the file that contains it. */
  | { readonly kind: 'file'; readonly path: string; readonly token: string }
  /** Something only the program it was written for can fill in (`${input:key}`); `advice` says what to write instead. */
  | { readonly kind: 'foreign'; readonly token: string; readonly advice: string };

/** Text with references; only `config/substitute` turns it into a string, at connect time. */
export interface Template {
  readonly parts: readonly (string | Reference)[];
  /** The text as written, for listings. References are shown, their values never. */
  readonly source: string;
}

export type OriginOf<T> = { readonly value: T; readonly origin: Origin };

export interface Timeouts {
  /** Idle limit of one request, milliseconds. */
  readonly requestMs: number;
  /** Connect, negotiate and first discovery together. */
  readonly connectMs: number;
}

/** `auto` probes for 2026-07-28 and falls back; `legacy` never probes; a revision pins and never falls back. */
export type ProtocolChoice = 'auto' | 'legacy' | (string & {});

interface EntryBase {
  readonly name: string;
  readonly origin: Origin;
  readonly enabled: boolean;
  /** The switch that decides `enabled`, when it stands in another place than the entry. */
  readonly switchedBy?: Origin;
  readonly timeouts: Timeouts;
  readonly protocol: ProtocolChoice;
  /** Entries of lower layers that this one replaced or merged over, nearest first. */
  readonly shadowed: readonly Origin[];
}

/** A server we start as a child process. */
export interface LocalEntry extends EntryBase {
  readonly kind: 'local';
  readonly command: Template;
  readonly args: readonly Template[];
  /** Absolute. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, Template>>;
}

/** A server we reach over HTTP. */
export interface RemoteEntry extends EntryBase {
  readonly kind: 'remote';
  /** `auto`: Streamable HTTP, then HTTP+SSE on 400/404/405; the others never fall back. */
  readonly transport: 'auto' | 'http' | 'sse';
  readonly url: Template;
  readonly headers: Readonly<Record<string, Template>>;
  /** `false` suppresses detection; an object is validated by the OAuth part. */
  readonly oauth: false | Readonly<Record<string, unknown>> | undefined;
  /** How the references inside `oauth` are read: what `expandTexts` needs. */
  readonly oauthTexts?: { readonly directory: string; readonly home: string; readonly syntax: 'zuno' | 'dollar' };
  /** A program that prints headers, run in the directory of the file that names it. */
  readonly headersCommand?: { readonly words: readonly Template[]; readonly directory: string; readonly origin: Origin };
  /** PEM files, absolute: authorities trusted in addition to the usual ones; our certificate (chain) and its private key. */
  readonly caFile?: OriginOf<string>;
  readonly certFile?: OriginOf<string>;
  readonly keyFile?: OriginOf<string>;
}


export type ServerEntry = LocalEntry | RemoteEntry;

export type Effect = 'allow' | 'ask' | 'deny';
export type PermissionMode = 'standard' | 'strict' | 'allow_all';

/** One permission rule in order. `pattern` narrows it to calls whose input matches; `*` means every call. */
export interface Rule {
  readonly key: string;
  readonly pattern: string;
  readonly effect: Effect;
  readonly origin: Origin;
}

export interface Permissions {
  readonly mode: PermissionMode;
  /** In evaluation order: the last match wins. */
  readonly rules: readonly Rule[];
}

/** Which tools a model is shown without asking: `auto` by size, `eager` at once, `deferred` only after a search. */
export type ExposureMode = 'auto' | 'eager' | 'deferred';

/** `mcp_tool_exposure`. Decides what is shown, never what may be called; it is no part of a connection's identity. */
export interface ExposurePolicy {
  readonly mode: ExposureMode;
  /** Tools that `auto` may show in all, over all servers. */
  readonly autoToolLimit: number;
  /** Bytes of schemas, ids and descriptions that `auto` may show in all. */
  readonly autoSchemaBytes: number;
  /** A server with more tools than that is deferred by `auto`. */
  readonly smallServerToolLimit: number;
  /** By server name; beats `mode`. */
  readonly servers: Readonly<Record<string, ExposureMode>>;
}

/** A named allow list with rules of its own. It can only narrow what the configuration allows, and settle what it leaves open. */
export interface AgentDefinition {
  readonly name: string;
  readonly description?: string;
  readonly mode: 'primary' | 'subagent' | 'all';
  /** Exact allow list of tools in any spelling; they are shown at once. Absent: whatever the role inherits. */
  readonly tools?: readonly string[];
  /** Inherits no server's tools: only what its own rules or its list name exactly. */
  readonly readOnly: boolean;
  readonly permissionMode?: PermissionMode;
  /** After those of the configuration. */
  readonly rules: readonly Rule[];
  /** Servers that must be connected, by name or part of a name, case-insensitive. */
  readonly requires: readonly string[];
  /** The body of its Markdown file, or `prompt`. */
  readonly prompt?: string;
  readonly disabled: boolean;
  readonly origin: Origin;
}

/** A command of the configuration (`command.<key>`, or a Markdown file): a text with places for arguments. */
export interface CommandDefinition { readonly key: string; readonly template: string; readonly description?: string; readonly origin: Origin }

/** Where calls are recorded, and how much is kept. */
export interface AuditSettings { /** Absolute. */ readonly file: string; readonly maxBytes: number; /** Full files kept beside the current one. */ readonly keep: number; readonly origin: Origin }

/** Something in a file that cost an entry or a value, but not the file. */
export interface Diagnostic extends Problem {
  /** Stable, for instance `config_mcp_server_invalid`. */
  readonly code: string;
  readonly severity: 'warning' | 'error';
  readonly origin: Origin;
  /** The server that is lost, if one is. */
  readonly server?: string;
}

export interface LoadedLayer {
  readonly kind: LayerKind;
  /** File path, or the name of the environment variable. */
  readonly source: string;
  readonly trusted: boolean;
  readonly state: 'loaded' | 'absent';
}

/** A project key that needed and got permission of a trusted layer. */
export interface Admission { readonly key: string; readonly file: string; readonly by: Origin }

export interface Config {
  readonly servers: ReadonlyMap<string, ServerEntry>;
  readonly permissions: Permissions;
  /** `connections`: lifecycle operations at once. `toolCalls`: calls of one step at once, where they may run beside each other. `delegations`: children of one session at once. */
  readonly concurrency: { readonly connections: number; readonly toolCalls: number; readonly delegations: number };
  /** `concurrency.parallel_tools`: tools (any spelling, wildcards) that their user declares safe to run beside others. */
  readonly parallelTools: readonly string[];
  readonly exposure: ExposurePolicy;
  /** Of the configuration and of Markdown files, by name; the built-in ones are not among them. */
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** `default_agent`, when given. */
  readonly defaultAgent?: string;
  readonly commands: ReadonlyMap<string, CommandDefinition>;
  /** `mcp.lock`: whether a tool must match `zuno.lock.json`. */
  readonly lock: 'off' | 'enforce';
  readonly audit?: AuditSettings;
  /** `features.mcp`. */
  readonly mcpEnabled: boolean;
  /** How wire ids are spelled: `server_tool` or `mcp__server__tool`. */
  readonly naming: 'plain' | 'mcp';
  readonly diagnostics: readonly Diagnostic[];
  readonly layers: readonly LoadedLayer[];
  readonly admissions: readonly Admission[];
  /** The directory that relative paths of the workspace resolve from. */
  readonly workspace: string;
}
