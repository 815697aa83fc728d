/** Why a server cannot be had, said with what would change it. */
import { Failure, type AnyFailure } from '../base/failure.ts';
import { nearest } from '../base/text.ts';
import type { Config, ServerEntry } from '../config/types.ts';

export function contextOf(entry: ServerEntry): { readonly origin: ServerEntry['origin']; readonly hint: string } {
  return { origin: entry.origin, hint: `zuno-lite mcp debug ${entry.name}` };
}

export function unknownServer(server: string, config: Config): AnyFailure {
  const lost = config.diagnostics.find((diagnostic) => diagnostic.server === server && diagnostic.severity === 'error') ?? config.diagnostics.find((diagnostic) => diagnostic.server === server);
  if (lost !== undefined) {
    return new Failure('CONFIG_INVALID', `Cannot use the server "${server}": ${lost.pointer} ${lost.message}`, {
      stage: 'config', details: { file: lost.origin.file, problems: [lost] }, origin: lost.origin, hint: `Correct the entry in ${lost.origin.file}`,
    }) as AnyFailure;
  }
  const known = [...config.servers.keys()];
  const close = nearest(server, known);
  return new Failure('SERVER_UNKNOWN', `Cannot find the server "${server}": it is not configured${close.length > 0 ? `; did you mean ${close.map((name) => `"${name}"`).join(' or ')}?` : ''}`, {
    stage: 'config', details: { server, known, nearest: close },
    hint: close.length > 0 || known.length > 0 ? 'zuno-lite mcp list' : `zuno-lite mcp add ${/^[\w-]+$/.test(server) ? server : 'NAME'} -- COMMAND ARGS...`,
  }) as AnyFailure;
}

export function disabledServer(entry: ServerEntry, config: Config): AnyFailure {
  const off = !config.mcpEnabled;
  const origin = off ? entry.origin : entry.switchedBy ?? entry.origin;
  return new Failure('CONFIG_INVALID', `Cannot use the server "${entry.name}": ${off ? 'MCP is switched off by "features.mcp": false' : 'it is disabled'}`, {
    stage: 'config', details: { file: origin.file, problems: [{ pointer: origin.key ?? '', message: off ? 'features.mcp is false' : 'is disabled' }] },
    origin, hint: off ? 'Set "features": { "mcp": true }' : `zuno-lite mcp enable ${entry.name}`,
  }) as AnyFailure;
}

/** Sticky: what a person ended, no call brings back (FACTS R37). */
export function stoppedServer({ name, origin }: ServerEntry): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot use the server "${name}": it was disconnected by hand`, { stage: 'connect', details: { sent: 'no' }, origin, hint: `Connect it again: /mcp connect ${name}` }) as AnyFailure;
}

/** The last failure, for whoever asks before it is time to try again. */
export function triedLater(failure: AnyFailure, waitMs: number, server: string): AnyFailure {
  const later = new Failure(failure.code, `${failure.message} (it failed several times and is tried again in ${Math.max(1, Math.ceil(waitMs / 1000))} s)`, {
    stage: failure.stage, details: failure.details as never, recovery: failure.recovery, origin: failure.origin, hint: failure.hint ?? `zuno-lite mcp debug ${server}`, cause: failure,
  });
  return later as AnyFailure;
}

export function closedHost(server: string): AnyFailure {
  return new Failure('CONNECTION_CLOSED', `Cannot connect to the server "${server}": the host is closing`, { stage: 'connect', details: { sent: 'no' }, recovery: 'retryable' }) as AnyFailure;
}

/** The attempt was given up because somebody wanted the server gone or another one in its place. */
export function givenUp(server: string): AnyFailure {
  return new Failure('CANCELED', `Cannot connect to the server "${server}": it was disconnected before it was there`, { stage: 'connect', details: { sent: 'no' }, recovery: 'retryable' }) as AnyFailure;
}

export function impatient({ name, origin }: ServerEntry): AnyFailure {
  return new Failure('CANCELED', `Cannot connect to the server "${name}": it was canceled`, { stage: 'connect', details: {}, recovery: 'retryable', origin }) as AnyFailure;
}
