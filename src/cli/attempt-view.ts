/** Every try at reaching a server, for people and for JSON: where it got to, over which connection, with what answer. */
import { redactPatterns } from '../base/redact.ts';
import type { Attempt } from '../host/types.ts';
import type { ConnectionFacts } from '../http/types.ts';
import { failureDocument } from './explain.ts';
import { dim, green, red, yellow } from './span.ts';
import type { Span } from './span.ts';

const names: Readonly<Record<Attempt['transport'], string>> = { stdio: 'stdio', memory: 'memory', 'streamable-http': 'Streamable HTTP', sse: 'HTTP+SSE' };

export const rounded = (ms: number): number => Math.round(ms * 10) / 10;

function connectionText({ host, address, elapsedMs, proxy, tls }: ConnectionFacts): string {
  const to = address === undefined || host.startsWith(`${address}:`) || host.startsWith(`[${address}]:`) ? host : `${host} at ${address}`;
  const secured = tls === undefined ? 'no TLS' : `${tls.protocol}${tls.issuer === '' ? '' : `, certificate by ${tls.issuer}`}${tls.validTo === '' ? '' : `, valid to ${tls.validTo}`}`;
  return `${to} in ${rounded(elapsedMs)} ms, ${secured}${proxy === undefined ? '' : `, through the proxy ${proxy}`}`;
}

/** Rows of one try: what was tried and how it ended, then what is known of the way. */
function rowsOf(attempt: Attempt, last: boolean, connected: boolean): readonly (readonly [name: string, ...text: Span[]])[] {
  const { transport, timings, connections, answers, proxy, failure } = attempt;
  const used = connections.some((one) => one.proxy !== undefined);
  return [
    ['try', names[transport], '  ', failure !== undefined ? red(redactPatterns(failure.message)) : !last ? dim('given up for the next') : connected ? green('worked') : yellow('did not get any further')],
    ...connections.map((facts, index) => [index === 0 ? 'connection' : '', connectionText(facts)] as const),
    ...(proxy === undefined || used ? [] : [['proxy', proxy] as const]),
    ...(answers.length === 0 ? [] : [['answers', answers.map(({ method, status, ms }) => `${method} ${status} (${rounded(ms)} ms)`).join(', ')] as const]),
    ['stages', dim(timings.map(({ stage, ms }) => `${stage} ${rounded(ms)} ms`).join(', ') || 'none')],
  ];
}

/** `connected`: the last try led to a connection; otherwise one without a failure was still under way when time ran out. */
export function showAttempts(attempts: readonly Attempt[], row: (name: string, ...text: Span[]) => void, connected: boolean): void {
  attempts.forEach((attempt, index) => {
    for (const [name, ...text] of rowsOf(attempt, index === attempts.length - 1, connected)) row(name === 'try' && attempts.length > 1 ? `try ${index + 1}` : name, ...text);
  });
}

export function attemptDocument({ transport, timings, connections, answers, proxy, failure }: Attempt, worked: boolean): object {
  return {
    transport, ok: worked && failure === undefined, timings: timings.map(({ stage, ms }) => ({ stage, ms: rounded(ms) })), proxy: proxy ?? null,
    connections: connections.map(({ host, address, elapsedMs, proxy: through, tls }) => ({ host, address: address ?? null, ms: rounded(elapsedMs), proxy: through ?? null, tls: tls ?? null })),
    answers: answers.map(({ method, status, ms }) => ({ method, status, ms: rounded(ms) })), error: failure === undefined ? null : failureDocument(failure),
  };
}
