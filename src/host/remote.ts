/** A server that is reached over HTTP: Streamable HTTP, the older HTTP+SSE, or whichever of the two it turns out to be. */
import { Failure, isFailure, toFailure, type AnyFailure } from '../base/failure.ts';
import { readText } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { RemoteEntry } from '../config/types.ts';
import { createHttp } from '../http/fetch.ts';
import type { Http } from '../http/types.ts';
import type { Transport } from '../jsonrpc/transport.ts';
import { createSseTransport } from '../transports/sse.ts';
import { createStreamableHttpTransport } from '../transports/streamable-http.ts';
import type { Witness } from './attempts.ts';
import { authorized } from './authorization.ts';
import type { Carrier, ConnectContext, Secrets } from './carrier.ts';

export async function remoteCarrier(entry: RemoteEntry, context: ConnectContext, secrets: Secrets, witness: Witness): Promise<Carrier> {
  const url = secrets.take(entry.url, 'url');
  const headers = Object.fromEntries(Object.entries(entry.headers).map(([name, template]) => [name, secrets.take(template, `headers.${name}`)]));
  const pems = pemsOf(entry);
  const http = httpFor(entry, pems, context, witness);
  const send = await authorized(witness.over(http.request), entry, { url, ca: pems.ca }, context, secrets);
  const options = { name: entry.name, url, headers, send };
  const streamable = (): Transport => createStreamableHttpTransport(options);
  const older = (): Transport => createSseTransport(options);
  const common = { dispose: () => http.close(), proxy: () => proxyOf(http, url) };
  switch (entry.transport) {
    case 'http': return { ...common, transport: streamable };
    case 'sse': return { ...common, transport: older };
    case 'auto': return { ...common, transport: streamable, fallback: older };
  }
}

/** A client with the certificates of this entry. Fails with CONFIG_UNREADABLE or CONFIG_INVALID that name file and key. */
export function httpFor(entry: RemoteEntry, pems: Pems, { environment }: Pick<ConnectContext, 'environment'>, { connection: onConnection }: Pick<Witness, 'connection'>): Http {
  try {
    return createHttp({ environment, onConnection, ...pems });
  } catch (error) {
    throw isFailure(error) && error.code === 'CONFIG_INVALID' ? unusable(entry, error) : error;
  }
}

export interface Pems { readonly ca: string | undefined; readonly cert: string | undefined; readonly key: string | undefined }

export function pemsOf(entry: RemoteEntry): Pems {
  return { ca: pem(entry, 'caFile'), cert: pem(entry, 'certFile'), key: pem(entry, 'keyFile') };
}

type TlsKey = 'caFile' | 'certFile' | 'keyFile';

function pem(entry: RemoteEntry, key: TlsKey): string | undefined {
  const place = entry[key];
  if (place === undefined) return undefined;
  const refuse = (why: string, cause?: unknown): AnyFailure => new Failure('CONFIG_UNREADABLE', `Cannot read "${place.value}" for ${keyOf(entry, key)}: ${why}`, {
    stage: 'config', details: { file: place.value }, origin: place.origin, hint: `Correct ${keyOf(entry, key)}, or make the file readable`, cause,
  }) as AnyFailure;
  let text: string | undefined;
  try {
    text = readText(place.value, limits.pemBytes);
  } catch (error) {
    throw refuse(toFailure(error).message.replace(/^Cannot [^:]*: /, ''), error);
  }
  if (text === undefined) throw refuse('there is no such file');
  return text;
}

/** `createHttp` knows texts; which files they came from is known here. */
function unusable(entry: RemoteEntry, error: Failure<'CONFIG_INVALID'>): AnyFailure {
  const [problem] = error.details.problems;
  const keys = problem?.pointer === '/caFile' ? (['caFile'] as const) : (['certFile', 'keyFile'] as const);
  const files = keys.map((key) => `"${entry[key]?.value ?? ''}"`).join(' and ');
  const names = keys.map((key) => keyOf(entry, key)).join(' and ');
  return new Failure('CONFIG_INVALID', `Cannot use ${files} for ${names}: ${problem?.message ?? 'not in PEM form'}`, {
    stage: 'config', details: { file: entry[keys[0]]?.origin.file ?? entry.origin.file, problems: [{ pointer: keyOf(entry, keys[0]), message: problem?.message ?? '' }] },
    origin: entry[keys[0]]?.origin ?? entry.origin, hint: error.hint, cause: error,
  }) as AnyFailure;
}

function keyOf(entry: RemoteEntry, key: TlsKey): string {
  return entry[key]?.origin.key ?? `${entry.name}.${key}`;
}

/** Only for telling: an address or a variable that cannot be read fails the request itself. */
function proxyOf(http: Http, url: string): string | undefined {
  try {
    return http.proxyFor(url);
  } catch {
    return undefined;
  }
}
