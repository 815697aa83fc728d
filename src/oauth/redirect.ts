/** Where the browser comes back to: one redirect URI that drives registration, URL, listener and exchange alike (OAUTH.md 4.2). */
import { isFailure } from '../base/failure.ts';
import { loginRefused } from './failures.ts';
import { localhostInstead } from './registration.ts';
import { listenLoopback } from '../http/listener.ts';
import { systemCode } from '../http/failures.ts';
import type { LoopbackAnswer, LoopbackListener } from '../http/listener.ts';
import type { ClientIdentity, GrantContext } from './types.ts';

export const DEFAULT_CALLBACK_PORT = 19876;
export const CALLBACK_PATH = '/oauth/callback/mcp';

export interface Landing {
  readonly redirectUri: string;
  readonly client: ClientIdentity;
  /** True when the client was registered in an earlier sign-in. */
  readonly reused: boolean;
  readonly listening: boolean;
  close(): void;
}

type OnRequest = (query: URLSearchParams) => Promise<LoopbackAnswer>;

/** Binds before anybody is told an address, and registers with the port that was really bound. */
export async function openLanding(context: GrantContext, onRequest: OnRequest): Promise<Landing> {
  const { settings, clients, name } = context;
  const wanted = wantedRedirect(context);
  const plan = clients.plan(wanted);
  if (plan.kind === 'ready') {
    const listener = await listenAt(name, wanted, onRequest);
    return landing(wanted, plan.client, false, listener);
  }
  const pinned = settings.redirectUri !== undefined || settings.callbackPort !== undefined;
  let redirectUri = wanted, listener: LoopbackListener | undefined;
  try {
    listener = await listenAt(name, wanted, onRequest);
  } catch (error) {
    if (pinned || !isFailure(error) || error.code !== 'LOGIN_REFUSED') throw error;
    listener = await listenAt(name, withPort(wanted, 0), onRequest);
    redirectUri = withPort(wanted, listener!.port);
  }
  const known = clients.registration(['authorization_code']);
  try {
    const client = await clients.register(redirectUri);
    return landing(redirectUri, client, known?.clientId === client.clientId, listener);
  } catch (error) {
    listener?.close();
    const other = localhostInstead(redirectUri);
    if (settings.redirectUri !== undefined || other === undefined || !isFailure(error) || error.code !== 'LOGIN_REFUSED' || error.details.error !== 'redirect_uri_rejected') throw error;
    const second = await listenAt(name, other, onRequest);
    try {
      return landing(other, await clients.register(other), false, second);
    } catch (again) {
      second?.close();
      throw again;
    }
  }
}

function landing(redirectUri: string, client: ClientIdentity, reused: boolean, listener: LoopbackListener | undefined): Landing {
  return { redirectUri, client, reused, listening: listener !== undefined, close: () => listener?.close() };
}

/** With a metadata document the path is fixed, because the document lists it. A kept registration keeps its address. */
function wantedRedirect({ settings, discovery, clients, name }: GrantContext): string {
  if (settings.redirectUri !== undefined) return settings.redirectUri;
  const byDocument = settings.clientId === undefined && settings.clientMetadataUrl !== undefined && discovery.server.client_id_metadata_document_supported === true;
  if (settings.callbackPort === undefined && settings.clientId === undefined && !byDocument) {
    const kept = clients.registration(['authorization_code'])?.redirectUri;
    if (kept !== undefined) return kept;
  }
  return `http://127.0.0.1:${settings.callbackPort ?? DEFAULT_CALLBACK_PORT}${CALLBACK_PATH}${byDocument ? '' : `/${encodeURIComponent(name)}`}`;
}

function withPort(redirectUri: string, port: number): string {
  return redirectUri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:]+))(?::\d+)?/, `$1:${port}`);
}

/** Undefined for a redirect URI that is not on this machine: the answer can only be pasted. */
async function listenAt(name: string, redirectUri: string, onRequest: OnRequest): Promise<LoopbackListener | undefined> {
  const url = new URL(redirectUri);
  const host = url.hostname === '[::1]' ? '::1' : url.hostname;
  if (url.protocol !== 'http:' || (host !== '127.0.0.1' && host !== '::1' && host !== 'localhost')) return undefined;
  const port = url.port === '' ? 80 : Number(url.port);
  try {
    return await listenLoopback({ host, port, path: url.pathname, onRequest });
  } catch (error) {
    const code = systemCode(error) ?? 'unknown error';
    const busy = code === 'EADDRINUSE';
    throw loginRefused(name, 'callback_port_busy', `the port ${port} of the redirect URL ${busy ? 'is in use' : `cannot be opened (${code})`}`,
      `${busy && process.platform !== 'win32' ? `See who holds it: lsof -i :${port}. Stop that program, or` : 'Stop the other program, or'} set oauth.callbackPort to another port`, error);
  }
}
