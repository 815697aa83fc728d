/** What a kind of entry brings to a connection: how to make its transport, and what to let go of afterwards. */
import type { Log } from '../base/log.ts';
import type { Redact } from '../base/redact.ts';
import type { Interaction } from '../oauth/types.ts';
import type { IdentityProvider } from '../oauth/identity.ts';
import type { RemoteEntry, ServerEntry, Template } from '../config/types.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import type { Answers, EraMemory, Implementation } from '../mcp/types.ts';
import type { ProcessTrees } from '../transports/process-tree.ts';
import type { SignIns } from './sign-in.ts';
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
  /** `Paths.data`. */
  readonly data: string;
  readonly signIns: SignIns;
  /** Who takes part in signing in to it. */
  interactionFor(entry: RemoteEntry): Interaction;
  /** Of an embedding program's own. */
  identityFor(entry: RemoteEntry): IdentityProvider | undefined;
  /** See `HostOptions.tap`. */
  readonly tap?: ((server: string, transport: Transport, redact: Redact) => Transport) | undefined;
  /** A server is on its way: time for what can be done meanwhile. */
  onStarted?(): void;
}

export interface Carrier {
  readonly transport: () => Transport;
  readonly fallback?: () => Transport;
  readonly process?: () => OpenServer['process'];
  /** The proxy in between, without its credentials. */
  readonly proxy?: () => string | undefined;
  /** Lets go of what outlives a single transport. */
  readonly dispose?: () => void;
}

/** Expands what an entry holds as templates, and masks the values wherever they might show. */
export interface Secrets {
  readonly redact: Redact;
  /** `key` is relative to the entry, for messages. */
  take(template: Template, key: string): string;
  /** Masks a value from now on. */
  add(value: string): void;
}
