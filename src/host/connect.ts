/**
 * The composition root: a configured entry becomes a transport, the transport a client. Only this file knows which transports
 * exist. Secrets are expanded here, passed on and dropped; the redactor learns their values so that nothing shows them.
 */
import { toFailure, type AnyFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createRedactor } from '../base/redact.ts';
import { redactFailure } from '../base/redact-failure.ts';
import { expand } from '../config/substitute.ts';
import type { ServerEntry } from '../config/types.ts';
import type { Notice, Transport } from '../jsonrpc/transport.ts';
import { createWitness, type Witness } from './attempts.ts';
import type { Carrier, ConnectContext, Secrets } from './carrier.ts';
import type { Connect } from './connections.ts';

/** One row per kind of entry: a new one is a row here. Loaded on need, so that a local server costs no HTTP stack. */
async function carrierFor(entry: ServerEntry, context: ConnectContext, secrets: Secrets, witness: Witness): Promise<Carrier> {
  switch (entry.kind) {
    case 'local': return (await import('./local.ts')).localCarrier(entry, context, secrets);
    case 'remote': return (await import('./remote.ts')).remoteCarrier(entry, context, secrets, witness);
  }
}

export function createConnect(context: ConnectContext): Connect {
  /** One for each server: tokens outlive a connection. */
  const redactors = new Map<string, Redactor>();
  const redactorOf = ({ name }: ServerEntry): Redactor => {
    const redactor = redactors.get(name) ?? createRedactor();
    redactors.set(name, redactor);
    return redactor;
  };
  return async (entry, { signal, onStage, onAttempt }) => {
    const witness = createWitness(onAttempt);
    const { redact } = redactorOf(entry);
    // A server may echo what it was given; what it says reaches log and failure only past the redactor that knows its secrets.
    const log: Log = (line) => context.log({ ...line, message: redact(line.message) });
    const carrier = await carrierFor(entry, context, secretsOf(entry, context, redactorOf(entry)), witness);
    const { fallback } = carrier;
    const transport = (make = carrier.transport, because?: AnyFailure): Transport => { const raw = make(), made = context.tap?.(entry.name, raw, redact) ?? raw; witness.begin(made.kind, { proxy: carrier.proxy?.(), process: carrier.process }, because); return made; };
    // A process needs a while to be there; the rest of our own code is loaded in that time.
    let first: Transport | undefined = transport();
    first.prepare?.(signal);
    const { connectClient } = await import('../mcp/connect.ts');
    context.onStarted?.();
    const client = await connectClient({
      transport: () => { const made = first ?? transport(); first = undefined; return made; }, fallback: fallback === undefined ? undefined : (because) => transport(fallback, because), protocol: entry.protocol, clientInfo: context.clientInfo, answers: context.answersFor(entry),
      requestMs: entry.timeouts.requestMs, connectMs: entry.timeouts.connectMs, signal, memory: context.memoryFor(entry),
      onNotice: (notice) => logNotice(log, entry.name, notice), onBegin: witness.running, onStage: (stage, ms) => { witness.stage(stage, ms); onStage(stage, ms); },
    }).catch((error: unknown) => {
      const failure = redactFailure(toFailure(error, 'connect'), redact);
      witness.failed(failure);
      carrier.dispose?.();
      throw failure;
    });
    witness.end();
    void client.closed.then(() => carrier.dispose?.());
    const process = carrier.process?.();
    return process === undefined ? { client, redact } : { client, redact, process };
  };
}

type Redactor = ReturnType<typeof createRedactor>;

const SECRET_NAME = /^(?:headers|environment)\..*(?:auth|cookie|token|secret|key|pass|pwd|credential)/i;

function secretsOf(entry: ServerEntry, context: ConnectContext, redactor: Redactor): Secrets {
  return {
    redact: redactor.redact, add: redactor.add,
    take(template, key) {
      const value = expand(template, { environment: context.environment, key: `${entry.origin.key ?? entry.name}.${key}`, origin: entry.origin });
      const referred = template.parts.some((part) => typeof part !== 'string');
      // A literal in a header or variable is a secret too where its name says so; short ones are words that occur everywhere.
      if (referred || (SECRET_NAME.test(key) && value.length >= limits.literalSecretChars)) redactor.add(value);
      return value;
    },
  };
}

function logNotice(log: Log, server: string, notice: Notice): void {
  switch (notice.kind) {
    case 'stderr': return log({ level: 'debug', event: 'server.stderr', message: notice.line, fields: { server } });
    case 'noise': return log({ level: 'warning', event: 'stdio.noise', message: `The server "${server}" printed a line that is no message (${notice.total} so far): ${JSON.stringify(notice.excerpt)}`, fields: { server, total: notice.total, run: notice.run } });
    case 'unmatched': return log({ level: 'info', event: 'rpc.unmatched', message: `The server "${server}" sent an answer nobody waits for (id ${JSON.stringify(notice.id)}, ${notice.reason})`, fields: { server, reason: notice.reason } });
    case 'violation': return log({ level: 'warning', event: 'mcp.violation', message: `The server "${server}" broke a rule: ${notice.message}`, fields: { server } });
    case 'stream': return log({ level: 'info', event: 'transport.stream', message: `Connection to the server "${server}": ${notice.message}`, fields: { server } });
  }
}
