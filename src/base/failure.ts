/**
 * The one failure class of the house. A failure is created where the fact is known; nothing above it
 * recovers the reason from words. A tool's `isError` is a result and never a Failure; a caller's
 * programming mistake is a `TypeError`.
 */

/** Where in the walk of a call the trouble arose. */
export type Stage =
  | 'usage' | 'config' | 'trust' | 'spawn' | 'connect' | 'probe' | 'handshake' | 'auth'
  | 'list' | 'permission' | 'call' | 'close' | 'internal';

/**
 * What may be done next. `retryable`: nothing happened or repeating is harmless. `blocked`: it will fail the
 * same way until someone changes something. `unknown`: it may have taken effect; look before repeating.
 */
export type Recovery = 'retryable' | 'blocked' | 'unknown';

/** How far an HTTP request surely got when it failed: it never left, it may have arrived, it surely arrived. */
export type Sent = 'no' | 'unknown' | 'yes';

/** Where a configured thing came from: shown to the person who has to change it. */
export interface Origin {
  /** File path, or the name of a source that is no file (`ZUNO_CONFIG_CONTENT`, `--allow`, `built-in`). */
  readonly file: string;
  readonly layer: string;
  /** Dotted path of the key inside the file, for instance `mcp.docs`. */
  readonly key?: string;
  readonly line?: number;
  readonly column?: number;
}

/** One complaint about a value: where it stands and what is wrong with it. */
export interface Problem { readonly pointer: string; readonly message: string }

/** The facts that each code carries. A new failure is one row here; the compiler then asks for its exit status. */
export interface FailureDetails {
  USAGE: { readonly argument?: string; readonly nearest?: readonly string[] };
  SERVER_UNKNOWN: { readonly server: string; readonly known: readonly string[]; readonly nearest: readonly string[] };
  TOOL_UNKNOWN: { readonly tool: string; readonly nearest: readonly string[] };
  ARGUMENTS_INVALID: { readonly tool: string; readonly problems: readonly Problem[] };
  CONFIG_UNREADABLE: { readonly file: string; readonly line?: number; readonly column?: number };
  CONFIG_INVALID: { readonly file?: string; readonly problems: readonly Problem[] };
  TRUST_REFUSED: { readonly file: string; readonly keys: readonly string[] };
  VARIABLE_UNSET: { readonly token: string; readonly key: string };
  URL_REFUSED: { readonly url: string };
  SPAWN_FAILED: { readonly command: string; readonly cwd?: string; readonly system?: string };
  SERVER_EXITED: { readonly exitCode: number | null; readonly signal: string | null; readonly stderrTail: string };
  CONNECT_FAILED: { readonly address: string; readonly system?: string };
  HTTP_STATUS: { readonly status: number; readonly url: string; readonly excerpt: string; readonly retryAfterMs?: number };
  CONNECTION_CLOSED: { readonly stderrTail?: string; readonly sent?: Sent };
  SESSION_LOST: { readonly status?: number };
  TIMEOUT: { readonly afterMs: number; readonly method?: string; readonly noiseLines?: number; readonly sent?: Sent };
  PROTOCOL_VIOLATION: { readonly excerpt?: string; readonly noiseLines?: number; readonly sent?: Sent };
  LIMIT_EXCEEDED: { readonly limit: string; readonly maximum: number; readonly seen?: number };
  REVISION_UNSUPPORTED: { readonly ours: readonly string[]; readonly theirs: readonly string[] };
  CAPABILITY_MISSING: { readonly capability: string };
  REMOTE_ERROR: { readonly rpcCode: number; readonly method: string; readonly data?: unknown };
  /** `url`: where a person can sign in right now. `error`: the word of the OAuth catalogue, also below. */
  LOGIN_REQUIRED: { readonly url?: string; readonly error?: string; readonly scope?: readonly string[] };
  LOGIN_REFUSED: { readonly error?: string };
  ISSUER_UNTRUSTED: { readonly issuer: string; readonly error?: string };
  TOKEN_REFUSED: { readonly error?: string };
  /** `diff`: what a locked definition became; written by a server, so for a person only. */
  PERMISSION_DENIED: { readonly tool: string; readonly why: 'rule' | 'declined' | 'nobody' | 'lock' | 'child' | 'agent'; readonly rule?: string; readonly diff?: string };
  OUTCOME_UNKNOWN: { readonly why: 'timeout' | 'closed' | 'unreadable' | 'canceled'; readonly method: string; readonly elapsedMs: number; /** When the server's process ended under it. */ readonly exitCode?: number | null; readonly signal?: string | null; readonly stderrTail?: string };
  INTERNAL: { readonly where?: string };
  CANCELED: { readonly method?: string; readonly sent?: Sent };
}
export type FailureCode = keyof FailureDetails;

export interface FailureOptions<C extends FailureCode> {
  readonly stage: Stage;
  readonly details: FailureDetails[C];
  /** Default: `blocked`. */
  readonly recovery?: Recovery;
  readonly origin?: Origin | undefined;
  /** The next command or step, one sentence or one command line. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** The discriminated view: `switch (failure.code)` narrows `failure.details`. */
export type AnyFailure = { [C in FailureCode]: Failure<C> }[FailureCode];

/** Message form: Cannot <do what> "<which>": <what is the case>. */
export class Failure<C extends FailureCode = FailureCode> extends Error {
  readonly code: C;
  readonly stage: Stage;
  readonly details: FailureDetails[C];
  readonly recovery: Recovery;
  readonly origin: Origin | undefined;
  readonly hint: string | undefined;

  constructor(code: C, message: string, options: FailureOptions<C>) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.stage = options.stage;
    this.details = options.details;
    this.recovery = options.recovery ?? 'blocked';
    this.origin = options.origin;
    this.hint = options.hint;
  }
}

export function isFailure(value: unknown): value is AnyFailure {
  return value instanceof Failure;
}

/** Believes nothing: whatever was thrown becomes a Failure; what was not one already is our own bug (`INTERNAL`). */
export function toFailure(value: unknown, stage: Stage = 'internal'): AnyFailure {
  if (isFailure(value)) return value;
  return new Failure('INTERNAL', `Cannot go on: ${wordsOf(value)}`, { stage, details: {}, cause: value }) as AnyFailure;
}

/** An object without a prototype has no text of its own, and asking for it throws. */
function wordsOf(value: unknown): string {
  if (value instanceof Error) return value.message;
  try {
    return String(value);
  } catch {
    return 'something that has no text was thrown';
  }
}

/** The same failure with what a higher floor knows: whose entry it was, and what to do next. Facts already there stay. */
export function withContext(failure: AnyFailure, context: { origin?: Origin | undefined; hint?: string | undefined; stage?: Stage }): AnyFailure {
  if ((failure.origin ?? context.origin) === failure.origin && (failure.hint ?? context.hint) === failure.hint && (context.stage ?? failure.stage) === failure.stage) return failure;
  const copy = new Failure(failure.code, failure.message, {
    stage: context.stage ?? failure.stage,
    details: failure.details as never,
    recovery: failure.recovery,
    origin: failure.origin ?? context.origin,
    hint: failure.hint ?? context.hint,
    cause: failure.cause,
  });
  if (failure.stack !== undefined) copy.stack = failure.stack;
  return copy as AnyFailure;
}
